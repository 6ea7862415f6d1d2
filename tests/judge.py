"""Models behind an endpoint in OpenAI's form that compare and verify, as a script says. Standard library only.

    with Judge() as judge:
        world = alone(**judge.settings())
        judge.opposes = {("known text", "new text"): 0.97}
        judge.verdicts = {"a": "supported", "b": "unsupported"}
        judge.answers = "nonsense"
"""

import json

from endpoint import Endpoint

KEY = "sk-Unspeakable-Judge"
MODELS = ["a", "b", "c"]
SLOW_SECONDS = 3


def completion(content):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


# What a failing endpoint answers: status, body.
SCRIPT = {
    "unauthorized": (401, b"{}"),
    "too many": (429, b"{}"),
    "broken": (500, b"broken"),
    "elsewhere": (302, b""),
    "html": (200, b"<html>"),
    "empty": (200, b""),
    "no choice": (200, b'{"choices":[]}'),
    "prose": (200, completion("I think that they contradict each other.")),
    "other form": (200, completion('{"pairs":[{"n":7,"label":"contradiction","score":1}],"verdict":"yes"}')),
    "oversized": (200, completion("x" * 1_000_000)),
}
REASONS = {
    "unauthorized": "status", "too many": "status", "broken": "status", "elsewhere": "status", "html": "nonsense",
    "empty": "nonsense", "no choice": "nonsense", "prose": "nonsense", "other form": "nonsense",
    "oversized": "too_large", "slow": "timeout", "down": "unreachable",
}  # fmt: skip


class Judge(Endpoint):
    """The endpoint."""

    def __init__(self):
        super().__init__()
        self.answers = "well"
        self.opposes = {}  # (known, new) -> how sure the model is that they contradict each other
        self.labels = {}  # (known, new) -> another label
        self.verdicts = {}  # by model; "supported" for those that are not named
        self.asked = []  # (model, system message, document) of every request
        self.keys = set()

    def settings(self, models=MODELS, timeout_ms=1000):
        """The settings of a world that asks these models."""
        return {
            "judge__url": f"http://127.0.0.1:{self.port}/v1", "judge__models": json.dumps(models),
            "judge__timeout_ms": timeout_ms,
        }  # fmt: skip

    @property
    def comparisons(self):
        return [document for _, _, document in self.asked if "known" in document]

    @property
    def verifications(self):
        return [(model, document) for model, _, document in self.asked if "statement" in document]

    def answer(self, http):
        body = json.loads(http.rfile.read(int(http.headers["content-length"])))
        assert http.path == "/v1/chat/completions", http.path
        self.keys.add(http.headers.get("authorization"))
        [system, user] = body["messages"]
        assert (system["role"], user["role"]) == ("system", "user")
        document = json.loads(user["content"])
        self.asked.append((body["model"], system["content"], document))
        status, content = SCRIPT.get(self.answers, (200, b""))
        if self.answers == "slow":
            self.ending.wait(SLOW_SECONDS)
        if self.answers in ("well", "slow"):
            content = completion(json.dumps(self.says(body["model"], document)))
        try:
            http.send_response(status)
            http.send_header("content-length", str(len(content)))
            if status == 302:
                http.send_header("location", f"http://127.0.0.1:{self.port}/v1/chat/completions")
            http.end_headers()
            http.wfile.write(content)
        except OSError:
            pass

    def says(self, model, document):
        if "statement" in document:
            return {"verdict": self.verdicts.get(model, "supported")}
        pairs = []
        for one in document["known"]:
            pair = (one["text"], document["new"])
            score = self.opposes.get(pair)
            label = "contradiction" if score is not None else self.labels.get(pair, "neutral")
            pairs.append({"n": one["n"], "label": label, "score": 0.9 if score is None else score})
        return {"pairs": pairs}
