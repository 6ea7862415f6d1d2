"""The copies that others have of a user's statements follow what that user does with the statement, whatever door it takes."""

import pytest

from server import Server
from test_access import MISSING
from test_sharing import Team, unique


@pytest.fixture
def team(bin, tmp_path):
    """Under the default policy."""
    with Server(bin, tmp_path / "data", env={"TABELLION_GOVERNANCE__POLICY": "standard"}) as server:
        yield Team(server)


def patched(caller, id, text):
    return caller.ask("PATCH", f"/v1/items/{id}", {"text": text}, expect=201)


def replaced(caller, id, text):
    return caller.ask("PUT", f"/v1/items/{id}", {"text": text}, expect=201)


def tagged(caller, id, text):
    return caller.ask("PATCH", f"/v1/items/{id}", {"tags": ["bank"]}, expect=201)


@pytest.mark.parametrize("change", [patched, replaced, tagged])
def test_private_item_stays_private_when_it_changes(team, change):
    """SHARE-19, AM-3: an update that says nothing of the tier makes no copy of what nobody else had."""
    first = team.one.write(unique("The salary of the new job is 71,000 euros"), tier="private")
    second = change(team.one, first["id"], unique("The salary of the new job is 73,500 euros"))
    assert "shared_id" not in second
    assert team.two.found("salary of the new job") == []


def test_newer_value_of_a_private_statement_stays_private(team):
    """AM-3: what supersedes a private statement unasked is as private; the writer may still say otherwise."""
    team.one.write("The rent of the flat is 8 euros", tier="private")
    newer = team.one.write("The rent of the flat is 9 euros")
    assert newer["superseded"] and "shared_id" not in newer
    assert team.two.found("rent of the flat") == []
    both = team.one.write("The rent of the flat is 10 euros", tier="both", on_conflict="supersede")
    assert team.two.found("rent of the flat") == [both["shared_id"]]


def test_copy_is_taken_back_with_the_statement(team):
    """SHARE-19, AM-8: who deletes a statement deletes what others have of it."""
    word = unique("The spare key lies under the flower pot")
    written = team.one.write(word)
    assert team.two.found(word) == [written["shared_id"]]
    team.one.ask("DELETE", f"/v1/items/{written['id']}")
    team.two.refused("GET", f"/v1/items/{written['shared_id']}", **MISSING)
    assert team.two.found(word) == [] and team.one.found(word) == []


def test_copy_is_rolled_back_with_the_statement(team):
    """SHARE-19: others see again what the statement said before, or nothing where there was nothing."""
    before, after = unique("The office is on floor three"), unique("The office is on floor five")
    first = team.one.write(before)
    replaced(team.one, first["id"], after)
    assert team.two.get(first["shared_id"])["text"] == after
    team.one.ask("POST", f"/v1/items/{first['id']}:rollback", {})
    assert team.two.get(first["shared_id"])["text"] == before and team.one.get(first["id"])["text"] == before
    team.one.ask("POST", f"/v1/items/{first['id']}:rollback", {})
    team.two.refused("GET", f"/v1/items/{first['shared_id']}", **MISSING)


def test_shared_statement_of_another_refuses_nothing_private(team):
    """AM-3: what others share keeps nobody from remembering something else in private, and nobody is held for it (AM-5)."""
    facts = ["The rent of the flat is {} euros", "The alarm code of gate A ends in {}", "The cat weighs {} kg",
             "The standup takes {} minutes", "The lease ends in {} months", "The boiler is set to {} degrees"]  # fmt: skip
    for fact in facts:
        team.one.write(fact.format(10), tier="shared")
    for fact in facts:
        own = team.two.write(fact.format(35), tier="private")
        assert "shared_id" not in own
    beside = team.two.write("The rent of the garage is 80 euros")
    assert "shared_id" in beside, "nothing speaks against it"
    contradicted = team.two.write("The rent of the garage is 95 euros", tier="private")
    assert contradicted["status"] == "committed"


def test_what_contradicts_others_is_kept_in_private_alone(team):
    """AM-3: where the tier is left open, the statement is kept and what it speaks against is shown; others get no copy."""
    known = team.one.write("The lease of the hall ends in 10 months", tier="shared")
    own = team.two.write("The lease of the hall ends in 35 months")
    assert "shared_id" not in own
    assert [one["id"] for one in own["contradictions"]] == [known["id"]]
    assert team.one.found("lease of the hall") == [known["id"]]
    asked = {"text": "The lease of the hall ends in 48 months", "tier": "shared"}
    team.two.refused("POST", "/v1/items", asked, status=409, code="CONTRADICTION")
