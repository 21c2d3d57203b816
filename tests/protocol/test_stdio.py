"""Lines, concurrency and what may not reach standard output."""

import time

import pytest

from mcp_process import McpProcess, is_sanitized

MAX_LINE_BYTES = 10 * 1024 * 1024
PING = b'{"jsonrpc":"2.0","id":"ping","method":"ping"}\n'


def ping_is_answered(server):
    return server.ask("ping", request_id="ping")["result"] == {}


@pytest.mark.parametrize("line, code", [
    (b"{", -32700),
    (b"\xff\xfe{}", -32700),
    (b'{"jsonrpc":"2.0","method":"ping","id":"\xc3\x28"}', -32700),
    (b'{"jsonrpc":"2.0","method":"ping","id":"\\ud800"}', -32700),
    (b"\0\0\0", -32700),
    (b"{} {}", -32700),
    (b"5", -32600),
    (b"[]", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b"[" * 100_000, -32700),
    (b"[" * 100_000 + b"]" * 100_000, -32600),
    (b'{"a":' * 5000 + b"1" + b"}" * 5000, -32600),
    (b"x" * (MAX_LINE_BYTES + 1), -32600),
])
def test_malformed_line_harms_nothing(line, code):
    with McpProcess() as server:
        server.send_raw(line + b"\n")
        answer = server.receive()
        assert answer["error"]["code"] == code
        assert "id" not in answer
        assert ping_is_answered(server)
        server.finish()


def test_malformed_line_is_not_answered_where_an_error_needs_an_id():
    with McpProcess() as server:
        server.initialize("2025-06-18")
        server.send_raw(b"{\n" + b"y" * (MAX_LINE_BYTES + 1) + b"\n")
        assert ping_is_answered(server)
        server.wait_for_error_line("Parse error")
        server.finish()


def test_blank_lines_notifications_and_responses_are_not_answered():
    with McpProcess() as server:
        server.send_raw(b"\n \t\r\n\r\n")
        server.send_raw(b'{"jsonrpc":"2.0","method":"notifications/nosuch","params":[1]}\r\n')
        server.send_raw(b'{"jsonrpc":"2.0","id":4,"result":{}}\n')
        server.cancel(77)
        assert ping_is_answered(server)
        server.finish()


def test_line_of_the_greatest_length_is_served():
    with McpProcess() as server:
        server.initialize()
        frame = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",' \
                '"arguments":{"text":"%s"}}}'
        text = "x" * (MAX_LINE_BYTES - len(frame) + 2)
        server._note({"id": 1, "method": "tools/call"})
        server.send_raw((frame % text).encode() + b"\n")
        assert server.receive()["result"]["structuredContent"]["bytes"] == len(text)
        server.finish()


def test_endless_line_takes_no_memory():
    with McpProcess() as server:
        assert ping_is_answered(server)
        before = peak_kib(server)
        for _ in range(128):
            server.send_raw(b"z" * (1 << 20))
        server.send_raw(b"\n")
        assert server.receive()["error"]["code"] == -32600
        assert ping_is_answered(server)
        assert peak_kib(server) - before < 64 * 1024
        server.finish()


