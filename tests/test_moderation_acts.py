"""Moderation: who lifts a quarantine, what is in quarantine, who contributed what, and taking back what a pair wrote (AM-8, AM-22)."""

from datetime import UTC, datetime, timedelta

import pytest

from callers import Caller, new_caller, random_id, rfc3339
from governed import eventually, novel
from grpc_caller import GrpcCaller
from test_access import MISSING
from test_cli import Cli
from test_moderation import INVALID, WHY, console, rows, shared
from test_sharing import Team, unique

NOT_OURS = {"status": 403, "code": "FORBIDDEN"}
LACKING = {"status": 403, "code": "FORBIDDEN"}


@pytest.fixture
def team(server):
    return Team(server)


def since():
    """The period of a revert that holds all of a test."""
    return rfc3339(datetime.now(UTC) - timedelta(hours=1))


def quarantine(caller, item, **more):
    return caller.ask("POST", f"/v1/items/{item}:quarantine", {"reason": "doubtful"}, **more)


def name_of(team):
    return next(row["name"] for row in team.chief.ask("GET", "/v1/agents")["agents"] if row["id"] == team.agent_id)


def test_agent_never_lifts_a_moderators_quarantine(team):
    """AM-22: neither the agent that wrote the item, nor its user, releases what a moderator put under quarantine; the moderator and a
    reviewer of that user do."""
    text = unique("The lake is frozen")
    item = shared(team, team.one, text)
    quarantine(team.chief, item)
    release = {"reason": "it is fine"}
    team.one.refused("POST", f"/v1/items/{item}:release", release, **NOT_OURS)
    refused = team.people[0].refused("POST", f"/v1/items/{item}:release", release, **NOT_OURS)
    assert "tabellion release" in refused["message"]
    assert team.two.found(text) == []
    team.server.kill()
    team.server.start()
    team.one.refused("POST", f"/v1/items/{item}:release", release, **NOT_OURS)
    assert team.chief.ask("POST", f"/v1/items/{item}:release", release)["status"] == "released"
    assert team.two.found(text) == [item]
    quarantine(team.chief, item)
    team.policy("watch", {"kind": "reviewer", "reviewer": team.people[1].name, "user": team.people[0].name})
    assert team.people[1].ask("POST", f"/v1/items/{item}:release", release)["status"] == "released"


def test_who_imposed_a_quarantine_lifts_it(team):
    """AM-22: an agent releases its own, and its user as a person does; a moderator takes a quarantine over, and then they do not."""
    item = shared(team, team.one, unique("The mill stands still"))
    quarantine(team.one, item)
    assert team.one.ask("POST", f"/v1/items/{item}:release", {})["status"] == "released"
    quarantine(team.one, item)
    assert team.people[0].ask("POST", f"/v1/items/{item}:release", {})["status"] == "released"
    quarantine(team.people[0], item)
    team.one.refused("POST", f"/v1/items/{item}:release", {}, **NOT_OURS)
    quarantine(team.chief, item)
    team.people[0].refused("POST", f"/v1/items/{item}:release", {}, **NOT_OURS)
    team.chief.refused("POST", f"/v1/items/{item}:quarantine", {"reason": "again"}, status=409, code="NOT_THE_HEAD")
    assert team.chief.ask("POST", f"/v1/items/{item}:release", {"reason": "checked"})["status"] == "released"


def test_agent_without_the_right_quarantines_nothing_of_another(team):
    """AM-22: quarantine of another agent's version is a delete, which a plain agent may not do; its own it may. A suspended agent
    does neither, nor any other change."""
    other = team.agent()
    team.grant("ar", other, team.resource_id)
    colleague = team.pair(team.people[0], other)
    item = shared(team, team.one, unique("The quay is closed"))
    colleague.refused("POST", f"/v1/items/{item}:quarantine", {"reason": "mine is better"}, **LACKING)
    own = shared(team, colleague, unique("The quay is open"))
    quarantine(colleague, own)
    name = next(row["name"] for row in team.chief.ask("GET", "/v1/agents")["agents"] if row["id"] == other)
    team.chief.ask("POST", f"/v1/agents/{name}:suspend", {"reason": "odd"})
    stopped = {"status": 403, "code": "WRITES_SUSPENDED"}
    colleague.refused("POST", f"/v1/items/{own}:release", {"reason": "r"}, **stopped)
    for id in (own, item, random_id()):
        colleague.refused("POST", f"/v1/items/{id}:quarantine", {"reason": "r"}, **stopped)
        colleague.refused("DELETE", f"/v1/items/{id}?reason=r", **stopped)
        colleague.refused("POST", f"/v1/items/{id}:rollback", {}, **stopped)
    assert team.people[0].ask("POST", f"/v1/items/{own}:release", {})["status"] == "released"


