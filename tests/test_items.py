"""Items through REST: what is written, changed, taken back and found."""

import hashlib
import time
import uuid
from datetime import timedelta

import pytest

from callers import TESTS, log_size, new_caller, random_id, rfc3339
from canonical import content_hash

ITEM_FIELDS = {
    "id", "key", "text", "kind", "layer", "tier", "namespace", "confidence", "trust", "fields", "tags", "triple", "evidence",
    "version", "operation", "status", "parents", "agents", "resources", "pinned", "created_at", "updated_at", "expires_at",
    "token",
}  # fmt: skip
FULL = {
    "text": "Port 8080 serves the API",
    "key": "API port",
    "kind": "fact",
    "layer": "session",
    "tier": "private",
    "namespace": "team.net-1",
    "confidence": 0.8,
    "triple": {"subject": "api", "predicate": "port", "object": "8080"},
    "fields": {"session": "3", "weight": 1.5, "nested": {"b": [1, True, None], "a": "caf\u00e9"}},
    "tags": ["network", "api"],
    "justification": "asked twice this week",
    "session_id": "session-3",
    "task_id": "task-9",
    "trace_id": "trace-1",
    "agent_version": "1.4.2",
}
MORE = {"procedural": {"tests": TESTS}}
EXCERPT = "the API listens on port 8080"


def evidence(**more):
    return {
        "source_type": "document",
        "source_uri": "doc://runbook",
        "source_version": "7",
        "accessed_at": "2026-11-14T00:00:00Z",
        "excerpt": EXCERPT,
        "excerpt_hash": hashlib.sha256(EXCERPT.encode()).hexdigest(),
        **more,
    }


# Writing and reading


def test_an_item_reads_as_it_was_written(shared_server, chief):
    """The whole content and everything said about it comes back."""
    kb = f"kb-{uuid.uuid4().hex[:8]}"
    resource = chief.ask("POST", "/v1/resources", {"name": kb, "kind": "kb_search"}, expect=201)
    chief.ask("POST", "/v1/agents", {"name": f"reader-of-{kb}"}, expect=201)
    ana = new_caller(shared_server, agent=f"reader-of-{kb}")
    chief.ask("POST", f"/v1/edges/ar/reader-of-{kb}/{kb}", expect=201)
    written = ana.write(**FULL, evidence=[evidence()], resources=[kb])
    assert written["id"].startswith("itm_") and written["version"].startswith("ver_") and written["trust"] == "medium"
    item = ana.get(written["id"])
    assert ITEM_FIELDS <= set(item)
    same = ["text", "key", "kind", "layer", "tier", "namespace", "confidence", "triple", "fields", "tags"]
    assert {name: item[name] for name in same} == {name: FULL[name] for name in same}
    assert (item["id"], item["version"]) == (written["id"], written["version"])
    assert (item["operation"], item["status"], item["parents"], item["pinned"]) == ("insert", "active", [], False)
    assert item["agents"] == [ana.agent] and item["resources"] == [resource["id"]]
    [seen] = item["evidence"]
    assert seen["source_uri"] == "doc://runbook" and seen["excerpt"] == EXCERPT and 0 < seen["authority"] <= 1


def test_left_out_fields_take_their_defaults(ana):
    """GOV-1.4: a bare text is an episodic note in the default namespace."""
    item = ana.get(ana.write("the door is green")["id"])
    defaults = {
        "kind": "note", "layer": "episodic", "tier": "private", "namespace": "default", "confidence": 0.5, "fields": {},
        "tags": [], "evidence": [], "resources": [],
    }  # fmt: skip
    assert {name: item[name] for name in defaults} == defaults
    assert item["key"] is None and item["triple"] is None


@pytest.mark.parametrize(
    "text",
    ["a", "\u00e9\u4e2d\U0001f600 \u202e", "tab\tnewline\nescape\x1bend", "x" * 65_536],
    ids=["one", "unicode", "control", "longest"],
)
def test_any_text_comes_back_unchanged(ana, text):
    """Nothing is trimmed, folded or replaced."""
    assert ana.get(ana.write(text)["id"])["text"] == text


