"""A server under a write policy, with a clock that stands until it is moved, the people and agents who write there, and
evidence of any weight.

    def test_something(strict):
        ana = strict.person()
        bot = strict.agent(ana)
        bot.commits(novel(), evidence=[strict.said(...)])

`strict`, `standard` and `open` are servers shared by the tests of a file, whose time stands still: each test has its own
people, and so its own memory. `alone` makes a server of a test's own, whose clock may be moved and which may be killed.
"""

import hashlib
import http.client
import itertools
import json
import random
import threading
import time
from datetime import timedelta

import pytest

from callers import Caller, Clock, admin, log_size, new_caller, rfc3339
from server import Server, exchange

NUMBERS = itertools.count(1)
SYLLABLES = [c + v for c in "bdgklmnprtvz" for v in "aeiou"]
WAIT_SECONDS_MAX = 20
# What a procedure of these tests is checked by, unless a test says otherwise.
TESTS = [{"name": "says something", "expect": {"required": ["text"]}}]


def novel(words=6):
    """A statement in words that nobody used before: it repeats nothing, contradicts nothing, and its topic is new."""
    chance = random.Random(f"statement {next(NUMBERS)}")
    return " ".join("".join(chance.choices(SYLLABLES, k=3)) for _ in range(words))


def triple(subject, predicate, object):
    return {"subject": subject, "predicate": predicate, "object": object}


def evidence(excerpt, accessed_at, source_type="human_input", **more):
    """A source that was read then and says this."""
    cited = {"source_type": source_type, "source_uri": f"{source_type}://source", "accessed_at": accessed_at}
    if excerpt is not None:
        cited |= {"excerpt": excerpt, "excerpt_hash": hashlib.sha256(excerpt.encode()).hexdigest()}
    return {**cited, **more}


def eventually(look, seconds=WAIT_SECONDS_MAX):
    """What `look` returns once it is true; for what a server does unaided, in real time."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"still {found!r} after {seconds} s"
        time.sleep(0.02)


class Author(Caller):
    """A person or an agent who writes. `world` is the server they write to."""

    def __init__(self, world, key, name, user):
        super().__init__(world.server, key, name=name, user=user)
        self.world = world

    def send(self, text, headers=None, **fields):
        """A write, whatever becomes of it: (status, answer, headers). A procedure carries a test that it passes."""
        if fields.get("layer") == "procedural":
            fields.setdefault("tests", TESTS)
        return self.call("POST", "/v1/items", {"text": text, **fields}, headers=headers)

    def commits(self, text, **fields):
        """A write that must commit at once."""
        return committed(self.send(text, **fields))

    def supported(self, text, days=0, **fields):
        """A write that rests on a person's words, read so long ago, and must commit."""
        return self.commits(text, evidence=[self.world.said(text, days=days)], **fields)

    def held(self, text, **fields):
        """A write that must wait for a person: its 202 answer."""
        return waiting(self.send(text, **fields), "rev_")

    def put_off(self, text, **fields):
        """A write that must wait for its turn: its 202 answer."""
        return waiting(self.send(text, **fields), "def_")

    def turned_down(self, text, *, status, code, gate, **fields):
        """A write that must be refused without a trace in the memory: its refusal."""
        size = log_size(self.server)
        answer = refusal(self.send(text, **fields), status, code, gate)
        assert log_size(self.server) == size, "a refused write leaves no entry"
        return answer

    def review(self, id):
        return self.ask("GET", f"/v1/reviews/{id}")

    def reviews(self, state="pending"):
        return self.ask("GET", f"/v1/reviews?state={state}")["reviews"]

    def decides(self, id, decision="approve", reason="looked at it", **more):
        """A decision, however it ends: (status, answer, headers)."""
        return self.call("POST", f"/v1/reviews/{id}:decide", {"decision": decision, "reason": reason, **more})

    def approves(self, id, reason="looked at it", **more):
        """A yes that must make the held write memory."""
        status, answer, _ = self.decides(id, "approve", reason, **more)
        assert status == 200 and answer["status"] in ("committed", "merged"), answer
        return answer

    def rejects(self, id, reason="not so", **more):
        """A no that must end the review."""
        status, answer, _ = self.decides(id, "reject", reason, **more)
        assert (status, answer["status"]) == (200, "rejected"), answer
        return answer

    def approved(self, text, by=None, **fields):
        """A write that must wait, and becomes memory by the word of a person."""
        pending = self.held(text, **fields)
        return (by or self.world.owner_of(self)).approves(pending["pending_id"])

    def kept(self):
        return self.ask("GET", "/v1/writes")["writes"]

    def provenance(self, id, version=None):
        return self.ask("GET", f"/v1/items/{id}/provenance" + (f"?version={version}" if version else ""))

    def texts(self):
        """The texts of all items that this caller sees, with how often each is there."""
        return [item["text"] for item in self.items()]

    def items(self):
        path, cursor = "/v1/items?limit=500", ""
        while cursor is not None:
            page = self.ask("GET", path + (f"&cursor={cursor}" if cursor else ""))
            yield from page["items"]
            cursor = page["next"]

    def batch(self, bodies):
        """Many writes at once: the result of each line."""
        lines = "".join(json.dumps(body) + "\n" for body in bodies)
        headers = {"Content-Type": "application/x-ndjson"}
        status, answer, _ = self.call("POST", "/v1/items:batch", raw=lines, headers=headers, timeout=120)
        assert status == 200, answer
        return [json.loads(line) for line in answer.splitlines()]


