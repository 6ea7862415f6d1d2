"""GOV-6: risk, reviews and the people who decide."""

import threading
import uuid
from datetime import timedelta

import pytest

from callers import log_size, random_id, rfc3339
from canonical import content_hash
from governed import Events, Later, committed, evidence, eventually, novel, refusal, triple, waiting

WEIGHTS = {
    "layer": 0.25, "contradiction": 0.20, "evidence": 0.15, "confidence_gap": 0.15, "blast_radius": 0.15, "novelty": 0.10,
}  # fmt: skip


def canonical(world, bot, layer="semantic", **more):
    """A held write of a canonical layer: its text and the id of its review."""
    text = novel()
    return text, bot.held(text, layer=layer, evidence=[world.said(text)], **more)["pending_id"]


def official_fact(world, bot, text, **more):
    """A write of the highest authority, however it ends."""
    cited = evidence(text, world.ago(), "document", source_uri=f"{world.official()}page")
    return bot.send(text, confidence=0.9, evidence=[cited], **more)


def opposed(world, ana, bot, layer="procedural"):
    """A fact that a person approved, and the call of a better founded one that speaks against it: the writer waits.

    Returns the known item, the new text, the call, and the review."""
    thing = novel(1)
    text, other = f"{thing} port is 8080", f"{thing} port is 9090"
    known = bot.approved(text, layer=layer, confidence=0.3, evidence=[world.said(text)])
    call = Later(lambda: official_fact(world, bot, other, layer=layer))
    [review] = eventually(lambda: [one for one in ana.reviews() if one["item"]["text"] == other])
    return known, other, call, review


# Risk


def test_risk_has_the_figures_of_the_table(strict):
    """GOV-6.1, GOV-6.2, D11: episodic, GOV-4's numbers, a known topic, one consumer: R is .159 and it commits; with a
    stronger contradiction R is .359 and it is staged: nothing is found until a person approves it, then it is."""
    ana, bot = strict.pair()
    thing = novel(1)
    known, text = f"{thing} port is 8080", f"{thing} port is 9090"
    weak = evidence(known, strict.ago(), "tool_output")
    bot.commits(known, confidence=0.5, evidence=[weak])
    assert bot.found(thing), "one reader: the agent itself"
    beside = bot.commits(f"{thing} port is watched", confidence=0.8, evidence=[strict.said(f"{thing} port is watched")])
    assert bot.provenance(beside["id"])["human_approval_state"] == "not_required"
    pending = bot.held(text, confidence=0.8, evidence=[strict.said(text)])["pending_id"]
    review = bot.review(pending)
    factors = {one["factor"]: (one["weight"], one["value"]) for one in review["factors"]}
    assert {name: weight for name, (weight, _) in factors.items()} == pytest.approx(WEIGHTS)
    values = {name: value for name, (_, value) in factors.items()}
    expected = {"layer": 0.3, "contradiction": 1, "evidence": 0.05, "confidence_gap": 0.3575, "novelty": 0}
    assert values == pytest.approx({**expected, "blast_radius": 0.15019}, abs=1e-4)
    assert review["risk"] == pytest.approx(0.359, abs=5e-4)
    assert review["risk"] - 0.20 == pytest.approx(0.159, abs=5e-4), "the same without the contradiction commits"
    assert (review["hold"], review["state"]) == ("async", "pending")
    assert text not in [one["text"] for one in bot.search(thing)]
    ana.approves(pending)
    assert [one["text"] for one in bot.search(thing)].count(text) == 1


def test_a_new_topic_is_a_risk_of_its_own(strict):
    """GOV-6.1: novelty is 1 where no neighbour is near; a reader more widens the blast radius."""
    ana, bot = strict.pair()
    first = {one["factor"]: one["value"] for one in bot.review(canonical(strict, bot)[1])["factors"]}
    assert first["novelty"] == 1
    bot.search("anything")
    ana.search("anything")
    second = {one["factor"]: one["value"] for one in bot.review(canonical(strict, bot)[1])["factors"]}
    assert second["blast_radius"] > first["blast_radius"]


def test_readers_are_remembered_over_a_restart(alone):
    """GOV-6.1, D11: who read within thirty days is a reader, whether the server was started since or not; later they are
    not."""
    world = alone()
    ana, bot = world.pair()
    bot.search("anything")
    before = blast(world, bot)
    assert before == pytest.approx(0.15019, abs=1e-4)
    world.server.stop()
    world.server.start()
    world.clock.set(world.clock.now)
    assert blast(world, bot) == pytest.approx(before)
    world.clock.advance(days=31)
    assert blast(world, bot) == 0


def blast(world, bot):
    review = bot.review(canonical(world, bot)[1])
    return {one["factor"]: one["value"] for one in review["factors"]}["blast_radius"]


def test_risk_of_medium_height_is_staged_under_strict_only(alone):
    """GOV-6.2: R of .3 or more is looked at under strict; under standard an episode is only from .7 on."""
    for policy, expected in ("strict", 202), ("standard", 201):
        world = alone(policy)
        ana, bot = world.pair()
        for _ in range(40):
            world.agent(ana).search("anything")
        text = novel()
        low = evidence(text, world.ago(), "tool_output", authority=0.65)
        status, answer, _ = bot.send(text, confidence=0.0, evidence=[low])
        assert status == expected, answer
        if expected == 202:
            review = bot.review(answer["pending_id"])
            assert 0.3 <= review["risk"] < 0.7 and answer["code"] == "APPROVAL_REQUIRED"


