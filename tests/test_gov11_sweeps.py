"""GOV-11.4, GOV-11.9: what was admitted is verified again; an agent keeps to what its task is."""

import pytest

from callers import log_size
from governed import evidence, eventually, novel, refusal
from grpc_caller import GrpcCaller
from test_cli import Cli

SWEEP = {"reverify_hours": 0}


def cites(world, item, text=None):
    """An item of memory as evidence."""
    return evidence(text, world.ago(), "memory_item", source_uri=item["id"], source_item_id=item["id"])


def resting_on(world, bot, item):
    """A new episode that rests on a person's words and on this item."""
    text = novel()
    return bot.commits(text, confidence=1.0, evidence=[world.said(text), cites(world, item, text)])


def sweep(world):
    """A round over everything, asked for by an admin: the sums, and all that it flags."""
    total, cursor = {}, None
    while True:
        found = world.chief.ask("POST", "/v1/items:reverify", {"cursor": cursor} if cursor else {})
        for name in "checked", "passed", "failed", "aged":
            total[name] = total.get(name, 0) + found[name]
        cursor = found["next"]
        if cursor is None:
            return total


def flags(caller):
    return {flag["id"]: flag["finding"] for flag in caller.ask("GET", "/v1/items:flagged")["flagged"]}


def reputation(bot):
    return bot.ask("GET", f"/v1/agents/{bot.name}/feedback")["reputation"]


# Sweeps


@pytest.mark.parametrize("policy", ["strict", "standard"])
@pytest.mark.parametrize("withdraw", ["retract", "quarantine"])
def test_what_rests_on_something_withdrawn_is_flagged(alone, policy, withdraw):
    """GOV-11.4, GOV-11.10: a source that was retracted or is in quarantine flags what rests on it, over however many steps,
    and takes nothing away; what does not rest on it is not flagged; release lifts the flags; all survives a restart."""
    world = alone(policy, **SWEEP)
    ana, bot = world.pair()
    source = bot.supported(novel(), confidence=1.0)
    near = resting_on(world, bot, source)
    far = resting_on(world, bot, near)
    other = bot.supported(novel())
    assert sweep(world) == {"checked": 4, "passed": 4, "failed": 0, "aged": 0} and flags(ana) == {}
    if withdraw == "retract":
        ana.ask("DELETE", f"/v1/items/{source['id']}?reason=wrong")
    else:
        ana.ask("POST", f"/v1/items/{source['id']}:quarantine", {"reason": "suspect"})
    assert sweep(world)["failed"] == 2
    expected = {near["id"]: "source_withdrawn", far["id"]: "source_withdrawn"}
    assert flags(ana) == expected == flags(bot)
    assert [ana.get(item["id"])["status"] for item in (near, far, other)] == ["active"] * 3
    size = log_size(world.server)
    sweep(world)
    assert log_size(world.server) == size, "the same finding is no news"
    world.restart()
    assert flags(ana) == expected
    if withdraw == "quarantine":
        ana.ask("POST", f"/v1/items/{source['id']}:release", {"reason": "it was right"})
        assert sweep(world)["failed"] == 0 and flags(ana) == {}


def test_what_does_not_stand_counts_against_its_writer(alone):
    """GOV-11.4, GOV-11.8, D17: failed re-verification counts as incorrect at once, passed as correct at once."""
    world = alone(**SWEEP)
    ana, bot = world.pair()
    source = world.agent(ana).supported(novel(), confidence=1.0)
    for _ in range(4):
        resting_on(world, bot, source)
    for _ in range(6):
        bot.supported(novel())
    assert reputation(bot) is None, "nothing is known yet"
    sweep(world)
    assert reputation(bot) == pytest.approx(1.0)
    ana.ask("DELETE", f"/v1/items/{source['id']}?reason=wrong")
    sweep(world)
    assert reputation(bot) == pytest.approx(0.6)
    bot.held(text := novel(), evidence=[world.said(text)])


def test_evidence_grows_old(alone):
    """GOV-11.4, GOV-2.4: .95 of fresh support carries an episode for 45 days and not for 46. Age flags and counts against
    nobody; fresh evidence lifts the flag."""
    world = alone(**SWEEP)
    ana, bot = world.pair()
    text = novel()
    item = bot.supported(text, ttl="P365D")
    for _ in range(9):
        bot.supported(novel(), ttl="P365D")
    world.clock.advance(days=45)
    assert sweep(world) == {"checked": 10, "passed": 10, "failed": 0, "aged": 0}
    world.clock.advance(days=1)
    assert sweep(world) == {"checked": 10, "passed": 0, "failed": 0, "aged": 10}
    assert flags(ana)[item["id"]] == "evidence_aged" and len(flags(ana)) == 10
    assert reputation(bot) == pytest.approx(1.0)
    renewed = {"text": text, "ttl": "P365D", "evidence": [world.said(text)]}
    status, answer, _ = bot.call("PUT", f"/v1/items/{item['id']}", renewed)
    assert status in (200, 201), answer
    assert item["id"] not in flags(ana)


