"""A disk that takes no more: the server says so, keeps what it has, and goes on when there is room again.

The limit on the size of files stands in for the disk: it can be lowered and raised while the server runs.
"""

import json
import re
import resource
import subprocess
import sys
import time

import pytest

from callers import Caller, new_caller
from crash import verify
from server import Server

SECONDS_MAX = 20


class LimitedServer(Server):
    """A server that survives the signal which a write beyond the limit sends."""

    def spawn(self):
        popen = subprocess.Popen
        # Python ignores SIGXFSZ; a child keeps that if it is told not to restore signals.
        subprocess.Popen = lambda *args, **more: popen(*args, **more, restore_signals=False)
        try:
            super().spawn()
        finally:
            subprocess.Popen = popen

    def limit(self, size):
        """No file grows beyond `size` bytes from here on."""
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def readiness(server):
    status, answer, _ = server.call("GET", "/readyz", key="")
    return status, answer


def failures(server):
    """How often storage refused, by part."""
    text = server.call("GET", "/metrics", key="")[1]
    found = re.findall(r'^tabellion_storage_failures_total\{part="(\w+)"\} (\d+)$', text, re.MULTILINE)
    return {part: int(count) for part, count in found}


def until(condition):
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit")
def test_full_disk_shows_in_readiness_and_metrics_and_passes(bin, tmp_path):
    """AM-13: `/readyz` answers 503 with the reason, a metric counts, no acknowledged write is lost, and the server goes on by
    itself when there is room again, though nobody writes."""
    with LimitedServer(bin, tmp_path / "data") as server:
        ana = new_caller(server)
        kept = [ana.write(f"before the disk was full: note {number}")["id"] for number in range(5)]
        assert readiness(server) == (200, {"status": "ready"})
        server.limit(1)
        status, refusal, headers = ana.call("POST", "/v1/items", {"text": "there is no room for this"})
        assert (status, refusal["code"]) == (503, "STORAGE_FAILED") and headers["retry-after"], refusal
        status, answer = readiness(server)
        assert (status, answer["status"]) == (503, "unavailable") and "cannot be written" in answer["reason"], answer
        assert failures(server)["log"] >= 1
        assert ana.get(kept[0])["text"] == "before the disk was full: note 0", "what is there can be read"
        looked = subprocess.run([bin, "doctor", "--url", server.url, "--json"], capture_output=True, text=True, timeout=30)
        [check] = [check for check in json.loads(looked.stdout)["checks"] if check["what"] == "server"]
        assert looked.returncode == 1 and "cannot be written" in check["found"] and "room" in check["mend"], check

        server.limit(resource.RLIM_INFINITY)
        until(lambda: readiness(server) == (200, {"status": "ready"}))
        kept.append(ana.write("there is room again")["id"])
        items = {item["id"]: item["text"] for item in ana.ask("GET", "/v1/items?limit=500")["items"]}
        assert set(kept) == set(items) and "there is no room for this" not in items.values()
        rows = Caller(server, server.key).ask("GET", "/v1/audit?limit=100")["rows"]
        assert any(row["action"] in ("storage", "get") for row in rows)
        server.kill()
    code, report = verify(bin, tmp_path / "data")
    assert code == 0 and report["ok"], report
    with Server(bin, tmp_path / "data") as server:
        assert server.stop() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit")
def test_server_on_a_full_disk_can_be_stopped(bin, tmp_path):
    """AM-13: a stop does not wait for room, and the next start finds everything that was acknowledged."""
    with LimitedServer(bin, tmp_path / "data") as server:
        id = new_caller(server).write("before the disk was full")["id"]
        time.sleep(1.3)
        server.limit(1)
        assert server.call("POST", "/v1/items", {"text": "no room"})[0] == 503
        assert server.stop() == 0
    with Server(bin, tmp_path / "data") as server:
        found = [row for row in Caller(server, server.key).ask("GET", "/v1/audit?limit=200")["rows"] if id in row["ids"]]
        assert found and server.stop() == 0
