"""Content that is gone: what lists, searches and walks do without it, and that the hashes of the log outlive it."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from verify_log import decode

from callers import Caller, new_caller
from server import ROOT, Server

TEXTS = ["the north depot opens at seven", "the south depot stores paint", "the harbour depot has a crane"]


def files(server):
    """The log and the key store of the only tenant."""
    [folder] = (server.data_dir / "tenants").iterdir()
    return folder / "log.db", server.data_dir / "keys" / f"{folder.name}.db"


def newest_sealed(server):
    """The position and the data key of the newest sealed entry of a stopped server."""
    with closing(sqlite3.connect(files(server)[0])) as db:
        for lsn, body in db.execute("SELECT lsn, body FROM memory_entry WHERE sealed IS NOT NULL ORDER BY lsn DESC LIMIT 1"):
            return lsn, decode(body)[4][0]


def destroy(server, lsn, number, with_sealed=True):
    """Takes away the data key of an entry, and what was sealed under it."""
    log, keys = files(server)
    with closing(sqlite3.connect(keys)) as db:
        assert db.execute("DELETE FROM data_key WHERE id = ?", (number,)).rowcount == 1
        db.commit()
    if with_sealed:
        with closing(sqlite3.connect(log)) as db:
            assert db.execute("UPDATE memory_entry SET sealed = NULL WHERE lsn = ?", (lsn,)).rowcount == 1
            db.commit()
    # The checkpoints may still hold words of it: an erasure takes them away too.
    for name in "views.ckpt", "index.ckpt", "vectors.db":
        (log.parent / name).unlink(missing_ok=True)


def root_of_path(leaf, index, size, path):
    """RFC 9162, 2.1.3.2: the root that an inclusion path leads to."""
    node, last, digest = index, size - 1, leaf
    for other in path:
        if node % 2 or node == last:
            digest = hashlib.sha256(b"\x01" + other + digest).digest()
            while node % 2 == 0 and node:
                node, last = node >> 1, last >> 1
        else:
            digest = hashlib.sha256(b"\x01" + digest + other).digest()
        node, last = node >> 1, last >> 1
    return digest


def proven(server, lsn, size):
    """Whether an entry is proven to lie under the root of the log at a size; tells that root."""
    proof = Caller(server, server.key).ask("GET", f"/v1/proofs/inclusion?log=memory&lsn={lsn}&size={size}")
    path = [bytes.fromhex(one) for one in proof["path"]]
    assert root_of_path(bytes.fromhex(proof["leaf"]), lsn - 1, size, path).hex() == proof["root"]
    return proof["root"]


def run(bin, *words):
    done = subprocess.run([bin, *map(str, words)], capture_output=True, text=True, timeout=60, env={**os.environ, "TABELLION_MASTER_KEY": ""})
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def server(bin, tmp_path):
    with Server(bin, tmp_path / "data") as running:
        yield running


@pytest.mark.parametrize("with_sealed", [True, False], ids=["key and content gone", "only the key gone"])
def test_destroyed_content_is_left_out_of_lists_and_told_to_who_asks_for_it(server, with_sealed):
    """AM-15, AM-13: lists, searches and walks go on without it; a read of the item itself says 410 and why."""
    ana = new_caller(server)
    ids = [ana.write(text)["id"] for text in TEXTS]
    assert server.stop() == 0
    lsn, number = newest_sealed(server)
    destroy(server, lsn, number, with_sealed)
    server.start()
    assert [item["id"] for item in ana.ask("GET", "/v1/items")["items"]] == ids[:2]
    assert [item["id"] for item in ana.ask("GET", "/v1/items?limit=1")["items"]] == ids[:1]
    assert set(ana.found("depot")) == set(ids[:2]) and set(ana.found("depot", mode="lexical", k=2)) == set(ids[:2])
    gone = ana.refused("GET", f"/v1/items/{ids[2]}", status=410, code="GONE")
    assert "destroyed" in gone["message"] and "key" in gone["message"], gone
    assert ana.write("the harbour depot has a ramp")["id"]
    assert ana.write(TEXTS[2] + " again")["id"]


@pytest.mark.parametrize("with_sealed", [True, False], ids=["key and content gone", "only the key gone"])
def test_hashes_outlive_a_destroyed_data_key(bin, server, with_sealed):
    """AM-15: without the data key of an entry the tree, its roots and the proofs are what they were, for `verify`, the second
    verifier and the server; only the content is missing."""
    ana = new_caller(server)
    for text in TEXTS:
        ana.write(text)
    head = Caller(server, server.key).ask("GET", "/v1/proofs/head?log=memory")
    roots = [proven(server, lsn, head["size"]) for lsn in range(1, head["size"] + 1)]
    assert set(roots) == {head["root"]}
    assert server.stop() == 0
    lsn, number = newest_sealed(server)
    destroy(server, lsn, number, with_sealed)
    tool = subprocess.run(
        [sys.executable, ROOT / "tools" / "verify_log.py", server.data_dir], capture_output=True, text=True, timeout=60
    )
    code, said = run(bin, "verify", "--data", server.data_dir, "--json")
    if with_sealed:
        assert (code, tool.returncode) == (0, 0), (said, tool.stdout)
    else:
        faults = [fault for tenant in json.loads(said)["tenants"] for log in tenant["logs"] for fault in log["faults"]]
        assert [fault["lsn"] for fault in faults] == [lsn] and "data key" in faults[0]["what"], faults
        assert f"memory: {head['size']} entries, root {head['root']}: 1 fault\n  entry {lsn}: data key" in tool.stdout, tool.stdout
    unkeyed = subprocess.run(
        [sys.executable, ROOT / "tools" / "verify_log.py", server.data_dir, "--no-keys"], capture_output=True, text=True, timeout=60
    )
    assert unkeyed.returncode == 0, unkeyed.stdout
    server.start()
    chief = Caller(server, server.key)
    assert [proven(server, lsn, head["size"]) for lsn in range(1, head["size"] + 1)] == roots
    now = chief.ask("GET", "/v1/proofs/head?log=memory")
    assert (now["size"], now["root"]) == (head["size"], head["root"])