def test_a_cited_item_that_says_something_else_now_bears_nothing_out(alone):
    """GOV-11.4: an item cited as evidence was changed and says the opposite: support_lost."""
    world = alone("standard", **SWEEP)
    ana, bot = world.pair()
    thing = novel(1)
    text = f"the gate {thing} is open"
    source = bot.supported(text, confidence=1.0)
    cited = evidence(None, world.ago(), "memory_item", source_uri=source["id"], source_item_id=source["id"])
    resting = bot.commits(f"{text} today", confidence=1.0, evidence=[cited, world.said(f"{text} today")])
    sweep(world)
    assert flags(ana) == {}
    changed = f"nothing is known of {novel(3)}"
    ana.ask("PUT", f"/v1/items/{source['id']}", {"text": changed, "evidence": [world.said(changed)]}, expect=201)
    sweep(world)
    assert flags(ana) == {resting["id"]: "support_lost"}


def test_what_was_said_later_and_as_well_flags_what_it_contradicts(alone):
    """GOV-11.4, GOV-2.7: under the open policy contradictions stand side by side; the sweep flags the earlier one if the
    later one is as well founded, and never for what somebody else wrote."""
    world = alone("open", **SWEEP)
    (ana, bot), (bob, spy) = world.pair(), world.pair()
    things = [novel(1) for _ in range(3)]
    first = [bot.supported(f"{thing} port is 8080") for thing in things]
    bot.supported(f"{things[0]} port is 9090")
    bot.commits(f"{things[1]} port is 9090", confidence=0.1)
    spy.supported(f"{things[2]} port is 9090")
    sweep(world)
    assert flags(ana) == {first[0]["id"]: "contradicted"} and flags(bob) == {}


def test_what_was_said_in_a_conversation_stays_said(alone):
    """GOV-11.4: two people may say opposite things; neither utterance is flagged."""
    world = alone("open", **SWEEP)
    ana, bot = world.pair()
    thing = novel(1)
    for value in 8080, 9090:
        bot.supported(f"{thing} port is {value}", fields={"speaker": f"p{value}"})
    sweep(world)
    assert flags(ana) == {}


def test_rounds_come_by_themselves(alone):
    """GOV-11.4: a round every reverify_hours, unaided; what stands leaves no entry."""
    world = alone(reverify_hours=2)
    ana, bot = world.pair()
    source = bot.supported(novel(), confidence=1.0)
    resting = resting_on(world, bot, source)
    size = log_size(world.server)
    world.clock.advance(minutes=10)
    metric = 'tabellion_memory_reverified_total{finding="borne_out"} 2'
    eventually(lambda: metric in world.chief.call("GET", "/metrics")[1])
    assert log_size(world.server) == size, "what was never in doubt leaves no entry"
    ana.ask("DELETE", f"/v1/items/{source['id']}?reason=wrong")
    world.clock.advance(hours=2)
    eventually(lambda: flags(ana) == {resting["id"]: "source_withdrawn"})


def test_only_admins_sweep_and_nobody_sees_the_flags_of_others(alone):
    """GOV-11.4, GOV-8.1: 403 for all others; a flag is seen by whoever sees the item."""
    world = alone(**SWEEP)
    (ana, bot), (bob, _) = world.pair(), world.pair()
    for caller in ana, bot:
        caller.refused("POST", "/v1/items:reverify", {}, status=403, code="FORBIDDEN")
    source = bot.supported(novel(), confidence=1.0)
    resting = resting_on(world, bot, source)
    ana.ask("DELETE", f"/v1/items/{source['id']}?reason=wrong")
    found = world.chief.ask("POST", "/v1/items:reverify", {})
    assert (found["failed"], found["flagged"], found["next"]) == (1, [], None), "the admin sees the number, not the item"
    assert list(flags(ana)) == [resting["id"]] and flags(bob) == {} == flags(world.chief)
    world.chief.refused("POST", "/v1/items:reverify", {"cursor": "x" * 48}, status=422, code="TOKEN_INVALID")


