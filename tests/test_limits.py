"""Rates, budgets and what a refused line costs: batches and relations obey what single writes obey, through the built binary."""

import json
import time

import pytest

from callers import Caller, new_caller
from governed import committed, eventually, novel, refusal
from server import Server

BATCH = {"Content-Type": "application/x-ndjson"}


def raw_batch(caller, lines):
    """The results of a batch, line by line."""
    status, answer, _ = caller.call("POST", "/v1/items:batch", raw="".join(lines), headers=BATCH, timeout=300)
    assert status == 200, answer
    return [json.loads(line) for line in answer.splitlines()]


def test_batch_of_an_agent_obeys_its_rate(alone):
    """AM-7, GOV-1.9: of 1,500 lines of an agent's batch 600 commit in the minute, a hundred wait and commit by themselves, and each
    line beyond says when to come back; single writes and batches share the rate."""
    world = alone("standard")
    ana, bot = world.pair()
    lines = bot.batch({"text": novel()} for _ in range(1_500))
    statuses = [line["status"] for line in lines]
    assert statuses == ["committed"] * 600 + ["deferred"] * 100 + ["rejected"] * 800
    assert {line["code"] for line in lines[600:700]} == {"RATE_EXCEEDED"}
    assert all(line["pending_id"].startswith("def_") for line in lines[600:700])
    assert {line["code"] for line in lines[700:]} == {"DEFERRALS_FULL"}
    assert sum(1 for _ in bot.items()) == 600
    world.clock.advance(seconds=60)
    eventually(lambda: sum(1 for _ in bot.items()) == 700)
    assert bot.batch([{"text": novel()}])[0]["status"] == "committed"


def test_rate_is_counted_by_pair(alone):
    """AM-7: what an agent writes for one user leaves the rate of its other users alone."""
    world = alone("standard", writes_per_minute="[6000,3000,5,60,20]")
    ana, bot = world.pair()
    other = world.same_agent(bot, world.person())
    assert [line["status"] for line in bot.batch({"text": novel()} for _ in range(6))] == ["committed"] * 5 + ["deferred"]
    bot.put_off(novel())
    for _ in range(5):
        other.commits(novel())
    other.put_off(novel())


def test_relations_obey_the_rate(alone):
    """AM-7: relations written together count like single writes."""
    world = alone("standard", writes_per_minute="[6000,3000,5,60,20]")
    ana, bot = world.pair()
    ties = [{"subject": novel(1), "predicate": "knows", "object": novel(1)} for _ in range(8)]
    results = bot.ask("POST", "/v1/relations", {"relations": ties})["results"]
    assert [one["status"] for one in results] == ["committed"] * 5 + ["deferred"] * 3, results


def test_batch_obeys_the_budget(alone):
    """AM-7, GOV-11.1: lines of a session count towards its budget."""
    world = alone("standard", session_budget=10)
    ana, bot = world.pair()
    bodies = ({"text": novel(), "session_id": "s"} for _ in range(12))
    lines = bot.batch(bodies)
    assert [line["status"] for line in lines] == ["committed"] * 10 + ["rejected"] * 2, lines
    assert {line["code"] for line in lines[10:]} == {"WRITE_BUDGET_EXCEEDED"}


def test_working_memory_has_a_rate(alone):
    """AM-7: working memory is in no log, so that over its rate nothing can wait: the write is refused with the time when there is room.
    What is there already counts once; `allowance` tells of the rate as of any other."""
    world = alone("standard", writes_per_minute="[2,3000,600,60,20]")
    ana, bot = world.pair()
    text = novel()
    for words in text, text, novel():
        assert bot.send(words, layer="working")[0] in (200, 201)
    refused = bot.send(novel(), layer="working")
    refusal(refused, 429, "RATE_EXCEEDED", "preflight")
    assert int(refused[2]["retry-after"]) == 60 and bot.kept() == []
    assert committed(bot.send(novel()))
    world.clock.advance(seconds=60)
    assert bot.send(novel(), layer="working")[0] == 201
    shown = bot.ask("GET", "/v1/whoami")["limits"]["writes_per_minute"]
    assert {"layer": "working", "used": 1, "limit": 2} in shown, shown


