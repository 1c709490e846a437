"""Extracts the words of a message that show its kind: whether it asks about the user's own life (`personal`), or leans on its
thread (`leaning`).

Pairs of short words tell most ("how..my"), since any language has few short words. Beginnings and ends of words represent
inflection.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import Final

from sidecar.turn.message.reading import Reading
from store.text.texts import fold

_WORD = re.compile(r"\w+")
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_END_CHARS, _LEAST_CHARS, _SHORT_CHARS, _MOST_SHORT = 3, 5, 4, 32


def telling_words(reading: Reading) -> frozenset[str]:
    """Return the folded words of a message, every pair of its first 32 words of up to four letters, in their order ("how..my"),
    and the `beginnings_and_ends` of its longer words. Words in a script without spaces give their signs and pairs of signs
    instead.
    """
    written = _WORD.findall(fold(reading.parts[0].text))
    unspaced = [word for word in written if _UNSPACED.search(word)]
    spaced = [word for word in written if not _UNSPACED.search(word)]
    signs = (sign for word in unspaced for sign in (*word, *map("".join, pairwise(word))))
    parts = (part for word in spaced for part in beginnings_and_ends(word))
    short = [word for word in spaced if len(word) <= _SHORT_CHARS][:_MOST_SHORT]
    return frozenset((*spaced, *map("..".join, combinations(short, 2)), *parts, *signs))


def beginnings_and_ends(word: str) -> tuple[str, ...]:
    """Return the first and last three letters of a word of five or more, written as affixes ("bab-", "-mın"); else nothing."""
    return (f"{word[:_END_CHARS]}-", f"-{word[-_END_CHARS:]}") if len(word) >= _LEAST_CHARS else ()
