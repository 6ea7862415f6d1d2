"""Tampering with a data directory that the server made: each planted change is found and named.

Two programs judge each one: `tabellion verify` and, independent of it, tools/verify_log.py. TABELLION_SOAK=1 plants
10,000 of each.
"""

import os
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest
import verify_log
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from crash import verify
from server import Server

SOAK = os.environ.get("TABELLION_SOAK") == "1"
TRIALS_BINARY = 10_000 if SOAK else 150
TRIALS_PYTHON = 10_000 if SOAK else 600
WRITES = 200
SECONDS_MAX = 20  # for one verification; whatever a forger wrote, it must end


@pytest.fixture(scope="session")
def made(bin, tmp_path_factory):
    """A data directory after some 300 entries of several kinds and a clean stop."""
    directory = tmp_path_factory.mktemp("tamper") / "data"
    with Server(bin, directory) as server:
        ids = []
        for number in range(WRITES):
            status, answer, _ = server.call("POST", "/v1/items", {"text": f"fact number {number} " + "x" * (number * 7)})
            assert status == 201, answer
            ids.append(answer["id"])
        for number, id in enumerate(ids[:100]):
            if number % 3:
                status, answer, _ = server.call("PUT", f"/v1/items/{id}", {"text": f"fact {number}, corrected"})
            else:
                status, answer, _ = server.call("DELETE", f"/v1/items/{id}?reason=wrong")
            assert status in (200, 201), answer
        assert server.stop() == 0
    return directory


