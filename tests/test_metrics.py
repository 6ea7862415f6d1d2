"""Metrics as an operator scrapes them: one prefix, each with its help and type, no label without bounds."""

import re

import pytest

from callers import Caller, admin, new_caller
from governed import eventually
from server import Server

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
ID = re.compile(r"\b(tnt|usr|agt|res|key|itm|ver|sch|prv|rev|rol|rnd|def|ref)_[a-z2-7]{26}\b")
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def scrape(server):
    """The families of /metrics: their help, type and samples."""
    status, text, headers = server.call("GET", "/metrics", key="")
    assert status == 200 and headers["content-type"].startswith("text/plain")
    help, kind, samples = {}, {}, []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            help[name] = words
        elif line.startswith("# TYPE "):
            _, _, name, word = line.split(" ", 3)
            kind[name] = word
        elif line:
            found = SAMPLE.match(line)
            assert found, line
            samples.append((found[1], dict(LABEL.findall(found[2] or "")), float(found[3])))
    return help, kind, samples, text


@pytest.fixture(scope="module")
def worked(bin, tmp_path_factory):
    """A server that has done a little of everything, and what users called things there."""
    env = {"TABELLION_GOVERNANCE__POLICY": "standard"}
    with Server(bin, tmp_path_factory.mktemp("metrics") / "data", env=env) as server:
        chief, secrets = admin(server), []
        chief.ask("POST", "/v1/agents", {"name": "scout-of-many"}, expect=201)
        chief.ask("POST", "/v1/resources", {"name": "kb-of-many"}, expect=201)
        for number in range(3):
            ana = new_caller(server, name=f"person-{number}")
            chief.ask("POST", f"/v1/edges/ua/person-{number}/scout-of-many", {}, expect=201)
            made = chief.ask("POST", "/v1/keys", {"user": f"person-{number}", "agent": "scout-of-many"}, expect=201)
            bot = Caller(server, made["key"])
            word = f"zanzibar{number}"
            secrets.append(word)
            for layer in "working", "session", "episodic":
                bot.call("POST", "/v1/items", {"text": f"{word} is written to the layer {layer}", "layer": layer, "namespace": f"ns-{word}"})
            bot.call("POST", "/v1/items", {"text": f"{word} holds for good", "layer": "semantic", "kind": f"kind-{word}"})
            bot.call("POST", "/v1/items", {"text": ""})
            bot.call("POST", "/v1/relations", {"relations": [{"subject": word, "predicate": "works_at", "object": "Acme"}]})
            found = bot.ask("POST", "/v1/search", {"query": word, "trace_id": f"trace-{word}"})
            bot.call("POST", "/v1/outcomes", {"search": found["search"], "used": [one["id"] for one in found["results"][:1]], "success": True})
            for item in bot.ask("GET", "/v1/items")["items"]:
                bot.call("GET", f"/v1/items/{item['id']}")
                bot.call("POST", f"/v1/items/{item['id']}:pin", {})
            bot.call("GET", f"/v1/{word}/{word}")
            bot.call("BREW", f"/v1/items/{word}")
            bot.call("POST", "/v1/ask", {"query": word})
            bot.call("POST", "/v1/resources/kb-of-many:call", {"args": {"query": word}})
            ana.call("POST", "/v1/items:reverify", {})
            for review in chief.call("GET", "/v1/reviews")[1].get("reviews", []):
                chief.call("POST", f"/v1/reviews/{review['id']}:decide", {"decision": "reject", "reason": "not needed"})
        chief.ask("POST", "/v1/agents/scout-of-many:suspend", {"reason": "to see it counted"})
        chief.ask("POST", "/v1/agents/scout-of-many:resume", {"reason": "seen"})
        eventually(lambda: "tabellion_vectors_made_total" in server.call("GET", "/metrics", key="")[1])
        yield server, secrets


def test_every_metric_has_help_type_and_the_prefix(worked):
    """GOV-12.12: a scrape explains itself."""
    help, kind, samples, text = scrape(worked[0])
    assert len(samples) > 50
    for name, _, _ in samples:
        family = name if name in kind else SUFFIX.sub("", name)
        assert family.startswith("tabellion_"), name
        assert kind.get(family) in ("counter", "gauge", "histogram", "summary"), name
        assert help.get(family), f"{name} has no HELP"
        if kind[family] == "counter":
            assert family.endswith("_total"), f"{family} is a counter"
        else:
            assert not family.endswith("_total"), f"{family} is a {kind[family]}"


def test_no_label_grows_with_use(worked):
    """GOV-12.12: labels hold words of the server, not ids, names or texts of users; a family has few of them."""
    server, secrets = worked
    _, _, samples, text = scrape(server)
    assert not ID.search(text), ID.search(text)
    for word in [*secrets, "scout-of-many", "kb-of-many", "person-0", "works_at"]:
        assert word not in text, word
    values = {}
    for name, labels, _ in samples:
        for label, value in labels.items():
            values.setdefault((name, label), set()).add(value)
    for (name, label), found in values.items():
        assert len(found) <= (120 if label in ("route", "le") else 40), (name, label, sorted(found)[:50])
