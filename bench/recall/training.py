"""Fits the ranker's weights: ridge logistic regression by Newton's method, on features that the product itself computes.

A fold consists of whole conversations and corpora, so that no question is tested with weights that were trained on its
neighbours. Only weights and their provenance are written, and no text, id or question of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.fitted.weights import BY_VECTORS, BY_WORDS, RankerWeights
from sidecar.turn.ranking.rank import NAMES, PATH_NAMES

RIDGE = 100.0
_TITLE = '''"""The ranker's weights and their origin. Written by training, read by `rank`; do not edit by hand.

'''
WITHOUT_VECTORS = frozenset({"cosine", "cosine_gap", "near_cosine", "local_cosine", "answer_cosine"})

_Matrix = NDArray[np.float64]
_STEPS, _ENOUGH = 30, 1e-3
_MOST_SHIFT = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One question with one pool of candidates: a row of features for each candidate, and labels of which hold evidence.

    `folds` are the conversations and corpora that it draws on; training leaves it out if one of them is quarantined.
    """

    features: _Matrix
    labels: _Matrix
    folds: frozenset[str]


def train(
    samples: Sequence[Sample], *, quarantined: frozenset[str] = frozenset(), is_blind: bool = False
) -> RankerWeights:
    """Return the weights fitted to the samples that draw on nothing in `quarantined`.

    `is_blind` leaves out the features made of vectors. The weights of typed edges stay as shipped, since no sample has edges.
    """
    seen = [sample for sample in samples if not sample.folds & quarantined]
    unused = {*PATH_NAMES, *(WITHOUT_VECTORS if is_blind else ())}
    used = [place for place, name in enumerate(NAMES) if name not in unused]
    table = np.concatenate([sample.features[:, used] for sample in seen])
    labels = np.concatenate([sample.labels for sample in seen])
    means, deviations = table.mean(axis=0), table.std(axis=0) + 1e-9
    fitted = _fit(np.column_stack([(table - means) / deviations, np.ones(len(table))]), labels)
    coefficients = fitted[:-1] / deviations
    weights = {
        NAMES[place]: round(float(coefficient), 4) for place, coefficient in zip(used, coefficients, strict=True)
    }
    shipped = (BY_WORDS if is_blind else BY_VECTORS).of
    weights |= {name: shipped[name] for name in PATH_NAMES}
    return RankerWeights(round(float(fitted[-1] - coefficients @ means), 4), weights)


def with_pages(
    weights: RankerWeights, pages: Sequence[Sample], *, quarantined: frozenset[str] = frozenset()
) -> RankerWeights:
    """Return the weights with one for pages: that of passages, shifted so that the mean relevance over these samples equals the
    share of pages with evidence.

    Every row of these samples is a page; its label says whether the page adds evidence to the rest of the context. Without
    samples, the weight keeps the distance that it has from that of passages in the shipped weights.
    """
    seen = [sample for sample in pages if not sample.folds & quarantined]
    shipped = BY_VECTORS if weights.of.keys() >= WITHOUT_VECTORS else BY_WORDS
    shift = shipped.of["is_page"] - shipped.of["is_passage"]
    if seen:
        table, labels = np.concatenate([one.features for one in seen]), np.concatenate([one.labels for one in seen])
        coefficients = np.array([weights.of.get(name, 0.0) for name in NAMES])
        coefficients[NAMES.index("is_page")] = weights.of["is_passage"]
        shift = _shift(table @ coefficients + weights.bias, float(labels.sum()))
    return RankerWeights(weights.bias, {**weights.of, "is_page": round(weights.of["is_passage"] + shift, 4)})


def _shift(logits: _Matrix, wanted: float) -> float:
    """Return the shift of the log odds at which their probabilities sum to `wanted`, by bisection."""
    low, high = -_MOST_SHIFT, _MOST_SHIFT
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability(logits + middle).sum() < wanted else (low, middle)
    return (low + high) / 2


def write(path: Path, by_vectors: RankerWeights, by_words: RankerWeights, *, provenance: str) -> None:
    """Write these weights and their provenance into the module of weights, and leave the other weights in it as they are."""
    _, *rest = path.read_text().split('"""\n')
    text = '"""\n'.join((_TITLE + provenance + "\n", *rest))
    for name, weights in (("BY_VECTORS", by_vectors), ("BY_WORDS", by_words)):
        start = text.index(f"{name}: Final = ")
        end = text.index("\n)\n", start) + len("\n)\n")
        text = text[:start] + f"{name}: Final = {_table(weights)}\n" + text[end:]
    path.write_text(text)


def fit_weighted(
    rows: Sequence[Mapping[str, float]], labels: Sequence[bool], weights: Sequence[float], *, ridge: float
) -> RankerWeights:
    """Return a logistic model of named features, with a weight for each row and a ridge on the standardised features."""
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    targets, counts = np.array(labels, np.float64), np.array(weights)
    middle, spread = np.average(table, axis=0, weights=counts), table.std(axis=0) + 1e-9
    columns = np.column_stack([(table - middle) / spread, np.ones(len(rows))])
    penalty = np.full(columns.shape[1], ridge)
    penalty[-1] = 1e-6
    fitted = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        predicted = _probability(np.clip(columns @ fitted, -35, 35))
        gradient = columns.T @ (counts * (predicted - targets)) + penalty * fitted
        curvature = (columns * (counts * predicted * (1 - predicted))[:, None]).T @ columns + np.diag(penalty)
        fitted = fitted - np.linalg.solve(curvature, gradient)
    coefficients = fitted[:-1] / spread
    bias = round(float(fitted[-1] - (coefficients * middle).sum()), 4)
    return RankerWeights(bias, dict(zip(names, coefficients.round(4).tolist(), strict=True)))


def put_weights(path: Path, named: Mapping[str, RankerWeights], *, provenance: str) -> None:
    """Replace these weights in the module of weights, and the provenance in the docstring below the first of them."""
    text = path.read_text()
    for name, weights in named.items():
        start = text.index(f"{name}: Final = ")
        end = text.index("\n)\n", start) + len("\n)\n")
        text = text[:start] + f"{name}: Final = {_table(weights)}\n" + text[end:]
    first = text.index(f"{next(iter(named))}: Final = ")
    start = text.index('"""', text.index("\n)\n", first))
    end = text.index('"""', start + 3)
    headline = text[start:end].split("\n", 1)[0]
    path.write_text(f"{text[:start]}{headline}\n\n{provenance}\n{text[end:]}")


def _fit(table: _Matrix, labels: _Matrix) -> _Matrix:
    """Return the coefficients, the unpenalised bias last, by Newton's method; a step is halved until the loss falls."""
    share = labels.mean()
    fitted = np.zeros(table.shape[1])
    fitted[-1] = np.log(share / (1 - share))
    penalty = np.full(table.shape[1], RIDGE)
    penalty[-1] = 0
    loss = _loss(table, labels, fitted, penalty)
    for _ in range(_STEPS):
        predicted = _probability(table @ fitted)
        gradient = table.T @ (predicted - labels) + penalty * fitted
        curvature = (table * (predicted * (1 - predicted))[:, None]).T @ table + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > _ENOUGH and _loss(table, labels, fitted - size * step, penalty) >= loss:
            size /= 2
        fitted = fitted - size * step
        before, loss = loss, _loss(table, labels, fitted, penalty)
        if before - loss < _ENOUGH:
            break
    return fitted


def _loss(table: _Matrix, labels: _Matrix, fitted: _Matrix, penalty: _Matrix) -> float:
    scores = table @ fitted
    return float((np.logaddexp(0, scores) - labels * scores).sum() + (penalty * fitted * fitted).sum() / 2)


def _probability(scores: _Matrix) -> _Matrix:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -35, 35))), np.float64)


def _table(weights: RankerWeights) -> str:
    ordered = sorted(weights.of, key=lambda name: NAMES.index(name) if name in NAMES else len(NAMES))
    rows = "".join(f'        "{name}": {weights.of[name]},\n' for name in ordered)
    return f"RankerWeights(\n    bias={weights.bias},\n    of={{\n{rows}    }},\n)"
