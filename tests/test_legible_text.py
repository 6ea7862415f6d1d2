"""Texts in which nobody can read anything, or that hold NUL: refused with their place, over every transport."""

import json

import pytest

from callers import admin, new_caller
from grpc_caller import GrpcCaller, Refused
from mcp_caller import McpCaller, over_http, over_stdio

ILLEGIBLE = {
    "zero width": "\u200b\u200c\u200d\ufeff",
    "blanks": " \t\u00a0\u3000\n",
    "soft hyphens": "\u00ad\u00ad",
    "fillers": "\u3164\u2800\uffa0",
    "tags": "\U000e0041\U000e0042",
    "NUL": "a\0b",
}
CASES = pytest.mark.parametrize("bad", ILLEGIBLE.values(), ids=ILLEGIBLE)


def places(bad):
    """A write for every place of a write that takes a text, and the path under which it is refused."""
    fine = "The gateway listens on port 8080"
    cited = {"source_type": "document", "source_uri": "doc://a", "accessed_at": "2026-11-15T00:00:00Z"}
    yield "/text", {"text": bad}
    yield "/key", {"text": fine, "key": bad}
    yield "/tags/1", {"text": fine, "tags": ["net", bad]}
    yield "/justification", {"text": fine, "justification": bad}
    yield "/fields/port", {"text": fine, "fields": {"port": bad}}
    yield f"/fields/{bad}", {"text": fine, "fields": {bad: 8080}}
    yield f"/fields/a/1/{bad}", {"text": fine, "fields": {"a": [1, {bad: "x"}]}}
    yield "/triple/subject", {"text": fine, "triple": {"subject": bad, "predicate": "port", "object": "8080"}}
    yield "/evidence/0/excerpt", {"text": fine, "evidence": [{**cited, "excerpt": bad}]}
    yield "/evidence/0/source_uri", {"text": fine, "evidence": [{**cited, "source_uri": bad}]}


def check(refusal, path):
    named = {fault["path"]: fault for fault in refusal["errors"]}
    assert refusal["code"] == "SCHEMA_INVALID" and path in named, refusal
    assert named[path]["code"] == "CONSTRAINT_VIOLATION", refusal
    assert "visible character" in named[path]["expected"], refusal


@CASES
def test_rest_refuses_illegible_text(ana, bad):
    """GOV-2.2: 422 with the place of the text; nothing is written, by a single write, a batch or a relation."""
    for path, body in places(bad):
        check(ana.refused("POST", "/v1/items", body, status=422, code="SCHEMA_INVALID"), path)
        headers = {"Content-Type": "application/x-ndjson"}
        _, lines, _ = ana.call("POST", "/v1/items:batch", raw=json.dumps(body) + "\n", headers=headers)
        check(json.loads(lines), path)
    relation = {"subject": "gateway", "predicate": "uses", "object": bad}
    [answer] = ana.ask("POST", "/v1/relations", {"relations": [relation]})["results"]
    check(answer, "/object")
    assert ana.ask("GET", "/v1/items")["items"] == []
    assert "/query" in [fault["path"] for fault in ana.refused("POST", "/v1/search", {"query": bad}, status=422, code="SCHEMA_INVALID")["errors"]]


@CASES
def test_mcp_and_grpc_refuse_illegible_text(ana, bad):
    """GOV-2.2: the same refusal of the same places."""
    with McpCaller(over_http(ana.server, ana.key)) as mcp, GrpcCaller(ana.server, ana.key) as grpc:
        for path, body in places(bad):
            is_error, refusal = mcp.call("write_item", body)
            assert is_error
            check(refusal, path)
            with pytest.raises(Refused) as refused:
                grpc.call("Write", body)
            check(refused.value.refusal, path)


@CASES
def test_administration_refuses_illegible_text(shared_server, ana, bad):
    """Names, descriptions and reasons are texts that people read."""
    chief = admin(shared_server)
    item = ana.write("A statement that is about to be changed")["id"]
    for path, body in [("/v1/users", {"name": bad}), ("/v1/agents", {"name": bad}), ("/v1/resources", {"name": bad}),
                       ("/v1/agents", {"name": "scout", "specialisation": bad}),
                       ("/v1/resources", {"name": "kb", "description": bad})]:  # fmt: skip
        chief.refused("POST", path, body, status=422, code="SCHEMA_INVALID")
    ana.refused("POST", f"/v1/items/{item}:pin", {"reason": bad}, status=422, code="SCHEMA_INVALID")
    ana.refused("PUT", f"/v1/items/{item}", {"text": bad}, status=422, code="SCHEMA_INVALID")


def test_visible_text_of_any_script_passes(ana):
    """Marks and joiners belong to words: what has one visible character is a text; a named value may be empty."""
    for number, text in enumerate(["क्‍ष is a letter", "می‌خواهم", "👩‍💻", "ﷺ", "é", "x\u200b"]):
        ana.write(text, fields={"note": "", f"joined\u200d{number}": "\u200cx"})
