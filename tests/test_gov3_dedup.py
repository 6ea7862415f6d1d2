"""GOV-3: what is known already is not written again; what adds to it is merged; what differs is left to a person."""

import hashlib

import pytest

from callers import log_size
from governed import evidence, novel, triple

POLICIES = ["strict", "standard", "open"]


@pytest.fixture(params=POLICIES)
def any_policy(request):
    """Each policy in turn, as a shared server."""
    return request.getfixturevalue(request.param)


def red(thing, **more):
    """A triple that says that something is red, with its text."""
    return {"text": f"{thing} is red", "triple": triple(thing, "colour", "red"), **more}


def is_no_replay_any_more(world):
    """Moves the clock so far that the same write is one of its own."""
    world.clock.advance(days=1, seconds=1)


def test_the_same_content_is_known(any_policy):
    """GOV-3.2: 409 EXACT_DUPLICATE with the item, under every policy; nothing is written, and the refusal is kept."""
    ana, bot = any_policy.pair()
    text = novel()
    first = bot.supported(text)
    is_no_replay_any_more(any_policy)
    cited = [any_policy.said(text)]
    known = bot.turned_down(text, evidence=cited, status=409, code="EXACT_DUPLICATE", gate="dedup")
    assert known["existing_ref"] == first["id"]
    assert known["errors"][0]["path"] == "/text" and first["id"] in known["message"]
    assert bot.ask("GET", f"/v1/writes/{known['refusal_id']}")["write"]["text"] == text
    assert ana.texts() == [text]


def test_the_same_content_of_another_user_is_unknown(any_policy):
    """GOV-3.2: nobody learns what others hold: the same content commits for each user."""
    (ana, bot), (ben, other) = any_policy.pair(), any_policy.pair()
    text = novel()
    one, two = bot.supported(text), other.supported(text)
    assert one["id"] != two["id"]


def test_another_namespace_or_layer_is_another_corpus(strict):
    """GOV-3.2: corpora are per namespace and layer."""
    ana, bot = strict.pair()
    text = novel()
    one, two = bot.supported(text), bot.supported(text, namespace="elsewhere")
    assert one["id"] != two["id"]
    bot.held(text, layer="semantic", evidence=[strict.said(text)])


def test_canonical_form_is_what_counts(strict):
    """GOV-3.2: order of fields and Unicode form do not make a content new."""
    ana, bot = strict.pair()
    thing = novel(3)
    bot.supported(f"caf\u00e9 {thing}", fields={"a": 1, "b": 2.0})
    is_no_replay_any_more(strict)
    same = f"cafe\u0301 {thing}"
    bot.turned_down(
        same, fields={"b": 2, "a": 1.0}, evidence=[strict.said(same)], status=409, code="EXACT_DUPLICATE", gate="dedup"
    )


@pytest.mark.parametrize(
    "subject, predicate, object",
    [
        ("{x}", "colour", "RED"), ("  {X}  ", "Colour", "red"), ("the {x}", "has_colour", "Red"),
        ("{x}", "hasColour", " red "),
    ],
)  # fmt: skip
def test_a_triple_written_otherwise_is_a_structural_duplicate(any_policy, subject, predicate, object):
    """GOV-3.3, GOV-3.5: case, blanks and harmless words are absorbed: STRUCTURAL_DUPLICATE with the item."""
    ana, bot = any_policy.pair()
    thing = novel(1)
    first = bot.commits(**red(thing), evidence=[any_policy.said(f"{thing} is red")])
    text = f"{thing} is red"
    said = triple(subject.format(x=thing, X=thing.upper()), predicate, object)
    fault = {"status": 409, "code": "STRUCTURAL_DUPLICATE", "gate": "dedup"}
    known = bot.turned_down(text, triple=said, evidence=[any_policy.said(text)], **fault)
    assert known["existing_ref"] == first["id"]
    words = novel()
    known = bot.turned_down(words, triple=said, evidence=[any_policy.said(words)], **fault)
    assert known["existing_ref"] == first["id"], "whatever the text"


