"""Export and restore: the whole memory in one sealed file, and the keys to it in another."""

import json
import stat
import subprocess
import threading
import time

import pytest

from callers import Caller, Clock, log_size, new_caller
from crash import verify
from server import Server
from unseen import NEEDLES, UNSEEN


def run(bin, *arguments, env=None):
    """A command of the binary, as (exit code, stdout, stderr)."""
    done = subprocess.run([bin, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=env)
    return done.returncode, done.stdout, done.stderr


def export(bin, data, out):
    code, said, complained = run(bin, "export", "--data", data, "--out", out, "--json")
    assert code == 0, complained
    return json.loads(said)


@pytest.fixture(scope="module")
def made(bin, tmp_path_factory):
    """A server's past: what its reader saw, and the snapshot that was taken while it ran."""
    directory = tmp_path_factory.mktemp("snapshot")
    with Server(bin, directory / "data") as server:
        ana = new_caller(server, "anastasia-quux")
        a = ana.write(**UNSEEN)
        b = ana.ask("PUT", f"/v1/items/{a['id']}", {"text": "Quillfeather left for Ostrander"}, expect=201)
        ana.ask("POST", f"/v1/items/{a['id']}:pin", {"reason": "x"})
        gone = ana.write("soon to be gone")
        ana.ask("DELETE", f"/v1/items/{gone['id']}")
        for number in range(300):
            ana.write(f"filler {number}")
        size = log_size(server)
        report = export(bin, server.data_dir, directory / "backup.tabellion")
        seen = look(ana, a, b, gone)
        assert server.stop() == 0
    return {"directory": directory, "key": ana.key, "a": a, "b": b, "gone": gone, "seen": seen, "size": size, "report": report}


def found(caller, query, **fields):
    """What a search finds in each mode, but for the part of a hybrid score that falls with age."""
    token = caller.ask("POST", "/v1/search", {"query": query, "mode": "lexical"})["token"]
    for mode in "hybrid", "dense", "lexical":
        results = caller.search(query, mode=mode, min_token=token, **fields)
        assert results
        yield [{**one, "score": one["score"] if mode != "hybrid" else None} for one in results]


def look(caller, a, b, gone):
    """What a reader sees of the items, now and in the past, without what differs from one reading to the next."""
    path = f"/v1/items/{a['id']}"
    now = caller.get(a["id"])
    then = caller.get(a["id"], f"?as_of={a['token']}")
    at_its_time = caller.get(a["id"], f"?as_of={then['updated_at']}")
    answers = [
        now, then, at_its_time, caller.get(gone["id"], f"?as_of={gone['token']}"),
        caller.ask("GET", f"{path}/provenance"), caller.ask("GET", f"{path}/provenance?version={a['version']}"),
        caller.ask("GET", "/v1/items?limit=500")["items"], *found(caller, "quillfeather"),
        *found(caller, "filler 77", k=3),
        caller.versions(a["id"]), caller.versions(gone["id"]), caller.ask("GET", "/v1/whoami"),
        caller.call("GET", f"/v1/items/{gone['id']}")[0],
    ]  # fmt: skip
    assert now["text"] == "Quillfeather left for Ostrander" and then["text"] == UNSEEN["text"]
    return without_tokens(answers)


def without_tokens(value):
    """Tokens are sealed anew each time."""
    if isinstance(value, dict):
        return {name: without_tokens(member) for name, member in value.items() if name != "token"}
    if isinstance(value, list):
        return [without_tokens(member) for member in value]
    return value


def restore(bin, made, data):
    return run(bin, "restore", "--from", made["directory"] / "backup.tabellion", "--data", data)


def test_a_restored_directory_answers_the_same(bin, made, tmp_path):
    """GOV-5.1, GOV-5.5: items, versions, records, the past and the keys of users are those of the moment of the export; both
    logs verify and go on."""
    data = tmp_path / "restored"
    code, said, complained = restore(bin, made, data)
    assert code == 0, complained
    code, report = verify(bin, data, "--views")
    assert code == 0 and report["ok"], report
    with Server(bin, data) as server:
        assert log_size(server) == made["size"]
        ana = Caller(server, made["key"])
        assert look(ana, made["a"], made["b"], made["gone"]) == made["seen"]
        again = ana.ask("POST", "/v1/items", {"text": "filler 7"}, expect=200)
        assert again["status"] == "already_committed"
        ana.write("life goes on")
        assert log_size(server) == made["size"] + 1
        assert server.stop() == 0
    assert verify(bin, data)[0] == 0


PACE = {"TABELLION_GOVERNANCE__WRITES_PER_MINUTE": "[6000,3000,2,60,20]", "TABELLION_GOVERNANCE__POLICY": "standard"}


def test_export_holds_what_waits_and_what_was_refused(bin, tmp_path):
    """AM-10: a write that was put off (202), one that waits for a person and one that was refused are in the export; restored,
    the first commits by itself, the second can be decided, and the third can be read back."""
    with Server(bin, tmp_path / "data", env=PACE) as server:
        ana = new_caller(server)
        status, put_off = 201, None
        for number in range(10):
            status, put_off, _ = ana.call("POST", "/v1/items", {"text": f"The export of run {number} was written at noon"})
            if status == 202:
                break
        assert status == 202 and put_off["pending_id"].startswith("def_"), put_off
        status, turned_down, _ = ana.call("POST", "/v1/items", {"text": "Port 8080 is open", "deadline": "2020-01-01T00:00:00Z"})
        assert status == 504 and turned_down["refusal_id"], turned_down
        report = export(bin, server.data_dir, tmp_path / "backup")
        waiting = ana.ask("GET", f"/v1/writes/{put_off['pending_id']}")
        server.kill()
    assert report["kept_writes"] == 2, report
    code, said, complained = run(bin, "restore", "--from", tmp_path / "backup", "--data", tmp_path / "restored", "--json")
    assert code == 0 and json.loads(said)["kept_writes"] == 2, complained
    with Server(bin, tmp_path / "restored", env=PACE, args=["--test-clock"]) as server:
        ana = Caller(server, ana.key)
        assert ana.ask("GET", f"/v1/writes/{turned_down['refusal_id']}")["code"] == "DEADLINE_EXCEEDED"
        assert ana.ask("GET", f"/v1/writes/{put_off['pending_id']}")["write"]["text"] == waiting["write"]["text"]
        clock = Clock(server)
        deadline = time.monotonic() + 20
        while ana.call("GET", f"/v1/writes/{put_off['pending_id']}")[0] == 200 and time.monotonic() < deadline:
            clock.advance(seconds=61)
            time.sleep(0.3)
        found = [item["text"] for item in ana.ask("GET", "/v1/items?limit=500")["items"]]
        assert found.count(waiting["write"]["text"]) == 1, found
        assert server.stop() == 0
    assert verify(bin, tmp_path / "restored")[0] == 0


def test_restore_that_is_broken_off_is_not_opened_and_can_be_made_again(bin, made, tmp_path):
    """AM-13: a restore that was killed leaves a directory that no server opens; the same command begins anew."""
    halves = 0
    for delay in (0.002, 0.005, 0.01, 0.02, 0.04):
        data = tmp_path / f"restored-{delay}"
        command = [bin, "restore", "--from", made["directory"] / "backup.tabellion", "--data", data]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if (data / "restore-unfinished").exists():
            halves += 1
            code, _, complained = run(bin, "serve", "--data", data, "--listen", "127.0.0.1:0")
            assert code == 3 and "restore-unfinished" in complained and "restore" in complained, complained
        if not (data / "keys").exists() or (data / "restore-unfinished").exists():
            assert restore(bin, made, data)[0] == 0
        code, report = verify(bin, data)
        assert code == 0 and report["ok"], report
    assert halves, "no kill came in time"


def test_failed_restore_leaves_nothing(bin, made, tmp_path):
    """AM-13: a snapshot that turns out damaged in its midst leaves no half of a directory."""
    backup = bytearray((made["directory"] / "backup.tabellion").read_bytes())
    del backup[len(backup) * 2 // 3 :]
    (tmp_path / "bad").write_bytes(backup)
    (tmp_path / "bad.keys").write_bytes((made["directory"] / "backup.tabellion.keys").read_bytes())
    assert run(bin, "restore", "--from", tmp_path / "bad", "--data", tmp_path / "data")[0] == 1
    assert not (tmp_path / "data").exists()
    (tmp_path / "data" / "keys").mkdir(parents=True)
    (tmp_path / "data" / "keys" / "master.key").write_text("of another directory")
    code, _, complained = restore(bin, made, tmp_path / "data")
    assert code == 1 and "holds data already" in complained
    assert (tmp_path / "data" / "keys" / "master.key").read_text() == "of another directory"


def test_a_snapshot_gives_nothing_away(made):
    """D9: neither file holds a word of what was said, nor a key of a user; only their owner may read them."""
    backup = made["directory"] / "backup.tabellion"
    keys = made["directory"] / "backup.tabellion.keys"
    report = made["report"]
    assert (report["out"], report["keys"]) == (str(backup), str(keys)) and report["entries"] >= made["size"]
    for file in backup, keys:
        data = file.read_bytes()
        found = [needle for needle in [*NEEDLES, "ostrander", made["key"], made["key"][4:]] if needle.encode() in data.lower()]
        assert found == [], file.name
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name
    assert backup.stat().st_size > 10_000


def test_without_the_keys_nothing_is_restored(bin, made, tmp_path):
    """D9: the message names the file that is missing; nothing is left behind."""
    lonely = tmp_path / "backup.tabellion"
    lonely.write_bytes((made["directory"] / "backup.tabellion").read_bytes())
    code, said, complained = run(bin, "restore", "--from", lonely, "--data", tmp_path / "restored")
    assert code == 1 and "backup.tabellion.keys" in complained and "panicked" not in complained, complained
    assert not any(path.is_file() for path in (tmp_path / "restored").rglob("*"))


def test_a_directory_in_use_is_not_restored_over(bin, made, tmp_path):
    """What is there stays there."""
    data = tmp_path / "restored"
    assert restore(bin, made, data)[0] == 0
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    code, _, complained = restore(bin, made, data)
    assert code == 1 and complained.strip(), complained
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "other keys"])
def test_a_damaged_snapshot_is_refused(bin, made, tmp_path, harm):
    """GOV-5.1: what does not verify is not served."""
    backup = bytearray((made["directory"] / "backup.tabellion").read_bytes())
    keys = bytearray((made["directory"] / "backup.tabellion.keys").read_bytes())
    if harm == "cut":
        del backup[len(backup) * 2 // 3 :]
    elif harm == "flipped":
        backup[len(backup) // 2] ^= 0x40
    elif harm == "empty":
        backup.clear()
    else:
        keys = bytearray(reversed(keys))
    (tmp_path / "bad").write_bytes(backup)
    (tmp_path / "bad.keys").write_bytes(keys)
    code, said, complained = run(bin, "restore", "--from", tmp_path / "bad", "--data", tmp_path / "data")
    if code == 0:
        code = verify(bin, tmp_path / "data")[0]
    assert code == 1 and "panicked" not in complained, said + complained


def test_an_export_under_load_is_whole(bin, tmp_path):
    """GOV-5.1: writes go on during an export, and what it took verifies and holds all that was acknowledged before it."""
    with Server(bin, tmp_path / "data") as server:
        ana = new_caller(server)
        before = [ana.write(f"before {number}")["id"] for number in range(100)]
        stop, during = threading.Event(), []

        def write():
            while not stop.is_set():
                during.append(ana.write(f"during {len(during)}")["id"])

        writer = threading.Thread(target=write)
        writer.start()
        try:
            export(bin, server.data_dir, tmp_path / "live")
        finally:
            stop.set()
            writer.join()
        assert during
    code, _, complained = run(bin, "restore", "--from", tmp_path / "live", "--data", tmp_path / "restored")
    assert code == 0, complained
    assert verify(bin, tmp_path / "restored", "--views")[0] == 0
    with Server(bin, tmp_path / "restored") as server:
        items = Caller(server, ana.key).ask("GET", "/v1/items?limit=500")["items"]
        assert set(before) <= {item["id"] for item in items}
