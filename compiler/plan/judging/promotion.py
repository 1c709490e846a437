"""Scores whether a section is dense enough for a page of its own: arithmetic on the section's evidence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from compiler.plan.contract import PromotionStatus

CANDIDATE, PROMOTE_READY = 0.4, 0.55

_DAY = timedelta(days=1)
_STICKY = frozenset({PromotionStatus.PROMOTED, PromotionStatus.SUPPRESSED})


@dataclass(frozen=True, slots=True)
class Signals:
    """The inputs of a section's promotion score. `tag_overlap` is 0 to 1, `spread_days` between first and last evidence."""

    linked_pages: int
    supporting_records: int
    spread_days: float
    tag_overlap: float = 0.0
    body_chars: int = 0


def score(signals: Signals) -> float:
    """Return 0 to 1, three places: .25 linked pages (full at 20) + .25 records (30) + .20 spread (30 days) + .15 tag
    overlap + .15 body length (1,800 characters)."""
    total = (
        0.25 * _share(signals.linked_pages, 20)
        + 0.25 * _share(signals.supporting_records, 30)
        + 0.20 * _share(signals.spread_days, 30)
        + 0.15 * _share(signals.tag_overlap, 1)
        + 0.15 * _share(signals.body_chars, 1800)
    )
    return round(total, 3)


def status_after(status: PromotionStatus, promotion_score: float) -> PromotionStatus:
    """Return the status of a section with this score; promoted and suppressed stay unchanged."""
    if status in _STICKY:
        return status
    return PromotionStatus.CANDIDATE if promotion_score >= PROMOTE_READY else PromotionStatus.NONE


def label(promotion_score: float) -> str:
    """Return what the score says: none, candidate (from 0.4) or promote_ready (from 0.55)."""
    if promotion_score >= PROMOTE_READY:
        return "promote_ready"
    return "candidate" if promotion_score >= CANDIDATE else "none"


def tag_overlap(observed_tags: Collection[str], tags_of_children: Sequence[Collection[str]]) -> float:
    """Return the share of children that have one of the section's tags, ignoring case, 0 to 1."""
    observed = {tag.casefold() for tag in observed_tags}
    if not observed or not tags_of_children:
        return 0.0
    sharing = sum(1 for tags in tags_of_children if not observed.isdisjoint(tag.casefold() for tag in tags))
    return sharing / len(tags_of_children)


def spread_days(first: datetime | None, last: datetime | None) -> float:
    """Return the days between the first and the last evidence, with fractions; 0 without evidence."""
    return max(0.0, (last - first) / _DAY) if first and last else 0.0


def _share(value: float, saturation: float) -> float:
    return min(1.0, max(0.0, value / saturation))
