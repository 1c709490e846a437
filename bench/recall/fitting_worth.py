"""Fits the numbers beside the ranker's weights: the calibration of relevance by kind, and whether a message asks for anything.

Pure, on rows of what recall brought for real questions, small talk and questions about other people's conversations.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from bench.recall import logistic
from sidecar.turn.breadth import stretched
from sidecar.turn.curves import NO_LEAD, RelevanceCurve, leads
from sidecar.turn.holding import holdings
from sidecar.turn.personal import PersonalModel
from sidecar.turn.telling_words import beginnings_and_ends
from sidecar.turn.weights import RankerWeights
from sidecar.turn.worth import message_features, recall_features, worths
from store.text.texts import fold

FOLDS = 5
TALK, STRANGER, ASKING, MEMORIES = "small talk", "stranger", "asking", "own memories"
CHATS, DOCUMENTS = ("turns with facts", "turns"), "documents"
LIFE, KNOWLEDGE, REWRITTEN = "about one's life", "about what anybody may know", "rewritten"
PERSONAL_FORM = ("own", "length")
EDGES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

_RIDGE, _GATE_RIDGE = 10.0, 1.0
_LEANING_RIDGE = 30.0  # leaning tells follow-ups from remarks only as far as the talks fitted on are like others
_PERSONAL_RIDGE, _WORDS_RIDGE, _LEAST_QUESTIONS, _LEAST_WEIGHT = 30.0, 4.0, 3, 0.1
_IMPERSONAL = frozenset({DOCUMENTS, REWRITTEN, KNOWLEDGE})
_OWN = frozenset({ASKING, LIFE, KNOWLEDGE})
_VECTOR_SCALE = 4.0  # brings a unit vector's dimensions near the size of standardised features
_STEPS = 40
_LEAST_KNOTS, _MOST_KNOTS, _GOLD_A_KNOT, _LEAST_GOLD = 3, 10, 25, 15
_APART, _BEND_RIDGE, _SLOPE_RIDGE = 0.3, 1.0, 0.5
_LINE = 124
_NAME = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-ÞА-Я]\w+")  # a capital inside a sentence
_NO_MARKS = str.maketrans("", "", "?？؟¿!！¡.。")

_Matrix = NDArray[np.float64]
_MessageModel = tuple[RankerWeights, _Matrix]


@dataclass(frozen=True, slots=True)
class Row:
    """What recall brought for one message: the candidates' kinds, log odds before calibration, which hold evidence, and sizes.

    `group` names the kind of message, `fold` what it belongs to, so that nothing is tested on its own neighbours. `told` is for
    each kind what its candidates tell together (see `holding_features`). Sizes are in tokens.
    `name` is the set of the conversation asked, if any. `unmarked` is the vector of the message `without_marks`, `form` and
    `words` are what tells whether it is personal. `blind` is how little the embedder knows its language, `likeness` how like it
    the memory or page most like it is, and `told_by_words` what `told` is without vectors. `breadth` is the message's, fitted
    without the conversation asked (see `fitting_breadth`), `leaning` how far it leans on its thread.
    """

    group: str
    fold: str
    message: str
    vector: _Matrix
    kinds: Sequence[str] = ()
    odds: _Matrix = field(default_factory=lambda: np.zeros(0))
    gold: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    sizes: _Matrix = field(default_factory=lambda: np.zeros(0))
    told: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    name: str = ""
    unmarked: _Matrix | None = None
    form: Mapping[str, float] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    blind: float = 0.0
    likeness: float = 0.0
    told_by_words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    breadth: float = 0.0
    leaning: float = 0.0

    def of(self, kind: str) -> NDArray[np.bool_]:
        """Return which candidates are of a kind."""
        return np.asarray(np.array(self.kinds) == kind, np.bool_)


@dataclass(frozen=True, slots=True)
class Scale:
    """What makes relevances of log odds: by kind, a curve, and the weights of whether the kind holds an answer, with vectors and
    by words alone.
    """

    curves: Mapping[str, RelevanceCurve]
    holds: Mapping[str, RankerWeights]
    holds_by_words: Mapping[str, RankerWeights]


@dataclass(frozen=True, slots=True)
class Numbers:
    """All fitted numbers, as `sidecar/turn/calibration.py` holds them."""

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
    """Return each kind's curve, and its weights of holding an answer; a kind with little evidence is left out.

    A curve is fitted where the kind holds an answer. Its points and the weight of leads are those of the greatest likelihood, so
    that over these rows the relevances of a kind sum up to its evidence. Pages repeat memories, and it is not known which answer:
    they have neither.
    """
    curves, holds, by_words = {}, {}, {}
    for kind in sorted({kind for row in rows for kind in row.kinds}):
        asked = [row for row in rows if counts(row, kind) and row.of(kind).any()]
        held = [bool(row.gold[row.of(kind)].any()) for row in asked]
        if sum(held) < _LEAST_GOLD:
            continue
        holds[kind] = _logistic([row.told[kind] for row in asked], held)
        by_words[kind] = _logistic([row.told_by_words[kind] for row in asked], held)
        shown = [row for row, has in zip(asked, held, strict=True) if has]
        odds = [stretched(row.odds[row.of(kind)], row.breadth) for row in shown]
        gold = [row.gold[row.of(kind)].astype(np.float64) for row in shown]
        ahead = np.concatenate([leads(one) for one in odds])
        curves[kind] = _curve(np.concatenate(odds), ahead, np.concatenate(gold))
    return Scale(curves, holds, by_words)


def counts(row: Row, kind: str) -> bool:
    """Return whether a row tells about a kind: of the dialogs with follow-ups it is known only which passages answer."""
    if row.group in {TALK, ASKING, LIFE, KNOWLEDGE, MEMORIES}:
        return False
    return kind == "passage" or row.group in {*CHATS, DOCUMENTS, STRANGER}


def calibrated(scale: Scale, row: Row) -> _Matrix:
    """Return the row's relevances."""
    odds, holds = row.odds.copy(), holdings(row.told, scale.holds)
    for kind in set(row.kinds):
        own = row.of(kind)
        if kind in scale.curves:
            odds[own] = scale.curves[kind].observed(stretched(odds[own], row.breadth))
    return np.asarray(_probability(odds) * np.array([holds.get(kind, 1.0) for kind in row.kinds]))


