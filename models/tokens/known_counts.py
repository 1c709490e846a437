"""Caches exact token counts, since the same memories, chunks and lines recur turn after turn.

A text is split where every encoding splits it before merging, so that the counts of the pieces add up to that of the text: after
a line's end, unless white space or a slash follows, and after a bracketed mark at a line's start, such as `[k12]` before a space.
The counts of pieces, and of texts of several pieces, are cached as long as they keep recurring.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import cast

from models.errors import UncountableText
from models.tokens.encodings import EncodingName, count

_LONGEST_PIECE = 20_000  # a longer piece is more likely pasted once than recurring
_MARK = re.compile(r"\[[a-z][0-9]{1,5}\](?= \S)")


class KnownCounts:
    """Caches the counts of up to twice `max_chars` characters of text per encoding."""

    def __init__(self, max_chars: int = 8_000_000) -> None:
        self._max_chars = max_chars
        self._known: dict[EncodingName, _Generations] = {}

    def count(self, texts: Sequence[str], encoding: EncodingName) -> list[int]:
        """Return the counts of `models.tokens.encodings.count`. Raises UncountableText for a lone surrogate."""
        known = self._known.setdefault(encoding, _Generations(self._max_chars))
        found = known.look_up(texts)
        if None not in found:
            return cast("list[int]", found)
        new = [text for text, tokens in zip(texts, found, strict=True) if tokens is None]
        counted = iter(self._counted(new, encoding, known))
        return [next(counted) if tokens is None else tokens for tokens in found]

    def _counted(self, texts: Sequence[str], encoding: EncodingName, known: _Generations) -> list[int]:
        """Return the counts of texts that are not cached as a whole, and cache them."""
        pieces: list[str] = []
        sizes = [_cut(text, pieces) for text in texts]
        try:
            counts = iter(self._of_pieces(pieces, encoding, known))
        except UncountableText:
            return count(texts, encoding)  # this error gives the position in the text instead of a piece
        sums = [next(counts) if size == 1 else sum(islice(counts, size)) for size in sizes]
        for text, size, tokens in zip(texts, sizes, sums, strict=True):
            if size > 1 and len(text) <= _LONGEST_PIECE:
                known.put(text, tokens)
        return sums

    def _of_pieces(self, pieces: Sequence[str], encoding: EncodingName, known: _Generations) -> list[int]:
        found = known.look_up(pieces)
        if None not in found:
            return cast("list[int]", found)
        new = list({piece for piece, tokens in zip(pieces, found, strict=True) if tokens is None})
        counted = dict(zip(new, count(new, encoding), strict=True))
        for piece, tokens in counted.items():
            if len(piece) <= _LONGEST_PIECE:
                known.put(piece, tokens)
        return [counted[piece] if tokens is None else tokens for piece, tokens in zip(pieces, found, strict=True)]


class _Generations:
    """A cache of two generations. Entries used again move to the young one; when that is full, the old one is dropped."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}

    def look_up(self, pieces: Sequence[str]) -> list[int | None]:
        found = list(map(self._young.get, pieces))
        if None not in found:
            return found
        return [
            self._from_old(piece) if tokens is None else tokens for piece, tokens in zip(pieces, found, strict=True)
        ]

    def put(self, piece: str, tokens: int) -> None:
        self._young[piece] = tokens
        self._chars += len(piece)
        if self._chars > self._max_chars:
            self._young, self._old, self._chars = {}, self._young, 0

    def _from_old(self, piece: str) -> int | None:
        tokens = self._old.get(piece)
        if tokens is not None:
            self.put(piece, tokens)
        return tokens


def _cut(text: str, pieces: list[str]) -> int:
    """Append the text's pieces, whose counts add up to its own, and return their number.

    It is a single loop because it runs over every line of a turn's context.
    """
    before, start, size = len(pieces), 0, len(text)
    while start < size:
        end = text.find("\n", start) + 1
        while 0 < end < size and (text[end] == "/" or text[end].isspace()):
            end = text.find("\n", end) + 1
        end = end or size
        if text[start] == "[" and (mark := _MARK.match(text, start, end)):
            pieces.append(mark[0])
            start = mark.end()
        pieces.append(text[start:end])
        start = end
    return len(pieces) - before
