"""What an operator does who has the manual and the binary: looks at the audit log, follows hints, saves and brings back."""

import json
import os
import subprocess
import sys

import pytest

from callers import Caller, admin, new_caller, random_id
from governed import novel
from grpc_caller import GrpcCaller, Refused
from server import Server
from test_cli import Cli


@pytest.fixture(scope="module")
def served(bin, tmp_path_factory):
    with Server(bin, tmp_path_factory.mktemp("operator") / "data") as running:
        yield running


@pytest.fixture
def cli(bin, served):
    return Cli(bin, served.url, served.key)


@pytest.fixture
def chief(served):
    return admin(served)


@pytest.fixture
def ana(served):
    return new_caller(served)


def agent_of(chief):
    name = f"agent-{random_id('x')[2:12]}"
    return chief.ask("POST", "/v1/agents", {"name": name}, expect=201)["name"]


def rows(caller, **asked):
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return caller.ask("GET", f"/v1/audit?{query}")["rows"]


# --- the audit log ---


def test_every_act_with_a_reason_keeps_it(cli, chief, ana):
    """AM-8: what is done about users, agents, edges, roles, policies and items is on the audit log with its reason."""
    agent, item = agent_of(chief), ana.write(novel())["id"]
    cli.run("grant", "ua", ana.name, agent, "--reason", "why grant")
    cli.run("revoke", "ua", ana.name, agent, "--reason", "why revoke")
    cli.run("user", "disable", ana.name, "--reason", "why disable")
    cli.run("user", "enable", ana.name, "--reason", "why enable")
    cli.run("role", "assign", "auditor", ana.name, "--reason", "why assign")
    cli.run("role", "unassign", "auditor", ana.name, "--reason", "why unassign")
    for act in ("retire", "activate", "delete"):
        cli.run("agent", act, agent, "--reason", f"why {act}")
    cli.run("policy", "set", "four", "--kind", "approval", "--approvals", "1")
    cli.run("policy", "remove", "four", "--reason", "why remove")
    kept = {row.get("reason") for row in rows(chief, limit=100)}
    expected = {"grant", "revoke", "disable", "enable", "assign", "unassign", "retire", "activate", "delete", "remove"}
    assert {f"why {act}" for act in expected} <= kept, kept
    for act in ("pin", "unpin"):
        cli.run(act, item, "--reason", f"why {act}", key=ana.key)
    assert {"why pin", "why unpin"} <= {row.get("reason") for row in rows(ana)}
    about = [row for row in rows(chief, item=item) if row["action"] in ("pin", "unpin")]
    assert len(about) == 2 and not any("reason" in row for row in about), "why ana pins what is hers alone, nobody else reads"


def test_a_decision_keeps_its_reason_and_who_decided(bin, strict):
    """GOV-6: a review says afterwards who decided, and the audit log why."""
    ana, bot = strict.pair()
    text, reviewer = novel(), strict.reviewer(ana)
    held = bot.held(text, layer="semantic", evidence=[strict.said(text)])
    reviewer.rejects(held["pending_id"], reason="why no")
    assert reviewer.review(held["pending_id"])["decided_by"] == reviewer.user
    [row] = [row for row in rows(reviewer, action="decide") if held["pending_id"] in row["ids"]]
    assert row["reason"] == "why no"
    shown = Cli(bin, strict.server.url, reviewer.key).out("review", "show", held["pending_id"])
    assert "decided_by" in shown and reviewer.name in shown, shown


def test_a_row_about_a_policy_names_it(cli, chief):
    """SHARE-33: a row tells which policy was set or taken away."""
    cli.run("policy", "set", "named-here", "--kind", "approval", "--approvals", "1")
    cli.run("policy", "remove", "named-here", "--reason", "not needed")
    for action, version in (("set_policy", 1), ("remove_policy", 2)):
        row = rows(chief, action=action, limit=1)[0]
        assert row["policies"] == [{"id": "named-here", "version": version}], row
        assert "named-here" in cli.out("audit", "--action", action, "--limit", "1")


