"""GOV-11: floods, invented facts, circles, poisoners: what the write path does about them."""

from datetime import timedelta

import pytest

from callers import log_size, rfc3339
from governed import Connection, committed, evidence, eventually, novel, refusal, triple

BUDGET = 2_000


def cites(world, item, text=None):
    """An item of memory as evidence."""
    return evidence(text, world.ago(), "memory_item", source_uri=item["id"], source_item_id=item["id"])


# Floods


def test_write_2001_of_a_session_is_refused(alone):
    """GOV-11.1: an executor's 2,000 writes of one session commit, the next is 429 WRITE_BUDGET_EXCEEDED and leaves nothing;
    a batch neither (AM-7); another session and another agent go on."""
    world = alone()
    ana, bot = world.pair()
    connection = Connection(bot)
    for number in range(BUDGET):
        if number % 600 == 599:
            world.clock.advance(seconds=60)
        text = novel()
        committed(connection.send({"text": text, "session_id": "s", "evidence": [world.said(text)]}))
    connection.close()
    world.clock.advance(seconds=60)
    text = novel()
    cited = [world.said(text)]
    fault = {"status": 429, "code": "WRITE_BUDGET_EXCEEDED", "gate": "preflight"}
    bot.turned_down(text, session_id="s", evidence=cited, **fault)
    world.restart()
    bot.turned_down(text, session_id="s", evidence=cited, **fault)
    [line] = bot.batch([{"text": text, "session_id": "s", "evidence": cited}])
    assert (line["status"], line["code"]) == ("rejected", "WRITE_BUDGET_EXCEEDED")
    bot.supported(novel(), session_id="another")
    bot.supported(novel())
    world.agent(ana).supported(novel(), session_id="s")


@pytest.mark.parametrize("policy", ["strict", "standard"])
def test_a_budget_counts_what_was_written(alone, policy):
    """GOV-11.1: refused writes and replays do not use up a session."""
    world = alone(policy, session_budget=3)
    ana, bot = world.pair()
    for _ in range(5):
        bot.send(novel(), session_id="s", confidence=2)
    texts = [novel() for _ in range(3)]
    for text in texts:
        bot.supported(text, session_id="s")
        assert bot.send(text, session_id="s", evidence=[world.said(text)])[0] == 200
    text = novel()
    fault = {"status": 429, "code": "WRITE_BUDGET_EXCEEDED", "gate": "preflight"}
    bot.turned_down(text, session_id="s", evidence=[world.said(text)], **fault)


# Invented facts


@pytest.mark.parametrize("layer, least", [("episodic", 0.3), ("semantic", 0.5), ("procedural", 0.7)])
def test_every_single_source_must_count_enough(strict, layer, least):
    """GOV-11.2: one source below alpha_min refuses the write, however good the others are; exactly alpha_min does not."""
    ana, bot = strict.pair()
    text = novel()
    good = [strict.said(text) for _ in range(31)]
    weak = strict.said(text, authority=least - 0.01)
    refused = bot.turned_down(
        text, layer=layer, evidence=[*good, weak], status=422, code="EVIDENCE_AUTHORITY_LOW", gate="factual"
    )
    assert [fault["path"] for fault in refused["errors"]] == ["/evidence/31"]
    status, answer, _ = bot.send(text, layer=layer, evidence=[*good, strict.said(text, authority=least)])
    assert status == (201 if layer == "episodic" else 202), answer


@pytest.mark.parametrize("layer", ["semantic", "procedural"])
def test_reasoning_is_no_evidence_for_canonical_memory(strict, standard, open, layer):
    """GOV-11.3: AGENT_REASONING among the evidence of a canonical write refuses it, under every policy."""
    for world in strict, standard, open:
        ana, bot = world.pair()
        text = novel()
        reasoned = evidence(text, world.ago(), "agent_reasoning")
        size = log_size(world.server)
        status, answer, _ = bot.send(text, layer=layer, evidence=[world.said(text), reasoned])
        assert status == 422 and answer["code"] in ("SELF_EVIDENCE", "EVIDENCE_AUTHORITY_LOW"), answer
        assert answer["errors"][0]["path"] == "/evidence/1" and log_size(world.server) == size


