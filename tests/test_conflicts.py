"""Conflicts beyond one layer and tier, and reviews of writes that contradict something (AM-3, AM-4, AM-10, AM-16)."""

import pytest

from governed import novel
from test_cli import Cli
from test_facts_change import REFUSED, city, shares, together, way_out
from test_moderation_reviews import YES

CHANGED = {"status": 409, "code": "VERSION_CONFLICT"}


def found(author, words):
    return [one["text"] for one in author.search(words)]


@pytest.fixture
def sharing(standard):
    """A person with an agent and somebody who sees what they share."""
    (ana, bot), (ben, reader) = standard.pair(), standard.pair()
    shares(standard, ana)
    together(standard, bot, reader)
    return ana, bot, reader


def test_yes_replaces_nothing_that_the_review_did_not_show(alone):
    """AM-3, AM-8: what another user shared after a write was staged is not replaced unseen; a second look shows it, and then a yes does."""
    world = alone(policy="standard")
    (ana, bot), (ben, other) = world.pair(), world.pair()
    shares(world, ana), shares(world, ben)
    together(world, bot, other)
    reviewer, lives = world.reviewer(ana), city()
    held = bot.held(lives + "Berlin.", layer="semantic", tier="shared", evidence=[world.said(lives + "Berlin.")])
    seen = reviewer.review(held["pending_id"])
    assert (seen["contradictions"], seen["proposal"]) == ([], {"operation": "insert"})
    world.clock.advance(days=1)
    theirs = ben.commits(lives + "Paris.", layer="semantic", tier="shared")
    decide = f"/v1/reviews/{held['pending_id']}:decide"
    refused = reviewer.refused("POST", decide, {**YES, "content_hash": seen["content_hash"]}, **CHANGED)
    assert "again" in refused["message"]
    assert other.get(theirs["id"])["text"] == lives + "Paris."
    again = reviewer.review(held["pending_id"])
    assert again["content_hash"] == seen["content_hash"]
    assert again["proposal"] == {"operation": "supersede", "items": [theirs["id"]]}
    assert [one["text"] for one in again["contradictions"]] == [lives + "Paris."]
    done = reviewer.ask("POST", decide, {**YES, "content_hash": seen["content_hash"]})
    assert [one["id"] for one in done["superseded"]] == [theirs["id"]]


def test_yes_to_an_older_write_does_not_end_a_newer_statement_unseen(alone):
    """AM-3: within one user too: staged on Monday, approved on Wednesday, while the user said something newer on Tuesday."""
    world = alone(policy="standard")
    ana, bot = world.pair()
    lives = city()
    held = bot.held(lives + "Berlin.", layer="semantic", evidence=[world.said(lives + "Berlin.")])
    world.clock.advance(days=1)
    newer = ana.commits(lives + "Paris.", layer="semantic")
    world.clock.advance(days=1)
    decide = f"/v1/reviews/{held['pending_id']}:decide"
    ana.refused("POST", decide, YES, **CHANGED)
    assert found(ana, lives) == [lives + "Paris."]
    ana.refused("POST", decide, {**YES, "on_conflict": "supersede"}, **CHANGED)
    assert ana.ask("POST", decide, {**YES, "on_conflict": "keep_both"})["status"] == "committed"
    assert ana.get(newer["id"])["text"] == lives + "Paris."


def test_command_line_shows_before_it_replaces(alone, bin):
    """AM-3: `review approve` reads nothing in the person's stead: after `review show` it may."""
    world = alone(policy="standard")
    ana, bot = world.pair()
    lives = city()
    held = bot.held(lives + "Berlin.", layer="semantic", evidence=[world.said(lives + "Berlin.")])["pending_id"]
    world.clock.advance(days=1)
    ana.commits(lives + "Paris.", layer="semantic")
    cli = Cli(bin, world.server.url, ana.key)
    assert "VERSION_CONFLICT" in cli.run("review", "approve", held, "--reason", "so be it", code=1).stderr
    assert "Paris" in cli.out("review", "show", held)
    assert cli.json("review", "approve", held, "--reason", "so be it")["superseded"]


@pytest.mark.parametrize("tier", ["private", "auto", "both"])
def test_own_shared_item_is_replaced_where_its_user_asks(sharing, tier):
    """AM-3: what one shares oneself is one's own: without a word the answer names what resolves it, and `supersede` does."""
    ana, bot, reader = sharing
    lives = city()
    first = bot.commits(lives + "Berlin.", tier="shared")
    refused = bot.turned_down(lives + "Paris.", tier=tier, confidence=0.3, **REFUSED)
    assert "supersede" in way_out(refused) and "keep_both" in way_out(refused)
    made = bot.commits(lives + "Paris.", tier=tier, on_conflict="supersede")
    assert [one["id"] for one in made["superseded"]] == [first["id"]] and made["id"] != first["id"]
    assert found(bot, lives) == [lives + "Paris."]
    assert found(reader, lives) == ([] if tier == "private" else [lives + "Paris."])


