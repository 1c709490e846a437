"""An HTTP server of models in both formats of our adapters, whose answers the test scripts.

Queued behaviours are used first, one per request; after that a function of the request answers. Every request is recorded, and
its violations of the format are in `faults`.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from tests.stand_ins import bedrock_format, openai_format
from tests.stand_ins.bedrock_format import Answer
from tests.stand_ins.model_script import Ask, Behaviour, Drip, Gate, HangUp, Late, Raw, Refuse, Say, Trickle

_REFUSALS = {
    "json_schema": "This model doesn't support structured output by response_format or outputConfig json_schema.",
    "tool": "This model doesn't support tool use.",
    "text": "This model answers nothing.",
}


class ModelServer:
    """The script, and what was asked. `lacks` names the forms it refuses, `api_key` the only key that OpenAI's API takes."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asks: list[Ask] = []
        self.faults: list[str] = []
        self.lacks: set[str] = set()
        self.refuses_temperature = False
        self.wants_new_cap = False
        self.api_key = ""
        self.by_request: Callable[[Ask], Behaviour] = lambda _: Say("ok")
        self._queue: deque[Behaviour] = deque()
        self._lock = threading.Lock()

    def then(self, *behaviours: Behaviour) -> None:
        """Do these for the next requests, one each."""
        self._queue.extend(behaviours)

    def decided(self, ask: Ask) -> Behaviour:
        """Return what to do for a request; what the server lacks is refused before the script is looked at."""
        with self._lock:
            self.asks.append(ask)
            refusal = self._refusal(ask)
            if refusal:
                return refusal
            queued = self._queue.popleft() if self._queue else None
        return queued or self.by_request(ask)

    def _refusal(self, ask: Ask) -> Refuse | None:
        is_keyed = self.api_key and ask.api in {"chat", "embeddings"}
        if is_keyed and ask.headers.get("authorization") != f"Bearer {self.api_key}":
            return Refuse(
                401, "invalid_api_key", f"Incorrect API key provided: {ask.headers.get('authorization', '')[7:]}"
            )
        if self.refuses_temperature and ask.temperature is not None:
            return Refuse(message="`temperature` is deprecated for this model.")
        if self.wants_new_cap and "max_tokens" in ask.body:
            return Refuse(message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return Refuse(message=_REFUSALS[ask.form]) if ask.form in self.lacks else None


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve on a port of the system's choice until the block ends."""
    with _Site(("127.0.0.1", 0), _Handler) as site:
        site.script = ModelServer(site.server_address[1])
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site.script
        finally:
            site.shutdown()
            thread.join()


class _Site(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    script: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that hung up: some tests are about that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body go out in two writes; the second must not wait for the first one's acknowledgement.
    disable_nagle_algorithm = True
    server: _Site

    def do_POST(self) -> None:
        """Read a request in the format that its path names, and do as the script says."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        bedrock = bedrock_format.PATH.fullmatch(self.path)
        if bedrock:
            ask, wrong = bedrock_format.read(unquote(bedrock[1]), bedrock[2], body, headers)
        else:
            ask, wrong = openai_format.read(self.path.removeprefix("/v1/"), body, headers)
        script = self.server.script
        script.faults += wrong
        self._do(Refuse(message="; ".join(wrong)) if wrong else script.decided(ask), ask)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""

    def _do(self, behaviour: Behaviour, ask: Ask) -> None:
        if isinstance(behaviour, Late):
            if self._waited(behaviour.gate):
                self._do(behaviour.then, ask)
        elif isinstance(behaviour, Drip):
            self._drip(behaviour, ask)
        elif isinstance(behaviour, Trickle):
            self._trickle(behaviour.gate)
        elif isinstance(behaviour, HangUp):
            self._hang_up(behaviour, ask)
        elif isinstance(behaviour, Raw):
            self._send((behaviour.status, {"content-type": "application/json"}, behaviour.body))
        else:
            self._send(self._written(behaviour, ask))

    def _written(self, behaviour: Behaviour, ask: Ask) -> Answer:
        if ask.api not in {"converse", "invoke", "titan"}:
            return openai_format.write(behaviour, ask)
        answer, wrong = bedrock_format.write(behaviour, ask)
        self.server.script.faults += wrong
        return answer

    def _waited(self, gate: Gate) -> bool:
        """Wait for the gate; return whether the caller is still there."""
        gate.arrived.set()
        while not gate.opened.wait(0.01):
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self._peeked():
                gate.gone.set()
                self.close_connection = True
                return False
        return True

    def _peeked(self) -> bytes:
        try:
            return bytes(self.connection.recv(1, socket.MSG_PEEK))
        except ConnectionError:
            return b""

    def _drip(self, behaviour: Drip, ask: Ask) -> None:
        status, headers, body = self._written(behaviour.then, ask)
        self._head(status, headers, len(body))
        self.wfile.write(body[: len(body) // 2])
        if self._waited(behaviour.gate):
            self.wfile.write(body[len(body) // 2 :])

    def _trickle(self, gate: Gate) -> None:
        self.close_connection = True
        self._head(200, {"content-type": "application/json"}, 10**9)
        gate.arrived.set()
        try:
            while not gate.opened.wait(0.02):
                self.wfile.write(b" ")
        except OSError:
            gate.gone.set()

    def _hang_up(self, behaviour: HangUp, ask: Ask) -> None:
        if not behaviour.is_silent:
            status, headers, body = self._written(Say({"half": "of an answer"}), ask)
            self._head(status, headers, len(body))
            self.wfile.write(body[: len(body) // 2])
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, answer: Answer) -> None:
        status, headers, body = answer
        self._head(status, headers, len(body))
        self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(length))
        self.end_headers()