def test_canonical_memory_rests_on_more_than_the_writers_own_items(strict):
    """GOV-11.3, D17: evidence that is all the writer's own is refused."""
    ana, bot = strict.pair()
    text = novel(8)
    own = bot.approved(text, layer="semantic", confidence=1.0, evidence=[strict.said(text)])
    new = f"{text} {novel(1)}"
    status, answer, _ = bot.send(new, layer="semantic", evidence=[cites(strict, own)])
    assert status == 422 and answer["code"] == "SELF_EVIDENCE", answer


@pytest.mark.parametrize(
    "source_type, layer, passes",
    [
        ("document", "episodic", True), ("api_response", "episodic", True), ("human_input", "episodic", True),
        ("tool_output", "episodic", True), ("code_execution", "episodic", True), ("agent_reasoning", "episodic", False),
        ("tool_output", "semantic", False), ("code_execution", "semantic", False), ("document", "semantic", True),
    ],
)  # fmt: skip
def test_durable_memory_has_a_source_outside(strict, source_type, layer, passes):
    """GOV-11.6, D17: at least one document, service or person; for episodes a tool or a run will do; reasoning never
    does."""
    ana, bot = strict.pair()
    text = novel()
    status, answer, _ = bot.send(text, layer=layer, evidence=[evidence(text, strict.ago(), source_type)])
    if passes:
        assert status in (201, 202), answer
    else:
        assert status == 422 and answer["code"] == "EVIDENCE_NOT_INDEPENDENT", answer


def test_memory_alone_is_no_source_outside(strict):
    """GOV-11.6: an item that cites only items is refused."""
    ana, bot = strict.pair()
    text = novel()
    known = world_fact(strict, bot, text)
    bot.turned_down(
        f"{text} {novel(1)}", evidence=[cites(strict, known)], status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual"
    )


def world_fact(world, bot, text, **more):
    """An episode with the best evidence there is."""
    return bot.supported(text, confidence=1.0, **more)


def resting_on(world, bot, *items):
    """A new episode that rests on a person's words and on these items."""
    text = novel()
    cited = [cites(world, item, text) for item in items]
    return bot.commits(text, confidence=1.0, evidence=[world.said(text), *cited])


# Circles


@pytest.mark.parametrize("policy", ["strict", "standard"])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_restated_fact_cannot_rest_on_itself(request, policy, steps):
    """GOV-11.5, D17: A, then B that cites A; A restated by anyone on the word of B, over however many steps:
    CIRCULAR_EVIDENCE, even with a document beside it."""
    world = request.getfixturevalue(policy)
    ana, bot = world.pair()
    other = world.agent(ana)
    text = novel()
    last = world_fact(world, bot, text)
    for _ in range(steps):
        last = resting_on(world, other, last)
    refused = other.turned_down(
        text, evidence=[world.said(text), cites(world, last, text)], status=422, code="CIRCULAR_EVIDENCE", gate="factual"
    )
    assert refused["errors"][0]["path"] == "/evidence/1"


def test_a_restated_triple_closes_a_circle_too(strict):
    """GOV-11.5, D17: the same triple in other words is the same statement; so is the same text in another form."""
    ana, bot = strict.pair()
    thing = novel(1)
    first = world_fact(strict, bot, f"{thing} is red", triple=triple(thing, "colour", "red"))
    second = resting_on(strict, bot, first)
    words = novel()
    fault = {"status": 422, "code": "CIRCULAR_EVIDENCE", "gate": "factual"}
    said = triple(thing.upper(), "Colour", "RED")
    bot.turned_down(words, triple=said, evidence=[strict.said(words), cites(strict, second, words)], **fault)


