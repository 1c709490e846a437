"""Finds the memory behind each sentence of a section, by words. Pure.

The wiki stores the sources of a whole section. A sentence gets the memory that contains most of its words, if that is at least
60 % of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from store.text.texts import search_words

_END = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？])")
_TAKEN_AS_IS = re.compile(r"\s*(#|```|~~~|\||<|\[[^\]]+\]:)")
_LINK = re.compile(r"\]\([^)]*\)")
_LEAST_SHARE = 0.6
_LEAST_WORDS = 2
_MOST_CHARS = 20_000
_MOST_MEMORIES = 200


def marked(body_md: str, memories: Sequence[str], *, anchor: str) -> str:
    """Return Markdown with a link to `#{anchor}-{n}` after each sentence whose source is the nth memory, from 1.

    A body of more than 20,000 characters is returned unchanged.
    """
    if len(body_md) > _MOST_CHARS or not memories:
        return body_md
    words = [_words(text) for text in memories[:_MOST_MEMORIES]]
    return "\n".join(
        line if _TAKEN_AS_IS.match(line) else _marked_line(line, words, anchor) for line in body_md.split("\n")
    )


def _marked_line(line: str, memories: Sequence[frozenset[str]], anchor: str) -> str:
    pieces = []
    for piece in _sentences(line):
        number = source_of(piece, memories)
        bare = piece.rstrip()
        pieces.append(f"{bare}[{number}](#{anchor}-{number}){piece[len(bare) :]}" if number else piece)
    return "".join(pieces)


def _sentences(line: str) -> list[str]:
    """Return a line's sentences with their surrounding spaces. A sentence does not end inside a link."""
    pieces: list[str] = []
    for piece in _END.split(line):
        if pieces and pieces[-1].count("[") > pieces[-1].count("]"):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def source_of(sentence: str, memories: Sequence[frozenset[str]]) -> int:
    """Return the number, from 1, of the memory that contains most of a sentence's words; 0 if none contains 60 % of them."""
    words = _words(_LINK.sub("]", sentence))
    if len(words) < _LEAST_WORDS:
        return 0
    shares = [len(words & one) / len(words) for one in memories]
    best = max(range(len(shares)), key=lambda place: (shares[place], -place), default=None)
    return 0 if best is None or shares[best] < _LEAST_SHARE else best + 1


@lru_cache(maxsize=2048)
def _words(text: str) -> frozenset[str]:
    return frozenset(search_words(text, most_chars=_MOST_CHARS).split())
