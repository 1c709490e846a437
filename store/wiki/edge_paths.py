"""The values of a walk over typed edges: its query, and the paths found. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID


class NameInText(NamedTuple):
    """A folded name that a page may have, and the indexes of its first and last word in the text."""

    name: str
    first_word: int
    last_word: int


@dataclass(frozen=True, slots=True)
class WalkQuery:
    """A walk: the names to begin at, the requested types of edges, and words that a type's name may contain.

    It follows edges that were valid at some moment from `since` to `until`, which may be the same moment.
    """

    names: Sequence[NameInText]
    types: Sequence[str]
    words: Sequence[str]
    since: datetime
    until: datetime


class EdgeWay(NamedTuple):
    """A path to a page: its pages with their titles, and for each edge its type, whether it is followed against its direction,
    and the number of pieces of evidence. It begins at the name at these words of the text.
    """

    first_word: int
    last_word: int
    page_ids: tuple[UUID, ...]
    titles: tuple[str, ...]
    types: tuple[str, ...]
    inward: tuple[bool, ...]
    evidence_counts: tuple[int, ...]
