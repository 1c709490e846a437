"""Divides an overlong text at the best boundary: a paragraph, a line, a sentence, a word."""

from __future__ import annotations

import re
from collections.abc import Callable

from compiler.plan.bounds import SECTION_CHARS

_FENCE = re.compile(r"^ {0,3}(`{3,10}|~{3,10})", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?]\s|[。！？]")


def pieces(markdown: str, finish: Callable[[str], str], most: int = SECTION_CHARS) -> list[str]:
    """Return the finished pieces of a text, in order, each at most SECTION_CHARS long and none empty.

    `finish` may lengthen a piece (links, escapes); such a piece is divided further.
    """
    found: list[str] = []
    for piece in cut(markdown, most):
        finished = finish(piece)
        if len(finished) <= SECTION_CHARS:
            found += [finished] if finished else []
        else:
            found += pieces(piece, finish, max(1, min(most, len(piece)) // 2))
    return found


def cut(markdown: str, most: int) -> list[str]:
    """Return the text in pieces of at most `most` characters. A divided code block is closed and opened again."""
    found: list[str] = []
    rest = markdown
    while len(rest) > most:
        at = _border(rest, most)
        piece, rest = rest[:at].rstrip(), rest[at:].lstrip("\n") if rest[at] == "\n" else rest[at:].lstrip(" ")
        fence = _open_fence(piece)
        if fence and most > 100:
            piece, rest = f"{piece}\n{fence}", f"{fence}\n{rest}"
        found.append(piece)
    return [piece for piece in (*found, rest) if piece.strip()]


def short(text: str, most: int) -> str:
    """Return a line shortened to at most `most` characters: whole sentences, else whole words and an ellipsis."""
    if len(text) <= most:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text[:most])]
    if ends and ends[-1] > most // 4:
        return text[: ends[-1]].rstrip()
    kept = text[: most - 1]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept else kept}…"


def _border(text: str, most: int) -> int:
    """Return the index at which to divide, leaving room for the closing fence of a divided code block."""
    room = max(1, most - 12) if most > 100 else most
    head = text[: room + 1]
    paragraph, newline = head.rfind("\n\n"), head.rfind("\n")
    if paragraph > room // 2:
        return paragraph
    if newline > room // 4:
        return newline
    ends = [found.end() for found in _SENTENCE_END.finditer(text[:room])]
    if ends and ends[-1] > room // 4:
        return ends[-1]
    space = head.rfind(" ")
    return space if space > room // 4 else room


def _open_fence(piece: str) -> str:
    """Return the fence that a piece opens and does not close, or an empty text."""
    opened = ""
    for found in _FENCE.finditer(piece):
        if not opened:
            opened = found[1]
        elif found[1].startswith(opened):
            opened = ""
    return opened
