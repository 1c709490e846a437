"""Judges whether a message asks about the user's own life ("When does my lease end?") or for general knowledge ("How do I boil an
egg?").

The features are the message's form, its words (see `telling_words`), and its vector, which tells most in the languages that the
embedder knows. `python -m bench calibrate --personal` fits the weights to our own questions in 28 languages
(`bench/training/personal.json`) and to questions of public data sets.
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
from sidecar.turn.fitted.weights import RankerWeights
from sidecar.turn.message.leaning import message_form
from sidecar.turn.message.reading import Reading
from sidecar.turn.message.telling_words import telling_words
from sidecar.turn.message.wording import word_shares
from store.text.texts import fold
from store.text.words import STOP_WORDS

FILES: Final = {
    MINILM: Path(__file__).with_name("personal_by_minilm.json"),
    MULTILINGUAL: Path(__file__).with_name("personal_by_multilingual.json"),
}
"""By embedder, the file of the fitted weights and their origin."""

OF_A_NAME: Final = 2.0
"""An addend to the log odds that a message asks about the user's own life, for texts that hold a name in the message and another
of its words. `personal_score` cannot know whether a name belongs to the user's life. A name alone may be a general one ("Atlas").
"""

_NAMED_IN_CHARS, _LEAST_NAME_CHARS = 1_000, 2
_CAPITALISED: Final = re.compile(r"\b(?![a-zß-öø-ÿ\d_])\w+")


class PersonalModel(NamedTuple):
    """A linear model of the log odds that a message asks about the user's own life. Its features are the message's form, the
    telling part of its vector, and its `telling_words`.
    """

    form: RankerWeights
    vector: NDArray[np.float64]
    words: Mapping[str, float]


def _read(path: Path) -> PersonalModel:
    payload = json.loads(path.read_text(encoding="utf-8"))
    return PersonalModel(RankerWeights(payload["bias"], payload["form"]), np.array(payload["vector"]), payload["words"])


_FITTED: Final = {name: _read(path) for name, path in FILES.items()}


def personal_score(reading: Reading, vector: Sequence[float], embedder: str) -> float:
    """Return the log odds that a message asks about the user's own life. Names of speakers do not count.

    `vector` is the telling part of its vector by this embedder (`vector_parts.telling_part`).
    """
    return personal_odds(_FITTED[embedder], message_form(reading), telling_words(reading), np.array(vector))


def personal_odds(
    model: PersonalModel, form: Mapping[str, float], words: frozenset[str], vector: NDArray[np.float64]
) -> float:
    """Return a model's log odds, given a message's form, its `telling_words` and the telling part of its vector."""
    by_form = model.form.bias + sum(weight * form[name] for name, weight in model.form.of.items())
    by_words = sum(model.words.get(word, 0.0) for word in sorted(words))
    return float(by_form + by_words + np.dot(model.vector, vector))


def hold_name(reading: Reading, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each text holds a name in the message (`Reading.names`) and another of its words in any form.

    Only the first 1,000 characters are searched for names. A name must be capitalised there and may have an ending "s".
    """
    names = {spelling for spellings in reading.names for spelling in spellings}
    spelt = {one.removesuffix("s") for one in names - STOP_WORDS}
    others = [word for word in reading.words if word not in names]
    spelt = {one for one in spelt if len(one) >= _LEAST_NAME_CHARS}
    if not spelt or not others:
        return np.zeros(len(texts), np.bool_)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(spelt)))})s?\b")
    names_of = (" ".join(_CAPITALISED.findall(text[:_NAMED_IN_CHARS])) for text in texts)
    is_named = [pattern.search(fold(capitalised)) is not None for capitalised in names_of]
    has_both = [is_so and word_shares(others, [text])[0] > 0 for is_so, text in zip(is_named, texts, strict=True)]
    return np.array(has_both, np.bool_)
