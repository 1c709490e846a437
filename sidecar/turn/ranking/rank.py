"""Ranks candidates on one scale for all sources: the probability that a candidate holds the answer.

The ranker is a logistic model over named features; `weights` holds its coefficients and their origin. Sources' own scores are
not used. `budget` decides which candidates fit.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.candidates import CandidateKind, Candidates, Features
from sidecar.turn.evidence import Evidence
from sidecar.turn.fitted.calibration import CALIBRATION, HOLDS, HOLDS_BY_WORDS
from sidecar.turn.fitted.weights import BY_VECTORS, BY_WORDS, RankerWeights
from sidecar.turn.message.breadth import stretched
from sidecar.turn.message.leaning import OwnEvidence, keeping_best, leaning
from sidecar.turn.message.reading import Reading, folded_words
from sidecar.turn.ranking.holding import KindMatch, holding_features, holdings
from sidecar.turn.ranking.text_form import forms_of
from store.text.marks import READ_CHARS

_HALF: Final = 0.5
_LEAST: Final = 1e-6

_Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The relevance of each candidate (0 to 1), its features (`values`), and the probability that its kind holds an answer
    (`held`).

    `leaning` is how far the message leans on its thread, 0 to 1: the weight of its part in the thread in each relevance. `holds`
    is the probability that an answer is among the candidates.
    """

    relevances: Sequence[float] = ()
    values: Sequence[Sequence[float]] = ()
    held: Sequence[float] = ()
    leaning: float = 0.0
    holds: float = 0.0

    def features(self, likenesses: Iterable[float | None] = repeat(None)) -> list[Features]:
        """Return the features of each candidate, with its likeness to the question if that is known."""
        return list(map(Features._make, zip(self.values, self.held, likenesses, strict=False)))


class Weighed(NamedTuple):
    """Candidates before calibration: their log odds and features for the message read in its thread, the same for the message
    alone (`alone`, `own_features`), and how far the message leans on its thread (0 to 1).
    """

    odds: _Matrix
    features: _Matrix
    alone: _Matrix
    own_features: _Matrix
    leaning: float


def rank(reading: Reading, candidates: Sequence[Candidates]) -> Ranked:
    """Return the relevance of all candidates, in their order: the best over the parts of the question.

    A candidate without a vector is judged by its words alone. Both models give probabilities, so their results compare. The
    message in its thread is a part, weighted by how far the message leans on the thread; the best of the other parts has the rest
    of the weight. The best candidates for the message alone keep their relevance (see `keeping_best`). Each relevance is
    calibrated by kind and multiplied by the probability that its kind holds an answer (see `holding`).
    """
    if not any(len(one.ids) for one in candidates):
        return Ranked()
    weighed = weigh_all(reading, candidates)
    features_by_kind = features_of_kinds(reading, candidates, weighed)
    holds = _holds(reading, candidates, features_by_kind)
    held = np.concatenate([np.full(len(one.ids), holds.get(one.kind.value, 0.0)) for one in candidates])
    breadth = (1 - weighed.leaning) * reading.breadth
    relevances = _calibrated(weighed.odds, candidates, breadth)
    if weighed.leaning:
        bar, alone = _sets_bar(candidates), _calibrated(weighed.alone, candidates, breadth)
        sizes = np.array([len(text.encode(errors="replace")) for one in candidates for text in one.texts])
        relevances[bar] = keeping_best(relevances[bar], alone[bar], sizes[bar])
    relevances = relevances * held
    odds = np.array([share for one in candidates for share in one.odds or repeat(1.0, len(one.ids))])
    relevances = odds * relevances / (1 - relevances + odds * relevances)
    trust = np.array([share for one in candidates for share in one.trust or repeat(1.0, len(one.ids))])
    return Ranked(
        (trust * relevances).round(6).tolist(),
        _rows(weighed.features.round(4)),
        held.round(4).tolist(),
        round(weighed.leaning, 4),
        max(holds.values()),
    )


