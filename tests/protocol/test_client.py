"""The official Python client against the real server, in each way in which the client connects."""

import contextlib
import json
import os
import pathlib
import re
import statistics
import time
import warnings

import jsonschema
import pytest

SERVER = os.environ.get("OPGUARD_MCP")
if not SERVER:
    pytest.skip("OPGUARD_MCP is not set", allow_module_level=True)
anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp", minversion=None)
if not hasattr(mcp, "Client"):
    pytest.skip("this mcp has no Client: 2.3 or later is needed", allow_module_level=True)

from mcp.client.stdio import stdio_client  # noqa: E402

from mcp_process import PATIENCE_S, is_sanitized  # noqa: E402
from mcp_schema import LATEST_LEGACY, MODERN  # noqa: E402

warnings.filterwarnings("ignore", category=DeprecationWarning)

MODES = {"legacy": LATEST_LEGACY, "auto": MODERN, MODERN: MODERN}  # mode -> version that it gives
DEFINITIONS = pathlib.Path(__file__).parents[2] / "schemas" / "tools"
TOOLS = ["run_pair", "first_diff", "tensor_compare", "call_stack", "source_at"]
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
MAX_DESCRIPTION_BYTES = 2048  # Claude Code cuts the rest off
ERROR_TEXT = re.compile(r"(?P<code>[a-z_]+): (?P<message>.+) Fix: (?P<fix>.+)", re.DOTALL)


class Home:
    """A folder in which the server keeps its pairs and runs programs, and how the server ended."""

    def __init__(self, folder):
        self.work, self.status, self.errors = folder / "work", folder / "status", folder / "errors"
        self.work.mkdir()
        # No interpreter with torch is found, so that no capture library is built.
        tools = folder / "bin"
        tools.mkdir()
        (tools / "python3").write_text("#!/bin/sh\nexit 1\n")
        (tools / "python3").chmod(0o755)
        self.environment = {"PATH": f"{tools}:/usr/bin:/bin", "OPGUARD_HOME": str(folder / "home"),
                            "OPGUARD_CACHE": str(folder / "cache")}

    @contextlib.asynccontextmanager
    async def connect(self, mode):
        """A connected client. The server must end well, in time and with nothing to complain of."""
        self.status.unlink(missing_ok=True)
        parameters = mcp.StdioServerParameters(
            command="/bin/sh", args=["-c", '"$0" --stdio; echo $? > "$1"', SERVER,
                                     str(self.status)], env=self.environment, cwd=self.work)
        with open(self.errors, "w") as errors:
            async with mcp.Client(stdio_client(parameters, errlog=errors), mode=mode,
                                  read_timeout_seconds=PATIENCE_S) as client:
                yield client
        self.check_end()

    def check_end(self):
        # There is no status if the client had to kill the server.
        assert self.status.read_text() == "0\n"
        assert self.errors.read_text() == ""

    async def started(self, name):
        """The process that `program_named(name)` became, once it runs."""
        path = self.work / name
        with anyio.fail_after(PATIENCE_S):
            while not (path.exists() and path.read_text().endswith("\n")):
                await anyio.sleep(0.01)
        return int(path.read_text())


def program_named(name):
    """A program that runs for ever and tells its process in a file."""
    return ["/bin/sh", "-c", f"echo $$ > {name}; exec sleep 100000"]


async def wait_gone(process):
    with anyio.fail_after(PATIENCE_S):
        while pathlib.Path(f"/proc/{process}").exists():
            await anyio.sleep(0.01)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


def with_client(home, mode, body):
    """Runs `body(client)` in a connection of its own."""
    async def run():
        async with home.connect(mode) as client:
            return await body(client)
    return anyio.run(run)


def definitions():
    return {path.stem: json.loads(path.read_text()) for path in DEFINITIONS.glob("*.json")}


def error_of(result):
    """Code, message and fix of a tool's error."""
    assert result.is_error
    text, = result.content
    match = ERROR_TEXT.fullmatch(text.text)
    assert match, text.text
    return match.groupdict()


def rpc_error(call):
    async def run():
        with pytest.raises(mcp.MCPError) as caught:
            await call
        return caught.value.error
    return run()


