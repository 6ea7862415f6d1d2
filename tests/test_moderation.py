"""Moderation: what an admin does about what others share, and what stays closed to it (AM-8)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from callers import Caller, new_caller, random_id, rfc3339
from grpc_caller import GrpcCaller, Refused
from test_access import MISSING
from test_cli import Cli
from test_sharing import Team, unique

FORBIDDEN = {"status": 403, "code": "FORBIDDEN"}
INVALID = {"status": 422, "code": "SCHEMA_INVALID"}
WHY = "reported+by+a+reader"


@pytest.fixture
def team(server):
    return Team(server)


def since(team):
    """The period of a revert that holds all of a test."""
    return rfc3339(datetime.now(UTC) - timedelta(hours=1))


def rows(caller, action):
    return [row for row in caller.ask("GET", f"/v1/audit?action={action}&limit=100")["rows"]]


def shared(team, caller, text, **fields):
    """An item that its contributor shares and keeps no private copy of."""
    return caller.write(text, tier="shared", **fields)["id"]


def test_a_moderator_reads_what_others_share(team):
    """AM-8: with a reason, an admin lists, reads, searches and sees the history of shared items of agents and resources that the
    admin has no edge to; without one, the same ids are missing."""
    text = unique("The well is poisoned")
    item = shared(team, team.one, text)
    chief = team.chief
    chief.refused("GET", f"/v1/items/{item}", **MISSING)
    assert item not in [row["id"] for row in chief.ask("GET", "/v1/items?limit=500")["items"]]
    assert chief.search(text) == []
    assert chief.get(item, f"?moderate={WHY}")["text"] == text
    listed = chief.ask("GET", f"/v1/items?limit=500&moderate={WHY}")["items"]
    assert item in [row["id"] for row in listed] and {row["tier"] for row in listed} == {"shared"}
    assert chief.found(text, moderate="reported by a reader") == [item]
    assert len(chief.ask("GET", f"/v1/items/{item}/versions?moderate={WHY}")["versions"]) == 1
    assert chief.ask("GET", f"/v1/items/{item}/provenance?moderate={WHY}")["memory_item_id"] == item
    chief.refused("GET", f"/v1/items/{item}", **MISSING)
    assert chief.search(text) == [], "what was read as a moderator is not kept for later reads"


def test_each_moderated_read_and_act_is_audited_with_its_reason(team):
    """AM-8: every read and every act as a moderator is a row of its own, with the reason; other rows carry none."""
    item = shared(team, team.one, unique("A row for each"))
    chief = team.chief
    chief.get(item, f"?moderate={WHY}")
    chief.ask("GET", f"/v1/items?moderate={WHY}")
    chief.search("row", moderate="reported by a reader")
    chief.ask("GET", f"/v1/items/{item}/versions?moderate={WHY}")
    chief.ask("POST", f"/v1/items/{item}:quarantine", {"reason": "it smells"})
    chief.ask("POST", f"/v1/items/{item}:release", {"reason": "it does not"})
    chief.ask("DELETE", f"/v1/items/{item}?reason=poison")
    for action, reason in (
        ("get", "reported by a reader"), ("list", "reported by a reader"), ("search", "reported by a reader"),
        ("versions", "reported by a reader"), ("quarantine", "it smells"), ("release", "it does not"), ("retract", "poison"),
    ):  # fmt: skip
        [row] = [row for row in rows(chief, action) if "reason" in row]
        assert row["reason"] == reason and row["outcome"] != "NOT_FOUND", row
        assert action in ("list", "search") or item in row["ids"], row
    assert "reason" not in rows(chief, "create_user")[0]
    assert chief.ask("POST", "/v1/audit:verify")["ok"]


def test_no_private_item_is_ever_moderated(team):
    """AM-8, SHARE-41: a private id answers a moderator exactly as a missing one does, in every read and act; a list and a search
    show none, not even the moderator's own."""
    text = unique("For myself alone")
    private, missing = team.one.write(text, tier="private")["id"], random_id()
    chief = team.chief
    own = chief.write(unique("The admin's own"), tier="private")["id"]

    def answers(id):
        asked = [
            ("GET", f"/v1/items/{id}?moderate={WHY}", None), ("GET", f"/v1/items/{id}/versions?moderate={WHY}", None),
            ("GET", f"/v1/items/{id}/provenance?moderate={WHY}", None), ("DELETE", f"/v1/items/{id}?reason=r", None),
            ("DELETE", f"/v1/items/{id}", None), ("POST", f"/v1/items/{id}:quarantine", {"reason": "r"}),
            ("POST", f"/v1/items/{id}:quarantine", {}), ("POST", f"/v1/items/{id}:release", {"reason": "r"}),
        ]  # fmt: skip
        found = []
        for method, path, body in asked:
            status, answer, _ = chief.call(method, path, body)
            found.append((method, path.replace(id, "ID"), status, {**answer, "request_id": None}))
        return found

    assert answers(private) == answers(missing)
    assert all(status == 404 for _, _, status, _ in answers(private))
    chief.refused("GET", f"/v1/items/{own}?moderate={WHY}", **MISSING)
    listed = chief.ask("GET", f"/v1/items?limit=500&moderate={WHY}")["items"]
    assert not {private, own} & {row["id"] for row in listed}
    assert chief.search(text, moderate="look") == []
    assert chief.search(text, moderate="look", tier="private") == []
    assert team.one.get(private)["status"] == "active"


