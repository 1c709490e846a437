"""Threads and their turns: appending, the history window, recall among older turns, listing.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from store.content import embeddings, storage
from store.content.derived import Derived, derive
from store.content.recalling import EarlierTurn, Recalled, RecallQuery, columns_read, recalled
from store.db import queries
from store.db.pacing import STATEMENT_CHARS, slices
from store.db.queries import Connection
from store.errors import AlreadyExists
from store.scope import Scope
from store.text.marks import marks_of
from store.text.texts import Signature, signatures

_sql = queries.load(__file__)
_TURNS = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a03")
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_LAST_TEXT = "\U0010ffff"
_TURN_FIELDS = itemgetter("turn_id", "client_turn_id", "position", "role", "speaker", "text", "said_at")


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to append. `o200k_tokens` and `cl100k_tokens` are its size as a message in these encodings."""

    client_turn_id: str
    role: str
    text: str
    said_at: datetime
    o200k_tokens: int
    cl100k_tokens: int
    speaker: str = ""
    parts: tuple[dict[str, Any], ...] = ()
    is_imported: bool = False

    @property
    def chars(self) -> int:
        """The number of characters in its text and in the tool results among its parts."""
        return len(self.text) + sum(len(part.get("content", "")) for part in self.parts)


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A stored turn. `position` counts from 1 within its thread; `tokens_before` are the thread's o200k tokens before it."""

    turn_id: UUID
    client_turn_id: str
    position: int
    role: str
    speaker: str
    text: str
    said_at: datetime
    parts: tuple[dict[str, Any], ...] = ()
    o200k_tokens: int = 0
    cl100k_tokens: int = 0
    is_imported: bool = False
    tokens_before: int = 0


class RecalledTurn(NamedTuple):
    """The columns that recall reads of a turn, its marks and its signature. A tuple: hundreds are created per turn."""

    turn_id: UUID
    client_turn_id: str
    position: int
    role: str
    speaker: str
    text: str
    said_at: datetime
    marks: int | None
    signature: Signature


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """How much history to read: tokens (o200k_base), turns, and a client turn id to leave out (empty: none)."""

    tokens: int
    turns: int
    except_client_turn_id: str = ""


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """The rolling summary of the turns up to `through_position`, with their ids."""

    text: str
    through_position: int
    turn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Appended:
    """The ids of all requested turns, in order, how many of them were new, and how many turns the thread has now."""

    turn_ids: tuple[UUID, ...]
    new_count: int
    turn_count: int = 0


@dataclass(frozen=True, slots=True)
class ThreadHead:
    """A thread without its turns."""

    thread_id: str
    title: str
    turn_count: int
    last_turn_at: datetime


@dataclass(frozen=True, slots=True)
class ThreadToOpen:
    """A thread to append to: its id, a title (empty: unchanged), and the fence key id that a new thread is given for good."""

    thread_id: str
    title: str
    fence_key_id: str


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """A turn to append, with the values stored beside its text."""

    turn: NewTurn
    derived: Derived


async def append(
    connection: Connection, scope: Scope, thread: ThreadToOpen, turns: Sequence[NewTurn], *, now: datetime
) -> Appended:
    """Prepare the turns and write them: `prepare` and `write` in one call, for a few short ones."""
    return await write(connection, scope, thread, await prepare(turns), now=now)


async def prepare(turns: Sequence[NewTurn]) -> list[PreparedTurn]:
    """Return the turns ready to be written. Takes seconds for 20 MB, and needs no connection."""
    derived = await derive([turn.text for turn in turns], [f"{turn.speaker} {turn.text}" for turn in turns])
    return [PreparedTurn(turn, beside) for turn, beside in zip(turns, derived, strict=True)]


async def write(
    connection: Connection,
    scope: Scope,
    thread: ThreadToOpen,
    prepared: Sequence[PreparedTurn],
    *,
    now: datetime,
    quota_bytes: int = 0,
) -> Appended:
    """Append the turns that the thread does not have yet, in order, and return the ids of all.

    The thread's row is locked until the transaction ends, so positions have no gaps and no duplicates. A statement carries
    about 1 MB of text. Raises QuotaExceeded if the owner would hold more than `quota_bytes` (0: no quota).
    """
    turns = [one.turn for one in prepared]
    key = _key(scope, thread.thread_id)
    last_turn_at = max((turn.said_at for turn in turns), default=now)
    head = await _sql.open_thread(
        connection,
        **key,
        title=thread.title,
        fence_key_id=thread.fence_key_id,
        last_turn_at=last_turn_at,
        now=now,
    )
    client_turn_ids = [turn.client_turn_id for turn in turns]
    known = {
        row["client_turn_id"]: row["turn_id"]
        for row in await _sql.known_turns(connection, **key, client_turn_ids=client_turn_ids)
    }
    first = {one.turn.client_turn_id: one for one in reversed(prepared) if one.turn.client_turn_id not in known}
    new = list(first.values())[::-1]
    ids = known | {turn_id: turn_uuid(scope, thread.thread_id, turn_id) for turn_id in first}
    if new:
        await _insert(connection, key, new, ids, head)
        await embeddings.mark(connection, scope, embeddings.TextKind.TURNS, ref=thread.thread_id, now=now)
        added_bytes = await storage.of_turns(connection, scope, [ids[turn_id] for turn_id in first])
        await storage.add(connection, scope, added_bytes, quota_bytes=quota_bytes)
    turn_count = head["turn_count"] + len(new)
    return Appended(tuple(ids[client_turn_id] for client_turn_id in client_turn_ids), len(new), turn_count)


