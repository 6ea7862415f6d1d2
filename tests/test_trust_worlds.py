"""Two worlds that differ in what a contributor cannot see: what it is told of its writes, and their scores, are the same.

Both are copies of one data directory, so that ids, keys and chance are the same; in one of them others write and search
besides what the contributor may know of.
"""

import json
import re
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from callers import Caller, Clock, new_caller
from governed import novel
from grpc_caller import GrpcCaller
from mcp_caller import McpCaller, over_http
from server import Server
from test_trust import MAGNET, Debate, bare, numbers

IDS = re.compile(r"\b(?:itm|ver|rev|rnd|sch|prv)_[a-z2-7]{26}\b")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z")


class Rest:
    """One transport in the words that are needed here."""

    def __init__(self, server, key):
        self.caller = Caller(server, key)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, body):
        status, answer, _ = self.caller.call("POST", "/v1/items", body)
        assert status in (201, 202), answer
        return answer

    def trust(self, query):
        return self.caller.ask("GET", "/v1/trust?" + "&".join(f"{name}={value}" for name, value in query.items()))

    def search(self, body):
        return self.caller.ask("POST", "/v1/search", body)


class Grpc(GrpcCaller):
    def write(self, body):
        return self.call("Write", body)

    def trust(self, query):
        return self.call("GetTrust", query)

    def search(self, body):
        return self.call("Search", body)


class Mcp(McpCaller):
    def __init__(self, server, key):
        super().__init__(over_http(server, key))

    def write(self, body):
        return self.ask("write_item", body)

    def trust(self, query):
        return self.ask("trust", query)

    def search(self, body):
        return self.ask("search_items", body)


class Names:
    """Ids and times in the order in which they turn up: what is left is what two worlds must have in common."""

    def __init__(self):
        self.known = {}

    def __call__(self, answer):
        text = TIMES.sub("then", json.dumps(bare(answer), sort_keys=True))
        return IDS.sub(lambda found: f"{found[0][:3]}-{self.known.setdefault(found[0], len(self.known))}", text)


class World:
    """A copy of a debate on a server of its own."""

    def __init__(self, server, debate, outsider):
        self.server, self.debate, self.names, self.crowded = server, debate, Names(), False
        self.pairs = [Caller(server, pair.key) for pair in debate.pairs]
        self.person, self.outsider = Caller(server, debate.people[0].key), Caller(server, outsider)

    def declare(self):
        asked = {"goal": f"choose a database: {MAGNET}", "agents": self.debate.agents, "namespace": self.debate.space}
        self.trace = self.person.ask("POST", "/v1/rounds", asked, expect=201)["id"]

    def searches(self, questions):
        """Each agent asks in the round."""
        for pair, question in zip(self.pairs, questions, strict=True):
            pair.ask("POST", "/v1/search", {"query": question, "namespace": self.debate.space, "trace_id": self.trace})

    def hides(self, questions):
        """What the contributor may not know of: shared and private items of an agent that is a stranger to it, that agent's
        searches, and what the others search for by themselves."""
        space = self.debate.space
        for tier in ("shared", "private"):
            for text in (MAGNET, novel(), *questions):
                self.outsider.call("POST", "/v1/items", {"text": f"{text} {tier}", "tier": tier, "namespace": space})
        for text in questions:
            self.outsider.ask("POST", "/v1/search", {"query": text, "namespace": space, "shared_work": True})
        for pair in self.pairs[1:]:
            kept = {"text": f"{MAGNET} {novel(1)}", "tier": "private", "namespace": space}
            pair.ask("POST", "/v1/items", kept, expect=201)
            # More than are kept of an agent, once.
            for number in range(2 if self.crowded else 40):
                pair.ask("POST", "/v1/search", {"query": f"{questions[0]} {number}", "namespace": space, "k": 1})
        self.crowded = True

    def body(self, text):
        return {"text": text, "tier": "shared", "namespace": self.debate.space, "trace_id": self.trace}


