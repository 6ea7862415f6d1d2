"""Policies that people set for their own scope (SHARE-14)."""

import pytest

from callers import new_caller
from grpc_caller import GrpcCaller
from test_access import MISSING
from test_cli import Cli
from test_sharing import OFF, Team, unique

FORBIDDEN = {"status": 403, "code": "FORBIDDEN"}
REDACT = [{"step": "redact"}]


@pytest.fixture
def team(server):
    return Team(server)


def own(caller, **fields):
    """A policy for this user's own scope that redacts what the user reads, unless it says otherwise."""
    return {"kind": "read", "scope": {"user": caller.name}, "steps": REDACT, **fields}


def test_a_member_tightens_what_they_read_and_share(team):
    """SHARE-14, SHARE-15: a policy in one's own scope counts for oneself at once and for nobody else; taken away, all is as before."""
    ana, ben = team.people
    text = "Write to jo.doe@example.org"
    mine, theirs = ana.write(unique(text), tier="private")["id"], ben.write(unique(text), tier="private")["id"]
    assert ana.ask("PUT", "/v1/policies/shy", own(ana))["token"]
    assert "[REDACTED:email]" in ana.get(mine)["text"] and "jo.doe" in ben.get(theirs)["text"]
    ana.ask("PUT", "/v1/policies/keep", own(ana, kind="write_shared", share="off", steps=None))
    ana.refused("POST", "/v1/items", {"text": unique("For all"), "tier": "shared"}, **OFF)
    assert team.two.write(unique("For all"), tier="shared")["id"]
    team.server.kill()
    team.server.start()
    assert "[REDACTED:email]" in ana.get(mine)["text"]
    ana.ask("DELETE", "/v1/policies/shy")
    ana.ask("DELETE", "/v1/policies/keep")
    assert "jo.doe" in ana.get(mine)["text"]
    assert ana.write(unique("For all"), tier="shared")["id"]
    ana.refused("DELETE", "/v1/policies/shy", **MISSING)


@pytest.mark.parametrize(
    "change, path",
    [
        ({"scope": {}}, "/scope/user"), ({"scope": {"user": "admin"}}, "/scope/user"), ({"scope": {"user": "nobody"}}, "/scope/user"),
        ({"kind": "write_shared", "share": "on"}, "/share"), ({"kind": "write_shared", "private_parents": "allow"}, "/private_parents"),
        ({"overridable": ["count"]}, "/overridable"), ({"priority": 9}, "/priority"),
        ({"kind": "approval", "approvals": 1}, "/kind"), ({"kind": "write_path", "strictness": "open"}, "/kind"),
        ({"kind": "cedar", "text": "permit(principal, action, resource);"}, "/kind"),
        ({"kind": "bounds", "agent": "direct"}, "/kind"), ({"kind": "official_sources", "prefixes": ["https://x"]}, "/kind"),
    ],
)  # fmt: skip
def test_a_member_reaches_nobody_else_and_loosens_nothing(shared_server, change, path):
    """SHARE-14: what would concern others, or let more pass, is refused with its place; nothing is set."""
    ana = new_caller(shared_server)
    body = own(ana, **change)
    if body["kind"] not in ("read", "write_private", "write_shared"):
        body = change
    refused = ana.refused("PUT", "/v1/policies/mine", body, **FORBIDDEN)
    assert path in [fault["path"] for fault in refused["errors"]], refused
    assert ana.ask("GET", "/v1/policies")["policies"] == []


def test_names_of_policies_tell_nothing(team):
    """SHARE-14, SHARE-41: two users and an admin may each have a policy of one name; nobody's replaces, shows or removes another's."""
    ana, ben = team.people
    ana.ask("PUT", "/v1/policies/share-all", own(ana))
    ben.ask("PUT", "/v1/policies/share-all", own(ben, steps=[{"step": "anonymise"}]))
    [hers] = ana.ask("GET", "/v1/policies")["policies"]
    assert (hers["id"], hers["kind"], hers["scope"]) == ("share-all", "read", {"user": ana.user})
    everything = {row["id"]: row["kind"] for row in team.chief.ask("GET", "/v1/policies")["policies"]}
    assert everything["share-all"] == "write_shared" and everything[f"{ana.user}.share-all"] == "read"
    ana.ask("DELETE", "/v1/policies/share-all")
    ana.refused("DELETE", f"/v1/policies/{ben.user}.share-all", **MISSING)
    ana.refused("DELETE", "/v1/policies/share-all", **MISSING)
    assert len(ben.ask("GET", "/v1/policies")["policies"]) == 1
    team.chief.ask("DELETE", f"/v1/policies/{ben.user}.share-all")
    assert ben.ask("GET", "/v1/policies")["policies"] == []


def test_agents_and_crowds_of_policies_are_refused(team, bin):
    """SHARE-14: only people set policies of their own, of their own agents, and a bounded number; gRPC and the command line agree."""
    ana = team.people[0]
    for method, path, body in ("PUT", "/v1/policies/x", own(ana)), ("DELETE", "/v1/policies/x", None), ("GET", "/v1/policies", None):
        team.one.refused(method, path, body, **FORBIDDEN)
    agents = {row["id"]: row["name"] for row in team.chief.ask("GET", "/v1/agents")["agents"]}
    hers = agents[team.agent_id]
    scope = {"user": ana.name, "agent": hers}
    assert ana.ask("PUT", "/v1/policies/by-agent", own(ana, scope=scope))["token"]
    stranger = team.agent()
    answers = [
        ana.refused("PUT", "/v1/policies/x", own(ana, scope={**scope, "agent": name}), **FORBIDDEN) for name in (stranger, "nobody")
    ]
    assert answers[0]["errors"] == answers[1]["errors"] and answers[0]["message"] == answers[1]["message"]
    for number in range(19):
        ana.ask("PUT", f"/v1/policies/p{number}", own(ana))
    ana.refused("PUT", "/v1/policies/p19", own(ana), status=413, code="TOO_LARGE")
    ana.ask("PUT", "/v1/policies/p18", own(ana))
    with GrpcCaller(team.server, ana.key) as grpc:
        assert len(grpc.call("ListPolicies")["policies"]) == 20
        assert grpc.call("RemovePolicy", {"id": "p18"})["token"]
    assert "p17" in Cli(bin, team.server.url, ana.key).out("policy", "list")
