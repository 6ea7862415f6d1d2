"""Whatever comes in, the answer is a clear refusal, nothing breaks, and nothing of it reaches the log."""

import json
import socket

import pytest

from callers import admin, log_size, new_caller
from server import Server

SECRET = "Unspeakable-Quux"
NDJSON = {"Content-Type": "application/x-ndjson"}
BATCH_LINES = 10_000


@pytest.fixture(scope="module")
def shared_server(bin, tmp_path_factory):
    """As in the other files; at the end its log is searched for panics and for what was sent."""
    with Server(bin, tmp_path_factory.mktemp("bad") / "data") as running:
        yield running
        running.stop()
        log = running.log
        assert "panicked" not in log and SECRET not in log and running.key not in log, log[-3000:]


@pytest.fixture(autouse=True)
def nothing_is_written(shared_server, request):
    """A refused request of `ana` appends nothing; a test that writes makes a user of its own."""
    if "ana" not in request.fixturenames:
        yield
        return
    ana, size = request.getfixturevalue("ana"), log_size(shared_server)
    yield
    assert log_size(shared_server) == size
    assert ana.ask("GET", "/v1/items")["items"] == []


def refuse(caller, raw, method="POST", path="/v1/items", **more):
    """Sends bytes that must be refused in the one shape of refusals; returns (status, refusal)."""
    status, answer, _ = caller.call(method, path, raw=raw, **more)
    assert 400 <= status < 500, (status, answer)
    assert isinstance(answer, dict) and {"code", "message", "errors", "request_id"} <= set(answer), answer
    assert SECRET not in json.dumps(answer)
    return status, answer


def nested(depth):
    return "[" * depth + "]" * depth


