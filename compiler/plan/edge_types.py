"""The types of edges between pages, and the attributes of a typed edge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

EDGE_TYPES: Final[Mapping[str, str]] = {
    "located_in": "is in",
    "works_at": "works at",
    "owns": "owns",
    "authored": "wrote",
    "member_of": "is a member of",
    "married_to": "is married to",
    "mentions": "mentions",
    "derived_from": "is derived from",
}

SOLE_TYPES: Final = frozenset({"works_at", "married_to"})
"""Types of which a page has one edge at a time: a later statement of such an edge ends the earlier one."""

_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}", re.ASCII)
_QUARTER = re.compile(r"(\d{4})-Q([1-4])", re.ASCII)
_SLUG = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class TypedEdge:
    """One statement of a typed edge, valid from `valid_from` until just before `valid_until`; None means no bound.

    `since` and `until` are the period in the words of the statement, empty if it names none; `said_at` is the time of the
    statement, which orders statements of the same edge; `confidence` is 0 to 1. `is_sole` means that this statement ends earlier
    edges of the same page and type. Type and `valid_from` are part of the edge's identity.
    """

    type: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    said_at: datetime | None = None
    since: str = ""
    until: str = ""
    confidence: float = 1.0
    is_sole: bool = False


def first_moment(date: str) -> datetime | None:
    """Return the first moment (UTC) of a day, month, quarter or year (YYYY-MM-DD, YYYY-MM, YYYY-Qn or YYYY), else None."""
    quarter = _QUARTER.fullmatch(date)
    if quarter is not None:
        date = f"{quarter[1]}-{3 * int(quarter[2]) - 2:02}"
    if not _DATE.fullmatch(date):
        return None
    try:
        return datetime.fromisoformat(f"{date}-01-01"[:10]).replace(tzinfo=UTC)
    except ValueError:
        return None


def is_edge_type(name: str) -> bool:
    """Return whether a name has the form of an edge type: a lower-case word of 1 to 64 letters, digits and underscores."""
    return _SLUG.fullmatch(name) is not None
