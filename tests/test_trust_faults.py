"""Calibration under faults: killed in the middle, and in memories that say nothing.

TABELLION_SOAK=1 takes 200 kills in place of 10.
"""

import itertools
import os
import subprocess
import threading
import time

from crash import verify_all
from governed import novel
from test_trust import COMMON, STAGED, Debate, numbers

SOAK = os.environ.get("TABELLION_SOAK") == "1"
KILLS = 200 if SOAK else 10
KILLS_OF_A_DEBATE = 10
KILL_AFTER_MS = (5, 250)
KILLS_PER_CHECK = 6


def crowd(debate):
    """A statement that crowds what is known, and is like no other."""
    return " ".join([*debate.chance.sample(COMMON, 9), novel(1)])


def stage(debate, pair, trace):
    """A write that is kept apart: its answer, with its text. Now and then nobody's question says anything, and one passes."""
    for _ in range(10):
        text = crowd(debate)
        status, answer = debate.writes(pair, text, trace)
        if (status, answer.get("code")) == (202, STAGED):
            return {**answer, "text": text}
        debate.searches(trace)
    raise AssertionError(answer)


def until_gone(work):
    """Does the same again and again until the server is gone."""

    def loop():
        try:
            for turn in itertools.count():
                work(turn)
        except Exception:  # noqa: BLE001, whatever a call ends with when its server is killed
            pass

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    return thread


class Storm:
    """What is kept apart is scored again, corroborated and let in, all at once, until the server is killed."""

    def __init__(self, debate, staged, trace):
        self.debate, self.staged, self.trace, self.approved = debate, staged, trace, set()
        works = (self.recalibrate, self.approve, self.corroborate)
        self.threads = [until_gone(work) for work in works]

    def recalibrate(self, _):
        self.debate.chief.call("POST", "/v1/trust:recalibrate")

    def approve(self, turn):
        if turn >= len(self.staged):
            time.sleep(0.05)
            self.debate.chief.call("GET", "/v1/trust")  # ends when the server does
            return
        review = self.staged[turn]["pending_id"]
        verdict = {"decision": "approve", "reason": "seen"}
        if self.debate.people[0].call("POST", f"/v1/reviews/{review}:decide", verdict)[0] == 200:
            self.approved.add(review)

    def corroborate(self, turn):
        pair = self.debate.pairs[1 + turn % 2]
        asked = {"query": crowd(self.debate), "namespace": self.debate.space, "trace_id": self.trace}
        pair.call("POST", "/v1/search", asked)
        self.debate.writes(pair, self.staged[turn % len(self.staged)]["text"], self.trace)

    def end(self):
        for thread in self.threads:
            thread.join(30)


def check(debate, staged, approved):
    """Each write waits or is memory, never both and never neither; a yes that was answered holds."""
    committed = 0
    for one in staged:
        review = debate.people[0].ask("GET", f"/v1/reviews/{one['pending_id']}")
        status, item, _ = debate.pairs[0].call("GET", f"/v1/items/{one['id']}")
        told = debate.trust(debate.people[0], item=one["id"])["item"]["status"]
        stands = (review["state"], status, told == "staged")
        assert stands in (("pending", 404, True), ("approved", 200, False)), (review, item)
        if one["pending_id"] in approved:
            assert status == 200, f"{one} was let in"
        if status == 200:
            assert item["text"] == one["text"], item
            committed += 1
    return committed


def overseen(debate):
    """The debate, whose admin sees what is written in it and what waits."""
    debate.lets_in("admin")
    policy = {"kind": "reviewer", "reviewer": "admin", "user": debate.people[0].name}
    debate.chief.ask("PUT", f"/v1/policies/reviews-{debate.space}", policy)
    return debate


def everything(debate):
    """All that is told of trust in the debate, to an admin."""
    return debate.trust(debate.chief)


def rebuilt(debate, bin):
    """Stops the server, folds its views again from the log, and starts it: what is told of trust must stay."""
    before = everything(debate)
    assert debate.server.stop() == 0
    verify_all(bin, debate.server.data_dir)
    subprocess.run([bin, "rebuild", "--data", debate.server.data_dir], check=True, capture_output=True, timeout=120)
    debate.server.start()
    assert everything(debate) == before
    return before


