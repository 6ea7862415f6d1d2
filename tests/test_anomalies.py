"""Pairs of user and agent whose writes are unlike those before, through the built binary: what holds them, what does not, who is
told and how it ends; and what counts against an agent."""

from itertools import islice, permutations

import pytest

from callers import Caller, new_caller
from governed import Connection, Events, committed, eventually, novel, refusal, waiting

DAY = {"days": 1}
FOOD = ("ana", "orders", "soup", "noodles", "salad", "lunch", "dinner", "spicy", "fresh", "bread", "cheese", "rice")
INVOICES = ("invoice", "overdue", "payment", "ledger", "account", "bank", "tax", "audit", "reminder", "receipt")


def sentences(words, count, length=5):
    """Different sentences about the same thing."""
    return [" ".join(one) for one in islice(permutations(words, length), 0, count * 7, 7)]


class Writer:
    """An author's writes over one open connection."""

    def __init__(self, author):
        self.author, self.connection = author, Connection(author)

    def send(self, text, **fields):
        cited = [self.author.world.said(text)]
        return self.connection.send({"text": text, "evidence": cited, **fields})

    def commit_all(self, texts, **fields):
        for text in texts:
            committed(self.send(text, **fields))


def holds(world, agent):
    """What `agent list` says of the pairs of an agent that are held."""
    [row] = [row for row in world.chief.ask("GET", "/v1/agents")["agents"] if row["name"] == agent.name]
    return row.get("holds", [])


def go_astray(world, bot, writer, namespace="default"):
    """Writes of a hacked agent: after a hundred and more on its own topic, twenty on others, of which more than six speak against
    what its user knows. Returns the user's statements that they speak against."""
    owner = world.owner_of(bot)
    known = [novel(1) for _ in range(12)]
    for thing in known:
        owner.supported(f"{thing} port is 8080", namespace=namespace)
    for text in sentences(FOOD, 240):
        writer.send(text, namespace=namespace)
    for thing in known:
        writer.send(f"{thing} port is 9090", confidence=0.1, namespace=namespace, on_conflict="reject")
        writer.send(novel(), namespace=namespace)
    return known


# What holds nobody


def test_two_users_of_one_agent_may_speak_of_different_things(alone):
    """AM-5: 320 sentences about food by one user and 17 about invoices by another through one agent: nobody is held."""
    world = alone("standard")
    ana, bot = world.pair()
    ben = world.person()
    other = world.same_agent(bot, ben)
    Writer(bot).commit_all(sentences(FOOD, 320))
    world.clock.advance(minutes=5)
    Writer(other).commit_all(sentences(INVOICES, 17))
    assert holds(world, bot) == []
    committed(bot.send(novel()))


@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_another_topic_alone_holds_nobody(alone, policy):
    """AM-5: one user's agent that turns from food to invoices does one unusual thing, and two are needed."""
    world = alone(policy)
    ana, bot = world.pair()
    writer = Writer(bot)
    writer.commit_all(sentences(FOOD, 320))
    world.clock.advance(minutes=5)
    writer.commit_all(sentences(INVOICES, 40))
    assert holds(world, bot) == []


def test_first_use_of_a_layer_holds_nobody(alone):
    """AM-5: 320 episodic writes and then 20 of the layer session: nobody is held. Nor by the first writes of a namespace."""
    world = alone("standard")
    ana, bot = world.pair()
    writer = Writer(bot)
    writer.commit_all(sentences(FOOD, 320))
    writer.commit_all(sentences(INVOICES, 20), layer="session")
    writer.commit_all(sentences(INVOICES, 19), namespace="bills")
    assert holds(world, bot) == []


def test_numbered_log_lines_hold_nobody(alone):
    """AM-5: nine numbered log lines are no flood of contradictions, whatever the gates make of each."""
    world = alone("standard")
    ana, bot = world.pair()
    for number in range(1, 10):
        bot.send(f"Line {number} of the build log: step {number} took {number * 3} seconds")
    assert holds(world, bot) == []
    committed(bot.send(novel()))


