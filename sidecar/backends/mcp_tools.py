"""Tools of one MCP server, a process of ours or an address: what it declares, and one call of one tool.

The session is held between calls, by a task of its own, and opened anew when it broke. Which tools may be called is not decided
here. What the server writes to standard error goes nowhere, since it may hold what it was given in confidence.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

import anyio
import httpx2
import orjson
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent, Tool

from sidecar.backends.asking import BackendCaller, CallLimits
from sidecar.backends.errors import BackendMisused, BackendUnavailable
from sidecar.backends.secrets import Secret
from sidecar.backends.tools import Declared
from sidecar.context.ports import BackendError
from sidecar.turn.remote import readable

_INVALID_PARAMETERS = -32602
_LISTED_FOR_S = 30.0
_MOST_PAGES = 20
_LEAST_SECRET_CHARS = 8  # a shorter one, such as the word Bearer, would tear texts apart
_BROKEN = (MCPError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, httpx2.HTTPError)


@dataclass(frozen=True, slots=True)
class McpServer:
    """Where the server is: a command with its variables, or an address with its headers; both by reference."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, Secret] = field(default_factory=dict)
    headers: Mapping[str, Secret] = field(default_factory=dict)


class ToolFailed(BackendUnavailable):
    """The tool answered that it failed; try it by hand with `sidecar tools test`."""

    is_retryable = False
    is_outage = False


class McpTools:
    """One server's tools."""

    def __init__(self, name: str, server: McpServer, bounds: CallLimits) -> None:
        self.name = name
        self.asking = BackendCaller(name, bounds)
        self._server = server
        self._session: _Session | None = None
        self._listed: tuple[float, tuple[Declared, ...]] | None = None

    async def declared(self, *, is_fresh: bool = False) -> tuple[Declared, ...]:
        """Return the tools that the server declares, as it did half a minute ago at most. Raises a BackendError."""
        now_s = asyncio.get_running_loop().time()
        if self._listed is not None and not is_fresh and now_s - self._listed[0] < _LISTED_FOR_S:
            return self._listed[1]
        tools = await self.asking.ask(self._list, may_hedge=False)
        self._listed = (now_s, tools)
        return tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a tool answers, as texts of which none is empty. Raises a BackendError."""

        async def attempt() -> tuple[str, ...]:
            async with self._client() as client:
                result = await client.call_tool(tool, dict(arguments))
            if result.is_error:
                raise ToolFailed(self.name, tool)
            return tuple(map(self._unsecret, _texts(result)))

        return await self.asking.ask(attempt, may_hedge=False)

    async def close(self) -> None:
        """End the session, and the process if it is ours."""
        session, self._session = self._session, None
        if session is not None:
            await session.end()

    def _unsecret(self, text: str) -> str:
        """Return the text without what we gave the server in confidence: some tools tell their variables."""
        for secret in (*self._server.env.values(), *self._server.headers.values()):
            whole = secret.reveal(self.name)
            for part in (whole, *whole.split()):
                text = text.replace(part, "…") if len(part) >= _LEAST_SECRET_CHARS else text
        return text

    async def _list(self) -> tuple[Declared, ...]:
        found: list[Tool] = []
        cursor: str | None = None
        async with self._client() as client:
            for _ in range(_MOST_PAGES):
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if not cursor:
                    break
        return tuple(_declared(tool) for tool in found)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        """Yield the session's client; one that breaks meanwhile is left, and the failure is said in our terms."""
        if self._session is None or self._session.has_ended:
            self._listed = None
            self._session = _Session(self.name, self._server)
        session = self._session
        try:
            yield await session.client()
        except MCPError as error:
            if error.error.code == _INVALID_PARAMETERS:
                raise BackendMisused(self.name, "invalid parameters") from None
            session.leave()
            raise BackendUnavailable(self.name, f"MCP error {error.error.code}") from None
        except _BROKEN as error:
            session.leave()
            raise BackendUnavailable(self.name, type(error).__name__) from None


class _Session:
    """A session held open by a task of its own: the SDK wants it closed by the task that opened it."""

    def __init__(self, backend: str, server: McpServer) -> None:
        self._backend = backend
        self._server = server
        self._over = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())
        self._task.add_done_callback(_noticed)

    @property
    def has_ended(self) -> bool:
        """Whether it is of no use any more."""
        return self._over.is_set() or self._task.done()

    async def client(self) -> Client:
        """Return the client once the session is open. Raises a BackendError when it cannot be opened."""
        ends: list[asyncio.Future[Any]] = [self._client, self._task]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if self._client.done():
            return self._client.result()
        problem = None if self._task.cancelled() else self._task.exception()
        if isinstance(problem, BackendError):
            raise problem
        raise BackendUnavailable(self._backend, _named(problem))

    def leave(self) -> None:
        """Let the session end by itself."""
        self._over.set()

    async def end(self) -> None:
        """End the session and wait until its process is gone."""
        self._over.set()
        if not self._client.done():
            self._task.cancel()
        await asyncio.wait({self._task})

    async def _hold(self) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(await self._transport(stack)))
            self._client.set_result(client)
            await self._over.wait()

    async def _transport(self, stack: AsyncExitStack) -> Any:
        server = self._server
        if server.url:
            headers = {name: secret.reveal(self._backend) for name, secret in server.headers.items()}
            http = httpx2.AsyncClient(headers=headers, follow_redirects=False, trust_env=False, timeout=None)
            return streamable_http_client(server.url, http_client=await stack.enter_async_context(http))
        env = {name: secret.reveal(self._backend) for name, secret in server.env.items()}
        parameters = StdioServerParameters(command=server.command[0], args=list(server.command[1:]), env=env)
        return stdio_client(parameters, errlog=_nowhere(stack))


def _nowhere(stack: AsyncExitStack) -> TextIO:
    return stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))


def _noticed(task: asyncio.Task[None]) -> None:
    """Take note of how a session ended; whoever asks next opens another."""
    if not task.cancelled():
        task.exception()


def _named(problem: BaseException | None) -> str:
    """Return the kind of the first error in a tree of groups; their texts may hold anything."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return type(problem).__name__ if problem else "it ended"


def _declared(tool: Tool) -> Declared:
    hints, schema = tool.annotations, tool.input_schema
    meta = tool.meta or {}
    told = {
        "name": tool.name,
        "description": tool.description,
        "input": schema,
        "output": tool.output_schema,
        "annotations": hints.model_dump() if hints else None,
        "search_safe": meta.get("search_safe"),
    }
    return Declared(
        name=tool.name,
        description=readable(tool.description or ""),
        is_read_only=bool(hints and hints.read_only_hint) and not (hints and hints.destructive_hint),
        is_search_safe=meta.get("search_safe") is True,
        required=frozenset(map(str, schema.get("required", ()))),
        schema_hash=sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).digest(),
    )


def _texts(result: CallToolResult) -> tuple[str, ...]:
    """Return a result's texts: each entry of a structured list, or else each text block."""
    listed = _entries(result.structured_content)
    if listed is None:
        listed = [block.text for block in result.content if isinstance(block, TextContent)]
    return tuple(readable(text) for text in listed if text.strip())


def _entries(structured: object) -> list[str] | None:
    """Return the entries of a list that stands alone in a structured result, None where there is no such list."""
    if not isinstance(structured, Mapping) or len(structured) != 1:
        return None
    (value,) = structured.values()
    if not isinstance(value, list):
        return None
    return [one if isinstance(one, str) else orjson.dumps(one, option=orjson.OPT_SORT_KEYS).decode() for one in value]