# Held: staged, shown, decided


def test_a_held_write_is_shown_with_everything_a_person_needs(strict):
    """GOV-6.4: item, risk, factors, causes, contradictions, evidence, justification, deadline, and what the yes would
    do."""
    ana, bot = strict.pair()
    text = novel()
    body = {"text": text, "layer": "semantic", "key": "k", "fields": {"a": 1}, "tags": ["t"], "justification": "asked"}
    cited = [strict.said(text)]
    pending = bot.held(**body, confidence=0.8, evidence=cited)
    assert (pending["gate"], pending["code"]) == ("policy", "APPROVAL_REQUIRED")
    [listed] = ana.reviews()
    review = ana.review(pending["pending_id"])
    assert listed == review
    assert review["item"] == {**body, "confidence": 0.8, "evidence": cited}
    expected = {
        "id": pending["pending_id"], "state": "pending", "hold": "async", "contradictions": [], "layer": "semantic",
        "tier": "auto", "for_others": False, "owner": ana.user, "agent": bot.agent, "content_hash": content_hash(body), "overdue": False,
        "approvals": [], "approvals_min": 1, "created_at": strict.clock.text, "proposal": {"operation": "insert"},
        "deadline": rfc3339(strict.clock.now + timedelta(hours=48)),
    }  # fmt: skip
    assert {name: review.get(name) for name in expected} == expected
    assert {cause["code"] for cause in review["causes"]} == {"APPROVAL_REQUIRED"}
    assert all(cause["gate"] == "policy" and cause["message"] for cause in review["causes"])
    assert sum(one["weight"] * one["value"] for one in review["factors"]) == pytest.approx(review["risk"])
    for name in "version", "decision", "reason", "decided_at":
        assert review.get(name) is None


@pytest.mark.parametrize("layer, hours", [("procedural", 24), ("semantic", 48), ("episodic", 72)])
def test_an_overdue_review_is_never_approved_by_itself(alone, layer, hours):
    """GOV-6.4, D10: a day for procedures, two for facts, three for episodes; then it is overdue, still pending, and still a
    person's to decide."""
    world = alone()
    ana, bot = world.pair()
    if layer == "episodic":
        text = novel()
        pending = bot.held(text, evidence=[world.said(" ".join(text.split()[:3]))])["pending_id"]
    else:
        text, pending = canonical(world, bot, layer)
    assert ana.review(pending)["deadline"] == rfc3339(world.clock.now + timedelta(hours=hours))
    events = Events(ana)
    world.clock.advance(hours=hours)
    assert not ana.review(pending)["overdue"]
    world.clock.advance(seconds=1)
    assert ana.review(pending)["overdue"] and ana.review(pending)["state"] == "pending"
    eventually(lambda: "escalated" in events.of(pending))
    world.clock.advance(days=30)
    assert [review["id"] for review in ana.reviews()] == [pending] and bot.texts() == []
    assert events.of(pending).count("escalated") == 1, "told once"
    ana.approves(pending)
    assert bot.texts() == [text]


def test_nobody_finds_what_is_held(strict):
    """GOV-6.4: neither search, list nor id leads to a held write, not even for its author; after the yes all of them do."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    for caller in ana, bot:
        for mode in "hybrid", "lexical", "dense":
            assert text not in [one["text"] for one in caller.search(text, mode=mode)]
        assert caller.texts() == []
    made = ana.approves(pending)
    assert eventually(lambda: made["id"] in bot.found(text)) and bot.texts() == [text]
    review = ana.review(pending)
    assert (review["state"], review["version"], review["decision"]) == ("approved", made["version"], "approved")
    assert (review["reason"], review["decided_at"]) == ("looked at it", strict.clock.text)
    assert review["approvals"] == [ana.user]


def test_a_no_ends_a_review_and_leaves_nothing(strict):
    """GOV-6.3, GOV-6.4: rejected with its reason; nothing is memory, and the same write sent again is a new review."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    ana.rejects(pending, reason="nobody said that", category="POLICY_VIOLATION")
    review = bot.review(pending)
    assert (review["state"], review["reason"]) == ("rejected", "nobody said that")
    assert bot.texts() == [] and review.get("version") is None
    again = bot.held(text, layer="semantic", evidence=[strict.said(text)])["pending_id"]
    assert again != pending


def test_reviews_are_listed_by_state_the_riskiest_first(strict):
    """GOV-6.4: a queue in order of risk; states other than the five are refused."""
    ana, bot = strict.pair()
    ids = [canonical(strict, bot, layer)[1] for layer in ("semantic", "procedural", "semantic")]
    risks = [review["risk"] for review in ana.reviews()]
    assert risks == sorted(risks, reverse=True) and ana.reviews()[0]["id"] == ids[1]
    ana.approves(ids[0])
    ana.rejects(ids[1])
    bot.ask("DELETE", f"/v1/reviews/{ids[2]}")
    states = [[review["id"] for review in ana.reviews(state)] for state in ("approved", "rejected", "withdrawn", "pending")]
    assert states == [[ids[0]], [ids[1]], [ids[2]], []]
    assert len(ana.ask("GET", "/v1/reviews")["reviews"]) == 3
    ana.refused("GET", "/v1/reviews?state=lost", status=422, code="SCHEMA_INVALID")


