"""Roles: bundles of edges and of what may be administered, and what agents are trusted with in each layer."""

import itertools
from datetime import timedelta

import pytest

from callers import Caller, admin, log_size, new_caller, random_id, rfc3339
from governed import novel
from grpc_caller import GrpcCaller
from server import Server

NUMBERS = itertools.count(1)
MISSING = {"status": 404, "code": "NOT_FOUND"}
FORBIDDEN = {"status": 403, "code": "FORBIDDEN"}
INVALID = {"status": 422, "code": "SCHEMA_INVALID"}
NOT_GRANTED = {"status": 403, "code": "AGENT_NOT_GRANTED"}


class World:
    """A server with its admin, who makes principals and roles and gives these to those."""

    def __init__(self, server):
        self.server, self.chief = server, admin(server)

    def named(self, kind, **more):
        name = f"{kind}-{next(NUMBERS)}"
        return name, self.chief.ask("POST", f"/v1/{kind}s", {"name": name, **more}, expect=201)["id"]

    def agent(self):
        return self.named("agent")[1]

    def resource(self):
        return self.named("resource")[1]

    def role(self, name=None, **bundle):
        name = name or f"role-{next(NUMBERS)}"
        self.chief.ask("PUT", f"/v1/roles/{name}", bundle)
        return name

    def give(self, role, member, **terms):
        return self.chief.ask("PUT", f"/v1/roles/{role}/members/{member}", terms)["token"]

    def take(self, role, member):
        return self.chief.ask("DELETE", f"/v1/roles/{role}/members/{member}")["token"]

    def pair(self, person, agent):
        made = self.chief.ask("POST", "/v1/keys", {"user": person.user, "agent": agent}, expect=201)
        return Caller(self.server, made["key"], name=person.name, user=person.user)

    def edges(self):
        """The supports of each edge that stands."""
        found = {}
        for row in self.chief.ask("GET", "/v1/edges")["edges"]:
            found.setdefault((row["graph"], row["source"], row["target"]), set()).add(row["support"])
        return found

    def shown(self, role):
        return self.chief.ask("GET", f"/v1/roles/{role}")


@pytest.fixture(scope="module")
def world(shared_server):
    return World(shared_server)


@pytest.fixture
def timed(clock):
    made = World(clock.server)
    made.clock = clock
    return made


# Edges


def test_a_role_is_its_edges(world):
    """SHARE-30, SHARE-4: giving a role writes edges with its support; taking it away ends them, and the next call knows."""
    person, agent, resource = new_caller(world.server), world.agent(), world.resource()
    role = world.role(agents=[agent], resources=[resource])
    support = f"role:{world.shown(role)['id']}"
    world.give(role, person.name)
    world.give(role, agent)
    edges = world.edges()
    assert edges[("ua", person.user, agent)] == {support} and edges[("ar", agent, resource)] == {support}
    assert {row["id"] for row in world.shown(role)["members"]} == {person.user, agent}
    world.take(role, person.user)
    edges = world.edges()
    assert ("ua", person.user, agent) not in edges and ("ar", agent, resource) in edges
    world.take(role, agent)
    assert ("ar", agent, resource) not in world.edges() and world.shown(role)["members"] == []
    world.chief.refused("DELETE", f"/v1/roles/{role}/members/{person.name}", **MISSING)


def test_an_edge_lives_while_anything_supports_it(world):
    """SHARE-4, SHARE-30, SHARE-52: two roles and a grant of its own support one edge; each end takes its own support."""
    person, agent = new_caller(world.server), world.agent()
    first, second = world.role(agents=[agent]), world.role(agents=[agent])
    pair = world.pair(person, agent)
    edge = ("ua", person.user, agent)
    world.give(first, person.user)
    world.give(second, person.user)
    assert len(world.edges()[edge]) == 3
    world.take(first, person.user)
    assert len(world.edges()[edge]) == 2 and "direct" in world.edges()[edge]
    world.chief.ask("DELETE", f"/v1/edges/ua/{person.user}/{agent}")
    assert world.edges()[edge] == {f"role:{world.shown(second)['id']}"}
    pair.write(novel())
    refusal = world.chief.refused("DELETE", f"/v1/edges/ua/{person.user}/{agent}", status=409, code="NOT_THE_HEAD")
    assert second in refusal["message"]
    world.take(second, person.user)
    assert edge not in world.edges()
    pair.refused("GET", "/v1/whoami", **NOT_GRANTED)


