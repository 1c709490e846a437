"""Cuts documents into chunks, which knowledge search finds and turns show.

Pure. Chunks break on structure, never inside a sentence, table or code block that fits. Every character of the document's blocks
is in exactly one chunk, in order: a chunk's text is `document.text[start:end]`. The token counter is an argument, called with few
large batches of short texts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

from sidecar.ingest.chunking.cutting import cut_spans
from sidecar.ingest.chunking.packing import ChunkLimits, Seam, halve, pack
from sidecar.ingest.documents.document import DocumentBlock, DocumentText
from sidecar.ingest.text import one_line
from store.text.sentences import sentence_spans

CountTokens = Callable[[Sequence[str]], list[int]]
_Span = tuple[int, int]

DEFAULT_LIMITS = ChunkLimits()
_UNIT_CHARS = 4_000  # the longest text to count: tokenizers are slow on a megabyte without a break
_GAP_CHARS_PER_TOKEN = 16  # a cautious estimate for runs of spaces
_ROW_CHARS = 300
_CELL_END = re.compile(r"[|,;\t]")
_NUMBER, _YEAR = re.compile(r"\W*\d[\d\W]*"), re.compile(r"\W*(?:19|20)\d\d\W*")
_LINE_CHARS = 40  # shorter lines are joined with the next: "}" alone is not a unit


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a document. `heading_path` are the headings above all of its text, then the header row of a table that it
    continues; `page` is the page where it begins.
    """

    position: int
    text: str
    heading_path: tuple[str, ...]
    page: int | None
    tokens: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _CountedSpan:
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Unit(_CountedSpan):
    """The smallest span that is kept whole: a sentence, a line, or a whole table or code block."""

    block: int
    seam: Seam


@dataclass(frozen=True, slots=True)
class _Draft(_CountedSpan):
    """The units of a future chunk."""

    units: tuple[_Unit, ...]


_S = TypeVar("_S", bound=_CountedSpan)


@dataclass(frozen=True, slots=True)
class _Source:
    """A document's blocks and text, with the token counter and the limits."""

    blocks: tuple[DocumentBlock, ...]
    text: str
    count: CountTokens
    limits: ChunkLimits

    def counted(self, spans: list[_S]) -> list[_S]:
        counts = self.count([self.text[part.start : part.end] for part in spans]) if spans else []
        return [replace(part, tokens=tokens) for part, tokens in zip(spans, counts, strict=True)]


def chunk(document: DocumentText, *, count: CountTokens, limits: ChunkLimits = DEFAULT_LIMITS) -> list[Chunk]:
    """Return the document's chunks in order, each of at most `limits.max_tokens` by `count`; none for a document without blocks.

    Only a single character with more tokens than the maximum exceeds it. The time is linear in the document's length.
    """
    source = _Source(document.blocks, document.text, count, limits)
    units = _refined(source, list(_first_units(source)), _finer)
    runs = pack(_sizes(units), [unit.seam for unit in units], limits)
    drafts = _refined(source, [_draft(units[start:end]) for start, end in runs], _halves)
    return [_finished(source, position, draft) for position, draft in enumerate(drafts)]