# Who decides


def test_an_agent_decides_nothing(strict):
    """GOV-6.3, D10: approvers are people: an agent's key is 403 HUMAN_REQUIRED, whosever agent it is; the review stays."""
    ana, bot = strict.pair()
    bob = strict.reviewer(ana)
    text, pending = canonical(strict, bot)
    agents = [bot, strict.agent(ana), strict.agent(bob)]
    size = log_size(strict.server)
    for agent in agents:
        for decision in "approve", "reject":
            status, answer, _ = agent.decides(pending, decision)
            assert (status, answer["code"]) == (403, "HUMAN_REQUIRED"), answer
    assert log_size(strict.server) == size and ana.review(pending)["state"] == "pending"


@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("second", ["approve", "reject"])
def test_nobody_decides_twice(strict, first, second):
    """GOV-6.3: the second decision is 409 REVIEW_DECIDED and changes nothing."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    assert ana.decides(pending, first)[0] == 200
    before, size = ana.review(pending), log_size(strict.server)
    status, answer, _ = ana.decides(pending, second)
    assert (status, answer["code"]) == (409, "REVIEW_DECIDED"), answer
    assert ana.review(pending) == before and log_size(strict.server) == size


def test_of_many_decisions_at_once_one_counts(strict):
    """GOV-6.3: twenty decisions in parallel: one is taken, the others are told so; one item or none."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    together, answers = threading.Barrier(20), []

    def decide(number):
        together.wait()
        answers.append(ana.decides(pending, "approve" if number % 2 else "reject"))

    threads = [threading.Thread(target=decide, args=[number]) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _, _ in answers) == [200] + [409] * 19
    state = ana.review(pending)["state"]
    assert len(bot.texts()) == (state == "approved") and state in ("approved", "rejected")


def test_nobody_approves_what_they_wrote_themselves(strict):
    """GOV-6.3: a person's own held write is 403 SELF_APPROVAL for them; another reviewer may."""
    ana = strict.person()
    bob = strict.reviewer(ana)
    text, pending = canonical(strict, ana)
    for decision in "approve", "reject":
        status, answer, _ = ana.decides(pending, decision)
        assert (status, answer["code"]) == (403, "SELF_APPROVAL"), answer
    assert ana.review(pending)["state"] == "pending"
    bob.approves(pending)
    assert ana.provenance(ana.found(text)[0])["approver_id"] == bob.user


def test_a_decision_has_a_reason_and_known_words(strict):
    """GOV-6.6: no decision without a justification; unknown words are refused, and nothing is decided."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    for body in (
        {}, {"decision": "approve"}, {"decision": "approve", "reason": " "}, {"decision": "maybe", "reason": "x"},
        {"decision": "reject", "reason": "x", "category": "MOOD"}, {"decision": "approve", "reason": "x" * 2000},
        {"decision": "approve", "reason": "x", "more": 1},
    ):  # fmt: skip
        status, answer, _ = ana.call("POST", f"/v1/reviews/{pending}:decide", body)
        assert status == 422 and answer["errors"], (body, answer)
    assert ana.review(pending)["state"] == "pending"


def test_a_decision_binds_to_what_was_read(strict):
    """GOV-6.6: with the hash of another content the decision is 409 VERSION_CONFLICT; with its own it is taken."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    status, answer, _ = ana.decides(pending, content_hash="0" * 64)
    assert (status, answer["code"]) == (409, "VERSION_CONFLICT"), answer
    ana.approves(pending, content_hash=ana.review(pending)["content_hash"])


def test_others_see_nothing_of_a_review(strict):
    """GOV-6.4: a reviewer sees what they may; to everyone else, the admin included, a review is missing."""
    ana, bot = strict.pair()
    bob, eve = strict.reviewer(ana), strict.person()
    text, pending = canonical(strict, bot)
    path = f"/v1/reviews/{pending}"
    strangers = [eve, strict.agent(eve), strict.chief, strict.same_agent(bot, eve), strict.person(role="auditor")]
    for stranger in strangers:
        messages = set()
        for id in pending, random_id("rev"):
            missing = stranger.refused("GET", f"/v1/reviews/{id}", status=404, code="NOT_FOUND")
            body = {"decision": "approve", "reason": "x"}
            stranger.refused("POST", f"/v1/reviews/{id}:decide", body, status=404, code="NOT_FOUND")
            stranger.refused("DELETE", f"/v1/reviews/{id}", status=404, code="NOT_FOUND")
            stranger.refused("PUT", f"/v1/reviews/{id}", {"text": "mine"}, status=404, code="NOT_FOUND")
            messages.add(missing["message"])
        assert len(messages) == 1
        assert stranger.ask("GET", "/v1/reviews?state=pending")["reviews"] == []
    assert [review["id"] for review in bob.reviews()] == [pending]
    bob.refused("DELETE", path, status=404, code="NOT_FOUND")
    bob.refused("PUT", path, {"text": "mine"}, status=404, code="NOT_FOUND")
    bob.approves(pending)
    bob.refused("GET", f"/v1/items/{ana.found(text)[0]}", status=404, code="NOT_FOUND")


