"""Both eras of the protocol, each method and each error. Messages are validated in McpProcess."""

import pytest

from mcp_process import CLIENT, MODERN_META, McpProcess
from mcp_schema import LATEST_LEGACY, LEGACY, MODERN

COMPLETE = {"ref": {"type": "ref/prompt", "name": "investigate"},
            "argument": {"name": "pair_id", "value": "p"}}
REQUESTS = [
    ("tools/list", {}),
    ("tools/call", {"name": "echo", "arguments": {"text": "h\u00e9 \U0001f600"}}),
    ("tools/call", {"name": "fail"}),
    ("tools/call", {"name": "throw", "arguments": {}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "investigate", "arguments": {"pair_id": "p1"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "fixture://a"}),
    ("completion/complete", COMPLETE),
]
WRONG_PARAMS = [
    ("tools/call", {}),
    ("tools/call", {"name": "nosuch"}),
    ("tools/call", {"name": "echo", "arguments": [1]}),
    ("tools/list", {"cursor": "page2"}),
    ("prompts/get", {"name": "nosuch"}),
    ("prompts/get", {"name": "investigate"}),
    ("prompts/get", {"name": "investigate", "arguments": {"pair_id": 1}}),
    ("resources/read", {"uri": "fixture://none"}),
    ("resources/read", {"uri": 5}),
    ("completion/complete", {"ref": {"type": "ref/none"}}),
]


@pytest.mark.parametrize("version", LEGACY)
def test_legacy_revision(version):
    with McpProcess() as server:
        hello = server.initialize(version)
        assert hello["protocolVersion"] == version
        assert hello["serverInfo"] == {"name": "fixture", "title": "Fixture", "version": "1.2.3"}
        assert hello["capabilities"] == {"tools": {}, "prompts": {}, "resources": {},
                                         "completions": {}}
        assert hello["instructions"] == "For tests."
        assert server.ask("ping")["result"] == {}
        for method, params in REQUESTS:
            assert "result" in server.ask(method, params), method
        for method, params in WRONG_PARAMS:
            assert server.ask(method, params)["error"]["code"] == -32602, (method, params)
        for method in ("nosuch", "server/discover", "subscriptions/listen", "logging/setLevel",
                       "resources/subscribe", "tasks/list"):
            assert server.ask(method)["error"]["code"] == -32601, method
        server.finish()


def test_modern_revision():
    with McpProcess() as server:
        found = server.ask("server/discover", modern=True)["result"]
        assert found["supportedVersions"] == [MODERN]
        for method, params in REQUESTS:
            assert "result" in server.ask(method, params, modern=True), method
        for method, params in WRONG_PARAMS:
            answer = server.ask(method, params, modern=True)
            assert answer["error"]["code"] == -32602, (method, params)
        for method in ("nosuch", "initialize", "ping", "logging/setLevel", "resources/subscribe"):
            assert server.ask(method, modern=True)["error"]["code"] == -32601, method
        server.finish()


@pytest.mark.parametrize("asked", [MODERN, "1999-01-01", "", 5, None])
def test_unknown_version_in_the_handshake_gets_the_latest(asked):
    with McpProcess() as server:
        assert server.ask("initialize", {"protocolVersion": asked, **CLIENT})["result"][
            "protocolVersion"] == LATEST_LEGACY
        server.finish()


def test_modern_request_with_wrong_meta():
    with McpProcess() as server:
        def code(**meta):
            full = {**MODERN_META, **{f"io.modelcontextprotocol/{k}": v for k, v in meta.items()}}
            answer = server.ask("tools/list", {"_meta": {k: v for k, v in full.items()
                                                         if v is not ...}})
            return answer["error"]["code"] if "error" in answer else 0
        assert code() == 0
        assert code(logLevel="debug", clientInfo=None, other=[1]) == 0
        assert code(clientCapabilities=...) == -32602
        assert code(clientCapabilities=1) == -32602
        assert code(protocolVersion=7) == -32602
        assert code(logLevel="loud") == -32602
        assert code(protocolVersion="2099-01-01") == -32022
        assert code(protocolVersion=LATEST_LEGACY) == -32022
        server.finish()


def test_request_of_no_era_is_refused_until_the_handshake():
    with McpProcess() as server:
        assert server.ask("ping")["result"] == {}
        error = server.ask("tools/list")["error"]
        assert error["code"] == -32602
        assert "io.modelcontextprotocol/protocolVersion" in error["message"]
        server.initialize()
        assert "result" in server.ask("tools/list")
        server.finish()


def test_eras_mix_on_one_connection():
    with McpProcess() as server:
        modern = server.ask("tools/list", modern=True)["result"]["tools"]
        server.initialize("2025-06-18")
        assert server.ask("tools/list")["result"] == {"tools": modern}
        assert server.ask("server/discover", modern=True)["result"]["supportedVersions"] == [MODERN]
        server.initialize(LATEST_LEGACY)
        server.finish()


def test_listing_says_all_about_a_tool():
    with McpProcess() as server:
        tools = {t["name"]: t for t in server.ask("tools/list", modern=True)["result"]["tools"]}
        assert tools["echo"]["outputSchema"]["required"] == ["text", "bytes"]
        assert tools["echo"]["annotations"] == {"readOnlyHint": True, "destructiveHint": False,
                                                "idempotentHint": True, "openWorldHint": False}
        assert tools["large"]["_meta"] == {"anthropic/maxResultSizeChars": 500000}
        server.finish()


def test_failures_of_a_tool_are_results():
    with McpProcess() as server:
        server.initialize()
        for tool in ("fail", "throw"):
            result = server.ask("tools/call", {"name": tool})["result"]
            assert result["isError"] is True
            assert "structuredContent" not in result
        assert "a bang\ufffd" in result["content"][0]["text"]
        server.finish()


def test_batch():
    ping = {"jsonrpc": "2.0", "method": "ping"}
    call = {"jsonrpc": "2.0", "method": "tools/call",
            "params": {"name": "slow", "arguments": {"ms": 50}}}
    with McpProcess() as server:
        server.initialize("2025-03-26")
        server.send([{**call, "id": "c"}, {**ping, "id": "p"},
                     {"jsonrpc": "2.0", "method": "notifications/initialized"}])
        assert [answer["id"] for answer in server.receive()] == ["p", "c"]
        server.initialize("2025-06-18")
        server.send([{**ping, "id": 1}, {**ping, "id": 2}])
        assert [server.receive()["error"]["code"] for _ in range(2)] == [-32600, -32600]
        server.finish()


def test_subscription():
    with McpProcess() as server:
        server.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}},
                       modern=True, request_id="listen:0")
        granted = server.receive()["params"]
        assert granted["notifications"] == {}
        assert granted["_meta"]["io.modelcontextprotocol/subscriptionId"] == "listen:0"
        server.end_input()
        end, = server.rest()
        assert end["id"] == "listen:0"
        assert end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "listen:0"
        assert server.wait() == 0


@pytest.mark.parametrize("request_id", [0, -3, "", "x\u2028\"", 9007199254740993, 2**64 - 1])
def test_ids_come_back_as_they_were(request_id):
    with McpProcess() as server:
        assert server.ask("ping", request_id=request_id)["id"] == request_id
        server.finish()