def spent(rows: Sequence[Row], scale: Scale, least_worth: float) -> tuple[float, float]:
    """Return the tokens recalled a row at this floor of worth, and the share of the candidates with evidence among them."""
    kept = [_worth(scale, row) >= least_worth for row in rows]
    tokens = sum(float(row.sizes[one].sum()) for one, row in zip(kept, rows, strict=True))
    found = sum(int(row.gold[one].sum()) for one, row in zip(kept, rows, strict=True))
    return tokens / max(1, len(rows)), found / max(1, sum(int(row.gold.sum()) for row in rows))


def _worth(scale: Scale, row: Row) -> _Matrix:
    """Return the worth of a row's candidates, as the product counts it."""
    holds = holdings(row.told, scale.holds)
    texts = ["x" * round(4 * size) for size in row.sizes.tolist()]
    return np.array(worths(calibrated(scale, row).tolist(), texts, [holds.get(kind, 1.0) for kind in row.kinds]))


def bins(rows: Sequence[Row], relevances: Sequence[_Matrix], kind: str) -> list[tuple[float, float, float]]:
    """Return for each bin of relevance its upper edge, the expected evidence of a kind in it, and the observed."""
    told, low = [], 0.0
    expected = np.concatenate([one[row.of(kind)] for one, row in zip(relevances, rows, strict=True)])
    observed = np.concatenate([row.gold[row.of(kind)] for row in rows])
    for high in EDGES:
        own = (expected > low) & (expected <= high)
        told.append((high, float(expected[own].sum()), float(observed[own].sum())))
        low = high
    return told


def passing(rows: Sequence[Row], least_asking: float) -> dict[str, float]:
    """Return for each group the share of messages that are taken to ask for something, by numbers fitted without their fold."""
    names = sorted({row.fold for row in rows})
    random.Random(3).shuffle(names)
    passed: dict[str, list[bool]] = {}
    for number in range(FOLDS):
        held = set(names[number::FOLDS])
        shown = [row for row in rows if row.fold not in held]
        fitted = fit_all(shown)
        for row in rows:
            if row.fold in held and row.kinds:
                models = (fitted.message, np.array(fitted.vector)), (fitted.message_by_words, np.zeros(len(row.vector)))
                features = _recalled(fitted.scale, row) | {"message": _message_odds(row, *models)}
                chance = 1 / (1 + np.exp(-_score(fitted.asks, features)))
                passed.setdefault(row.group, []).append(bool(chance >= least_asking))
    return {group: sum(told) / len(told) for group, told in passed.items()}


