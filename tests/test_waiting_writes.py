"""Writes that wait for their turn or for a person: what they say is of the moment when they came in, and nothing of them is lost."""

import sqlite3
import time
import uuid

import pytest

from callers import Caller
from governed import eventually, novel
from test_facts_change import city, shares

ONE_A_MINUTE = "[6000,3000,1,60,20]"
FIVE_A_MINUTE = "[6000,3000,5,60,20]"


def busy(alone, **settings):
    """A world with room for one write a minute, a person and their agent, which has used it."""
    world = alone("standard", writes_per_minute=ONE_A_MINUTE, **settings)
    ana, bot = world.pair()
    bot.commits(novel())
    return world, ana, bot


def drained(bot):
    """Waits until nothing of this agent's is put off any more; what was refused meanwhile."""
    eventually(lambda: not [one for one in bot.kept() if one["state"] == "deferred"])
    return bot.kept()


# The moment at which something was said


@pytest.mark.parametrize("fields", [{}, {"tier": "shared", "on_conflict": "supersede"}], ids=["private", "shared"])
def test_queued_statement_does_not_replace_a_newer_one(alone, fields):
    """AM-3, AM-2: Berlin waits for its turn, Paris is said twenty seconds later; when the queue drains Paris still stands. Also after
    a restart the newer of the two is the one said later, and Rome, said last, replaces both."""
    world, ana, bot = busy(alone)
    shares(world, ana)
    lives = city()
    bot.put_off(lives + "Berlin.", **fields)
    world.clock.advance(seconds=20)
    paris = ana.commits(lives + "Paris.", **fields)
    world.clock.advance(seconds=60)
    assert drained(bot) == []
    assert ana.get(paris["id"])["status"] == "active", "what was said later is not replaced by what was said before"
    assert {lives + "Berlin.", lives + "Paris."} <= set(ana.texts())
    world.restart()
    world.clock.advance(seconds=60)
    rome = ana.commits(lives + "Rome.", **{**fields, "on_conflict": "supersede"})
    assert {one["text"] for one in rome["superseded"]} == {lives + "Berlin.", lives + "Paris."}


def test_pair_that_overtakes_its_own_queue_keeps_what_it_said_last(alone):
    """AM-3: the newest word stands, whether the older one of the same pair is written before or after it."""
    world, ana, bot = busy(alone)
    lives = city()
    bot.put_off(lives + "Berlin.")
    world.clock.advance(seconds=60)
    bot.send(lives + "Paris.")
    for _ in range(3):
        world.clock.advance(seconds=60)
        time.sleep(0.5)
    assert drained(bot) == []
    [paris] = [item for item in ana.items() if item["text"] == lives + "Paris."]
    assert paris["status"] == "active"


def test_held_statement_does_not_replace_what_was_said_since_unseen(alone):
    """AM-3: the yes to a held statement replaces what was said while it waited only once the person was shown that; a statement that
    was held is dated by when it came in, however long that took."""
    world = alone("standard")
    ana, bot = world.pair()
    lives = city()
    ana.commits(lives + "Rome.")
    berlin = bot.held(lives + "Berlin.", on_conflict="review")
    world.clock.advance(days=1)
    paris = ana.commits(lives + "Paris.")
    world.clock.advance(days=1)
    status, answer, _ = ana.decides(berlin["pending_id"])
    assert (status, answer["code"]) == (409, "VERSION_CONFLICT") and ana.get(paris["id"])["text"] == lives + "Paris."
    made = ana.approves(berlin["pending_id"], on_conflict="keep_both")
    assert "superseded" not in made and {lives + "Berlin.", lives + "Paris."} <= set(ana.texts())
    assert ana.get(made["id"])["updated_at"] == world.clock.text, "it is memory from the decision on"


def test_queued_replacement_of_a_version_that_is_newer_is_refused(alone):
    """AM-3, GOV-5.2: a PUT that waits does not write over what somebody said since; its author has it still."""
    world, ana, bot = busy(alone)
    made = ana.commits(novel())
    path, text = f"/v1/items/{made['id']}", novel()
    bot.ask("PUT", path, {"text": novel()}, expect=202)
    world.clock.advance(seconds=60)
    ana.ask("PUT", path, {"text": text}, expect=201)
    [kept] = drained(bot)
    assert (kept["state"], kept["code"]) == ("refused", "VERSION_CONFLICT")
    assert ana.get(made["id"])["text"] == text


