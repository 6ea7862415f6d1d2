"""The reviewer's commands: what waits, what became of writes, the rules, and what is taken back."""

import json

import pytest

from held import STANDARD, Team, backed
from server import Server
from test_cli import Cli


@pytest.fixture(scope="module")
def served(bin, tmp_path_factory):
    with Server(bin, tmp_path_factory.mktemp("review") / "data", env=STANDARD) as running:
        yield running


@pytest.fixture
def team(served):
    return Team(served)


@pytest.fixture
def chief(bin, served):
    return Cli(bin, served.url, served.key)


@pytest.fixture
def person(bin, served, team):
    return Cli(bin, served.url, team.person.key)


@pytest.fixture
def agent(bin, served, team):
    return Cli(bin, served.url, team.agent.key)


def written(cli, text, *more, **options):
    """A lasting statement with evidence, written by the command."""
    fields = backed(text)
    return cli.run("write", text, "--layer", "semantic", "--confidence", "0.9", "--evidence", json.dumps(fields["evidence"]), *more, **options)


def test_a_write_that_waits_says_how_to_ask_after_it(agent):
    """GOV-6.4: the author is told what it waits for, by a name to ask with."""
    said = written(agent, "The heron nests in the old mill").stdout
    assert "waits for a person" in said and "tabellion review show rev_" in said
    answer = json.loads(written(agent, "The heron nests in the new mill", "--json").stdout)
    assert answer["status"] == "deferred" and answer["pending_id"].startswith("rev_") and "id" not in answer


def test_from_the_queue_to_a_yes(team, person):
    """GOV-6.4: list, show, approve; the item is found only then."""
    id = team.held("The ferry leaves at dawn", key="ferry", derived_from=[])
    assert [review["id"] for review in person.json("review", "list")["reviews"]] == [id]
    listed = person.out("review", "list")
    assert id[:12] in listed and "ferry: The ferry leaves at dawn" in listed
    shown = person.out("review", "show", id)
    review = person.json("review", "show", id)
    for part in ("│ The ferry leaves at dawn", "Why it waits", "novelty", "https://docs.example.org/a", "authority 0.85",
                 "ago)", review["content_hash"], f"tabellion review approve {id[:12]}"):
        assert part in shown, part
    assert person.out("review", "next") == shown and person.json("review", "next") == review
    assert person.json("search", "ferry dawn")["results"] == []
    done = person.json("review", "approve", id, "--reason", "as the timetable says")
    assert done["status"] == "committed"
    assert person.json("search", "ferry dawn")["results"][0]["id"] == done["id"]
    assert person.json("review", "list", "--state", "approved")["reviews"][0]["reason"] == "as the timetable says"
    assert "nothing waits for you" in person.out("review", "next")
    again = person.run("review", "approve", id, "--reason", "twice", code=1).stderr
    assert "REVIEW_DECIDED" in again and "tabellion review next" in again


def test_what_would_change_is_shown_word_by_word(team, person):
    first = team.held("The bridge at Marlow carries 5 tonnes")
    item = person.json("review", "approve", first, "--reason", "so")["id"]
    shown = person.out("review", "show", team.held("The bridge at Marlow carries 3 tonnes", supersedes=item))
    assert f"Against {item[:12]}" in shown and "carries [-5-]{+3+} tonnes" in shown


def test_a_text_cannot_steer_the_terminal(team, person):
    id = team.held("Weirs\x1b[2J\x1b]0;pwned\x07\u202e\nContent hash\n  forged", key="line\nbreak")
    shown = person.out("review", "show", id, "--color", "always")
    assert "\x1b[2J" not in shown and "\x1b]" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert "│ Weirs<U+001B>[2J<U+001B>]0;pwned<U+0007><U+202E>" in shown and "│ Content hash" in shown and "line<U+000A>break" in shown
    assert "\x1b[2J" not in person.out("review", "list")


