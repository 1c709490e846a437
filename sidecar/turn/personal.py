"""Judges whether a message asks about somebody's own life ("When does my lease end?"), and not what anybody may know ("How do I
boil an egg?").

By its words, by pairs of short ones, which are few in any language and tell most ("how", "did", "my", "a"), by first and last
letters, which inflection leaves or makes, and by its vector, which tells most in the languages that the embedder knows.
`python -m bench calibrate --personal` fits the weights to questions of our own in 28 languages (`bench/personal.json`), and to
those of the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.embedding.vector_parts import MINILM, MULTILINGUAL
from sidecar.turn.leaning import message_form
from sidecar.turn.reading import Reading
from sidecar.turn.telling_words import telling_words
from sidecar.turn.weights import RankerWeights
from sidecar.turn.wording import word_shares
from store.text.calendar_words import CALENDAR_WORDS
from store.text.texts import fold
from store.text.words import STOP_WORDS

FILES: Final = {
    MINILM: Path(__file__).with_name("personal_by_minilm.json"),
    MULTILINGUAL: Path(__file__).with_name("personal_by_multilingual.json"),
}
"""By embedder, the file of the fitted weights and where they come from."""

OF_A_NAME: Final = 2.0
"""What it adds to the log odds that a message asks about somebody's own life, for a text of that life which holds a name in the
message and another of its words. `personal_score` cannot know whose names they are. A name alone may be the world's ("Atlas").
"""

_NAMED_IN_CHARS, _LEAST_NAME_CHARS = 1_000, 2
_CAPITALISED: Final = re.compile(r"\b(?![a-zß-öø-ÿ\d_])\w+")


class PersonalModel(NamedTuple):
    """What tells questions about one's own life, as log odds: by the form of a message, for each dimension of the telling part of
    its vector, and for each of its `telling_words`.
    """

    form: RankerWeights
    vector: NDArray[np.float64]
    words: Mapping[str, float]


def _read(path: Path) -> PersonalModel:
    payload = json.loads(path.read_text(encoding="utf-8"))
    return PersonalModel(RankerWeights(payload["bias"], payload["form"]), np.array(payload["vector"]), payload["words"])


_FITTED: Final = {name: _read(path) for name, path in FILES.items()}


def personal_score(reading: Reading, vector: Sequence[float], embedder: str) -> float:
    """Return the log odds that a message asks about somebody's own life, given the telling part of its vector by this embedder
    (`vector_parts.telling_part`). Names of people do not count.
    """
    return personal_odds(_FITTED[embedder], message_form(reading), telling_words(reading), np.array(vector))


def personal_odds(
    model: PersonalModel, form: Mapping[str, float], words: frozenset[str], vector: NDArray[np.float64]
) -> float:
    """Return the log odds by a model, given a message's form, its `telling_words` and the telling part of its vector."""
    by_form = model.form.bias + sum(weight * form[name] for name, weight in model.form.of.items())
    by_words = sum(model.words.get(word, 0.0) for word in sorted(words))
    return float(by_form + by_words + np.dot(model.vector, vector))


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
    is_named = [named.search(fold(capitalised)) is not None for capitalised in names_of]
    is_told = [is_so and word_shares(others, [text])[0] > 0 for is_so, text in zip(is_named, texts, strict=True)]
    return np.array(is_told, np.bool_)
