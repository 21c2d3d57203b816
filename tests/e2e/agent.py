"""An agent's session: the PyPI client with the real server over stdio."""
import asyncio
import contextlib
import json
import os
import sys

from mcp import Client, StdioServerParameters

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN_TIMEOUT_S = 240


class ToolError(Exception):
    """A tool's result with isError; `error` is its structuredContent."""

    def __init__(self, result):
        super().__init__(result.content[0].text)
        self.error = result.structured_content


class Agent:
    def __init__(self, client):
        self.client = client

    async def call(self, tool, **arguments):
        """The structuredContent of a call."""
        result = await self.client.call_tool(tool, arguments, read_timeout_seconds=RUN_TIMEOUT_S)
        if result.is_error:
            raise ToolError(result)
        assert result.content[0].text, "every answer has text for a person too"
        return result.structured_content

    async def run_pair(self, **request):
        pair = await self.call("run_pair", wait_s=RUN_TIMEOUT_S - 10, **request)
        assert pair["status"] == "complete", json.dumps(pair, indent=1)
        return pair

    async def follow(self, step):
        """Calls what an answer's `next` proposes, exactly as it stands."""
        return await self.call(step["tool"], **step["arguments"])


@contextlib.asynccontextmanager
async def connect(home, mode="auto"):
    """A server of its own, whose `python` is this interpreter."""
    variables = {**os.environ, "OPGUARD_HOME": str(home),
                 "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
    server = StdioServerParameters(command=os.environ["OPGUARD_MCP"], args=["--stdio"],
                                   env=variables, cwd=str(home))
    async with Client(server, mode=mode) as client:
        yield Agent(client)


def session(coroutine_function, home, mode="auto"):
    """Runs `coroutine_function(agent)` in a session."""
    async def main():
        async with connect(home, mode) as agent:
            return await coroutine_function(agent)

    return asyncio.run(main())
