"""Facts change: what becomes of a write that contradicts something known (AM-3)."""

import pytest

from callers import Caller
from governed import Author, novel
from grpc_caller import GrpcCaller, Refused
from mcp_caller import McpCaller, over_http

REFUSED = {"status": 409, "code": "CONTRADICTION", "gate": "contradiction"}


def city(name=None):
    return f"{name or novel(1).capitalize()} lives in "


def shares(world, user):
    """A policy under which this user and their agents may write for others."""
    number = novel(1)
    world.policy_set(f"share-{number}", kind="write_shared", scope={"user": user.name}, share="on")


def together(world, *authors):
    """Edges so that each of these users may see what the agents of the others share."""
    for one in authors:
        for other in authors:
            world.chief.call("PUT", f"/v1/edges/ua/{world.owner_of(one).name}/{other.agent}", {})


def way_out(refusal):
    """What the refusal says of on_conflict."""
    [fault] = [fault for fault in refusal["errors"] if fault["path"] == "/on_conflict"]
    return fault["expected"]


def test_newer_statement_supersedes_the_users_own_older_one(alone):
    """AM-3: Berlin, a month later Paris: committed under the default policy with the old statement named, which is history."""
    world = alone(policy="standard")
    ana, bot = world.pair()
    lives = city()
    first = bot.commits(lives + "Berlin.")
    before = world.clock.text
    world.clock.advance(days=31)
    made = bot.commits(lives + "Paris.")
    assert made["superseded"] == [{"id": first["id"], "version": first["version"], "text": lives + "Berlin."}]
    assert "contradictions" not in made
    assert [one["text"] for one in bot.search(lives)] == [lives + "Paris."]
    assert bot.get(made["id"])["text"] == lives + "Paris."
    was = bot.get(first["id"], f"?as_of={before}")
    assert (was["text"], was["valid_until"]) == (lives + "Berlin.", world.clock.text)
    old = bot.versions(first["id"])[first["version"]]
    assert (old["status"], old["valid_until"], old["ended_at"]) == ("superseded", world.clock.text, world.clock.text)
    assert "valid_until" not in bot.get(made["id"])
    world.restart()
    assert bot.get(first["id"], f"?as_of={before}")["text"] == lives + "Berlin."
    assert [one["text"] for one in bot.search(lives)] == [lives + "Paris."]


def test_any_agent_of_the_user_may_say_what_changed(standard):
    """AM-3: the same user is the same, whichever of their agents speaks, and so is the person."""
    ana, bot = standard.pair()
    other, lives = standard.agent(ana), city()
    first = bot.commits(lives + "Berlin.")
    second = other.commits(lives + "Paris.")
    assert [one["id"] for one in second["superseded"]] == [first["id"]]
    third = ana.commits(lives + "Rome.")
    assert [one["text"] for one in third["superseded"]] == [lives + "Paris."]
    assert [one["text"] for one in ana.search(lives)] == [lives + "Rome."]


SELVES = [
    ({"text": "I live in Berlin."}, {"text": "I live in Paris."}),
    ({"text": "The user prefers window seats."}, {"text": "The user prefers aisle seats."}),
    ({"text": "The user's manager is Dana."}, {"text": "The user's manager is Lee."}),
    (
        {"text": "where the user works", "triple": {"subject": "user", "predicate": "works_at", "object": "Siemens"}},
        {"text": "the user's job", "triple": {"subject": "user", "predicate": "works_at", "object": "Bosch"}},
    ),
]


@pytest.mark.parametrize("tier", ["private", "shared"])
@pytest.mark.parametrize("hers, his", SELVES)
def test_what_users_say_of_themselves_is_compared_with_nobody_elses(alone, hers, his, tier):
    """AM-2, AM-3: "I" and "the user" are somebody else for each user; who says it again of themselves changes it."""
    world = alone(policy="standard")
    (ana, bot), (ben, helper) = world.pair(), world.pair()
    shares(world, ana), shares(world, ben)
    together(world, bot, helper)
    first = bot.commits(**hers, tier="shared")
    assert helper.get(first["id"])["text"] == hers["text"]
    second = helper.commits(**his, tier=tier)
    assert "contradictions" not in second and "superseded" not in second, second
    assert bot.get(first["id"])["text"] == hers["text"]
    changed = bot.commits(**his, tier="shared", on_conflict="supersede")
    assert [one["text"] for one in changed["superseded"]] == [hers["text"]]