def test_a_role_ends_by_itself(timed):
    """SHARE-4, SHARE-30, SHARE-36: a role within times brings its edges and what it lets administer within those times."""
    person, agent = new_caller(timed.server), timed.agent()
    pair = timed.pair(person, agent)
    timed.chief.ask("DELETE", f"/v1/edges/ua/{person.user}/{agent}")
    role = timed.role(agents=[agent], actions=["audit"])
    start, end = (rfc3339(timed.clock.now + timedelta(hours=hours)) for hours in (1, 2))
    timed.give(role, person.user, not_before=start, expires_at=end)
    pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
    person.refused("GET", "/v1/edges", **FORBIDDEN)
    timed.clock.advance(minutes=61)
    written = pair.write(novel())
    assert person.get(written["id"])["text"]
    person.ask("GET", "/v1/edges")
    timed.clock.advance(minutes=60)
    pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
    person.refused("GET", f"/v1/items/{written['id']}", **MISSING)
    person.refused("GET", "/v1/edges", **FORBIDDEN)
    [member] = timed.shown(role)["members"]
    assert member == {"id": person.user, "not_before": start, "expires_at": end}
    timed.give(role, person.user)
    assert person.get(written["id"]), "giving it again replaces the times"


def test_a_changed_role_changes_the_edges_of_those_who_hold_it(world):
    """SHARE-30: in one commit, over roles that include it, and for what was written before too."""
    person, old, new = new_caller(world.server), world.agent(), world.agent()
    inner = world.role(agents=[old])
    outer = world.role(includes=[inner])
    world.give(outer, person.user)
    pair = world.pair(person, old)
    world.chief.ask("DELETE", f"/v1/edges/ua/{person.user}/{old}")
    item = pair.write(novel())["id"]
    size = log_size(world.server)
    world.role(inner, agents=[new])
    assert log_size(world.server) == size + 3, "the role, one edge gone, one edge come"
    edges = world.edges()
    assert ("ua", person.user, old) not in edges and ("ua", person.user, new) in edges
    person.refused("GET", f"/v1/items/{item}", **MISSING)
    pair.refused("GET", "/v1/whoami", **NOT_GRANTED)
    world.role(inner, agents=[old, new])
    assert person.get(item) and pair.get(item)
    world.role(inner, agents=[old, new])
    assert log_size(world.server) == size + 6, "what stands already is not granted again"


def test_a_removed_role_takes_its_edges_along(world):
    """SHARE-30: whoever holds it loses what it brought; one that another includes must be left out there first."""
    person, agent = new_caller(world.server), world.agent()
    inner = world.role(agents=[agent])
    outer = world.role(includes=[inner])
    refusal = world.chief.refused("DELETE", f"/v1/roles/{inner}", status=409, code="NOT_THE_HEAD")
    assert outer in refusal["message"]
    world.give(outer, person.user)
    world.give(inner, person.user)
    world.chief.ask("DELETE", f"/v1/roles/{outer}")
    assert world.edges()[("ua", person.user, agent)] == {f"role:{world.shown(inner)['id']}"}
    world.chief.ask("DELETE", f"/v1/roles/{inner}")
    assert ("ua", person.user, agent) not in world.edges()
    world.chief.refused("GET", f"/v1/roles/{inner}", **MISSING)


# What is refused


def test_a_role_that_includes_itself_is_refused(world):
    """SHARE-30: over however many steps; the refusal names the way, and nothing is written."""
    first = world.role()
    second = world.role(includes=[first])
    third = world.role(includes=[second])
    size = log_size(world.server)
    for includes in ([first], [second], [third]):
        refusal = world.chief.refused("PUT", f"/v1/roles/{first}", {"includes": includes}, **INVALID)
        assert f"{first} would include itself through {includes[0]}" in refusal["message"]
        assert refusal["errors"][0]["path"] == "/includes"
    new = f"role-{next(NUMBERS)}"
    world.chief.refused("PUT", f"/v1/roles/{new}", {"includes": [new]}, **INVALID)
    assert log_size(world.server) == size