def test_the_audit_log_is_asked_by_who_what_and_when(served, cli, chief, ana):
    """The trail is filtered by action, user, agent, item and time, alike in REST, gRPC and the command line."""
    agent = agent_of(chief)
    bot = new_caller(served, agent=agent)
    item, other = bot.write(novel())["id"], ana.write(novel())["id"]
    assert {row["user"] for row in rows(chief, user=bot.name)} == {bot.user}
    assert {row["agent"] for row in rows(chief, agent=agent)} == {bot.agent}
    found = rows(chief, item=item)
    assert found and all(item in row["ids"] for row in found)
    assert other not in str(rows(chief, user=bot.user, action="write"))
    assert {row["action"] for row in rows(chief, item=item, since="PT1H")} >= {"write"}
    assert rows(chief, item=item, until="yesterday") == []
    assert rows(chief, item=item, since="2999-01-01") == []
    refusal = chief.refused("GET", "/v1/audit?action=revert_agents&user=nobody&since=soon", status=422, code="SCHEMA_INVALID")
    faults = {fault["path"]: fault["expected"] for fault in refusal["errors"]}
    assert set(faults) == {"/query/action", "/query/user", "/query/since"}, faults
    assert "revert_agent" in faults["/query/action"] and "yesterday" in faults["/query/since"]
    with GrpcCaller(served, chief.key) as grpc:
        asked = {"user": bot.name, "agent": agent, "item": item, "since": "PT1H"}
        assert [row["action"] for row in grpc.call("ListAudit", asked)["rows"]][-1] == "write"
        with pytest.raises(Refused):
            grpc.call("ListAudit", {"action": "no_such_act"})
    shown = cli.json("audit", "--user", bot.name, "--agent", agent, "--item", item, "--since", "yesterday")
    assert shown["rows"][-1]["action"] == "write" and shown["names"] == {bot.user: bot.name, bot.agent: agent}
    refused = cli.run("audit", "--action", "revert_agents", code=1)
    assert "one of accept_loss, " in refused.stderr


def test_every_review_is_listed_over_rest_too(served, chief):
    """`all` is a state over REST as on the command line."""
    assert chief.ask("GET", "/v1/reviews?state=all") == chief.ask("GET", "/v1/reviews")


# --- keys and edges ---


def test_a_key_brings_no_revoked_edge_back(served, cli, chief, ana):
    """SHARE-4: an edge that was revoked stays so, whatever keys are made; one that never was comes with the key, said and audited."""
    agent = agent_of(chief)
    said = cli.json("key", "create", "--user", ana.name, "--agent", agent)
    assert said["granted"] is True
    row = rows(chief, action="grant", limit=1)[0]
    assert row["ids"] == [said["user"], said["agent"]] and row["outcome"] == "ok"
    assert f"{ana.name} may invoke {agent} now" not in cli.out("key", "create", "--user", ana.name, "--agent", agent)
    cli.run("revoke", "ua", ana.name, agent, "--reason", "left the team")
    refused = cli.run("key", "create", "--user", ana.name, "--agent", agent, code=1)
    assert "AGENT_NOT_GRANTED" in refused.stderr and f"tabellion grant ua {ana.name} {agent}" in refused.stderr
    cli.run("grant", "ua", ana.name, agent)
    assert cli.json("key", "create", "--user", ana.name, "--agent", agent)["granted"] is False
    other = agent_of(chief)
    assert f"{ana.name} may invoke {other} now" in cli.out("key", "create", "--user", ana.name, "--agent", other)


def test_a_key_leaves_the_times_of_an_edge(cli, chief, ana):
    """SHARE-4: an edge that ends by itself still does so after a key was made for it. Times to come are named in words."""
    agent = agent_of(chief)
    cli.run("grant", "ua", ana.name, agent, "--expires-at", "in 2 days")
    edges = lambda: [e for e in cli.json("edge", "list", "--ids")["edges"] if e["source"] == ana.user]  # noqa: E731
    before = edges()
    assert before[0]["expires_at"]
    cli.run("key", "create", "--user", ana.name, "--agent", agent, "--expires-at", "tomorrow")
    assert [edge["expires_at"] for edge in edges()] == [before[0]["expires_at"]]
    refused = cli.run("key", "create", "--user", ana.name, "--expires-at", "next week", code=1)
    assert "`tomorrow`, `in 2 days`" in refused.stderr


# --- imports ---


def mem0(tmp_path, memories):
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": memories}))
    return file


def memory(number, text, user="u1", **more):
    return {"id": f"m{number}", "memory": text, "user_id": user, "created_at": f"2026-03-{number:02}T10:00:00Z", **more}


