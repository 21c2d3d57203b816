"""A server as a child process. Everything that it sends is validated as it is received."""

import itertools
import json
import os
import queue
import subprocess
import threading
import time

import mcp_schema

PATIENCE_S = 60.0  # of steps that take milliseconds, on any machine and under any sanitizer
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
MODERN_META = {VERSION_KEY: mcp_schema.MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
CLIENT = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def server_path():
    return os.environ["OPGUARD_FIXTURE_SERVER"]


def is_sanitized():
    return os.environ.get("OPGUARD_SANITIZED", "") not in ("", "0")


def _key(value):
    return json.dumps(value)  # 1 and "1" differ


class McpProcess:
    def __init__(self, *arguments, **options):
        self.child = subprocess.Popen([server_path(), *map(str, arguments)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.legacy_version = None
        self.ids = itertools.count(1)
        self.open = {}  # id -> (version, method)
        self.tokens = {}  # progress token -> version
        self.lines = queue.Queue()
        self.errors = []
        self.errors_changed = threading.Condition()
        self.may_read = threading.Event()
        self.may_read.set()
        self.threads = [threading.Thread(target=self._read_output, daemon=True),
                        threading.Thread(target=self._read_errors, daemon=True)]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.may_read.set()
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for thread in self.threads:
            thread.join(PATIENCE_S)
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            try:
                stream.close()
            except OSError:
                pass

    def _read_output(self):
        try:
            while self.may_read.wait() and (line := self.child.stdout.readline()):
                self.lines.put(line)
        except ValueError:  # closed by the test
            pass
        self.lines.put(None)

    def _read_errors(self):
        for line in self.child.stderr:
            with self.errors_changed:
                self.errors.append(line.decode(errors="replace").rstrip("\n"))
                self.errors_changed.notify_all()

    # Sending.

    def send_raw(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def send(self, message):
        for item in message if isinstance(message, list) else [message]:
            self._note(item)
        self.send_raw(json.dumps(message).encode() + b"\n")

    def _note(self, message):
        if "id" not in message or "method" not in message:
            return
        meta = message.get("params", {}).get("_meta", {})
        version = (mcp_schema.MODERN if VERSION_KEY in meta
                   else self.legacy_version or mcp_schema.LATEST_LEGACY)
        self.open[_key(message["id"])] = (version, message["method"])
        if "progressToken" in meta:
            self.tokens[_key(meta["progressToken"])] = version

    def request(self, method, params=None, *, modern=False, token=None, request_id=None):
        """Sends a request and returns its id."""
        params = dict(params or {})
        meta = dict(MODERN_META) if modern else {}
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta
        request_id = next(self.ids) if request_id is None else request_id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params:
            message["params"] = params
        self.send(message)
        return request_id

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def call_tool(self, name, arguments=None, **options):
        return self.request("tools/call", {"name": name, "arguments": arguments or {}}, **options)

    def cancel(self, request_id):
        self.notify("notifications/cancelled", {"requestId": request_id})

    # Receiving.

    def receive(self, patience=PATIENCE_S):
        """The next message; None at the end of the output."""
        try:
            line = self.lines.get(timeout=patience)
        except queue.Empty:
            raise AssertionError(f"no message; standard error: {self.errors[-20:]}") from None
        if line is None:
            self.lines.put(None)
            return None
        assert line.endswith(b"\n"), line[-200:]
        message = json.loads(line.decode("utf-8", errors="strict"))
        self._check(message)
        return message

    def _check(self, message):
        if isinstance(message, list):
            mcp_schema.check(self.legacy_version, message, *mcp_schema.BATCH)
            for item in message:
                self._check(item)
        elif "method" in message:
            assert "id" not in message, "this server sends no requests"
            self._check_notification(message)
        elif "id" in message:
            version, method = self.open.pop(_key(message["id"]))
            if method == "initialize" and "result" in message:
                version = self.legacy_version = message["result"]["protocolVersion"]
            mcp_schema.check_response(version, method, message)
        else:
            mcp_schema.check_response(mcp_schema.LATEST_LEGACY, None, message)
            mcp_schema.check_response(mcp_schema.MODERN, None, message)

    def _check_notification(self, message):
        params = message["params"]
        version = mcp_schema.MODERN
        if "progressToken" in params:
            version = self.tokens[_key(params["progressToken"])]
        mcp_schema.check_notification(version, message)

    def ask(self, method, params=None, **options):
        """The answer to a request, which must be the next message."""
        request_id = self.request(method, params, **options)
        message = self.receive()
        assert message is not None and message.get("id") == request_id, message
        return message

    def initialize(self, version=mcp_schema.LATEST_LEGACY):
        answer = self.ask("initialize", {"protocolVersion": version, **CLIENT})
        self.notify("notifications/initialized")
        return answer["result"]

    def rest(self, patience=PATIENCE_S):
        """All messages up to the end of the output."""
        messages = []
        while (message := self.receive(patience)) is not None:
            messages.append(message)
        return messages

    def wait_for_error_line(self, text, count=1):
        """Waits until standard error has lines with `text`."""
        deadline = time.monotonic() + PATIENCE_S
        with self.errors_changed:
            while sum(text in line for line in self.errors) < count:
                assert self.errors_changed.wait(deadline - time.monotonic()), self.errors[-20:]

    def error_text(self):
        """All of standard error; call it after the end."""
        self.threads[1].join(PATIENCE_S)
        return "\n".join(self.errors)

    # Ending.

    def end_input(self):
        self.child.stdin.close()

    def wait(self, patience=PATIENCE_S):
        return self.child.wait(patience)

    def finish(self):
        """Ends the input; the server must have nothing more to say and end well."""
        self.end_input()
        assert self.rest() == []
        assert self.wait() == 0
