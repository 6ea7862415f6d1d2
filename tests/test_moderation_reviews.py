"""Moderation of writes that wait: who decides on a write against another user's shared item, what a yes does, and what was taken back
before (AM-8, AM-3, AM-9)."""

import http.client
from urllib.parse import urlencode

import pytest

from callers import Caller, random_id
from governed import novel
from grpc_caller import GrpcCaller
from test_cli import Cli
from test_facts_change import city, shares, together

SELF = {"status": 403, "code": "SELF_APPROVAL"}
MISSING = {"status": 404, "code": "NOT_FOUND"}
YES = {"decision": "approve", "reason": "checked"}


class Dispute:
    """Ana's agent shares a statement; Eve's agent, which sees it, says the contrary. Carl sees both, and neither is his."""

    def __init__(self, world):
        self.world = world
        (self.ana, self.bot), (self.eve, self.liar), (self.carl, self.reader) = (world.pair() for _ in range(3))
        for user in (self.ana, self.eve):
            shares(world, user)
        together(world, self.bot, self.liar, self.reader)
        self.lives = city()
        self.truth_text = self.lives + "Berlin."
        self.truth = self.bot.commits(self.truth_text, tier="shared", confidence=0.9)["id"]

    def lie(self, place="Paris", **fields):
        """A lie that waits: its review."""
        fields = {"tier": "shared", "on_conflict": "review", **fields}
        return self.liar.held(self.lives + f"{place}.", **fields)["pending_id"]

    def decide(self, caller, review, expect=200, **more):
        return caller.ask("POST", f"/v1/reviews/{review}:decide", {**YES, **more}, expect=expect)

    def found(self):
        return {item["text"] for item in self.reader.search(self.lives)}


@pytest.fixture
def dispute(standard):
    return Dispute(standard)


def test_nobody_approves_their_agents_write_against_another_user(dispute):
    """AM-8, AM-21: neither the author's user by her personal key nor her other agent decides; she may refuse it herself."""
    review = dispute.lie()
    refused = dispute.eve.refused("POST", f"/v1/reviews/{review}:decide", YES, **SELF)
    assert "moderator" in refused["message"]
    for wish in ("supersede", "keep_both"):
        dispute.eve.refused("POST", f"/v1/reviews/{review}:decide", {**YES, "on_conflict": wish}, **SELF)
    assert dispute.eve.review(review)["state"] == "pending" and dispute.found() == {dispute.truth_text}
    assert dispute.eve.rejects(review)["status"] == "rejected"


def test_owner_of_the_contradicted_item_decides(dispute):
    """AM-8, AM-9: Ana sees the write that speaks against her item, as others would see it, and decides; a third person sees nothing."""
    review = dispute.lie()
    shown = dispute.ana.review(review)
    assert shown["item"]["text"] == dispute.lives + "Paris."
    assert [one["text"] for one in shown["contradictions"]] == [dispute.truth_text]
    assert review in [one["id"] for one in dispute.ana.reviews()]
    for stranger in (dispute.carl, dispute.bot, dispute.reader):
        stranger.refused("GET", f"/v1/reviews/{review}", **MISSING)
        assert review not in [one["id"] for one in stranger.reviews()]
        stranger.refused("POST", f"/v1/reviews/{review}:decide", YES, **MISSING)
    done = dispute.decide(dispute.ana, review)
    assert [one["text"] for one in done["superseded"]] == [dispute.truth_text]
    assert dispute.found() == {dispute.lives + "Paris."}


def test_owner_without_the_edges_sees_no_held_write(standard):
    """AM-9: whoever would not see the write in memory does not see it while it waits, though it speaks against their item."""
    dispute = Dispute(standard)
    standard.chief.ask("DELETE", f"/v1/edges/ua/{dispute.ana.name}/{dispute.liar.agent}", {})
    review = dispute.lie("Rome")
    dispute.ana.refused("GET", f"/v1/reviews/{review}", **MISSING)
    assert review not in [one["id"] for one in dispute.ana.reviews()]


