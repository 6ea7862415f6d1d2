"""D13, GOV-1.4: tests of a procedure that a registered runner does: its signed report on this very content, of the last fifteen
minutes, stands for them."""

import itertools
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from callers import rfc3339
from canonical import canonical
from governed import eventually, novel, refusal, waiting
from grpc_caller import GrpcCaller, Refused
from mcp_caller import McpCaller, over_http

NUMBERS = itertools.count(1)
FAILED = (422, "TESTS_FAILED", "schema")


class Runner:
    """A test runner with a key of its own, as a procedure's author would call it."""

    def __init__(self, world, registered=True):
        self.world, self.name = world, f"runner-{next(NUMBERS)}"
        self.key = Ed25519PrivateKey.generate()
        if registered:
            self.register()

    def register(self):
        self.world.policy_set(self.name, kind="runner", public_key=self.key.public_key().public_bytes_raw().hex())

    def report(self, content_hash, **more):
        """A signed report; `more` is what it says otherwise."""
        said = {"runner": self.name, "content_hash": content_hash, "passed": True, "ran_at": self.world.clock.text, **more}
        return {**said, "signature": self.key.sign(canonical(said)).hex()}

    @property
    def test(self):
        return {"name": "runs", "runner": self.name}


def procedure(world, runner, text=None):
    """The body of a procedure that this runner tests."""
    text = text or novel()
    body = {"text": text, "layer": "procedural", "tests": [runner.test], "evidence": [world.said(text)]}
    return {**body, "fields": {"steps": ["drain", "restart"]}}


def hash_of(author, body):
    """The hash that a refusal says is to be signed."""
    answer = refusal(author.call("POST", "/v1/items", body), *FAILED)
    [fault] = answer["errors"]
    assert fault["path"] == "/tests/0", answer
    named = fault["expected"].split()[-1]
    assert len(named) == 64 and int(named, 16) and named in answer["message"], answer
    return named


def test_a_procedure_is_taken_with_the_report_of_its_runner(strict):
    """D13: refused with the hash to sign, tested, written again with the report: held, approved, memory."""
    ana, bot = strict.pair()
    runner = Runner(strict)
    body = procedure(strict, runner)
    report = runner.report(hash_of(bot, body))
    pending = waiting(bot.call("POST", "/v1/items", {**body, "test_reports": [report]}), "rev_")["pending_id"]
    review = ana.review(pending)
    assert review["content_hash"] == report["content_hash"] and review["item"]["test_reports"] == [report]
    made = ana.approves(pending)
    item = bot.get(made["id"])
    assert item["layer"] == "procedural" and "test_reports" not in item and "test_reports" not in item["fields"]
    assert bot.provenance(made["id"])["content_hash"] == report["content_hash"]


@pytest.mark.parametrize("what", ["passed", "hash", "old", "early", "unknown", "another's key", "altered", "replaced"])
def test_a_report_that_is_not_right_is_refused(strict, what):
    """D13: a failed run, another content, an old or an early report, a runner that is not registered, any more or ever, a
    signature that is not its own: 422 TESTS_FAILED at the report, and no entry."""
    ana, bot = strict.pair()
    runner = Runner(strict, registered=what != "unknown")
    body = procedure(strict, runner)
    content_hash = hash_of(bot, body)
    at = strict.clock.now
    report = {
        "passed": lambda: runner.report(content_hash, passed=False),
        "hash": lambda: runner.report("ab" * 32),
        "old": lambda: runner.report(content_hash, ran_at=rfc3339(at - timedelta(minutes=15, seconds=1))),
        "early": lambda: runner.report(content_hash, ran_at=rfc3339(at + timedelta(minutes=1, seconds=1))),
        "unknown": lambda: runner.report(content_hash),
        "another's key": lambda: Runner(strict).report(content_hash, runner=runner.name),
        "altered": lambda: {**runner.report(content_hash, passed=False), "passed": True},
        "replaced": lambda: runner.report(content_hash),
    }[what]()
    if what == "replaced":
        strict.policy_set(runner.name, kind="approval", approvals=1)
    send = {name: value for name, value in body.items() if name != "text"}
    answer = bot.turned_down(body["text"], **send, test_reports=[report], status=422, code="TESTS_FAILED", gate="schema")
    [fault] = answer["errors"]
    assert fault["path"] == "/test_reports/0" and fault["code"] == "TESTS_FAILED", answer
    unsigned = what in ("unknown", "another's key", "altered", "replaced")
    assert ("registered by this name" in fault["expected"]) == unsigned, answer
    if what == "hash":
        assert content_hash in fault["expected"]
    assert bot.ask("GET", f"/v1/writes/{answer['refusal_id']}")["write"]["test_reports"] == [report]


