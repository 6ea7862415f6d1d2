"""The trail says which policies shaped what was read and written, in which version, and whether they changed a text."""

from datetime import UTC, datetime

import pytest

from callers import rfc3339
from grpc_caller import GrpcCaller
from server import Server
from test_sharing import CARD, Team, unique

REDACT = {"kind": "read", "steps": [{"step": "redact"}]}


@pytest.fixture
def team(server):
    return Team(server)


def rows(caller, action):
    """The rows of this caller's trail with this action, newest first."""
    return caller.ask("GET", f"/v1/audit?action={action}&limit=50")["rows"]


def shaped(caller, action, newest=0):
    row = rows(caller, action)[newest]
    return {policy["id"]: policy["version"] for policy in row["policies"]}, row["transformed"]


@pytest.fixture
def sync(bin, tmp_path):
    """A team whose reads are on the trail before the reply."""
    with Server(bin, tmp_path / "data", env={"TABELLION_AUDIT__READS": "sync"}) as running:
        yield Team(running)


def test_reads_name_the_policies_that_shaped_them(sync):
    """SHARE-33: get, list, search and provenance each say in their one row which policies held, in which version, and
    whether what was given is another text than is kept."""
    team = sync
    made = team.one.write(f"paid with {CARD}", tier="private")["id"]
    plain = team.one.write(unique("the door is green"), tier="private")["id"]
    team.one.get(made)
    assert shaped(team.one, "get") == ({}, False)
    team.policy("cards", REDACT)
    team.policy("others", {**REDACT, "scope": {"user": team.people[1].name}})
    team.policy("cards", {**REDACT, "priority": 1})
    assert team.one.get(made)["text"] == "paid with [REDACTED:card]"
    assert shaped(team.one, "get") == ({"cards": 2}, True)
    team.one.get(plain)
    assert shaped(team.one, "get") == ({"cards": 2}, False), "it held, and there was nothing to change"
    before = len(rows(team.one, "search"))
    team.one.search("paid with")
    assert len(rows(team.one, "search")) == before + 1, "one row an operation"
    assert shaped(team.one, "search") == ({"cards": 2}, True)
    team.one.ask("GET", "/v1/items")
    assert shaped(team.one, "list") == ({"cards": 2}, True)
    team.one.ask("GET", f"/v1/items/{plain}/provenance")
    assert shaped(team.one, "provenance") == ({"cards": 2}, False)
    team.two.ask("GET", "/v1/items")
    assert shaped(team.two, "list")[0] == {"cards": 2, "others": 1}, "only those that hold for the reader"


def test_old_rows_keep_the_versions_that_held(sync):
    """SHARE-33: a row says what held then, however the policies changed since, over a restart and a rebuilt view."""
    team = sync
    made = team.one.write(f"paid with {CARD}", tier="private")["id"]
    for priority in (1, 2):
        team.policy("cards", {**REDACT, "priority": priority})
        team.one.get(made)
    team.chief.ask("DELETE", "/v1/policies/cards")
    team.one.get(made)
    team.policy("cards", REDACT)
    team.one.get(made)
    expected = [({"cards": 4}, True), ({}, False), ({"cards": 2}, True), ({"cards": 1}, True)]
    assert [shaped(team.one, "get", newest) for newest in range(4)] == expected
    team.server.kill()
    team.server.start()
    assert [shaped(team.one, "get", newest) for newest in range(4)] == expected


def test_writes_name_the_policies_that_shaped_them(team):
    """SHARE-33: the row of a write says which policies held for what is kept and what is shared, and whether either is
    another text than was sent; a held write and a decision too."""
    text = unique("The window is open")
    team.one.write(text)
    assert shaped(team.one, "write") == ({"share-all": 1}, False)
    team.one.write(f"{unique('The card')} is {CARD}")
    assert shaped(team.one, "write") == ({"share-all": 1}, True)
    team.one.write(f"{unique('My card')} is {CARD}", tier="private")
    assert shaped(team.one, "write") == ({}, False), "no policy of sharing holds for what is kept"
    team.policy("keep", {"kind": "write_private", "steps": [{"step": "redact", "classes": ["card"]}]})
    team.one.write(f"{unique('Her card')} is {CARD}", tier="private")
    assert shaped(team.one, "write") == ({"keep": 1}, True)
    text = f"{unique('His card')} is {CARD}"
    now = rfc3339(datetime.now(UTC))
    source = {"source_type": "human_input", "source_uri": "chat://1", "accessed_at": now, "excerpt": text}
    body = {"text": text, "layer": "semantic", "evidence": [source], "tier": "private"}
    held = team.one.ask("POST", "/v1/items", body, expect=202)
    assert shaped(team.one, "write") == ({"keep": 1}, True)
    person = team.people[0]
    person.ask("POST", f"/v1/reviews/{held['pending_id']}:decide", {"decision": "approve", "reason": "seen"})
    assert shaped(person, "decide") == ({"keep": 1}, True)


def test_users_read_their_own_rows_and_auditors_all(team):
    """SHARE-33: rows, with their policies, are those of who asks; auditors see everybody's, and names are resolved for
    both, over gRPC as over REST. The trail itself holds no name: it says where each policy was set."""
    team.one.write(f"{unique('The card')} is {CARD}")
    team.two.write(unique("The door is blue"))
    assert {row["user"] for row in rows(team.one, "write")} == {team.one.user}
    assert {row["user"] for row in rows(team.two, "write")} == {team.two.user}
    assert {team.one.user, team.two.user} <= {row["user"] for row in rows(team.chief, "write")}
    with GrpcCaller(team.server, team.one.key) as grpc:
        row = grpc.call("ListAudit", {"action": "write"})["rows"][0]
    assert (row["policies"], row["transformed"]) == ([{"id": "share-all", "version": 1}], True)
    assert team.chief.ask("POST", "/v1/audit:verify", {})["ok"]
    team.server.stop()
    files = [path for path in team.server.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if b"share-all" in path.read_bytes()], "a name is what somebody wrote: sealed"
