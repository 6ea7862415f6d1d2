"""One scenario through REST, gRPC and MCP: the three give the same answers.

Each transport is wrapped into the same few verbs, with answers in the shape of REST: `(code or None, answer)`.
"""

import json
import re
from datetime import UTC, datetime

import pytest

from callers import Caller, admin, new_caller, random_id, rfc3339
from grpc_caller import GrpcCaller, Refused
from mcp_caller import McpCaller, over_http, over_stdio

BAD_KEY = "tab_" + "a" * 52
STRICT = "canon"
NOW = rfc3339(datetime.now(UTC))
VERBS = ("get", "update", "versions", "rollback", "pin", "retract")


class Rest:
    def __init__(self, server, key):
        self.caller = Caller(server, key)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def _call(self, method, path, body=None):
        status, answer, _ = self.caller.call(method, path, body)
        return (None, answer) if status < 300 else (answer["code"], answer)

    def write(self, **body):
        id = body.pop("id", None)
        return self._call("PATCH", f"/v1/items/{id}", body) if id else self._call("POST", "/v1/items", body)

    def get(self, id, as_of=None):
        return self._call("GET", f"/v1/items/{id}" + (f"?as_of={as_of}" if as_of else ""))

    def versions(self, id):
        return self._call("GET", f"/v1/items/{id}/versions")

    def search(self, **body):
        return self._call("POST", "/v1/search", body)

    def relate(self, *relations):
        return self._call("POST", "/v1/relations", {"relations": relations})

    def paths(self, start, **body):
        return self._call("POST", "/v1/paths", {"from": start, **body})

    def rollback(self, id, version=None):
        return self._call("POST", f"/v1/items/{id}:rollback", {"reason": "r", **({"version": version} if version else {})})

    def pin(self, id):
        return self._call("POST", f"/v1/items/{id}:pin", {"reason": "r"})

    def retract(self, id):
        return self._call("DELETE", f"/v1/items/{id}?reason=r")

    def list(self, **query):
        code, answer = self._call("GET", "/v1/items?" + "&".join(f"{name}={value}" for name, value in query.items()))
        # What is a field elsewhere is a parameter here, and is named as one.
        for error in answer.get("errors", []):
            error["path"] = error["path"].removeprefix("/query")
        return code, answer

    def whoami(self):
        return self._call("GET", "/v1/whoami")

    def get_write(self, id):
        return self._call("GET", f"/v1/{'reviews' if id.startswith('rev_') else 'writes'}/{id}")

    def list_writes(self):
        kept, held = self._call("GET", "/v1/writes")[1], self._call("GET", "/v1/reviews?state=pending")[1]
        return None, {**kept, **held}

    def reopen(self, id):
        return self._call("POST", f"/v1/writes/{id}:reopen")

    def withdraw(self, id):
        return self._call("DELETE", f"/v1/reviews/{id}")

    def feedback(self):
        return self._call("GET", f"/v1/agents/{self.caller.agent}/feedback")


class Grpc:
    def __init__(self, server, key):
        self.caller = GrpcCaller(server, key)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.caller.channel.close()

    def _call(self, name, **request):
        try:
            return None, self.caller.call(name, {name: value for name, value in request.items() if value is not None})
        except Refused as refused:
            assert refused.metadata["tabellion-code"] == refused.refusal["code"]
            return refused.refusal["code"], refused.refusal

    def write(self, **body):
        id = body.pop("id", None)
        return self._call("Patch", id=id, patch=body) if id else self._call("Write", **body)

    def get(self, id, as_of=None):
        return self._call("Get", id=id, as_of=as_of)

    def versions(self, id):
        return self._call("Versions", id=id)

    def search(self, **body):
        code, answer = self._call("Search", **body)
        if code is None:
            answer["results"] = [{**result.pop("item"), **result} for result in answer["results"]]
        return code, answer

    def relate(self, *relations):
        code, answer = self._call("WriteRelations", relations=relations)
        if code is None:
            for place, result in enumerate(answer["results"]):
                refused = {"status": "rejected", **result.get("refused", {})}
                refused.pop("errors_omitted", None)
                answer["results"][place] = result.get("written") or refused
        return code, answer

    def paths(self, start, **body):
        return self._call("FindPaths", **{"from": start}, **body)

    def rollback(self, id, version=None):
        return self._call("Rollback", id=id, version=version, reason="r")

    def pin(self, id):
        return self._call("Pin", id=id, reason="r")

    def retract(self, id):
        return self._call("Retract", id=id, reason="r")

    def list(self, **query):
        return self._call("List", **query)

    def whoami(self):
        return self._call("WhoAmI")

    def get_write(self, id):
        return self._call("GetReview" if id.startswith("rev_") else "GetWrite", id=id)

    def list_writes(self):
        return None, {**self._call("ListWrites")[1], **self._call("ListReviews", state="pending")[1]}

    def reopen(self, id):
        return self._call("ReopenWrite", id=id)

    def withdraw(self, id):
        return self._call("WithdrawReview", id=id)

    def feedback(self):
        return self._call("GetFeedback", id=self.whoami()[1]["agent"]["id"])