@pytest.mark.parametrize("wish", [{}, {"on_conflict": "supersede"}])
def test_own_private_statement_gives_way_to_what_is_shared(sharing, wish):
    """AM-3: a newer shared statement ends the user's own private one, and says nothing of it to others."""
    ana, bot, reader = sharing
    lives = city()
    first = bot.commits(lives + "Berlin.", tier="private")
    made = bot.commits(lives + "Paris.", tier="shared", **wish)
    assert [one["id"] for one in made["superseded"]] == [first["id"]] and made["id"] != first["id"]
    assert found(bot, lives) == found(reader, lives) == [lives + "Paris."]
    assert bot.get(first["id"])["status"] == "superseded"
    seen = reader.get(made["id"])
    assert seen["parents"] == [] and "supersedes" not in reader.provenance(made["id"])
    assert bot.ask("POST", f"/v1/items/{made['id']}:rollback", {})["status"] == "rolled_back_no_predecessor"
    assert found(reader, lives) == []


def test_private_change_ends_the_copy_that_others_have(sharing):
    """AM-3: a change that stays private ends the shared copy of what it replaces, so that others do not go on with it."""
    ana, bot, reader = sharing
    lives = city()
    first = bot.commits(lives + "Berlin.")
    assert first["shared_id"] and found(reader, lives) == [lives + "Berlin."]
    made = bot.commits(lives + "Paris.", tier="private")
    assert [one["id"] for one in made["superseded"]] == [first["id"]]
    assert found(reader, lives) == [] and found(bot, lives) == [lives + "Paris."]
    assert reader.get(first["shared_id"])["status"] == "superseded"
    status, again, _ = bot.send(lives + "Paris.", tier="private")
    assert again["superseded"] == made["superseded"]


def test_lasting_fact_replaces_what_the_user_said_in_passing(alone):
    """AM-3: layers are compared: a semantic fact ends the user's own private episode that it contradicts, and no one else's."""
    world = alone(policy="standard")
    ana, bot = world.pair()
    lives = city()
    first = bot.commits(lives + "Berlin.")
    world.clock.advance(days=31)
    made = ana.commits(lives + "Paris.", layer="semantic")
    assert [one["id"] for one in made["superseded"]] == [first["id"]] and made["id"] != first["id"]
    assert found(ana, lives) == [lives + "Paris."] and ana.get(made["id"])["layer"] == "semantic"
    held = bot.held(lives + "Rome.", layer="semantic", evidence=[world.said(lives + "Rome.")])["pending_id"]
    assert ana.review(held)["proposal"] == {"operation": "supersede", "items": [made["id"]]}


def test_what_is_to_stand_beside_withdraws_nothing(standard):
    """AM-10, AM-3: a write with `keep_both` is no correction of one's own waiting write; a mended typo still is."""
    ana, bot = standard.pair()
    thing = novel(1).capitalize()
    said = lambda text, **more: {"layer": "semantic", "evidence": [standard.said(text)], **more}  # noqa: E731
    first = bot.held(f"{thing} lives in Berlin.", **said(f"{thing} lives in Berlin."))
    second = bot.held(f"{thing} lives in Paris.", **said(f"{thing} lives in Paris.", on_conflict="keep_both"))
    assert {review["id"] for review in ana.reviews()} == {first["pending_id"], second["pending_id"]}
    both = f"both-{novel(1)}"
    standard.policy_set(both, kind="write_path", on_conflict="keep_both", namespace=both)
    bot.held(f"{thing} lives in Berlin.", **said(f"{thing} lives in Berlin.", namespace=both))
    bot.held(f"{thing} lives in Paris.", **said(f"{thing} lives in Paris.", namespace=both))
    assert len(ana.reviews()) == 4
    bot.held(f"{thing} recieves letters.", **said(f"{thing} recieves letters.", on_conflict="keep_both"))
    bot.held(f"{thing} receives letters.", **said(f"{thing} receives letters.", on_conflict="keep_both"))
    assert len(ana.reviews()) == 5


