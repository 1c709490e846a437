"""Fits the numbers other than the ranker's weights: the calibration of relevance by kind, and the models of whether a message
asks for something. `fitting_personal` fits the model of whether it is about the user's own life.

Pure: the input is rows of candidates for real questions, small talk and questions about other people's conversations.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bench.training import logistic
from sidecar.turn.fitted.curves import NO_LEAD, RelevanceCurve, leads
from sidecar.turn.fitted.weights import RankerWeights
from sidecar.turn.message.breadth import stretched
from sidecar.turn.ranking.holding import holdings
from sidecar.turn.ranking.worth import message_features, recall_features, worths

FOLDS = 5
TALK, STRANGER, ASKING, MEMORIES = "small talk", "stranger", "asking", "own memories"
CHATS, DOCUMENTS = ("turns with facts", "turns"), "documents"
WITH_PRONOUNS, TALKS, NOT_STORED = "with pronouns", "talks", "leaning, not stored"
LIFE, KNOWLEDGE, REWRITTEN = "about one's life", "about what anybody may know", "rewritten"
EDGES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

_RIDGE, _GATE_RIDGE = 10.0, 1.0
_HALF, _ANSWERED, _NOT_ANSWERED = 0.5, 2.0, 0.25
_LEANING_RIDGE = 30.0  # leaning separates follow-ups from remarks only in talks like those that were fitted on
_ONLY_HOLDING = frozenset({WITH_PRONOUNS, TALKS})
VECTOR_SCALE = 4.0  # brings a unit vector's dimensions near the size of standardised features
_STEPS = 40
_LEAST_KNOTS, _MOST_KNOTS, _GOLD_A_KNOT, _LEAST_GOLD = 3, 10, 25, 15
_APART, _BEND_RIDGE, _SLOPE_RIDGE = 0.3, 1.0, 0.5
_NO_MARKS = str.maketrans("", "", "?？؟¿!！¡.。")

_Matrix = NDArray[np.float64]
_MessageModel = tuple[RankerWeights, _Matrix]


@dataclass(frozen=True, slots=True)
class Row:
    """A message with its candidates: their kinds, log odds before calibration, whether they hold evidence, and sizes in tokens.

    `group` is the kind of message; `fold` names the conversation, corpus or dialog it belongs to, so that no row is tested with
    numbers fitted on its neighbours. `by_kind` holds for each kind the features of its candidates together (see
    `holding_features`), and `by_kind_of_words` the same without vectors. `name` is the set of the conversation asked, if any.

    `unmarked` is the vector of the message `without_marks`; `form` and `words` are the features of the model of personal
    messages. `blind` (0 to 1) is how little the embedder knows the language, `likeness` the greatest likeness of a memory or
    page to the message, and `leaning` (0 to 1) how far the message leans on its thread. `breadth` comes from weights fitted
    without the conversation asked (see `bench.training.breadth`).
    """

    group: str
    fold: str
    message: str
    vector: _Matrix
    kinds: Sequence[str] = ()
    odds: _Matrix = field(default_factory=lambda: np.zeros(0))
    gold: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    sizes: _Matrix = field(default_factory=lambda: np.zeros(0))
    by_kind: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    name: str = ""
    unmarked: _Matrix | None = None
    form: Mapping[str, float] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    blind: float = 0.0
    likeness: float = 0.0
    by_kind_of_words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    breadth: float = 0.0
    leaning: float = 0.0

    def of(self, kind: str) -> NDArray[np.bool_]:
        """Return which candidates are of a kind."""
        return np.asarray(np.array(self.kinds) == kind, np.bool_)


@dataclass(frozen=True, slots=True)
class Scale:
    """The conversion of log odds to relevances: for each kind a curve, and the weights of the probability that the kind holds an
    answer, with vectors and by words alone.
    """

    curves: Mapping[str, RelevanceCurve]
    holds: Mapping[str, RankerWeights]
    holds_by_words: Mapping[str, RankerWeights]


@dataclass(frozen=True, slots=True)
class Numbers:
    """All fitted numbers, as `sidecar/turn/fitted/calibration.py` holds them."""

    scale: Scale
    message: RankerWeights
    vector: tuple[float, ...]
    message_by_words: RankerWeights
    asks: RankerWeights
    asks_by_words: RankerWeights


def fit_all(rows: Sequence[Row]) -> Numbers:
    """Return the numbers fitted on all rows."""
    scale = calibrate(rows)
    message, vector = _message_model(rows, by_vector=True)
    by_words, _ = _message_model(rows, by_vector=False)
    return Numbers(
        scale,
        message,
        tuple(vector.round(4).tolist()),
        by_words,
        _gate(rows, scale, by_vector=True),
        _gate(rows, scale, by_vector=False),
    )


def calibrate(rows: Sequence[Row]) -> Scale:
    """Return the scale fitted to these rows; a kind with little evidence is left out.

    A curve is fitted to the rows in which the kind holds an answer, without messages that lean on their thread, whose evidence
    ranks lower. Its points and the weight of leads have the greatest likelihood, so the relevances of a kind sum up to its
    evidence over these rows. Pages have no scale: they repeat memories, and the data do not say which pages answer.
    """
    curves, holds, by_words = {}, {}, {}
    for kind in sorted({kind for row in rows for kind in row.kinds}):
        offered = [row for row in rows if counts(row, kind) and row.of(kind).any()]
        held = [bool(row.gold[row.of(kind)].any()) for row in offered]
        shown = [row for row, has in zip(offered, held, strict=True) if has and row.group not in _ONLY_HOLDING]
        if len(shown) < _LEAST_GOLD:
            continue
        weights = np.array([_leaning_weight(row, has_answer=has) for row, has in zip(offered, held, strict=True)])
        holds[kind] = _logistic([row.by_kind[kind] for row in offered], held, weights)
        by_words[kind] = _logistic([_without_own(row.by_kind_of_words[kind]) for row in offered], held, weights)
        odds = [stretched(row.odds[row.of(kind)], row.breadth) for row in shown]
        gold = [row.gold[row.of(kind)].astype(np.float64) for row in shown]
        ahead = np.concatenate([leads(one) for one in odds])
        curves[kind] = _curve(np.concatenate(odds), ahead, np.concatenate(gold))
    return Scale(curves, holds, by_words)


def _without_own(features: Mapping[str, float]) -> dict[str, float]:
    """Return the features without those of the message alone, whose words (such as "Why did he") match texts on any subject."""
    return {name: value for name, value in features.items() if not name.startswith("own_")}


def _leaning_weight(row: Row, *, has_answer: bool) -> float:
    """Return the weight of a row in the fit. Rows that lean on their thread are reweighted, because fewer of them have an answer
    than in real talk.
    """
    if row.leaning < _HALF:
        return 1.0
    return _ANSWERED if has_answer else _NOT_ANSWERED


def counts(row: Row, kind: str) -> bool:
    """Return whether a row's candidates of this kind are labelled; follow-ups to documents label passages only."""
    if row.group in {TALK, ASKING, LIFE, KNOWLEDGE, MEMORIES}:
        return False
    return kind == "passage" or row.group in {*CHATS, DOCUMENTS, STRANGER, WITH_PRONOUNS, TALKS, NOT_STORED}


