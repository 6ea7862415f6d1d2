"""Users who are disabled, enabled, promoted and demoted; resources that are put to rest."""

import http.client
import json
import time

import pytest

from callers import admin, new_caller, random_id
from governed import Events, eventually, novel
from grpc_caller import GrpcCaller, Refused
from test_access import MISSING
from test_cli import Cli
from test_sharing import Team, unique

FORBIDDEN = {"status": 403, "code": "FORBIDDEN"}
UNKNOWN = {"status": 401, "code": "UNAUTHENTICATED"}
LAST = {"status": 409, "code": "LAST_ADMIN"}


@pytest.fixture
def team(server):
    return Team(server)


def status_of(chief, user):
    return chief.ask("GET", f"/v1/users/{user}")["status"]


def test_a_disabled_user_is_out_at_once_and_everywhere(team):
    """A disabled user's keys, and those of the user's agents, are refused as revoked ones are, by REST, gRPC and MCP, also after a
    restart; enabling gives everything back."""
    person, pair = team.people[0], team.one
    item = pair.write(unique("Kept through it all"))
    shown = team.chief.ask("POST", f"/v1/users/{person.name}:disable", {"reason": "left"})
    assert (shown["id"], shown["status"]) == (person.user, "disabled")

    def check():
        for caller in (person, pair):
            caller.refused("GET", "/v1/whoami", **UNKNOWN)
            caller.refused("POST", "/v1/items", {"text": novel()}, **UNKNOWN)
            caller.refused("POST", "/v1/search", {"query": "x"}, **UNKNOWN)
            status, answer, _ = caller.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            assert status == 401, answer
            with GrpcCaller(team.server, caller.key) as grpc, pytest.raises(Refused) as refused:
                grpc.call("WhoAmI")
            assert refused.value.status == "UNAUTHENTICATED"
        assert status_of(team.chief, person.name) == "disabled"
        assert {row["id"]: row["status"] for row in team.chief.ask("GET", "/v1/users")["users"]}[person.user] == "disabled"

    check()
    assert team.two.get(item["shared_id"])["text"], "what the user shared stays"
    team.server.kill()
    team.server.start()
    check()
    team.chief.ask("POST", f"/v1/users/{person.user}:enable", {})
    assert pair.get(item["id"])["id"] == item["id"] and person.ask("GET", "/v1/whoami")


def test_edges_of_a_disabled_user_do_not_count(team):
    """No auditor's question finds a disabled user among those who see an item, and as of then it still does."""
    item = team.one.write(unique("Who sees it"))["shared_id"]
    sees = lambda: {row["user"] for row in team.chief.ask("GET", f"/v1/access/who?item={item}")["pairs"]}  # noqa: E731
    assert sees() == {team.people[0].user, team.people[1].user}
    before = team.chief.ask("GET", f"/v1/access/what?user={team.people[1].user}&agent={team.agent_id}")["items"]
    assert item in before
    team.chief.ask("POST", f"/v1/users/{team.people[1].name}:disable", {})
    assert sees() == {team.people[0].user}
    assert team.chief.ask("GET", f"/v1/access/what?user={team.people[1].user}&agent={team.agent_id}")["items"] == []


def test_a_stream_and_a_batch_of_a_disabled_user_end(team):
    """An open stream of news ends, and the next line of a batch that is under way is refused."""
    person = team.people[0]
    events = Events(person)
    eventually(lambda: events.comments)
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", team.server.port, timeout=30)
    connection.putrequest("POST", "/v1/items:batch")
    for name, value in {
        "Authorization": f"Bearer {person.key}", "Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked",
    }.items():  # fmt: skip
        connection.putheader(name, value)
    connection.endheaders()

    def send(line):
        data = (json.dumps(line) + "\n").encode()
        connection.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    first, second = novel(), novel()
    send({"text": first})
    eventually(lambda: person.found(first))
    team.chief.ask("POST", f"/v1/users/{person.name}:disable", {})
    send({"text": second})
    connection.send(b"0\r\n\r\n")
    answers = [json.loads(line) for line in connection.getresponse().read().splitlines()]
    assert [row.get("code", row["status"]) for row in answers] == ["committed", "USER_DISABLED"], answers
    team.chief.ask("POST", f"/v1/users/{person.name}:enable", {})
    assert person.found(second) == []