def test_sharing_is_off_until_a_policy_turns_it_on(ana):
    """What would be shared is refused, not silently kept private."""
    for tier in "shared", "both":
        ana.refused("POST", "/v1/items", {"text": "for all", "tier": tier}, status=403, code="SHARING_OFF")
    assert ana.get(ana.write("mine", tier="auto")["id"])["tier"] == "private"


# Versions


def test_update_makes_the_next_version(clock):
    """GOV-5.1, GOV-5.2, GOV-5.3: an update appends; the old version stays in history, the head is the newest active one."""
    ana = new_caller(clock.server)
    made = clock.text
    first = ana.write("the door is green")
    later = clock.advance(minutes=1)
    second = ana.ask("PUT", f"/v1/items/{first['id']}", {"text": "the door is blue"}, expect=201)
    assert second["status"] == "committed" and second["id"] == first["id"] and second["version"] != first["version"]
    item = ana.get(first["id"])
    assert (item["text"], item["version"], item["operation"]) == ("the door is blue", second["version"], "update")
    assert item["parents"] == [first["version"]]
    assert (item["created_at"], item["updated_at"]) == (made, later)
    versions = ana.versions(first["id"])
    assert {id: row["status"] for id, row in versions.items()} == {
        first["version"]: "superseded",
        second["version"]: "active",
    }
    assert versions[second["version"]]["parents"] == [first["version"]]
    assert versions[first["version"]]["ended_at"] == later


@pytest.mark.parametrize("named", ["id", "version"])
def test_supersede_by_item_or_version(ana, named):
    """GOV-5.2: a write that names what it supersedes becomes the head of that item."""
    old = ana.write(f"the bell rings at nine, {named}")
    new = ana.write(f"the bell rings at ten, {named}", supersedes=old[named])
    assert new["id"] == old["id"]
    item = ana.get(old["id"])
    assert (item["version"], item["operation"], item["parents"]) == (new["version"], "supersede", [old["version"]])
    assert ana.versions(old["id"])[old["version"]]["status"] == "superseded"


def test_only_a_head_can_be_superseded(ana):
    """GOV-5.2: a version that is no head any more cannot be superseded again; nothing is written."""
    old = ana.write("one")
    ana.write("two", supersedes=old["version"])
    size = log_size(ana.server)
    status, answer, _ = ana.call("POST", "/v1/items", {"text": "three", "supersedes": old["version"]})
    assert status == 409 and answer["code"] in ("VERSION_CONFLICT", "NOT_THE_HEAD"), answer
    assert log_size(ana.server) == size


@pytest.mark.parametrize("method", ["PUT", "supersedes"])
def test_expected_version_must_be_the_head(ana, method):
    """GOV-5.2: of two writers who read the same head one is told that it moved; nothing is written."""

    def replace(text, expected):
        body = {"text": text, "expected_version": expected}
        if method == "PUT":
            return ana.call("PUT", f"/v1/items/{first['id']}", body)
        return ana.call("POST", "/v1/items", {**body, "supersedes": first["id"]})

    first = ana.write(f"a {method}")
    status, second, _ = replace(f"b {method}", first["version"])
    assert status == 201
    size = log_size(ana.server)
    status, refusal, _ = replace(f"c {method}", first["version"])
    assert (status, refusal["code"]) == (409, "VERSION_CONFLICT")
    assert log_size(ana.server) == size
    assert replace(f"c {method}", second["version"])[0] == 201
    assert ana.get(first["id"])["text"] == f"c {method}"


