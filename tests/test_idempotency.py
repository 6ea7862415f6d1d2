"""Safe retries: the same write is one write, whoever repeats it, whenever, and however many at once."""

import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from callers import Caller, in_parallel, log_size, new_caller, rfc3339
from canonical import idempotency_token

PARALLEL = 50
OTHER_WRITES = 10_000


def replay(caller, body, of):
    """Sends a write again; it must be answered as the one that was committed."""
    answer = caller.ask("POST", "/v1/items", body, expect=200)
    assert answer["status"] == "already_committed", answer
    assert (answer["id"], answer["version"]) == (of["id"], of["version"])
    return answer


def batch(caller, bodies):
    """Writes many; returns the results, line by line."""
    lines = "".join(json.dumps(body) + "\n" for body in bodies)
    headers = {"Content-Type": "application/x-ndjson"}
    status, answer, _ = caller.call("POST", "/v1/items:batch", raw=lines, headers=headers, timeout=120)
    assert status == 200, answer
    return [json.loads(line) for line in answer.splitlines()]


@pytest.mark.parametrize("with_request_id", [False, True])
def test_the_same_write_fifty_times_at_once_is_one(ana, with_request_id):
    """GOV-1.7, GOV-1.8: one entry, one id for all, one told that it committed."""
    body = {"text": f"the ferry leaves at six, {with_request_id}"}
    if with_request_id:
        body["request_id"] = str(uuid.uuid4())
    size = log_size(ana.server)
    answers = in_parallel(PARALLEL, lambda _: ana.call("POST", "/v1/items", body))
    assert sorted(status for status, _, _ in answers) == [200] * (PARALLEL - 1) + [201]
    assert {answer["status"] for status, answer, _ in answers if status == 201} == {"committed"}
    assert {answer["status"] for status, answer, _ in answers if status == 200} == {"already_committed"}
    assert len({(answer["id"], answer["version"]) for _, answer, _ in answers}) == 1
    assert log_size(ana.server) == size + 1


def test_different_writes_at_once_are_all_kept(ana):
    """GOV-1.7: what only looks alike is not merged, under the same pressure."""
    size = log_size(ana.server)
    answers = in_parallel(PARALLEL, lambda number: ana.call("POST", "/v1/items", {"text": f"ferry {number} leaves"}))
    assert {status for status, _, _ in answers} == {201}
    assert len({answer["id"] for _, answer, _ in answers}) == PARALLEL
    assert log_size(ana.server) == size + PARALLEL


def test_parallel_updates_with_one_expected_version_have_one_winner(ana):
    """GOV-5.2: of many who update the same head at once one wins, the others are told so."""
    first = ana.write("version zero")
    size = log_size(ana.server)

    def update(number):
        body = {"text": f"version by {number}", "expected_version": first["version"]}
        return ana.call("PUT", f"/v1/items/{first['id']}", body)

    answers = in_parallel(20, update)
    assert sorted(status for status, _, _ in answers) == [201] + [409] * 19
    assert {answer["code"] for status, answer, _ in answers if status == 409} == {"VERSION_CONFLICT"}
    assert log_size(ana.server) == size + 1


def test_a_replay_is_known_after_ten_thousand_other_writes(bin, server):
    """GOV-1.7, GOV-1.8: other writes do not push a token out, nor does a restart."""
    ana = new_caller(server)
    body = {"text": "the first of many", "request_id": str(uuid.uuid4())}
    first = ana.write(**body)
    results = batch(ana, ({"text": f"one of many, number {number}"} for number in range(OTHER_WRITES)))
    assert len(results) == OTHER_WRITES and {result["status"] for result in results} == {"committed"}
    size = log_size(server)
    replay(ana, body, first)
    assert {result["status"] for result in batch(ana, [{"text": "one of many, number 77"}])} == {"already_committed"}
    assert server.stop() == 0
    server.start()
    replay(ana, body, first)
    assert log_size(server) == size


