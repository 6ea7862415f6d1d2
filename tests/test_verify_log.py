"""The independent verifier, against a data directory built here from docs/log-format.md alone.

The directory has every part of the format: 600 memory entries (two tiles), an audit log, heads of uneven distance, sealed
parts, an erased one, a key store with two epochs, a witness. Each test damages one thing and looks for its name.
"""

import base64
import hashlib
import json
import random
import shutil
import sqlite3
from contextlib import closing

import pytest
import verify_log
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from verify_log import Malformed, decode, encode, leaf_hash

TENANT = bytes(range(16))
NAME = "tnt_" + base64.b32encode(TENANT).decode().rstrip("=").lower()
MASTER, SIGNING = bytes([7] * 32), Ed25519PrivateKey.from_private_bytes(bytes([8] * 32))
SIZES = {"memory": 600, "audit": 90}
ERASED = 44
EPOCHS = {1: bytes([21] * 32), 2: bytes([22] * 32)}


def root_of(leaves):
    """RFC 6962, 2.1, as it is written there."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + root_of(leaves[:k]) + root_of(leaves[k:])).digest()


def wrap(key, secret, associated, chance):
    nonce = chance.randbytes(12)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, secret, associated)


def seal(data_key, number, text, chance):
    salt, nonce = chance.randbytes(16), chance.randbytes(12)
    associated = b"tabellion/v1/sealed" + TENANT + number.to_bytes(8, "big")
    return salt + nonce + ChaCha20Poly1305(data_key).encrypt(nonce, text, associated)


def sign(log, size, time, root, key=SIGNING):
    return key.sign(encode(["tabellion/v1/head", log, TENANT, size, time, root]))


def data_key_of(number):
    return hashlib.sha256(b"data key %d" % number).digest()


def entry_body(log, lsn, sealed):
    if (log, lsn) == ("memory", 1):
        event = [0, [TENANT, SIGNING.public_key().public_bytes_raw()]]
    else:
        event = [6, [bytes([lsn % 256] * 16), lsn, "default"]]
    fields = [lsn, 1_700_000_000_000_000 + lsn // 2, [bytes(16), None] if lsn > 1 else [], event]
    return encode(fields + ([sealed] if sealed else []))


def build(directory):
    chance = random.Random(1)
    (directory / "keys").mkdir(parents=True)
    (directory / "tenants" / NAME).mkdir(parents=True)
    (directory / "keys" / "master.key").write_text(MASTER.hex() + "\n")
    witness, numbers = {}, iter(range(1, 10_000))
    with closing(sqlite3.connect(directory / "tenants" / NAME / "log.db")) as db:
        for log, size in SIZES.items():
            witness[log] = build_log(db, log, size, numbers, chance)
        db.commit()
    (directory / "keys" / f"{NAME}.witness").write_text(json.dumps(witness))
    with closing(sqlite3.connect(directory / "keys" / f"{NAME}.db")) as db:
        build_keys(db, next(numbers) + 20, chance)
        db.commit()


def build_log(db, log, size, numbers, chance):
    db.execute(f"CREATE TABLE {log}_entry(lsn INTEGER PRIMARY KEY, body BLOB NOT NULL, sealed BLOB, leaf BLOB NOT NULL)")
    db.execute(
        f"CREATE TABLE {log}_head(size INTEGER PRIMARY KEY, time INTEGER NOT NULL, root BLOB NOT NULL,"
        " signature BLOB NOT NULL)"
    )
    db.execute(
        f"CREATE TABLE {log}_tile(level INTEGER NOT NULL, idx INTEGER NOT NULL, hash BLOB NOT NULL,"
        " PRIMARY KEY (level, idx))"
    )
    leaves, covered = [], 0
    for lsn in range(1, size + 1):
        sealed = reference = None
        if lsn % 3:
            number = next(numbers)
            sealed = seal(data_key_of(number), number, f"text {lsn}".encode(), chance)
            reference = [number, hashlib.sha256(b"\x02" + sealed).digest()]
        body = entry_body(log, lsn, reference)
        leaves.append(leaf_hash(body))
        stored = None if (log, lsn) == ("memory", ERASED) else sealed
        db.execute(f"INSERT INTO {log}_entry VALUES (?, ?, ?, ?)", (lsn, body, stored, leaves[-1]))
        if lsn == size or lsn >= covered + chance.randint(1, 6):
            covered, time, root = lsn, 1_700_000_000_000_000 + lsn, root_of(leaves)
            signature = sign(log, lsn, time, root)
            db.execute(f"INSERT INTO {log}_head VALUES (?, ?, ?, ?)", (lsn, time, root, signature))
    for index in range(size >> 8):
        tile = root_of(leaves[index << 8 : (index + 1) << 8])
        db.execute(f"INSERT INTO {log}_tile VALUES (8, ?, ?)", (index, tile))
    return {"size": size, "time": time, "root": root.hex(), "signature": signature.hex()}


def build_keys(db, count, chance):
    db.execute("CREATE TABLE secret(name TEXT PRIMARY KEY, wrapped BLOB NOT NULL)")
    db.execute("CREATE TABLE data_key(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, wrapped BLOB NOT NULL)")
    secrets = {"signing": bytes([8] * 32), "tenant": bytes([9] * 32)}
    secrets.update((f"epoch/{number}", secret) for number, secret in EPOCHS.items())
    for name, secret in secrets.items():
        wrapped = wrap(MASTER, secret, b"tabellion/v1/secret" + TENANT + name.encode(), chance)
        db.execute("INSERT INTO secret VALUES (?, ?)", (name, wrapped))
    erased = key_number_of("memory", ERASED)
    for number in range(1, count):
        if number != erased:
            db.execute("INSERT INTO data_key VALUES (?, ?, ?)", (number, 1 + number % 2, wrap_data_key(number, chance)))


def wrap_data_key(number, chance, secret=None):
    associated = b"tabellion/v1/data_key" + TENANT + number.to_bytes(8, "big")
    return wrap(EPOCHS[1 + number % 2], secret or data_key_of(number), associated, chance)


def key_number_of(log, lsn):
    """Data keys are numbered in the order of use: every entry but each third one takes the next."""
    before = SIZES["memory"] - SIZES["memory"] // 3 if log == "audit" else 0
    return before + lsn - lsn // 3


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pristine") / "data"
    build(directory)
    return directory


class Copy:
    """A copy of the data directory to damage, and the verifier's opinion of it."""

    def __init__(self, directory):
        self.directory = directory
        self.log_db = directory / "tenants" / NAME / "log.db"
        self.key_db = directory / "keys" / f"{NAME}.db"
        self.witness = directory / "keys" / f"{NAME}.witness"

    def sql(self, statement, *values, db=None):
        with closing(sqlite3.connect(db or self.log_db)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def body(self, lsn, log="memory"):
        return self.sql(f"SELECT body FROM {log}_entry WHERE lsn = ?", lsn)[0][0]

    def head_after(self, lsn, log="memory"):
        """The sizes of the heads around an entry: (last that does not cover it, first that does)."""
        before = self.sql(f"SELECT max(size) FROM {log}_head WHERE size < ?", lsn)[0][0] or 0
        return before, self.sql(f"SELECT min(size) FROM {log}_head WHERE size >= ?", lsn)[0][0]

    def faults(self, log="memory", **options):
        """The faults of one log as (lsn, what); the other log must be good."""
        report = verify_log.check_directory(self.directory, **options)
        found = {entry["log"]: entry["faults"] for entry in report["tenants"][0]["logs"]}
        assert report["ok"] == (not any(found.values()))
        other = "audit" if log == "memory" else "memory"
        assert not found[other], found[other]
        return [(fault["lsn"], fault["what"]) for fault in found[log]]

    def only_fault(self, log="memory", **options):
        faults = self.faults(log, **options)
        assert len(faults) == 1, faults
        return faults[0]


@pytest.fixture
def copy(pristine, tmp_path):
    shutil.copytree(pristine, tmp_path / "data")
    return Copy(tmp_path / "data")


def flipped(data, position):
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def test_an_intact_directory_is_good(copy, pristine):
    """GOV-5.1: what was appended and never changed verifies, with keys and without."""
    report = verify_log.check_directory(copy.directory)
    assert report["ok"], report
    memory, audit = report["tenants"][0]["logs"]
    assert (memory["size"], audit["size"]) == (600, 90)
    assert memory["root"] == json.loads(copy.witness.read_text())["memory"]["root"]
    assert verify_log.check_directory(copy.directory, with_keys=False)["ok"]
    left = {path.name for path in copy.directory.rglob("*")} - {path.name for path in pristine.rglob("*")}
    assert not left, "the verifier left files behind"


@pytest.mark.parametrize("log, lsn", [("memory", 1), ("memory", 2), ("memory", 256), ("memory", 600), ("audit", 17)])
def test_a_flipped_byte_in_a_body_is_named(copy, log, lsn):
    """GOV-5.4, GOV-5.1: an altered entry is found and named, at every position of its body."""
    body = copy.body(lsn, log)
    for position in range(0, len(body), 7):
        copy.sql(f"UPDATE {log}_entry SET body = ? WHERE lsn = ?", flipped(body, position), lsn)
        faults = copy.faults(log)
        assert {at for at, _ in faults} == {lsn}, faults
        assert any("body is damaged" in what for _, what in faults), faults


def test_a_flipped_byte_in_a_sealed_part_is_named(copy):
    """GOV-4.5: content and provenance cannot be changed under their commitment."""
    sealed = copy.sql("SELECT sealed FROM memory_entry WHERE lsn = 290")[0][0]
    for position in (0, 15, 16, 27, 28, len(sealed) - 1):
        copy.sql("UPDATE memory_entry SET sealed = ? WHERE lsn = 290", flipped(sealed, position))
        lsn, what = copy.only_fault()
        assert (lsn, "commits to" in what) == (290, True)
    copy.sql("UPDATE memory_entry SET sealed = NULL WHERE lsn = 290")
    assert copy.only_fault()[0] == 290
    copy.sql("UPDATE memory_entry SET sealed = ? WHERE lsn = 290", sealed)
    copy.sql("UPDATE memory_entry SET sealed = ? WHERE lsn = 291", sealed)
    assert copy.only_fault()[0] == 291


def test_a_damaged_leaf_hash_is_told_from_a_damaged_body(copy):
    leaf = copy.sql("SELECT leaf FROM memory_entry WHERE lsn = 77")[0][0]
    for damaged in (flipped(leaf, 5), leaf[:31], b"", leaf.hex()):
        copy.sql("UPDATE memory_entry SET leaf = ? WHERE lsn = 77", damaged)
        faults = copy.faults()
        assert {lsn for lsn, _ in faults} == {77} and "leaf hash" in faults[0][1], faults


def test_an_entry_rewritten_with_its_leaf_is_found_by_the_next_head(copy):
    """GOV-5.1: a forger who also mends the leaf is stopped by the signed root."""
    body = copy.body(303)
    forged = flipped(body, body.index(b"default"))
    copy.sql("UPDATE memory_entry SET body = ?, leaf = ? WHERE lsn = 303", forged, leaf_hash(forged))
    before, after = copy.head_after(303)
    lsn, what = copy.only_fault()
    assert lsn == before + 1 and f"head {after} signed" in what


@pytest.mark.parametrize("change", ["text", "wrong type", "row number"])
def test_rows_of_the_wrong_shape_are_faults(copy, change):
    if change == "text":
        copy.sql("UPDATE memory_entry SET body = 'words' WHERE lsn = 30")
        assert {lsn for lsn, _ in copy.faults()} == {30}
    elif change == "wrong type":
        copy.sql("UPDATE memory_entry SET sealed = 3.5, body = 7 WHERE lsn = 30")
        assert {lsn for lsn, _ in copy.faults()} == {30}
    else:
        copy.sql("UPDATE memory_entry SET lsn = 1000000000000 WHERE lsn = 30")
        assert [lsn for lsn, _ in copy.faults()] == [30, 1000000000000]


def test_a_deleted_entry_is_named(copy):
    """GOV-5.1: nothing can be taken out."""
    copy.sql("DELETE FROM memory_entry WHERE lsn = 123")
    lsn, what = copy.only_fault()
    assert lsn == 123 and "missing" in what
    copy.sql("DELETE FROM memory_entry WHERE lsn BETWEEN 124 AND 130")
    assert copy.only_fault()[0] == 123


def test_closing_the_gap_of_a_deleted_entry_does_not_hide_it(copy):
    copy.sql("DELETE FROM memory_entry WHERE lsn = 550")
    for lsn in range(551, 601):
        copy.sql("UPDATE memory_entry SET lsn = lsn - 1 WHERE lsn = ?", lsn)
    faults = copy.faults()
    assert faults[0] == (550, "holds the body of entry 551") and faults[-1][0] == 600


def test_an_inserted_entry_is_named(copy):
    """GOV-5.1: nothing can be slipped in, in the middle or at the end."""
    for lsn in range(600, 549, -1):
        copy.sql("UPDATE memory_entry SET lsn = lsn + 1 WHERE lsn = ?", lsn)
    body = entry_body("memory", 550, None)
    copy.sql("INSERT INTO memory_entry VALUES (550, ?, NULL, ?)", body, leaf_hash(body))
    faults = copy.faults()
    assert faults[0] == (551, "holds the body of entry 550")
    assert any(lsn == 601 for lsn, _ in faults)


@pytest.mark.parametrize("source", [3, 599])
def test_a_duplicated_entry_is_named(copy, source):
    copy.sql("INSERT INTO memory_entry SELECT 601, body, sealed, leaf FROM memory_entry WHERE lsn = ?", source)
    assert {lsn for lsn, _ in copy.faults()} == {601}


def test_an_entry_appended_without_a_head_is_named(copy):
    body = entry_body("memory", 601, None)
    copy.sql("INSERT INTO memory_entry VALUES (601, ?, NULL, ?)", body, leaf_hash(body))
    lsn, what = copy.only_fault()
    assert lsn == 601 and "no good head" in what


@pytest.mark.parametrize("first, second", [(200, 201), (90, 410)])
def test_reordered_entries_are_named(copy, first, second):
    copy.sql("UPDATE memory_entry SET lsn = -1 WHERE lsn = ?", first)
    copy.sql("UPDATE memory_entry SET lsn = ? WHERE lsn = ?", first, second)
    copy.sql("UPDATE memory_entry SET lsn = ? WHERE lsn = -1", second)
    assert [lsn for lsn, _ in copy.faults()] == [first, second]


def test_a_cut_tail_is_found_by_the_heads(copy):
    """GOV-5.1: the newest entries cannot be dropped while their heads stand."""
    copy.sql("DELETE FROM memory_entry WHERE lsn > 590")
    lsn, what = copy.only_fault()
    assert lsn == 591 and "591 to 600" in what


def test_a_cut_tail_with_its_heads_is_found_by_the_witness(copy):
    """GOV-5.1: nor together with their heads, for the witness has seen them."""
    size = copy.head_after(580)[1]
    copy.sql("DELETE FROM memory_entry WHERE lsn > ?", size)
    copy.sql("DELETE FROM memory_head WHERE size > ?", size)
    faults = copy.faults()
    assert {lsn for lsn, _ in faults} == {size + 1}
    assert any("witness" in what for _, what in faults)


@pytest.mark.parametrize("column, length", [("root", 32), ("signature", 64)])
def test_an_altered_head_is_named(copy, column, length):
    size = copy.head_after(300)[1]
    value = copy.sql(f"SELECT {column} FROM memory_head WHERE size = ?", size)[0][0]
    for damaged in (flipped(value, 0), flipped(value, length - 1), value[1:], "text"):
        copy.sql(f"UPDATE memory_head SET {column} = ? WHERE size = ?", damaged, size)
        assert copy.only_fault()[1].startswith(f"head {size}: ")


def test_an_altered_head_time_or_size_is_named(copy):
    size = copy.head_after(300)[1]
    copy.sql("UPDATE memory_head SET time = time + 1 WHERE size = ?", size)
    assert copy.only_fault()[1] == f"head {size}: signature is not good"
    copy.sql("UPDATE memory_head SET time = time - 1, size = 5000000000 WHERE size = ?", size)
    assert copy.only_fault()[1] == "head 5000000000: signature is not good"


def test_a_signed_head_of_another_history_is_named(copy):
    """Two signed roots of one size are a fork, whoever signed."""
    size = copy.head_after(300)[1]
    other = bytes([1] * 32)
    signature = sign("memory", size, 5, other)
    copy.sql("UPDATE memory_head SET time = 5, root = ?, signature = ? WHERE size = ?", other, signature, size)
    lsn, what = copy.only_fault()
    assert lsn is None and what.startswith(f"head {size}: its root is not the log's")


def test_a_damaged_tile_is_named(copy):
    tile = copy.sql("SELECT hash FROM memory_tile WHERE idx = 1")[0][0]
    copy.sql("UPDATE memory_tile SET hash = ? WHERE idx = 1", flipped(tile, 9))
    assert copy.only_fault() == (None, "tile (8, 1): is not the subtree over entries 257 to 512")
    copy.sql("UPDATE memory_tile SET hash = ?, idx = 2 WHERE idx = 1", tile)
    assert copy.only_fault() == (None, "tile (8, 2): reaches beyond the log")


def test_an_altered_or_broken_witness_is_named(copy):
    witness = json.loads(copy.witness.read_text())
    witness["memory"]["root"] = "00" * 32
    copy.witness.write_text(json.dumps(witness))
    assert copy.only_fault() == (None, "the witness: signature is not good")
    copy.witness.write_text('{"memory": {"si')
    report = verify_log.check_directory(copy.directory)
    assert not report["ok"] and all("witness" in log["faults"][0]["what"] for log in report["tenants"][0]["logs"])


def test_swapped_data_keys_are_named_by_their_entries(copy):
    """GOV-10.2: a sealed part opens under its own key and no other."""
    first, second = key_number_of("memory", 100), key_number_of("memory", 500)
    wrapped = dict(copy.sql("SELECT id, wrapped FROM data_key", db=copy.key_db))
    copy.sql("UPDATE data_key SET wrapped = ? WHERE id = ?", wrapped[second], first, db=copy.key_db)
    copy.sql("UPDATE data_key SET wrapped = ? WHERE id = ?", wrapped[first], second, db=copy.key_db)
    faults = copy.faults()
    assert [lsn for lsn, _ in faults] == [100, 500] and f"data key {first}" in faults[0][1]
    assert not copy.faults(with_keys=False)


def test_a_data_key_wrapped_again_under_another_number_is_named(copy):
    """Whoever holds the master key can wrap, but not make another key open what was sealed."""
    number = key_number_of("audit", 40)
    forged = wrap_data_key(number, random.Random(2), secret=data_key_of(number + 1))
    copy.sql("UPDATE data_key SET wrapped = ? WHERE id = ?", forged, number, db=copy.key_db)
    assert copy.only_fault("audit") == (40, f"sealed part does not open under data key {number}")


def test_a_missing_data_key_is_named_by_its_entry(copy):
    number = key_number_of("memory", 10)
    copy.sql("DELETE FROM data_key WHERE id = ?", number, db=copy.key_db)
    assert copy.only_fault() == (10, f"data key {number} is missing")


def test_a_damaged_key_made_ahead_is_named(copy):
    number = copy.sql("SELECT max(id) FROM data_key", db=copy.key_db)[0][0]
    copy.sql("UPDATE data_key SET wrapped = zeroblob(60) WHERE id = ?", number, db=copy.key_db)
    lsn, what = copy.only_fault()
    assert lsn is None and what.startswith(f"data key {number}: ")


def test_a_data_key_used_twice_is_named(copy):
    """GOV-10.2: one key, one entry; else erasing one would erase the other."""
    number = key_number_of("memory", 10)
    body = encode([601, 1_800_000_000_000_000, [], [7, []], decode(copy.body(10))[4]])
    copy.sql(
        "INSERT INTO memory_entry SELECT 601, ?, sealed, ? FROM memory_entry WHERE lsn = 10", body, leaf_hash(body)
    )
    assert (601, f"data key {number} is used by memory entry 10 already") in copy.faults()


def test_another_signing_key_is_found(copy):
    """GOV-5.1: neither a swapped signing key nor a log signed anew by a forger passes."""
    forger = Ed25519PrivateKey.from_private_bytes(bytes([66] * 32))
    wrapped = wrap(MASTER, bytes([66] * 32), b"tabellion/v1/secret" + TENANT + b"signing", random.Random(3))
    copy.sql("UPDATE secret SET wrapped = ? WHERE name = 'signing'", wrapped, db=copy.key_db)
    assert copy.only_fault() == (None, "secret signing: is not the key that signs")

    for log in SIZES:
        for size, time, root in copy.sql(f"SELECT size, time, root FROM {log}_head"):
            signature = sign(log, size, time, root, forger)
            copy.sql(f"UPDATE {log}_head SET signature = ? WHERE size = ?", signature, size)
    copy.witness.unlink()
    assert copy.only_fault() == (1, "its public key is not the one that signs")


def test_a_pinned_public_key_is_held_against_the_log(copy):
    good = SIGNING.public_key().public_bytes_raw()
    assert not copy.faults(pinned=good)
    report = verify_log.check_directory(copy.directory, pinned=bytes([4]) + good[1:])
    assert not report["ok"]


def test_a_wrong_master_key_and_a_damaged_secret_are_named(copy, monkeypatch):
    monkeypatch.setenv("TABELLION_MASTER_KEY", "11" * 32)
    what = [what for _, what in verify_and_flatten(copy)]
    assert "secret signing: does not open under the master key" in what
    monkeypatch.delenv("TABELLION_MASTER_KEY")
    copy.sql("UPDATE secret SET wrapped = zeroblob(60) WHERE name = 'tenant'", db=copy.key_db)
    assert copy.only_fault() == (None, "secret tenant: does not open under the master key")


def verify_and_flatten(copy):
    logs = verify_log.check_directory(copy.directory)["tenants"][0]["logs"]
    return [(fault["lsn"], fault["what"]) for log in logs for fault in log["faults"]]


def test_damage_to_the_file_itself_does_not_stop_the_check(copy):
    """Zeroed pages make rows unreadable; every fault is still a report, and the rows elsewhere are still read."""
    intact = copy.log_db.read_bytes()
    rowless = copy.sql("SELECT rootpage FROM sqlite_master WHERE type = 'index' OR name = 'audit_tile'")
    page = 4096
    for number in range(1, len(intact) // page):
        copy.log_db.write_bytes(intact[: number * page] + bytes(page) + intact[(number + 1) * page :])
        assert verify_and_flatten(copy) or (number + 1,) in rowless, f"page {number + 1} zeroed and nothing found"
    for cut in (100, 5000, len(intact) // 2):
        copy.log_db.write_bytes(intact[:cut])
        assert verify_and_flatten(copy)
    copy.log_db.unlink()
    assert verify_and_flatten(copy)


def test_a_log_in_its_write_ahead_file_is_read(copy, tmp_path):
    """What is still in the WAL, as after a kill, counts."""
    live = sqlite3.connect(copy.log_db)
    live.execute("PRAGMA journal_mode = wal")
    body = entry_body("memory", 601, None)
    live.execute("INSERT INTO memory_entry VALUES (601, ?, NULL, ?)", (body, leaf_hash(body)))
    live.commit()
    assert copy.only_fault()[0] == 601
    live.close()


def test_faults_are_printed_and_counted_in_the_exit_code(copy, capsys):
    assert verify_log.main([str(copy.directory)]) == 0
    assert "600 entries" in capsys.readouterr().out
    copy.sql("DELETE FROM audit_entry WHERE lsn = 9")
    assert verify_log.main([str(copy.directory), "--tenant", NAME]) == 1
    assert "  entry 9: it is missing" in capsys.readouterr().out
    assert verify_log.main([str(copy.directory), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["tenants"][0]["logs"][1]["faults"][0]["lsn"] == 9
    for wrong in (["/nonexistent"], [str(copy.directory), "--tenant", "tnt_x"], [], ["--inclusion", "/nonexistent"]):
        assert verify_log.main(wrong) == 2


# --------------------------------------------------------------------------------------------------------- encoding


@pytest.mark.parametrize(
    "hex_bytes, value",
    [
        ("00", 0), ("17", 23), ("1818", 24), ("190100", 256), ("1a00010000", 65536), ("1b0000000100000000", 2**32),
        ("1bffffffffffffffff", 2**64 - 1), ("20", -1), ("4101", b"\x01"), ("6161", "a"), ("f4", False), ("f5", True),
        ("f6", None), ("fb3ff8000000000000", 1.5), ("820102", [1, 2]), ("80", []),
    ],
)  # fmt: skip
def test_canonical_forms_are_read(hex_bytes, value):
    """RFC 8949, appendix A."""
    assert decode(bytes.fromhex(hex_bytes)) == value
    if not isinstance(value, (bool, float)) and value != -1:
        assert encode(value).hex() == hex_bytes


@pytest.mark.parametrize(
    "hex_bytes, why",
    [
        ("1817", "shortest"), ("1900ff", "shortest"), ("1a0000ffff", "shortest"), ("1b00000000ffffffff", "shortest"),
        ("5801ff", "shortest"), ("9f01ff", "indefinite"), ("5f4101ff", "indefinite"), ("0000", "after the end"),
        ("c001", "tag"), ("f93c00", "64-bit"), ("fa3f800000", "64-bit"), ("f7", "simple"), ("f818", "simple"),
        ("62c328", "UTF-8"), ("4201", "cut short"), ("8201", "cut short"), ("", "cut short"), ("a10102", "map"),
        ("81" * 100 + "00", "deep"), ("9b7fffffffffffffff", "cut short"), ("1c", "reserved"),
    ],
)  # fmt: skip
def test_other_forms_are_refused(hex_bytes, why):
    with pytest.raises(Malformed, match=why):
        decode(bytes.fromhex(hex_bytes))


# ----------------------------------------------------------------------------------------------------------- proofs


def inclusion_path(index, leaves):
    """RFC 6962, 2.1.1, as it is written there."""
    if len(leaves) == 1:
        return []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    if index < k:
        return inclusion_path(index, leaves[:k]) + [root_of(leaves[k:])]
    return inclusion_path(index - k, leaves[k:]) + [root_of(leaves[:k])]


def consistency_path(size, leaves, whole=True):
    """RFC 6962, 2.1.2, as it is written there."""
    if size == len(leaves):
        return [] if whole else [root_of(leaves)]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    if size <= k:
        return consistency_path(size, leaves[:k], whole) + [root_of(leaves[k:])]
    return consistency_path(size - k, leaves[k:], False) + [root_of(leaves[:k])]


LEAVES = [leaf_hash(bytes([n])) for n in range(33)]


def test_inclusion_proofs():
    """GOV-5.4: a proof shows one entry in the log, and no other."""
    for size in range(1, len(LEAVES) + 1):
        root = root_of(LEAVES[:size])
        for index in range(size):
            path = inclusion_path(index, LEAVES[:size])
            assert verify_log.verify_inclusion(LEAVES[index], index, size, path, root)
            assert not verify_log.verify_inclusion(LEAVES[index], index + 1, size, path, root)
            assert not verify_log.verify_inclusion(bytes(32), index, size, path, root)
            assert not verify_log.verify_inclusion(LEAVES[index], index, size, path + [bytes(32)], root)
            if path:
                assert not verify_log.verify_inclusion(LEAVES[index], index, size, path[:-1], root)


def test_consistency_proofs():
    """GOV-5.1: a proof shows that a log only grew."""
    for size in range(1, len(LEAVES) + 1):
        to_root = root_of(LEAVES[:size])
        for older in range(1, size + 1):
            path, from_root = consistency_path(older, LEAVES[:size]), root_of(LEAVES[:older])
            assert verify_log.verify_consistency(older, size, path, from_root, to_root)
            assert not verify_log.verify_consistency(older, size, path, bytes(32), to_root)
            assert not verify_log.verify_consistency(older, size, path, from_root, bytes(32))
            assert not verify_log.verify_consistency(older, size, path + [bytes(32)], from_root, to_root)
            if path:
                assert not verify_log.verify_consistency(older, size, path[:-1], from_root, to_root)
        assert verify_log.verify_consistency(0, size, [], hashlib.sha256().digest(), to_root)


@pytest.mark.parametrize("time", [1_700_000_000_000_001, "2023-11-14T22:13:20.000001Z"])
def test_proof_files_with_their_head(tmp_path, capsys, time):
    root = root_of(LEAVES[:20])
    head = {"log": "memory", "tenant": NAME, "size": 20, "time": time, "root": root.hex()}
    head["signature"] = sign("memory", 20, 1_700_000_000_000_001, root).hex()
    head["public_key"] = SIGNING.public_key().public_bytes_raw().hex()
    inclusion = {"log": "memory", "lsn": 8, "size": 20, "leaf": LEAVES[7].hex(), "root": root.hex()}
    inclusion["path"] = [node.hex() for node in inclusion_path(7, LEAVES[:20])]
    consistency = {"log": "memory", "from": 9, "to": 20, "from_root": root_of(LEAVES[:9]).hex(), "to_root": root.hex()}
    consistency["path"] = [node.hex() for node in consistency_path(9, LEAVES[:20])]

    def exit_code(*changes, pin=head["public_key"]):
        files = {"head": head, "inclusion": inclusion, "consistency": consistency}
        argv = ["--public-key", pin]
        for name, content in files.items():
            (tmp_path / name).write_text(json.dumps({**content, **dict(c[1:] for c in changes if c[0] == name)}))
            argv += [f"--{name}", str(tmp_path / name)]
        return verify_log.main(argv)

    assert exit_code() == 0
    assert exit_code(("inclusion", "lsn", 9)) == 1
    assert exit_code(("consistency", "from", 10)) == 1
    assert exit_code(("head", "signature", "00" * 64)) == 1
    assert exit_code(("head", "log", "audit")) == 1
    assert exit_code(("head", "time", 1_700_000_000_000_002)) == 1
    assert exit_code(pin="00" * 32) == 1
    assert exit_code(("inclusion", "path", None)) == 2