def test_what_adds_a_field_is_merged(alone):
    """GOV-3.5, GOV-3.6, D8: MERGED into the known item: a new version with both as parents, the old created_at, the new
    updated_at, the union of fields, tags and evidence, and the higher confidence."""
    world = alone()
    ana, bot = world.pair()
    other = world.agent(ana)
    thing = novel(1)
    text = f"{thing} is red"
    made = world.clock.text
    first = bot.commits(**red(thing), fields={"a": 1}, tags=["x"], confidence=0.9, evidence=[world.said(text)])
    later = world.clock.advance(days=1)
    cited = evidence(text, world.ago(), "api_response", source_uri="https://example.org/thing")
    body = red(thing.upper(), fields={"b": 2}, tags=["y"], confidence=0.4, evidence=[cited])
    size = log_size(world.server)
    status, merged, _ = bot.call("POST", "/v1/items", body)
    assert (status, merged["status"], merged["id"]) == (200, "merged", first["id"]), merged
    assert merged["version"] != first["version"] and merged["token"]
    item = ana.get(first["id"])
    assert (item["version"], item["operation"]) == (merged["version"], "update")
    assert (item["fields"], sorted(item["tags"]), item["confidence"]) == ({"a": 1, "b": 2}, ["x", "y"], 0.9)
    assert (item["created_at"], item["updated_at"], item["text"]) == (made, later, text)
    assert len(item["parents"]) == 2 and item["parents"][0] == first["version"]
    assert {one["source_type"] for one in item["evidence"]} == {"human_input", "api_response"}
    assert item["agents"] == [bot.agent]
    versions = ana.versions(first["id"])
    came = item["parents"][1]
    assert set(versions) == {first["version"], came, merged["version"]}
    assert {id: row["status"] for id, row in versions.items()} == {
        first["version"]: "superseded", came: "superseded", merged["version"]: "active",
    }  # fmt: skip
    assert ana.provenance(first["id"], came)["source_agent_id"] == bot.agent
    assert log_size(world.server) == size + 2 and ana.found(thing) == [first["id"]]
    assert ana.get(first["id"], f"?as_of={made}")["fields"] == {"a": 1}


@pytest.mark.parametrize("differs", ["agent", "resource", "label", "classification", "domain"])
def test_duplicates_of_another_class_both_stay(alone, differs):
    """AM-16: only what carries the same agents, resources and labels becomes one: else both stay, and nobody sees more or less
    than before."""
    world = alone(policy="standard")
    ana, bot = world.pair()
    other = world.agent(ana)
    for resource in "ledger", "wiki":
        world.chief.ask("POST", "/v1/resources", {"name": f"{resource}-{differs}"}, expect=201)
    granted = lambda agent, resource: world.chief.ask("PUT", f"/v1/edges/ar/{agent}/{resource}-{differs}", {})
    writer, more = bot, {}
    thing = novel(1)
    if differs == "resource":
        granted(bot.agent, "ledger")
    # What was read is inherited, so the less secret one comes first.
    secrecy = {"classification": "public"} if differs == "classification" else {}
    first = bot.commits(**red(thing), fields={"a": 1}, **secrecy)
    before = ana.get(first["id"])
    if differs == "agent":
        writer = other
    elif differs == "resource":
        granted(bot.agent, "wiki")
    elif differs == "label":
        more = {"tags": ["label:blue"]}
    elif differs == "domain":
        more = {"domains": ["medical"]}
    status, made, _ = writer.call("POST", "/v1/items", red(thing, fields={"a": 1, "b": 2}, **more))
    if differs == "domain" and status == 403:
        return  # The agent may not write of that domain at all.
    assert (status, made["status"]) == (201, "committed"), made
    assert made["id"] != first["id"]
    after = ana.get(first["id"])
    assert [after[name] for name in ("version", "agents", "resources", "fields")] == [
        before[name] for name in ("version", "agents", "resources", "fields")
    ]
    assert set(ana.found(thing)) == {first["id"], made["id"]}
    status, third, _ = writer.call("POST", "/v1/items", red(thing, fields={"a": 1, "b": 2, "c": 3}, **more))
    assert (status, third["status"], third["id"]) == (200, "merged", made["id"]), "its own class takes it in"


def test_a_merge_sent_again_is_a_replay(any_policy):
    """GOV-1.8, GOV-3.6: the same addition twice is one merge."""
    ana, bot = any_policy.pair()
    thing = novel(1)
    cited = [any_policy.said(f"{thing} is red")]
    first = bot.commits(**red(thing), evidence=cited)
    body = red(thing, fields={"a": 1}, evidence=cited)
    status, merged, _ = bot.call("POST", "/v1/items", body)
    assert (status, merged["status"]) == (200, "merged"), merged
    size = log_size(any_policy.server)
    status, again, _ = bot.call("POST", "/v1/items", body)
    assert (status, again["status"], again["id"]) == (200, "already_committed", first["id"])
    assert log_size(any_policy.server) == size
    is_no_replay_any_more(any_policy)
    body["evidence"] = [any_policy.said(body["text"])]
    known = bot.turned_down(**body, status=409, code="EXACT_DUPLICATE", gate="dedup")
    assert known["existing_ref"] == first["id"]


