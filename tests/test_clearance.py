"""Clearance: nobody reads what is more secret than they are cleared for, or of a domain that is not theirs, and rewriting it
does not make it less secret."""

from datetime import timedelta

import pytest

from callers import random_id, rfc3339
from governed import novel
from grpc_caller import GrpcCaller
from test_roles import FORBIDDEN, INVALID, MISSING, World, new_caller

LEVELS = ["public", "internal", "confidential", "restricted"]


class Office(World):
    """A person with agents of various clearances."""

    def agent_for(self, person, clearance=None, domains=(), **terms):
        agent = self.agent()
        if clearance or domains:
            bundle = {"domains": list(domains)} | ({"clearance": clearance} if clearance else {})
            self.give(self.role(**bundle), agent, **terms)
        pair = self.pair(person, agent)
        pair.agent_id = agent
        return pair


@pytest.fixture(scope="module")
def office(shared_server):
    return Office(shared_server)


@pytest.fixture
def timed(clock):
    made = Office(clock.server)
    made.clock = clock
    return made


def sees(caller, item, text):
    """Whether a caller finds an item on every way to it; hidden looks like missing."""
    status, answer, _ = caller.call("GET", f"/v1/items/{item}")
    found = item in caller.found(text, k=50)
    listed = item in [row["id"] for row in caller.ask("GET", "/v1/items?limit=100")["items"]]
    assert found == listed == (status == 200), (status, found, listed)
    if status != 200:
        missing = caller.refused("GET", f"/v1/items/{random_id()}", **MISSING)
        assert {**answer, "request_id": None} == {**missing, "request_id": None}
        caller.refused("GET", f"/v1/items/{item}/versions", **MISSING)
        caller.refused("DELETE", f"/v1/items/{item}", **MISSING)
    return status == 200


def test_classification_must_not_exceed_clearance(office):
    """GOV-8.7, D14: every level against every clearance, both ways; without a role an agent is cleared for internal."""
    person = new_caller(office.server)
    texts = {level: novel() for level in LEVELS}
    items = {level: person.write(text, classification=level)["id"] for level, text in texts.items()}
    for clearance in [*LEVELS, None]:
        pair = office.agent_for(person, clearance)
        for level, item in items.items():
            allowed = LEVELS.index(level) <= LEVELS.index(clearance or "internal")
            assert sees(pair, item, texts[level]) == allowed, (clearance, level)
    for level, item in items.items():
        assert sees(person, item, texts[level]), "what is a person's own is never kept from them"
        assert person.get(item)["classification"] == level


def test_domains_must_be_those_of_the_agent(office):
    """GOV-8.7: domain(m) is a subset of domains(a), both ways; who has no domains reads all of them."""
    person = new_caller(office.server)
    cases = [[], ["medical"], ["legal"], ["legal", "medical"]]
    texts = [novel() for _ in cases]
    items = [person.write(text, domains=domains)["id"] for text, domains in zip(texts, cases, strict=True)]
    for own in ([], ["medical"], ["legal", "medical"]):
        pair = office.agent_for(person, domains=own)
        for item, text, domains in zip(items, texts, cases, strict=True):
            assert sees(pair, item, text) == (not own or set(domains) <= set(own)), (own, domains)
            assert person.get(item)["domains"] == domains


def test_a_specialist_writes_of_its_own_domains_alone(office):
    """GOV-8.3: who is specialised in medicine writes what is tagged as medicine only, and is told what would pass."""
    nurse = office.agent_for(new_caller(office.server), domains=["medical"])
    written = nurse.write(novel(), domains=["medical"])["id"]
    for domains in ([], ["legal"], ["legal", "medical"]):
        refusal = nurse.refused("POST", "/v1/items", {"text": novel(), "domains": domains}, **FORBIDDEN)
        assert (refusal["gate"], refusal["errors"][0]["path"]) == ("policy", "/domains"), refusal
        assert "medical" in refusal["errors"][0]["expected"], refusal
    assert nurse.get(written)["domains"] == ["medical"]


def test_nobody_writes_above_their_clearance(office):
    """GOV-8.7: what its writer could not read again is refused with the level that would pass; a person keeps what it likes."""
    person = new_caller(office.server)
    clerk, chief = office.agent_for(person), office.agent_for(person, "confidential")
    secret = {"text": novel(), "classification": "confidential"}
    refusal = clerk.refused("POST", "/v1/items", secret, **FORBIDDEN)
    assert (refusal["gate"], refusal["errors"][0]["path"]) == ("policy", "/classification"), refusal
    assert refusal["errors"][0]["expected"].startswith("internal"), refusal
    assert chief.get(chief.write(**secret)["id"])["classification"] == "confidential"
    person.write(novel(), classification="restricted")
    wrong = clerk.refused("POST", "/v1/items", {"text": novel(), "classification": "secret"}, **INVALID)
    assert wrong["errors"][0]["path"] == "/classification", wrong


