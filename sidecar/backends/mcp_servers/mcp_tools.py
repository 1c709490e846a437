"""Client of one MCP server (a child process or a URL): lists its tools and calls one.

A separate task keeps the session open between calls; a broken session is reopened. This module does not decide which tools
may be called.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import anyio
import httpx2
import orjson
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic import ValidationError

from sidecar.backends.backend_caller import BackendCaller, CallLimits, Units
from sidecar.backends.errors import (
    MAX_ANSWER_BYTES,
    AnswerUnreadable,
    BackendMisused,
    BackendTimedOut,
    BackendUnavailable,
)
from sidecar.backends.mcp_servers import mcp_http, mcp_stdio
from sidecar.backends.secrets import Secret
from sidecar.backends.tools import Declared
from sidecar.context.ports import BackendError
from sidecar.turn.ranking.remote_evidence import readable

log = logging.getLogger(__name__)

T = TypeVar("T")

_INVALID_PARAMETERS = -32602
_LISTED_FOR_S = 30.0
_MOST_PAGES = 20
_MOST_UNANSWERED = 3  # calls in a row, after which a session is taken for dead
_UNREADABLE = {
    mcp_http.TOO_LARGE: f"more than {MAX_ANSWER_BYTES >> 20} MB",
    mcp_http.COMPRESSED: "compressed, which the request refused",
}
_LEAST_SECRET_CHARS = 8  # removing shorter ones, such as "Bearer", would garble texts
_BROKEN = (MCPError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, httpx2.HTTPError)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server's location: a command with environment variables, or a URL with headers; secrets by reference."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, Secret] = field(default_factory=dict)
    headers: Mapping[str, Secret] = field(default_factory=dict)


class ToolFailed(BackendUnavailable):
    """The tool reported a failure; test it with `sidecar tools test`."""

    is_retryable = False
    is_outage = False


class McpTools:
    """One server's tools."""

    def __init__(self, name: str, server: McpServer, bounds: CallLimits) -> None:
        self.name = name
        self.caller = BackendCaller(name, bounds)
        self._server = server
        self._session: _Session | None = None
        self._listed: tuple[float, tuple[Declared, ...]] | None = None

    async def declared(self, *, is_fresh: bool = False) -> tuple[Declared, ...]:
        """Return the tools that the server declares, cached for 30 seconds. Raises a BackendError."""
        now_s = asyncio.get_running_loop().time()
        if self._listed is not None and not is_fresh and now_s - self._listed[0] < _LISTED_FOR_S:
            return self._listed[1]
        tools = await self.caller.ask(self._list, may_hedge=False)
        self._listed = (now_s, tools)
        return tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Units[str]:
        """Call a tool and return its non-empty texts, and a note on results without text. Raises a BackendError."""

        async def attempt() -> Units[str]:
            async with self._open_session() as session:
                result = await _at_once((await session.client()).call_tool(tool, dict(arguments)))
            if result.is_error:
                raise ToolFailed(self.name, tool)
            count = len(without := [block for block in result.content if not _is_text(block)])
            kinds = ", ".join(sorted({block.type for block in without}))
            note = f"{self.name}/{tool}: {count} without text, left out ({kinds})"
            return Units(tuple(map(session.redacted, _texts(result))), (note,) if count else ())

        return await self.caller.ask(attempt, may_hedge=False)

    async def close(self) -> None:
        """End the session, and the server process if we started it."""
        session, self._session = self._session, None
        if session is not None:
            await session.end()

    async def _list(self) -> tuple[Declared, ...]:
        found: dict[str, Declared] = {}
        cursor: str | None = None
        async with self._open_session() as session:
            client = await session.client()
            for _ in range(_MOST_PAGES):
                page = await _at_once(client.list_tools(cursor=cursor))
                for tool in page.tools:  # of one name, the first: a turn and an approval must mean the same one
                    found.setdefault(tool.name, _declared(tool, session.redacted))
                cursor = page.next_cursor
                if not cursor:
                    break
        return tuple(found.values())

    @asynccontextmanager
    async def _open_session(self) -> AsyncIterator[_Session]:
        """Yield the session. If it breaks, end it and translate the failure."""
        if self._session is None or self._session.has_ended:
            self._listed = None
            self._session = _Session(self.name, self._server, self.caller.bounds.deadline_s)
        session = self._session
        try:
            yield session
            session.unanswered = 0
        except asyncio.CancelledError:
            session.unanswered += 1
            if session.unanswered >= _MOST_UNANSWERED:
                session.give_up()
            raise
        except MCPError as error:
            session.unanswered = 0
            raise self._failed(session, error.error.code) from None
        except _BROKEN as error:
            session.leave()
            raise BackendUnavailable(self.name, type(error).__name__) from None
        except (
            ValueError,
            RuntimeError,
        ) as error:  # the SDK's errors for answers against the protocol, which quote them
            session.unanswered = 0
            raise AnswerUnreadable(self.name, type(error).__name__) from None

    def _failed(self, session: _Session, code: int) -> BackendError:
        """Return the error for an MCP error; most end the session."""
        if code == _INVALID_PARAMETERS:
            return BackendMisused(self.name, "invalid parameters")
        if code == mcp_http.LATE:
            return BackendTimedOut(self.name)
        if code in _UNREADABLE:
            if self._server.command:
                session.leave()  # its process is read no further
            return AnswerUnreadable(self.name, _UNREADABLE[code])
        session.leave()
        return BackendUnavailable(self.name, f"MCP error {code}")


