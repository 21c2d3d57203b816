"""What real clients sent, byte for byte, and what a server must answer. Each answer is also
validated against the official schema (McpProcess)."""

import json
import os
import pathlib

import pytest

import mcp_process
from mcp_process import VERSION_KEY, McpProcess
from mcp_schema import LATEST_LEGACY, LEGACY, MODERN

FOLDER = pathlib.Path(__file__).parent / "wire"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
RESULT, TOOL_ERROR, ACKNOWLEDGED, SILENCE = "result", "isError", "acknowledged", "silence"
INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION = -32602, -32601, -32022

# What the recorded server answered to each request. claude_code, codex and inspector talked to a
# minimal server, the sequences went to the TypeScript SDK's server 2.4.0.
RECORDED = {
    "claude_code_2.1.332_fallback": [METHOD_NOT_FOUND, RESULT, RESULT],
    "claude_code_2.1.332_late_fallback": [SILENCE, RESULT, RESULT],
    "claude_code_2.1.332_modern": [RESULT, ACKNOWLEDGED, RESULT, RESULT],
    "codex_0.171.0": [RESULT, RESULT],
    "inspector_2.12.0_legacy": [RESULT, RESULT],
    "inspector_2.12.0_modern": [RESULT, ACKNOWLEDGED, RESULT],
    "sequence_badver": [UNSUPPORTED_VERSION, UNSUPPORTED_VERSION, INVALID_PARAMS,
                        METHOD_NOT_FOUND, RESULT],
    "sequence_bare_modern_call": [RESULT],
    "sequence_bare_noclaim_call": [RESULT, RESULT],
    "sequence_discover_then_init": [RESULT, RESULT, RESULT, RESULT, RESULT, METHOD_NOT_FOUND,
                                    RESULT],
    "sequence_init_with_env": [METHOD_NOT_FOUND],
    "sequence_legacy": [RESULT, RESULT, RESULT, INVALID_PARAMS, TOOL_ERROR, INVALID_PARAMS,
                        METHOD_NOT_FOUND, RESULT, RESULT, METHOD_NOT_FOUND, METHOD_NOT_FOUND],
    "sequence_legacy_newver": [RESULT],
    "sequence_legacy_oldver": [RESULT],
    "sequence_modern": [RESULT, RESULT, RESULT, INVALID_PARAMS, TOOL_ERROR, RESULT, RESULT,
                        INVALID_PARAMS, RESULT, RESULT, INVALID_PARAMS, METHOD_NOT_FOUND,
                        METHOD_NOT_FOUND, INVALID_PARAMS, UNSUPPORTED_VERSION, ACKNOWLEDGED,
                        RESULT],
}
# Where this server's answer is another one: the specification lets servers serve both eras in one
# process, request by request (the recorded ones were of one era, or took the first one seen), asks
# for -32602 on an unknown cursor and for a version key in each request without a handshake.
BOTH_ERAS = "serves both eras"
DIFFERS = {
    ("claude_code_2.1.332_fallback", "server-discover-probe-1"): (RESULT, BOTH_ERAS),
    ("claude_code_2.1.332_late_fallback", "server-discover-probe-1"): (RESULT, BOTH_ERAS),
    ("sequence_badver", 4): (INVALID_PARAMS, "neither version key nor handshake"),
    ("sequence_bare_noclaim_call", 1): (INVALID_PARAMS, "neither version key nor handshake"),
    ("sequence_bare_noclaim_call", 2): (INVALID_PARAMS, "neither version key nor handshake"),
    ("sequence_discover_then_init", 6): (RESULT, BOTH_ERAS),
    ("sequence_legacy", 9): (INVALID_PARAMS, "an unknown cursor"),
    ("sequence_modern", 7): (INVALID_PARAMS, "the fixture server has no such resource"),
    ("sequence_modern", 10): (INVALID_PARAMS, "the fixture server has no such prompt"),
    ("sequence_modern", 15): (RESULT, BOTH_ERAS),
    ("sequence_modern", 17): (INVALID_PARAMS, "an unknown cursor"),
}
CLIENTS = [name for name in RECORDED if not name.startswith("sequence_")]


def lines_of(log):
    """Each line as it was sent, with its message."""
    return [(line, json.loads(line))
            for line in (FOLDER / f"{log}.jsonl").read_bytes().splitlines(keepends=True)]


def requests_of(log):
    return [message for _, message in lines_of(log) if "id" in message]


def wanted_outcomes(log):
    return {json.dumps(message["id"]): DIFFERS.get((log, message["id"]), (recorded,))[0]
            for message, recorded in zip(requests_of(log), RECORDED[log], strict=True)}


def id_of(message):
    if "method" in message:
        assert message["method"] == "notifications/subscriptions/acknowledged", message
        return message["params"]["_meta"][SUBSCRIPTION_KEY]
    return message["id"]


