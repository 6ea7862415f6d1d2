"""A person's own write carries their own approval (AM-4), and a waiting write is worded anew rather than doubled (AM-10)."""

import json
import os
import subprocess

import pytest

from governed import TESTS, Later, committed, eventually, novel


@pytest.mark.parametrize("world", ["standard", "open"])
def test_person_alone_writes_what_holds_and_how_it_is_done(world, request):
    """AM-4: semantic and procedural writes of a person commit at once, with no evidence but their word; it is on record who
    approved them."""
    world = request.getfixturevalue(world)
    ana = world.person()
    for layer in "semantic", "procedural":
        text = novel()
        made = ana.commits(text, layer=layer)
        record = ana.provenance(made["id"])
        assert (record["human_approval_state"], record["approver_id"]) == ("approved", ana.user)
        [said] = record["evidence_refs"]
        assert (said["source_type"], said["authority"]) == ("human_input", 0.95)
        # By meaning others may be found as well, once their vectors are there.
        assert ana.search(text)[0]["text"] == text
    assert ana.reviews() == []


def test_gates_that_are_no_question_of_consent_still_stand(standard):
    """AM-4: schema, tests and contradictions of others are no question of a person's consent."""
    ana = standard.person()
    status, answer, _ = ana.call("POST", "/v1/items", {"text": novel(), "layer": "procedural"})
    assert (status, answer["code"]) == (422, "TESTS_FAILED")
    ana.turned_down(" ", layer="semantic", status=422, code="SCHEMA_INVALID", gate="schema")
    fails = [{"name": "long", "expect": {"properties": {"text": {"minLength": 4000}}}}]
    ana.turned_down(novel(), layer="procedural", tests=fails, status=422, code="TESTS_FAILED", gate="schema")


def test_person_changes_what_they_know(standard):
    """AM-3, AM-4: a person's newer statement takes the place of the older one in canonical layers too; so does another value of a
    field of the same statement."""
    ana = standard.person()
    lives = f"{novel(1).capitalize()} lives in "
    first = ana.commits(lives + "Berlin.", layer="semantic")
    made = ana.commits(lives + "Paris.", layer="semantic")
    assert made["superseded"] == [{"id": first["id"], "version": first["version"], "text": lives + "Berlin."}]
    thing = novel(1)
    red = {"text": f"{thing} is red", "triple": {"subject": thing, "predicate": "colour", "object": "red"}}
    one = ana.commits(**red, fields={"shade": 3})
    two = ana.commits(**red, fields={"shade": 4})
    assert [each["id"] for each in two["superseded"]] == [one["id"]]


def test_agent_still_needs_a_person(standard):
    """AM-4: an agent carries nobody's consent; its change of what is known proposes to supersede, and does so by a yes."""
    ana, bot = standard.pair()
    lives = f"{novel(1).capitalize()} lives in "
    first = ana.commits(lives + "Berlin.", layer="semantic")
    text = lives + "Paris."
    body = {"layer": "semantic", "evidence": [standard.said(text)]}
    pending = bot.held(text, **body)
    review = ana.review(pending["pending_id"])
    assert review["hold"] == "async", "who names no deadline is answered at once, and the review stays open for days"
    ana.rejects(pending["pending_id"])
    text = lives + "Rome."
    body = {"layer": "semantic", "evidence": [standard.said(text)], "deadline": "2099-01-01T00:00:00Z"}
    asked = Later(lambda: bot.send(text, **body))
    [review] = eventually(ana.reviews)
    assert review["hold"] == "sync", "who names one waits for a person who is asked now"
    assert review["proposal"] == {"operation": "supersede", "items": [first["id"]]}
    ana.approves(review["id"])
    made = committed(asked.answer())
    assert made["id"] == first["id"] and [one["text"] for one in ana.search(lives)] == [text]