MALFORMED = {
    "cut JSON": f'{{"text": "{SECRET}',
    "cut in an escape": '{"text": "a\\u00',
    "two values": f'{{"text": "{SECRET}"}} {{"text": "b"}}',
    "no JSON": SECRET,
    "empty body": "",
    "blank body": "  \n",
    "NUL bytes": "\0\0\0",
    "bad UTF-8": b'{"text": "\xff\xfe"}',
    "overlong UTF-8": b'{"text": "\xc0\xaf"}',
    "UTF-16": '{"text": "a"}'.encode("utf-16"),
    "a lone surrogate": '{"text": "\\ud800"}',
    "surrogates reversed": '{"text": "\\udc00\\ud800"}',
    "NaN": '{"text": "a", "confidence": NaN}',
    "Infinity": '{"text": "a", "confidence": Infinity}',
    "single quotes": "{'text': 'a'}",
    "a comment": '{"text": "a" /* b */}',
    "a trailing comma": '{"text": "a",}',
    "a raw newline in a string": '{"text": "a\nb"}',
    "depth 200": '{"text": "a", "fields": {"x": ' + nested(200) + "}}",
    "depth 100,000": '{"text": "a", "fields": {"x": ' + nested(100_000) + "}}",
    "unclosed depth": '{"a":' * 50_000,
    "an array": f'[{{"text": "{SECRET}"}}]',
    "a string": f'"{SECRET}"',
    "a number": "5",
    "null": "null",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_what_cannot_be_read_is_malformed(ana, raw):
    """GOV-1.6: 400 for whatever is no JSON object, on every route that takes one."""
    for path in "/v1/items", "/v1/search":
        # No body at all may count as one in which everything is left out: then what it lacks is named.
        assert refuse(ana, raw, path=path)[0] in ((400, 422) if not raw.strip() else (400,))


BROKEN_RULES = {
    "confidence 1.2": ({"confidence": 1.2}, "/confidence", "CONSTRAINT_VIOLATION"),
    "confidence -0.1": ({"confidence": -0.1}, "/confidence", "CONSTRAINT_VIOLATION"),
    "confidence 1e300": ({"confidence": 1e300}, "/confidence", "CONSTRAINT_VIOLATION"),
    "confidence as text": ({"confidence": "0.5"}, "/confidence", "TYPE_MISMATCH"),
    "confidence true": ({"confidence": True}, "/confidence", "TYPE_MISMATCH"),
    "unknown layer": ({"layer": "deep"}, "/layer", "CONSTRAINT_VIOLATION"),
    "layer in capitals": ({"layer": "EPISODIC"}, "/layer", "CONSTRAINT_VIOLATION"),
    "unknown tier": ({"tier": "public"}, "/tier", "CONSTRAINT_VIOLATION"),
    "unknown field": ({"colour": "red"}, "/colour", "UNKNOWN_FIELD"),
    "unknown field with a slash": ({"a/b~c": 1}, "/a~1b~0c", "UNKNOWN_FIELD"),
    "empty text": ({"text": ""}, "/text", "CONSTRAINT_VIOLATION"),
    "blank text": ({"text": " \t\n"}, "/text", "CONSTRAINT_VIOLATION"),
    "text too long": ({"text": "x" * 65_537}, "/text", "CONSTRAINT_VIOLATION"),
    "text too long in bytes": ({"text": "\u00e9" * 32_769}, "/text", "CONSTRAINT_VIOLATION"),
    "text of another type": ({"text": 5}, "/text", "TYPE_MISMATCH"),
    "key too long": ({"key": "k" * 257}, "/key", "CONSTRAINT_VIOLATION"),
    "kind in capitals": ({"kind": "Fact"}, "/kind", "CONSTRAINT_VIOLATION"),
    "namespace with a space at its end": ({"namespace": "a "}, "/namespace", "CONSTRAINT_VIOLATION"),
    "namespace too long": ({"namespace": "n" * 257}, "/namespace", "CONSTRAINT_VIOLATION"),
    "triple with a gap": ({"triple": {"subject": "a", "predicate": "b"}}, "/triple/object", "MISSING_REQUIRED_FIELD"),
    "triple as text": ({"triple": "a b c"}, "/triple", "TYPE_MISMATCH"),
    "too many tags": ({"tags": ["t"] * 33}, "/tags", "CONSTRAINT_VIOLATION"),
    "a long tag": ({"tags": ["fine", "t" * 65]}, "/tags/1", "CONSTRAINT_VIOLATION"),
    "a tag of another type": ({"tags": ["fine", 3]}, "/tags/1", "TYPE_MISMATCH"),
    "too many fields": ({"fields": {str(n): n for n in range(65)}}, "/fields", "CONSTRAINT_VIOLATION"),
    "deep fields": ({"fields": {"x": json.loads(nested(17))}}, "/fields/x", "CONSTRAINT_VIOLATION"),
    "fields as a list": ({"fields": []}, "/fields", "TYPE_MISMATCH"),
    "evidence without source": ({"evidence": [{}]}, "/evidence/0/source_type", "MISSING_REQUIRED_FIELD"),
    "too much evidence": ({"evidence": [{}] * 33}, "/evidence", "CONSTRAINT_VIOLATION"),
    "ttl in words": ({"ttl": "15 minutes"}, "/ttl", "CONSTRAINT_VIOLATION"),
    "ttl below zero": ({"ttl": "-PT1S"}, "/ttl", "CONSTRAINT_VIOLATION"),
    "request id no UUID": ({"request_id": "1"}, "/request_id", "CONSTRAINT_VIOLATION"),
    "token too short": ({"idempotency_token": "ab"}, "/idempotency_token", "CONSTRAINT_VIOLATION"),
    "deadline tomorrow": ({"deadline": "tomorrow"}, "/deadline", "CONSTRAINT_VIOLATION"),
    "agent version no SemVer": ({"agent_version": "new"}, "/agent_version", "CONSTRAINT_VIOLATION"),
    "supersedes nonsense": ({"supersedes": "that one"}, "/supersedes", "CONSTRAINT_VIOLATION"),
    "expected version of an item": ({"expected_version": "itm_a"}, "/expected_version", "CONSTRAINT_VIOLATION"),
    "long trace": ({"trace_id": "t" * 129}, "/trace_id", "CONSTRAINT_VIOLATION"),
}


@pytest.mark.parametrize("change, path, code", BROKEN_RULES.values(), ids=BROKEN_RULES)
def test_a_broken_rule_is_named_with_its_place(ana, change, path, code):
    """GOV-2.2: 422 with a JSON pointer to the fault; the refusal comes from the schema gate."""
    status, refusal = refuse(ana, json.dumps({"text": SECRET, **change}))
    assert (status, refusal["code"], refusal["gate"]) == (422, "SCHEMA_INVALID", "schema"), refusal
    assert (path, code) in [(error["path"], error["code"]) for error in refusal["errors"]], refusal["errors"]


def test_every_fault_is_named_at_once(ana):
    """GOV-2.2: a caller need not fix one fault to learn of the next."""
    body = {"confidence": 2, "layer": "deep", "x": 1, "triple": {"subject": "a"}, "tags": [1]}
    _, refusal = refuse(ana, json.dumps(body))
    paths = {error["path"] for error in refusal["errors"]}
    assert {"/text", "/confidence", "/layer", "/x", "/triple/predicate", "/triple/object", "/tags/0"} <= paths


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 400, "1e-400", "0." + "9" * 400, "1E+999999999999"])
def test_huge_numbers_do_no_harm(ana, number):
    """As a confidence what is out of range is refused, wherever it goes wrong first."""
    status, answer, _ = ana.call("POST", "/v1/items", raw=f'{{"text": "a", "layer": "working", "confidence": {number}}}')
    assert status in (201, 400, 422), answer
    status, answer, _ = ana.call("POST", "/v1/items", raw=f'{{"text": "b", "layer": "working", "fields": {{"n": {number}}}}}')
    assert status in (201, 400, 422), answer
    for item in ana.ask("GET", "/v1/items?layer=working")["items"]:
        ana.ask("DELETE", f"/v1/items/{item['id']}")


