"""The built-in memories: writing with the change feed, listing, recall, forgetting.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID, uuid5

from store.content import embeddings, feed, standing, storage, supersessions
from store.content.derived import Derived, derive
from store.content.recalling import Recalled, RecalledMemory, RecallQuery, columns_read, recalled
from store.content.storage import NO_LIMITS, StorageLimits
from store.content.tiers import MemoryStatus
from store.content.validity import OPEN, Validity, ValidPrecision, validity_of
from store.db import queries
from store.db.pacing import QUICK_CHARS, STATEMENT_CHARS, in_slices, slices
from store.db.queries import Connection, value_of
from store.scope import Scope, is_uuid
from store.text.texts import Signature

_sql = queries.load(__file__)
_MEMORIES = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a04")
_NOT_VALUES = {"place", "is_new", "is_retold", "is_edited"}
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_PLENTY_BYTES = 2**62

_Row: TypeAlias = "tuple[str, NewMemory, Derived]"

ORIGIN = "origin"
"""The metadata key for a memory's origin: user, tool, document or webhook."""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to write. An empty id is made from the text. Without an instant, a new memory gets the present time.

    For fields that are None, a known memory keeps its values, and a new one gets the type fact, the status accepted, the
    confidence 1 and the authority Agent. The status of a known memory is changed by `set_status` alone.
    `is_pinned` pins or unpins it; None leaves it as it is. `valid_from` and `stated_until` are the start and the end of its
    validity, known to `valid_precision`.
    """

    text: str
    memory_id: str = ""
    occurred_at: datetime | None = None
    document_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    turn_ids: tuple[str, ...] = ()
    memory_type: str | None = None
    status: MemoryStatus | None = None
    confidence: float | None = None
    authority: str | None = None
    domains: tuple[str, ...] | None = None
    source_episodes: tuple[str, ...] | None = None
    source_events: tuple[str, ...] | None = None
    is_pinned: bool | None = None
    valid_from: datetime | None = None
    stated_until: datetime | None = None
    valid_precision: ValidPrecision | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory. `occurred_at` is the time at which it happened or was said.

    `source_episodes` and `source_events` name the episodes, and the turns or memories, that a summary was made from.
    `validity` is the period in which it is valid; `is_compressed` means that it is in a summary.
    """

    memory_id: str
    text: str
    occurred_at: datetime
    document_id: str
    metadata: dict[str, Any]
    turn_ids: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    memory_type: str = "fact"
    status: MemoryStatus = MemoryStatus.ACCEPTED
    confidence: float = 1.0
    authority: str = "Agent"
    domains: tuple[str, ...] = ()
    source_episodes: tuple[str, ...] = ()
    source_events: tuple[str, ...] = ()
    is_pinned: bool = False
    validity: Validity = OPEN
    is_compressed: bool = False


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories to list: only pinned ones, those valid at `as_of`, and all as they were known at `known_at`.

    As known at an instant means: without memories written later, and with the statuses and supersessions of that time.
    """

    pinned_only: bool = False
    as_of: datetime | None = None
    known_at: datetime | None = None


EVERY = MemoryFilter()


@dataclass(frozen=True, slots=True)
class Retained:
    """The ids of all requested memories, in order, and the numbers of new and of changed ones.

    `edited_ids` are those with a change in a field that a summary takes over.
    """

    memory_ids: tuple[str, ...]
    created_count: int
    updated_count: int
    edited_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedMemories:
    """Memories to write: all requested ids, and one row per distinct id with the values stored beside its text."""

    memory_ids: tuple[str, ...]
    rows: tuple[_Row, ...]


async def retain(connection: Connection, scope: Scope, memories: Sequence[NewMemory], *, now: datetime) -> Retained:
    """Prepare the memories and write them: `prepare` and `write` in one call, for a few short ones."""
    return await write(connection, scope, await prepare(scope, memories), now=now)


async def prepare(scope: Scope, memories: Sequence[NewMemory]) -> PreparedMemories:
    """Return the memories ready to be written. Takes seconds for 30 MB, and needs no connection."""
    named = await in_slices(
        lambda some: [(one.memory_id or memory_id(scope, one.text), one) for one in some],
        memories,
        lambda one: len(one.text),
        quick_chars=QUICK_CHARS,
    )
    last = dict(named)
    derived = await derive([one.text for one in last.values()], [_searched(one) for one in last.values()])
    return PreparedMemories(
        tuple(memory_id for memory_id, _ in named),
        tuple((memory_id, one, beside) for (memory_id, one), beside in zip(last.items(), derived, strict=True)),
    )


async def write(
    connection: Connection,
    scope: Scope,
    prepared: PreparedMemories,
    *,
    now: datetime,
    limits: StorageLimits = NO_LIMITS,
) -> Retained:
    """Write the memories. An unchanged memory is not written; of two with the same id, the later one wins.

    Each write takes the next number of the owner's feed, whose row is locked until the transaction ends. Numbers have no gaps,
    so a reader that has read up to n has seen everything up to n. A statement carries about 1 MB of text. A memory drawn from
    turns of tools, and from none of the user's, gets the `origin` "tool" in its metadata, unless it has one.
    Raises QuotaExceeded or TooManyMemories if the owner would exceed the limits.
    """
    if not prepared.rows:
        return Retained((), 0, 0)
    tools = await _drawn_from_tools(connection, scope, prepared)
    change_seq = await feed.hold(connection, scope)
    ids = [row[0] for row in prepared.rows]
    held_bytes = await storage.of_memories(connection, scope, ids)
    created = updated = 0
    retold: list[str] = []
    edited: list[str] = []
    for some in slices(prepared.rows, lambda row: len(row[1].text), most_chars=STATEMENT_CHARS):
        given = [_with_origin(row) if row[0] in tools else row for row in some]
        found = await _sql.merge_memories(connection, **scope.key, **_columns(given), now=now)
        if found:
            seq = change_seq + created + updated
            rows = [given[row["place"] - 1] for row in found]
            # A record's own iteration gives values, not names.
            merged = {name: [row[name] for row in found] for name in dict(found[0]) if name not in _NOT_VALUES}
            columns = _columns(rows) | _text_columns(rows) | merged
            await _sql.write_memories(connection, **scope.key, **columns, change_seq=seq, now=now)
        created += sum(row["is_new"] for row in found)
        updated += sum(not row["is_new"] for row in found)
        retold += [given[row["place"] - 1][0] for row in found if row["is_retold"]]
        edited += [given[row["place"] - 1][0] for row in found if row["is_edited"]]
    if created and limits.most_memories:
        await storage.check_count(connection, scope, limits.most_memories)
    if created or updated:
        await feed.advance(connection, scope, created + updated)
        await embeddings.mark(connection, scope, embeddings.TextKind.MEMORIES, now=now)
        added_bytes = await storage.of_memories(connection, scope, ids) - held_bytes
        await storage.add(connection, scope, added_bytes, quota_bytes=limits.quota_bytes)
    if updated:  # superseded memories are valid until the start of these, which may have changed
        older = await supersessions.superseded_by(connection, scope, ids)
        older += await supersessions.drop_planned(connection, scope, retold) if retold else []
        await standing.settle(connection, scope, [*ids, *older], now=now)
    for is_pinned in (True, False):
        marked = [memory_id for memory_id, one, _ in prepared.rows if one.is_pinned is is_pinned]
        await _set_pinned(connection, scope, marked, is_pinned=is_pinned, now=now)
    return Retained(prepared.memory_ids, created, updated, tuple(edited))


async def get(connection: Connection, scope: Scope, memory_id: str) -> Memory | None:
    """Return one memory of the owner, or None."""
    row = await _sql.get_memory(connection, **scope.key, memory_id=memory_id)
    return row and _memory(row)


async def set_pinned(connection: Connection, scope: Scope, memory_id: str, *, is_pinned: bool, now: datetime) -> None:
    """Pin or unpin a memory. Locks the owner's feed until the transaction ends, so that limits on pins can be checked."""
    await feed.hold(connection, scope)
    await _set_pinned(connection, scope, [memory_id], is_pinned=is_pinned, now=now)