def test_what_holds_less_than_is_known_adds_nothing(strict):
    """GOV-3.5: a subset is an empty delta: a duplicate."""
    ana, bot = strict.pair()
    thing = novel(1)
    cited = [strict.said(f"{thing} is red")]
    bot.commits(**red(thing), fields={"a": 1, "b": 2}, evidence=cited)
    bot.turned_down(
        **red(thing), fields={"a": 1}, evidence=cited, status=409, code="STRUCTURAL_DUPLICATE", gate="dedup"
    )


def test_what_differs_in_a_field_is_left_to_a_person(any_policy):
    """GOV-3.5: another value of the same field: 202 STRUCTURAL_CONFLICT, the original untouched, whatever the policy."""
    ana, bot = any_policy.pair()
    thing = novel(1)
    cited = [any_policy.said(f"{thing} is red")]
    first = bot.commits(**red(thing), fields={"shade": 3}, evidence=cited)
    pending = bot.held(**red(thing), fields={"shade": 4, "more": 1}, evidence=cited)
    assert (pending["gate"], pending["code"]) == ("dedup", "STRUCTURAL_CONFLICT")
    review = ana.review(pending["pending_id"])
    assert "/fields/shade" in review["causes"][0]["message"]
    item = ana.get(first["id"])
    assert (item["fields"], item["version"], len(ana.versions(first["id"]))) == ({"shade": 3}, first["version"], 1)
    ana.rejects(pending["pending_id"])
    assert ana.get(first["id"])["version"] == first["version"]


def test_a_conflict_that_is_approved_is_written(strict):
    """GOV-3.5, GOV-6.4: the person's yes makes the other value memory."""
    ana, bot = strict.pair()
    thing = novel(1)
    cited = [strict.said(f"{thing} is red")]
    bot.commits(**red(thing), fields={"shade": 3}, evidence=cited)
    made = bot.approved(**red(thing), fields={"shade": 4}, evidence=cited)
    assert ana.get(made["id"])["fields"] == {"shade": 4}


def test_the_schema_says_how_fields_merge(strict):
    """GOV-3.6: field by field as the schema of the kind says: keep, take, join, or ask."""
    ana, bot = strict.pair()
    kind = f"thing-{novel(1)}"
    merge = {"kept": "keep_existing", "taken": "take_new", "joined": "union"}
    strict.chief.ask("PUT", "/v1/schemas", {"kind": kind, "document": {"type": "object"}, "merge": merge})
    thing = novel(1)
    cited = [strict.said(f"{thing} is red")]
    old, new = {"kept": 1, "taken": 1, "joined": [1, 2]}, {"kept": 2, "taken": 2, "joined": [2, 3], "added": 4}
    first = bot.commits(**red(thing), kind=kind, fields=old, evidence=cited)
    status, merged, _ = bot.call("POST", "/v1/items", red(thing, kind=kind, fields=new, evidence=cited))
    assert (status, merged["status"], merged["id"]) == (200, "merged", first["id"]), merged
    assert ana.get(first["id"])["fields"] == {"kept": 1, "taken": 2, "joined": [1, 2, 3], "added": 4}


def test_the_same_meaning_is_known(any_policy):
    """GOV-3.4, GOV-3.5: the same statement in another form: SEMANTIC_DUPLICATE; with a field more, merged; with another
    value of a field, left to a person. The open policy knows what is the same by content and by triple alone."""
    ana, bot = any_policy.pair()
    thing = novel(1).capitalize()
    text, same = f"The {thing} isn't on.", f"the {thing} is not on"
    cited = [any_policy.said(text)]
    first = bot.commits(text, fields={"a": 1}, evidence=cited)
    if any_policy.policy == "open":
        assert bot.commits(same, fields={"a": 1}, evidence=cited)["id"] != first["id"]
        return
    known = bot.turned_down(
        same, fields={"a": 1}, evidence=cited, status=409, code="SEMANTIC_DUPLICATE", gate="dedup"
    )
    assert known["existing_ref"] == first["id"]
    pending = bot.held(same, fields={"a": 2}, evidence=cited)
    assert (pending["gate"], pending["code"]) == ("dedup", "SEMANTIC_CONFLICT")
    status, merged, _ = bot.send(same, fields={"a": 1, "b": 2}, evidence=cited)
    assert (status, merged["status"], merged["id"]) == (200, "merged", first["id"]), merged
    assert ana.get(first["id"])["fields"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "one, two",
    [
        ("{x} manages {y}", "{y} manages {x}"), ("{x} works at {y}", "{x} worked at {y}"), ("{x} has a cat", "{x} has cats"),
    ],
)  # fmt: skip
def test_what_only_looks_alike_is_no_duplicate(strict, one, two):
    """GOV-3.4: two facts are never taken for one."""
    ana, bot = strict.pair()
    x, y = novel(1).capitalize(), novel(1).capitalize()
    first = bot.supported(one.format(x=x, y=y))
    assert bot.supported(two.format(x=x, y=y))["id"] != first["id"]


