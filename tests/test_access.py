"""The access graphs: who may invoke and use what, and what everyone sees by it, now and at any moment before.

TABELLION_SOAK=1 runs 10,000 races of a revocation and a read in place of 200.
"""

import bisect
import http.client
import itertools
import json
import os
import random
import subprocess
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote

import pytest

from callers import Caller, admin, new_caller, random_id, rfc3339
from governed import novel
from grpc_caller import GrpcCaller, Refused
from mcp_caller import McpCaller, over_http
from server import Server, exchange

NUMBERS = itertools.count(1)
SOAK = os.environ.get("TABELLION_SOAK") == "1"
RACES = 10_000 if SOAK else 200
# Long enough for a reader to finish a read.
READ_S = 0.02
READS_ARE_IN_THE_TRAIL_S = 1.5
NOT_GRANTED = {"status": 403, "code": "AGENT_NOT_GRANTED"}
MISSING = {"status": 404, "code": "NOT_FOUND"}
FORBIDDEN = {"status": 403, "code": "FORBIDDEN"}
INVALID = {"status": 422, "code": "SCHEMA_INVALID"}


class World:
    """A server with its admin, who makes people, agents and resources, and ties them together."""

    def __init__(self, server):
        self.server, self.chief = server, admin(server)

    def named(self, kind, **more):
        name = f"{kind}-{next(NUMBERS)}"
        return name, self.chief.ask("POST", f"/v1/{kind}s", {"name": name, **more}, expect=201)["id"]

    def agent(self, **more):
        return self.named("agent", **more)[1]

    def resource(self):
        return self.named("resource")[1]

    def pair(self, person, agent):
        """A key with which an agent acts for a person; it makes the edge between them."""
        made = self.chief.ask("POST", "/v1/keys", {"user": person.user, "agent": agent}, expect=201)
        return Caller(self.server, made["key"], name=person.name, user=person.user)

    def grant(self, graph, source, target, **terms):
        return self.chief.ask("POST", f"/v1/edges/{graph}/{source}/{target}", terms, expect=201)["token"]

    def revoke(self, graph, source, target):
        return self.chief.ask("DELETE", f"/v1/edges/{graph}/{source}/{target}")["token"]

    def set_status(self, agent, verb):
        return self.chief.ask("POST", f"/v1/agents/{agent}:{verb}", {"reason": "tested"})["token"]

    def edges(self, at=None):
        """The edges that stand, as the auditor sees them."""
        rows = self.chief.ask("GET", "/v1/edges" + (f"?at={quote(at)}" if at else ""))["edges"]
        return {(row["graph"], row["source"], row["target"]) for row in rows}

    def what(self, user, agent=None, at=None):
        query = "".join(f"&{name}={quote(value)}" for name, value in (("agent", agent), ("at", at)) if value)
        return set(self.chief.ask("GET", f"/v1/access/what?user={user}{query}")["items"])

    def who(self, item, at=None):
        answer = self.chief.ask("GET", f"/v1/access/who?item={item}" + (f"&at={quote(at)}" if at else ""))
        return {(pair["user"], agent) for pair in answer["pairs"] for agent in pair["agents"]}

    def explain(self, item, user, **more):
        return self.chief.ask("POST", "/v1/explain", {"item": item, "user": user, **more})


@pytest.fixture(scope="module")
def world(shared_server):
    return World(shared_server)


@pytest.fixture
def timed(clock):
    """A world whose time stands until it is moved: `timed.clock`."""
    made = World(clock.server)
    made.clock = clock
    return made


@dataclass
class Taught:
    """A person, an agent of theirs with a resource, and an item that the agent wrote twice."""

    person: Caller
    pair: Caller
    agent: str
    resource: str
    item: str
    version: str
    token: str
    time: str
    word: str = field(default_factory=str)


def taught(world, person=None):
    person = person or new_caller(world.server)
    agent, resource = world.agent(), world.resource()
    world.grant("ar", agent, resource)
    pair = world.pair(person, agent)
    word = f"zephyrine{next(NUMBERS)}"
    first = pair.write(f"The {word} opens at nine")
    body = {"text": f"The {word} opens at ten", "expected_version": first["version"]}
    second = pair.ask("PUT", f"/v1/items/{first['id']}", body, expect=201)
    created = pair.get(first["id"])["updated_at"]
    return Taught(person, pair, agent, resource, first["id"], second["version"], first["token"], created, word)


def surfaces(caller, it):
    """Every way to an item that a caller has, by name: whether it shows the item."""
    id, found = it.item, f"The {it.word} opens"
    reads = {
        "get": f"/v1/items/{id}",
        "get as of a time": f"/v1/items/{id}?as_of={quote(it.time)}",
        "versions": f"/v1/items/{id}/versions",
        "provenance": f"/v1/items/{id}/provenance",
        "provenance of a version": f"/v1/items/{id}/provenance?version={it.version}",
    }
    seen = {name: caller.call("GET", path)[0] == 200 for name, path in reads.items()}
    seen["list"] = any(row["id"] == id for row in everything(caller))
    for mode in "hybrid", "dense", "lexical":
        seen[f"search {mode}"] = id in caller.found(found, mode=mode, k=100)
    seen["search as of"] = id in caller.found(found, as_of=it.time, k=100)
    seen["search exact"] = id in caller.found(found, exact=True, k=100)
    return seen


