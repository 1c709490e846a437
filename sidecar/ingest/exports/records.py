"""Reads JSON records from bytes one at a time, each with its position: lines of JSONL, elements of an array, or one document.

The records can be stored: they hold no NUL, no lone surrogate, no number that JSON cannot represent, and no deep nesting.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

from sidecar.ingest.errors import TooLarge, UnreadableExport
from sidecar.ingest.exports.conversation import SkippedPiece, Unusable
from sidecar.ingest.text import NotText, clean, decode

LINE_BYTES = 64 << 20
DOCUMENT_BYTES = 1 << 30
_DEEPEST = 64
_SPACE = " \t\r\n"
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A JSON value and its position; `number` counts lines or elements, from 1."""

    position: str
    number: int
    value: Any


def records(name: str, stream: BinaryIO) -> Iterator[FileRecord | SkippedPiece]:
    """Yield the records of a seekable stream: JSONL by lines, an array by elements, anything else as one record.

    A broken line is skipped, and a broken array ends where it breaks. Raises UnreadableExport for UTF-16 and for a document that
    is not JSON.
    """
    opening = _opening(stream)
    if opening in {b"\xff", b"\xfe"}:
        raise UnreadableExport(name, "it is UTF-16, and JSON is UTF-8; save it as UTF-8")
    if opening == b"[":
        yield from _elements(name, _whole(name, stream))
    elif name.lower().endswith((".jsonl", ".ndjson", ".jsonlines")) or _is_lines(stream):
        yield from _lines(name, stream)
    elif opening:
        yield _document(name, _whole(name, stream))


def _opening(stream: BinaryIO) -> bytes:
    """Return the first byte that is not white space, or b"" if there is none. The stream is left at its start."""
    stream.seek(0)
    opening = b""
    while not opening and (block := stream.read(4096)):
        opening = block.removeprefix(_UTF8_MARK).lstrip()[:1]
    stream.seek(0)
    return opening


def _is_lines(stream: BinaryIO) -> bool:
    """Return whether one of the first two lines is a JSON object by itself. The stream is left at its start."""
    firsts = [line for line in (stream.readline(LINE_BYTES) for _ in range(2)) if line.strip()]
    stream.seek(0)
    return any(map(_is_object, firsts))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(_parsed(line), dict)
    except Unusable:
        return False


def _lines(name: str, stream: BinaryIO) -> Iterator[FileRecord | SkippedPiece]:
    number = 0
    while line := stream.readline(LINE_BYTES + 1):
        number += 1
        if not line.removeprefix(_UTF8_MARK).strip():
            continue
        try:
            if len(line) > LINE_BYTES:
                _skip_line(stream, line)
                raise Unusable(f"the line is longer than {LINE_BYTES} bytes; split it")
            yield FileRecord(f"line {number}", number, _parsed(line))
        except Unusable as error:
            yield SkippedPiece(name, f"line {number}", str(error))


def _skip_line(stream: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(1 << 20)


def _parsed(line: bytes) -> Any:
    try:
        return safe(_DECODER.decode(decode(line).strip()))
    except NotText as error:
        raise Unusable(str(error)) from None
    except json.JSONDecodeError as error:
        problem = f"column {error.colno} is not JSON ({error.msg})"
        raise Unusable(f"{problem}; write one JSON object on each line") from None
    except (ValueError, RecursionError) as error:
        raise Unusable(_out_of_bounds(error)) from None


def _whole(name: str, stream: BinaryIO) -> str:
    data = stream.read(DOCUMENT_BYTES + 1)
    if len(data) > DOCUMENT_BYTES:
        raise TooLarge(name, f"it has more than {DOCUMENT_BYTES} bytes in one JSON document")
    try:
        return decode(data)
    except NotText as error:
        raise UnreadableExport(name, str(error)) from None


def _document(name: str, text: str) -> FileRecord:
    try:
        return FileRecord("the document", 1, safe(_DECODER.decode(text.strip())))
    except json.JSONDecodeError as error:
        raise UnreadableExport(name, f"line {error.lineno}, column {error.colno} is not JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableExport(name, _out_of_bounds(error)) from None


def _elements(name: str, text: str) -> Iterator[FileRecord | SkippedPiece]:
    """Yield an array's elements, decoded one at a time, so that a large export is never held twice."""
    at, number = _after_space(text, text.index("[") + 1), 0
    while at < len(text) and text[at] != "]":
        number += 1
        position = f"element {number}"
        try:
            value, at = _DECODER.raw_decode(text, at)
            yield FileRecord(position, number, safe(value))
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            yield SkippedPiece(name, place, f"it is not JSON ({error.msg}); this and all after it is left out")
            return
        except Unusable as error:
            yield SkippedPiece(name, position, str(error))
        except (ValueError, RecursionError) as error:
            yield SkippedPiece(name, position, f"{_out_of_bounds(error)}; this and all after it is left out")
            return
        at = _after_space(text, at)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        elif text[at : at + 1] != "]":
            yield SkippedPiece(name, f"after element {number}", "the array breaks off; export the file again")
            return
    if rest := text[at + 1 :].lstrip(_SPACE)[:1]:
        reason = f"{rest!r} and all after it is left out; write one array, or one object on each line"
        yield SkippedPiece(name, f"after element {number}, the last of the array", reason)


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def safe(value: Any, depth: int = 0) -> Any:
    """Return the JSON value with every text cleaned. Raises Unusable for numbers out of range and for nesting too deep."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise Unusable("it holds a number out of range; JSON numbers are finite")
    if not isinstance(value, dict | list):
        return value
    if depth >= _DEEPEST:
        raise Unusable(f"it nests more than {_DEEPEST} deep; flatten it")
    if isinstance(value, list):
        return [safe(item, depth + 1) for item in value]
    return {clean(key): safe(item, depth + 1) for key, item in value.items()}


def _refuse_constant(constant: str) -> NoReturn:
    raise Unusable(f"{constant} is not a JSON number; use null")


def _out_of_bounds(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return f"it nests more than {_DEEPEST} deep; flatten it"
    return str(error) if isinstance(error, Unusable) else "it holds a number too long to read; write it as text"


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