def test_four_eyes(alone):
    """GOV-6.3: where two people must agree, one yes defers on, the same person's second changes nothing, and the second
    person's makes it memory; the first yes outlives a kill, and one no is a no."""
    world = alone()
    world.policy_set("eyes", kind="approval", approvals=2)
    ana, bot = world.pair()
    bob = world.reviewer(ana)
    text, pending = canonical(world, bot)
    assert ana.review(pending)["approvals_min"] == 2
    first = waiting(ana.decides(pending), "rev_")
    assert first["pending_id"] == pending and bot.texts() == []
    status, answer, _ = ana.decides(pending)
    assert (status, answer["code"]) == (409, "REVIEW_DECIDED"), answer
    world.restart()
    assert ana.review(pending)["approvals"] == [ana.user] and bot.texts() == []
    made = bob.approves(pending)
    assert ana.review(pending)["approvals"] == [ana.user, bob.user] and bot.texts() == [text]
    assert bot.provenance(made["id"])["human_approval_state"] == "approved"
    text, pending = canonical(world, bot)
    waiting(ana.decides(pending), "rev_")
    bob.rejects(pending)
    assert bot.review(pending)["state"] == "rejected" and text not in bot.texts()


def test_a_review_keeps_the_number_of_eyes_it_was_staged_with(alone):
    """GOV-6.3: a policy set later asks more of later writes; it lets no earlier one through with less."""
    world = alone()
    ana, bot = world.pair()
    world.reviewer(ana)
    world.policy_set("eyes", kind="approval", approvals=2)
    text, pending = canonical(world, bot)
    world.policy_set("eyes", kind="approval", approvals=1)
    waiting(ana.decides(pending), "rev_")
    ana.approves(canonical(world, bot)[1])


# Changed and taken back


def test_an_edit_is_a_new_review(strict):
    """GOV-6.4: an author changes a held write: a new review of the new content; the old one is withdrawn and cannot be
    approved."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    other = novel()
    body = {"text": other, "layer": "semantic", "evidence": [strict.said(other)]}
    edited = waiting(bot.call("PUT", f"/v1/reviews/{pending}", body), "rev_")["pending_id"]
    assert edited != pending
    status, answer, _ = ana.decides(pending)
    assert (status, answer["code"]) == (409, "REVIEW_DECIDED"), answer
    assert ana.review(pending)["state"] == "withdrawn" and ana.review(edited)["item"]["text"] == other
    assert [review["id"] for review in ana.reviews()] == [edited]
    ana.approves(edited)
    assert bot.texts() == [other]


def test_a_yes_does_not_carry_over_to_an_edit(alone):
    """GOV-6.3: what one of two people approved and the author then changed has no yes at all."""
    world = alone()
    world.policy_set("eyes", kind="approval", approvals=2)
    ana, bot = world.pair()
    bob = world.reviewer(ana)
    text, pending = canonical(world, bot)
    waiting(ana.decides(pending), "rev_")
    other = novel()
    body = {"text": other, "layer": "semantic", "evidence": [world.said(other)]}
    edited = waiting(bot.call("PUT", f"/v1/reviews/{pending}", body), "rev_")["pending_id"]
    assert ana.review(edited)["approvals"] == []
    waiting(bob.decides(edited), "rev_")
    ana.approves(edited)


@pytest.mark.parametrize("body", [{"text": ""}, {"text": "x", "layer": "deep"}, {"layer": "semantic"}])
def test_an_edit_that_cannot_be_read_changes_nothing(strict, body):
    """GOV-6.4: a held write is not lost because its next edit is malformed: 422, and the review still waits."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    status, answer, _ = bot.call("PUT", f"/v1/reviews/{pending}", body)
    assert (status, answer["code"]) == (422, "SCHEMA_INVALID"), answer
    assert ana.review(pending)["state"] == "pending"


def edit(author, pending, text, **fields):
    """An edit of a held write, however it ends."""
    return author.call("PUT", f"/v1/reviews/{pending}", {"text": text, "layer": "semantic", **fields})


def test_an_edit_that_a_gate_refuses_leaves_the_review(strict):
    """D3, GOV-6.4: what the gates refuse takes nothing away: the held write waits on as it was, the refused text is kept for
    its author, and the log has no entry of either."""
    ana, bot = strict.pair()
    known = novel()
    bot.approved(known, layer="semantic", evidence=[strict.said(known)])
    strict.clock.advance(days=1, seconds=1)
    text, pending = canonical(strict, bot)
    size = log_size(strict.server)
    unfounded, unlogged = novel(), novel()
    for other, more, expected in (
        (unfounded, {}, (422, "EVIDENCE_NOT_INDEPENDENT")),
        (known, {"evidence": [strict.said(known)]}, (409, "EXACT_DUPLICATE")),
        (unlogged, {"layer": "session", "ttl": "soon"}, (422, "SCHEMA_INVALID")),
    ):
        status, answer, _ = edit(bot, pending, other, **more)
        assert (status, answer["code"]) == expected, answer
        assert log_size(strict.server) == size and ana.review(pending)["state"] == "pending"
    status, answer, _ = edit(bot, pending, unlogged, layer="working")
    assert (status, answer["code"], answer["errors"][0]["path"]) == (422, "SCHEMA_INVALID", "/layer"), answer
    assert [review["id"] for review in ana.reviews()] == [pending]
    assert {kept["write"]["text"] for kept in bot.kept()} == {unlogged, known, unfounded}
    ana.approves(pending)
    assert sorted(bot.texts()) == sorted([known, text])


