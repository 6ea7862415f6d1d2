"""GOV-1: the gated write path. What is refused, put off or held, what becomes of it, and that nothing is lost or doubled.

TABELLION_SOAK=1 takes 200 kills in place of 12, and 10,000 concurrent writes in place of 3,000.
"""

import http.client
import json
import os
import random
import threading
import uuid
from collections import Counter
from datetime import timedelta

import pytest

from callers import in_parallel, log_size, random_id, rfc3339
from crash import verify_all
from governed import Connection, committed, eventually, novel, refusal, triple, waiting
from server import exchange

SOAK = os.environ.get("TABELLION_SOAK") == "1"
KILLS = 200 if SOAK else 12
PARALLEL = 50
DAY_30 = timedelta(days=29, hours=23, minutes=59, seconds=59)
POLICIES = ["strict", "standard", "open"]


@pytest.fixture(params=POLICIES)
def any_policy(request):
    """Each policy in turn, as a shared server."""
    return request.getfixturevalue(request.param)


# The same write


def test_the_same_write_twice_is_one(any_policy):
    """GOV-1.7, GOV-1.8: a replay is answered with what the first one wrote, under every policy; one entry."""
    ana, bot = any_policy.pair()
    text = novel()
    size = log_size(any_policy.server)
    first = bot.supported(text)
    body = {"text": text, "evidence": [any_policy.said(text)]}
    again = bot.ask("POST", "/v1/items", body, expect=200)
    assert (again["status"], again["id"], again["version"]) == ("already_committed", first["id"], first["version"])
    assert log_size(any_policy.server) == size + 1


def test_the_same_write_fifty_times_at_once_is_one(any_policy):
    """GOV-1.7, GOV-1.8: fifty in parallel leave one entry and hear of one item."""
    ana, bot = any_policy.pair()
    text = novel()
    body = {"text": text, "evidence": [any_policy.said(text)]}
    size = log_size(any_policy.server)
    answers = in_parallel(PARALLEL, lambda _: bot.call("POST", "/v1/items", body))
    assert sorted(status for status, _, _ in answers) == [200] * (PARALLEL - 1) + [201]
    assert len({(answer["id"], answer["version"]) for _, answer, _ in answers}) == 1
    assert log_size(any_policy.server) == size + 1


def test_the_same_held_write_fifty_times_at_once_is_one(strict):
    """GOV-1.8, D5: what waits for a person waits once: fifty in parallel get the same pending id and leave one entry."""
    ana, bot = strict.pair()
    text = novel()
    body = {"text": text, "layer": "semantic", "evidence": [strict.said(text)]}
    size = log_size(strict.server)
    answers = in_parallel(PARALLEL, lambda _: bot.call("POST", "/v1/items", body))
    pending = {waiting(answer, "rev_")["pending_id"] for answer in answers}
    assert len(pending) == 1 and log_size(strict.server) == size + 1
    assert [review["id"] for review in ana.reviews()] == list(pending)
    ana.approves(pending.pop())
    status, again, _ = bot.call("POST", "/v1/items", body)
    assert (status, again["status"]) == (200, "already_committed")


@pytest.mark.parametrize("same", ["meaning", "triple"])
def test_of_writes_that_say_the_same_at_once_one_commits(strict, same):
    """GOV-1.1, GOV-3.3, GOV-3.4: admission is a transaction: twins that arrive together do not slip past each other."""
    ana, bot = strict.pair()
    for _ in range(5):
        thing = novel(1)
        spellings = [f"{the} {thing} {isnt} on{end}" for the in ("The", "the") for isnt in ("isn't", "is not") for end in ("", ".", "!")]
        more = {} if same == "meaning" else {"triple": triple(thing, "state", "off")}

        def send(number, spellings=spellings, more=more):
            text = spellings[number]
            return bot.send(text, evidence=[strict.said(text)], **more)

        answers = in_parallel(10, send)
        statuses = sorted(status for status, _, _ in answers)
        assert statuses == [201] + [409] * 9, [answer for _, answer, _ in answers]


def test_of_writes_that_contradict_each_other_at_once_one_commits(strict):
    """GOV-1.1, GOV-2.8: contradicting claims of the same strength that arrive together: one is memory, the others are
    refused."""
    ana = strict.person()
    bots = [strict.agent(ana) for _ in range(10)]
    for _ in range(5):
        thing = novel(1)

        def send(number, thing=thing):
            text = f"{thing} port is {8000 + number}"
            return bots[number].send(text, evidence=[strict.said(text)])

        answers = in_parallel(len(bots), send)
        statuses = sorted(status for status, _, _ in answers)
        assert statuses == [201] + [409] * 9, [answer for _, answer, _ in answers]


def test_after_a_day_the_same_write_is_a_duplicate(alone):
    """GOV-1.7, GOV-3.2, D5: within 24 hours a replay, from then on the content is known and is told so."""
    world = alone()
    ana, bot = world.pair()
    text = novel()
    first = bot.supported(text)
    world.clock.advance(hours=23, minutes=59, seconds=59)
    status, again, _ = bot.send(text, evidence=[world.said(text)])
    assert (status, again["status"]) == (200, "already_committed")
    world.clock.advance(seconds=1)
    known = bot.turned_down(text, evidence=[world.said(text)], status=409, code="EXACT_DUPLICATE", gate="dedup")
    assert known["existing_ref"] == first["id"]


def test_a_request_id_belongs_to_one_content_while_it_waits(strict):
    """D4: the request id of a held write is taken, as that of a committed one is."""
    ana, bot = strict.pair()
    text, request_id = novel(), str(uuid.uuid4())
    held = {"text": text, "layer": "semantic", "evidence": [strict.said(text)], "request_id": request_id}
    pending = bot.held(**held)
    other = novel()
    size = log_size(strict.server)
    answer = bot.send(other, evidence=[strict.said(other)], request_id=request_id)
    refusal(answer, 409, "REQUEST_ID_REUSED", "preflight")
    assert log_size(strict.server) == size
    assert bot.held(**held)["pending_id"] == pending["pending_id"]


