"""Who acts, by a token instead of a key: tokens of a trusted issuer, and those that an agent service gets for a user."""

import base64
import json
import os
import subprocess
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from urllib.parse import urlencode

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from callers import Caller, Clock, admin, new_caller, random_id, rfc3339
from governed import eventually
from grpc_caller import GrpcCaller, Refused
from issuer import AUDIENCE, MAKERS, NAME, Issuer, KeyEndpoint, by_hand, part
from mcp_caller import McpCaller, over_http
from server import Server
from test_identity import shape

EXCHANGE = "/v1/token"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"
ALGORITHMS = list(MAKERS)


class Place:
    """A server that trusts an issuer, with a clock that stands until it is moved."""

    def __init__(self, server, issuer):
        self.server, self.issuer = server, issuer
        self.clock, self.chief = Clock(server), admin(server)
        self.tenant = self.chief.ask("GET", "/v1/whoami")["tenant"]

    def token(self, user, agent=None, **changed):
        return self.issuer.token(self.clock, self.tenant, user, agent, **changed)

    def claims(self, user, **changed):
        return self.issuer.claims(self.clock, self.tenant, user, **changed)

    def caller(self, token):
        return Caller(self.server, token)

    def agent(self, name=None):
        name = name or f"agent-{random_id()[4:12]}"
        self.chief.ask("POST", "/v1/agents", {"name": name}, expect=201)
        return name

    def grant(self, user, agent, **terms):
        self.chief.ask("POST", f"/v1/edges/ua/{user}/{agent}", terms, expect=201)

    def revoke(self, user, agent):
        self.chief.ask("DELETE", f"/v1/edges/ua/{user}/{agent}")

    def key(self, **of):
        return self.chief.ask("POST", "/v1/keys", of, expect=201)

    def pair(self):
        """A user, an agent that the user may invoke, and the agent's own key."""
        ana, agent = new_caller(self.server), self.agent()
        self.grant(ana.name, agent)
        return ana, agent, self.key(agent=agent)

    def exchange(self, service, subject, expect=200, **more):
        return self.caller(service).ask("POST", EXCHANGE, {"subject_token": subject, **more}, expect=expect)

    def refuses(self, token, code="JWT_INVALID", status=401):
        """A token that must not pass, with its refusal, alike on every operation."""
        caller = self.caller(token)
        for method, path, body in (
            ("GET", "/v1/whoami", None), ("POST", "/v1/items", {"text": "x"}), ("POST", EXCHANGE, {"subject_token": "x"}),
        ):  # fmt: skip
            refusal = caller.refused(method, path, body, status=status, code=code)
        return refusal


def started(bin, directory, issuer, **settings):
    return Server(bin, directory, env=issuer.settings(**settings), args=["--test-clock"])


@pytest.fixture(scope="module")
def place(bin, tmp_path_factory):
    """One server for all tests that keep out of each other's way; time stands still."""
    folder, issuer = tmp_path_factory.mktemp("tokens"), Issuer(ALGORITHMS)
    issuer.publish(folder / "jwks.json")
    with started(bin, folder / "data", issuer, jwks_file=folder / "jwks.json") as server:
        yield Place(server, issuer)


@pytest.fixture
def timed(bin, tmp_path):
    """A server of a test's own, whose clock may be moved."""
    issuer = Issuer()
    issuer.publish(tmp_path / "jwks.json")
    with started(bin, tmp_path / "data", issuer, jwks_file=tmp_path / "jwks.json") as server:
        yield Place(server, issuer)


# Tokens of the issuer


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_token_names_tenant_user_and_agent(place, algorithm):
    """SHARE-28: `tid`, `sub` and `act.sub` say who acts, under every asymmetric algorithm; without `act` it is the user."""
    ana, agent, _ = place.pair()
    me = place.caller(place.token(ana.name, agent, kid=algorithm.lower())).ask("GET", "/v1/whoami")
    assert (me["tenant"], me["user"]["id"], me["agent"]["name"]) == (place.tenant, ana.user, agent)
    alone = place.caller(place.token(ana.name, kid=algorithm.lower()))
    assert alone.ask("GET", "/v1/whoami")["agent"]["name"] == "direct"
    written = alone.write("by a token")
    assert ana.get(written["id"])["text"] == "by a token", "the key and the token are the same person"


