"""gRPC: what the server says of itself is enough to use it."""

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from callers import log_size, random_id
from grpc_caller import SERVICE, GrpcCaller, Refused


@pytest.fixture
def ana_grpc(shared_server, ana):
    with GrpcCaller(shared_server, ana.key) as caller:
        yield caller


def refused(caller, name, request=None, **more):
    with pytest.raises(Refused) as caught:
        caller.call(name, request, **more)
    return caught.value


def test_reflection_names_the_services(ana_grpc):
    """The typed interface, the gate's included, is described by the server itself, without a key."""
    services = set(ana_grpc.reflection.get_services())
    assert {SERVICE, "grpc.health.v1.Health"} <= services
    assert {"Write", "Import", "Get", "List", "Versions", "Search", "Rollback", "Retract"} <= set(
        ana_grpc.service.methods_by_name
    )
    assert set(ana_grpc.pool.FindServiceByName("tabellion.v1.Gate").methods_by_name) == {"Judge"}


@pytest.mark.parametrize("service", ["", SERVICE])
def test_health_is_serving(shared_server, service):
    """The standard health service answers without a key."""
    with grpc.insecure_channel(f"127.0.0.1:{shared_server.port}") as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_write_and_read(ana, ana_grpc):
    """An item written over gRPC reads the same there and over REST."""
    body = {
        "text": "Port 8080 serves the API", "key": "API port", "layer": "session", "confidence": 0.8, "tags": ["net"],
        "triple": {"subject": "api", "predicate": "port", "object": "8080"}, "fields": {"n": 3, "deep": {"a": [1, None]}},
    }  # fmt: skip
    written = ana_grpc.call("Write", body)
    assert written["status"] == "committed"
    item = ana_grpc.call("Get", {"id": written["id"]})
    assert {name: item[name] for name in body} == body
    rest = ana.get(written["id"])
    same = [
        "id",
        "version",
        "key",
        "text",
        "layer",
        "tier",
        "confidence",
        "trust",
        "operation",
        "agents",
        "created_at",
        "expires_at",
    ]
    assert {name: item.get(name) for name in same} == {name: rest[name] for name in same}
    assert ana_grpc.call("Write", body)["status"] == "already_committed"


@pytest.mark.parametrize(
    "metadata",
    [[], [("authorization", "Bearer tab_" + "a" * 52)], [("authorization", "Basic x")], [("authorization", "")]],
    ids=["none", "unknown", "another scheme", "empty"],
)
def test_a_wrong_key_is_unauthenticated(ana_grpc, metadata):
    """SHARE-28: identity comes from the metadata alone."""
    for name, request in ("WhoAmI", {}), ("Write", {"text": "x"}), ("Get", {"id": random_id()}):
        failure = refused(ana_grpc, name, request, metadata=metadata)
        assert failure.status == "UNAUTHENTICATED" and failure.refusal["code"] == "UNAUTHENTICATED"


def test_hidden_is_missing(shared_server, ben, ana_grpc):
    """SHARE-41: another's item and an id of nothing are answered alike."""
    hidden = ben.write("a secret")
    size = log_size(shared_server)
    for name in "Get", "Versions", "GetProvenance", "Retract", "Rollback", "Pin", "Unpin":
        answers = []
        for id in hidden["id"], random_id(), "nonsense":
            failure = refused(ana_grpc, name, {"id": id})
            failure.refusal.pop("request_id", None)
            answers.append((failure.status, str(failure), failure.refusal, sorted(failure.metadata)))
        assert answers[0] == answers[1] and answers[0][0] == "NOT_FOUND", answers
        assert answers[2][0] in ("NOT_FOUND", "INVALID_ARGUMENT")
    failure = refused(ana_grpc, "Write", {"id": hidden["id"], "text": "overwritten"})
    assert failure.status == "NOT_FOUND" and log_size(shared_server) == size


def test_a_refusal_names_every_fault(ana_grpc):
    """GOV-2.2: the details of the status hold the whole refusal."""
    failure = refused(ana_grpc, "Write", {"text": " ", "confidence": 1.2, "layer": "deep"})
    assert failure.status == "INVALID_ARGUMENT" and failure.metadata["tabellion-code"] == "SCHEMA_INVALID"
    assert failure.refusal["gate"] == "schema"
    assert {error["path"] for error in failure.refusal["errors"]} == {"/text", "/confidence", "/layer"}


def test_an_import_answers_each_request_in_order(ana_grpc):
    """GOV-1.6: a refused one does not stop the rest."""
    requests = [{"text": f"import {number}"} for number in range(20)]
    requests[7] = {"text": "x", "confidence": 3}
    answers = ana_grpc.stream("Import", requests)
    assert [next(iter(answer)) for answer in answers] == ["written"] * 7 + ["refused"] + ["written"] * 12
    assert answers[7]["refused"]["errors"][0]["path"] == "/confidence"
    assert ana_grpc.call("Get", {"id": answers[8]["written"]["id"]})["text"] == "import 8"


def test_unknown_methods_are_unimplemented(shared_server, ana):
    """What the service does not offer is said to be so."""
    with grpc.insecure_channel(f"127.0.0.1:{shared_server.port}") as channel:
        call = channel.unary_unary(f"/{SERVICE}/Explode")
        with pytest.raises(grpc.RpcError) as caught:
            call(b"", metadata=[("authorization", f"Bearer {ana.key}")], timeout=10)
    assert caught.value.code().name in ("UNIMPLEMENTED", "NOT_FOUND")


def test_broken_messages_are_refused(shared_server, ana):
    """Bytes that are no message, and a message beyond the limit, are refused; the next call is served."""
    with grpc.insecure_channel(f"127.0.0.1:{shared_server.port}") as channel:
        call = channel.unary_unary(f"/{SERVICE}/Write")
        for sent in b"\xff" * 50, b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x83\x80\xc0\x01" + b"x" * (3 << 20):
            with pytest.raises(grpc.RpcError) as caught:
                call(sent, metadata=[("authorization", f"Bearer {ana.key}")], timeout=10)
            assert caught.value.code().name not in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNKNOWN"), caught.value
    ana.ask("GET", "/v1/whoami")