def test_moderator_lists_and_reads_what_is_in_quarantine(team, bin):
    """AM-8: what is in quarantine is listed with who put it there, when and why; a get shows it; nobody else learns of it."""
    text = unique("The dam leaks")
    item, free = shared(team, team.one, text), shared(team, team.one, unique("The dam holds"))
    private = team.one.write(unique("Between me and me"), tier="private")["id"]
    quarantine(team.one, private)
    quarantine(team.chief, item)
    path = f"/v1/items?quarantined=true&moderate={WHY}"
    [found] = team.chief.ask("GET", path)["items"]
    admin = team.chief.ask("GET", "/v1/whoami")["user"]
    assert (found["id"], found["text"]) == (item, text)
    assert found["quarantine"]["by"] == admin and found["quarantine"]["reason"] == "doubtful" and found["quarantine"]["since"] > "2020"
    shown = team.chief.get(item, f"?moderate={WHY}")
    assert (shown["text"], shown["quarantine"]) == (text, found["quarantine"])
    assert team.chief.ask("GET", f"/v1/items/{item}/provenance?moderate={WHY}")["memory_item_id"] == item
    team.chief.refused("GET", f"/v1/items/{item}", **MISSING)
    for hidden in (private, random_id()):
        team.chief.refused("GET", f"/v1/items/{hidden}?moderate={WHY}", **MISSING)
    team.one.refused("GET", f"/v1/items/{item}", **MISSING)
    refused = team.chief.refused("GET", "/v1/items?quarantined=true", **INVALID)
    assert refused["errors"][0]["path"] == "/query/moderate"
    assert "quarantine" not in team.chief.get(free, f"?moderate={WHY}")
    with GrpcCaller(team.server, team.server.key) as grpc:
        [message] = grpc.call("List", {"moderate": "look", "quarantined": True})["items"]
        assert message["id"] == item and message["quarantine"]["by"]["name"] == "admin"
    cli = Cli(bin, team.server.url, team.server.key)
    table = cli.out("list", "--quarantined", "--moderate", "daily look")
    assert text in table and "admin" in table and "doubtful" in table and team.people[0].name in table
    assert "doubtful" in cli.out("get", item, "--moderate", "daily look")
    team.server.kill()
    team.server.start()
    assert team.chief.ask("GET", path)["items"][0]["quarantine"] == found["quarantine"]
    team.chief.ask("POST", f"/v1/items/{item}:release", {"reason": "mended"})
    assert team.chief.ask("GET", path)["items"] == []


def test_moderator_sees_who_contributed(team, bin):
    """AM-8: get, list and search of a moderator name user and agent; other reads do not."""
    text = unique("The tower leans")
    item, name = shared(team, team.one, text), name_of(team)
    listed = team.chief.ask("GET", f"/v1/items?moderate={WHY}")["items"]
    [found] = team.chief.search(text, moderate="look")
    for shown in (team.chief.get(item, f"?moderate={WHY}"), *listed, found):
        by = shown["contributed_by"]
        assert by["user"] == {"id": team.one.user, "name": team.people[0].name}
        assert by["agent"] == {"id": team.agent_id, "name": name}
    assert "contributed_by" not in team.two.get(item) and "contributed_by" not in team.two.search(text)[0]
    provenance = team.chief.ask("GET", f"/v1/items/{item}/provenance?moderate={WHY}")
    assert (provenance["source_user_id"], provenance["source_agent_id"]) == (team.one.user, team.agent_id)
    with GrpcCaller(team.server, team.server.key) as grpc:
        assert grpc.call("Get", {"id": item, "moderate": "look"})["contributed_by"]["user"]["name"] == team.people[0].name
    cli = Cli(bin, team.server.url, team.server.key)
    for shown in (cli.out("get", item, "--moderate", "look"), cli.out("list", "--moderate", "look")):
        assert team.people[0].name in shown and name in shown
    assert cli.json("provenance", item, "--moderate", "look")["memory_item_id"] == item