def test_names_and_ids_are_the_same(place):
    """SHARE-1, SHARE-28: tenant, user and agent by id or name; the audience alone or among others."""
    ana, agent, _ = place.pair()
    id = next(row["id"] for row in place.chief.ask("GET", "/v1/agents")["agents"] if row["name"] == agent)
    for changed in {}, {"tid": "default"}, {"sub": ana.user}, {"act": {"sub": id}}, {"aud": ["other", AUDIENCE]}:
        me = place.caller(place.token(ana.name, agent, **changed)).ask("GET", "/v1/whoami")
        assert (me["user"]["id"], me["agent"]["id"]) == (ana.user, id), changed


def test_forged_tokens_prove_nothing(place):
    """SHARE-28: `alg:none`, HMAC with a public key as the secret, a changed claim and a key of one's own are refused."""
    ana = new_caller(place.server)
    claims, token = place.claims(ana.name), place.token(ana.name, kid="rs256")
    public = place.issuer.keys["rs256"][1].public_key()
    pem, der = (public.public_bytes(form, PublicFormat.SubjectPublicKeyInfo) for form in (Encoding.PEM, Encoding.DER))
    modulus = base64.urlsafe_b64decode(place.issuer.jwk("rs256")["n"] + "==")
    header, payload, signature = token.split(".")
    forged = [by_hand({"alg": alg, "kid": "rs256", "typ": "JWT"}, claims) for alg in ("none", "None", "nOnE", "RS256", "")]
    secrets = pem, pem.strip(), der, modulus, b""
    forged += [by_hand({"alg": "HS256", "kid": "rs256"}, claims, secret) for secret in secrets]
    forged += [f"{part({'alg': 'none'})}.{payload}.{signature}", f"{header}.{payload}."]
    forged += [f"{header}.{part({**claims, 'sub': 'admin'})}.{signature}"]
    own = Issuer(["RS256", "EdDSA"])
    forged += [own.token(place.clock, place.tenant, ana.name, kid=kid) for kid in ("rs256", "eddsa")]
    embedded = {"jwk": own.jwk("rs256"), "jku": "http://127.0.0.1:9/jwks"}
    forged += [own.token(place.clock, place.tenant, ana.name, kid="rs256", header=embedded)]
    forged += [place.token(ana.name, kid="rs256", header={"crit": ["b64"], "b64": False})]
    forged += [place.token(ana.name, kid="rs256", header={"kid": "es256"})]
    for token in forged:
        place.refuses(token)
    own_token = by_hand({"alg": "EdDSA", "kid": place.tenant}, {**claims, "iss": "tabellion", "aud": "tabellion"})
    place.refuses(own_token)


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://id.example/"}, {"iss": "https://other.example"}, {"aud": "other"}, {"aud": ["other", "another"]},
        {"aud": []}, {"iss": None}, {"aud": None}, {"exp": None}, {"tid": None}, {"sub": None},
        {"exp": "tomorrow"}, {"act": {}}, {"act": "market"}, {"act": {"sub": None}},
    ],
)  # fmt: skip
def test_every_claim_must_hold(place, changed):
    """SHARE-28: another issuer, another audience, and claims that are missing or of another form."""
    ana = new_caller(place.server)
    header, key = {"kid": "eddsa"}, place.issuer.keys["eddsa"][1]
    claims = place.claims(ana.name) | changed
    # By hand of the claims: the library would not sign some of them.
    signed = f"{part({'alg': 'EdDSA', **header})}.{part({k: v for k, v in claims.items() if v is not None})}"
    place.refuses(f"{signed}.{part(key.sign(signed.encode()))}")


def test_times_are_kept(timed):
    """SHARE-28: a token is refused from its end on and before its beginning, give or take the leeway of 30 s."""
    ana = new_caller(timed.server)
    start = int(timed.clock.now.timestamp())
    timed.caller(timed.token(ana.name, exp=start - 29)).ask("GET", "/v1/whoami")
    timed.refuses(timed.token(ana.name, exp=start - 30), code="JWT_EXPIRED")
    timed.caller(timed.token(ana.name, nbf=start + 30)).ask("GET", "/v1/whoami")
    timed.refuses(timed.token(ana.name, nbf=start + 31))
    token = timed.token(ana.name, seconds=60)
    timed.clock.advance(seconds=89)
    timed.caller(token).ask("GET", "/v1/whoami")
    timed.clock.advance(seconds=1)
    refusal = timed.refuses(token, code="JWT_EXPIRED")
    assert "new one" in refusal["message"]