def test_moderator_decides_on_what_is_for_all(dispute, bin):
    """AM-8: with a reason, a moderator lists, reads and decides on held writes for the shared memory; on private ones never."""
    chief, review = dispute.world.chief, dispute.lie()
    kept = city()
    dispute.liar.commits(kept + "Oslo.", tier="private")
    private = dispute.liar.held(kept + "Rome.", tier="private", on_conflict="review")["pending_id"]
    chief.refused("GET", f"/v1/reviews/{review}", **MISSING)
    listed = [one["id"] for one in chief.ask("GET", "/v1/reviews?state=pending&moderate=look")["reviews"]]
    assert review in listed and private not in listed
    shown = chief.ask("GET", f"/v1/reviews/{review}?moderate=look")
    assert [one["text"] for one in shown["contradictions"]] == [dispute.truth_text]
    for hidden in (private, random_id("rev")):
        chief.refused("GET", f"/v1/reviews/{hidden}?moderate=look", **MISSING)
        chief.refused("POST", f"/v1/reviews/{hidden}:decide", YES, **MISSING)
    dispute.carl.refused("GET", f"/v1/reviews/{review}?moderate=look", status=403, code="FORBIDDEN")
    with GrpcCaller(dispute.world.server, dispute.world.server.key) as grpc:
        assert grpc.call("GetReview", {"id": review, "moderate": "look"})["contradictions"][0]["text"] == dispute.truth_text
    cli = Cli(bin, dispute.world.server.url, dispute.world.server.key)
    assert dispute.truth_text.split()[0] in cli.out("review", "show", review, "--moderate", "look")
    done = cli.json("review", "approve", review, "--on-conflict", "keep_both", "--reason", "both lived there")
    assert done["status"] == "committed" and "superseded" not in done
    assert dispute.found() == {dispute.truth_text, dispute.lives + "Paris."}
    row = next(row for row in chief.ask("GET", "/v1/audit?action=decide&limit=50")["rows"] if review in row["ids"])
    assert (row["outcome"], row["reason"]) == ("approved", "both lived there")


def test_yes_supersedes_unless_it_says_otherwise(dispute):
    """AM-3: a yes does what the review proposes: it supersedes another user's shared item, which stays in history; `keep_both`, of the
    write or of the decision, keeps both; the decision wins over the write."""
    reviewer = dispute.world.reviewer(dispute.eve)
    review = dispute.lie()
    assert dispute.eve.review(review)["proposal"] == {"operation": "supersede", "items": [dispute.truth]}
    done = dispute.decide(reviewer, review)
    [old] = done["superseded"]
    assert (old["id"], old["text"]) == (dispute.truth, dispute.truth_text) and done["id"] != dispute.truth
    assert dispute.found() == {dispute.lives + "Paris."}
    history = dispute.bot.get(dispute.truth)
    assert history["status"] == "superseded" and history["valid_until"]
    assert dispute.liar.get(done["id"])["text"] == dispute.lives + "Paris."
    second = Dispute(dispute.world)
    reviewer = second.world.reviewer(second.eve)
    both = second.lie("Oslo", on_conflict="keep_both")
    assert second.eve.review(both)["proposal"]["operation"] == "insert"
    assert "superseded" not in second.decide(reviewer, both)
    assert second.found() == {second.truth_text, second.lives + "Oslo."}
    third = Dispute(dispute.world)
    reviewer = third.world.reviewer(third.eve)
    assert third.decide(reviewer, third.lie("Oslo", on_conflict="keep_both"), on_conflict="supersede")["superseded"]
    fourth = Dispute(dispute.world)
    reviewer = fourth.world.reviewer(fourth.eve)
    assert "superseded" not in fourth.decide(reviewer, fourth.lie("Oslo", on_conflict="supersede"), on_conflict="keep_both")
    reviewer.refused("POST", f"/v1/reviews/{random_id('rev')}:decide", {**YES, "on_conflict": "reject"}, status=422, code="SCHEMA_INVALID")


