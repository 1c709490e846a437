"""Cuts a text that has no better break: at a line end, else at a space or comma, else between graphemes.

Pure. A grapheme is cut only if it alone is longer than the piece.
"""

from collections.abc import Iterator

import regex

# Searches backwards for the last place in the window. The next character must not modify the one before (accents, joiners).
_LAST_SEAM = regex.compile(r"(?r)[\s，、；：](?=.)(?![\p{M}\p{Grapheme_Extend}\u200d])", regex.DOTALL)
_GRAPHEME = regex.compile(r"\X")


def cut_spans(text: str, start: int, end: int, piece_chars: int) -> Iterator[tuple[int, int]]:
    """Yield spans of at most `piece_chars` characters that cover text[start:end] in order, without outer white space."""
    while end - start > piece_chars:
        at = cut_before(text, start, start + piece_chars, end)
        yield from trimmed(text, start, at)
        start = at
    yield from trimmed(text, start, end)


def cut_before(text: str, start: int, limit: int, end: int) -> int:
    """Return the best place to cut in (start, limit]. Breaks are searched in the window's second half; limit < end."""
    middle = start + (limit - start) // 2
    newline = text.rfind("\n", middle, limit)
    if newline >= 0:
        return newline + 1
    seam = _LAST_SEAM.search(text, middle, min(limit + 1, end))
    if seam is not None:
        return seam.end()
    return _last_grapheme(text, start, limit, end)


def _last_grapheme(text: str, start: int, limit: int, end: int) -> int:
    last = start
    for grapheme in _GRAPHEME.finditer(text, start, min(limit + 1, end)):
        last = grapheme.start()  # the last grapheme begins at or before the limit and may reach past it
    return last if last > start else limit


def trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without its outer white space, or nothing if it holds only white space."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    if left < len(piece):
        yield start + left, start + len(piece.rstrip())
