"""The commands of `tabellion`, each as a person or a script would use it, against a real server."""

import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from datetime import datetime, timedelta, timezone

import pytest

from server import ADMIN_KEY, Server, free_port

COMMAND_SECONDS_MAX = 60
READY_SECONDS_MAX = 30


class Cli:
    """Runs commands as someone, by default the admin of a server."""

    def __init__(self, bin, url="http://127.0.0.1:1", key=""):
        self.bin, self.url, self.key = bin, url, key

    def run(self, *args, stdin=None, key=None, code=0, env=None):
        """The finished process; its exit code must be the expected one."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("TABELLION_")}
        own |= {"TABELLION_URL": self.url, "TABELLION_KEY": self.key if key is None else key, **(env or {})}
        done = subprocess.run(
            [self.bin, *map(str, args)], input=stdin, env=own, capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX
        )
        assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "panicked" not in done.stderr, done.stderr
        return done

    def out(self, *args, **options):
        return self.run(*args, **options).stdout

    def json(self, *args, **options):
        return json.loads(self.out(*args, "--json", **options))


@pytest.fixture(scope="module")
def served(bin, tmp_path_factory):
    with Server(bin, tmp_path_factory.mktemp("cli") / "data") as running:
        yield running


@pytest.fixture
def cli(bin, served):
    return Cli(bin, served.url, served.key)


@pytest.fixture
def offline(bin):
    return Cli(bin)


def test_an_item_from_the_first_word_to_the_last(cli):
    evidence = '{"source_type":"document","source_uri":"doc://runbook","accessed_at":"2026-11-15T00:00:00Z"}'
    written = cli.json("write", "Port 8080 serves the API", "--key", "API port", "--layer", "session", "--confidence", "0.9",
                       "--tag", "net", "--field", "session=3", "--field", "guests:=4", "--evidence", evidence,
                       "--triple", "api", "port", "8080", "--justification", "asked twice")
    assert written["status"] == "committed"
    id = written["id"]
    item = cli.json("get", id)
    assert (item["key"], item["tags"], item["fields"]) == ("API port", ["net"], {"session": "3", "guests": 4})
    assert item["evidence"][0]["source_uri"] == "doc://runbook" and item["triple"]["object"] == "8080"
    assert "Port 8080 serves the API" in cli.out("get", id)

    assert cli.json("write", "Port 9090 serves the API", "--update", id, "--expected-version", item["version"])["id"] == id
    stale = cli.run("write", "Port 1 serves the API", "--update", id, "--expected-version", item["version"], code=1)
    assert "VERSION_CONFLICT" in stale.stderr
    updated = cli.json("get", id)
    assert "9090" in updated["text"] and (updated["layer"], updated["key"]) == ("session", "API port")
    assert "8080" in cli.json("get", id, "--as-of", item["updated_at"])["text"]
    assert [version["operation"] for version in cli.json("history", id)["versions"]] == ["insert", "update"]
    assert "superseded" in cli.out("history", id)

    assert "rolled_back" in cli.out("rollback", id, "--reason", "measured again")
    assert "8080" in cli.json("get", id)["text"]
    assert cli.json("provenance", id, "--version", item["version"])["agent_justification"] == "asked twice"
    assert id[:12] in cli.out("provenance", id) and id in cli.out("provenance", id, "--ids")
    assert cli.json("pin", id)["status"] == "pinned"
    assert cli.json("unpin", id)["status"] == "unpinned"
    assert id[:12] in cli.out("list", "--layer", "session")
    assert cli.json("retract", id, "--reason", "gone")["status"] == "retracted"
    assert "NOT_FOUND" in cli.run("get", id, code=1).stderr


def test_search_finds_what_was_written_from_stdin(cli):
    written = cli.json("write", "-", stdin="the heron waits\nby the weir\n")
    assert cli.json("get", written["id"])["text"] == "the heron waits\nby the weir"
    assert cli.json("search", "heron", "-k", "1")["results"][0]["id"] == written["id"]
    assert "the heron waits by the weir" in cli.out("search", "heron")
    assert "nothing found" in cli.out("search", "heron", "--layer", "procedural")
    early = (datetime.now(timezone.utc) - timedelta(hours=1)).isoformat()
    assert cli.json("search", "heron", "--as-of", early)["results"] == []
    assert cli.json("search", "heron", "--without", "trust")["results"][0]["id"] == written["id"]
    left_out = [argument for part in ("words", "meaning", "neighbours") for argument in ("--without", part)]
    assert cli.json("search", "heron", *left_out)["results"] == []
    assert "trust" in cli.run("search", "heron", "--without", "luck", code=2).stderr


def test_a_listing_goes_on_where_it_ended(cli):
    for number in range(3):
        cli.run("write", f"page {number}", "--namespace", "paged")
    first = cli.json("list", "--namespace", "paged", "--limit", "2")
    assert len(first["items"]) == 2 and "more: add --cursor" in cli.out("list", "--namespace", "paged", "--limit", "2")
    rest = cli.json("list", "--namespace", "paged", f"--cursor={first['next']}")
    assert [item["text"] for item in first["items"] + rest["items"]] == ["page 0", "page 1", "page 2"]


def test_principals_and_their_keys(cli):
    assert cli.json("user", "create", "ana")["name"] == "ana"
    assert cli.json("user", "create", "olga", "--role", "auditor")["role"] == "auditor"
    cli.run("agent", "create", "market", "--specialisation", "prices")
    cli.run("resource", "create", "market_kb", "--kind", "kb_search", "--description", "prices since 1990")
    assert "olga" in cli.out("user", "list") and "prices" in cli.out("agent", "list")
    assert "market_kb" in cli.out("resource", "list")

    made = cli.json("key", "create", "--user", "ana", "--agent", "market")
    who = cli.json("whoami", key=made["key"])
    assert (who["user"]["name"], who["agent"]["name"], who["role"]) == ("ana", "market", "member")
    assert "ana" in cli.out("whoami", key=made["key"])
    assert "FORBIDDEN" in cli.run("user", "list", key=made["key"], code=1).stderr
    assert made["id"][:12] in cli.out("key", "list") and made["key"] not in cli.out("key", "list")
    cli.run("key", "revoke", made["id"])
    assert "not accepted" in cli.run("whoami", key=made["key"], code=1).stderr
    assert "revoked" in cli.out("key", "list")

    tenant = cli.json("tenant", "create", "acme")
    assert cli.json("whoami", key=tenant["admin_key"])["tenant"] == tenant["id"]


def test_the_trail_and_the_proofs(cli):
    """GOV-5.1: proofs are checked by the client; a root that was not the log's is told."""
    for number in range(5):
        cli.run("write", f"proof {number}")
    assert cli.json("audit", "--action", "write", "--limit", "1")["rows"][0]["outcome"] == "committed"
    assert "write" in cli.out("audit")
    head = cli.json("head")
    assert "the signature is good" in cli.out("head", "--log", "audit")
    assert "the entry is in the log" in cli.out("proof", "inclusion", "3")
    assert "the log only grew" in cli.out("proof", "consistency", "3", "--to", head["size"])
    assert "the log only grew" in cli.out("proof", "consistency", head["size"], "--root", head["root"])
    assert "DOES NOT HOLD" in cli.out("proof", "consistency", head["size"], "--root", "00" * 32, code=1)


