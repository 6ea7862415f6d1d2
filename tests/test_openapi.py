"""The interface description is valid, and the server does what it says under generated requests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

EXAMPLES = 25
SECONDS_MAX = 400
CHECKS_LEFT_OUT = [
    # Valid data is refused for what the memory holds, by design: an id that names nothing, a name that is taken, a tier that
    # is off.
    "positive_data_acceptance",
    # The server takes more than it describes: `null` for what is left out, no body for an empty one.
    "negative_data_rejection",
    # Retracted items are still listed by their versions.
    "use_after_free",
    # What was written with a short lifetime may be gone by the next request.
    "ensure_resource_availability",
    # Needs the keys of two users; test_identity.py has them.
    "object_level_authorization",
    # A verb behind a colon shares its path segment with the ids, and so the methods of both.
    "allow_header_conformance",
]
# A deadline in the past is answered with 504, as the interface promises: no fault of the server.
CONFIGURATION = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "504"]
"""
OPERATIONS_LEFT_OUT = [
    # It is not JSON but lines of it, which the generator cannot write; test_bad_input.py does.
    "/v1/items:batch",
    # The generator remembers ids, and would revoke the key it works with.
    "/v1/keys/{id}",
    # Events come for as long as someone listens; test_notices.py does.
    "/v1/reviews:events",
]


@pytest.fixture(scope="module")
def described(shared_server):
    status, description, _ = shared_server.call("GET", "/openapi.json", key="")
    assert status == 200
    return description


def test_the_description_is_valid(described):
    """OpenAPI 3.1, to the letter."""
    assert described["openapi"].startswith("3.1")
    errors = list(OpenAPIV31SpecValidator(described).iter_errors())
    assert errors == []


def test_every_documented_operation_is_described(described):
    """Each route of the reference has its entry, and each entry that needs a key says so."""
    documented = {
        "/v1/tenants": {"post"}, "/v1/users": {"get", "post"}, "/v1/agents": {"get", "post"},
        "/v1/users/{id}": {"get"}, "/v1/users/{id}:disable": {"post"}, "/v1/users/{id}:enable": {"post"},
        "/v1/users/{id}:role": {"post"}, "/v1/agents/{id}": {"get"}, "/v1/resources/{id}:retire": {"post"},
        "/v1/resources/{id}:activate": {"post"}, "/v1/resources/{id}:delete": {"post"},
        "/v1/resources": {"get", "post"}, "/v1/keys": {"get", "post"}, "/v1/keys/{id}": {"delete"}, "/v1/whoami": {"get"},
        "/v1/items": {"get", "post"}, "/v1/items/{id}": {"get", "put", "delete"}, "/v1/items:batch": {"post"},
        "/v1/items/{id}/versions": {"get"}, "/v1/items/{id}/provenance": {"get"}, "/v1/items/{id}:rollback": {"post"},
        "/v1/items/{id}:pin": {"post"}, "/v1/items/{id}:unpin": {"post"}, "/v1/search": {"post"}, "/v1/audit": {"get"},
        "/v1/audit:verify": {"post"}, "/v1/proofs/head": {"get"}, "/v1/proofs/inclusion": {"get"},
        "/v1/proofs/consistency": {"get"}, "/v1/outcomes": {"post"}, "/v1/items/{id}:quarantine": {"post"},
        "/v1/items:reverify": {"post"}, "/v1/items:flagged": {"get"},
        "/v1/items/{id}:release": {"post"}, "/v1/writes": {"get"}, "/v1/writes/{id}": {"get"}, "/v1/writes/{id}:reopen": {"post"},
        "/v1/reviews": {"get"}, "/v1/reviews/{id}": {"get", "put", "delete"}, "/v1/reviews/{id}:decide": {"post"},
        "/v1/reviews:events": {"get"}, "/v1/policies": {"get"}, "/v1/policies/{id}": {"put"}, "/v1/schemas": {"get", "put"},
        "/v1/agents/{id}/feedback": {"get"}, "/v1/agents/{id}:suspend": {"post"}, "/v1/agents/{id}:resume": {"post"},
        "/v1/agents/{id}:revert": {"post"}, "/v1/agents/{id}:retire": {"post"}, "/v1/agents/{id}:activate": {"post"},
        "/v1/agents/{id}:delete": {"post"}, "/v1/edges": {"get"}, "/v1/edges/{graph}/{source}/{target}": {"post", "delete"},
        "/v1/access/who": {"get"}, "/v1/access/what": {"get"}, "/v1/items/{id}/explain": {"get"}, "/v1/explain": {"post"},
        "/v1/rounds": {"post"}, "/v1/trust": {"get"}, "/v1/trust:recalibrate": {"post"},
    }  # fmt: skip
    paths = described["paths"]
    missing = {path: methods - set(paths.get(path, {})) for path, methods in documented.items()}
    assert {path: methods for path, methods in missing.items() if methods} == {}
    for path, methods in documented.items():
        for method in methods:
            operation = paths[path][method]
            assert operation.get("security", described.get("security")), f"{method} {path} does not ask for a key"
            assert "401" in operation["responses"] and "operationId" in operation, f"{method} {path}"


def test_the_server_keeps_to_its_description(shared_server, tmp_path):
    """Generated requests, well-formed and not: no answer outside the description, none of them a 5xx."""
    program = Path(sys.executable).with_name("schemathesis")
    report = tmp_path / "report.ndjson"
    configuration = tmp_path / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    # One worker: Python 3.11 counts how deep it is in parsing for all threads together, and generation parses (SystemError).
    command = [
        program, "--config-file", configuration, "run", f"{shared_server.url}/openapi.json", "--header", f"Authorization: Bearer {shared_server.key}",
        "--checks", "all", "--exclude-checks", ",".join(CHECKS_LEFT_OUT), "--max-examples", EXAMPLES, "--workers", 1,
        "--phases", "examples,coverage,fuzzing", "--request-timeout", 20, "--generation-database", "none", "--no-color",
        "--report-ndjson-path", report, "--continue-on-failure",
    ]  # fmt: skip
    for path in OPERATIONS_LEFT_OUT:
        command += ["--exclude-path", path]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-2_000:]
    assert "panicked" not in shared_server.log
    assert shared_server.call("GET", "/readyz", key="")[0] == 200
    assert json.loads(report.read_text().splitlines()[0])
