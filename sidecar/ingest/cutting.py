"""Cuts a stretch of text that has no better seam: at a line end, else a space or comma, else between graphemes.

Pure. The last resort, cutting inside a grapheme, is taken only where one grapheme alone is longer than the piece.
"""

from collections.abc import Iterator

import regex

# Read backwards: the last place in the window. What follows must not lean on what stands before (accents, joiners).
_LAST_SEAM = regex.compile(r"(?r)[\s，、；：](?=.)(?![\p{M}\p{Grapheme_Extend}\u200d])", regex.DOTALL)
_GRAPHEME = regex.compile(r"\X")


def cut_spans(text: str, start: int, end: int, piece_chars: int) -> Iterator[tuple[int, int]]:
    """Yield spans of at most piece_chars characters that hold text[start:end] in order, whitespace outside left out."""
    while end - start > piece_chars:
        at = cut_before(text, start, start + piece_chars, end)
        yield from trimmed(text, start, at)
        start = at
    yield from trimmed(text, start, end)


def cut_before(text: str, start: int, limit: int, end: int) -> int:
    """Return the best place to cut in (start, limit], looking for seams in the window's second half; limit < end."""
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
        last = grapheme.start()  # the one that reaches past the limit begins at or before it
    return last if last > start else limit


def trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without its outer whitespace, or nothing when it holds nothing else."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    if left < len(piece):
        yield start + left, start + len(piece.rstrip())
