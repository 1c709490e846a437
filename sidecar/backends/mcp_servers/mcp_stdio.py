"""Standard input and output of an MCP server process: its output is bounded in bytes, which the SDK does not do.

Lines that are no messages are skipped unlogged, since they may hold secrets. Standard error is discarded for the same reason.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from sidecar.backends.errors import MAX_ANSWER_BYTES
from sidecar.backends.mcp_servers.mcp_http import TOO_LARGE, mended

_LOOK_EVERY_S = 0.01

_Inbox = MemoryObjectSendStream[SessionMessage | Exception]
_Outbox = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def bounded_stdio(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    grace_s: float = 2.0,
    on_own_end: Callable[[int], None] = lambda _: None,
) -> AsyncIterator[Any]:
    """Run a server and yield the streams of its messages. Raises OSError.

    Afterwards its process group has ended: it has `grace_s` to do so when its input closes, and as long when it is terminated.

    If the process ended by itself, `on_own_end` gets its status, or a signal's number below 0.

    A server that writes more than `MAX_ANSWER_BYTES` without an answer fails its calls, and is read no further.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: asyncio.subprocess.SubprocessStreamProtocol(MAX_ANSWER_BYTES, loop),
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=get_default_environment() | dict(env),
        start_new_session=True,
    )
    process = asyncio.subprocess.Process(transport, protocol, loop)
    to_session, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    pipes = _Pipes(process)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipes.read, to_session)
            tasks.start_soon(pipes.write, from_session, to_session)
            try:
                yield received, sent
            finally:
                tasks.cancel_scope.cancel()
    finally:
        assert process.stdout is not None
        has_ended = process.stdout.at_eof()
        try:
            with anyio.CancelScope(shield=True):
                await _stop(process, grace_s)
        finally:
            if has_ended and process.returncode is not None:
                on_own_end(process.returncode)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # children that the process left running
            transport.close()  # a process that left the group may hold the pipes open
            for stream in (to_session, received, sent, from_session):
                stream.close()


class _Pipes:
    """Passes messages between a session and a process, and counts what the process writes without an answer."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._waiting: set[int | str] = set()
        self._unanswered_bytes = 0

    async def read(self, inbox: _Inbox) -> None:
        """Pass messages on until the process closes its output or writes too much."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            async with inbox:
                while line := await self._line():
                    await asyncio.sleep(0)  # a full buffer is read without a pause
                    if (message := _message(line)) is not None:
                        self._settle(message)
                        await inbox.send(SessionMessage(message))
                if self._unanswered_bytes > MAX_ANSWER_BYTES:
                    for request_id in tuple(self._waiting):
                        error = ErrorData(code=TOO_LARGE, message="")
                        await inbox.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error)))

    async def write(self, outbox: _Outbox, inbox: _Inbox) -> None:
        """Pass messages to the process; close the session's inbox if it no longer reads them."""
        try:
            async for sent in outbox:
                message = sent.message
                if isinstance(message, JSONRPCRequest):
                    self._waiting.add(message.id)
                    self._unanswered_bytes = 0
                self._stdin.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await self._stdin.drain()
        except ConnectionError:
            await inbox.aclose()

    async def _line(self) -> bytes:
        """Return the next line; empty at the end and at the bound."""
        try:
            line = await self._stdout.readline()
        except ValueError:  # longer than the buffer
            self._unanswered_bytes = MAX_ANSWER_BYTES + 1
            return b""
        self._unanswered_bytes += len(line)
        return line if self._unanswered_bytes <= MAX_ANSWER_BYTES else b""

    def _settle(self, message: Any) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id in self._waiting:
            self._waiting.discard(message.id)
            self._unanswered_bytes = 0


def _message(line: bytes) -> Any:
    """Return the line's message; None if it is none."""
    try:
        return jsonrpc_message_adapter.validate_json(mended(line), by_name=False)
    except ValueError:
        return None


async def _stop(process: asyncio.subprocess.Process, grace_s: float) -> None:
    """Close the input and give the process time to exit; then end its group, at last by force."""
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _has_exited(process, grace_s):
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    await _has_exited(process, grace_s)


async def _has_exited(process: asyncio.subprocess.Process, grace_s: float) -> bool:
    """Return whether it exits within the grace; `Process.wait` would also wait for descendants that hold its pipes."""
    ends_at = anyio.current_time() + grace_s
    while process.returncode is None and anyio.current_time() < ends_at:  # noqa: ASYNC110  # another process
        await asyncio.sleep(_LOOK_EVERY_S)
    return process.returncode is not None