def test_roll_back_brings_the_version_before_it_back(clock):
    """GOV-5.1, GOV-5.5, GOV-5.6, SHARE-2: A, B, rolled back: at each of the three moments, named by time or by token, the
    item reads A, B, A, and the log holds four entries more."""
    ana = new_caller(clock.server)
    before, size = clock.text, log_size(clock.server)
    clock.advance(seconds=1)
    a, a_at = ana.write("A"), clock.text
    clock.advance(seconds=1)
    b, b_at = ana.ask("PUT", f"/v1/items/{a['id']}", {"text": "B"}, expect=201), clock.text
    clock.advance(seconds=1)
    back = ana.ask("POST", f"/v1/items/{a['id']}:rollback", {"version": b["version"], "reason": "wrong"})
    assert back["status"] == "rolled_back_with_reactivation" and back["id"] == a["id"]
    assert back["version"] not in (a["version"], b["version"])
    assert log_size(clock.server) == size + 4

    by_time = [ana.get(a["id"], f"?as_of={moment}")["text"] for moment in (a_at, b_at, clock.text)]
    by_token = [ana.get(a["id"], f"?as_of={answer['token']}")["text"] for answer in (a, b, back)]
    assert by_time == by_token == ["A", "B", "A"]
    ana.refused("GET", f"/v1/items/{a['id']}?as_of={before}", status=404, code="NOT_FOUND")

    now = ana.get(a["id"])
    assert (now["text"], now["version"], now["operation"]) == ("A", back["version"], "update")
    assert {id: row["status"] for id, row in ana.versions(a["id"]).items()} == {
        a["version"]: "superseded",
        b["version"]: "retracted",
        back["version"]: "active",
    }


def test_only_the_head_can_be_rolled_back(ana):
    """GOV-5.6: rolling back anything but the active head is a conflict and appends nothing."""
    a = ana.write("first")
    b = ana.ask("PUT", f"/v1/items/{a['id']}", {"text": "second"}, expect=201)
    other = ana.write("another item")
    size = log_size(ana.server)
    path = f"/v1/items/{a['id']}:rollback"
    ana.refused("POST", path, {"version": a["version"], "reason": "x"}, status=409, code="NOT_THE_HEAD")
    status, answer, _ = ana.call("POST", path, {"version": other["version"], "reason": "of another item"})
    assert status in (404, 409), answer
    assert log_size(ana.server) == size
    assert ana.get(a["id"])["version"] == b["version"]


def test_roll_back_of_the_only_version_leaves_no_head(ana):
    """GOV-5.6: without a predecessor the item is gone from reads and kept in history."""
    a = ana.write("alone")
    back = ana.ask("POST", f"/v1/items/{a['id']}:rollback", {"version": a["version"], "reason": "wrong"})
    assert back["status"] == "rolled_back_no_predecessor"
    ana.refused("GET", f"/v1/items/{a['id']}", status=404, code="NOT_FOUND")
    assert [row["status"] for row in ana.versions(a["id"]).values()] == ["retracted"]


def test_retract_hides_the_item_and_keeps_its_history(clock):
    """GOV-5.3, GOV-5.5: retracted is unreadable now, readable as of before, and listed among the versions."""
    ana = new_caller(clock.server)
    written = ana.write("the moon is made of cheese")
    moment = clock.text
    clock.advance(seconds=1)
    size = log_size(clock.server)
    answer = ana.ask("DELETE", f"/v1/items/{written['id']}?reason=not%20so")
    assert answer["status"] == "retracted" and answer["version"] == written["version"]
    assert log_size(clock.server) == size + 1
    ana.refused("GET", f"/v1/items/{written['id']}", status=404, code="NOT_FOUND")
    assert ana.found("cheese") == [] and written["id"] not in listed(ana)
    assert ana.get(written["id"], f"?as_of={moment}")["text"].endswith("cheese")
    assert ana.found("cheese", as_of=moment) == [written["id"]]
    assert ana.versions(written["id"])[written["version"]]["status"] == "retracted"
    ana.refused("DELETE", f"/v1/items/{written['id']}", status=404, code="NOT_FOUND")
    ana.refused("PUT", f"/v1/items/{written['id']}", {"text": "again"}, status=404, code="NOT_FOUND")


def test_pin_and_unpin(clock):
    """GOV-5.1: pinning is an entry of its own and part of what a past moment shows."""
    ana = new_caller(clock.server)
    written = ana.write("keep me")
    path, size = f"/v1/items/{written['id']}", log_size(clock.server)
    clock.advance(seconds=1)
    pinned = ana.ask("POST", f"{path}:pin", {"reason": "needed"})
    assert (pinned["status"], pinned["id"], pinned["version"]) == ("pinned", written["id"], written["version"])
    assert ana.get(written["id"])["pinned"] is True
    moment = clock.text
    clock.advance(seconds=1)
    assert ana.ask("POST", f"{path}:unpin", {"reason": "no more"})["status"] == "unpinned"
    assert ana.get(written["id"])["pinned"] is False
    assert ana.get(written["id"], f"?as_of={moment}")["pinned"] is True
    assert log_size(clock.server) == size + 2