def test_a_no_says_whether_it_is_false(team, person, agent):
    """GOV-6.7: rejections reach the agent, with their reasons."""
    false, unwanted = team.held("The weir opens at noon"), team.held("The lock has seven gates")
    assert person.json("review", "reject", false, "--reason", "it opens at nine", "--false")["status"] == "rejected"
    assert "rejected" in person.out("review", "reject", unwanted, "--reason", "nobody asked")
    assert team.review(false)["decision"] != team.review(unwanted)["decision"]
    feedback = agent.json("agent", "feedback", team.agent_name)
    assert {review["reason"] for review in feedback["rejections"]} == {"it opens at nine", "nobody asked"}
    said = agent.out("agent", "feedback", team.agent_name)
    assert "0 approved, 2 rejected" in said and "it opens at nine" in said and "too few decisions" in said


def test_who_may_not_decide_is_told_who_may(team, person, agent, chief, served):
    """GOV-6.4, AM-4: an agent never decides, under strict nobody decides on their own, and a decision binds to a content."""
    id = team.held("The towpath is closed in winter")
    refused = agent.run("review", "approve", id, "--reason", "I said so", code=1).stderr
    assert "HUMAN_REQUIRED" in refused and "tabellion key create --user" in refused
    strict = ["--write-policy", "strict", "--json"]
    said = written(person, "The toll is two pence", *strict, code=1).stderr
    assert "NO_REVIEWER" in said
    chief.run("policy", "set", f"reads-{team.person.name}", "--kind", "reviewer", "--reviewer", "admin", "--user", team.person.name)
    own = json.loads(written(person, "The toll is two pence", *strict).stdout)["pending_id"]
    refused = person.run("review", "approve", own, "--reason", "I said so", code=1).stderr
    assert "SELF_APPROVAL" in refused and "--kind reviewer" in refused
    assert "VERSION_CONFLICT" in person.run("review", "approve", id, "--reason", "so", "--content-hash", "00" * 32, code=1).stderr
    person.run("review", "approve", id, code=2)
    stranger = Cli(person.bin, served.url, Team(served).person.key)
    unseen = stranger.run("review", "show", id, code=1).stderr
    assert "NOT_FOUND" in unseen and "tabellion review list" in unseen
    assert person.json("review", "withdraw", own)["status"] == "withdrawn"
    assert team.review(own)["state"] == "withdrawn"


def test_refused_writes_are_kept_and_tried_again(team, agent, chief):
    """GOV-1.6: a refused write can be read back by its author, and opened again."""
    refused = agent.run("write", "The mill race is two fathoms deep", "--layer", "semantic", code=1).stderr
    assert "tabellion writes show ref_" in refused and "hint:" in refused
    [kept] = agent.json("writes", "list")["writes"]
    assert kept["id"][:12] in refused and kept["state"] == "refused" and kept["code"] in refused
    assert kept["id"][:12] in agent.out("writes", "list")
    shown = agent.out("writes", "show", kept["id"])
    assert "The mill race is two fathoms deep" in shown and kept["message"][:20] in shown
    assert kept["code"] in agent.run("writes", "reopen", kept["id"], code=1).stderr
    assert "tabellion writes list" in agent.run("writes", "show", "ref_none", code=1).stderr


def test_lines_of_an_import_may_wait(team, agent):
    """GOV-6.4: a line that waits for a person is neither in nor refused."""
    lines = "".join(json.dumps(line) + "\n" for line in (backed("The staithe is let"), {"text": "It rained today"}, {"text": 7}))
    done = agent.json("import", "-", stdin=lines, code=1)
    assert (done["committed"], done["deferred"], done["rejected"]) == (1, 1, 1)
    assert done["deferrals"][0]["line"] == 1 and done["deferrals"][0]["pending_id"].startswith("rev_")
    said = agent.out("import", "-", stdin=json.dumps(backed("The staithe is sold")) + "\n")
    assert "deferred" in said and "tabellion review list" in said


