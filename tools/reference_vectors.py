#!/usr/bin/env python3
"""Computes sentence vectors with all-MiniLM-L6-v2 in plain numpy, as an outside check on the embedder of the server.

    reference_vectors.py MODEL_DIR [--out FILE]
    reference_vectors.py MODEL_DIR --check TOKENIZER_JSON

MODEL_DIR holds model.safetensors and vocab.txt. The script shares no code with the server: it reads the weights, cuts
the text into word pieces and runs the network by itself, in 64-bit floats. It writes the texts below with their
vectors to FILE, which the tests of the embedder compare with. `--check` compares the word pieces of these texts with
those of the `tokenizers` package instead, and writes nothing. Needs numpy. Exit code: 0 all good, 1 a text differs.
"""

import argparse
import hashlib
import json
import math
import struct
import sys
import unicodedata
from pathlib import Path

import numpy as np

LAYERS = 6
HEADS = 12
WIDTH = 384
EPSILON = 1e-12
MAX_TOKENS = 256  # with the [CLS] and [SEP] around the text
MAX_WORD_CHARS = 100  # a longer word becomes one [UNK]
DEFAULT_OUT = Path(__file__).resolve().parent.parent / "crates/models/tests/fixtures/minilm_vectors.json"

TEXTS = [
    "",
    " ",
    ".",
    "?!",
    "a",
    "I",
    "42",
    "3.14159 -1,000,000 1e-9 50% $19.99",
    "hello world",
    "Hello, World!",
    "HELLO WORLD IN CAPITALS",
    "The quick brown fox jumps over the lazy dog.",
    "A fox that is quick and brown leaps across a dog that is lazy.",
    "I went hiking with my sister last weekend and we saw two deer.",
    "When did Ana go hiking?",
    "It doesn't matter; we'll see what they've done, won't we?",
    "The meeting moved from 3 May 2023, 14:30 UTC to 2023-05-04T09:00:00Z.",
    "state-of-the-art well-known mother-in-law's e-mail",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 100,
    "x" * 101,
    "short " + "loooong" * 40 + " short",
    "https://example.org/a/path?query=1&other=%C3%A9#part and someone@example.org",
    "fn main() { let v: Vec<u8> = b\"ab\".to_vec(); println!(\"{:?}\", v); }",
    "SELECT id, text FROM items WHERE tenant = ?1 AND deleted_at IS NULL ORDER BY id;",
    '{"key": [1, 2.5, null, true], "nested": {"a": "b"}}',
    "C:\\Users\\ana\\file.txt ~/.config ../up /usr/bin/env",
    "# Title\n\n- one\n- two\n\n```\ncode\n```\n",
    "\ttabs\tand\nnewlines\r\nand   many    spaces  ",
    "no\u00a0break\u2003em\u3000ideographic\u2028line\u2029paragraph",
    "bell\u0007 null\u0000 escape\u001b[0m del\u007f nel\u0085 vt\u000b ff\u000c end",
    "zero\u200bwidth soft\u00adhyphen join\u200der \ufeffmark replaced\ufffd",
    "café naïve résumé Ångström façade Łódź Straße",
    "cafe\u0301 nai\u0308ve A\u030angstro\u0308m",
    "z\u0351\u036b\u0343a\u0321\u0353\u031el\u0334\u0307g\u0310o\u0322",
    "ÀÉÎÕÜ ÇŃŠŽ İstanbul ıI ΣΊΣΥΦΟΣ",
    "“Curly quotes” — dashes – and … ellipsis ‘single’ ¿qué? ¡sí! «oui»",
    "€100 £50 ¥3000 ₿1 ± × ÷ ≤ ≠ ∞ √2 x² ½ №5 ™ ©",
    "Ｆｕｌｌ ｗｉｄｔｈ ＡＢＣ１２３！",
    "今天天气很好，我们去公园散步吧。",
    "昨日は東京でラーメンを食べました。パスポートが",
    "한국어 문장을 하나 적어 봅니다.",
    "mixed 中文 and English 文字 together",
    "مرحبا بالعالم، كيف حالك اليوم؟ السَّلَامُ عَلَيْكُمْ",
    "שָׁלוֹם עולם",
    "Привет, мир! Ёлка стоит в углу. ЙОГУРТ",
    "नमस्ते दुनिया สวัสดีชาวโลก",
    "I love it 😀🎉👍🏽 👩‍👩‍👧 🇫🇷 ❤️ so much",
    "Word. " * 150,
    " ".join(
        f"On day {day} the crew of the boat wrote down the wind, the waves and what they ate, namely {food}."
        for day, food in enumerate(["bread", "rice", "beans", "fish", "soup", "apples", "nuts"] * 4, start=1)
    ),
]


