"""The places context comes from, one file each. Siblings never import one another.

A source fetches and shapes; it decides nothing about budgets and does not catch its own failures: the assembler turns those
into reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sidecar.turn.items import HistorySummary, Item
from store.scope import Scope
from store.threads import StoredTurn


@dataclass(frozen=True, slots=True)
class Query:
    """What a source is asked: the user's message and its search words, and where in the product it was said."""

    text: str
    words: tuple[str, ...]
    thread_id: str
    agent_id: str
    template_id: str
    space_id: str
    client_turn_id: str
    now: datetime


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a source may bring: items, lines of a lead, and for the thread its window in tokens and turns."""

    top_k: int
    lead_lines: int
    window_tokens: int = 0
    window_turns: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a source found: items in its own rank order; the thread brings its newest turns and its summary beside them."""

    items: tuple[Item, ...] = ()
    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None


class Skipped(Exception):
    """The source has nothing to ask for this turn; the text says why."""


class ContextSource(Protocol):
    """A place context comes from."""

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return what answers the query in the scope, best first. Raises Skipped when there is nothing to ask."""
