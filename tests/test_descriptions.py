"""What models and users are told of tools and operations: for them, and nothing of how the server is made."""

import re

import pytest

from callers import new_caller
from mcp_caller import McpCaller, over_http

# Modules, types and notes of the source; requirements of the specification.
INTERNAL = re.compile(
    r"::|\bserde\b|only (its|the) schema|never made|\b(SHARE|GOV|CAL|AM|ORCH)-\d|\bcrate\b|\bstruct\b|\benum\b|\bVec\b|Body\b|\bu(8|16|32|64)\b|TODO|FIXME"
)


def texts(value, path=""):
    """Every description in a document, with its place."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("description", "summary", "title") and isinstance(inner, str):
                yield f"{path}/{name}", inner
            yield from texts(inner, f"{path}/{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from texts(inner, f"{path}/{place}")


@pytest.fixture
def tools(shared_server):
    with McpCaller(over_http(shared_server, new_caller(shared_server).key)) as mcp:
        return mcp.tools()


def test_tools_are_described_for_models(tools):
    """No note of the source is in a tool's description or schema, and every argument is described."""
    for name, tool in tools.items():
        for path, text in [("", tool.description), *texts(tool.input_schema)]:
            assert not INTERNAL.search(text), f"{name}{path}: {text}"
        for argument, schema in tool.input_schema.get("properties", {}).items():
            assert schema.get("description"), f"{name}: {argument} is not described"


def test_operations_are_described_for_users(shared_server):
    """No note of the source is in /openapi.json."""
    described = shared_server.call("GET", "/openapi.json", key="")[1]
    found = [(path, text) for path, text in texts(described) if INTERNAL.search(text)]
    assert found == []
