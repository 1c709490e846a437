"""The log: one JSON object per line on standard error, with its trace id."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson

from sidecar.telemetry import calls

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


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


def log_to_stderr(level: str, *, process: str = "") -> None:
    """Send every log record of `level` and above to standard error as JSON lines, with the process's name if it has one."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(process))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # While the collector is unavailable, the exporter would log each dropped span.
    logging.getLogger("opentelemetry.sdk._shared_internal").setLevel(logging.ERROR)
    # Below WARNING, these libraries log whole requests, including credentials.
    for name in ("boto3", "botocore", "urllib3", "httpx", "httpcore", "httpx2", "httpcore2", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)
