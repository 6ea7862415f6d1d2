"""Durability: a server killed, or cut from power, at any moment has lost nothing it acknowledged.

TABELLION_SOAK=1 takes 10,000 kills in place of 200.
"""

import os
import subprocess

import pytest
import verify_log

from crash import History, Violation, verify_all
from powercut.powercut import PowerCut
from server import NotReady, Server

SOAK = os.environ.get("TABELLION_SOAK") == "1"
KILLS = 10_000 if SOAK else 200
CUTS = 500 if SOAK else 15
KILLS_PER_DIRECTORY = 25
KILLS_PER_FULL_CHECK = 25


def verify_independently(directory):
    report = verify_log.check_directory(directory)
    assert report["ok"], report


def test_kill_loses_nothing_acknowledged(bin, tmp_path, rng, say):
    """GOV-1.8, GOV-5.1, GOV-5.5: after SIGKILL under load a write is whole or absent, acknowledged ones are there once, a
    retry finds them, the log verifies, and the views are what the log replays to."""
    acknowledged = kept = early = 0
    for first in range(0, KILLS, KILLS_PER_DIRECTORY):
        history, directory = History(), tmp_path / f"data-{first}"
        with Server(bin, directory) as server:
            for kill in range(first + 1, min(first + KILLS_PER_DIRECTORY, KILLS) + 1):
                history.load_and_kill(server, rng)
                if kill % 10 == 0:
                    early += kill_while_starting(server, rng)
                full = kill % KILLS_PER_FULL_CHECK == 0
                if full:
                    verify_all(bin, directory)
                server.start()
                history.check_recent(server)
                if full:
                    history.check_all(server)
            kept += history.check_all(server)
            assert server.stop() == 0
        acknowledged += len(history.acknowledged)
        verify_all(bin, directory)
        verify_independently(directory)
    say(f"{KILLS} kills under load and {early} while starting: {acknowledged} writes acknowledged, 0 lost, {kept} stored")


def kill_while_starting(server, rng):
    """Recovery can be killed too."""
    server.spawn()
    try:
        server.process.wait(rng.uniform(0.001, 0.08))
    except subprocess.TimeoutExpired:
        server.kill()
        return 1
    raise AssertionError(f"the server ended by itself: {server.log}")


@pytest.mark.parametrize("how", ["killed", "cut from power"])
def test_a_first_start_cut_short_can_be_made_again(bin, tmp_path, rng, say, how):
    """GOV-5.1: whatever a first start left half made, the next one finds its way, and the directory verifies."""
    for trial in range(CUTS):
        layer = PowerCut(tmp_path / f"data-{trial}", tmp_path / "journal")
        server = Server(bin, layer.directory, env=layer.env())
        kill_while_starting(server, rng)
        if how == "cut from power":
            layer.cut(rng if trial % 2 else None)
        with server:
            status, answer, _ = server.call("POST", "/v1/items", {"text": "the first one"})
            assert status == 201, answer
            assert server.stop() == 0
        verify_all(bin, layer.directory)
        verify_independently(layer.directory)
    say(f"{CUTS} first starts {how}: all made again")


def cut_and_check(server, layer, history, rng, reorder):
    """One round under the layer: load, kill, power cut, restart, check everything."""
    history.load_and_kill(server, rng)
    seen = layer.cut(rng if reorder else None)
    verify_all(server.bin, server.data_dir)
    server.start()
    history.check_recent(server)
    history.check_all(server)
    return seen


@pytest.mark.parametrize("reorder", [False, True], ids=["all unflushed lost", "some unflushed kept"])
def test_power_cut_loses_nothing_acknowledged(bin, tmp_path, rng, say, reorder):
    """GOV-5.1: an acknowledged write was flushed before the reply; what the disk drops or reorders beyond that harms no one."""
    history = History()
    layer = PowerCut(tmp_path / "data", tmp_path / "journal")
    lost = flushes = 0
    with Server(bin, layer.directory, env=layer.env()) as server:
        for _ in range(CUTS):
            seen = cut_and_check(server, layer, history, rng, reorder)
            assert seen["changes"] and seen["flushes"], "the layer saw nothing: is the binary linked statically?"
            lost, flushes = lost + seen["lost"], flushes + seen["flushes"]
        server.stop()
    layer.cut()
    verify_all(bin, layer.directory)
    verify_independently(layer.directory)
    say(
        f"{CUTS} power cuts ({'some' if reorder else 'no'} unflushed writes kept): {flushes} flushes, {lost} unflushed"
        f" writes dropped, {len(history.acknowledged)} writes acknowledged, 0 lost"
    )


def test_power_cut_without_fsync_is_caught(bin, tmp_path, rng, say):
    """The proof that the tests above can fail: with flushes that do nothing, the same check finds the loss."""
    history = History()
    layer = PowerCut(tmp_path / "data", tmp_path / "journal")
    with Server(bin, layer.directory, env=layer.env()) as server:
        server.stop()
    layer.cut()
    layer.ignore_fsync = True
    with Server(bin, layer.directory, env=layer.env()) as server:
        with pytest.raises((Violation, NotReady)) as caught:
            for _ in range(5):
                history.load_and_kill(server, rng)
                layer.cut()
                server.start()
                history.check_all(server)
    assert history.acknowledged
    say(f"fsync taken out: caught, {str(caught.value).splitlines()[0][:120]}")
