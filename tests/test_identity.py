"""Who acts, what they may see, and what the trail and the disk keep of it."""

import json
import stat
import time
import uuid
from datetime import timedelta

import pytest

from callers import Caller, admin, log_size, new_caller, random_id, rfc3339
from server import ADMIN_KEY, Server
from unseen import NEEDLES, UNSEEN

READS_ARE_IN_THE_TRAIL_S = 1.5


def without_request_id(answer):
    """All but what is made anew each time: the number of the request, and where a refused write is kept for its author."""
    return {name: value for name, value in answer.items() if name not in ("request_id", "refusal_id")}


def shape(reply):
    """All of a reply that could tell one refusal from another."""
    status, answer, headers = reply
    return status, without_request_id(answer), sorted(headers), headers.get("content-length")


# Credentials


def test_every_bad_key_gets_the_same_answer(clock):
    """SHARE-28: unknown, revoked, expired, missing and malformed credentials cannot be told apart."""
    server, chief = clock.server, admin(clock.server)
    ana = new_caller(server)
    revoked = chief.ask("POST", "/v1/keys", {"user": ana.name}, expect=201)
    chief.ask("DELETE", f"/v1/keys/{revoked['id']}")
    expires_at = rfc3339(clock.now + timedelta(hours=1))
    expired = chief.ask("POST", "/v1/keys", {"user": ana.name, "expires_at": expires_at}, expect=201)
    live = Caller(server, expired["key"])
    live.ask("GET", "/v1/whoami")
    clock.advance(hours=1)

    keys = [revoked["key"], expired["key"], "tab_" + "a" * 52, ana.key[:-1], ana.key + "a", "x", ""]
    schemes = [{"Authorization": value} for value in ("Bearer", "Bearer ", f"Basic {ana.key}", ana.key, "Bearer \u00e9")]
    for method, path, body in (
        ("GET", "/v1/whoami", None),
        ("GET", f"/v1/items/{random_id()}", None),
        ("POST", "/v1/items", {"text": "x"}),
        ("POST", "/v1/search", {"query": "x"}),
        ("POST", "/v1/users", {"name": "x"}),
        ("GET", "/v1/audit", None),
    ):
        replies = [server.call(method, path, body, key=key) for key in keys]
        replies += [server.call(method, path, body, key="", headers=scheme) for scheme in schemes]
        shapes = [shape(reply) for reply in replies]
        assert all(other == shapes[0] for other in shapes), shapes
        assert shapes[0][0] == 401 and shapes[0][1]["code"] == "UNAUTHENTICATED"
    ana.ask("GET", "/v1/whoami")


def test_a_revoked_key_is_dead_at_once(shared_server, chief):
    """SHARE-28: the first call after the revocation is refused, after a restart too; the user's other keys live."""
    ana = new_caller(shared_server)
    other = chief.ask("POST", "/v1/keys", {"user": ana.user}, expect=201)
    second = Caller(shared_server, other["key"])
    second.write("with the second key")
    assert chief.ask("DELETE", f"/v1/keys/{other['id']}")["id"] == other["id"]
    second.refused("POST", "/v1/items", {"text": "x"}, status=401, code="UNAUTHENTICATED")
    ana.write("with the first key")


def test_keys_survive_a_restart(bin, tmp_path):
    """SHARE-28: live keys stay live and revoked ones dead; only hashes of them are kept."""
    with Server(bin, tmp_path / "data") as server:
        ana, ben = new_caller(server), new_caller(server)
        keys = admin(server).ask("GET", "/v1/keys")["keys"]
        [bens] = [key["id"] for key in keys if key["user"] == ben.user]
        admin(server).ask("DELETE", f"/v1/keys/{bens}")
        assert server.stop() == 0
        server.start()
        ana.ask("GET", "/v1/whoami")
        ben.refused("GET", "/v1/whoami", status=401, code="UNAUTHENTICATED")


