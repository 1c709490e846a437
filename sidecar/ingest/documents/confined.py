"""Reads a PDF in a child process, which can be killed, because the parser handles untrusted input.

The child process gets only the bytes and returns JSON. Its processor time and memory are limited before it parses.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sidecar.ingest.documents.document import DocumentPart, ReadLimits
from sidecar.ingest.errors import IngestError, TooLarge, UnreadableDocument

_WALL_SECONDS_PER_CPU_SECOND = 10  # allows for a busy machine


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits for reading one document: seconds of processor time, and bytes of memory."""

    cpu_s: int = 30
    memory_bytes: int = 1 << 30


def pdf_parts(
    name: str, data: bytes, limits: ReadLimits, bounds: ProcessLimits = ProcessLimits()
) -> tuple[str, list[DocumentPart]]:
    """Return the result of `pdf.parts`. Raises its errors, and TooLarge if the document cannot be read within the bounds."""
    task = json.dumps({"name": name, "limits": asdict(limits), "bounds": asdict(bounds)}).encode()
    command, wall_s = [sys.executable, "-m", __name__], _WALL_SECONDS_PER_CPU_SECOND * bounds.cpu_s
    try:
        done = subprocess.run(  # noqa: S603  # our own module, its input is data
            command, input=task + b"\n" + data, capture_output=True, timeout=wall_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise TooLarge(name, f"it takes more than {wall_s} s to read") from None
    if done.returncode in {-signal.SIGXCPU, -signal.SIGKILL}:
        raise TooLarge(name, f"it takes more than {bounds.cpu_s} s of processor time to read")
    if done.returncode:
        raise UnreadableDocument(name, "its reader crashed")
    return _document_of(name, json.loads(done.stdout), bounds)


def _document_of(name: str, answer: dict[str, Any], bounds: ProcessLimits) -> tuple[str, list[DocumentPart]]:
    match answer["outcome"]:
        case "read":
            return answer["title"], [DocumentPart(*fields) for fields in answer["parts"]]
        case "TooLarge":
            raise TooLarge(name, answer["detail"])
        case "MemoryError":
            raise TooLarge(name, f"it takes more than {bounds.memory_bytes >> 20} MiB of memory to read")
    raise UnreadableDocument(name, answer["detail"])


def _outcome_of(read: Callable[[], tuple[str, list[DocumentPart]]]) -> dict[str, Any]:
    try:
        title, parts = read()
    except IngestError as error:
        return {"outcome": type(error).__name__, "detail": error.detail}
    except MemoryError:
        return {"outcome": "MemoryError"}
    return {
        "outcome": "read",
        "title": title,
        "parts": [(part.kind, part.text, part.level, part.page) for part in parts],
    }


def main() -> None:
    """Read limits and a document from standard input, and write the document's parts as JSON to standard output."""
    import resource

    from sidecar.ingest.documents import pdf  # only in the child, since the parser is large; before memory is limited

    task = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    cpu_s, memory_bytes = task["bounds"]["cpu_s"], task["bounds"]["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answer = _outcome_of(partial(pdf.parts, task["name"], data, ReadLimits(**task["limits"])))
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