def test_stricter_policy_locks_no_waiting_write(standard):
    """AM-3: a policy that became stricter holds for what waits, and a person may still decide on it."""
    ana, bot = standard.pair()
    lives, where = city(), f"later-{novel(1)}"
    first = ana.commits(lives + "Berlin.", layer="semantic", namespace=where)
    said = {"layer": "semantic", "namespace": where}
    held = bot.held(lives + "Paris.", on_conflict="keep_both", evidence=[standard.said(lives + "Paris.")], **said)
    other = novel()
    lax = bot.held(other, write_policy="standard", evidence=[standard.said(other)], **said)
    standard.policy_set(where, kind="write_path", on_conflict="review", namespace=where)
    standard.policy_set(f"{where}-strict", kind="write_path", strictness="strict", namespace=where)
    assert ana.review(held["pending_id"])["proposal"] == {"operation": "insert"}
    assert "superseded" not in ana.approves(held["pending_id"])
    ana.approves(lax["pending_id"])
    assert ana.get(first["id"])["text"] == lives + "Berlin."
    again = novel()
    refused = bot.send(again, write_policy="standard", evidence=[standard.said(again)], **said)
    assert (refused[0], refused[1]["code"]) == (403, "POLICY_TOO_LAX"), "what comes in now may not ask for less"


@pytest.mark.parametrize("ends", ["disabled", "policy"])
def test_yes_of_somebody_who_may_not_decide_any_more_counts_no_more(alone, ends):
    """GOV-6.4, AM-26: of four eyes, those count that may decide when it is committed."""
    world = alone(policy="standard")
    ana, bot = world.pair()
    bob, carl = world.person(), world.reviewer(ana)
    world.policy_set("bob-reviews", kind="reviewer", reviewer=bob.name, user=ana.name)
    world.policy_set("eyes", kind="approval", approvals=2)
    text = novel()
    held = bot.held(text, layer="semantic", evidence=[world.said(text)])["pending_id"]
    assert bob.decides(held)[0] == 202
    if ends == "disabled":
        world.chief.ask("POST", f"/v1/users/{bob.name}:disable", {})
    else:
        world.chief.ask("DELETE", "/v1/policies/bob-reviews", {})
    status, answer, _ = ana.decides(held)
    assert (status, answer["status"]) == (202, "deferred"), answer
    assert bot.texts() == []
    assert carl.approves(held)["status"] == "committed"


def test_agents_write_is_not_parked_where_too_few_may_decide(alone):
    """AM-4: with three approvals and one possible decider an agent's write is refused at once."""
    world = alone(policy="standard")
    ana, bot = world.pair()
    world.policy_set("eyes", kind="approval", approvals=3)
    text = novel()
    body = {"layer": "semantic", "evidence": [world.said(text)]}
    refused = bot.turned_down(text, **body, status=409, code="NO_REVIEWER", gate="policy")
    assert "1 of the 3" in refused["message"] and ana.reviews() == []
    world.reviewer(ana), world.reviewer(ana)
    assert bot.held(text, **body)


@pytest.mark.parametrize("policy", ["open", "standard", "strict"])
def test_same_text_of_another_agent_stays_beside(policy, request):
    """AM-16, SHARE-42: duplicates count within one class: what another agent of the user says word for word is kept as well."""
    world = request.getfixturevalue(policy)
    ana, bot = world.pair()
    other, text = world.agent(ana), novel()
    first = bot.supported(text)
    second = other.supported(text)
    assert first["id"] != second["id"] and ana.texts() == [text, text]
    assert (bot.get(first["id"])["agents"], other.get(second["id"])["agents"]) == ([bot.agent], [other.agent])


def test_text_of_an_item_in_quarantine_may_be_said_again(alone):
    """SHARE-41: what is in quarantine is no duplicate: it would be named by an id that nobody can read."""
    world = alone(policy="open")
    ana, bot = world.pair()
    text = novel()
    first = bot.commits(text)
    assert ana.ask("POST", f"/v1/items/{first['id']}:quarantine", {"reason": "doubtful"})
    world.clock.advance(days=2)
    again = bot.commits(text)
    assert again["id"] != first["id"] and bot.get(again["id"])["text"] == text


@pytest.mark.parametrize("pinned", [0, 1])
def test_pinned_item_goes_on(standard, pinned):
    """AM-1, AM-3: of two items that a statement replaces, the pinned one continues, and stays pinned."""
    ana, bot = standard.pair()
    lives = city()
    both = [bot.commits(lives + "Berlin.")["id"], bot.commits(lives + "Oslo.", on_conflict="keep_both")["id"]]
    ana.ask("POST", f"/v1/items/{both[pinned]}:pin", {})
    made = bot.commits(lives + "Madrid.", on_conflict="supersede")
    assert (made["id"], len(made["superseded"])) == (both[pinned], 2)
    assert bot.get(made["id"])["pinned"] is True and found(bot, lives) == [lives + "Madrid."]
