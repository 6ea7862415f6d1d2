"""What a start does with a data directory that is not whole: every file missing, old, cut short, of another tenant or of
another directory, and the halves that a broken-off restore leaves.

One directory is made and copied for every case. `yesterday` is a copy after a clean stop, `today` one after more writes and
another clean stop, `killed` one after SIGKILL, `foreign` another server's. A case damages a copy of `today` (or `killed`) and
says which file the refusal must name. `serve`, `doctor` and `verify` must say the same and end with the same code.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from callers import Caller, new_caller
from server import ADMIN_KEY, Server

NOT_WHOLE = 3
SECONDS_MAX = 20
PACE = {"TABELLION_GOVERNANCE__WRITES_PER_MINUTE": "[6,6,6,6,6]", "TABELLION_GOVERNANCE__POLICY": "standard"}


class Copy:
    """A copy of a prepared directory, its two tenants, and the other directories that parts of it can be exchanged with."""

    def __init__(self, made, source, path):
        shutil.copytree(made[source], path)
        self.made, self.path = made, path
        self.keys, self.tenants = path / "keys", path / "tenants"
        self.first, self.second = made["tenant"], made["research"]

    def __getattr__(self, name):
        """The files of the first tenant by a short name."""
        places = {
            "master": self.keys / "master.key", "key_store": self.keys / f"{self.first}.db",
            "witness": self.keys / f"{self.first}.witness", "folder": self.tenants / self.first,
            "log": self.tenants / self.first / "log.db", "kept": self.tenants / self.first / "kept.db",
            "views": self.tenants / self.first / "views.ckpt", "index": self.tenants / self.first / "index.ckpt",
            "vectors": self.tenants / self.first / "vectors.db", "lock": self.path / "lock",
            "log_wal": self.tenants / self.first / "log.db-wal", "kept_wal": self.tenants / self.first / "kept.db-wal",
            "key_wal": self.keys / f"{self.first}.db-wal",
        }  # fmt: skip
        return places[name]

    def file(self, name):
        return self.path / name if name in ("keys", "tenants") else getattr(self, name)

    def elsewhere(self, name, source, tenant=None):
        """The same file in another prepared directory, or of another tenant."""
        inner = str(self.file(name).relative_to(self.path))
        if source == "foreign":
            inner = inner.replace(self.first, self.made["foreign_tenant"])
        elif tenant:
            inner = inner.replace(self.first, tenant)
        return self.made[source] / inner


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def without_wal(path):
    """Nothing of a write-ahead log may stay beside a file that is exchanged: it would belong to the other one."""
    for end in "-wal", "-shm":
        Path(f"{path}{end}").unlink(missing_ok=True)


def put(copy, name, source):
    target = copy.file(name)
    if target.exists():
        remove(target)
    without_wal(target)
    shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)


def missing(copy, name):
    remove(copy.file(name))
    without_wal(copy.file(name))


def old(copy, name):
    put(copy, name, copy.elsewhere(name, "yesterday"))


def of_other_tenant(copy, name):
    put(copy, name, copy.elsewhere(name, "today", copy.second))


def foreign(copy, name):
    put(copy, name, copy.elsewhere(name, "foreign"))


def half(copy, name):
    file = copy.file(name)
    os.truncate(file, file.stat().st_size // 2)


def empty(copy, name):
    os.truncate(copy.file(name), 0)


def directory(copy, name):
    """What cannot be read: tests run as root, for whom no permission is missing."""
    missing(copy, name)
    copy.file(name).mkdir()


def without_heads(copy, name):
    """The witness of a tenant that is being founded, beside one that lives."""
    copy.file(name).write_text('{"memory":null,"audit":null,"kept_changes":0,"name":null}')


def without_anything(copy, name):
    copy.file(name).write_text("{}")


def without_heads_or_log(copy, name):
    without_heads(copy, name)
    missing(copy, "log")


def unfinished_restore(copy, name):
    (copy.path / "restore-unfinished").write_text("")


# (what is done, to which file, what the refusal names, whether `--accept-loss` goes on)
REFUSED = [
    (missing, "keys", "/keys is missing", False),
    (missing, "tenants", "/tenants is missing", False),
    (old, "keys", "keys/", False),
    (old, "tenants", "log.db", True),
    (foreign, "keys", "keys/", False),
    (foreign, "tenants", "tenants/", False),
    (missing, "master", "master.key", False),
    (foreign, "master", "keys/", False),
    (half, "master", "master.key", False),
    (directory, "master", "master.key", False),
    (missing, "key_store", "keys/{first}.db", False),
    (old, "key_store", "keys/{first}.db", False),
    (half, "key_store", "keys/{first}.db", False),
    (empty, "key_store", "keys/{first}.db", False),
    (of_other_tenant, "key_store", "keys/{first}.db", False),
    (foreign, "key_store", "keys/{first}.db", False),
    (directory, "key_store", "keys/{first}.db", False),
    (missing, "witness", "keys/{first}.witness", True),
    (half, "witness", "keys/{first}.witness", True),
    (empty, "witness", "keys/{first}.witness", True),
    (of_other_tenant, "witness", "keys/{first}.witness", True),
    (foreign, "witness", "keys/{first}.witness", True),
    (directory, "witness", "keys/{first}.witness", False),
    (without_heads, "witness", "keys/{first}.witness", True),
    (without_anything, "witness", "keys/{first}.witness", True),
    (without_heads_or_log, "witness", "{first}/log.db", False),
    (missing, "folder", "{first}/log.db", False),
    (old, "folder", "{first}/log.db", True),
    (of_other_tenant, "folder", "{first}/log.db", False),
    (missing, "log", "{first}/log.db", False),
    (old, "log", "{first}/log.db", True),
    (half, "log", "{first}/log.db", False),
    (empty, "log", "{first}/log.db", False),
    (of_other_tenant, "log", "{first}/log.db", False),
    (foreign, "log", "{first}/log.db", False),
    (directory, "log", "{first}/log.db", False),
    (missing, "kept", "{first}/kept.db", True),
    (old, "kept", "{first}/kept.db", True),
    (half, "kept", "{first}/kept.db", False),
    (of_other_tenant, "kept", "{first}/kept.db", False),
    (directory, "kept", "{first}/kept.db", False),
    (directory, "views", "views.ckpt", False),
    (directory, "index", "index.ckpt", False),
    (directory, "vectors", "vectors.db", False),
    (unfinished_restore, "lock", "restore-unfinished", False),
]
# Of a directory whose server was killed: the newest of it lies in write-ahead logs.
REFUSED_KILLED = [
    (missing, "log_wal", "{first}/log.db", True),
    (empty, "log_wal", "{first}/log.db", True),
    (half, "log_wal", "{first}/log.db", True),
    (missing, "kept_wal", "{first}/kept.db", True),
    (missing, "key_wal", "keys/{first}.db", False),
]
REBUILT = [
    (damage, name)
    for name in ("views", "index", "vectors")
    for damage in (missing, old, half, empty, of_other_tenant, foreign)
] + [(old, "witness"), (missing, "lock")]  # fmt: skip


def write(caller, prefix, count):
    return [caller.write(f"{prefix} {number}: the rollout of build {number} ended well")["id"] for number in range(count)]


def defer(caller, text):
    """A write for which there is no room within the minute."""
    for number in range(20):
        status, answer, _ = caller.call("POST", "/v1/items", {"text": f"{text}, run {number}"})
        if status == 202:
            return answer["pending_id"]
        assert status == 201, answer
    raise AssertionError("nothing was put off")


@pytest.fixture(scope="module")
def made(bin, tmp_path_factory):
    base = tmp_path_factory.mktemp("matrix")
    data, made = base / "data", {}
    with Server(bin, data, env=PACE) as server:
        made["tenant"] = next((data / "tenants").iterdir()).name
        founded = Caller(server, server.key).ask("POST", "/v1/tenants", {"name": "research"}, expect=201)
        made["research"] = founded["id"]
        ana, lab = new_caller(server), Caller(server, founded["admin_key"])
        ids = write(ana, "first day", 5) + write(lab, "assay", 5)
        defer(ana, "first day, late")
        assert server.stop() == 0
        shutil.copytree(data, base / "yesterday")
        server.start()
        ids += write(ana, "second day", 5) + write(lab, "assay of the second day", 5)
        made["deferred"] = defer(ana, "second day, late")
        assert server.stop() == 0
        shutil.copytree(data, base / "today")
        server.start()
        write(ana, "third day", 5)
        defer(ana, "third day, late")
        time.sleep(1.5)  # the witness follows within a second
        server.kill()
        shutil.copytree(data, base / "killed")
    with Server(bin, base / "foreign") as server:
        write(new_caller(server), "elsewhere", 5)
        server.stop()
    made["foreign_tenant"] = next((base / "foreign" / "tenants").iterdir()).name
    made |= {name: base / name for name in ("yesterday", "today", "killed", "foreign")}
    return made | {"ana": ana.key, "lab": lab.key, "ids": ids}


def run(bin, *arguments):
    env = {**os.environ, "TABELLION_ADMIN_KEY": ADMIN_KEY, "TABELLION_EMBEDDING__PROVIDER": "hashed"}
    command = [bin, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, env=env, stdin=subprocess.DEVNULL)


def serve(bin, data, *flags):
    """A start that must end by itself."""
    return run(bin, "serve", "--data", data, "--listen", "127.0.0.1:0", *flags)


def contents(path):
    """Every file that is not SQLite's or the lock, with its bytes."""
    passing = ("-wal", "-shm", "lock")
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and not file.name.endswith(passing)}