def test_an_update_cannot_rest_on_what_rests_on_it(strict):
    """GOV-11.5: B cites A; a new version of A on the word of B is a circle."""
    ana, bot = strict.pair()
    first = world_fact(strict, bot, novel())
    second = resting_on(strict, bot, first)
    new = novel()
    size = log_size(strict.server)
    body = {"text": new, "evidence": [strict.said(new), cites(strict, second, new)]}
    refusal(bot.call("PUT", f"/v1/items/{first['id']}", body), 422, "CIRCULAR_EVIDENCE", "factual")
    assert log_size(strict.server) == size


def test_a_retracted_fact_does_not_come_back_on_its_own_word(strict):
    """GOV-11.5: B cites A, A is retracted; restating A on the word of B is still a circle."""
    ana, bot = strict.pair()
    text = novel()
    first = world_fact(strict, bot, text)
    second = resting_on(strict, bot, first)
    ana.ask("DELETE", f"/v1/items/{first['id']}?reason=wrong")
    bot.turned_down(
        text, evidence=[strict.said(text), cites(strict, second, text)], status=422, code="CIRCULAR_EVIDENCE", gate="factual"
    )


def test_citing_is_no_circle(strict):
    """GOV-11.5: many items may cite one, one may cite many, and diamonds are no circles."""
    ana, bot = strict.pair()
    root = world_fact(strict, bot, novel())
    resting_on(strict, bot, *(resting_on(strict, bot, root) for _ in range(2)))


# Reputation


@pytest.mark.parametrize("wrong, held", [(4, True), (3, False)])
@pytest.mark.parametrize("policy", ["strict", "standard"])
def test_an_agent_that_was_often_wrong_needs_a_person(alone, policy, wrong, held):
    """GOV-11.8, D10, D17, AM-6: 6 of 10 writes that stood: every write is staged; 7 of 10: not. A write counts once it stood
    unchallenged for seven days; one that a person refused as false counts at once. What is taken back counts neither way."""
    world = alone(policy)
    ana, bot = world.pair()
    made = [bot.supported(novel()) for _ in range(13 - wrong)]
    for item in made[:3]:
        ana.ask("DELETE", f"/v1/items/{item['id']}?reason=wrong")
    for _ in range(wrong):
        pending = bot.held(text := novel(), layer="semantic", evidence=[world.said(text)])["pending_id"]
        ana.rejects(pending, category="FACTUAL_ERROR")
    world.clock.advance(days=6, hours=23)
    bot.supported(novel())
    assert bot.ask("GET", f"/v1/agents/{bot.name}/feedback")["reputation"] is None
    world.clock.advance(hours=1)
    expected = (10 - wrong) / 10
    assert bot.ask("GET", f"/v1/agents/{bot.name}/feedback")["reputation"] == pytest.approx(expected)
    text = novel()
    status, answer, _ = bot.send(text, evidence=[world.said(text)])
    assert (status, answer["status"]) == ((202, "deferred") if held else (201, "committed")), answer
    if held:
        assert (answer["gate"], answer["code"]) == ("policy", "APPROVAL_REQUIRED")
        world.restart()
        bot.held(text := novel(), evidence=[world.said(text)])
        ana.supported(novel())
        world.agent(ana).supported(novel())


def test_a_no_for_falsehood_counts_against_an_agent_and_no_other_does(alone):
    """GOV-6.7, GOV-11.8, D17: FACTUAL_ERROR lowers a reputation, POLICY_VIOLATION and OTHER do not; an approved write
    counts as correct at once."""
    world = alone()
    ana, bot = world.pair()

    def decided(decide, **more):
        text = novel()
        decide(bot.held(text, layer="semantic", evidence=[world.said(text)])["pending_id"], **more)

    for _ in range(6):
        decided(ana.approves)
    for category in "POLICY_VIOLATION", "OTHER":
        for _ in range(4):
            decided(ana.rejects, category=category)
    reputation = lambda: bot.ask("GET", f"/v1/agents/{bot.name}/feedback")["reputation"]
    assert reputation() is None, "six writes tell nothing"
    for _ in range(4):
        decided(ana.rejects, category="FACTUAL_ERROR")
    assert reputation() == pytest.approx(0.6)
    bot.held(text := novel(), evidence=[world.said(text)])
    world.clock.advance(days=91)
    assert reputation() is None, "90 days count"
    bot.supported(novel())