class Mcp:
    def __init__(self, server, key):
        self.caller = McpCaller(over_http(server, key))

    def __enter__(self):
        self.caller.__enter__()
        return self

    def __exit__(self, *_):
        self.caller.__exit__()

    def _call(self, tool, **arguments):
        is_error, answer = self.caller.call(tool, {name: value for name, value in arguments.items() if value is not None})
        return (answer["code"], answer) if is_error else (None, answer)

    def write(self, **body):
        return self._call("write_item", **body)

    def get(self, id, as_of=None):
        return self._call("get_item", id=id, as_of=as_of)

    def versions(self, id):
        return self._call("item_versions", id=id)

    def search(self, **body):
        return self._call("search_items", **body)

    def relate(self, *relations):
        return self._call("write_relations", relations=list(relations))

    def paths(self, start, **body):
        return self._call("find_paths", **{"from": start}, **body)

    def rollback(self, id, version=None):
        return self._call("rollback_item", id=id, version=version, reason="r")

    def pin(self, id):
        return self._call("pin_item", id=id, reason="r")

    def retract(self, id):
        return self._call("retract_item", id=id, reason="r")

    def list(self, **query):
        return self._call("list_items", **query)

    def whoami(self):
        return self._call("whoami")

    def get_write(self, id):
        return self._call("get_write", id=id)

    def list_writes(self):
        return self._call("list_writes")

    def reopen(self, id):
        return self._call("reopen_write", id=id)

    def withdraw(self, id):
        return self._call("withdraw_write", id=id)

    def feedback(self):
        return self._call("feedback")


class Stdio(Mcp):
    def __init__(self, server, key):
        self.caller = McpCaller(over_stdio(server.bin, key, TABELLION_URL=server.url))


def scenario(memory, hidden):
    """Everything once; returns each step's name with its answer."""
    steps = []

    def step(name, result):
        steps.append((name, *result))
        return result[1]

    body = {
        "text": "Port 8080 serves the API", "key": "API port", "kind": "fact", "layer": "session", "confidence": 0.8,
        "tags": ["net"], "triple": {"subject": "api", "predicate": "port", "object": "8080"},
        "fields": {"n": 3, "share": 0.25, "deep": {"list": [1, "two", None, True]}}, "trace_id": "t1",
        "evidence": [{"source_type": "document", "source_uri": "doc://runbook", "accessed_at": "2026-11-15T00:00:00Z"}],
        "request_id": "6f2b8d9e-1111-4222-8333-944455566677",
    }  # fmt: skip
    first = step("write", memory.write(**body))
    id = first["id"]
    step("replay", memory.write(**body))
    step("get", memory.get(id))
    step("request id reused", memory.write(**{**body, "text": "other"}))
    second = step("update", memory.write(id=id, text="Port 9090 serves the API", expected_version=first["version"]))
    step("conflict", memory.write(id=id, text="Port 7070", expected_version=first["version"]))
    step("get updated", memory.get(id))
    step("get as of", memory.get(id, as_of=first["token"]))
    step("versions", memory.versions(id))
    step("search", memory.search(query="which port serves", min_token=second["token"], k=3))
    step("search nothing", memory.search(query="zebra"))
    ties = [{"subject": "Relay", "predicate": "feeds", "object": "pump", "confidence": 0.8},
            {"subject": "pump", "predicate": "standsIn", "object": "hall 3", "namespace": "red"},
            {"subject": "pump"}]  # fmt: skip
    related = step("relate", memory.relate(*ties))
    step("relate nothing", memory.relate())
    step("paths", memory.paths("relay", to="Hall 3", direction="both", min_token=related["results"][1]["token"]))
    step("paths of a type", memory.paths("pump", types=["stands_in"], depth=1, limit=1))
    step("paths to nowhere", memory.paths("relay", to="moon"))
    step("paths too deep", memory.paths("relay", depth=9, direction="up"))
    step("search by graph", memory.search(query="relay", mode="graph"))
    step("search bad mode", memory.search(query="x", mode="psychic"))
    step("search bad token", memory.search(query="x", min_token="x"))
    step("rollback of no head", memory.rollback(id, first["version"]))
    step("rollback", memory.rollback(id, second["version"]))
    step("get rolled back", memory.get(id))
    step("pin", memory.pin(id))
    step("write another", memory.write(text="another", namespace="red", layer="working"))
    step("write a third", memory.write(text="a third", namespace="red"))
    step("list", memory.list(limit=10))
    step("list a namespace", memory.list(namespace="red", limit=1))
    step("list a layer", memory.list(layer="session"))
    step("list a wrong layer", memory.list(layer="deep"))
    step("list too many", memory.list(limit=501))
    step("retract", memory.retract(id))
    step("get retracted", memory.get(id))
    step("versions retracted", memory.versions(id))
    for name, target in ("hidden", hidden), ("random", random_id()):
        step(f"get {name}", memory.get(target))
        step(f"update {name}", memory.write(id=target, text="x"))
        step(f"versions {name}", memory.versions(target))
        step(f"rollback {name}", memory.rollback(target))
        step(f"pin {name}", memory.pin(target))
        step(f"retract {name}", memory.retract(target))
    step("bad confidence", memory.write(text="x", confidence=1.2))
    step("bad everything", memory.write(text=" ", layer="deep", kind="Fact", ttl="soon", triple={"subject": "a"}))
    step("no text", memory.write(key="x"))
    step("bad hash", memory.write(text="x", evidence=[{**body["evidence"][0], "excerpt": "a", "excerpt_hash": "0" * 64}]))
    step("too late", memory.write(text="x", deadline="2020-01-01T00:00:00Z"))
    step("wrong token", memory.write(text="x", idempotency_token="0" * 64))
    step("sharing off", memory.write(text="x", tier="shared"))
    governed(memory, step)
    step("whoami", memory.whoami())
    return steps