def test_a_key_is_shown_once(shared_server, chief, ana):
    """SHARE-28: a listing of keys has no secret in it."""
    listing = chief.ask("GET", "/v1/keys")
    assert any(key["user"] == ana.user for key in listing["keys"])
    text = json.dumps(listing)
    assert ana.key not in text and shared_server.key not in text and "tab_" not in text


def test_keys_carry_256_bits(shared_server, chief, ana):
    """SHARE-28: 52 base32 digits behind the prefix, no two alike."""
    keys = {chief.ask("POST", "/v1/keys", {"user": ana.name}, expect=201)["key"] for _ in range(5)}
    assert len(keys) == 5 and all(key.startswith("tab_") and len(key) >= 4 + 43 for key in keys)


def test_who_am_i(shared_server, chief):
    """SHARE-1, SHARE-28: the credential names tenant, user, agent and role; without an agent it is `direct`."""
    name, agent = f"ana-{uuid.uuid4().hex[:6]}", f"market-{uuid.uuid4().hex[:6]}"
    made = chief.ask("POST", "/v1/agents", {"name": agent, "specialisation": "prices"}, expect=201)
    ana = new_caller(shared_server, name, agent=agent, role="auditor")
    me = ana.ask("GET", "/v1/whoami")
    assert me["tenant"].startswith("tnt_") and me["role"] == "auditor"
    assert me["user"] == {"id": ana.user, "name": name} and me["agent"] == {"id": made["id"], "name": agent}
    assert new_caller(shared_server).ask("GET", "/v1/whoami")["agent"]["name"] == "direct"


def test_an_agents_own_key_is_no_pair(shared_server, chief):
    """SHARE-28: an agent service key is refused for memory operations."""
    agent = f"agent-{uuid.uuid4().hex[:6]}"
    chief.ask("POST", "/v1/agents", {"name": agent}, expect=201)
    service = Caller(shared_server, chief.ask("POST", "/v1/keys", {"agent": agent}, expect=201)["key"])
    service.refused("POST", "/v1/items", {"text": "x"}, status=403, code="PAIR_REQUIRED")
    service.refused("POST", "/v1/search", {"query": "x"}, status=403, code="PAIR_REQUIRED")
    service.refused("GET", f"/v1/items/{random_id()}", status=403, code="PAIR_REQUIRED")


# Principals


def test_names_work_where_ids_do(shared_server, chief):
    """SHARE-1: a user, agent or resource is named by id or by its tenant-unique name."""
    mark = uuid.uuid4().hex[:6]
    user = chief.ask("POST", "/v1/users", {"name": f"ana-{mark}"}, expect=201)
    agent = chief.ask("POST", "/v1/agents", {"name": f"market-{mark}"}, expect=201)
    resource = chief.ask("POST", "/v1/resources", {"name": f"kb-{mark}", "kind": "kb_search"}, expect=201)
    assert (user["id"][:4], agent["id"][:4], resource["id"][:4]) == ("usr_", "agt_", "res_")
    keys = [
        chief.ask("POST", "/v1/keys", {"user": u, "agent": a}, expect=201)
        for u in (user["id"], user["name"])
        for a in (agent["id"], agent["name"])
    ]
    assert {(key["user"], key["agent"]) for key in keys} == {(user["id"], agent["id"])}
    ana = Caller(shared_server, keys[0]["key"])
    chief.ask("POST", f"/v1/edges/ar/{agent['name']}/{resource['id']}", expect=201)
    by_name = ana.write("by name", resources=[resource["name"]])
    by_id = ana.write("by id", resources=[resource["id"]])
    assert ana.get(by_name["id"])["resources"] == ana.get(by_id["id"])["resources"] == [resource["id"]]


@pytest.mark.parametrize("kind", ["users", "agents", "resources"])
def test_names_are_unique_within_a_tenant(chief, kind):
    """The second of a name is refused and appends nothing; the listing has the first."""
    name = f"twin-{uuid.uuid4().hex[:6]}"
    made = chief.ask("POST", f"/v1/{kind}", {"name": name}, expect=201)
    size = log_size(chief.server)
    chief.refused("POST", f"/v1/{kind}", {"name": name}, status=409, code="NAME_TAKEN")
    assert log_size(chief.server) == size
    assert [row["id"] for row in chief.ask("GET", f"/v1/{kind}")[kind] if row["name"] == name] == [made["id"]]