# Layers and lifetimes


def test_each_layer_has_its_lifetime(clock):
    """GOV-1.4, AM-1: working 15 minutes, session 8 hours, the others without end; a ttl overrides."""
    ana = new_caller(clock.server)
    lifetimes = {
        "working": timedelta(minutes=15),
        "session": timedelta(hours=8),
        "episodic": None,
        "semantic": None,
        "procedural": None,
    }
    for layer, lifetime in lifetimes.items():
        if layer in ("semantic", "procedural"):
            written = ana.write_canonical(f"a {layer} note", now=clock.text, layer=layer, **MORE.get(layer, {}))
        else:
            written = ana.write("a note", layer=layer)
        item = ana.get(written["id"])
        assert item["layer"] == layer
        assert item["expires_at"] == (lifetime and rfc3339(clock.now + lifetime)), layer
    item = ana.get(ana.write("a short note", layer="session", ttl="PT90S")["id"])
    assert item["expires_at"] == rfc3339(clock.now + timedelta(seconds=90))


@pytest.mark.parametrize("layer, lifetime", [("working", timedelta(minutes=15)), ("session", timedelta(hours=8))])
def test_an_item_lapses_with_its_lifetime(clock, layer, lifetime):
    """GOV-1.4, GOV-5.3: readable until its time, missing from it on."""
    ana = new_caller(clock.server)
    written = ana.write("the kettle boils", layer=layer)
    start = clock.now
    clock.set(start + lifetime - timedelta(seconds=1))
    assert ana.get(written["id"])["text"] == "the kettle boils"
    assert ana.found("kettle", layers=[layer]) == [written["id"]]
    clock.set(start + lifetime)
    ana.refused("GET", f"/v1/items/{written['id']}", status=404, code="NOT_FOUND")
    assert ana.found("kettle", layers=[layer]) == [] and written["id"] not in listed(ana)


def test_working_memory_stays_out_of_the_log(shared_server, ana, ben):
    """GOV-1.4: working memory is read like the rest, by its owner alone, and appends nothing."""
    size = log_size(shared_server)
    first = ana.write("step one of the draft", layer="working")
    ana.ask("PUT", f"/v1/items/{first['id']}", {"text": "step two of the draft", "layer": "working"}, expect=201)
    assert ana.get(first["id"])["text"] == "step two of the draft"
    ben.refused("GET", f"/v1/items/{first['id']}", status=404, code="NOT_FOUND")
    assert ben.found("draft", layers=["working"]) == []
    ana.ask("DELETE", f"/v1/items/{first['id']}")
    ana.refused("GET", f"/v1/items/{first['id']}", status=404, code="NOT_FOUND")
    assert log_size(shared_server) == size


WORKING_REFUSALS = [
    ({"tier": "shared"}, 403, "SHARING_OFF"),
    ({"idempotency_token": "0" * 64}, 409, "TOKEN_MISMATCH"),
    ({"expected_version": random_id("ver")}, 404, "NOT_FOUND"),
    ({"supersedes": random_id()}, 404, "NOT_FOUND"),
    ({"resources": ["no such resource"]}, 422, "SCHEMA_INVALID"),
    ({"evidence": [evidence(excerpt_hash="0" * 64)]}, 422, "EXCERPT_HASH_MISMATCH"),
    ({"deadline": "2020-01-01T00:00:00Z"}, 504, "DEADLINE_EXCEEDED"),
]


@pytest.mark.parametrize("change, status, code", WORKING_REFUSALS, ids=[next(iter(row[0])) for row in WORKING_REFUSALS])
def test_working_memory_keeps_the_rules_of_a_write(ana, change, status, code):
    """What a field of a write means does not depend on the layer."""
    ana.refused("POST", "/v1/items", {"text": "a scribble", "layer": "working", **change}, status=status, code=code)
    assert ana.ask("GET", "/v1/items?layer=working")["items"] == []