def test_what_a_disabled_user_has_in_review_is_not_committed(alone):
    """What waits for a person cannot be approved while its author is disabled, and can when they are back."""
    world = alone("strict")
    ana, bot = world.pair()
    ben = world.reviewer(ana)
    text = novel()
    held = bot.held(text, layer="semantic", evidence=[world.said(text)])
    world.chief.ask("POST", f"/v1/users/{ana.name}:disable", {})
    status, answer, _ = ben.decides(held["pending_id"])
    assert (status, answer["code"]) == (403, "USER_DISABLED"), answer
    world.chief.ask("POST", f"/v1/users/{ana.name}:enable", {})
    assert ben.approves(held["pending_id"])["status"] == "committed"


def test_what_a_disabled_user_put_off_waits_for_them(alone):
    """AM-10: a write that waits for its turn is not committed for a user who is disabled meanwhile, and waits on until they are back."""
    world = alone(writes_per_minute="[6000,3000,1,60,20]")
    ana, bot = world.pair()
    bot.supported(novel())
    text = novel()
    bot.put_off(text, evidence=[world.said(text)])
    world.chief.ask("POST", f"/v1/users/{ana.name}:disable", {})
    world.clock.advance(minutes=1)
    time.sleep(2)
    world.chief.ask("POST", f"/v1/users/{ana.name}:enable", {})
    [kept] = bot.kept()
    assert (kept["state"], kept["code"]) == ("deferred", "USER_DISABLED") and text not in ana.texts()
    world.clock.advance(minutes=1)
    eventually(lambda: text in ana.texts())


def test_the_last_active_admin_stays(server):
    """The last admin who can act is neither disabled nor demoted, whoever asks; with another one either may go."""
    chief = admin(server)
    me = chief.ask("GET", "/v1/whoami")["user"]["id"]
    chief.refused("POST", f"/v1/users/{me}:disable", {}, **LAST)
    chief.refused("POST", f"/v1/users/{me}:role", {"role": "member"}, **LAST)
    other = new_caller(server, role="admin")
    chief.ask("POST", f"/v1/users/{other.name}:disable", {})
    chief.refused("POST", f"/v1/users/{me}:disable", {}, **LAST)
    chief.ask("POST", f"/v1/users/{other.name}:enable", {})
    chief.ask("POST", f"/v1/users/{me}:role", {"role": "member"})
    chief.refused("GET", "/v1/users", **FORBIDDEN)
    other.refused("POST", f"/v1/users/{other.name}:role", {"role": "auditor"}, **LAST)
    assert other.ask("POST", f"/v1/users/{me}:role", {"role": "admin"})["role"] == "admin"
    assert chief.ask("GET", "/v1/users")


def test_roles_change_both_ways_and_at_once(team):
    """A user is promoted and demoted: the next request knows, and so does a server that was started again."""
    person = new_caller(team.server)
    person.refused("GET", "/v1/users", **FORBIDDEN)
    assert team.chief.ask("POST", f"/v1/users/{person.name}:role", {"role": "admin", "reason": "deputy"})["role"] == "admin"
    assert person.ask("GET", "/v1/users") and person.ask("GET", "/v1/whoami")["role"] == "admin"
    team.chief.ask("POST", f"/v1/users/{person.name}:role", {"role": "auditor"})
    person.refused("GET", "/v1/users", **FORBIDDEN)
    assert person.ask("GET", "/v1/edges")
    team.server.kill()
    team.server.start()
    person.refused("GET", "/v1/users", **FORBIDDEN)
    assert person.ask("GET", "/v1/whoami")["role"] == "auditor"
    team.chief.ask("POST", f"/v1/users/{person.name}:role", {"role": "member"})
    person.refused("GET", "/v1/edges", **FORBIDDEN)
    refused = team.chief.refused("POST", f"/v1/users/{person.name}:role", {"role": "king"}, status=422, code="SCHEMA_INVALID")
    assert refused["errors"][0]["path"] == "/role"