def test_a_burst_alone_holds_nobody(alone):
    """AM-5: far more writes in a minute than ever before, about the same things as ever, hold nobody."""
    world = alone("standard")
    ana, bot = world.pair()
    writer, texts = Writer(bot), sentences(FOOD, 500)
    for _ in range(12):
        writer.commit_all([texts.pop() for _ in range(5)])
        world.clock.advance(minutes=1)
    writer.commit_all(texts[:340])
    assert holds(world, bot) == []


def test_open_holds_nobody(alone):
    """AM-5: under `open` nothing is watched."""
    world = alone("open")
    ana, bot = world.pair()
    go_astray(world, bot, Writer(bot))
    assert holds(world, bot) == []
    committed(bot.send(novel()))


# What holds a pair


def test_hacked_agent_is_held_for_review(alone):
    """AM-5, GOV-11.7: an agent that floods statements off its topic and against what is known is held: each further write of that
    pair waits for a person and none is lost; its other users, other agents and people are not concerned."""
    world = alone("standard")
    ana, bot = world.pair()
    ben = world.person()
    other = world.same_agent(bot, ben)
    events = Events(ana)
    go_astray(world, bot, Writer(bot))
    [hold] = holds(world, bot)
    assert hold["user"]["name"] == ana.name and hold["action"] == "held", hold
    assert hold["reason"] == "topic shift and contradictions", hold
    assert hold["since"] < hold["until"]
    text = novel()
    held = bot.held(text)
    assert (held["gate"], held["code"]) == ("policy", "ANOMALY") and "topic shift" in held["message"], held
    review = ana.review(held["pending_id"])
    assert (review["state"], review["reason"], review["item"]["text"]) == ("pending", "anomaly", text), review
    for layer in "session", "semantic":
        other_text = novel()
        assert bot.held(other_text, layer=layer, evidence=[world.said(other_text)])["code"] == "ANOMALY"
    [line] = bot.batch([{"text": novel()}])
    assert (line["status"], line["code"]) == ("deferred", "ANOMALY"), line
    committed(other.send(novel()))
    committed(ana.send(novel()))
    committed(world.agent(ana).send(novel()))
    ana.approves(held["pending_id"])
    assert text in ana.texts()
    notice = eventually(lambda: [data for event, data in events.heard if event == "pair"])[0]
    assert (notice["what"], notice["user"], notice["agent"]) == ("held", ana.user, bot.agent), notice
    metrics = world.server.call("GET", "/metrics", key="")[1]
    assert "tabellion_pairs_held 1" in metrics and 'reason="topic shift and contradictions"' in metrics


def test_hold_survives_a_restart_and_ends_by_itself(alone):
    """AM-5: a hold is an entry of the log; it ends after a day without anybody's doing, and what was held is still to be decided."""
    world = alone("standard")
    ana, bot = world.pair()
    go_astray(world, bot, Writer(bot))
    bot.held(novel())
    world.restart()
    [hold] = holds(world, bot)
    bot.held(novel())
    world.clock.advance(hours=23)
    bot.held(novel())
    world.clock.advance(hours=2)
    assert holds(world, bot) == []
    committed(bot.send(novel()))
    assert len(ana.reviews()) >= 3
    world.restart()
    assert holds(world, bot) == []


def quarrel(world, count=8):
    """Two pairs that share, of which the first has shared where some people live: the pairs, and the names."""
    (ana, bot), (ben, liar) = world.pair(), world.pair()
    for user in ana, ben:
        world.policy_set(f"share-{user.name}", kind="write_shared", scope={"user": user.name}, share="on")
        for agent in bot.agent, liar.agent:
            world.chief.call("PUT", f"/v1/edges/ua/{user.name}/{agent}", {})
    names = [novel(1).capitalize() for _ in range(count)]
    for name in names:
        committed(bot.send(f"{name} lives in Berlin.", tier="shared"))
    return bot, liar, names