def governed(memory, step):
    """Writes that do not become memory at once: refused, held, taken back."""
    triple = {"subject": "kiln", "predicate": "holds", "object": "12 pots"}
    step("write what is known later", memory.write(text="The kiln holds 12 pots", triple=triple))
    step("policy too lax", memory.write(text="x", namespace=STRICT, write_policy="open"))
    step("the same triple", memory.write(text="Twelve pots fit into the kiln", triple=triple))
    bare = {"text": "The oven takes 30 loaves", "layer": "semantic"}
    refused = step("canon without evidence", memory.write(**bare))
    step("the refused write", memory.get_write(refused["refusal_id"]))
    step("reopened, and refused again", memory.reopen(refused["refusal_id"]))
    said = {"source_type": "human_input", "source_uri": "chat://1", "accessed_at": NOW, "excerpt": bare["text"]}
    held = step("canon with evidence", memory.write(**bare, evidence=[said]))
    step("the same while it waits", memory.write(**bare, evidence=[said]))
    step("the held write", memory.get_write(held["pending_id"]))
    step("all of them", memory.list_writes())
    step("feedback", memory.feedback())
    step("withdraw", memory.withdraw(held["pending_id"]))
    step("withdraw again", memory.withdraw(held["pending_id"]))
    step("the withdrawn write", memory.get_write(held["pending_id"]))
    for name, id in ("held", random_id("rev")), ("put off", random_id("def")), ("refused", random_id("ref")):
        step(f"nothing {name}", memory.get_write(id))
    step("reopen nothing", memory.reopen(random_id("ref")))
    step("withdraw nothing", memory.withdraw(random_id("rev")))


class Names:
    """Gives every id, token and time a name by the order in which it appeared, so that runs can be compared."""

    ID = re.compile(r"\b(itm|ver|usr|agt|tnt|res|prv|sch|rev|def|ref)_[a-z2-7]{26}\b")
    TIMES = ("due", "deadline")

    def __init__(self):
        self.known = {}

    def name(self, value, kind):
        return self.known.setdefault(value, f"{kind}{sum(name.startswith(kind) for name in self.known.values())}")

    def plain(self, value, field=""):
        if isinstance(value, dict):
            members = {name: self.plain(member, name) for name, member in value.items() if name not in ("token", "request_id")}
            return {name: member for name, member in members.items() if member not in (None, [], {})}
        if isinstance(value, list):
            return [self.plain(member, field) for member in value]
        if (field.endswith("_at") or field in self.TIMES) and isinstance(value, str):
            return "a time"
        if isinstance(value, str) and self.ID.search(value):
            return self.ID.sub(lambda found: self.name(found[0], found[0][:4]), value)
        if field in ("approved", "rejected"):
            return int(value)  # gRPC's JSON has numbers of 64 bits as text
        if field == "layer_version":
            return "a number"
        if field == "next":
            return value and "a cursor"
        if isinstance(value, str) and field == "name":
            return "a name"
        if field == "score":
            return round(value, 2)  # it falls with age; relevance, beside it, does not
        if isinstance(value, float):
            return round(value, 4)  # what rests on evidence falls with its age
        return value