async def _insert(
    connection: Connection, key: dict[str, object], new: Sequence[PreparedTurn], ids: Mapping[str, UUID], head: Any
) -> None:
    position, through = head["turn_count"], head["token_count"]
    for some in slices(new, lambda one: one.turn.chars, most_chars=STATEMENT_CHARS):
        tokens_through = list(accumulate((one.turn.o200k_tokens for one in some), initial=through))[1:]
        positions = range(position + 1, position + 1 + len(some))
        columns = _columns(some, ids)
        written = await _sql.insert_turns(
            connection, **key, **columns, positions=list(positions), tokens_through=tokens_through
        )
        if written != len(some):
            raise AlreadyExists("turns_pkey")
        position, through = positions[-1], tokens_through[-1]
    await _sql.advance_thread(
        connection,
        **key,
        turns=len(new),
        tokens=through - head["token_count"],
        last_turn_at=max(one.turn.said_at for one in new),
    )


def _columns(prepared: Sequence[PreparedTurn], ids: Mapping[str, UUID]) -> dict[str, object]:
    turns = [one.turn for one in prepared]
    return {
        "turn_ids": [ids[turn.client_turn_id] for turn in turns],
        "client_turn_ids": [turn.client_turn_id for turn in turns],
        "roles": [turn.role for turn in turns],
        "speakers": [turn.speaker for turn in turns],
        "texts": [turn.text for turn in turns],
        "parts": [list(turn.parts) for turn in turns],
        "said_at": [turn.said_at for turn in turns],
        "o200k_tokens": [turn.o200k_tokens for turn in turns],
        "cl100k_tokens": [turn.cl100k_tokens for turn in turns],
        "signatures": [one.derived.signature for one in prepared],
        "word_counts": [one.derived.word_count for one in prepared],
        "words": [one.derived.words for one in prepared],
        "is_imported": [turn.is_imported for turn in turns],
        "marks": [one.derived.marks for one in prepared],
    }


async def history(connection: Connection, scope: Scope, thread_id: str, window: HistoryWindow) -> list[StoredTurn]:
    """Return the thread's newest turns, oldest first: as many as fit the window, but always the last exchange."""
    rows = await _sql.history(
        connection,
        **_key(scope, thread_id),
        client_turn_id=window.except_client_turn_id,
        window_tokens=window.tokens,
        window_turns=window.turns,
    )
    return [_turn(row) for row in rows]


async def summary(connection: Connection, scope: Scope, thread_id: str) -> ThreadSummary | None:
    """Return the thread's rolling summary, or None."""
    row = await _sql.thread_summary(connection, **_key(scope, thread_id))
    return row and ThreadSummary(row["text"], row["through_position"], tuple(row["turn_ids"]))


async def recall(connection: Connection, scope: Scope, thread_id: str, wanted: RecallQuery) -> Recalled[RecalledTurn]:
    """Return the turns of the thread that match, with the neighbours of the best ones; best first, after those of `times`."""
    rows = await _sql.recall_turns(connection, **_key(scope, thread_id), **wanted.parameters())
    found = recalled(rows, _found)
    if not wanted.times:
        return found
    of_times = await _sql.turns_of_times(connection, **_key(scope, thread_id), **wanted.bounds())
    return found.led_by(columns_read(of_times, _found), lambda turn: turn.turn_id)


async def earlier_turns(
    connection: Connection, scope: Scope, thread_id: str, *, turns: int, except_client_turn_id: str
) -> tuple[EarlierTurn, ...]:
    """Return the thread's newest turns and its first, oldest first, the beginning of each text, without the current message."""
    rows = await _sql.earlier_turns(
        connection, **_key(scope, thread_id), turns=turns, client_turn_id=except_client_turn_id
    )
    return tuple(EarlierTurn(row["position"], row["role"], row["text"]) for row in rows)


