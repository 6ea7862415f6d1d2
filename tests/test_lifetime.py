"""How long items live, what a pin does, and which moments can be asked for, through the built binary."""

from datetime import datetime, timedelta

import pytest

from callers import Caller, Clock, admin, new_caller, rfc3339
from governed import novel, triple
from server import Server


def world(bin, path, policy):
    return Server(bin, path, env={"TABELLION_GOVERNANCE__POLICY": policy}, args=["--test-clock"])


@pytest.mark.parametrize("policy", ["open", "standard"])
def test_an_episodic_item_stays_unless_it_is_given_a_ttl(bin, tmp_path, policy):
    """AM-1: no lifetime by default under `open` and `standard`; a ttl still ends an item, and a session item still ends."""
    with world(bin, tmp_path / "data", policy) as server:
        clock, ana = Clock(server), new_caller(server)
        stays, goes = ana.write(f"{novel()} heron"), ana.write(f"{novel()} heron", ttl="P90D")
        session = ana.write("a session note", layer="session")
        assert ana.get(stays["id"])["expires_at"] is None
        assert ana.get(session["id"])["expires_at"] == rfc3339(clock.now + timedelta(hours=8))
        clock.advance(days=10 * 365)
        assert ana.get(stays["id"])["status"] == "active"
        assert ana.found("heron") == [stays["id"]]
        ana.refused("GET", f"/v1/items/{goes['id']}", status=404, code="NOT_FOUND")


def test_strict_keeps_the_lifetime_of_its_table(strict):
    """AM-1, GOV-1.4: under `strict` an episodic item lives for 90 days, as does a write that asks for `strict` by itself."""
    _, bot = strict.pair()
    made = bot.supported(novel())
    assert bot.get(made["id"])["expires_at"] == rfc3339(strict.clock.now + timedelta(days=90))


LIVES = {"PT1H": timedelta(hours=1), "P30D": timedelta(days=30)}


@pytest.mark.parametrize("layer", ["episodic", "semantic"])
@pytest.mark.parametrize("known, came, ends", [
    (None, "PT1H", None), ("P30D", None, "P30D"), ("PT1H", "P30D", "P30D"), ("P30D", "PT1H", "P30D"), (None, None, None),
])  # fmt: skip
def test_a_merge_keeps_the_lifetime_of_what_is_known(clock, layer, known, came, ends):
    """AM-1: what is merged into an item keeps that item's end, unless it names a ttl: then the later of the two holds, and no end is
    the latest."""
    ana, thing, made = new_caller(clock.server), novel(1), clock.now
    body = {"text": f"{thing} is red", "triple": triple(thing, "colour", "red"), "layer": layer}
    first = ana.write(**body, fields={"a": 1}, ttl=known)
    status, merged, _ = ana.call("POST", "/v1/items", {**body, "fields": {"b": 2}, "ttl": came})
    assert (status, merged["status"], merged["id"]) == (200, "merged", first["id"]), merged
    assert ana.get(first["id"])["expires_at"] == (rfc3339(made + LIVES[ends]) if ends else None)
    clock.advance(hours=2)
    assert ana.get(first["id"])["fields"] == {"a": 1, "b": 2}


@pytest.mark.parametrize("hours, back", [(0, True), (2, False)])
@pytest.mark.parametrize("undo", ["rollback", "revert"])
def test_what_is_past_its_lifetime_does_not_come_back(clock, undo, hours, back):
    """AM-8: taking a version back leaves the item as if it had never been written: one before it whose lifetime is over does not come
    back, and the answer says so; one that still lives comes back with its own end."""
    ana, chief, began = new_caller(clock.server), admin(clock.server), clock.text
    name = f"agent-{novel(1)}"
    chief.ask("POST", "/v1/agents", {"name": name}, expect=201)
    bot = Caller(clock.server, chief.ask("POST", "/v1/keys", {"user": ana.name, "agent": name}, expect=201)["key"])
    ends = rfc3339(clock.now + timedelta(hours=1))
    first = ana.write(text := novel(), ttl="PT1H")
    bot.ask("PUT", f"/v1/items/{first['id']}", {"text": novel()}, expect=201)
    clock.advance(hours=hours)
    if undo == "rollback":
        done = ana.ask("POST", f"/v1/items/{first['id']}:rollback", {"reason": "not so"})
        assert done["status"] == ("rolled_back_with_reactivation" if back else "rolled_back_no_predecessor")
    else:
        clock.advance(seconds=1)
        done = ana.ask("POST", f"/v1/agents/{name}:revert", {"since": began, "reason": "odd"})
        assert (done["rolled_back"], done["retracted"]) == ((1, 0) if back else (0, 1)), done
    if back:
        item = ana.get(first["id"])
        assert (item["text"], item["expires_at"]) == (text, ends)
    else:
        ana.refused("GET", f"/v1/items/{first['id']}", status=404, code="NOT_FOUND")