def test_unknown_principals_are_refused(chief, ana):
    """Keys and writes name only who and what exists."""
    for body in {"user": "nobody"}, {"user": random_id("usr")}, {"user": ana.name, "agent": "nothing"}:
        status, answer, _ = chief.call("POST", "/v1/keys", body)
        assert status in (404, 422), answer
    status, answer, _ = ana.call("POST", "/v1/items", {"text": "x", "resources": ["no such kb"]})
    assert status in (404, 422), answer
    chief.refused("DELETE", f"/v1/keys/{random_id('key')}", status=404, code="NOT_FOUND")


ADMINISTRATION = [
    ("POST", "/v1/tenants", {"name": "other"}),
    ("POST", "/v1/users", {"name": "mallory"}),
    ("POST", "/v1/agents", {"name": "mallory"}),
    ("POST", "/v1/resources", {"name": "mallory"}),
    ("POST", "/v1/keys", {"user": "admin"}),
    ("GET", "/v1/users", None),
    ("GET", "/v1/agents", None),
    ("GET", "/v1/resources", None),
    ("GET", "/v1/keys", None),
    ("DELETE", f"/v1/keys/{random_id('key')}", None),
    ("POST", "/v1/edges/ua/admin/direct", None),
    ("DELETE", "/v1/edges/ua/admin/direct", None),
    ("POST", "/v1/agents/direct:retire", {"reason": "x"}),
    ("POST", "/v1/agents/direct:activate", {"reason": "x"}),
    ("POST", "/v1/agents/direct:delete", {"reason": "x"}),
]
AUDIT = [
    ("POST", "/v1/audit:verify", None),
    ("GET", "/v1/proofs/head", None),
    ("GET", "/v1/proofs/inclusion?lsn=1", None),
    ("GET", "/v1/proofs/consistency?from=1", None),
    ("GET", "/v1/edges", None),
    ("GET", "/v1/access/what?user=admin", None),
]


def test_roles_bound_what_may_be_administered(shared_server):
    """SHARE-28, SHARE-33: members administer and audit nothing, auditors audit, admins do both."""
    member, auditor = new_caller(shared_server), new_caller(shared_server, role="auditor")
    size = log_size(shared_server)
    for method, path, body in ADMINISTRATION:
        for caller in member, auditor:
            caller.refused(method, path, body, status=403, code="FORBIDDEN")
    for method, path, body in AUDIT:
        member.refused(method, path, body, status=403, code="FORBIDDEN")
        auditor.ask(method, path, body)
    assert log_size(shared_server) == size


# Hidden is missing