def test_rolled_back_lie_brings_no_foreign_text_into_its_item(dispute):
    """AM-22: rolling back what superseded another user's item never makes that user's words a version of the author's item."""
    reviewer = dispute.world.reviewer(dispute.eve)
    item = dispute.decide(reviewer, dispute.lie())["id"]
    assert dispute.eve.ask("POST", f"/v1/items/{item}:rollback", {})["status"] == "rolled_back_no_predecessor"
    dispute.eve.refused("GET", f"/v1/items/{item}", **MISSING)


def test_copy_for_others_takes_the_place_that_was_approved(dispute):
    """AM-3, SHARE-19: with tier auto the copy for others supersedes another user's item; what its user keeps is her own."""
    reviewer = dispute.world.reviewer(dispute.eve)
    done = dispute.decide(reviewer, dispute.lie("Kiel", tier="auto"))
    assert [one["id"] for one in done["superseded"]] == [dispute.truth]
    assert dispute.found() == {dispute.lives + "Kiel."}
    assert dispute.eve.get(done["id"])["tier"] == "private" and dispute.reader.get(done["shared_id"])["tier"] == "shared"


def test_keep_both_takes_one_path_to_the_shared_pool(dispute):
    """AM-3: an agent's `keep_both` against another user's shared item waits alike with tier shared, auto and both; private is free."""
    for tier, place in (("shared", "Bonn"), ("auto", "Ulm"), ("both", "Trier")):
        held = dispute.liar.held(dispute.lives + f"{place}.", tier=tier, on_conflict="keep_both")
        assert held["code"] == "CONTRADICTION", held
    assert dispute.found() == {dispute.truth_text}
    kept = dispute.liar.commits(dispute.lives + "Jena.", tier="private", on_conflict="keep_both")
    assert kept["contradictions"] and "shared_id" not in kept


def test_private_reviews_stay_with_their_user(standard):
    """GOV-6: a held change of one's own private memory is decided by its own user, as before."""
    ana, bot = standard.pair()
    lives = city()
    bot.commits(lives + "Berlin.", tier="private")
    assert ana.approves(bot.held(lives + "Paris.", tier="private", on_conflict="review")["pending_id"])["superseded"]


def test_what_was_moderated_waits_when_it_is_said_again(dispute):
    """AM-8: what a moderator retracted or put under quarantine is held when the same user says it again for others: word for word, in
    other dress, by another agent or the person herself, after a restart; private memory stays free, and other statements pass."""
    world, chief = dispute.world, dispute.world.chief
    name = novel(2)
    lie = f"The {name} bridge is closed to lorries."
    item = dispute.liar.commits(lie, tier="shared")["id"]
    assert chief.ask("DELETE", f"/v1/items/{item}?reason=poison")["status"] == "retracted"
    again = dispute.liar.held(lie, tier="shared")
    assert again["code"] == "MODERATED"
    assert dispute.eve.review(again["pending_id"])["reason"] == "moderated"
    dispute.eve.refused("POST", f"/v1/reviews/{again['pending_id']}:decide", YES, **SELF)
    second = world.agent(dispute.eve)
    for caller, text, tier in (
        (dispute.liar, lie.upper(), "shared"), (dispute.liar, f"  {lie[:-1]}!  ", "auto"), (second, lie, "shared"),
        (dispute.eve, f"The {name} bridge is now closed to lorries.", "shared"),
    ):  # fmt: skip
        assert caller.held(text, tier=tier)["code"] == "MODERATED", text
    assert dispute.liar.commits(lie, tier="private")
    assert dispute.liar.commits(f"The {novel(2)} tunnel is open to bikes.", tier="shared")
    assert dispute.bot.commits(lie, tier="shared"), "another user may say it"
    label = f"The {novel(1)} crate with the {novel(2)} parts for hall"
    wrong = dispute.liar.commits(f"{label} 12 left the yard on time.", tier="shared")["id"]
    chief.ask("DELETE", f"/v1/items/{wrong}?reason=false")
    assert dispute.liar.commits(f"{label} 15 left the yard on time.", tier="shared"), "another label is another thing"
    world.restart()
    again = dispute.liar.held(f"The {name} bridge is closed to lorries", tier="shared")
    assert again["code"] == "MODERATED"
    done = chief.ask("POST", f"/v1/reviews/{again['pending_id']}:decide", YES)
    assert done["status"] in ("committed", "merged")


