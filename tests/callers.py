"""Users of a running server, each with a key of their own, and the manual clock."""

import itertools
import secrets
import threading
from base64 import b32encode
from datetime import UTC, datetime, timedelta
from functools import cached_property

NUMBERS = itertools.count(1)
YES = {"decision": "approve", "reason": "seen and right"}
TESTS = [{"name": "says something", "expect": {"required": ["text"]}}]


class Caller:
    """One key on one server."""

    def __init__(self, server, key, name=None, user=None):
        self.server, self.key, self.name, self.user = server, key, name, user

    @cached_property
    def agent(self):
        """The id of the agent that this key acts through."""
        return self.ask("GET", "/v1/whoami")["agent"]["id"]

    def call(self, method, path, body=None, **more):
        return self.server.call(method, path, body, key=self.key, **more)

    def ask(self, method, path, body=None, expect=200, **more):
        """The answer of a call that must end with this status."""
        status, answer, _ = self.call(method, path, body, **more)
        assert status == expect, f"{method} {path}: {status} {answer}"
        return answer

    def refused(self, method, path, body=None, *, status, code, **more):
        """The refusal of a call that must be refused so."""
        answer = self.ask(method, path, body, expect=status, **more)
        assert answer["code"] == code, answer
        known = {"code", "message", "gate", "errors", "request_id", "existing_ref", "contradictions", "refusal_id"}
        assert set(answer) <= known, answer
        assert answer["message"] and answer["request_id"] and isinstance(answer["errors"], list), answer
        return answer

    def write(self, text, **fields):
        """A write that must commit."""
        answer = self.ask("POST", "/v1/items", {"text": text, **fields}, expect=201)
        assert answer["status"] == "committed", answer
        return answer

    def write_canonical(self, text, now=None, **fields):
        """An item of a layer that needs evidence and a person: cited, and approved by another user if an agent writes it."""
        read_at = now or rfc3339(datetime.now(UTC))
        source = {"source_type": "human_input", "source_uri": "chat://1", "accessed_at": read_at, "excerpt": text}
        status, held, _ = self.call("POST", "/v1/items", {"text": text, "evidence": [source], **fields})
        if status == 201:
            return held
        assert status == 202, held
        return self.reviewer.ask("POST", f"/v1/reviews/{held['pending_id']}:decide", YES)

    @cached_property
    def reviewer(self):
        """A person who may decide on what this user's agents write."""
        reviewer = new_caller(self.server)
        policy = {"kind": "reviewer", "reviewer": reviewer.name, "user": self.ask("GET", "/v1/whoami")["user"]["id"]}
        admin(self.server).ask("PUT", f"/v1/policies/reviewer-{reviewer.name}", policy)
        return reviewer

    def get(self, id, query=""):
        return self.ask("GET", f"/v1/items/{id}{query}")

    def versions(self, id):
        """The versions of an item by their ids."""
        return {row["version"]: row for row in self.ask("GET", f"/v1/items/{id}/versions")["versions"]}

    def search(self, query, **fields):
        return self.ask("POST", "/v1/search", {"query": query, **fields})["results"]

    def found(self, query, **fields):
        """The ids that a search finds, best first."""
        return [result["id"] for result in self.search(query, **fields)]


def admin(server):
    return Caller(server, server.key)


def new_caller(server, name=None, agent=None, role="member", key=None):
    """A new user with a key, made by the admin (or whoever holds `key`)."""
    maker = Caller(server, key or server.key)
    name = name or f"user-{next(NUMBERS)}"
    user = maker.ask("POST", "/v1/users", {"name": name, "role": role}, expect=201)
    asked = {"user": name}
    if agent:
        asked["agent"] = agent
    made = maker.ask("POST", "/v1/keys", asked, expect=201)
    return Caller(server, made["key"], name=name, user=user["id"])


def log_size(server, log="memory"):
    """How many entries a log has, as an admin sees it."""
    return admin(server).ask("GET", f"/v1/proofs/head?log={log}")["size"]


def random_id(prefix="itm"):
    """An id in the right form that names nothing."""
    return f"{prefix}_" + b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()


class Clock:
    """The time of a server that was started with --test-clock. It begins after any start of a server, as a log's times never
    go back."""

    def __init__(self, server, now=datetime(2050, 1, 1, tzinfo=UTC)):
        self.server = server
        self.set(now)

    def set(self, now):
        self.now = now
        admin(self.server).ask("POST", "/v1/test-clock", {"now": self.text})

    def advance(self, **period):
        """Moves on by so many seconds, minutes, hours or days; returns the new time as text."""
        self.set(self.now + timedelta(**period))
        return self.text

    @property
    def text(self):
        return rfc3339(self.now)


def rfc3339(moment):
    """A time as the server writes it: UTC, with microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def in_parallel(count, work):
    """Runs `work(number)` in so many threads that start together; returns what each returned."""
    together, answers = threading.Barrier(count), [None] * count

    def run(number):
        together.wait()
        answers[number] = work(number)

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
