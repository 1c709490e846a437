"""The lead of a text: its first lines, for items that are shortened to their beginning."""

from __future__ import annotations

import re

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
