"""Judges the relevance of all items together, once every source has answered.

`rank` computes relevance from evidence; this module sets it on the items, with the features it was computed from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from operator import neg
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.candidates import CandidateKind, Candidates, Features
from sidecar.turn.items import Item, Source, SourceReport, columns_of, items_of
from sidecar.turn.message.personal import OF_A_NAME, hold_name
from sidecar.turn.message.reading import Prospects, Reading
from sidecar.turn.message.wording import word_shares
from sidecar.turn.ranking.days import likeness_of_day, of_days, relevances_of_days, stand_on_days, worth_of_days
from sidecar.turn.ranking.likeness import (
    BARS,
    aloofness,
    blindness,
    likenesses,
    likenesses_by_relevance,
    likenesses_by_words,
    with_thread,
)
from sidecar.turn.ranking.rank import Ranked, rank
from sidecar.turn.ranking.sensitivity import lenience
from sidecar.turn.ranking.worth import asking
from store.text.languages import language_of

_BARRED_KINDS = frozenset({CandidateKind.FACT, CandidateKind.PAGE})  # must pass the bar of `likeness.unlike`
_Judgements = Mapping[str, tuple[float, Features]]


class Judged(NamedTuple):
    """The judged reports, and the prospects of an answer."""

    reports: tuple[SourceReport, ...]
    prospects: Prospects


def judge(reports: Sequence[SourceReport], reading: Reading) -> Judged:
    """Return the reports with every item's relevance, features and rank within its source, most relevant first.

    An item without evidence for this reading keeps its source's relevance.
    """
    parts = len(reading.parts)
    offered = [one for report in reports if (one := report.candidates) and len(one.evidence.coverage) == parts]
    fit = [_levelled(one, reading) for one in offered]
    ranked = of_days(rank(reading, fit), reading, fit)
    likenesses = likenesses_of(ranked, reading, fit)
    best_likeness = likest(likenesses, fit) if reading.has_vector else share_held(fit) / 2
    asks_by = partial(
        asking, reading.score, likeness=best_likeness, leaning=ranked.leaning, has_vector=reading.has_vector
    )
    asked = relevances_of_days(ranked, reading, fit)
    worthy = worth_of_days(ranked, reading, fit, asks_by(asked)) if asked else ranked
    judgements = zip(ranked.relevances, worthy.features(with_lenience(likenesses, ranked, reading, fit)), strict=True)
    judgements_of = {id(one): dict(zip(one.ids, judgements, strict=False)) for one in offered}
    ordered = tuple(_ordered(report, judgements_of.get(id(report.candidates), {})) for report in reports)
    relevances = asked or [
        item.relevance for report in ordered if report.source is not Source.WORKSPACE for item in report.items
    ]
    return Judged(ordered, Prospects(asks_by(relevances), ranked.holds, ranked.leaning))


def _levelled(one: Candidates, reading: Reading) -> Candidates:
    """Return the candidates with raised cosines for texts in other languages than the question's, so that languages compare."""
    if not reading.levels or not one.ids:
        return one
    languages = list(map(language_of, one.texts))
    raised = np.array([[of_part.get(language, 0.0) for language in languages] for of_part in reading.levels])
    return replace(one, evidence=one.evidence._replace(cosine=np.minimum(one.evidence.cosine + raised, 1.0)))


def _ordered(report: SourceReport, judgements: _Judgements) -> SourceReport:
    items = report.items
    if not judgements or not items:
        return report
    judged = [judgements.get(item.id) or (item.relevance, item.features) for item in items]
    relevances = _as_reranked(items, [relevance for relevance, _ in judged], report.reranked)
    relevances, covered = _above_their_sources(items, relevances)
    # Equal relevance goes by text: ids are random, and the order of the rows follows them.
    texts = [item.text if item.id in judgements else "" for item in items]
    keys = list(zip(map(neg, relevances), covered, texts, strict=True))
    order = sorted(range(len(items)), key=keys.__getitem__)
    columns = columns_of([items[place] for place in order]) | {
        "rank": range(len(items)),
        "relevance": [relevances[place] for place in order],
        "features": [judged[place][1] for place in order],
    }
    return replace(report, items=items_of(**columns), candidates=None)


def _above_their_sources(items: Sequence[Item], relevances: list[float]) -> tuple[list[float], list[int]]:
    """Return the relevances, with each summary at least as relevant as any item of the report that it stands for, and for each
    item the number of items that stand for it. Among equally relevant items, a summary goes before the items it stands for.
    """
    by_id = dict(zip([item.id for item in items], relevances, strict=True))
    if by_id.keys().isdisjoint(chain.from_iterable([item.stands_for for item in items])):
        return relevances, [0] * len(items)
    behind = {item.id: [ref for ref in item.stands_for if ref in by_id and ref != item.id] for item in items}
    best = {
        item.id: max((relevance, *map(by_id.__getitem__, behind[item.id])))
        for item, relevance in zip(items, relevances, strict=True)
    }
    covered = Counter(chain.from_iterable(behind.values()))
    return [best[item.id] for item in items], [covered[item.id] for item in items]