def test_a_report_of_a_quarter_of_an_hour_ago_is_the_oldest(strict):
    """D13: fifteen minutes to the second, and one minute ahead."""
    ana, bot = strict.pair()
    runner = Runner(strict)
    for shift in timedelta(minutes=-15), timedelta(minutes=1):
        body = procedure(strict, runner)
        report = runner.report(hash_of(bot, body), ran_at=rfc3339(strict.clock.now + shift))
        waiting(bot.call("POST", "/v1/items", {**body, "test_reports": [report]}), "rev_")


def test_every_runner_that_a_test_names_must_report(strict):
    """D13: all tests pass, those that the server does and those of each runner."""
    ana, bot = strict.pair()
    first, second = Runner(strict), Runner(strict)
    body = procedure(strict, first)
    short = {"name": "short", "expect": {"properties": {"text": {"maxLength": 5}}}}
    body["tests"] = [first.test, second.test, short]
    answer = refusal(bot.call("POST", "/v1/items", body), *FAILED)
    assert [fault["path"] for fault in answer["errors"]] == ["/tests/0", "/tests/1", "/tests/2"]
    body["tests"] = [first.test, second.test]
    content_hash = refusal(bot.call("POST", "/v1/items", body), *FAILED)["errors"][0]["expected"].split()[-1]
    reports = [first.report(content_hash), second.report(content_hash)]
    answer = refusal(bot.call("POST", "/v1/items", {**body, "test_reports": reports[:1]}), *FAILED)
    assert [fault["path"] for fault in answer["errors"]] == ["/tests/1"]
    waiting(bot.call("POST", "/v1/items", {**body, "test_reports": reports}), "rev_")