def write_personal(path: Path, model: PersonalModel, *, provenance: str) -> None:
    """Write the file of what tells questions about one's own life, with where it comes from."""
    told = {"provenance": provenance, "bias": model.form.bias, "form": model.form.of}
    told |= {"vector": model.vector.tolist(), "words": dict(model.words)}
    path.write_text(json.dumps(told, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def write(path: Path, numbers: Numbers, *, provenance: str) -> None:
    """Write the module of fitted numbers, with where they come from in its docstring."""
    curves = "".join(f'    "{kind}": {_written(curve)},\n' for kind, curve in numbers.scale.curves.items())
    path.write_text(
        _MODULE.format(
            provenance=provenance,
            curves=curves,
            message=_table(numbers.message),
            vector=filled(map(str, numbers.vector)),
            by_words=_table(numbers.message_by_words),
            asks=_table(numbers.asks),
            asks_by_words=_table(numbers.asks_by_words),
            holds=_tables(numbers.scale.holds),
            holds_by_words=_tables(numbers.scale.holds_by_words),
        )
    )


def filled(entries: Iterable[str]) -> str:
    """Return the entries in lines, of which a wide sign takes two places."""
    lines = [""]
    for entry in entries:
        longer = f"{lines[-1]} {entry},"
        if sum(2 if east_asian_width(sign) in "WF" else 1 for sign in longer) > _LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {entry},".lstrip()
    return "\n    ".join(lines)


def _curve(odds: _Matrix, ahead: _Matrix, gold: _Matrix) -> RelevanceCurve:
    """Return one kind's curve, of as many points as the evidence bears, with equal evidence between them."""
    count = int(max(_LEAST_KNOTS, min(_MOST_KNOTS, gold.sum() // _GOLD_A_KNOT)))
    given = np.quantile(odds[gold > 0], np.linspace(0.02, 0.98, count))
    lowest = np.quantile(odds, 0.02)
    given = np.unique(np.concatenate([[lowest], given[given > lowest + _APART]]).round(4))
    given = given[np.concatenate([[True], np.diff(given) > _APART])]
    fitted = _likeliest(odds, ahead, gold, given)
    if fitted[-1] < 0:  # a curve keeps the order of candidates
        fitted = _likeliest(odds, np.zeros(len(odds)), gold, given)
    observed = _rising(fitted[:-1]).round(4).tolist()
    return RelevanceCurve(tuple(zip(given.tolist(), observed, strict=True)), round(float(fitted[-1]), 4))


def _likeliest(odds: _Matrix, ahead: _Matrix, gold: _Matrix, given: _Matrix) -> _Matrix:
    """Return the observed log odds at the given ones, then the weight of leads, by Newton's method.

    Bends are penalised, and slopes other than 1 a little: where nothing was found, a curve would fall without end.
    """
    inside = np.clip(odds, given[0], given[-1])
    upper = np.clip(np.searchsorted(given, inside, side="right"), 1, len(given) - 1)
    share = (inside - given[upper - 1]) / (given[upper] - given[upper - 1])
    table = np.zeros((len(odds), len(given) + 1))
    table[np.arange(len(odds)), upper - 1], table[np.arange(len(odds)), upper] = 1 - share, share
    table[:, -1] = ahead
    slopes = np.diff(np.eye(len(given)), axis=0) / np.diff(given)[:, None]
    bends = np.diff(slopes, axis=0)
    penalty, wanted = 1e-6 * np.eye(len(given) + 1), np.zeros(len(given) + 1)
    penalty[:-1, :-1] += _BEND_RIDGE * bends.T @ bends + _SLOPE_RIDGE * slopes.T @ slopes
    wanted[:-1] = _SLOPE_RIDGE * slopes.sum(axis=0)
    fitted = np.append(given + np.log(gold.sum() / _probability(odds).sum()), NO_LEAD)
    for _ in range(_STEPS):
        told = _probability(table @ fitted + odds - inside)
        slope = table.T @ (told - gold) + penalty @ fitted - wanted
        curvature = (table * (told * (1 - told))[:, None]).T @ table + penalty
        step = np.clip(np.linalg.solve(curvature, slope), -1.0, 1.0)
        fitted = fitted - step
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(fitted)


def _rising(observed: _Matrix) -> _Matrix:
    """Return the values made to rise, by pooling neighbours that fall."""
    merged: list[list[float]] = []
    for one in observed.tolist():
        merged.append([one])
        while len(merged) > 1 and np.mean(merged[-1]) < np.mean(merged[-2]):
            merged[-2:] = [merged[-2] + merged[-1]]
    return np.concatenate([[np.mean(one)] * len(one) for one in merged])


def _probability(odds: _Matrix) -> _Matrix:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -35, 35))))


def without_marks(message: str) -> str:
    """Return a message as people type it in haste: without marks and capitals."""
    return message.translate(_NO_MARKS).strip().lower()


def _message_model(rows: Sequence[Row], *, by_vector: bool) -> _MessageModel:
    """Return the weights of a message's form, and of its vector; small talk against all that asks for something.

    With vectors each message is also shown without its marks, so that a question need not have one to be known.
    """
    rows = [row for row in rows if row.group != KNOWLEDGE]
    if by_vector:
        rows = [*rows, *(replace(row, message=text, vector=vector) for row in rows for text, vector in _unmarked(row))]
    table, names = _forms(rows)
    middle, spread = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-9)
    vectors = np.stack([row.vector for row in rows]) * _VECTOR_SCALE
    columns = np.column_stack([(table - middle) / spread, *([vectors] if by_vector else [])])
    labels = np.array([row.group != TALK for row in rows], np.float64)
    fitted = logistic.fit(columns, labels, _balance([row.group for row in rows]), _RIDGE)
    of = fitted[: len(names)] / spread
    bias = float(fitted[-1] - (of * middle).sum())
    weights = RankerWeights(round(bias, 4), dict(zip(names, of.round(4).tolist(), strict=True)))
    return weights, fitted[len(names) : -1] * _VECTOR_SCALE if by_vector else np.zeros(vectors.shape[1])