def test_connects(home, mode):
    async def body(client):
        assert client.protocol_version == MODES[mode]
        if mode != MODERN:  # there the client asks for nothing
            assert client.server_info.name == "opguard"
            assert client.server_info.version
            assert client.server_capabilities.tools is not None
            assert 0 < len(client.instructions.encode()) <= MAX_DESCRIPTION_BYTES
    with_client(home, mode, body)


def test_lists_the_tools(home, mode):
    async def body(client):
        return await client.list_tools()
    listing = with_client(home, mode, body)
    assert listing.next_cursor is None
    assert [tool.name for tool in listing.tools] == TOOLS
    assert set(definitions()) == set(TOOLS)
    for tool in listing.tools:
        wanted = definitions()[tool.name]
        assert tool.title == wanted["title"]
        assert tool.description == wanted["description"]
        assert tool.input_schema == wanted["inputSchema"]
        assert tool.output_schema == wanted["outputSchema"]
        hints = tool.annotations.model_dump(by_alias=True, exclude_none=True)
        assert wanted["annotations"].items() <= hints.items()


def test_tools_are_what_clients_accept(home):
    async def body(client):
        return await client.list_tools()
    for tool in with_client(home, "auto", body).tools:
        assert re.fullmatch(r"[a-z_]{1,40}", tool.name)
        assert 0 < len(tool.description.encode()) <= MAX_DESCRIPTION_BYTES
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            # Some clients drop a tool, or all tools, over these.
            assert not {"anyOf", "oneOf", "allOf", "if", "$schema", "$ref"} & schema.keys()
        assert tool.input_schema["additionalProperties"] is False
        is_reader = tool.name != "run_pair"
        assert tool.annotations.read_only_hint is is_reader
        assert tool.annotations.destructive_hint is not is_reader


def test_pages_and_unknown_cursors(home, mode):
    async def body(client):
        error = await rpc_error(client.list_tools(cursor="no-such-page"))
        assert error.code == INVALID_PARAMS
    with_client(home, mode, body)


def test_unknown_pair(home, mode):
    async def body(client):
        return await client.call_tool("first_diff", {"pair_id": "nosuch"})
    error = error_of(with_client(home, mode, body))
    assert error["code"] == "not_found"
    assert "nosuch" in error["message"]
    assert "run_pair" in error["fix"]


@pytest.mark.parametrize("name, arguments, wrong", [
    ("first_diff", {}, "pair_id"),
    ("first_diff", {"pair": "p1"}, "pair"),
    ("first_diff", {"pair_id": ["p1", "p2"]}, "pair_id"),
    ("run_pair", {"command": "true", "repeats": 0}, "repeats"),
    ("run_pair", {"command": {"no": "command"}}, "command"),
    ("run_pair", {"command": "true", "env": {"A": ["b"]}}, "env"),
    ("run_pair", {}, "command"),
    ("tensor_compare", {"pair_id": "p1", "tensor_id": "op:0.1"}, "tensor"),
])
def test_wrong_arguments(home, name, arguments, wrong):
    async def body(client):
        return await client.call_tool(name, arguments)
    error = error_of(with_client(home, "auto", body))
    assert error["code"] == "invalid_argument"
    assert wrong in error["message"]


def test_unknown_names(home, mode):
    async def body(client):
        error = await rpc_error(client.call_tool("nosuch", {}))
        assert error.code == INVALID_PARAMS
        assert all(name in error.message for name in TOOLS)
        assert (await rpc_error(client.get_prompt("nosuch"))).code in (INVALID_PARAMS,
                                                                       METHOD_NOT_FOUND)
    with_client(home, mode, body)


def test_ping(home, mode):
    async def body(client):
        if MODES[mode] != MODERN:
            return await client.send_ping()
        assert (await rpc_error(client.send_ping())).code == METHOD_NOT_FOUND  # it has none
    with_client(home, mode, body)


def test_what_is_offered_is_served(home, mode):
    async def body(client):
        offered = client.server_capabilities
        for capability, list_all in (("prompts", client.list_prompts),
                                     ("resources", client.list_resources)):
            if mode == MODERN:
                continue  # the client asked for no capabilities
            if getattr(offered, capability) is None:
                assert (await rpc_error(list_all())).code == METHOD_NOT_FOUND
                continue
            assert getattr(await list_all(), capability)
    with_client(home, mode, body)


