"""The sentences of a memory, verbatim. A boundary too few is better than one too many: it never parts a fact from its subject."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MAX_SENTENCE_CHARS = 400

_STOP = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+[」』”]?|\n")
_WORD_BEFORE = re.compile(r"(?:^|[\s(\"'“‘])([\w.]{1,8})$")
_ABBREVIATED = """
mr mrs ms dr prof sr jr st rev gen col capt lt sgt gov sen vs etc al approx est fig no nos vol ch inc ltd co corp
ave blvd rd jan feb mar apr jun jul aug sep sept oct nov dec cf ca nr str bzw bd sra srta av art p pp hr
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_DOTTED = re.compile(r"(?:\w\.)+\w?")


@lru_cache(maxsize=1024)
def sentences(text: str) -> tuple[str, ...]:
    """Return the text's sentences in order, each a piece of the text with no space at its ends.

    A sentence of more than 400 characters is cut between words, so that no part of a text is left out.
    """
    return tuple(piece for start, end in _spans(text) for piece in _pieces(text[start:end].strip()) if piece)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for stop in _STOP.finditer(text):
        if _ends(text, start, stop):
            yield start, stop.end()
            start = stop.end()
    yield start, len(text)


def _ends(text: str, start: int, stop: re.Match[str]) -> bool:
    if stop[0][0] != ".":
        return stop[0][0] not in "!?…" or not text[stop.end() :].lstrip()[:1].islower()
    if text[stop.end() :].lstrip()[:1].islower():
        return False
    word = _WORD_BEFORE.search(text, max(start, stop.start() - 10), stop.start())
    if word is None:
        return True
    before = word[1].lower()
    return not (
        before in _ABBREVIATIONS
        or (len(before) == 1 and before.isalpha() and before != "i")
        or (before.isdigit() and len(before) <= 2 and stop.start() - start <= 3)
        or _DOTTED.fullmatch(before)
    )


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > MAX_SENTENCE_CHARS:
        cut = sentence.rfind(" ", 1, MAX_SENTENCE_CHARS)
        cut = cut if cut > 0 else MAX_SENTENCE_CHARS
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:].lstrip()
    yield sentence
