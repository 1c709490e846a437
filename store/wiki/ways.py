"""The values of a walk over typed edges: its query, and the paths found. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID


class NameInText(NamedTuple):
    """A folded name that a page may bear, and the places of its first and last word in the text."""

    name: str
    first_word: int
    last_word: int


@dataclass(frozen=True, slots=True)
class WalkQuery:
    """A walk to make: the names to begin at, the types of edges that are asked for, and words that a type's name may hold.

    Edges are followed that held at some moment from `since` to `until`; both the same is one moment.
    """

    names: Sequence[NameInText]
    types: Sequence[str]
    words: Sequence[str]
    since: datetime
    until: datetime


class EdgeWay(NamedTuple):
    """A way to a page: the pages on it with their titles, and of each edge between two its type, whether it is followed against
    its direction, and how many pieces of evidence it has. It begins at the name of these words of the text."""

    first_word: int
    last_word: int
    page_ids: tuple[UUID, ...]
    titles: tuple[str, ...]
    types: tuple[str, ...]
    inward: tuple[bool, ...]
    evidence_counts: tuple[int, ...]