def calibrated(scale: Scale, row: Row) -> _Matrix:
    """Return the relevances of the row's candidates, from 0 to 1."""
    odds, holds = row.odds.copy(), holdings(row.by_kind, scale.holds)
    for kind in set(row.kinds):
        own = row.of(kind)
        if kind in scale.curves:
            odds[own] = scale.curves[kind].observed(stretched(odds[own], row.breadth))
    return np.asarray(_probability(odds) * np.array([holds.get(kind, 1.0) for kind in row.kinds]))


def spent(rows: Sequence[Row], scale: Scale, least_worth: float) -> tuple[float, float]:
    """Return the mean tokens recalled per row at this least worth, and the share kept of the candidates with evidence."""
    kept = [_worth(scale, row) >= least_worth for row in rows]
    tokens = sum(float(row.sizes[one].sum()) for one, row in zip(kept, rows, strict=True))
    found = sum(int(row.gold[one].sum()) for one, row in zip(kept, rows, strict=True))
    return tokens / max(1, len(rows)), found / max(1, sum(int(row.gold.sum()) for row in rows))


def _worth(scale: Scale, row: Row) -> _Matrix:
    """Return the worth of a row's candidates, as the product counts it."""
    holds = holdings(row.by_kind, scale.holds)
    texts = ["x" * round(4 * size) for size in row.sizes.tolist()]
    return np.array(worths(calibrated(scale, row).tolist(), texts, [holds.get(kind, 1.0) for kind in row.kinds]))


def bins(rows: Sequence[Row], relevances: Sequence[_Matrix], kind: str) -> list[tuple[float, float, float]]:
    """Return for each bin of relevance its upper edge, and the expected and observed candidates with evidence of a kind."""
    rows_of_bins, lower = [], 0.0
    expected = np.concatenate([one[row.of(kind)] for one, row in zip(relevances, rows, strict=True)])
    observed = np.concatenate([row.gold[row.of(kind)] for row in rows])
    for upper in EDGES:
        own = (expected > lower) & (expected <= upper)
        rows_of_bins.append((upper, float(expected[own].sum()), float(observed[own].sum())))
        lower = upper
    return rows_of_bins