# Deadlines


def test_past_its_deadline_nothing_is_written(any_policy):
    """GOV-1.7: 504 and no entry, whatever the policy; a moment earlier it commits."""
    ana, bot = any_policy.pair()
    text = novel()
    late, early = any_policy.ago(microseconds=1), rfc3339(any_policy.clock.now + timedelta(seconds=1))
    cited = [any_policy.said(text)]
    bot.turned_down(text, evidence=cited, deadline=late, status=504, code="DEADLINE_EXCEEDED", gate="preflight")
    assert bot.texts() == []
    bot.commits(text, evidence=cited, deadline=early)


# Rates


def test_the_601st_write_of_a_minute_waits_and_commits_unaided(alone):
    """GOV-1.9, GOV-1.6: 600 episodic writes a minute; the next is answered 202 and is there a minute later, by itself."""
    world = alone()
    ana, bot = world.pair()
    fill(bot, 600)
    text = novel()
    size = log_size(world.server)
    status, answer, headers = bot.send(text, evidence=[world.said(text)])
    answer = waiting((status, answer, headers), "def_")
    assert (answer["gate"], answer["code"]) == ("preflight", "RATE_EXCEEDED")
    assert answer["retry_after"] == "PT60S" and headers["retry-after"] == "60"
    assert log_size(world.server) == size and not holding(bot, text), "not memory yet"
    [kept] = bot.kept()
    assert (kept["id"], kept["state"], kept["write"]["text"]) == (answer["pending_id"], "deferred", text)
    assert kept["due"] == rfc3339(world.clock.now + timedelta(seconds=60))
    again = bot.put_off(text, evidence=[world.said(text)])
    assert again["pending_id"] == answer["pending_id"] and len(bot.kept()) == 1
    world.clock.advance(seconds=59)
    assert not holding(bot, text)
    world.clock.advance(seconds=1)
    [id] = eventually(lambda: holding(bot, text))
    assert bot.get(id)["text"] == text and eventually(lambda: not bot.kept())
    status, replay, _ = bot.send(text, evidence=[world.said(text)])
    assert (status, replay["status"], replay["id"]) == (200, "already_committed", id)
    assert log_size(world.server) == size + 1


def holding(caller, text):
    """The ids of what a search finds that says exactly this."""
    return [one["id"] for one in caller.search(text) if one["text"] == text]


def fill(caller, count):
    """So many writes, each of its own, all of which must commit."""
    connection = Connection(caller)
    for _ in range(count):
        text = novel()
        committed(connection.send({"text": text, "evidence": [caller.world.said(text)]}))
    connection.close()


def test_a_rate_is_of_one_agent_in_one_layer(alone):
    """GOV-1.9: who writes elsewhere, or is someone else, has a rate of their own."""
    world = alone()
    ana, bot = world.pair()
    other = world.agent(ana)
    fill(bot, 600)
    bot.put_off(text := novel(), evidence=[world.said(text)])
    other.supported(novel())
    assert bot.send(novel(), layer="session")[0] == 201
    assert bot.send(novel(), layer="working")[0] == 201
    text = novel()
    assert bot.held(text, layer="semantic", evidence=[world.said(text)])["code"] == "APPROVAL_REQUIRED"


@pytest.mark.parametrize("layer, limit", [("semantic", 60), ("procedural", 20)])
def test_canonical_layers_have_lower_rates(alone, layer, limit):
    """GOV-1.9: 60 semantic and 20 procedural writes a minute; one more waits its turn, and then for a person."""
    world = alone()
    ana, bot = world.pair()
    for _ in range(limit):
        text = novel()
        bot.held(text, layer=layer, evidence=[world.said(text)])
    text = novel()
    put_off = bot.put_off(text, layer=layer, evidence=[world.said(text)])
    assert put_off["code"] == "RATE_EXCEEDED" and len(ana.reviews()) == limit
    world.clock.advance(seconds=60)
    eventually(lambda: len(ana.reviews()) == limit + 1)
    assert eventually(lambda: not bot.kept())
    assert bot.held(text, layer=layer, evidence=[world.said(text)])["pending_id"].startswith("rev_")


def test_a_hundred_writes_wait_and_no_more(alone):
    """D1: 100 put-off writes an agent, then 429 with a time to come back; nothing of the hundred is lost."""
    world = alone()
    ana, bot = world.pair()
    fill(bot, 600)
    texts = [novel() for _ in range(100)]
    ids = {bot.put_off(text, evidence=[world.said(text)])["pending_id"] for text in texts}
    assert len(ids) == 100
    text = novel()
    status, answer, headers = bot.send(text, evidence=[world.said(text)])
    refusal((status, answer, headers), 429, "DEFERRALS_FULL", "preflight")
    assert int(headers["retry-after"]) == 60
    world.clock.advance(seconds=60)
    eventually(lambda: sum(1 for _ in bot.items()) == 700)
    assert set(texts) <= set(bot.texts())


def test_an_import_of_an_admin_has_no_rate(alone):
    """GOV-1.9, AM-7: a batch of a person who may import runs without a rate; tests/test_limits.py has those who may not."""
    world = alone()
    texts = [novel() for _ in range(700)]
    body = "".join(json.dumps({"text": text, "evidence": [world.said(text)]}) + "\n" for text in texts)
    headers = {"Content-Type": "application/x-ndjson"}
    status, answer, _ = world.chief.call("POST", "/v1/items:batch", raw=body, headers=headers, timeout=120)
    assert status == 200 and [json.loads(line)["status"] for line in answer.splitlines()] == ["committed"] * 700


