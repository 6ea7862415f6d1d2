"""Resources that agents call: what may be called by whom, with what, and what is remembered of it."""

import pytest

from callers import Caller
from grpc_caller import GrpcCaller
from mcp_caller import McpCaller, over_http
from orchestra import COPPER, STEEL, Company, Service, library, table
from server import Server
from test_access import MISSING

UNAVAILABLE = {"status": 503, "code": "RESOURCE_UNAVAILABLE"}
INVALID = {"status": 422, "code": "SCHEMA_INVALID"}
NOT_CONFIGURED = {"status": 409, "code": "RESOURCE_NOT_CONFIGURED"}
FAILED = {"status": 422, "code": "RESOURCE_FAILED"}


@pytest.fixture
def service():
    with Service() as running:
        yield running


@pytest.fixture
def company(bin, tmp_path, service):
    resources = [
        library(tmp_path, "kb"), service.table("prices", timeout_ms=600),
        service.table("guarded", key_env="TABELLION_RESOURCE_PRICES"),
        table(name="elsewhere", tenant="acme", kind="http", url=service.url),
    ]  # fmt: skip
    with Company(bin, tmp_path / "company", {"TABELLION_RESOURCE_PRICES": "sk-price-key"}, resources) as running:
        yield running


def pair(company, *resources, **more):
    agent = company.specialist("metals", *resources, **more)
    return company.pair(company.person(), agent)


def call(caller, resource, body=None, **more):
    return caller.ask("POST", f"/v1/resources/{resource}:call", body or {"args": {"query": "price of steel"}}, **more)


def test_a_knowledge_base_is_searched(company):
    """SHARE-26: query -> top_k, best first, by name or id."""
    bot = pair(company, "kb")
    reply = call(bot, "kb", {"args": {"query": "What does copper cost?", "top_k": 1}})
    [best] = reply["result"]["results"]
    assert (best["id"], best["text"]) == ("doc-1", COPPER) and 0 < best["score"] <= 1
    assert call(bot, reply["resource"], {"args": {"query": "copper"}})["name"] == "kb"
    assert call(bot, "kb", {"args": {"query": "the weather"}})["result"] == {"results": []}
    assert len(call(bot, "kb", {"args": {"query": "cost kilo May"}})["result"]["results"]) == 2


def test_a_service_is_sent_the_arguments_and_its_key(company, service):
    """SHARE-26: JSON by POST, the bearer from the environment for the resource that names it and for no other."""
    bot = pair(company, "prices", "guarded")
    assert call(bot, "prices")["result"] == {"answer": STEEL}
    call(bot, "guarded")
    assert service.calls == [{"query": "price of steel"}] * 2
    assert service.keys == [None, "Bearer sk-price-key"]
    assert "sk-price-key" not in company.server.log and "price of steel" not in company.server.log


def test_arguments_must_be_of_the_schema(company, service):
    """SHARE-26: every fault with its path; nothing is sent, and the trail has the refusal."""
    bot = pair(company, "kb", "prices")
    for args, paths in [
        ({}, ["/args/query"]), ({"query": 5}, ["/args/query"]), ({"query": "a", "top_k": 0}, ["/args/top_k"]),
        ({"query": "a", "top_k": 99, "x": 1}, ["/args/top_k", "/args/x"]),
    ]:  # fmt: skip
        refusal = bot.refused("POST", "/v1/resources/kb:call", {"args": args}, **INVALID)
        assert sorted(error["path"] for error in refusal["errors"]) == paths
    bot.refused("POST", "/v1/resources/prices:call", {"args": {"query": "a", "city": "b"}}, **INVALID)
    bot.refused("POST", "/v1/resources/prices:call", {"query": "a"}, **INVALID)
    assert service.calls == []
    assert company.kinds("resource_call") == ["SCHEMA_INVALID"] * 5