def everything(caller):
    """All items that a caller may list."""
    cursor, rows = None, []
    while True:
        page = caller.ask("GET", "/v1/items?limit=500" + (f"&cursor={quote(cursor)}" if cursor else ""))
        rows += page["items"]
        cursor = page["next"]
        if not cursor:
            return rows


def check_shown(caller, it, expected):
    seen = surfaces(caller, it)
    assert set(seen.values()) == {expected}, seen


def bare(reply):
    """All of a reply but what is made anew each time."""
    status, answer, headers = reply
    left = {name: value for name, value in answer.items() if name not in ("request_id", "refusal_id")}
    return status, left, sorted(headers), headers.get("content-length")


# Granting and revoking


def test_a_pair_key_makes_the_edge_and_ends_with_it(world):
    """SHARE-3, SHARE-4, SHARE-28 and decision 4: without the edge the pair is refused everywhere and at once."""
    it = taught(world)
    edge = ("ua", it.person.user, it.agent)
    assert edge in world.edges()
    world.revoke(*edge)
    assert edge not in world.edges()
    for method, path, body in (
        ("GET", "/v1/whoami", None),
        ("GET", f"/v1/items/{it.item}", None),
        ("GET", "/v1/items", None),
        ("POST", "/v1/search", {"query": "x"}),
        ("POST", "/v1/items", {"text": "x"}),
        ("DELETE", f"/v1/items/{it.item}", None),
        ("GET", f"/v1/items/{it.item}/explain", None),
        ("GET", "/v1/audit", None),
    ):
        it.pair.refused(method, path, body, **NOT_GRANTED)
    world.grant(*edge)
    it.pair.write("back at work")
    check_shown(it.pair, it, True)


def test_an_edge_is_listed_as_it_was_granted(timed):
    """SHARE-4: source, target, since when and until when; names do where ids do, and granting again replaces the times."""
    person = new_caller(timed.server)
    name, agent = timed.named("agent")
    granted_at = timed.clock.advance(minutes=1)
    end = rfc3339(timed.clock.now + timedelta(days=1))
    timed.grant("ua", person.name, name, expires_at=end, reason="a trial")

    def listed():
        return [row for row in timed.chief.ask("GET", "/v1/edges")["edges"] if row["target"] == agent]

    expected = {"graph": "ua", "source": person.user, "target": agent, "support": "direct", "since": granted_at}
    assert listed() == [{**expected, "expires_at": end}]
    again = timed.clock.advance(minutes=1)
    timed.grant("ua", person.user, agent)
    assert listed() == [{**expected, "since": again}]
    timed.grant("ua", person.user, agent)
    assert listed() == [{**expected, "since": again}], "the same once more changes nothing"
    timed.revoke("ua", person.name, name)
    assert listed() == []


def test_what_is_no_edge_is_refused(world):
    """SHARE-4: graphs, ends and times that are not there are named, and nothing is logged."""
    chief, person, agent, resource = world.chief, new_caller(world.server), world.agent(), world.resource()
    size = chief.ask("GET", "/v1/proofs/head")["size"]
    for path in (
        f"/v1/edges/ur/{person.user}/{resource}",
        f"/v1/edges/ua/{random_id('usr')}/{agent}",
        f"/v1/edges/ua/{person.user}/{random_id('agt')}",
        f"/v1/edges/ua/{person.user}/{resource}",
        f"/v1/edges/ar/{agent}/{random_id('res')}",
        f"/v1/edges/ar/{person.user}/{resource}",
    ):
        chief.refused("POST", path, **MISSING)
        chief.refused("DELETE", path, **MISSING)
    edge = f"/v1/edges/ua/{person.user}/{agent}"
    chief.refused("DELETE", edge, **MISSING)
    for body in (
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"expires_at": "soon"},
        {"not_before": "then"},
        {"not_before": "2099-01-01T00:00:00Z", "expires_at": "2098-01-01T00:00:00Z"},
        {"reason": "x" * 1_025},
        {"until": "2099-01-01T00:00:00Z"},
    ):
        chief.refused("POST", edge, body, **INVALID)
    chief.refused("GET", "/v1/access/who", **INVALID)
    chief.refused("GET", "/v1/access/what", **INVALID)
    told = chief.refused("GET", "/v1/edges?at=then", status=422, code="TOKEN_INVALID")
    assert [fault["path"] for fault in told["errors"]] == ["/query/at"]
    chief.refused("GET", f"/v1/access/who?item={random_id()}", **MISSING)
    chief.refused("GET", "/v1/access/what?user=nobody", **MISSING)
    assert chief.ask("GET", "/v1/proofs/head")["size"] == size


def test_another_tenant_has_no_say(world):
    """SHARE-29: ids of another tenant name nothing, not even to its admin."""
    it = taught(world)
    other = world.chief.ask("POST", "/v1/tenants", {"name": f"tenant-{next(NUMBERS)}"}, expect=201)
    foreign = Caller(world.server, other["admin_key"])
    for method in "POST", "DELETE":
        foreign.refused(method, f"/v1/edges/ua/{it.person.user}/{it.agent}", **MISSING)
    foreign.refused("GET", f"/v1/access/who?item={it.item}", **MISSING)
    foreign.refused("GET", f"/v1/access/what?user={it.person.user}", **MISSING)
    foreign.refused("GET", f"/v1/items/{it.item}/explain", **MISSING)
    foreign.refused("POST", f"/v1/agents/{it.agent}:delete", {"reason": "x"}, **MISSING)
    check_shown(it.person, it, True)


# What a revocation hides


