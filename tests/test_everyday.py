"""What people meet who use the program every day: messages that name the next step, tables that can be read, reads that find
what was just written."""

import json
import os
import threading
import time

import pytest

from callers import Caller, admin, new_caller
from embedder import Model
from governed import Author, Later, eventually, novel
from grpc_caller import GrpcCaller
from mcp_caller import McpCaller, over_http
from server import ADMIN_KEY, Server
from test_admin_key import NEW_KEY
from test_cli import Cli
from test_facts_change import REFUSED, city, shares, together
from test_start_matrix import ACCEPTED, Copy, PACE, made, old, serve  # noqa: F401, `made` is a fixture

SLOW_MODEL_SECONDS = 0.15


def cli_of(author):
    return Cli(author.server.bin, author.server.url, author.key)


# What an accepted loss undoes


def test_accepted_loss_warns_of_what_it_undoes(bin, made, tmp_path):  # noqa: F811
    """AM-13: revocations, erasures and retractions of the lost part hold no more: the log, the terminal and the entry say so,
    and name the commands with which to look."""
    copy = Copy(made, "today", tmp_path / "data")
    old(copy, "tenants")
    with Server(bin, copy.path, env=PACE, args=["--accept-loss"]) as server:
        logged = server.log
        reported = Caller(server, server.key).ask("POST", "/v1/audit:verify", {})["logs"][0]["losses"]
        assert server.stop() == 0
    [memory] = [loss["what"] for loss in reported if "memory log" in loss["what"]]
    for words in logged, memory:
        for word in ("undone", "key list", "edge list", "user list", "policy list", "erasures", "retractions"):
            assert word in words, (word, words)


# Numbers of one's own


def test_callers_are_told_their_own_numbers(alone):
    """AM-17: rate, budget and queue of one's own, over every transport, and of nobody else."""
    world = alone(policy="standard", writes_per_minute="[9,9,4,9,9]", session_budget=7)
    ana, bot = world.pair()
    other = world.agent(ana)
    for _ in range(3):
        bot.commits(novel(), session_id="s-1")
    mine = bot.ask("GET", "/v1/whoami?session_id=s-1")["limits"]
    assert {"layer": "episodic", "used": 3, "limit": 4} in mine["writes_per_minute"], mine
    assert (mine["session"], mine["session_writes_max"]) == ({"used": 3, "limit": 7}, 7)
    assert not mine["exempt"] and mine["queued"]["used"] == 0
    for someone in other, world.person():
        theirs = someone.ask("GET", "/v1/whoami?session_id=s-1")["limits"]
        assert all(rate["used"] == 0 for rate in theirs["writes_per_minute"]) and theirs["session"]["used"] == 0, theirs
    bot.commits(novel())
    put_off = bot.put_off(novel())
    assert "4 a minute" in put_off["message"] and "episodic" in put_off["message"], put_off
    assert bot.ask("GET", "/v1/whoami")["limits"]["queued"]["used"] == 1
    told = cli_of(bot).out("whoami", "--session-id", "s-1")
    assert "episodic 4 of 4" in told and "3 of 7" in told, told
    with GrpcCaller(bot.server, bot.key) as grpc:
        limits = grpc.call("WhoAmI", {"session_id": "s-1"})["limits"]
        [rate] = [one for one in limits["writes_per_minute"] if one["layer"] == "episodic"]
        assert (rate["used"], rate["limit"]) == (4, 4)
    with McpCaller(over_http(bot.server, bot.key)) as mcp:
        assert mcp.ask("whoami", {"session_id": "s-1"})["limits"]["session"] == {"used": 3, "limit": 7}


# Search sees what was just written