def test_the_same_put_off_write_many_times_at_once_waits_once(alone):
    """D5: what waits for its turn waits once: in parallel, too, there is one pending id."""
    world = alone(writes_per_minute="[6000,3000,1,60,20]")
    ana, bot = world.pair()
    bot.supported(novel())
    text = novel()
    answers = in_parallel(PARALLEL, lambda _: bot.send(text, evidence=[world.said(text)]))
    pending = {waiting(answer, "def_")["pending_id"] for answer in answers}
    assert len(pending) == 1 and [kept["id"] for kept in bot.kept()] == list(pending)


def test_a_put_off_write_past_its_deadline_is_refused(alone):
    """GOV-1.6, GOV-1.7: whose deadline passes while it waits is refused when its turn comes, and kept for its author."""
    world = alone(writes_per_minute="[6000,3000,1,60,20]")
    ana, bot = world.pair()
    bot.supported(novel())
    text, deadline = novel(), rfc3339(world.clock.now + timedelta(seconds=30))
    bot.put_off(text, evidence=[world.said(text)], deadline=deadline)
    world.clock.advance(minutes=1)
    [kept] = eventually(lambda: [one for one in bot.kept() if one["state"] == "refused"])
    assert (kept["code"], kept["write"]["text"]) == ("DEADLINE_EXCEEDED", text) and text not in bot.texts()


def test_a_put_off_write_that_needs_a_person_holds_up_no_other(alone):
    """GOV-1.6, GOV-6.5: nobody waits behind a put-off write whose turn comes and which then has to wait for a person."""
    world = alone(writes_per_minute="[6000,3000,600,60,2]")
    (ana, bot), (ben, other) = world.pair(), world.pair()
    thing = novel(1)
    known, against = f"{thing} port is 8080", f"{thing} port is 9090"
    bot.approved(known, layer="procedural", confidence=0.3, evidence=[world.said(known)])
    for caller in bot, other, other:
        text = novel()
        caller.held(text, layer="procedural", evidence=[world.said(text)])
    bot.put_off(against, layer="procedural", confidence=0.9, evidence=[world.said(against)])
    world.clock.advance(seconds=1)
    text = novel()
    other.put_off(text, layer="procedural", evidence=[world.said(text)])
    world.clock.advance(seconds=60)
    eventually(lambda: [review for review in ana.reviews() if review["item"]["text"] == against])
    eventually(lambda: [review for review in ben.reviews() if review["item"]["text"] == text])


def test_preflight_comes_before_the_gates(alone):
    """D1: over its rate an agent learns nothing of the memory, not even that it repeats itself; the gates speak when the
    write has its turn, and the refusal is kept."""
    world = alone()
    ana, bot = world.pair()
    text = novel()
    first = bot.supported(text)
    world.clock.advance(days=1)
    fill(bot, 600)
    pending = bot.put_off(text, evidence=[world.said(text)])
    world.clock.advance(seconds=60)
    kept = eventually(lambda: [one for one in bot.kept() if one["state"] == "refused"])
    assert (kept[0]["code"], kept[0]["gate"], kept[0]["write"]["text"]) == ("EXACT_DUPLICATE", "dedup", text)
    assert bot.ask("GET", f"/v1/writes/{pending['pending_id']}")["state"] == "refused", "by the id that was given"
    assert ana.texts().count(text) == 1 and ana.get(first["id"])["text"] == text


def test_a_write_waits_until_it_has_its_turn(alone):
    """GOV-1.6, AM-10: with room for one a minute, seven wait, and each has its turn; no try without room counts."""
    world = alone(writes_per_minute="[6000,3000,1,60,20]")
    ana, bot = world.pair()
    bot.supported(novel())
    texts = [novel() for _ in range(7)]
    for text in texts:
        bot.put_off(text, evidence=[world.said(text)])
    for minute in range(1, 8):
        world.clock.advance(minutes=1)
        eventually(lambda minute=minute: sum(1 for _ in bot.items()) == 1 + minute)
        assert all((one["state"], one["attempts"]) == ("deferred", 0) for one in bot.kept())
    assert set(texts) < set(bot.texts())
    eventually(lambda: bot.kept() == [])


# What cannot be read


