"""Rules for workspace files, independent of where they are stored: which are text, their size limit, their words, their items.

Pure; the sources read the files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sidecar.turn.items import Item, Ref, Source
from store.text.texts import fold

MAX_FILE_BYTES: Final = 64 * 1024
MAX_FILES: Final = 2000
MAX_ENTRIES: Final = 50_000
MAX_FOLDER_ENTRIES: Final = 10_000
MAX_DEPTH: Final = 12
MAX_PATH_CHARS: Final = 500
TEXT_SUFFIXES: Final = frozenset(
    {".md", ".markdown", ".txt", ".rst", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".csv", ".tsv"}
    | {".py", ".js", ".ts", ".go", ".rs", ".java", ".sql", ".sh", ".html", ".css", ".xml"}
)
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """A text file of a workspace: its path in it, its text, and when it was last changed (None if its disk has no usable time).
    `level` is the workspace's level."""

    path: str
    level: str
    text: str
    changed_at: datetime | None


def is_nameable(path: str) -> bool:
    """Return whether the path can be sent: file names may hold bytes that are not text."""
    return len(path) <= MAX_PATH_CHARS and path.isprintable()


def words_of(text: str) -> frozenset[str]:
    """Return the folded words of a text."""
    return frozenset(_WORD.findall(text.lower() if text.isascii() else fold(text)))


def as_text(data: bytes) -> str | None:
    """Return a file's text, or None if the file is binary or blank."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or not text.strip() else text


def item_of(file: WorkspaceFile, coverage: float, rank: int, tenant_id: UUID) -> Item:
    """Return a file as an item. `coverage`, the share of the question's words that it holds (0 to 1), becomes its relevance."""
    return Item(
        id=f"file:{file.level}/{file.path}",
        source=Source.WORKSPACE,
        text=file.text,
        rank=rank,
        relevance=coverage,
        header=f"{file.path} ({file.level} workspace)",
        provenance=(Ref("file", f"{tenant_id}/{file.level}/{file.path}", file.path),),
        at=file.changed_at,
    )