# Suspension


@pytest.mark.parametrize("policy", ["strict", "standard", "open"])
def test_a_suspended_agent_writes_nothing(alone, policy):
    """GOV-11.9, GOV-1.1: suspended by an admin, an agent is 403 on every way to write, under every policy, over a restart,
    until resumed; reads go on and other agents write."""
    world = alone(policy)
    ana, bot = world.pair()
    first = bot.supported(novel())
    path = f"/v1/agents/{bot.name}:suspend"
    ana.refused("POST", path, {"reason": "x"}, status=403, code="FORBIDDEN")
    assert world.chief.ask("POST", path, {"reason": "odd writes"})["token"]
    world.restart()
    text = novel()
    cited = [world.said(text)]
    for layer in "episodic", "semantic", "session":
        bot.turned_down(text, layer=layer, evidence=cited, status=403, code="WRITES_SUSPENDED", gate="preflight")
    size = log_size(world.server)
    update = bot.call("PUT", f"/v1/items/{first['id']}", {"text": text, "evidence": cited})
    refusal(update, 403, "WRITES_SUSPENDED", "preflight")
    [line] = bot.batch([{"text": text, "evidence": cited}])
    assert (line["status"], line.get("code")) == ("rejected", "WRITES_SUSPENDED"), (policy, line)
    assert log_size(world.server) == size
    assert bot.get(first["id"]) and world.agent(ana).supported(novel())
    world.chief.ask("POST", f"/v1/agents/{bot.name}:resume", {"reason": "fine"})
    bot.supported(novel())


def test_what_a_suspended_agent_had_put_off_waits_for_its_return(alone):
    """GOV-11.9, AM-10: a put-off write of an agent that was suspended meanwhile is not committed when its turn comes; it waits on."""
    world = alone(writes_per_minute="[6000,3000,1,60,20]")
    ana, bot = world.pair()
    bot.supported(novel())
    text = novel()
    bot.put_off(text, evidence=[world.said(text)])
    world.chief.ask("POST", f"/v1/agents/{bot.name}:suspend", {"reason": "odd"})
    world.clock.advance(minutes=1)
    [kept] = eventually(lambda: [one for one in bot.kept() if one["code"] == "WRITES_SUSPENDED"])
    assert kept["state"] == "deferred" and text not in ana.texts()
    world.chief.ask("POST", f"/v1/agents/{bot.name}:resume", {"reason": "fine"})
    world.clock.advance(minutes=1)
    eventually(lambda: text in ana.texts())


# Quarantine


def test_quarantined_items_are_kept_and_not_found(strict):
    """GOV-11.10: no search, list or id leads to a quarantined item; its versions stay; what derives from it, over any
    number of steps, is named; release brings it back as it was."""
    ana, bot = strict.pair()
    text = novel()
    first = world_fact(strict, bot, text)
    chain, last = [], first
    for _ in range(3):
        last = resting_on(strict, bot, last)
        chain.append(last["id"])
    before = ana.get(first["id"])
    path = f"/v1/items/{first['id']}"
    done = ana.ask("POST", f"{path}:quarantine", {"reason": "smells"})
    assert (done["status"], done["id"], done["version"]) == ("quarantined", first["id"], first["version"])
    assert done["token"] and sorted(done["dependents"]) == sorted(chain)
    for caller in ana, bot:
        for mode in "hybrid", "lexical", "dense":
            assert first["id"] not in caller.found(text, mode=mode)
        caller.refused("GET", path, status=404, code="NOT_FOUND")
        assert text not in caller.texts()
    assert all(id in ana.found(ana.get(id)["text"]) for id in chain), "dependents are flagged, not hidden"
    assert first["version"] in ana.versions(first["id"])
    status, answer, _ = ana.call("POST", f"{path}:quarantine", {"reason": "again"})
    assert status == 409, answer
    done = ana.ask("POST", f"{path}:release", {"reason": "clean"})
    assert (done["status"], sorted(done["dependents"])) == ("released", sorted(chain))
    assert ana.found(text)[0] == first["id"]
    assert {**ana.get(first["id"]), "token": None} == {**before, "token": None}
    assert ana.call("POST", f"{path}:release", {})[0] == 409


