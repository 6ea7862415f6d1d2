"""Gates outside the server: the sample in examples/gate as people run it, and gates that fail in every way."""

import json
import subprocess
import sys
import threading
import time

import pytest

from callers import log_size
from governed import Later, committed, eventually, novel, refusal, waiting
from server import ROOT, NotReady, Server, free_port

SAMPLE = ROOT / "examples" / "gate"
sys.path.insert(0, str(SAMPLE))

import gate as sample  # noqa: E402
from messages import Accept, Defer, JudgeReply, Reject  # noqa: E402

CARD = "4111 1111 1111 1111"
YES = JudgeReply(accept=Accept())


def table(port, name="pii", **more):
    """A gate as the environment names it."""
    fields = {"name": name, "url": f"http://127.0.0.1:{port}", **more}
    return "{" + ",".join(f"{key}={json.dumps(value)}" for key, value in fields.items()) + "}"


def named(*tables):
    return "[" + ",".join(tables) + "]"


class Sample:
    """The sample gate, run as its README says."""

    def __init__(self, directory):
        self.port, self.hold, self.process = free_port(), directory / "hold", None

    def start(self):
        command = [sys.executable, "gate.py", "--listen", f"127.0.0.1:{self.port}", "--hold", self.hold]
        self.process = subprocess.Popen(command, cwd=SAMPLE, stdout=subprocess.PIPE, text=True)
        assert "listens" in self.process.stdout.readline()
        return self

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(10)
            self.process.stdout.close()
            self.process = None


@pytest.fixture
def pii(tmp_path):
    gate = Sample(tmp_path)
    yield gate
    gate.stop()


class Scripted:
    """A gate in this process: it answers what `answer` returns for a write, and remembers what it was shown."""

    def __init__(self, answer=None):
        self.port, self.seen, self.answer = free_port(), [], answer or (lambda write: YES)
        self.server = sample.serve(f"127.0.0.1:{self.port}", self._judge)

    def _judge(self, write):
        self.seen.append(write)
        return self.answer(write)

    @property
    def texts(self):
        return [json.loads(write.content_json)["text"] for write in self.seen]

    def stop(self):
        self.server.stop(grace=None).wait()


@pytest.fixture
def scripted():
    made = []

    def make(answer=None):
        made.append(Scripted(answer))
        return made[-1]

    yield make
    for gate in made:
        gate.stop()


def no(message="no such words", **more):
    return JudgeReply(reject=Reject(code="NO", message=message, **more))


def later(ms, message="busy"):
    return JudgeReply(defer=Defer(retry_after_ms=ms, message=message))


def metric(world, start):
    """The sum of all samples of a metric that begin so."""
    _, text, _ = world.server.call("GET", "/metrics")
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(start))


def write(world, author, text=None, **fields):
    text = text or novel()
    return author.send(text, evidence=[world.said(text)], **fields)


@pytest.mark.parametrize("policy", ["open", "standard", "strict"])
def test_the_sample_keeps_card_numbers_out(alone, pii, policy):
    """GOV-1.3, GOV-1.5, D2: a gate that runs elsewhere accepts and refuses like one of the server's own, under every policy."""
    world = alone(policy, gates=named(table(pii.start().port)))
    ana, bot = world.pair()
    made = committed(write(world, bot))
    size = log_size(world.server)
    text = f"{novel()} paid with {CARD}"
    answer = refusal(write(world, bot, text), 422, "GATE_REJECTED", "policy")
    assert "`pii`" in answer["message"] and "CARD_NUMBER" in answer["message"] and "payment card" in answer["message"]
    assert [fault["path"] for fault in answer["errors"]] == ["/text", "/evidence/0/excerpt"]
    [kept] = bot.kept()
    assert (kept["id"], kept["state"], kept["code"]) == (answer["refusal_id"], "refused", "GATE_REJECTED")
    body = {"text": text, "evidence": [world.said(text)]}
    refusal(bot.call("PUT", f"/v1/items/{made['id']}", body), 422, "GATE_REJECTED", "policy")
    texts = [novel(), f"{novel()} {CARD}", novel()]
    lines = bot.batch({"text": text, "evidence": [world.said(text)]} for text in texts)
    assert [line["status"] for line in lines] == ["committed", "rejected", "committed"], lines
    assert log_size(world.server) == size + 2 and not any(CARD in text for text in bot.texts())
    text = novel()
    status, answer, _ = bot.call("PUT", f"/v1/items/{made['id']}", {"text": text, "evidence": [world.said(text)]})
    assert (status, answer["status"]) in [(200, "committed"), (201, "committed")], answer
    assert metric(world, 'tabellion_gate_seconds_count{gate="remote:pii"') >= 5
    pii.stop()
    assert CARD not in world.server.log


