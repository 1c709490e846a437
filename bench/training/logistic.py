"""Fits logistic models, with up to ten thousand features, one for each word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]  # of one precision, single or double

_STEPS, _LEAST_STEP, _RELATIVE_RESIDUAL = 40, 1e-4, 1e-10


def fit(columns: Floats, labels: Floats, weights: Floats, ridge: float | Floats) -> Floats:
    """Return the coefficients of a logistic model, the bias last, by Newton's method.

    `weights` are those of the rows. `ridge` is one number, or one for each column; the bias is all but unpenalised.
    """
    table = np.column_stack([columns, np.ones(len(columns), columns.dtype)])
    penalty = np.append(np.broadcast_to(ridge, columns.shape[1]), 1e-6).astype(columns.dtype)
    fitted = np.zeros(table.shape[1], columns.dtype)
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-np.clip(table @ fitted, -35, 35)))
        gradient = table.T @ (weights * (predicted - labels)) + penalty * fitted
        step = _step(table, weights * predicted * (1 - predicted), penalty, gradient)
        fitted = fitted - step
        if np.abs(step).max() < _LEAST_STEP:
            break
    return fitted


def _step(table: Floats, weights: Floats, penalty: Floats, gradient: Floats) -> Floats:
    """Return Newton's step by preconditioned conjugate gradients: a matrix for ten thousand columns would take a gigabyte."""
    diagonal = ((table * table) * weights[:, None]).sum(axis=0) + penalty
    step, residual = np.zeros_like(gradient), gradient
    preconditioned = residual / diagonal
    direction, size = preconditioned, residual @ preconditioned
    least = size * _RELATIVE_RESIDUAL
    for _ in range(table.shape[1]):
        if size <= least:
            break
        product = table.T @ (weights * (table @ direction)) + penalty * direction
        distance = size / (direction @ product)
        step, residual = step + distance * direction, residual - distance * product
        preconditioned = residual / diagonal
        size, before = residual @ preconditioned, size
        direction = preconditioned + size / before * direction
    return step


def table_of(messages: Sequence[frozenset[str]], words: Sequence[str]) -> Floats:
    """Return a table of messages by words, in single precision: 1 where the message contains the word, else 0."""
    places = {word: place for place, word in enumerate(words)}
    table = np.zeros((len(messages), len(words)), np.float32)
    for row, own_words in enumerate(messages):
        table[row, [places[word] for word in own_words if word in places]] = 1
    return table


def of_several(messages: Sequence[Collection[str]], least: int) -> list[str]:
    """Return the words that occur in at least `least` messages, sorted and without numbers."""
    counts = Counter(word for own_words in messages for word in own_words)
    return sorted(word for word, n in counts.items() if n >= least and not word.isdigit())
