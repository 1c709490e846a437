"""Memory feed of AgentCore's records for the compile. The service stores no modification time, so each job reads them all.

A job recognises records it has seen by a hash of their content; an edited record differs and is read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

from compiler.plan.contract import BatchMemory
from compiler.state.substrates import Feed, FeedPage, ListingRow, MemoryListing, composed, dirty_now, kept_instant
from sidecar.backends.agentcore import AgentCoreMemory, MemoryRecord
from sidecar.backends.errors import BackendUnavailable
from store.scope import Scope

_MOST_PAGES = 1_000
_REMEMBERED_OWNERS = 4


def _now() -> datetime:
    return datetime.now(UTC)


class AgentCoreSubstrate:
    """An AgentCore memory as a compile's feed, ordered by creation time."""

    def __init__(self, memory: AgentCoreMemory, *, now: Callable[[], datetime] = _now) -> None:
        self._memory = memory
        self._now = now
        self._scans: OrderedDict[UUID, tuple[MemoryRecord, ...]] = OrderedDict()

    def feed(self, scope: Scope) -> Feed:
        """Return a feed by time. It needs no lag, because it is read in full."""
        return Feed(is_timed=True)

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return the beginning: edited records may be anywhere."""
        return ""

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return at most `limit` records after the cursor; at the beginning, all records are fetched again.

        Raises a BackendError.
        """
        began = self._now()
        records = await self._scan(scope.owner_id, is_fresh=not cursor)
        remaining = [record for record in records if _cursor(record) > cursor]
        page = remaining[:limit]
        is_drained = len(remaining) <= limit
        end = _cursor(page[-1]) if page else cursor
        through = dirty_now(began) if is_drained else 0
        return FeedPage(tuple(_memory(record) for record in page), end, through, is_drained)

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the records that exist, by id. Raises a BackendError."""
        wanted = set(memory_ids)
        records = await self._scan(scope.owner_id, is_fresh=True)
        return {record.record_id: _memory(record) for record in records if record.record_id in wanted}

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return every record; the listing is complete. Raises a BackendError."""
        memories = [_memory(record) for record in await self._scan(scope.owner_id, is_fresh=True)]
        return MemoryListing(
            {one.memory_id: ListingRow(one.document_id, one.text_hash) for one in memories}, is_complete=True
        )

    async def _scan(self, owner_id: UUID, *, is_fresh: bool) -> tuple[MemoryRecord, ...]:
        known = None if is_fresh else self._scans.get(owner_id)
        if known is not None:
            return known
        found: dict[str, MemoryRecord] = {}
        token = ""
        for _ in range(_MOST_PAGES):
            page = await self._memory.page(owner_id, next_token=token)
            found |= {record.record_id: record for record in page.records if record.text.strip()}
            token = page.next_token
            if not token:
                break
        else:
            raise BackendUnavailable(self._memory.name, f"more than {_MOST_PAGES} pages")
        records = tuple(sorted(found.values(), key=_cursor))
        self._scans[owner_id] = records
        self._scans.move_to_end(owner_id)
        while len(self._scans) > _REMEMBERED_OWNERS:
            self._scans.popitem(last=False)
        return records


def _cursor(record: MemoryRecord) -> str:
    return f"{max(0, dirty_now(kept_instant(record.at))):020d}|{record.record_id}"


def _memory(record: MemoryRecord) -> BatchMemory:
    text_hash = sha256(record.text.encode(errors="replace")).digest()
    return BatchMemory(
        record.record_id, composed(record.text), text_hash, kept_instant(record.at), "", dict(record.metadata)
    )