def test_losing_an_agent_hides_what_it_taught(world):
    """SHARE-5, SHARE-11 and decision 3: from the very next read on, on every surface; a regrant restores."""
    it = taught(world)
    own = it.person.write("by hand")
    check_shown(it.person, it, True)
    for _ in range(2):
        world.revoke("ua", it.person.user, it.agent)
        check_shown(it.person, it, False)
        assert it.person.get(own["id"])["text"] == "by hand"
        world.grant("ua", it.person.user, it.agent)
        check_shown(it.person, it, True)
        check_shown(it.pair, it, True)


def test_losing_a_resource_hides_what_it_said(world):
    """SHARE-3, SHARE-9, SHARE-11: what an agent learnt from a resource is hidden from it once it may not use that, and from a
    person none of whose agents may; so is what it writes soon after it was given that."""
    it = taught(world)
    world.revoke("ar", it.agent, it.resource)
    check_shown(it.pair, it, False)
    check_shown(it.person, it, False)
    fresh = it.pair.write("from nowhere")
    it.pair.refused("GET", f"/v1/items/{fresh['id']}", **MISSING)
    world.grant("ar", it.agent, it.resource)
    check_shown(it.pair, it, True)
    check_shown(it.person, it, True)
    assert it.pair.get(fresh["id"])["resources"] == [it.resource]


def test_a_person_sees_what_any_agent_shows(world):
    """SHARE-12: the human view is the union over working agents: another agent with the resource is enough for R."""
    it = taught(world)
    second = world.agent()
    colleague = world.pair(it.person, second)
    assert colleague.call("GET", f"/v1/items/{it.item}")[0] == 404, "the other agent lacks the resource"
    world.grant("ar", second, it.resource)
    check_shown(colleague, it, True)
    world.revoke("ar", it.agent, it.resource)
    check_shown(it.pair, it, False)
    check_shown(it.person, it, True)
    world.revoke("ar", second, it.resource)
    check_shown(it.person, it, False)


def test_a_version_of_a_lost_agent_is_named_nowhere(world):
    """SHARE-11, SHARE-41: where one agent's version replaced another's, what the lost one added is not even named."""
    it = taught(world)
    second = world.agent()
    world.grant("ar", second, it.resource)
    colleague = world.pair(it.person, second)
    later = colleague.ask("PUT", f"/v1/items/{it.item}", {"text": f"The {it.word} opens at noon"}, expect=201)
    assert set(it.person.get(it.item)["agents"]) == {it.agent, second}
    world.revoke("ua", it.person.user, second)
    for caller in it.person, it.pair:
        caller.refused("GET", f"/v1/items/{it.item}", **MISSING)
        assert later["version"] not in caller.versions(it.item) and it.version in caller.versions(it.item)
        record = caller.ask("GET", f"/v1/items/{it.item}/provenance?version={it.version}")
        assert later["version"] not in json.dumps(record)
        assert caller.get(it.item, f"?as_of={quote(it.time)}")["version"] == it.version
        assert it.item not in caller.found(f"The {it.word} opens", k=100)
        caller.refused("POST", f"/v1/items/{it.item}:rollback", {"version": later["version"]}, **MISSING)
        caller.refused("POST", f"/v1/items/{it.item}:quarantine", {"reason": "r"}, **MISSING)
        caller.refused("PUT", f"/v1/items/{it.item}", {"text": "x", "expected_version": later["version"]}, **MISSING)
    world.grant("ua", it.person.user, second)
    assert it.person.get(it.item)["version"] == later["version"]


def test_hidden_looks_like_missing(world):
    """SHARE-41: get, update, delete, verbs, history, derivation and explanation answer for what is hidden as for what
    is not there."""
    it = taught(world)
    stranger = new_caller(world.server)
    nothing, no_version = random_id(), random_id("ver")
    world.revoke("ua", it.person.user, it.agent)
    for caller, explains in (it.person, False), (stranger, True):
        asked = [
            ("GET", "/v1/items/{id}", None),
            ("GET", "/v1/items/{id}?as_of=" + quote(it.time), None),
            ("GET", "/v1/items/{id}/versions", None),
            ("GET", "/v1/items/{id}/provenance", None),
            ("GET", "/v1/items/{id}/provenance?version={version}", None),
            ("PUT", "/v1/items/{id}", {"text": "mine now"}),
            ("DELETE", "/v1/items/{id}", None),
            ("POST", "/v1/items/{id}:pin", {"reason": "r"}),
            ("POST", "/v1/items/{id}:rollback", {"reason": "r"}),
            ("POST", "/v1/items/{id}:quarantine", {"reason": "r"}),
            ("POST", "/v1/items", {"text": "from it", "derived_from": ["{version}"]}),
            ("POST", "/v1/items", {"text": "instead", "supersedes": "{id}"}),
        ]
        if explains:
            asked.append(("GET", "/v1/items/{id}/explain", None))
        for method, path, body in asked:
            replies = []
            for id, version in (it.item, it.version), (nothing, no_version):
                text = json.dumps(body).replace("{id}", id).replace("{version}", version)
                target = path.replace("{id}", id).replace("{version}", version)
                replies.append(bare(caller.call(method, target, json.loads(text))))
            assert replies[0] == replies[1], f"{method} {path}"
            assert replies[0][0] in (404, 422), replies[0]
    world.grant("ua", it.person.user, it.agent)
    assert it.person.get(it.item)["version"] == it.version, "nothing happened to it meanwhile"


