"""Checks whether a text repeats other texts, sentence by sentence. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from store.text.sentences import sentence_spans
from store.text.texts import fold

_WORD = re.compile(r"\w+")
_LINK_TARGET = re.compile(r"\]\([^)\s]*\)")


def is_said_by(text: str, others: Iterable[str]) -> bool:
    """Return whether every sentence of the text occurs, word for word, in one of the others, ignoring case and punctuation."""
    other_words = [_words(other) for other in others]
    return all(any(sentence in other for other in other_words) for sentence in _sentences(text))


def _sentences(text: str) -> Iterator[str]:
    for line in _LINK_TARGET.sub("]", text).splitlines():
        for start, end in sentence_spans(line, 0, len(line)):
            words = _words(line[start:end])
            if words.strip():
                yield words


def _words(text: str) -> str:
    """Return the folded words, each between two spaces, so that a substring match of words starts and ends at word boundaries."""
    return "".join(f" {word} " for word in _WORD.findall(fold(_LINK_TARGET.sub("]", text))))