def passing(rows: Sequence[Row], least_asking: float) -> dict[str, float]:
    """Return for each group the share of messages judged to ask for something, by numbers fitted without their folds."""
    names = sorted({row.fold for row in rows})
    random.Random(3).shuffle(names)
    judged: dict[str, list[bool]] = {}
    for number in range(FOLDS):
        held = set(names[number::FOLDS])
        shown = [row for row in rows if row.fold not in held]
        fitted = fit_all(shown)
        for row in rows:
            if row.fold in held and row.kinds:
                models = (fitted.message, np.array(fitted.vector)), (fitted.message_by_words, np.zeros(len(row.vector)))
                features = _recalled(fitted.scale, row) | {"message": _message_odds(row, *models)}
                chance = 1 / (1 + np.exp(-fitted.asks.log_odds(features)))
                judged.setdefault(row.group, []).append(bool(chance >= least_asking))
    return {group: sum(outcomes) / len(outcomes) for group, outcomes in judged.items()}


def _curve(odds: _Matrix, ahead: _Matrix, gold: _Matrix) -> RelevanceCurve:
    """Return one kind's curve, with as many points as its evidence allows and equal evidence between them."""
    count = int(max(_LEAST_KNOTS, min(_MOST_KNOTS, gold.sum() // _GOLD_A_KNOT)))
    knots = np.quantile(odds[gold > 0], np.linspace(0.02, 0.98, count))
    lowest = np.quantile(odds, 0.02)
    knots = np.unique(np.concatenate([[lowest], knots[knots > lowest + _APART]]).round(4))
    knots = knots[np.concatenate([[True], np.diff(knots) > _APART])]
    fitted = _fit_curve(odds, ahead, gold, knots)
    if fitted[-1] < 0:  # a curve keeps the order of candidates
        fitted = _fit_curve(odds, np.zeros(len(odds)), gold, knots)
    observed = _rising(fitted[:-1]).round(4).tolist()
    return RelevanceCurve(tuple(zip(knots.tolist(), observed, strict=True)), round(float(fitted[-1]), 4))


def _fit_curve(odds: _Matrix, ahead: _Matrix, gold: _Matrix, knots: _Matrix) -> _Matrix:
    """Return the observed log odds at these knots, and last the weight of leads, by Newton's method.

    Changes of slope are penalised, and lightly slopes other than 1: otherwise a curve would diverge where no evidence was found.
    """
    inside = np.clip(odds, knots[0], knots[-1])
    upper = np.clip(np.searchsorted(knots, inside, side="right"), 1, len(knots) - 1)
    share = (inside - knots[upper - 1]) / (knots[upper] - knots[upper - 1])
    table = np.zeros((len(odds), len(knots) + 1))
    table[np.arange(len(odds)), upper - 1], table[np.arange(len(odds)), upper] = 1 - share, share
    table[:, -1] = ahead
    slopes = np.diff(np.eye(len(knots)), axis=0) / np.diff(knots)[:, None]
    bends = np.diff(slopes, axis=0)
    penalty, target = 1e-6 * np.eye(len(knots) + 1), np.zeros(len(knots) + 1)
    penalty[:-1, :-1] += _BEND_RIDGE * bends.T @ bends + _SLOPE_RIDGE * slopes.T @ slopes
    target[:-1] = _SLOPE_RIDGE * slopes.sum(axis=0)
    fitted = np.append(knots + np.log(gold.sum() / _probability(odds).sum()), NO_LEAD)
    for _ in range(_STEPS):
        predicted = _probability(table @ fitted + odds - inside)
        gradient = table.T @ (predicted - gold) + penalty @ fitted - target
        curvature = (table * (predicted * (1 - predicted))[:, None]).T @ table + penalty
        step = np.clip(np.linalg.solve(curvature, gradient), -1.0, 1.0)
        fitted = fitted - step
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(fitted)


def _rising(observed: _Matrix) -> _Matrix:
    """Return the values made to rise, by pooling adjacent violators: neighbours that fall are replaced by their mean."""
    merged: list[list[float]] = []
    for one in observed.tolist():
        merged.append([one])
        while len(merged) > 1 and np.mean(merged[-1]) < np.mean(merged[-2]):
            merged[-2:] = [merged[-2] + merged[-1]]
    return np.concatenate([[np.mean(one)] * len(one) for one in merged])


def _probability(odds: _Matrix) -> _Matrix:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -35, 35))))


def without_marks(message: str) -> str:
    """Return a message without punctuation marks and capitals, as people type it in haste."""
    return message.translate(_NO_MARKS).strip().lower()


