"""What a person at a terminal reads and types: names, and the beginnings of ids; whole ids only where they are asked for."""

import re

import pytest

from callers import admin, new_caller
from server import Server
from test_cli import Cli

ID = re.compile(r"\b[a-z]{3}_[a-z2-7]{26}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


@pytest.fixture(scope="module")
def team(bin, tmp_path_factory):
    """A server with a person, an agent and a resource, what they wrote, a held write and a refused one."""
    env = {"TABELLION_GOVERNANCE__POLICY": "strict"}
    with Server(bin, tmp_path_factory.mktemp("names") / "data", env=env) as server:
        chief = admin(server)
        chief.ask("POST", "/v1/agents", {"name": "scout"}, expect=201)
        chief.ask("POST", "/v1/resources", {"name": "market-kb"}, expect=201)
        ana, ben = new_caller(server, name="ana"), new_caller(server, name="ben")
        chief.ask("POST", "/v1/edges/ua/ana/scout", {}, expect=201)
        chief.ask("POST", "/v1/edges/ar/scout/market-kb", {}, expect=201)
        chief.ask("PUT", "/v1/policies/ben-reviews", {"kind": "reviewer", "reviewer": "ben", "user": "ana"})
        chief.ask("PUT", "/v1/roles/analysts", {"agents": ["scout"]})
        chief.ask("PUT", "/v1/roles/analysts/members/ana", {})
        made = chief.ask("POST", "/v1/keys", {"user": "ana", "agent": "scout"}, expect=201)
        server.people = {"chief": server.key, "ana": ana.key, "ben": ben.key, "scout": made["key"]}
        server.key_id = made["id"]
        yield server


@pytest.fixture
def as_(bin, team):
    return lambda who: Cli(bin, team.url, team.people[who])


@pytest.fixture(scope="module")
def item(bin, team):
    scout = Cli(bin, team.url, team.people["scout"])
    return scout.json("write", "Port 8080 serves the API", "--key", "API port", "--layer", "session")["id"]


@pytest.fixture(scope="module")
def held(bin, team):
    """A write that waits for Ben."""
    scout = Cli(bin, team.url, team.people["scout"])
    evidence = ('{"source_type":"human_input","source_uri":"chat://1","accessed_at":"2026-11-15T00:00:00Z",'
                '"excerpt":"The ferry leaves at dawn"}')  # fmt: skip
    answer = scout.json("write", "The ferry leaves at dawn", "--layer", "semantic", "--evidence", evidence)
    return answer.get("pending_id") or pytest.fail(f"not held: {answer}")


def check(shown):
    """No whole id and no time of a machine is in a table."""
    assert not ID.search(shown), f"{ID.search(shown).group()} in\n{shown}"
    assert not TIME.search(shown), shown


def test_tables_name_who_acts(as_, item):
    """Names stand where ids were: on the pages of items, of who sees what, of edges, roles, keys, policies and the trail."""
    scout, chief = as_("scout"), as_("chief")
    for command in (["get", item], ["list"], ["search", "port"], ["history", item], ["provenance", item], ["trust", item], ["explain", item],
                    ["whoami"]):  # fmt: skip
        check(scout.out(*command))
    assert "scout" in scout.out("get", item) and "ana" in scout.out("provenance", item)
    for command, names in (
        (["access", "who", item], ["ana", "scout"]),
        (["access", "what", "ana", "--agent", "scout"], [item[:12]]),
        (["edge", "list"], ["ana", "scout", "market-kb"]),
        (["role", "list"], ["analysts", "ana", "scout"]),
        (["role", "show", "analysts"], ["ana", "scout"]),
        (["key", "list"], ["ana", "scout"]),
        (["policy", "list"], ["ben", "ana"]),
        (["audit"], ["admin", "ana", "scout"]),
        (["agent", "list"], ["scout"]),
        (["user", "list"], ["ana", "ben"]),
        (["resource", "list"], ["market-kb"]),
    ):
        shown = chief.out(*command)
        # What brings an edge is still told by the id of its role.
        check(re.sub(r"role:rol_[a-z2-7]{26}", "role", shown))
        assert all(name in shown for name in names), shown


def test_ids_are_shown_where_they_are_asked_for(as_, item):
    """`--ids` shows them whole, and JSON always does."""
    scout, chief = as_("scout"), as_("chief")
    assert item in scout.out("list", "--ids") and item in scout.out("get", item, "--ids")
    assert re.search(r"usr_[a-z2-7]{26}", chief.out("user", "list", "--ids"))
    assert chief.json("edge", "list")["edges"][0]["source"].startswith(("usr_", "agt_"))
    assert "names" not in chief.json("edge", "list")


def test_every_command_takes_the_beginning_of_an_id(as_, item):
    """What a table shows can be typed: as an argument, with a verb, and inside of options."""
    scout = as_("scout")
    short = item[:12]
    assert short in scout.out("list")
    assert scout.json("get", short)["id"] == item
    version = scout.json("history", short)["versions"][0]["version"]
    assert scout.json("provenance", short, "--version", version[:12])
    assert scout.json("pin", short)["id"] == item and scout.json("unpin", short)["id"] == item
    changed = scout.json("write", "Port 9090 serves the API", "--update", short, "--expected-version", version[:12])
    assert changed["id"] == item
    assert scout.json("rollback", short)["id"] == item
    assert as_("chief").json("access", "who", short)["pairs"]


def test_what_is_hidden_is_not_completed(as_, item):
    """SHARE-41: the beginning of an id that this key cannot see is missing, as one that never was."""
    short = item[:12]
    hidden = as_("ben").run("get", short, code=1).stderr
    never = as_("ben").run("get", "itm_zzzzzzzz", code=1).stderr
    assert hidden.replace(short, "ID") == never.replace("itm_zzzzzzzz", "ID") and "NOT_FOUND" in hidden
    too_short = as_("scout").run("get", item[:11], code=1).stderr
    assert "NOT_FOUND" in too_short


def test_working_items_have_short_ids(as_):
    """What is in no log can be named by the beginning of its id as well."""
    scout = as_("scout")
    id = scout.json("write", "a line of scratch", "--layer", "working")["id"]
    assert scout.json("get", id[:12])["id"] == id == scout.json("get", id[:20])["id"]


def test_reviews_keys_and_kept_writes_have_short_ids(team, as_, held):
    """Reviews, keys and refused writes are named by the beginnings of their ids as well."""
    ben, scout = as_("ben"), as_("scout")
    for command in (["review", "list"], ["review", "show", held[:12]], ["review", "next"]):
        shown = ben.out(*command)
        check(shown)
        assert held[:12] in shown
    assert "scout" in ben.out("review", "show", held[:12])
    assert ben.json("review", "approve", held[:12], "--reason", "seen")["status"] == "committed"
    refused = scout.run("write", "x", "--layer", "semantic", code=1).stderr
    assert not ID.search(refused), refused
    kept = scout.json("writes", "list")["writes"][0]["id"]
    assert scout.json("writes", "show", kept[:12])["id"] == kept
    check(scout.out("writes", "list"))
    check(scout.out("writes", "show", kept[:12]))
    assert as_("chief").json("key", "revoke", team.key_id[:12])["id"] == team.key_id


def test_the_console_names_who_wrote(bin, tmp_path):
    """The page on which people decide has names, as the terminal has."""
    import http.client
    import urllib.parse

    env = {"TABELLION_GOVERNANCE__POLICY": "strict"}
    with Server(bin, tmp_path / "data", env=env) as server:
        chief = admin(server)
        chief.ask("POST", "/v1/agents", {"name": "scout"}, expect=201)
        ana = new_caller(server, name="ana")
        chief.ask("POST", "/v1/edges/ua/ana/scout", {}, expect=201)
        made = chief.ask("POST", "/v1/keys", {"user": "ana", "agent": "scout"}, expect=201)
        text = "The ferry leaves at dawn"
        source = {"source_type": "human_input", "source_uri": "chat://1", "accessed_at": "2026-11-15T00:00:00Z", "excerpt": text}
        status, answer, _ = server.call("POST", "/v1/items", {"text": text, "layer": "semantic", "evidence": [source]}, key=made["key"])
        assert status == 202, answer
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        origin = {"Origin": server.url, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/console/login", urllib.parse.urlencode({"key": ana.key}), origin)
        response = connection.getresponse()
        response.read()
        cookie = response.headers["set-cookie"].split(";")[0]
        connection.request("GET", f"/console/reviews/{answer['pending_id']}", headers={"Cookie": cookie})
        page = connection.getresponse().read().decode()
        visible = re.sub(r"<[^>]*>", " ", page)
        assert "ana" in visible and "scout" in visible and text in visible, page
        assert not ID.search(visible), ID.search(visible).group()