def _sizes(units: Sequence[_Unit]) -> list[int]:
    """Return the estimated tokens that each unit adds to a chunk: its own, and those of the white space before it."""
    ends = [unit.end for unit in units]
    gaps = [unit.start - end for unit, end in zip(units[1:], ends, strict=False)]
    return [unit.tokens + (gap > 1) + gap // _GAP_CHARS_PER_TOKEN for unit, gap in zip(units, [0, *gaps], strict=False)]


def _refined(source: _Source, spans: list[_S], parts: Callable[[_Source, _S], list[_S]]) -> list[_S]:
    """Return the spans counted. Spans above the maximum are replaced by their parts until none can be split further."""
    spans = source.counted(spans)
    while any(split := [parts(source, span) if span.tokens > source.limits.max_tokens else [] for span in spans]):
        counted = iter(source.counted([part for group in split for part in group]))
        spans = [
            part
            for span, group in zip(spans, split, strict=True)
            for part in ([next(counted) for _ in group] if group else [span])
        ]
    return spans


def _first_units(source: _Source) -> Iterator[_Unit]:
    depth = _section_depth(source.blocks)
    for index, block in enumerate(source.blocks):
        seam = _seam_before(source.blocks, index, depth)
        for span in _first_spans(source.text, block):
            is_short = span[1] - span[0] <= _UNIT_CHARS
            for start, end in [span] if is_short else cut_spans(source.text, *span, _UNIT_CHARS):
                yield _Unit(start, end, 0, index, seam)
                seam = Seam.CUT
            seam = Seam.SENTENCE if block.kind in {"paragraph", "metadata"} else Seam.LINE


def _first_spans(text: str, block: DocumentBlock) -> Iterable[_Span]:
    if block.kind in {"paragraph", "metadata"}:
        return sentence_spans(text, block.start, block.end)
    is_whole = block.kind == "heading" or (block.kind != "list" and len(block.text) <= _UNIT_CHARS)
    return [(block.start, block.end)] if is_whole else _line_spans(text, block.start, block.end)


def _line_spans(text: str, start: int, end: int) -> Iterator[_Span]:
    """Yield the spans of the lines of text[start:end], with their indentation; short lines are joined with the next."""
    begin = start
    while begin < end:
        newline = text.find("\n", min(begin + _LINE_CHARS, end), end)
        stop = newline if newline >= 0 else end
        if not text[begin:stop].isspace():
            yield begin, stop
        begin = stop + 1


def _section_depth(blocks: Sequence[DocumentBlock]) -> int:
    """Return the depth of the headings that open a section: 2 if the only outermost heading is the document's title, else 1."""
    outermost = sum(1 for block in blocks if block.kind == "heading" and len(block.heading_path) == 1)
    return 2 if outermost == 1 else 1


def _seam_before(blocks: Sequence[DocumentBlock], index: int, section_depth: int) -> Seam:
    block = blocks[index]
    before = blocks[index - 1] if index else None
    depth = len(block.heading_path)
    if before and before.kind == "heading" and (block.kind != "heading" or depth > len(before.heading_path)):
        return Seam.UNDER_HEADING
    if block.kind != "heading":
        return Seam.BLOCK
    return Seam.SECTION if depth <= section_depth else Seam.HEADING


def _finer(source: _Source, unit: _Unit) -> list[_Unit]:
    """Return the parts of a unit that is too large: its lines, its sentences, or pieces of it; none for a single character."""
    kind = source.blocks[unit.block].kind
    spans: list[_Span] = []
    if kind in {"table", "code"}:
        spans = list(_line_spans(source.text, unit.start, unit.end))
    elif kind == "list":
        spans = list(sentence_spans(source.text, unit.start, unit.end))
    seam = Seam.LINE
    if len(spans) < 2:
        spans, seam = list(_pieces(source, unit)), Seam.CUT
    return [_Unit(start, end, 0, unit.block, seam if at else unit.seam) for at, (start, end) in enumerate(spans)]


def _pieces(source: _Source, unit: _Unit) -> Iterator[_Span]:
    length = unit.end - unit.start
    if length > 1:
        count = -(-unit.tokens // source.limits.target_tokens)
        yield from cut_spans(source.text, unit.start, unit.end, max(1, length // max(2, count)))


def _draft(units: Sequence[_Unit]) -> _Draft:
    return _Draft(units[0].start, units[-1].end, 0, tuple(units))


def _halves(source: _Source, draft: _Draft) -> list[_Draft]:
    units = draft.units
    if len(units) < 2:
        return []
    middle = halve([unit.tokens for unit in units], [unit.seam for unit in units])
    return [_draft(units[:middle]), _draft(units[middle:])]


def _finished(source: _Source, position: int, draft: _Draft) -> Chunk:
    blocks = source.blocks[draft.units[0].block : draft.units[-1].block + 1]
    content_blocks = [block for block in blocks if block.kind != "heading"]
    path = reduce(_shared, (block.heading_path for block in content_blocks or blocks))
    text = source.text[draft.start : draft.end]
    path += _header_row(source.blocks[draft.units[0].block], draft)
    return Chunk(position, text, path, blocks[0].page, draft.tokens, draft.start, draft.end)


def _header_row(block: DocumentBlock, draft: _Draft) -> tuple[str, ...]:
    """Return the header row of the table that a chunk continues, if it has one: a first row with a number is data. A year may be
    a column's name.
    """
    end = block.text.find("\n", 0, _UNIT_CHARS)  # bounded, because every chunk of the table looks for it
    if block.kind != "table" or end < 0 or draft.start <= block.start:
        return ()
    row = block.text[:end]
    is_data = any(_NUMBER.fullmatch(cell) and not _YEAR.fullmatch(cell) for cell in _CELL_END.split(row))
    return () if is_data else (one_line(row, _ROW_CHARS),)


def _shared(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    return left[:length]
