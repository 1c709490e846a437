"""Reads a PDF in a child process, which can be killed: its parser handles untrusted input.

The child gets only the bytes, with limits on its processor time and memory set before it parses; it returns JSON.
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

from sidecar.ingest.document import DocumentPart, ReadLimits
from sidecar.ingest.errors import IngestError, TooLarge, UnreadableDocument

_PATIENCE = 10  # wall-clock seconds allowed per processor second on a busy machine


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits for reading one document: processor seconds, bytes of memory."""

    cpu_s: int = 30
    memory_bytes: int = 1 << 30


def pdf_parts(
    name: str, data: bytes, limits: ReadLimits, bounds: ProcessLimits = ProcessLimits()
) -> tuple[str, list[DocumentPart]]:
    """Return the same as `pdf.parts`. Raises TooLarge for a document that cannot be read within the bounds, too."""
    task = json.dumps({"name": name, "limits": asdict(limits), "bounds": asdict(bounds)}).encode()
    command = [sys.executable, "-m", __name__]
    try:
        done = subprocess.run(  # noqa: S603  # our own module, its input is data
            command, input=task + b"\n" + data, capture_output=True, timeout=_PATIENCE * bounds.cpu_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise TooLarge(name, f"it takes more than {_PATIENCE * bounds.cpu_s} s to read") from None
    if done.returncode in {-signal.SIGXCPU, -signal.SIGKILL}:
        raise TooLarge(name, f"it takes more than {bounds.cpu_s} s of the processor to read")
    if done.returncode:
        raise UnreadableDocument(name, "its reader broke down")
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


def _answered(read: Callable[[], tuple[str, list[DocumentPart]]]) -> dict[str, Any]:
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
    """Read the document on standard input within the limits that precede it, and write its parts as JSON."""
    import resource

    from sidecar.ingest import pdf  # the child's alone, since its parser is large; and loaded before memory is bounded

    task = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    cpu_s, memory_bytes = task["bounds"]["cpu_s"], task["bounds"]["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answer = _answered(partial(pdf.parts, task["name"], data, ReadLimits(**task["limits"])))
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
