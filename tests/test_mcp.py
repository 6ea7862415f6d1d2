"""MCP with the official client: over HTTP, over stdio on a data directory, and over stdio relayed to a server."""

import http.client
import subprocess
from contextlib import contextmanager

import pytest

from callers import new_caller, random_id
from mcp_caller import McpCaller, over_http, over_stdio
from server import Server

TOOLS = {
    "write_item", "update_item", "get_item", "list_items", "search_items", "item_versions", "retract_item", "rollback_item", "pin_item",
    "unpin_item", "report_outcome", "whoami", "list_writes", "get_write", "reopen_write", "withdraw_write", "feedback",
    "explain_item", "ask", "call_resource", "write_relations", "find_paths", "declare_round", "trust",
}  # fmt: skip
WAYS = ["http", "relay", "direct"]


@pytest.fixture(scope="module")
def direct_data(bin, tmp_path_factory):
    """A data directory that no server holds, and the key of a user in it."""
    directory = tmp_path_factory.mktemp("direct") / "data"
    with Server(bin, directory) as server:
        key = new_caller(server).key
        assert server.stop() == 0
    return directory, key


@pytest.fixture
def connect(bin, shared_server, direct_data):
    """Opens a connection of one of three ways, with a good key unless another is given."""

    @contextmanager
    def open_connection(way, key=None, mode="auto"):
        if way == "direct":
            transport = over_stdio(bin, key or direct_data[1], "--data", direct_data[0])
        else:
            key = key or new_caller(shared_server).key
            if way == "relay":
                transport = over_stdio(bin, key, TABELLION_URL=shared_server.url)
            else:
                transport = over_http(shared_server, key)
        with McpCaller(transport, mode) as caller:
            yield caller

    return open_connection


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("way", WAYS)
def test_tools_are_listed_and_work(connect, way, mode):
    """SHARE-28: write, read, search and undo with the key from the header, or over stdio from the environment."""
    with connect(way, mode=mode) as caller:
        tools = caller.tools()
        assert set(tools) == TOOLS
        assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools.values())
        assert tools["search_items"].annotations.read_only_hint and not tools["write_item"].annotations.read_only_hint
        assert caller.ask("whoami")["role"] == "member"
        text = f"the {way} lantern burns in {mode}"
        written = caller.ask("write_item", {"text": text, "key": "lantern"})
        assert written["status"] == "committed"
        assert caller.ask("write_item", {"text": text, "key": "lantern"})["status"] == "already_committed"
        assert caller.ask("get_item", {"id": written["id"]})["text"] == text
        found = caller.ask("search_items", {"query": f"lanterns {way} {mode}", "min_token": written["token"]})
        assert found["results"][0]["id"] == written["id"]
        update = {"id": written["id"], "text": "no lantern burns", "expected_version": written["version"]}
        second = caller.ask("write_item", update)
        rows = caller.ask("item_versions", {"id": written["id"]})["versions"]
        assert {row["version"] for row in rows} == {written["version"], second["version"]}
        assert caller.ask("pin_item", {"id": written["id"], "reason": "x"})["status"] == "pinned"
        assert caller.ask("unpin_item", {"id": written["id"], "reason": "x"})["status"] == "unpinned"
        back = caller.ask("rollback_item", {"id": written["id"], "version": second["version"]})
        assert back["status"] == "rolled_back_with_reactivation"
        assert caller.ask("get_item", {"id": written["id"]})["text"] == text
        assert written["id"] in [item["id"] for item in caller.ask("list_items", {"limit": 500})["items"]]
        assert caller.ask("retract_item", {"id": written["id"]})["status"] == "retracted"


@pytest.mark.parametrize("way", WAYS)
def test_refusals_are_results_with_a_code(connect, way):
    """GOV-2.2, SHARE-28, SHARE-41: a model is told what to change; hidden is missing here too."""
    with connect(way) as caller:
        refusal = caller.refused("write_item", {"text": "x", "confidence": 1.2, "layer": "deep", "colour": "red"})
        assert refusal["code"] == "SCHEMA_INVALID" and refusal["message"]
        assert {error["path"] for error in refusal["errors"]} == {"/confidence", "/layer", "/colour"}
        assert caller.refused("write_item", {"text": "x", "user": "ben"})["code"] == "IDENTITY_IN_BODY"
        assert caller.refused("get_item", {"id": random_id()})["code"] == "NOT_FOUND"
        assert caller.refused("get_item", {"id": "nonsense"})["code"] == "NOT_FOUND"
        assert caller.refused("write_item", {"text": "x", "id": random_id()})["code"] == "NOT_FOUND"
        assert caller.refused("search_items", {"query": "x", "min_token": "x"})["code"] == "TOKEN_INVALID"
        caller.ask("whoami")