def test_only_a_person_with_the_power_moderates(team):
    """AM-8: a member gets the same refusal for every id, an agent of an admin never moderates, and a role of the tenant's own gives
    the power."""
    item = shared(team, team.one, unique("Who may look"))
    member = new_caller(team.server)
    for id in (item, random_id()):
        member.refused("GET", f"/v1/items/{id}?moderate={WHY}", **FORBIDDEN)
        member.refused("DELETE", f"/v1/items/{id}?reason=r", **MISSING)
        member.refused("POST", f"/v1/items/{id}:quarantine", {"reason": "r"}, **MISSING)
    admin_id = team.chief.ask("GET", "/v1/whoami")["user"]["id"]
    agent = team.agent()
    made = team.chief.ask("POST", "/v1/keys", {"user": admin_id, "agent": agent}, expect=201)
    by_agent = Caller(team.server, made["key"])
    for id in (item, random_id()):
        by_agent.refused("GET", f"/v1/items/{id}?moderate={WHY}", **FORBIDDEN)
        by_agent.refused("POST", f"/v1/items/{id}:quarantine", {"reason": "r"}, **MISSING)
        by_agent.refused("DELETE", f"/v1/items/{id}?reason=r", **MISSING)
    team.chief.ask("PUT", "/v1/roles/wardens", {"actions": ["moderate"]})
    team.chief.ask("PUT", f"/v1/roles/wardens/members/{member.user}", {})
    assert member.get(item, f"?moderate={WHY}")["id"] == item
    assert member.ask("DELETE", f"/v1/items/{item}?reason=poison")["status"] == "retracted"
    other = new_caller(team.server)
    team.chief.ask("PUT", f"/v1/roles/moderator/members/{other.user}", {})
    assert other.ask("GET", f"/v1/items?moderate={WHY}")["items"] == []


def test_moderating_needs_a_reason(team):
    """AM-8: neither a read nor an act of a moderator goes without a reason; the answer names where it belongs."""
    item = shared(team, team.one, unique("Why this one"))
    chief = team.chief
    for path in ("", "/versions", "/provenance"):
        refused = chief.refused("GET", f"/v1/items/{item}{path}?moderate=+", **INVALID)
        assert refused["errors"][0]["path"] == "/query/moderate"
    assert chief.refused("POST", "/v1/search", {"query": "why", "moderate": ""}, **INVALID)["errors"][0]["path"] == "/moderate"
    chief.refused("GET", f"/v1/items/{item}?moderate={'x' * 1025}", **INVALID)
    assert chief.refused("DELETE", f"/v1/items/{item}", **INVALID)["errors"][0]["path"] == "/query/reason"
    assert chief.refused("POST", f"/v1/items/{item}:quarantine", {}, **INVALID)["errors"][0]["path"] == "/reason"
    assert team.two.get(item)["status"] == "active"