def test_repeated_names_do_no_harm(ana):
    """A name given twice is refused or the last one counts; a limit cannot be slipped past."""
    status, answer, _ = ana.call("POST", "/v1/items", raw='{"text": "a", "confidence": 0.1, "confidence": 7}')
    assert status in (400, 422), answer


def test_a_body_beyond_the_limit_is_too_large(ana):
    """413 for 3 MiB, announced or not; 2 MiB of spaces around a small body pass the size limit."""
    big = json.dumps({"text": "x" * (3 << 20)})
    status, refusal = refuse(ana, big)
    assert (status, refusal["code"]) == (413, "TOO_LARGE")
    status, answer, _ = ana.call("POST", "/v1/items", raw=iter([big.encode()]))
    assert (status, answer["code"]) == (413, "TOO_LARGE")
    status, answer, _ = ana.call("POST", "/v1/search", raw='{"query": "a"}' + " " * ((2 << 20) - 100))
    assert status == 200, answer


def test_a_wrong_content_type_is_refused_or_read(ana):
    """The body decides: a wrong label gives a 4xx, never a 5xx."""
    for label in "text/plain", "application/xml", "multipart/form-data", "", "\u00ff":
        status, answer, _ = ana.call("POST", "/v1/search", raw='{"query": "a"}', headers={"Content-Type": label})
        assert status in (200, 400, 415, 422), answer


METHODS = ["PATCH", "POST", "PUT", "DELETE", "GET", "TRACE", "BREW"]


@pytest.mark.parametrize(
    "path, allowed",
    [
        ("/v1/items", {"GET", "POST"}),
        ("/v1/items/itm_a", {"GET", "PUT", "PATCH", "DELETE"}),
        ("/v1/items/itm_a/versions", {"GET"}),
        ("/v1/search", {"POST"}),
        ("/v1/users", {"GET", "POST"}),
        ("/v1/whoami", {"GET"}),
        ("/v1/audit", {"GET"}),
        ("/v1/proofs/head", {"GET"}),
        ("/healthz", {"GET"}),
    ],
)
def test_wrong_methods_are_refused(ana, path, allowed):
    """405 with the methods that exist, in the one shape of refusals."""
    for method in METHODS:
        if method in allowed:
            continue
        status, answer, headers = ana.call(method, path)
        assert status == 405 and answer["code"] == "METHOD_NOT_ALLOWED", (method, status, answer)
        assert allowed <= {word.strip() for word in headers["allow"].split(",")}, headers


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v2/items",
        "/v1/itemz",
        "/v1/items/itm_a/secrets",
        "//v1/items",
        "/v1/items/",
        "/v1/%2e%2e/x",
        "/../etc/passwd",
        "/v1/items/itm_a:explode",
        "/favicon.ico",
    ],
)
def test_unknown_paths_are_not_found(ana, path):
    """404 in the one shape of refusals."""
    for method in "GET", "POST":
        status, answer, _ = ana.call(method, path, {} if method == "POST" else None)
        assert status in (404, 405) and isinstance(answer, dict) and answer["code"], (method, status, answer)