def test_trail_of_moderation_names_item_author_and_reason(team, bin):
    """AM-8: a row of an act names the item, who contributed it and the reason; refused acts name what they were about; completions of
    short ids are left out unless they are asked for."""
    item, name = shared(team, team.one, unique("The clock is slow")), name_of(team)
    quarantine(team.chief, item)
    team.chief.ask("POST", f"/v1/agents/{name}:suspend", {"reason": "its feed is odd"})
    team.one.refused("POST", f"/v1/items/{item}:release", {}, status=403, code="WRITES_SUSPENDED")
    team.chief.ask("POST", f"/v1/agents/{name}:resume", {"reason": "mended"})
    [row] = rows(team.chief, "quarantine")
    assert row["ids"] == [item] and row["reason"] == "doubtful"
    assert row["author"] == {"user": team.one.user, "agent": team.agent_id}
    [row] = rows(team.chief, "suspend_agent")
    assert (row["ids"], row["reason"]) == ([team.agent_id], "its feed is odd")
    [row] = rows(team.chief, "release")
    assert (row["ids"], row["outcome"]) == ([item], "WRITES_SUSPENDED")
    member = new_caller(team.server)
    member.refused("POST", f"/v1/agents/{name}:suspend", {"reason": "r"}, status=403, code="FORBIDDEN")
    refused = [row for row in rows(team.chief, "suspend_agent") if row["outcome"] == "FORBIDDEN"]
    assert [row["ids"] for row in refused] == [[team.agent_id]]
    cli = Cli(bin, team.server.url, team.server.key)
    cli.out("get", item[:14], "--moderate", "short", code=0)
    eventually(lambda: rows(team.chief, "complete_id"))
    assert "complete_id" not in {row["action"] for row in team.chief.ask("GET", "/v1/audit?limit=200")["rows"]}
    table = cli.out("audit", "--action", "quarantine")
    assert "reason" in table and "doubtful" in table and team.people[0].name in table


def test_revert_of_one_pair_leaves_the_others(team, bin):
    """AM-8: an agent is shared by many users; a revert with a user takes back what it wrote for that one. A dry run shows text and user
    of each item."""
    begin = since()
    lies = [shared(team, team.one, unique("A lie of one")) for _ in range(2)]
    truth_text = unique("A truth of two")
    truth = shared(team, team.two, truth_text)
    name, body = name_of(team), {"since": begin, "reason": "a stolen key", "user": team.people[0].name}
    path = f"/v1/agents/{name}:revert"
    plan = team.chief.ask("POST", path, {**body, "dry_run": True})
    assert sorted(plan["written"]) == sorted(lies)
    assert {one["id"] for one in plan["items"]} == set(lies)
    for one in plan["items"]:
        assert one["text"].startswith("A lie of one") and one["derived"] is False
        assert one["user"] == {"id": team.one.user, "name": team.people[0].name} and one["agent"]["name"] == name
    cli = Cli(bin, team.server.url, team.server.key)
    table = cli.out("revert", name, "--user", team.people[0].name, "--since", begin, "--reason", "look", "--dry-run")
    assert "A lie of one" in table and team.people[0].name in table and truth_text not in table
    with GrpcCaller(team.server, team.server.key) as grpc:
        message = grpc.call("RevertAgent", {"id": name, "since": begin, "reason": "r", "dry_run": True, "user": team.people[0].name})
        assert {one["id"] for one in message["items"]} == set(lies)
    done = team.chief.ask("POST", path, body)
    assert (done["retracted"], done["skipped"], len(done["items"])) == (2, [], 2)
    assert team.two.get(truth)["text"] == truth_text
    assert {row["reason"] for row in rows(team.chief, "revert_agent") if row["ids"] == [team.agent_id, team.one.user]} >= {"a stolen key"}
    team.chief.refused("POST", path, {**body, "user": "nobody"}, status=404, code="NOT_FOUND")


@pytest.fixture
def judged(alone):
    """A team under the policy `standard`, and the beginning of its time."""
    world = alone(policy="standard")
    team = Team(world.server)
    team.clock, team.begin = world.clock, world.clock.text
    return team