@pytest.fixture(scope="module")
def copies(bin, tmp_path_factory):
    """Two servers on copies of one directory, with the debate that is in both."""
    base = tmp_path_factory.mktemp("worlds")
    with Server(bin, base / "data") as server:
        debate = Debate(server)
        debate.chief.ask("POST", "/v1/agents", {"name": "outsider"}, expect=201)
        stranger = new_caller(server, name="stranger", agent="outsider")
        auditor = new_caller(server, role="auditor")
        debate.lets_in(auditor.name)
        keys = {"outsider": stranger.key, "auditor": auditor.key}
        # What was written while too little was known is weighed now, not in the background while the two worlds are compared.
        debate.chief.ask("POST", "/v1/trust:recalibrate")
        assert server.stop() == 0
    shutil.copytree(base / "data", base / "copy")
    servers = [Server(bin, base / name, args=["--test-clock"]) for name in ("data", "copy")]
    # The same time in both: how fresh an item is has a part in how it ranks.
    now = datetime.now(UTC) + timedelta(minutes=1)
    with servers[0] as plain, servers[1] as crowded:
        for server in servers:
            Clock(server, now)
        yield debate, keys, (plain, crowded)


@pytest.mark.parametrize("transport", [Rest, Grpc, Mcp])
def test_what_is_hidden_changes_nothing(copies, transport):
    """CAL-41, SHARE-39, SHARE-45, acceptance 13: hidden items and other users' private queries change no byte of a reply,
    of rho or of any trust that the contributor can see, over every transport."""
    debate, keys, servers = copies
    worlds = [World(server, debate, keys["outsider"]) for server in servers]
    questions = [[debate.statement() for _ in debate.pairs] for _ in range(6)]
    texts = [*(debate.statement() for _ in range(5)), MAGNET]
    told = []
    for hidden, world in zip((False, True), worlds, strict=True):
        world.declare()
        own = world.pairs[0].key
        with transport(world.server, own) as contributor, transport(world.server, keys["auditor"]) as auditor:
            seen = []
            for asked, text in zip(questions, texts, strict=True):
                world.searches(asked)
                if hidden:
                    world.hides(asked)
                written = contributor.write(world.body(text))
                seen.append(world.names(written))
                one = {"item": written["id"]}
                seen.append(world.names(contributor.trust(one)))
                if written["status"] == "committed":
                    audited = auditor.trust(one)
                    assert numbers(audited), audited
                    seen.append(world.names(audited))
                seen.append(world.names(contributor.trust({"namespace": debate.space})))
                # What has no vector yet is found by its words alone, and when it has one is nobody's secret.
                search = {"query": text, "namespace": debate.space, "k": 10, "trace_id": "own"}
                token = {"min_token": written["token"]} if "token" in written else {}
                found = contributor.search(search | token)
                seen.append(world.names(found))
            told.append(seen)
    for plain, crowded in zip(*told, strict=True):
        assert plain == crowded


def test_who_is_drawn_does_not_notice(clock):
    """CAL-27, CAL-41, acceptance 13: of 24 auditors 20 are drawn; what each of them can read afterwards is the same."""
    debate = Debate(clock.server, known=40)
    person = debate.people[0]
    agents = [f"{debate.space}-many-{number}" for number in range(25)]
    pairs = []
    for agent in agents:
        debate.chief.ask("POST", "/v1/agents", {"name": agent}, expect=201)
        pairs.append(debate.pair(person, agent))
    trace = debate.round(agents=agents)["id"]
    question = debate.statement()
    for pair in pairs:
        pair.ask("POST", "/v1/search", {"query": question, "namespace": debate.space, "trace_id": trace})
    status, written = debate.writes(pairs[0], debate.statement(), trace)
    assert status == 201, written
    # What has no vector yet is found by its words alone, and when it has one is nobody's secret.
    pairs[0].ask("POST", "/v1/search", {"query": question, "namespace": debate.space, "min_token": written["token"]})
    # What was written while too little was known is weighed now, not in the background between two of the reads.
    debate.chief.ask("POST", "/v1/trust:recalibrate")

    def observes(pair):
        names = Names()
        asked = {"query": question, "namespace": debate.space, "trace_id": "another"}
        reads = [
            pair.ask("POST", "/v1/search", asked), pair.ask("GET", f"/v1/trust?namespace={debate.space}"),
            pair.ask("GET", f"/v1/trust?item={written['id']}"), pair.ask("GET", f"/v1/items/{written['id']}"),
            pair.ask("GET", "/v1/reviews"), pair.ask("GET", f"/v1/items/{written['id']}/explain"),
        ]  # fmt: skip
        return [re.sub(r"agt_[a-z2-7]{26}", "agt", names(read)) for read in reads]

    first, *others = [observes(pair) for pair in pairs[1:]]
    for other in others:
        assert other == first