def test_a_hidden_twin_is_no_duplicate(world):
    """SHARE-42, SHARE-43: a write that says what a hidden item says, or the opposite, is answered as if that were not."""
    it = taught(world)
    world.revoke("ua", it.person.user, it.agent)
    same = it.person.write(f"The {it.word} opens at ten")
    assert same["id"] != it.item and "contradictions" not in same
    _, answer, _ = it.person.call("POST", "/v1/items", {"text": f"The {it.word} never opens at ten"})
    assert it.item not in json.dumps(answer)


# Times


def test_an_edge_ends_by_itself(timed):
    """SHARE-4, SHARE-36: at `expires_at` and not a moment before, without anybody doing anything."""
    it = taught(timed)
    end = timed.clock.now + timedelta(hours=1)
    timed.grant("ua", it.person.user, it.agent, expires_at=rfc3339(end))
    timed.clock.set(end - timedelta(microseconds=1))
    check_shown(it.pair, it, True)
    check_shown(it.person, it, True)
    timed.clock.set(end)
    it.pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
    check_shown(it.person, it, False)
    assert ("ua", it.person.user, it.agent) not in timed.edges()
    timed.grant("ua", it.person.user, it.agent)
    check_shown(it.pair, it, True)


def test_an_edge_begins_by_itself(timed):
    """SHARE-4: before `not_before` it does not count, though it was granted."""
    it = taught(timed)
    start = timed.clock.now + timedelta(hours=1)
    timed.grant("ar", it.agent, it.resource, not_before=rfc3339(start))
    timed.grant("ua", it.person.user, it.agent, not_before=rfc3339(start), expires_at=rfc3339(start + timedelta(hours=1)))
    it.pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
    check_shown(it.person, it, False)
    timed.clock.set(start - timedelta(microseconds=1))
    it.pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
    timed.clock.set(start)
    check_shown(it.pair, it, True)
    check_shown(it.person, it, True)
    timed.clock.advance(hours=1)
    check_shown(it.person, it, False)


# Agents that work no more


def status_of(world, agent):
    [status] = [row["status"] for row in world.chief.ask("GET", "/v1/agents")["agents"] if row["id"] == agent]
    return status


def test_a_retired_agent_is_read_and_not_called(world):
    """SHARE-1 and decision 6: its key is refused, what it taught stays; activated, it works again."""
    it = taught(world)
    # What was learnt from a resource is seen through an agent that works and may use it.
    second = world.agent()
    world.grant("ar", second, it.resource)
    world.pair(it.person, second)
    assert status_of(world, it.agent) == "active"
    world.set_status(it.agent, "retire")
    assert status_of(world, it.agent) == "retired"
    it.pair.refused("GET", f"/v1/items/{it.item}", **NOT_GRANTED)
    check_shown(it.person, it, True)
    told = world.explain(it.item, it.person.user, agent=it.agent)
    assert told["visible"] is False and told["hindrances"] == [{"reason": "agent_revoked", "id": it.agent}]
    world.set_status(it.agent, "activate")
    assert status_of(world, it.agent) == "active"
    check_shown(it.pair, it, True)


def test_a_deleted_agent_is_gone_for_good(world):
    """SHARE-1 and decision 6: its edges end, what it taught is hidden, and nothing brings it back."""
    it = taught(world)
    name = next(row["name"] for row in world.chief.ask("GET", "/v1/agents")["agents"] if row["id"] == it.agent)
    world.set_status(it.agent, "delete")
    assert status_of(world, it.agent) == "deleted"
    it.pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
    check_shown(it.person, it, False)
    assert not any(it.agent in edge for edge in world.edges())
    for verb in "activate", "retire", "delete":
        world.chief.refused("POST", f"/v1/agents/{it.agent}:{verb}", {"reason": "r"}, **MISSING)
    world.chief.refused("POST", f"/v1/edges/ua/{it.person.user}/{it.agent}", **MISSING)
    world.chief.refused("POST", f"/v1/edges/ar/{it.agent}/{it.resource}", **MISSING)
    world.chief.refused("POST", "/v1/keys", {"user": it.person.user, "agent": name}, **INVALID)
    world.chief.refused("POST", "/v1/agents", {"name": name}, status=409, code="NAME_TAKEN")
    check_shown(it.person, it, False)


def test_the_agent_of_people_stays(world):
    """SHARE-12: people write through `direct`; it can be neither retired nor deleted."""
    for verb in "retire", "delete":
        world.chief.refused("POST", f"/v1/agents/direct:{verb}", {"reason": "r"}, **FORBIDDEN)
    world.chief.refused("POST", "/v1/agents/direct:retire", **INVALID)


# What a write carries


def test_declared_resources_must_be_granted(world):
    """SHARE-10: naming what the agent may not use is refused, also for `direct`."""
    person, agent, resource = new_caller(world.server), world.agent(), world.resource()
    pair = world.pair(person, agent)
    for caller in pair, person:
        refusal = caller.refused(
            "POST", "/v1/items", {"text": "x", "resources": [resource]}, status=403, code="RESOURCE_NOT_GRANTED"
        )
        assert [fault["path"] for fault in refusal["errors"]] == ["/resources/0"]
    world.grant("ar", agent, resource)
    written = pair.write("with leave", resources=[resource])
    assert pair.get(written["id"])["resources"] == [resource]


