"""AWS over HTTP that boto3 really talks to: what comes in and what goes out is checked against botocore's service models.

It answers as scripted, one reply a call, the last one again and again. It holds no state; a call must be signed, whatever by.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

import botocore.session
from botocore.validate import ParamValidator

from tests.stand_ins.listening import listening

SERVICES = ("bedrock-agent-runtime", "bedrock-agentcore")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that the service's model allows."""

    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of the service: its code, its HTTP status, what it says and after how many seconds to come again."""

    code: str
    status: int
    message: str = "no"
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are; `claims` is the length that the header claims, to cut the body short."""

    body: bytes
    status: int = 200
    claims: int | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing until the event, then an answer."""

    until: threading.Event
    then: Reply


@dataclass(frozen=True, slots=True)
class Slow:
    """An answer whose body comes one byte after the other and is not whole when the event comes."""

    until: threading.Event


Behaviour = Reply | Fault | Raw | Held | Slow


@dataclass(frozen=True, slots=True)
class Seen:
    """A call as it came in: the operation, its parameters by their names in the model, and its headers."""

    operation: str
    parameters: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(slots=True)
class Aws:
    """The stand-in: script it by operation, look at what it has seen, mend what does not fit the model."""

    url: str = ""
    scripts: dict[tuple[str, str], list[Behaviour]] = field(default_factory=lambda: defaultdict(list))
    seen: list[Seen] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, operation: str, *behaviours: Behaviour, to: str = "") -> None:
        """Answer the operation's next calls so, the last of them from then on; with `to` the calls to that base or memory."""
        with self.lock:
            self.scripts[(operation, to)] = list(behaviours)

    def next(self, operation: str, parameters: Mapping[str, Any]) -> Behaviour:
        """Return how this call is answered."""
        to = str(parameters.get("knowledgeBaseId") or parameters.get("memoryId") or "")
        with self.lock:
            script = self.scripts[(operation, to)] or self.scripts[(operation, "")]
            if not script:
                return Fault("InternalServerException", 500, f"nothing is scripted for {operation}")
            return script.pop(0) if len(script) > 1 else script[0]

    def calls(self, operation: str) -> list[Seen]:
        """Return the calls of an operation so far."""
        with self.lock:
            return [one for one in self.seen if one.operation == operation]


@contextmanager
def serving() -> Iterator[Aws]:
    """Yield a stand-in that listens. At the end, what did not fit the models fails the test."""
    aws = Aws()
    with listening(_Handler, aws) as aws.url:
        yield aws
    assert not aws.misfits, aws.misfits


class _Handler(BaseHTTPRequestHandler):
    stand_in: Aws
    protocol_version = "HTTP/1.1"

    def do_DELETE(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        found = _operation(self.command, self.path)
        if found is None:
            self._send(Raw(b'{"message": "no such operation"}', 404))
            return
        model, parameters = found
        parameters |= json.loads(body or b"{}")
        self._check(f"request of {model.name}", parameters, model.input_shape)
        if "Authorization" not in self.headers:
            self.stand_in.misfits.append(f"{model.name} is not signed")
        with self.stand_in.lock:
            self.stand_in.seen.append(Seen(model.name, parameters, dict(self.headers)))
        behaviour = self.stand_in.next(model.name, parameters)
        if isinstance(behaviour, Held):
            behaviour.until.wait()
            behaviour = behaviour.then
        if isinstance(behaviour, Fault) and model.error_shapes:
            self._check_fault(model, behaviour)
        if isinstance(behaviour, Reply):
            self._check(f"response of {model.name}", behaviour.value, model.output_shape)
        if isinstance(behaviour, Slow):
            self._drip(behaviour)
        else:
            self._send(behaviour)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""

    def _check(self, what: str, value: Any, shape: Any) -> None:
        report = ParamValidator().validate(value, shape)
        if report.has_errors():
            self.stand_in.misfits.append(f"{what}: {report.generate_report()}")

    def _check_fault(self, model: Any, fault: Fault) -> None:
        known = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in model.error_shapes}
        if fault.code in known and known[fault.code] != fault.status:
            self.stand_in.misfits.append(f"{model.name}: {fault.code} comes with {known[fault.code]}")

    def _send(self, behaviour: Reply | Fault | Raw) -> None:
        headers = {"Content-Type": "application/json"}
        match behaviour:
            case Reply():
                status, body = 200, json.dumps(behaviour.value, default=_as_json).encode()
            case Fault():
                status, body = behaviour.status, json.dumps({"message": behaviour.message}).encode()
                headers["x-amzn-errortype"] = behaviour.code
                if behaviour.retry_after:
                    headers["Retry-After"] = behaviour.retry_after
            case Raw():
                status, body = behaviour.status, behaviour.body
        claimed = behaviour.claims if isinstance(behaviour, Raw) and behaviour.claims is not None else len(body)
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(claimed))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the client has gone
        self.close_connection = claimed != len(body)

    def _drip(self, slow: Slow) -> None:
        self.close_connection = True
        try:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            while not slow.until.wait(0.01):
                self.wfile.write(b" ")
        except OSError:
            return  # the client has gone


def _as_json(value: object) -> float:
    assert isinstance(value, datetime)
    return value.timestamp()


def _operations() -> list[tuple[str, re.Pattern[str], Any]]:
    session = botocore.session.get_session()
    found = []
    for service in SERVICES:
        model = session.get_service_model(service)
        for name in model.operation_names:
            operation = model.operation_model(name)
            if (method := operation.http["method"]) in {"POST", "DELETE"}:
                path = re.sub(r"\{(\w+)\+?\}", r"(?P<\1>[^/?]+)", operation.http["requestUri"])
                found.append((method, re.compile(f"{path}/?(\\?.*)?$"), operation))
    return found


_OPERATIONS = _operations()


def _operation(method: str, path: str) -> tuple[Any, dict[str, Any]] | None:
    for known, pattern, operation in _OPERATIONS:
        if known == method and (match := pattern.match(path)):
            return operation, {name: unquote(value) for name, value in match.groupdict().items()}
    return None