def test_a_pin_outlasts_a_lifetime(clock):
    """AM-1: a pinned item does not expire: it is read, listed, found and updated, also as of a moment and after a restart; it
    expires when it is unpinned, and history shows it as it stood."""
    server, ana = clock.server, new_caller(clock.server)
    pinned, other = ana.write("the spare key is a heron", ttl="PT1H"), ana.write("the door is a heron", ttl="PT1H")
    path = f"/v1/items/{pinned['id']}"
    clock.advance(minutes=30)
    ana.ask("POST", f"{path}:pin", {"reason": "needed"})
    clock.advance(hours=2)
    held = clock.text

    def stands():
        item = ana.get(pinned["id"])
        assert (item["status"], item["pinned"]) == ("active", True)
        assert ana.found("heron") == [pinned["id"]]
        assert [one["id"] for one in ana.ask("GET", "/v1/items")["items"]] == [pinned["id"]]
        [version] = ana.versions(pinned["id"]).values()
        assert (version["status"], version["ended_at"]) == ("active", None)
        ana.refused("GET", f"/v1/items/{other['id']}", status=404, code="NOT_FOUND")

    stands()
    assert server.stop() == 0
    server.start()
    clock.set(clock.now)
    stands()
    clock.advance(hours=1)
    ana.ask("POST", f"{path}:unpin", {"reason": "no more"})
    ana.refused("GET", path, status=404, code="NOT_FOUND")
    assert ana.found("heron") == []
    [version] = ana.versions(pinned["id"]).values()
    assert (version["status"], version["ended_at"]) == ("expired", clock.text)
    assert ana.get(pinned["id"], f"?as_of={held}")["pinned"] is True
    assert ana.found("heron", as_of=held) == [pinned["id"]]


def test_a_pinned_item_is_replayed_as_long_as_it_stands(clock):
    """AM-1, GOV-1.7: a retry of a pinned item's write is answered with it after its lifetime, too."""
    ana = new_caller(clock.server)
    first = ana.write("the spare key is here", ttl="PT1H")
    ana.ask("POST", f"/v1/items/{first['id']}:pin", {"reason": "needed"})
    clock.advance(hours=2)
    again = ana.ask("POST", "/v1/items", {"text": "the spare key is here", "ttl": "PT1H"})
    assert (again["status"], again["id"]) == ("already_committed", first["id"])


def test_an_expired_item_cannot_be_pinned(clock):
    """AM-1: a pin keeps what is there and brings nothing back; a later pin of another item changes nothing for it."""
    ana = new_caller(clock.server)
    written = ana.write("the spare key is here", ttl="PT1H")
    clock.advance(hours=1)
    ana.refused("POST", f"/v1/items/{written['id']}:pin", {"reason": "late"}, status=404, code="NOT_FOUND")
    ana.refused("GET", f"/v1/items/{written['id']}", status=404, code="NOT_FOUND")


def test_a_pin_stops_decay(clock):
    """AM-1: of two items that say as much, the pinned one ranks as if it were new, however old both are."""
    ana = new_caller(clock.server)
    old = ana.write("the heron nests by the lake")
    ana.ask("POST", f"/v1/items/{old['id']}:pin", {"reason": "needed"})
    clock.advance(days=300)
    new = ana.write("the lake: by it nests the heron")
    clock.advance(days=60)
    found = {one["id"]: one["score"] for one in ana.search("heron nests lake", mode="hybrid")}
    assert found[old["id"]] > found[new["id"]], found


@pytest.mark.parametrize("ttl, ends", [
    ("P1Y", "2051-01-31T09:00:00.000000Z"), ("P1M", "2050-02-28T09:00:00.000000Z"),
    ("P2W", "2050-02-14T09:00:00.000000Z"), ("P1Y2M3DT4H", "2051-04-03T13:00:00.000000Z"),
    ("PT90S", "2050-01-31T09:01:30.000000Z"), ("P1000Y", "3050-01-31T09:00:00.000000Z"),
])  # fmt: skip
def test_a_ttl_counts_by_the_calendar(clock, ttl, ends):
    """AM-1: years, months and weeks are durations too; a day that a month lacks is its last."""
    clock.set(datetime.fromisoformat("2050-01-31T09:00:00+00:00"))
    ana = new_caller(clock.server)
    assert ana.get(ana.write("the heron is away", ttl=ttl)["id"])["expires_at"] == ends


@pytest.mark.parametrize("ttl", ["P1001Y", "P99999999999Y", "P400000D", "P0Y", "-P1Y", "P", "1 year", "P1Y-1M", "PT0S"])
def test_a_ttl_beyond_its_bounds_is_refused(ana, ttl):
    """AM-1: a lifetime is positive and at most 1,000 years; the refusal names the field and what would pass."""
    refused = ana.refused("POST", "/v1/items", {"text": "the heron is away", "ttl": ttl}, status=422, code="SCHEMA_INVALID")
    [fault] = refused["errors"]
    assert fault["path"] == "/ttl" and "P1Y" in fault["expected"], refused


def test_a_policy_takes_calendar_durations(chief):
    """AM-1: what takes a duration takes years and months everywhere."""
    policy = {"kind": "read", "scope": {"user": "nobody-yet"}, "limits": {"max_age": "P1Y"}}
    status, answer, _ = chief.call("PUT", "/v1/policies/calendar-age", policy)
    assert "/limits/max_age" not in str(answer), answer


@pytest.mark.parametrize("moment", ["2099-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_moment_to_come_is_answered_as_the_present(clock, moment):
    """AM-1: nothing is known of the future, so `as_of` a time to come is the present: what has a lifetime left is there."""
    ana = new_caller(clock.server)
    written = ana.write("the heron is here", ttl="P1D")
    assert ana.get(written["id"], f"?as_of={moment}")["status"] == "active"
    assert ana.found("heron", as_of=moment) == [written["id"]]
    clock.advance(days=1)
    ana.refused("GET", f"/v1/items/{written['id']}?as_of={moment}", status=404, code="NOT_FOUND")


@pytest.mark.parametrize("moment", ["10000-01-01T00:00:00Z", "+12026-01-01T00:00:00Z", "99999999999"])
def test_a_moment_that_is_no_time_is_refused(ana, moment):
    """AM-1: a time beyond the year 9999 has no form in RFC 3339: the refusal says what would pass."""
    written = ana.write(novel())
    refused = ana.refused("GET", f"/v1/items/{written['id']}?as_of={moment.replace('+', '%2B')}", status=422, code="TOKEN_INVALID")
    assert "RFC 3339" in refused["errors"][0]["expected"], refused