def test_memories_of_several_users_are_not_mixed(bin, standard, tmp_path):
    """AM-10: a file of Mem0 with several users is refused whole, with their counts; `--user-id` takes those of one."""
    ana = standard.person()
    cli = Cli(bin, standard.server.url, ana.key)
    texts = [novel() for _ in range(3)]
    file = mem0(tmp_path, [memory(1, texts[0], agent_id="a7", run_id="r7"), memory(2, texts[1], "u2"), memory(3, texts[2], "u2")])
    refused = cli.run("import", file, "--format", "mem0", code=1)
    assert "2 users" in refused.stderr and "u1: 1" in refused.stderr and "u2: 2" in refused.stderr
    assert ana.ask("GET", "/v1/items")["items"] == []
    assert cli.json("import", file, "--format", "mem0", "--user-id", "u1")["committed"] == 1
    [item] = ana.ask("GET", "/v1/items")["items"]
    assert item["fields"] == {"agent_id": "a7", "run_id": "r7", "mem0_id": "m1", "time": "2026-03-01T10:00:00Z"}
    assert "u3" in cli.run("import", file, "--format", "mem0", "--user-id", "u3", code=1).stderr
    assert "--format mem0" in cli.run("import", file, "--user-id", "u1", code=1).stderr


def test_an_import_counts_what_it_superseded_and_replays_whole(bin, standard, tmp_path):
    """AM-3: a newer line of a file ends an older one; the same file again changes nothing, nor does the line that was ended."""
    cli = Cli(bin, standard.server.url, standard.person().key)
    file = mem0(tmp_path, [memory(1, "Lives in Berlin"), memory(2, "Lives in Paris"), memory(3, novel())])
    first = cli.json("import", file, "--format", "mem0")
    assert (first["committed"], first["superseded"]) == (3, 1)
    again = cli.json("import", file, "--format", "mem0")
    assert (again["committed"], again["replayed"], again["superseded"], again["rejected"]) == (0, 3, 0, 0)


# --- what commands say ---


def test_a_shared_copy_is_named(bin, standard):
    """SHARE-18: whoever writes for others is told the id of the shared copy."""
    standard.policy_set("share", kind="write_shared", share="on")
    _, bot = standard.pair()
    cli = Cli(bin, standard.server.url, bot.key)
    said = cli.out("write", novel(), "--tier", "both")
    assert "shared as" in said and "itm_" in said.split("shared as")[1]


def test_hints_say_what_the_reader_can_do(bin, standard):
    """A hint never sends a member to a command that is for admins alone, and fits the refusal."""
    ana = standard.person()
    cli, chief = Cli(bin, standard.server.url, ana.key), Cli(bin, standard.server.url, standard.chief.key)

    def hints(who, *args):
        return [line for line in who.run(*args, code=1).stderr.splitlines() if line.startswith("hint:")]

    misformed = hints(cli, "write", "x", "--confidence", "7")
    assert not any("reopen" in hint for hint in misformed), misformed
    cursor = hints(cli, "list", "--cursor", "A" * 48)
    assert any("--cursor" in hint for hint in cursor) and not any("a time works" in hint for hint in cursor), cursor
    agent = standard.agent(ana)
    chief.run("revoke", "ua", ana.name, agent.name)
    assert any("edge list" in hint for hint in hints(chief, "revoke", "ua", ana.name, agent.name))
    chief.run("role", "set", "inner", "--agent", agent.name)
    chief.run("role", "set", "outer", "--include", "inner")
    [hint] = hints(chief, "role", "remove", "inner")
    assert "role list" in hint, hint
    item = ana.write(novel())["id"]
    cli.run("quarantine", item, "--reason", "odd")
    [hint] = hints(cli, "quarantine", item, "--reason", "odd")
    assert "--quarantined" in hint, hint


def test_sharing_that_is_off_names_the_command_that_turns_it_on(cli, served):
    """SHARE-18: the refusal of a shared write names what an admin does about it."""
    ana = new_caller(served)
    refused = cli.run("write", novel(), "--tier", "shared", key=ana.key, code=1)
    assert "tabellion policy set share-all --kind write_shared --share on" in refused.stderr, refused.stderr