def _as_reranked(items: Sequence[Item], relevances: list[float], reranked: Sequence[str]) -> list[float]:
    """Return the relevances with those of the reranked items reassigned: the highest to the first of `reranked`, and so on."""
    if not reranked:
        return relevances
    places = {item_id: place for place, item_id in enumerate(reranked)}
    pairs = [(item.id, relevance) for item, relevance in zip(items, relevances, strict=True)]
    best = sorted((relevance for item_id, relevance in pairs if item_id in places), reverse=True)
    ordered = sorted((places[item_id], item_id) for item_id, _ in pairs if item_id in places)
    reassigned = {item_id: relevance for (_, item_id), relevance in zip(ordered, best, strict=True)}
    return [reassigned.get(item_id, relevance) for item_id, relevance in pairs]


def likest(likenesses: Iterable[float | None], candidates: Sequence[Candidates]) -> float:
    """Return the likeness of the memory or page that is most like the question; 0 if there is none or likenesses are unknown."""
    is_barred = chain.from_iterable(repeat(one.kind in _BARRED_KINDS, len(one.ids)) for one in candidates)
    barred = (likeness for likeness, is_so in zip(likenesses, is_barred, strict=False) if is_so and likeness)
    return max(barred, default=0.0)


def share_held(candidates: Sequence[Candidates]) -> float:
    """Return the highest share of the message's words that a text holds, 0 to 1. Turns do not count: they repeat small talk."""
    eligible = (one for one in candidates if one.kind is not CandidateKind.TURN and one.ids)
    return max((float(one.evidence.joint_coverage.max()) for one in eligible), default=0.0)


def likenesses_of(ranked: Ranked, reading: Reading, candidates: Sequence[Candidates]) -> list[float | None]:
    """Return each candidate's likeness to the question (see `likeness.FEATURE`), or None where it is unknown.

    The message in its thread counts as a part if the message leans on the thread.
    """
    if not reading.background or not ranked.relevances:
        return [None] * len(ranked.relevances)
    parts = len(reading.parts) if ranked.leaning else len(reading.own_parts)
    cosines = np.hstack([one.evidence.cosine for one in candidates])
    coverage = np.hstack([one.evidence.coverage for one in candidates])
    # A text that typed edges lead to is like the question by the share of its words, or of the types asked for, along the way.
    led = np.array(
        [
            max(walked.coverage, walked.asked * walked.met) if walked else 0.0
            for one in candidates
            for walked in one.walked or repeat(None, len(one.ids))
        ]
    )
    # Turns and passages have no likeness bar, so their many words are not compared.
    texts = [text if one.kind in _BARRED_KINDS else "" for one in candidates for text in one.texts]
    personal = (reading.personal, reading.personal + OF_A_NAME)
    alone, named = (aloofness(odds, ranked.leaning, embedder=reading.embedder) for odds in personal)
    deduction = np.where(hold_name(reading, texts), named, alone)
    likeness = likenesses(cosines, coverage, led, reading.background[:parts]) - deduction
    if blind := reading.blind:
        shares = _word_shares(reading, texts, ranked.leaning)
        by_words = likenesses_by_words(ranked.relevances, np.maximum(shares, led), reading.personal, ranked.leaning)
        likeness = (1 - blind) * likeness + blind * by_words
    is_page, is_fact = (
        np.repeat([one.kind is kind for one in candidates], [len(one.ids) for one in candidates])
        for kind in (CandidateKind.PAGE, CandidateKind.FACT)
    )
    likeness = np.where(
        is_fact, np.maximum(likeness, likenesses_by_relevance(ranked.relevances, reading.blind)), likeness
    )
    likeness = np.where(stand_on_days(reading, candidates) > 0, np.fmax(likeness, likeness_of_day(reading)), likeness)
    # A page without a vector is new; the memories that it was compiled from can be recalled instead.
    likeness = np.where(np.isnan(likeness) & is_page, -1.0, likeness).round(4).tolist()
    return [None if one != one else one for one in likeness]  # noqa: PLR0124 - NaN is unequal to itself


def with_lenience(
    likenesses: Sequence[float | None], ranked: Ranked, reading: Reading, candidates: Sequence[Candidates]
) -> list[float | None]:
    """Return the likenesses, those of memories raised or lowered by how sensitive they are (see `lenience`).

    In a language that the embedder hardly knows, its vectors do not tell.
    """
    known = 1 - reading.blind
    aloof = aloofness(reading.personal, ranked.leaning, embedder=reading.embedder) - BARS[reading.embedder].least
    addends = np.concatenate(
        [
            known * lenience(one.sensitivity, aloof, reading.embedder) if one.sensitivity else np.zeros(len(one.ids))
            for one in candidates
        ]
        or [np.zeros(0)]
    )
    pairs = zip(likenesses, addends.round(4).tolist(), strict=True)
    return [None if likeness is None else round(likeness + addend, 4) for likeness, addend in pairs]


def _word_shares(reading: Reading, texts: Sequence[str], leaning: float) -> NDArray[np.float64]:
    """Return each text's share of the message's words, or of those in its thread (see `with_thread`).

    The thread counts as far as the message leans on it and the embedder does not know the thread's language.
    """
    by_part = [word_shares(part.words, texts) for part in reading.own_parts]
    shares = np.asarray(np.max(by_part, axis=0), np.float64)
    if not reading.thread or not leaning:
        return shares
    blind = blindness(reading.parts[-1].text, reading.background[-1])
    return with_thread(shares, np.array(word_shares(reading.parts[-1].words, texts)), blind * leaning)