def test_updates_of_one_agent_that_wait_follow_each_other(alone):
    """AM-3: two PUTs of the same agent that both wait are written in their order."""
    world, ana, bot = busy(alone)
    made = ana.commits(novel())
    path, texts = f"/v1/items/{made['id']}", [novel(), novel()]
    for text in texts:
        bot.ask("PUT", path, {"text": text}, expect=202)
        world.clock.advance(seconds=1)
    world.clock.advance(seconds=60)
    eventually(lambda: ana.get(made["id"])["text"] == texts[0])
    world.clock.advance(seconds=60)
    eventually(lambda: ana.get(made["id"])["text"] == texts[1])
    assert drained(bot) == []


def test_last_night_is_the_night_before_it_was_said(alone):
    """AM-2: what was put off at 23:59 speaks of the night before that moment, however late it is stored; said again the next evening it
    is a record of another night. `created_at` is when it became memory."""
    world, ana, bot = busy(alone)
    world.clock.advance(hours=23, minutes=58)
    bot.commits(novel())
    world.clock.advance(seconds=59)
    text = f"{novel(1).capitalize()} slept badly last night."
    bot.put_off(text)
    world.clock.advance(seconds=61)
    [first] = eventually(lambda: [item for item in ana.items() if item["text"] == text])
    assert first["created_at"] >= "2050-01-02"
    world.restart()
    world.clock.advance(hours=12)
    assert ana.commits(text)["id"] != first["id"], "another night"


# Nothing written is lost


def test_queue_drains_however_low_the_rate_is(alone):
    """AM-7, AM-10: with room for five a minute, of a batch of 45 lines none is refused, however often it is tried."""
    world = alone("standard", writes_per_minute=FIVE_A_MINUTE)
    ana, bot = world.pair()
    lines = bot.batch({"text": novel()} for _ in range(45))
    assert [line["status"] for line in lines] == ["committed"] * 5 + ["deferred"] * 40
    for minute in range(2, 10):
        world.clock.advance(seconds=60)
        eventually(lambda minute=minute: sum(1 for _ in bot.items()) == 5 * minute)
    eventually(lambda: bot.kept() == [])


def test_queue_drains_in_its_order(alone):
    """AM-10: what came first is committed first, over several rounds without room for all."""
    world = alone("standard", writes_per_minute=FIVE_A_MINUTE)
    ana, bot = world.pair()
    texts = [novel() for _ in range(25)]
    for text in texts[:5]:
        bot.commits(text)
    for text in texts[5:]:
        world.clock.advance(seconds=1)
        bot.put_off(text)
    for minute in range(2, 6):
        world.clock.advance(seconds=60)
        eventually(lambda minute=minute: set(bot.texts()) == set(texts[: 5 * minute]))


def patched(ana, bot):
    """An item, and the way to patch it."""
    made = ana.commits(novel(), tags=["old"], fields={"a": 1, "b": 1})
    return made["id"], lambda author, expect, **body: author.ask("PATCH", f"/v1/items/{made['id']}", body, expect=expect)


def test_queued_patch_is_merged_into_what_was_written_since(alone):
    """AM-10: a patch that waits changes its own fields alone, whatever else of the item changed meanwhile; sent again with its request
    id it is known."""
    world, ana, bot = busy(alone)
    id, patch = patched(ana, bot)
    request = str(uuid.uuid4())
    waits = patch(bot, 202, tags=["new"], fields={"a": 2}, request_id=request)
    world.clock.advance(seconds=59)
    eventually(lambda: patch(ana, 201, confidence=0.6, fields={"b": 2}) if world.clock.advance(seconds=1) else None)
    again = bot.call("PATCH", f"/v1/items/{id}", {"tags": ["new"], "fields": {"a": 2}, "request_id": request})[1]
    assert again.get("pending_id", again.get("id")) in (waits["pending_id"], id), again
    assert drained(bot) == []
    item = ana.get(id)
    assert (item["tags"], item["fields"], item["confidence"]) == (["new"], {"a": 2, "b": 2}, 0.6)