def test_what_is_not_declared_is_all_there_is(world):
    """SHARE-10 and decision 10: the word of an agent counts only if it is trusted; else all that it may use does."""
    person = new_caller(world.server)
    plain, trusted = world.agent(), world.agent(trust_declared=True)
    one, two = sorted([world.resource(), world.resource()])
    for agent in plain, trusted:
        world.grant("ar", agent, one)
        world.grant("ar", agent, two)
    plain_pair, trusted_pair = world.pair(person, plain), world.pair(person, trusted)

    def carried(pair, text, **fields):
        return sorted(pair.get(pair.write(text, **fields)["id"])["resources"])

    assert carried(plain_pair, "says nothing") == carried(plain_pair, "says one", resources=[one]) == [one, two]
    assert carried(trusted_pair, "says one too", resources=[one]) == [one]
    assert carried(trusted_pair, "is silent") == [one, two]


# Explanations


def test_an_item_is_explained(world):
    """SHARE-32: each condition is named; what hides an item is told to its contributor and to auditors alone."""
    it = taught(world)
    stranger, auditor = new_caller(world.server), new_caller(world.server, role="auditor")
    path = f"/v1/items/{it.item}/explain"
    expected = {
        "id": it.item, "version": it.version, "visible": True, "tier": "private", "agents": [it.agent],
        "resources": [it.resource], "hindrances": [],
    }  # fmt: skip
    assert it.pair.ask("GET", path) == it.person.ask("GET", path) == expected
    assert world.explain(it.item, it.person.user, agent=it.agent) == expected
    for caller in stranger, auditor:
        caller.refused("GET", path, **MISSING)
    stranger.refused("POST", "/v1/explain", {"user": stranger.user, "item": it.item}, **FORBIDDEN)
    private = auditor.ask("POST", "/v1/explain", {"user": stranger.name, "item": it.item})
    assert private["visible"] is False and {"reason": "private"} in private["hindrances"]

    world.revoke("ar", it.agent, it.resource)
    lost = {**expected, "visible": False, "hindrances": [{"reason": "resource_revoked", "id": it.resource}]}
    assert it.pair.ask("GET", path) == it.person.ask("GET", path) == lost
    token = world.revoke("ua", it.person.user, it.agent)
    gone = it.person.ask("GET", path)
    assert gone["visible"] is False and {"reason": "agent_revoked", "id": it.agent} in gone["hindrances"]
    assert world.explain(it.item, it.person.user, at=token)["visible"] is False
    for caller in stranger, auditor:
        caller.refused("GET", path, **MISSING)
    world.grant("ua", it.person.user, it.agent)
    world.grant("ar", it.agent, it.resource)
    assert it.pair.ask("GET", path) == expected
    assert world.explain(it.item, it.person.user, at=token)["visible"] is False, "the past stays as it was"


# Who and what, against a model


class Model:
    """Plain sets: which edges stand, who was deleted or retired, and what each item was made with."""

    def __init__(self, direct):
        self.direct, self.ua, self.ar, self.status, self.items = direct, {}, {}, {}, {}

    def copy(self):
        made = Model(self.direct)
        made.ua, made.ar, made.status = dict(self.ua), dict(self.ar), dict(self.status)
        made.items = dict(self.items)
        return made

    def holds(self, edges, edge, now):
        start, end = edges.get(edge, (None, None))
        return edge in edges and (start is None or start <= now) and (end is None or now < end)

    def agents(self, user, now):
        held = {a for (u, a) in self.ua if u == user and self.holds(self.ua, (u, a), now)}
        return {a for a in held if self.status.get(a) != "deleted"} | {self.direct}

    def resources(self, agent, now):
        return {r for (a, r) in self.ar if a == agent and self.holds(self.ar, (a, r), now)}

    def edges(self, now):
        held = {("ua", *edge) for edge in self.ua if self.holds(self.ua, edge, now)}
        return held | {("ar", *edge) for edge in self.ar if self.holds(self.ar, edge, now)}

    def sees(self, user, agent, item, now):
        owner, agents, resources = self.items[item]
        acting = {a for a in self.agents(user, now) if self.status.get(a, "active") == "active"}
        if agent is not None:
            acting &= {agent}
        used = any(resources <= self.resources(a, now) for a in acting)
        return owner == user and agents <= self.agents(user, now) and used

    def delete(self, agent):
        self.status[agent] = "deleted"
        self.ua = {edge: terms for edge, terms in self.ua.items() if edge[1] != agent}
        self.ar = {edge: terms for edge, terms in self.ar.items() if edge[0] != agent}