def test_contradicting_what_others_share_by_the_handful_holds_a_pair(alone):
    """AM-5: four of twenty writes against another user's shared facts are refused and no more; with the fifth the pair is held. The
    same about one's own facts is what facts do."""
    world = alone("standard")
    bot, liar, names = quarrel(world, 6)
    for name in names:
        committed(bot.send(f"{name} lives in Paris.", tier="shared", on_conflict="supersede"))
    assert holds(world, bot) == [], "one's own facts change"
    refused = {"status": 409, "code": "CONTRADICTION", "gate": "contradiction"}
    for name in names[:4]:
        liar.turned_down(f"{name} lives in Rome.", tier="shared", **refused)
    committed(liar.send(novel()))
    assert holds(world, liar) == []
    refusal(liar.send(f"{names[4]} lives in Rome.", tier="shared"), *refused.values())
    [hold] = holds(world, liar)
    assert hold["reason"] == "contradictions and many of them against what others share", hold
    assert liar.held(novel())["code"] == "ANOMALY"


@pytest.mark.parametrize("fields", [{"tier": "private", "on_conflict": "keep_both"}, {}])
def test_private_notes_against_what_others_share_hold_nobody(alone, fields):
    """AM-5: what a pair keeps to itself crowds nobody out: eight private notes against what others share, the first writes of their
    namespace, are no two signs."""
    world = alone("standard")
    _, liar, names = quarrel(world)
    for name in names:
        assert "shared_id" not in liar.commits(f"{name} lives in Rome.", **fields)
    assert holds(world, liar) == []
    liar.commits(novel())


@pytest.mark.parametrize("wish", ["supersede", "review", "keep_both"])
def test_contradictions_that_wait_for_a_person_count(alone, wish):
    """AM-5: a write against what others share speaks against it whatever it asks for: the fifth that is held for review holds the pair."""
    world = alone("standard")
    _, liar, names = quarrel(world)
    for name in names[:5]:
        assert liar.held(f"{name} lives in Rome.", tier="shared", on_conflict=wish)["code"] == "CONTRADICTION"
    [hold] = holds(world, liar)
    assert hold["reason"] == "contradictions and many of them against what others share", hold


@pytest.mark.parametrize("wish", ["supersede", "reject"])
def test_contradictions_are_known_after_a_restart(alone, wish):
    """AM-5: four writes against what others share, held or refused, and four more after a restart hold the pair; what was looked at
    counts no more, after a restart neither."""
    world = alone("standard")
    _, liar, names = quarrel(world, 9)

    def lie(name):
        liar.send(f"{name} lives in Rome.", tier="shared", on_conflict=wish)

    for name in names[:4]:
        lie(name)
    assert holds(world, liar) == []
    world.restart()
    for name in names[4:8]:
        lie(name)
    [hold] = holds(world, liar)
    assert hold["reason"] == "contradictions and many of them against what others share", hold
    world.clock.advance(minutes=1)
    world.chief.ask("POST", f"/v1/agents/{liar.name}:resume", {"reason": "looked at it"})
    world.restart()
    lie(names[8])
    assert holds(world, liar) == []


@pytest.mark.parametrize("by", ["admin", "admin for the user", "owner"])
def test_person_ends_a_hold(alone, by):
    """AM-5: `agent resume` ends it, by an admin for every user and by a person for themselves; nobody else may."""
    world = alone("standard")
    ana, bot = world.pair()
    go_astray(world, bot, Writer(bot))
    path = f"/v1/agents/{bot.name}:resume"
    stranger = world.person()
    for caller in stranger, bot:
        caller.refused("POST", path, {"reason": "x"}, status=403, code="FORBIDDEN")
    bot.held(novel())
    events = Events(ana)
    if by == "admin for the user":
        world.chief.ask("POST", path, {"reason": "not that one", "user": stranger.name})
        bot.held(novel())
        world.chief.refused("POST", path, {"reason": "x", "user": "nobody"}, status=404, code="NOT_FOUND")
    more = {"user": ana.name} if by == "admin for the user" else {}
    (ana if by == "owner" else world.chief).ask("POST", path, {"reason": "looked at it", **more})
    assert holds(world, bot) == []
    committed(bot.send(novel()))
    notice = eventually(lambda: [data for event, data in events.heard if event == "pair"])[0]
    assert notice["what"] == "resumed", notice
    for _ in range(30):
        committed(bot.send(novel()))
    assert holds(world, bot) == [], "what was looked at is not held against it again"


