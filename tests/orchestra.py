"""A company of people, agents and resources, a model that coordinates as a script says, and services that agents call.

    with Chat() as chat, Service() as service:
        company = Company(bin, tmp_path, env=chat.env(), resources=[service.table("prices")])
        chat.moves = [ask_of(market, "price of steel"), "COMPLETE"]
"""

import json
import time

from callers import new_caller
from endpoint import Endpoint
from judge import completion
from server import Server
from test_access import World
from test_remote_gates import named

KEY = "sk-Unspeakable-Orchestrator"
NO_ANSWER = "No agents were able to process the query."
STEEL = "Steel costs 5 EUR a kilo in May."
COPPER = "Copper costs 9 EUR a kilo in May."


def move(agent, subquery):
    return json.dumps({"agent": agent, "subquery": subquery})


def answer(text):
    return json.dumps({"answer": text})


def call(resource, **args):
    return json.dumps({"call": {"resource": resource, "args": args}})


def table(**fields):
    """A resource as the environment names it."""
    return "{" + ",".join(f"{key}={json.dumps(value)}" for key, value in fields.items()) + "}"


class Chat(Endpoint):
    """A model in OpenAI's form. `moves` are what the coordinator says, one after the other, then `COMPLETE`; `steps` what
    agents say; `final` what the aggregator says. Each is a text, or a function of the document that was shown."""

    def __init__(self):
        super().__init__()
        self.moves, self.steps, self.final = [], [], None
        self.coordinations, self.turns, self.aggregations, self.rules, self.keys = [], [], [], set(), set()

    def env(self, timeout_ms=3000):
        return {
            "TABELLION_ORCHESTRATOR__URL": f"http://127.0.0.1:{self.port}/v1",
            "TABELLION_ORCHESTRATOR__MODELS": '["m"]',
            "TABELLION_ORCHESTRATOR__TIMEOUT_MS": str(timeout_ms),
            "TABELLION_ORCHESTRATOR_KEY": KEY,
        }

    def answer(self, http):
        body = json.loads(http.rfile.read(int(http.headers["content-length"])))
        [system, user] = body["messages"]
        document = json.loads(user["content"])
        self.rules.add(system["content"])
        self.keys.add(http.headers.get("authorization"))
        said = self.says(document)
        content = completion(said(document) if callable(said) else said)
        http.send_response(200)
        http.send_header("content-length", str(len(content)))
        http.end_headers()
        http.wfile.write(content)

    def says(self, document):
        if "agents" in document:
            self.coordinations.append(document)
            return self.moves.pop(0) if self.moves else "COMPLETE"
        if "memory" in document:
            self.turns.append(document)
            return self.steps.pop(0) if self.steps else answer("")
        self.aggregations.append(document)
        return self.final or answer(" / ".join(one["answer"] for one in document["answers"]))


class Service(Endpoint):
    """A service that takes JSON by POST; `gives` is its answer, or a function of what it was sent."""

    def __init__(self, gives=None):
        super().__init__()
        self.gives, self.status, self.calls, self.keys, self.waits = gives or {"answer": STEEL}, 200, [], [], 0
        self.raw, self.location = None, None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/call"

    def table(self, name, **more):
        return table(name=name, kind="http", url=self.url, **more)

    def answer(self, http):
        sent = json.loads(http.rfile.read(int(http.headers["content-length"])))
        self.calls.append(sent)
        self.keys.append(http.headers.get("authorization"))
        if self.waits:
            self.ending.wait(self.waits)
        given = self.gives(sent) if callable(self.gives) else self.gives
        content = json.dumps(given).encode() if self.raw is None else self.raw
        try:
            http.send_response(self.status)
            http.send_header("content-length", str(len(content)))
            if self.location:
                http.send_header("location", self.location)
            http.end_headers()
            http.wfile.write(content)
        except OSError:
            pass


class Company(World):
    """A server with sharing on, whose people have agents that know about something and use something."""

    def __init__(self, bin, directory, env=None, resources=(), share=True):
        directory.mkdir(parents=True, exist_ok=True)
        env = {**(env or {}), "TABELLION_RESOURCES": named(*resources)}
        super().__init__(Server(bin, directory / "data", env=env).start())
        if share:
            self.chief.ask("PUT", "/v1/policies/share-all", {"kind": "write_shared", "share": "on"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def person(self, *agents):
        """Somebody who may invoke these agents."""
        person = new_caller(self.server)
        for agent in agents:
            self.grant("ua", person.user, agent)
        return person

    def specialist(self, specialisation, *resources, **more):
        """An agent that knows about this and may use these resources, which are made if they are new."""
        agent = self.agent(specialisation=specialisation, **more)
        for name in resources:
            self.register(name)
            self.grant("ar", agent, name)
        return agent

    def register(self, name, **more):
        status, _, _ = self.chief.call("POST", "/v1/resources", {"name": name, **more})
        assert status in (201, 409), status

    def kinds(self, action):
        """The outcomes of an action on the trail, oldest first."""
        rows = self.chief.ask("GET", f"/v1/audit?action={action}&limit=500")["rows"]
        return [row["outcome"] for row in reversed(rows)]


def documents(directory, *texts):
    """A file of documents, one a line."""
    path = directory / f"documents-{time.monotonic_ns()}.ndjson"
    path.write_text("\n".join(json.dumps({"id": f"doc-{place}", "text": text}) for place, text in enumerate(texts)))
    return str(path)


def library(directory, name, *texts, **more):
    """A knowledge base of these texts, as the environment names it."""
    return table(name=name, kind="kb_search", file=documents(directory, *(texts or (STEEL, COPPER))), **more)


def ask(person, query, **fields):
    return person.ask("POST", "/v1/ask", {"query": query, **fields})