def test_the_cheapest_tier_speaks_first(strict):
    """GOV-3.1, GOV-3.7: what is the same to the byte is called so, though triple and meaning are the same as well."""
    ana, bot = strict.pair()
    thing = novel(1)
    bot.commits(**red(thing), evidence=[strict.said(f"{thing} is red")])
    is_no_replay_any_more(strict)
    bot.turned_down(**red(thing), evidence=[strict.said(f"{thing} is red")], status=409, code="EXACT_DUPLICATE", gate="dedup")


@pytest.mark.parametrize("who", ["the same agent", "another agent"])
def test_retracted_content_comes_back_only_through_a_person(strict, who):
    """D5: retraction voids the duplicate; the very same content then waits for a person."""
    ana, bot = strict.pair()
    text = novel()
    first = bot.supported(text)
    ana.ask("DELETE", f"/v1/items/{first['id']}?reason=wrong")
    writer = bot if who == "the same agent" else strict.agent(ana)
    pending = writer.held(text, evidence=[strict.said(text)])
    assert pending["code"] == "APPROVAL_REQUIRED" and ana.texts() == []
    made = ana.approves(pending["pending_id"])
    assert made["id"] != first["id"] and ana.texts() == [text]


def test_lapsed_content_commits_anew(alone):
    """D5: what has expired is no duplicate any more."""
    world = alone()
    ana, bot = world.pair()
    text = novel()
    first = bot.supported(text, ttl="PT1H")
    world.clock.advance(hours=1)
    assert bot.supported(text)["id"] != first["id"]


def test_a_superseded_content_is_no_duplicate(strict):
    """GOV-3.2, GOV-5.2: only what is active counts: an old text of an item may be written elsewhere."""
    ana, bot = strict.pair()
    old, new = novel(), novel()
    first = bot.supported(old)
    bot.ask("PUT", f"/v1/items/{first['id']}", {"text": new, "evidence": [strict.said(new)]}, expect=201)
    other = strict.agent(ana)
    assert other.supported(old)["id"] != first["id"]
    bot.turned_down(
        new, evidence=[strict.said(new)], status=409, code="EXACT_DUPLICATE", gate="dedup"
    )


def test_an_update_that_repeats_another_item_is_known(strict):
    """GOV-3.2: an update may not make a second copy of what another item says."""
    ana, bot = strict.pair()
    one, two = novel(), novel()
    first, second = bot.supported(one), bot.supported(two)
    size = log_size(strict.server)
    body = {"text": one, "evidence": [strict.said(one)]}
    status, answer, _ = bot.call("PUT", f"/v1/items/{second['id']}", body)
    assert (status, answer["code"], answer["existing_ref"]) == (409, "EXACT_DUPLICATE", first["id"]), answer
    assert log_size(strict.server) == size


def test_a_merge_keeps_its_evidence_whole(strict):
    """GOV-3.6: the merged version cites both sources with their excerpts, the more authoritative first."""
    ana, bot = strict.pair()
    thing = novel(1)
    text = f"{thing} is red"
    bot.commits(**red(thing), evidence=[evidence(text, strict.ago(days=1), "tool_output")])
    status, merged, _ = bot.call("POST", "/v1/items", red(thing, fields={"a": 1}, evidence=[strict.said(text)]))
    assert status == 200, merged
    refs = ana.provenance(merged["id"])["evidence_refs"]
    assert [one["source_type"] for one in refs] == ["human_input", "tool_output"]
    assert {one["excerpt_hash"] for one in refs} == {hashlib.sha256(text.encode()).hexdigest()}
