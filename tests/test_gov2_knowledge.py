"""GOV-2.3: a knowledge base that writes are held against."""

import json

import pytest

from governed import novel, triple


@pytest.fixture
def informed(alone, tmp_path):
    """Makes a world that knows some facts for sure."""

    def make(facts, policy="strict", **settings):
        file = tmp_path / "services.jsonl"
        file.write_text("".join(json.dumps(fact) + "\n" for fact in facts))
        return alone(policy, knowledge=file, **settings), file

    return make


def test_what_it_confirms_needs_no_other_source(informed):
    """GOV-2.3, GOV-4.2: a triple that the knowledge base has, in other case, commits without evidence of the writer's own;
    the record names the base, its edition and its words."""
    thing = novel(1)
    world, file = informed([triple(thing, "port", "8080")])
    ana, bot = world.pair()
    item = bot.commits(f"{thing} port 8080", triple=triple(thing.upper(), "Port", "8,080"))
    [cited] = bot.provenance(item["id"])["evidence_refs"]
    assert (cited["source_type"], cited["source_uri"], cited["authority"]) == ("api_response", "knowledge:services", 0.9)
    assert cited["excerpt"] == f"{thing} port 8080" and len(cited["source_version"]) == 64
    assert bot.provenance(item["id"])["fact_score"] == pytest.approx(0.9)


def test_a_confirmed_triple_does_not_vouch_for_other_words(informed):
    """GOV-2.3: a text that says more than its triple is not borne out by it."""
    thing = novel(1)
    world, _ = informed([triple(thing, "port", "8080")])
    ana, bot = world.pair()
    said = {"triple": triple(thing, "port", "8080"), "status": 422, "code": "EVIDENCE_INSUFFICIENT", "gate": "factual"}
    bot.turned_down(f"{thing} port 8080 {novel(6)}", **said)


def test_it_never_weakens_what_is_better_founded(informed):
    """GOV-2.3: where the writer's own sources bear out more, they stay alone."""
    thing = novel(1)
    world, _ = informed([triple(thing, "port", "8080")])
    ana, bot = world.pair()
    item = bot.supported(f"{thing} port 8080", triple=triple(thing, "port", "8080"))
    assert [one["source_type"] for one in bot.provenance(item["id"])["evidence_refs"]] == ["human_input"]


@pytest.mark.parametrize("policy, layer", [("strict", "episodic"), ("standard", "semantic"), ("open", "semantic")])
def test_what_it_denies_is_refused(informed, policy, layer):
    """GOV-2.3: another value of a property that has one is 409 KNOWLEDGE_DENIES, however good the sources; a property that
    may have many is not denied, and what is unknown is judged as ever."""
    thing = novel(1)
    world, _ = informed([triple(thing, "port", "8080"), triple(thing, "tag", "blue")], policy)
    ana, bot = world.pair()
    text = f"{thing} port 9090"
    fault = {"status": 409, "code": "KNOWLEDGE_DENIES", "gate": "factual"}
    said = {"layer": layer, "evidence": [world.said(text)]}
    refused = bot.turned_down(text, triple=triple(thing, "port", "9090"), **said, **fault)
    assert (refused["errors"][0]["path"], refused["errors"][0]["actual"]) == ("/triple/object", f"{thing} port 8080")
    for other in triple(thing, "tag", "red"), triple(novel(1), "port", "9090"):
        words = " ".join(other.values())
        status, answer, _ = bot.send(words, triple=other, layer=layer, evidence=[world.said(words)])
        assert status == (201 if layer == "episodic" else 202), answer


def test_where_evidence_only_advises_a_denial_lowers_it(informed):
    """GOV-2.3, GOV-2.4: an episode under the standard policy commits, with half of V_fact and the denial on record."""
    thing = novel(1)
    world, _ = informed([triple(thing, "port", "8080")], "standard")
    ana, bot = world.pair()
    item = bot.supported(f"{thing} port 9090", triple=triple(thing, "port", "9090"))
    record = bot.provenance(item["id"])
    assert record["fact_score"] == pytest.approx(0.475)
    assert sorted(one["source_type"] for one in record["evidence_refs"]) == ["api_response", "human_input"]


def test_a_new_edition_flags_what_it_denies(informed):
    """GOV-2.3, GOV-11.4: what was written before the knowledge base knew better is flagged by the next round."""
    thing = novel(1)
    world, file = informed([], reverify_hours=0)
    ana, bot = world.pair()
    item = bot.supported(f"{thing} port 9090", triple=triple(thing, "port", "9090"))
    file.write_text(json.dumps(triple(thing, "port", "8080")))
    world.restart()
    world.chief.ask("POST", "/v1/items:reverify", {})
    flags = ana.ask("GET", "/v1/items:flagged")["flagged"]
    assert [(one["id"], one["finding"]) for one in flags] == [(item["id"], "contradicted")]
