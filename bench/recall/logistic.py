"""Fits logistic models, also of ten thousand words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]  # of one precision, single or double

_STEPS, _LEAST_STEP, _LEFT = 40, 1e-4, 1e-10


def fit(columns: Floats, labels: Floats, weights: Floats, ridge: float | Floats) -> Floats:
    """Return logistic coefficients by Newton's method, the bias last and unpenalised; `ridge` may differ by column."""
    table = np.column_stack([columns, np.ones(len(columns), columns.dtype)])
    penalty = np.append(np.broadcast_to(ridge, columns.shape[1]), 1e-6).astype(columns.dtype)
    fitted = np.zeros(table.shape[1], columns.dtype)
    for _ in range(_STEPS):
        told = 1 / (1 + np.exp(-np.clip(table @ fitted, -35, 35)))
        slope = table.T @ (weights * (told - labels)) + penalty * fitted
        step = _step(table, weights * told * (1 - told), penalty, slope)
        fitted = fitted - step
        if np.abs(step).max() < _LEAST_STEP:
            break
    return fitted


def _step(table: Floats, weights: Floats, penalty: Floats, slope: Floats) -> Floats:
    """Return Newton's step by conjugate gradients, since the curvature of ten thousand columns would take a gigabyte."""
    diagonal = ((table * table) * weights[:, None]).sum(axis=0) + penalty
    step, left = np.zeros_like(slope), slope
    told = left / diagonal
    way, size = told, left @ told
    least = size * _LEFT
    for _ in range(table.shape[1]):
        if size <= least:
            break
        bent = table.T @ (weights * (table @ way)) + penalty * way
        share = size / (way @ bent)
        step, left = step + share * way, left - share * bent
        told = left / diagonal
        size, before = left @ told, size
        way = told + size / before * way
    return step


def table_of(said: Sequence[frozenset[str]], words: Sequence[str]) -> Floats:
    """Return for each message and word 1 if the message has it, else 0, in single precision."""
    places = {word: place for place, word in enumerate(words)}
    table = np.zeros((len(said), len(words)), np.float32)
    for row, told in enumerate(said):
        table[row, [places[word] for word in told if word in places]] = 1
    return table


def of_several(said: Sequence[Collection[str]], least: int) -> list[str]:
    """Return in order the words of at least so many messages, but for numbers."""
    counts = Counter(word for told in said for word in told)
    return sorted(word for word, n in counts.items() if n >= least and not word.isdigit())