def test_a_moderator_takes_shared_items_out_of_search(team):
    """AM-8: quarantine hides an item of anybody, release brings it back, retracting ends it; its contributor's private copy stays."""
    text = unique("The bridge is closed")
    written = team.one.write(text)
    chief, item = team.chief, written["shared_id"]
    done = chief.ask("POST", f"/v1/items/{item}:quarantine", {"reason": "doubtful"})
    assert (done["status"], done["id"]) == ("quarantined", item)
    assert team.two.found(text) == []
    chief.ask("POST", f"/v1/items/{item}:release", {"reason": "checked"})
    assert team.two.found(text) == [item]
    assert chief.ask("DELETE", f"/v1/items/{item}?reason=false")["status"] == "retracted"
    assert team.two.found(text) == []
    assert team.one.get(written["id"])["text"] == text


def test_read_policies_hold_for_moderators(team):
    """AM-8: what a policy redacts or blocks for the moderator stays redacted or hidden."""
    plain = [{"step": "anonymise"}]
    team.policy("share-all", {"kind": "write_shared", "share": "on", "steps": plain})
    item = shared(team, team.one, unique("Write to jo.doe@example.org"))
    label = shared(team, team.one, unique("Not for the board"), tags=["label:board"])
    assert "jo.doe" in team.chief.get(item, f"?moderate={WHY}")["text"]
    team.policy("blank", {"kind": "read", "steps": [{"step": "redact"}, {"step": "block", "labels": ["board"]}]})
    shown = team.chief.get(item, f"?moderate={WHY}")["text"]
    assert "jo.doe" not in shown and "[REDACTED:email]" in shown
    team.chief.refused("GET", f"/v1/items/{label}?moderate={WHY}", **MISSING)
    assert label not in [row["id"] for row in team.chief.ask("GET", f"/v1/items?limit=500&moderate={WHY}")["items"]]


def test_reverting_reaches_all_that_an_agent_shared(team):
    """AM-8: an admin reverts an agent that it has no edge to: items that it wrote for several users, and what others derived from
    them, are gone; good versions that it wrote over come back; nobody's private items are touched or named."""
    begin = rfc3339(datetime.now(UTC))
    good_text = unique("The ferry sails at nine")
    honest = team.agent()
    team.grant("ar", honest, team.resource_id)
    colleague = team.pair(team.people[0], honest)
    good = shared(team, colleague, good_text)
    from_here = rfc3339(datetime.now(UTC))
    over = team.one.ask("PUT", f"/v1/items/{good}", {"text": unique("The ferry never sails"), "tier": "shared"}, expect=201)
    over_again = team.one.ask("PUT", f"/v1/items/{good}", {"text": unique("The ferry sank"), "tier": "shared"}, expect=201)
    lies = [shared(team, caller, unique("A lie")) for caller in (team.one, team.two, team.one)]
    private = team.two.write(unique("Between us"), tier="private")["id"]
    team.grant("ua", team.people[1].user, honest)
    reader = team.pair(team.people[1], honest)
    reader.get(lies[0])
    body = {"since": from_here, "reason": "it was hacked"}
    path = f"/v1/agents/{team.agent_id}:revert"
    plan = team.chief.ask("POST", path, {**body, "dry_run": True})
    assert sorted(plan["written"]) == sorted([good, *lies]) and private not in json.dumps(plan)
    assert (plan["retracted"], plan["rolled_back"], plan["skipped"]) == (0, 0, [])
    assert over["id"] == over_again["id"] == good
    done = team.chief.ask("POST", path, body)
    assert (done["retracted"], done["rolled_back"], done["skipped"]) == (3, 1, []), done
    assert reader.get(good)["text"] == good_text
    for lie in lies:
        team.two.refused("GET", f"/v1/items/{lie}", **MISSING)
    assert team.two.get(private)["status"] == "active"
    again = team.chief.ask("POST", path, body)
    assert (again["written"], again["derived"], again["retracted"], again["rolled_back"]) == ([], [], 0, 0)
    assert begin < from_here and team.chief.ask("POST", "/v1/audit:verify")["ok"]
    whys = {row["reason"] for row in rows(team.chief, "revert")}
    assert whys == {"it was hacked"}


