"""An MCP server over HTTP whose answers to calls of its one tool are hostile: too large, compressed, endless or none."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.stand_ins.listening import listening

ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "h", "version": "1"}}
TOOL = {"name": "search", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
CUT = "\ud83d \\ud83d \U0001f600 \ude00"
"""A text that was cut within an emoji, as servers in JavaScript do; a backslash before the same letters; and a whole emoji."""
NOTICE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "still there"}}


@dataclass(slots=True)
class HostileTools:
    """The stand-in: what it does to a call, whether it hangs on everything, and how many requests it is answering."""

    url: str = ""
    does: str = "answer"
    hangs: bool = False
    running: int = 0
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving() -> Iterator[HostileTools]:
    """Yield a stand-in that listens."""
    hostile = HostileTools()
    with listening(_Handler, hostile) as address:
        hostile.url = f"{address}/mcp"
        try:
            yield hostile
        finally:
            hostile.over.set()


class _Handler(BaseHTTPRequestHandler):
    stand_in: HostileTools
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.stand_in.running += 1
        try:
            if self.stand_in.hangs:
                self.stand_in.over.wait()
            with suppress(OSError):
                self._answer(message)
        finally:
            self.stand_in.running -= 1

    def do_GET(self) -> None:
        self._send(b"", 405)

    do_DELETE = do_GET  # noqa: N815 - the base class looks for the name

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""

    def _answer(self, message: dict[str, Any]) -> None:
        found = {"initialize": ABOUT, "tools/list": {"tools": [TOOL]}}.get(message["method"])
        if "id" not in message:
            self._send(b"", 202)
        elif message["method"] == "tools/call":
            self._be_hostile(message["id"])
        elif found is None:
            self._send(_json({"id": message["id"], "error": {"code": -32601, "message": "no"}}))
        else:
            self._send(_json({"id": message["id"], "result": found}))

    def _be_hostile(self, request_id: object) -> None:
        does = self.stand_in.does
        text = "x" * (9 << 20 if does == "too large" else 10) + (CUT if "cut" in does else "")
        answer = _json({"id": request_id, "result": {"content": [{"type": "text", "text": text}]}})
        if does == "endless":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            while not self.stand_in.over.wait(0.01):
                self.wfile.write(b"event: message\ndata: " + _json(NOTICE) + b"\n\n")
        elif does == "cut in events":
            self._send(b"event: message\ndata: " + answer + b"\n\n", kind="text/event-stream")
        elif does == "compressed":
            self._send(gzip.compress(answer), encoding="gzip")
        else:
            self._send(answer)

    def _send(self, body: bytes, status: int = 200, encoding: str = "", kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if encoding:
            self.send_header("content-encoding", encoding)
        self.end_headers()
        self.wfile.write(body)


def _json(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()