def test_strict_suspends_the_pair(alone):
    """AM-5, GOV-11.9: under `strict` the pair is suspended, not the agent: its other user goes on."""
    world = alone("strict")
    ana, bot = world.pair()
    other = world.same_agent(bot, world.person())
    go_astray(world, bot, Writer(bot))
    [hold] = holds(world, bot)
    assert (hold["action"], hold["user"]["name"]) == ("suspended", ana.name), hold
    text = novel()
    answer = refusal(bot.send(text, evidence=[world.said(text)]), 403, "WRITES_SUSPENDED", "preflight")
    assert "topic shift" in answer["message"] and f"agent resume {bot.name}" in answer["message"], answer
    other.supported(novel())
    world.restart()
    refusal(bot.send(text, evidence=[world.said(text)]), 403, "WRITES_SUSPENDED", "preflight")
    world.clock.advance(days=1, minutes=1)
    bot.supported(novel())


def test_habits_are_known_after_a_restart(alone):
    """AM-5: what a pair usually writes is counted again from the log, so a restart makes no stranger of it. A write that takes the
    place of a known statement unasked speaks against it, too."""
    world = alone("standard")
    ana, bot = world.pair()
    known = [novel(1) for _ in range(12)]
    for thing in known:
        ana.supported(f"{thing} port is 8080")
    Writer(bot).commit_all(sentences(FOOD, 240))
    world.restart()
    writer = Writer(bot)
    for thing in known:
        writer.send(f"{thing} port is 9090", confidence=0.1)
        writer.send(novel())
    assert [hold["reason"] for hold in holds(world, bot)] == ["topic shift and contradictions"]


def test_burst_against_what_is_known_is_held(alone):
    """AM-5, GOV-11.9: after twelve minutes at a pace, hundreds of lines in one minute of which many speak against what is known are
    held; a batch counts like single writes, and layers count alike."""
    world = alone("standard")
    ana, bot = world.pair()
    known = [novel(1) for _ in range(12)]
    for thing in known:
        ana.supported(f"{thing} port is 8080")
    writer, texts = Writer(bot), sentences(FOOD, 500)
    for _ in range(12):
        writer.commit_all([texts.pop() for _ in range(5)])
        world.clock.advance(minutes=1)
    bodies = [{"text": texts.pop()} for _ in range(150)] + [{"text": texts.pop(), "layer": "session"} for _ in range(160)]
    for thing in known:
        bodies += [{"text": f"{thing} port is 9090", "confidence": 0.1}, {"text": texts.pop()}]
    bot.batch(bodies)
    [hold] = holds(world, bot)
    assert hold["reason"].startswith("burst and ") and hold["reason"].endswith("contradictions"), hold
    waiting(bot.send(novel()), "rev_")


# What counts against an agent


def reputation(caller, agent):
    return caller.ask("GET", f"/v1/agents/{agent.name}/feedback")["reputation"]


