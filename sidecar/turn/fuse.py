"""One order for the items of all sources.

Scores of different backends are never compared. Where every source tells a calibrated relevance, that is the order; where
one does not, only ranks are left to compare, by reciprocal rank fusion. A trained ranker changes nothing here: it sets the
items' relevance before they come.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from sidecar.turn.items import Item, Source
from sidecar.turn.profile import Allocation, Profile

_RRF_K = 60


def order(items: Sequence[Item], profile: Profile) -> list[Item]:
    """Return the items, best first: by relevance, or by fused ranks when a source tells none.

    Where all is pooled, priority breaks ties. Among equals the sequence of `items` decides, and nothing else of it.
    """
    scores = relevances(items)
    if not _all_tell(items, scores):
        scores = _fused_ranks(items)
    is_pooled = profile.allocation is Allocation.POOLED
    ties = {source: profile.knobs(source).priority * is_pooled for source in Source}
    keys = [
        (-score, ties[item.source], item.rank, item.source, item.id, index)
        for index, (item, score) in enumerate(zip(items, scores, strict=True))
    ]
    keys.sort()
    return [items[key[-1]] for key in keys]


def is_calibrated(items: Sequence[Item]) -> bool:
    """Return whether every source of these items tells relevances; one that gives 0 to all its items does not."""
    return _all_tell(items, relevances(items))


def relevances(items: Sequence[Item]) -> list[float]:
    """Return each item's relevance, 0 to 1; what is no number counts as 0."""
    return [told if 0.0 <= (told := item.relevance) <= 1.0 else float(1.0 < told < math.inf) for item in items]


def _all_tell(items: Sequence[Item], scores: Sequence[float]) -> bool:
    telling = {item.source for item, score in zip(items, scores, strict=True) if score > 0}
    return len(telling) == len({item.source for item in items})


def _fused_ranks(items: Sequence[Item]) -> list[float]:
    """Return the sum of 1 / (60 + rank) over the appearances of each item, ranks from 1 (Cormack et al., SIGIR 2009)."""
    scores: dict[str, float] = defaultdict(float)
    for item in sorted(items, key=lambda item: (item.rank, item.source)):
        scores[item.id] += 1 / (_RRF_K + 1 + max(0, item.rank))
    return [scores[item.id] for item in items]
