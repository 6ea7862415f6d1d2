"""Cedar: policies of a tenant's own, which take away from what the graphs admit and never add to it."""

import itertools
import time

import pytest

from callers import Caller, admin, log_size, new_caller, random_id
from governed import novel
from grpc_caller import GrpcCaller
from server import Server

NUMBERS = itertools.count(1)
MISSING = {"status": 404, "code": "NOT_FOUND"}
FORBIDDEN = {"status": 403, "code": "FORBIDDEN"}
INVALID = {"status": 422, "code": "SCHEMA_INVALID"}
RACES = 50


class World:
    """A server with its admin, a person of each test's own with an agent, and policies that concern that person alone."""

    def __init__(self, server):
        self.server, self.chief = server, admin(server)

    def named(self, kind, **more):
        name = f"{kind}-{next(NUMBERS)}"
        return name, self.chief.ask("POST", f"/v1/{kind}s", {"name": name, **more}, expect=201)["id"]

    def person(self):
        return new_caller(self.server)

    def pair(self, person, **more):
        name, agent = self.named("agent", **more)
        made = self.chief.ask("POST", "/v1/keys", {"user": person.user, "agent": agent}, expect=201)
        pair = Caller(self.server, made["key"], name=person.name, user=person.user)
        pair.agent_name = name
        return pair

    def set(self, text, name=None):
        name = name or f"cedar-{next(NUMBERS)}"
        self.chief.ask("PUT", f"/v1/policies/{name}", {"kind": "cedar", "text": text})
        return name

    def forbid(self, person, when, action="read", name=None):
        scope = f'principal == User::"{person.name}", action == Action::"{action}", resource'
        return self.set(f"forbid({scope}) when {{ {when} }};", name)

    def drop(self, name):
        self.chief.ask("DELETE", f"/v1/policies/{name}")

    def explain(self, item, user, **more):
        return self.chief.ask("POST", "/v1/explain", {"item": item, "user": user, **more})


@pytest.fixture(scope="module")
def world(shared_server):
    return World(shared_server)


def surfaces(caller, item, text):
    """Every way to an item that a caller has, by name: whether it shows the item."""
    paths = {"get": "", "versions": "/versions", "provenance": "/provenance"}
    seen = {name: caller.call("GET", f"/v1/items/{item}{path}")[0] == 200 for name, path in paths.items()}
    seen["list"] = any(row["id"] == item for row in caller.ask("GET", "/v1/items?limit=500")["items"])
    for mode in "hybrid", "lexical", "dense":
        seen[f"search {mode}"] = item in caller.found(text, mode=mode, k=50)
    return seen


def check_shown(caller, item, text, expected):
    seen = surfaces(caller, item, text)
    assert set(seen.values()) == {expected}, seen


# What a forbid hides


def test_a_forbid_hides_at_once_and_everywhere(world):
    """SHARE-31, SHARE-5, SHARE-11, SHARE-41: by kind; the next read of every sort knows, and the one after it goes too."""
    person = world.person()
    pair = world.pair(person)
    text, other = novel(), novel()
    memo, note = pair.write(text, kind="memo")["id"], pair.write(other)["id"]
    for caller in pair, person:
        check_shown(caller, memo, text, True)
    policy = world.forbid(person, 'resource.kind == "memo"')
    for caller in pair, person:
        check_shown(caller, memo, text, False)
        check_shown(caller, note, other, True)
        hidden = caller.refused("GET", f"/v1/items/{memo}", **MISSING)
        missing = caller.refused("GET", f"/v1/items/{random_id()}", **MISSING)
        assert hidden["message"] == missing["message"]
    pair.refused("DELETE", f"/v1/items/{memo}", **MISSING)
    world.drop(policy)
    for caller in pair, person:
        check_shown(caller, memo, text, True)


@pytest.mark.parametrize("by", ["resource", "label", "agent", "tier", "specialisation"])
def test_a_forbid_by_what_a_class_has_in_common(world, by):
    """SHARE-31, SHARE-34, GOV-8.3, GOV-8.7: resources, labels, contributing agents, tier, what the acting agent is for."""
    person = world.person()
    _, resource = named = world.named("resource")
    pair = world.pair(person, trust_declared=True, specialisation="medical")
    world.chief.ask("POST", f"/v1/edges/ar/{pair.agent}/{resource}", expect=201)
    text, plain_text = novel(), novel()
    plain = world.pair(person).write(plain_text)["id"]
    item = pair.write(text, resources=[resource], tags=["label:restricted", "blue"])["id"]
    when = {
        "resource": f'resource.resources.contains(Resource::"{named[0]}")',
        "label": 'resource.labels.contains("restricted")',
        "agent": f'resource.agents.contains(Agent::"{pair.agent_name}")',
        "tier": 'resource.tier == "private" && resource.labels.contains("restricted")',
        "specialisation": 'context.agent.specialisation == "medical" && resource.labels.contains("restricted")',
    }[by]
    policy = world.forbid(person, when)
    check_shown(pair, item, text, False)
    check_shown(person, plain, plain_text, True)
    world.drop(policy)
    check_shown(pair, item, text, True)