def test_what_makes_two_writes_the_same(shared_server, ana, ben, chief):
    """GOV-1.8, GOV-3.2: content, layer, namespace, tier, target, user and agent count; order, spacing and Unicode form do not.
    What another agent of the same user writes is neither a replay nor a duplicate (AM-16)."""
    body = {"text": "caf\u00e9 opens at 8", "key": "opening", "fields": {"a": 1, "b": 2.0}}
    first = ana.write(**body)
    replay(ana, {"fields": {"b": 2, "a": 1.0}, "key": "opening", "text": "cafe\u0301 opens at 8"}, first)
    replay(ana, {**body, "layer": "episodic", "namespace": "default", "kind": "note", "tags": []}, first)
    others = [
        {"text": "caf\u00e9 opens at 9"}, {"key": "hours"}, {"fields": {"a": 1}}, {"tags": ["x"]}, {"kind": "fact"},
        {"layer": "session"}, {"namespace": "town"}, {"triple": {"subject": "c", "predicate": "opens", "object": "8"}},
    ]  # fmt: skip
    ids = [first["id"]] + [ana.write(**{**body, **other})["id"] for other in others]
    ids.append(ben.write(**body)["id"])
    agent = f"agent-{uuid.uuid4().hex[:8]}"
    chief.ask("POST", "/v1/agents", {"name": agent}, expect=201)
    key = chief.ask("POST", "/v1/keys", {"user": ana.name, "agent": agent}, expect=201)["key"]
    ids.append(Caller(shared_server, key).write(**body)["id"])
    assert len(set(ids)) == len(ids)


def test_updates_are_replayed_too(ana):
    """GOV-1.8: an update or a supersession sent twice is one version."""
    first = ana.write("the mill turns")
    size = log_size(ana.server)
    path = f"/v1/items/{first['id']}"
    second = ana.ask("PUT", path, {"text": "the mill stands"}, expect=201)
    again = ana.ask("PUT", path, {"text": "the mill stands"}, expect=200)
    assert (again["status"], again["version"]) == ("already_committed", second["version"])
    body = {"text": "the mill is gone", "supersedes": first["id"]}
    third = ana.ask("POST", "/v1/items", body, expect=201)
    replay(ana, body, third)
    assert log_size(ana.server) == size + 2


def test_a_request_id_belongs_to_one_content(ana):
    """GOV-1.8: the same request id with other content is a conflict; nothing is written."""
    request_id = str(uuid.uuid4())
    first = ana.write("the tide is in", request_id=request_id)
    size = log_size(ana.server)
    replay(ana, {"text": "the tide is in", "request_id": request_id}, first)
    body = {"text": "the tide is out", "request_id": request_id}
    ana.refused("POST", "/v1/items", body, status=409, code="REQUEST_ID_REUSED")
    assert log_size(ana.server) == size


def test_request_ids_of_others_do_not_matter(ana, ben):
    """SHARE-41: a request id that someone else used is free: nothing is learnt of theirs."""
    request_id = str(uuid.uuid4())
    one = ana.write("mine alone", request_id=request_id)
    other = ben.write("quite another", request_id=request_id)
    assert one["id"] != other["id"]


def test_the_idempotency_token_is_checked(ana):
    """GOV-1.8: the token is SHA-256 over content, agent and layer, as anyone can compute it."""
    body = {
        "text": "caf\u00e9 \u2603 opens", "key": "hours", "layer": "session", "kind": "fact", "tags": ["b", "a"],
        "fields": {"\u00e9": 1e21, "a": [0.1, -5, True, None], "z": {"y": "x"}},
        "triple": {"subject": "c", "predicate": "opens", "object": "8"},
    }  # fmt: skip
    right = idempotency_token(body, ana.agent)
    size = log_size(ana.server)
    for wrong in (
        "0" * 64,
        idempotency_token({**body, "text": "x"}, ana.agent),
        idempotency_token({**body, "layer": "episodic"}, ana.agent),
    ):
        ana.refused("POST", "/v1/items", {**body, "idempotency_token": wrong}, status=409, code="TOKEN_MISMATCH")
    assert log_size(ana.server) == size
    first = ana.write(**body, idempotency_token=right)
    replay(ana, {**body, "idempotency_token": right.upper()}, first)
    replay(ana, body, first)