@pytest.mark.parametrize("tidy", ["retract", "rollback", "update", "by the person"])
def test_tidying_up_counts_against_nobody(alone, tidy):
    """AM-6: who takes back, rolls back or updates what is their own says nothing of whether it was true."""
    world = alone("standard")
    ana, bot = world.pair()
    made = [bot.supported(novel()) for _ in range(20)]
    world.clock.advance(days=7)
    assert reputation(ana, bot) == pytest.approx(1.0)
    for item in made[:8]:
        path = f"/v1/items/{item['id']}"
        if tidy == "retract":
            bot.ask("DELETE", f"{path}?reason=wrong")
        elif tidy == "by the person":
            ana.ask("DELETE", f"{path}?reason=done")
        else:
            text = novel()
            status, answer, _ = bot.call("PUT", path, {"text": text, "evidence": [world.said(text)]})
            assert status == 201, answer
        if tidy == "rollback":
            bot.ask("POST", f"{path}:rollback", {"reason": "not so"})
    assert reputation(ana, bot) == pytest.approx(1.0)
    bot.supported(novel())


def test_reported_failures_count(alone):
    """AM-6, D17: what another agent of the user reports of a search it used counts: as correct where it went well, as incorrect where
    it did not; the agent's own word does not."""
    world = alone("standard")
    ana, bot = world.pair()
    reader = world.agent(ana)
    made = [(text, bot.supported(text)["id"]) for text in (novel() for _ in range(10))]

    def report(caller, text, item, success):
        found = caller.ask("POST", "/v1/search", {"query": text})
        caller.ask("POST", "/v1/outcomes", {"search": found["search"], "used": [item], "success": success})

    for text, item in made:
        report(bot, text, item, False)
    assert reputation(ana, bot) is None, "an agent's own word"
    for place, (text, item) in enumerate(made):
        report(reader, text, item, place >= 4)
    assert reputation(ana, bot) == pytest.approx(0.6)
    waiting(bot.send(text := novel(), evidence=[world.said(text)]), "rev_")


def test_no_of_a_reviewer_counts(alone):
    """AM-6, GOV-11.8: a person who refuses writes as false makes an agent need a person for every write."""
    world = alone("standard")
    ana, bot = world.pair()
    for number in range(10):
        text = novel()
        pending = bot.held(text, layer="semantic", evidence=[world.said(text)])["pending_id"]
        if number < 4:
            ana.rejects(pending, category="FACTUAL_ERROR")
        else:
            ana.approves(pending)
    assert reputation(ana, bot) == pytest.approx(0.6)
    waiting(bot.send(text := novel(), evidence=[world.said(text)]), "rev_")


def test_fresh_caller_is_no_anomaly(standard):
    """AM-5: somebody new is like nobody and unlike nobody."""
    made = new_caller(standard.server)
    Caller(standard.server, made.key).write(novel())


def test_user_ends_no_hold_that_concerns_others(alone):
    """AM-5: who was held for what they say against what others share does not lift that themself: the refusal names who does, and a
    reviewer of that user does."""
    world = alone("standard")
    _, liar, names = quarrel(world, 6)
    for name in names:
        liar.send(f"{name} lives in Rome.", tier="shared")
    [hold] = holds(world, liar)
    user, path = world.owner_of(liar), f"/v1/agents/{liar.name}:resume"
    for body in {"reason": "mine"}, {"reason": "mine", "user": user.name}:
        answer = user.refused("POST", path, body, status=403, code="FORBIDDEN")
        assert all(word in answer["message"] for word in ("moderator", "admin", "reviewer", hold["until"])), answer
    assert holds(world, liar)
    reviewer = world.reviewer(user)
    reviewer.refused("POST", path, {"reason": "for all"}, status=403, code="FORBIDDEN")
    reviewer.ask("POST", path, {"reason": "looked at it", "user": user.name})
    assert holds(world, liar) == []


def test_user_ends_no_hold_on_what_the_pair_told_others(alone):
    """AM-5: nor one whose signs would be about private memory, had the pair not written for others in the day before."""
    world = alone("standard")
    ana, bot = world.pair()
    world.policy_set("share", kind="write_shared", scope={"user": ana.name}, share="on")
    writer = Writer(bot)
    bot.commits(novel(), tier="shared")
    go_astray(world, bot, writer)
    assert holds(world, bot)
    ana.refused("POST", f"/v1/agents/{bot.name}:resume", {"reason": "mine"}, status=403, code="FORBIDDEN")
