"""Makes the lead of a text, for items that are shortened: its first lines, or the lines that hold a question's words."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from store.text.texts import search_words

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])")
_LINE_CHARS = 120
MAX_LEAD_LINES = 20


def lead(text: str, lines: int) -> str:
    """Return the first `lines` lines of the text, or an empty string if it has no shorter beginning.

    A text of few but long lines (over 120 characters on average) is cut by sentences instead.
    """
    written = [line for line in text.splitlines() if line.strip()]
    if len(written) > lines:
        return "\n".join(written[:lines])
    if len(text) <= lines * _LINE_CHARS:
        return ""
    end = 0
    for count, match in enumerate(_SENTENCE_END.finditer(text), start=1):
        if count == lines:
            end = match.start()
            break
    return text[:end].rstrip() if 0 < end < len(text.rstrip()) else ""


def telling_lead(text: str, lines: int, words: Collection[str]) -> str:
    """Return the `lines` lines of the text that hold most of a question's words, in their order; its first lines if none does.

    Among lines with equally many words, earlier ones win. Empty if the text has no shorter form.
    """
    first = lead(text, lines)
    written = [line for line in text.splitlines() if line.strip()]
    if not first or len(written) <= lines:
        return first
    wanted = frozenset(words)
    counts = [len(wanted & held) for held in _words_by_line(text)]
    best = sorted(range(len(written)), key=lambda place: (-counts[place], place))[:lines]
    chosen = sorted(place for place in best if counts[place])
    return "\n".join(written[place] for place in chosen) if chosen else first


@lru_cache(maxsize=1024)
def _words_by_line(text: str) -> tuple[frozenset[str], ...]:
    """Return the search words of each line that is not empty; sections recur from turn to turn."""
    return tuple(frozenset(search_words(line).split()) for line in text.splitlines() if line.strip())