def test_rewriting_does_not_make_it_less_secret(office):
    """SHARE-9, GOV-8.7: what is derived from, cites, replaces or was written after reading something secret is as secret."""
    person = new_caller(office.server)
    chief, clerk = office.agent_for(person, "restricted"), office.agent_for(person)
    secret = person.write(novel(), classification="confidential", domains=["legal"])
    derived = chief.write(novel(), derived_from=[secret["version"]])["id"]
    chief.get(secret["id"])
    recalled = chief.write(novel())["id"]
    update = {"text": novel(), "classification": "public"}
    replaced = person.ask("PUT", f"/v1/items/{secret['id']}", update, expect=201)["id"]
    for made in (derived, recalled, replaced):
        shown = person.get(made)
        assert (shown["classification"], shown["domains"]) == ("confidential", ["legal"]), shown
        clerk.refused("GET", f"/v1/items/{made}", **MISSING)


def test_clearance_counts_from_the_next_read_and_lapses(timed):
    """SHARE-5, SHARE-4: a role that clears is given, taken and ends by itself, and each next read goes by it."""
    person = new_caller(timed.server)
    text = novel()
    item = person.write(text, classification="confidential")["id"]
    pair = timed.agent_for(person)
    role = timed.role(clearance="confidential")
    assert not sees(pair, item, text)
    timed.give(role, pair.agent_id)
    assert sees(pair, item, text)
    timed.role(role, clearance="internal")
    assert not sees(pair, item, text)
    timed.role(role, clearance="restricted")
    assert sees(pair, item, text)
    timed.take(role, pair.agent_id)
    assert not sees(pair, item, text)
    timed.give(role, pair.agent_id, expires_at=rfc3339(timed.clock.now + timedelta(hours=1)))
    assert sees(pair, item, text)
    timed.clock.advance(hours=2)
    assert not sees(pair, item, text)


def test_explain_names_clearance_to_those_entitled(office):
    """SHARE-32, GOV-8.7: an auditor and the contributor are told what stands in the way; to others there is nothing."""
    person = new_caller(office.server)
    pair = office.agent_for(person)
    item = person.write(novel(), classification="restricted")["id"]
    body = {"item": item, "user": person.user, "agent": pair.agent_id}
    told = office.chief.ask("POST", "/v1/explain", body)
    assert not told["visible"] and {"reason": "clearance"} in told["hindrances"], told
    assert pair.ask("GET", f"/v1/items/{item}/explain")["hindrances"] == [{"reason": "clearance"}]
    new_caller(office.server).refused("GET", f"/v1/items/{item}/explain", **MISSING)


def test_shared_copies_keep_their_secrecy(office):
    """GOV-8.7, SHARE-19: the copy for others is as secret, so only those who are cleared see it, persons included."""
    author, reader = new_caller(office.server), new_caller(office.server)
    share = {"kind": "write_shared", "share": "on", "scope": {"user": author.name}}
    office.chief.ask("PUT", f"/v1/policies/share-{author.name}", share)
    agent = office.agent_for(author, "confidential")
    office.chief.ask("PUT", f"/v1/edges/ua/{reader.user}/{agent.agent_id}", {})
    text = novel()
    shared = agent.write(text, classification="confidential")["shared_id"]
    through_agent = office.pair(reader, agent.agent_id)
    assert sees(through_agent, shared, text)
    assert not sees(reader, shared, text), "the person is not cleared"
    office.give(office.role(clearance="confidential"), reader.user)
    assert sees(reader, shared, text)


def test_every_transport_carries_it(office):
    """GOV-8.7: gRPC writes and reads the same words as REST, and a role shows what it clears for."""
    person = new_caller(office.server)
    with GrpcCaller(office.server, person.key) as wire:
        made = wire.call("Write", {"text": novel(), "classification": "restricted", "domains": ["ops"]})
        item = wire.call("Get", {"id": made["id"]})
    assert (item["classification"], item["domains"]) == ("restricted", ["ops"])
    role = office.role(clearance="restricted", domains=["ops", "legal"])
    shown = office.shown(role)
    assert (shown["clearance"], shown["domains"]) == ("restricted", ["legal", "ops"])
    body = {"clearance": "top", "domains": [" "]}
    paths = [one["path"] for one in office.chief.refused("PUT", "/v1/roles/wrong", body, **INVALID)["errors"]]
    assert paths == ["/clearance", "/domains"]