@pytest.mark.parametrize(
    "reports, path",
    [
        ("x", "/test_reports"), ([5], "/test_reports/0"), ([{}], "/test_reports/0/signature"), ([{}] * 17, "/test_reports"),
        ([{"runner": "a", "content_hash": "0" * 64, "passed": 1, "ran_at": "now", "signature": "zz"}], "/test_reports/0/passed"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused(strict, reports, path):
    """GOV-1.3: reports that are not well formed are 422 SCHEMA_INVALID with the path, in every layer."""
    ana, bot = strict.pair()
    status, answer, _ = bot.call("POST", "/v1/items", {"text": novel(), "layer": "session", "test_reports": reports})
    assert (status, answer["code"]) == (422, "SCHEMA_INVALID"), answer
    assert path in [fault["path"] for fault in answer["errors"]], answer


@pytest.mark.parametrize("key", ["", "ab", "zz" * 32, "01" + "00" * 31, "02" * 32, None])
def test_a_runner_has_a_key(strict, key):
    """GOV-1.4: what is no Ed25519 key, or a weak one, registers nobody; only an admin registers."""
    body = {"kind": "runner", **({} if key is None else {"public_key": key})}
    strict.chief.refused("PUT", "/v1/policies/odd-runner", body, status=422, code="SCHEMA_INVALID")
    ana, bot = strict.pair()
    good = {"kind": "runner", "public_key": "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"}
    bot.refused("PUT", "/v1/policies/odd-runner", good, status=403, code="FORBIDDEN")
    assert "odd-runner" not in [one["id"] for one in strict.chief.ask("GET", "/v1/policies")["policies"]]


def test_a_report_is_as_old_as_it_was_when_the_write_came(alone):
    """D13, D1: a held procedure is approved a day later, a put-off one comes to its turn, after a kill too; the age of their
    reports is that of the moment at which they were sent."""
    world = alone(writes_per_minute="[6000,3000,600,60,1]")
    ana, bot = world.pair()
    runner = Runner(world)
    bodies = [procedure(world, runner) for _ in range(2)]
    # What is refused takes a place in the rate too.
    hashes = []
    for body in bodies:
        hashes.append(hash_of(bot, body))
        world.clock.advance(minutes=2)
    earlier = world.clock.now - timedelta(minutes=14)
    reports = [runner.report(one, ran_at=rfc3339(earlier)) for one in hashes]
    first, second = ({**body, "test_reports": [report]} for body, report in zip(bodies, reports, strict=True))
    held = waiting(bot.call("POST", "/v1/items", first), "rev_")["pending_id"]
    waiting(bot.call("POST", "/v1/items", second), "def_")
    world.restart()
    world.clock.advance(minutes=10)
    eventually(lambda: len(ana.reviews()) == 2)
    assert {kept["state"] for kept in bot.kept()} == {"refused"}, "only the first tries, which had no report"
    world.clock.advance(hours=20)
    for review in ana.reviews():
        ana.approves(review["id"])
    assert held in [review["id"] for review in ana.reviews("approved")]
    assert sorted(bot.texts()) == sorted(body["text"] for body in bodies)


def test_a_runner_that_is_removed_before_the_decision_is_believed_no_more(strict):
    """D1: on approval the gates run again: only the age of a report is that of its submission."""
    ana, bot = strict.pair()
    runner = Runner(strict)
    body = procedure(strict, runner)
    report = runner.report(hash_of(bot, body))
    pending = waiting(bot.call("POST", "/v1/items", {**body, "test_reports": [report]}), "rev_")["pending_id"]
    runner.key = Ed25519PrivateKey.generate()
    runner.register()
    status, answer, _ = ana.decides(pending)
    assert (status, answer["code"]) == (422, "TESTS_FAILED"), answer
    assert ana.review(pending)["state"] == "pending" and bot.texts() == []


def test_an_edit_needs_a_report_of_its_own(strict):
    """D13: a report on the held text is none on the changed one; the review waits on until there is one."""
    ana, bot = strict.pair()
    runner = Runner(strict)
    body = procedure(strict, runner)
    body["test_reports"] = [runner.report(hash_of(bot, body))]
    pending = waiting(bot.call("POST", "/v1/items", body), "rev_")["pending_id"]
    changed = {**body, "fields": {"steps": ["drain", "wait", "restart"]}}
    answer = refusal(bot.call("PUT", f"/v1/reviews/{pending}", changed), *FAILED)
    assert ana.review(pending)["state"] == "pending"
    changed["test_reports"] = [runner.report(answer["errors"][0]["expected"].split()[-1])]
    edited = waiting(bot.call("PUT", f"/v1/reviews/{pending}", changed), "rev_")["pending_id"]
    assert ana.review(pending)["state"] == "withdrawn"
    ana.approves(edited)


def test_reports_go_over_every_transport(strict):
    """GOV-1.1: gRPC and MCP register, ask for and take the same reports."""
    ana, bot = strict.pair()
    runner = Runner(strict, registered=False)
    with GrpcCaller(strict.server, strict.chief.key) as chief:
        public = runner.key.public_key().public_bytes_raw().hex()
        chief.call("SetPolicy", {"id": runner.name, "kind": "runner", "public_key": public})
        [kept] = [one for one in chief.call("ListPolicies")["policies"] if one["id"] == runner.name]
        assert (kept["kind"], kept["public_key"]) == ("runner", public)
    body = procedure(strict, runner)
    with GrpcCaller(strict.server, bot.key) as caller:
        with pytest.raises(Refused) as refused:
            caller.call("Write", body)
        [fault] = refused.value.refusal["errors"]
        assert (refused.value.refusal["code"], fault["path"]) == ("TESTS_FAILED", "/tests/0")
        body["test_reports"] = [runner.report(fault["expected"].split()[-1])]
        assert caller.call("Write", body)["pending_id"].startswith("rev_")
    body = procedure(strict, runner)
    with McpCaller(over_http(strict.server, bot.key)) as caller:
        answer = caller.refused("write_item", body)
        body["test_reports"] = [runner.report(answer["errors"][0]["expected"].split()[-1])]
        assert caller.ask("write_item", body)["pending_id"].startswith("rev_")
    assert len(ana.reviews()) == 2