def test_prompts_have_text(home, mode):
    async def body(client):
        if mode != MODERN and client.server_capabilities.prompts is None:
            pytest.skip("the server offers no prompts")
        for prompt in (await client.list_prompts()).prompts:
            assert prompt.description
            given = {argument.name: f"<{argument.name}>" for argument in prompt.arguments or []}
            messages = (await client.get_prompt(prompt.name, given)).messages
            text = "".join(message.content.text for message in messages)
            assert all(value in text for value in given.values())
            for argument in prompt.arguments or []:
                if argument.required:
                    short = {k: v for k, v in given.items() if k != argument.name}
                    error = await rpc_error(client.get_prompt(prompt.name, short))
                    assert error.code == INVALID_PARAMS
    with_client(home, mode, body)


def test_subscribes_to_nothing(home):
    async def body(client):
        async with client.listen(tools_list_changed=True) as subscription:
            assert not subscription.honored.tools_list_changed  # its lists never change
        assert (await client.list_tools()).tools
    with_client(home, "auto", body)


def test_run_tells_its_progress(home, mode):
    """The program imports no torch, so the run fails; the client validates what is said of it."""
    told = []

    async def on_progress(progress, total, message):
        told.append((progress, total, message))

    async def body(client):
        return await client.call_tool(
            "run_pair", {"command": ["/bin/sh", "-c", "echo out of luck >&2; sleep 1.2; exit 7"]},
            progress_callback=on_progress)
    result = with_client(home, mode, body)
    assert not result.is_error
    answer = result.structured_content
    assert json.loads(result.content[0].text) == answer
    assert answer["status"] == "failed"
    side = answer["sides"][0]
    assert (side["side"], side["exit_code"], side["ops"]) == ("a", 7, 0)
    assert answer["run"]["runs"][0]["stderr_tail"] == ["out of luck"]
    values = [progress for progress, _, _ in told]
    assert len(values) >= 2 and values == sorted(set(values))
    assert "running A" in [message for _, _, message in told]


def test_cancel_ends_the_run(home, mode):
    async def body(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "run_pair", {"command": program_named("process")})
            process = await home.started("process")
            tasks.cancel_scope.cancel()  # the client sends notifications/cancelled
        await wait_gone(process)
        error = error_of(await client.call_tool("first_diff", {"pair_id": "p1"}))
        assert error["code"] == "incomplete"
    with_client(home, mode, body)


def test_calls_side_by_side(home, mode):
    """A long run blocks no other call."""
    async def body(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "run_pair", {"command": program_named("process")})
            process = await home.started("process")
            for _ in range(3):
                assert error_of(await client.call_tool("first_diff", {"pair_id": "nosuch"}))
            tasks.cancel_scope.cancel()
        await wait_gone(process)
    with_client(home, mode, body)


def test_client_leaves_during_a_run(home, mode):
    """Within the client's grace of 2 s, after which it would kill the server."""
    processes = []

    async def run():
        async with anyio.create_task_group() as tasks:
            async def connect():
                async with home.connect(mode) as client:
                    await client.call_tool("run_pair", {"command": program_named("process")})
            tasks.start_soon(connect)
            processes.append(await home.started("process"))
            tasks.cancel_scope.cancel()
        await wait_gone(processes[0])
    anyio.run(run)
    home.check_end()


def test_time_to_the_list_of_tools(home, mode, record_property):
    """From the start of the process. Meant: 100 ms; the bound is wide, since machines differ."""
    seconds = []

    async def run():
        for _ in range(5):
            start = time.perf_counter()
            async with home.connect(mode) as client:
                await client.list_tools()
                seconds.append(time.perf_counter() - start)
    anyio.run(run)
    median = statistics.median(seconds)
    record_property("median_ms", round(median * 1000, 1))
    print(f"{mode}: {median * 1000:.1f} ms to the list of tools (median of {len(seconds)})")
    assert median < (PATIENCE_S if is_sanitized() else 1)