async def _set_pinned(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], *, is_pinned: bool, now: datetime
) -> None:
    if not memory_ids:
        return
    if is_pinned:
        await _sql.pin_memories(connection, **scope.key, memory_ids=list(memory_ids), now=now)
    else:
        await _sql.unpin_memories(connection, **scope.key, memory_ids=list(memory_ids))


async def pinned(connection: Connection, scope: Scope, *, known_at: datetime | None = None) -> list[RecalledMemory]:
    """Return the owner's pinned memories, in the order in which they were pinned, now or as known at an instant."""
    if known_at is None:
        rows = await _sql.pinned_memories(connection, **scope.key)
    else:
        rows = await _sql.pinned_memories_known_at(connection, **scope.key, known_at=known_at)
    return list(_recalled(*zip(*rows, strict=True))) if rows else []


async def page(
    connection: Connection,
    scope: Scope,
    *,
    limit: int,
    after: tuple[datetime, str] | None = None,
    most_bytes: int = _PLENTY_BYTES,
    wanted: MemoryFilter = EVERY,
) -> list[Memory]:
    """Return a page of the owner's memories, newest first, after the memory with this instant and id.

    The page ends with the memory at which the texts together exceed `most_bytes`.
    """
    before, after_id = after or (_END_OF_TIME, "")
    bounds = {"before": before, "after_id": after_id, "limit": limit, "most_bytes": most_bytes}
    place = {**scope.key, **bounds, "pinned_only": wanted.pinned_only, "as_of": wanted.as_of}
    if wanted.known_at is None:
        rows = await _sql.list_memories(connection, **place)
    else:
        rows = await _sql.list_memories_known_at(connection, **place, known_at=wanted.known_at)
    return [_memory(row) for row in rows]