def test_what_may_not_be_used_looks_like_what_is_not_there(company, service):
    """SHARE-26, SHARE-41: without the edge, without the resource, after a revoke: one answer."""
    bot = pair(company, "prices")
    company.register("guarded")
    answers = [bot.refused("POST", f"/v1/resources/{name}:call", {"args": {"query": "a"}}, **MISSING)
               for name in ("guarded", "no-such", "res_" + "a" * 26)]  # fmt: skip
    call(bot, "prices")
    company.revoke("ar", bot.agent, "prices")
    answers.append(bot.refused("POST", "/v1/resources/prices:call", {"args": {"query": "a"}}, **MISSING))
    assert len({str({**answer, "request_id": ""}) for answer in answers}) == 1
    assert len(service.calls) == 1


def test_a_revoke_while_it_is_asked_counts(company, service):
    """SHARE-5, SHARE-26: what came back after the edge was gone is not given."""
    bot = pair(company, "prices")
    service.gives = lambda sent: company.revoke("ar", bot.agent, "prices") and {"answer": STEEL}
    answer = bot.refused("POST", "/v1/resources/prices:call", {"args": {"query": "a"}}, **MISSING)
    assert STEEL not in str(answer) and len(service.calls) == 1


def test_what_nobody_configured_says_what_to_set(company):
    """SHARE-26: registered and granted is not yet reachable; another tenant's entry is no one else's."""
    bot = pair(company, "unknown", "elsewhere")
    for name in ("unknown", "elsewhere"):
        refusal = bot.refused("POST", f"/v1/resources/{name}:call", {"args": {}}, **NOT_CONFIGURED)
        assert f'name = "{name}"' in refusal["message"] and "[[resources]]" in refusal["message"]


def test_a_resource_is_meant_for_one_tenant(company, service):
    """SHARE-29: a tenant that calls its resource like another's does not get at it."""
    for name, mine in [("acme", True), ("other", False)]:
        tenant = company.chief.ask("POST", "/v1/tenants", {"name": name}, expect=201)
        chief = Caller(company.server, tenant["admin_key"])
        for kind, body in [("agents", {"name": "bot"}), ("users", {"name": "ana"}), ("resources", {"name": "elsewhere"}),
                           ("resources", {"name": "prices"})]:  # fmt: skip
            chief.ask("POST", f"/v1/{kind}", body, expect=201)
        for resource in ("elsewhere", "prices"):
            chief.ask("POST", f"/v1/edges/ar/bot/{resource}", {}, expect=201)
        bot = Caller(company.server, chief.ask("POST", "/v1/keys", {"user": "ana", "agent": "bot"}, expect=201)["key"])
        bot.refused("POST", "/v1/resources/prices:call", {"args": {"query": "a"}}, **NOT_CONFIGURED)
        if mine:
            assert call(bot, "elsewhere")["result"] == {"answer": STEEL}
        else:
            bot.refused("POST", "/v1/resources/elsewhere:call", {"args": {"query": "a"}}, **NOT_CONFIGURED)


@pytest.mark.parametrize("trouble", ["slow", "status", "html", "oversized", "elsewhere", "down"])
def test_a_resource_that_fails_is_told_apart_from_nothing_found(company, service, trouble):
    """SHARE-26: a time limit, a size limit, no redirect; the words name what happened, and a retry is possible."""
    bot = pair(company, "prices")
    if trouble == "slow":
        service.waits = 3
    if trouble == "status":
        service.status = 500
    if trouble == "html":
        service.raw = b"<html>"
    if trouble == "oversized":
        service.raw = b'"' + b"x" * 400_000 + b'"'
    if trouble == "elsewhere":
        service.status, service.location = 302, service.url
    if trouble == "down":
        service.down()
    words = {"slow": "too long", "status": "status 500", "html": "not JSON", "oversized": "too large",
             "elsewhere": "status 302", "down": "cannot be reached"}[trouble]  # fmt: skip
    assert words in bot.refused("POST", "/v1/resources/prices:call", {"args": {"query": "a"}}, **UNAVAILABLE)["message"]
    assert company.kinds("resource_call") == ["RESOURCE_UNAVAILABLE"]
    assert len(service.calls) == (0 if trouble == "down" else 1), "nothing is tried again"


