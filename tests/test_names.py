"""Names of users, agents and resources, and users made on first sight of a token (AM-14)."""

import unicodedata
from urllib.parse import quote

import pytest

from callers import Caller, admin, new_caller, random_id
from issuer import Issuer
from test_access import MISSING
from test_cli import Cli
from test_tokens import Place, started

INVALID = {"status": 422, "code": "SCHEMA_INVALID"}
CONFUSABLE = {"status": 409, "code": "NAME_CONFUSABLE"}
TAKEN = {"status": 409, "code": "NAME_TAKEN"}
ODD = ["Ana María Núñez", "https://id.example.org|auth0|7f", "ana@example.org", "名前", "a/b:c?d=e#f%20", "x" * 256, "👩 support", "-dash", ".dot"]


@pytest.mark.parametrize("name", ODD)
def test_any_printable_name_works_wherever_an_id_does(shared_server, bin, name):
    """AM-14: a name of any script, with spaces, slashes or colons, up to 256 bytes, stands in paths, bodies, keys and edges."""
    chief = admin(shared_server)
    for kind in "users", "agents", "resources":
        chief.ask("POST", f"/v1/{kind}", {"name": name}, expect=201)
    path = quote(name, safe="")
    assert chief.ask("GET", f"/v1/users/{path}")["name"] == name
    assert chief.ask("GET", f"/v1/agents/{path}")["name"] == name
    chief.ask("POST", f"/v1/edges/ua/{path}/{path}", {}, expect=201)
    chief.ask("POST", f"/v1/edges/ar/{path}/{path}", {}, expect=201)
    key = chief.ask("POST", "/v1/keys", {"user": name, "agent": name}, expect=201)["key"]
    who = Caller(shared_server, key).ask("GET", "/v1/whoami")
    assert (who["user"]["name"], who["agent"]["name"]) == (name, name)
    chief.ask("POST", f"/v1/agents/{path}:suspend", {"reason": "r"})
    assert chief.ask("GET", f"/v1/agents/{path}")["suspended"]["reason"] == "r"
    cli = Cli(bin, shared_server.url, shared_server.key)
    cli.out("agent", "resume", "--", name)
    assert name in cli.out("agent", "list", "--json")
    chief.ask("POST", f"/v1/resources/{path}:retire", {"reason": "r"})
    assert chief.ask("POST", f"/v1/users/{path}:disable", {})["status"] == "disabled"
    chief.ask("DELETE", f"/v1/edges/ua/{path}/{path}")


@pytest.mark.parametrize(
    "name",
    ["", " ", " ana", "ana ", "x" * 257, "é" * 129, "a\x00b", "a\nb", "a\u200bb", "a\u202eb", "a\u00adb", "a\u00a0b", "\u3164", "a\ue000",
     unicodedata.normalize("NFD", "José"), random_id("usr"), random_id("agt"), random_id("itm").upper()],
)  # fmt: skip
def test_what_cannot_be_seen_or_is_an_id_is_no_name(shared_server, name):
    """AM-14: control, format, bidirectional and invisible characters, other spellings, and the form of an id are refused with the rule."""
    for kind in "users", "agents", "resources":
        refused = admin(shared_server).refused("POST", f"/v1/{kind}", {"name": name}, **INVALID)
        assert refused["errors"][0]["path"] == "/name" and "printable" in refused["errors"][0]["expected"]


def test_a_name_that_looks_like_another_is_refused_by_that_name(server):
    """AM-14: by the skeleton of UTS 39 and without regard to case, also after a restart; the same text is taken, as ever. Kinds
    have names of their own."""
    chief = admin(server)
    chief.ask("POST", "/v1/users", {"name": "paypal"}, expect=201)
    for name in "Paypal", "pаypal", "paypa1", "рaypal":
        assert "`paypal`" in chief.refused("POST", "/v1/users", {"name": name}, **CONFUSABLE)["message"]
    chief.refused("POST", "/v1/users", {"name": "paypal"}, **TAKEN)
    chief.refused("POST", "/v1/users", {"name": "Admin"}, **CONFUSABLE)
    chief.refused("POST", "/v1/agents", {"name": "dіrect"}, **CONFUSABLE)
    chief.ask("POST", "/v1/agents", {"name": "Paypal"}, expect=201)
    server.stop()
    server.start()
    chief.refused("POST", "/v1/users", {"name": "PAYPAL"}, **CONFUSABLE)
    new_caller(server).refused("POST", "/v1/users", {"name": "PAYPAL"}, status=403, code="FORBIDDEN")
    chief.refused("GET", "/v1/users/Paypal", **MISSING)


@pytest.fixture
def issued(bin, tmp_path):
    """Starts a server that trusts an issuer, with these settings of identity."""
    running = []

    def start(**settings):
        issuer = Issuer()
        issuer.publish(tmp_path / "jwks.json")
        made = started(bin, tmp_path / "data", issuer, jwks_file=tmp_path / "jwks.json", **settings)
        running.append(made.__enter__())
        return Place(running[0], issuer)

    yield start
    for server in running:
        server.__exit__()


def test_users_are_made_on_first_sight_only_if_that_is_configured(issued):
    """AM-14: off by default: a valid token for somebody unknown is answered as an unknown key is."""
    place = issued()
    place.refuses(place.token("auth0|new"), code="UNAUTHENTICATED")
    assert "auth0|new" not in str(place.chief.ask("GET", "/v1/users"))


def test_a_user_is_made_on_first_sight_of_a_valid_token(issued):
    """AM-14: the first valid token makes a member, once, with a row on the trail; a forged, stale or odd one makes nobody; a
    disabled user stays out."""
    place = issued(create_users="true")
    name = "https://id.example.org|auth0|7f"
    forger = Issuer()
    forged = forger.token(place.clock, place.tenant, "mallory")
    assert place.caller(forged).call("GET", "/v1/whoami")[0] == 401
    assert place.caller(place.token("stale", exp=1)).call("GET", "/v1/whoami")[0] == 401
    assert place.caller(place.token("a\u200bb")).call("GET", "/v1/whoami")[0] == 401
    assert place.caller(place.token(random_id("usr"))).call("GET", "/v1/whoami")[0] == 401
    assert "`admin`" not in str(place.caller(place.token("Admin")).refused("GET", "/v1/whoami", **CONFUSABLE))
    caller = place.caller(place.token(name))
    who = caller.ask("GET", "/v1/whoami")
    assert (who["user"]["name"], who["role"]) == (name, "member")
    assert caller.ask("GET", "/v1/whoami")["user"] == who["user"] and caller.write("I was here")["id"]
    names = [row["name"] for row in place.chief.ask("GET", "/v1/users")["users"]]
    assert sorted(names) == sorted(["admin", name])
    rows = place.chief.ask("GET", "/v1/audit?action=create_user")["rows"]
    assert [row["ids"] for row in rows if row["outcome"] == "ok" and row["user"] is None] == [[who["user"]["id"]]]
    place.chief.ask("POST", f"/v1/users/{quote(name, safe='')}:disable", {})
    caller.refused("GET", "/v1/whoami", status=401, code="UNAUTHENTICATED")
    agent = place.agent()
    place.caller(place.token("someone", agent)).refused("GET", "/v1/whoami", status=403, code="AGENT_NOT_GRANTED")