@pytest.mark.parametrize(
    "field, value, path",
    [
        ("confidence", 1.2, "/confidence"),
        ("confidence", -0.1, "/confidence"),
        ("layer", "eternal", "/layer"),
        ("write_policy", "lenient", "/write_policy"),
        ("ttl", "a while", "/ttl"),
        ("evidence", [{"source_uri": "x", "accessed_at": "2050-01-01T00:00:00Z"}], "/evidence/0/source_type"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_with_its_path(any_policy, field, value, path):
    """GOV-1.4, GOV-2.2: confidence 1.2, an unknown layer or policy: 422, the path, what would pass, no entry."""
    ana, bot = any_policy.pair()
    refused = bot.turned_down(novel(), **{field: value}, status=422, code="SCHEMA_INVALID", gate="schema")
    assert [fault["path"] for fault in refused["errors"]] == [path]


def test_cut_json_is_refused(strict):
    """GOV-1.1: half a body is 400 and no entry; nothing of it is kept."""
    ana, bot = strict.pair()
    size = log_size(strict.server)
    for raw in '{"text": "half a', '{"text": "a"', "[]", '"text"', '{"text": "a"} {}', "\xff":
        status, answer, _ = bot.call("POST", "/v1/items", raw=raw.encode("latin-1"))
        assert status in (400, 422) and answer["code"] in ("MALFORMED", "SCHEMA_INVALID"), (raw, answer)
    assert log_size(strict.server) == size and bot.kept() == []


# Policies


def test_a_write_may_ask_for_more_never_for_less(standard):
    """GOV-1.4: a stricter policy is taken, a laxer one is 403 with the path; no entry."""
    ana, bot = standard.pair()
    text = novel()
    fault = {"status": 403, "code": "POLICY_TOO_LAX", "gate": "preflight"}
    lax = bot.turned_down(text, write_policy="open", **fault)
    assert lax["errors"][0]["path"] == "/write_policy"
    code = "EVIDENCE_NOT_INDEPENDENT"
    bot.turned_down(text, write_policy="strict", status=422, code=code, gate="factual")
    bot.commits(text, write_policy="standard")


def test_a_tenant_sets_its_policy(alone):
    """GOV-1.4: the policy of a tenant takes the place of the server's, everywhere or in one namespace; only an admin sets
    it, admins and auditors read it, and it outlives a restart."""
    world = alone("open")
    ana, bot = world.pair()
    bot.commits(novel())
    strictness = {"kind": "write_path", "strictness": "strict"}
    bot.refused("PUT", "/v1/policies/write", strictness, status=403, code="FORBIDDEN")
    bot.refused("GET", "/v1/policies", status=403, code="FORBIDDEN")
    world.policy_set("town", kind="write_path", strictness="standard", namespace="town")
    world.policy_set("write", **strictness)
    auditor = world.person(role="auditor")
    policies = {policy["id"]: policy for policy in auditor.ask("GET", "/v1/policies")["policies"]}
    assert policies["write"] == {"id": "write", **strictness}
    assert policies["town"]["namespace"] == "town"
    for _ in range(2):
        bot.turned_down(novel(), status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
        bot.commits(novel(), namespace="town")
        world.restart()


@pytest.mark.parametrize(
    "body",
    [
        {}, {"kind": "write_path"}, {"kind": "write_path", "strictness": "lenient"}, {"kind": "unheard_of"},
        {"kind": "approval", "approvals": 0}, {"kind": "approval", "approvals": 11},
        {"kind": "official_sources", "prefixes": [""]}, {"kind": "reviewer", "reviewer": "nobody", "user": "nobody"},
        {"kind": "write_path", "strictness": "open", "more": 1},
    ],
)  # fmt: skip
def test_what_is_no_policy_is_refused(strict, body):
    """GOV-1.4: a policy that cannot be meant is 422 and changes nothing."""
    size = log_size(strict.server)
    status, answer, _ = strict.chief.call("PUT", "/v1/policies/odd", body)
    assert (status, answer["code"]) == (422, "SCHEMA_INVALID") and log_size(strict.server) == size, answer


def test_every_layer_asks_what_its_row_says(strict):
    """GOV-1.4, GOV-1.2: working memory is free, a session takes anything well formed, episodic memory asks for evidence,
    semantic and procedural memory for a person too; each lives as long as its row says."""
    ana, bot = strict.pair()
    for layer, lives in ("working", {"minutes": 15}), ("session", {"hours": 8}):
        made = bot.commits(novel(), layer=layer)
        assert bot.get(made["id"])["expires_at"] == rfc3339(strict.clock.now + timedelta(**lives))
        bot.turned_down(novel(), layer=layer, confidence=7, status=422, code="SCHEMA_INVALID", gate="schema")
    for layer in "episodic", "semantic", "procedural":
        bot.turned_down(novel(), layer=layer, status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
    made = bot.supported(novel())
    assert bot.get(made["id"])["expires_at"] == rfc3339(strict.clock.now + timedelta(days=90))
    for layer in "semantic", "procedural":
        text = novel()
        made = bot.approved(text, layer=layer, evidence=[strict.said(text)])
        assert bot.get(made["id"])["expires_at"] is None


def test_a_procedure_passes_its_own_tests(any_policy):
    """GOV-1.4, D13: a procedure carries one test or more, all of which hold for its very content, under every policy;
    without them, or with one that fails, it is 422 TESTS_FAILED with the path. Other layers need none."""
    ana, bot = any_policy.pair()
    text = novel()
    body = {"layer": "procedural", "fields": {"steps": ["a", "b"]}, "evidence": [any_policy.said(text)]}
    holds = {"name": "has steps", "expect": {"properties": {"fields": {"required": ["steps"]}}}}
    fails = {"name": "has an owner", "expect": {"properties": {"fields": {"required": ["owner"]}}}}
    fault = {"status": 422, "code": "TESTS_FAILED", "gate": "schema"}
    for tests, path in ([], "/tests"), ([holds, fails], "/tests/1"), ([{"name": "none"}], "/tests/0/expect"):
        refused = bot.turned_down(text, **body, tests=tests, **fault)
        assert [one["path"] for one in refused["errors"]] == [path]
    made = bot.approved(text, **body, tests=[holds])
    assert bot.get(made["id"])["layer"] == "procedural"
    path = f"/v1/items/{made['id']}"
    size = log_size(any_policy.server)
    status, answer, _ = bot.call("PUT", path, {"text": text, **body, "fields": {}, "tests": [holds]})
    assert (status, answer["code"]) == (422, "TESTS_FAILED") and log_size(any_policy.server) == size, answer


def test_no_route_goes_around_the_gates(strict):
    """GOV-1.1: an update, a supersession, a batch and a reopened write meet the same gates as a plain write."""
    ana, bot = strict.pair()
    first = bot.supported(novel())
    code, path = "EVIDENCE_NOT_INDEPENDENT", f"/v1/items/{first['id']}"
    size = log_size(strict.server)
    refusal(bot.call("PUT", path, {"text": novel()}), 422, code, "factual")
    bot.turned_down(novel(), supersedes=first["id"], status=422, code=code, gate="factual")
    [line] = bot.batch([{"text": novel()}])
    assert (line["status"], line["code"], line["gate"]) == ("rejected", code, "factual")
    for kept in bot.kept():
        refusal(bot.call("POST", f"/v1/writes/{kept['id']}:reopen"), 422, code, "factual")
    assert log_size(strict.server) == size


def test_a_batch_says_line_by_line_what_became_of_it(strict):
    """GOV-1.6: committed, already committed, merged, deferred and rejected stand side by side; none stops another."""
    ana, bot = strict.pair()
    plain, canonical, weak, thing = novel(), novel(), novel(), novel(1)
    said = triple(thing, "colour", "red")
    lines = [
        {"text": plain, "evidence": [strict.said(plain)]},
        {"text": plain, "evidence": [strict.said(plain)]},
        {"text": canonical, "layer": "semantic", "evidence": [strict.said(canonical)]},
        {"text": weak},
        {"text": f"{thing} is red", "triple": said, "evidence": [strict.said(f"{thing} is red")]},
        {"text": f"{thing} is red", "triple": said, "fields": {"shade": 3}, "evidence": [strict.said(f"{thing} is red")]},
    ]
    results = bot.batch(lines)
    statuses = [line["status"] for line in results]
    assert statuses == ["committed", "already_committed", "deferred", "rejected", "committed", "merged"]
    assert results[2]["pending_id"] == ana.reviews()[0]["id"] and not results[2].get("id")
    assert results[4]["id"] == results[5]["id"]


@pytest.mark.parametrize("policy", ["standard", "open"])
def test_a_batch_is_committed_in_its_order(policy, request):
    """A conversation that is imported is remembered in the order in which it was held, whichever lines wait or are refused."""
    world = request.getfixturevalue(policy)
    ana, bot = world.pair()
    said = [novel() for _ in range(400)]
    lines = [{"text": text, "fields": {"speaker": "ana"}} if place % 7 else {"text": ""} for place, text in enumerate(said)]
    results = bot.batch(lines)
    assert [line["status"] for line in results] == ["committed" if place % 7 else "rejected" for place in range(400)]
    written = [line["id"] for line in results if line["status"] == "committed"]
    assert [item["id"] for item in ana.items()] == written


# Strictness beside strict


def test_standard_takes_an_episode_without_evidence_and_trusts_it_less(standard):
    """GOV-2.5, GOV-4.4: low trust rather than lost: without evidence an episode is inferred, counts little, and ranks below
    the same words with evidence. Canonical layers ask as much as under strict."""
    ana, bot = standard.pair()
    subject = novel(3)
    bare = bot.commits(f"{subject} {novel(1)}")
    text = f"{subject} {novel(1)}"
    backed = bot.supported(text)
    record = bot.provenance(bare["id"])
    assert (record["evidence_quality"], record["fact_score"]) == ("inferred", 0)
    assert record["adjusted_confidence"] == pytest.approx(0.15 * 0.5)
    assert bot.found(subject) == [backed["id"], bare["id"]]
    for layer in "semantic", "procedural":
        bot.turned_down(novel(), layer=layer, status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
        text = novel()
        assert bot.held(text, layer=layer, evidence=[standard.said(text)])["code"] == "APPROVAL_REQUIRED"


def test_open_takes_what_one_person_says_and_shows_what_speaks_against_it(open):
    """GOV-2.8: under `open` an episode passes schema and deduplication; a contradiction is shown to who reads either side,
    not held. Canonical layers still ask a person."""
    ana, bot = open.pair()
    thing = novel(1)
    first = bot.commits(f"{thing} port is 8080")
    assert "contradictions" not in bot.get(first["id"])
    second = bot.commits(f"{thing} port is 9090")
    assert {first["id"], second["id"]} <= set(bot.found(thing))
    for one, other in (first, second), (second, first):
        [against] = bot.get(one["id"])["contradictions"]
        assert (against["id"], against["version"], against["method"]) == (other["id"], other["version"], "number")
    status, known, _ = bot.call("PUT", f"/v1/items/{second['id']}", {"text": f"{thing} port is 8080"})
    assert (status, known["code"], known["existing_ref"]) == (409, "EXACT_DUPLICATE", first["id"])
    text = novel()
    assert bot.held(text, layer="semantic", evidence=[open.said(text)])["code"] == "APPROVAL_REQUIRED"


# What is refused is kept


def test_a_refused_write_is_kept_for_its_author_alone(strict):
    """GOV-1.6, D3: it leaves no entry; its author reads it back with gate, code and reason, and nobody else does: neither
    the person whose memory it was meant for, nor another agent of theirs, nor another user, nor the admin."""
    ana, bot = strict.pair()
    body = {"text": novel(), "key": "topic", "fields": {"a": [1, {"b": None}]}, "tags": ["x"], "confidence": 0.7}
    refused = bot.turned_down(**body, status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
    assert refused["errors"][0]["path"] == "/evidence"
    path = f"/v1/writes/{refused['refusal_id']}"
    kept = bot.ask("GET", path)
    assert (kept["id"], kept["state"], kept["write"]) == (refused["refusal_id"], "refused", body)
    assert (kept["gate"], kept["code"], kept["message"]) == (refused["gate"], refused["code"], refused["message"])
    assert kept["created_at"] == strict.clock.text
    assert kept["expires_at"] == rfc3339(strict.clock.now + timedelta(days=30))
    assert bot.kept() == [kept]
    others = [ana, strict.agent(ana), strict.person(), strict.same_agent(bot, strict.person())]
    for other in others:
        other.refused("GET", path, status=404, code="NOT_FOUND")
        other.refused("POST", f"{path}:reopen", status=404, code="NOT_FOUND")
        assert other.kept() == []
    strict.chief.refused("GET", path, status=404, code="NOT_FOUND")
    bot.refused("GET", f"/v1/writes/{random_id('ref')}", status=404, code="NOT_FOUND")


def test_a_refused_write_is_kept_for_thirty_days(alone):
    """D3: there until the thirtieth day is over, gone on the thirty-first; nothing of it is memory at any time."""
    world = alone()
    ana, bot = world.pair()
    text = novel()
    refused = bot.turned_down(text, status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
    path, made = f"/v1/writes/{refused['refusal_id']}", world.clock.now
    world.restart()
    world.clock.set(made + DAY_30)
    assert bot.ask("GET", path)["write"]["text"] == text and len(bot.kept()) == 1
    world.clock.set(made + timedelta(days=31))
    bot.refused("GET", path, status=404, code="NOT_FOUND")
    bot.refused("POST", f"{path}:reopen", status=404, code="NOT_FOUND")
    assert bot.kept() == []


def test_kept_writes_are_listed_newest_first(alone):
    """D3: a list of one's own, the newest first."""
    world = alone()
    ana, bot = world.pair()
    ids = []
    for _ in range(3):
        answer = bot.turned_down(novel(), status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
        ids.insert(0, answer["refusal_id"])
        world.clock.advance(seconds=1)
    assert [kept["id"] for kept in bot.kept()] == ids


def test_what_a_refused_write_says_is_nowhere_in_the_open(alone):
    """D3: refused content lies encrypted: no file of the data directory holds its words."""
    world = alone()
    ana, bot = world.pair()
    text = novel()
    bot.turned_down(text, status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
    bot.held(other := novel(), layer="semantic", evidence=[world.said(other)])
    assert world.server.stop() == 0
    needles = [words.encode() for words in (text, other)]
    for file in world.server.data_dir.rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            assert not any(needle in held for needle in needles), file
    world.server.start()


def test_a_refused_write_opened_again_meets_the_gates_of_today(alone):
    """D3, GOV-1.5: what a gate refused is judged anew when its author asks; once it is memory it is kept no more."""
    world = alone()
    ana, bot = world.pair()
    thing = novel(1)
    first = bot.commits(f"{thing} port is 8080", evidence=[world.said(f"{thing} port is 8080")])
    text = f"{thing} port is 9090"
    refused = bot.turned_down(
        text, evidence=[world.said(text)], status=409, code="CONTRADICTION", gate="contradiction"
    )
    reopen = f"/v1/writes/{refused['refusal_id']}:reopen"
    size = log_size(world.server)
    refusal(bot.call("POST", reopen), 409, "CONTRADICTION", "contradiction")
    assert log_size(world.server) == size
    ana.ask("DELETE", f"/v1/items/{first['id']}?reason=moved")
    made = committed(bot.call("POST", reopen))
    assert bot.get(made["id"])["text"] == text
    bot.refused("GET", f"/v1/writes/{refused['refusal_id']}", status=404, code="NOT_FOUND")
    bot.refused("POST", reopen, status=404, code="NOT_FOUND")


def test_what_is_known_from_preflight_is_counted(alone):
    """GOV-1.10: a rejected write counts by gate and reason, a committed one by layer. Which agent it was is in the log: agents
    are without number, so they are no label."""
    world = alone()
    ana, bot = world.pair()
    bot.turned_down(novel(), status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
    bot.supported(novel())
    status, metrics, _ = world.server.call("GET", "/metrics")
    lines = [line for line in metrics.splitlines() if line.startswith("tabellion_memory_write_")]
    rejected = [line for line in lines if "rejected" in line and 'gate="factual"' in line]
    assert any('reason="EVIDENCE_NOT_INDEPENDENT"' in line and line.endswith(" 1") for line in rejected), lines
    assert any('committed' in line and 'layer="episodic"' in line and line.endswith(" 1") for line in lines), lines
    assert bot.agent not in metrics


# Killed


def test_what_waits_survives_a_kill(alone):
    """GOV-1.6, GOV-6.4: a held and a put-off write are there after kill -9, under the same ids, and both still become
    memory."""
    world = alone(writes_per_minute="[6000,3000,5,60,20]")
    ana, bot = world.pair()
    fill(bot, 5)
    late, canonical = novel(), novel()
    put_off = bot.put_off(late, evidence=[world.said(late)])
    held = bot.held(canonical, layer="semantic", evidence=[world.said(canonical)])
    world.restart()
    assert [kept["id"] for kept in bot.kept()] == [put_off["pending_id"]]
    assert bot.put_off(late, evidence=[world.said(late)])["pending_id"] == put_off["pending_id"]
    assert [review["id"] for review in ana.reviews()] == [held["pending_id"]]
    again = bot.held(canonical, layer="semantic", evidence=[world.said(canonical)])
    assert again["pending_id"] == held["pending_id"]
    world.clock.advance(minutes=5)
    eventually(lambda: late in bot.texts())
    ana.approves(held["pending_id"])
    world.restart()
    assert sorted(bot.texts()).count(late) == 1 and bot.texts().count(canonical) == 1
    assert ana.reviews() == [] and bot.kept() == []


def test_kills_while_put_off_writes_are_tried_lose_and_double_none(alone, rng):
    """GOV-1.6, GOV-1.8: a hundred put-off writes whose turn has come, and kill -9 in their midst again and again: in the
    end each is there once."""
    world = alone(writes_per_minute="[6000,3000,100,60,20]")
    ana, bot = world.pair()
    fill(bot, 100)
    texts = [novel() for _ in range(100)]
    for text in texts:
        bot.put_off(text, evidence=[world.said(text)])
    world.clock.advance(seconds=60)
    for _ in range(6):
        threading.Event().wait(rng.uniform(0, 0.25))
        world.restart()
    eventually(lambda: not bot.kept())
    assert Counter(bot.texts()) & Counter(texts) == Counter(texts) and len(bot.texts()) == 200


class Life(threading.Thread):
    """One pair that writes, merges, has a write held and approves it, over and over until the server is gone. It notes what
    was acknowledged last for each round."""

    def __init__(self, ana, bot, run):
        super().__init__(daemon=True)
        self.ana, self.bot, self.run_number = ana, bot, run
        self.rounds, self.odd = [], []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.bot.server.port, timeout=30)
        try:
            while not self.odd:
                self.rounds.append(life := {"thing": novel(1), "held": novel(), "done": 0})
                for number, (caller, path, body) in enumerate(self.steps(life), start=1):
                    status, answer, _ = exchange(connection, "POST", path, body, caller.key)
                    if status not in (200, 201, 202):
                        self.odd.append((number, status, answer))
                        break
                    life["done"] = number
                    life.setdefault("review", None)
                    if number == 3:
                        life["review"] = answer["pending_id"]
                    if number == 1:
                        life["id"] = answer["id"]
        except (OSError, http.client.HTTPException, ValueError):
            pass

    def steps(self, life):
        """The calls of one round, in order; a later one may need what an earlier one answered."""
        thing, world = life["thing"], self.bot.world
        plain = {"text": f"{thing} is red", "triple": triple(thing, "colour", "red")}
        plain["evidence"] = [world.said(plain["text"])]
        yield self.bot, "/v1/items", plain
        yield self.bot, "/v1/items", {**plain, "fields": {"shade": 3}}
        held = {"text": life["held"], "layer": "semantic", "evidence": [world.said(life["held"])]}
        yield self.bot, "/v1/items", held
        decision = {"decision": "approve", "reason": "fine"}
        yield self.ana, f"/v1/reviews/{life['review']}:decide", decision

    def check(self):
        """Every round stands where it was acknowledged, or exactly one whole step further."""
        by_text = {item["text"]: item for item in self.ana.items()}
        reviews = {review["item"]["text"]: review for review in self.ana.ask("GET", "/v1/reviews")["reviews"]}
        for life in self.rounds:
            reached = self.reached(life, by_text, reviews)
            assert reached in (life["done"], life["done"] + 1), (life, reached)
        assert len(by_text) == sum(1 for _ in self.ana.items()), "nothing is there twice"

    def reached(self, life, by_text, reviews):
        item, held = by_text.get(f"{life['thing']} is red"), by_text.get(life["held"])
        review = reviews.get(life["held"])
        if item is None:
            assert review is None and held is None
            return 0
        versions = len(self.ana.versions(item["id"]))
        assert versions in (1, 3), "a merge is two versions or none"
        assert bool(item["fields"]) == (versions == 3)
        if review is None:
            assert held is None
            return 1 if versions == 1 else 2
        assert (review["state"] == "approved") == (held is not None) == (review.get("version") is not None)
        return 4 if held else 3


def test_kill_leaves_every_step_whole_or_absent(alone, rng, say):
    """GOV-1.6, GOV-3.6, GOV-6.4: kill -9 in the midst of writes, merges, held writes and decisions: each is done whole or
    not at all, what was acknowledged is there, the log verifies, and the views are what it replays to."""
    world = alone(writes_per_minute="[6000,3000,100000,100000,20]")
    rounds = steps = 0
    for kill in range(KILLS):
        lives = [Life(*world.pair(), kill) for _ in range(6)]
        for life in lives:
            life.start()
        threading.Event().wait(rng.uniform(0.05, 0.4))
        world.server.kill()
        for life in lives:
            life.join()
            assert not life.odd, life.odd
        if kill % 4 == 0:
            verify_all(world.server.bin, world.server.data_dir)
        world.server.start()
        world.clock.set(world.clock.now)
        for life in lives:
            life.check()
            rounds, steps = rounds + len(life.rounds), steps + sum(one["done"] for one in life.rounds)
    assert world.server.stop() == 0
    verify_all(world.server.bin, world.server.data_dir)
    world.server.start()
    say(f"{KILLS} kills over {rounds} rounds of writing, merging, holding, deciding: {steps} steps acknowledged, 0 lost")


class Edits(threading.Thread):
    """An agent that has a write held and changes it over and over until the server is gone."""

    def __init__(self, ana, bot):
        super().__init__(daemon=True)
        self.ana, self.bot = ana, bot
        self.sent, self.known, self.odd = [], [], []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.bot.server.port, timeout=30)
        try:
            while not self.odd:
                self.sent.append(text := novel())
                body = {"text": text, "layer": "semantic", "evidence": [self.bot.world.said(text)]}
                method, path = ("PUT", f"/v1/reviews/{self.known[-1]}") if self.known else ("POST", "/v1/items")
                status, answer, _ = exchange(connection, method, path, body, self.bot.key)
                if status == 202:
                    self.known.append(answer["pending_id"])
                else:
                    self.odd.append((status, answer))
        except (OSError, http.client.HTTPException, ValueError):
            pass

    def check(self):
        """One review waits: of the last text that was acknowledged, or of the one sent after it. All before it are withdrawn."""
        reviews = self.ana.ask("GET", "/v1/reviews")["reviews"]
        waiting = [review["item"]["text"] for review in reviews if review["state"] == "pending"]
        assert len(waiting) == 1 or (waiting == [] and not self.known), (waiting, len(self.sent), len(self.known))
        assert all(review["state"] == "withdrawn" for review in reviews if review["item"]["text"] not in waiting)
        reached = self.sent.index(waiting[0]) + 1 if waiting else 0
        assert reached in (len(self.known), len(self.known) + 1) and len(reviews) == reached


def test_kill_in_the_midst_of_edits_loses_none(alone, rng, say):
    """GOV-1.6, GOV-6.4, D3: kill -9 while held writes are changed: of each one review waits, the last acknowledged or the next,
    and the log verifies."""
    world = alone(writes_per_minute="[6000,3000,100000,100000,20]")
    edits = 0
    for _ in range(KILLS):
        authors = [Edits(*world.pair()) for _ in range(6)]
        for author in authors:
            author.start()
        threading.Event().wait(rng.uniform(0.05, 0.4))
        world.restart()
        for author in authors:
            author.join()
            assert not author.odd, author.odd
            author.check()
            edits += max(0, len(author.known) - 1)
    assert world.server.stop() == 0
    verify_all(world.server.bin, world.server.data_dir)
    world.server.start()
    say(f"{KILLS} kills among {edits} edits of held writes: none lost")


# Many at once, against a reference model

USERS, AGENTS_EACH = 5, 4
WRITES = 10_000 if SOAK else 3_000
RATE = WRITES // (USERS * AGENTS_EACH) * 2 // 5
QUEUE = 100


class Model:
    """What one agent may be told, from the rules alone: replays do not count, the first RATE other writes of the minute are
    judged, up to QUEUE more wait, the rest is refused. A call that was hung up on may or may not have counted."""

    def __init__(self):
        self.least = self.most = 0
        self.sure, self.queued, self.unread = set(), {}, set()

    def expect(self, content):
        """The statuses that a write of this content may have now."""
        if content in self.sure:
            return {200}
        if content in self.queued:
            return {202}
        judged = {201, 409} if self.least < RATE else set()
        put_off = self.room() if self.most >= RATE else set()
        return judged | put_off | ({200, 202} if content in self.unread else set())

    def room(self):
        """Whether there is room in the queue; of what nobody read the answer, it may hold some."""
        if len(self.queued) >= QUEUE:
            return {429}
        return {202} if len(self.queued) + len(self.unread) < QUEUE else {202, 429}

    def told(self, content, status, answer):
        if status in (201, 409):
            self.least, self.most = self.least + 1, self.most + 1
        if status in (200, 201):
            self.sure.add(content)
        if status == 202:
            assert self.queued.setdefault(content, answer["pending_id"]) == answer["pending_id"]

    def hung_up(self, content):
        """A write whose answer nobody read."""
        self.unread.add(content)
        if content not in self.sure and content not in self.queued:
            self.most += 1


class Busy(threading.Thread):
    """An agent that writes what its user's other agents write too, repeats itself, and hangs up at times."""

    def __init__(self, bot, things, seed, count):
        super().__init__(daemon=True)
        self.bot, self.things, self.count = bot, things, count
        self.chance, self.model = random.Random(seed), Model()
        self.heard, self.wrong = [], []

    def run(self):
        connection = Connection(self.bot)
        for _ in range(self.count):
            content = (self.chance.choice(self.things), self.chance.random() < 0.3)
            body = spelled(self.bot.world, *content)
            if self.chance.random() < 0.03:
                connection.drop_after(body)
                self.model.hung_up(content)
                connection = Connection(self.bot)
                continue
            allowed = self.model.expect(content)
            status, answer, _ = connection.send(body)
            if status not in allowed:
                self.wrong.append((content, status, allowed, answer))
                break
            self.model.told(content, status, answer)
            self.heard.append((content, status, answer))
        connection.close()


def spelled(world, thing, loud):
    """The same statement in one of two spellings."""
    said = triple(thing.upper() if loud else thing, "Colour" if loud else "colour", " RED" if loud else "red")
    text = f"{thing} is red"
    return {"text": f"{text}!" if loud else text, "triple": said, "evidence": [world.said(text)]}


def test_many_agents_at_once_agree_with_the_rules(alone, rng, say):
    """GOV-1.7, GOV-1.8, GOV-1.9, GOV-3.2, GOV-3.3: 20 agents, thousands of random writes with retries, replays, duplicates
    and dropped connections: every verdict is one the rules allow, no item is there twice, no deferral is lost."""
    seed = rng.randrange(2**32)
    world = alone(writes_per_minute=f"[6000,3000,{RATE},60,20]")
    people = [world.person() for _ in range(USERS)]
    things = {ana.user: [novel(1) for _ in range(WRITES // USERS // 4)] for ana in people}
    each = WRITES // (USERS * AGENTS_EACH)
    busy = [
        Busy(world.agent(ana), things[ana.user], f"{seed} {ana.user} {number}", each)
        for ana in people
        for number in range(AGENTS_EACH)
    ]
    for thread in busy:
        thread.start()
    for thread in busy:
        thread.join()
        assert not thread.wrong, thread.wrong
    deferred = sum(len(thread.model.queued) for thread in busy)
    settle(world, busy)
    for ana in people:
        check_user(world, ana, [thread for thread in busy if thread.bot.user == ana.user])
    heard = sum(len(thread.heard) for thread in busy)
    counts = Counter(status for thread in busy for _, status, _ in thread.heard)
    say(f"{heard} verdicts of 20 agents, as the rules allow: {dict(counts)}; {deferred} deferrals, none lost")


def settle(world, busy):
    """Moves the clock until nothing waits any more."""
    for _ in range(8):
        world.clock.advance(seconds=61)
        threading.Event().wait(0.6)
        if not any(one["state"] == "deferred" for thread in busy for one in thread.bot.kept()):
            break
    for thread in busy:
        eventually(lambda thread=thread: not [one for one in thread.bot.kept() if one["state"] == "deferred"])


def check_user(world, ana, threads):
    """All that the agents of one user were told fits the items that are there: each agent's own, since duplicates count within a
    class (AM-16)."""
    items = {}
    for item in ana.items():
        agent = ana.provenance(item["id"])["source_agent_id"]
        said = (agent, item["triple"]["subject"].lower())
        assert said not in items, f"{said} is there twice"
        items[said] = (item["id"], item["text"].endswith("!"))
    for thread in threads:
        for (thing, loud), status, answer in thread.heard:
            if status == 429:
                assert answer["code"] == "DEFERRALS_FULL", answer
                continue
            id, winner_loud = items[thread.bot.agent, thing]
            if status in (200, 201):
                assert (answer["id"], winner_loud) == (id, loud), answer
            if status == 409:
                assert (answer["code"], answer["existing_ref"]) == ("STRUCTURAL_DUPLICATE", id), answer
                assert winner_loud != loud, "a replay was called a duplicate"
        check_deferrals(thread, items)


def check_deferrals(thread, items):
    """Every put-off write became the item, or is kept as a duplicate of it."""
    for (thing, loud), pending in thread.model.queued.items():
        id, winner_loud = items[thread.bot.agent, thing]
        status, kept, _ = thread.bot.call("GET", f"/v1/writes/{pending}")
        if winner_loud == loud:
            assert status == 404, kept
        else:
            assert (status, kept["state"]) == (200, "refused"), kept
            assert kept["code"] == "STRUCTURAL_DUPLICATE", kept
