"""What users are told: in words of JSON and of this product, never in the types of the program it is written in.

Wrong values are made from what the server says of itself: each member of each body of /openapi.json, each parameter, each
argument of each tool of MCP, and the messages of gRPC.
"""

import json
import re
import subprocess

import pytest

from callers import admin, new_caller
from grpc_caller import GrpcCaller
from mcp_caller import McpCaller, over_http

# Types, traits and phrases of Rust and of its libraries.
FOREIGN = re.compile(
    r"""\b[ui](8|16|32|64|128|size)\b | \bf(32|64)\b | \bstruct\b | \benum\b | \bvariant\b | \btuple\b | \bidentifier\b | OtherError | Error\( |
    Some\( | \bOk\( | Vec< | Option< | \busize\b | \bsequence\b | expected\ a\ map | \bserde\b | \bdeserialize | unwrap | panicked |
    :: | untagged | newtype | unit\ value | UnexpectedEof | InvalidInput | ParseIntError | \bprost\b | wire\ type""",
    re.X,
)
WRONG = [5, -1, 1.5, 10**30, True, "wrong", "", [], ["x"], {}, {"x": 1}, [{"x": 1}], None]
DEPTH_MAX = 4
# Needs no body; or ends the server's key or waits for events.
LEFT_OUT = {("delete", "/v1/keys/{id}"), ("get", "/v1/reviews:events"), ("post", "/v1/items:batch")}


