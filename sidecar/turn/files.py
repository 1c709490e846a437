"""Rules for workspace files, whatever stores them: which are text, how large one may be, and the words in one.

Pure; the sources read the files.
"""

from __future__ import annotations

import re
from typing import Final

from store.text.texts import fold

MAX_FILE_BYTES: Final = 64 * 1024
MAX_FILES: Final = 2000
MAX_DEPTH: Final = 12
MAX_PATH_CHARS: Final = 500
TEXT_SUFFIXES: Final = frozenset(
    {".md", ".markdown", ".txt", ".rst", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".csv", ".tsv"}
    | {".py", ".js", ".ts", ".go", ".rs", ".java", ".sql", ".sh", ".html", ".css", ".xml"}
)
_WORD: Final = re.compile(r"\w+")


def is_nameable(path: str) -> bool:
    """Return whether the path can be sent: file names may hold bytes that are not text."""
    return len(path) <= MAX_PATH_CHARS and path.isprintable()


def words_of(text: str) -> frozenset[str]:
    """Return the folded words of a text."""
    return frozenset(_WORD.findall(text.lower() if text.isascii() else fold(text)))


def as_text(data: bytes) -> str | None:
    """Return a file's text, or None for one that is binary or blank."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or not text.strip() else text