def test_working_memory_is_listed_and_traced(ana):
    """GOV-1.4, SHARE-33: out of the log does not mean out of sight: a listing keeps to its limit, the trail has each write."""
    ids = [ana.write(f"scribble {number}", layer="working")["id"] for number in range(3)]
    assert set(listed(ana, "&layer=working")) == set(ids)
    assert len(ana.ask("GET", "/v1/items?layer=working&limit=2")["items"]) == 2
    ana.ask("DELETE", f"/v1/items/{ids[0]}")
    changes = {"write", "retract"}
    rows = [row for row in ana.ask("GET", "/v1/audit")["rows"] if row["action"] in changes and set(ids) & set(row["ids"])]
    assert len(rows) == 4, rows


# Time and tokens


def test_own_writes_are_read_at_once(ana):
    """A search that demands the token of a write sees that write, every time."""
    for number in range(50):
        written = ana.write(f"parcel{number} arrived")
        assert ana.found(f"parcel{number}", min_token=written["token"])[0] == written["id"]
        assert ana.found(f"parcel{number}", mode="lexical", min_token=written["token"]) == [written["id"]]


def test_a_token_opens_for_its_caller_alone(shared_server, ana, ben):
    """SHARE-40: tokens and cursors are bound to the pair they were given to."""
    mine = ana.write("mine")
    theirs = ben.write("theirs")
    agent = f"agent-{uuid.uuid4().hex[:8]}"
    chief = new_caller(shared_server, role="admin")
    chief.ask("POST", "/v1/agents", {"name": agent}, expect=201)
    key = chief.ask("POST", "/v1/keys", {"user": ana.name, "agent": agent}, expect=201)["key"]
    pair = type(ana)(shared_server, key)
    for token in theirs["token"], pair.write("by another agent")["token"], "abc", "A" * 48, mine["token"][:-2]:
        ana.refused("GET", f"/v1/items/{mine['id']}?as_of={token}", status=422, code="TOKEN_INVALID")
        ana.refused("POST", "/v1/search", {"query": "mine", "as_of": token}, status=422, code="TOKEN_INVALID")
        ana.refused("POST", "/v1/search", {"query": "mine", "min_token": token}, status=422, code="TOKEN_INVALID")
        ana.refused("GET", f"/v1/items?cursor={token}", status=422, code="TOKEN_INVALID")


def test_a_token_says_nothing_of_its_place(ana):
    """SHARE-40: the same place is sealed anew each time."""
    written = ana.write("one place")
    tokens = [ana.get(written["id"])["token"] for _ in range(5)]
    assert len(set(tokens)) == 5 and len({len(token) for token in tokens}) == 1


def test_the_past_is_read_under_what_may_be_seen_now(clock):
    """SHARE-2: a wall time stands for the last entry at or before it."""
    ana = new_caller(clock.server)
    written = ana.write("one")
    moment = clock.now
    for delta, text in (-1, None), (0, "one"), (1, "one"), (10**7, "one"):
        as_of = rfc3339(moment + timedelta(microseconds=delta))
        status, item, _ = ana.call("GET", f"/v1/items/{written['id']}?as_of={as_of}")
        assert (item["text"] if status == 200 else None) == text, delta
    ana.refused("GET", f"/v1/items/{written['id']}?as_of=1970-01-01T00:00:00Z", status=404, code="NOT_FOUND")


# Provenance