@pytest.fixture(scope="module")
def strangers(shared_server):
    """Someone's item, another tenant's item, and ids of nothing, as (item, version) pairs."""
    owner = new_caller(shared_server)
    acme = admin(shared_server).ask("POST", "/v1/tenants", {"name": f"acme-{uuid.uuid4().hex[:6]}"}, expect=201)
    foreign = Caller(shared_server, acme["admin_key"])
    assert acme["id"].startswith("tnt_")
    pairs = [caller.write("a secret of mine", key="secret") for caller in (owner, foreign)]
    scratch = owner.write("a fleeting secret", layer="working")
    retracted = owner.write("a retracted secret")
    owner.ask("DELETE", f"/v1/items/{retracted['id']}")
    pairs += [scratch, retracted, *({"id": random_id(), "version": random_id("ver")} for _ in range(2))]
    return [(pair["id"], pair["version"]) for pair in pairs]


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("GET", "{item}", None),
        ("GET", "{item}?as_of=2026-11-15T00:00:00Z", None),
        ("GET", "{item}?as_of=2100-01-01T00:00:00Z", None),
        ("PUT", "{item}", {"text": "overwritten"}),
        ("PUT", "{item}", {"text": "overwritten", "expected_version": "{version}"}),
        ("PUT", "{item}", {"text": "overwritten", "layer": "working"}),
        ("DELETE", "{item}?reason=x", None),
        ("GET", "{item}/versions", None),
        ("GET", "{item}/provenance", None),
        ("GET", "{item}/provenance?version={version}", None),
        ("POST", "{item}:rollback", {"reason": "x"}),
        ("POST", "{item}:rollback", {"version": "{version}", "reason": "x"}),
        ("POST", "{item}:pin", {"reason": "x"}),
        ("POST", "{item}:unpin", {"reason": "x"}),
        ("POST", "", {"text": "child", "derived_from": ["{version}"]}),
        ("POST", "", {"text": "successor", "supersedes": "{item}"}),
        ("POST", "", {"text": "successor", "supersedes": "{version}"}),
    ],
)
def test_hidden_is_missing(shared_server, strangers, method, path, body):
    """SHARE-29, SHARE-41: another owner's item, another tenant's and an id of nothing are answered alike, to members and to
    admins, byte for byte but the request id; nothing is written."""
    size = log_size(shared_server)
    for caller in new_caller(shared_server), admin(shared_server):
        shapes = []
        for item, version in strangers:
            # str.format would stumble over the braces of JSON.
            filled = json.dumps([path, body]).replace("{item}", item).replace("{version}", version)
            at, sent = json.loads(filled)
            shapes.append(shape(caller.call(method, f"/v1/items/{at}" if at else "/v1/items", sent)))
        assert all(other == shapes[0] for other in shapes), shapes
        # A source that is missing is a fault of the write, named with its place; what is acted upon is simply not found.
        expected = (422, "SCHEMA_INVALID") if body and "derived_from" in body else (404, "NOT_FOUND")
        assert (shapes[0][0], shapes[0][1]["code"]) == expected, shapes[0]
    assert log_size(shared_server) == size + 2, "the new user and its key, nothing else"


def test_no_role_sees_private_items(shared_server, chief, ana, ben):
    """SHARE-40: neither search, listing nor totals of others show a private item; an admin is no exception."""
    written = ana.write("the combination is nineteen-seven", key="safe")
    auditor = new_caller(shared_server, role="auditor")
    for caller in chief, ben, auditor:
        assert caller.found("combination nineteen safe") == []
        assert written["id"] not in json.dumps(caller.ask("GET", "/v1/items?limit=500"))
    assert ana.found("combination") == [written["id"]]


def test_scores_do_not_depend_on_what_is_hidden(ana, ben):
    """SHARE-40: the same memory gives the same scores, whatever others wrote in between."""
    for number in range(5):
        ana.write(f"willow {number} by the water")
        token = ana.write(f"reeds {number} by the water")["token"]

    def relevance():
        # A hybrid score also falls with age; relevance does not.
        modes = "hybrid", "dense", "lexical"
        found = [ana.search("willow water", mode=mode, min_token=token) for mode in modes]
        return [[(result["id"], result["relevance"]) for result in results] for results in found]

    before = relevance()
    assert all(before)
    for number in range(40):
        written = ben.write(f"willow and water and willow, {number}")
    ben.search("willow", mode="dense", min_token=written["token"])
    assert relevance() == before


def test_another_users_same_content_is_no_matter(ana, ben):
    """SHARE-41: repeating or contradicting something hidden commits as if that did not exist."""
    one, other = ana.write("the vault is on floor two"), ben.write("the vault is on floor two")
    assert one["id"] != other["id"] and set(one) == set(other)