def test_an_edit_of_a_suspended_agent_leaves_the_review(alone):
    """D3, GOV-11.9: an agent that may not write may not edit, and loses nothing by trying."""
    world = alone()
    ana, bot = world.pair()
    text, pending = canonical(world, bot)
    world.chief.ask("POST", f"/v1/agents/{bot.agent}:suspend", {"reason": "looked at"})
    status, answer, _ = edit(bot, pending, novel())
    assert (status, answer["code"]) == (403, "WRITES_SUSPENDED"), answer
    ana.approves(pending)
    assert bot.texts() == [text]


def test_the_same_words_with_other_evidence_are_another_review(strict):
    """GOV-6.3: an edit need not change the text: the request id and the words may be those of the held write."""
    ana, bot = strict.pair()
    text, request = novel(), str(uuid.uuid4())
    pending = bot.held(text, layer="semantic", evidence=[strict.said(text)], request_id=request)["pending_id"]
    body = {"evidence": [strict.said(text), strict.said(text, source_type="document")], "request_id": request}
    edited = waiting(edit(bot, pending, text, **body), "rev_")["pending_id"]
    assert edited != pending and [review["id"] for review in ana.reviews()] == [edited]
    other = novel()
    again = waiting(edit(bot, edited, other, evidence=[strict.said(other)], request_id=request), "rev_")["pending_id"]
    assert [review["id"] for review in ana.reviews()] == [again]
    ana.approves(again)
    assert bot.texts() == [other]


def test_an_edit_into_what_is_known_ends_the_review(strict):
    """D3, GOV-1.8: what the author changes a held write into is memory already, or waits already: that is the answer, and the
    old review ends."""
    ana, bot = strict.pair()
    known, text = novel(), novel()
    made = bot.approved(known, layer="semantic", evidence=[strict.said(known)])
    pending = canonical(strict, bot)[1]
    status, answer, _ = edit(bot, pending, known, evidence=[strict.said(known)])
    assert (status, answer["status"], answer["id"]) == (200, "already_committed", made["id"]), answer
    assert ana.review(pending)["state"] == "withdrawn"
    other = bot.held(text, layer="semantic", evidence=[strict.said(text)])["pending_id"]
    pending = canonical(strict, bot)[1]
    assert waiting(edit(bot, pending, text, evidence=[strict.said(text)]), "rev_")["pending_id"] == other
    assert [review["id"] for review in ana.reviews()] == [other]


def test_an_edit_that_needs_nobody_commits_and_ends_the_review(strict):
    """GOV-6.4: a held write that becomes an episode is committed at once; the review ends in the same commit."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    size, other = log_size(strict.server), novel()
    status, answer, _ = edit(bot, pending, other, layer="episodic", evidence=[strict.said(other)])
    assert (status, answer["status"]) == (201, "committed"), answer
    assert log_size(strict.server) == size + 2 and ana.review(pending)["state"] == "withdrawn"
    assert bot.texts() == [other] and ana.reviews() == []


def test_an_edit_that_is_too_fast_waits_and_so_does_the_review(alone):
    """GOV-1.6, D3: an edit beyond the rate is put off; until its turn the old review waits, then it ends as the new one begins.
    One that a person decided on meanwhile stays decided, and the edit is kept as refused."""
    world = alone(writes_per_minute="[6000,3000,600,2,20]")
    ana, bot = world.pair()
    (_, first), (text, second) = canonical(world, bot), canonical(world, bot)
    changed = [novel(), novel()]
    for pending, other in zip((first, second), changed, strict=True):
        kept = [waiting(edit(bot, pending, other, evidence=[world.said(other)]), "def_")["pending_id"] for _ in range(2)]
        assert len(set(kept)) == 1 and ana.review(pending)["state"] == "pending"
    ana.approves(second)
    world.restart()
    world.clock.advance(minutes=5)
    eventually(lambda: [kept["state"] for kept in bot.kept()] == ["refused"])
    [kept] = bot.kept()
    assert (kept["code"], kept["write"]["text"]) == ("REVIEW_DECIDED", changed[1]) and bot.texts() == [text]
    assert ana.review(first)["state"] == "withdrawn"
    assert [review["item"]["text"] for review in ana.reviews()] == changed[:1]


def test_the_author_takes_a_held_write_back(strict):
    """GOV-6.3: withdrawn by the agent or the user whose write it is: nothing is memory, and nobody can approve it any more; taking
    it back twice is 409."""
    ana, bot = strict.pair()
    text, pending = canonical(strict, bot)
    for other in strict.pair()[0], strict.agent(ana):
        other.refused("DELETE", f"/v1/reviews/{pending}", status=404, code="NOT_FOUND")
    assert bot.ask("DELETE", f"/v1/reviews/{pending}") == {"status": "withdrawn", "id": pending}
    _, second = canonical(strict, bot)
    assert ana.ask("DELETE", f"/v1/reviews/{second}") == {"status": "withdrawn", "id": second}
    assert ana.decides(pending)[0] == 409 and ana.review(pending)["state"] == "withdrawn" and bot.texts() == []
    bot.refused("DELETE", f"/v1/reviews/{pending}", status=409, code="REVIEW_DECIDED")


# The gates run again


def test_an_approval_meets_the_gates_once_more(strict):
    """GOV-6.4, D1: a yes to what has meanwhile become a duplicate is 409, and makes no second item."""
    ana, bot = strict.pair()
    text = novel()
    body = {"text": text, "layer": "semantic", "evidence": [strict.said(text)]}
    base = canonical(strict, bot)
    path = f"/v1/items/{ana.approves(base[1])['id']}"
    one, two = bot.held(**body)["pending_id"], waiting(bot.call("PUT", path, body), "rev_")["pending_id"]
    assert one != two
    made = ana.approves(one)
    status, answer, _ = ana.decides(two)
    assert (status, answer["code"], answer["existing_ref"]) == (409, "EXACT_DUPLICATE", made["id"]), answer
    assert sorted(bot.texts()) == sorted([base[0], text])


def test_what_was_approved_supersedes_the_head_of_that_day(strict):
    """GOV-6.4: a supersession that waited is applied to the item as it stands when the yes comes; the version between is
    kept."""
    ana, bot = strict.pair()
    first = bot.supported(novel())
    late, between = novel(), novel()
    pending = bot.held(late, supersedes=first["id"], evidence=[strict.said(late)])["pending_id"]
    body = {"text": between, "evidence": [strict.said(between)]}
    second = bot.ask("PUT", f"/v1/items/{first['id']}", body, expect=201)
    made = ana.approves(pending)
    item = bot.get(first["id"])
    assert (item["text"], item["version"], item["parents"]) == (late, made["version"], [second["version"]])


def test_a_held_write_of_a_revoked_key_needs_its_author_no_more(strict):
    """GOV-6.4: a review is decided on what it says; whether its author's key still lives is not what the person judged."""
    ana = strict.person()
    name = f"agent-{novel(1)}"
    strict.chief.ask("POST", "/v1/agents", {"name": name}, expect=201)
    key = strict.chief.ask("POST", "/v1/keys", {"user": ana.name, "agent": name}, expect=201)
    bot = type(ana)(strict, key["key"], name, ana.user)
    text, pending = canonical(strict, bot)
    strict.chief.ask("DELETE", f"/v1/keys/{key['id']}")
    ana.approves(pending)
    assert ana.texts() == [text]


