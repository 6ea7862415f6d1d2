"""What one user does or knows must not show in what another is told: contradictions, merges, flags, queries, usage."""

import itertools
import json

import pytest

from callers import new_caller
from governed import eventually
from test_sharing import MISSING, Team

NUMBERS = itertools.count(1)


@pytest.fixture
def team(server):
    return Team(server)


def thing():
    return f"quillon{next(NUMBERS)}"


def against(caller, id):
    """The items that this caller is told speak against one."""
    return {one["id"] for one in caller.get(id).get("contradictions", [])}


def sweep(team):
    """A round over everything, asked for by the admin, who is no reader of what people keep."""
    cursor = None
    while True:
        cursor = team.chief.ask("POST", "/v1/items:reverify", {"cursor": cursor} if cursor else {})["next"]
        if cursor is None:
            return


def flagged(caller):
    return {flag["id"]: flag["finding"] for flag in caller.ask("GET", "/v1/items:flagged")["flagged"]}


# Contradictions


def test_a_contradiction_is_told_to_who_sees_both_sides(team):
    """SHARE-44: two shared sides show to everybody who sees both, and to nobody who sees one of them only; a revoked edge
    takes the report away, and a new one brings it back."""
    name = thing()
    secret = team.resource()
    vault = team.agent()
    team.grant("ar", vault, secret)
    keeper = team.pair(team.people[0], vault)
    first = team.two.write(f"{name} has 3 cats", tier="shared")["id"]
    second = keeper.write(f"{name} has 5 cats", tier="shared")["id"]
    assert against(team.two, first) == set(), "the other side was made with what this agent may not use"
    team.two.refused("GET", f"/v1/items/{second}", **MISSING)
    both = team.agent()
    for resource in (secret, team.resource_id):
        team.grant("ar", both, resource)
    reader = team.pair(team.people[0], both)
    eventually(lambda: against(reader, first) == {second})
    assert against(reader, second) == {first}
    assert against(team.two, first) == set(), "not for want of time either"
    outsider = team.pair(new_caller(team.server), both)
    assert against_or_missing(outsider, first) is None, "who may not invoke the agents sees neither side"
    team.revoke("ar", both, secret)
    assert against(reader, first) == set()
    team.grant("ar", both, secret)
    assert against(reader, first) == {second}


def against_or_missing(caller, id):
    status, _, _ = caller.call("GET", f"/v1/items/{id}")
    return against(caller, id) if status == 200 else None


def test_one_private_side_is_told_to_its_owner_alone(team):
    """SHARE-44, SHARE-43: a private side makes the report private to its owner; the writer of the other side is told
    nothing, when they write and when they read."""
    name = thing()
    mine = team.one.write(f"{name} has 3 cats", tier="private")["id"]
    answer = team.two.write(f"{name} has 5 cats", tier="shared")
    assert not answer.get("contradictions"), "a write is judged by what its writer sees"
    assert against(team.two, answer["id"]) == set()
    eventually(lambda: against(team.one, answer["id"]) == {mine})
    assert against(team.one, mine) == {answer["id"]} and against(team.two, answer["id"]) == set()
    third = team.pair(new_caller(team.server), team.agent_id)
    assert against(third, answer["id"]) == set()


def test_two_owners_are_told_nothing(team):
    """SHARE-44: two private sides of two owners are no report at all, not even for the admin."""
    name = thing()
    mine = team.one.write(f"{name} has 3 cats", tier="private")
    yours = team.two.write(f"{name} has 5 cats", tier="private")
    assert not mine.get("contradictions") and not yours.get("contradictions")
    control = team.one.write(f"{name} has 7 cats", tier="private")["id"]
    eventually(lambda: against(team.one, mine["id"]) == {control})
    assert against(team.two, yours["id"]) == set()
    team.one.ask("DELETE", f"/v1/items/{control}")
    sweep(team)
    assert flagged(team.one) == flagged(team.two) == flagged(team.chief) == {}
    for id in (mine["id"], yours["id"]):
        team.chief.refused("GET", f"/v1/items/{id}", **MISSING)


# Queries


def test_a_query_is_in_no_reply_to_others(team):
    """SHARE-45: what somebody looked for is theirs: it is in the provenance of what they keep, in nothing that others are
    given, and not in the metrics or the server's log."""
    word = "zanzibar-" + thing()
    source = team.two.write("The harbour master lives by the sea", tier="shared")["id"]
    assert team.one.found(f"harbour master {word}", trace_id=word) == [source]
    made = team.one.write("The harbour is open at night", trace_id=word, tier="both")
    assert word in team.one.ask("GET", f"/v1/items/{made['id']}/provenance")["retrieval_query"]
    copy = made["shared_id"]
    replies = [
        team.two.ask("GET", f"/v1/items/{copy}{path}") for path in ("", "/provenance", "/versions")
    ] + [team.two.search("harbour"), team.two.ask("GET", f"/v1/items/{copy}/explain"), team.two.ask("GET", "/v1/items"),
         team.two.ask("GET", "/v1/audit?limit=500"), team.two.ask("GET", "/v1/writes"), team.two.ask("GET", "/v1/reviews"),
         team.chief.ask("GET", "/v1/audit?limit=500"), team.server.call("GET", "/metrics")[1]]  # fmt: skip
    assert not any(word in json.dumps(reply) for reply in replies)
    assert word not in team.server.log
    own = team.one.ask("GET", "/v1/audit?limit=500")["rows"]
    assert {row["user"] for row in own} == {team.one.user} and word not in json.dumps(own), "as a keyed hash even there"