def test_import_names_the_lines_that_were_rejected(cli, tmp_path):
    lines = [json.dumps({"text": f"imported {number}", "namespace": "imported"}) for number in range(2500)]
    lines[1203] = '{"text": "too sure", "confidence": 7}'
    lines[2000:2000] = ["", "not json"]
    file = tmp_path / "items.ndjson"
    file.write_text("\n".join(lines))
    out = cli.out("import", file, code=1)
    assert "1204" in out and "/confidence" in out and "2002" in out and "MALFORMED" in out
    again = cli.json("import", "-", stdin=file.read_text(), code=1)
    assert (again["committed"], again["replayed"], again["rejected"]) == (0, 2499, 2)
    assert [rejection["line"] for rejection in again["rejections"]] == [1204, 2002]
    assert cli.json("import", "-", stdin='{"text":"one more"}\n') == {
        "committed": 1, "replayed": 0, "superseded": 0, "deferred": 0, "deferrals": [], "rejected": 0, "rejections": []}
    long = '{"text":"' + "x" * (1 << 20) + '"}\n{"text":"after the long one"}\n'
    assert cli.json("import", "-", stdin=long, code=1)["rejections"][0]["line"] == 1


def test_refusals_say_what_is_wrong_and_what_to_do(cli, offline):
    done = cli.run("write", "x", "--confidence", "7", "--ttl", "soon", code=1)
    assert done.stdout == ""
    assert "error: SCHEMA_INVALID:" in done.stderr
    assert "  /confidence: expected" in done.stderr and "  /ttl: expected" in done.stderr
    refusal = cli.json("write", "x", "--confidence", "7", code=1)
    assert refusal["code"] == "SCHEMA_INVALID" and refusal["errors"][0]["path"] == "/confidence"
    assert "hint: set TABELLION_KEY" in cli.run("whoami", key="", code=1).stderr
    assert "tabellion serve" in offline.run("whoami", code=1).stderr
    assert json.loads(offline.run("whoami", "--json", code=1).stdout)["code"] == "UNREACHABLE"
    for wrong in (["write"], ["write", "x", "--layer", "dreams"], ["write", "x", "--field", "bare"], ["nonsense"], []):
        assert cli.run(*wrong, code=2).stderr
    assert "no such" in cli.run("get", "../keys", code=1).stderr