# The writer waits


@pytest.mark.parametrize("layer", ["procedural", "episodic"])
def test_silence_is_a_no(alone, layer):
    """GOV-6.5, D10: a contradiction of a procedure, or of what a person approved, suspends the writer for 300 s: then 504
    APPROVAL_TIMEOUT, the review timed out, nothing changed, the write kept for its author."""
    world = alone()
    ana, bot = world.pair()
    if layer == "episodic":
        known, text, call, review = opposed_episode(world, ana, bot)
    else:
        known, text, call, review = opposed(world, ana, bot)
    assert (review["hold"], review["state"]) == ("sync", "pending")
    assert review["deadline"] == rfc3339(world.clock.now + timedelta(seconds=300))
    assert call.is_alive()
    world.clock.advance(seconds=300)
    call.join(0.5)
    assert call.is_alive(), "300 s are not over before they are"
    world.clock.advance(seconds=1)
    refused = refusal(call.answer(), 504, "APPROVAL_TIMEOUT", "policy")
    assert ana.review(review["id"])["state"] == "timed_out"
    status, answer, _ = ana.decides(review["id"])
    assert (status, answer["code"]) == (409, "REVIEW_DECIDED"), "too late"
    assert bot.get(known["id"])["version"] == known["version"]
    assert bot.ask("GET", f"/v1/writes/{refused['refusal_id']}")["write"]["text"] == text


def opposed_episode(world, ana, bot):
    """As `opposed`, in episodic memory: first a contradiction that a person approves, then one of that."""
    thing = novel(1)
    one, two, three = (f"{thing} port is {port}" for port in (7070, 8080, 9090))
    bot.commits(one, confidence=0.1, evidence=[evidence(one, world.ago(), "tool_output")])
    known = bot.approved(two, confidence=0.2, evidence=[world.said(two)])
    call = Later(lambda: official_fact(world, bot, three))
    [review] = eventually(lambda: [one for one in ana.reviews() if one["item"]["text"] == three])
    return known, three, call, review


def test_a_yes_in_time_is_the_writers_answer(strict):
    """GOV-6.5: the waiting writer hears 201 with the item, which the new fact now heads; meanwhile the same write sent
    again is told what it waits for."""
    ana, bot = strict.pair()
    known, text, call, review = opposed(strict, ana, bot)
    body = {"layer": "procedural", "confidence": 0.9, "evidence": review["item"]["evidence"]}
    assert bot.held(text, **body)["pending_id"] == review["id"]
    made = ana.approves(review["id"])
    answer = committed(call.answer())
    assert (answer["id"], answer["version"]) == (made["id"], made["version"])
    assert bot.get(known["id"])["text"] == text


def test_a_no_in_time_is_the_writers_answer(strict):
    """GOV-6.5: the waiting writer hears 409 APPROVAL_REJECTED with the person's reason."""
    ana, bot = strict.pair()
    known, text, call, review = opposed(strict, ana, bot)
    ana.rejects(review["id"], reason="the old port it is")
    refused = refusal(call.answer(), 409, "APPROVAL_REJECTED", "policy")
    assert "the old port it is" in refused["message"]
    assert bot.get(known["id"])["version"] == known["version"]