def test_what_is_no_role_is_refused(world):
    """SHARE-30: names and words that are not there are all named; built-in roles stay what they are."""
    chief, person, agent = world.chief, new_caller(world.server), world.agent()
    size = log_size(world.server)
    body = {"agents": ["none"], "resources": ["none"], "includes": ["none"], "actions": ["paint"]}
    refusal = chief.refused("PUT", "/v1/roles/wrong", body, **INVALID)
    assert [fault["path"] for fault in refusal["errors"]] == ["/agents/0", "/resources/0", "/includes/0", "/actions/0"]
    chief.refused("PUT", "/v1/roles/Wrong%20Name", {}, **INVALID)
    chief.refused("PUT", "/v1/roles/admin", {}, **INVALID)
    chief.refused("PUT", "/v1/roles/auditor", {}, **FORBIDDEN)
    chief.refused("DELETE", "/v1/roles/auditor", **FORBIDDEN)
    chief.refused("DELETE", "/v1/roles/none", **MISSING)
    chief.refused("PUT", "/v1/roles/wrong", {"agents": ["x"] * 1_001}, **INVALID)
    chief.refused("PUT", f"/v1/roles/none/members/{person.user}", {}, **MISSING)
    chief.refused("PUT", f"/v1/roles/auditor/members/{random_id('usr')}", {}, **MISSING)
    chief.refused("PUT", f"/v1/roles/auditor/members/{agent}", {}, **INVALID)
    chief.refused("PUT", f"/v1/roles/verifier/members/{person.user}", {}, **INVALID)
    chief.refused("PUT", "/v1/roles/verifier/members/direct", {}, **FORBIDDEN)
    chief.refused("PUT", f"/v1/roles/auditor/members/{person.user}", {"expires_at": "2001-01-01T00:00:00Z"}, **INVALID)
    assert log_size(world.server) == size


# Administration


def test_roles_let_their_holders_administer(world):
    """SHARE-30, SHARE-31: by default nothing; tenant_admin makes principals, steward sets rules, auditor looks. No role
    reads another's private text."""
    secret = world.chief.write(novel())["id"]
    asked = {
        "tenant_admin": [
            ("POST", "/v1/users", lambda: {"name": f"made-{next(NUMBERS)}"}, 201),
            ("GET", "/v1/roles", None, 200),
        ],
        "steward": [("PUT", "/v1/policies/four", lambda: {"kind": "approval", "approvals": 1}, 200)],
        "auditor": [("GET", "/v1/edges", None, 200), ("GET", "/v1/proofs/head", None, 200)],
    }
    for role, own in asked.items():
        person = new_caller(world.server)
        everything = [(ask, of == role) for of, asks in asked.items() for ask in asks]
        for given in False, True, False:
            for (method, path, body, status), brings in everything:
                body = body and body()
                if given and brings:
                    person.ask(method, path, body, expect=status)
                elif not (given and role == "auditor" and path == "/v1/roles"):
                    person.refused(method, path, body, **FORBIDDEN)
            person.refused("GET", f"/v1/items/{secret}", **MISSING)
            if given:
                world.take(role, person.user)
            else:
                world.give(role, person.user)


def test_admins_are_what_they_were(world):
    """SHARE-30: a user made as admin or auditor may do what it always might."""
    chief, auditor = new_caller(world.server, role="admin"), new_caller(world.server, role="auditor")
    chief.ask("POST", "/v1/users", {"name": f"made-{next(NUMBERS)}"}, expect=201)
    chief.ask("PUT", "/v1/policies/four", {"kind": "approval", "approvals": 1})
    chief.ask("PUT", f"/v1/roles/role-{next(NUMBERS)}", {})
    auditor.ask("GET", "/v1/edges")
    auditor.refused("PUT", f"/v1/roles/role-{next(NUMBERS)}", {}, **FORBIDDEN)


