"""GOV-2: schema, evidence, contradictions. What is found, what it leads to, and the numbers that are kept with an item."""

import math

import pytest

from callers import log_size
from governed import Later, committed, evidence, eventually, novel

SERVICE = {
    "kind": "service",
    "document": {
        "type": "object",
        "required": ["key"],
        "properties": {
            "fields": {
                "type": "object",
                "required": ["port", "owner"],
                "properties": {
                    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                    "owner": {"type": "string", "pattern": "^[a-z]+$"},
                    "state": {"enum": ["up", "down"]},
                    "replicas": {"type": "array", "maxItems": 3},
                },
            },
        },
    },
    "constraints": [
        {
            "id": "ends-later",
            "description": "it ends after it starts",
            "compare": {"left": "/fields/start", "op": "<=", "right": "/fields/end"},
        }
    ],
}


@pytest.fixture
def service(strict):
    """A kind with a schema."""
    kind = f"service-{novel(1)}"
    assert strict.chief.ask("PUT", "/v1/schemas", {**SERVICE, "kind": kind})["token"]
    return kind


# Schemas


def test_three_schema_faults_are_one_answer(strict, service):
    """GOV-2.1, GOV-2.2: a missing field, a wrong type and a value out of range: one 422 that lists all three, with paths,
    and what would pass."""
    ana, bot = strict.pair()
    text = novel()
    body = {"kind": service, "key": "a service", "fields": {"port": "eighty", "state": "asleep"}}
    refused = bot.turned_down(
        text, **body, evidence=[strict.said(text)], status=422, code="SCHEMA_INVALID", gate="schema"
    )
    found = {fault["path"]: fault["code"] for fault in refused["errors"]}
    assert found == {
        "/fields/owner": "MISSING_REQUIRED_FIELD",
        "/fields/port": "TYPE_MISMATCH",
        "/fields/state": "CONSTRAINT_VIOLATION",
    }
    assert all(fault["expected"] for fault in refused["errors"])
    good = {"port": 80, "owner": "ana", "state": "up"}
    bot.commits(text, **{**body, "fields": good}, evidence=[strict.said(text)])


@pytest.mark.parametrize(
    "change, path",
    [
        ({"port": 0}, "/fields/port"), ({"port": 65536}, "/fields/port"), ({"owner": "Ana"}, "/fields/owner"),
        ({"replicas": [1, 2, 3, 4]}, "/fields/replicas"), ({"start": 5, "end": 3}, None),
    ],
)  # fmt: skip
def test_ranges_patterns_numbers_and_constraints_count(strict, service, change, path):
    """GOV-2.1, GOV-2.2: ranges, patterns, cardinality, and a rule between two values, named by its id and description."""
    ana, bot = strict.pair()
    fields = {"port": 80, "owner": "ana", **change}
    refused = bot.turned_down(
        novel(), kind=service, key="k", fields=fields, status=422, code="SCHEMA_INVALID", gate="schema"
    )
    [fault] = refused["errors"]
    assert fault["code"] == "CONSTRAINT_VIOLATION"
    if path:
        assert fault["path"] == path
    else:
        assert "ends-later" in fault["expected"] and "it ends after it starts" in fault["expected"]


def test_faults_of_the_body_are_listed_together_too(strict):
    """GOV-2.2: the built-in rules list every fault at once as well."""
    ana, bot = strict.pair()
    body = {"layer": "deep", "confidence": 2, "tags": [1], "colour": "red"}
    refused = bot.turned_down(novel(), **body, status=422, code="SCHEMA_INVALID", gate="schema")
    assert {fault["path"] for fault in refused["errors"]} == {"/layer", "/confidence", "/tags/0", "/colour"}


def test_a_schema_comes_first(strict, service):
    """GOV-2.1: schema, then evidence, then contradictions: what fails all three hears of the schema."""
    ana, bot = strict.pair()
    bot.turned_down(novel(), kind=service, status=422, code="SCHEMA_INVALID", gate="schema")


