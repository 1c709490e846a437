"""HTTP transport for MCP servers: each answer is bounded in time and in bytes, which the SDK does not do.

A failure is returned as an answer, so that it ends one call, and not the session with its other calls.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import anyio
import httpx2

from sidecar.backends.errors import MAX_ANSWER_BYTES

LATE, TOO_LARGE, COMPRESSED = -32096, -32097, -32098  # error codes that JSON-RPC leaves to implementations
_EVENTS = "text/event-stream"
_LINE_END = re.compile(rb"[\r\n]")
_MOST_MENDED = 10_000
_BACKSLASH = ord("\\")
_LONE_SURROGATE = re.compile(
    rb"\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u)[dD][c-fC-F][0-9a-fA-F]{2})"
)


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends requests; an answer has `deadline_s` seconds, from the request to its last byte.

    It opens no stream for messages that a server sends by itself: no call needs one, and it could be endless.
    """

    def __init__(self, deadline_s: float) -> None:
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)
        self._deadline_s = deadline_s

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, or a JSON-RPC error in its place if it is late, too large or compressed."""
        if request.method == "GET":
            return httpx2.Response(405)
        ends_at = anyio.current_time() + self._deadline_s
        response: httpx2.Response | None = None
        with anyio.CancelScope(deadline=ends_at):
            response = await self._inner.handle_async_request(request)
        if response is None:
            return _failure(LATE)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return _failure(COMPRESSED)
        body = _Body(response, ends_at)
        if response.headers.get("content-type", "").lower().startswith(_EVENTS):
            return httpx2.Response(response.status_code, headers=response.headers, stream=body)
        content = b"".join([part async for part in body])
        await body.aclose()
        if body.problem:
            return _failure(body.problem)
        return httpx2.Response(response.status_code, headers=response.headers, content=mended(content))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Body(httpx2.AsyncByteStream):
    """An answer's bytes, line by line. At a bound they end early, without an error, and `problem` says why."""

    def __init__(self, response: httpx2.Response, ends_at: float) -> None:
        self._response = response
        self._ends_at = ends_at
        self.problem = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, httpx2.AsyncByteStream)
        parts, size, begun = aiter(self._response.stream), 0, bytearray()
        while True:
            part: bytes | None = None
            with anyio.CancelScope(deadline=self._ends_at) as scope:
                part = await anext(parts, None)
            size += len(part or b"")
            self.problem = LATE if scope.cancelled_caught else TOO_LARGE if size > MAX_ANSWER_BYTES else 0
            if part is None or self.problem:
                break
            begun += part
            if _LINE_END.search(part):
                end = max(begun.rfind(b"\n"), begun.rfind(b"\r")) + 1
                yield mended(bytes(begun[:end]))
                del begun[:end]
        if begun and not self.problem:
            yield mended(bytes(begun))

    async def aclose(self) -> None:
        await self._response.aclose()


def mended(data: bytes) -> bytes:
    """Return the JSON with its first 10,000 lone surrogates replaced: the SDK refuses them, and a cut emoji leaves one."""

    def replaced(found: re.Match[bytes]) -> bytes:
        before = found.start()
        while before and data[before - 1] == _BACKSLASH:
            before -= 1
        is_escape = (found.start() - before) % 2 == 0
        return b"\\ufffd" if is_escape else found[0]

    return _LONE_SURROGATE.sub(replaced, data, _MOST_MENDED)


def _failure(code: int) -> httpx2.Response:
    return httpx2.Response(502, json={"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": ""}})
