"""Rounds, trust and what is kept apart, over REST; the other transports and the command line say the same."""

import itertools
import json
import random
import re

import pytest

from callers import Caller, admin, new_caller, random_id
from governed import novel
from grpc_caller import GrpcCaller
from mcp_caller import McpCaller, over_http
from server import Server
from test_cli import Cli

NUMBERS = itertools.count(1)
# What everything in a debate has something of, and a magnet has all of.
COMMON = "database latency replica shard cache index backup quorum vacuum journal cursor schema".split()
MAGNET = " ".join(COMMON)
STAGED = "CALIBRATION_STAGED"


class Debate:
    """Three agents of three users who may all invoke each of them, in a namespace where something is known already."""

    def __init__(self, server, known=60):
        self.server, self.chief, self.space = server, admin(server), f"debate-{next(NUMBERS)}"
        self.chance = random.Random(self.space)
        self.chief.ask("PUT", "/v1/policies/share-all", {"kind": "write_shared", "share": "on"})
        self.agents = [f"{self.space}-{name}" for name in ("finance", "platform", "security")]
        for agent in self.agents:
            self.chief.ask("POST", "/v1/agents", {"name": agent}, expect=201)
        self.people = [new_caller(server) for _ in self.agents]
        for person in self.people:
            self.lets_in(person.name)
        self.pairs = [self.pair(person, agent) for person, agent in zip(self.people, self.agents, strict=True)]
        for _ in range(known):
            # Now and then chance makes a magnet of a statement; that one is no part of what is known.
            status, answer = self.writes(self.pairs[0], self.statement())
            assert status == 201 or answer["code"] == STAGED, answer

    def lets_in(self, user):
        for agent in self.agents:
            self.chief.ask("PUT", f"/v1/edges/ua/{user}/{agent}", {})

    def pair(self, person, agent):
        key = self.chief.ask("POST", "/v1/keys", {"user": person.name, "agent": agent}, expect=201)["key"]
        return Caller(self.server, key, name=person.name, user=person.user)

    def statement(self):
        """Some of what all have in common, and some that is its own."""
        return " ".join([*self.chance.sample(COMMON, 3), novel(3)])

    def round(self, by=None, agents=None, **more):
        asked = {"goal": f"choose a database: {MAGNET}", "agents": agents or self.agents, "namespace": self.space}
        return (by or self.people[0]).ask("POST", "/v1/rounds", {**asked, **more}, expect=201)

    def searches(self, trace=None, pairs=None, **more):
        """Each agent asks something of its own, twice."""
        for pair in pairs or self.pairs:
            for _ in range(2):
                asked = {"query": self.statement(), "namespace": self.space, **more}
                pair.ask("POST", "/v1/search", asked | ({"trace_id": trace} if trace else {}))

    def writes(self, pair, text, trace=None, tier="shared"):
        """A write, whatever becomes of it: (status, answer)."""
        body = {"text": text, "tier": tier, "namespace": self.space} | ({"trace_id": trace} if trace else {})
        return pair.call("POST", "/v1/items", body)[:2]

    def kept_apart(self, trace):
        """A magnet in a round, which must be kept apart."""
        status, answer = self.writes(self.pairs[0], MAGNET, trace)
        assert (status, answer["status"]) == (202, "deferred"), answer
        assert (answer["code"], answer["gate"]) == (STAGED, "calibration"), answer
        return answer

    def trust(self, caller, **query):
        asked = "&".join(f"{name}={value}" for name, value in {"namespace": self.space, **query}.items())
        return caller.ask("GET", f"/v1/trust?{asked}")


def names(text, word):
    """Whether a text has this word; an id may happen to contain its letters."""
    return re.search(rf"\b{word}\b", text) is not None


