"""Judges whether a message asks about somebody's own life ("When does my lease end?"), and not what anybody may know ("How do I
boil an egg?").

By words that tell, which are few in any language ("my", "we", "how", "a"), by their first and last letters, which inflection
leaves or makes, and by its vector, which tells most in the languages that the embedder knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from models.embedding.vector_parts import MINILM, MULTILINGUAL
from sidecar.turn import personal_by_minilm, personal_by_multilingual
from sidecar.turn.leaning import message_form
from sidecar.turn.reading import Reading
from store.text.texts import fold

_FITTED: Final = {
    name: (fitted.PERSONAL, np.array(fitted.PERSONAL_VECTOR), fitted.PERSONAL_WORDS)
    for name, fitted in ((MINILM, personal_by_minilm), (MULTILINGUAL, personal_by_multilingual))
}
_WORD = re.compile(r"\w+")
_END_CHARS, _LEAST_CHARS = 3, 5
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def personal_score(reading: Reading, vector: Sequence[float], embedder: str) -> float:
    """Return the log odds that a message asks about somebody's own life, given the telling part of its vector by this embedder
    (`vector_parts.telling_part`). Names of people do not count.
    """
    weights, of_vector, of_words = _FITTED[embedder]
    form = message_form(reading)
    by_form = weights.bias + sum(weight * form[name] for name, weight in weights.of.items())
    by_words = sum(of_words.get(word, 0.0) for word in sorted(telling_words(reading)))
    return float(by_form + by_words + np.dot(of_vector, np.array(vector)))


def telling_words(reading: Reading) -> frozenset[str]:
    """Return the folded words of a message and its pairs of neighbours, and the `beginnings_and_ends` of its longer words; of a
    script without spaces signs and pairs of signs.
    """
    written = _WORD.findall(fold(reading.parts[0].text))
    unspaced = [word for word in written if _UNSPACED.search(word)]
    spaced = [word for word in written if not _UNSPACED.search(word)]
    signs = (told for word in unspaced for told in (*word, *map("".join, pairwise(word))))
    parts = (part for word in spaced for part in beginnings_and_ends(word))
    return frozenset((*spaced, *map(" ".join, pairwise(spaced)), *parts, *signs))


def beginnings_and_ends(word: str) -> tuple[str, ...]:
    """Return the first and the last three letters of a word of five or more, written as in dictionaries ("bab-", "-mın")."""
    return (f"{word[:_END_CHARS]}-", f"-{word[-_END_CHARS:]}") if len(word) >= _LEAST_CHARS else ()
