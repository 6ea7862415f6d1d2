"""Calibration by default: what is written for others is scored without a round, weighs, and only a magnet is kept apart."""

import json
import time

import pytest

from callers import new_caller
from embedder import Model
from grpc_caller import GrpcCaller
from mcp_caller import McpCaller, over_http
from server import Server
from test_cli import Cli
from test_relations import relation
from test_trust import COMMON, MAGNET, STAGED, Debate, novel, numbers

DIMENSIONS = 32


def known(server, writes=120):
    """Three users with an agent each, who wrote shared statements in turn, without a round and without a search."""
    debate = Debate(server, known=0)
    debate.answers = []
    for turn in range(writes):
        status, answer = debate.writes(debate.pairs[turn % 3], debate.statement())
        assert (status, answer["status"]) == (201, "committed"), answer
        debate.answers.append(answer)
    debate.auditor = new_caller(server, role="auditor")
    debate.lets_in(debate.auditor.name)
    return debate


@pytest.fixture(scope="module")
def team(shared_server):
    return known(shared_server)


def told(debate, caller, answer):
    return debate.trust(caller, item=answer["id"])["item"]


def until(found, seconds=20):
    """What comes true after a while."""
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.1)
    return found()


def test_shared_writes_are_scored_without_a_round(team):
    """AM-11, CAL-44: every durable write to the shared tier is scored, and honest ones are committed at once."""
    first, last = team.answers[0], team.answers[-1]
    assert told(team, team.pairs[0], first)["status"] == "provisional", "nothing was known to compare it with"
    one = told(team, team.pairs[0], last)
    assert (one["status"], one["trust"]) == ("scored", "medium") and not numbers(one)
    one = told(team, team.auditor, last)
    assert 0 < one["detect"] < 1 and one["align"] == pytest.approx(1, abs=1e-3), one
    assert 0.3 < one["rho"] <= 0.5 and one["count"] > 0, one


def test_private_writes_are_not_scored(team):
    """AM-11: what nobody else sees costs nothing and is not scored."""
    status, answer = team.writes(team.pairs[0], team.statement(), tier="private")
    assert status == 201 and told(team, team.pairs[0], answer)["status"] == "unscored"


def test_what_crowds_others_counts_for_less(team):
    """AM-11, CAL-35: a score weighs in every search, also of what nobody audited."""
    crowding = " ".join([*COMMON[:6], novel(3)])
    status, answer = team.writes(team.pairs[0], crowding)
    assert status == 201, answer
    one = told(team, team.auditor, answer)
    usual = sorted(told(team, team.auditor, answer)["rho"] for answer in team.answers[-15:])[7]
    assert one["rho"] < usual - 0.01 and usual <= 0.5, (one, usual)


@pytest.mark.parametrize("way", ["single", "batch"])
def test_a_magnet_is_kept_apart_without_a_round(team, way):
    """AM-11, CAL-31: a text that lies nearest to everything waits, however it comes in; a person's yes lets it in."""
    pair, text = team.pairs[1], MAGNET if way == "single" else f"{MAGNET} {MAGNET} altogether"
    if way == "single":
        status, answer = team.writes(pair, text)
        assert status == 202, answer
    else:
        line = json.dumps({"text": text, "tier": "shared", "namespace": team.space}) + "\n"
        _, body, _ = pair.call("POST", "/v1/items:batch", raw=line, headers={"Content-Type": "application/x-ndjson"})
        answer = json.loads(body)
    assert (answer["status"], answer["code"], answer["gate"]) == ("deferred", STAGED, "calibration"), answer
    assert text not in [one["text"] for one in team.pairs[2].search(text, namespace=team.space, k=50)]
    assert told(team, pair, answer)["status"] == "staged"
    decided = {"decision": "approve", "reason": "it is a list of topics"}
    review = f"/v1/reviews/{answer['pending_id']}"
    assert team.people[1].ask("POST", f"{review}:decide", decided)["status"] == "committed"
    assert team.pairs[2].get(answer["id"])["text"] == text


@pytest.mark.parametrize("mode", ["off", "advise"])
def test_the_operator_may_keep_nothing_apart(bin, tmp_path, mode):
    """AM-11: `advise` scores and keeps no magnet apart, `off` does not even score."""
    with Server(bin, tmp_path / "data", env={"TABELLION_CALIBRATION__MODE": mode}) as server:
        debate = known(server)
        status, answer = debate.writes(debate.pairs[0], MAGNET)
        assert status == 201, answer
        assert told(debate, debate.pairs[0], answer)["status"] == {"off": "unscored", "advise": "scored"}[mode]