def test_what_others_ask_for_changes_no_answer(team):
    """SHARE-45, SHARE-47: neither how often something is asked for and found, nor what others say of it, moves a rank or a
    score of another user."""
    name = thing()
    for number in range(4):
        team.one.write(f"{name} recipe number {number}", tier="shared", confidence=0.5)

    def ranks(caller):
        return [(one["id"], round(one["relevance"], 9)) for one in caller.search(f"{name} recipe", k=4, mode="lexical")]

    before = ranks(team.two)
    last = before[-1][0]
    for _ in range(5):
        search = team.one.ask("POST", "/v1/search", {"query": f"{name} recipe", "mode": "lexical"})
        team.one.ask("POST", "/v1/outcomes", {"search": search["search"], "used": [last], "success": True})
        team.one.get(last)
    assert ranks(team.two) == before
    rows = team.two.ask("GET", "/v1/audit?limit=500")["rows"]
    assert not [row for row in rows if row["action"] == "outcome"], "outcomes are on the trail of who reported them"


# Who contributed


def test_who_contributed_is_told_to_nobody_else(team):
    """SHARE-47: no reply to another names the contributor of a shared item or what they were doing; they see it
    themselves."""
    made = team.one.write("The archive is in the cellar", tier="both", task_id="task-of-mine", session_id="session-of-mine",
                          justification="because I looked", trace_id="trace-of-mine")
    copy, mine = made["shared_id"], {team.one.user, team.people[0].name, "of-mine", "I looked"}
    paths = [f"/v1/items/{copy}{path}" for path in ("", "/provenance", "/versions", "/explain")]
    replies = [team.two.ask("GET", path) for path in [*paths, "/v1/items", "/v1/audit?limit=500"]]
    replies.append(team.two.ask("POST", "/v1/search", {"query": "archive cellar"}))
    for reply in replies:
        assert not [word for word in mine if word in json.dumps(reply)], reply
    own = team.one.ask("GET", f"/v1/items/{copy}/provenance")
    assert own["source_user_id"] == team.one.user and own["source_task_id"] == "task-of-mine"


# Merges and what rests on what


def red(name, **more):
    return {"text": f"{name} is red", "triple": {"subject": name, "predicate": "colour", "object": "red"}, **more}


def test_merges_stay_within_owner_tier_and_class(team):
    """SHARE-46, SHARE-42: what says the same for another user, in the other tier or from other resources is an item of its
    own, and the writer is told nothing of it."""
    name = thing()
    mine = team.one.write(**red(name, tier="shared", fields={"a": 1}))
    others = [
        team.two.write(**red(name, tier="shared", fields={"b": 2})),
        team.two.write(**red(name, tier="private", fields={"c": 3})),
        team.one.write(**red(name, tier="private", fields={"d": 4})),
    ]
    rich = team.agent()
    for resource in (team.resource_id, team.resource()):
        team.grant("ar", rich, resource)
    others.append(team.pair(team.people[0], rich).write(**red(name, tier="shared", fields={"e": 5})))
    assert len({mine["id"], *(one["id"] for one in others)}) == 5
    assert team.one.get(mine["id"])["fields"] == {"a": 1}
    status, merged, _ = team.one.call("POST", "/v1/items", red(name, tier="shared", fields={"f": 6}))
    assert (status, merged["status"], merged["id"]) == (200, "merged", mine["id"]), merged
    assert team.two.get(mine["id"])["fields"] == {"a": 1, "f": 6}


def test_what_has_another_provenance_is_not_merged(team):
    """SHARE-46, AM-16: duplicates of different agents or resources both stay, each seen by those who saw it before."""
    name = thing()
    plain, rich = team.agent(), team.agent()
    extra = team.resource()
    for agent in (plain, rich):
        team.grant("ar", agent, team.resource_id)
    team.grant("ar", rich, extra)
    simple, full = (team.pair(team.people[0], agent) for agent in (plain, rich))
    first = simple.write(**red(name, tier="private", fields={"a": 1}))
    status, second, _ = full.call("POST", "/v1/items", red(name, tier="private", fields={"b": 2}))
    assert (status, second["status"]) == (201, "committed") and second["id"] != first["id"], second
    item = full.get(second["id"])
    assert set(item["agents"]) == {rich} and set(item["resources"]) == {team.resource_id, extra}
    item = simple.get(first["id"])
    assert set(item["agents"]) == {plain} and set(item["resources"]) == {team.resource_id}
    simple.refused("GET", f"/v1/items/{second['id']}", **MISSING)


def test_a_withdrawn_source_flags_what_others_made_of_it(team):
    """SHARE-46: what was derived from a shared item is flagged when that is taken back, for its own owner and nobody
    else."""
    source = team.one.write("The old map shows a ford", tier="shared")["id"]
    assert team.two.found("old map ford") == [source]
    version = team.two.get(source)["version"]
    derived = team.two.write("One can cross at the ford", tier="private", derived_from=[version])["id"]
    free = team.two.write("Bread is baked at six", tier="private")["id"]
    sweep(team)
    assert flagged(team.two) == {}
    team.one.ask("DELETE", f"/v1/items/{source}?reason=wrong")
    sweep(team)
    assert flagged(team.two) == {derived: "source_withdrawn"} and free not in flagged(team.two)
    assert flagged(team.one) == {}


def test_a_flag_tells_others_nothing_of_a_private_source(team):
    """SHARE-39, SHARE-46: a shared item that rests on a private one is flagged when that is taken back: its owner is told,
    and nobody who cannot see what happened."""
    source = team.one.write("My own notes on the ford", tier="private")
    made = team.one.write("There is a ford by the mill", tier="shared", derived_from=[source["version"]])["id"]
    assert team.two.get(made)["id"] == made
    team.one.ask("DELETE", f"/v1/items/{source['id']}?reason=wrong")
    sweep(team)
    assert flagged(team.one) == {made: "source_withdrawn"}
    assert flagged(team.two) == {}
