"""A Tabellion server as a child process, and plain REST calls to it. Standard library only.

    with Server(BIN, data_dir) as server:
        status, item, headers = server.call("POST", "/v1/items", {"text": "Port 8080 serves the API"})

The server acts with the admin key unless a call names another one; `key=""` sends no credential at all.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("TABELLION_BIN", ROOT / "target" / "release" / "tabellion"))
ADMIN_KEY = "tab_" + "ab2cd3ef4gh5ij6kl7mn" * 2 + "opqrstuvwxya"
READY_SECONDS_MAX = 30
STOP_SECONDS_MAX = 30


class NotReady(Exception):
    """The server ended, or did not answer /readyz in time. Holds its log."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One server on one data directory. It keeps its port when it is started again."""

    def __init__(self, bin, data_dir, env=None, args=()):
        self.bin = Path(bin)
        self.data_dir = Path(data_dir)
        # Under `open` a test of something else need not bring evidence and a reviewer for what it writes.
        self.env = {
            "TABELLION_ADMIN_KEY": ADMIN_KEY, "TABELLION_EMBEDDING__PROVIDER": "hashed", "TABELLION_GOVERNANCE__POLICY": "open",
            **(env or {}),
        }  # fmt: skip
        self.args = [str(a) for a in args]
        self.port = free_port()
        self.key = self.env["TABELLION_ADMIN_KEY"]
        self.process = None
        self._stderr = tempfile.TemporaryFile()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self):
        """All that the server wrote to stderr, over all its starts."""
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.running():
            self.stop()
        self._stderr.close()

    def running(self):
        return self.process is not None and self.process.poll() is None

    def spawn(self):
        """Start (again) without waiting for anything."""
        self._stderr.seek(0, os.SEEK_END)
        self.process = subprocess.Popen(
            [self.bin, "serve", "--data", self.data_dir, "--listen", f"127.0.0.1:{self.port}", *self.args],
            env={**os.environ, **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
        )

    def start(self):
        """Start (again) and return when /readyz answers 200."""
        self.spawn()
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not self._ready():
            if self.process.poll() is not None:
                raise NotReady(f"the server ended with {self.process.returncode}:\n{self.log}")
            if time.monotonic() > deadline:
                self.kill()
                raise NotReady(f"not ready after {READY_SECONDS_MAX} s:\n{self.log}")
            time.sleep(0.005)
        return self

    def _ready(self):
        try:
            return self.call("GET", "/readyz", key="")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def call(self, method, path, body=None, key=None, raw=None, headers=None, timeout=60):
        """One request on its own connection: (status, JSON or text, headers with lower-case names)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            return exchange(connection, method, path, body, self.key if key is None else key, raw, headers)
        finally:
            connection.close()

    def kill(self):
        """SIGKILL: the process gets no chance to do anything."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """SIGTERM and wait for the clean end; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


def exchange(connection, method, path, body=None, key="", raw=None, headers=None):
    """One request on an open connection, which stays open. `raw` is sent as it is; `body` as JSON."""
    sent = {"Content-Type": "application/json"} if body is not None or raw is not None else {}
    if key:
        sent["Authorization"] = f"Bearer {key}"
    sent.update(headers or {})
    payload = raw if raw is not None else None if body is None else json.dumps(body)
    if isinstance(payload, str):
        payload = payload.encode()
    connection.request(method, path, body=payload, headers=sent)
    response = connection.getresponse()
    data = response.read()
    received = {name.lower(): value for name, value in response.getheaders()}
    is_json = received.get("content-type", "").split(";")[0].strip() == "application/json"
    return response.status, json.loads(data) if is_json and data else data.decode(errors="replace"), received