def test_tenants_are_worlds_apart(shared_server, chief):
    """SHARE-29: the same names live in two tenants, and each sees its own people, items and trail alone."""
    name = f"ana-{uuid.uuid4().hex[:6]}"
    tenant = chief.ask("POST", "/v1/tenants", {"name": f"umbra-{name}"}, expect=201)
    there = Caller(shared_server, tenant["admin_key"])
    ana_here, ana_there = new_caller(shared_server, name), new_caller(shared_server, name, key=there.key)
    assert ana_here.user != ana_there.user
    ana_here.write("the lamp is here")
    written = ana_there.write("the lamp is there")
    assert ana_there.found("lamp") == [written["id"]]
    assert {user["id"] for user in there.ask("GET", "/v1/users")["users"]}.isdisjoint(
        user["id"] for user in chief.ask("GET", "/v1/users")["users"]
    )
    there.refused("POST", "/v1/tenants", {"name": "third"}, status=403, code="FORBIDDEN")
    head = there.ask("GET", "/v1/proofs/head")
    assert head["tenant"] == tenant["id"] != chief.ask("GET", "/v1/proofs/head")["tenant"]
    assert ana_here.user not in json.dumps(there.ask("GET", "/v1/audit?limit=500"))
    keys = [key["id"] for key in chief.ask("GET", "/v1/keys")["keys"]]
    there.refused("DELETE", f"/v1/keys/{keys[0]}", status=404, code="NOT_FOUND")
    foreign, missing = (shape(there.call("POST", "/v1/keys", {"user": user})) for user in (ana_here.user, random_id("usr")))
    assert foreign == missing and foreign[0] in (404, 422)


# Identity in the body


@pytest.mark.parametrize("field", ["tenant", "tenant_id", "user", "user_id", "agent", "agent_id", "source_agent_id", "owner"])
def test_identity_in_the_body_is_refused(ana, ben, field):
    """SHARE-28: who acts is what the credential says; a body that says otherwise is refused, even when it says the same."""
    written = ana.write(f"identity {field}")
    size = log_size(ana.server)
    path = f"/v1/items/{written['id']}"
    for value in ben.user, ana.user:
        for method, at, body in (
            ("POST", "/v1/items", {"text": "x"}),
            ("PUT", path, {"text": "x"}),
            ("POST", "/v1/search", {"query": "x"}),
            ("POST", f"{path}:rollback", {"reason": "x"}),
            ("POST", f"{path}:pin", {"reason": "x"}),
            ("POST", f"{path}:unpin", {"reason": "x"}),
        ):
            ana.refused(method, at, {**body, field: value}, status=400, code="IDENTITY_IN_BODY")
    assert log_size(ana.server) == size


# Positions in the log


def places(value, at=""):
    """Where a JSON value speaks of positions in the log."""
    if isinstance(value, dict):
        for name, member in value.items():
            if "lsn" in name.lower():
                yield f"{at}/{name}"
            yield from places(member, f"{at}/{name}")
    if isinstance(value, list):
        for number, member in enumerate(value):
            yield from places(member, f"{at}/{number}")


def test_members_see_no_positions(shared_server, ana):
    """SHARE-40: not one reply to a member names a position in the log; an auditor's trail does."""
    written = ana.write("no numbers", key="k")
    path = f"/v1/items/{written['id']}"
    replies = [written, ana.ask("PUT", path, {"text": "still none"}, expect=201)]
    for method, at, body in (
        ("GET", path, None),
        ("GET", f"{path}/versions", None),
        ("GET", f"{path}/provenance", None),
        ("GET", "/v1/items", None),
        ("POST", "/v1/search", {"query": "none"}),
        ("POST", f"{path}:pin", {"reason": "x"}),
        ("POST", f"{path}:unpin", {"reason": "x"}),
        ("POST", f"{path}:rollback", {"reason": "x"}),
        ("DELETE", path, None),
        ("GET", "/v1/audit", None),
        ("GET", "/v1/whoami", None),
    ):
        replies.append(ana.ask(method, at, body))
    assert list(places(replies)) == []
    auditor = new_caller(shared_server, role="auditor")
    rows = auditor.ask("GET", "/v1/audit?limit=5")["rows"]
    assert all(isinstance(row["lsn"], int) for row in rows)


def test_no_number_counts_what_others_write(ana, ben):
    """SHARE-40: no number in what a member reads of its own versions moves with the writes of others."""

    def numbers(value):
        rows = ana.ask("GET", f"/v1/items/{value['id']}/versions")["versions"]
        return {name: row[name] for row in rows for name in row if isinstance(row[name], int)}

    first = numbers(ana.write("count one"))
    for number in range(10):
        ben.write(f"filler {number}")
    second = numbers(ana.write("count two"))
    assert {name: second[name] - first[name] for name in first if abs(second[name] - first[name]) > 1} == {}


