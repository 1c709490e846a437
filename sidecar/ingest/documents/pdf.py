"""Converts PDF to parts: lines by their place and size on the page, with larger lines as headings.

A large file may take seconds, so callers run `parts` off the event loop, in a process that they can end. The unpacked size of
streams is bounded. Scanned pages hold no text and yield no parts.
"""

import io
import logging
import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from pypdf import PageObject, PasswordType, PdfReader, apply_configuration
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError

from sidecar.ingest.documents.document import DocumentPart, ReadLimits
from sidecar.ingest.documents.page_lines import Line, without_running_lines
from sidecar.ingest.errors import TooLarge, UnreadableDocument

_STREAM_BYTES = 16 << 20
_WORK_BYTES = 64 << 20
_OPERATORS = 500_000

# For a damaged file, the parser logs a line per object, up to a hundred thousand; important problems are raised as errors.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)

# The errors that the parser raises for a damaged file, besides its own.
_DAMAGE = (
    PyPdfError, DependencyError, ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError,
    OSError, RecursionError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip

_HEADING_RATIO = 1.15
_HEADING_CHARS = 200
_PARAGRAPH_GAP = 1.3
_HYPHENATED = re.compile(r"[^\W\d_]-\Z")
_CJK = re.compile(r"[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]")


def parts(name: str, data: bytes, limits: ReadLimits) -> tuple[str, list[DocumentPart]]:
    """Return the title from the file's properties (empty if it has none) and its parts in order.

    Raises UnreadableDocument for an encrypted or damaged file, TooLarge above the limits.
    """
    with apply_configuration(
        zlib_maximum_output_length=_STREAM_BYTES,
        lzw_maximum_output_length=_STREAM_BYTES,
        run_length_maximum_output_length=_STREAM_BYTES,
        array_based_stream_maximum_output_length=_STREAM_BYTES,
        stream_decoding_work_maximum_length=_WORK_BYTES,
        stream_parsing_work_maximum_count=_OPERATORS,
    ):
        try:
            return _read(name, data, limits)
        except LimitReachedError as error:
            raise TooLarge(name, f"a part of the PDF unpacks to more than is allowed ({error})") from None
        except _DAMAGE as error:
            raise UnreadableDocument(name, f"the PDF is damaged ({type(error).__name__}: {error})") from None


def _read(name: str, data: bytes, limits: ReadLimits) -> tuple[str, list[DocumentPart]]:
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
        raise UnreadableDocument(name, "the PDF is encrypted with a password")
    if len(reader.pages) > limits.pages:
        raise TooLarge(name, f"the PDF has {len(reader.pages)} pages, the limit is {limits.pages}")
    lines: list[Line] = []
    chars = 0
    for number, page in enumerate(reader.pages, start=1):
        page_lines = _page_lines(page, number)
        chars += sum(len(line.text) for line in page_lines)
        if chars > limits.text_chars:
            raise TooLarge(name, f"the PDF holds more than {limits.text_chars} characters")
        lines.extend(page_lines)
    title = reader.metadata.title if reader.metadata else None
    return str(title or ""), list(_line_parts(without_running_lines(lines)))


def _page_lines(page: PageObject, number: int) -> list[Line]:
    fragments: list[tuple[str, float, float]] = []

    def visit(text: str, user: Sequence[float], matrix: Sequence[float], _font: Any, size: float) -> None:
        if text:
            scale = math.hypot(matrix[2], matrix[3]) * math.hypot(user[2], user[3])
            baseline = matrix[4] * user[1] + matrix[5] * user[3] + user[5]
            fragments.append((text, round(abs(size) * scale, 1), baseline))

    page.extract_text(visitor_text=visit)
    return list(_joined(_lines(fragments, number)))


def _lines(fragments: Sequence[tuple[str, float, float]], number: int) -> Iterator[Line]:
    """Yield the lines between the fragments' line breaks. A line has the size of its longest fragment."""
    held: list[tuple[str, float, float]] = []
    for text, size, baseline in fragments:
        first, *rest = text.split("\n")
        held.append((first, size, baseline))
        for piece in rest:
            yield from _line(held, number)
            held = [(piece, size, baseline)]
    yield from _line(held, number)


def _line(fragments: Sequence[tuple[str, float, float]], number: int) -> Iterator[Line]:
    text = "".join(piece for piece, _, _ in fragments).strip()
    if text:
        _, size, baseline = max(fragments, key=lambda fragment: len(fragment[0].strip()))
        yield Line(text, number, size, baseline)


def _joined(lines: Iterator[Line]) -> Iterator[Line]:
    """Yield the lines, with lines on the same baseline joined: they are the cells of a table's row."""
    held: list[Line] = []
    for line in lines:
        if held and abs(line.baseline - held[-1].baseline) > 0.3 * line.size:
            yield _row(held)
            held = []
        held.append(line)
    if held:
        yield _row(held)


def _row(lines: Sequence[Line]) -> Line:
    first = lines[0]
    return Line(" ".join(line.text for line in lines), first.page, first.size, first.baseline)


def _line_parts(lines: Sequence[Line]) -> Iterator[DocumentPart]:
    levels = _heading_levels(lines)
    leading = _leading(lines)
    held: list[Line] = []
    for line in lines:
        if held and _is_break(held[-1], line, leading, levels):
            yield _part(held, levels)
            held = []
        held.append(line)
    if held:
        yield _part(held, levels)


def _heading_levels(lines: Sequence[Line]) -> dict[float, int]:
    """Return the heading level of each size well above the body's, which is the size of most characters."""
    chars: Counter[float] = Counter()
    for line in lines:
        chars[line.size] += len(line.text)
    body = chars.most_common(1)[0][0] if chars else 0.0
    larger = sorted((size for size in chars if size >= body * _HEADING_RATIO), reverse=True)
    return {size: min(level, 6) for level, size in enumerate(larger, start=1)} if body else {}


def _leading(lines: Sequence[Line]) -> float:
    """Return the most common distance between two lines of a page, in points."""
    gaps = Counter(round(above.baseline - below.baseline) for above, below in _neighbours(lines))
    gaps = Counter({gap: count for gap, count in gaps.items() if gap > 0})
    return float(max(gaps, key=lambda gap: (gaps[gap], -gap))) if gaps else math.inf


def _neighbours(lines: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    return ((above, below) for above, below in pairwise(lines) if above.page == below.page)


def _is_heading(line: Line, levels: dict[float, int]) -> bool:
    return line.size in levels and len(line.text) <= _HEADING_CHARS


def _is_break(above: Line, below: Line, leading: float, levels: dict[float, int]) -> bool:
    if above.page != below.page or _is_heading(above, levels) != _is_heading(below, levels):
        return True
    if _is_heading(above, levels) and above.size != below.size:
        return True
    room = 1.1 * below.size if _is_heading(below, levels) else leading
    return not 0 <= above.baseline - below.baseline <= _PARAGRAPH_GAP * room


def _part(lines: Sequence[Line], levels: dict[float, int]) -> DocumentPart:
    first = lines[0]
    text = first.text
    for line in lines[1:]:
        text = _continued(text, line.text)
    level = levels[first.size] if _is_heading(first, levels) else 0
    return DocumentPart("heading" if level else "paragraph", text, level, first.page)


def _continued(text: str, line: str) -> str:
    if _HYPHENATED.search(text, max(0, len(text) - 2)) and line[:1].islower():
        return text[:-1] + line
    is_unspaced = _CJK.match(text[-1:]) and _CJK.match(line[:1])
    return f"{text}{line}" if is_unspaced else f"{text} {line}"