def personal_model(rows: Sequence[Row]) -> PersonalModel:
    """Return what tells whether a message asks about somebody's own life: questions about conversations, and of one's own,
    against those about documents and what anybody may know. Those in many languages count three times.
    """
    seen = [row for row in rows if row.group in {*CHATS, ASKING, LIFE, *_IMPERSONAL} and row.form]
    words = _words([row for row in seen if row.group in _OWN])
    columns = np.hstack(
        [
            np.array([[row.form[name] for name in PERSONAL_FORM] for row in seen], np.float32),
            np.stack([row.vector for row in seen]).astype(np.float32) * np.float32(_VECTOR_SCALE),
            logistic.table_of([row.words for row in seen], words),
        ]
    )
    labels = np.array([row.group not in _IMPERSONAL for row in seen], np.float32)
    weights = np.array([3.0 if row.group in _OWN else 1.0 for row in seen], np.float32)
    ridge = np.full(columns.shape[1], _PERSONAL_RIDGE, np.float32)
    ridge[len(ridge) - len(words) :] = _WORDS_RIDGE
    fitted = logistic.fit(columns, labels, weights, ridge).astype(np.float64)
    of, vector, of_words = np.split(fitted[:-1], [len(PERSONAL_FORM), len(ridge) - len(words)])
    return PersonalModel(
        RankerWeights(round(float(fitted[-1]), 4), dict(zip(PERSONAL_FORM, of.round(4).tolist(), strict=True))),
        (vector * _VECTOR_SCALE).round(4),
        {word: one for word, one in zip(words, of_words.round(2).tolist(), strict=True) if abs(one) >= _LEAST_WEIGHT},
    )


def _words(rows: Sequence[Row]) -> list[str]:
    """Return the words of several of these questions, but for numbers and names, whose weights would be of a subject."""
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


def _unmarked(row: Row) -> Iterator[tuple[str, _Matrix]]:
    """Yield the row's message without its marks, if it has any, and its vector."""
    text = without_marks(row.message)
    if row.unmarked is not None and text not in {"", row.message}:
        yield text, row.unmarked


def _forms(rows: Sequence[Row]) -> tuple[_Matrix, list[str]]:
    told = [message_features(row.message) for row in rows]
    names = list(told[0])
    return np.array([[one[name] for name in names] for one in told]), names


def _balance(groups: Sequence[str]) -> _Matrix:
    """Return weights with which small talk counts as much as all else, and our own questions in many languages a fifth of it."""
    kinds = np.array(groups)
    talk, asking = kinds == TALK, np.isin(kinds, [ASKING, LIFE, MEMORIES])
    real = ~talk & ~asking
    weights = np.ones(len(kinds))
    weights[talk] = 0.7 * real.sum() / max(1, talk.sum())
    weights[asking] = 0.5 * real.sum() / max(1, asking.sum())
    return weights


def _gate(rows: Sequence[Row], scale: Scale, *, by_vector: bool) -> RankerWeights:
    """Return the weights of whether a message asks for something, on scores by models fitted without the message."""
    asked = [row for row in rows if row.kinds and row.group not in {STRANGER, ASKING, LIFE, KNOWLEDGE}]
    if not by_vector:
        asked = [replace(row, blind=1.0, likeness=_share_held(row) / 2) for row in asked]
    scores: dict[int, float] = {}
    for number in range(FOLDS):
        shown = [row for row in rows if _fold_of(row.message) != number]
        models = _message_model(shown, by_vector=True), _message_model(shown, by_vector=False)
        scores |= {id(row): _message_odds(row, *models) for row in asked if _fold_of(row.message) == number}
    table = [_recalled(scale, row) | {"message": scores[id(row)]} for row in asked]
    ridge = np.array([_LEANING_RIDGE if name.startswith("leaning") else _GATE_RIDGE for name in table[0]])
    return _logistic(table, [row.group != TALK for row in asked], ridge, even=True)