def test_queued_patch_of_a_field_that_changed_since_is_refused(alone):
    """AM-3, AM-10: the newer word on a field stands; the author of the patch has it still."""
    world, ana, bot = busy(alone)
    id, patch = patched(ana, bot)
    world.clock.advance(seconds=60)
    bot.commits(novel())
    patch(bot, 202, tags=["new"])
    patch(ana, 201, tags=["newer"])
    world.clock.advance(seconds=60)
    [kept] = drained(bot)
    assert (kept["state"], kept["code"]) == ("refused", "VERSION_CONFLICT") and ana.get(id)["tags"] == ["newer"]


def test_held_patch_can_be_approved_after_another_change(alone):
    """AM-10: the yes to a held patch changes what the patch names, in the item as it is by then."""
    world = alone("standard")
    ana, bot = world.pair()
    text = novel()
    made = bot.approved(text, layer="semantic", evidence=[world.said(text)])
    held = bot.ask("PATCH", f"/v1/items/{made['id']}", {"tags": ["new"]}, expect=202)
    ana.ask("PATCH", f"/v1/items/{made['id']}", {"fields": {"a": 1}}, expect=201)
    assert ana.approves(held["pending_id"])["id"] == made["id"]
    item = ana.get(made["id"])
    assert (item["tags"], item["fields"], item["text"]) == (["new"], {"a": 1}, text)


def test_request_id_that_waits_is_taken(alone):
    """AM-10, GOV-1.7: while a write waits, its request id with other content is refused, and with the same content it is that write."""
    world, ana, bot = busy(alone)
    text, request = novel(), str(uuid.uuid4())
    waits = bot.put_off(text, request_id=request)
    assert bot.put_off(text, request_id=request)["pending_id"] == waits["pending_id"]
    bot.turned_down(novel(), request_id=request, status=409, code="REQUEST_ID_REUSED", gate="preflight")
    world.clock.advance(seconds=60)
    eventually(lambda: text in bot.texts())
    assert [one["state"] for one in drained(bot)] == ["refused"]


def leave(world, ana, bot):
    world.chief.ask("POST", f"/v1/users/{ana.name}:disable", {})
    yield "USER_DISABLED"
    world.chief.ask("POST", f"/v1/users/{ana.name}:enable", {})


def suspension(world, ana, bot):
    world.chief.ask("POST", f"/v1/agents/{bot.name}:suspend", {"reason": "odd"})
    yield "WRITES_SUSPENDED"
    world.chief.ask("POST", f"/v1/agents/{bot.name}:resume", {"reason": "fine"})


def retirement(world, ana, bot):
    world.chief.ask("POST", f"/v1/agents/{bot.agent}:retire", {"reason": "old"})
    yield "AGENT_NOT_GRANTED"
    world.chief.ask("POST", f"/v1/agents/{bot.agent}:activate", {"reason": "new"})


@pytest.mark.parametrize("absence", [leave, suspension, retirement])
def test_write_waits_while_its_author_may_not_write(alone, absence):
    """AM-10: what waits of a user on leave, or of an agent that is suspended or retired, is not committed meanwhile, and commits by
    itself when they may write again."""
    world, ana, bot = busy(alone)
    text = novel()
    assert bot.agent, "known before it may not act any more"
    bot.put_off(text)
    away = absence(world, ana, bot)
    code = next(away)
    for _ in range(8):
        world.clock.advance(minutes=5)
        time.sleep(0.3)
    assert next(away, None) is None
    [kept] = bot.kept()
    assert (kept["state"], kept["code"], kept["attempts"]) == ("deferred", code, 0)
    assert text not in ana.texts()
    world.clock.advance(minutes=1)
    eventually(lambda: text in ana.texts())
    assert drained(bot) == []


