"""GOV-4: every admitted item has a complete record of where it comes from, how far it can be relied on, and who approved
it."""

import hashlib

import pytest
import verify_log

from callers import log_size
from canonical import content_hash
from crash import verify, verify_all
from governed import evidence, novel, triple
from test_tamper import Target, flipped_byte

FLIPS = 40


def test_adjusted_confidence_has_the_figures_of_the_formula(strict):
    """GOV-4.4: c_agent .8, V_fact = authority = .95: .6425; the same approved by a person: .9425."""
    ana, bot = strict.pair()
    made = bot.supported(novel(), confidence=0.8)
    record = bot.provenance(made["id"])
    assert (record["agent_confidence"], record["fact_score"]) == (0.8, pytest.approx(0.95))
    assert record["evidence_refs"][0]["authority"] == pytest.approx(0.95)
    assert record["adjusted_confidence"] == pytest.approx(0.6425, abs=1e-9)
    text = novel()
    pending = bot.held(text, layer="semantic", confidence=0.8, evidence=[strict.said(text)])
    assert ana.review(pending["pending_id"])["adjusted_confidence"] == pytest.approx(0.6425, abs=1e-9)
    approved = ana.approves(pending["pending_id"])
    assert bot.provenance(approved["id"])["adjusted_confidence"] == pytest.approx(0.9425, abs=1e-9)


def test_a_wrong_excerpt_hash_is_refused(strict, standard, open):
    """GOV-4.3: 422 with the path of the hash under every policy, no entry; its author has it back."""
    for world in strict, standard, open:
        ana, bot = world.pair()
        text = novel()
        sources = [world.said(text), {**world.said(text), "excerpt_hash": "0" * 64}]
        refused = bot.turned_down(
            text, evidence=sources, status=422, code="EXCERPT_HASH_MISMATCH", gate="provenance"
        )
        [fault] = refused["errors"]
        assert fault["path"] == "/evidence/1/excerpt_hash"
        assert fault["expected"] == hashlib.sha256(text.encode()).hexdigest() and fault["actual"] == "0" * 64
        assert bot.ask("GET", f"/v1/writes/{refused['refusal_id']}")["code"] == "EXCERPT_HASH_MISMATCH"


def test_what_was_admitted_unseen_says_so(strict):
    """GOV-4.2, GOV-6.6: a write that nobody had to approve: NOT_REQUIRED, no approver."""
    ana, bot = strict.pair()
    record = bot.provenance(bot.supported(novel())["id"])
    assert record["human_approval_state"] == "not_required"
    assert not any(record.get(f"approv{part}") for part in ("er_id", "al_timestamp", "al_justification"))


def test_what_was_approved_names_who_when_and_why(alone):
    """GOV-4.2, GOV-6.6: the record of an approved write names approver, time and justification; the writer stays its
    author."""
    world = alone()
    ana, bot = world.pair()
    text = novel()
    body = {"text": text, "layer": "semantic", "confidence": 0.7, "justification": "asked twice"}
    more = {"task_id": "t", "session_id": "s", "agent_version": "1.2.3", "trace_id": "trace"}
    pending = bot.held(**body, **more, evidence=[world.said(text)])
    staged = world.clock.text
    decided = world.clock.advance(hours=3)
    made = ana.approves(pending["pending_id"], reason="I was there")
    record = bot.provenance(made["id"])
    expected = {
        "memory_item_id": made["id"], "version_id": made["version"], "source_user_id": ana.user,
        "source_agent_id": bot.agent, "source_agent_version": "1.2.3", "source_task_id": "t", "source_session_id": "s", "agent_confidence": 0.7,
        "agent_justification": "asked twice", "human_approval_state": "approved", "approver_id": ana.user,
        "approval_timestamp": decided, "approval_justification": "I was there", "created_at": decided,
        "content_hash": content_hash(body), "evidence_quality": "primary",
    }  # fmt: skip
    assert {name: record.get(name) for name in expected} == expected
    assert staged < decided and len(bytes.fromhex(record["provenance_signature"])) == 32
    assert 0 < record["fact_score"] < 0.95 and record["validation_score"] and record["key_id"]


def test_evidence_stands_in_order_of_its_authority(strict):
    """GOV-4.2: evidence_refs by authority as it was found, not as it was claimed."""
    ana, bot = strict.pair()
    text = novel()
    kinds = ["tool_output", "document", "human_input", "api_response"]
    made = bot.commits(text, evidence=[evidence(text, strict.ago(), kind, authority=1.0) for kind in kinds])
    refs = bot.provenance(made["id"])["evidence_refs"]
    assert [(one["source_type"], one["authority"]) for one in refs] == [
        ("human_input", 0.95), ("api_response", 0.9), ("document", 0.85), ("tool_output", 0.8),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "source_type, quality",
    [
        ("human_input", "primary"), ("code_execution", "primary"), ("document", "secondary"), ("api_response", "secondary"),
        ("agent_reasoning", "inferred"),
    ],
)  # fmt: skip
def test_the_quality_of_evidence_is_told(standard, source_type, quality):
    """GOV-4.2: primary, secondary or inferred, by the best source."""
    ana, bot = standard.pair()
    text = novel()
    made = bot.commits(text, evidence=[evidence(text, standard.ago(), source_type)])
    assert bot.provenance(made["id"])["evidence_quality"] == quality


def test_a_superseded_record_names_its_successor(strict):
    """GOV-4.2, D8: supersedes is signed, superseded_by is what the views know; the signature stays the same."""
    ana, bot = strict.pair()
    thing = novel(1)
    first = bot.supported(f"{thing} port is 8080", confidence=0.2)
    before = bot.provenance(first["id"])
    text = f"{thing} port is 9090"
    made = bot.approved(text, confidence=0.9, evidence=[strict.said(text)])
    old, new = bot.provenance(first["id"], first["version"]), bot.provenance(first["id"])
    assert (new["supersedes"], old["superseded_by"]) == (first["version"], made["version"])
    assert old["provenance_signature"] == before["provenance_signature"]
    assert {name: old[name] for name in before} == before