class Target:
    """A copy of the directory to tamper with. `restore` brings every byte back."""

    def __init__(self, source, directory):
        shutil.copytree(source, directory)
        self.directory = directory
        self.name = next(path.name for path in (directory / "tenants").iterdir())
        self.log_db = directory / "tenants" / self.name / "log.db"
        self.key_db = directory / "keys" / f"{self.name}.db"
        for path in self.log_db, self.key_db:
            with closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.files = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
        self.sizes = {log: self.sql(f"SELECT max(lsn) FROM {log}_entry")[0][0] for log in verify_log.LOGS}

    def restore(self):
        for path in self.directory.rglob("*"):
            if path.is_file() and path not in self.files:
                path.unlink()
        for path, data in self.files.items():
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)

    def sql(self, statement, *values, db=None):
        with closing(sqlite3.connect(db or self.log_db)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            return connection.execute(statement, values).fetchall()

    def move(self, log, moves):
        """Gives rows new numbers, one after the other."""
        with closing(sqlite3.connect(self.log_db)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.executemany(f"UPDATE {log}_entry SET lsn = ? WHERE lsn = ?", moves)

    def commitment(self, log, lsn):
        return verify_log.outer_fields(verify_log.decode(self.column(log, lsn, "body")))[2]

    def column(self, log, lsn, name):
        return self.sql(f"SELECT {name} FROM {log}_entry WHERE lsn = ?", lsn)[0][0]

    def around(self, log, lsn):
        """The sizes of the heads before and after an entry."""
        before = self.sql(f"SELECT max(size) FROM {log}_head WHERE size < ?", lsn)[0][0] or 0
        return before, self.sql(f"SELECT min(size) FROM {log}_head WHERE size >= ?", lsn)[0][0]

    def any_log(self, rng):
        return rng.choice(verify_log.LOGS)

    def any_entry(self, rng):
        log = self.any_log(rng)
        return log, rng.randint(1, self.sizes[log])

    def any_blob(self, rng):
        """A random blob of a random entry, as (log, lsn, column, bytes)."""
        while True:
            log, lsn = self.any_entry(rng)
            column = rng.choice(["body", "sealed", "leaf"])
            blob = self.column(log, lsn, column)
            if blob:
                return log, lsn, column, blob

    def any_sealed(self, rng, log):
        while True:
            lsn = rng.randint(1, self.sizes[log])
            if self.column(log, lsn, "sealed"):
                return lsn


def flip(data, rng):
    position = rng.randrange(len(data))
    return data[:position] + bytes([data[position] ^ 1 << rng.randrange(8)]) + data[position + 1 :]


# Each tampering takes (target, rng) and returns (log, numbers): a report is right if it names one of the numbers in that
# log and no entry outside them. None for numbers: it has to be found, but belongs to no entry.


def flipped_byte(target, rng):
    log, lsn, column, blob = target.any_blob(rng)
    target.sql(f"UPDATE {log}_entry SET {column} = ? WHERE lsn = ?", flip(blob, rng), lsn)
    return log, {lsn}


def flipped_byte_in_the_file(target, rng):
    log, lsn, _, blob = target.any_blob(rng)
    data = target.files[target.log_db]
    while blob not in data:  # spread over two pages
        log, lsn, _, blob = target.any_blob(rng)
    target.log_db.write_bytes(data.replace(blob, flip(blob, rng)))
    return log, {lsn}


def rewritten_with_its_leaf(target, rng):
    log, lsn = target.any_entry(rng)
    body = flip(target.column(log, lsn, "body"), rng)
    leaf = verify_log.leaf_hash(body)
    target.sql(f"UPDATE {log}_entry SET body = ?, leaf = ? WHERE lsn = ?", body, leaf, lsn)
    before, after = target.around(log, lsn)
    return log, set(range(before + 1, after + 2))  # a later time than the next entry's may be what is noticed


def deleted(target, rng):
    log, lsn = target.any_entry(rng)
    target.sql(f"DELETE FROM {log}_entry WHERE lsn = ?", lsn)
    return log, {lsn}


def deleted_and_closed_up(target, rng):
    log, lsn = target.any_entry(rng)
    target.sql(f"DELETE FROM {log}_entry WHERE lsn = ?", lsn)
    target.move(log, [(n - 1, n) for n in range(lsn + 1, target.sizes[log] + 1)])
    return log, set(range(lsn, target.sizes[log] + 1))


def inserted(target, rng):
    log, lsn = target.any_entry(rng)
    target.move(log, [(n + 1, n) for n in range(target.sizes[log], lsn - 1, -1)])
    source = rng.choice([n for n in range(1, target.sizes[log] + 2) if n != lsn])
    target.sql(f"INSERT INTO {log}_entry SELECT ?, body, sealed, leaf FROM {log}_entry WHERE lsn = ?", lsn, source)
    return log, set(range(lsn, target.sizes[log] + 2))


def duplicated_at_the_end(target, rng):
    log, lsn = target.any_entry(rng)
    end = target.sizes[log] + 1
    target.sql(f"INSERT INTO {log}_entry SELECT ?, body, sealed, leaf FROM {log}_entry WHERE lsn = ?", end, lsn)
    return log, {end}


def reordered(target, rng):
    log = target.any_log(rng)
    one, other = rng.sample(range(1, target.sizes[log] + 1), 2)
    target.move(log, [(-1, one), (one, other), (other, -1)])
    return log, {one, other}


def renumbered(target, rng):
    log, lsn = target.any_entry(rng)
    place = rng.choice([0, -lsn, target.sizes[log] + rng.randint(2, 10**12)])
    target.move(log, [(place, lsn)])
    return log, {lsn, place}


def cut_tail(target, rng):
    log = target.any_log(rng)
    last = rng.randint(0, target.sizes[log] - 1)
    target.sql(f"DELETE FROM {log}_entry WHERE lsn > ?", last)
    return log, set(range(last + 1, target.sizes[log] + 1))


def cut_tail_with_heads(target, rng):
    log = target.any_log(rng)
    last = target.around(log, rng.randint(1, target.sizes[log] - 1))[0] or target.around(log, 1)[1]
    target.sql(f"DELETE FROM {log}_entry WHERE lsn > ?", last)
    target.sql(f"DELETE FROM {log}_head WHERE size > ?", last)
    return log, set(range(last, target.sizes[log] + 1))


def altered_head(target, rng):
    log = target.any_log(rng)
    size, root, signature = rng.choice(target.sql(f"SELECT size, root, signature FROM {log}_head"))
    if rng.random() < 0.5:
        target.sql(f"UPDATE {log}_head SET root = ? WHERE size = ?", flip(root, rng), size)
    elif rng.random() < 0.5:
        target.sql(f"UPDATE {log}_head SET signature = ? WHERE size = ?", flip(signature, rng), size)
    else:
        target.sql(f"UPDATE {log}_head SET time = time + 1 WHERE size = ?", size)
    before = target.sql(f"SELECT max(size) FROM {log}_head WHERE size < ?", size)[0][0] or 0
    return log, set(range(before + 1, size + 1))


def swapped_data_keys(target, rng):
    log = target.any_log(rng)
    if not target.sql(f"SELECT 1 FROM {log}_entry WHERE sealed IS NOT NULL"):
        log = "memory"
    one, other = target.any_sealed(rng, log), target.any_sealed(rng, log)
    if one == other:
        return swapped_data_keys(target, rng)
    first, second = target.commitment(log, one)[0], target.commitment(log, other)[0]
    rows = dict(target.sql("SELECT id, wrapped FROM data_key WHERE id IN (?, ?)", first, second, db=target.key_db))
    target.sql("UPDATE data_key SET wrapped = ? WHERE id = ?", rows[second], first, db=target.key_db)
    target.sql("UPDATE data_key SET wrapped = ? WHERE id = ?", rows[first], second, db=target.key_db)
    return log, {one, other}


def sealed_under_another_key(target, rng):
    """A sealed part exchanged for that of another entry."""
    one, other = target.any_sealed(rng, "memory"), target.any_sealed(rng, "memory")
    if one == other:
        return sealed_under_another_key(target, rng)
    target.sql("UPDATE memory_entry SET sealed = ? WHERE lsn = ?", target.column("memory", other, "sealed"), one)
    return "memory", {one}


def swapped_signing_key(target, rng):
    """By someone who holds the master key: the new one is wrapped as it should be."""
    master = bytes.fromhex((target.directory / "keys" / "master.key").read_text().strip())
    nonce, seed = rng.randbytes(12), rng.randbytes(32)
    associated = b"tabellion/v1/secret" + verify_log.tenant_bytes(target.name) + b"signing"
    wrapped = nonce + ChaCha20Poly1305(master).encrypt(nonce, seed, associated)
    target.sql("UPDATE secret SET wrapped = ? WHERE name = 'signing'", wrapped, db=target.key_db)
    return "memory", None


TAMPERINGS = [
    flipped_byte, flipped_byte, flipped_byte_in_the_file, flipped_byte_in_the_file, rewritten_with_its_leaf, deleted,
    deleted_and_closed_up, inserted, duplicated_at_the_end, reordered, renumbered, cut_tail, cut_tail_with_heads,
    altered_head, swapped_data_keys, sealed_under_another_key, swapped_signing_key,
]  # fmt: skip


def wrong_in(report, log, numbers):
    """What is wrong with a report on a planted tampering, or None."""
    if report["ok"]:
        return "nothing found"
    logs = [entry for tenant in report["tenants"] for entry in tenant["logs"] if entry["log"] == log]
    faults = [fault for entry in logs for fault in entry["faults"]]
    if numbers is None:
        return None
    named = {fault["lsn"] for fault in faults} - {None}
    named |= {int(n) for fault in faults for n in re.findall(r"\d+", fault["what"])}
    if not named & numbers:
        return f"none of {summary(numbers)} named"
    astray = {fault["lsn"] for fault in faults} - {None} - numbers
    return f"{summary(astray)} accused, though it is {summary(numbers)}" if astray else None


def summary(numbers):
    return f"{min(numbers)}..{max(numbers)}" if len(numbers) > 3 else sorted(numbers)


def tamper(made, tmp_path, rng, trials, judge):
    """Plants `trials` tamperings and returns those that `judge` did not report rightly."""
    target = Target(made, tmp_path / "copy")
    report = judge(target.directory)
    assert report["ok"], report
    wrong = []
    for trial in range(trials):
        plant = TAMPERINGS[trial % len(TAMPERINGS)]
        log, numbers = plant(target, rng)
        try:
            report = judge(target.directory)
            why = wrong_in(report, log, numbers)
            found = {entry["log"]: entry["faults"][:4] for entry in report["tenants"][0]["logs"]}
        except (AssertionError, subprocess.TimeoutExpired) as error:
            why, found = str(error), {}
        if why:
            wrong.append(f"{plant.__name__} in {log}: {why}; reported: {found}")
        target.restore()
    return wrong


def test_the_server_finds_and_names_every_tampering(bin, made, tmp_path, rng, say):
    """GOV-5.1, GOV-4.5: whatever is changed, added, removed or swapped in a log or its keys, `verify` says where."""

    def judge(directory):
        code, report = verify(bin, directory, timeout=SECONDS_MAX)
        assert (code == 0) == report["ok"], (code, report)
        return report

    wrong = tamper(made, tmp_path, rng, TRIALS_BINARY, judge)
    say(f"verify: {TRIALS_BINARY} tamperings planted, {TRIALS_BINARY - len(wrong)} found and named")
    assert not wrong, "\n".join(wrong)


def test_the_independent_verifier_finds_and_names_every_tampering(made, tmp_path, rng, say):
    """GOV-5.1, GOV-4.5: a second program, which shares no code with the server, comes to the same verdicts."""
    wrong = tamper(made, tmp_path, rng, TRIALS_PYTHON, verify_log.check_directory)
    say(f"verify_log.py: {TRIALS_PYTHON} tamperings planted, {TRIALS_PYTHON - len(wrong)} found and named")
    assert not wrong, "\n".join(wrong)


def test_proofs_of_the_server_hold_for_the_independent_verifier(server):
    """GOV-5.4: inclusion and consistency proofs, and the signed head they lead to."""
    for number in range(40):
        assert server.call("POST", "/v1/items", {"text": f"entry {number}"})[0] == 201
    for log in verify_log.LOGS:
        head = server.call("GET", f"/v1/proofs/head?log={log}")[1]
        pinned = bytes.fromhex(head["public_key"])
        assert not verify_log.check_head(head, pinned)
        size = head["size"]
        for lsn in range(1, size + 1):
            status, proof, _ = server.call("GET", f"/v1/proofs/inclusion?log={log}&lsn={lsn}&size={size}")
            assert status == 200 and not verify_log.check_proof("inclusion", proof, head, pinned), proof
            status, proof, _ = server.call("GET", f"/v1/proofs/consistency?log={log}&from={lsn}&to={size}")
            assert status == 200 and not verify_log.check_proof("consistency", proof, head, pinned), proof