def test_a_missing_model_delays_no_write(bin, tmp_path):
    """AM-11: without a vector a shared write commits soon, and is held against what is known once there is one; a private write
    asks no model at all."""
    with Model(dimensions=DIMENSIONS) as model, Server(bin, tmp_path / "data", env=model.env()) as server:
        debate = known(server)
        until(lambda: told(debate, debate.auditor, debate.answers[0])["count"] > 0)
        assert told(debate, debate.auditor, debate.answers[0])["count"] > 0, "what came first is made up for"
        model.delay = 30.0
        begun = time.monotonic()
        late = [debate.writes(debate.pairs[turn % 3], debate.statement())[1] for turn in range(12)]
        assert [one["status"] for one in late] == ["committed"] * 12 and time.monotonic() - begun < 6
        assert {told(debate, debate.auditor, one)["count"] for one in late} == {0}
        model.delay = 0.0
        weighed = lambda: all(told(debate, debate.auditor, one)["count"] > 0 for one in late)  # noqa: E731
        assert until(weighed, seconds=60), [told(debate, debate.auditor, one) for one in late]


def test_relations_are_scored_without_a_round(team):
    """AM-11, CAL-19: a relation that others see is scored as well, by how it fits the graph."""
    pair, more = team.pairs[0], {"tier": "shared", "namespace": team.space}
    for number in range(40):
        written = relation(f"service-{number % 8}", "runs_on", f"host-{number}", **more)
        [answer] = pair.ask("POST", "/v1/relations", {"relations": [written]})["results"]
        assert answer["status"] == "committed", answer
    last = relation("service-1", "runs_on", "host-new", **more)
    [answer] = pair.ask("POST", "/v1/relations", {"relations": [last]})["results"]
    one = told(team, team.auditor, answer)
    assert one["status"] == "scored" and 0 < one["detect"] < 1, one


def seen_by(caller, id):
    return caller.call("GET", f"/v1/items/{id}")[0] == 200


@pytest.mark.parametrize("visibility", ["all", "own", None])
def test_who_declares_a_round_chooses_who_sees_its_items(shared_server, visibility):
    """AM-11, CAL-40: `all` carries every agent of the round, `own` the writer's alone; either way it is audited."""
    debate = Debate(shared_server)
    near = new_caller(shared_server)
    debate.chief.ask("PUT", f"/v1/edges/ua/{near.name}/{debate.agents[0]}", {})
    more = {"visibility": visibility} if visibility else {}
    declared = debate.round(**more)
    assert declared["visibility"] == (visibility or "all")
    debate.searches(declared["id"])
    status, answer = debate.writes(debate.pairs[0], debate.statement(), declared["id"])
    assert status == 201, answer
    auditor = new_caller(shared_server, role="auditor")
    debate.lets_in(auditor.name)
    assert told(debate, auditor, answer)["align"] < 0.99, "others were asked"
    assert seen_by(debate.pairs[1], answer["id"]) and seen_by(near, answer["id"]) == (visibility == "own")
    assert len(debate.pairs[0].get(answer["id"])["agents"]) == (1 if visibility == "own" else 3)
    rows = debate.chief.ask("GET", "/v1/audit?action=declare_round&limit=1")
    assert (visibility == "own") == ("own" in json.dumps(rows)), rows


def test_a_visibility_that_is_none_is_refused(team, bin):
    """AM-11: over REST, gRPC, MCP and the command line."""
    person, draft = team.people[0], {"goal": "compare", "agents": team.agents, "namespace": team.space}
    refusal = person.refused("POST", "/v1/rounds", {**draft, "visibility": "mine"}, status=422, code="SCHEMA_INVALID")
    assert refusal["errors"][0]["path"] == "/visibility"
    with GrpcCaller(team.server, person.key) as grpc, McpCaller(over_http(team.server, person.key)) as mcp:
        for ask in (lambda draft: grpc.call("DeclareRound", draft), lambda draft: mcp.ask("declare_round", draft)):
            assert ask({**draft, "visibility": "own"})["visibility"] == "own" and ask(draft)["visibility"] == "all"
        assert mcp.refused("declare_round", {**draft, "visibility": "mine"})["code"] == "SCHEMA_INVALID"
    cli = Cli(bin, team.server.url, person.key)
    chosen = [word for name in team.agents for word in ("--agent", name)]
    where = ("--namespace", team.space, "--visibility", "own")
    assert cli.json("round", "--goal", "compare", *chosen, *where)["visibility"] == "own"
    assert "the writer's agent" in cli.out("round", "--goal", "compare", *chosen, *where)