def test_what_is_relied_on_more_ranks_higher(standard):
    """GOV-4.6: of two texts that answer a query alike, the better founded comes first, and an approved one before both."""
    ana, bot = standard.pair()
    subject = novel(4)
    bare = bot.commits(f"{subject} {novel(1)}")["id"]
    text = f"{subject} {novel(1)}"
    backed = bot.supported(text)["id"]
    text = f"{subject} {novel(1)}"
    approved = bot.approved(text, layer="semantic", evidence=[standard.said(text)])["id"]
    assert bot.found(subject) == [approved, backed, bare]


def test_nothing_is_admitted_without_a_record(strict):
    """GOV-4.1: versions that came by merge, update, supersession, approval and batch all have theirs, each its own."""
    ana, bot = strict.pair()
    thing = novel(1)
    text = f"{thing} is red"
    red = {"text": text, "triple": triple(thing, "colour", "red"), "evidence": [strict.said(text)]}
    first = bot.commits(**red)
    assert bot.call("POST", "/v1/items", {**red, "fields": {"a": 1}})[0] == 200
    other = novel()
    bot.ask("PUT", f"/v1/items/{first['id']}", {"text": other, "evidence": [strict.said(other)]}, expect=201)
    third = novel()
    bot.approved(third, supersedes=first["id"], evidence=[strict.said(third)])
    fourth = novel()
    [line] = bot.batch([{"text": fourth, "evidence": [strict.said(fourth)]}])
    records = [bot.provenance(line["id"])]
    versions = ana.versions(first["id"])
    assert len(versions) == 5
    for version in versions:
        record = ana.provenance(first["id"], version)
        assert record["version_id"] == version and record["memory_item_id"] == first["id"]
        records.append(record)
    for record in records:
        assert record["evidence_refs"] and record["fact_score"] and record["provenance_signature"]
    assert len({record["provenance_id"] for record in records}) == len(records)


def governed_log(world):
    """A log with an entry of every kind that governing makes; the server has stopped."""
    ana, bot = world.pair()
    bob = world.reviewer(ana)
    world.policy_set("write", kind="write_path", strictness="strict")
    world.chief.ask("PUT", "/v1/schemas", {"kind": "thing", "document": {"type": "object"}})
    thing = novel(1)
    text = f"{thing} is red"
    red = {"text": text, "triple": triple(thing, "colour", "red"), "evidence": [world.said(text)]}
    first = bot.commits(**red)
    assert bot.call("POST", "/v1/items", {**red, "fields": {"a": 1}})[0] == 200
    for decide in bob.approves, bob.rejects:
        text = novel()
        decide(bot.held(text, layer="semantic", evidence=[world.said(text)])["pending_id"])
    text = novel()
    withdrawn = bot.held(text, layer="semantic", evidence=[world.said(text)])["pending_id"]
    bot.ask("DELETE", f"/v1/reviews/{withdrawn}")
    ana.ask("POST", f"/v1/items/{first['id']}:quarantine", {"reason": "odd"})
    ana.ask("POST", f"/v1/items/{first['id']}:release", {"reason": "not odd"})
    world.chief.ask("POST", f"/v1/agents/{bot.name}:suspend", {"reason": "odd"})
    world.chief.ask("POST", f"/v1/agents/{bot.name}:resume", {"reason": "not odd"})
    assert world.server.stop() == 0


def test_a_governed_log_verifies(alone):
    """GOV-4.5: staged writes, decisions, merges, policies, schemas, quarantine: the server's own verification and the
    independent one both find the log whole, and the views are what it replays to."""
    world = alone()
    governed_log(world)
    verify_all(world.server.bin, world.server.data_dir)
    report = verify_log.check_directory(world.server.data_dir)
    assert report["ok"], report


def test_a_flipped_byte_is_named_by_its_place(alone, tmp_path, rng):
    """GOV-4.5: one flipped bit in any entry of such a log, and the verification names its number; so does the independent
    one."""
    world = alone()
    governed_log(world)
    target = Target(world.server.data_dir, tmp_path / "tampered")
    for _ in range(FLIPS):
        log, numbers = flipped_byte(target, rng)
        code, report = verify(world.server.bin, target.directory)
        [tenant] = report["tenants"]
        faults = [fault for one in tenant["logs"] if one["log"] == log for fault in one["faults"]]
        assert code != 0 and not report["ok"] and {fault["lsn"] for fault in faults if fault["lsn"]} & numbers, report
        assert not verify_log.check_directory(target.directory)["ok"]
        target.restore()
    code, report = verify(world.server.bin, target.directory)
    assert code == 0 and report["ok"], report


def test_a_wrong_source_leaves_no_entry(strict):
    """GOV-4.3: evidence that cites an item which is not there, or not visible, is refused with its path; both look the
    same."""
    (ana, bot), (ben, other) = strict.pair(), strict.pair()
    hidden = other.supported(novel())["id"]
    missing = "itm_" + "a" * 26
    answers = []
    for id in hidden, missing:
        text = novel()
        cited = {"source_type": "memory_item", "source_uri": id, "source_item_id": id, "accessed_at": strict.ago()}
        size = log_size(strict.server)
        status, answer, _ = bot.send(text, evidence=[strict.said(text), cited])
        assert status == 422 and answer["errors"][0]["path"] == "/evidence/1/source_item_id", answer
        assert log_size(strict.server) == size
        answers.append((answer["code"], answer["message"], answer["gate"]))
    assert answers[0] == answers[1]