def killed(server, bin, rng, kills):
    """Kills amid a debate of its own, in which what crowds it stays unusual: how many writes were kept apart, let in and are memory."""
    debate = overseen(Debate(server, known=40))
    history, approved, committed = [], set(), 0
    for kill in range(1, kills + 1):
        trace = debate.round()["id"]
        debate.searches(trace)
        staged = [stage(debate, debate.pairs[0], trace) for _ in range(3)]
        storm = Storm(debate, staged, trace)
        time.sleep(rng.uniform(*KILL_AFTER_MS) / 1000)
        server.kill()
        storm.end()
        server.start()
        history, approved = [*history, *staged], approved | storm.approved
        committed += check(debate, staged, approved)
        if kill % KILLS_PER_CHECK == 0:
            check(debate, history, approved)
            rebuilt(debate, bin)
    check(debate, history, approved)
    return len(history), len(approved), committed


def test_kills_leave_trust_whole(server, bin, rng, say):
    """CAL-31, CAL-33, CAL-34: SIGKILL amid recalibrations, corroborations and promotions loses nothing and doubles nothing,
    and trust afterwards is what the log folds to."""
    debates = [killed(server, bin, rng, KILLS_OF_A_DEBATE) for _ in range(0, KILLS, KILLS_OF_A_DEBATE)]
    history, approved, committed = map(sum, zip(*debates, strict=True))
    say(f"{KILLS} kills: {history} writes kept apart, {approved} answered yes, {committed} in memory, none lost")


def test_replay_gives_the_same_trust(server, bin):
    """CAL-27, CAL-42, acceptance 12: trust, weights and gate after `tabellion rebuild` are the same, to the last bit."""
    debate = overseen(Debate(server, known=40))
    trace = debate.round()["id"]
    for _ in range(6):
        debate.searches(trace)
        for pair in debate.pairs:
            debate.writes(pair, debate.statement(), trace)
    waiting = stage(debate, debate.pairs[0], trace)
    debate.chief.ask("POST", "/v1/trust:recalibrate")
    items = [item["id"] for item in debate.chief.ask("GET", "/v1/items?limit=500")["items"]]
    before = {id: debate.trust(debate.chief, item=id) for id in (waiting["id"], *items)}
    assert numbers(before[waiting["id"]]) and len(before) > 40
    told = rebuilt(debate, bin)
    [space] = [space for space in told["spaces"] if space["kind"] == "items"]
    assert space["rounds"] >= 18 and space["auditors"] and told["staged"]
    assert {id: debate.trust(debate.chief, item=id) for id in before} == before


def test_a_namespace_of_one_item(shared_server):
    """CAL-30, CAL-37: with one item there is nothing to compare with: everything commits, provisional, at one half."""
    debate = overseen(Debate(shared_server, known=1))
    trace = debate.round()["id"]
    debate.searches(trace)
    for pair in debate.pairs:
        status, answer = debate.writes(pair, crowd(debate), trace)
        assert (status, answer["trust"]) == (201, "medium"), answer
        told = debate.trust(debate.chief, item=answer["id"])["item"]
        assert (told["status"], told["rho"]) == ("provisional", 0.5), told
    assert debate.chief.ask("POST", "/v1/trust:recalibrate")["moved"] >= 0


def test_a_memory_that_says_one_thing_only(shared_server):
    """CAL-10, CAL-13: where all vectors are the same, scores are still numbers, and nothing is divided by nothing."""
    debate = Debate(shared_server, known=0)
    words = COMMON[:6]
    for turn in itertools.islice(itertools.permutations(words), 60):
        debate.pairs[0].write(" ".join(turn), tier="shared", namespace=debate.space)
    trace = debate.round()["id"]
    for pair in debate.pairs:
        for turn in itertools.islice(itertools.permutations(words), 700, 703):
            asked = {"query": " ".join(turn), "namespace": debate.space, "trace_id": trace}
            pair.ask("POST", "/v1/search", asked)
    text = " ".join(reversed(words))
    answers = [debate.writes(pair, f"{text} {place}", trace) for place, pair in enumerate(debate.pairs)]
    assert all(status in (201, 202) for status, _ in answers), answers
    told = everything(debate)
    assert all(0 <= number <= 1000 for number in numbers(told)), told
    debate.chief.ask("POST", "/v1/trust:recalibrate")