def test_addresses_say_how_they_are_written(bin, cli, tmp_path):
    """An address that cannot be one is refused with one that can; a server listens on a name."""
    for wrong in ("", "ftp://127.0.0.1", "http://"):
        refused = cli.run("whoami", env={"TABELLION_URL": wrong}, code=1)
        assert "http://127.0.0.1:7600" in refused.stderr and "TABELLION_URL" in refused.stderr, refused.stderr
    refused = cli.run("serve", "--data", tmp_path / "d", env={"TABELLION_LISTEN": "localhost"}, code=1)
    assert "localhost:7600" in refused.stderr, refused.stderr
    config = tmp_path / "named.toml"
    config.write_text('listen = "localhost:7600"\n')
    assert "a server starts with" in cli.out("doctor", "--config", config)


def test_variables_that_nothing_reads_are_named_at_the_start(bin, tmp_path):
    """A setting that was mistyped in the environment is warned of, with the one that was meant."""
    with Server(bin, tmp_path / "data", env={"TABELLION_GOVERNENCE__POLICY": "strict"}) as server:
        assert "TABELLION_GOVERNENCE__POLICY is set, and nothing reads it; is TABELLION_GOVERNANCE__POLICY meant?" in server.log


def test_the_example_of_a_schema_works(cli, ana):
    """The kind that the help's example makes can be written, and its rule holds."""
    help = cli.out("schema", "set", "--help")
    echoed = next(line for line in help.splitlines() if "echo '" in line)
    schema = echoed.split("echo '")[1].split("' |")[0]
    cli.run("schema", "set", "--file", "-", stdin=schema)
    cli.run("write", "Invoice 7 came", "--kind", "invoice", "--field", "total:=120", key=ana.key)
    assert "total" in cli.run("write", "Invoice 8 came", "--kind", "invoice", key=ana.key, code=1).stderr


def test_a_key_is_asked_for_as_its_usage_says(cli):
    """The usage of `key create` shows that a user, an agent or both are named."""
    usage = cli.out("key", "create", "--help").split("Usage:")[1].splitlines()[0]
    assert "--user NAME" in usage and "--agent NAME" in usage, usage


# --- pairs that are held ---


def test_a_user_withdraws_what_an_agent_of_theirs_wants(strict):
    """AM-9: the person whose memory it is for takes a held write back; nobody else's agent does."""
    ana, bot = strict.pair()
    strict.reviewer(ana)
    text = novel()
    held = bot.held(text, layer="semantic", evidence=[strict.said(text)])["pending_id"]
    strict.agent(ana).refused("DELETE", f"/v1/reviews/{held}", status=404, code="NOT_FOUND")
    strict.person().refused("DELETE", f"/v1/reviews/{held}", status=404, code="NOT_FOUND")
    ana.ask("DELETE", f"/v1/reviews/{held}")
    shown = bot.review(held)
    assert (shown["state"], shown["reason"], shown["decided_by"]) == ("withdrawn", "withdrawn by its user", ana.user)


def test_whoami_tells_of_a_suspension(bin, standard):
    """AM-5: an agent that may not write is told so, with the reason, by every transport."""
    ana, bot = standard.pair()
    assert "suspended" not in bot.ask("GET", "/v1/whoami") and "holds" not in bot.ask("GET", "/v1/whoami")
    standard.chief.ask("POST", f"/v1/agents/{bot.name}:suspend", {"reason": "its feed is odd"})
    told = bot.ask("GET", "/v1/whoami")
    assert told["suspended"]["reason"] == "its feed is odd"
    with GrpcCaller(standard.server, bot.key) as grpc:
        assert grpc.call("WhoAmI")["suspended"]["reason"] == "its feed is odd"
    assert "its feed is odd" in Cli(bin, standard.server.url, bot.key).out("whoami")
    assert "suspended" not in ana.ask("GET", "/v1/whoami")


# --- words for times ---


def test_a_revert_takes_the_words_for_times(cli, chief, served):
    """AM-8: `--since yesterday` is a time for a revert as it is for a search."""
    agent = agent_of(chief)
    key = chief.ask("POST", "/v1/keys", {"user": "admin", "agent": agent}, expect=201)["key"]
    Caller(served, key).write(novel())
    shown = cli.json("revert", agent, "--since", "yesterday", "--reason", "a look", "--dry-run")
    assert len(shown["written"]) == 1 and shown["dry_run"]
    refused = cli.run("revert", agent, "--since", "soon", "--reason", "a look", "--dry-run", code=1)
    assert "`yesterday`" in refused.stderr