@pytest.mark.parametrize("garbage", ["a.b.c", "..", "e30.e30.e30", "e30.e30.", "tab_a.tab_b.tab_c"])
def test_garbage_is_no_token(place, garbage):
    """SHARE-28: what has three parts and is no token says so; nothing else of it is looked at."""
    place.refuses(garbage)


def test_an_oversized_token_is_not_looked_at(place):
    """SHARE-28: a token that would pass but for its 8,192 bytes."""
    ana = new_caller(place.server)
    place.caller(place.token(ana.name, note="x" * 5_000)).ask("GET", "/v1/whoami")
    assert "8,192" in place.refuses(place.token(ana.name, note="x" * 9_000))["message"]


def test_nobody_is_told_which_part_is_unknown(place):
    """SHARE-28, SHARE-41: an unknown tenant, user or agent, another tenant's, and an unknown key are answered alike."""
    ana, agent, _ = place.pair()
    place.grant(ana.name, "direct")
    other = place.chief.ask("POST", "/v1/tenants", {"name": f"acme-{random_id()[4:10]}"}, expect=201)
    tokens = [
        "tab_" + "a" * 64, place.token("nobody"), place.token(random_id("usr")), place.token(ana.name, "nothing"),
        place.token(ana.name, random_id("agt")), place.token(ana.name, tid="nowhere"),
        place.token(ana.name, tid=random_id("tnt")),
        place.token(ana.name, agent, tid=other["id"]), place.token(ana.user, tid=other["name"]), place.token(""),
        place.token(ana.name, "direct"),
    ]  # fmt: skip
    shapes = [shape(place.caller(token).call("GET", "/v1/whoami")) for token in tokens]
    assert all(one == shapes[0] for one in shapes) and shapes[0][:1] == (401,), shapes
    assert shapes[0][1]["code"] == "UNAUTHENTICATED"
    assert place.caller(place.token("admin", tid=other["name"])).ask("GET", "/v1/whoami")["tenant"] == other["id"]


def test_an_agent_without_an_edge_is_refused(place):
    """SHARE-11, SHARE-28: `act.sub` needs the edge, as any pair does, at every use."""
    ana, agent = new_caller(place.server), place.agent()
    caller = place.caller(place.token(ana.name, agent))
    caller.refused("GET", "/v1/whoami", status=403, code="AGENT_NOT_GRANTED")
    place.grant(ana.name, agent)
    item = caller.write("through the agent")["id"]
    place.revoke(ana.name, agent)
    caller.refused("GET", f"/v1/items/{item}", status=403, code="AGENT_NOT_GRANTED")
    caller.refused("POST", "/v1/items", {"text": "x"}, status=403, code="AGENT_NOT_GRANTED")


def test_all_transports_take_the_same_tokens(place):
    """SHARE-28: gRPC and MCP know the same callers and refuse the same tokens as REST."""
    ana, agent, service = place.pair()
    pair_token = place.exchange(service["key"], ana.key)["access_token"]
    for token in place.token(ana.name, agent), pair_token:
        with GrpcCaller(place.server, token) as grpc:
            assert grpc.call("WhoAmI")["agent"]["name"] == agent
        with McpCaller(over_http(place.server, token)) as mcp:
            assert mcp.ask("whoami")["agent"]["name"] == agent
    expired = place.token(ana.name, agent, exp=int(place.clock.now.timestamp()) - 60)
    for token, code in (expired, "JWT_EXPIRED"), (by_hand({"alg": "none"}, place.claims(ana.name)), "JWT_INVALID"):
        with GrpcCaller(place.server, token) as grpc, pytest.raises(Refused) as refused:
            grpc.call("WhoAmI")
        assert (refused.value.status, refused.value.refusal["code"]) == ("UNAUTHENTICATED", code)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        place.caller(token).refused("POST", "/mcp", body, status=401, code=code)