def test_strict_asks_a_second_person_or_refuses_at_once(strict):
    """AM-4: under strict another person decides; where nobody could, the write is refused at once, and kept for its author."""
    ana = strict.person()
    text = novel()
    body = {"layer": "semantic", "evidence": [strict.said(text)]}
    refused = ana.turned_down(text, **body, status=409, code="NO_REVIEWER", gate="policy")
    assert ana.reviews() == [] and refused["refusal_id"] in [kept["id"] for kept in ana.kept()]
    bob = strict.reviewer(ana)
    pending = ana.held(text, **body)
    assert ana.decides(pending["pending_id"])[1]["code"] == "SELF_APPROVAL"
    assert bob.approves(pending["pending_id"])["status"] == "committed"


def test_four_eyes_stay_four(alone):
    """AM-4, GOV-6.4: where a policy asks for two people, one's own consent is not enough."""
    world = alone(policy="standard")
    ana = world.person()
    world.policy_set("eyes", kind="approval", approvals=2)
    text = novel()
    ana.turned_down(text, layer="semantic", evidence=[world.said(text)], status=409, code="NO_REVIEWER", gate="policy")
    world.reviewer(ana), world.reviewer(ana)
    assert ana.held(text, layer="semantic", evidence=[world.said(text)])["code"] == "APPROVAL_REQUIRED"


def test_command_line_writes_every_layer(standard, bin, tmp_path):
    """AM-4: `tabellion write` has a way to give tests, in the command and in a file."""
    ana = standard.person()
    env = {**os.environ, "TABELLION_URL": standard.server.url, "TABELLION_KEY": ana.key}
    run = lambda *args: subprocess.run([str(bin), "--json", *args], env=env, capture_output=True, text=True)
    done = run("write", novel(), "--layer", "semantic")
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "committed", done
    done = run("write", novel(), "--layer", "procedural", "--test", 'says something={"required":["text"]}')
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "committed", done
    file = tmp_path / "tests.json"
    file.write_text(json.dumps(TESTS))
    done = run("write", novel(), "--layer", "procedural", "--test-file", str(file))
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "committed", done
    done = run("write", novel(), "--layer", "procedural")
    assert done.returncode == 1 and "TESTS_FAILED" in done.stdout + done.stderr, done
    help = subprocess.run([str(bin), "write", "--help"], capture_output=True, text=True).stdout
    assert "--test '" in help and "--test-file" in help


def test_near_copy_of_a_waiting_write_becomes_its_next_version(standard):
    """AM-10: a typo that is mended, and a correction, take the place of one's own waiting write for the reviewer."""
    ana, bot = standard.pair()
    thing = novel(1).capitalize()
    said = lambda text: {"layer": "semantic", "evidence": [standard.said(text)]}
    first = bot.held(f"the {thing} recieves letters", **said(f"the {thing} recieves letters"))
    second = bot.held(f"the {thing} receives letters", **said(f"the {thing} receives letters"))
    assert first["pending_id"] != second["pending_id"]
    assert [review["id"] for review in ana.reviews()] == [second["pending_id"]]
    assert ana.review(first["pending_id"])["state"] == "withdrawn"
    third = bot.held(f"{thing} lives in Berlin.", **said(f"{thing} lives in Berlin."))
    fourth = bot.held(f"{thing} lives in Paris.", **said(f"{thing} lives in Paris."))
    assert {review["id"] for review in ana.reviews()} == {second["pending_id"], fourth["pending_id"]}
    assert ana.decides(third["pending_id"])[1]["code"] == "REVIEW_DECIDED"
    made = ana.approves(fourth["pending_id"])
    assert bot.get(made["id"])["text"] == f"{thing} lives in Paris."
    ana.approves(second["pending_id"])


def test_other_waiting_writes_are_left_alone(standard):
    """AM-10: another statement, another author, another place: each waits for itself."""
    ana, bot = standard.pair()
    other = standard.agent(ana)
    thing = novel(1).capitalize()
    said = lambda text, **more: {"layer": "semantic", "evidence": [standard.said(text)], **more}
    text, changed = f"{thing} lives in Berlin.", f"{thing} lives in Paris."
    bot.held(text, **said(text))
    other.held(changed, **said(changed))
    bot.held(changed, **said(changed, namespace="elsewhere"))
    bot.held(f"The north gate of {thing} is locked.", **said(f"The north gate of {thing} is locked."))
    bot.held(f"The south gate of {thing} is locked.", **said(f"The south gate of {thing} is locked."))
    assert len(ana.reviews()) == 5