def test_clearance_is_a_role_and_a_label(world):
    """GOV-8.7, D14: classification above an agent's clearance hides an item; a role is the clearance, a label the class."""
    person = world.person()
    cleared, other = world.pair(person), world.pair(person)
    role = f"cleared-{next(NUMBERS)}"
    world.chief.ask("PUT", f"/v1/roles/{role}", {})
    text = novel()
    item = cleared.write(text, tags=["label:restricted"])["id"]
    world.forbid(person, f'resource.labels.contains("restricted") && !(context.agent in Role::"{role}")')
    for caller in cleared, other:
        check_shown(caller, item, text, False)
    world.chief.ask("PUT", f"/v1/roles/{role}/members/{cleared.agent}", {})
    check_shown(cleared, item, text, True)
    check_shown(other, item, text, False)
    world.chief.ask("DELETE", f"/v1/roles/{role}/members/{cleared.agent}")
    check_shown(cleared, item, text, False)


def test_an_explanation_names_the_policy_to_auditors_alone(world):
    """SHARE-32: the contributor learns that a policy hides it, the auditor which; another gets a 404."""
    person, stranger = world.person(), world.person()
    pair = world.pair(person)
    item = pair.write(novel(), kind="memo")["id"]
    policy = world.forbid(person, 'resource.kind == "memo"')
    own = pair.ask("GET", f"/v1/items/{item}/explain")
    assert (own["visible"], own["hindrances"]) == (False, [{"reason": "policy"}])
    told = world.explain(item, person.user, agent=pair.agent)
    assert (told["visible"], told["hindrances"]) == (False, [{"reason": "policy", "id": policy}])
    stranger.refused("GET", f"/v1/items/{item}/explain", **MISSING)
    world.drop(policy)
    assert world.explain(item, person.user, agent=pair.agent)["visible"]


def test_who_saw_what_before_is_judged_by_the_rules_of_then(world):
    """SHARE-13: `what` at a moment before follows the policies that stood."""
    person = world.person()
    pair = world.pair(person)
    item = pair.write(novel(), kind="memo")

    def what(token):
        path = f"/v1/access/what?user={person.user}&agent={pair.agent}&at={token}"
        return item["id"] in world.chief.ask("GET", path)["items"]

    tokens = [world.chief.ask("POST", f"/v1/edges/ua/{person.user}/{pair.agent}", expect=201)["token"]]
    policy = world.forbid(person, 'resource.kind == "memo"')
    tokens.append(world.chief.ask("PUT", "/v1/policies/four", {"kind": "approval", "approvals": 1})["token"])
    world.drop(policy)
    tokens.append(world.chief.ask("PUT", "/v1/policies/four", {"kind": "approval", "approvals": 1})["token"])
    assert [what(token) for token in tokens] == [True, False, True]


# Writing


def test_a_forbidden_write_leaves_nothing(world):
    """SHARE-31, GOV-8.3: an agent that is for medicine writes only what is labelled so; the refusal names no policy."""
    person = world.person()
    pair = world.pair(person, specialisation="medical")
    kept = pair.write(novel())["id"]
    policy = world.forbid(
        person, 'context.agent.specialisation == "medical" && !resource.labels.contains("medical")', action="write"
    )
    size = log_size(world.server)
    refusal = pair.refused("POST", "/v1/items", {"text": novel()}, **FORBIDDEN)
    assert refusal["gate"] == "policy" and policy not in str(refusal)
    pair.refused("DELETE", f"/v1/items/{kept}?reason=wrong", **FORBIDDEN)
    assert log_size(world.server) == size
    assert pair.get(kept), "what may not be written may still be read"
    pair.write(novel(), tags=["label:medical"])
    world.drop(policy)
    pair.write(novel())


# What may be set


