"""Kills a server under load, again and again, and holds what it kept against what it acknowledged.

A `History` belongs to one data directory. It knows every text ever sent there and the id of each that was acknowledged.
After a restart, an acknowledged text must be there once, under its id; any other text at most once, and whole: each text
ends in its own digest. A text sent again must be answered with the id it has.
"""

import hashlib
import http.client
import json
import subprocess
import threading
import time

from server import exchange

WRITERS = 32
RETRIERS = 8  # writers that send again, after the restart, what the kill left unanswered
RECENT_PER_WRITER = 2  # acknowledged last before the kill, so most at risk; every 25th kill looks at everything
KILL_AFTER_MS = (5, 150)
PAGE = 500


class Violation(AssertionError):
    """Something acknowledged is lost, doubled or changed."""


def text_of(writer, number, run):
    label = f"w{writer}-{number}-{run}"
    return f"{label} {hashlib.sha256(label.encode()).hexdigest()}"


class Writer(threading.Thread):
    """Writes distinct texts one after the other on one connection until the server is gone."""

    def __init__(self, server, number, run, start_together):
        super().__init__(daemon=True)
        self.server, self.number, self.run_number, self.start_together = server, number, run, start_together
        self.sent, self.acknowledged, self.refused = [], [], []
        self.unanswered = None

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        self.start_together.wait()
        while not self.refused:
            text = text_of(self.number, len(self.sent), self.run_number)
            self.sent.append(text)
            try:
                status, answer, _ = exchange(connection, "POST", "/v1/items", {"text": text}, self.server.key)
            except (OSError, http.client.HTTPException, ValueError):
                self.unanswered = text
                break
            if status in (200, 201):
                self.acknowledged.append((text, answer["id"]))
            elif status not in (429, 503):
                self.refused.append((status, answer))
        connection.close()


class History:
    """All that was sent to one data directory, and what came back."""

    def __init__(self):
        self.runs = 0
        self.sent, self.acknowledged = set(), {}
        self.recent, self.unanswered = [], []

    def load_and_kill(self, server, rng):
        """32 writers at once, and SIGKILL in their midst."""
        together = threading.Barrier(WRITERS + 1)
        writers = [Writer(server, number, self.runs, together) for number in range(WRITERS)]
        self.runs += 1
        for writer in writers:
            writer.start()
        together.wait()
        time.sleep(rng.uniform(*KILL_AFTER_MS) / 1000)
        server.kill()
        for writer in writers:
            writer.join()
        refused = [refusal for writer in writers for refusal in writer.refused]
        assert not refused, f"{len(refused)} writes refused, the first with {refused[0]}"
        for writer in writers:
            self.sent.update(writer.sent)
            self.acknowledged.update(writer.acknowledged)
        self.recent = [pair for writer in writers for pair in writer.acknowledged[-RECENT_PER_WRITER:]]
        self.unanswered = [writer.unanswered for writer in writers[:RETRIERS] if writer.unanswered]

    def check_recent(self, server):
        """What was acknowledged last is there, and sending it again changes nothing."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        for text, id in self.recent:
            status, item, _ = exchange(connection, "GET", f"/v1/items/{id}", key=server.key)
            if status != 200 or item["text"] != text:
                raise Violation(f"{text!r} was acknowledged as {id}; now {status} {item}")
        for text, id in self.recent[:RETRIERS]:
            self._send_again(connection, server, text, id)
        for text in self.unanswered:
            id = self._send_again(connection, server, text)
            self.acknowledged[text] = id
            self._send_again(connection, server, text, id)
        connection.close()

    def _send_again(self, connection, server, text, expected=None):
        status, answer, _ = exchange(connection, "POST", "/v1/items", {"text": text}, server.key)
        if status not in (200, 201):
            raise Violation(f"{text!r} sent again: {status} {answer}")
        if expected and (answer["id"], answer["status"]) != (expected, "already_committed"):
            raise Violation(f"{text!r} is {expected}; sent again it is {answer}")
        return answer["id"]

    def check_all(self, server):
        """Every item of the server, held against everything that was ever sent."""
        stored = {}
        for item in items(server):
            if item["text"] in stored:
                raise Violation(f"{item['text']!r} is stored twice: {stored[item['text']]} and {item['id']}")
            stored[item["text"]] = item["id"]
        foreign = stored.keys() - self.sent
        if foreign:
            raise Violation(f"{len(foreign)} items that nobody wrote, such as {min(foreign)!r}")
        lost = [text for text, id in self.acknowledged.items() if stored.get(text) != id]
        if lost:
            raise Violation(f"{len(lost)} of {len(self.acknowledged)} acknowledged writes lost, such as {lost[0]!r}")
        return len(stored)


def items(server):
    """All items, page by page."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    path = f"/v1/items?limit={PAGE}"
    cursor = ""
    while cursor is not None:
        status, page, _ = exchange(connection, "GET", path + (f"&cursor={cursor}" if cursor else ""), key=server.key)
        if status != 200:
            raise Violation(f"listing items: {status} {page}")
        yield from page["items"]
        cursor = page["next"]
    connection.close()


def verify(bin, directory, *flags, timeout=300):
    """`tabellion verify` on a directory that no server holds: its report, as (exit code, JSON)."""
    command = [bin, "verify", "--data", directory, "--json", *flags]
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    try:
        return result.returncode, json.loads(result.stdout)
    except ValueError:
        raise AssertionError(f"verify {flags} ended with {result.returncode}: {result.stdout}{result.stderr}") from None


def verify_all(bin, directory):
    """The log is whole, and the views are what the log folds to."""
    for flags in [], ["--views"]:
        code, report = verify(bin, directory, *flags)
        if code != 0 or not report.get("ok"):
            raise Violation(f"verify {flags} ended with {code}: {json.dumps(report)[:2000]}")