def test_what_is_written_after_a_call_rests_on_the_resource(company):
    """SHARE-9, SHARE-10, SHARE-26: a call counts in its trace, beside what a trusted agent declares, after a revoke too."""
    trusted = pair(company, "kb", "prices", trust_declared=True)
    asked = {name: {"args": {"query": "a"}, "trace_id": f"work-{name}"} for name in ("kb", "prices")}
    ids = {name: call(trusted, name, body)["resource"] for name, body in asked.items()}
    both = trusted.write("Kb and prices agree on steel", resources=["kb"], trace_id="work-prices")
    assert set(trusted.get(both["id"])["resources"]) == set(ids.values())
    one = trusted.write("The knowledge base alone knows copper", resources=["kb"], trace_id="work-kb")
    assert trusted.get(one["id"])["resources"] == [ids["kb"]]
    other = pair(company, "prices")
    call(other, "prices")
    company.revoke("ar", other.agent, "prices")
    gone = other.write("Learnt before the edge went")
    other.refused("GET", f"/v1/items/{gone['id']}", **MISSING)
    company.grant("ar", other.agent, "prices")
    assert other.get(gone["id"])["resources"] == [ids["prices"]]


def test_a_tool_of_another_server_over_mcp(bin, tmp_path):
    """SHARE-26: initialize, initialized, tools/call on a real MCP server, with a key; its refusals are told."""
    with Server(bin, tmp_path / "other") as other:
        Caller(other, other.key).write(STEEL)
        env = {"TABELLION_RESOURCE_OTHER": other.key}
        tool = {"kind": "mcp", "url": f"{other.url}/mcp", "key_env": "TABELLION_RESOURCE_OTHER"}
        tools = [table(name="other", tool="search_items", **tool), table(name="nothing", tool="no_such_tool", **tool)]
        with Company(bin, tmp_path / "company", env, tools) as company:
            bot = pair(company, "other", "nothing")
            found = call(bot, "other", {"args": {"query": "steel"}})["result"]["results"]
            assert [one["text"] for one in found] == [STEEL]
            refused = bot.refused("POST", "/v1/resources/nothing:call", {"args": {"query": "a"}}, **FAILED)
            assert "unknown tool" in refused["errors"][0]["actual"]


def test_all_transports_call_alike(company):
    """SHARE-26: REST, gRPC and MCP give the same answer and the same refusals."""
    bot = pair(company, "kb")
    args = {"query": "What does copper cost?", "top_k": 1}
    over_rest = call(bot, "kb", {"args": args})
    with McpCaller(over_http(company.server, bot.key)) as mcp:
        assert mcp.ask("call_resource", {"resource": "kb", "args": args}) == over_rest
        assert mcp.refused("call_resource", {"resource": "kb", "args": {}})["code"] == "SCHEMA_INVALID"
        assert mcp.refused("call_resource", {"resource": "no-such", "args": {}})["code"] == "NOT_FOUND"
    with GrpcCaller(company.server, bot.key) as grpc:
        assert grpc.call("CallResource", {"id": "kb", "args": args}) == over_rest


def test_a_wrong_configuration_stops_the_start(bin, tmp_path):
    """SHARE-26: what could not be called is told before anything is served."""
    for entry, words in [
        (table(name="kb", kind="kb_search", file=str(tmp_path / "nowhere")), "nowhere"),
        (table(name="x", kind="http", url="ftp://host/x"), "http://"),
        (table(name="x", kind="http", url="http://host/x", key_env="TABELLION_MASTER_KEY"), "TABELLION_RESOURCE_"),
        (table(name="x", kind="mcp", url="http://host/x"), "tool"),
    ]:  # fmt: skip
        server = Server(bin, tmp_path / "data", env={"TABELLION_RESOURCES": f"[{entry}]"})
        server.spawn()
        assert server.process.wait(20) != 0 and words in server.log
        server._stderr.close()