def test_text_that_does_not_validate_is_refused(world):
    """SHARE-31: strict validation, with every message and its place; nothing is written."""
    person = world.person()
    size = log_size(world.server)
    for text, part in (
        ("forbid(", "line 1"),
        ('forbid(principal, action == Action::"read", resource)\nwhen { resource.text == "x" };', "line 2, column 8"),
        ('forbid(principal, action == Action::"read", resource) when { resource.owner == "x" };', "owner"),
        ('forbid(principal == User::"nobody-at-all", action, resource);', "nobody-at-all"),
        ('forbid(principal in Role::"none-such", action, resource);', "none-such"),
        ("", "1 to 100 policies"),
        ("x" * 70_000, "bytes"),
    ):
        refusal = world.chief.refused("PUT", "/v1/policies/wrong", {"kind": "cedar", "text": text}, **INVALID)
        assert part in str(refusal["errors"]), refusal
        assert refusal["errors"][0]["path"] == "/text"
    world.chief.refused("PUT", "/v1/policies/wrong", {"kind": "cedar"}, **INVALID)
    lock = {"kind": "cedar", "text": "forbid(principal, action, resource);"}
    assert "take it back" in world.chief.refused("PUT", "/v1/policies/lock", lock, **INVALID)["message"]
    person.refused("PUT", "/v1/policies/mine", lock, **FORBIDDEN)
    world.chief.refused("DELETE", "/v1/policies/wrong", **MISSING)
    assert log_size(world.server) == size


def test_what_cannot_be_evaluated_is_a_no(world):
    """SHARE-31: error = deny, of a forbid and of a permit."""
    person = world.person()
    pair = world.pair(person)
    text = novel()
    item = pair.write(text)["id"]
    for effect in "forbid", "permit":
        scope = f'principal == User::"{person.name}", action == Action::"read", resource'
        policy = world.set(f"{effect}({scope}) when {{ 9223372036854775807 + 1 == 0 }};")
        check_shown(pair, item, text, False)
        world.drop(policy)
        check_shown(pair, item, text, True)


def test_a_permit_widens_nothing(world):
    """SHARE-31: Cedar narrows what the graphs admit and never widens it."""
    owner, other = world.person(), world.person()
    text = novel()
    item = world.pair(owner).write(text)["id"]
    policy = world.set("permit(principal, action, resource);")
    check_shown(world.pair(other), item, text, False)
    other.refused("GET", f"/v1/items/{item}", **MISSING)
    world.drop(policy)


def test_administration_is_cedars_alone(bin, tmp_path):
    """SHARE-31: a permit of the tenant's own lets administer, a forbid takes it from an admin, after a restart too."""
    with Server(bin, tmp_path / "data") as server:
        world = World(server)
        person, second = world.person(), new_caller(server, role="admin")
        person.refused("GET", "/v1/edges", **FORBIDDEN)
        allow = world.set(f'permit(principal == User::"{person.name}", action == Action::"audit", resource);')
        world.set(f'forbid(principal == User::"{second.name}", action == Action::"manage_roles", resource);')
        for restarted in False, True:
            if restarted:
                server.kill()
                server.start()
            person.ask("GET", "/v1/edges")
            second.ask("GET", "/v1/edges")
            second.refused("PUT", "/v1/roles/any", {}, **FORBIDDEN)
        world.drop(allow)
        person.refused("GET", "/v1/edges", **FORBIDDEN)


# At once


def test_no_read_outlives_a_policy(world):
    """SHARE-5: a policy that was acknowledged counts for the next read, however often."""
    person = world.person()
    pair = world.pair(person)
    text = novel()
    item = pair.write(text, kind="memo")["id"]
    for _ in range(RACES):
        policy = world.forbid(person, 'resource.kind == "memo"', name="race")
        assert pair.call("GET", f"/v1/items/{item}")[0] == 404 and item not in pair.found(text)
        world.drop(policy)
        assert pair.call("GET", f"/v1/items/{item}")[0] == 200 and item in pair.found(text)


def test_grpc_sets_the_same_policies(world):
    """SHARE-31: set, listed and taken away over gRPC as over REST."""
    person = world.person()
    pair = world.pair(person)
    item = pair.write(novel(), kind="memo")["id"]
    name = f"cedar-{next(NUMBERS)}"
    scope = f'principal == User::"{person.name}", action == Action::"read", resource'
    text = f'forbid({scope}) when {{ resource.kind == "memo" }};'
    with GrpcCaller(world.server, world.server.key) as grpc:
        grpc.call("SetPolicy", {"id": name, "kind": "cedar", "text": text})
        pair.refused("GET", f"/v1/items/{item}", **MISSING)
        [listed] = [one for one in grpc.call("ListPolicies")["policies"] if one["id"] == name]
        assert listed["text"] == text
        grpc.call("RemovePolicy", {"id": name})
    pair.get(item)


def test_many_classes_stay_quick(world):
    """SHARE-35: a first read after a change of policy, with hundreds of classes, is no slower than a person notices."""
    person = world.person()
    pair = world.pair(person)
    bodies = [{"text": novel(), "tags": [f"label:l{number}"]} for number in range(300)]
    for body in bodies:
        pair.ask("POST", "/v1/items", body, expect=201)
    policy = world.forbid(person, 'resource.labels.contains("l7")')
    began = time.monotonic()
    assert pair.ask("GET", "/v1/items?limit=1")["items"]
    took = time.monotonic() - began
    world.drop(policy)
    assert took < 2, f"{took:.2f} s"