def test_what_users_say_of_others_is_compared(alone):
    """GOV-2.8: a statement about somebody by name contradicts another user's about the same one."""
    world = alone(policy="standard")
    (ana, bot), (ben, helper) = world.pair(), world.pair()
    shares(world, ana), shares(world, ben)
    together(world, bot, helper)
    lives = city()
    bot.commits(lives + "Berlin.", tier="shared")
    helper.turned_down(lives + "Paris.", tier="shared", **REFUSED)
    helper.turned_down("I think so. " + lives + "Paris.", tier="both", **REFUSED)


def test_facts_change_back_within_a_day(standard):
    """AM-3: saying again what was superseded is a new change, not the replay of the first write."""
    ana, bot = standard.pair()
    lives = city()
    bot.commits(lives + "Berlin.")
    bot.commits(lives + "Paris.")
    assert bot.commits(lives + "Berlin.")["superseded"][0]["text"] == lives + "Paris."
    assert [one["text"] for one in bot.search(lives)] == [lives + "Berlin."]


def test_replay_of_a_superseding_write_answers_the_same(standard):
    """AM-3, GOV-1.7: the same write again changes nothing and names what it superseded."""
    ana, bot = standard.pair()
    lives = city()
    bot.commits(lives + "Berlin.")
    made = bot.commits(lives + "Paris.")
    status, again, _ = bot.send(lives + "Paris.")
    assert (status, again["status"]) == (200, "already_committed")
    assert [again[name] for name in ("id", "version", "superseded")] == [
        made[name] for name in ("id", "version", "superseded")
    ]


def test_each_value_does_what_it_says(standard):
    """AM-3: supersede, keep_both, review and reject, as the writer asks."""
    ana, bot = standard.pair()
    lives = city()
    first = bot.commits(lives + "Berlin.")
    refused = bot.turned_down(lives + "Paris.", on_conflict="reject", **REFUSED)
    [found] = refused["contradictions"]
    assert (found["id"], found["text"]) == (first["id"], lives + "Berlin.")
    assert "supersede" in way_out(refused) and "keep_both" in way_out(refused)
    pending = bot.held(lives + "Rome.", on_conflict="review")
    assert pending["code"] == "CONTRADICTION"
    assert bot.get(first["id"])["text"] == lives + "Berlin."
    kept = bot.commits(lives + "Oslo.", on_conflict="keep_both")
    assert [one["id"] for one in kept["contradictions"]] == [first["id"]] and "superseded" not in kept
    assert kept["id"] != first["id"]
    assert {one["id"] for one in bot.get(first["id"])["contradictions"]} == {kept["id"]}
    replaced = bot.commits(lives + "Madrid.", on_conflict="supersede")
    assert {one["id"] for one in replaced["superseded"]} == {first["id"], kept["id"]}
    assert [one["text"] for one in bot.search(lives)] == [lives + "Madrid."]
    [ended] = {first["id"], kept["id"]} - {replaced["id"]}
    was = bot.get(ended)
    assert was["status"] == "superseded" and was["valid_until"], "an item whose place another took is read as history"
    status, answer, _ = bot.send(lives + "Bern.", on_conflict="maybe")
    assert (status, answer["errors"][0]["path"]) == (422, "/on_conflict")


def test_reviewed_change_supersedes_on_approval(standard):
    """AM-3: what is held with `review` proposes to supersede and does so by a yes; with `keep_both` both stay."""
    ana, bot = standard.pair()
    lives = city()
    first = bot.commits(lives + "Berlin.")
    made = ana.approves(bot.held(lives + "Paris.", on_conflict="review")["pending_id"])
    assert made["id"] == first["id"] and made["superseded"][0]["text"] == lives + "Berlin."


def test_policy_decides_where_the_writer_says_nothing(standard):
    """AM-3: a policy says what becomes of contradictions; a write may then only be stricter than review or reject."""
    ana, bot = standard.pair()
    lives, held = city(), f"held-{novel(1)}"
    standard.policy_set(held, kind="write_path", on_conflict="review", namespace=held)
    bot.commits(lives + "Berlin.", namespace=held)
    assert bot.held(lives + "Paris.", namespace=held)["code"] == "CONTRADICTION"
    refused = bot.turned_down(
        lives + "Rome.", namespace=held, on_conflict="supersede", status=403, code="POLICY_TOO_LAX", gate="preflight"
    )
    assert refused["errors"][0]["path"] == "/on_conflict"
    refused = bot.turned_down(lives + "Rome.", namespace=held, on_conflict="reject", **REFUSED)
    assert "review" in way_out(refused)
    both = f"both-{novel(1)}"
    standard.policy_set(both, kind="write_path", on_conflict="keep_both", namespace=both)
    bot.commits(lives + "Berlin.", namespace=both)
    assert bot.commits(lives + "Paris.", namespace=both)["contradictions"]
    status, answer, _ = standard.chief.call("PUT", "/v1/policies/x", {"kind": "write_path", "on_conflict": "perhaps"})
    assert (status, answer["errors"][0]["path"]) == (422, "/on_conflict")
    status, answer, _ = standard.chief.call("PUT", "/v1/policies/x", {"kind": "write_path"})
    assert status == 422