class _Session:
    """A session held open by its own task, since the SDK requires the task that opened it to close it."""

    def __init__(self, backend: str, server: McpServer, deadline_s: float) -> None:
        self.unanswered = 0
        self.secrets: tuple[str, ...] = ()
        self._backend = backend
        self._server = server
        self._deadline_s = deadline_s
        self._process_end = ""
        self._ending = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())
        self._task.add_done_callback(_retrieve_exception)

    @property
    def has_ended(self) -> bool:
        """Whether the session has ended."""
        return self._ending.is_set() or self._task.done()

    async def client(self) -> Client:
        """Return the client once the session is open. Raises a BackendError if it cannot be opened."""
        ends: list[asyncio.Future[Any]] = [self._client, self._task]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if self._client.done():
            return self._client.result()
        problem = None if self._task.cancelled() else self._task.exception()
        if isinstance(problem, BackendError):
            raise problem
        raise BackendUnavailable(self._backend, self._process_end or _type_name(problem))

    def redacted(self, text: str) -> str:
        """Return the text without the secrets given to the server, since some tools print their variables."""
        for whole in self.secrets:
            for part in (whole, *whole.split()):
                if len(part) >= _LEAST_SECRET_CHARS:
                    text = text.replace(part, "…").replace(_json(part)[1:-1].decode(), "…")
        return text

    def leave(self) -> None:
        """Tell the session to end, without waiting."""
        self._ending.set()

    async def end(self) -> None:
        """End the session and wait until its process has exited."""
        self.give_up()
        await asyncio.wait({self._task})

    def give_up(self) -> None:
        """Tell the session to end, even if it is not open yet, without waiting."""
        if not (self._ending.is_set() or self._client.done()):
            self._task.cancel()  # once: a second cancellation would interrupt the end of the process
        self._ending.set()

    async def _hold(self) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(await self._transport(stack)))
            client.session.validate_tool_result = _not_validated  # type: ignore[method-assign]
            # The SDK refuses a whole list for one malformed tool, before it hands the list out.
            dispatcher = client.session._dispatcher  # noqa: SLF001
            dispatcher.send_raw_request = partial(self._readable, dispatcher.send_raw_request)  # type: ignore[method-assign]
            self._client.set_result(client)
            await self._ending.wait()

    async def _readable(
        self, send: Callable[..., Awaitable[dict[str, Any]]], method: str, *args: Any, **options: Any
    ) -> dict[str, Any]:
        """Send a request and return the raw result, a list of tools without malformed ones."""
        result = await send(method, *args, **options)
        listed = result.get("tools") if method == "tools/list" else None
        if not isinstance(listed, list) or not (unreadable := sum(not _is_tool(one) for one in listed)):
            return result
        log.warning("tools_unreadable", extra={"backend": self._backend, "count": unreadable})
        return {**result, "tools": [one for one in listed if _is_tool(one)]}

    async def _transport(self, stack: AsyncExitStack) -> Any:
        server = self._server
        if server.url:
            headers = {name: secret.header(self._backend) for name, secret in server.headers.items()}
            self.secrets = tuple(headers.values())
            # Uncompressed, because a small compressed answer can fill the memory.
            http = httpx2.AsyncClient(
                headers={**headers, "accept-encoding": "identity"},
                transport=mcp_http.BoundedTransport(self._deadline_s),
                follow_redirects=False,
                trust_env=False,
                timeout=None,
            )
            return streamable_http_client(server.url, http_client=await stack.enter_async_context(http))
        env = {name: secret.reveal(self._backend) for name, secret in server.env.items()}
        self.secrets = tuple(env.values())
        return mcp_stdio.bounded_stdio(server.command, env, on_own_end=self._note_end)

    def _note_end(self, status: int) -> None:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        self._process_end = f"its process ended {how}"


