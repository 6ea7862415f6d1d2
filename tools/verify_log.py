#!/usr/bin/env python3
"""Checks a Tabellion data directory, or a proof that a server gave, without any code of the server.

    verify_log.py DIR [--tenant tnt_…] [--public-key HEX] [--no-keys] [--json]
    verify_log.py --inclusion PROOF.json   [--head HEAD.json] [--public-key HEX]
    verify_log.py --consistency PROOF.json [--head HEAD.json] [--public-key HEX]

It follows docs/log-format.md and nothing else. It writes nothing, reads row by row, and keeps going after a fault, so
that one damaged row is named and the rest is still checked. The master key comes from TABELLION_MASTER_KEY or from
DIR/keys/master.key; `--no-keys` leaves out what needs it. Exit code: 0 all good, 1 faults found, 2 cannot run.
"""

import argparse
import base64
import hashlib
import itertools
import json
import os
import re
import sqlite3
import struct
import sys
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple, Optional

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

LOGS = ("memory", "audit")
LOSS_ACCEPTED = 33  # the variant of an event
LOST_PARTS = ["memory log", "audit log", "waiting writes", "witness"]
TILE_LEVELS = (8, 16, 24)
CBOR_DEPTH_MAX = 64
AMBIGUOUS_MAX = 8  # entries between two heads whose body and leaf disagree, all combinations of which are tried
LSN_MIN, LSN_MAX = -(2**63), 2**63 - 1


class CannotRun(Exception):
    """The check could not be made: wrong arguments, no key, no such directory."""


class Malformed(Exception):
    """Bytes or JSON that do not have the form they should."""


class Fault(NamedTuple):
    lsn: Optional[int]  # the entry concerned; None where `what` names a head, a tile or a key
    what: str


# ---------------------------------------------------------------------------------------------- deterministic CBOR


def decode(data):
    """One deterministic CBOR item that fills `data`: shortest integers, definite lengths, 64-bit floats, no tags."""
    value, end = _item(data, 0, 0)
    if end != len(data):
        raise Malformed(f"{len(data) - end} bytes after the end")
    return value


def _take(data, at, count):
    if at + count > len(data):
        raise Malformed("cut short")
    return data[at : at + count], at + count


def _argument(data, at, info):
    """The number that goes with an initial byte, refused if fewer bytes could hold it."""
    if info < 24:
        return info, at
    if info > 27:
        raise Malformed("indefinite or reserved length")
    raw, at = _take(data, at, 1 << (info - 24))
    value = int.from_bytes(raw, "big")
    if value < (24, 1 << 8, 1 << 16, 1 << 32)[info - 24]:
        raise Malformed("integer not in its shortest form")
    return value, at


def _item(data, at, depth):
    if depth > CBOR_DEPTH_MAX:
        raise Malformed("nested too deep")
    initial, at = _take(data, at, 1)
    major, info = initial[0] >> 5, initial[0] & 31
    if major == 7:
        return _simple(data, at, info)
    count, at = _argument(data, at, info)
    if major == 0:
        return count, at
    if major == 1:
        return -1 - count, at
    if major == 2:
        return _take(data, at, count)
    if major == 3:
        raw, at = _take(data, at, count)
        try:
            return raw.decode(), at
        except UnicodeDecodeError:
            raise Malformed("text is not UTF-8") from None
    if major == 4:
        items = []
        for _ in range(count):
            item, at = _item(data, at, depth + 1)
            items.append(item)
        return items, at
    raise Malformed("map or tag")


def _simple(data, at, info):
    if info == 27:
        raw, at = _take(data, at, 8)
        return struct.unpack(">d", raw)[0], at
    if info in (20, 21, 22):
        return (False, True, None)[info - 20], at
    raise Malformed("float that is not 64-bit, or unknown simple value")