def test_another_party_is_not_superseded(standard):
    """AM-3, GOV-2.8: what another user shares is not replaced, whatever is asked; private opinions may stand beside it."""
    (ana, bot), (ben, other) = standard.pair(), standard.pair()
    for user in ana, ben:
        shares(standard, user)
    together(standard, bot, other)
    lives = city()
    first = bot.commits(lives + "Berlin.", tier="shared", confidence=0.9)
    assert other.get(first["id"])["text"] == lives + "Berlin."
    refused = other.turned_down(lives + "Paris.", tier="shared", confidence=0.3, **REFUSED)
    assert refused["contradictions"][0]["text"] == lives + "Berlin."
    assert "supersede" not in way_out(refused) and "keep_both" not in way_out(refused) and "review" in way_out(refused)
    for asked in "supersede", "keep_both", "review":
        pending = other.held(lives + f"{asked.capitalize().replace('_', '')}ville.", tier="shared", on_conflict=asked)
        assert pending["code"] == "CONTRADICTION"
    refused = other.turned_down(lives + "Rome.", tier="private", confidence=0.3, on_conflict="reject", **REFUSED)
    assert "keep_both" in way_out(refused) and "supersede" not in way_out(refused)
    for asked in {}, {"on_conflict": "keep_both"}:
        kept = other.commits(lives + f"Rome{len(asked)}.", tier="private", confidence=0.3, **asked)
        assert first["id"] in [one["id"] for one in kept["contradictions"]]
    assert bot.get(first["id"])["text"] == lives + "Berlin."


def test_what_is_hidden_is_neither_shown_nor_superseded(standard):
    """AM-3, SHARE-42: the private memory of another user changes nothing, whatever is asked."""
    (ana, bot), (ben, other) = standard.pair(), standard.pair()
    lives = city()
    first = bot.commits(lives + "Berlin.")
    made = other.commits(lives + "Paris.", on_conflict="supersede")
    assert "superseded" not in made and "contradictions" not in made
    other.commits(city() + "Rome.", on_conflict="reject")
    assert bot.get(first["id"])["text"] == lives + "Berlin."


def test_secret_is_not_replaced_by_something_less_secret(standard):
    """AM-3: an agent never makes a statement less secret by itself: a person decides, and may do so at once."""
    ana, bot = standard.pair()
    lives = city()
    bot.commits(lives + "Berlin.")
    assert bot.held(lives + "Paris.", classification="public")["code"] == "CONTRADICTION"
    made = ana.commits(lives + "Rome.", classification="public")
    assert [one["text"] for one in made["superseded"]] == [lives + "Berlin."]


def test_strict_stays_with_a_person(strict):
    """AM-3, D6: under strict nothing is superseded by itself, whatever is asked; a weaker claim is refused."""
    ana, bot = strict.pair()
    x = novel(1).capitalize()
    known, new = f"{x} lives in Berlin.", f"{x} lives in Paris."
    first = bot.supported(known, confidence=0.5)
    cited = [strict.said(new)]
    refused = bot.turned_down(new, confidence=0.4, evidence=cited, **REFUSED)
    assert "review" in way_out(refused) and "supersede" not in way_out(refused)
    assert refused["contradictions"][0]["text"] == known
    for asked in "keep_both", "supersede", "review":
        bot.held(f"{x} lives in {asked.title()}.", on_conflict=asked, evidence=[strict.said(f"{x} lives in {asked.title()}.")])
    assert bot.get(first["id"])["text"] == known
    pending = bot.held(f"{x} lives in Oslo.", on_conflict="keep_both", evidence=[strict.said(f"{x} lives in Oslo.")])
    assert ana.approves(pending["pending_id"])["id"] != first["id"]
    assert bot.get(first["id"])["text"] == known


