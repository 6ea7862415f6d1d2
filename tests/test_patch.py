"""Updates keep what they do not mention: PATCH, and what uses it."""

import json
import os
import subprocess
import uuid

from callers import in_parallel, random_id
from governed import novel
from grpc_caller import GrpcCaller
from mcp_caller import McpCaller, over_http

FULL = {
    "key": "API port",
    "kind": "fact",
    "confidence": 0.8,
    "tags": ["net", "api"],
    "fields": {"port": 8080, "hosts": {"a": 1, "b": 2}},
    "domains": ["ops"],
    "namespace": "notes",
}
SHOWN = [*FULL, "classification", "layer", "tier", "triple"]


def full(world, bot, **more):
    """An item with every field of its own."""
    text, thing = novel(), novel(1)
    triple = {"subject": thing, "predicate": "port", "object": "8080"}
    made = bot.commits(text, **FULL, triple=triple, evidence=[world.said(text)], **more)
    return made, bot.get(made["id"])


def kept(before, after, *changed):
    """Every field but these is as it was."""
    for name in SHOWN:
        if name not in changed:
            assert after.get(name) == before.get(name), name


def test_patch_changes_only_what_it_names(standard):
    """AM-3, GOV-5.2: what a patch does not mention stays; objects are merged, lists replaced, null takes away."""
    ana, bot = standard.pair()
    made, before = full(standard, bot, ttl="P30D")
    id = made["id"]
    patch = lambda **body: bot.ask("PATCH", f"/v1/items/{id}", body, expect=201)
    text = novel()
    assert patch(text=text)["id"] == id
    after = bot.get(id)
    assert after["text"] == text and after["operation"] == "update" and after["parents"] == [made["version"]]
    assert (after["expires_at"], [one["excerpt"] for one in after["evidence"]]) == (before["expires_at"], [before["text"]])
    kept(before, after, "triple")
    assert after.get("triple") is None, "it said in parts what the old text said"
    patch(triple=before["triple"])
    patch(fields={"port": 9090, "hosts": {"a": None, "c": 3}}, tags=["net"])
    after = bot.get(id)
    assert after["fields"] == {"port": 9090, "hosts": {"b": 2, "c": 3}} and after["tags"] == ["net"]
    kept(before, after, "fields", "tags")
    patch(key=None, tags=None, confidence=0.9)
    after = bot.get(id)
    assert (after.get("key"), after["tags"], after["confidence"]) == (None, [], 0.9)
    kept(before, after, "fields", "tags", "key", "confidence")
    assert ana.get(id)["text"] == text


def test_put_still_replaces(standard):
    """GOV-5.2: what PUT does not mention has its default."""
    ana, bot = standard.pair()
    made, before = full(standard, bot)
    text = novel()
    bot.ask("PUT", f"/v1/items/{made['id']}", {"text": text}, expect=201)
    after = bot.get(made["id"])
    assert (after["text"], after.get("key"), after["tags"], after["fields"]) == (text, None, [], {})


def test_patch_that_changes_nothing_is_no_version(standard):
    """GOV-1.7: a patch sent twice is one change, with and without a request id."""
    ana, bot = standard.pair()
    made, _ = full(standard, bot)
    path = f"/v1/items/{made['id']}"
    for more in {}, {"request_id": str(uuid.uuid4())}:
        body = {"tags": [novel(1)], **more}
        first = bot.ask("PATCH", path, body, expect=201)
        again = bot.ask("PATCH", path, body, expect=200)
        assert (again["status"], again["version"]) == ("already_committed", first["version"])
    bot.ask("PATCH", path, {"tags": ["other"]}, expect=201)
    again = bot.ask("PATCH", path, body, expect=200)
    assert (again["status"], again["version"]) == ("already_committed", first["version"]), "the request is known"
    bot.refused("PATCH", path, {"tags": ["third"], "request_id": more["request_id"]}, status=409, code="REQUEST_ID_REUSED")


def test_patches_at_once_lose_nothing(standard):
    """GOV-5.2: each of many patches at the same time is merged into what the others made; none is lost."""
    ana, bot = standard.pair()
    made, _ = full(standard, bot)
    path = f"/v1/items/{made['id']}"
    answers = in_parallel(8, lambda n: bot.call("PATCH", path, {"fields": {f"n{n}": n}}))
    assert [status for status, _, _ in answers] == [201] * 8, answers
    fields = bot.get(made["id"])["fields"]
    assert {name: fields[name] for name in fields if name.startswith("n")} == {f"n{n}": n for n in range(8)}
    assert bot.kept() == []