def test_write_is_found_by_its_meaning_at_once(bin, tmp_path):
    """SHARE-22, GOV-9.2: whoever writes and then searches finds it by its meaning too, without a token."""
    with Model(dimensions=8) as model, Server(bin, tmp_path / "data", env=model.env()) as server:
        ana = new_caller(server)
        for number in range(3):
            ana.write(f"the ledger of month {number} is closed")
        model.delay = SLOW_MODEL_SECONDS
        for number in range(3):
            id = ana.write(f"automobile {number} is in the yard")["id"]
            assert id in ana.found(f"sedan of day {number}", mode="hybrid"), "written, and not found by its meaning"
        id = ana.write("a kitten is in the yard")["id"]
        assert ana.found("which feline today", mode="dense")[0] == id
        # Another user need not wait for what they did not write.
        ben = new_caller(server)
        ben.search("warm up the words")
        ana.write("drizzle all day")
        started = time.monotonic()
        ben.search("warm up the words")
        assert time.monotonic() - started < SLOW_MODEL_SECONDS


# Words that help


def test_hint_offers_only_what_helps(standard):
    """AM-3: against another's shared statement the terminal offers no supersede, which could not help."""
    ana, bot = standard.pair()
    ben, bob = standard.pair()
    for one in ana, ben:
        shares(standard, one)
    together(standard, bot, bob)
    lives = city()
    bot.commits(lives + "Berlin.", tier="shared")
    refused = cli_of(bob).run("write", lives + "Paris.", "--tier", "shared", code=1).stderr
    assert "CONTRADICTION" in refused and "--on-conflict review" in refused, refused
    assert "supersede" not in refused, refused


def test_short_id_is_told_from_a_missing_one(ana):
    """Over REST an id that was typed in part is not completed, but the refusal says how."""
    id = ana.write("the depot opens at seven")["id"]
    refused = ana.refused("GET", f"/v1/items/{id[:12]}", status=404, code="NOT_FOUND")
    assert f"GET /v1/ids?prefix={id[:12]}" in refused["message"], refused
    hidden = ana.refused("GET", "/v1/items/itm_aaaaaaaa", status=404, code="NOT_FOUND")
    assert "GET /v1/ids?prefix=itm_aaaaaaaa" in hidden["message"], "nothing tells it from one that is there"
    for path in "/v1/reviews/rev_aaaaaaaa", "/v1/items/itm_aaaaaaaa/versions":
        assert "/v1/ids?prefix=" in ana.refused("GET", path, status=404, code="NOT_FOUND")["message"]


def test_key_of_a_disabled_user_says_who_can_help(bin, server):
    """A person whose user was disabled is told that an admin can enable it."""
    ana = new_caller(server)
    admin(server).ask("POST", f"/v1/users/{ana.name}:disable", {"reason": "on leave"})
    refused = ana.refused("GET", "/v1/items", status=401, code="UNAUTHENTICATED")
    assert "disabled" in refused["message"] and "admin" in refused["message"], refused
    told = Cli(bin, server.url, ana.key).run("list", code=1).stderr
    assert "tabellion user enable" in told, told


def test_moments_are_named_as_people_say_them(alone):
    """`--as-of yesterday`, `2 days ago`, a date and a duration are moments; anything else names the forms that work."""
    world = alone(policy="standard")
    ana = world.person()
    lives = city()
    first = ana.commits(lives + "Berlin.")
    world.clock.advance(days=3, hours=5)
    ana.commits(lives + "Paris.")
    world.clock.advance(hours=1)
    for moment in "yesterday", "2 days ago", "P1D", "1 day", world.clock.text[:10], "today":
        found = cli_of(ana).json("get", first["id"], "--as-of", moment)
        assert found["text"] == lives + "Berlin.", moment
    then = cli_of(ana).json("search", lives, "--as-of", "2 days ago")["results"]
    assert [one["text"] for one in then] == [lives + "Berlin."]
    refused = cli_of(ana).run("get", first["id"], "--as-of", "the other day", code=1).stderr
    assert "2 days ago" in refused and "P2D" in refused and "RFC 3339" in refused, refused


# Tables that can be read


