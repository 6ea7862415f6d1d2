"""A model behind an endpoint in OpenAI's form that writes texts anew, as a script says. Standard library only.

    with Scribe() as scribe:
        world = team(**scribe.settings())
        scribe.says = lambda document, task, intent: {"key": "tea", "text": "Tea is hot."}
        scribe.answers = "nonsense"
"""

import json

from endpoint import Endpoint
from judge import SCRIPT, SLOW_SECONDS, completion

KEY = "sk-Unspeakable-Scribe"


def echo(document, task, intent):
    """Says what it was shown."""
    memory = {"key": document["key"] or "a topic", "text": document["text"]}
    return memory if task == "paraphrase" else {"memories": [memory]}


class Scribe(Endpoint):
    """The endpoint."""

    def __init__(self):
        super().__init__()
        self.answers, self.says = "well", echo
        self.asked = []  # (task, intent, document) of every request
        self.rules, self.keys = set(), set()

    def settings(self, timeout_ms=1000, models=("m",)):
        """The environment of a server that asks this model."""
        return {
            "TABELLION_SHARING__SCRIBE__URL": f"http://127.0.0.1:{self.port}/v1",
            "TABELLION_SHARING__SCRIBE__MODELS": json.dumps(list(models)),
            "TABELLION_SHARING__SCRIBE__TIMEOUT_MS": str(timeout_ms), "TABELLION_SCRIBE_KEY": KEY,
        }  # fmt: skip

    def shown(self, intent):
        """What it was shown for these readers."""
        return [document for _, to, document in self.asked if to == intent]

    def answer(self, http):
        body = json.loads(http.rfile.read(int(http.headers["content-length"])))
        assert http.path == "/v1/chat/completions", http.path
        self.keys.add(http.headers.get("authorization"))
        [system, user] = body["messages"]
        assert (system["role"], user["role"]) == ("system", "user")
        self.rules.add(system["content"])
        task = "extract" if "memories" in system["content"] else "paraphrase"
        intent = "shared" if "to anyone" in system["content"] else "private"
        document = json.loads(user["content"])
        self.asked.append((task, intent, document))
        status, content = SCRIPT.get(self.answers, (200, b""))
        if self.answers == "slow":
            self.ending.wait(SLOW_SECONDS)
        if self.answers in ("well", "slow"):
            said = self.says(document, task, intent)
            content = completion(said if isinstance(said, str) else json.dumps(said))
        try:
            http.send_response(status)
            http.send_header("content-length", str(len(content)))
            http.end_headers()
            http.wfile.write(content)
        except OSError:
            pass