def peak_kib(server):
    with open(f"/proc/{server.child.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def test_pings_are_answered_while_all_workers_are_busy():
    with McpProcess() as server:
        server.initialize()
        calls = {server.call_tool("slow", {"ms": 60_000}) for _ in range(40)}
        server.wait_for_error_line("slow: started", 16)  # the workers
        for _ in range(20):
            assert ping_is_answered(server)
        assert "result" in server.ask("tools/list")
        for call in calls:
            server.cancel(call)
        assert server.ask("tools/call", {"name": "echo"})["result"]
        server.finish()


def test_calls_run_at_the_same_time():
    with McpProcess() as server:
        server.initialize()
        slow = server.call_tool("slow", {"ms": 60_000})
        assert server.ask("tools/call", {"name": "echo", "arguments": {"text": "a"}})["result"]
        server.cancel(slow)
        server.finish()


def test_calls_in_flight_are_bounded():
    with McpProcess() as server:
        server.initialize()
        calls = [server.call_tool("slow", {"ms": 60_000}) for _ in range(300)]
        for call in calls[128:]:
            answer = server.receive()
            assert answer["id"] == call
            assert answer["error"]["code"] == -32603
        assert ping_is_answered(server)
        for call in calls[:128]:
            server.cancel(call)
        assert ping_is_answered(server)
        server.finish()


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("token", [0, 7, "t", ""])
def test_progress_increases_and_precedes_the_answer(modern, token):
    with McpProcess() as server:
        server.initialize()
        start = time.monotonic()
        call = server.call_tool("slow", {"ms": 1300}, token=token, modern=modern)
        seen = []
        while "method" in (message := server.receive()):
            assert message["params"]["progressToken"] == token
            assert type(message["params"]["progressToken"]) is type(token)
            seen.append(message["params"]["progress"])
        assert message["id"] == call
        assert seen == sorted(set(seen))
        assert 2 <= len(seen) <= 1 + 2 * (time.monotonic() - start)
        server.finish()


def test_no_progress_without_a_token():
    with McpProcess() as server:
        server.initialize()
        assert server.ask("tools/call", {"name": "slow", "arguments": {"ms": 100}})["result"]
        server.finish()


@pytest.mark.parametrize("modern", [False, True])
def test_cancelled_call_stops_and_is_not_answered(modern):
    with McpProcess() as server:
        server.initialize()
        call = server.call_tool("slow", {"ms": 60_000}, modern=modern, token="t")
        server.wait_for_error_line("slow: started")
        server.cancel(str(call))  # another id
        assert server.receive()["method"] == "notifications/progress"
        server.cancel(call)
        server.wait_for_error_line("slow: cancelled")
        assert server.ask("tools/call", {"name": "echo"}, request_id=call)["result"]
        assert sum("slow: cancelled" in line for line in server.errors) == 1
        server.finish()


def test_id_in_use_is_refused():
    with McpProcess() as server:
        server.initialize()
        server.call_tool("slow", {"ms": 60_000}, request_id=5)
        assert server.ask("ping", request_id=5)["error"]["code"] == -32600
        server.cancel(5)
        assert server.ask("ping", request_id=5)["result"] == {}
        server.finish()


def test_prints_do_not_reach_the_protocol_and_children_do_not_eat_its_input():
    with McpProcess() as server:
        server.initialize()
        result = server.ask("tools/call", {"name": "print"})["result"]
        assert result["content"][0]["text"] == "printed"
        assert ping_is_answered(server)
        server.finish()
        for stray in ("stray printf", "stray cout", "stray write", "stray child"):
            assert stray in server.error_text()


def test_large_answers_stay_whole_and_do_not_mix():
    with McpProcess() as server:
        server.initialize()
        sizes = {server.call_tool("large", {"bytes": n}): n
                 for n in (1, 4095, 65536, 3_000_000, 5_000_000)}
        for _ in range(len(sizes)):
            answer = server.receive()
            text = answer["result"]["content"][0]["text"]
            assert len(text) == sizes.pop(answer["id"])
        server.finish()


def test_server_reads_on_while_the_client_does_not():
    with McpProcess() as server:
        server.initialize()
        server.may_read.clear()
        server.call_tool("large", {"bytes": 4_000_000})
        for _ in range(3):
            server.request("ping")
        call = server.call_tool("slow", {"ms": 60_000})
        server.wait_for_error_line("slow: started")
        server.cancel(call)
        server.wait_for_error_line("slow: cancelled")
        server.may_read.set()
        assert len([server.receive() for _ in range(4)]) == 4
        server.finish()


def test_handshake_and_listing_are_quick_from_a_cold_start():
    best = float("inf")
    for _ in range(10):
        start = time.monotonic()
        with McpProcess() as server:
            server.initialize()
            assert server.ask("tools/list")["result"]["tools"]
            best = min(best, time.monotonic() - start)
            server.finish()
    print(f"handshake and tools/list: {best * 1000:.1f} ms at best of 10")
    assert best < (2.0 if is_sanitized() else 0.1)