@pytest.mark.parametrize(
    "id",
    ["x", "itm_", "itm_a", "ITM_" + "a" * 26, "itm_" + "A" * 26, "itm_" + "1" * 26, "ver_" + "a" * 26, "itm_" + "a" * 5000,
     "%00", "itm_%00", "%ff%fe", "..", "%2e%2e%2f%2e%2e", "%F0%9F%98%80", "itm_a'%20OR%201=1--", "%25s%25n", "null", "-1"],
)  # fmt: skip
def test_weird_ids_name_nothing(ana, id):
    """SHARE-41: what is no id is missing like any other."""
    for method, path, body in (
        ("GET", f"/v1/items/{id}", None),
        ("PUT", f"/v1/items/{id}", {"text": "a"}),
        ("DELETE", f"/v1/items/{id}", None),
        ("GET", f"/v1/items/{id}/versions", None),
        ("POST", f"/v1/items/{id}:rollback", {"reason": "x"}),
        ("POST", f"/v1/items/{id}:pin", {"reason": "x"}),
    ):
        status, answer, _ = ana.call(method, path, body)
        assert status in (400, 404, 405, 422), (method, path, status, answer)
        assert isinstance(answer, dict) and answer["code"], answer


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=x",
        "limit=99999999999999999999",
        "limit=",
        "cursor=%00",
        "layer=%ff",
        "as_of=",
        "unknown=1",
        "&&&=",
        "limit=1&limit=2",
        "x" * 60_000,
    ],
)
def test_weird_queries_are_answered(ana, query):
    """A query string is read or refused, never the end of the connection or the server."""
    for path in "/v1/items", "/v1/audit", "/v1/items/itm_a", "/v1/proofs/head":
        status, answer, _ = ana.call("GET", f"{path}?{query}")
        assert status == 200 or 400 <= status < 500, (status, answer)


@pytest.mark.parametrize(
    "body",
    [{}, {"query": 5}, {"query": ""}, {"k": -1}, {"k": 1.5}, {"k": 1e30}, {"k": "10"}, {"k": 101}, {"mode": "x"}, {"colour": 1},
     {"layers": "episodic"}, {"layers": [1]}, {"as_of": "x"}, {"as_of": 5}, {"min_token": 7}, {"namespace": ["a"]}],
)  # fmt: skip
def test_a_bad_search_is_refused(ana, body):
    """Search has rules of its own, and says which was broken."""
    filled = body if "query" in body or not body else {"query": "a", **body}
    status, refusal = refuse(ana, json.dumps(filled), path="/v1/search")
    assert status in (400, 422), refusal


@pytest.mark.parametrize(
    "path, body",
    [("/v1/users", {}), ("/v1/users", {"name": ""}), ("/v1/users", {"name": 7}), ("/v1/users", {"name": "a", "role": "king"}),
     ("/v1/users", {"name": "n" * 10_000}), ("/v1/users", {"name": "a", "x": 1}), ("/v1/agents", {"name": None}),
     ("/v1/agents", {"name": "a", "trust_declared": "yes"}), ("/v1/resources", {"name": []}), ("/v1/keys", {}),
     ("/v1/keys", {"user": 5}), ("/v1/keys", {"user": "admin", "expires_at": "never"}), ("/v1/tenants", {"name": ""})],
)  # fmt: skip
def test_bad_administration_is_refused(shared_server, ana, path, body):
    """Administration is checked as writes are."""
    status, refusal = refuse(admin(shared_server), json.dumps(body), path=path)
    assert status in (400, 404, 422), refusal


def test_too_large_headers_are_refused(shared_server, ana):
    """One huge header or a thousand small ones end in a 4xx or a closed connection; the next caller is served."""
    for headers in {"X-Big": "x" * 70_000}, {f"X-{n}": "x" for n in range(200)}, {"Authorization": "Bearer " + "x" * 60_000}:
        try:
            status = ana.server.call("GET", "/v1/whoami", key="", headers=headers)[0]
        except OSError:
            continue
        assert 400 <= status < 500
    ana.ask("GET", "/v1/whoami")