async def _not_validated(name: str, result: CallToolResult) -> None:
    """Accept every result: a server's schema may hold a pattern that stops this process for minutes."""


async def _at_once(call: Coroutine[Any, Any, T]) -> T:
    """Return the call's result; if cancelled, do not wait until the SDK has told the server, which may hang."""
    task = asyncio.create_task(call)
    task.add_done_callback(_retrieve_exception)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        raise


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Retrieve the task's exception, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _type_name(problem: BaseException | None) -> str:
    """Return the type name of the first error in nested groups, without its text, which may hold secrets."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return type(problem).__name__ if problem else "it ended"


def _is_tool(raw: object) -> bool:
    try:
        Tool.model_validate(raw, by_name=False)
    except ValidationError:
        return False
    return True


def _declared(tool: Tool, redacted: Callable[[str], str]) -> Declared:
    hints, schema = tool.annotations, tool.input_schema
    required = schema.get("required")
    meta = tool.meta or {}
    definition = {
        "name": tool.name,
        "description": tool.description,
        "input": schema,
        "output": tool.output_schema,
        "annotations": hints.model_dump() if hints else None,
        "search_safe": meta.get("search_safe"),
    }
    return Declared(
        name=tool.name,
        description=readable(redacted(tool.description or "")),
        is_read_only=bool(hints and hints.read_only_hint) and not (hints and hints.destructive_hint),
        is_search_safe=meta.get("search_safe") is True,
        required=frozenset(map(str, required if isinstance(required, list) else ())),
        schema_hash=sha256(_json(definition)).digest(),
    )


def _texts(result: CallToolResult) -> tuple[str, ...]:
    """Return a result's texts: each entry of a structured list, or else each text, or else the structured result itself."""
    listed = _entries(result.structured_content)
    if listed is None:
        listed = [_text_of(block) for block in result.content]
        if not any(map(str.strip, listed)) and result.structured_content:
            listed = [_json(result.structured_content).decode()]
    return tuple(readable(text) for text in listed if text.strip())


def _text_of(block: ContentBlock) -> str:
    if isinstance(block, EmbeddedResource):
        return block.resource.text if isinstance(block.resource, TextResourceContents) else ""
    return block.text if isinstance(block, TextContent) else ""


def _is_text(block: ContentBlock) -> bool:
    return isinstance(block, TextContent) or bool(_text_of(block))


def _entries(structured: object) -> list[str] | None:
    """Return the entries of the only list in a structured result, or None if there is no such list."""
    if not isinstance(structured, Mapping) or len(structured) != 1:
        return None
    (value,) = structured.values()
    if not isinstance(value, list):
        return None
    return [entry if isinstance(entry, str) else _json(entry).decode() for entry in value]


def _json(value: object) -> bytes:
    """Return the value as JSON with sorted keys. Large integers, such as amounts in wei, are beyond orjson."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return json.dumps(value, sort_keys=True).encode()