class History:
    """Steps taken at random on a server and on the model, with what the model was after each."""

    def __init__(self, world, rng):
        self.world, self.rng = world, rng
        self.people = [new_caller(world.server) for _ in range(3)]
        self.agents = [world.agent() for _ in range(4)]
        self.targets = [world.resource() for _ in range(2)]
        self.model = Model(world.chief.agent)
        self.pairs, self.past, self.granted = {}, [], set()
        self.earlier = world.edges()

    def step(self):
        rng, model = self.rng, self.model
        world, now = self.world, self.world.clock.now
        kind = rng.choices(["ua", "ar", "un-ua", "un-ar", "write", "status", "wait"], [5, 3, 4, 2, 6, 1, 2])[0]
        living = [a for a in self.agents if model.status.get(a) != "deleted"]
        agent = rng.choice(living)
        if kind in ("ua", "ar"):
            source, target = (rng.choice(self.people).user, agent) if kind == "ua" else (agent, rng.choice(self.targets))
            edges = model.ua if kind == "ua" else model.ar
            terms = self.terms(now)
            world.grant(kind, source, target, **{name: rfc3339(at) for name, at in terms.items()})
            edges[source, target] = (terms.get("not_before"), terms.get("expires_at"))
            self.granted.add((source, target))
        elif kind in ("un-ua", "un-ar"):
            edges = model.ua if kind == "un-ua" else model.ar
            if edges:
                edge = rng.choice(sorted(edges))
                world.revoke(kind[3:], *edge)
                del edges[edge]
        elif kind == "write":
            self.write(rng.choice(self.people), agent, now)
        elif kind == "status":
            verb = rng.choice(["retire", "activate", "delete"] if len(living) > 2 else ["retire", "activate"])
            world.set_status(agent, verb)
            if verb == "delete":
                model.delete(agent)
            else:
                model.status[agent] = {"retire": "retired", "activate": "active"}[verb]
        world.clock.advance(seconds=rng.choice([1, 30, 600]))
        self.past.append((rfc3339(world.clock.now - timedelta(microseconds=1)), model.copy()))

    def terms(self, now):
        terms = {}
        if self.rng.random() < 0.25:
            terms["not_before"] = now + timedelta(seconds=self.rng.choice([20, 900]))
        if self.rng.random() < 0.25:
            terms["expires_at"] = terms.get("not_before", now) + timedelta(seconds=self.rng.choice([20, 900]))
        return terms

    def write(self, person, agent, now):
        """A write of a pair that may act. Its key makes the edge if there never was one, and leaves alone one that stands."""
        model, edge = self.model, (person.user, agent)
        if edge not in self.pairs:
            _, end = model.ua.get(edge, (None, now))
            has_ended = end is not None and end <= now
            if has_ended and edge in self.granted:
                self.world.grant("ua", *edge)
            self.pairs[edge] = self.world.pair(person, agent)
            if has_ended:
                model.ua[edge] = (None, None)
            self.granted.add(edge)
        acts = model.holds(model.ua, edge, now) and model.status.get(agent, "active") == "active"
        status, answer, _ = self.pairs[edge].call("POST", "/v1/items", {"text": novel()})
        assert status == (201 if acts else 403), answer
        if acts:
            model.items[answer["id"]] = (person.user, {agent}, frozenset(model.resources(agent, now)))

    def check(self, at, model, moment):
        """Edges, what each pair sees and who sees each item, at a moment, from the server and from the model."""
        now = moment
        assert self.world.edges(at) - self.earlier == model.edges(now), at
        for person in self.people:
            for agent in [None, model.direct, *self.agents]:
                expected = {item for item in model.items if model.sees(person.user, agent, item, now)}
                assert self.world.what(person.user, agent, at) == expected, (at, person.user, agent)


def test_who_and_what_at_any_moment(timed, rng):
    """SHARE-2, SHARE-3, SHARE-4, SHARE-13: at every past moment the server says what a model in plain sets says."""
    history = History(timed, rng)
    for _ in range(90):
        history.step()

    def moment(at):
        return datetime.fromisoformat(at.replace("Z", "+00:00"))

    history.check(None, history.model, timed.clock.now)
    for at, model in rng.sample(history.past, 20):
        history.check(at, model, moment(at))
    users = [person.user for person in history.people]
    items = sorted(history.model.items)
    assert items, "the steps wrote something"
    for item in rng.sample(items, min(12, len(items))):
        for at, then in rng.sample(history.past, 8):
            if item not in then.items:
                continue
            acting = [then.direct, *history.agents]
            expected = {(u, a) for u in users for a in acting if then.sees(u, a, item, moment(at))}
            assert timed.who(item, at) == expected, (item, at)
            for user in users:
                for agent in [None, *history.agents]:
                    told = timed.explain(item, user, at=at, **({"agent": agent} if agent else {}))
                    assert told["visible"] == then.sees(user, agent, item, moment(at)), (item, user, agent, at)


def test_the_live_view_is_the_audited_one(timed, rng):
    """SHARE-11, SHARE-12: what a caller lists is what `what` says of it, for people and for pairs."""
    history = History(timed, rng)
    for _ in range(60):
        history.step()
        if rng.random() < 0.2:
            for person in history.people:
                listed = {row["id"] for row in everything(person)}
                assert listed == timed.what(person.user)
            for (user, agent), pair in history.pairs.items():
                status, _, _ = pair.call("GET", "/v1/whoami")
                if status == 200:
                    assert {row["id"] for row in everything(pair)} == timed.what(user, agent)


# Who may ask, and what is kept of it


def test_roles_bound_who_may_grant_and_ask(world):
    """SHARE-13, SHARE-28: admins grant, auditors ask, members do neither; a refusal changes nothing."""
    it = taught(world)
    auditor = new_caller(world.server, role="auditor")
    edge = f"/v1/edges/ua/{it.person.user}/{it.agent}"
    for caller in it.person, it.pair, auditor:
        caller.refused("POST", edge, **FORBIDDEN)
        caller.refused("DELETE", edge, **FORBIDDEN)
        for verb in "retire", "activate", "delete":
            caller.refused("POST", f"/v1/agents/{it.agent}:{verb}", {"reason": "r"}, **FORBIDDEN)
    asked = [
        ("GET", "/v1/edges", None),
        ("GET", f"/v1/access/who?item={it.item}", None),
        ("GET", f"/v1/access/what?user={it.person.user}&agent={it.agent}", None),
        ("POST", "/v1/explain", {"user": it.person.user, "item": it.item}),
    ]
    for method, path, body in asked:
        for caller in it.person, it.pair:
            caller.refused(method, path, body, **FORBIDDEN)
        auditor.ask(method, path, body)
    check_shown(it.person, it, True)
    assert world.who(it.item) >= {(it.person.user, it.agent)}