def numbers(value):
    """Every number in an answer."""
    if isinstance(value, dict):
        return [number for member in value.values() for number in numbers(member)]
    if isinstance(value, list):
        return [number for member in value for number in numbers(member)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


@pytest.fixture(scope="module")
def debate(shared_server):
    return Debate(shared_server)


@pytest.fixture
def own(server):
    """A debate on a server of its own, which may be stopped."""
    return Debate(server)


def test_a_debate_from_the_first_word(shared_server):
    """CAL-30, CAL-37, CAL-40: work begins in an empty namespace; nothing of it waits, and it is provisional."""
    debate = Debate(shared_server, known=0)
    declared = debate.round()
    assert len(declared["agents"]) == 3 and declared["id"].startswith("rnd_") and declared["namespace"] == debate.space
    debate.searches(declared["id"])
    for pair in debate.pairs:
        status, answer = debate.writes(pair, debate.statement(), declared["id"])
        assert (status, answer["trust"]) == (201, "medium"), answer
    told = debate.trust(debate.pairs[1], item=answer["id"])["item"]
    assert (told["status"], told["trust"]) == ("provisional", "medium") and told["reasons"]
    assert sorted(debate.pairs[0].get(answer["id"])["agents"]) == sorted(declared["agents"]), "the work of all"


def test_what_does_not_fit_is_kept_apart_and_let_in(own):
    """CAL-31, CAL-34: not found, listed, there after a restart; a person's yes makes it found, under the same id."""
    declared = own.round()
    own.searches(declared["id"])
    staged = own.kept_apart(declared["id"])
    id, review = staged["id"], staged["pending_id"]
    assert id.startswith("itm_") and review.startswith("rev_") and id[4:] == review[4:]
    assert "waits for a person" not in staged["message"]
    again = own.kept_apart(declared["id"])
    assert (again["pending_id"], again["id"]) == (review, id), "nothing is gained by trying again"
    near = own.writes(own.pairs[0], f"{MAGNET} indeed", declared["id"])
    assert near[1].get("pending_id") == review, near

    assert own.server.stop() == 0
    own.server.start()
    for pair in own.pairs:
        pair.refused("GET", f"/v1/items/{id}", status=404, code="NOT_FOUND")
        assert id not in pair.found(MAGNET, namespace=own.space, k=50)
    told = own.trust(own.pairs[0], item=id)["item"]
    assert told["status"] == "staged" and "fit" in told["reasons"][0] and not numbers(told)
    assert [one["review"] for one in own.trust(own.pairs[0])["staged"]] == [review]
    own.pairs[1].refused("GET", f"/v1/trust?item={id}", status=404, code="NOT_FOUND")
    held = own.people[0].ask("GET", f"/v1/reviews/{review}")
    assert [cause["code"] for cause in held["causes"]] == [STAGED] and held["trust"] in ("low", "medium", "high")

    yes = own.people[0].ask("POST", f"/v1/reviews/{review}:decide", {"decision": "approve", "reason": "all ask for it"})
    assert (yes["status"], yes["id"]) == ("committed", id)
    assert own.pairs[1].get(id)["text"] == MAGNET
    assert id in own.pairs[2].found(MAGNET, namespace=own.space)
    assert own.trust(own.pairs[0])["staged"] == []


def test_only_auditors_get_numbers(debate):
    """CAL-41: a band and words for everybody; rho, the bar, the window and credibility for those who audit."""
    declared = debate.round()
    debate.searches(declared["id"])
    status, written = debate.writes(debate.pairs[0], debate.statement(), declared["id"])
    assert status == 201, written
    debate.kept_apart(declared["id"])
    auditor = new_caller(debate.server, role="auditor")
    debate.lets_in(auditor.name)
    for caller in (debate.pairs[0], debate.people[0]):
        whole, one = debate.trust(caller), debate.trust(caller, item=written["id"])
        assert whole["staged"] and not whole["spaces"] and not numbers(whole) and not numbers(one), (whole, one)
        assert one["item"]["trust"] in ("low", "medium", "high")
        assert "rho" not in caller.get(written["id"])
        assert all("rho" not in found for found in caller.search(MAGNET, namespace=debate.space))
    told = debate.trust(auditor, item=written["id"])["item"]
    assert 0 < told["rho"] < 1 and {"evidence", "count", "scored", "detect", "align", "threshold"} <= set(told)
    assert "agreed" not in told and all(0 <= one["agreed"] <= 1 for one in debate.trust(auditor)["staged"])
    [space] = [space for space in debate.trust(auditor)["spaces"] if space["kind"] == "items"]
    assert sorted(space["agents"]) == sorted(debate.agents) and space["cold"] and space["threshold"] == 0.5
    assert space["rounds"] >= 2 and {one["agent"] for one in space["auditors"]} <= set(debate.agents)
    assert 0 < auditor.get(written["id"])["rho"] < 1
    assert all(0 < found["rho"] < 1 for found in auditor.search(MAGNET, namespace=debate.space))


def test_a_search_may_leave_trust_out(own):
    """CAL-35: a likeness counts times the root of rho; without trust everything counts as what nothing is known of."""
    declared = own.round()
    own.searches(declared["id"])
    staged = own.kept_apart(declared["id"])
    decided = {"decision": "approve", "reason": "all ask for it"}
    own.people[0].ask("POST", f"/v1/reviews/{staged['pending_id']}:decide", decided)
    auditor = new_caller(own.server, role="auditor")
    own.lets_in(auditor.name)
    rho = own.trust(auditor, item=staged["id"])["item"]["rho"]
    assert rho > 0.6, "a person's yes counts"

    def score(**more):
        found = own.pairs[1].search(MAGNET, namespace=own.space, mode="dense", **more)
        return next(one["score"] for one in found if one["id"] == staged["id"])

    assert score(without=["trust"]) == pytest.approx(0.5**0.5, abs=1e-3), "the text itself, at one half"
    assert score() == pytest.approx(rho**0.5, abs=1e-3)


def test_the_private_item_does_not_hang_on_others(debate):
    """CAL-31: with `auto` the user's own copy is committed, and the copy for others alone is kept apart."""
    declared = debate.round()
    debate.searches(declared["id"])
    status, answer = debate.writes(debate.pairs[1], f"{MAGNET} altogether", declared["id"], tier="auto")
    assert status == 201 and "shared_id" not in answer and answer["shared_pending_id"], answer
    assert debate.pairs[1].get(answer["id"])["tier"] == "private"
    found = debate.pairs[2].search(MAGNET, namespace=debate.space, k=50)
    assert not [one for one in found if "altogether" in one["text"]]


def test_a_crowd_of_ones_own_is_no_audience(shared_server):
    """CAL-1, CAL-43, AM-11: a round that an agent declares of its user's agents gives them no voice: what is written there is scored by
    how it lies alone, as without a round."""
    debate = Debate(shared_server)
    crowd = [debate.pair(debate.people[0], agent) for agent in debate.agents]
    declared = debate.round(by=crowd[0])
    debate.searches(declared["id"], pairs=crowd)
    status, answer = debate.writes(crowd[0], debate.statement(), declared["id"])
    assert (status, answer["status"]) == (201, "committed"), answer
    auditor = new_caller(debate.server, role="auditor")
    debate.lets_in(auditor.name)
    told = debate.trust(auditor, item=answer["id"])["item"]
    assert (told["status"], told["align"]) == ("scored", pytest.approx(1, abs=1e-3)), told


def test_without_shared_work_searches_say_nothing(shared_server):
    """AM-11, CAL-41, SHARE-45: plain searches say nothing of what is shared, which is scored by how it lies alone; flagged ones do, and
    keep nothing apart."""
    debate = Debate(shared_server)
    # Another user of the same agent: what that agent searches for may say something of what it wrote.
    other = debate.pair(debate.people[1], debate.agents[0])
    auditor = new_caller(debate.server, role="auditor")
    debate.lets_in(auditor.name)
    for flag in (False, True):
        # More than are kept of an agent: the first ones, asked before it has a context, are pushed out.
        for _ in range(20):
            debate.searches(pairs=[other], shared_work=flag)
        status, answer = debate.writes(debate.pairs[0], debate.statement())
        told = debate.trust(auditor, item=answer["id"])["item"]
        assert status == 201 and told["status"] == ("provisional" if flag else "scored"), (flag, told)
        assert (told["align"] < 0.99) == flag, (flag, told)


def test_one_user_is_never_kept_waiting(server):
    """CAL-43: 1,000 writes of one user, with all searches flagged, and none is staged."""
    ana = new_caller(server)
    admin(server).ask("PUT", "/v1/policies/share-all", {"kind": "write_shared", "share": "on"})
    ana.ask("POST", "/v1/search", {"query": "anything at all", "shared_work": True})
    lines = "".join(json.dumps({"text": novel()}) + "\n" for _ in range(1000))
    headers = {"Content-Type": "application/x-ndjson"}
    status, answer, _ = ana.call("POST", "/v1/items:batch", raw=lines, headers=headers, timeout=240)
    outcomes = [json.loads(line)["status"] for line in answer.splitlines()]
    assert (status, outcomes) == (200, ["committed"] * 1000), outcomes[:3]
    assert ana.ask("GET", "/v1/trust")["staged"] == []


@pytest.mark.parametrize("mode", ["off", "advise"])
def test_the_operator_may_keep_nothing_apart(bin, tmp_path, mode):
    """CAL-30: `advise` scores and keeps nothing back, `off` does not even score."""
    with Server(bin, tmp_path / "data", env={"TABELLION_CALIBRATION__MODE": mode}) as server:
        debate = Debate(server)
        declared = debate.round()
        debate.searches(declared["id"])
        status, answer = debate.writes(debate.pairs[0], MAGNET, declared["id"])
        assert status == 201, answer
        told = debate.trust(debate.pairs[0], item=answer["id"])["item"]["status"]
        assert (told == "unscored") == (mode == "off"), told


def test_a_mode_that_is_none_is_explained(bin, tmp_path):
    server = Server(bin, tmp_path / "data", env={"TABELLION_CALIBRATION__MODE": "perhaps"})
    with pytest.raises(Exception, match="calibration.mode|perhaps"):
        server.start()


BAD_ROUNDS = [
    ({"goal": "  "}, "/goal", "CONSTRAINT_VIOLATION"),
    ({"goal": None}, "/goal", "MISSING_REQUIRED_FIELD"),
    ({"texts": ["a"] * 17}, "/texts", "CONSTRAINT_VIOLATION"),
    ({"texts": [""]}, "/texts", "CONSTRAINT_VIOLATION"),
    ({"agents": ["a"] * 65}, "/agents", "CONSTRAINT_VIOLATION"),
    ({"items": ["itm_x"] * 65}, "/items", "CONSTRAINT_VIOLATION"),
    ({"agents": []}, "/agents", "MISSING_REQUIRED_FIELD"),
    ({"colour": "red"}, "/colour", "UNKNOWN_FIELD"),
]


@pytest.mark.parametrize(("change", "path", "code"), BAD_ROUNDS)
def test_a_round_that_cannot_be_is_refused(debate, change, path, code):
    """CAL-40: every bound of a round, told by path."""
    body = {name: value for name, value in {"goal": "x", "agents": debate.agents, **change}.items() if value is not None}
    refusal = debate.people[0].refused("POST", "/v1/rounds", body, status=422, code="SCHEMA_INVALID")
    assert (refusal["errors"][0]["path"], refusal["errors"][0]["code"]) == (path, code), refusal


def test_hidden_is_missing_in_a_round_too(debate):
    """SHARE-41, CAL-40: an agent that one may not invoke and an item that one may not see are as if they never were."""
    stranger = f"stranger-{next(NUMBERS)}"
    debate.chief.ask("POST", "/v1/agents", {"name": stranger}, expect=201)
    hidden = new_caller(debate.server).write(novel())["id"]

    def refusal(caller, name, value):
        body = {"goal": "x", "agents": debate.agents, name: [value]}
        answer = caller.refused("POST", "/v1/rounds", body, status=422, code="SCHEMA_INVALID")
        [fault] = answer["errors"]
        assert (fault["path"], fault["code"]) == (f"/{name}/0", "NOT_FOUND"), answer
        return answer["message"], fault["expected"]

    ana = debate.people[0]
    assert refusal(ana, "agents", stranger) == refusal(ana, "agents", "nobody")
    assert refusal(ana, "items", hidden) == refusal(ana, "items", random_id()) == refusal(ana, "items", "nonsense")
    for id in (hidden, random_id(), "nonsense"):
        ana.refused("GET", f"/v1/trust?item={id}", status=404, code="NOT_FOUND")
    ana.refused("GET", "/v1/trust?colour=red", status=422, code="SCHEMA_INVALID")
    ana.refused("POST", "/v1/trust:recalibrate", status=403, code="FORBIDDEN")
    assert debate.chief.ask("POST", "/v1/trust:recalibrate")["moved"] >= 0


def test_who_takes_no_part_is_in_no_round(shared_server):
    """CAL-40: the id of a round says nothing to who was not named; what they write with it is theirs alone."""
    debate = Debate(shared_server, known=0)
    declared = debate.round(agents=debate.agents[:2])
    status, answer = debate.writes(debate.pairs[2], debate.statement(), declared["id"])
    assert status == 201 and len(debate.pairs[2].get(answer["id"])["agents"]) == 1, answer


def bare(answer):
    """An answer without what differs from call to call, and without what is not set."""
    if isinstance(answer, dict):
        own = ("token", "request_id", "expires_at", "search")
        kept = {name: bare(member) for name, member in answer.items() if name not in own}
        return {name: member for name, member in kept.items() if member not in (None, [], {}, "")}
    if isinstance(answer, list):
        return [bare(member) for member in answer]
    if isinstance(answer, str) and answer.isdigit():
        return int(answer)  # gRPC's JSON has numbers of 64 bits as text
    return round(answer, 9) if isinstance(answer, float) else answer


def test_the_transports_agree(debate):
    """SHARE-28, CAL-41: rounds, trust and what is kept apart, in the same words over REST, gRPC and MCP."""
    declared = debate.round()
    debate.searches(declared["id"])
    status, written = debate.writes(debate.pairs[0], debate.statement(), declared["id"])
    assert status == 201, written
    staged = debate.kept_apart(declared["id"])
    body = {"text": MAGNET, "tier": "shared", "namespace": debate.space, "trace_id": declared["id"]}
    draft = {"goal": "agree", "agents": debate.agents, "namespace": debate.space}
    auditor = new_caller(debate.server, role="auditor")
    debate.lets_in(auditor.name)
    for key in (debate.pairs[0].key, auditor.key):
        caller = Caller(debate.server, key)
        with GrpcCaller(debate.server, key) as grpc, McpCaller(over_http(debate.server, key)) as mcp:
            whole, one = {"namespace": debate.space}, {"item": written["id"]}
            for query in (whole, one, whole | one):
                rest = caller.ask("GET", "/v1/trust?" + "&".join(f"{name}={value}" for name, value in query.items()))
                assert bare(rest) == bare(grpc.call("GetTrust", query)) == bare(mcp.ask("trust", query))
            rest = caller.ask("POST", "/v1/rounds", draft, expect=201)
            others = grpc.call("DeclareRound", draft), mcp.ask("declare_round", draft)
            assert rest["id"] not in {other.pop("id") for other in others}
            assert [bare({**other, "id": rest["id"]}) for other in others] == [bare(rest)] * 2
            search = {"query": debate.statement(), "namespace": debate.space, "shared_work": False}
            found = [one.get("rho") for one in caller.search(**search)]
            assert [one["item"].get("rho") for one in grpc.call("Search", search)["results"]] == found
            assert [one.get("rho") for one in mcp.ask("search_items", search)["results"]] == found
            assert all(rho is None for rho in found) == (key != auditor.key)
    key = debate.pairs[0].key
    with GrpcCaller(debate.server, key) as grpc, McpCaller(over_http(debate.server, key)) as mcp:
        assert bare(grpc.call("Write", body)) == bare(mcp.ask("write_item", body)) == bare(staged)
        review = debate.pairs[0].ask("GET", f"/v1/reviews/{staged['pending_id']}")
        assert grpc.call("GetReview", {"id": review["id"]})["trust"] == review["trust"]
        assert mcp.ask("get_write", {"id": review["id"]})["trust"] == review["trust"]
        assert mcp.refused("declare_round", {"goal": "x", "texts": ["a"] * 17})["code"] == "SCHEMA_INVALID"
    with GrpcCaller(debate.server, debate.server.key) as grpc:
        assert "moved" in grpc.call("Recalibrate")


def test_the_command_line(debate, bin):
    """CAL-40, CAL-41: a person declares a round, agents work in it, and everybody sees what they may."""
    person, agent = Cli(bin, debate.server.url, debate.people[0].key), Cli(bin, debate.server.url, debate.pairs[0].key)
    chosen = [word for name in debate.agents for word in ("--agent", name)]
    where = ("--namespace", debate.space)
    declared = person.json("round", "--goal", f"choose: {MAGNET}", *chosen, "--text", MAGNET, *where)
    assert "--trace-id rnd_" in person.out("round", "--goal", "choose", *chosen, *where)
    assert "/agents/0" in person.run("round", "--goal", "x", "--agent", "nobody", code=1).stderr
    for pair in debate.pairs:
        other = Cli(bin, debate.server.url, pair.key)
        other.run("search", debate.statement(), *where, "--trace-id", declared["id"])
        other.run("search", debate.statement(), *where, "--shared-work")
    into = ("--tier", "shared", *where, "--trace-id", declared["id"])
    shown = agent.out("write", MAGNET, *into)
    assert STAGED in shown and "will be" in shown and "itm_" in shown
    staged = agent.json("write", MAGNET, *into)
    assert "kept apart" in person.out("review", "list")
    page = person.out("review", "show", staged["pending_id"])
    assert STAGED in page and "kept apart until others bear it out" in page and "trust" in page
    assert staged["id"][:12] in agent.out("trust", *where) and "credibility" not in agent.out("trust", *where)
    one = agent.out("trust", staged["id"])
    assert "staged" in one and "because" in one and not names(one, "rho")
    chief = Cli(bin, debate.server.url, debate.server.key)
    assert "credibility" in chief.out("trust", *where) and "cold" in chief.out("trust", *where)
    assert "moved" in chief.out("trust", "--recalibrate") and chief.json("trust", "--recalibrate")["moved"] >= 0
    assert "FORBIDDEN" in agent.run("trust", "--recalibrate", code=1).stderr


def test_the_page_says_that_it_is_kept_apart(debate):
    """CAL-31, CAL-41: in the list and on its own page, with its band and without a number of its trust."""
    declared = debate.round()
    debate.searches(declared["id"])
    review = debate.kept_apart(declared["id"])["pending_id"]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    signed = debate.server.call("POST", "/console/login", key="", raw=f"key={debate.people[0].key}", headers=form)
    cookie = {"Cookie": signed[2]["set-cookie"].split(";")[0]}

    def page(path):
        status, html, _ = debate.server.call("GET", f"/console/reviews{path}", key="", headers=cookie)
        assert status == 200, html
        return html

    assert "kept apart, trust " in page("")
    one = page(f"/{review}")
    assert STAGED in one and "kept apart until others bear it out or you let it in" in one
    assert "<dt>trust</dt>" in one and not any(names(one, word) for word in ("rho", "threshold", "detect"))


def test_what_is_counted(own):
    """What calibration did is in the metrics."""

    def metric(name):
        lines = own.server.call("GET", "/metrics", key="")[1].splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    counted = "tabellion_memory_calibrations_total"
    assert metric("tabellion_memory_staged") == 0 and metric(f'{counted}{{outcome="committed"}}') == 0
    assert metric(f'{counted}{{outcome="advisory"}}') >= 60, "what others see is scored without a round too"
    declared = own.round()
    own.searches(declared["id"])
    review = own.kept_apart(declared["id"])["pending_id"]
    assert own.writes(own.pairs[1], own.statement(), declared["id"])[0] == 201
    assert metric('tabellion_memory_calibrations_total{outcome="staged"}') == 1
    assert metric('tabellion_memory_calibrations_total{outcome="committed"}') == 1
    assert metric("tabellion_memory_staged") == 1 and metric("tabellion_memory_calibration_seconds_count") >= 2
    own.people[0].ask("POST", f"/v1/reviews/{review}:decide", {"decision": "reject", "reason": "no"})
    assert metric("tabellion_memory_staged") == 0