def must_refuse(bin, copy, named, accepts):
    """`serve`, `doctor` and `verify` refuse with the same words and code, name the file and a way out, and change nothing."""
    before, named = contents(copy.path), named.format(first=copy.first)
    started = serve(bin, copy.path)
    assert started.returncode == NOT_WHOLE, (started.returncode, started.stderr)
    assert named in started.stderr and str(copy.path) in started.stderr, started.stderr
    assert "panicked" not in started.stderr and ("restore" in started.stderr or "move" in started.stderr), started.stderr
    assert ("--accept-loss" in started.stderr) == accepts, started.stderr
    assert contents(copy.path) == before, "a start that refuses leaves everything as it was"

    looked = run(bin, "doctor", "--data", copy.path, "--url", "http://127.0.0.1:9", "--json")
    verified = run(bin, "verify", "--data", copy.path, "--json")
    assert (looked.returncode, verified.returncode) == (NOT_WHOLE, NOT_WHOLE), (looked.stdout, verified.stdout, verified.stderr)
    report = json.loads(verified.stdout)
    assert report["start"] and not report["ok"]
    found = {check["found"]: check["mend"] for check in json.loads(looked.stdout)["checks"] if check["level"] == "fail"}
    for fault in report["start"]:
        tenant = f"tenant {fault['tenant']}: " if fault["tenant"] else ""
        assert f"{tenant}{fault['what']}; {fault['way_out']}" in started.stderr, (fault, started.stderr)
        assert found[tenant + fault["what"]] == fault["way_out"]
    assert contents(copy.path) == before
    if not accepts:
        again = serve(bin, copy.path, "--accept-loss")
        assert again.returncode == NOT_WHOLE and contents(copy.path) == before, again.stderr