def test_queued_write_of_a_revoked_key_is_refused(alone):
    """AM-10, AM-26: what came with a key that was revoked since is not committed, and its author has it still."""
    world, ana, bot = busy(alone)
    text = novel()
    bot.put_off(text)
    agent = bot.agent
    [mine] = [row["id"] for row in world.chief.ask("GET", "/v1/keys")["keys"] if row.get("agent") == agent]
    key = world.chief.ask("POST", "/v1/keys", {"user": ana.name, "agent": bot.name}, expect=201)["key"]
    world.chief.ask("DELETE", f"/v1/keys/{mine}")
    world.clock.advance(minutes=1)
    again = Caller(world.server, key)
    [kept] = eventually(lambda: [one for one in again.ask("GET", "/v1/writes")["writes"] if one["state"] == "refused"])
    assert kept["code"] == "UNAUTHENTICATED" and text not in ana.texts()


def test_queued_write_that_cannot_be_read_is_kept_and_counted(alone):
    """AM-10: a damaged row of the queue is neither dropped nor does it stop the others."""
    world, ana, bot = busy(alone)
    damaged, fine = novel(), novel()
    bot.put_off(damaged)
    world.clock.advance(seconds=1)
    bot.put_off(fine)
    world.server.kill()
    [file] = (world.server.data_dir / "tenants").glob("*/kept.db")
    with sqlite3.connect(file) as database:
        rows = "SELECT id FROM kept ORDER BY made LIMIT 1"
        assert database.execute(f"UPDATE kept SET closed = x'00' WHERE id IN ({rows})").rowcount == 1
    world.server.start()
    world.clock.advance(minutes=2)
    eventually(lambda: fine in ana.texts())
    eventually(lambda: "tabellion_kept_unreadable_total 1" in world.server.call("GET", "/metrics")[1])
    with sqlite3.connect(file) as database:
        still_due = "SELECT count(*) FROM kept WHERE due IS NOT NULL"
        eventually(lambda: database.execute(still_due).fetchone() == (1,))


# What a patch does not mention


def test_patch_of_the_text_ends_the_triple_of_the_old_text(alone):
    """AM-10: a triple says in parts what the text says: with another text and no word of the triple it is gone."""
    world = alone("standard")
    ana, bot = world.pair()
    thing = novel(1)
    triple = lambda port: {"subject": thing, "predicate": "port", "object": port}
    made = ana.commits(f"{thing} listens on 8080", triple=triple("8080"))
    patch = lambda **body: ana.ask("PATCH", f"/v1/items/{made['id']}", body, expect=201) and ana.get(made["id"])
    assert patch(tags=["net"])["triple"] == triple("8080")
    assert patch(text=f"{thing} listens on 9090").get("triple") is None
    after = patch(text=f"{thing} listens on 7070", triple=triple("7070"))
    assert (after["text"], after["triple"]) == (f"{thing} listens on 7070", triple("7070"))


def test_patch_widens_no_resources(alone):
    """AM-12: an agent whose word is taken said that an item used no resource; a patch that says nothing of them leaves that so."""
    world = alone("standard")
    ana = world.person()
    kb, name = f"kb-{novel(1)}", f"agent-{novel(1)}"
    resource = world.chief.ask("POST", "/v1/resources", {"name": kb, "kind": "kb_search"}, expect=201)["id"]
    agent = world.chief.ask("POST", "/v1/agents", {"name": name, "trust_declared": True}, expect=201)["id"]
    world.chief.call("POST", f"/v1/edges/ar/{agent}/{resource}", {})
    bot = Caller(world.server, world.chief.ask("POST", "/v1/keys", {"user": ana.name, "agent": name}, expect=201)["key"])
    for declared, carried in ([], []), ([kb], [resource]):
        made = bot.write(novel(), resources=declared)
        bot.ask("PATCH", f"/v1/items/{made['id']}", {"tags": ["x"]}, expect=201)
        assert bot.get(made["id"])["resources"] == carried
    bot.ask("PATCH", f"/v1/items/{made['id']}", {"tags": ["y"], "resources": None}, expect=201)
    assert bot.get(made["id"])["resources"] == [resource]