def committed(answer):
    status, body, _ = answer
    assert (status, body.get("status")) == (201, "committed"), body
    return body


def waiting(answer, prefix):
    """A 202 that says what is waited for, and gives nothing that only memory has."""
    status, body, headers = answer
    assert (status, body.get("status")) == (202, "deferred"), body
    assert body["pending_id"].startswith(prefix), body
    assert body["gate"] and body["code"] and body["message"] and not body.get("errors"), body
    assert not any(body.get(name) for name in ("id", "version", "token")), body
    assert ("retry_after" in body) == ("retry-after" in headers), (body, headers)
    return body


def refusal(answer, status, code, gate):
    """A refusal that says who refused, why, where, and what would pass."""
    got, body, _ = answer
    assert (got, body.get("code"), body.get("gate")) == (status, code, gate), (got, body)
    assert body["message"] and body["request_id"] and isinstance(body["errors"], list), body
    for fault in body["errors"]:
        assert fault["path"].startswith("/") and fault["code"] and fault["expected"], fault
    return body


class World:
    """A server under one write policy, and who lives there."""

    def __init__(self, server, policy):
        self.server, self.policy = server, policy
        self.clock = Clock(server)
        self.chief = admin(server)
        self.owners = {}

    def person(self, role="member"):
        """A new user with a key of their own, and so a memory of their own."""
        made = new_caller(self.server, name=f"person-{next(NUMBERS)}", role=role)
        return self._author(made, made.key, made.name)

    def agent(self, user):
        """A new agent that acts for this user."""
        name = f"agent-{next(NUMBERS)}"
        self.chief.ask("POST", "/v1/agents", {"name": name}, expect=201)
        key = self.chief.ask("POST", "/v1/keys", {"user": user.name, "agent": name}, expect=201)["key"]
        return self._author(user, key, name)

    def pair(self):
        """A new person and an agent of theirs."""
        ana = self.person()
        return ana, self.agent(ana)

    def same_agent(self, agent, user):
        """The same agent with a key to act for another user."""
        key = self.chief.ask("POST", "/v1/keys", {"user": user.name, "agent": agent.name}, expect=201)["key"]
        return self._author(user, key, agent.name)

    def _author(self, user, key, name):
        author = Author(self, key, name, user.user)
        self.owners.setdefault(user.user, author)
        return author

    def owner_of(self, author):
        """The person whose memory an agent writes to."""
        return self.owners[author.user]

    def reviewer(self, user):
        """Another person who may look at what this user's agents want remembered."""
        bob = self.person()
        self.policy_set(f"reviewer-{next(NUMBERS)}", kind="reviewer", reviewer=bob.name, user=user.name)
        return bob

    def policy_set(self, name, **body):
        assert self.chief.ask("PUT", f"/v1/policies/{name}", body)["token"]

    def official(self):
        """The beginning of addresses that count as official from now on."""
        prefix = f"https://docs-{next(NUMBERS)}.example.org/"
        self.policy_set(f"official-{next(NUMBERS)}", kind="official_sources", prefixes=[prefix])
        return prefix

    def said(self, text, days=0, **more):
        """A person's words, heard so many days ago: authority .95, full support."""
        return evidence(text, self.ago(days=days), **more)

    def ago(self, **period):
        return rfc3339(self.clock.now - timedelta(**period))

    def restart(self):
        """Kill -9 and start again, at the same time of the clock."""
        self.server.kill()
        self.server.start()
        self.clock.set(self.clock.now)