def test_reverting_without_the_power_takes_back_ones_own_and_says_what_it_left(team):
    """AM-8: who does not moderate reverts their own items; others' are left and named with the reason, and nothing stops half-way."""
    mine = [shared(team, team.one, unique("Mine")) for _ in range(2)]
    theirs = shared(team, team.two, unique("Theirs"))
    mine.append(shared(team, team.one, unique("Mine as well")))
    body = {"since": since(team), "reason": "odd"}
    done = team.people[0].ask("POST", f"/v1/agents/{team.agent_id}:revert", body)
    assert done["retracted"] == 3, done
    [left] = done["skipped"]
    assert (left["id"], left["code"]) == (theirs, "NOT_CONTRIBUTOR") and left["message"]
    assert team.two.get(theirs)["status"] == "active"
    finished = team.chief.ask("POST", f"/v1/agents/{team.agent_id}:revert", body)
    assert (finished["written"], finished["retracted"], finished["skipped"]) == ([theirs], 1, [])


def test_moderation_over_grpc_and_on_the_command_line(team, bin):
    """AM-8: gRPC and the command line moderate as REST does."""
    text = unique("Seen from everywhere")
    item = shared(team, team.one, text)
    with GrpcCaller(team.server, team.server.key) as grpc:
        with pytest.raises(Refused) as refused:
            grpc.call("Get", {"id": item})
        assert refused.value.status == "NOT_FOUND"
        assert grpc.call("Get", {"id": item, "moderate": "look"})["text"] == text
        assert [one["id"] for one in grpc.call("List", {"moderate": "look"})["items"]] == [item]
        assert grpc.call("Versions", {"id": item, "moderate": "look"})["versions"]
        assert grpc.call("Search", {"query": text, "moderate": "look"})["results"][0]["item"]["id"] == item
    cli = Cli(bin, team.server.url, team.server.key)
    assert cli.json("get", item, "--moderate", "look")["text"] == text
    assert item in cli.out("list", "--moderate", "look", "--json")
    assert cli.json("history", item, "--moderate", "look")["versions"]
    assert cli.json("search", text, "--moderate", "look")["results"]
    assert cli.json("retract", item, "--reason", "poison")["status"] == "retracted"


def test_suspended_agent_writes_no_working_memory(team):
    """AM-22: a suspended agent changes nothing at all, working memory included."""
    made = team.one.write(unique("At hand"), layer="working")["id"]
    team.chief.ask("POST", f"/v1/agents/{team.agent_id}:suspend", {"reason": "odd"})
    refused = {"status": 403, "code": "WRITES_SUSPENDED"}
    team.one.refused("POST", "/v1/items", {"text": unique("More"), "layer": "working"}, **refused)
    team.one.refused("PUT", f"/v1/items/{made}", {"text": unique("Else")}, **refused)
    team.one.refused("DELETE", f"/v1/items/{made}?reason=x", **refused)
    assert team.one.get(made)["status"] == "active"


