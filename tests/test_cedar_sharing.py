"""Cedar and roles over the shared pool: what is copied into it, what is found in it, and what labels are worth there."""

import pytest

from callers import log_size
from governed import triple
from test_access import MISSING
from test_cedar import FORBIDDEN
from test_sharing import BLOCKED, Team, unique


class Ruled(Team):
    """A team with policies in Cedar."""

    def cedar(self, text, name="rule"):
        self.policy(name, {"kind": "cedar", "text": text})

    def drop(self, name="rule"):
        self.chief.ask("DELETE", f"/v1/policies/{name}")

    def give(self, role, agent):
        self.chief.ask("PUT", f"/v1/roles/{role}/members/{agent}", {})


@pytest.fixture
def team(server):
    return Ruled(server)


def forbid(action, when):
    return f'forbid(principal, action == Action::"{action}", resource) when {{ {when} }};'


def test_a_copy_that_is_forbidden_is_not_made(team):
    """SHARE-31, SHARE-19: the shared copy is judged by its own tier; `auto` keeps the other, who asks for it is refused."""
    team.cedar(forbid("write", 'resource.tier == "shared" && resource.labels.contains("restricted")'))
    restricted = {"tags": ["label:restricted"]}
    kept = team.one.write(unique("The vault is in the cellar"), **restricted)
    assert "shared_id" not in kept and team.one.get(kept["id"])["tags"] == restricted["tags"]
    size = log_size(team.server)
    for tier in ("both", "shared"):
        body = {"text": unique("The vault has two doors"), "tier": tier, **restricted}
        refusal = team.one.refused("POST", "/v1/items", body, **FORBIDDEN)
        assert refusal["gate"] == "policy"
    assert log_size(team.server) == size
    assert "shared_id" in team.one.write(unique("The canteen has two doors"))
    team.drop()
    assert "shared_id" in team.one.write(unique("The vault is painted grey"), **restricted)


def test_a_forbid_takes_the_shared_copy_from_whoever_it_names(team):
    """SHARE-31, SHARE-5, SHARE-36: rows that were kept for a caller do not outlive a policy, nor does their absence."""
    word = unique("The mill grinds rye")
    shared = team.one.write(word, kind="memo")["shared_id"]
    assert team.two.found(word) == [shared]
    team.cedar(forbid("read", 'resource.tier == "shared" && resource.kind == "memo"'))
    assert team.two.found(word) == []
    team.two.refused("GET", f"/v1/items/{shared}", **MISSING)
    assert team.one.found(word), "what is kept is of the other tier"
    team.drop()
    assert team.two.found(word) == [shared]


def test_roles_of_an_agent_narrow_what_it_finds_in_the_pool(team):
    """GOV-8.2, SHARE-5, SHARE-36: the next search goes by the roles that the agent has then."""
    word = unique("The ferry leaves at dusk")
    shared = team.one.write(word)["shared_id"]
    assert team.two.found(word) == [shared]
    team.give("canonical_reader", team.agent_id)
    assert team.two.found(word) == [], "it reads what holds, not what happened"
    team.give("executor", team.agent_id)
    assert team.two.found(word) == [shared]


def test_no_step_takes_a_label_away(team):
    """SHARE-31, SHARE-17: without its label it would be seen by whom the label keeps out, so it is not shared at all."""
    labelled = {"tags": [f"label:{team.people[1].name}"]}
    kept = team.one.write(unique("The archive closes at noon"), **labelled)
    assert "shared_id" not in kept and team.one.get(kept["id"])["tags"] == labelled["tags"]
    for tier in ("both", "shared"):
        body = {"text": unique("The archive opens at ten"), "tier": tier, **labelled}
        team.one.refused("POST", "/v1/items", body, **BLOCKED)


def test_a_block_goes_by_labels_too(team):
    """SHARE-17, SHARE-31: the label that Cedar knows is the one that the step `block` knows."""
    word = unique("The harbour is dredged in May")
    shared = team.one.write(word, tags=["label:restricted"])["shared_id"]
    assert team.two.found(word) == [shared]
    scope = {"user": team.people[1].name}
    team.policy("no-restricted", {"kind": "read", "scope": scope, "steps": [{"step": "block", "labels": ["restricted"]}]})
    assert team.two.found(word) == []
    team.two.refused("GET", f"/v1/items/{shared}", **MISSING)


def test_another_label_is_no_twin_in_the_pool(team):
    """SHARE-42, SHARE-34: what others may see of the one they may not see of the other, so neither stands for the other."""
    thing = unique("gate")
    said = {"triple": triple(thing, "colour", "red"), "tier": "shared"}
    plain = team.one.write(f"The {thing} is red", **said)
    labelled = team.one.write(f"The {thing} is red", tags=["label:restricted"], **said)
    assert labelled["id"] != plain["id"]
    assert {plain["id"], labelled["id"]} <= set(team.two.found(f"The {thing} is red"))


def test_a_forbidden_label_is_not_merged_in(team):
    """SHARE-31, AM-16: a write does not become one with what its agent may not write: both stay, each with its own labels."""
    thing = unique("door")
    body = {"text": f"The {thing} is blue", "triple": triple(thing, "colour", "blue"), "tier": "private"}
    labelled = team.one.write(**body, tags=["label:restricted"])
    team.cedar(forbid("write", 'resource.labels.contains("restricted")'))
    apart = team.one.write(**body, fields={"since": "May"})
    assert apart["status"] == "committed" and apart["id"] != labelled["id"], apart