# The trail


def rows_of(caller, query=""):
    """The trail as this caller sees it, without the reading of the trail itself."""
    rows, cursor = [], ""
    while cursor is not None:
        page = caller.ask("GET", f"/v1/audit?limit=500{query}" + (f"&cursor={cursor}" if cursor else ""))
        rows += page["rows"]
        cursor = page["next"]
    return [row for row in rows if "audit" not in row["action"]]


def test_every_operation_leaves_one_row(ana):
    """SHARE-33: reads, writes, replays and refusals alike, each with who, what, how it ended, and when."""
    assert rows_of(ana) == []
    written = ana.write("for the record")
    path, denied = f"/v1/items/{written['id']}", f"/v1/items/{random_id()}"
    operations = [
        ("POST", "/v1/items", {"text": "for the record"}, 200),
        ("GET", path, None, 200),
        ("GET", f"{path}/versions", None, 200),
        ("GET", f"{path}/provenance", None, 200),
        ("GET", "/v1/items", None, 200),
        ("POST", "/v1/search", {"query": "record"}, 200),
        ("PUT", path, {"text": "for the record, again"}, 201),
        ("POST", f"{path}:pin", {"reason": "x"}, 200),
        ("POST", f"{path}:unpin", {"reason": "x"}, 200),
        ("POST", f"{path}:rollback", {"reason": "x"}, 200),
        ("DELETE", path, None, 200),
        ("GET", denied, None, 404),
        ("PUT", denied, {"text": "x"}, 404),
        ("POST", "/v1/items", {"text": "x", "confidence": 2}, 422),
        ("POST", "/v1/users", {"name": "x"}, 403),
        ("GET", "/v1/proofs/head", None, 403),
    ]
    for method, at, body, status in operations:
        ana.ask(method, at, body, expect=status)
    time.sleep(READS_ARE_IN_THE_TRAIL_S)
    rows = rows_of(ana)
    assert len(rows) == len(operations) + 1, [(row["action"], row["outcome"]) for row in rows]
    for row in rows:
        assert {"time", "user", "agent", "action", "outcome", "ids", "request_id", "epoch"} <= set(row)
        assert (row["user"], row["agent"]) == (ana.user, ana.agent)
    assert len({row["request_id"] for row in rows}) == len(rows)
    assert sum(written["id"] in row["ids"] for row in rows) >= 8
    assert len({row["outcome"] for row in rows}) >= 2, "a refusal does not look like a success"
    assert sorted(row["time"] for row in rows) == [row["time"] for row in reversed(rows)], "newest first"


def test_rows_of_writes_are_there_with_the_reply(ana):
    """SHARE-33: the row of a write or a denial is durable before the reply."""
    for number in range(20):
        written = ana.write(f"prompt {number}")
        newest = rows_of(ana)[0]
        assert written["id"] in newest["ids"], newest
    ana.ask("POST", "/v1/users", {"name": "x"}, expect=403)
    assert rows_of(ana)[0]["outcome"] != newest["outcome"]


def test_a_refusal_is_found_by_its_request_id(ana):
    """SHARE-33: the number in a refusal is the number in the trail."""
    refusal = ana.refused("POST", "/v1/users", {"name": "x"}, status=403, code="FORBIDDEN")
    assert refusal["request_id"] in [row["request_id"] for row in rows_of(ana)]


def test_users_read_their_own_rows(shared_server, ana, ben, chief):
    """SHARE-33: members see their own rows alone, auditors and admins all."""
    mine, theirs = ana.write("row one"), ben.write("row two")
    assert {row["user"] for row in rows_of(ana)} == {ana.user}
    assert {row["user"] for row in rows_of(ben)} == {ben.user}
    for caller in chief, new_caller(shared_server, role="auditor"):
        seen = json.dumps(caller.ask("GET", "/v1/audit?limit=500")["rows"])
        assert mine["id"] in seen and theirs["id"] in seen