def test_a_text_cannot_steer_the_terminal(cli):
    id = cli.json("write", "red \x1b[31malert\x07")["id"]
    for args in (["get", id], ["list", "--color", "always"]):
        assert "\x1b[31malert" not in cli.out(*args) and "\x07" not in cli.out(*args)


def test_colours_and_a_reader_that_leaves(cli):
    assert "\x1b[" not in cli.out("list")
    assert "\x1b[" in cli.out("list", "--color", "always")
    env = {**os.environ, "TABELLION_URL": cli.url, "TABELLION_KEY": cli.key, "BIN": str(cli.bin)}
    for command in ("list --limit 500 --json", "list --limit 500", "completions bash", "config"):
        pipe = f"set -o pipefail; $BIN {command} | head -c 1 >/dev/null"
        done = subprocess.run(["bash", "-c", pipe], env=env, capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_help_config_and_completions(offline, tmp_path):
    help = offline.out("--help")
    commands = [line.split()[0] for line in help.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
    assert {"serve", "write", "search", "verify", "doctor", "demo", "bench"} <= set(commands)
    for command in set(commands) - {"help"}:
        assert "Usage: tabellion" in offline.out(command, "--help")
    assert offline.out("--version").startswith("tabellion ")
    for shell in ("bash", "zsh", "fish"):
        assert "provenance" in offline.out("completions", shell)
    assert "# listen = " in offline.out("config")
    assert "no configuration file" in offline.run("serve", "--config", tmp_path / "none.toml", code=1).stderr


@pytest.fixture
def stopped(bin, tmp_path):
    """A data directory after some writes and a clean stop."""
    with Server(bin, tmp_path / "data") as server:
        for number in range(20):
            assert server.call("POST", "/v1/items", {"text": f"fact {number}"})[0] == 201
        server.stop()
    return tmp_path / "data"


def test_verify_finds_tampering_with_and_without_a_server(cli, offline, stopped):
    """GOV-5.1: the log verifies on its own, and a changed entry is named."""
    assert cli.json("verify")["ok"] and "all is as it was written" in cli.out("verify")
    report = offline.json("verify", "--data", stopped, "--views")
    assert list(report) == ["ok", "start", "tenants"] and report["ok"]
    assert [log["log"] for log in report["tenants"][0]["logs"]] == ["memory", "audit"]
    public_key = cli.json("head")["public_key"]
    assert not offline.json("verify", "--data", stopped, "--public-key", public_key, code=1)["ok"]
    log = next((stopped / "tenants").iterdir()) / "log.db"
    with closing(sqlite3.connect(log)) as db, db:
        db.execute("UPDATE memory_entry SET leaf = zeroblob(32) WHERE lsn = 7")
    report = offline.json("verify", "--data", stopped, code=3)
    faults = [fault["lsn"] for fault in report["tenants"][0]["logs"][0]["faults"]]
    assert not report["ok"] and 7 in faults
    assert "NOT as it was written" in offline.out("verify", "--data", stopped, code=3)


def test_rebuild_waits_for_no_server(bin, offline, stopped):
    assert offline.json("rebuild", "--data", stopped)["tenants"][0]["entries"] > 20
    with Server(bin, stopped):
        assert "in use" in offline.run("rebuild", "--data", stopped, code=1).stderr
    assert "entries folded" in offline.out("rebuild", "--data", stopped)


def test_export_and_restore(bin, offline, stopped, tmp_path):
    out = tmp_path / "backup.tabellion"
    report = offline.json("export", "--data", stopped, "--out", out)
    assert out.exists() and (tmp_path / "backup.tabellion.keys").exists() and report["tenants"] == 1
    restored = tmp_path / "restored"
    assert offline.json("restore", "--from", out, "--data", restored)["entries"] == report["entries"]
    assert offline.json("verify", "--data", restored, "--views")["ok"]
    with Server(bin, restored) as server:
        assert len(Cli(bin, server.url, server.key).json("list")["items"]) == 20
    offline.run("restore", "--from", out, "--data", restored, code=1)


def test_doctor_says_what_is_wrong_and_how_to_mend_it(bin, cli, served, offline, stopped, tmp_path):
    well = cli.json("doctor", "--data", served.data_dir)
    assert well["ok"] and all(check["level"] == "ok" for check in well["checks"]), well
    held = next(check["found"] for check in well["checks"] if check["what"] == "lock")
    assert str(served.process.pid) in held
    assert "not accepted" in cli.out("doctor", key="tab_none", code=1)
    assert "tabellion serve" in offline.out("doctor", code=1)
    assert "is not there" in offline.out("doctor", "--data", tmp_path / "none", code=1)
    offline.run("doctor", "--data", stopped)

    (stopped / "keys" / "master.key").chmod(0o644)
    assert "chmod 600" in offline.out("doctor", "--data", stopped, code=1)
    (stopped / "keys" / "master.key").chmod(0o600)
    assert "TABELLION_MASTER_KEY" in offline.out("doctor", "--data", stopped, code=3, env={"TABELLION_MASTER_KEY": "ab" * 32})
    log = next((stopped / "tenants").iterdir()) / "log.db"
    with closing(sqlite3.connect(log)) as db, db:
        db.execute("DELETE FROM memory_entry WHERE lsn = (SELECT max(lsn) FROM memory_entry)")
    assert "newest backup" in offline.out("doctor", "--data", stopped, code=3)


def test_the_demo_tells_its_story_and_leaves_nothing(offline, tmp_path):
    out = offline.out("demo", env={"TMPDIR": str(tmp_path)})
    for part in ("already_committed", "404", "as_of=", "rolled_back", "422", "what is wrong", "Found, and named"):
        assert part in out, part
    assert list(tmp_path.iterdir()) == []
    steps = offline.json("demo", env={"TMPDIR": str(tmp_path)})["steps"]
    assert [step["found"]["ok"] for step in steps if "found" in step] == [True, False]
    assert list(tmp_path.iterdir()) == []


def start(bin, *args, env=None, cwd=None):
    """A server with its stdout; it is the caller's to stop."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("TABELLION_")}
    return subprocess.Popen([bin, "serve", *map(str, args)], env={**own, **(env or {})}, cwd=cwd, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def banner(process, until):
    """What it says until a line with this word."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if until in line:
            return "".join(lines)
    raise AssertionError("".join(lines) + process.stderr.read())


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=READY_SECONDS_MAX)
    return process.returncode


def test_the_first_start_prints_what_to_type_next(bin, tmp_path):
    """The three lines work in a second terminal exactly as they are printed; the key is printed this once."""
    address = f"127.0.0.1:{free_port()}"
    process = start(bin, "--data", tmp_path / "data", "--listen", address)
    try:
        said = banner(process, " search ")
        lines = [line for line in said.splitlines() if line.startswith("  ")]
        assert len(lines) == 3 and "export TABELLION_KEY=tab_" in lines[0] and address in said
        typed = subprocess.run(["bash", "-ec", "\n".join(lines)], capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX)
        assert typed.returncode == 0 and "Port 8080 serves the API" in typed.stdout, typed.stderr
    finally:
        assert stop(process) == 0
    process = start(bin, "--data", tmp_path / "data", "--listen", address)
    try:
        assert "tab_" not in banner(process, "data in")
    finally:
        assert stop(process) == 0


def test_a_given_admin_key_is_not_printed(bin, tmp_path):
    process = start(bin, "--data", tmp_path / "data", "--listen", "127.0.0.1:0", env={"TABELLION_ADMIN_KEY": ADMIN_KEY})
    try:
        said = banner(process, " search ")
        assert ADMIN_KEY not in said and "TABELLION_ADMIN_KEY" in said
    finally:
        assert stop(process) == 0


def test_flags_win_over_the_file(bin, tmp_path):
    (tmp_path / "tabellion.toml").write_text('data = "elsewhere"\nlisten = "127.0.0.1:1"\n')
    process = start(bin, "--config", "tabellion.toml", "--data", "here", "--listen", "127.0.0.1:0", "--json", cwd=tmp_path)
    try:
        said = json.loads(banner(process, "url"))
        assert said["data"] == "here" and said["first_start"] and (tmp_path / "here").is_dir()
    finally:
        assert stop(process) == 0


def certificate(folder, name):
    """A certificate for localhost and the authority behind it, as PEM files."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def made(subject, issuer, key, signer, *extensions):
        now = datetime.now(timezone.utc)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
        builder = builder.not_valid_after(now + timedelta(days=1))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=True)
        return builder.sign(signer, hashes.SHA256())

    def named(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = made(named("authority"), named("authority"), authority_key, authority_key, x509.BasicConstraints(True, None))
    leaf = made(named(name), named("authority"), key, authority_key, x509.SubjectAlternativeName([x509.DNSName(name)]))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "ca.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "cert.pem").write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))


def test_tls_between_client_and_server(bin, tmp_path):
    certificate(tmp_path, "localhost")
    tls = ["--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem"]
    process = start(bin, "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--json", *tls)
    try:
        said = json.loads(banner(process, "url"))
        client = Cli(bin, said["url"], said["admin_key"])
        assert said["url"].startswith("https://localhost:")
        assert client.json("whoami", "--ca-cert", tmp_path / "ca.pem")["role"] == "admin"
        stranger = tmp_path / "other"
        stranger.mkdir()
        certificate(stranger, "localhost")
        assert "no answer" in client.run("whoami", "--ca-cert", stranger / "ca.pem", code=1).stderr
    finally:
        assert stop(process) == 0


CONVERSATION = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "write_item", "arguments": {"text": "said over stdio"}}},
]


def test_mcp_is_relayed_to_a_server(cli):
    spoken = "".join(json.dumps(message) + "\n" for message in CONVERSATION) + "not json\n"
    answers = [json.loads(line) for line in cli.out("mcp", stdin=spoken).splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2, 3, None]
    assert answers[1]["result"]["tools"] and not answers[2]["result"].get("isError")
    assert cli.json("search", "stdio")["results"][0]["text"] == "said over stdio"
    refused = json.loads(cli.out("mcp", stdin=json.dumps(CONVERSATION[2]) + "\n", key="tab_none"))
    assert refused["id"] == 2 and refused["error"]["code"] == -32001


def test_mcp_speaks_for_a_data_directory(bin, offline, tmp_path):
    """With --data the process is the server; it answers everything that was asked before stdin ended."""
    process = subprocess.Popen(
        [bin, "mcp", "--data", tmp_path / "data"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if not name.startswith("TABELLION_")},
    )
    answers = {}
    for message in CONVERSATION:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if "id" in message:
            answers[message["id"]] = json.loads(process.stdout.readline())
    _, complaint = process.communicate(timeout=COMMAND_SECONDS_MAX)
    assert process.returncode == 0 and answers[2]["result"]["tools"] and "result" in answers[3]
    assert "first start" in complaint and "tab_" in complaint
    assert offline.json("verify", "--data", tmp_path / "data", "--views")["ok"]
    assert "TABELLION_KEY" in offline.run("mcp", "--data", tmp_path / "data", stdin="", code=1).stderr
