"""The power-cut layer itself: what was flushed survives it, what was not does not."""

import os
import random
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

import pytest

from powercut.powercut import PowerCut


@pytest.fixture
def layer(tmp_path):
    return PowerCut(tmp_path / "disk", tmp_path / "journal", fsync_us=0)


def run(layer, program):
    """Runs Python code in the directory, under the layer, and ends it by SIGKILL."""
    code = "import os, signal, sqlite3\n" + textwrap.dedent(program) + "\nos.kill(os.getpid(), signal.SIGKILL)"
    env = {**os.environ, **layer.env()}
    result = subprocess.run([sys.executable, "-c", code], cwd=layer.directory, env=env, capture_output=True, text=True)
    assert result.returncode == -9, result.stderr


def test_flushed_bytes_survive_and_later_ones_do_not(layer):
    run(layer, """
        f = os.open("a", os.O_RDWR | os.O_CREAT)
        os.pwrite(f, b"0123456789", 0)
        os.fsync(f)
        os.pwrite(f, b"XX", 4)
        os.pwrite(f, b"tail", 10)
        g = os.open("never", os.O_WRONLY | os.O_CREAT)
        os.write(g, b"never flushed")
    """)
    assert (layer.directory / "a").read_bytes() == b"0123XX6789tail"
    seen = layer.cut()
    assert (layer.directory / "a").read_bytes() == b"0123456789"
    assert (layer.directory / "never").read_bytes() == b""
    assert (seen["changes"], seen["flushes"], seen["lost"]) == (4, 1, 3)


def test_every_kind_of_change_is_taken_back(layer):
    run(layer, """
        for name in "abcd":
            f = os.open(name, os.O_RDWR | os.O_CREAT)
            os.write(f, b"0123456789")
            os.fdatasync(f)
            os.close(f)
        os.ftruncate(os.open("a", os.O_RDWR), 3)
        os.ftruncate(os.open("b", os.O_RDWR), 30)
        os.write(os.open("c", os.O_WRONLY | os.O_TRUNC), b"new")
        f = os.open("d", os.O_WRONLY | os.O_APPEND)
        os.writev(f, [b"more", b"and more"])
        os.write(os.dup(f), b"and yet more")
    """)
    layer.cut()
    assert {(layer.directory / name).read_bytes() for name in "abcd"} == {b"0123456789"}


def test_a_rename_keeps_the_name_but_not_unflushed_content(layer):
    run(layer, """
        for name, flush in ("flushed", True), ("unflushed", False):
            for round in range(3):
                f = os.open("new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.write(f, b"content")
                flush and os.fsync(f)
                os.close(f)
                os.rename("new", name)
        f = os.open("gone", os.O_WRONLY | os.O_CREAT)
        os.write(f, b"x")
        os.unlink("gone")
        os.close(f)
        f = os.open("another", os.O_WRONLY | os.O_CREAT)
        os.write(f, b"may have the same inode")
        os.fsync(f)
    """)
    layer.cut()
    assert (layer.directory / "flushed").read_bytes() == b"content"
    assert (layer.directory / "unflushed").read_bytes() == b""
    assert (layer.directory / "another").read_bytes() == b"may have the same inode"


def test_a_flush_cut_short_saves_nothing(layer):
    """Nor does a flush save what was written while it ran."""
    layer.fsync_us = 200_000
    run(layer, """
        import threading, time
        f = os.open("a", os.O_RDWR | os.O_CREAT)
        os.pwrite(f, b"a", 0)
        os.fsync(f)
        os.pwrite(f, b"b", 1)
        first = threading.Thread(target=os.fsync, args=[f], daemon=True)
        first.start()
        time.sleep(0.1)
        os.pwrite(f, b"c", 2)
        first.join()
        threading.Thread(target=os.fsync, args=[f], daemon=True).start()
        time.sleep(0.05)
    """)
    assert layer.cut()["flushes"] == 2
    assert (layer.directory / "a").read_bytes() == b"ab"


def test_ignored_flushes_save_nothing(layer):
    layer.ignore_fsync = True
    run(layer, """
        f = os.open("a", os.O_RDWR | os.O_CREAT)
        os.write(f, b"data")
        os.fsync(f)
    """)
    layer.cut()
    assert (layer.directory / "a").read_bytes() == b""


def test_a_part_of_the_unflushed_may_stay(layer):
    run(layer, """
        f = os.open("a", os.O_RDWR | os.O_CREAT)
        os.write(f, b"." * 2048)
        os.fsync(f)
        for i in range(4):
            os.pwrite(f, bytes([65 + i]) * 1024, 512 * i)
    """)
    file = layer.directory / "a"
    journal, written = layer.journal.read_bytes(), file.read_bytes()
    outcomes = set()
    for seed in range(40):
        layer.journal.write_bytes(journal)
        file.write_bytes(written)
        layer.cut(random.Random(seed))
        outcomes.add(file.read_bytes())
    assert all(set(outcome) <= set(b".ABCD\0") and len(outcome) <= 2560 for outcome in outcomes)
    assert len(outcomes) > 10


@pytest.mark.parametrize("synchronous, durable", [("FULL", True), ("OFF", False)])
def test_sqlite_keeps_what_it_committed_only_if_it_flushes(layer, synchronous, durable):
    for seed in range(6):
        run(layer, f"""
            db = sqlite3.connect("t.db", isolation_level=None)
            db.execute("PRAGMA journal_mode = wal")
            db.execute("PRAGMA synchronous = {synchronous}")
            db.execute("PRAGMA wal_autocheckpoint = 7")
            db.execute("CREATE TABLE IF NOT EXISTS t(n)")
            for n in range(40):
                db.execute("INSERT INTO t VALUES (randomblob(500))")
        """)
        layer.cut(random.Random(seed) if seed % 2 else None)
        try:
            with closing(sqlite3.connect(layer.directory / "t.db")) as db:
                count = db.execute("SELECT count(*) FROM t").fetchone()[0]
                whole = db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        except sqlite3.Error:
            count, whole = 0, False
        if not durable:
            assert count < 40 * (seed + 1) or not whole
            return
        assert whole and count == 40 * (seed + 1)