# --- saving and bringing back ---


def test_a_restore_says_from_when_and_what_is_valid_again(bin, tmp_path):
    """AM-14: keys that were revoked after a backup are valid again when it comes back, and the restore says so."""
    offline = Cli(bin)
    with Server(bin, tmp_path / "data") as server:
        new_caller(server)
    offline.run("export", "--data", tmp_path / "data", "--out", tmp_path / "backup")
    said = offline.out("restore", "--from", tmp_path / "backup", "--data", tmp_path / "again")
    assert "newest entry" in said and "revoked" in said and "tabellion key list" in said, said
    told = offline.json("restore", "--from", tmp_path / "backup", "--data", tmp_path / "third")
    assert told["newest_entry"].startswith("20") and "tabellion edge list" in told["valid_again"]


def test_verify_and_doctor_name_the_tenant(bin, tmp_path):
    """People know tenants by their names."""
    offline = Cli(bin)
    with Server(bin, tmp_path / "data") as server:
        assert "default" in Cli(bin, server.url, server.key).out("verify")
    assert "default" in offline.out("verify", "--data", tmp_path / "data")
    assert offline.json("verify", "--data", tmp_path / "data")["tenants"][0]["name"] == "default"
    assert "key store of default (tnt_" in offline.run("doctor", "--data", tmp_path / "data").stdout


def test_an_export_that_fails_leaves_nothing_and_what_was_there(bin, tmp_path):
    """An export on a full disk leaves no cut files, and keeps those that it would have replaced."""
    with Server(bin, tmp_path / "data") as server:
        admin(server).write(novel())
    out = tmp_path / "backup"
    offline = Cli(bin)
    offline.run("export", "--data", tmp_path / "data", "--out", out)
    before = {file: file.read_bytes() for file in (out, tmp_path / "backup.keys")}
    # A limit on the size of files stands for the full disk.
    command = f"ulimit -f 2; exec {bin} export --data {tmp_path / 'data'} --out {{}} --force"
    for target in (out, tmp_path / "other"):
        done = subprocess.run(
            [sys.executable, "-c", f"import signal, os; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); os.execvp('bash', ['bash', '-c', {command.format(target)!r}])"],
            capture_output=True, text=True, timeout=60, env={k: v for k, v in os.environ.items() if not k.startswith("TABELLION_")},
        )  # fmt: skip
        assert done.returncode == 1, done
    assert sorted(file.name for file in tmp_path.iterdir()) == ["backup", "backup.keys", "data"]
    assert before == {file: file.read_bytes() for file in before}


def test_what_is_lost_names_the_way_back_of_an_export(bin, tmp_path):
    """AM-13: whoever has a backup of `export` is told how that comes back."""
    with Server(bin, tmp_path / "data") as server:
        admin(server).write(novel())
    for log in (tmp_path / "data" / "tenants").rglob("*.db*"):
        log.unlink()
    refused = Cli(bin).run("serve", "--data", tmp_path / "data", code=3)
    assert "tabellion restore --from FILE --data NEWDIR" in refused.stderr, refused.stderr


def certificate(folder, *extensions):
    files = folder / "cert.pem", folder / "key.pem"
    more = [word for extension in extensions for word in ("-addext", extension)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-keyout", files[1], "-out", files[0], *more],
        check=True, capture_output=True,
    )  # fmt: skip
    return files


@pytest.mark.parametrize("is_authority", [True, False])
def test_a_certificate_of_an_authority_is_told(bin, tmp_path, is_authority):
    """The default of `openssl req -x509` makes an authority, whose certificate strict clients refuse of a server: start and doctor say
    so, with a command that works."""
    own = ("basicConstraints=critical,CA:FALSE", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    cert, key = certificate(tmp_path, *(() if is_authority else own))
    config = tmp_path / "tabellion.toml"
    config.write_text(f'[tls]\ncert = "{cert}"\nkey = "{key}"\n')
    doctor = Cli(bin).run("doctor", "--config", config, "--json")
    level = next(check for check in json.loads(doctor.stdout)["checks"] if check["what"] == "config")
    assert (level["level"] == "warn") == is_authority, level
    if is_authority:
        assert "openssl req -x509" in level["found"] and "CA:FALSE" in level["found"]