@pytest.mark.parametrize("way", ["http", "relay"])
def test_hidden_is_missing(connect, ben, way):
    """SHARE-41: another's item and an id of nothing are answered alike."""
    hidden = ben.write("a secret")
    with connect(way) as caller:
        for tool in "get_item", "item_versions", "retract_item", "rollback_item", "pin_item", "unpin_item":
            answers = [caller.refused(tool, {"id": id}) for id in (hidden["id"], random_id())]
            for answer in answers:
                answer.pop("request_id", None)
            assert answers[0] == answers[1] and answers[0]["code"] == "NOT_FOUND"
        assert caller.ask("search_items", {"query": "secret"})["results"] == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_bad_key_gets_nowhere(connect, way, mode):
    """SHARE-28: no connection, or none of its calls succeeds."""
    with pytest.raises(BaseException) as caught:
        with connect(way, key="tab_" + "a" * 52, mode=mode) as caller:
            caller.ask("whoami")
    assert not isinstance(caught.value, KeyboardInterrupt)


def test_a_bad_key_on_stdio_is_explained(bin, direct_data):
    """SHARE-28: whoever starts it by hand is told what to set; nothing but messages is on stdout."""
    for key in "tab_" + "a" * 52, "":
        command = [bin, "mcp", "--data", direct_data[0]]
        done = subprocess.run(command, env={"TABELLION_KEY": key}, input="", capture_output=True, text=True, timeout=30)
        assert done.returncode != 0 and "key" in done.stderr.lower(), done
        assert done.stdout == "" and "panicked" not in done.stderr


def test_http_without_a_key_is_unauthenticated(shared_server):
    """SHARE-28: the endpoint asks for the same header as the rest."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for key in "", "tab_" + "a" * 52:
        status, _, _ = shared_server.call(
            "POST", "/mcp", body, key=key, headers={"Accept": "application/json, text/event-stream"}
        )
        assert status == 401


def test_a_foreign_page_cannot_reach_the_endpoint(shared_server, ana):
    """A browser that was sent here by a foreign page or name is turned away."""
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
    for name, value in ("Host", "evil.example"), ("Origin", "https://evil.example"):
        connection = http.client.HTTPConnection("127.0.0.1", shared_server.port, timeout=20)
        connection.putrequest("POST", "/mcp", skip_host=name == "Host")
        for header, content in {
            name: value, "Authorization": f"Bearer {ana.key}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream", "Content-Length": str(len(body)),
        }.items():  # fmt: skip
            connection.putheader(header, content)
        connection.endheaders(body.encode())
        assert connection.getresponse().status == 403, name
        connection.close()


@pytest.mark.parametrize(
    "sent", ["", "not json\n", "[]\n", '{"jsonrpc":"2.0"}\n', "\0\n", '{"jsonrpc":"2.0","id":1,"method":"x"}\n' * 3]
)
@pytest.mark.parametrize("way", ["relay", "direct"])
def test_nonsense_on_stdin_does_not_break_it(bin, shared_server, ana, direct_data, way, sent):
    """It answers or ends; it neither hangs nor panics, and stdout holds only messages."""
    command = [bin, "mcp"] + (["--data", direct_data[0]] if way == "direct" else [])
    env = {"TABELLION_KEY": direct_data[1] if way == "direct" else ana.key, "TABELLION_URL": shared_server.url}
    done = subprocess.run(command, env=env, input=sent, capture_output=True, text=True, timeout=30)
    assert "panicked" not in done.stderr
    assert all(line.startswith("{") for line in done.stdout.splitlines()), done.stdout


def test_what_was_written_over_stdio_is_there_for_a_server(bin, direct_data, tmp_path):
    """The data directory is the same one, and what is in it is durable."""
    directory, key = direct_data
    with McpCaller(over_stdio(bin, key, "--data", directory)) as caller:
        written = caller.ask("write_item", {"text": "left by a child process"})
    with Server(bin, directory) as server:
        assert server.call("GET", f"/v1/items/{written['id']}", key=key)[1]["text"] == "left by a child process"


def test_a_directory_in_use_is_not_opened_twice(bin, shared_server, ana):
    """While a server holds the directory, stdio on the same one refuses with a message that says so."""
    command = [bin, "mcp", "--data", shared_server.data_dir]
    done = subprocess.run(command, env={"TABELLION_KEY": ana.key}, input="", capture_output=True, text=True, timeout=30)
    assert done.returncode != 0 and done.stderr.strip() and "panicked" not in done.stderr, done
    ana.write("still served")