def test_list_has_one_line_for_an_item_and_its_shared_copy(standard):
    """The table names the tier; what is kept and shared is one line, for programs two items of which one names the other."""
    ana = standard.person()
    shares(standard, ana)
    both, kept = novel(), novel()
    made = ana.commits(both, tier="both")
    ana.commits(kept, tier="private")
    lines = [line for line in cli_of(ana).out("list").splitlines() if both in line or kept in line]
    assert len(lines) == 2 and "private+shared" in lines[0] and "private" in lines[1] and "shared" not in lines[1], lines
    items = {item["id"]: item for item in cli_of(ana).json("list")["items"]}
    assert items[made["id"]]["shared_id"] == made["shared_id"] and made["shared_id"] in items
    assert "shared_id" not in items[made["shared_id"]]


def test_contradictions_show_where_items_are_read(standard):
    """AM-3: readers are shown what contradicts each other, in `get` and among the results of a search."""
    ana = standard.person()
    lives = city()
    first = ana.commits(lives + "Berlin.")
    second = ana.commits(lives + "Oslo.", on_conflict="keep_both")
    shown = cli_of(ana).out("get", first["id"])
    assert "contradicts" in shown and second["id"][:12] in shown, shown
    by_id = {one["id"]: one for one in ana.search(lives)}
    for one, other in (first, second), (second, first):
        assert [found["id"] for found in by_id[one["id"]]["contradictions"]] == [other["id"]]
    assert "contradicts" in cli_of(ana).out("search", lives)
    assert "contradicts" not in cli_of(ana).out("search", novel())


def test_held_write_shows_what_it_contradicts(standard):
    """AM-3: a 202 lists contradictions as a 409 does, with the texts that the writer may see."""
    ana, bot = standard.pair()
    lives = city()
    first = bot.commits(lives + "Berlin.")
    held = bot.held(lives + "Paris.", on_conflict="review")
    assert [(one["id"], one["text"]) for one in held["contradictions"]] == [(first["id"], lives + "Berlin.")]
    told = cli_of(bot).out("write", lives + "Rome.", "--on-conflict", "review")
    assert "contradicts" in told and lives + "Berlin." in told, told


# Files


def test_export_replaces_a_file_only_when_told(bin, tmp_path):
    """A backup of yesterday is not overwritten by a slip."""
    with Server(bin, tmp_path / "data") as server:
        new_caller(server).write("something worth keeping")
        server.stop()
    offline, out = Cli(bin), tmp_path / "backup"
    offline.run("export", "--data", tmp_path / "data", "--out", out)
    before = out.read_bytes()
    refused = offline.run("export", "--data", tmp_path / "data", "--out", out, code=1).stderr
    assert "--force" in refused and str(out) in refused and out.read_bytes() == before
    offline.run("export", "--data", tmp_path / "data", "--out", out, "--force")
    assert out.read_bytes() != before
    out.unlink()
    assert "--force" in offline.run("export", "--data", tmp_path / "data", "--out", out, code=1).stderr, "the keys are there still"


def test_serve_warns_of_keys_that_others_can_read(bin, tmp_path):
    """Key files are for their owner alone; a start says which are not and how to mend it."""
    with Server(bin, tmp_path / "data") as server:
        assert "chmod" not in server.log
        assert server.stop() == 0
        os.chmod(tmp_path / "data" / "keys" / "master.key", 0o644)
        server.start()
        assert "master.key" in server.log and "chmod -R go-rwx" in server.log, server.log


# Imports