def test_what_a_missing_gate_puts_off_commits_unaided_when_it_is_there(alone, pii):
    """GOV-1.6, D2: an unreachable gate puts writes off; they are durable, survive a kill, and commit once it answers."""
    world = alone(gates=named(table(pii.port)))
    ana, bot = world.pair()
    size = log_size(world.server)
    text = novel()
    answer = waiting(write(world, bot, text), "def_")
    assert (answer["gate"], answer["code"], answer["retry_after"]) == ("policy", "GATE_UNREACHABLE", "PT1S")
    assert waiting(write(world, bot, text), "def_")["pending_id"] == answer["pending_id"]
    [kept] = bot.kept()
    assert (kept["state"], kept["gate"], kept["code"]) == ("deferred", "policy", "GATE_UNREACHABLE")
    world.restart()
    assert log_size(world.server) == size and not bot.texts()
    assert waiting(write(world, bot, text), "def_")["code"] == "GATE_UNREACHABLE", "the reason survives too"
    pii.start()
    world.clock.advance(seconds=1)
    eventually(lambda: bot.texts() == [text])
    assert eventually(lambda: not bot.kept())
    assert write(world, bot, text)[1]["status"] == "already_committed"


def test_what_the_sample_defers_waits_as_long_as_it_says(alone, pii):
    """GOV-1.5: DEFER(deadline) puts the write off until then, and it is asked again unaided."""
    pii.hold.touch()
    world = alone(gates=named(table(pii.start().port)))
    ana, bot = world.pair()
    text = novel()
    answer = waiting(write(world, bot, text), "def_")
    assert (answer["code"], answer["retry_after"]) == ("GATE_DEFERRED", "PT2S")
    assert "`pii`" in answer["message"] and "operator" in answer["message"]
    pii.hold.unlink()
    world.clock.advance(seconds=1)
    time.sleep(0.5)
    assert not bot.texts(), "not before its time"
    world.clock.advance(seconds=1)
    eventually(lambda: bot.texts() == [text])


def test_a_gate_is_asked_again_five_times_and_no_more(alone, scripted):
    """GOV-1.6: bounded retry, 1 s doubling, then RETRY_EXHAUSTED, and the write is kept for its author as refused."""
    gate = scripted(lambda write: later(0))
    world = alone(gates=named(table(gate.port)))
    ana, bot = world.pair()
    text = novel()
    waiting(write(world, bot, text), "def_")
    for tries, seconds in enumerate([1, 2, 4, 8, 16], start=2):
        world.clock.advance(seconds=seconds)
        eventually(lambda: len(gate.seen) == tries)
    [kept] = eventually(lambda: [one for one in bot.kept() if one["state"] == "refused"])
    assert (kept["code"], kept["gate"], kept["write"]["text"]) == ("RETRY_EXHAUSTED", "policy", text)
    assert "`pii`" in kept["message"] and "busy" in kept["message"]
    world.clock.advance(days=1)
    time.sleep(0.5)
    assert len(gate.seen) == 6
    gate.answer = lambda write: YES
    committed(bot.call("POST", f"/v1/writes/{kept['id']}:reopen"))


def fails(write):
    raise RuntimeError(json.loads(write.content_json)["text"])


def sleeps(write):
    time.sleep(2)
    return YES