@pytest.mark.parametrize(
    "dress",
    [
        lambda lie: {"text": "Yes, it is.", "key": lie},
        lambda lie: {"text": "See the note.", "fields": {"msg": lie}},
        lambda lie: {"text": "See the note.", "fields": {"notes": [{"said": lie}]}},
        lambda lie: {"text": "\u200b".join(lie)},
        lambda lie: {"text": lie.replace("bridge", "bri\u00addge").upper()},
        lambda lie: {"text": f"As everybody knows since the inspection of last week, {lie[:-1]}, so keep away."},
        lambda lie: {"text": f"Is {lie[:-1]}? Yes."},
    ],
)
def test_moderated_statement_waits_in_any_dress(dispute, dress):
    """AM-8: as a key, in a field, with characters that leave no mark, within a longer statement, or asked and affirmed."""
    lie = f"The {novel(2)} bridge is closed to lorries."
    item = dispute.liar.commits(lie, tier="shared")["id"]
    dispute.world.chief.ask("DELETE", f"/v1/items/{item}?reason=poison")
    said = dress(lie)
    assert dispute.liar.held(said.pop("text"), tier="shared", **said)["code"] == "MODERATED"


def test_honest_statement_in_the_words_of_a_moderated_one_passes(dispute):
    """AM-8: what names another number, name or place than a statement that was taken back is another statement, also within more."""
    place = novel(1).capitalize()
    lie = f"The crane 12 at {place} harbour lifts no containers."
    item = dispute.liar.commits(lie, tier="shared")["id"]
    dispute.world.chief.ask("DELETE", f"/v1/items/{item}?reason=false")
    for text in (
        lie.replace("12", "15"),
        lie.replace(place, novel(1).capitalize()),
        f"As the port authority says, {lie[:-1].replace('12', '17')}, until the spring.",
        f"{place} harbour has a new gate for lorries since May.",
    ):
        assert dispute.liar.commits(text, tier="shared"), text


def test_quarantined_statement_waits_until_it_is_released(dispute):
    """AM-8: the same of what is in quarantine; when that is lifted, nothing holds the statement any more."""
    lie = f"The {novel(2)} well is dry."
    item = dispute.liar.commits(lie, tier="shared")["id"]
    dispute.world.chief.ask("POST", f"/v1/items/{item}:quarantine", {"reason": "doubtful"})
    assert dispute.liar.held(lie.upper(), tier="shared")["code"] == "MODERATED"
    dispute.world.chief.ask("POST", f"/v1/items/{item}:release", {"reason": "checked"})
    status, answer, _ = dispute.liar.send(lie[:-1] + " again.", tier="shared")
    assert answer.get("code") != "MODERATED", answer


def test_statement_waits_however_much_was_moderated_since(alone):
    """AM-8: the very words of a statement that was taken back wait also when many others were taken back after it."""
    dispute = Dispute(alone("standard"))
    lies = [f"The {novel(2)} bridge is closed." for _ in range(70)]
    items = [dispute.liar.commits(lie, tier="shared")["id"] for lie in lies]
    for item in items:
        dispute.world.chief.ask("DELETE", f"/v1/items/{item}?reason=poison")
    dispute.world.clock.advance(minutes=1)
    dispute.world.chief.ask("POST", f"/v1/agents/{dispute.liar.name}:resume", {"reason": "looked at it"})
    for lie in lies[0], lies[-1]:
        assert dispute.liar.held(lie, tier="shared")["code"] == "MODERATED"
        assert dispute.liar.held(lie, tier="auto")["code"] == "MODERATED"