def test_open_supersedes_what_holds(open):
    """AM-3: under open episodes are not compared; in canonical layers the default holds."""
    ana, bot = open.pair()
    lives = city()
    first = ana.commits(lives + "Berlin.", layer="semantic")
    assert ana.commits(lives + "Paris.", layer="semantic")["superseded"][0]["id"] == first["id"]
    ana.turned_down(lives + "Rome.", layer="semantic", on_conflict="reject", **REFUSED)


def test_batch_relations_and_updates_take_it(standard):
    """AM-3: every way to write takes on_conflict: lines of a batch, PUT, relations."""
    ana, bot = standard.pair()
    lives, thing = city(), novel(1)
    rows = bot.batch([
        {"text": lives + "Berlin."},
        {"text": lives + "Paris.", "on_conflict": "reject"},
        {"text": lives + "Rome."},
    ])
    assert [row["status"] for row in rows] == ["committed", "rejected", "committed"]
    assert rows[2]["superseded"][0]["text"] == lives + "Berlin."
    other = bot.commits(novel())
    status, answer, _ = bot.call("PUT", f"/v1/items/{other['id']}", {"text": lives + "Oslo.", "on_conflict": "reject"})
    assert (status, answer["code"]) == (409, "CONTRADICTION")
    based = lambda place: {"subject": thing, "predicate": "headquarters", "object": place}
    relate = lambda place, **more: bot.ask("POST", "/v1/relations", {"relations": [{**based(place), **more}]})["results"][0]
    assert relate("Berlin")["status"] == "committed"
    assert relate("Munich", on_conflict="reject")["code"] == "CONTRADICTION"
    assert relate("Hamburg")["superseded"]


def test_three_transports_say_the_same(standard):
    """AM-3: REST, gRPC and MCP answer alike, and the text for a model names the statement and the call that resolves it."""
    answers = []
    for transport in "rest", "grpc", "mcp":
        ana, bot = standard.pair()
        name = novel(1).capitalize()
        if transport == "rest":
            write = lambda **body: bot.call("POST", "/v1/items", body)[1]
        elif transport == "grpc":
            grpc = GrpcCaller(standard.server, bot.key)

            def write(**body):
                try:
                    return grpc.call("Write", body)
                except Refused as refused:
                    return refused.refusal
        else:
            mcp = McpCaller(over_http(standard.server, bot.key))
            mcp.__enter__()
            write = lambda **body: mcp.call("write_item", body)[1]
        first = write(text=f"{name} lives in Berlin.")
        refused = write(text=f"{name} lives in Paris.", on_conflict="reject")
        made = write(text=f"{name} lives in Paris.")
        assert made["superseded"][0]["id"] == first["id"]
        faults = [(one["path"], one["expected"]) for one in refused["errors"] if one["path"] == "/on_conflict"]
        texts = [one["text"].replace(name, "X") for one in refused["contradictions"] + made["superseded"]]
        answers.append((refused["code"], faults, texts))
        if transport == "mcp":
            result = mcp.portal.call(mcp.client.call_tool, "write_item", {"text": f"{name} lives in Rome.", "on_conflict": "reject"})
            said = result.content[0].text
            assert f'this contradicts "{name} lives in Paris." ({made["id"]})' in said
            assert "to replace it, call write_item again with on_conflict=supersede" in said
            assert "to keep both, call write_item again with on_conflict=keep_both" in said
            result = mcp.portal.call(mcp.client.call_tool, "write_item", {"text": f"{name} lives in Rome."})
            assert f'superseded "{name} lives in Paris." ({made["id"]})' in result.content[0].text
            mcp.__exit__()
    assert answers[0] == answers[1] == answers[2]


def test_command_line_shows_what_changed(standard, bin):
    """AM-3: `tabellion write` shows what it superseded, and a refusal shows the statement and the way out."""
    import os
    import subprocess

    ana = standard.person()
    env = {**os.environ, "TABELLION_URL": standard.server.url, "TABELLION_KEY": ana.key, "NO_COLOR": "1"}
    run = lambda *args: subprocess.run([str(bin), *args], env=env, capture_output=True, text=True)
    lives = city()
    run("write", lives + "Berlin.")
    done = run("write", lives + "Paris.")
    assert done.returncode == 0 and "superseded" in done.stdout and lives + "Berlin." in done.stdout, done
    done = run("write", lives + "Rome.", "--on-conflict", "reject")
    assert done.returncode == 1 and lives + "Paris." in done.stderr and "--on-conflict supersede" in done.stderr, done
