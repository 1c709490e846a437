"""Fits the model of whether a question is about the user's own life. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bench.training import logistic
from bench.training.fitting_worth import ASKING, CHATS, DOCUMENTS, KNOWLEDGE, LIFE, REWRITTEN, VECTOR_SCALE, Row
from sidecar.turn.fitted.weights import RankerWeights
from sidecar.turn.message.personal import PersonalModel
from sidecar.turn.message.telling_words import beginnings_and_ends
from store.text.texts import fold

FORM = ("own", "length")

_RIDGE, _WORDS_RIDGE, _LEAST_QUESTIONS, _LEAST_WEIGHT = 30.0, 4.0, 3, 0.1
_IMPERSONAL = frozenset({DOCUMENTS, REWRITTEN, KNOWLEDGE})
_OWN = frozenset({ASKING, LIFE, KNOWLEDGE})
_NAME = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-ÞА-Я]\w+")  # a capital inside a sentence


def personal_model(rows: Sequence[Row]) -> PersonalModel:
    """Return the model of the log odds that a message asks about the user's own life.

    It separates questions about conversations and the user's life from those about documents and common knowledge. Our own
    questions, in many languages, count three times.
    """
    seen = [row for row in rows if row.group in {*CHATS, ASKING, LIFE, *_IMPERSONAL} and row.form]
    words = _words([row for row in seen if row.group in _OWN])
    columns = np.hstack(
        [
            np.array([[row.form[name] for name in FORM] for row in seen], np.float32),
            np.stack([row.vector for row in seen]).astype(np.float32) * np.float32(VECTOR_SCALE),
            logistic.table_of([row.words for row in seen], words),
        ]
    )
    labels = np.array([row.group not in _IMPERSONAL for row in seen], np.float32)
    weights = np.array([3.0 if row.group in _OWN else 1.0 for row in seen], np.float32)
    ridge = np.full(columns.shape[1], _RIDGE, np.float32)
    ridge[len(ridge) - len(words) :] = _WORDS_RIDGE
    fitted = logistic.fit(columns, labels, weights, ridge).astype(np.float64)
    coefficients, vector, of_words = np.split(fitted[:-1], [len(FORM), len(ridge) - len(words)])
    return PersonalModel(
        RankerWeights(round(float(fitted[-1]), 4), dict(zip(FORM, coefficients.round(4).tolist(), strict=True))),
        (vector * VECTOR_SCALE).round(4),
        {word: one for word, one in zip(words, of_words.round(2).tolist(), strict=True) if abs(one) >= _LEAST_WEIGHT},
    )


def _words(rows: Sequence[Row]) -> list[str]:
    """Return the words that at least three of these questions share, without numbers and names, which belong to a subject."""
    of_rows = [{*map(fold, _NAME.findall(row.message))} for row in rows]
    names = set().union(*of_rows)
    counts = Counter[str]()
    for row, own in zip(rows, of_rows, strict=True):
        counts.update(row.words - {part for name in own for part in beginnings_and_ends(name)})
    return sorted(
        word
        for word, n in counts.items()
        if n >= _LEAST_QUESTIONS and names.isdisjoint(word.split()) and not word.isdigit()
    )