def test_every_operation_leaves_a_row(world):
    """SHARE-33: one row of the trail for each, with its outcome and what it concerned, refusals too."""
    it = taught(world)
    asked = new_caller(world.server, role="admin")
    edge = f"/v1/edges/ua/{it.person.user}/{it.agent}"
    asked.ask("POST", edge, expect=201)
    asked.ask("DELETE", edge)
    asked.refused("DELETE", edge, **MISSING)
    asked.ask("GET", "/v1/edges")
    asked.ask("GET", f"/v1/access/who?item={it.item}")
    asked.ask("GET", f"/v1/access/what?user={it.person.user}")
    asked.ask("POST", "/v1/explain", {"user": it.person.user, "item": it.item})
    asked.refused("GET", f"/v1/items/{it.item}/explain", **MISSING)
    asked.ask("POST", f"/v1/agents/{it.agent}:retire", {"reason": "r"})
    time.sleep(READS_ARE_IN_THE_TRAIL_S)
    rows = [row for row in world.chief.ask("GET", "/v1/audit?limit=500")["rows"] if row["user"] == asked.user]
    told = [(row["action"], row["outcome"]) for row in reversed(rows)]
    expected = [
        ("grant", "ok"), ("revoke", "ok"), ("revoke", "NOT_FOUND"), ("list_edges", "ok"), ("who", "ok"), ("what", "ok"),
        ("explain", "ok"), ("explain", "NOT_FOUND"), ("set_agent_status", "retired"),
    ]  # fmt: skip
    assert sorted(told) == sorted(expected)
    [granted] = [row for row in rows if row["action"] == "grant"]
    assert granted["ids"] == [it.person.user, it.agent]
    revoked = next(row for row in rows if (row["action"], row["outcome"]) == ("revoke", "ok"))
    assert revoked["epoch"] >= granted["epoch"] and revoked["request_id"]


def test_a_restart_keeps_it_all(bin, tmp_path):
    """SHARE-4, SHARE-5: edges, their ends and who works are the same after a restart, killed or not."""
    with Server(bin, tmp_path / "data") as server:
        world = World(server)
        kept, lost, gone = taught(world), taught(world), taught(world)
        world.revoke("ua", lost.person.user, lost.agent)
        world.set_status(gone.agent, "delete")
        token = world.revoke("ar", kept.agent, kept.resource)
        world.grant("ar", kept.agent, kept.resource)
        edges, seen = world.edges(), world.who(kept.item)
        for stop in server.stop, server.kill:
            stop()
            server.start()
            check_shown(kept.person, kept, True)
            check_shown(kept.pair, kept, True)
            for it in lost, gone:
                it.pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
                check_shown(it.person, it, False)
            assert world.edges() == edges and world.who(kept.item) == seen
            assert world.who(kept.item, token) == set()
            assert status_of(world, gone.agent) == "deleted"


# Races


class Reader(threading.Thread):
    """Reads an item over and over; notes when each read began and ended, and whether it showed the item."""

    def __init__(self, server, key, it, search):
        super().__init__(daemon=True)
        self.server, self.key, self.it, self.search = server, key, it, search
        self.reads, self.done, self.failure = [], threading.Event(), None

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            while not self.done.is_set():
                began = time.monotonic()
                shown = self.shows(connection)
                self.reads.append((began, time.monotonic(), shown))
        except (OSError, http.client.HTTPException) as failure:
            self.failure = failure
        finally:
            connection.close()

    def shows(self, connection):
        if self.search:
            body = {"query": f"The {self.it.word} opens", "mode": "lexical"}
            status, answer, _ = exchange(connection, "POST", "/v1/search", body, self.key)
            return status == 200 and any(row["id"] == self.it.item for row in answer["results"])
        status, _, _ = exchange(connection, "GET", f"/v1/items/{self.it.item}", None, self.key)
        return status == 200


def reads_within(readers, spans):
    """What was shown by reads that lie wholly within one of these spans of time."""
    starts = [since for since, _ in spans]

    def is_within(began, ended):
        place = bisect.bisect_left(starts, began) - 1
        return place >= 0 and ended < spans[place][1]

    return [shown for reader in readers for began, ended, shown in reader.reads if is_within(began, ended)]


def test_no_read_after_an_acknowledged_revocation_is_stale(bin, tmp_path, say):
    """SHARE-5, acceptance 2: races of revoke-acknowledged-then-read, with readers at work meanwhile: none is stale, and a
    regrant that was acknowledged shows at once."""
    with Server(bin, tmp_path / "data") as server:
        world = World(server)
        it = taught(world)
        edges = [("ua", it.person.user, it.agent), ("ar", it.agent, it.resource)]
        sides = (it.person, False), (it.person, True), (it.pair, False)
        readers = [Reader(server, caller.key, it, search) for caller, search in sides]
        for reader in readers:
            reader.start()
        hidden, shown, chance = [], [], random.Random(7)
        for _ in range(RACES):
            edge = chance.choice(edges)
            world.revoke(*edge)
            since = time.monotonic()
            for caller in it.person, it.pair:
                assert caller.call("GET", f"/v1/items/{it.item}")[0] in (403, 404)
            time.sleep(READ_S)
            hidden.append((since, time.monotonic()))
            world.grant(*edge)
            since = time.monotonic()
            for caller in it.person, it.pair:
                assert caller.call("GET", f"/v1/items/{it.item}")[0] == 200
            time.sleep(READ_S)
            shown.append((since, time.monotonic()))
        for reader in readers:
            reader.done.set()
        for reader in readers:
            reader.join(60)
            assert reader.failure is None and not reader.is_alive()
    stale, fresh = reads_within(readers, hidden), reads_within(readers, shown)
    missed = len(fresh) - sum(fresh)
    say(f"{RACES} races: {sum(stale)} of {len(stale)} reads stale after a revoke, {missed} of {len(fresh)} after a grant")
    assert len(stale) >= RACES and not any(stale)
    assert len(fresh) >= RACES and all(fresh)