@pytest.fixture(scope="module")
def answers(shared_server):
    """The scenario through each transport, by a user of its own."""
    hidden = new_caller(shared_server).write("hidden from all of them")["id"]
    stricter = {"kind": "write_path", "strictness": "strict", "namespace": STRICT}
    admin(shared_server).ask("PUT", "/v1/policies/stricter", stricter)
    results = {}
    # One agent for all: a token of idempotency is made over its id.
    agent = "speaks-every-protocol"
    admin(shared_server).ask("POST", "/v1/agents", {"name": agent}, expect=201)
    for transport in Rest, Grpc, Mcp, Stdio:
        user = new_caller(shared_server).name
        key = admin(shared_server).ask("POST", "/v1/keys", {"user": user, "agent": agent}, expect=201)["key"]
        with transport(shared_server, key) as memory:
            names = Names()
            results[transport.__name__] = [(step, code, names.plain(answer)) for step, code, answer in scenario(memory, hidden)]
    return results


@pytest.mark.parametrize("transport", ["Grpc", "Mcp", "Stdio"])
def test_the_transports_give_the_same_answers(answers, transport):
    """SHARE-28: same words, same values, same codes, same faults, whatever the protocol."""
    differences = []
    for rest, other in zip(answers["Rest"], answers[transport], strict=True):
        # A refusal over gRPC has two fields of its own; the words of a refused listing are each transport's own.
        own = {"errors_omitted", "retry_after_ms"} | ({"message"} if rest[1] and rest[0].startswith("list") else set())
        left, right = ({name: value for name, value in step[2].items() if name not in own} for step in (rest, other))
        if (rest[0], rest[1], left) != (other[0], other[1], right):
            differences.append(f"{rest[0]}\n  REST {rest[1]} {json.dumps(left)}\n  {transport} {other[1]} {json.dumps(right)}")
    assert not differences, "\n".join(differences)


def test_the_answers_are_the_right_ones(answers):
    """GOV-1.7, GOV-2.2, GOV-5.6, SHARE-41: the codes of the scenario, hidden and random alike."""
    codes = {step: code for step, code, _ in answers["Rest"]}
    assert {step: code for step, code in codes.items() if code} == {
        "request id reused": "REQUEST_ID_REUSED", "conflict": "VERSION_CONFLICT", "relate nothing": "SCHEMA_INVALID",
        "paths too deep": "SCHEMA_INVALID",
        "search bad mode": "SCHEMA_INVALID", "list a wrong layer": "SCHEMA_INVALID", "list too many": "SCHEMA_INVALID",
        "search bad token": "TOKEN_INVALID", "rollback of no head": "NOT_THE_HEAD", "get retracted": "NOT_FOUND",
        **{f"{verb} {which}": "NOT_FOUND" for verb in VERBS for which in ("hidden", "random")},
        "bad confidence": "SCHEMA_INVALID", "bad everything": "SCHEMA_INVALID", "no text": "SCHEMA_INVALID",
        "bad hash": "EXCERPT_HASH_MISMATCH", "too late": "DEADLINE_EXCEEDED", "wrong token": "TOKEN_MISMATCH",
        "sharing off": "SHARING_OFF", "policy too lax": "POLICY_TOO_LAX", "the same triple": "STRUCTURAL_DUPLICATE",
        "canon without evidence": "EVIDENCE_NOT_INDEPENDENT", "reopened, and refused again": "EVIDENCE_NOT_INDEPENDENT",
        "withdraw again": "REVIEW_DECIDED", "nothing held": "NOT_FOUND", "nothing put off": "NOT_FOUND",
        "nothing refused": "NOT_FOUND", "reopen nothing": "NOT_FOUND", "withdraw nothing": "NOT_FOUND",
    }  # fmt: skip
    for steps in answers.values():
        by_name = {step: (code, answer) for step, code, answer in steps}
        for verb in VERBS:
            assert by_name[f"{verb} hidden"] == by_name[f"{verb} random"]


def test_a_bad_key_is_refused_by_all(shared_server):
    """SHARE-28: each in its own way, none does anything."""
    size = admin(shared_server).ask("GET", "/v1/proofs/head")["size"]
    assert Rest(shared_server, BAD_KEY).write(text="x")[0] == "UNAUTHENTICATED"
    with Grpc(shared_server, BAD_KEY) as memory:
        assert memory.write(text="x")[0] == "UNAUTHENTICATED"
    for transport in Mcp, Stdio:
        with pytest.raises(BaseException) as caught:
            with transport(shared_server, BAD_KEY) as memory:
                assert memory.write(text="x")[0] is None
        assert not isinstance(caught.value, KeyboardInterrupt)
    assert admin(shared_server).ask("GET", "/v1/proofs/head")["size"] == size