def test_identity_beside_the_credential_is_refused(place):
    """SHARE-28: in a body, in arguments or in metadata, on REST, MCP and gRPC alike."""
    ana, agent, _ = place.pair()
    token = place.token(ana.name, agent)
    caller = place.caller(token)
    for name in "user", "agent_id", "tenant":
        caller.refused("POST", "/v1/items", {"text": "x", name: ana.user}, status=400, code="IDENTITY_IN_BODY")
        caller.refused("POST", "/v1/search", {"query": "x", name: ana.user}, status=400, code="IDENTITY_IN_BODY")
        with McpCaller(over_http(place.server, token)) as mcp:
            assert mcp.refused("write_item", {"text": "x", name: ana.user})["code"] == "IDENTITY_IN_BODY"
            assert mcp.refused("search_items", {"query": "x", name: ana.user})["code"] == "IDENTITY_IN_BODY"
    with GrpcCaller(place.server, token) as grpc:
        for name in "user", "user-id", "agent", "tenant_id":
            with pytest.raises(Refused) as refused:
                grpc.call("Write", {"text": "x"}, metadata=[("authorization", f"Bearer {token}"), (name, ana.user)])
            assert refused.value.status == "INVALID_ARGUMENT", name
            assert refused.value.refusal["code"] == "IDENTITY_IN_BODY"
            assert refused.value.refusal["errors"][0]["path"] == f"/metadata/{name}"
        grpc.call("Write", {"text": "x"})


def test_without_an_issuer_no_token_is_taken(shared_server):
    """SHARE-28: a server that trusts nobody takes nobody's tokens."""
    issuer, ana = Issuer(), new_caller(shared_server)
    clock = SimpleNamespace(now=datetime.now(UTC))
    token = issuer.token(clock, "default", ana.name)
    Caller(shared_server, token).refused("GET", "/v1/whoami", status=401, code="UNAUTHENTICATED")


# Where the issuer's keys come from


def test_a_changed_file_is_read_again(bin, tmp_path):
    """SHARE-28: a key that is added counts at once, one that is taken away ends; a broken file changes nothing."""
    issuer, path = Issuer(), tmp_path / "jwks.json"
    issuer.add("second", "ES256")
    issuer.publish(path, "eddsa")
    with started(bin, tmp_path / "data", issuer, jwks_file=path, renew_seconds=600) as server:
        place = Place(server, issuer)
        ana = new_caller(server)
        first, second = (place.caller(place.token(ana.name, kid=kid)) for kid in ("eddsa", "second"))
        first.ask("GET", "/v1/whoami")
        second.refused("GET", "/v1/whoami", status=401, code="JWT_INVALID")
        issuer.publish(path, "second")
        assert eventually(lambda: second.call("GET", "/v1/whoami")[0] == 200)
        first.refused("GET", "/v1/whoami", status=401, code="JWT_INVALID")
        secret = {"kty": "oct", "k": "AAAA", "kid": "second"}
        for broken in "", "{", json.dumps({"keys": []}), json.dumps({"keys": [secret]}):
            path.write_text(broken)
            time.sleep(1.2)
            second.ask("GET", "/v1/whoami")
        path.unlink()
        time.sleep(1.2)
        second.ask("GET", "/v1/whoami")
        assert "no newer keys of the issuer" in server.log


def test_an_unknown_key_makes_the_server_look_at_once(bin, tmp_path):
    """SHARE-28: the first token of a new key is taken without waiting, from a file and from an address."""
    issuer, path = Issuer(), tmp_path / "jwks.json"
    issuer.publish(path)
    with KeyEndpoint(issuer) as endpoint:
        endpoint.kids = ["eddsa"]
        for number, setting in enumerate(({"jwks_file": path}, {"jwks_url": endpoint.url})):
            with started(bin, tmp_path / str(number), issuer, **setting) as server:
                place = Place(server, issuer)
                ana = new_caller(server)
                place.caller(place.token(ana.name, kid="eddsa")).ask("GET", "/v1/whoami")
                kid = f"new-{number}"
                issuer.add(kid, "RS256")
                endpoint.kids.append(kid)
                issuer.publish(path)
                place.caller(place.token(ana.name, kid=kid)).ask("GET", "/v1/whoami")


