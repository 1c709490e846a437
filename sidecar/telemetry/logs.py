"""The log: one JSON object per line on standard error, with its trace id."""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

from sidecar.telemetry import calls

log = logging.getLogger(__name__)

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}

# Errors of a record whose message and arguments do not fit, or are no text.
_UNFORMATTABLE = (TypeError, ValueError, LookupError, AttributeError)

_MOST_WAITING_BYTES = 4 << 20
_FLUSH_S = 2.0


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object: time, level, logger, event, trace and span ids, the event's fields, and a traceback.

    `process` is the name of this process, if the service has several processes.
    """

    def __init__(self, process: str = "") -> None:
        super().__init__()
        self._process = {"process": process} if process else {}

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **self._process,
        }
        if (call := calls.current()) is not None:
            line |= {"trace_id": call.trace_id, "span_id": call.span_id}
        line.update({name: value for name, value in record.__dict__.items() if name not in _STANDARD})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class PatientHandler(logging.Handler):
    """Writes lines to a file descriptor in a thread of its own, so that a reader that has stalled delays nothing else.

    Up to 4 MB of lines wait for it; further ones are dropped, and counted in one line, `log_lines_dropped`, when it reads on.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._dropped_count = 0
        self._writer: threading.Thread | None = None

    def createLock(self) -> None:  # noqa: N802  # as logging names it
        """Make no lock besides that of the lines, because `flush` waits for the writer, which logs too."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        """Add the record's line to those that wait, or drop it if they are too many."""
        try:
            line = self._line(record)
        except _UNFORMATTABLE:
            self.handleError(record)
            return
        with self._changed:
            if self._waiting_bytes + len(line) > _MOST_WAITING_BYTES:
                self._dropped_count += 1
                return
            self._waiting.append(line)
            self._waiting_bytes += len(line)
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_forever, name="log-writer", daemon=True)
                self._writer.start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all lines are written, for two seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting_bytes, _FLUSH_S)

    def _write_forever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                line = self._waiting.popleft()
            _write(self._descriptor, line)
            dropped_count = 0
            with self._changed:
                self._waiting_bytes -= len(line)
                if self._waiting_bytes < _MOST_WAITING_BYTES // 2:
                    dropped_count, self._dropped_count = self._dropped_count, 0
                self._changed.notify_all()
            if dropped_count:
                log.error("log_lines_dropped", extra={"count": dropped_count})

    def _line(self, record: logging.LogRecord) -> bytes:
        return f"{self.format(record)}\n".encode(errors="backslashreplace")


def _write(descriptor: int, line: bytes) -> None:
    """Write the line; one whose reader is gone is lost."""
    left = memoryview(line)
    with suppress(OSError):
        while left:
            try:
                left = left[os.write(descriptor, left) :]
            except BlockingIOError:  # another program made the pipe that it shares with us non-blocking
                select.select([], [descriptor], [])


def log_to_stderr(level: str, *, process: str = "") -> None:
    """Send every log record of `level` and above to standard error as JSON lines, with the process's name if it has one."""
    # Python has no standard error if the process was begun with it closed.
    handler = PatientHandler(sys.stderr.fileno()) if sys.stderr else logging.NullHandler()
    handler.setFormatter(JsonLines(process))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # While the collector is unavailable, the exporter would log each dropped span.
    logging.getLogger("opentelemetry.sdk._shared_internal").setLevel(logging.ERROR)
    # Below WARNING, these libraries log whole requests, including credentials.
    for name in ("boto3", "botocore", "urllib3", "httpx", "httpcore", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # The SDK of MCP quotes what servers answer, also in warnings; its session's logger is called "client".
    for name in ("mcp", "client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
