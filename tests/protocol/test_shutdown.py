"""How a server ends: end of input, signals, a client that is gone."""

import os
import signal
import time

import pytest

from mcp_process import McpProcess

SHORT_MS, LONG_MS = 300, 60_000


def test_end_of_input_ends_an_idle_server():
    with McpProcess() as server:
        start = time.monotonic()
        server.finish()
        assert time.monotonic() - start < 5
        assert server.error_text() == ""


def test_last_line_needs_no_newline():
    with McpProcess() as server:
        server._note({"id": "a", "method": "ping"})
        server.send_raw(b'{"jsonrpc":"2.0","id":"a","method":"ping"}')
        server.end_input()
        assert [message["id"] for message in server.rest()] == ["a"]
        assert server.wait() == 0


def test_call_in_flight_is_finished_after_the_end_of_input():
    with McpProcess(LONG_MS, LONG_MS) as server:
        server.initialize()
        server.call_tool("slow", {"ms": SHORT_MS})
        server.end_input()
        answer, = server.rest()
        assert answer["result"]["content"][0]["text"] == "slept"
        assert server.wait() == 0


def test_long_call_is_cancelled_after_the_end_of_input_and_answered():
    with McpProcess(SHORT_MS, LONG_MS) as server:
        server.initialize()
        server.call_tool("slow", {"ms": LONG_MS})
        server.wait_for_error_line("slow: started")
        server.end_input()
        answer, = server.rest()
        assert answer["result"]["content"][0]["text"] == "stopped"
        assert server.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_an_idle_server(number):
    with McpProcess() as server:
        server.initialize()
        server.child.send_signal(number)
        assert server.rest() == []
        assert server.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_lets_calls_end(number):
    with McpProcess(LONG_MS, LONG_MS) as server:
        server.initialize()
        server.call_tool("slow", {"ms": 4 * SHORT_MS})
        server.wait_for_error_line("slow: started")
        server.child.send_signal(number)
        answer, = server.rest()
        assert answer["result"]["content"][0]["text"] == "slept"
        assert server.wait() == 0


def test_second_signal_cancels_at_once():
    with McpProcess(LONG_MS, LONG_MS) as server:
        server.initialize()
        server.call_tool("slow", {"ms": LONG_MS})
        server.wait_for_error_line("slow: started")
        start = time.monotonic()
        server.child.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        server.child.send_signal(signal.SIGTERM)
        answer, = server.rest()
        assert answer["result"]["content"][0]["text"] == "stopped"
        assert server.wait() == 0
        assert time.monotonic() - start < LONG_MS / 1000 / 2


def test_calls_that_wait_for_a_worker_are_answered_at_the_end():
    with McpProcess(SHORT_MS, LONG_MS) as server:
        server.initialize()
        calls = {server.call_tool("slow", {"ms": LONG_MS}) for _ in range(30)}
        server.end_input()
        assert {message["id"] for message in server.rest()} == calls
        assert server.wait() == 0


@pytest.mark.parametrize("how", ["end of input", "signal"])
def test_call_that_ignores_its_cancellation_is_left_behind(how):
    with McpProcess(SHORT_MS, SHORT_MS) as server:
        server.initialize()
        server.call_tool("stubborn")
        server.wait_for_error_line("stubborn: started")
        if how == "signal":
            server.child.send_signal(signal.SIGTERM)
        else:
            server.end_input()
        assert server.rest() == []
        assert server.wait() == 0


def test_closed_output_ends_the_server_and_cancels_its_calls():
    with McpProcess() as server:
        server.initialize()
        server.call_tool("slow", {"ms": LONG_MS})
        server.wait_for_error_line("slow: started")
        server.may_read.clear()
        server.request("ping")  # takes the reader out of its readline
        server.threads[0].join(0.5)
        server.child.stdout.close()
        server.request("ping")
        server.wait_for_error_line("slow: cancelled")
        assert server.wait() == 0


@pytest.mark.parametrize("how", ["end of input", "signal"])
def test_client_that_does_not_read_cannot_hold_the_server(how):
    with McpProcess(SHORT_MS, SHORT_MS) as server:
        server.initialize()
        server.may_read.clear()
        server.request("ping")  # takes the reader out of its readline
        server.call_tool("large", {"bytes": 4_000_000})
        server.request("ping")
        server.call_tool("slow", {"ms": LONG_MS})
        server.wait_for_error_line("slow: started")
        if how == "signal":
            server.child.send_signal(signal.SIGTERM)
        else:
            server.end_input()
        assert server.wait() == 0


def test_server_starts_without_standard_input_or_output():
    with McpProcess(preexec_fn=lambda: os.close(0)) as server:
        assert server.wait() in (0, 1)
    with McpProcess(preexec_fn=lambda: os.close(1)) as server:
        assert server.wait() == 1
