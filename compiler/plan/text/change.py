"""Decides whether a proposed text differs in meaning from the present one.

Words are compared: a changed number, date or name is always a change, however long the surrounding text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from compiler.plan.text.markdown import unescape
from store.text.text_cache import cached_by_text
from store.text.texts import fold
from store.text.words import GUARD_WORDS, STOP_WORDS

REWORDING = 0.05

_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|\w+(?:['’]\w+)*")


def is_meaningful(existing_md: str, proposed_md: str) -> bool:
    """Return whether the proposed text differs enough from the existing one to call a writer.

    An empty proposal does not; any proposal for an empty text does. Otherwise a number, a capitalised word or a negation must
    differ, or more than 5 % of the words.
    """
    existing, proposed = _words(existing_md), _words(proposed_md)
    if existing == proposed or not proposed:
        return False
    if not existing or _facts(existing) != _facts(proposed):
        return True
    before, after = Counter(map(_folded, existing)), Counter(map(_folded, proposed))
    differing = (before - after).total() + (after - before).total()
    return differing / max(len(existing), len(proposed)) > REWORDING


def shares_content(text: str, other: str) -> bool:
    """Return whether two texts share a content word; True if either has none."""
    return not any(are_unrelated(text, [other]))


def are_unrelated(text: str, others: Iterable[str]) -> list[bool]:
    """Return for each of the others whether both it and the text have content words, but none in common."""
    words = content_words(text)  # read once: the text may be a section with hundreds of citations
    return [bool(words and own) and words.isdisjoint(own) for own in map(content_words, others)]


@cached_by_text(2048)
def content_words(text: str) -> frozenset[str]:
    """Return the folded words of the text without stop words and single letters."""
    words = set(map(_folded, _words(text)))
    return frozenset(word for word in words if word not in STOP_WORDS and (len(word) > 1 or not word.isascii()))


_folded = lru_cache(maxsize=16384)(fold)


@cached_by_text(2048)
def _words(markdown: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(unescape(markdown)))


def _facts(words: tuple[str, ...]) -> Counter[str]:
    """Return the words that carry facts: those with a digit or a capital, spelled-out numbers, dates and negations."""
    folded = ((word, word.casefold()) for word in words)
    return Counter(
        word
        for word, low in folded
        if (not word.islower() and low not in STOP_WORDS) or low in GUARD_WORDS or low.endswith(("n't", "n’t"))
    )
