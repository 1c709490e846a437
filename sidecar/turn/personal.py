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
from numpy.typing import NDArray

from models.embedding.vector_parts import MINILM, MULTILINGUAL
from sidecar.turn import personal_by_minilm, personal_by_multilingual
from sidecar.turn.leaning import message_form
from sidecar.turn.reading import Reading
from sidecar.turn.wording import word_shares
from store.text.calendar_words import CALENDAR_WORDS
from store.text.texts import fold
from store.text.words import STOP_WORDS

_FITTED: Final = {
    name: (fitted.PERSONAL, np.array(fitted.PERSONAL_VECTOR), fitted.PERSONAL_WORDS)
    for name, fitted in ((MINILM, personal_by_minilm), (MULTILINGUAL, personal_by_multilingual))
}
OF_A_NAME: Final = 2.0
"""What it adds to the log odds that a message asks about somebody's own life, for a text of that life which holds a name in the
message and another of its words. `personal_score` cannot know whose names they are. A name alone may be the world's ("Atlas").
"""

_NAMED_IN_CHARS, _LEAST_NAME_CHARS = 1_000, 2
_WORD = re.compile(r"\w+")
_CAPITALISED: Final = re.compile(r"\b(?![a-zß-öø-ÿ\d_])\w+")
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


def hold_name(reading: Reading, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether the beginning of each text holds a name in the message (`Reading.names`), with a capital and with or without
    an ending "s", and a word of the message that is no name, in any form. Names of days and months do not count.
    """
    names = {spelling for spellings in reading.names for spelling in spellings}
    spelt = {one.removesuffix("s") for one in names - STOP_WORDS if not {one, one.removesuffix("s")} & CALENDAR_WORDS}
    others = [word for word in reading.words if word not in names]
    spelt = {one for one in spelt if len(one) >= _LEAST_NAME_CHARS}
    if not spelt or not others:
        return np.zeros(len(texts), np.bool_)
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(spelt)))})s?\b")
    names_of = (" ".join(_CAPITALISED.findall(text[:_NAMED_IN_CHARS])) for text in texts)
    is_named = [named.search(fold(told)) is not None for told in names_of]
    is_told = [is_so and word_shares(others, [text])[0] > 0 for is_so, text in zip(is_named, texts, strict=True)]
    return np.array(is_told, np.bool_)


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
