"""An embedding model behind an endpoint in OpenAI's form, whose answers follow a script. Standard library only.

    with Model(dimensions=8) as model:
        with Server(BIN, data_dir, env=model.env()) as server: ...
        model.answers = "nonsense"

Words of one meaning (`MEANINGS`) share a dimension, so texts without a common word can lie close; what else a text says
gives it a small direction of its own.
"""

import hashlib
import json
import struct

from endpoint import Endpoint

MEANINGS = [{"car", "automobile", "sedan"}, {"cat", "feline", "kitten"}, {"rain", "drizzle", "downpour"}]
OWN_SHARE = 0.3
KEY = "sk-Unspeakable-Key"


def direction(text, dimensions):
    """Numbers from -1 to 1 that only this text has."""
    bytes = hashlib.shake_256(text.encode()).digest(4 * dimensions)
    return [number / 2**31 for number in struct.unpack(f"<{dimensions}i", bytes)]


class Model(Endpoint):
    """The endpoint."""

    def __init__(self, dimensions=8, name="scripted"):
        super().__init__()
        self.dimensions, self.name = dimensions, name
        self.answers = "well"
        self.delay = 0.0
        self.texts = []  # all that was asked, in order
        self.keys = set()
        self.vectors = {}  # what the script says of a text, before anything else

    def env(self, **more):
        """The settings of a server that uses this model."""
        settings = {
            "PROVIDER": "http", "URL": f"http://127.0.0.1:{self.port}/v1", "MODEL": self.name,
            "DIMENSIONS": str(self.dimensions), **more,
        }  # fmt: skip
        named = {f"TABELLION_EMBEDDING__{name}": value for name, value in settings.items()}
        return {**named, "TABELLION_EMBEDDING_KEY": KEY}

    def vector(self, text):
        if text in self.vectors:
            return self.vectors[text]
        own = [OWN_SHARE * number for number in direction(text, self.dimensions)]
        words = set(text.lower().replace("?", "").split())
        for place, meaning in enumerate(MEANINGS):
            own[place] += bool(words & meaning)
        return own

    def answer(self, request):
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        assert request.path == "/v1/embeddings" and body["model"] == self.name, (request.path, body)
        self.keys.add(request.headers["Authorization"])
        if self.ending.wait(30 if self.answers == "slow" else self.delay):
            return
        rows = [{"object": "embedding", "index": at, "embedding": self.vector(text)} for at, text in enumerate(body["input"])]
        # Only now: a text that was asked and not answered is none that the model has seen.
        status, headers, payload = SCRIPT[self.answers](rows)
        self.texts += body["input"]
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(payload)))
        request.end_headers()
        request.wfile.write(payload)


def good(rows):
    return 200, {}, json.dumps({"object": "list", "data": rows}).encode()


def spoilt(change):
    """An answer that is right but for its last row."""

    def answer(rows):
        rows[-1] = {**rows[-1], "embedding": change(rows[-1]["embedding"])}
        return good(rows)

    return answer


SCRIPT = {
    "well": good,
    "slow": good,
    "one vector too short": spoilt(lambda vector: vector[:-1]),
    "one vector too long": spoilt(lambda vector: [*vector, 1.0]),
    "one number is NaN": spoilt(lambda vector: [float("nan"), *vector[1:]]),
    "one number beyond f32": spoilt(lambda vector: [1e39, *vector[1:]]),
    "one vector of zeros": spoilt(lambda vector: [0.0] * len(vector)),
    "one vector of words": spoilt(lambda vector: ["a"] * len(vector)),
    "too few vectors": lambda rows: good(rows[:-1]),
    "too many vectors": lambda rows: good([*rows, rows[-1]]),
    "not JSON": lambda rows: (200, {}, b"<html>busy</html>"),
    "cut JSON": lambda rows: (200, {}, good(rows)[2][:-20]),
    "an empty answer": lambda rows: (200, {}, b""),
    "an answer without end": lambda rows: (200, {}, b'{"data": [' + b" " * (8 << 20)),
    "an error": lambda rows: (500, {}, b'{"error": "no"}'),
    "no entry": lambda rows: (401, {}, b'{"error": "who are you"}'),
}
