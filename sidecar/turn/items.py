"""The values a turn is decided on: items, source reports, history, and what became of each item.

Only shapes live here; every rule about them stands in a module of its own beside this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from sidecar.turn.rank import Candidates
from store.text.texts import Signature


class Source(StrEnum):
    """A place context comes from."""

    THREAD = "thread"
    KNOWLEDGE = "knowledge"
    MEMORY = "memory"
    WIKI = "wiki"
    WORKSPACE = "workspace"
    TOOLS = "tools"


class Status(StrEnum):
    """How a source's question ended. Empty is not failed."""

    OK = "OK"
    EMPTY = "EMPTY"
    TIMEOUT = "TIMEOUT"
    ERROR = "ERROR"
    STALE = "STALE"
    SKIPPED = "SKIPPED"
    BREAKER_OPEN = "BREAKER_OPEN"
    SHED = "SHED"


class Form(StrEnum):
    """How much of an item stands in the context: all of it, its first lines, or a summary of it."""

    FULL = "FULL"
    LEAD = "LEAD"
    SUMMARY = "SUMMARY"


class Decision(StrEnum):
    """What became of an item. Every offered item gets exactly one."""

    KEPT = "kept"
    SHORTENED = "shortened"
    DEDUPED_INTO = "deduped_into"
    OVER_BUDGET = "over_budget"
    BELOW_CUTOFF = "below_cutoff"
    LATE = "late"
    ALREADY_SEEN = "already_seen"
    UNUSABLE = "unusable"


class Zone(StrEnum):
    """Where a rendered block stands, by how often it changes between turns."""

    STABLE = "stable"
    SLOW = "slow"
    VOLATILE = "volatile"


class TokenCounter(Protocol):
    """Counts tokens as one model does. `models.tokens.meters` makes them; the turn only asks."""

    @property
    def name(self) -> str:
        """The tokenizer's name, as the receipt states it."""

    @property
    def is_exact(self) -> bool:
        """Whether the counts are the model's own."""

    @property
    def headroom_ratio(self) -> float:
        """The fraction of the window to leave free for counting errors, 0 to 1."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""

    def count_marked(self, marks: Sequence[str], lines: Sequence[str]) -> list[int]:
        """Return the tokens of each item's mark (`pieces`) with its line behind it."""

    def count_joined(self, texts: Sequence[Sequence[str]]) -> list[int]:
        """Return the tokens of each text, given in pieces that end with a newline or are an item's mark (`pieces`)."""


class Ref(NamedTuple):
    """What an item came from: `kind` says of what sort (turn, memory, document, page, file, tool), `ref` which one."""

    kind: str
    ref: str
    label: str = ""


class Item(NamedTuple):
    """One candidate piece of context. Hundreds are made a turn, which is why it is a tuple, as is what it came from.

    `rank` is its place in its own source's order, from 0. `relevance` (0 to 1) is calibrated: it may be compared across
    sources; a source that cannot tell gives 0 to all. `header` names what it stands in (a document's section, a day), and
    `position` its place under that header. `lead` is its first lines, empty when it has no shorter form. `stands_for` names
    the items it covers (a wiki section the memories it cites, an observation its facts, a memory the turns it was drawn
    from). `features` are what its relevance follows from, once it is judged. `fault` says why it cannot be used, and is empty
    for all others.
    """

    id: str
    source: Source
    text: str
    rank: int
    relevance: float
    header: str = ""
    lead: str = ""
    provenance: tuple[Ref, ...] = ()
    stands_for: tuple[str, ...] = ()
    at: datetime | None = None
    signature: Signature | None = None
    features: tuple[tuple[str, float], ...] = ()
    position: int = 0
    fault: str = ""


def columns_of(items: Sequence[Item]) -> dict[str, tuple[Any, ...]]:
    """Return the fields of one item or more, column by column: what is done to hundreds is quickest so."""
    return dict(zip(Item._fields, zip(*items, strict=True), strict=True))


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source's answer: its items in its own rank order, or why there are none. Latency in milliseconds.

    `is_partial` says that a part of it, which the reason names, did not answer though others did. `candidates` are what the
    relevance of its items can be judged by, where the source tells.
    """

    source: Source
    status: Status
    items: tuple[Item, ...] = ()
    reason: str = ""
    latency_ms: float = 0.0
    attempts: int = 0
    is_partial: bool = False
    candidates: Candidates | None = None


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """A stored turn of the thread.

    `tokens` is its cost as a message in the model's counting, what a message costs beyond its text included. `parts` are
    its tool calls and results: `{"type": "tool_call", "id", "name", "arguments"}` and
    `{"type": "tool_result", "id", "content"}`, where a result bears the id of its call. `is_imported` says that it was said in
    another conversation. `fault` says why it cannot be used, and is empty for all others.
    """

    id: str
    position: int
    role: str
    text: str
    tokens: int
    parts: tuple[dict[str, Any], ...] = ()
    speaker: str = ""
    said_at: datetime | None = None
    is_imported: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """The rolling summary of a thread's older turns, through the turn at `through_position`. `fault` as for an item."""

    text: str
    through_position: int
    turn_ids: tuple[str, ...] = ()
    fault: str = ""


class Fate(NamedTuple):
    """What became of one item: the decision and its reason in words.

    Where it stands in the context, also its form, its tokens with its mark, and its `text` as it stands there, without the
    mark; where another item says the same, `into` is that item's id, or the turn's.
    """

    item: Item
    decision: Decision
    reason: str
    form: Form | None = None
    tokens: int = 0
    mark: str = ""
    into: str = ""
    text: str = ""
