"""Writes that wait for a person and come again, or are joined by others like them: which take whose place, and how that is told (AM-10)."""

import pytest

from governed import committed, eventually, novel, waiting
from test_anomalies import Writer, go_astray
from test_cli import Cli
from test_facts_change import shares, together


def said(world, text, **more):
    return {"layer": "semantic", "evidence": [world.said(text)], **more}


def pending(ana):
    return {review["id"] for review in ana.reviews()}


@pytest.mark.parametrize(
    "key, texts",
    [
        ("preferences", ("{} prefers dark mode", "{} prefers short answers")),
        (None, ("Meeting with {} at 11:00", "Meeting with {} at 16:00")),
        ("meetings", ("Call with {} at 9:30", "Call with {} at 15:00")),
    ],
)
def test_other_statements_wait_beside_each_other(standard, key, texts):
    """AM-10: one key alone, or another hour alone, makes no correction of one's own waiting write."""
    ana, bot = standard.pair()
    name = novel(1).capitalize()
    for text in (text.format(name) for text in texts):
        held = bot.held(text, **said(standard, text, **({"key": key} if key else {})))
        assert "replaces_review" not in held, held
    assert len(pending(ana)) == 2


def test_correction_says_whose_place_it_took(standard):
    """AM-10: the answer names the review that a correction of one's own waiting write took the place of, and the audit log has a row."""
    ana, bot = standard.pair()
    name = novel(1).capitalize()
    first, second = (f"{name} lives in {city}." for city in ("Berlin", "Paris"))
    old = bot.held(first, **said(standard, first))["pending_id"]
    new = bot.held(second, **said(standard, second))
    assert new["replaces_review"] == old and pending(ana) == {new["pending_id"]}
    review = ana.review(old)
    assert (review["state"], review["reason"]) == ("withdrawn", "its author wrote it anew")

    def rows():
        rows = standard.chief.ask("GET", "/v1/audit?action=withdraw&limit=50")["rows"]
        return [row["ids"] for row in rows if old in row["ids"]]

    assert eventually(rows) == [[old, new["pending_id"]]]


def test_write_held_for_its_pair_alone_is_judged_anew_after_the_hold(alone):
    """AM-5: once a hold is over, what it alone held is committed when it comes again, and its old review ends."""
    world = alone("standard")
    ana, bot = world.pair()
    go_astray(world, bot, Writer(bot))
    texts = [novel(), novel()]
    held = [bot.held(text) for text in texts]
    assert bot.held(texts[0])["pending_id"] == held[0]["pending_id"], "the same review while the hold stands"
    world.clock.advance(hours=12)
    world.chief.ask("POST", f"/v1/agents/{bot.name}:resume", {"reason": "looked at it"})
    done = committed(bot.send(texts[0]))
    assert done["replaces_review"] == held[0]["pending_id"]
    assert ana.review(held[0]["pending_id"])["state"] == "withdrawn"
    assert ana.review(held[1]["pending_id"])["state"] == "pending"
    assert bot.send(texts[0])[1]["status"] == "already_committed"
    assert texts[0] in bot.texts()


def test_hold_that_ends_by_itself_lets_a_retry_pass(alone):
    """AM-5: the same after the 24 hours of a hold."""
    world = alone("standard")
    ana, bot = world.pair()
    go_astray(world, bot, Writer(bot))
    text = novel()
    held = bot.held(text)["pending_id"]
    world.clock.advance(hours=25)
    assert committed(bot.send(text))["replaces_review"] == held


def test_another_tier_outcome_or_layer_is_the_next_version_of_what_waits(alone):
    """AM-10: a retry with other wishes is no replay of the waiting write; the review shows the tier as it was asked for, and whether
    others get a copy."""
    world = alone("standard")
    (ana, bot), (ben, reader) = world.pair(), world.pair()
    shares(world, ana)
    together(world, bot, reader)
    text = novel()
    last = None
    for wish, seen in (
        ({}, ("auto", True)),
        ({"tier": "private"}, ("private", False)),
        ({"tier": "shared"}, ("shared", True)),
        ({"tier": "both"}, ("both", True)),
        ({"tier": "both", "on_conflict": "keep_both"}, ("both", True)),
    ):
        held = bot.held(text, **said(world, text, **wish))
        assert held.get("replaces_review") == last and pending(ana) == {held["pending_id"]}, wish
        assert bot.held(text, **said(world, text, **wish))["pending_id"] == held["pending_id"], "the same again is a replay"
        review = ana.review(held["pending_id"])
        assert (review["tier"], review["for_others"]) == seen, review
        last = held["pending_id"]
    done = committed(bot.send(text, tier="private"))
    assert done["replaces_review"] == last and not pending(ana)


def test_first_of_two_yeses_says_so(alone, bin):
    """GOV-6.4: with two approvals, the first yes answers that one of two is there; so do the list and the review."""
    world = alone("standard")
    ana, bot = world.pair()
    bob = world.reviewer(ana)
    world.policy_set("eyes", kind="approval", approvals=2)
    text = novel()
    held = bot.held(text, **said(world, text))["pending_id"]
    status, answer, _ = bob.decides(held)
    assert status == 202 and "1 of 2" in answer["message"], answer
    cli = Cli(bin, world.server.url, ana.key)
    assert "1 of 2" in cli.out("review", "list") and "1 of 2" in cli.out("review", "show", held)
    assert "1 of 2" in waiting(bot.send(text, **said(world, text)), "rev_")["message"]
    assert ana.decides(held)[0] == 200
