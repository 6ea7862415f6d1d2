"""The canonical form of a content, written a second time from RFC 8785: what the server hashes can be recomputed."""

import hashlib
import json
import struct
import unicodedata
from base64 import b32decode
from decimal import Decimal

CONTENT_FIELDS = ("kind", "key", "text", "triple", "fields", "tags")


def content_of(body):
    """The part of a write that is its content: what was left out or is empty does not appear."""
    content = {name: body[name] for name in CONTENT_FIELDS if body.get(name)}
    return {"kind": "note", **content}


def canonical(value):
    """RFC 8785 bytes of a JSON value, its strings in NFC."""
    return text_of(value).encode()


def text_of(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: nfc(name).encode("utf-16-be"))
        return "{" + ",".join(f"{text_of(name)}:{text_of(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, str):
        return json.dumps(nfc(value), ensure_ascii=False)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return number(float(value))


def nfc(text):
    return unicodedata.normalize("NFC", text)


def number(value):
    """A number as ECMAScript writes it."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, digits))
    point = len(digits) + exponent
    if 0 < point <= 21:
        text = digits.ljust(point, "0") if point >= len(digits) else f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return "-" * sign + text


def content_hash(body):
    return hashlib.sha256(canonical(content_of(body))).hexdigest()


def idempotency_token(body, agent):
    """SHA-256 over content, agent and layer, each behind its length in four bytes."""
    digest = hashlib.sha256()
    for part in canonical(content_of(body)), id_bytes(agent), body.get("layer", "episodic").encode():
        digest.update(struct.pack(">I", len(part)) + part)
    return digest.hexdigest()


def id_bytes(id):
    """The 16 bytes behind an id's prefix."""
    return b32decode(id.split("_")[1].upper() + "======")
