"""One order for the items of all sources.

Scores of different backends are never compared. Where every source tells a calibrated relevance, that is the order; where
one does not, only ranks are left to compare, by reciprocal rank fusion. A trained ranker changes nothing here: it sets the
items' relevance before they come.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter

from sidecar.turn.items import Item, Source
from sidecar.turn.profile import Allocation, Profile

_RRF_K = 60
_rank = attrgetter("rank")


def order(items: Sequence[Item], profile: Profile) -> list[Item]:
    """Return the items, best first: by relevance, or by fused ranks when a source tells none.

    Where all is pooled, priority breaks ties. Equals go by rank, then as they stand in `items`.
    """
    ranked, scores = _scored(items)
    if profile.allocation is Allocation.POOLED:
        priorities = {source: profile.knobs(source).priority for source in Source}
        keys = [(-score, priorities[item.source]) for item, score in zip(ranked, scores, strict=True)]
        return [ranked[place] for place in sorted(range(len(ranked)), key=keys.__getitem__)]
    return [ranked[place] for place in sorted(range(len(ranked)), key=scores.__getitem__, reverse=True)]


def best(items: Sequence[Item], count: int) -> list[Item]:
    """Return that many of the items, best first, whatever their priorities: who competes must not hang on them."""
    ranked, scores = _scored(items)
    return [ranked[place] for place in sorted(range(len(ranked)), key=scores.__getitem__, reverse=True)[:count]]


def is_calibrated(items: Sequence[Item]) -> bool:
    """Return whether every source of these items tells relevances; one that gives 0 to all its items does not."""
    return _all_tell(items, relevances(items))


def relevances(items: Sequence[Item]) -> list[float]:
    """Return each item's relevance, 0 to 1; what is no number counts as 0."""
    return [told if 0.0 <= (told := item.relevance) <= 1.0 else float(1.0 < told < math.inf) for item in items]


def _scored(items: Sequence[Item]) -> tuple[list[Item], list[float]]:
    """Return the items by rank, and their scores."""
    ranked = sorted(items, key=_rank)
    scores = relevances(ranked)
    return ranked, scores if _all_tell(ranked, scores) else _fused_ranks(ranked)


def _all_tell(items: Sequence[Item], scores: Sequence[float]) -> bool:
    telling = {item.source for item, score in zip(items, scores, strict=True) if score > 0}
    return len(telling) == len({item.source for item in items})


def _fused_ranks(items: Sequence[Item]) -> list[float]:
    """Return the sum of 1 / (60 + rank) over the appearances of each item, ranks from 1 (Cormack et al., SIGIR 2009)."""
    scores: dict[str, float] = defaultdict(float)
    for item in items:
        scores[item.id] += 1 / (_RRF_K + 1 + max(0, item.rank))
    return [scores[item.id] for item in items]