def titled(case):
    return f"{case[1]} {case[0].__name__}".replace("_", " ")


@pytest.mark.parametrize("case", REFUSED, ids=titled)
def test_directory_that_is_not_whole_is_refused_with_file_and_way_out(bin, made, tmp_path, case):
    """AM-13: nothing new is made where something old belongs, and no log is opened that lost what was witnessed."""
    damage, name, named, accepts = case
    copy = Copy(made, "today", tmp_path / "data")
    damage(copy, name)
    must_refuse(bin, copy, named, accepts)


@pytest.mark.parametrize("case", REFUSED_KILLED, ids=titled)
def test_lost_write_ahead_log_is_refused(bin, made, tmp_path, case):
    """AM-13: the same of what a killed server left in write-ahead logs."""
    damage, name, named, accepts = case
    copy = Copy(made, "killed", tmp_path / "data")
    damage(copy, name)
    must_refuse(bin, copy, named, accepts)


def texts(server, key):
    return {item["id"] for item in Caller(server, key).ask("GET", "/v1/items?limit=500")["items"]}


def holds_all(bin, made, path):
    """A start in which everything is there that was acknowledged up to `today`."""
    with Server(bin, path, env=PACE) as server:
        assert set(made["ids"]) <= texts(server, made["ana"]) | texts(server, made["lab"])
        states = {write["id"]: write["state"] for write in Caller(server, made["ana"]).ask("GET", "/v1/writes")["writes"]}
        assert states.get(made["deferred"], "deferred") == "deferred"
        token = Caller(server, made["ana"]).write("one more thing about the rollout")["token"]
        found = Caller(server, made["ana"]).search("rollout second day", min_token=token)
        assert any("second day" in result["text"] for result in found), found
        assert server.stop() == 0
    verified = run(bin, "verify", "--data", path, "--views", "--json")
    assert verified.returncode == 0, verified.stdout