def _holds(
    reading: Reading, candidates: Sequence[Candidates], features_by_kind: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Return the probability that each kind holds an answer.

    A kind none of whose texts has a vector yet, as after a change of embedder, is judged by words. For vectors of an embedder
    without fitted weights, the probability is 1.
    """
    seen = {one.kind.value for one in candidates if not np.isnan(one.evidence.cosine).all()}
    by_vectors = HOLDS if reading.has_vector else {}
    fitted = [(kind, by_vectors if kind in seen else HOLDS_BY_WORDS) for kind in features_by_kind]
    return holdings(features_by_kind, {kind: weights[kind] for kind, weights in fitted if kind in weights})


def _rows(table: _Matrix) -> list[Sequence[float]]:
    """Return the rows of a table as packed arrays. Few are read again, and a list of floats would take as long as judging."""
    width, packed = table.shape[1], array("d", table.tobytes())
    return [packed[start : start + width] for start in range(0, len(packed), width)]


def weigh_all(reading: Reading, candidates: Sequence[Candidates]) -> Weighed:
    """Return one or more candidates as the ranker judges them, before calibration."""
    tables, logits = judged_parts(reading, candidates)
    own = logits[: len(reading.own_parts)]
    alone, leans = _probabilities(own.max(axis=0)), 0.0
    own_features = np.stack(tables)[own.argmax(axis=0), np.arange(logits.shape[1])]
    both, best = alone, own_features
    if reading.thread:
        bar = _sets_bar(candidates)
        evidence = OwnEvidence._make(column[bar] for column in own_evidence(candidates))
        leans = leaning(reading, own.max(axis=0)[bar], logits[-1][bar], evidence)
        both = (1 - leans) * alone + leans * _probabilities(logits[-1])
        best = own_features if leans < _HALF else tables[-1]
    return Weighed(_log_odds(both), best, _log_odds(alone), own_features, leans)


def _log_odds(relevances: _Matrix) -> _Matrix:
    bounded = np.clip(relevances, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(bounded / (1 - bounded)))


def features_of_kinds(
    reading: Reading, candidates: Sequence[Candidates], weighed: Weighed
) -> dict[str, dict[str, float]]:
    """Return for each kind the features of its candidates taken together (see `holding_features`)."""
    kinds = np.repeat([one.kind.value for one in candidates], [len(one.ids) for one in candidates])
    cosine, coverage = NAMES.index("cosine"), NAMES.index("joint_coverage")
    by_kind = {}
    for kind in dict.fromkeys(one.kind for one in candidates if one.ids):
        own = kinds == kind.value
        unknown = frozenset.intersection(*[one.unknown for one in candidates if one.kind is kind])
        by_kind[kind.value] = holding_features(
            KindMatch(weighed.odds[own], weighed.features[own, cosine], weighed.features[own, coverage]),
            KindMatch(weighed.alone[own], weighed.own_features[own, cosine], weighed.own_features[own, coverage]),
            has_unknown_name=any(unknown.issuperset(spellings) for spellings in reading.names),
            leaning=weighed.leaning,
        )
    return by_kind


def judged_parts(reading: Reading, candidates: Sequence[Candidates]) -> tuple[list[_Matrix], _Matrix]:
    """Return the feature table of each part of the question, and the log odds of each candidate: one row per part."""
    evidence = _evidence(candidates)
    tables, has_vector = _tables(reading, candidates, evidence), ~np.isnan(evidence.cosine)
    return tables, np.stack([_logits(table, has) for table, has in zip(tables, has_vector, strict=True)])


def own_evidence(candidates: Sequence[Candidates]) -> OwnEvidence:
    """Return the candidates' evidence for the message itself, without its thread."""
    evidence = _evidence(candidates)
    is_fact = np.repeat([one.kind is CandidateKind.FACT for one in candidates], [len(one.ids) for one in candidates])
    return OwnEvidence(evidence.coverage[0], evidence.cosine[0], is_fact)


def features(reading: Reading, candidates: Sequence[Candidates]) -> list[_Matrix]:
    """Return one feature table per part of the question: a row per candidate, a column per name in `NAMES`."""
    return _tables(reading, candidates, _evidence(candidates))


def _tables(reading: Reading, candidates: Sequence[Candidates], evidence: Evidence) -> list[_Matrix]:
    written = {**_subjects(reading, candidates), **_written(reading, candidates), **_led_to(candidates)}
    sets_bar, tables = _sets_bar(candidates), []
    for part in zip(*evidence, strict=True):
        columns = _searched(Evidence._make(part), sets_bar) | written
        tables.append(np.column_stack([columns[name] for name in NAMES]))
    return tables


def _calibrated(log_odds: _Matrix, candidates: Sequence[Candidates], breadth: float) -> _Matrix:
    """Return the calibrated probabilities of these log odds by kind, for a question of this breadth, provided that the kind holds
    an answer.
    """
    odds = log_odds.copy()
    kinds = np.repeat([one.kind.value for one in candidates], [len(one.ids) for one in candidates])
    for kind, curve in CALIBRATION.items():
        own = kinds == kind
        odds[own] = curve.observed(stretched(odds[own], breadth))
    return _probabilities(odds)


def _sets_bar(candidates: Sequence[Candidates]) -> NDArray[np.bool_]:
    """Return which candidates the others are compared with: all but pages, or all if there are only pages.

    So other items are judged the same with and without a wiki.
    """
    is_page = np.repeat([one.kind is CandidateKind.PAGE for one in candidates], [len(one.ids) for one in candidates])
    return np.asarray(is_page if is_page.all() else ~is_page)


def _evidence(candidates: Sequence[Candidates]) -> Evidence:
    return Evidence._make(map(np.hstack, zip(*[one.evidence for one in candidates], strict=True)))


NAMES: Final = (
    "coverage", "coverage_gap", "joint_coverage", "local_coverage",
    "cosine", "cosine_gap", "near_cosine", "local_cosine", "answer_cosine",
    "same_speaker", "other_speaker", "in_period",
    "length", "is_question", "times", "names",
    "is_fact", "is_passage", "is_page",
    "is_reached", "path_hops", "path_asked", "path_met", "path_whole", "path_evidence", "path_coverage",
)  # fmt: skip
"""The features, in the order of their columns."""

PATH_NAMES: Final = NAMES[NAMES.index("is_reached") :]
"""The features of texts to which typed edges lead; 0 for all others."""


def _searched(evidence: Evidence, sets_bar: NDArray[np.bool_]) -> dict[str, _Matrix]:
    """Return the search features for one part, with each candidate's gap to the best of the candidates in `sets_bar`."""
    has_vector = ~np.isnan(evidence.cosine)
    sets_cosine_bar = has_vector & sets_bar
    best_cosine = evidence.cosine[sets_cosine_bar].max() if sets_cosine_bar.any() else 0.0
    return {
        "coverage": evidence.coverage,
        "coverage_gap": evidence.coverage - evidence.coverage[sets_bar].max(),
        "joint_coverage": evidence.joint_coverage,
        "local_coverage": evidence.local_coverage,
        "cosine": np.where(has_vector, evidence.cosine, 0.0),
        "cosine_gap": np.where(has_vector, evidence.cosine - best_cosine, 0.0),
        "near_cosine": evidence.near_cosine,
        "local_cosine": evidence.local_cosine,
        "answer_cosine": evidence.answer_cosine,
    }


def _subjects(reading: Reading, candidates: Sequence[Candidates]) -> dict[str, _Matrix]:
    """Return whether each candidate's speaker or subject is named in the question, or is somebody else."""
    about = (
        list(_about(reading, candidates)) if reading.named else [frozenset()] * sum(len(one.ids) for one in candidates)
    )
    # A question that names every speaker does not discriminate.
    is_telling = not reading.speakers <= reading.named
    flags = {one: _subject(one, reading.named, is_telling=is_telling) for one in set(about)}
    same, other = np.array([flags[one] for one in about], np.float64).T
    return {"same_speaker": same, "other_speaker": other}


def _subject(about: frozenset[str], named: Collection[str], *, is_telling: bool) -> tuple[bool, bool]:
    """Return whether any of these speakers is named (False unless `is_telling`), and whether there are some and none is named."""
    is_same = not about.isdisjoint(named)
    return is_same and is_telling, bool(about) and not is_same


def _about(reading: Reading, candidates: Sequence[Candidates]) -> Iterator[frozenset[str]]:
    """Yield for each candidate the folded names of the speakers it is about."""
    for one in candidates:
        if one.kind is CandidateKind.TURN:
            folded = {speaker: frozenset({folded_words(speaker)} if speaker else ()) for speaker in set(one.speakers)}
            yield from map(folded.__getitem__, one.speakers)
        elif one.kind is CandidateKind.FACT:
            padded = (f" {folded_words(text[:READ_CHARS])} " for text in one.texts)
            yield from (frozenset(name for name in reading.speakers if f" {name} " in words) for words in padded)
        else:
            yield from repeat(frozenset(), len(one.ids))


def _written(reading: Reading, candidates: Sequence[Candidates]) -> dict[str, _Matrix]:
    """Return the features from the texts themselves and from their kind."""
    texts = [text for one in candidates for text in one.texts]
    stored = [mark for one in candidates for mark in one.marks or [None] * len(one.texts)]
    length, is_question, times, names = forms_of(texts, stored)
    counts = [len(one.ids) for one in candidates]
    is_kind = {kind: np.repeat([float(one.kind is kind) for one in candidates], counts) for kind in CandidateKind}
    return {
        "in_period": np.concatenate([_nearness(reading, one) for one in candidates]),
        "length": length,
        "is_question": is_question * is_kind[CandidateKind.TURN],
        "times": times,
        "names": names,
        "is_fact": is_kind[CandidateKind.FACT],
        "is_passage": is_kind[CandidateKind.PASSAGE],
        "is_page": is_kind[CandidateKind.PAGE],
    }


def _led_to(candidates: Sequence[Candidates]) -> dict[str, _Matrix]:
    """Return the features of the typed edges that lead to each text."""
    every = [walked for one in candidates for walked in one.walked or repeat(None, len(one.ids))]
    columns = {name: np.zeros(len(every)) for name in PATH_NAMES}
    for place, walked in enumerate(every):
        if walked is not None:
            values = (1.0, walked.hops, walked.asked, walked.met, walked.asked * walked.met, np.log1p(walked.evidence))
            for name, value in zip(PATH_NAMES, (*values, walked.coverage), strict=True):
                columns[name][place] = value
    return columns


def _nearness(reading: Reading, candidates: Candidates) -> _Matrix:
    """Return how near each text's day is to the periods that the question names."""
    if not candidates.days or not reading.periods:
        return np.zeros(len(candidates.ids))
    return np.array([max(period.nearness(day) for period in reading.periods) for day in candidates.days])


def _probabilities(logits: _Matrix) -> _Matrix:
    return np.asarray(1 / (1 + np.exp(-logits)), np.float64)


def _logits(table: _Matrix, has_vector: NDArray[np.bool_]) -> _Matrix:
    return np.where(
        has_vector, table @ _column(BY_VECTORS) + BY_VECTORS.bias, table @ _column(BY_WORDS) + BY_WORDS.bias
    )


def _column(weights: RankerWeights) -> _Matrix:
    return np.array([weights.of.get(name, 0.0) for name in NAMES])