def test_made_up_keys_do_not_make_the_server_ask_without_end(bin, tmp_path):
    """SHARE-28: tokens of unknown keys cost the issuer one question in `renew_seconds`, however many come."""
    issuer, stranger = Issuer(), Issuer()
    with KeyEndpoint(issuer) as endpoint:
        with started(bin, tmp_path / "data", issuer, jwks_url=endpoint.url, renew_seconds=600) as server:
            place = Place(server, issuer)
            ana = new_caller(server)
            place.caller(place.token(ana.name)).ask("GET", "/v1/whoami")
            before = endpoint.asked
            for number in range(50):
                stranger.add(f"made-up-{number}")
                token = stranger.token(place.clock, place.tenant, ana.name, kid=f"made-up-{number}")
                place.caller(token).refused("GET", "/v1/whoami", status=401, code="JWT_INVALID")
            assert endpoint.asked - before <= 1


@pytest.mark.parametrize("says", ["broken", "html", "empty", "elsewhere", "oversized", "slow", "down"])
def test_an_address_that_fails_leaves_the_last_keys(bin, tmp_path, says):
    """SHARE-28: what the address answers instead of keys changes nothing, takes no longer than it may, and passes."""
    issuer = Issuer()
    issuer.add("second")
    with KeyEndpoint(issuer) as endpoint:
        endpoint.kids = ["eddsa"]
        with started(bin, tmp_path / "data", issuer, jwks_url=endpoint.url, seconds_max=1) as server:
            place = Place(server, issuer)
            ana = new_caller(server)
            first, second = (place.caller(place.token(ana.name, kid=kid)) for kid in ("eddsa", "second"))
            first.ask("GET", "/v1/whoami")
            endpoint.kids, endpoint.says = ["eddsa", "second"], "keys" if says == "down" else says
            if says == "down":
                endpoint.down()
            began = time.monotonic()
            second.refused("GET", "/v1/whoami", status=401, code="JWT_INVALID")
            assert time.monotonic() - began < 2.5
            first.ask("GET", "/v1/whoami")
            endpoint.says = "keys"
            if says == "down":
                endpoint.up()
            assert eventually(lambda: second.call("GET", "/v1/whoami")[0] == 200)


def test_a_server_starts_without_its_issuer(bin, tmp_path):
    """SHARE-28: an address that does not answer stops no start; keys work, and tokens as soon as it is there."""
    issuer = Issuer()
    with KeyEndpoint(issuer) as endpoint:
        url = endpoint.url
        endpoint.down()
        with started(bin, tmp_path / "data", issuer, jwks_url=url) as server:
            place = Place(server, issuer)
            caller = place.caller(place.token(new_caller(server).name))
            caller.refused("GET", "/v1/whoami", status=401, code="JWT_INVALID")
            endpoint.up()
            assert eventually(lambda: caller.call("GET", "/v1/whoami")[0] == 200)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"jwks_file": "missing.json"}, "identity.jwks_file"),
        ({}, "belong together"),
        ({"jwks_url": "http://id.example/jwks"}, "identity.jwks_url"),
        ({"jwks_url": "https://id.example/jwks", "leeway_seconds": 301}, "leeway_seconds"),
    ],
)
def test_an_issuer_that_cannot_work_is_refused_at_the_start(bin, tmp_path, settings, words):
    """SHARE-28: with what to set instead."""
    env = {**os.environ, **Issuer().settings(**settings)}
    ended = subprocess.run(
        [bin, "serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0"], env=env, capture_output=True, timeout=30
    )
    assert ended.returncode == 1 and words in ended.stderr.decode(), ended.stderr


# The exchange


def test_a_service_gets_a_token_for_a_user(place):
    """SHARE-28: an agent service key and the user's key or token give a token of the pair, for at most 15 minutes."""
    ana, agent, service = place.pair()
    for way, subject in ("key", ana.key), ("token", place.token(ana.name, seconds=3_600)):
        answer = place.exchange(service["key"], subject)
        assert set(answer) == {"access_token", "issued_token_type", "token_type", "expires_in"}
        assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 900)
        caller = place.caller(answer["access_token"])
        me = caller.ask("GET", "/v1/whoami")
        assert (me["user"]["id"], me["agent"]["name"], me["tenant"]) == (ana.user, agent, place.tenant)
        item = caller.write(f"for ana, by {way}")["id"]
        assert ana.get(item)["agents"] == [me["agent"]["id"]], "it is hers, through the agent"
    said = jwt.decode(answer["access_token"], options={"verify_signature": False})
    assert (said["tid"], said["sub"], said["exp"] - said["iat"]) == (place.tenant, ana.user, 900)
    assert said["act"]["sub"] == me["agent"]["id"] and said["client_id"] == service["id"]
    assert jwt.get_unverified_header(answer["access_token"])["alg"] == "EdDSA"
    again = place.exchange(service["key"], ana.key)
    assert again["access_token"] != answer["access_token"]


