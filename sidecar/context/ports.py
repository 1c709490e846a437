"""The ports of a turn: what a source is asked, what it answers, and how a backend behind it fails.

A source fetches and shapes; it decides nothing about budgets and does not catch its own failures: the fan-out turns those
into reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from inspect import cleandoc
from typing import ClassVar, Protocol, Self, runtime_checkable

from sidecar.turn.items import HistorySummary, Item, Status
from sidecar.turn.rank import Candidates
from sidecar.turn.reading import QuestionPart, Reading
from store.content.recalling import RecallQuery
from store.content.threads import StoredTurn
from store.scope import Scope


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question's vectors, one a part, as the database reads them, and the number of the embedder that made them."""

    embedder_no: int
    vectors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """What a source is asked: the user's message and its search words, and where in the product it was said.

    `reading` is the message as understood, `meaning` its vectors; without them a source that can use them goes by words alone,
    and says why with `without_meaning`.
    """

    text: str
    words: tuple[str, ...]
    thread_id: str
    agent_id: str
    template_id: str
    space_id: str
    client_turn_id: str
    now: datetime
    reading: Reading | None = None
    meaning: Meaning | None = None
    without_meaning: str = ""

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        """The things asked: the whole message first, then each question in it, if several."""
        return self.reading.parts if self.reading else (QuestionPart(self.text, self.words),)

    @property
    def notes(self) -> tuple[str, ...]:
        """What an answer tells of how it was searched."""
        return (self.without_meaning,) if self.without_meaning else ()

    def wanted(self, words: tuple[str, ...], limit: int) -> RecallQuery:
        """Return these words and the question's vectors as the store takes them, for `limit` texts each."""
        if self.meaning is None:
            return RecallQuery(words, limit)
        return RecallQuery(words, limit, self.meaning.embedder_no, self.meaning.vectors)


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How much a source may bring: items, lines of a lead, and for the thread its window in tokens and turns.

    `deadline_s` is the seconds after which an answer counts for nothing. They count from when `begin` is called: a built-in
    source calls it as soon as it has its connection.
    """

    top_k: int
    lead_lines: int
    window_tokens: int = 0
    window_turns: int = 0
    deadline_s: float = 60.0
    begin: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What a source found: items in its own rank order; of a conversation its recent turns and its summary.

    `failures` say which part of it should have answered and did not, and why; `notes` whatever else its report should tell.
    `candidates` are what the relevance of the items can be judged by, as far as the source tells.
    """

    items: tuple[Item, ...] = ()
    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    candidates: Candidates | None = None

    def first(self, count: int) -> SourceAnswer:
        """Return the answer with so many items at most, and what these can be judged by."""
        if 0 < len(self.items) <= count:
            return self
        items = self.items[:count]
        candidates = self.candidates.only({item.id for item in items}) if self.candidates and items else None
        return replace(self, items=items, candidates=candidates)


class SourceSkipped(Exception):
    """The source has nothing to ask for this turn; the text says why."""


class ContextSource(Protocol):
    """A place context comes from."""

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return what answers the query in the scope, best first. Raises Skipped when there is nothing to ask."""


@runtime_checkable
class ConversationReader(Protocol):
    """What the thread's source is besides: the place where the recent turns are on record."""

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the thread's newest turns within the limits, and the summary of those before. Raises Skipped for no thread."""


class BackendError(Exception):
    """A backend did not answer."""

    status: ClassVar[Status] = Status.ERROR
    is_retryable: ClassVar[bool] = False
    is_outage: ClassVar[bool] = False

    def __init__(self, backend: str, code: str = "", *, retry_after_s: float | None = None) -> None:
        told = " ".join(cleandoc(type(self).__doc__ or "").split())
        super().__init__(f"{backend}: {told}" + (f" ({code})" if code else ""))
        self.backend = backend
        self.code = code
        self.retry_after_s = retry_after_s

    def beside(self, others: Iterable[str]) -> Self:
        """Return this error, which now tells what else failed beside it."""
        self.args = ("; ".join((str(self), *others)),)
        return self
