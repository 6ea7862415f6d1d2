"""Outcomes: what of a search was used, over REST, and what the metrics make of it."""

import re


def found(caller, query):
    return caller.ask("POST", "/v1/search", {"query": query, "mode": "lexical"})


def metric(server, name):
    _, text, _ = server.call("GET", "/metrics")
    return float(re.search(rf"^{name}\S* (\S+)$", text, re.M)[1]) if re.search(rf"^{name}\S* (\S+)$", text, re.M) else 0.0


def test_precision_is_the_share_that_was_used(shared_server, ana, ben):
    """GOV-12.3: of ten retrieved and three used, precision is 0.3; unknown feedback is not found."""
    for number in range(10):
        ana.write(f"marmalade recipe number {number}")
    search = found(ana, "marmalade recipe")
    used = [result["id"] for result in search["results"]][:3]
    report = {"search": search["search"], "used": used, "success": True}
    noted = ana.ask("POST", "/v1/outcomes", report)
    assert noted == {"search": search["search"], "retrieved": 10, "used": 3, "precision": 0.3}
    assert ana.ask("POST", "/v1/outcomes", report) == noted
    for caller, body, status, code in [
        (ana, {**report, "used": []}, 409, "OUTCOME_KNOWN"),
        (ben, report, 404, "NOT_FOUND"),
        (ana, {**report, "search": "sch_" + "a" * 26}, 404, "NOT_FOUND"),
        (ana, {"search": found(ana, "marmalade")["search"], "used": ["itm_" + "a" * 26]}, 422, "SCHEMA_INVALID"),
        (ana, {**report, "user": "ben"}, 400, "IDENTITY_IN_BODY"),
    ]:
        answered, refusal, _ = shared_server.call("POST", "/v1/outcomes", body, key=caller.key)
        assert (answered, refusal["code"]) == (status, code), refusal
    rows = ana.ask("GET", "/v1/audit?action=outcome")["rows"]
    assert [row["outcome"] for row in rows if row["ids"]] == ["success"]
    assert rows[-1]["ids"][0] == search["search"] and set(rows[-1]["ids"][1:]) == set(used)


def test_searches_tell_how_old_what_they_found_is(shared_server, ana):
    """GOV-12.4: staleness is the age of what a search found, at the time of the search."""
    ana.write("an aged cheese")
    before = metric(shared_server, "tabellion_retrieval_staleness_seconds_count")
    assert found(ana, "cheese")["results"]
    assert metric(shared_server, "tabellion_retrieval_staleness_seconds_count") >= before + 1