def test_policies_are_set_and_listed(chief, person, team, tmp_path):
    """GOV-6.4: four eyes, reviewers for others, official sources, a strictness of its own for a namespace."""
    chief.run("policy", "set", "docs", "--kind", "official_sources", "--prefix", "https://docs.example.org/official/")
    chief.run("policy", "set", "ledger", "--kind", "write_path", "--strictness", "strict", "--namespace", "ledger")
    file = tmp_path / "reviewer.json"
    file.write_text(json.dumps({"kind": "reviewer", "reviewer": "admin", "user": team.person.name}))
    chief.run("policy", "set", f"admin-for-{team.person.name}", "--file", file)
    listed = {policy["id"]: policy for policy in chief.json("policy", "list")["policies"]}
    assert listed["ledger"]["strictness"] == "strict" and listed["docs"]["prefixes"] == ["https://docs.example.org/official/"]
    assert "namespace: ledger" in chief.out("policy", "list")
    own = json.loads(written(person, "The toll is three pence", "--write-policy", "strict", "--json").stdout)["pending_id"]
    assert "committed" in chief.out("review", "approve", own, "--reason", "I am named as the reviewer")
    assert "FORBIDDEN" in person.run("policy", "set", "mine", "--kind", "approval", "--approvals", "1", code=1).stderr
    assert "SCHEMA_INVALID" in chief.run("policy", "set", "none", "--kind", "approval", "--approvals", "99", code=1).stderr
    assert "is not JSON" in chief.run("policy", "set", "none", "--file", "-", stdin="{", code=1).stderr


def test_schemas_are_set_and_listed(chief, person):
    document = {"required": ["fields"], "properties": {"fields": {"required": ["total"], "properties": {"total": {"type": "number"}}}}}
    schema = {"kind": "invoice", "document": document}
    chief.run("schema", "set", "--file", "-", stdin=json.dumps(schema))
    assert chief.json("schema", "list")["schemas"][0]["kind"] == "invoice"
    listed = chief.out("schema", "list")
    assert "invoice" in listed and "any" in listed
    assert "/fields/total" in person.run("write", "an invoice", "--kind", "invoice", code=1).stderr
    person.run("write", "an invoice", "--kind", "invoice", "--field", "total:=3")


def test_an_item_under_suspicion(agent, person):
    """GOV-11.9: what is in quarantine is not found, and what rests on it is named."""
    source = agent.json("write", "The gauge reads four feet")
    derived = agent.json("write", "The river is high today", "--derived-from", source["version"])
    said = agent.out("quarantine", source["id"], "--reason", "the gauge is broken")
    assert "quarantined" in said and derived["id"][:12] in said and "look again" in said
    assert agent.json("search", "gauge")["results"] == []
    assert agent.json("release", source["id"], "--reason", "it was read again")["status"] == "released"
    assert agent.json("search", "gauge")["results"][0]["id"] == source["id"]
    assert "NOT_FOUND" in person.run("quarantine", "itm_none", code=1).stderr


def test_an_agent_is_stopped_and_its_writes_taken_back(team, chief, agent, person):
    """GOV-11.10: a suspended agent writes nothing; what it wrote, and what derives from it, is taken back."""
    first = agent.json("write", "The eel trap is full")
    second = person.json("write", "Supper is eel", "--derived-from", first["version"])
    since = person.json("get", first["id"])["created_at"]
    assert "suspended" in chief.out("agent", "suspend", team.agent_name, "--reason", "poisoned")
    refused = agent.run("write", "The eel trap is empty", code=1).stderr
    assert "WRITES_SUSPENDED" in refused and "agent resume" in refused
    tried = person.json("revert", team.agent_name, "--since", since, "--reason", "poisoned", "--dry-run")
    assert (tried["written"], tried["derived"], tried["dry_run"]) == ([first["id"]], [second["id"]], True)
    assert "leave --dry-run out" in person.out("revert", team.agent_name, "--since", since, "--reason", "poisoned", "--dry-run")
    assert "2 retracted" in person.out("revert", team.agent_name, "--since", since, "--reason", "poisoned")
    assert person.json("search", "eel")["results"] == []
    assert "resumed" in chief.out("agent", "resume", team.agent_name, "--reason", "mended")
    agent.run("write", "The eel trap is mended")
    assert "NOT_FOUND" in chief.run("agent", "suspend", "nobody", "--reason", "x", code=1).stderr