def resolved(schema, root):
    """A schema with its references followed; of several, the first that is not null."""
    while True:
        if "$ref" in schema:
            schema = root["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
            continue
        either = schema.get("oneOf") or schema.get("anyOf")
        if either and "properties" not in schema:
            told = [one for one in either if one.get("type") != "null"]
            schema = told[0] if told else {}
            continue
        return schema


def sample(schema, root, depth=0):
    """A value that fits a schema more or less."""
    schema = resolved(schema, root)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object" or "properties" in schema:
        wanted = schema.get("required", [])
        return {name: sample(schema["properties"][name], root, depth + 1) for name in wanted if name in schema.get("properties", {})}
    if kind == "array":
        return [sample(schema.get("items", {}), root, depth + 1)] if schema.get("minItems") else []
    return {"integer": 1, "number": 0.5, "boolean": True}.get(kind, "x")


def misfits(schema, root, depth=0):
    """Values that do not fit in one place, for each place of a schema."""
    schema = resolved(schema, root)
    yield from WRONG
    if depth >= DEPTH_MAX:
        return
    for name, inner in schema.get("properties", {}).items():
        whole = sample(schema, root)
        for wrong in misfits(inner, root, depth + 1):
            yield {**whole, name: wrong}
    if "items" in schema:
        for wrong in misfits(schema["items"], root, depth + 1):
            yield [wrong]


def plain(answer):
    """An answer as text, without what was sent: names of fields that were made up are ours."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def check(what, answer):
    found = FOREIGN.search(plain(answer))
    assert found is None, f"{what} is answered with {found.group()!r}: {plain(answer)[:600]}"


@pytest.fixture(scope="module")
def described(shared_server):
    return shared_server.call("GET", "/openapi.json", key="")[1]


def test_rest_names_no_type_of_rust(shared_server, described):
    """GOV-2.2: a value of the wrong type, in any place of any operation, is refused with its place and what would pass."""
    chief, tried = admin(shared_server), 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if (method, path) in LEFT_OUT or method == "parameters":
                continue
            at = re.sub(r"\{\w+\}", "x", path)
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "query":
                    for wrong in "wrong", "-1", "1.5", "99999999999999999999999", "%00", "":
                        answer = chief.call(method.upper(), f"{at}?{parameter['name']}={wrong}")
                        check(f"{method} {path} {parameter['name']}={wrong}", answer[1])
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            for body in misfits(content["schema"], described) if content else ():
                status, answer, _ = chief.call(method.upper(), at, raw=json.dumps(body))
                assert status < 500 or answer["code"] != "INTERNAL", (method, path, body, answer)
                if status < 400:
                    continue
                check(f"{method} {path} {json.dumps(body)[:300]}", answer)
                tried += 1
    assert tried > 3_000, tried


POLICIES = [
    ({"kind": "approval", "approvals": "two"}, "/approvals", "a whole number"),
    ({"kind": "approval", "approvals": -1}, "/approvals", "a whole number"),
    ({"kind": "approval"}, "/approvals", "a value"),
    ({"kind": "approval", "approvals": 1, "colour": 1}, "/colour", "documented fields"),
    ({"kind": "king"}, "/kind", "write_path"),
    ({"kind": 5}, "/kind", "write_path"),
    ({}, "/kind", "write_path"),
    ({"kind": "official_sources", "prefixes": "x"}, "/prefixes", "an array"),
    ({"kind": "read", "steps": [{"step": "block", "labels": 3}]}, "/steps", "an array"),
    ({"kind": "read", "limits": {"count": "x"}}, "/limits", "a whole number from 0 to 4294967295"),
    ({"kind": "read", "scope": 5}, "/scope", "an object"),
]


@pytest.mark.parametrize("body, path, expected", POLICIES, ids=lambda value: json.dumps(value) if isinstance(value, dict) else "")
def test_a_policy_that_does_not_fit_is_named_by_its_place(shared_server, body, path, expected):
    """A policy is refused with the member that does not fit, and what would."""
    refusal = admin(shared_server).refused("PUT", "/v1/policies/wrong", body, status=422, code="SCHEMA_INVALID")
    [fault] = refusal["errors"]
    assert fault["path"] == path and expected in fault["expected"], fault
    check(body, refusal)


def test_whole_numbers_are_told_with_their_range(ana):
    """What would pass is said in words of JSON."""
    for body, path, expected, actual in (
        ({"query": "a", "k": "ten"}, "/k", "a whole number from 0 to 18446744073709551615", "a string"),
        ({"query": "a", "k": 1.5}, "/k", "a whole number from 0 to 18446744073709551615", "a number"),
        ({"query": "a", "layers": {}}, "/layers", "an array", "an object"),
        ({"query": "a", "exact": "yes"}, "/exact", "true or false", "a string"),
        ({"query": ["a"]}, "/query", "a string", "an array"),
        ({"query": "a", "diversity": "x"}, "/diversity", "a number", "a string"),
    ):
        [fault] = ana.refused("POST", "/v1/search", body, status=422, code="SCHEMA_INVALID")["errors"]
        assert fault == {"path": path, "code": "TYPE_MISMATCH", "expected": expected, "actual": actual}


def test_mcp_names_no_type_of_rust(shared_server):
    """Each argument of each tool, of the wrong type."""
    caller, tried = new_caller(shared_server), 0
    with McpCaller(over_http(shared_server, caller.key)) as mcp:
        for name, tool in mcp.tools().items():
            schema = tool.input_schema
            for body in misfits(schema, {}):
                if not isinstance(body, dict):
                    continue
                is_error, answer = mcp.call(name, body)
                if is_error:
                    check(f"{name} {json.dumps(body)[:300]}", answer)
                    tried += 1
    assert tried > 300, tried


def test_mcp_names_no_type_of_rust_where_the_protocol_is_broken(shared_server):
    """Messages that are no calls of tools are answered in words of the protocol."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    for message in (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_item", "arguments": 5}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": 5}},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 5}},
        {"jsonrpc": "2.0", "id": {}, "method": "tools/list"},
        {"jsonrpc": 2, "id": 1},
        {},
        [],
        5,
    ):
        _, answer, _ = shared_server.call("POST", "/mcp", message, headers=headers)
        check(message, {**answer, "result": None} if isinstance(answer, dict) else answer)


def test_grpc_names_no_type_of_rust(shared_server):
    """Bytes that are no message are refused without the decoder's words."""
    with GrpcCaller(shared_server, shared_server.key) as grpc:
        for name in "Write", "Search", "Get", "SetPolicy":
            for raw in b"\xff\xff\xff", b"\x0a\x05ab", b"\x08\x01", b"\x0a\x02\xff\xfe":
                call = grpc.channel.unary_unary(f"/tabellion.v1.Tabellion/{name}", request_serializer=lambda raw: raw, response_deserializer=lambda raw: raw)
                try:
                    call(raw, metadata=[("authorization", f"Bearer {shared_server.key}")], timeout=30)
                except Exception as error:
                    check(f"{name} {raw}", error.details())


@pytest.mark.parametrize("setting, value", [("LIMITS__K_MAX", "ten"), ("LIMITS__K_MAX", "-3"), ("LISTEN", "[1]"), ("SHARING", "5"), ("AUDIT__READS", "7")])
def test_a_setting_that_does_not_fit_is_named(bin, tmp_path, setting, value):
    """A server that does not start for its configuration says which setting is why, and what would fit."""
    done = subprocess.run([bin, "serve", "--data", tmp_path / "data"], env={f"TABELLION_{setting}": value}, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1, done
    check(f"{setting}={value}", done.stderr)
    assert setting.split("__")[-1].lower() in done.stderr, done.stderr