def test_reputation_is_the_pairs_own_and_its_hold_shows(judged, bin):
    """AM-6, AM-5: a revert of one pair's lies holds the writes of that pair and no other; the hold shows with its reason in agent lists,
    console and metrics, and `agent resume` ends it."""
    team, name = judged, name_of(judged)
    for _ in range(12):
        shared(team, team.one, novel())
    shared(team, team.two, novel())
    revert = {"since": team.begin, "reason": "hacked", "user": team.people[0].name}
    assert team.chief.ask("POST", f"/v1/agents/{name}:revert", revert)["retracted"] == 12
    status, held, _ = team.one.call("POST", "/v1/items", {"text": novel(), "tier": "private"})
    assert (status, held.get("code")) == (202, "APPROVAL_REQUIRED"), held
    assert team.two.write(novel())["status"] == "committed"

    def holds():
        return team.chief.ask("GET", f"/v1/agents/{name}").get("holds", [])

    [hold] = holds()
    assert hold["user"] == {"id": team.one.user, "name": team.people[0].name} and hold["action"] == "held"
    assert "12 of 12" in hold["reason"] and hold["since"] > "2020" and hold["until"] > hold["since"]
    assert team.people[0].name in console(team.server, team.server.key, "/console/agents")
    assert "reputation" in console(team.server, team.server.key, "/console/agents")
    _, metrics, _ = team.chief.call("GET", "/metrics")
    assert "tabellion_pairs_held 1" in metrics
    cli = Cli(bin, team.server.url, team.server.key)
    assert "reputation" in cli.out("agent", "list")
    team.people[0].refused("POST", f"/v1/agents/{name}:resume", {"reason": "me"}, status=403, code="FORBIDDEN")
    team.server.kill()
    team.server.start()
    team.clock.set(team.clock.now)
    assert holds() == [hold]
    team.clock.advance(minutes=1)
    cli.out("agent", "resume", name, "--user", team.people[0].name, "--reason", "a new key")
    assert holds() == []
    assert team.one.write(novel())["status"] == "committed"
    team.server.kill()
    team.server.start()
    team.clock.set(team.clock.now)
    assert holds() == [] and team.one.write(novel())["status"] == "committed"


def test_who_builds_on_a_lie_is_not_blamed(judged):
    """AM-6: an item that another pair derived from a lie is taken back with it, and that is not held against that pair."""
    team, name = judged, name_of(judged)
    for _ in range(11):
        lie = shared(team, team.one, novel())
        shared(team, team.two, novel(), derived_from=[team.two.get(lie)["version"]])
    revert = {"since": team.begin, "reason": "hacked", "user": team.people[0].name}
    done = team.chief.ask("POST", f"/v1/agents/{name}:revert", revert)
    assert done["retracted"] == 22, done
    [hold] = team.chief.ask("GET", f"/v1/agents/{name}")["holds"]
    assert hold["user"]["name"] == team.people[0].name


def test_revert_for_everybody_blames_nobody_unless_it_says_so(judged, bin):
    """AM-6: who takes back all that an agent wrote because of one user says nothing of what it wrote for the others: their writes are not
    found false. With `found_false` they are, and with a user those of that user unless the caller says otherwise."""
    team, name = judged, name_of(judged)
    agent = f"/v1/agents/{name}"

    def reverted(**more):
        for caller in (team.one, team.two):
            for _ in range(12):
                shared(team, caller, novel())
        done = team.chief.ask("POST", f"{agent}:revert", {"since": team.begin, "reason": "hacked", **more})
        held = sorted(hold["user"]["name"] for hold in team.chief.ask("GET", agent).get("holds", []))
        team.clock.advance(minutes=1)
        team.chief.ask("POST", f"{agent}:resume", {"reason": "looked at it"})
        team.clock.advance(minutes=1)
        return done["retracted"], held

    one, two = sorted(person.name for person in team.people)
    assert reverted() == (24, [])
    assert reverted(user=one, found_false=False) == (12, [])
    assert reverted(found_false=True) == (36, [one, two])
    for _ in range(12):
        shared(team, team.two, novel())
    cli = Cli(bin, team.server.url, team.server.key)
    assert "12 retracted" in cli.out("revert", name, "--since", team.begin, "--reason", "false", "--found-false")
    assert team.people[1].name in [hold["user"]["name"] for hold in team.chief.ask("GET", agent)["holds"]]