def environment(policy, **settings):
    named = {f"TABELLION_GOVERNANCE__{name.upper()}": str(value) for name, value in settings.items()}
    return {"TABELLION_GOVERNANCE__POLICY": policy, **named}


def shared(policy):
    """A fixture: one server for all tests of a file that keep out of each other's way."""

    @pytest.fixture(scope="module", name=policy)
    def world(bin, tmp_path_factory):
        directory = tmp_path_factory.mktemp(policy) / "data"
        with Server(bin, directory, env=environment(policy), args=["--test-clock"]) as running:
            yield World(running, policy)

    return world


strict_world, standard_world, open_world = shared("strict"), shared("standard"), shared("open")


@pytest.fixture
def alone(bin, tmp_path):
    """Makes a world for one test; settings are those of the governance section."""
    running = []

    def make(policy="strict", **settings):
        directory = tmp_path / f"world-{len(running)}"
        server = Server(bin, directory, env=environment(policy, **settings), args=["--test-clock"])
        running.append(server.start())
        return World(server, policy)

    yield make
    for server in running:
        server.__exit__()


class Later(threading.Thread):
    """A call that may take its time: what it answered is there after `answer()`."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call, self.result, self.error = call, None, None
        self.start()

    def run(self):
        try:
            self.result = self.call()
        except (OSError, http.client.HTTPException) as error:
            self.error = error

    def answer(self, seconds=WAIT_SECONDS_MAX):
        self.join(seconds)
        assert not self.is_alive(), f"no answer after {seconds} s"
        if self.error:
            raise self.error
        return self.result


class Events:
    """The news of held writes as one caller hears them, gathered as they come."""

    def __init__(self, caller):
        self.heard, self.comments = [], 0
        self.connection = http.client.HTTPConnection("127.0.0.1", caller.server.port, timeout=60)
        headers = {"Authorization": f"Bearer {caller.key}", "Accept": "text/event-stream"}
        self.connection.request("GET", "/v1/reviews:events", headers=headers)
        self.response = self.connection.getresponse()
        kind = self.response.getheader("content-type", "")
        assert self.response.status == 200 and kind.startswith("text/event-stream"), (self.response.status, kind)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        event = {}
        try:
            for line in iter(self.response.readline, b""):
                line = line.decode().rstrip("\r\n")
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    name, _, value = line.partition(":")
                    event[name] = value.strip()
                elif event:
                    self.heard.append((event.get("event"), json.loads(event["data"])))
                    event = {}
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass

    def of(self, review):
        """What was heard of one review, in order."""
        return [data["what"] for _, data in self.heard if data["review"] == review]


class Connection:
    """One caller's open connection, for many calls in a row."""

    def __init__(self, caller):
        self.caller = caller
        self.open = http.client.HTTPConnection("127.0.0.1", caller.server.port, timeout=60)

    def send(self, body):
        return exchange(self.open, "POST", "/v1/items", body, self.caller.key)

    def drop_after(self, body):
        """Sends a write and hangs up without waiting for the answer."""
        payload = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.caller.key}"}
        self.open.request("POST", "/v1/items", body=payload, headers=headers)
        self.close()

    def close(self):
        self.open.close()
