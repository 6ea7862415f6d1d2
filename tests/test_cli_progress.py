"""Work that takes longer than a second says how far it is, on a terminal and nowhere else."""

import json
import os
import pty
import subprocess
import threading

import pytest

from server import Server

LINES = 20_000


def on_terminal(command, env):
    """Runs a command whose stderr is a terminal; what was shown there, and the process's end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(list(map(str, command)), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = []

    def read():
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:
                return
            if not part:
                return
            shown.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    process.communicate(timeout=300)
    reader.join(timeout=10)
    os.close(ours)
    return b"".join(shown).decode(errors="replace"), process.returncode


@pytest.fixture(scope="module")
def much(bin, tmp_path_factory):
    """A stopped server's directory with many lines in it, and what the import of them showed."""
    folder = tmp_path_factory.mktemp("progress")
    lines = folder / "lines.ndjson"
    lines.write_text("".join(json.dumps({"text": f"line {number} of a long import"}) + "\n" for number in range(LINES)))
    limits = {"TABELLION_GOVERNANCE__WRITES_PER_MINUTE": "[1000000,1000000,1000000,1000000,1000000]"}
    with Server(bin, folder / "data", env=limits) as server:
        env = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "100", "TABELLION_URL": server.url, "TABELLION_KEY": server.key}
        shown, code = on_terminal([bin, "import", lines], env)
        assert code == 0, shown
        assert server.stop() == 0
    return folder, env, shown


def test_an_import_shows_how_far_it_is(much):
    """The bar names what is done and how much of it is left."""
    assert "importing" in much[2] and "left" in much[2], much[2][-500:]


def test_offline_work_shows_how_far_it_is(bin, much):
    """verify, rebuild, export and restore, of the same directory: each has a bar if it takes longer than a second."""
    folder, env, _ = much
    for words, name in (
        (["verify", "--data", folder / "data", "--views"], "verifying"),
        (["rebuild", "--data", folder / "data"], "folding"),
        (["export", "--data", folder / "data", "--out", folder / "snapshot"], "exporting"),
        (["restore", "--from", folder / "snapshot", "--data", folder / "again"], "restoring"),
    ):
        began = os.times().elapsed
        shown, code = on_terminal([bin, *words], env)
        took = os.times().elapsed - began
        assert code == 0, (words, shown)
        # A bar appears with the first step after a second.
        assert name in shown or took < 1.5, (words, took, shown)
        piped = subprocess.run(list(map(str, [bin, "verify", "--data", folder / "data"])), env=env, capture_output=True, text=True, timeout=120)
        assert "verifying" not in piped.stderr