@pytest.mark.parametrize("case", REBUILT, ids=titled)
def test_file_that_can_be_made_again_is(bin, made, tmp_path, case):
    """AM-13: checkpoints and vectors are derived; whatever happens to them loses nothing. A witness behind the log is no loss."""
    damage, name = case
    copy = Copy(made, "today", tmp_path / "data")
    damage(copy, name)
    holds_all(bin, made, copy.path)


def test_copy_of_a_stopped_directory_is_whole_without_write_ahead_logs(bin, made, tmp_path):
    """AM-13: a clean stop leaves nothing in `*-wal`."""
    copy = Copy(made, "today", tmp_path / "data")
    for file in [*copy.path.rglob("*-wal"), *copy.path.rglob("*-shm")]:
        assert not file.name.endswith("-wal") or file.stat().st_size == 0, file
        file.unlink()
    holds_all(bin, made, copy.path)


@pytest.mark.parametrize("source", ["yesterday", "today", "killed"])
def test_whole_directory_starts(bin, made, tmp_path, source):
    """AM-13: a backup of everything, however old, is whole; so is what a killed server leaves."""
    copy = Copy(made, source, tmp_path / "data")
    with Server(bin, copy.path, env=PACE) as server:
        assert server.stop() == 0
    assert run(bin, "verify", "--data", copy.path).returncode == 0


def test_refusal_says_how_much_of_which_tenant_is_missing(bin, made, tmp_path):
    """AM-13: by name, with the number of entries."""
    copy = Copy(made, "today", tmp_path / "data")
    old(copy, "tenants")
    complaint = serve(bin, copy.path).stderr
    for name, tenant in ("default", copy.first), ("research", copy.second):
        assert f"tenant `{name}` ({tenant}): " in complaint, complaint
    assert "6 entries are missing" in complaint or "5 entries are missing" in complaint, complaint


def test_tenant_is_named_though_its_log_is_gone(bin, made, tmp_path):
    """AM-13: the witness knows the name, sealed."""
    copy = Copy(made, "today", tmp_path / "data")
    missing(copy, "log")
    assert f"tenant `default` ({copy.first}): " in serve(bin, copy.path).stderr
    assert b"research" not in (copy.keys / f"{copy.second}.witness").read_bytes(), "no name lies open"


ACCEPTED = [(old, "tenants"), (missing, "witness"), (missing, "kept"), (old, "log")]


@pytest.mark.parametrize("case", ACCEPTED, ids=titled)
def test_accepted_loss_is_recorded_and_the_witness_follows(bin, made, tmp_path, case):
    """AM-13: `--accept-loss` goes on, the log and its trail say so for ever, and the next start needs no flag."""
    damage, name = case
    copy = Copy(made, "today", tmp_path / "data")
    damage(copy, name)
    with Server(bin, copy.path, env=PACE, args=["--accept-loss"]) as server:
        rows = Caller(server, server.key).ask("GET", "/v1/audit?limit=100")["rows"]
        assert [row["action"] for row in rows].count("accept_loss") == 1, rows
        Caller(server, made["ana"]).write("life goes on after the loss")
        reported = Caller(server, server.key).ask("POST", "/v1/audit:verify", {})
        assert reported["logs"][0]["losses"], reported
        server.kill()
    verified = run(bin, "verify", "--data", copy.path, "--json")
    report = json.loads(verified.stdout)
    assert verified.returncode == 0 and report["ok"], report
    [first] = [tenant for tenant in report["tenants"] if tenant["tenant"] == copy.first]
    losses = first["logs"][0]["losses"]
    assert losses and all("accepted by the operator" in loss["what"] for loss in losses), first
    with Server(bin, copy.path, env=PACE) as server:
        found = Caller(server, made["ana"]).ask("GET", "/v1/items?limit=500")["items"]
        assert [item["text"] for item in found].count("life goes on after the loss") == 1
        assert server.stop() == 0


def test_witness_never_goes_back(bin, made, tmp_path):
    """AM-13: yesterday's logs under today's keys, started, verified and looked at again and again: the witness stays."""
    copy = Copy(made, "today", tmp_path / "data")
    old(copy, "tenants")
    before = copy.witness.read_bytes()
    for _ in range(2):
        assert serve(bin, copy.path).returncode == NOT_WHOLE
        assert run(bin, "verify", "--data", copy.path).returncode == NOT_WHOLE
        assert run(bin, "export", "--data", copy.path, "--out", tmp_path / "laundered").returncode == NOT_WHOLE
        assert run(bin, "rebuild", "--data", copy.path).returncode == NOT_WHOLE
    assert copy.witness.read_bytes() == before and not (tmp_path / "laundered").exists()


