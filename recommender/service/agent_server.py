"""The server of ``tunegraph mcp``: the tools of an agent over standard input and output."""

import logging
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from kg.errors import TuningError
from recommender.service.agent_tools import TOOLS, call, fenced
from recommender.service.lane import DIAGNOSIS, Lane


def agent_server(lane: Lane, allowed: tuple[Path, ...], version: str) -> Server[Any]:
    """The server, to be run over any transport.

    Args:
        lane: Answers.
        allowed: Folders in which profiles may be read.
        version: Of the program.
    """
    reading = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tools = [
        types.Tool(name=tool.name, description=tool.about, input_schema=tool.schema, annotations=reading)
        for tool in TOOLS
    ]

    async def listed(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def called(_: object, asked: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text = await lane.run(call, asked.name, asked.arguments or {}, allowed)
            is_error = False
        except TuningError as error:
            text = f"{' '.join(str(error).split())} (exit code {error.exit_code})"
            text = fenced(f"{text}\n{error.hint}" if error.hint else text)
            is_error = True
        except Exception:
            logging.getLogger(__name__).exception("a call failed")
            text, is_error = fenced("a fault of the program; its log says more (exit code 1)"), True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    return Server("tunegraph", version=version, on_list_tools=listed, on_call_tool=called)


def run_agent_server(path: Path, cache: Path, allowed: tuple[Path, ...], version: str) -> None:
    """Serve an agent until its input ends."""

    async def serve() -> None:
        lane = Lane(path, cache, DIAGNOSIS, workers=1)
        server = agent_server(lane, allowed, version)
        try:
            async with stdio_server() as (source, sink):
                await server.run(source, sink, server.create_initialization_options())
        finally:
            await lane.close()

    anyio.run(serve)