# What agents are trusted with


def test_an_agent_that_is_not_validated_proposes(standard):
    """GOV-8.2, D14: an executor notes its session; what happened it writes only if validated, else a person decides."""
    ana = standard.person()
    bot = standard.agent(ana)
    chief = admin(standard.server)
    bot.commits(novel())
    chief.ask("PUT", f"/v1/roles/executor/members/{bot.agent}", {})
    bot.commits(novel(), layer="session")
    held = bot.held(novel())
    ana.approves(held["pending_id"])
    chief.ask("PUT", f"/v1/roles/validated/members/{bot.agent}", {})
    bot.commits(novel())
    chief.ask("DELETE", f"/v1/roles/validated/members/{bot.agent}", {})
    bot.held(novel())


def test_roles_of_agents_narrow_what_they_do(standard):
    """GOV-8.1, GOV-8.2: each role reads, writes and takes back what its row of the table says; hidden is missing."""
    chief = admin(standard.server)
    ana = standard.person()
    writer = standard.agent(ana)
    session = writer.commits(novel(), layer="session")["id"]
    episode = writer.commits(novel())["id"]
    reads = {"executor": 1, "validated": 0, "canonical_reader": 0, "verifier": 1, "orchestrator": 1, "curator": 1}
    for role, sees in reads.items():
        bot = standard.agent(ana)
        chief.ask("PUT", f"/v1/roles/{role}/members/{bot.agent}", {})
        for item in session, episode:
            if sees:
                bot.get(item)
                assert item in [row["id"] for row in bot.items()]
            else:
                bot.refused("GET", f"/v1/items/{item}", **MISSING)
                assert item not in [row["id"] for row in bot.items()]
        status = bot.send(novel(), layer="session")[0]
        assert status == {"executor": 201, "verifier": 202, "orchestrator": 201, "curator": 201}.get(role, 403), role
        status = bot.send(novel())[0]
        expected = {"executor": 202, "validated": 201, "verifier": 202, "orchestrator": 201, "curator": 201}.get(role, 403)
        assert status == expected, role
        deletes = role in ("orchestrator", "curator")
        target = writer.commits(novel())["id"]
        status = bot.call("DELETE", f"/v1/items/{target}?reason=wrong")[0]
        assert status == (200 if deletes else 403 if sees else 404), role
    assert writer.get(episode)


# Everywhere alike


def test_a_restart_keeps_roles(bin, tmp_path):
    """SHARE-30: roles, who holds them and what follows are the same after a kill."""
    with Server(bin, tmp_path / "data") as server:
        world = World(server)
        person, agent = new_caller(server), world.agent()
        role = world.role(agents=[agent], actions=["audit"], includes=["steward"])
        world.give(role, person.user)
        before, edges = world.shown(role), world.edges()
        server.kill()
        server.start()
        assert (world.shown(role), world.edges()) == (before, edges)
        person.ask("GET", "/v1/edges")


def test_grpc_has_the_same_roles(world):
    """SHARE-30: the same operations, answers and refusals over gRPC."""
    person, agent = new_caller(world.server), world.agent()
    name = f"role-{next(NUMBERS)}"
    with GrpcCaller(world.server, world.server.key) as grpc:
        grpc.call("SetRole", {"id": name, "agents": [agent], "actions": ["audit"]})
        grpc.call("AssignRole", {"id": name, "member": person.user})
        shown = grpc.call("GetRole", {"id": name})
        assert (shown["name"], shown["agents"], [one["id"] for one in shown["members"]]) == (name, [agent], [person.user])
        assert name in [role["name"] for role in grpc.call("ListRoles")["roles"]]
        assert ("ua", person.user, agent) in world.edges()
        grpc.call("UnassignRole", {"id": name, "member": person.user})
        assert ("ua", person.user, agent) not in world.edges()
        grpc.call("RemoveRole", {"id": name})
    world.chief.refused("GET", f"/v1/roles/{name}", **MISSING)