def read_weights(path):
    """The tensors of a safetensors file by name, as 64-bit floats."""
    raw = path.read_bytes()
    (header_len,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + header_len])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            flat = np.frombuffer(raw[8 + header_len + start : 8 + header_len + end], dtype="<f4")
            tensors[name] = flat.reshape(entry["shape"]).astype(np.float64)
    return tensors, hashlib.sha256(raw).hexdigest()


def is_ideograph(char):
    """Whether the tokenizer sets this character apart as a word of its own."""
    ranges = (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
    )  # fmt: skip
    return any(low <= ord(char) <= high for low, high in ranges)


def is_punctuation(char):
    """ASCII punctuation and symbols, and the punctuation classes of Unicode."""
    if ord(char) < 128:
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")


def words(text):
    """The lower-case words and single punctuation marks of a text, without accents."""
    kept = []
    for char in text:
        if char in "\t\n\r" or unicodedata.category(char) in ("Zs", "Zl", "Zp"):
            kept.append(" ")
        elif char in "\0\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co"):
            continue
        elif is_ideograph(char):
            kept.append(f" {char} ")
        else:
            kept.append(char)
    bare = (c for c in unicodedata.normalize("NFD", "".join(kept)) if unicodedata.category(c) != "Mn")
    lower = "".join(c.lower() for c in bare)
    return "".join(f" {c} " if is_punctuation(c) else c for c in lower).split(" ")


def pieces_of(word, vocab):
    """The longest pieces from the left that the vocabulary knows, or [UNK] for a word that it cannot spell."""
    if len(word) > MAX_WORD_CHARS:
        return [vocab["[UNK]"]]
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = vocab.get(("##" if start else "") + word[start:end])
            if piece is not None:
                pieces.append(piece)
                start = end
                break
        else:
            return [vocab["[UNK]"]]
    return pieces


def token_ids(text, vocab):
    """The ids that go into the network: [CLS], the pieces, [SEP]."""
    inner = [piece for word in words(text) if word for piece in pieces_of(word, vocab)]
    return [vocab["[CLS]"], *inner[: MAX_TOKENS - 2], vocab["[SEP]"]]


def layer_norm(x, weights, name):
    """Centres and scales each row, then applies the learned gain and shift."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, weights, name):
    """A dense layer."""
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def gelu(x):
    """The exact form, with the error function."""
    erf = np.fromiter(map(math.erf, (x / math.sqrt(2)).ravel()), dtype=np.float64, count=x.size)
    return 0.5 * x * (1 + erf.reshape(x.shape))


def attention(x, weights, name):
    """Every token looks at every token of the same text; a text is never padded here."""

    def heads(part):
        return linear(x, weights, f"{name}.self.{part}").reshape(len(x), HEADS, WIDTH // HEADS).swapaxes(0, 1)

    scores = heads("query") @ heads("key").swapaxes(1, 2) / math.sqrt(WIDTH // HEADS)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed = (shares @ heads("value")).swapaxes(0, 1).reshape(len(x), WIDTH)
    return linear(mixed, weights, f"{name}.output.dense")


def embed(ids, weights):
    """The mean of the last layer over all tokens, scaled to length one."""
    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = layer_norm(x, weights, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        x = layer_norm(x + attention(x, weights, f"{name}.attention"), weights, f"{name}.attention.output.LayerNorm")
        inner = gelu(linear(x, weights, f"{name}.intermediate.dense"))
        x = layer_norm(x + linear(inner, weights, f"{name}.output.dense"), weights, f"{name}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def check_tokens(vocab, tokenizer_json):
    """Counts the texts that the `tokenizers` package cuts otherwise, and names them."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_json))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    faults = 0
    for text in TEXTS:
        ours, theirs = token_ids(text, vocab), tokenizer.encode(text).ids
        if ours != theirs:
            faults += 1
            print(f"differs: {text!r}\n  ours   {ours}\n  theirs {theirs}", file=sys.stderr)
    print(f"{len(TEXTS) - faults} of {len(TEXTS)} texts give the same tokens")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model_dir", type=Path)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--check", type=Path, metavar="TOKENIZER_JSON")
    args = parser.parse_args()

    lines = (args.model_dir / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocab = {piece: number for number, piece in enumerate(lines) if piece}
    if args.check:
        return 1 if check_tokens(vocab, args.check) else 0

    weights, digest = read_weights(args.model_dir / "model.safetensors")
    entries = []
    for text in TEXTS:
        vector = embed(token_ids(text, vocab), weights)
        entries.append({"text": text, "vector": [float(f"{value:.7g}") for value in vector]})
    rows = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(f'{{"model_sha256":"{digest}","texts":[\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{len(entries)} vectors written to {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