def test_the_trail_can_be_narrowed_and_paged(ana):
    """SHARE-33: by action, and page by page without gap or repeat."""
    for number in range(12):
        ana.write(f"page {number}")
    [action] = {row["action"] for row in rows_of(ana)}
    assert len(rows_of(ana, f"&action={action}")) == 12 and rows_of(ana, "&action=create_tenant") == []
    seen, cursor = [], ""
    while cursor is not None:
        page = ana.ask("GET", f"/v1/audit?limit=5&action={action}" + (f"&cursor={cursor}" if cursor else ""))
        assert len(page["rows"]) <= 5
        seen += [row["request_id"] for row in page["rows"]]
        cursor = page["next"]
    assert len(seen) == len(set(seen)) == 12


def test_the_trail_holds_no_content(ana, chief):
    """SHARE-33: rows name ids and outcomes, never texts, queries or secrets."""
    ana.write("a most private thought", key="thought")
    ana.search("private thought")
    ana.call("DELETE", f"/v1/items/{random_id()}?reason=thoughtless")
    time.sleep(READS_ARE_IN_THE_TRAIL_S)
    text = json.dumps(rows_of(ana) + chief.ask("GET", "/v1/audit?limit=100")["rows"]).lower()
    assert "thought" not in text and ana.key not in text


# What lies on the disk


def leaks(directory, needles):
    """Which needles lie in which files, as they are, in any case."""
    found = []
    for path in directory.rglob("*"):
        if path.is_file():
            data = path.read_bytes().lower()
            found += [(path.name, needle) for needle in needles if needle.lower().encode() in data]
    return found


def test_nothing_said_lies_open_on_the_disk(bin, tmp_path):
    """D9, SHARE-28: neither texts, names, reasons nor keys are in any file, while the server runs or after it; nor does
    its own log name them."""
    directory = tmp_path / "data"
    with Server(bin, directory) as server:
        chief = admin(server)
        chief.ask("POST", "/v1/agents", {"name": "market-quux"}, expect=201)
        chief.ask("POST", "/v1/resources", {"name": "warehouse-quux"}, expect=201)
        chief.ask("POST", "/v1/tenants", {"name": "umbrella-quux"}, expect=201)
        ana = new_caller(server, "anastasia-quux", agent="market-quux")
        chief.ask("POST", "/v1/edges/ar/market-quux/warehouse-quux", {"reason": "Reasonquux"}, expect=201)
        for layer in "working", "session", "episodic":
            written = ana.write(**UNSEEN, layer=layer, resources=["warehouse-quux"])
        ana.ask("POST", f"/v1/items/{written['id']}:pin", {"reason": "Reasonquux"})
        ana.search("Queryquux")
        ana.ask("DELETE", f"/v1/items/{written['id']}?reason=Reasonquux")
        time.sleep(READS_ARE_IN_THE_TRAIL_S)
        needles = [*NEEDLES, ana.key, ADMIN_KEY, ana.key.removeprefix("tab_"), ADMIN_KEY.removeprefix("tab_")]
        assert leaks(directory, needles) == []
        assert server.stop() == 0
        assert leaks(directory, needles) == []
        server.start()
        assert ana.found("Quillfeather")
        assert [needle for needle in needles if needle.lower() in server.log.lower()] == []


def test_only_the_owner_may_open_the_files(bin, tmp_path):
    """D9: the data directory and all in it are closed to group and others, keys above all."""
    directory = tmp_path / "data"
    with Server(bin, directory) as server:
        admin(server).ask("POST", "/v1/tenants", {"name": "second"}, expect=201)
        new_caller(server).write("something")
        open_to_others = check_modes(directory)
        server.stop()
    assert open_to_others == [] and check_modes(directory) == []


def check_modes(directory):
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [directory, *directory.rglob("*")]}
    return [f"{path.relative_to(directory)}: {mode:o}" for path, mode in modes.items() if mode & 0o077]