def test_provenance_record_is_complete(clock):
    """GOV-4.1, GOV-4.2, GOV-4.3: who wrote a version, with what, from what, and the hash of what it says."""
    ana = new_caller(clock.server)
    sources = [evidence(source_type="agent_reasoning", source_uri="agent://own"), evidence(authority=0.9)]
    written = ana.write(**FULL, evidence=sources)
    record = ana.ask("GET", f"/v1/items/{written['id']}/provenance")
    expected = {
        "memory_item_id": written["id"],
        "version_id": written["version"],
        "source_user_id": ana.user,
        "source_agent_id": ana.agent,
        "source_agent_version": "1.4.2",
        "source_task_id": "task-9",
        "source_session_id": "session-3",
        "trace_id": "trace-1",
        "agent_confidence": 0.8,
        "agent_justification": "asked twice this week",
        "human_approval_state": "not_required",
        "created_at": clock.text,
        "updated_at": clock.text,
        "content_hash": content_hash(FULL),
    }
    assert {name: record.get(name) for name in expected} == expected
    assert record["provenance_id"] and record["key_id"] and len(bytes.fromhex(record["provenance_signature"])) == 32
    assert record["evidence_quality"] in ("primary", "secondary", "derived", "inferred")
    first, second = record["evidence_refs"]
    assert first["authority"] >= second["authority"] and first["source_type"] == "document", "highest authority first"
    assert first["excerpt_hash"] == hashlib.sha256(EXCERPT.encode()).hexdigest()


def test_each_version_has_its_own_record(ana):
    """GOV-4.1, GOV-4.2: a later version leaves the record of an earlier one alone, and names what it supersedes."""
    one, two = {"text": "caf\u00e9"}, {"text": "cafe\u0301 two", "fields": {"n": 1e21, "m": 0.1, "k": 100}}
    a = ana.write(**one)
    record = ana.ask("GET", f"/v1/items/{a['id']}/provenance")
    b = ana.ask("PUT", f"/v1/items/{a['id']}", two, expect=201)
    path = f"/v1/items/{a['id']}/provenance"
    old, new = ana.ask("GET", f"{path}?version={a['version']}"), ana.ask("GET", path)
    assert (old["content_hash"], new["content_hash"]) == (content_hash(one), content_hash(two))
    assert new["supersedes"] == a["version"] and new["version_id"] == b["version"]
    assert {name: old[name] for name in record} == record, "the signed record does not change"


def test_a_wrong_excerpt_hash_is_refused(ana):
    """GOV-4.3: the hash of an excerpt is checked; nothing is written."""
    size = log_size(ana.server)
    body = {"text": "cited", "evidence": [evidence(), evidence(excerpt_hash="0" * 64)]}
    refusal = ana.refused("POST", "/v1/items", body, status=422, code="EXCERPT_HASH_MISMATCH")
    assert refusal["errors"][0]["path"] == "/evidence/1/excerpt_hash"
    assert log_size(ana.server) == size


# Listing


def listed(caller, query=""):
    return [item["id"] for item in caller.ask("GET", f"/v1/items?limit=500{query}")["items"]]


def test_items_are_listed_page_by_page(ana):
    """SHARE-40: pages cover what the caller may see, without gap or repeat, and end."""
    written = {ana.write(f"entry {number}")["id"] for number in range(25)}
    seen, cursor, pages = [], "", 0
    while cursor is not None:
        page = ana.ask("GET", "/v1/items?limit=10" + (f"&cursor={cursor}" if cursor else ""))
        seen += [item["id"] for item in page["items"]]
        cursor, pages = page["next"], pages + 1
    assert set(seen) == written and len(seen) == 25 and pages in (3, 4)


def test_a_listing_keeps_to_namespace_and_layer(ana):
    """Both narrow a listing, alone and together."""
    ids = {}
    for namespace in "red", "blue":
        for layer in "episodic", "session":
            ids[namespace, layer] = ana.write(f"a {namespace} {layer} text", namespace=namespace, layer=layer)["id"]
    assert len(set(ids.values())) == 4
    assert set(listed(ana, "&namespace=red")) == {ids["red", "episodic"], ids["red", "session"]}
    assert set(listed(ana, "&layer=session")) == {ids["red", "session"], ids["blue", "session"]}
    assert listed(ana, "&layer=session&namespace=blue") == [ids["blue", "session"]]
    ana.ask("GET", "/v1/items?limit=501", expect=422)
    ana.ask("GET", "/v1/items?layer=deep", expect=422)


# Search