@pytest.mark.parametrize(
    "answer",
    [sleeps, fails, lambda write: JudgeReply(), lambda write: no("x" * 200_000)],
    ids=["slow", "status", "no answer in the reply", "oversized"],
)
def test_no_answer_of_the_contract_is_no_answer(alone, scripted, answer):
    """D2: too slow, another status, an empty reply, too many bytes: the write waits, and is not lost."""
    gate = scripted(answer)
    world = alone("open", gates=named(table(gate.port, timeout_ms=300)))
    ana, bot = world.pair()
    text = novel()
    started = time.monotonic()
    assert waiting(write(world, bot, text), "def_")["code"] == "GATE_UNREACHABLE"
    assert time.monotonic() - started < 1.5
    assert metric(world, 'tabellion_gate_unreachable_total{gate="pii"') == 1
    assert text not in world.server.log
    gate.answer = lambda write: YES
    world.clock.advance(seconds=1)
    eventually(lambda: bot.texts() == [text])


def test_a_gate_that_comes_back_is_connected_to_again(alone, scripted):
    """D2: a connection that broke is made anew; in between, batches wait line by line."""
    gate = scripted()
    world = alone("open", gates=named(table(gate.port)))
    ana, bot = world.pair()
    committed(write(world, bot))
    gate.stop()
    lines = bot.batch({"text": novel()} for _ in range(3))
    assert [(line["status"], line["code"]) for line in lines] == [("deferred", "GATE_UNREACHABLE")] * 3, lines
    gate.server = sample.serve(f"127.0.0.1:{gate.port}", gate._judge)
    world.clock.advance(seconds=1)
    eventually(lambda: len(bot.texts()) == 4)
    committed(write(world, bot))


def test_what_the_servers_own_gates_refuse_is_shown_to_nobody(alone, scripted):
    """GOV-1.1: local gates first; a gate elsewhere sees only what they let through, once, with what it needs to know."""
    gate = scripted()
    world = alone(gates=named(table(gate.port)))
    ana, bot = world.pair()
    bot.turned_down(novel(), status=422, code="EVIDENCE_NOT_INDEPENDENT", gate="factual")
    assert bot.send("", evidence=[])[0] == 422 and not gate.seen
    text = novel()
    answer = bot.supported(text, confidence=0.7, tags=["a"], namespace="notes")
    [seen] = gate.seen
    content = json.loads(seen.content_json)
    assert (content["text"], content["tags"]) == (text, ["a"])
    assert (seen.layer, seen.namespace, seen.confidence) == ("episodic", "notes", 0.7)
    assert (seen.agent, seen.user) == (bot.agent, bot.user) and seen.request_id
    [cited] = seen.evidence
    assert (cited.source_type, cited.excerpt, cited.authority) == ("human_input", text, 0.95)
    assert write(world, bot, text, namespace="notes", confidence=0.7, tags=["a"])[1]["id"] == answer["id"]
    assert len(gate.seen) == 1, "a replay is answered as it stands"
    bot.send(novel(), layer="session")
    bot.send(novel(), layer="working")
    assert len(gate.seen) == 1, "layers that nobody named"


def test_gates_are_asked_at_the_same_time(alone, scripted):
    """GOV-1.5: the slowest gate is what a write waits for, not their sum; a no wins over a wait."""
    together = threading.Barrier(3, timeout=5)

    def meets(write):
        together.wait()
        return YES

    gates = [scripted(meets) for _ in range(3)]
    places = ["schema", "contradiction", "policy"]
    tables = [table(gate.port, name=at, at=at, timeout_ms=8000) for gate, at in zip(gates, places, strict=True)]
    world = alone("open", gates=named(*tables))
    ana, bot = world.pair()
    committed(write(world, bot))
    gates[0].answer = lambda write: later(60_000)
    gates[1].answer = lambda write: no("not here")
    gates[2].answer = lambda write: no("nor here")
    answer = refusal(write(world, bot), 422, "GATE_REJECTED", "contradiction")
    assert "`contradiction`" in answer["message"] and "not here" in answer["message"] and not bot.kept()[0].get("due")
    gates[1].answer, gates[2].answer = (lambda write: later(3_600_000)), (lambda write: YES)
    answer = waiting(write(world, bot), "def_")
    assert (answer["gate"], answer["retry_after"]) == ("contradiction", "PT300S"), "five minutes at most"