def _message_model(rows: Sequence[Row], *, by_vector: bool) -> _MessageModel:
    """Return the model of the log odds that a message asks for something: the weights of its form, and of its vector.

    With vectors, each message also counts without its marks, so that a question is recognised without a question mark.
    """
    rows = [row for row in rows if row.group not in {KNOWLEDGE, NOT_STORED}]
    if by_vector:
        rows = [*rows, *(replace(row, message=text, vector=vector) for row in rows for text, vector in _unmarked(row))]
    table, names = _forms(rows)
    middle, spread = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-9)
    vectors = np.stack([row.vector for row in rows]) * VECTOR_SCALE
    columns = np.column_stack([(table - middle) / spread, *([vectors] if by_vector else [])])
    labels = np.array([row.group != TALK for row in rows], np.float64)
    fitted = logistic.fit(columns, labels, _balance([row.group for row in rows]), _RIDGE)
    coefficients = fitted[: len(names)] / spread
    bias = float(fitted[-1] - (coefficients * middle).sum())
    weights = RankerWeights(round(bias, 4), dict(zip(names, coefficients.round(4).tolist(), strict=True)))
    return weights, fitted[len(names) : -1] * VECTOR_SCALE if by_vector else np.zeros(vectors.shape[1])


def _unmarked(row: Row) -> Iterator[tuple[str, _Matrix]]:
    """Yield the row's message without its marks, if it has any, and its vector."""
    text = without_marks(row.message)
    if row.unmarked is not None and text not in {"", row.message}:
        yield text, row.unmarked


def _forms(rows: Sequence[Row]) -> tuple[_Matrix, list[str]]:
    forms = [message_features(row.message) for row in rows]
    names = list(forms[0])
    return np.array([[one[name] for name in names] for one in forms]), names


def _balance(groups: Sequence[str]) -> _Matrix:
    """Return weights that give small talk 0.7 times the total weight of the real questions, and our own questions half of it."""
    kinds = np.array(groups)
    talk, asking = kinds == TALK, np.isin(kinds, [ASKING, LIFE, MEMORIES])
    real = ~talk & ~asking
    weights = np.ones(len(kinds))
    weights[talk] = 0.7 * real.sum() / max(1, talk.sum())
    weights[asking] = 0.5 * real.sum() / max(1, asking.sum())
    return weights


def _gate(rows: Sequence[Row], scale: Scale, *, by_vector: bool) -> RankerWeights:
    """Return the weights of the probability that a message asks for something, with its score by models fitted without it."""
    fitted_on = [row for row in rows if row.kinds and row.group not in {STRANGER, ASKING, LIFE, KNOWLEDGE, NOT_STORED}]
    if not by_vector:
        fitted_on = [replace(row, blind=1.0, likeness=_share_held(row) / 2) for row in fitted_on]
    scores: dict[int, float] = {}
    for number in range(FOLDS):
        shown = [row for row in rows if _fold_of(row.message) != number]
        models = _message_model(shown, by_vector=True), _message_model(shown, by_vector=False)
        scores |= {id(row): _message_odds(row, *models) for row in fitted_on if _fold_of(row.message) == number}
    table = [_recalled(scale, row) | {"message": scores[id(row)]} for row in fitted_on]
    ridge = np.array([_LEANING_RIDGE if name.startswith("leaning") else _GATE_RIDGE for name in table[0]])
    asks = np.array([row.group != TALK for row in fitted_on])
    weights = np.where(asks, 1.0, asks.sum() / max(1, (~asks).sum()))  # small talk counts as much as all other messages
    return _logistic(table, asks.tolist(), weights, ridge)


def _share_held(row: Row) -> float:
    return max((features["coverage"] for kind, features in row.by_kind_of_words.items() if kind != "turn"), default=0.0)


def _recalled(scale: Scale, row: Row) -> dict[str, float]:
    return recall_features(calibrated(scale, row).tolist(), row.likeness, row.leaning)


def _message_odds(row: Row, with_vector: _MessageModel, by_words: _MessageModel) -> float:
    """Return the log odds that a message asks for something, from the message alone, as the product computes them."""
    form = message_features(row.message)
    of_vector, of_words = (
        weights.log_odds(form) + float(vector @ row.vector) for weights, vector in (with_vector, by_words)
    )
    return (1 - row.blind) * of_vector + row.blind * of_words


def _logistic(
    table: Sequence[Mapping[str, float]], labels: Sequence[bool], weights: _Matrix, ridge: float | _Matrix = _GATE_RIDGE
) -> RankerWeights:
    """Return a logistic model of named features, with a weight for each row."""
    names, targets = list(table[0]), np.array(labels, np.float64)
    columns = np.array([[one[name] for name in names] for one in table])
    middle, spread = columns.mean(axis=0), np.maximum(columns.std(axis=0), 1e-9)
    fitted = logistic.fit((columns - middle) / spread, targets, weights, ridge)
    coefficients = fitted[:-1] / spread
    return RankerWeights(
        round(float(fitted[-1] - (coefficients * middle).sum()), 4),
        dict(zip(names, coefficients.round(4).tolist(), strict=True)),
    )


def _fold_of(message: str) -> int:
    return random.Random(message).randrange(FOLDS)
