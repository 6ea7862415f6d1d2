"""What a revert, a retraction or a quarantine leaves, and how it is told: private writes of others, long lists, conclusions that rest on
what was taken back, items in quarantine (AM-8, GOV-11.4, GOV-11.10)."""

import pytest

from grpc_caller import GrpcCaller
from test_cli import Cli
from test_moderation import shared
from test_moderation_acts import name_of, quarantine, since
from test_sharing import Team, unique

WHY = "it was hacked"


@pytest.fixture
def team(server):
    return Team(server)


@pytest.fixture
def cli(bin, team):
    return Cli(bin, team.server.url, team.server.key)


def flags(caller):
    return {flag["id"]: flag["finding"] for flag in caller.ask("GET", "/v1/items:flagged")["flagged"]}


def test_revert_counts_the_private_writes_that_it_leaves(team, cli):
    """AM-8: a moderator is told how many private writes of which users are left and how each of them takes them back; who takes them
    back is told of no others."""
    name, (first, second) = name_of(team), team.people
    for caller, count in (team.one, 3), (team.two, 1):
        for _ in range(count):
            caller.write(unique("Between me and me"), tier="private")
    left = sorted([({"id": first.user, "name": first.name}, 3), ({"id": second.user, "name": second.name}, 1)], key=lambda one: one[0]["id"])
    body = {"since": since(), "reason": WHY}
    for more in {"dry_run": True}, {}:
        done = team.chief.ask("POST", f"/v1/agents/{name}:revert", {**body, **more})
        assert sorted(((one["user"], one["count"]) for one in done["private"]), key=lambda one: one[0]["id"]) == left, done
    with GrpcCaller(team.server, team.server.key) as grpc:
        message = grpc.call("RevertAgent", {"id": name, **body})
        assert sorted(int(one["count"]) for one in message["private"]) == [1, 3]
    told = cli.out("revert", name, "--since", since(), "--reason", WHY)
    assert "nothing that still holds" not in told
    assert f"3 private writes for {first.name} are left" in told and f"tabellion revert {name} --since" in told
    assert "key of their own" in cli.out("revert", "--help")
    own = first.ask("POST", f"/v1/agents/{name}:revert", body)
    assert own["retracted"] == 3 and "private" not in own, own
    assert "private" not in team.chief.ask("POST", f"/v1/agents/{name}:revert", {**body, "user": first.name})


def test_revert_lists_the_oldest_and_says_that_it_cut(team, cli):
    """AM-8: the table of a revert begins with the oldest, has text and user in the real run, too, and says how many there are."""
    name, made, texts = name_of(team), [], []
    while len(made) < 503:
        line = {"text": unique(f"Line {len(made)} of the log"), "tier": "shared", "resources": [team.resource_id]}
        status, answer, _ = team.one.call("POST", "/v1/items", line)
        # Of so many like texts one may lie so near to all others that it is kept apart.
        if status == 201:
            made.append(answer["id"])
            texts.append(line["text"])
    planned = team.chief.ask("POST", f"/v1/agents/{name}:revert", {"since": since(), "reason": WHY, "dry_run": True})
    assert planned["written"] == made and [item["text"] for item in planned["items"]] == texts[:500]
    told = cli.out("revert", name, "--since", since(), "--reason", WHY, "--dry-run")
    assert "503 items; the oldest 500 are listed" in told
    told = cli.out("revert", name, "--since", since(), "--reason", WHY)
    assert texts[0] in told and team.people[0].name in told and "503 retracted" in told, told


def test_what_rests_on_a_retracted_item_is_flagged_at_once(team, cli):
    """GOV-11.4, AM-8: conclusions are flagged right after what they derive from is retracted or reverted, and the revert counts them."""
    base = team.one.write(unique("The pump leaks"), tier="private")
    derived = team.one.write(unique("The cellar floods"), tier="private", derived_from=[base["version"]])["id"]
    further = team.one.get(derived)["version"]
    deeper = team.one.write(unique("The stairs rot"), tier="private", derived_from=[further])["id"]
    team.one.ask("DELETE", f"/v1/items/{base['id']}?reason=false")
    assert flags(team.one) == {derived: "source_withdrawn", deeper: "source_withdrawn"}
    begin, name = since(), name_of(team)
    lie = shared(team, team.one, unique("The dam breaks"))
    mine = team.two.write(unique("We move out"), tier="private", derived_from=[team.two.get(lie)["version"]])["id"]
    done = team.chief.ask("POST", f"/v1/agents/{name}:revert", {"since": begin, "reason": WHY})
    assert flags(team.two) == {mine: "source_withdrawn"} and "flagged" in done, done


def test_item_in_quarantine_is_told_to_its_author(team):
    """GOV-11.10: its history says quarantined, the same write again says so, and so does the refusal of a retraction; to nobody else."""
    text = unique("The lake is frozen")
    made = team.one.write(text, tier="shared", resources=[team.resource_id])
    quarantine(team.chief, made["id"])
    [version] = team.one.ask("GET", f"/v1/items/{made['id']}/versions")["versions"]
    assert version["status"] == "quarantined"
    status, again, _ = team.one.call("POST", "/v1/items", {"text": text, "tier": "shared", "resources": [team.resource_id]})
    assert (status, again["status"]) == (200, "quarantined"), again
    missing = {"status": 404, "code": "NOT_FOUND"}
    assert "quarantine" in team.one.refused("DELETE", f"/v1/items/{made['id']}?reason=x", **missing)["message"]
    assert "quarantine" not in team.two.refused("DELETE", f"/v1/items/{made['id']}?reason=x", **missing)["message"]
    team.chief.ask("POST", f"/v1/items/{made['id']}:release", {"reason": "checked"})
    [version] = team.one.ask("GET", f"/v1/items/{made['id']}/versions")["versions"]
    assert version["status"] == "active"
    assert team.one.call("POST", "/v1/items", {"text": text, "tier": "shared", "resources": [team.resource_id]})[1]["status"] == "already_committed"