def test_older_claim_does_not_supersede_a_newer_one(standard):
    """AM-3: which claim is newer is told by the `time` of the items, else by when they were written."""
    ana, bot = standard.pair()
    lives = city()
    new = bot.commits(lives + "Paris.", fields={"time": "2049-06-01T00:00:00Z"})
    older = bot.commits(lives + "Berlin.", fields={"time": "2047-06-01T00:00:00Z"})
    assert "superseded" not in older and [one["id"] for one in older["contradictions"]] == [new["id"]]
    assert bot.get(new["id"])["status"] == "active"
    newest = bot.commits(lives + "Rome.", fields={"time": "2049-09-01T00:00:00Z"})
    assert {one["text"] for one in newest["superseded"]} == {lives + "Paris.", lives + "Berlin."}
    lines = [{"text": city("Zoe") + "Oslo.", "fields": {"time": f"{year}-01-01"}} for year in (2049,)]
    lines += [{"text": city("Zoe") + place, "fields": {"time": f"{year}-01-01"}} for year, place in ((2046, "Bern."), (2045, "Kyiv."))]
    assert [line["status"] for line in bot.batch(lines)] == ["committed"] * 3
    assert [one["status"] for one in bot.search("where does Zoe live")][:1] == ["active"]
    [current] = [item for item in bot.items() if item["text"] == city("Zoe") + "Oslo."]
    assert current["status"] == "active"


MEM0 = {"results": [
    {"id": "b1", "memory": "Name is Alex", "hash": "7f", "metadata": {"topic": "who"}, "categories": ["personal_details"],
     "created_at": "2026-03-01T10:00:00-08:00", "updated_at": None, "user_id": "alex"},
    {"id": "b2", "memory": "Prefers tea", "metadata": None, "created_at": "2026-03-02T10:00:00Z", "updated_at": "2026-04-01T00:00:00Z"},
    {"id": "b3", "memory": ""},
]}  # fmt: skip


@pytest.mark.parametrize("form", ["results", "list", "lines"])
def test_memories_of_mem0_are_imported(standard, tmp_path, form):
    """`import --format mem0` reads what Mem0's get_all or an export gives, with its times, and again without doubling it."""
    ana = standard.person()
    file = tmp_path / "mem0.json"
    file.write_text({
        "results": json.dumps(MEM0),
        "list": json.dumps(MEM0["results"], indent=1),
        "lines": "\n".join(json.dumps(one) for one in MEM0["results"]),
    }[form])  # fmt: skip
    told = cli_of(ana).json("import", file, "--format", "mem0", code=1)
    assert (told["committed"], told["rejected"]) == (2, 1) and told["rejections"][0]["line"] == 3, told
    items = {item["text"]: item for item in ana.items() if "mem0_id" in item["fields"]}
    assert set(items) == {"Name is Alex", "Prefers tea"}
    assert items["Name is Alex"]["tags"] == ["personal_details"]
    assert items["Name is Alex"]["fields"] == {"topic": "who", "time": "2026-03-01T10:00:00-08:00", "mem0_id": "b1"}
    assert items["Prefers tea"]["fields"]["time"] == "2026-04-01T00:00:00Z"
    again = cli_of(ana).json("import", file, "--format", "mem0", code=1)
    assert (again["committed"], again["replayed"]) == (0, 2), again


def test_relation_says_that_it_used_no_resource(standard):
    """AM-12: `relation add --no-resources`, as `write` has it."""
    ana = standard.person()
    bot = standard.agent(ana)
    made = cli_of(bot).json("relation", "add", novel(1), "feeds", novel(1), "--no-resources")
    assert bot.get(made["id"])["resources"] == []


# Who waits, and who gets in


@pytest.mark.parametrize("policy", ["standard", "open"])
def test_change_of_an_approved_fact_is_answered_at_once(alone, policy):
    """GOV-6.4: an agent that contradicts what a person approved gets 202 and goes on; only `strict` keeps it on the line."""
    world = alone(policy=policy)
    ana, bot = world.pair()
    thing = novel(1)
    one, two = f"{thing} port is 8080", f"{thing} port is 9090"
    bot.approved(one, layer="procedural", evidence=[world.said(one)])
    call = Later(lambda: bot.send(two, layer="procedural", evidence=[world.said(two)], confidence=0.9, on_conflict="review"))
    status, answer, _ = call.answer(seconds=10)
    assert (status, answer["status"]) == (202, "deferred"), answer
    assert ana.review(answer["pending_id"])["hold"] == "async"
    assert ana.approves(answer["pending_id"])