def test_a_writer_waits_no_longer_than_its_deadline(alone):
    """GOV-6.5: the deadline of the request, if it is the earlier one."""
    world = alone()
    ana, bot = world.pair()
    thing = novel(1)
    one, two = f"{thing} port is 8080", f"{thing} port is 9090"
    bot.approved(one, layer="procedural", confidence=0.3, evidence=[world.said(one)])
    deadline = rfc3339(world.clock.now + timedelta(seconds=10))
    call = Later(lambda: official_fact(world, bot, two, layer="procedural", deadline=deadline))
    [review] = eventually(ana.reviews)
    assert review["deadline"] == deadline
    world.clock.advance(seconds=11)
    refusal(call.answer(), 504, "APPROVAL_TIMEOUT", "policy")


def test_a_waiting_write_survives_a_kill(alone):
    """GOV-6.5: the writer's connection dies with the server, its review does not: a person may still say yes in time."""
    world = alone()
    ana, bot = world.pair()
    known, text, call, review = opposed(world, ana, bot)
    world.restart()
    assert [one["id"] for one in ana.reviews()] == [review["id"]]
    made = ana.approves(review["id"])
    assert bot.get(known["id"])["text"] == text and made["id"] == known["id"]
    status, answer, _ = bot.call("POST", "/v1/items", review["item"])
    assert (status, answer["status"], answer["id"]) == (200, "already_committed", known["id"])


def test_a_waiting_write_times_out_over_a_kill(alone):
    """GOV-6.5: fail-closed: past the deadline nobody can approve it, whether the server ran meanwhile or not."""
    world = alone()
    ana, bot = world.pair()
    known, text, call, review = opposed(world, ana, bot)
    world.restart()
    world.clock.advance(seconds=301)
    assert ana.reviews() == [] and ana.review(review["id"])["state"] == "timed_out"
    status, answer, _ = ana.decides(review["id"])
    assert (status, answer["code"]) == (409, "REVIEW_DECIDED")
    assert bot.get(known["id"])["version"] == known["version"]


def test_waiting_writers_stop_nobody_else(strict):
    """GOV-6.5: while writers wait for a person, others write and read as ever."""
    ana, bot = strict.pair()
    waits = [opposed(strict, ana, strict.agent(ana)) for _ in range(8)]
    for _ in range(20):
        bot.supported(novel())
    for known, text, call, review in waits:
        ana.approves(review["id"])
        committed(call.answer())


def test_two_writers_may_wait_about_one_thing(strict):
    """GOV-6.5: a second claim about the same thing is shown to a person while the first one waits; of two, the person picks
    one."""
    ana, bot = strict.pair()
    known, text, call, review = opposed(strict, ana, bot)
    other = text.replace("9090", "7070")
    second = Later(lambda: official_fact(strict, strict.agent(ana), other, layer="procedural"))
    found = eventually(lambda: [one for one in ana.reviews() if one["item"]["text"] == other])
    ana.rejects(review["id"])
    assert call.answer()[0] == 409
    ana.approves(found[0]["id"])
    committed(second.answer())
    assert bot.get(known["id"])["text"] == other


# Kept, told, fed back


def test_the_queue_survives_a_kill(alone):
    """GOV-6.4: everything that waits is there after kill -9, the same to the last field, and so is everything decided."""
    world = alone()
    ana, bot = world.pair()
    ids = [canonical(world, bot, layer)[1] for layer in ("semantic", "procedural") * 5]
    ana.approves(ids[0])
    ana.rejects(ids[1], reason="no")
    bot.ask("DELETE", f"/v1/reviews/{ids[2]}")
    before = {state: ana.reviews(state) for state in ("pending", "approved", "rejected", "withdrawn")}
    assert [len(reviews) for reviews in before.values()] == [7, 1, 1, 1]
    for _ in range(2):
        world.restart()
        assert {state: ana.reviews(state) for state in before} == before
    for id in ids[3:]:
        ana.approves(id)
    assert ana.reviews() == []


def test_news_of_reviews_are_told_to_who_may_see_them(strict):
    """GOV-6.4, GOV-6.5: staged and decided writes are announced to their owner and reviewers as they happen, without a word
    of what they say; nobody else hears of them."""
    ana, bot = strict.pair()
    bob, eve = strict.reviewer(ana), strict.person()
    hears, stranger = [Events(ana), Events(bob)], Events(eve)
    text, one = canonical(strict, bot)
    _, two = canonical(strict, bot, "procedural")
    ana.approves(one)
    bob.rejects(two)
    for events in hears:
        eventually(lambda events=events: events.of(one) == ["staged", "approved"] and len(events.of(two)) == 2)
        assert events.of(two)[1] in ("rejected", "rejected_as_false")
        kind, staged = next(one for one in events.heard if one[1]["what"] == "staged")
        assert kind == "review"
        assert {"what", "review", "layer", "hold", "risk", "deadline"} <= set(staged)
        assert not any(word in str(events.heard) for word in text.split())
    _, own = canonical(strict, strict.agent(eve))
    eventually(lambda: stranger.of(own) == ["staged"])
    assert {data["review"] for _, data in stranger.heard} == {own}