def test_quarantine_outlives_a_kill(alone):
    """GOV-11.10: what is under quarantine stays there over kill -9."""
    world = alone()
    ana, bot = world.pair()
    text = novel()
    first = bot.supported(text)
    ana.ask("POST", f"/v1/items/{first['id']}:quarantine", {"reason": "odd"})
    world.restart()
    assert bot.found(text) == [] and bot.texts() == []
    ana.ask("POST", f"/v1/items/{first['id']}:release", {})
    world.restart()
    assert bot.found(text) == [first["id"]]


def test_nothing_rests_on_what_is_under_quarantine(strict):
    """GOV-11.10: a quarantined item is no evidence, and another user's item cannot be quarantined."""
    ana, bot = strict.pair()
    text = novel()
    first = world_fact(strict, bot, text)
    strict.person().refused("POST", f"/v1/items/{first['id']}:quarantine", {}, status=404, code="NOT_FOUND")
    ana.ask("POST", f"/v1/items/{first['id']}:quarantine", {"reason": "odd"})
    new = novel()
    status, answer, _ = bot.send(new, evidence=[strict.said(new), cites(strict, first, new)])
    assert status == 422 and answer["errors"][0]["path"].startswith("/evidence/1"), answer


# Reverting an agent


def test_an_agents_period_is_taken_back_with_what_came_of_it(alone):
    """GOV-11.9, GOV-11.10: all that an agent wrote in a period, and what others derived from it, is retracted; what it
    wrote before and after, and what rests on nothing of it, stays. A dry run names the same and does nothing."""
    world = alone()
    ana, bot = world.pair()
    other = world.agent(ana)
    before = bot.supported(novel())["id"]
    since = world.clock.advance(hours=1)
    texts = [novel() for _ in range(3)]
    written = [world_fact(world, bot, text) for text in texts]
    until = world.clock.advance(hours=1)
    after = bot.supported(novel())["id"]
    derived = resting_on(world, other, written[0])
    second = resting_on(world, other, derived)
    apart = other.supported(novel())["id"]
    expected = sorted(item["id"] for item in written), sorted([derived["id"], second["id"]])
    body = {"since": since, "until": until, "reason": "poisoned"}
    size = log_size(world.server)
    path = f"/v1/agents/{bot.name}:revert"
    plan = ana.ask("POST", path, {**body, "dry_run": True})
    assert (sorted(plan["written"]), sorted(plan["derived"]), plan["retracted"], plan["dry_run"]) == (*expected, 0, True)
    assert log_size(world.server) == size
    done = ana.ask("POST", path, body)
    assert (sorted(done["written"]), sorted(done["derived"]), done["retracted"], done["dry_run"]) == (*expected, 5, False)
    assert sorted(item["id"] for item in ana.items()) == sorted([before, after, apart])
    again = ana.ask("POST", path, body)
    assert (again["written"], again["derived"], again["retracted"]) == ([], [], 0)
    world.restart()
    assert sorted(item["id"] for item in ana.items()) == sorted([before, after, apart])


def test_reverting_reaches_no_further_than_one_may_see(strict):
    """GOV-11.10: whoever reverts an agent takes back what it wrote for them, nothing of what it wrote for others."""
    ana, bot = strict.pair()
    ben = strict.person()
    elsewhere = strict.same_agent(bot, ben)
    mine, theirs = bot.supported(novel())["id"], elsewhere.supported(novel())["id"]
    body = {"since": strict.ago(hours=1), "until": rfc3339(strict.clock.now + timedelta(hours=1)), "reason": "odd"}
    done = ana.ask("POST", f"/v1/agents/{bot.name}:revert", body)
    assert done["written"] == [mine] and done["retracted"] == 1
    assert ben.get(theirs)