def test_new_value_enables_a_disabled_first_admin(bin, tmp_path):
    """AM-14: a new TABELLION_ADMIN_KEY lets the first admin in though it was disabled and demoted, and the trail says so."""
    with Server(bin, tmp_path / "data") as server:
        second = new_caller(server, role="admin")
        second.ask("POST", "/v1/users/admin:role", {"role": "member", "reason": "takes a rest"})
        second.ask("POST", "/v1/users/admin:disable", {"reason": "takes a rest"})
        [key] = [key["id"] for key in second.ask("GET", "/v1/keys")["keys"] if key["user"] == second.user]
        assert server.call("GET", "/v1/whoami", key=ADMIN_KEY)[0] == 401
        assert server.stop() == 0
        server.start()
        assert server.call("GET", "/v1/whoami", key=ADMIN_KEY)[0] == 401, "the old value is no way in"
        assert server.stop() == 0
        server.env["TABELLION_ADMIN_KEY"] = NEW_KEY
        server.start()
        chief = Caller(server, NEW_KEY)
        assert chief.ask("GET", "/v1/whoami")["role"] == "admin"
        [row] = [row for row in chief.ask("GET", "/v1/audit?limit=100")["rows"] if row["action"] == "create_key_of_environment"]
        assert row["user"] is None
        assert chief.ask("GET", "/v1/users/admin")["status"] == "active"


# Names and secrets


@pytest.mark.parametrize("name", ["Projekt Ärzte", "kunden/ost", "名前", "n" * 256])
def test_namespaces_are_named_as_everything_else(ana, name):
    """AM-14: any printable text of 1 to 256 bytes is a name, of a namespace too."""
    id = ana.write(novel(), namespace=name)["id"]
    assert ana.get(id)["namespace"] == name
    from urllib.parse import quote

    assert [item["id"] for item in ana.ask("GET", f"/v1/items?namespace={quote(name, safe='')}")["items"]] == [id]


@pytest.mark.parametrize("name", ["", "n" * 257, "tab\there", "\u200bhidden", " edge", "rtl\u202e", "e\u0301"])
def test_unprintable_names_of_namespaces_are_refused(ana, name):
    """AM-14: what cannot be seen, or has two spellings, names nothing."""
    refused = ana.refused("POST", "/v1/items", {"text": novel(), "namespace": name}, status=422, code="SCHEMA_INVALID")
    assert refused["errors"][0]["path"] == "/namespace"


SECRETS = [
    ("the staging database password: hunter2", "hunter2"),
    ("wifi password is blue-42-fish in the office", "blue-42-fish"),
    ("deploy with AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("clone with ghp_abcdefghij0123456789abcdefghij012345", "ghp_abcdefghij0123456789abcdefghij012345"),
    ("call it with Authorization: Bearer abc12345.def", "abc12345.def"),
    ("the key is -----BEGIN RSA PRIVATE KEY-----\nMIIBOg\nab12\n-----END RSA PRIVATE KEY-----", "MIIBOg"),
]


@pytest.mark.parametrize("text,secret", SECRETS, ids=[text.split()[1] for text, _ in SECRETS])
def test_credentials_are_not_shared(standard, text, secret):
    """SHARE-17: what names itself a password, key or token is redacted for others by default, and found by none of them."""
    ana, bot = standard.pair()
    ben, bob = standard.pair()
    shares(standard, ana)
    together(standard, bot, bob)
    number = novel(1)
    made = bot.commits(f"{number}: {text}", tier="both")
    assert bot.get(made["id"])["text"] == f"{number}: {text}", "one's own copy is as it was written"
    seen = bob.get(made["shared_id"])["text"]
    assert secret not in seen and "[REDACTED:secret]" in seen, seen
    assert bob.found(secret, mode="lexical") == []