def test_broken_http_is_refused(shared_server, ana):
    """Bytes that are no HTTP end in a 4xx or a closed connection; the next caller is served."""
    for sent in (
        b"\0" * 1000,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/items HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 100,
    ):
        with socket.create_connection(("127.0.0.1", shared_server.port), timeout=15) as connection:
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(4096)
            except OSError:
                answer = b""
            assert b" 5" not in answer[:16], answer
    ana.ask("GET", "/v1/whoami")


# Batches


def send_batch(caller, raw):
    status, answer, headers = caller.call("POST", "/v1/items:batch", raw=raw, headers=NDJSON, timeout=120)
    assert status == 200 and headers["content-type"].startswith("application/x-ndjson"), (status, answer)
    return [json.loads(line) for line in answer.splitlines()]


BAD_LINES = {
    1: ("{", None, "MALFORMED"),
    17: ('{"text": "a", "confidence": 1.2}', "/confidence", "CONSTRAINT_VIOLATION"),
    4_000: ('{"text": "a", "colour": 1}', "/colour", "UNKNOWN_FIELD"),
    4_001: ('{"key": "no text"}', "/text", "MISSING_REQUIRED_FIELD"),
    5_555: ('{"text": "a", "user": "ben"}', "/user", "IDENTITY_IN_BODY"),
    9_998: ("[]", None, "MALFORMED"),
    10_000: ('{"text": "a", "layer": "deep"}', "/layer", "CONSTRAINT_VIOLATION"),
}


def test_bad_lines_of_a_batch_are_named_and_the_rest_is_written(shared_server):
    """GOV-1.6: 10,000 lines with seven bad ones: a result for each line, in order; each bad one with its number and
    place; the others are in the log."""
    ana = new_caller(shared_server)
    lines = [json.dumps({"text": f"line {number} of many"}) for number in range(1, BATCH_LINES + 1)]
    for number, (line, _, _) in BAD_LINES.items():
        lines[number - 1] = line
    size = log_size(shared_server)
    results = send_batch(ana, "\n".join(lines) + "\n")
    assert len(results) == BATCH_LINES
    assert log_size(shared_server) == size + BATCH_LINES - len(BAD_LINES)
    for number, result in enumerate(results, start=1):
        if number not in BAD_LINES:
            assert result["status"] == "committed" and result["id"], result
            continue
        _, path, code = BAD_LINES[number]
        assert result["status"] == "rejected" and result["line"] == number, result
        named = [(error["path"], error["code"]) for error in result["errors"]]
        assert result["code"] == code or (path, code) in named, result
        assert path is None or path in [at for at, _ in named], result
    for number in 2, 16, 18, 5_000, 9_999:
        assert ana.get(results[number - 1]["id"])["text"] == f"line {number} of many"


def test_odd_batches_are_answered_line_by_line(shared_server):
    """GOV-1.6: no newline at the end, CRLF, bad UTF-8 and an overlong line harm no other line."""
    ana = new_caller(shared_server)
    parts = [
        b'{"text": "one"}\r',
        b'{"text": "\xff"}',
        b'{"text": "' + b"x" * (1 << 20) + b'"}',
        b"not json",
        b'{"text": "five"}',
    ]
    results = send_batch(ana, b"\n".join(parts))
    assert [result["status"] for result in results] == ["committed", "rejected", "rejected", "rejected", "committed"]
    assert {ana.get(results[place]["id"])["text"] for place in (0, 4)} == {"one", "five"}


def test_an_empty_batch_is_no_fault(ana):
    """Nothing in, nothing out."""
    status, answer, _ = ana.call("POST", "/v1/items:batch", raw="", headers=NDJSON)
    assert status in (200, 400) and (status == 400 or not answer.strip()), answer


def test_a_batch_beyond_the_limit_ends_there(bin, tmp_path):
    """The lines within the limit are written; one last result says that the rest was not read."""
    with Server(bin, tmp_path / "data", env={"TABELLION_LIMITS__BATCH_LINES_MAX": "5"}) as server:
        ana = new_caller(server)
        size = log_size(server)
        results = send_batch(ana, "".join(json.dumps({"text": f"over {number}"}) + "\n" for number in range(9)))
        assert [result["status"] for result in results] == ["committed"] * 5 + ["rejected"]
        assert (results[5]["code"], results[5]["line"]) == ("TOO_LARGE", 6)
        assert log_size(server) == size + 5
