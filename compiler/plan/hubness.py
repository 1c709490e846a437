"""How much of a hub a page is: a coarse number for ordering."""

from __future__ import annotations

from collections.abc import Sequence

RECORDS_PER_POINT = 10


def score(*, inbound_links: int, promoted_children: int, supporting_records: Sequence[int]) -> int:
    """Return inbound reference links + 2 x promoted children + floor(mean supporting records of its rollups / 10)."""
    mean = sum(supporting_records) // (RECORDS_PER_POINT * len(supporting_records)) if supporting_records else 0
    return inbound_links + 2 * promoted_children + mean