def _share_held(row: Row) -> float:
    return max((told["coverage"] for kind, told in row.told_by_words.items() if kind != "turn"), default=0.0)


def _recalled(scale: Scale, row: Row) -> dict[str, float]:
    return recall_features(calibrated(scale, row).tolist(), row.likeness, row.leaning)


def _message_odds(row: Row, with_vector: _MessageModel, by_words: _MessageModel) -> float:
    """Return the log odds that a message asks for something, by how it reads alone, as the product counts them."""
    form = message_features(row.message)
    of_vector, of_words = (
        _score(weights, form) + float(vector @ row.vector) for weights, vector in (with_vector, by_words)
    )
    return (1 - row.blind) * of_vector + row.blind * of_words


def _logistic(
    table: Sequence[Mapping[str, float]],
    labels: Sequence[bool],
    ridge: float | _Matrix = _GATE_RIDGE,
    *,
    even: bool = False,
) -> RankerWeights:
    """Return a logistic model of named features; with `even`, the rarer kind of label counts as much as the other."""
    names, given = list(table[0]), np.array(labels, np.float64)
    columns = np.array([[one[name] for name in names] for one in table])
    middle, spread = columns.mean(axis=0), np.maximum(columns.std(axis=0), 1e-9)
    weights = np.where(given > 0, 1.0, given.sum() / max(1.0, (1 - given).sum()) if even else 1.0)
    fitted = logistic.fit((columns - middle) / spread, given, weights, ridge)
    of = fitted[:-1] / spread
    return RankerWeights(
        round(float(fitted[-1] - (of * middle).sum()), 4), dict(zip(names, of.round(4).tolist(), strict=True))
    )


def _fold_of(message: str) -> int:
    return random.Random(message).randrange(FOLDS)


def _score(weights: RankerWeights, features: Mapping[str, float]) -> float:
    return weights.bias + sum(weight * features[name] for name, weight in weights.of.items())


def _written(curve: RelevanceCurve) -> str:
    points = "".join(f"            ({given}, {observed}),\n" for given, observed in curve.points)
    return f"RelevanceCurve(\n        points=(\n{points}        ),\n        lead={curve.lead},\n    )"


def _tables(weights: Mapping[str, RankerWeights]) -> str:
    written = ((kind, _table(one).replace("\n", "\n    ")) for kind, one in weights.items())
    return "".join(f'    "{kind}": {table},\n' for kind, table in written)


def _table(weights: RankerWeights) -> str:
    rows = "".join(f'        "{name}": {weight},\n' for name, weight in weights.of.items() if weight)
    return f"RankerWeights(\n    bias={weights.bias},\n    of={{\n{rows}    }},\n)"


_MODULE = '''"""Fitted numbers other than the ranker's weights. Written by `python -m bench calibrate`; do not edit by hand.

{provenance}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sidecar.turn.curves import RelevanceCurve
from sidecar.turn.weights import RankerWeights

CALIBRATION: Final[Mapping[str, RelevanceCurve]] = {{
{curves}}}
"""By kind of candidate: the curve from the ranker's log odds to those observed when the kind holds an answer."""

MESSAGE: Final = {message}
"""The model of the log odds that a message asks for something, from its form; `MESSAGE_VECTOR` is added."""

# fmt: off
MESSAGE_VECTOR: Final[tuple[float, ...]] = (
    {vector}
)
# fmt: on
"""The coefficient of each dimension of the message's vector."""

MESSAGE_BY_WORDS: Final = {by_words}
"""The same model for messages without a vector."""

ASKS: Final = {asks}
"""The model of the probability that a message asks for something, from `message_score` and `worth.recall_features`."""

ASKS_BY_WORDS: Final = {asks_by_words}
"""The same for messages without a vector."""

HOLDS: Final[Mapping[str, RankerWeights]] = {{
{holds}}}
"""By kind of candidate: the model of the probability that the candidates hold an answer; `holding` makes the features."""

HOLDS_BY_WORDS: Final[Mapping[str, RankerWeights]] = {{
{holds_by_words}}}
"""The same for messages without a vector."""
'''