def test_every_decision_is_on_the_trail(strict):
    """GOV-6.6: who decided what, and how it ended, refused attempts included."""
    ana, bot = strict.pair()
    _, one = canonical(strict, bot)
    _, two = canonical(strict, bot)
    ana.approves(one)
    ana.rejects(two)
    bot.decides(one)
    auditor = strict.person(role="auditor")
    rows = auditor.ask("GET", "/v1/audit?action=decide&limit=500")
    rows = [row for row in rows.get("rows", rows.get("entries", [])) if row["user"] == ana.user]
    found = {(row["outcome"], tuple(row["ids"])) for row in rows}
    assert any(outcome == "approved" and one in ids for outcome, ids in found), found
    assert any(outcome.startswith("rejected") and two in ids for outcome, ids in found), found
    assert any(row["outcome"] == "HUMAN_REQUIRED" and row["agent"] == bot.agent for row in rows), rows


def test_an_agent_hears_what_people_said_of_its_writes(strict):
    """GOV-6.7: decisions by layer and the rejections with their reasons, newest first; others hear nothing of them."""
    ana, bot = strict.pair()
    for layer in "semantic", "semantic", "procedural":
        ana.approves(canonical(strict, bot, layer)[1])
    texts = []
    for category in "FACTUAL_ERROR", "POLICY_VIOLATION":
        text, pending = canonical(strict, bot)
        texts.insert(0, (text, category.lower()))
        ana.rejects(pending, reason=category.lower(), category=category)
    for caller in bot, ana:
        feedback = caller.ask("GET", f"/v1/agents/{bot.name}/feedback")
        assert feedback["agent"] == bot.agent and feedback["reputation"] is None, "too few writes to tell"
        decided = {row["layer"]: (row["approved"], row["rejected"]) for row in feedback["decided"]}
        assert decided == {"episodic": (0, 0), "semantic": (2, 2), "procedural": (1, 0)}
        assert [(one["item"]["text"], one["reason"]) for one in feedback["rejections"]] == texts
        grounds = [one["decision"] for one in feedback["rejections"]]
        assert grounds == ["rejected_as_violation", "rejected_as_false"], "what to learn, and what to keep to"
    eve = strict.person()
    theirs = eve.ask("GET", f"/v1/agents/{bot.name}/feedback")
    assert theirs["rejections"] == [] and all(row["approved"] + row["rejected"] == 0 for row in theirs["decided"])
    eve.refused("GET", f"/v1/agents/{random_id('agt')}/feedback", status=404, code="NOT_FOUND")


def test_under_every_policy_canonical_memory_has_a_person(open, standard):
    """GOV-6.2, D10: semantic and procedural writes wait for a person under `open` and `standard` too."""
    for world in open, standard:
        ana, bot = world.pair()
        for layer in "semantic", "procedural":
            text, pending = canonical(world, bot, layer)
            made = ana.approves(pending)
            assert bot.get(made["id"])["text"] == text


def test_a_merge_that_waits_is_merged_when_approved(strict):
    """GOV-6.4, D8: a canonical write that adds a field to a known triple waits for a person like any other, and is then
    merged."""
    ana, bot = strict.pair()
    thing = novel(1)
    text = f"{thing} is red"
    body = {"text": text, "layer": "semantic", "triple": triple(thing, "colour", "red"), "evidence": [strict.said(text)]}
    first = bot.approved(**body)
    pending = bot.held(**body, fields={"shade": 3})["pending_id"]
    made = ana.approves(pending)
    assert (made["status"], made["id"]) == ("merged", first["id"])
    item = bot.get(first["id"])
    assert item["fields"] == {"shade": 3} and len(item["parents"]) == 2


def test_approvals_are_told_by_layer_and_topic(strict):
    """GOV-6.7: per agent, layer and topic: the subject of the triple however it is spelt, else the key, else the kind; the
    busiest first and twenty at most; a plain note has no topic, and what is hidden from a caller does not count."""
    ana, bot = strict.pair()
    thing, key = novel(1), novel(2)

    def decided(decide, layer="semantic", **fields):
        text = novel()
        decide(bot.held(text, layer=layer, evidence=[strict.said(text)], **fields)["pending_id"])

    about = {"subject": thing, "predicate": "note", "object": "x"}
    decided(ana.approves, triple={**about, "object": novel(1)}, key=key)
    decided(ana.rejects, triple={**about, "subject": thing.upper(), "object": novel(1)})
    decided(ana.rejects, triple={**about, "object": novel(1)})
    decided(ana.approves, key=f" {key} ")
    decided(ana.approves, layer="procedural", key=key)
    decided(ana.approves, kind="preference")
    decided(ana.approves)
    rows = bot.ask("GET", f"/v1/agents/{bot.name}/feedback")["topics"]
    told = [(row["layer"], row["topic"], row["approved"], row["rejected"]) for row in rows]
    assert told[0] == ("semantic", thing, 1, 2)
    expected = [("semantic", key, 1, 0), ("procedural", key, 1, 0), ("semantic", "preference", 1, 0)]
    assert sorted(told[1:]) == sorted(expected)
    assert strict.person().ask("GET", f"/v1/agents/{bot.name}/feedback")["topics"] == []
    for _ in range(21):
        decided(ana.rejects, key=novel(1))
    rows = bot.ask("GET", f"/v1/agents/{bot.name}/feedback")["topics"]
    assert len(rows) == 20 and (rows[0]["topic"], rows[0]["rejected"]) == (thing, 2)