@pytest.mark.parametrize("act", ["retract", "quarantine"])
def test_other_words_bring_no_moderated_copy_back(dispute, act):
    """AM-8: when a moderator took the shared copy of an item out, a change of the item itself waits before others are given a copy anew,
    in whatever words. Once somebody said yes, it is changed as any other."""
    made = dispute.liar.commits(f"The {novel(2)} bridge is closed.", tier="auto")
    chief, copy = dispute.world.chief, made["shared_id"]
    if act == "retract":
        chief.ask("DELETE", f"/v1/items/{copy}?reason=poison")
    else:
        chief.ask("POST", f"/v1/items/{copy}:quarantine", {"reason": "doubtful"})

    def told(text):
        return text in [item["text"] for item in dispute.reader.search(text)]

    path, text = f"/v1/items/{made['id']}", f"Nobody crosses at {novel(3)} any more."
    dispute.liar.ask("PATCH", path, {"text": text}, expect=201)
    assert not told(text)
    text = f"Nobody walks over {novel(3)} any more."
    status, held, _ = dispute.liar.call("PATCH", path, {"text": text, "tier": "both"})
    assert (status, held.get("code")) == (202, "MODERATED"), held
    assert not told(text)
    done = chief.ask("POST", f"/v1/reviews/{held['pending_id']}:decide", YES)
    assert told(text) and dispute.reader.get(done["shared_id"])["text"] == text
    status, done, _ = dispute.liar.call("PATCH", path, {"text": f"{novel(3)} is a good place."})
    assert (status, done.get("status")) == (201, "committed"), done


def test_ones_own_clearing_up_holds_nothing(dispute):
    """AM-6: what a user takes back without a moderator may be said again."""
    text = f"The {novel(2)} gate is painted."
    item = dispute.liar.commits(text, tier="shared")["id"]
    dispute.eve.ask("DELETE", f"/v1/items/{item}?reason=typo")
    status, answer, _ = dispute.liar.send(text, tier="shared")
    assert answer.get("code") != "MODERATED", answer


def test_named_reviewer_sees_what_is_contradicted_if_it_is_shared(dispute):
    """AM-9: the review shows a named reviewer the shared item that the write speaks against, without an edge to it; another user's
    private item never."""
    reviewer = dispute.world.reviewer(dispute.eve)
    reviewer.refused("GET", f"/v1/items/{dispute.truth}", **MISSING)
    shown = reviewer.review(dispute.lie())
    assert [one["text"] for one in shown["contradictions"]] == [dispute.truth_text]
    own = city()
    dispute.liar.commits(own + "Oslo.", tier="private")
    held = dispute.liar.held(own + "Rome.", tier="private", on_conflict="review")["pending_id"]
    [against] = reviewer.review(held)["contradictions"]
    assert "text" not in against
    assert dispute.eve.review(held)["contradictions"][0]["text"] == own + "Oslo."


def test_console_decides_with_an_outcome(dispute):
    """GOV-6.4, AM-3: the page shows Ana the contradicted text and asks what becomes of it."""
    review = dispute.lie()
    server, key = dispute.world.server, dispute.ana.key
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    connection.request("POST", "/console/login", urlencode({"key": key}), headers)
    answer = connection.getresponse()
    answer.read()
    cookie = answer.getheader("set-cookie").split(";")[0]
    connection.request("GET", f"/console/reviews/{review}", headers={"Cookie": cookie})
    page = connection.getresponse().read().decode()
    assert 'name="on_conflict"' in page and "Berlin" in page and "Paris" in page
    value = lambda name: page.split(f'name="{name}" value="')[1].split('"')[0]  # noqa: E731
    form = {"form_token": value("form_token"), "content_hash": value("content_hash"), "reason": "both", "decision": "approve",
            "on_conflict": "keep_both", "category": ""}  # fmt: skip
    connection.request("POST", f"/console/reviews/{review}", urlencode(form), {**headers, "Cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 303 and answer.getheader("location").endswith("news=committed")
    assert dispute.found() == {dispute.truth_text, dispute.lives + "Paris."}


def test_persons_write_against_another_waits_for_a_moderator(dispute):
    """AM-4, AM-8: a person's own write that asks to replace another user's shared item is parked, as a moderator can decide on it."""
    held = dispute.eve.held(dispute.lives + "Lund.", tier="shared", on_conflict="supersede")
    assert held["code"] == "CONTRADICTION"
    done = dispute.decide(Caller(dispute.world.server, dispute.world.server.key), held["pending_id"])
    assert [one["id"] for one in done["superseded"]] == [dispute.truth]