async def by_ids(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[Memory]:
    """Return the memories that exist, in order of id."""
    rows = await _sql.get_memories(connection, **scope.key, memory_ids=list(memory_ids))
    return [_memory(row) for row in rows]


async def lock(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> dict[str, Memory]:
    """Lock memories until the transaction ends, and return those that exist by id."""
    rows = await _sql.lock_memories(connection, **scope.key, memory_ids=list(memory_ids))
    return {row["memory_id"]: _memory(row) for row in rows}


async def forget_all(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Delete memories and subtract their bytes from the owner's total; return how many existed."""
    freed_bytes = await storage.of_memories(connection, scope, memory_ids)
    count = await _sql.delete_memories(connection, **scope.key, memory_ids=list(memory_ids))
    await storage.add(connection, scope, -freed_bytes)
    return int(count)


async def recall(
    connection: Connection, scope: Scope, wanted: RecallQuery, *, known_at: datetime | None = None
) -> Recalled[RecalledMemory]:
    """Return the owner's memories that match, best first; as they were known at an instant if one is given.

    Memories written after that instant are then left out, and statuses and supersessions are those of that time; nothing is found
    by its time. A text that was edited in place is always the present one: earlier texts are not kept.
    """
    if known_at is None:
        rows = await _sql.recall_memories(connection, **scope.key, **wanted.parameters())
    else:
        rows = await _sql.search_memories_known_at(connection, **scope.key, **wanted.parameters(), known_at=known_at)
    found = recalled(rows, _recalled).with_probed(wanted)
    if wanted.times and known_at is None:
        of_times = await _sql.memories_of_times(connection, **scope.key, **wanted.bounds())
        found = found.led_by(columns_read(of_times, _recalled), lambda memory: memory.memory_id)
    summaries = {one.memory_id: one.status for one in found.texts if one.has_sources}
    if not summaries:
        return found
    behind = await supersessions.sources_of(connection, scope, summaries)
    with_sources = [(one, behind.get(one.memory_id, ((), ()))) for one in found.texts]
    return replace(found, texts=tuple(one._replace(sources=both[0], events=both[1]) for one, both in with_sources))


def memory_id(scope: Scope, text: str) -> str:
    """Return the id of a memory without an id of its own: the same for the same scope and text."""
    return str(uuid5(_MEMORIES, "\n".join((str(scope.tenant_id), str(scope.owner_id), text))))


async def _drawn_from_tools(connection: Connection, scope: Scope, prepared: PreparedMemories) -> set[str]:
    """Return the ids of the memories whose source turns include a tool's and none of the user's."""
    wanted = {
        memory_id: one.turn_ids for memory_id, one, _ in prepared.rows if one.turn_ids and ORIGIN not in one.metadata
    }
    uuids = {turn_id for turn_ids in wanted.values() for turn_id in turn_ids if is_uuid(turn_id)}
    if not uuids:
        return set()
    rows = await _sql.roles_of_turns(connection, **scope.key, turn_ids=sorted(uuids))
    roles = {row["turn_id"]: row["role"] for row in rows}
    roles_by_memory = {
        memory_id: {roles.get(one.lower()) for one in turn_ids} for memory_id, turn_ids in wanted.items()
    }
    return {memory_id for memory_id, those in roles_by_memory.items() if "tool" in those and "user" not in those}


def _with_origin(row: _Row) -> _Row:
    memory_id, memory, derived = row
    return memory_id, replace(memory, metadata={**memory.metadata, ORIGIN: "tool"}), derived


def _columns(rows: Sequence[_Row]) -> dict[str, object]:
    """Return the memories as columns, without their texts and what is derived from them but the hash."""
    new = [one for _, one, _ in rows]
    return {
        "memory_ids": [memory_id for memory_id, _, _ in rows],
        "document_ids": [one.document_id for one in new],
        "metadata": [dict(one.metadata) for one in new],
        "turns": [list(one.turn_ids) for one in new],
        "occurred_at": [one.occurred_at for one in new],
        "text_hashes": [derived.text_hash for _, _, derived in rows],
        "memory_types": [one.memory_type for one in new],
        "statuses": [one.status for one in new],
        "confidences": [one.confidence for one in new],
        "authorities": [one.authority for one in new],
        "domains": [_array(one.domains) for one in new],
        "episodes": [_array(one.source_episodes) for one in new],
        "events": [_array(one.source_events) for one in new],
        "valid_from": [one.valid_from for one in new],
        "stated_until": [one.stated_until for one in new],
        "valid_precisions": [one.valid_precision for one in new],
    }


def _text_columns(rows: Sequence[_Row]) -> dict[str, object]:
    derived = [beside for _, _, beside in rows]
    return {
        "texts": [one.text for _, one, _ in rows],
        "signatures": [one.signature for one in derived],
        "word_counts": [one.word_count for one in derived],
        "words": [one.words for one in derived],
        "marks": [one.marks for one in derived],
    }


def _array(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _searched(memory: NewMemory) -> str:
    """Return the memory's search text: its text and the strings in its metadata, such as the name of a place."""
    return " ".join((memory.text, *_strings(memory.metadata)))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from _strings(inner)
        case list() | tuple():
            for inner in value:
                yield from _strings(inner)


def _memory(row: Any) -> Memory:
    listed = {name: tuple(row[f"{name}_json"]) for name in ("domains", "source_episodes", "source_events")}
    made = {"status": MemoryStatus(row["status"]), "validity": validity_of(row)}
    return value_of(Memory, row, turn_ids=tuple(row["turn_ids"]), **made, **listed)


def _recalled(*columns: Any) -> Iterable[RecalledMemory]:
    *values, signatures = columns
    values[4] = map(tuple, values[4])  # the ids of turns
    return map(RecalledMemory, *values, map(Signature.unpack, signatures))