def test_gates_run_again_when_a_person_approves(alone, scripted):
    """D1, GOV-1.6: a held write has passed every gate, and passes them again on approval; a no leaves it held."""
    gate = scripted()
    world = alone(gates=named(table(gate.port)))
    ana, bot = world.pair()
    text = novel()
    pending = waiting(write(world, bot, text, layer="semantic"), "rev_")["pending_id"]
    assert gate.texts == [text]
    gate.answer = lambda write: no()
    refusal(ana.decides(pending), 422, "GATE_REJECTED", "policy")
    gate.answer = lambda write: later(4_000)
    status, answer, headers = ana.decides(pending)
    assert (status, answer["code"], headers["retry-after"]) == (503, "GATE_DEFERRED", "4"), answer
    assert [one["id"] for one in ana.reviews()] == [pending] and not bot.texts()
    gate.answer = lambda write: YES
    ana.approves(pending)
    assert bot.texts() == [text] and gate.texts == [text] * 4
    gate.answer = lambda write: no()
    refusal(write(world, bot, layer="semantic"), 422, "GATE_REJECTED", "policy")
    assert not ana.reviews()


def test_words_of_a_gate_are_cut_to_size(alone, scripted):
    """GOV-1.5: what a gate says is shown, on one line and not at any length."""
    gate = scripted(lambda write: no("first\nsecond \x1b[31m" + "x" * 5_000))
    world = alone("open", gates=named(table(gate.port)))
    ana, bot = world.pair()
    message = refusal(write(world, bot), 422, "GATE_REJECTED", "policy")["message"]
    assert "first second" in message and "\x1b" not in message and "\n" not in message and len(message) < 700


def test_a_slow_gate_of_one_agent_keeps_no_other_waiting(alone, scripted):
    """GOV-1.9: what waits for its rate commits in its time, while many writes of another agent wait for a slow gate."""
    slow = set()

    def answer(write):
        if write.agent in slow:
            time.sleep(5)
        return YES

    gate = scripted(answer)
    world = alone("open", gates=named(table(gate.port, timeout_ms=1000)))
    ana, bot = world.pair()
    other = world.agent(ana)
    slow.add(bot.agent)
    calls = [Later(lambda: write(world, bot)) for _ in range(6)]
    assert all(waiting(call.answer(), "def_") for call in calls)
    world.clock.advance(seconds=1)
    started = time.monotonic()
    committed(write(world, other))
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "gates, words",
    [
        (named(table(1, url="ftp://nowhere")), "url must be http://"),
        (named(table(1, at="preflight")), "at must be one of schema, factual"),
        (named(table(1, layers=["working"])), "layers must be some of session"),
        (named(table(1), table(2)), "two gates have the same name"),
        (named(table(1, more=1)), "more"),
    ],
)
def test_a_gate_that_could_not_be_asked_stops_the_start(bin, tmp_path, gates, words):
    """D2: a mistake in the configuration is named at the start, and not found out write by write."""
    server = Server(bin, tmp_path / "data", env={"TABELLION_GOVERNANCE__GATES": gates})
    with pytest.raises(NotReady, match=words):
        server.start()


def test_the_messages_of_the_sample_are_those_of_the_contract():
    """GOV-1.3: the sample describes the very fields, numbers and types of gate.proto."""
    import messages

    proto = (ROOT / "proto" / "tabellion" / "gate" / "v1" / "gate.proto").read_text()
    for name, fields in messages.MESSAGES.items():
        assert f"message {name} {{" in proto
        body = proto.split(f"message {name} {{", 1)[1].split("\nmessage ", 1)[0]
        for number, (field, kind) in enumerate(fields.items(), start=1):
            kind = f"repeated {kind.removesuffix('[]')}" if kind.endswith("[]") else kind
            assert f"{kind} {field} = {number};" in body, (name, field)