def test_the_form_of_the_standard_is_taken(place):
    """SHARE-28: RFC 8693 clients send a form; the answer is not for caches."""
    ana, _, service = place.pair()
    form = {
        "grant_type": GRANT_TYPE, "subject_token": ana.key,
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
    }  # fmt: skip
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, answer, received = place.caller(service["key"]).call("POST", EXCHANGE, raw=urlencode(form), headers=headers)
    assert status == 200 and received["cache-control"] == "no-store", answer
    place.caller(answer["access_token"]).ask("GET", "/v1/whoami")
    for wrong in {"grant_type": "client_credentials"}, {"subject_token_type": "saml2"}, {"user": ana.name}:
        place.caller(service["key"]).refused(
            "POST", EXCHANGE, raw=urlencode({**form, **wrong}), headers=headers, status=422, code="SCHEMA_INVALID"
        )


def test_a_service_key_does_nothing_else(place):
    """SHARE-28: it reads, writes and administers nothing, over no transport."""
    ana, _, service = place.pair()
    caller = place.caller(service["key"])
    for method, path, body in (
        ("GET", "/v1/whoami", None), ("POST", "/v1/items", {"text": "x"}), ("POST", "/v1/search", {"query": "x"}),
        ("GET", "/v1/items", None), ("GET", "/v1/audit", None), ("POST", "/v1/keys", {"user": ana.name}),
        ("GET", f"/v1/items/{random_id()}", None),
    ):  # fmt: skip
        refusal = caller.refused(method, path, body, status=403, code="PAIR_REQUIRED")
        assert EXCHANGE in refusal["message"]
    with GrpcCaller(place.server, service["key"]) as grpc, pytest.raises(Refused) as refused:
        grpc.call("Search", {"query": "x"})
    assert refused.value.refusal["code"] == "PAIR_REQUIRED"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    caller.refused("POST", "/mcp", body, status=403, code="PAIR_REQUIRED")


def test_only_a_service_exchanges(place):
    """SHARE-28: neither a person nor a pair, by key or by token, and nobody without a credential."""
    ana, agent, service = place.pair()
    pair_token = place.exchange(service["key"], ana.key)["access_token"]
    pair_key = place.key(user=ana.name, agent=agent)["key"]
    for bearer in ana.key, pair_key, pair_token, place.token(ana.name), place.token(ana.name, agent), place.chief.key:
        caller = place.caller(bearer)
        caller.refused("POST", EXCHANGE, {"subject_token": ana.key}, status=403, code="SERVICE_KEY_REQUIRED")
    for bearer in "tab_wrong", "":
        place.caller(bearer).refused("POST", EXCHANGE, {"subject_token": ana.key}, status=401, code="UNAUTHENTICATED")


def test_only_a_person_of_the_same_tenant_is_a_subject(place):
    """SHARE-28: unknown, foreign, expired and acted-for subjects are refused, and nothing is said of who exists."""
    ana, agent, service = place.pair()
    pair_token = place.exchange(service["key"], ana.key)["access_token"]
    other = place.chief.ask("POST", "/v1/tenants", {"name": f"acme-{random_id()[4:10]}"}, expect=201)
    caller = place.caller(service["key"])

    def refused(subject):
        return caller.refused("POST", EXCHANGE, {"subject_token": subject}, status=422, code="SUBJECT_TOKEN_INVALID")

    for subject in (
        "tab_" + "a" * 64, "", "a.b.c", service["key"], pair_token, place.key(user=ana.name, agent=agent)["key"],
        place.token(ana.name, agent), place.token("nobody"), other["admin_key"], place.token("admin", tid=other["id"]),
        by_hand({"alg": "none"}, place.claims(ana.name)),
    ):  # fmt: skip
        assert refused(subject)["errors"][0]["path"] == "/subject_token"
    expired = refused(place.token(ana.name, exp=int(place.clock.now.timestamp()) - 60))
    assert "expired" in expired["message"]
    unknown, foreign = refused(place.token("nobody")), refused(place.token("nobody", tid=other["id"]))
    assert unknown["message"] == foreign["message"]
    caller.refused("POST", EXCHANGE, {}, status=422, code="SCHEMA_INVALID")


