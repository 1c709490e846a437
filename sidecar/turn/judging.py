"""Judges the relevance of all items together, once every source has answered.

`rank` computes relevance from evidence; this module sets it on the items, with the features it was computed from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import NamedTuple

import numpy as np

from sidecar.turn.items import Item, Source, SourceReport, columns_of
from sidecar.turn.likeness import aloofness, likenesses
from sidecar.turn.rank import CandidateKind, Candidates, Features, Ranked, rank
from sidecar.turn.reading import Reading
from sidecar.turn.worth import Prospects, asking

_Judged = tuple[float, Features | None, Item]
_Judgements = Mapping[str, tuple[float, Features]]


class Judged(NamedTuple):
    """The judged reports, how far the message leans on its thread, 0 to 1, and whether an answer is to be expected."""

    reports: tuple[SourceReport, ...]
    leaning: float
    prospects: Prospects


def judge(reports: Sequence[SourceReport], reading: Reading) -> Judged:
    """Return the reports with every item's relevance, features and rank within its source, most relevant first.

    An item without evidence for this reading keeps its source's relevance.
    """
    parts = len(reading.parts)
    fit = [one for report in reports if (one := report.candidates) and len(one.evidence.coverage) == parts]
    ranked = rank(reading, fit)
    judgements = zip(ranked.relevances, _with_likeness(ranked, reading, fit), strict=True)
    told = {id(one): dict(zip(one.ids, judgements, strict=False)) for one in fit}
    ordered = tuple(_ordered(report, told.get(id(report.candidates), {})) for report in reports)
    found = (item.relevance for report in ordered if report.source is not Source.WORKSPACE for item in report.items)
    asks = asking(reading.score, found, has_vector=reading.has_vector)
    return Judged(ordered, ranked.leaning, Prospects(asks, ranked.holds))


def _ordered(report: SourceReport, told: _Judgements) -> SourceReport:
    if not told or not report.items:
        return report
    judged = _as_reranked(
        [(*(told.get(item.id) or (item.relevance, item.features)), item) for item in report.items], report.reranked
    )
    judged, covered = _above_their_sources(judged)
    # Equal relevance goes by text: ids are random, and the order of the rows follows them.
    judged.sort(key=lambda one: (-one[0], covered[one[2].id], one[2].text if one[2].id in told else ""))
    relevances, features, items = zip(*judged, strict=True)
    columns = columns_of(items) | {"rank": tuple(range(len(items))), "relevance": relevances, "features": features}
    return replace(report, items=tuple(map(Item, *columns.values())), candidates=None)


def _above_their_sources(judged: list[_Judged]) -> tuple[list[_Judged], Counter[str]]:
    """Return the items with each summary as relevant as the best item of its source that it stands for, and how often each item
    is stood for: of equally relevant items, what stands for the others goes first.
    """
    own = {item.id: relevance for relevance, _, item in judged}
    behind = {item.id: [one for one in item.stands_for if one in own and one != item.id] for *_, item in judged}
    covered = Counter(one for ids in behind.values() for one in ids)
    if not covered:
        return judged, covered
    best = {item.id: max((relevance, *map(own.__getitem__, behind[item.id]))) for relevance, _, item in judged}
    return [(best[item.id], features, item) for _, features, item in judged], covered


def _as_reranked(judged: list[_Judged], reranked: Sequence[str]) -> list[_Judged]:
    """Return the items with the relevances of those that were reranked handed out again in that order, highest first."""
    if not reranked:
        return judged
    places = {item_id: place for place, item_id in enumerate(reranked)}
    best = sorted((relevance for relevance, _, item in judged if item.id in places), reverse=True)
    ordered = sorted((places[item.id], item.id) for _, _, item in judged if item.id in places)
    handed = {item_id: relevance for (_, item_id), relevance in zip(ordered, best, strict=True)}
    return [(handed.get(item.id, relevance), features, item) for relevance, features, item in judged]


def _with_likeness(ranked: Ranked, reading: Reading, candidates: Sequence[Candidates]) -> Sequence[Features]:
    """Return the features with how like the question each candidate is, beyond sentences about nothing in particular.

    The message in its thread counts if it leans on the thread.
    """
    if not reading.background or not ranked.features:
        return ranked.features
    parts = len(reading.parts) if ranked.leaning else len(reading.own_parts)
    cosines = np.hstack([one.evidence.cosine for one in candidates])
    coverage = np.hstack([one.evidence.coverage for one in candidates])
    # What typed edges lead to is like the question as far as the way there holds its words, or the types that it asks for.
    led = [
        max(walked.coverage, walked.asked * walked.met) if walked else 0.0
        for one in candidates
        for walked in one.walked or repeat(None, len(one.ids))
    ]
    coverage = np.maximum(coverage, np.array(led))
    likeness = likenesses(cosines, coverage, reading.background[:parts]) - aloofness(reading.personal, ranked.leaning)
    # A page without a vector is new, and the memories that it is made of stand for it.
    is_page = np.repeat([one.kind is CandidateKind.PAGE for one in candidates], [len(one.ids) for one in candidates])
    likeness = np.where(np.isnan(likeness) & is_page, -1.0, likeness).round(4).tolist()
    return [
        Features(values, holds, None if one != one else one)  # noqa: PLR0124 - NaN is unequal to itself
        for (values, holds, _), one in zip(ranked.features, likeness, strict=True)
    ]
