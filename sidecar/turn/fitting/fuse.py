"""Orders the items of all sources in one list.

Scores of different backends are never compared. If every source gives calibrated relevances, items are ordered by worth (see
`worth.worths`), otherwise by reciprocal rank fusion. The trained ranker has set the items' relevances before.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import compress
from operator import attrgetter, or_

from sidecar.turn.items import Item, Source
from sidecar.turn.profile import Allocation, Profile
from sidecar.turn.ranking.worth import worths

_RRF_K = 60
_REPEATED_FACTOR = math.exp(-1)
_rank, _source = attrgetter("rank"), attrgetter("source")


def order(items: Sequence[Item], profile: Profile) -> list[Item]:
    """Return the items, best first: by their worth, or by fused ranks if a source gives no relevances.

    Under POOLED, priority breaks ties. Remaining ties go by rank, then by position in `items`.
    """
    ranked, scores = _scored(items)
    _demote_turns_behind_facts(ranked, scores, profile)
    if profile.allocation is Allocation.POOLED:
        priorities = {source: profile.knobs(source).priority for source in Source}
        keys = [(-score, priorities[item.source]) for item, score in zip(ranked, scores, strict=True)]
        return [ranked[index] for index in sorted(range(len(ranked)), key=keys.__getitem__)]
    return [ranked[index] for index in sorted(range(len(ranked)), key=scores.__getitem__, reverse=True)]


def _demote_turns_behind_facts(items: Sequence[Item], scores: list[float], profile: Profile) -> None:
    """Lower the score of each turn that an earlier fact stands for, since the fact holds its content, if not verbatim."""
    both = zip(items, scores, strict=True)
    facts = [(item, score) for item, score in both if item.stands_for and item.source is not Source.THREAD]
    if not facts:
        return
    scored = dict(zip([item.id for item in items], scores, strict=True))
    is_tiered = profile.allocation is Allocation.PRIORITY
    repeated_ids: set[str] = set()
    for item, score in facts:
        is_first = is_tiered and item.relevance >= profile.relevance_knee
        repeated_ids.update(ref for ref in item.stands_for if ref in scored and (is_first or score >= scored[ref]))
    for index, item in enumerate(items if repeated_ids else ()):
        if item.source is Source.THREAD and item.id in repeated_ids:
            scores[index] *= _REPEATED_FACTOR


def best(items: Sequence[Item], count: int) -> list[Item]:
    """Return the best `count` items, best first. Priorities are ignored, so that they do not decide which items compete."""
    ranked, scores = _scored(items)
    return [ranked[index] for index in sorted(range(len(ranked)), key=scores.__getitem__, reverse=True)[:count]]


def is_calibrated(items: Sequence[Item], relevances: Sequence[float]) -> bool:
    """Return whether every source of these items gives relevances.

    A source whose items all have a relevance of 0 gives none, unless the ranker judged them: then none of its items answers.
    """
    sources = list(map(_source, items))
    judged = map(or_, map(bool, relevances), (item.features is not None for item in items))
    return len(set(compress(sources, judged))) == len(set(sources))


def relevances(items: Sequence[Item]) -> list[float]:
    """Return each item's relevance, clamped to 0 to 1; NaN and infinity count as 0."""
    return [
        relevance if 0.0 <= (relevance := item.relevance) <= 1.0 else float(1.0 < relevance < math.inf)
        for item in items
    ]


def item_worths(items: Sequence[Item], relevances: Sequence[float]) -> list[float]:
    """Return the worth of each item (see `worth.worths`), given the items' `relevances`."""
    holds = [item.features.holds if item.features else 1.0 for item in items]
    return worths(relevances, [item.text for item in items], holds)


def _scored(items: Sequence[Item]) -> tuple[list[Item], list[float]]:
    """Return the items by rank, and their scores."""
    ranked = sorted(items, key=_rank)
    scores = relevances(ranked)
    if not is_calibrated(ranked, scores):
        return ranked, _fused_ranks(ranked)
    return ranked, item_worths(ranked, scores)


def _fused_ranks(items: Sequence[Item]) -> list[float]:
    """Return the sum of 1 / (60 + rank) over the appearances of each item, ranks from 1 (Cormack et al., SIGIR 2009)."""
    scores: dict[str, float] = defaultdict(float)
    for item in items:
        scores[item.id] += 1 / (_RRF_K + 1 + max(0, item.rank))
    return [scores[item.id] for item in items]