def test_whoever_may_import_has_no_rate(alone):
    """AM-7: a person who holds the power `import`, as admins do, writes as much as there is; their agents do not, nor does a person
    without it."""
    world = alone("standard", writes_per_minute="[6000,3000,5,60,20]")
    assert {line["status"] for line in raw_batch(world.chief, [json.dumps({"text": novel()}) + "\n" for _ in range(20)])} == {"committed"}
    ana = world.person()
    assert [line["status"] for line in ana.batch({"text": novel()} for _ in range(7))] == ["committed"] * 5 + ["deferred"] * 2
    world.chief.ask("PUT", "/v1/roles/migrators", {"actions": ["import"]})
    ben = world.person()
    world.chief.ask("PUT", f"/v1/roles/migrators/members/{ben.user}", {})
    assert {line["status"] for line in ben.batch({"text": novel()} for _ in range(20))} == {"committed"}
    agent = world.agent(ben)
    assert [line["status"] for line in agent.batch({"text": novel()} for _ in range(7))] == ["committed"] * 5 + ["deferred"] * 2


def test_refused_lines_cost_little_more_than_good_ones(bin, tmp_path, say):
    """AM-7: 4,000 lines of `{}` are refused, kept and audited about as fast as 4,000 good lines are written."""
    with Server(bin, tmp_path / "data") as server:
        ana = new_caller(server)
        took = {}
        for name, lines in {
            "good": [json.dumps({"text": f"good line {number} {novel(2)}"}) + "\n" for number in range(4_000)],
            "refused": ["{}\n"] * 4_000,
        }.items():
            start = time.monotonic()
            results = raw_batch(ana, lines)
            took[name] = time.monotonic() - start
            expected = "committed" if name == "good" else "rejected"
            assert {line["status"] for line in results} == {expected}
        say(f"4,000 good lines took {took['good']:.2f} s, 4,000 refused ones {took['refused']:.2f} s")
        assert took["refused"] < max(3 * took["good"], 1.5), took
        kept = ana.ask("GET", "/v1/writes")["writes"]
        assert kept and all(one["code"] == "SCHEMA_INVALID" for one in kept)
        rows = server.call("GET", "/v1/audit?limit=500")[1]["rows"]
        assert sum(1 for row in rows if row["outcome"] == "SCHEMA_INVALID") >= 400


def test_refused_line_is_kept_before_it_is_answered(bin, tmp_path):
    """AM-7, D3: what was answered as refused, with an id, is there after a kill."""
    with Server(bin, tmp_path / "data") as server:
        ana = new_caller(server)
        results = raw_batch(ana, [json.dumps({"text": f"fine {number}", "confidence": 7}) + "\n" for number in range(300)])
        ids = {line["refusal_id"] for line in results}
        server.kill()
        server.start()
        kept = {one["id"] for one in Caller(server, ana.key).ask("GET", "/v1/writes")["writes"]}
        assert len(ids) == 300 and ids <= kept


# Declared resources


@pytest.mark.parametrize("transport", ["single", "batch"])
def test_empty_list_of_resources_says_none(shared_server, chief, transport):
    """AM-12, SHARE-10: `resources: []` of an agent whose word is taken says that it used none; only an absent field, or `null`,
    means all that it may use. An agent whose word is not taken may still have used all."""
    kb = f"kb-{novel(1)}"
    resource = chief.ask("POST", "/v1/resources", {"name": kb, "kind": "kb_search"}, expect=201)["id"]
    person = new_caller(shared_server)

    def pair(trusted):
        name = f"agent-{novel(1)}"
        chief.ask("POST", "/v1/agents", {"name": name, "trust_declared": trusted}, expect=201)
        agent = [row["id"] for row in chief.ask("GET", "/v1/agents")["agents"] if row["name"] == name][0]
        chief.call("POST", f"/v1/edges/ar/{agent}/{resource}", {})
        made = chief.ask("POST", "/v1/keys", {"user": person.name, "agent": name}, expect=201)
        return Caller(shared_server, made["key"])

    def carried(caller, **fields):
        body = {"text": novel(), **fields}
        if transport == "single":
            made = caller.ask("POST", "/v1/items", body, expect=201)
        else:
            [made] = raw_batch(caller, [json.dumps(body) + "\n"])
        return caller.get(made["id"])["resources"]

    trusted, plain = pair(True), pair(False)
    assert carried(trusted, resources=[]) == []
    assert carried(trusted) == carried(trusted, resources=None) == [resource]
    assert carried(trusted, resources=[kb]) == [resource]
    assert carried(plain, resources=[]) == [resource]