def test_a_suspension_says_who_when_and_why(team, bin):
    """Who suspended an agent, when and why shows in the list, on its own, over gRPC, on the command line, in the console's figures and in
    the metrics; one command ends it; a restart changes nothing."""
    cli = Cli(bin, team.server.url, team.server.key)
    name = next(row["name"] for row in team.chief.ask("GET", "/v1/agents")["agents"] if row["id"] == team.agent_id)
    assert "suspended" not in team.chief.ask("GET", f"/v1/agents/{name}")
    cli.out("agent", "suspend", name, "--reason", "its feed was poisoned")
    team.one.refused("POST", "/v1/items", {"text": unique("Not now")}, status=403, code="WRITES_SUSPENDED")

    def check():
        shown = team.chief.ask("GET", f"/v1/agents/{name}")["suspended"]
        assert shown["by"]["name"] == "admin" and shown["by"]["id"].startswith("usr_")
        assert shown["reason"] == "its feed was poisoned" and shown["since"] > "2020"
        listed = [row for row in team.chief.ask("GET", "/v1/agents")["agents"] if "suspended" in row]
        assert [(row["id"], row["suspended"]) for row in listed] == [(team.agent_id, shown)]
        with GrpcCaller(team.server, team.server.key) as grpc:
            assert grpc.call("GetAgent", {"id": name})["suspended"] == shown
        text = cli.out("agent", "list")
        assert "by admin since" in text and "its feed was poisoned" in text
        _, metrics, _ = team.chief.call("GET", "/metrics")
        assert "tabellion_agents_suspended 1" in metrics
        return shown

    before = check()
    team.chief.ask("POST", f"/v1/agents/{name}:suspend", {"reason": "another"})
    assert check() == before, "a second suspension does not change who was first"
    team.server.kill()
    team.server.start()
    assert check() == before
    cli.out("agent", "resume", name)
    assert "suspended" not in team.chief.ask("GET", f"/v1/agents/{name}")
    assert team.one.write(unique("Now again"))
    new_caller(team.server).refused("GET", f"/v1/agents/{name}", **FORBIDDEN)
    team.chief.refused("GET", "/v1/agents/nobody", **MISSING)


def test_the_console_shows_who_is_suspended(team):
    """The console has a page of suspended agents, for whom may see it."""
    name = next(row["name"] for row in team.chief.ask("GET", "/v1/agents")["agents"] if row["id"] == team.agent_id)
    team.chief.ask("POST", f"/v1/agents/{name}:suspend", {"reason": "<b>odd</b>"})
    page = console(team.server, team.server.key, "/console/agents")
    assert name in page and "&lt;b&gt;odd&lt;/b&gt;" in page and "<b>odd" not in page and "admin" in page
    assert name not in console(team.server, team.people[0].key, "/console/agents")


def console(server, key, path):
    """A page of the console as the person with this key sees it."""
    import http.client
    from urllib.parse import urlencode

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    connection.request("POST", "/console/login", urlencode({"key": key}), form)
    answer = connection.getresponse()
    answer.read()
    cookie = answer.getheader("set-cookie").split(";")[0]
    connection.request("GET", path, headers={"Cookie": cookie})
    return connection.getresponse().read().decode()


def test_working_lists_obey_read_policies(team):
    """SHARE-16, SHARE-40: a list of working memory is redacted, blocked and counted as a get and a search are."""
    one = team.one
    mail = one.write("Write to jo.doe@example.org", layer="working")["id"]
    board = one.write("Not for the board", layer="working", tags=["label:board"])["id"]
    plain = one.write("Nothing odd", layer="working")["id"]
    team.policy("blank", {"kind": "read", "steps": [{"step": "redact"}, {"step": "block", "labels": ["board"]}]})
    one.refused("GET", f"/v1/items/{board}", **MISSING)
    first = one.ask("GET", "/v1/items?layer=working&limit=2")
    assert [row["id"] for row in first["items"]] == [mail, plain] and first["next"] is None
    assert first["items"][0]["text"] == one.get(mail)["text"] == "Write to [REDACTED:email]"
    page = one.ask("GET", "/v1/items?layer=working&limit=1")
    rest = one.ask("GET", f"/v1/items?layer=working&limit=1&cursor={page['next']}")
    assert [row["id"] for row in page["items"] + rest["items"]] == [mail, plain] and rest["next"] is None