def test_an_exchange_needs_the_edge(place):
    """SHARE-28: the user must be able to invoke the agent at that time, and nobody acts through `direct`."""
    ana, agent = new_caller(place.server), place.agent()
    service = place.key(agent=agent)
    body = {"subject_token": ana.key}
    caller = place.caller(service["key"])
    caller.refused("POST", EXCHANGE, body, status=403, code="AGENT_NOT_GRANTED")
    later = rfc3339(place.clock.now + timedelta(hours=1))
    place.grant(ana.name, agent, not_before=later)
    caller.refused("POST", EXCHANGE, body, status=403, code="AGENT_NOT_GRANTED")
    place.grant(ana.name, agent)
    place.exchange(service["key"], ana.key)
    place.chief.ask("POST", f"/v1/agents/{agent}:retire", {"reason": "x"})
    caller.refused("POST", EXCHANGE, body, status=403, code="AGENT_NOT_GRANTED")
    direct = place.key(agent="direct")
    place.grant(ana.name, "direct")
    place.caller(direct["key"]).refused("POST", EXCHANGE, body, status=403, code="AGENT_NOT_GRANTED")


@pytest.mark.parametrize("ends", ["edge", "service key", "user's key"])
def test_a_pair_token_ends_with_what_it_was_made_from(place, ends):
    """SHARE-11, SHARE-28: the next read after a revocation is refused."""
    ana, agent, service = place.pair()
    users = place.key(user=ana.name)
    caller = place.caller(place.exchange(service["key"], users["key"])["access_token"])
    item = caller.write("while it lasts")["id"]
    if ends == "edge":
        place.revoke(ana.name, agent)
    else:
        place.chief.ask("DELETE", f"/v1/keys/{service['id'] if ends == 'service key' else users['id']}")
    status, code = (403, "AGENT_NOT_GRANTED") if ends == "edge" else (401, "UNAUTHENTICATED")
    caller.refused("GET", f"/v1/items/{item}", status=status, code=code)
    caller.refused("POST", "/v1/search", {"query": "x"}, status=status, code=code)
    if ends == "edge":
        place.grant(ana.name, agent)
        assert caller.get(item)["text"] == "while it lasts"


def test_a_pair_token_expires(timed):
    """SHARE-28: after 15 minutes or what was asked for, and never after what it was made from; also over a restart."""
    ana, agent, service = timed.pair()
    whole, short = timed.exchange(service["key"], ana.key), timed.exchange(service["key"], ana.key, expires_in=60)
    bound = timed.exchange(service["key"], timed.token(ana.name, seconds=120))
    ends = rfc3339(timed.clock.now + timedelta(seconds=30))
    brief = timed.key(agent=agent, expires_at=ends)
    bound_by_key = timed.exchange(brief["key"], ana.key)
    bound_by_user = timed.exchange(service["key"], timed.key(user=ana.name, expires_at=ends)["key"])
    tokens = {900: whole, 60: short, 120: bound, 30: bound_by_key, 31: {**bound_by_user, "expires_in": 31}}
    assert all(answer["expires_in"] == seconds for seconds, answer in tokens.items())
    assert bound_by_user["expires_in"] == 30
    timed.server.stop()
    timed.server.start()
    timed.clock.set(timed.clock.now)
    for at in (29, 30, 59, 60, 119, 120, 899, 900):
        timed.clock.set(timed.clock.now.replace(hour=0, minute=0, second=0) + timedelta(seconds=at))
        for seconds, answer in tokens.items():
            seconds = 30 if seconds == 31 else seconds
            status, body, _ = timed.caller(answer["access_token"]).call("GET", "/v1/whoami")
            assert (status == 200) == (at < seconds), (at, seconds, body)
            assert status == 200 or body["code"] == "JWT_EXPIRED"
    for seconds in 0, 901, 10**12:
        body = {"subject_token": ana.key, "expires_in": seconds}
        timed.caller(service["key"]).refused("POST", EXCHANGE, body, status=422, code="SCHEMA_INVALID")