def encode(value):
    """Deterministic CBOR of non-negative integers, bytes, texts, None and lists of them."""
    if value is None:
        return b"\xf6"
    if isinstance(value, int):
        return _initial(0, value)
    if isinstance(value, bytes):
        return _initial(2, len(value)) + value
    if isinstance(value, str):
        return _initial(3, len(value.encode())) + value.encode()
    return _initial(4, len(value)) + b"".join(map(encode, value))


def _initial(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    width = next(w for w in range(4) if number < 1 << (8 << w))
    return bytes([major << 5 | 24 + width]) + number.to_bytes(1 << width, "big")


# ------------------------------------------------------------------------------------------- Merkle tree (RFC 6962)


def leaf_hash(body):
    return hashlib.sha256(b"\x00" + body).digest()


def node_hash(left, right):
    """None stands for a subtree with a missing leaf; whatever holds it is unknown too."""
    if left is None or right is None:
        return None
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of a growing tree: enough to append a leaf and to give the root at any size on the way."""

    def __init__(self, size=0, peaks=()):
        self.size = size
        self.peaks = list(peaks)
        self.tiles = {}  # subtrees completed since this frontier was made: (level, index) -> hash

    def grown(self, leaves):
        other = Frontier(self.size, self.peaks)
        for leaf in leaves:
            other._append(leaf)
        return other

    def _append(self, node):
        level, index = 0, self.size
        self.size += 1
        while index & 1:
            node = node_hash(self.peaks.pop(), node)
            level, index = level + 1, index >> 1
            if level in TILE_LEVELS:
                self.tiles[level, index] = node
        self.peaks.append(node)

    def root(self):
        if not self.peaks:
            return hashlib.sha256().digest()
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


def verify_inclusion(leaf, index, size, path, root):
    """RFC 9162, 2.1.3.2: whether `leaf` is leaf number `index` (from 0) of the tree of `size` leaves with `root`."""
    if not 0 <= index < size:
        return False
    fn, sn, node = index, size - 1, leaf
    for sibling in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            node = node_hash(sibling, node)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = node_hash(node, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and node == root


def verify_consistency(from_size, to_size, path, from_root, to_root):
    """RFC 9162, 2.1.4.2: whether the tree of `to_size` leaves continues the one of `from_size`."""
    if not 0 <= from_size <= to_size:
        return False
    if from_size == to_size:
        return not path and from_root == to_root
    if from_size == 0:
        return not path and from_root == hashlib.sha256().digest()
    path = list(path)
    if from_size & (from_size - 1) == 0:
        path.insert(0, from_root)
    if not path:
        return False
    fn, sn = from_size - 1, to_size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            new = node_hash(new, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and old == from_root and new == to_root


# ------------------------------------------------------------------------------------------------------ tree heads


class Head(NamedTuple):
    label: str
    size: int
    time: int
    root: bytes
    signature: bytes

    def signed_by(self, public_key, log, tenant):
        message = encode(["tabellion/v1/head", log, tenant, self.size, self.time, self.root])
        try:
            Ed25519PublicKey.from_public_bytes(public_key).verify(self.signature, message)
            return True
        except (InvalidSignature, ValueError):
            return False


def head_from(label, size, time, root, signature):
    """A head, if each part has the type and length it should."""
    if not (is_count(size) and is_count(time) and is_bytes(root, 32) and is_bytes(signature, 64)):
        raise Malformed("wrong types or lengths")
    return Head(label, size, time, root, signature)


def head_from_json(label, value):
    try:
        root, signature = bytes.fromhex(value["root"]), bytes.fromhex(value["signature"])
        return head_from(label, value["size"], micros(value["time"]), root, signature)
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"not a tree head: {error!r}") from None


def micros(time):
    """Microseconds since 1970 of an integer or an RFC 3339 time."""
    if is_count(time):
        return time
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:[Zz]|\+00:00)", time)
    if not match:
        raise Malformed(f"not a time in UTC: {time!r}")
    whole = datetime.fromisoformat(f"{match[1]}T{match[2]}").replace(tzinfo=timezone.utc)
    return int(whole.timestamp()) * 1_000_000 + int((match[3] or "0").ljust(6, "0"))


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def is_bytes(value, length):
    return isinstance(value, bytes) and len(value) == length


# -------------------------------------------------------------------------------------------------------- database


def open_database(path):
    """A read-only connection that sees one state of the file. A file without a WAL is read without touching it."""
    if not path.is_file():
        raise sqlite3.OperationalError("no such file")
    wal = path.with_name(path.name + "-wal")
    mode = "mode=ro" if wal.exists() and wal.stat().st_size else "immutable=1"
    db = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, isolation_level=None)
    db.text_factory = lambda raw: raw.decode(errors="replace")  # a damaged text must not stop the reading
    db.execute("BEGIN")
    return db


def walk(db, table, key, columns, last):
    """Rows by ascending key, one query each: (key, row), or (key, error) for what cannot be read up to key `last`."""
    query = f"SELECT {key}, {columns} FROM {table} WHERE {key} >= ? ORDER BY {key} LIMIT 1"
    at = LSN_MIN
    while at <= LSN_MAX:
        try:
            row = db.execute(query, (at,)).fetchone()
        except sqlite3.Error as error:
            at = max(at, 1)
            yield at, error
            if at >= last:
                return
            at += 1
            continue
        if row is None:
            return
        if not isinstance(row[0], int):
            yield max(at, 1), sqlite3.DatabaseError(f"{key} is not an integer")
            return
        yield row[0], row[1:]
        at = row[0] + 1


def greatest(db, table, key):
    try:
        return db.execute(f"SELECT max({key}) FROM {table}").fetchone()[0] or 0
    except sqlite3.Error:
        return 0


# ------------------------------------------------------------------------------------------------------- key store


class Vault:
    """The secrets and data keys of one tenant, unwrapped. What does not open is kept with the reason."""

    def __init__(self, path, tenant, master):
        self.faults = []
        self.data_keys, self.broken = {}, {}
        self.user_of, self.blamed = {}, set()  # which entry a key sealed; broken keys that an entry needs
        self.tenant = tenant
        try:
            with closing(open_database(path)) as db:
                secrets = self._secrets(db, master)
                self._data_keys(db, secrets)
        except sqlite3.Error as error:
            self.faults.append(f"key store: cannot be read: {error}")
            secrets = {}
        seed = secrets.get("signing")
        self.public_key = seed and Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()

    def _secrets(self, db, master):
        secrets = {}
        for name, wrapped in db.execute("SELECT name, wrapped FROM secret"):
            secrets[name] = unwrap(master, wrapped, b"tabellion/v1/secret" + self.tenant + str(name).encode())
            if secrets[name] is None:
                self.faults.append(f"secret {name}: does not open under the master key")
        self.faults += [f"secret {name}: missing" for name in ("signing", "tenant") if name not in secrets]
        return secrets

    def _data_keys(self, db, secrets):
        for number, row in walk(db, "data_key", "id", "epoch, wrapped", greatest(db, "data_key", "id")):
            if isinstance(row, sqlite3.Error) or number < 0:
                self.broken[number] = f"data key {number}: cannot be read: {row}"
                continue
            epoch, wrapped = row
            secret = secrets.get(f"epoch/{epoch}")
            data_key = unwrap(secret, wrapped, b"tabellion/v1/data_key" + self.tenant + number.to_bytes(8, "big"))
            if data_key is None:
                self.broken[number] = f"data key {number}: does not open under secret epoch/{epoch}"
            else:
                self.data_keys[number] = data_key

    def check(self, log, lsn, number, sealed):
        """Why the sealed part of an entry does not open under data key `number`, or None when it does."""
        if sealed is None:
            held = number in self.data_keys or number in self.broken
            return f"sealed part is gone, though its data key {number} is not" if held else None
        if number not in self.data_keys:
            self.blamed.add(number)
            return self.broken.get(number, f"data key {number} is missing")
        associated = b"tabellion/v1/sealed" + self.tenant + number.to_bytes(8, "big")
        if unseal(self.data_keys[number], sealed[16:28], sealed[28:], associated) is None:
            return f"sealed part does not open under data key {number}"
        first = self.user_of.setdefault(number, (log, lsn))
        return None if first == (log, lsn) else f"data key {number} is used by {first[0]} entry {first[1]} already"

    def remaining_faults(self):
        return self.faults + [why for number, why in self.broken.items() if number not in self.blamed]


def unseal(key, nonce, ciphertext, associated):
    try:
        return ChaCha20Poly1305(key).decrypt(nonce, ciphertext, associated)
    except (InvalidTag, ValueError, TypeError):
        return None


def unwrap(key, wrapped, associated):
    """The 32 bytes that were wrapped, or None."""
    if key is None or not is_bytes(wrapped, 60):
        return None
    return unseal(key, wrapped[:12], wrapped[12:], associated)


# --------------------------------------------------------------------------------------------------------- one log


class LogCheck:
    """Walks one log of one tenant once, entries and signed heads side by side, and collects faults."""

    def __init__(self, db, log, tenant, witness, vault):
        self.db, self.log, self.tenant, self.vault = db, log, tenant, vault
        self.faults = []
        self.losses = []  # what was lost before, as entries record it
        self.heads = []  # every well-formed head, and the witness as one more
        self.suspects = set()  # entries already known not to be what was appended
        self.tree, self.segment = Frontier(), []  # the tree at the last signed head; (lsn, leaves it may have) since
        self.tiles = {}
        self.confirmed = 0  # the largest size whose signed root came out
        self.wrong = []  # signed heads whose root did not
        self.time = 0
        self._read_heads()
        self._read_witness(witness)

    def fault(self, lsn, what, suspect=False):
        self.faults.append(Fault(lsn, what))
        if suspect:
            self.suspects.add(lsn)

    def _read_heads(self):
        failed = False
        last = greatest(self.db, f"{self.log}_entry", "lsn")
        for size, row in walk(self.db, f"{self.log}_head", "size", "time, root, signature", last):
            if isinstance(row, sqlite3.Error):
                if not failed:
                    self.fault(None, f"head {size} or a later one: cannot be read: {row}")
                failed = True
                continue
            failed = False
            try:
                self.heads.append(head_from(f"head {size}", size, *row))
            except Malformed as error:
                self.fault(None, f"head {size}: {error}")

    def _read_witness(self, witness):
        if witness is None:
            return
        try:
            self.heads.append(head_from_json("the witness", witness))
        except Malformed as error:
            self.fault(None, f"the witness: {error}")

    def run(self, public_key):
        """All checks under one public key. Returns what `--json` shows of this log."""
        signed = {}
        for head in self.heads:
            if public_key and head.signed_by(public_key, self.log, self.tenant):
                signed.setdefault(head.size, []).append(head)
            else:
                self.fault(None, f"{head.label}: signature is not good")
        size = self._entries(signed)
        self._settle(())
        self._roots(signed, size)
        self._tiles()
        faults = sorted(set(self.faults), key=lambda f: (f.lsn is None, f.lsn or 0, f.what))
        root = self.tree.root()
        return {
            "log": self.log,
            "size": size,
            "root": root and root.hex(),
            "faults": [fault._asdict() for fault in faults],
            "losses": [loss._asdict() for loss in self.losses],
        }

    def _entries(self, signed):
        claimed = max(signed, default=0)
        following = 1
        for lsn, row in walk(self.db, f"{self.log}_entry", "lsn", "body, sealed, leaf", claimed):
            if lsn < following or lsn - 1 > max(claimed, following - 1):
                self.fault(lsn, f"out of sequence: no entry {lsn - 1} comes before it", suspect=True)
                continue
            self._missing(following, lsn - 1, signed)
            self._place(lsn, self._entry(lsn, row), signed)
            following = lsn + 1
        self._missing(following, claimed, signed)
        return max(following - 1, claimed)

    def _missing(self, first, last, signed):
        if first > last:
            return
        which = f"entries {first} to {last} are" if first < last else "it is"
        covering = min((size for size in signed if size >= last), default=None)
        though = f", though {signed[covering][0].label} covers {last}" if covering else ""
        self.fault(first, f"{which} missing{though}")
        self.suspects.update((first, last))
        for lsn in range(first, last + 1):
            self._place(lsn, [None], signed)

    def _entry(self, lsn, row):
        """Checks what one row can show by itself. Returns the leaf hashes it may stand for, the stored one first."""
        if isinstance(row, sqlite3.Error):
            self.fault(lsn, f"cannot be read: {row}", suspect=True)
            return [None]
        body, sealed, leaf = row
        leaves = [leaf] if is_bytes(leaf, 32) else []
        if not leaves:
            self.fault(lsn, "stored leaf hash is not a blob of 32 bytes")
        if not isinstance(body, bytes):
            self.fault(lsn, "body is not a blob", suspect=True)
            return leaves or [None]
        if leaf_hash(body) not in leaves:
            leaves.append(leaf_hash(body))
        try:
            entry = decode(body)
            inner_lsn, time, commitment = outer_fields(entry)
        except (Malformed, RecursionError) as error:
            self.fault(lsn, f"body is not canonical: {error}", suspect=True)
            return leaves
        intact = len(leaves) == 1
        if intact and isinstance(entry[3], list) and entry[3][0] == LOSS_ACCEPTED:
            self.losses.append(Fault(lsn, "the operator accepted a loss: " + loss_of(entry[3][1])))
        if inner_lsn != lsn:
            self.fault(lsn, f"holds the body of entry {inner_lsn}", suspect=True)
        elif intact:
            if time < self.time:
                self.fault(lsn, f"time goes back from {self.time} to {time}")
            self.time = time
        self._sealed(lsn, sealed, commitment, intact)
        return leaves

    def _sealed(self, lsn, sealed, commitment, intact):
        if commitment is None:
            if sealed is not None:
                self.fault(lsn, "has a sealed part, but its body commits to none")
            return
        number, digest = commitment
        if sealed is not None and not isinstance(sealed, bytes):
            self.fault(lsn, "sealed part is not a blob")
        elif sealed is not None and hashlib.sha256(b"\x02" + sealed).digest() != digest:
            self.fault(lsn, "sealed part is not the one its body commits to")
        elif self.vault and intact:
            why = self.vault.check(self.log, lsn, number, sealed)
            if why:
                self.fault(lsn, why)

    def _place(self, lsn, leaves, signed):
        self.segment.append((lsn, leaves))
        if lsn in signed:
            self._settle(signed[lsn])

    def _settle(self, heads):
        """Takes the entries since the last signed head into the tree, choosing leaves by what the root says."""
        roots = {head.root for head in heads}
        grown, chosen = self._grow(roots)
        found = grown.root()
        for (lsn, leaves), leaf in zip(self.segment, chosen):
            if len(leaves) < 2:
                continue
            if found not in roots:
                self.fault(lsn, "body and stored leaf hash disagree", suspect=True)
            elif leaf == leaves[0]:
                self.fault(lsn, "body is damaged: the signed root has the stored leaf hash", suspect=True)
            else:
                self.fault(lsn, "stored leaf hash is damaged: the signed root has the body", suspect=True)
        self.tree, self.segment = grown, []
        self.tiles.update(grown.tiles)
        if found in roots:
            self.confirmed = grown.size
        self.wrong += [head for head in heads if found is not None and head.root != found]

    def _grow(self, roots):
        """The tree with the segment's leaves: those under which a signed root comes out, else the stored ones."""
        choices = [leaves for _, leaves in self.segment]
        stored = [leaves[0] for leaves in choices]
        if sum(len(leaves) > 1 for leaves in choices) <= AMBIGUOUS_MAX:
            trials = itertools.product(*choices)
        else:
            trials = [stored, [leaves[-1] for leaves in choices]]
        first = None
        for chosen in trials:
            grown = self.tree.grown(chosen)
            first = first or (grown, chosen)
            if grown.root() in roots:
                return grown, chosen
            if not roots:
                break
        return first

    def _roots(self, signed, size):
        """Says of each wrong root whether the head is off or the entries under it are."""
        for head in self.wrong:
            if head.size <= self.confirmed:
                self.fault(None, f"{head.label}: its root is not the log's at size {head.size}, though signed")
        wrong = next((head for head in self.wrong if head.size > self.confirmed), None)
        if wrong and not any(self.confirmed < lsn <= wrong.size for lsn in self.suspects):
            first = self.confirmed + 1
            which = "it is" if first == wrong.size else f"among entries {first} to {wrong.size} one or more are"
            self.fault(first, f"{which} not what {wrong.label} signed")
        newest = max((s for s in signed if any(h.label != "the witness" for h in signed[s])), default=0)
        if size > newest:
            self.fault(newest + 1, f"no good head covers entries {newest + 1} to {size}")

    def _tiles(self):
        """Tiles over leaves that no good root confirms are left out: those leaves are reported already."""
        try:
            rows = self.db.execute(f"SELECT level, idx, hash FROM {self.log}_tile ORDER BY level, idx").fetchall()
        except sqlite3.Error as error:
            return self.fault(None, f"tiles: cannot be read: {error}")
        for level, index, stored in rows:
            if level not in TILE_LEVELS or not is_count(index):
                self.fault(None, f"tile ({level}, {index}): no such tile")
                continue
            first, last = (index << level) + 1, (index + 1) << level
            if last > self.tree.size:
                self.fault(None, f"tile ({level}, {index}): reaches beyond the log")
            elif last <= self.confirmed and self.tiles[level, index] != stored:
                self.fault(None, f"tile ({level}, {index}): is not the subtree over entries {first} to {last}")


def loss_of(fields):
    """What an entry of variant 33 says in words: [[part, found, seen, root]]."""
    match fields:
        case [[int(part), int(found), int(seen), *_]]:
            name = LOST_PARTS[part] if part < len(LOST_PARTS) else f"part {part}"
            return f"of {seen} in the {name}, {found} were found" if seen else f"the {name}"
    return "not readable"


def outer_fields(entry):
    """(lsn, time, commitment or None) of a decoded body. Fields absent at the end may be left out."""
    if not isinstance(entry, list) or not 4 <= len(entry) <= 5:
        raise Malformed("not an entry")
    lsn, time, actor, event, sealed = (entry + [None])[:5]
    if not (is_count(lsn) and is_count(time)):
        raise Malformed("lsn or time is not a number")
    if not (isinstance(actor, list) and len(actor) <= 2 and all(a is None or is_bytes(a, 16) for a in actor)):
        raise Malformed("actor is not [user, agent]")
    if not (is_count(event) or isinstance(event, list) and len(event) == 2 and is_count(event[0])):
        raise Malformed("event is not [variant, fields]")
    if sealed is None:
        return lsn, time, None
    if not (isinstance(sealed, list) and len(sealed) == 2 and is_count(sealed[0]) and is_bytes(sealed[1], 32)):
        raise Malformed("sealed is not [key, commitment]")
    return lsn, time, tuple(sealed)


# ------------------------------------------------------------------------------------------- tenants and directory


def tenant_bytes(name):
    digits = name[4:]
    if not re.fullmatch("tnt_[a-z2-7]{26}", name):
        raise CannotRun(f"not a tenant id: {name}")
    return base64.b32decode(digits.upper() + "======")


def founding(db, tenant):
    """The public key that entry 1 of the memory log names, or why it names none."""
    try:
        row = db.execute("SELECT body FROM memory_entry WHERE lsn = 1").fetchone()
        if row is None:
            return None, "founds the tenant, and is missing"
        variant, fields = decode(row[0])[3]
        if variant != 0 or fields[0] != tenant:
            return None, "does not found this tenant"
        return (fields[1], None) if is_bytes(fields[1], 32) else (None, "names no public key")
    except (sqlite3.Error, Malformed, TypeError, ValueError, IndexError) as error:
        return None, f"names no public key: {error}"


def choose_public_key(candidates, checks, tenant):
    """The first key under which a head verifies, so that one damaged copy of the key costs one fault, not all heads."""
    heads = [(head, check.log) for check in checks for head in check.heads[-3:]]
    good = (key for key in candidates if any(head.signed_by(key, log, tenant) for head, log in heads))
    return next(good, candidates[0] if candidates else None)


def read_witness(path):
    """The newest heads as kept beside the keys. While a tenant is being founded they are null."""
    try:
        witness = json.loads(path.read_bytes())
        return witness if isinstance(witness, dict) else {log: witness for log in LOGS}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return {log: "unreadable" for log in LOGS}


def check_tenant(directory, name, master=None, pinned=None):
    """Checks one tenant. Without `master`, the key store is left out; `pinned` is a public key known from elsewhere."""
    tenant = tenant_bytes(name)
    witness = read_witness(directory / "keys" / f"{name}.witness")
    try:
        with closing(open_database(directory / "tenants" / name / "log.db")) as db:
            vault = Vault(directory / "keys" / f"{name}.db", tenant, master) if master else None
            checks = [LogCheck(db, log, tenant, witness.get(log), vault) for log in LOGS]
            memory = checks[0]
            named, why = founding(db, tenant)
            held = vault.public_key if vault else None
            candidates = [pinned] if pinned else [key for key in (held, named) if key]
            public_key = choose_public_key(candidates, checks, tenant)
            if why or named != public_key:
                memory.fault(1, why or "its public key is not the one that signs", suspect=True)
            if held and held != public_key:
                memory.fault(None, "secret signing: is not the key that signs")
            logs = [check.run(public_key) for check in checks]
            if vault:
                logs[0]["faults"] += [Fault(None, what)._asdict() for what in vault.remaining_faults()]
    except sqlite3.Error as error:
        unreadable = [Fault(None, f"log.db: cannot be read: {error}")._asdict()]
        logs = [{"log": log, "size": 0, "root": None, "faults": unreadable} for log in LOGS]
    return {"tenant": name, "logs": logs}


def check_directory(directory, only=None, with_keys=True, pinned=None):
    """Checks every tenant, or the one named. Returns what `--json` prints."""
    directory = Path(directory)
    stored = {path.name for path in (directory / "tenants").glob("tnt_*")}
    keyed = {path.stem for path in (directory / "keys").glob("tnt_*.db")}
    names = [only] if only else sorted(stored | keyed)
    if not names:
        raise CannotRun(f"no tenants in {directory}")
    master = master_key(directory) if with_keys else None
    tenants = [check_tenant(directory, name, master, pinned) for name in names]
    ok = not any(log["faults"] for tenant in tenants for log in tenant["logs"])
    return {"ok": ok, "tenants": tenants}


def master_key(directory):
    try:
        text = os.environ.get("TABELLION_MASTER_KEY") or (directory / "keys" / "master.key").read_text()
        key = bytes.fromhex(text.strip())
    except (OSError, ValueError) as error:
        raise CannotRun(f"no master key ({error}); --no-keys checks without it") from None
    if len(key) != 32:
        raise CannotRun("the master key is not 64 hex digits")
    return key


# ---------------------------------------------------------------------------------------------------------- proofs


def check_proof(kind, proof, head, pinned):
    """Faults of one proof as the server gave it, and of the head it should lead to."""
    faults = []
    try:
        path = [bytes.fromhex(node) for node in proof["path"]]
        if kind == "inclusion":
            size, root = proof["size"], bytes.fromhex(proof["root"])
            good = verify_inclusion(bytes.fromhex(proof["leaf"]), proof["lsn"] - 1, size, path, root)
        else:
            size, root = proof["to"], bytes.fromhex(proof["to_root"])
            good = verify_consistency(proof["from"], size, path, bytes.fromhex(proof["from_root"]), root)
    except (KeyError, TypeError, ValueError) as error:
        raise CannotRun(f"not a proof of {kind}: {error!r}") from None
    if not good:
        faults.append(f"proof of {kind} does not lead to the root it names")
    if head is not None:
        faults += check_head(head, pinned)
        if (head["log"], head["size"], head["root"]) != (proof["log"], size, root.hex()):
            faults.append("head is not the one the proof leads to")
    return faults


def check_head(value, pinned):
    try:
        head, tenant = head_from_json("head", value), tenant_bytes(value["tenant"])
        public_key, log = bytes.fromhex(value["public_key"]), value["log"]
    except (Malformed, KeyError, TypeError, ValueError) as error:
        raise CannotRun(f"not a head: {error}") from None
    faults = []
    if pinned and pinned != public_key:
        faults.append("head names another public key than the one given")
    if not head.signed_by(pinned or public_key, log, tenant):
        faults.append("head: signature is not good")
    return faults


# ---------------------------------------------------------------------------------------------------- command line


def arguments(argv):
    parser = argparse.ArgumentParser(description="Checks a Tabellion data directory or a proof.", allow_abbrev=False)
    parser.add_argument("directory", nargs="?", metavar="DIR")
    parser.add_argument("--tenant", metavar="tnt_…", help="check this tenant only")
    parser.add_argument("--public-key", metavar="HEX", help="the key that must have signed, known from elsewhere")
    parser.add_argument("--no-keys", action="store_true", help="leave out what needs the master key")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inclusion", metavar="FILE", help="check the answer of GET /v1/proofs/inclusion")
    parser.add_argument("--consistency", metavar="FILE", help="check the answer of GET /v1/proofs/consistency")
    parser.add_argument("--head", metavar="FILE", help="the answer of GET /v1/proofs/head that the proof leads to")
    return parser.parse_args(argv)


def load_json(path):
    try:
        return json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise CannotRun(f"{path}: {error}") from None


def run(args):
    pinned = None
    if args.public_key:
        if not re.fullmatch("[0-9a-fA-F]{64}", args.public_key):
            raise CannotRun("--public-key takes 64 hex digits")
        pinned = bytes.fromhex(args.public_key)
    if args.directory:
        report = check_directory(args.directory, args.tenant, not args.no_keys, pinned)
        print(json.dumps(report) if args.json else "\n".join(lines(report)))
        return report["ok"]
    head = load_json(args.head) if args.head else None
    faults = []
    for kind in ("inclusion", "consistency"):
        if getattr(args, kind):
            faults += check_proof(kind, load_json(getattr(args, kind)), head, pinned)
    if not (args.inclusion or args.consistency):
        if head is None:
            raise CannotRun("give DIR, --inclusion, --consistency or --head")
        faults += check_head(head, pinned)
    report = {"ok": not faults, "faults": [{"lsn": None, "what": what} for what in faults]}
    print(json.dumps(report) if args.json else "\n".join(faults or ["good"]))
    return report["ok"]


def lines(report):
    for tenant in report["tenants"]:
        for log in tenant["logs"]:
            count = len(log["faults"])
            verdict = "good" if not count else f"{count} fault{'s' * (count > 1)}"
            yield f"{tenant['tenant']} {log['log']}: {log['size']} entries, root {log['root']}: {verdict}"
            for loss in log.get("losses", []):
                yield f"  entry {loss['lsn']}: {loss['what']}"
            for fault in log["faults"]:
                yield "  " + (f"entry {fault['lsn']}: " if fault["lsn"] is not None else "") + fault["what"]


def main(argv=None):
    try:
        return 0 if run(arguments(argv)) else 1
    except CannotRun as error:
        print(f"verify_log: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