def test_nobody_gives_or_takes_what_they_do_not_hold(team):
    """Who makes principals alone makes no admin of anybody and disables none; who holds nothing gets one refusal for every name."""
    team.chief.ask("PUT", "/v1/roles/registrar", {"actions": ["manage_principals", "manage_roles"]})
    registrar, person = new_caller(team.server), new_caller(team.server)
    team.chief.ask("PUT", f"/v1/roles/registrar/members/{registrar.user}", {})
    other_admin = new_caller(team.server, role="admin")
    registrar.refused("POST", f"/v1/users/{person.name}:role", {"role": "admin"}, **FORBIDDEN)
    registrar.refused("POST", f"/v1/users/{registrar.name}:role", {"role": "auditor"}, **FORBIDDEN)
    registrar.refused("POST", f"/v1/users/{other_admin.name}:disable", {}, **FORBIDDEN)
    assert registrar.ask("POST", f"/v1/users/{person.name}:disable", {})["status"] == "disabled"
    registrar.refused("POST", "/v1/users/nobody:disable", {}, **MISSING)
    for name in (person.name, "nobody", random_id("usr")):
        team.people[0].refused("POST", f"/v1/users/{name}:disable", {}, **FORBIDDEN)
        team.people[0].refused("GET", f"/v1/users/{name}", **FORBIDDEN)


def test_users_over_grpc_and_on_the_command_line(team, bin):
    """gRPC and the command line change users as REST does."""
    person = new_caller(team.server)
    cli = Cli(bin, team.server.url, team.server.key)
    assert "disabled" in cli.out("user", "disable", person.name, "--reason", "left")
    assert cli.json("user", "enable", person.name)["status"] == "active"
    assert "disabled" not in cli.out("user", "list")
    assert cli.json("user", "role", person.name, "admin")["role"] == "admin"
    assert cli.json("user", "role", person.name, "member")["role"] == "member"
    assert "LAST_ADMIN" in cli.run("user", "disable", "admin", code=1).stderr
    with GrpcCaller(team.server, team.server.key) as grpc:
        assert grpc.call("DisableUser", {"id": person.name, "reason": "left"})["status"] == "disabled"
        assert grpc.call("GetUser", {"id": person.name})["status"] == "disabled"
        assert grpc.call("EnableUser", {"id": person.name})["status"] == "active"
        assert grpc.call("SetUserRole", {"id": person.name, "role": "auditor"})["role"] == "auditor"


def test_a_retired_resource_is_called_no_more_and_still_read(team, bin):
    """SHARE-1: a resource has a status: a retired one cannot be called, what was made with it is read; a deleted one hides it, for
    good; the status shows everywhere."""
    item = team.one.write(unique("Made with it"))["shared_id"]
    name = next(row["name"] for row in team.chief.ask("GET", "/v1/resources")["resources"] if row["id"] == team.resource_id)
    shown = lambda: {row["id"]: row["status"] for row in team.chief.ask("GET", "/v1/resources")["resources"]}[team.resource_id]  # noqa: E731
    assert shown() == "active"
    call = ("POST", f"/v1/resources/{name}:call", {"args": {"query": "x"}})
    team.one.refused(*call, status=409, code="RESOURCE_NOT_CONFIGURED")
    cli = Cli(bin, team.server.url, team.server.key)
    cli.out("resource", "retire", name, "--reason", "out of date")
    assert shown() == "retired" and "retired" in cli.out("resource", "list")
    team.one.refused(*call, **MISSING)
    assert team.two.get(item)["resources"] == [team.resource_id]
    team.chief.ask("POST", f"/v1/resources/{name}:activate", {"reason": "mended"})
    team.one.refused(*call, status=409, code="RESOURCE_NOT_CONFIGURED")
    team.people[0].refused("POST", f"/v1/resources/{name}:retire", {"reason": "r"}, **FORBIDDEN)
    with GrpcCaller(team.server, team.server.key) as grpc:
        assert grpc.call("DeleteResource", {"id": name, "reason": "withdrawn"})["token"]
    team.server.kill()
    team.server.start()
    assert shown() == "deleted"
    team.two.refused("GET", f"/v1/items/{item}", **MISSING)
    team.chief.refused("POST", f"/v1/resources/{name}:activate", {"reason": "r"}, **MISSING)
    team.chief.refused("POST", f"/v1/edges/ar/{team.agent_id}/{team.resource_id}", {}, **MISSING)
    assert team.one.write(unique("Without it"))["id"]