def test_past_its_deadline_nothing_is_written(clock):
    """GOV-1.7: a write that comes too late leaves nothing; one in time is a write like any other."""
    ana = new_caller(clock.server)
    size = log_size(clock.server)
    late = {"text": "too late", "deadline": rfc3339(clock.now - timedelta(microseconds=1))}
    ana.refused("POST", "/v1/items", late, status=504, code="DEADLINE_EXCEEDED")
    assert log_size(clock.server) == size and ana.found("late") == []
    first = ana.write("in time", deadline=rfc3339(clock.now + timedelta(seconds=1)))
    clock.advance(minutes=1)
    replay(ana, {"text": "in time", "deadline": rfc3339(clock.now - timedelta(seconds=1))}, first)


def test_past_deadline_by_the_real_clock(ana):
    """GOV-1.7: the same without a manual clock."""
    deadline = rfc3339(datetime.now(UTC) - timedelta(seconds=5))
    ana.refused("POST", "/v1/items", {"text": "x", "deadline": deadline}, status=504, code="DEADLINE_EXCEEDED")


def test_a_token_is_kept_for_a_day(clock):
    """GOV-1.7, GOV-3.2: within 24 hours a replay, then a write of its own, and so a duplicate of what is there."""
    ana = new_caller(clock.server)
    body = {"text": "the market is on Friday", "request_id": str(uuid.uuid4())}
    first = ana.write(**body)
    clock.advance(hours=23, minutes=59, seconds=59)
    replay(ana, body, first)
    clock.advance(seconds=1)
    again = ana.refused("POST", "/v1/items", body, status=409, code="EXACT_DUPLICATE")
    assert again["existing_ref"] == first["id"]
    ana.ask("DELETE", f"/v1/items/{first['id']}")
    second = ana.ask("POST", "/v1/items", body, expect=201)
    assert second["status"] == "committed" and second["id"] != first["id"]


def test_the_request_id_is_free_after_a_day(clock):
    """GOV-1.7: a request id is remembered as long as the token."""
    ana = new_caller(clock.server)
    request_id = str(uuid.uuid4())
    ana.write("one", request_id=request_id)
    clock.advance(hours=24)
    assert ana.write("two", request_id=request_id)["status"] == "committed"


def test_a_retracted_write_commits_anew(ana):
    """GOV-5.3: retraction voids the token, so the same content can come back."""
    first = ana.write("the well is dry")
    ana.ask("DELETE", f"/v1/items/{first['id']}")
    second = ana.write("the well is dry")
    assert second["id"] != first["id"] and ana.found("well") == [second["id"]]


def test_a_lapsed_write_commits_anew(clock):
    """GOV-5.3: so does the end of its lifetime."""
    ana = new_caller(clock.server)
    first = ana.write("the kettle is on", ttl="PT1M")
    clock.advance(minutes=1)
    assert ana.write("the kettle is on", ttl="PT1M")["id"] != first["id"]


def test_a_rolled_back_content_commits_anew(ana):
    """GOV-5.6: a version that was rolled back is no answer to a retry of it."""
    first = ana.write("the gate is open")
    path = f"/v1/items/{first['id']}"
    second = ana.ask("PUT", path, {"text": "the gate is shut"}, expect=201)
    ana.ask("POST", f"{path}:rollback", {"version": second["version"], "reason": "not yet"})
    third = ana.ask("PUT", path, {"text": "the gate is shut"}, expect=201)
    assert third["status"] == "committed" and third["version"] != second["version"]
    assert ana.get(first["id"])["text"] == "the gate is shut"


def test_the_same_line_twice_in_a_batch_is_one(ana):
    """GOV-1.8: within a batch as outside it."""
    size = log_size(ana.server)
    one, two, three = batch(ana, [{"text": "a twin"}, {"text": "no twin"}, {"text": "a twin"}])
    assert [one["status"], two["status"], three["status"]] == ["committed", "committed", "already_committed"]
    assert one["id"] == three["id"] != two["id"]
    assert log_size(ana.server) == size + 2