def test_revert_ends_what_waits(alone, bin):
    """AM-8: a revert ends the held and queued writes of the period as well: none becomes memory afterwards, each stays with its author as
    refused with the reason, and the answer counts them; what others keep to themselves waits on."""
    world = alone(policy="standard", writes_per_minute="[6000,3000,3,60,20]")
    team = Team(world.server)
    name, begin = name_of(team), world.clock.text
    one, two = team.one, team.two
    shared(team, one, novel())

    def waits(caller, text, **fields):
        status, answer, _ = caller.call("POST", "/v1/items", {"text": text, **fields})
        assert status == 202, answer
        return answer["pending_id"]

    held, private = (
        waits(caller, text := novel(), tier=tier, layer="semantic", evidence=[world.said(text)]) for caller, tier in ((one, "shared"), (two, "private"))
    )
    for caller in one, two:
        while caller.call("POST", "/v1/items", {"text": novel(), "tier": "private"})[0] == 201:
            pass
    lie, secret = novel(), novel()
    queued, kept = waits(one, lie, tier="shared"), waits(two, secret, tier="private")
    begun = waits(one, novel(), tier="auto")
    body, path = {"since": begin, "reason": "it was hacked"}, f"/v1/agents/{name}:revert"
    world.clock.advance(seconds=1)
    plan = team.chief.ask("POST", path, {**body, "dry_run": True})
    assert (plan["held"], plan["queued"]) == (1, 2), plan
    assert team.people[0].ask("GET", f"/v1/reviews/{held}")["state"] == "pending"
    with GrpcCaller(world.server, world.server.key) as grpc:
        message = grpc.call("RevertAgent", {"id": name, "since": begin, "reason": "r", "dry_run": True})
        assert (message["held"], message["queued"]) == ("1", "2")
    told = Cli(bin, world.server.url, world.server.key).out("revert", name, "--since", begin, "--reason", "it was hacked")
    assert "1 held and 2 queued writes were ended" in told, told
    review = team.people[0].ask("GET", f"/v1/reviews/{held}")
    assert (review["state"], review["reason"]) == ("rejected", "it was hacked")
    mine = {write["id"]: write for write in one.ask("GET", "/v1/writes")["writes"]}
    for id in queued, begun:
        write = one.ask("GET", f"/v1/writes/{id}")
        assert (write["state"], write["code"]) == ("refused", "APPROVAL_REJECTED") and "it was hacked" in write["message"], mine
    world.clock.advance(minutes=2)
    eventually(lambda: secret in [found["text"] for found in two.search(secret)])
    assert lie not in [found["text"] for caller in (one, two) for found in caller.search(lie)]
    assert two.ask("GET", f"/v1/writes/{kept}", expect=404)
    assert team.people[1].ask("GET", f"/v1/reviews/{private}")["state"] == "pending"
    done = team.chief.ask("POST", path, body)
    assert (done["held"], done["queued"]) == (0, 0)


def test_revert_is_on_the_trail_before_it_begins(team):
    """AM-8: the row of a revert is kept before anything is taken back, and another one says how it ended: a revert that left something is
    not `ok`."""
    begin, name = since(), name_of(team)
    shared(team, team.two, unique("Theirs"))
    path, body = f"/v1/agents/{name}:revert", {"since": begin, "reason": "odd"}
    done = team.people[0].ask("POST", path, body)
    assert len(done["skipped"]) == 1
    outcomes = [row["outcome"] for row in rows(team.chief, "revert_agent")]
    assert outcomes == ["incomplete", "begun"], outcomes
    team.chief.ask("POST", path, {**body, "dry_run": True})
    team.chief.ask("POST", path, body)
    assert [row["outcome"] for row in rows(team.chief, "revert_agent")] == ["ok", "begun", "planned", *outcomes]


def test_only_persons_with_the_power_see_contributors(team):
    """AM-8: an agent of an admin gets no moderator's view, and neither does a member."""
    item = shared(team, team.one, unique("Who may know"))
    admin_id = team.chief.ask("GET", "/v1/whoami")["user"]["id"]
    made = team.chief.ask("POST", "/v1/keys", {"user": admin_id, "agent": team.agent()}, expect=201)
    for caller in (Caller(team.server, made["key"]), new_caller(team.server)):
        caller.refused("GET", f"/v1/items?quarantined=true&moderate={WHY}", **NOT_OURS)
        caller.refused("GET", f"/v1/items/{item}?moderate={WHY}", **NOT_OURS)


def test_refusals_say_the_next_step(team, bin):
    """A rollback of what was retracted, an agent at rest and an edge of a role are answered in words that lead on; what is hidden stays
    missing."""
    item = shared(team, team.one, unique("The lock is stuck"))
    team.one.ask("DELETE", f"/v1/items/{item}?reason=wrong")
    refused = team.one.refused("POST", f"/v1/items/{item}:rollback", {}, status=409, code="NOT_THE_HEAD")
    assert "retracted" in refused["message"] and "tabellion history" in refused["message"]
    new_caller(team.server).refused("POST", f"/v1/items/{item}:rollback", {}, **MISSING)
    name = name_of(team)
    team.chief.ask("POST", f"/v1/agents/{name}:retire", {"reason": "at rest"})
    refused = team.one.refused("POST", "/v1/items", {"text": unique("Too late")}, status=403, code="AGENT_NOT_GRANTED")
    assert "tabellion agent activate" in refused["message"]
    cli = Cli(bin, team.server.url, team.server.key)
    assert f"tabellion agent activate {name}" in cli.run("agent", "resume", name, code=1).stderr
    team.chief.ask("PUT", "/v1/roles/harbour-crew", {"agents": [name]})
    team.chief.ask("PUT", f"/v1/roles/harbour-crew/members/{team.people[0].user}", {})
    edges = cli.out("edge", "list")
    assert "role:harbour-crew" in edges and "role:rol_" not in edges
