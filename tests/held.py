"""Writes that wait for a person, made the way an agent makes them."""

import itertools
from datetime import UTC, datetime, timedelta

from callers import Caller, admin, new_caller, rfc3339

NUMBERS = itertools.count(1)
STANDARD = {"TABELLION_GOVERNANCE__POLICY": "standard"}


class Team:
    """A user with a key of her own and an agent that acts for her."""

    def __init__(self, server):
        chief = admin(server)
        self.person = new_caller(server)
        self.agent_name = f"agent-{next(NUMBERS)}"
        chief.ask("POST", "/v1/agents", {"name": self.agent_name}, expect=201)
        made = chief.ask("POST", "/v1/keys", {"user": self.person.name, "agent": self.agent_name}, expect=201)
        self.agent = Caller(server, made["key"], name=self.agent_name)
        self.key_id = made["id"]

    def held(self, text, **fields):
        """The id of the review of a write that must be held."""
        answer = self.agent.ask("POST", "/v1/items", backed(text, **fields), expect=202)
        assert answer["status"] == "deferred" and answer["pending_id"].startswith("rev_"), answer
        return answer["pending_id"]

    def review(self, id):
        return self.person.ask("GET", f"/v1/reviews/{id}")


def backed(text, **fields):
    """A lasting statement with a document that says the same."""
    return {"text": text, "layer": "semantic", "confidence": 0.9, "evidence": [document(text)], **fields}


def document(excerpt, uri="https://docs.example.org/a"):
    """A source that was read yesterday."""
    read_at = rfc3339(datetime.now(UTC) - timedelta(days=1))
    return {"source_type": "document", "source_uri": uri, "accessed_at": read_at, "excerpt": excerpt[:1000]}