def test_patch_asks_for_the_version_that_was_read(standard):
    """GOV-5.2: with expected_version a patch of what somebody changed is refused."""
    ana, bot = standard.pair()
    made, _ = full(standard, bot)
    path = f"/v1/items/{made['id']}"
    bot.ask("PATCH", path, {"tags": ["a"], "expected_version": made["version"]}, expect=201)
    bot.refused("PATCH", path, {"tags": ["b"], "expected_version": made["version"]}, status=409, code="VERSION_CONFLICT")


def test_patch_names_what_is_wrong(standard):
    """GOV-2.2, SHARE-28, SHARE-42: faults by path; no identity; hidden looks like missing."""
    (ana, bot), (ben, other) = standard.pair(), standard.pair()
    made, _ = full(standard, bot)
    path = f"/v1/items/{made['id']}"
    for body, at in (
        ({"text": " "}, "/text"), ({"text": None}, "/text"), ({"tag": "x"}, "/tag"), ({"tag": None}, "/tag"),
        ({"confidence": "high"}, "/confidence"),
    ):  # fmt: skip
        refused = bot.refused("PATCH", path, body, status=422, code="SCHEMA_INVALID")
        assert at in [error["path"] for error in refused["errors"]], refused
    bot.refused("PATCH", path, {"user": "ana"}, status=400, code="IDENTITY_IN_BODY")
    hidden = other.refused("PATCH", path, {"tags": ["x"]}, status=404, code="NOT_FOUND")
    missing = other.refused("PATCH", f"/v1/items/{random_id()}", {"tags": ["x"]}, status=404, code="NOT_FOUND")
    assert hidden["message"] == missing["message"]
    other.refused("PATCH", "/v1/items/nonsense", {"tags": ["x"]}, status=404, code="NOT_FOUND")
    for body in [], "x", 7:
        status, answer, _ = bot.call("PATCH", path, body)
        assert (status, answer["code"]) == (400, "MALFORMED")


def test_working_memory_is_patched_too(standard):
    """GOV-1.4: what is in no log keeps what a patch does not mention as well."""
    ana, bot = standard.pair()
    made = bot.commits(novel(), layer="working", tags=["x"], fields={"a": 1})
    bot.ask("PATCH", f"/v1/items/{made['id']}", {"fields": {"b": 2}}, expect=201)
    item = bot.get(made["id"])
    assert (item["fields"], item["tags"], item["layer"]) == ({"a": 1, "b": 2}, ["x"], "working")


def test_relation_with_another_end_says_so(standard):
    """CAL-17: the text of a relation follows its parts."""
    ana, bot = standard.pair()
    node = novel(1)
    relation = {"subject": node, "predicate": "feeds", "object": "line 4"}
    made = bot.ask("POST", "/v1/relations", {"relations": [relation]})["results"][0]
    bot.ask("PATCH", f"/v1/items/{made['id']}", {"triple": {"object": "line 5"}}, expect=201)
    item = bot.get(made["id"])
    assert item["triple"]["object"] == "line 5" and "line 5" in item["text"] and item["triple"]["subject"] == node


def test_every_way_to_update_keeps_the_rest(standard, bin):
    """SHARE-26: gRPC, both tools of MCP and the command line patch as REST does."""
    ana, bot = standard.pair()

    def over_grpc(id, **patch):
        return GrpcCaller(standard.server, bot.key).call("Patch", {"id": id, "patch": patch})

    def with_mcp(tool, id, **patch):
        with McpCaller(over_http(standard.server, bot.key)) as mcp:
            return mcp.ask(tool, {"id": id, **patch})

    def on_the_command_line(id, text, tags):
        env = {**os.environ, "TABELLION_URL": standard.server.url, "TABELLION_KEY": bot.key}
        words = [str(bin), "--json", "write", text, "--update", id, *[word for tag in tags for word in ("--tag", tag)]]
        done = subprocess.run(words, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    for update in (
        over_grpc,
        lambda id, **patch: with_mcp("update_item", id, **patch),
        lambda id, **patch: with_mcp("write_item", id, **patch),
        on_the_command_line,
    ):
        made, before = full(standard, bot)
        text = novel()
        answer = update(made["id"], text=text, tags=["one"])
        assert (answer["status"], answer["id"]) == ("committed", made["id"])
        after = bot.get(made["id"])
        assert (after["text"], after["tags"]) == (text, ["one"])
        kept(before, after, "tags", "triple")
    with McpCaller(over_http(standard.server, bot.key)) as mcp:
        made, before = full(standard, bot)
        mcp.ask("update_item", {"id": made["id"], "tags": ["only"]})
        assert bot.get(made["id"])["text"] == before["text"]
        assert mcp.refused("update_item", {"tags": ["only"]})["errors"][0]["path"] == "/id"