def outcome_of(message):
    if "method" in message:
        return ACKNOWLEDGED
    if "error" in message:
        return message["error"]["code"]
    return TOOL_ERROR if message["result"].get("isError") else RESULT


def send_recorded(server, line, message):
    server._note(message)
    server.send_raw(line if line.endswith(b"\n") else line + b"\n")


def check_content(request, answer):
    """What the specification decides about the answer, whatever the server offers."""
    method, params = request["method"], request.get("params", {})
    if outcome_of(answer) == ACKNOWLEDGED:
        granted = answer["params"]["notifications"]
        assert granted.items() <= params["notifications"].items(), answer
    elif outcome_of(answer) == UNSUPPORTED_VERSION:
        assert answer["error"]["data"] == {"supported": [MODERN],
                                           "requested": params["_meta"][VERSION_KEY]}
    elif "error" in answer:
        assert answer["error"]["message"]
    elif method == "initialize":
        asked = params["protocolVersion"]
        assert answer["result"]["protocolVersion"] == (asked if asked in LEGACY else LATEST_LEGACY)
    elif method == "server/discover":
        assert answer["result"]["supportedVersions"] == [MODERN]
        assert answer["result"]["capabilities"]["tools"] == {}
    elif method == "ping":
        assert answer["result"] == {}
    elif method == "tools/list":
        assert answer["result"]["tools"] and "nextCursor" not in answer["result"]


def end(server, requests):
    """Ends the input: what is left are the results of the subscriptions that were opened."""
    server.end_input()
    rest = server.rest()
    subscribed = [request["id"] for request in requests
                  if request["method"] == "subscriptions/listen"]
    assert [message["id"] for message in rest] == subscribed, rest
    for message in rest:
        assert message["result"]["_meta"][SUBSCRIPTION_KEY] == message["id"]
    assert server.wait() == 0
    assert server.open == {}  # each request was answered


@pytest.fixture(params=["fixture", "opguard-mcp"])
def any_server(request, monkeypatch, tmp_path):
    """Starts the server of the tests, and then the real one."""
    if request.param == "fixture":
        return McpProcess
    path = os.environ.get("OPGUARD_MCP")
    if not path:
        pytest.skip("OPGUARD_MCP is not set")
    monkeypatch.setattr(mcp_process, "server_path", lambda: path)
    environment = {**os.environ, "OPGUARD_HOME": str(tmp_path / "home")}
    return lambda: McpProcess("--stdio", env=environment, cwd=tmp_path)


def replay(server, log):
    wanted = wanted_outcomes(log)
    for line, message in lines_of(log):
        send_recorded(server, line, message)
        if "id" not in message:
            continue
        answer = server.receive()
        assert answer is not None, server.errors
        assert repr(id_of(answer)) == repr(message["id"]), answer  # 1, 1.0 and "1" differ
        assert outcome_of(answer) == wanted[json.dumps(message["id"])], (message, answer)
        check_content(message, answer)
    end(server, requests_of(log))


def test_every_log_is_replayed():
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(RECORDED)
    requests = {(log, message["id"]) for log in RECORDED for message in requests_of(log)}
    assert set(DIFFERS) <= requests
    for (log, request_id), (outcome, _) in DIFFERS.items():
        index = [message["id"] for message in requests_of(log)].index(request_id)
        assert outcome != RECORDED[log][index], "no difference"


@pytest.mark.parametrize("log", CLIENTS)
def test_client(any_server, log):
    with any_server() as server:
        replay(server, log)


@pytest.mark.parametrize("log", sorted(set(RECORDED) - set(CLIENTS)))
def test_sequence(log):
    with McpProcess() as server:
        replay(server, log)


@pytest.mark.parametrize("log", RECORDED)
def test_all_lines_at_once(log):
    """As after a slow start: the client has given up its probe and sent the rest behind it."""
    wanted, requests = wanted_outcomes(log), requests_of(log)
    with McpProcess() as server:
        for _, message in lines_of(log):
            server._note(message)
        server.send_raw(b"".join(line for line, _ in lines_of(log)))
        answers = [server.receive() for _ in requests]
        assert {json.dumps(id_of(answer)): outcome_of(answer) for answer in answers} == wanted
        end(server, requests)


@pytest.mark.parametrize("log", RECORDED)
def test_lines_in_pieces(log):
    """Neither the size of a read nor the end of a line is the end of a message."""
    wanted, requests = wanted_outcomes(log), requests_of(log)
    with McpProcess() as server:
        for line, message in lines_of(log):
            server._note(message)
            text = line.rstrip(b"\n") + b"\r\n"
            for start in range(0, len(text), 97):
                server.send_raw(text[start:start + 97])
            if "id" in message:
                answer = server.receive()
                assert outcome_of(answer) == wanted[json.dumps(message["id"])], (message, answer)
        end(server, requests)