def test_schemas_are_set_by_admins_and_outlive_a_restart(alone):
    """GOV-2.1: a registry in the log; anyone may read it, only an admin sets it."""
    world = alone("open")
    ana, bot = world.pair()
    ana.refused("PUT", "/v1/schemas", SERVICE, status=403, code="FORBIDDEN")
    bot.commits(novel(), kind="service")
    world.chief.ask("PUT", "/v1/schemas", SERVICE)
    world.restart()
    [schema] = world.chief.ask("GET", "/v1/schemas")["schemas"]
    assert schema["kind"] == "service" and schema["document"] == SERVICE["document"]
    bot.turned_down(novel(), kind="service", status=422, code="SCHEMA_INVALID", gate="schema")
    bot.commits(novel(), kind="other")


@pytest.mark.parametrize(
    "body",
    [
        {}, {"kind": "a"}, {"document": {}}, {"kind": "a", "document": {"type": "colour"}},
        {"kind": "a", "document": {"pattern": "("}},
        {"kind": "a", "document": {"$ref": "#"}}, {"kind": "a", "document": {"$ref": "https://example.org/schema"}},
        {"kind": "a", "document": {}, "layer": "deep"}, {"kind": "a", "document": {}, "constraints": [{"id": "x"}]},
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused(strict, body):
    """GOV-2.1: a schema that cannot be judged by is not registered."""
    size = log_size(strict.server)
    status, answer, _ = strict.chief.call("PUT", "/v1/schemas", body)
    assert status in (400, 422) and answer["errors"], answer
    assert log_size(strict.server) == size


# Evidence


def test_an_official_document_carries_a_fact_for_223_days(strict):
    """GOV-2.4, GOV-2.5, GOV-2.6: semantic memory takes one fully supporting official document read 223 days ago (.8001),
    and refuses it a day later (.7993)."""
    ana, bot = strict.pair()
    prefix, text = strict.official(), novel()
    cited = lambda days: evidence(text, strict.ago(days=days), "document", source_uri=f"{prefix}page")
    refused = bot.turned_down(
        text, layer="semantic", evidence=[cited(224)], status=422, code="EVIDENCE_INSUFFICIENT", gate="factual"
    )
    assert "0.7993" in refused["message"] and refused["errors"][0]["path"] == "/evidence/0"
    pending = bot.held(text, layer="semantic", evidence=[cited(223)])
    review = ana.review(pending["pending_id"])
    assert review["fact_score"] == pytest.approx(0.8001, abs=5e-5)
    made = ana.approves(pending["pending_id"])
    assert bot.provenance(made["id"])["fact_score"] == pytest.approx(0.8001, abs=5e-5)


@pytest.mark.parametrize("layer, least", [("episodic", 0.6), ("semantic", 0.8), ("procedural", 0.9)])
def test_each_layer_has_its_threshold(strict, layer, least):
    """GOV-2.5: V_fact of exactly tau passes, a hair less does not."""
    ana, bot = strict.pair()
    text = novel()
    under = strict.said(text, authority=least - 0.001)
    bot.turned_down(text, layer=layer, evidence=[under], status=422, code="EVIDENCE_INSUFFICIENT", gate="factual")
    exact = bot.held(text, layer=layer, evidence=[strict.said(text, authority=least)])
    assert exact["code"] == "APPROVAL_REQUIRED", "the evidence will do; a person looks because of the risk or the layer"


@pytest.mark.parametrize(
    "source_type, most",
    [
        ("document", 0.85), ("human_input", 0.95), ("code_execution", 0.95), ("api_response", 0.9), ("tool_output", 0.8),
        ("agent_reasoning", 0.3),
    ],
)  # fmt: skip
def test_authority_is_capped_by_the_sort_of_source(standard, source_type, most):
    """GOV-2.6: a writer may lower the authority of a source, never raise it."""
    ana, bot = standard.pair()
    for asked, counted in (1.0, most), (None, most), (0.2, 0.2):
        text = novel()
        more = {} if asked is None else {"authority": asked}
        made = bot.commits(text, evidence=[evidence(text, standard.ago(), source_type, **more)])
        record = bot.provenance(made["id"])
        assert record["evidence_refs"][0]["authority"] == pytest.approx(counted)
        assert record["fact_score"] == pytest.approx(counted)


def test_an_official_document_counts_in_full(standard):
    """GOV-2.6: official DOCUMENT 1.0; the same address as another sort of source gains nothing."""
    ana, bot = standard.pair()
    prefix = standard.official()
    for source_type, counted in ("document", 1.0), ("api_response", 0.9):
        text = novel()
        made = bot.commits(text, evidence=[evidence(text, standard.ago(), source_type, source_uri=f"{prefix}page")])
        assert bot.provenance(made["id"])["fact_score"] == pytest.approx(counted)
    text = novel()
    near = "x" + prefix
    made = bot.commits(text, evidence=[evidence(text, standard.ago(), "document", source_uri=near)])
    assert bot.provenance(made["id"])["fact_score"] == pytest.approx(0.85)


def test_official_sources_of_the_configuration_count_too(alone):
    """GOV-2.6: the operator names official sources in the configuration."""
    world = alone(official_sources='["https://docs.example.org/"]')
    ana, bot = world.pair()
    text = novel()
    cited = evidence(text, world.ago(), "document", source_uri="https://docs.example.org/page")
    made = bot.commits(text, evidence=[cited])
    assert bot.provenance(made["id"])["fact_score"] == pytest.approx(1.0)


def test_items_as_evidence_count_as_far_as_they_are_relied_on(standard):
    """GOV-2.6: MEMORY_ITEM counts min(.8, its c_adj)."""
    ana, bot = standard.pair()
    text = novel()
    source = bot.supported(text, confidence=0.8)
    assert bot.provenance(source["id"])["adjusted_confidence"] == pytest.approx(0.6425)
    cited = {"source_type": "memory_item", "source_item_id": source["id"], "source_uri": source["id"]}
    made = bot.commits(f"{text} {novel(1)}", evidence=[{**cited, "accessed_at": standard.ago()}])
    record = bot.provenance(made["id"])
    assert record["evidence_refs"][0]["authority"] == pytest.approx(0.6425)
    assert record["evidence_quality"] == "derived"


def test_the_score_is_the_mean_over_the_evidence(standard):
    """GOV-2.4: V_fact is the mean of support x authority x freshness, freshness of the layer's own pace."""
    ana, bot = standard.pair()
    text = novel(4)
    half = " ".join(text.split()[:2])
    sources = [
        evidence(text, standard.ago(days=10), "document"),
        evidence(half, standard.ago(), "human_input"),
        evidence(None, standard.ago(), "api_response"),
        evidence("nothing of it", standard.ago(), "tool_output"),
    ]
    made = bot.commits(text, evidence=sources)
    fresh = math.exp(-0.01 * 10)
    expected = (0.85 * fresh + 0.95 * 0.5 + 0.9 * 0.5 + 0) / 4
    assert bot.provenance(made["id"])["fact_score"] == pytest.approx(expected, abs=1e-9)


def test_words_that_fall_short_are_left_to_a_person(strict):
    """D7: where only the support (.5 or more) falls short of the threshold, a person decides; below it is refused, and an
    excerpt that says the opposite supports nothing."""
    ana, bot = strict.pair()
    text = novel(6)
    half = " ".join(text.split()[:3])
    pending = bot.held(text, evidence=[strict.said(half)])
    assert (pending["gate"], pending["code"]) == ("factual", "EVIDENCE_INSUFFICIENT")
    ana.approves(pending["pending_id"])
    text = novel(6)
    refused = {"status": 422, "code": "EVIDENCE_INSUFFICIENT", "gate": "factual"}
    bot.turned_down(text, evidence=[strict.said(" ".join(text.split()[:2]))], **refused)
    thing = novel(1)
    bot.turned_down(f"{thing} is on", evidence=[strict.said(f"{thing} is not on")], **refused)
    unseen = bot.held(novel(), evidence=[strict.said(None)])
    assert unseen["code"] == "EVIDENCE_INSUFFICIENT", "no excerpt supports by .5"


def test_a_persons_own_words_support_themselves(strict):
    """D7: what a person writes directly, on their own word, is fully supported; an agent's claim to it is not."""
    ana, bot = strict.pair()
    made = ana.commits(novel(), evidence=[strict.said(None)])
    assert ana.provenance(made["id"])["fact_score"] == pytest.approx(0.95)


def test_what_was_validated_is_kept_with_the_item(strict):
    """GOV-2.9: V_composite = .2 + .5 V_fact + .3 (1 - contradictions/candidates), stored with the item."""
    ana, bot = strict.pair()
    made = bot.supported(novel())
    assert bot.provenance(made["id"])["validation_score"] == pytest.approx(0.2 + 0.5 * 0.95 + 0.3)
    thing = novel(1)
    bot.supported(f"{thing} port is 8080", confidence=0.2)
    text = f"{thing} port is 9090"
    pending = bot.held(text, confidence=0.9, evidence=[strict.said(text)])
    assert ana.review(pending["pending_id"])["validation_score"] == pytest.approx(0.2 + 0.5 * 0.95)


# Contradictions

FLAGGED = [
    ("{x} port is 8080", "{x} port is 9090", "number"),
    ("{x} is on", "{x} is not on", "negation"),
    ("{x} is enabled", "{x} is disabled", "antonym"),
    ("The {x} project starts on 5 May 2050", "The {x} project ends on 3 May 2050", "order"),
    ("The {x} deadline is 5 May", "The {x} deadline is 7 May", "date"),
    ("The {x} office is in Berlin", "The {x} office is in Munich", "predicate"),
]
NOT_FLAGGED = [
    ("{x} has 2 cats", "{y} has 3 cats"),
    ("{x} has 2 cats", "{x} has 3 dogs"),
    ("The {x} API listens on port 8080", "The {y} metrics listen on port 9090"),
    ("In 2019 {x} lived in Rome", "In 2021 {x} lived in Oslo"),
    ("Is the {x} port 8080?", "The {x} port is 9090"),
    ("{x} likes tea", "{x} likes coffee"),
    ("{x} is on", "{y} is not on"),
]


@pytest.mark.parametrize("known, new, method", FLAGGED)
def test_contradictions_are_found_without_a_model(strict, known, new, method):
    """GOV-2.7, GOV-2.8, D6: a port, a denial, an opposite, an end before its start, a date, a place: a weaker or equal
    claim is 409 with the ids of what it speaks against; a stronger one waits for a person, who is shown the same."""
    ana, bot = strict.pair()
    x = novel(1).capitalize()
    known, new = known.format(x=x), new.format(x=x)
    first = bot.supported(known, confidence=0.5)
    cited = [strict.said(new)]
    for confidence in 0.4, 0.5:
        refused = bot.turned_down(
            new, confidence=confidence, evidence=cited, status=409, code="CONTRADICTION", gate="contradiction"
        )
        [against] = refused["contradictions"]
        assert (against["id"], against["version"], against["method"]) == (first["id"], first["version"], method)
        assert against["score"] > 0.85 and 0 <= against["similarity"] <= 1
        assert refused["errors"][0]["path"] and first["id"] in refused["errors"][0]["actual"]
    pending = bot.held(new, confidence=0.6, evidence=cited)
    assert (pending["gate"], pending["code"]) == ("contradiction", "CONTRADICTION")
    review = ana.review(pending["pending_id"])
    assert review["contradictions"] == [against]
    assert against["text"] == known
    assert review["proposal"] == {"operation": "supersede", "items": [first["id"]]}
    assert review["causes"][0]["code"] == "CONTRADICTION" and review["item"]["text"] == new
    assert bot.get(first["id"])["text"] == known


@pytest.mark.parametrize("known, new", NOT_FLAGGED)
def test_unrelated_facts_are_not_flagged(strict, known, new):
    """GOV-2.7: others, other things, other times, questions: both stand."""
    ana, bot = strict.pair()
    x, y = novel(1).capitalize(), novel(1).capitalize()
    for text in known.format(x=x, y=y), new.format(x=x, y=y):
        made = bot.supported(text)
        assert "contradictions" not in made


def test_triples_need_no_near_topic(strict):
    """D6: another value of a property that has one is found (.99) however different the words."""
    ana, bot = strict.pair()
    thing = novel(1)
    said = lambda place: {"triple": {"subject": thing, "predicate": "headquarters", "object": place}}
    first = bot.supported(novel(), **said("Berlin"))
    text = novel()
    refused = bot.turned_down(
        text, **said("Munich"), evidence=[strict.said(text)], status=409, code="CONTRADICTION", gate="contradiction"
    )
    [against] = refused["contradictions"]
    assert (against["id"], against["method"], against["score"]) == (first["id"], "predicate", 0.99)
    bot.supported(novel(), triple={"subject": thing, "predicate": "likes", "object": "tea"})
    bot.supported(novel(), triple={"subject": thing, "predicate": "likes", "object": "coffee"})


def test_a_statement_that_ends_before_it_starts_contradicts_itself(strict, standard):
    """GOV-2.7: an end before its start within one write is refused, whatever is known."""
    for world in strict, standard:
        ana, bot = world.pair()
        for body in (
            {"text": f"The {novel(1)} fair runs from 10 May 2050 to 3 May 2050."},
            {"text": novel(), "fields": {"start": "2050-05-05", "end": "2050-05-03"}},
        ):
            cited = [world.said(body["text"])]
            bot.turned_down(**body, evidence=cited, status=409, code="CONTRADICTION", gate="contradiction")


def test_approval_supersedes_what_was_contradicted(strict):
    """GOV-2.8: the proposal is SUPERSEDE: after the yes the new statement is the head, the old one history."""
    ana, bot = strict.pair()
    thing = novel(1)
    first = bot.supported(f"{thing} port is 8080", confidence=0.5)
    text = f"{thing} port is 9090"
    made = bot.approved(text, confidence=0.9, evidence=[strict.said(text)])
    assert made["id"] == first["id"]
    item = bot.get(first["id"])
    assert (item["text"], item["operation"], item["parents"]) == (text, "supersede", [first["version"]])
    assert bot.versions(first["id"])[first["version"]]["status"] == "superseded"
    assert [one["text"] for one in bot.search(thing)] == [text]


def test_confidence_is_compared_without_approval_and_as_fresh_as_today(alone):
    """D6: no boasting: a claim of 1.0 with worse evidence stays weaker; as the known evidence ages, the same claim becomes
    the stronger one; and what a person approved can be superseded all the same."""
    world = alone()
    ana, bot = world.pair()
    thing = novel(1)
    bot.supported(f"{thing} port is 8080", confidence=0.5)
    text = f"{thing} port is 9090"
    boast = [evidence(text, world.ago(), "tool_output")]
    fault = {"status": 409, "code": "CONTRADICTION", "gate": "contradiction"}
    bot.turned_down(text, confidence=1.0, evidence=boast, **fault)
    world.clock.advance(days=60)
    fresh = [evidence(text, world.ago(), "tool_output")]
    pending = bot.held(text, confidence=1.0, evidence=fresh)
    ana.approves(pending["pending_id"])
    world.clock.advance(days=30)
    third = f"{thing} port is 7070"
    asked = Later(lambda: bot.send(third, confidence=0.5, evidence=[world.said(third)]))
    [review] = eventually(ana.reviews)
    assert review["hold"] == "sync", "a person's word is only taken back by a person who is asked now"
    ana.approves(review["id"])
    assert committed(asked.answer())["id"] == the_item(bot, thing, third)


def the_item(caller, thing, text):
    """The one item about a thing, which says this."""
    [found] = caller.search(thing)
    assert found["text"] == text
    return found["id"]


def test_supersedes_asks_a_person(strict, standard):
    """D6: naming what is superseded is a proposal; under strict a person decides."""
    ana, bot = strict.pair()
    first = bot.supported(novel())
    text = novel()
    pending = bot.held(text, supersedes=first["id"], evidence=[strict.said(text)])
    assert pending["code"] == "APPROVAL_REQUIRED"
    made = ana.approves(pending["pending_id"])
    assert made["id"] == first["id"] and bot.get(first["id"])["text"] == text


def test_what_is_hidden_contradicts_nothing(strict):
    """GOV-2.8: a writer is told nothing of what it cannot see: the same claim against another user's memory commits."""
    (ana, bot), (ben, other) = strict.pair(), strict.pair()
    thing = novel(1)
    bot.supported(f"{thing} port is 8080")
    made = other.supported(f"{thing} port is 9090")
    assert "contradictions" not in made
    bot.turned_down(
        f"{thing} port is 7070",
        evidence=[strict.said(f"{thing} port is 7070")],
        status=409,
        code="CONTRADICTION",
        gate="contradiction",
    )


def test_contradictions_are_looked_for_in_one_layer_and_namespace(strict):
    """GOV-2.8: all corpora are per namespace and layer."""
    ana, bot = strict.pair()
    thing = novel(1)
    bot.supported(f"{thing} port is 8080")
    bot.supported(f"{thing} port is 9090", namespace="elsewhere")
    text = f"{thing} port is 7070"
    held = bot.held(text, layer="semantic", evidence=[strict.said(text)])
    assert ana.review(held["pending_id"])["contradictions"] == []


def test_standard_finds_contradictions_of_episodes_too(standard):
    """GOV-2.8, AM-3: under standard a contradiction of an episode is found, evidence or not: the user's own newer statement takes
    the older one's place, unless its writer wants it refused or looked at."""
    ana, bot = standard.pair()
    thing = novel(1)
    first = bot.commits(f"{thing} is on", confidence=0.5)
    text = f"{thing} is not on"
    fault = {"status": 409, "code": "CONTRADICTION", "gate": "contradiction"}
    refused = bot.turned_down(text, confidence=0.5, on_conflict="reject", **fault)
    assert [one["id"] for one in refused["contradictions"]] == [first["id"]]
    pending = bot.held(text, confidence=0.4, on_conflict="review")
    assert pending["code"] == "CONTRADICTION" and ana.review(pending["pending_id"])["state"] == "pending"


def test_what_two_people_said_stands_side_by_side(standard):
    """GOV-2.8: an utterance records that it was said: two speakers may say opposite things."""
    ana, bot = standard.pair()
    thing = novel(1)
    bot.commits(f"{thing} is on", fields={"speaker": "Ana", "session": "1"})
    bot.commits(f"{thing} is not on", fields={"speaker": "Ben", "session": "1"})
    assert len(bot.found(thing)) == 2


def test_an_update_does_not_contradict_what_it_replaces(strict):
    """GOV-2.8: an item's own next version may say the opposite of its last."""
    ana, bot = strict.pair()
    thing = novel(1)
    first = bot.supported(f"{thing} port is 8080")
    text = f"{thing} port is 9090"
    status, answer, _ = bot.call("PUT", f"/v1/items/{first['id']}", {"text": text, "evidence": [strict.said(text)]})
    assert (status, answer["status"], answer["id"]) == (201, "committed", first["id"]), answer
    assert bot.get(first["id"])["text"] == text


def test_a_retracted_statement_contradicts_nothing(strict):
    """GOV-2.8: only what is active is held against a write."""
    ana, bot = strict.pair()
    thing = novel(1)
    first = bot.supported(f"{thing} port is 8080")
    ana.ask("DELETE", f"/v1/items/{first['id']}?reason=wrong")
    bot.supported(f"{thing} port is 9090")
