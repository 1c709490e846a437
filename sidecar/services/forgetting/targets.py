"""The target of a forgetting, and the report of its effects. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.validation import check_count, read_id, read_text
from store.tenancy.traces import Span, WordHit

MIN_WORD_CHARS = 2
MAX_WORD_CHARS = 200
MAX_HITS = 1_000


@dataclass(frozen=True, slots=True)
class Target:
    """The content to forget: exactly one of a memory, a document of memories, a thread, a time span and a word. Of a word's hits,
    only the `confirmed` ones (kind:id) are forgotten.
    """

    memory_id: str = ""
    document_id: str = ""
    thread_id: str = ""
    since: datetime | None = None
    until: datetime | None = None
    word: str = ""
    confirmed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of target: memory, document, thread, word or span."""
        named = {"memory": self.memory_id, "document": self.document_id, "thread": self.thread_id, "word": self.word}
        return next((kind for kind, value in named.items() if value), "span")

    @property
    def span(self) -> Span:
        """The time span. Raises AssertionError if the target is not a span."""
        assert self.since is not None, "a span is named"
        assert self.until is not None, "a span is named"
        return Span(self.since, self.until)


class RemoteState(StrEnum):
    """The state of a forgetting at a service: deleted, kept but excluded from recall, absent, waiting for retry, or not sent."""

    DELETED = "deleted"
    WITHDRAWN = "withdrawn"
    NOTHING = "nothing"
    WAITING = "waiting"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class RemoteTarget:
    """A request to a service: forget `owner`, or `memory`, `document` or `thread` with its id, or `span` with both ends."""

    kind: str
    id: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def spans(self, at: datetime | None) -> bool:
        """Return whether an instant is in the span."""
        return at is not None and self.since is not None and self.until is not None and self.since <= at < self.until


@dataclass(frozen=True, slots=True)
class RemoteOutcome:
    """The result at a service: the number of forgotten records, and a note on the data that it keeps."""

    state: RemoteState
    count: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ForgottenElsewhere:
    """The outcome at one backend, by its configured name."""

    backend: str
    service: str
    outcome: RemoteOutcome


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """The effects of a forgetting or its dry run: ids, and the number of rows deleted or changed by table.

    `summary_ids` are summaries rebuilt without the forgotten content; those with fewer than two sources left are among
    `memory_ids`. `hits` are the places that contain the word, `left` counts the rows that still contain it afterwards, by table.
    `elsewhere` has the outcome at each remote memory service.
    """

    is_dry_run: bool
    memory_ids: tuple[str, ...] = ()
    summary_ids: tuple[str, ...] = ()
    turn_ids: tuple[UUID, ...] = ()
    thread_ids: tuple[str, ...] = ()
    receipt_ids: tuple[UUID, ...] = ()
    page_ids: tuple[UUID, ...] = ()
    row_counts: Mapping[str, int] = field(default_factory=dict)
    hits: tuple[WordHit, ...] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    elsewhere: tuple[ForgottenElsewhere, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgottenOwner:
    """The result of deleting an owner: rows by table, and the outcome at each remote memory service."""

    row_counts: Mapping[str, int]
    elsewhere: tuple[ForgottenElsewhere, ...] = ()


def check(target: Target) -> Target:
    """Return the target with its word stripped. Raises InvalidArgument, naming the field and the fix."""
    named = [
        name
        for name, is_given in (
            ("memory_id", target.memory_id),
            ("document_id", target.document_id),
            ("thread_id", target.thread_id),
            ("since_time", target.since or target.until),
            ("word", target.word),
        )
        if is_given
    ]
    if len(named) != 1:
        problem = f"is set together with {named[1]}" if named else "is empty, as are all other fields"
        choice = "send one of memory_id, document_id, thread_id, since_time with until_time, and word"
        raise InvalidArgument(named[0] if named else "memory_id", problem, choice)
    read_id("memory_id", target.memory_id, is_optional=True)
    read_id("document_id", target.document_id, is_optional=True)
    read_id("thread_id", target.thread_id, is_optional=True)
    _check_span(target)
    if target.confirmed and not target.word:
        raise InvalidArgument("confirmed_ids", "is set without a word", "leave it out, or send the word")
    check_count("confirmed_ids", target.confirmed, most=MAX_HITS)
    word = target.word.strip()
    if target.word:
        read_text("word", word, min_chars=MIN_WORD_CHARS, max_chars=MAX_WORD_CHARS)
    return replace(target, word=word)


def _check_span(target: Target) -> None:
    if target.since is None and target.until is None:
        return
    if target.since is None or target.until is None:
        missing = "since_time" if target.since is None else "until_time"
        raise InvalidArgument(missing, "is missing", "send both ends of the span")
    if target.until <= target.since:
        raise InvalidArgument("until_time", "is not after since_time", "send a later instant, which is itself excluded")


def chosen(target: Target, hits: tuple[WordHit, ...]) -> tuple[WordHit, ...]:
    """Return the hits that the target confirms. Raises InvalidArgument for an id that is not a hit."""
    by_name = {hit.name: hit for hit in hits}
    for place, name in enumerate(target.confirmed):
        if name not in by_name:
            raise InvalidArgument(
                f"confirmed_ids[{place}]",
                "does not contain the word",
                "send the kind:id of a hit, as a call without ids returns it",
            )
    return tuple(by_name[name] for name in dict.fromkeys(target.confirmed))
