"""The sentences of a memory, verbatim, each short enough to be cited by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from store.text.sentences import sentence_spans
from store.text.text_cache import cached_by_text

MAX_SENTENCE_CHARS = 400
SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}): ")
"""A name before a colon at a text's start."""

_DAY = re.compile(r"^\d{4}-\d\d-\d\d: ")


@cached_by_text(4096)
def sentences(text: str) -> tuple[str, ...]:
    """Return the text's sentences in order, each part of one line and without surrounding spaces.

    A sentence of more than 400 characters is cut between words, so that no part of a text is lost.
    """
    return tuple(piece for start, end in _spans(text) for piece in _pieces(text[start:end].strip()) if piece)


def undated(line: str) -> str:
    """Return a line of a page without the day before it (`2026-03-01: `)."""
    return _DAY.sub("", line)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        yield from sentence_spans(text, start, start + len(line), shortest_chars=0)
        start += len(line) + 1


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > MAX_SENTENCE_CHARS:
        cut = sentence.rfind(" ", 1, MAX_SENTENCE_CHARS)
        cut = cut if cut > 0 else MAX_SENTENCE_CHARS
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:].lstrip()
    yield sentence
