"""A document between reader and chunker: blocks in order, each with the headings above it.

Pure values. Offsets count characters of `DocumentText.text`, for blocks, chunks and citations alike.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from sidecar.ingest.errors import InvalidLimits
from sidecar.ingest.text import clean, one_line

Kind = Literal["heading", "paragraph", "list", "table", "code", "metadata"]

GAP = "\n\n"
NO_END = sys.maxsize
_TITLE_CHARS = 300
_PATH_CHARS = 120


class Content(StrEnum):
    """The kind of content that a document holds."""

    TEXT = "TEXT"
    EMPTY = "EMPTY"
    NO_TEXT_LAYER = "NO_TEXT_LAYER"  # a scanned PDF: its pages are images


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The size limits of a document; a larger one is refused."""

    document_bytes: int = 32 << 20
    text_chars: int = 32_000_000
    blocks: int = 100_000
    pages: int = 5_000

    def __post_init__(self) -> None:
        for field in ("document_bytes", "text_chars", "blocks", "pages"):
            if getattr(self, field) < 1:
                raise InvalidLimits("ReadLimits", f"{field} is {getattr(self, field)}")


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A piece of text as a reader finds it. `level` is a heading's depth, from 1 for the outermost; 0 for all other kinds."""

    kind: Kind
    text: str
    level: int = 0
    page: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """A part with its position. The text is not empty and has no outer white space. A heading's path ends with itself."""

    kind: Kind
    text: str
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The content of one file. Offsets refer to `text`."""

    title: str
    media_type: str
    blocks: tuple[DocumentBlock, ...]

    @property
    def text(self) -> str:
        """The blocks' texts, separated by blank lines."""
        return GAP.join(block.text for block in self.blocks)

    @property
    def content(self) -> Content:
        """Whether there is text to chunk, and the reason if not."""
        if self.blocks:
            return Content.TEXT
        return Content.NO_TEXT_LAYER if self.media_type == "application/pdf" else Content.EMPTY


def lay_out(title: str, media_type: str, parts: Iterable[DocumentPart]) -> DocumentText:
    """Return the document of the parts, with clean texts, heading paths and offsets. Empty parts are left out."""
    open_headings: list[tuple[int, str]] = []
    blocks: list[DocumentBlock] = []
    start = 0
    path: tuple[str, ...] = ()
    for part in parts:
        text = _trimmed(part)
        if not text:
            continue
        if part.kind == "heading":
            while open_headings and open_headings[-1][0] >= part.level:
                open_headings.pop()
            open_headings.append((part.level, one_line(text, _PATH_CHARS)))
            path = tuple(heading for _, heading in open_headings)
        blocks.append(DocumentBlock(part.kind, text, path, part.page, start, start + len(text)))
        start += len(text) + len(GAP)
    return DocumentText(one_line(clean(title), _TITLE_CHARS), media_type, tuple(blocks))


def _trimmed(part: DocumentPart) -> str:
    text = clean(part.text)
    if part.kind != "code":
        return text.strip()
    first_line = text[: len(text) - len(text.lstrip())].rfind("\n") + 1  # keep the first line's indentation
    return text[first_line:].rstrip()
