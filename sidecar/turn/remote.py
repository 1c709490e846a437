"""Relevance of remote search results, from their words and rank; remote scores are not comparable.

Pure; the sources fetch the results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from store.text.texts import fold

_WORD: Final = re.compile(r"\w+")
_FIRST: Final = 0.6
_HALVED_AFTER: Final = 5
_READ_CHARS: Final = 20_000


def relevance(words: Sequence[str], text: str, rank: int) -> float:
    """Return 0 to 1: the share of the question's words that the text holds, at least a minimum given by its rank.

    A remote search ranks by meaning, so top results count even without a shared word: 0.6 for the first, half of that for
    the sixth, a third for the eleventh.
    """
    earned = _FIRST / (1 + max(0, rank) / _HALVED_AFTER)
    wanted = {fold(word) for word in words}
    if not wanted:
        return earned
    present = wanted.intersection(_WORD.findall(fold(text[:_READ_CHARS])))
    return max(earned, len(present) / len(wanted))


def readable(text: str) -> str:
    """Return the text made storable: lone surrogates become question marks, NUL becomes U+FFFD."""
    whole = text if text.isascii() else text.encode(errors="replace").decode()
    return whole.replace("\0", "\ufffd")