def test_another_tenant_signs_nothing_here(place):
    """SHARE-28, SHARE-29: a pair token of one tenant is none of another, whatever its header says."""
    other = place.chief.ask("POST", "/v1/tenants", {"name": f"acme-{random_id()[4:10]}"}, expect=201)
    there = Caller(place.server, other["admin_key"])
    there.ask("POST", "/v1/agents", {"name": "bot"}, expect=201)
    there.ask("POST", "/v1/edges/ua/admin/bot", {}, expect=201)
    service = there.ask("POST", "/v1/keys", {"agent": "bot"}, expect=201)
    token = place.exchange(service["key"], there.key)["access_token"]
    assert place.caller(token).ask("GET", "/v1/whoami")["tenant"] == other["id"]
    header, payload, signature = token.split(".")
    moved = f"{part({'alg': 'EdDSA', 'kid': place.tenant, 'typ': 'JWT'})}.{payload}.{signature}"
    place.refuses(moved)
    place.refuses(f"{part({'alg': 'EdDSA', 'kid': random_id('tnt'), 'typ': 'JWT'})}.{payload}.{signature}")
    said = jwt.decode(token, options={"verify_signature": False})
    for changed in {"exp": said["exp"] + 600}, {"sub": random_id("usr")}, {"jti": part(bytes(16))}:
        place.refuses(f"{header}.{part(said | changed)}.{signature}")


def test_every_exchange_is_on_the_trail(place):
    """SHARE-28, SHARE-33: who asked for whom and how it ended, durable before the reply; no token is in it."""
    ana, agent, service = place.pair()
    token = place.exchange(service["key"], ana.key)["access_token"]
    place.exchange(service["key"], "tab_wrong", expect=422)
    place.revoke(ana.name, agent)
    refusal = place.exchange(service["key"], ana.key, expect=403)
    place.exchange(ana.key, ana.key, expect=403)
    rows = place.chief.ask("GET", "/v1/audit?limit=5&action=exchange_token")["rows"][:4]
    outcomes = ["SERVICE_KEY_REQUIRED", "AGENT_NOT_GRANTED", "SUBJECT_TOKEN_INVALID", "ok"]
    assert [row["outcome"] for row in rows] == outcomes
    assert [row["user"] for row in rows] == [ana.user, ana.user, None, ana.user]
    assert len({row["agent"] for row in rows[1:]}) == 1 and all(row["ids"] == [service["id"]] for row in rows[1:])
    assert rows[1]["request_id"] == refusal["request_id"]
    seen = ana.ask("GET", "/v1/audit?limit=50")["rows"]
    assert sum(row["action"] == "exchange_token" for row in seen) == 3, "users read their own rows"
    assert token not in json.dumps(rows) and token not in place.server.log


def test_the_command_line_makes_and_exchanges(bin, place):
    """SHARE-28: `key create --agent` makes a service key and `token` exchanges it, with a user's token from outside."""
    ana, agent, _ = place.pair()

    def run(*args, key, stdin="", **env):
        whole = {**os.environ, "TABELLION_URL": place.server.url, "TABELLION_KEY": key, **env}
        return subprocess.run([bin, *args], env=whole, input=stdin, capture_output=True, text=True, timeout=30)

    made = json.loads(run("key", "create", "--agent", agent, "--json", key=place.chief.key).stdout)
    assert made["user"] is None
    by_stdin = run("token", "--expires-in", "60", "--json", key=made["key"], stdin=ana.key + "\n")
    answer = json.loads(by_stdin.stdout)
    assert answer["expires_in"] == 60
    shown = run("token", key=made["key"], TABELLION_SUBJECT_TOKEN=ana.key)
    assert "900 s" in shown.stdout, shown
    me = json.loads(run("whoami", "--json", key=answer["access_token"]).stdout)
    assert (me["user"]["id"], me["agent"]["name"]) == (ana.user, agent)
    assert run("token", key=made["key"]).returncode == 1
    refused = run("token", key=ana.key, stdin=ana.key)
    assert refused.returncode == 1 and "key create --agent" in refused.stderr
    assert run("search", "x", key=made["key"]).returncode == 1
    assert NAME not in shown.stdout
