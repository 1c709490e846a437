"""Whether a text says only what other texts say, sentence by sentence. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from store.text.sentences import sentence_spans
from store.text.texts import fold

_WORD = re.compile(r"\w+")
_LINK_TARGET = re.compile(r"\]\([^)\s]*\)")


def is_said_by(text: str, others: Iterable[str]) -> bool:
    """Return whether every sentence of the text stands, word for word, in one of the others; case and marks do not count."""
    said = [_words(other) for other in others]
    return all(any(sentence in other for other in said) for sentence in _sentences(text))


def _sentences(text: str) -> Iterator[str]:
    for line in _LINK_TARGET.sub("]", text).splitlines():
        for start, end in sentence_spans(line, 0, len(line)):
            words = _words(line[start:end])
            if words.strip():
                yield words


def _words(text: str) -> str:
    """Return the folded words, each between two spaces: a run of words is a part of it only at the bounds of words."""
    return "".join(f" {word} " for word in _WORD.findall(fold(_LINK_TARGET.sub("]", text))))