# Other ways in


def test_grpc_has_the_same_operations(world):
    """SHARE-4, SHARE-13, SHARE-32: edges, who, what, explanations and statuses over gRPC, with the answers of REST."""
    it = taught(world)
    edge = {"graph": "ua", "source": it.person.user, "target": it.agent}
    with GrpcCaller(world.server, world.chief.key) as chief, GrpcCaller(world.server, it.person.key) as person:
        rows = chief.call("ListEdges")["edges"]
        assert {(row["graph"], row["source"], row["target"]) for row in rows} == world.edges()
        asked = {"user": it.person.user, "agent": it.agent, "item": it.item}
        for answer, same in (
            (person.call("ExplainItem", {"id": it.item}), it.person.ask("GET", f"/v1/items/{it.item}/explain")),
            (chief.call("ExplainPair", asked), world.explain(it.item, it.person.user, agent=it.agent)),
        ):
            assert answer == same
        who = chief.call("WhoSees", {"item": it.item})["pairs"]
        assert {(pair["user"], agent) for pair in who for agent in pair["agents"]} == world.who(it.item)
        what = chief.call("WhatIsSeen", {"user": it.person.name, "agent": it.agent})["items"]
        assert set(what) == world.what(it.person.user, it.agent) == {it.item}

        token = chief.call("RevokeEdge", {**edge, "reason": "r"})["token"]
        check_shown(it.person, it, False)
        assert chief.call("WhoSees", {"item": it.item, "at": token})["pairs"] == []
        with pytest.raises(Refused) as refused:
            person.call("GrantEdge", edge)
        assert refused.value.refusal["code"] == "FORBIDDEN"
        with GrpcCaller(world.server, it.pair.key) as pair, pytest.raises(Refused) as refused:
            pair.call("WhoAmI")
        assert refused.value.refusal["code"] == "AGENT_NOT_GRANTED"
        assert chief.call("GrantEdge", edge)["token"]
        check_shown(it.person, it, True)
        for name, status in ("RetireAgent", "retired"), ("ActivateAgent", "active"), ("DeleteAgent", "deleted"):
            chief.call(name, {"id": it.agent, "reason": "r"})
            [agent] = [row for row in chief.call("ListAgents")["agents"] if row["id"] == it.agent]
            assert agent["status"] == status == status_of(world, it.agent)


def test_an_agent_asks_why_over_mcp(world):
    """SHARE-32: explain_item answers as REST does, and refuses what is hidden from a stranger like what is missing."""
    it = taught(world)
    with McpCaller(over_http(world.server, it.pair.key)) as pair:
        assert pair.ask("explain_item", {"id": it.item}) == it.pair.ask("GET", f"/v1/items/{it.item}/explain")
        world.revoke("ar", it.agent, it.resource)
        told = pair.ask("explain_item", {"id": it.item})
        assert told["hindrances"] == [{"reason": "resource_revoked", "id": it.resource}]
    with McpCaller(over_http(world.server, new_caller(world.server).key)) as stranger:
        replies = [stranger.refused("explain_item", {"id": id}) for id in (it.item, random_id())]
        assert [{**reply, "request_id": None} for reply in replies][0] == {**replies[1], "request_id": None}
        assert replies[0]["code"] == "NOT_FOUND"


def test_people_type_it(world, bin):
    """SHARE-4, SHARE-13, SHARE-32: the same from a terminal."""
    it = taught(world)

    def run(*words, key=None):
        env = {"TABELLION_URL": world.server.url, "TABELLION_KEY": key or world.chief.key}
        command = [bin, *words, "--json"]
        done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=60)
        return done.returncode, json.loads(done.stdout or "null"), done.stderr

    edge = ("ua", it.person.name, it.agent)
    assert run("revoke", *edge, "--reason", "moved on")[0] == 0
    check_shown(it.person, it, False)
    code, answer, _ = run("grant", *edge, "--expires-at", "2999-01-01T00:00:00Z")
    assert code == 0 and answer["token"]
    listed = run("edge", "list")[1]["edges"]
    assert any(row["target"] == it.agent and row.get("expires_at", "").startswith("2999") for row in listed)
    assert run("access", "who", it.item)[1]["pairs"] == [{"user": it.person.user, "agents": [it.agent]}]
    assert run("access", "what", it.person.name, "--agent", it.agent)[1] == {"items": [it.item]}
    assert run("explain", it.item, key=it.person.key)[1]["visible"] is True
    assert run("explain", it.item, "--user", it.person.name)[1]["visible"] is True
    for verb, status in ("retire", "retired"), ("activate", "active"), ("delete", "deleted"):
        assert run("agent", verb, it.agent, "--reason", "tested")[0] == 0
        assert status_of(world, it.agent) == status
    code, _, errors = run("grant", *edge)
    assert code != 0 and errors