def test_first_tenant_that_is_gone_is_not_founded_anew(bin, made, tmp_path):
    """AM-13: without a trace of the first tenant beside another one, no new one is made in its place."""
    copy = Copy(made, "today", tmp_path / "data")
    for name in "folder", "key_store", "witness":
        missing(copy, name)
    started = serve(bin, copy.path)
    assert started.returncode == NOT_WHOLE and "not the first one" in started.stderr, started.stderr
    assert {path.name for path in copy.tenants.iterdir()} == {copy.second}


def only_master_key(data):
    """What is left when all but the master key is lost."""
    remove(data / "tenants")
    for path in (data / "keys").iterdir():
        if path.name != "master.key":
            path.unlink()


def test_later_tenant_that_is_gone_is_missed(bin, made, tmp_path):
    """AM-13: the first tenant's witness names the others, so none of them can be left out without a word."""
    copy = Copy(made, "today", tmp_path / "data")
    for path in [*copy.tenants.glob(f"{copy.second}*"), *copy.keys.glob(f"{copy.second}*")]:
        remove(path)
    must_refuse(bin, copy, f"tenant `research` ({made['research']}): ", False)


def test_master_key_alone_is_no_new_directory(bin, made, tmp_path):
    """AM-13: who lost all but the master key is not given an empty memory."""
    copy = Copy(made, "today", tmp_path / "data")
    only_master_key(copy.path)
    must_refuse(bin, copy, "keys/master.key is there, but no tenant", False)


def test_first_start_that_was_cut_short_begins_again(bin, tmp_path):
    """AM-13: a kill in the first start leaves its mark. Nobody was told of a tenant, so nothing is lost."""
    data = tmp_path / "data"
    with Server(bin, data) as server:
        assert server.stop() == 0
    mark = data / "first-start-unfinished"
    assert not mark.exists()
    only_master_key(data)
    mark.write_text("")
    with Server(bin, data) as server:
        new_caller(server).write("a first thing to keep")
        assert server.stop() == 0
    assert not mark.exists()
    assert run(bin, "verify", "--data", data).returncode == 0


@pytest.mark.parametrize("name", ["keys", "tenants", "master", "key_store", "witness", "log", "kept"])
def test_file_that_this_user_may_not_read_is_no_damage(bin, made, tmp_path, name):
    """AM-13: the advice fits the cause: nobody is told to restore what only has another owner."""
    copy = Copy(made, "today", tmp_path / "data")
    file = copy.file(name)
    mode = file.stat().st_mode
    as_nobody = ()
    if os.geteuid() == 0:
        as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        for path in [copy.path, *copy.path.rglob("*")]:
            os.chown(path, 65534, 65534)
        for path in tmp_path.parents:
            if str(path).startswith("/tmp/pytest-of"):
                path.chmod(0o755)
        tmp_path.chmod(0o755)
    file.chmod(0)
    try:
        started = run(*as_nobody, bin, "serve", "--data", copy.path, "--listen", "127.0.0.1:0")
        looked = run(*as_nobody, bin, "doctor", "--data", copy.path, "--url", "http://127.0.0.1:9", "--json")
    finally:
        file.chmod(mode)
    assert started.returncode == 1 and looked.returncode == 1, (started, looked)
    assert str(file) in started.stderr and "chmod" in started.stderr and "restore" not in started.stderr, started.stderr
    failed = [check for check in json.loads(looked.stdout)["checks"] if check["level"] == "fail"]
    assert any(check["what"] in ("data", "master key") and "chmod" in check["mend"] + check["found"] for check in failed), failed
    with Server(bin, copy.path, env=PACE) as server:
        assert server.stop() == 0


def test_doctor_finds_the_directory_that_was_meant(bin, made, tmp_path):
    """AM-13: one folder too high is a common slip; the advice names the one that is meant."""
    copy = Copy(made, "today", tmp_path / "outer" / "data")
    looked = run(bin, "doctor", "--data", tmp_path / "outer", "--url", "http://127.0.0.1:9", "--json")
    assert looked.returncode == 1, looked.stdout
    [check] = [check for check in json.loads(looked.stdout)["checks"] if check["what"] == "data"]
    assert str(copy.path) in check["mend"], check