def test_search_finds_by_stem_and_ranks_by_fit(ana):
    """Words match in other forms and any case, in text and key; what fits better comes first."""

    def words(query):
        return ana.found(query, mode="lexical")

    runs = ana.write("The fox was Running across the field")
    jumps = ana.write("A dog jumped over", key="who jumps fences")
    ana.write("nothing of the sort")
    assert words("run") == [runs["id"]]
    assert words("FOXES fields") == [runs["id"]]
    assert words("fence") == [jumps["id"]]
    both = ana.write("fox and dog, fox and dog")
    assert words("fox dog")[0] == both["id"] and len(words("fox dog")) == 3
    assert words("zebra") == []


def test_a_search_result_carries_the_item(ana):
    """A result has the fields that programs rely on; scores fall and relevance is a share."""
    for number in range(3):
        ana.write("lantern " * (number + 1) + "in the hall")
    answer = ana.ask("POST", "/v1/search", {"query": "lantern hall"})
    assert answer["mode"] == "hybrid" and answer["token"]
    needed = {
        "id", "key", "text", "score", "relevance", "trust", "confidence", "layer", "tier", "created_at", "updated_at", "agents",
        "version",
    }  # fmt: skip
    results = answer["results"]
    assert len(results) == 3 and all(needed <= set(result) for result in results)
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True) and all(0 < result["relevance"] <= 1 for result in results)
    assert all(result["trust"] in ("low", "medium", "high") and "rho" not in result for result in results)


def test_search_keeps_to_layers_namespace_and_k(ana):
    """A search looks where it was told to, and returns no more than asked."""
    here = ana.write("harbour lights here", namespace="sea")
    there = ana.write("harbour lights here", namespace="land")
    kept = ana.write("harbour lights", namespace="sea", layer="session")
    scratch = ana.write("harbour lights", namespace="sea", layer="working")
    assert set(ana.found("harbour", namespace="sea")) == {here["id"], kept["id"], scratch["id"]}
    assert ana.found("harbour", layers=["session"]) == [kept["id"]]
    assert set(ana.found("harbour", layers=["session", "episodic"])) == {here["id"], there["id"], kept["id"]}
    assert ana.found("harbour", layers=["episodic"], namespace="land") == [there["id"]]
    assert [len(ana.found("harbour", k=k)) for k in (1, 2, 100)] == [1, 2, 4]
    for wrong in {"k": 0}, {"k": 101}, {"layers": ["deep"]}, {"mode": "psychic"}:
        status, answer, _ = ana.call("POST", "/v1/search", {"query": "harbour", **wrong})
        assert status == 422, (wrong, answer)


def test_search_as_of_a_moment(clock):
    """GOV-5.5, SHARE-2: the heads of that moment are searched, by the words they had then."""
    ana = new_caller(clock.server)
    a = ana.write("the anchor is iron")
    first = clock.text
    clock.advance(seconds=1)
    b = ana.ask("PUT", f"/v1/items/{a['id']}", {"text": "the anchor is bronze"}, expect=201)
    second = clock.text
    clock.advance(seconds=1)
    ana.ask("DELETE", f"/v1/items/{a['id']}")
    assert ana.found("anchor") == [] and ana.found("iron", as_of=second) == []
    for as_of, word in (first, "iron"), (a["token"], "iron"), (second, "bronze"), (b["token"], "bronze"):
        [result] = ana.search("anchor", as_of=as_of)
        assert result["text"] == f"the anchor is {word}"


def test_search_sees_the_newest_version_alone(ana):
    """GOV-5.3: superseded and retracted versions are history, not results."""
    a = ana.write("the old granary burnt down")
    ana.ask("PUT", f"/v1/items/{a['id']}", {"text": "the new granary stands"}, expect=201)
    assert ana.found("burnt") == [] and ana.found("granary stands") == [a["id"]]
    ana.ask("POST", f"/v1/items/{a['id']}:rollback", {"reason": "it did burn"})
    assert ana.found("burnt") == [a["id"]] and ana.found("stands") == []


def test_every_search_has_an_answer_in_time(ana):
    """A query of nothing but noise finds nothing and harms nothing."""
    ana.write("a quiet evening")
    started = time.monotonic()
    for query in "?!", "\u2603", "x" * 5000, "quiet " * 500:
        status, answer, _ = ana.call("POST", "/v1/search", {"query": query})
        assert status in (200, 422), answer
    assert time.monotonic() - started < 5
