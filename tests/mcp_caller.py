"""Calls over MCP with the official client, one after the other."""

import json
import os
from contextlib import ExitStack

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


def over_http(server, key):
    """The server's own endpoint."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return streamable_http_client(f"{server.url}/mcp", http_client=httpx2.AsyncClient(headers=headers, timeout=30))


def over_stdio(bin, key, *arguments, errors=None, **env):
    """`tabellion mcp` as a child process."""
    env = {"TABELLION_KEY": key, **env}
    parameters = StdioServerParameters(command=str(bin), args=["mcp", *map(str, arguments)], env=env)
    return stdio_client(parameters, errlog=errors or open(os.devnull, "w"))


class McpCaller:
    """One connection; `mode` is "legacy" for the handshake, "auto" for the newest that both sides know."""

    def __init__(self, transport, mode="auto"):
        self.client = Client(transport, mode=mode, read_timeout_seconds=30, raise_exceptions=True)
        self.stack = ExitStack()

    def __enter__(self):
        with ExitStack() as stack:
            self.portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self.portal.wrap_async_context_manager(self.client))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def tools(self):
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, tool, arguments=None):
        """What a tool answered, as (is_error, structured content)."""
        result = self.portal.call(self.client.call_tool, tool, arguments or {})
        assert result.content and result.content[0].text, "there is always a text for those who read nothing else"
        return result.is_error, result.structured_content

    def ask(self, tool, arguments=None):
        is_error, answer = self.call(tool, arguments)
        assert not is_error, answer
        return answer

    def refused(self, tool, arguments=None):
        is_error, answer = self.call(tool, arguments)
        assert is_error, answer
        json.dumps(answer)
        return answer