def test_the_command_line_sweeps_and_binds(alone, bin):
    """GOV-11.4, GOV-11.9, GOV-6.7: `reverify`, `flagged`, `policy set --kind bounds` and `agent feedback`, and gRPC."""
    world = alone(**SWEEP)
    ana, bot = world.pair()
    source = bot.supported(novel(), confidence=1.0)
    resting = resting_on(world, bot, source)
    ana.ask("DELETE", f"/v1/items/{source['id']}?reason=wrong")
    chief, person = (Cli(bin, world.server.url, caller.key) for caller in (world.chief, ana))
    assert "1 looked at: 0 stand, 1 do not, 0 need fresher evidence" in chief.out("reverify")
    assert chief.json("reverify")["failed"] == 1
    shown = person.out("flagged")
    assert resting["id"][:12] in shown and "source_withdrawn" in shown
    assert [one["id"] for one in person.json("flagged")["flagged"]] == [resting["id"]]
    with GrpcCaller(world.server, world.chief.key) as grpc:
        assert int(grpc.call("Reverify")["failed"]) == 1
    with GrpcCaller(world.server, ana.key) as grpc:
        assert grpc.call("ListFlagged")["flagged"] == ana.ask("GET", "/v1/items:flagged")["flagged"]
    chief.out("policy", "set", "bound", "--kind", "bounds", "--agent", bot.name, "--namespace", "ward", "--tag", "medical")
    text = novel()
    bot.turned_down(text, evidence=[world.said(text)], status=403, code="OUT_OF_BOUNDS", gate="policy")
    text = novel()
    fields = {"namespace": "ward", "tags": ["medical"], "key": "dose"}
    ana.rejects(bot.held(text, layer="semantic", evidence=[world.said(text)], **fields)["pending_id"])
    assert "dose (semantic)" in person.out("agent", "feedback", bot.name)


# Bounds


def bind(world, bot, **bounds):
    world.policy_set(f"bounds-{bot.name}", kind="bounds", agent=bot.name, **bounds)


@pytest.mark.parametrize("policy", ["strict", "standard", "open"])
def test_an_agent_writes_only_where_its_task_is(request, policy):
    """GOV-11.9, GOV-8.3: layers, namespaces and tags of the policy; anything else is 403 OUT_OF_BOUNDS at the policy gate,
    names every fault, under every policy; others are not bound, and an emptied policy frees the agent."""
    world = request.getfixturevalue(policy)
    ana, bot = world.pair()
    bind(world, bot, layers=["episodic", "working"], namespaces=["ward"], tags=["medical", "urgent"])
    inside = {"namespace": "ward", "tags": ["medical"]}
    bot.supported(novel(), **inside)
    bot.commits(novel(), layer="working", **inside)
    fault = {"status": 403, "code": "OUT_OF_BOUNDS", "gate": "policy"}
    for outside, paths in [
        ({"layer": "session"}, ["/layer"]), ({"namespace": "books"}, ["/namespace"]), ({"tags": []}, ["/tags"]),
        ({"tags": ["money", "medical"]}, ["/tags"]),
        ({"layer": "session", "namespace": "default"}, ["/layer", "/namespace"]),
    ]:  # fmt: skip
        text = novel()
        refused = bot.turned_down(text, evidence=[world.said(text)], **{**inside, **outside}, **fault)
        assert [one["path"] for one in refused["errors"]] == paths
    world.agent(ana).supported(novel(), namespace="books")
    ana.supported(novel(), namespace="books")
    bind(world, bot)
    bot.supported(novel(), namespace="books")


def test_a_bound_agent_moves_nothing_into_its_bounds(strict):
    """GOV-11.9: an update that would take an item of another namespace over is out of bounds as well."""
    ana, bot = strict.pair()
    item = ana.supported(novel(), namespace="books")
    bind(strict, bot, namespaces=["ward"])
    text = novel()
    body = {"text": text, "namespace": "ward", "evidence": [strict.said(text)]}
    refusal(bot.call("PUT", f"/v1/items/{item['id']}", body), 403, "OUT_OF_BOUNDS", "policy")


def test_bounds_are_checked_when_they_are_set(strict):
    """GOV-11.9: an unknown layer or agent is refused with its path."""
    ana, bot = strict.pair()
    for body, path in [
        ({"agent": "nobody"}, "/agent"), ({"agent": bot.name, "layers": ["deep"]}, "/layers"),
        ({"agent": bot.name, "tags": [""]}, "/tags"),
    ]:  # fmt: skip
        body = {"kind": "bounds", **body}
        refused = strict.chief.refused("PUT", "/v1/policies/b", body, status=422, code="SCHEMA_INVALID")
        assert [one["path"] for one in refused["errors"]] == [path]
