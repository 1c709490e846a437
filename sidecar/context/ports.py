"""The ports of a turn: a source's query, its answer, and the errors of the backend behind it.

A source fetches and maps data. It makes no decisions about budgets and does not catch its own failures: the fan-out turns them
into reports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from inspect import cleandoc
from typing import ClassVar, Protocol, Self, runtime_checkable

from sidecar.turn.candidates import Candidates
from sidecar.turn.items import HistorySummary, Item, Status
from sidecar.turn.message.periods import times_of
from sidecar.turn.message.reading import QuestionPart, Reading
from store.content.recalling import RecallQuery
from store.content.threads import StoredTurn
from store.scope import Scope


@dataclass(frozen=True, slots=True)
class Meaning:
    """A message's vectors, one per part, as Postgres literals, and the number of the embedder that made them.

    `answers` holds vectors towards the turns that answer the first parts, one per part as far as there is room; empty if there is
    no such map for the embedder. The product of `probe` with a memory's vector tells how sensitive the memory is (see
    `sensitivity`); empty if no weights are fitted for the embedder.
    """

    embedder_no: int
    vectors: tuple[str, ...]
    answers: tuple[str, ...] = ()
    probe: str = ""


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """A source's query: the user's message, its search words, and the thread, agent, template and space it came from.

    `reading` is the parsed message and `meaning` its vectors. Without vectors, sources search by words alone and report
    `without_meaning` as the reason. Memories are ranked as of `as_of`, with the knowledge of `known_at`; None is now. `now` is in
    the user's time zone, in which texts are dated and the message names days.
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
    as_of: datetime | None = None
    known_at: datetime | None = None

    @property
    def is_now(self) -> bool:
        """Whether the query is about the present."""
        return self.as_of is None and self.known_at is None

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        """The parts of the message: first the whole message, then each question in it if there are several."""
        return self.reading.parts if self.reading else (QuestionPart(self.text, self.words),)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the search for an answer's report."""
        return (self.without_meaning,) if self.without_meaning else ()

    @property
    def thread_words(self) -> Mapping[str, float]:
        """The thread's words that are searched too, each with its weight; empty if the message is read without its thread."""
        return self.reading.thread.weights if self.reading and self.reading.thread else {}

    @property
    def times(self) -> tuple[tuple[datetime, datetime], ...]:
        """The half-open ranges of time whose texts are searched too; empty if the message does not ask for days."""
        asked = self.reading.periods if self.reading and self.reading.asks_for_days else ()
        return times_of(asked, self.now.tzinfo)

    def wanted(
        self, limit: int, *, without: Collection[str] = (), answers: bool = False, probe: bool = False
    ) -> RecallQuery:
        """Return the store's query: the message's words and vectors, and its thread's; each kind of search finds `limit` texts.

        `without` are words to leave out. With `answers`, the vectors towards answers follow those of the parts. With `probe`, the
        texts are compared with that of `Meaning`.
        """
        own = [word for word in self.words if word not in without]
        of_thread = [word for word in self.thread_words if word not in without]
        is_in_thread = bool(self.reading and self.reading.thread)
        weights = (*(1.0 for _ in own), *(self.thread_words[word] for word in of_thread)) if is_in_thread else ()
        embedder_no, vectors = (self.meaning.embedder_no, self.meaning.vectors) if self.meaning else (0, ())
        towards_answers = self.meaning.answers if self.meaning and answers else ()
        probing = self.meaning.probe if self.meaning and probe else ""
        return RecallQuery(
            (*own, *of_thread), limit, embedder_no, (*vectors, *towards_answers), weights, probing, self.times
        )


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """A source's limits: its items, the lines of a lead, and for the thread its window in tokens and turns.

    `recall_tokens` is the limit on the tokens of all recalled items.

    An answer later than `deadline_s` seconds is dropped. A built-in source calls `begin` when it has its connection, which starts
    the clock.
    """

    top_k: int
    lead_lines: int
    window_tokens: int = 0
    window_turns: int = 0
    deadline_s: float = 60.0
    begin: Callable[[], None] = lambda: None
    recall_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """A source's answer: items in its own rank order; for a conversation, its recent turns and summary.

    `failures` names each part of the source that failed, and why; `notes` go into its report. `candidates` hold the
    evidence from which the items' relevance is computed, if the source gives any. `reranked` holds item ids in the order of the
    tenant's reranking model.
    """

    items: tuple[Item, ...] = ()
    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    candidates: Candidates | None = None
    reranked: tuple[str, ...] = ()

    def first(self, count: int) -> SourceAnswer:
        """Return the answer with its pinned items, at most `count` others, and their candidates."""
        if 0 < len(self.items) <= count:
            return self
        pinned = sum(item.is_pinned for item in self.items)
        items = self.items[: pinned + count]
        candidates = self.candidates.only({item.id for item in items}) if self.candidates and items else None
        return replace(self, items=items, candidates=candidates)


class SourceSkipped(Exception):
    """The source does not apply to this turn; the text says why."""


class ContextSource(Protocol):
    """A source of context."""

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the scope's items that answer the query, best first. Raises SourceSkipped if the source does not apply."""


@runtime_checkable
class ConversationReader(Protocol):
    """A thread source that also reads the recent turns."""

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the thread's newest turns within the limits, and a summary of older ones. Raises SourceSkipped."""


@runtime_checkable
class PinnedReader(Protocol):
    """A memory source that can read the pinned memories separately."""

    async def pinned(self, scope: Scope) -> tuple[Item, ...]:
        """Return the owner's pinned memories, without a search."""


class BackendError(Exception):
    """A backend did not answer."""

    status: ClassVar[Status] = Status.ERROR
    is_retryable: ClassVar[bool] = False
    is_outage: ClassVar[bool] = False

    def __init__(self, backend: str, code: str = "", *, retry_after_s: float | None = None) -> None:
        problem = " ".join(cleandoc(type(self).__doc__ or "").split())
        super().__init__(f"{backend}: {problem}" + (f" ({code})" if code else ""))
        self.backend = backend
        self.code = code
        self.retry_after_s = retry_after_s

    def beside(self, others: Iterable[str]) -> Self:
        """Return this error with the failures of other backends added to its message."""
        self.args = ("; ".join((str(self), *others)),)
        return self
