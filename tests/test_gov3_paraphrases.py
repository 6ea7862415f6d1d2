"""GOV-3.4 with a model: a fact told in other words is known; one that only lies near by is not."""

import os
from pathlib import Path

import pytest

from embedder import Model
from governed import World, environment, waiting
from server import ROOT, Server
from test_embedding import until

MODEL = Path(os.environ.get("TABELLION_MODEL_DIR", ROOT / "target/model"))
LAYER = {"layer": "semantic"}

KNOWN = {
    "Alice bought a big house near the harbour of Oslo in 2019": [
        "Alice purchased a large house near the harbour of Oslo in 2019",
        "Alice bought a really big house near the harbour of Oslo in 2019.",
    ],
    "The staging database is backed up every night": ["The staging database is backed up nightly"],
    "The finance team often uses the shared printer": ["The finance team frequently utilises the shared printer"],
    "Maria hired the new designer": ["The new designer was hired by Maria"],
}
APART = {
    "Bruno manages Carla in the Lisbon office": "Carla manages Bruno in the Lisbon office",
    "The queue of the billing service holds 512 messages": "The queue of the billing service retains 513 messages",
    "The audit of the warehouse took place on 5 May 2024": "The audit of the warehouse took place on 6 May 2024",
    "Dora likes the long route along the river": "Dora likes the long route along the lake",
    "Emil worked for the harbour authority": "Emil works for the harbour authority",
    "Fatima teaches the evening class in Porto": "Fatima teaches the evening class in Braga",
}


def world(bin, directory, env):
    return Server(bin, directory, env={**environment("standard"), **env}, args=["--test-clock"])


@pytest.fixture(scope="module")
def real(bin, tmp_path_factory):
    """A server with the real model."""
    if not (MODEL / "model.safetensors").exists():
        pytest.skip(f"NOT TESTED: no embedding model at {MODEL}")
    env = {"TABELLION_EMBEDDING__PROVIDER": "minilm", "TABELLION_EMBEDDING__FOLDER": str(MODEL.resolve())}
    with world(bin, tmp_path_factory.mktemp("real") / "data", env) as running:
        yield World(running, "standard")


def remembered(world, bot, ana, text, **more):
    """A fact that a person has agreed to, with its vector."""
    made = bot.approved(text, evidence=[world.said(text)], **LAYER, **more)
    until(lambda: made["id"] in [one["id"] for one in ana.search(text, mode="dense", min_token=made["token"])])
    return made


@pytest.mark.parametrize("text", KNOWN)
def test_a_fact_in_other_words_is_known(real, text):
    """GOV-3.4: SEMANTIC_DUPLICATE with the item, for its owner alone; a field more is merged, another value is left to a
    person."""
    ana, bot = real.pair()
    known = remembered(real, bot, ana, text, fields={"a": 1})
    for other in KNOWN[text]:
        cited = {"evidence": [real.said(other)], **LAYER}
        refused = bot.turned_down(
            other, fields={"a": 1}, status=409, code="SEMANTIC_DUPLICATE", gate="dedup", **cited
        )
        assert refused["existing_ref"] == known["id"]
        pending = bot.held(other, fields={"a": 2}, **cited)
        assert (pending["gate"], pending["code"]) == ("dedup", "SEMANTIC_CONFLICT")
        ana.rejects(pending["pending_id"])
        waiting(real.pair()[1].send(other, fields={"a": 1}, **cited), "rev_")


@pytest.mark.parametrize("text", APART)
def test_a_fact_near_by_is_another_fact(real, text):
    """GOV-3.4: who, whom, how many, when, where and not: however near the vectors, two facts are never taken for one."""
    ana, bot = real.pair()
    remembered(real, bot, ana, text)
    other = APART[text]
    status, answer, _ = bot.send(other, evidence=[real.said(other)], **LAYER)
    assert answer.get("code") not in ("SEMANTIC_DUPLICATE", "SEMANTIC_CONFLICT"), answer
    assert status == 202 or answer["code"] == "CONTRADICTION", answer


def test_conversations_keep_to_words(real):
    """GOV-3.4: an episodic write does not wait for the model: it is compared word by word."""
    ana, bot = real.pair()
    for text in ("Gina bought a big boat last year", "Gina purchased a large boat last year"):
        bot.supported(text)


def test_without_an_answer_the_words_have_to_do(bin, tmp_path):
    """GOV-3.4: a model that is away costs a duplicate at most, never a write; what a gate refuses does not reach it."""
    one, two, three = "Hugo bought a big bike", "Hugo purchased a large bike", "Hugo purchased the large bike"
    with Model(dimensions=8) as model:
        model.vectors = dict.fromkeys((one, two, three), [1.0] + [0.0] * 7)
        soon = {"TABELLION_LIMITS__EMBEDDING_MS_MAX": "500"}
        with world(bin, tmp_path / "data", {**model.env(SECONDS_MAX="1"), **soon}) as running:
            world_ = World(running, "standard")
            ana, bot = world_.pair()
            remembered(world_, bot, ana, one)
            fault = {"status": 409, "code": "SEMANTIC_DUPLICATE", "gate": "dedup"}
            bot.turned_down(two, evidence=[world_.said(two)], **fault, **LAYER)
            status, answer, _ = bot.send("Hugo sold it unheard", **LAYER)
            assert status == 422 and answer["gate"] == "factual", answer
            assert "Hugo sold it unheard" not in model.texts
            model.down()
            bot.held(three, evidence=[world_.said(three)], **LAYER)