async def vectors_of(
    connection: Connection, scope: Scope, thread_id: str, positions: Sequence[int], *, embedder_no: int
) -> dict[int, Sequence[float]]:
    """Return the vectors of the turns at these positions that this embedder made."""
    rows = await _sql.vectors_of_turns(
        connection, **_key(scope, thread_id), positions=list(positions), embedder_no=embedder_no
    )
    return {row["position"]: row["vector"] for row in rows}


async def speakers(connection: Connection, scope: Scope, thread_id: str) -> tuple[str, ...]:
    """Return the speakers of the thread's newest turns, in order of name."""
    rows = await _sql.speakers(connection, **_key(scope, thread_id))
    return tuple(row["speaker"] for row in rows)


async def fence_key_id(connection: Connection, scope: Scope, thread_id: str) -> str | None:
    """Return the id of the thread's fence key, or None for an unknown thread."""
    key_id: str | None = await _sql.fence_key_of_thread(connection, **_key(scope, thread_id))
    return key_id


async def list_threads(
    connection: Connection, scope: Scope, *, limit: int, before: tuple[datetime, str] | None = None
) -> list[ThreadHead]:
    """Return a page of the owner's threads, by newest turn, latest first, after the thread named by `before`."""
    before_at, before_id = before or (_END_OF_TIME, _LAST_TEXT)
    rows = await _sql.list_threads(connection, **scope.key, before=before_at, before_id=before_id, limit=limit)
    return [ThreadHead(row["thread_id"], row["title"], row["turn_count"], row["last_turn_at"]) for row in rows]


async def list_turns(
    connection: Connection, scope: Scope, thread_id: str, *, limit: int, after: int = 0
) -> list[StoredTurn]:
    """Return a page of the thread's turns, oldest first, after a position."""
    rows = await _sql.list_turns(connection, **_key(scope, thread_id), after=after, limit=limit)
    return [_turn(row) for row in rows]


async def empty_turns(connection: Connection, scope: Scope, turn_ids: Sequence[UUID]) -> list[str]:
    """Empty turns, and delete the summaries of threads that contained one of them; return these threads.

    A turn keeps its id and position, so that a caller that sends its thread again does not restore it. It is not shown.
    """
    freed_bytes = await storage.of_turns(connection, scope, turn_ids)
    await _sql.drop_turn_vectors(connection, **scope.key, turn_ids=list(turn_ids))
    signature = signatures([""])[0].pack()
    beside = {"signature": signature, "marks": marks_of("")}
    rows = await _sql.empty_turns(connection, **scope.key, turn_ids=list(turn_ids), **beside)
    thread_ids, positions = [row["thread_id"] for row in rows], [row["position"] for row in rows]
    dropped = await _sql.drop_summaries(connection, **scope.key, thread_ids=thread_ids, positions=positions)
    await storage.add(connection, scope, await storage.of_turns(connection, scope, turn_ids) - freed_bytes)
    return [row["thread_id"] for row in dropped]


async def empty_titles(connection: Connection, scope: Scope, thread_ids: Sequence[str]) -> None:
    """Empty the titles of threads."""
    await _sql.empty_titles(connection, **scope.key, thread_ids=list(thread_ids))


async def forget(connection: Connection, scope: Scope, thread_id: str, turn_ids: Sequence[UUID]) -> None:
    """Delete a thread with its summary and its turns, which are passed."""
    freed_bytes = await storage.of_turns(connection, scope, turn_ids)
    await _sql.delete_thread(connection, **scope.key, thread_id=thread_id)
    await storage.add(connection, scope, -freed_bytes)


def turn_uuid(scope: Scope, thread_id: str, client_turn_id: str) -> UUID:
    """Return the id of a turn: the same for the same scope, thread and client turn id."""
    return uuid5(_TURNS, "\n".join((str(scope.tenant_id), str(scope.owner_id), thread_id, client_turn_id)))


def _key(scope: Scope, thread_id: str) -> dict[str, object]:
    return {**scope.key, "thread_id": thread_id}


def _turn(row: Any) -> StoredTurn:
    counts = (row["o200k_tokens"], row.get("cl100k_tokens", 0))
    return StoredTurn(*_turn_fields(row), tuple(row["parts"]), *counts, row["is_imported"], row.get("tokens_before", 0))


def _found(*columns: Any) -> Iterable[RecalledTurn]:
    *fields, signatures = columns
    return map(RecalledTurn, *fields, map(Signature.unpack, signatures))


def _turn_fields(row: Any) -> tuple[UUID, str, int, str, str, str, datetime]:
    fields: tuple[UUID, str, int, str, str, str, datetime] = _TURN_FIELDS(row)
    return fields
