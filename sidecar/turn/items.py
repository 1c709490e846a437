"""The values of a turn: items, source reports, history, and the fate of each item.

Data types only; the rules about them are in the other modules of this folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, Protocol

from sidecar.turn.candidates import Candidates, Features
from store.text.texts import Signature


class Source(StrEnum):
    """A source of context."""

    THREAD = "thread"
    KNOWLEDGE = "knowledge"
    MEMORY = "memory"
    WIKI = "wiki"
    WORKSPACE = "workspace"
    TOOLS = "tools"


class Status(StrEnum):
    """How a call to a source ended. EMPTY is not a failure."""

    OK = "OK"
    EMPTY = "EMPTY"
    TIMEOUT = "TIMEOUT"
    ERROR = "ERROR"
    STALE = "STALE"
    SKIPPED = "SKIPPED"
    BREAKER_OPEN = "BREAKER_OPEN"
    SHED = "SHED"


class Form(StrEnum):
    """How much of an item is in the context: all of it, its first lines, or a summary."""

    FULL = "FULL"
    LEAD = "LEAD"
    SUMMARY = "SUMMARY"


class Decision(StrEnum):
    """The outcome for an item. Every offered item gets exactly one."""

    KEPT = "kept"
    SHORTENED = "shortened"
    DEDUPED_INTO = "deduped_into"
    OVER_BUDGET = "over_budget"
    BELOW_CUTOFF = "below_cutoff"
    BELOW_WORTH = "below_worth"
    LATE = "late"
    ALREADY_SEEN = "already_seen"
    UNUSABLE = "unusable"


class Zone(StrEnum):
    """The zones of a context, in the order in which they are sent: text that changes often goes last.

    Stable blocks stand in the system prompt, the conversation's turns follow, and volatile blocks (recalled items) stand beside
    the user's message.
    """

    STABLE = "stable"
    TURNS = "turns"
    VOLATILE = "volatile"


class TokenCounter(Protocol):
    """Counts tokens as one model does. Implemented by `models.tokens.meters`."""

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
        """Return the tokens of each item's mark (see `pieces`) followed by its line."""

    def count_joined(self, texts: Sequence[Sequence[str]]) -> list[int]:
        """Return the tokens of each text, given in pieces. A piece is an item's mark or ends with a newline (see `pieces`)."""


class Ref(NamedTuple):
    """The origin of an item: its `kind` (turn, memory, document, page, file, tool) and its id `ref`."""

    kind: str
    ref: str
    label: str = ""


class Item(NamedTuple):
    """One candidate piece of context. It is a tuple because a turn makes hundreds.

    `rank` is its index in its source's order, from 0. `relevance` (0 to 1) is calibrated and comparable across sources; a
    source without relevances gives 0 to all. `header` names its container (a document, a page, a day), `group` is the
    container's id (empty: the header identifies it), `section` names its part of it, and `position` its place there. `lead`
    is its first lines, empty if it has no shorter form. `stands_for` holds the ids of the items it covers (a wiki section:
    the memories it cites; an observation: its facts; a memory: its turns). `features` are the inputs of its relevance, once
    judged. `signature` is that of the text without its first `unsigned_chars` characters (a speaker, a heading); None if none is
    stored. `fault` says why it cannot be used; empty otherwise. An item that `is_pinned` does not compete. `confidence` (0 to 1)
    and `authority` are those of a memory; None and empty if its source gives none.
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
    features: Features | None = None
    position: int = 0
    fault: str = ""
    group: str = ""
    section: str = ""
    is_pinned: bool = False
    confidence: float | None = None
    authority: str = ""
    unsigned_chars: int = 0


def columns_of(items: Sequence[Item]) -> dict[str, tuple[Any, ...]]:
    """Return the fields of one or more items as columns; this is the fastest access for hundreds of items."""
    return dict(zip(Item._fields, zip(*items, strict=True), strict=True))


def items_of(**columns: Iterable[Any]) -> tuple[Item, ...]:
    """Return the items made from columns, given by field name; a field without a column has its default in every item.

    This takes a third of the time that calling `Item` takes for hundreds of items.
    """
    return tuple(map(_item, zip(*_in_order(columns), strict=False)))


def _in_order(columns: Mapping[str, Iterable[Any]]) -> list[Iterable[Any]]:
    if unknown := columns.keys() - set(Item._fields):
        raise TypeError(f"an item has no {', '.join(sorted(unknown))}")
    return [columns[name] if name in columns else repeat(Item._field_defaults[name]) for name in Item._fields]


_item = partial(tuple.__new__, Item)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source's answer: its items in its own rank order, or the reason why there are none. Latency in milliseconds.

    `is_partial` means that some part of the source, named in the reason, failed. `candidates` hold the evidence from which the
    items' relevance is computed, if the source gives any. `reranked` holds ids in the order that the tenant's own model chose.
    """

    source: Source
    status: Status
    items: tuple[Item, ...] = ()
    reason: str = ""
    latency_ms: float = 0.0
    attempts: int = 0
    is_partial: bool = False
    candidates: Candidates | None = None
    reranked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """A stored turn of the thread.

    `tokens` is its cost as a message for the model, framing included. `parts` are its tool calls and results:
    `{"type": "tool_call", "id", "name", "arguments"}` and `{"type": "tool_result", "id", "content"}`, where a result has the
    id of its call. `is_imported` means that it comes from another conversation. `fault` says why it cannot be used; empty
    otherwise. `tokens_before` are the thread's tokens before it, in one tokenizer for all models; 0 if unknown.
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
    tokens_before: int = 0


def begins_with_name(text: str, name: str) -> bool:
    """Return whether the text names its speaker itself ("Ana: hello"), in any case; the colon may be a full-width one."""
    return text.lstrip()[: len(name) + 1].replace("：", ":").casefold() == f"{name}:".casefold()


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """The rolling summary of a thread's older turns, up to the turn at `through_position`. `fault` is as for an item."""

    text: str
    through_position: int
    turn_ids: tuple[str, ...] = ()
    fault: str = ""


class Fate(NamedTuple):
    """The outcome for one item: the decision and its reason in words.

    For an item in the context, also its form, its tokens with its mark, and its `text` there without the mark. For a
    duplicate, `into` is the id of the item or turn that covers it.
    """

    item: Item
    decision: Decision
    reason: str
    form: Form | None = None
    tokens: int = 0
    mark: str = ""
    into: str = ""
    text: str = ""


fate_of = partial(tuple.__new__, Fate)
"""Builds a Fate from all of its fields in order, three times as fast as calling it."""
