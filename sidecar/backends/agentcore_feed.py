"""AgentCore's records as a substrate of the compile. The service tells no time of change, so each job reads them all.

What a job has seen before it knows by its content; a record that was edited differs there and is seen again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from uuid import UUID

from compiler.plan.contract import Memory
from compiler.substrates import Listed, Listing, Reading
from sidecar.backends.agentcore import AgentCoreMemory, Record
from sidecar.backends.errors import BackendUnavailable
from store.scope import Scope

_MOST_PAGES = 1_000
_REMEMBERED_OWNERS = 4


class AgentCoreSubstrate:
    """An AgentCore memory as a compile reads it. Records stand in the order in which they were made."""

    def __init__(self, memory: AgentCoreMemory) -> None:
        self._memory = memory
        self._scans: OrderedDict[UUID, tuple[Record, ...]] = OrderedDict()

    def resume(self, cursor: str) -> str:
        """Return the beginning: what was edited stands anywhere."""
        return ""

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> Reading:
        """Return at most `limit` records after the cursor; the records are read anew where that is the beginning.

        Raises a BackendError.
        """
        records = await self._scan(scope.owner_id, is_fresh=not cursor)
        left = [record for record in records if _cursor(record) > cursor]
        read = left[:limit]
        is_drained = len(left) <= limit
        end = _cursor(read[-1]) if read else cursor
        through = int(read[-1].at.timestamp() * 1_000_000) if read else 0
        return Reading(tuple(_memory(record) for record in read), end, through, is_drained)

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return those of the records that are there. Raises a BackendError."""
        wanted = set(memory_ids)
        records = await self._scan(scope.owner_id, is_fresh=True)
        return {record.record_id: _memory(record) for record in records if record.record_id in wanted}

    async def listing(self, scope: Scope) -> Listing:
        """Return every record. Raises a BackendError, so what it returns is complete."""
        memories = [_memory(record) for record in await self._scan(scope.owner_id, is_fresh=True)]
        return Listing({one.memory_id: Listed(one.document_id, one.text_hash) for one in memories}, is_complete=True)

    async def _scan(self, owner_id: UUID, *, is_fresh: bool) -> tuple[Record, ...]:
        known = None if is_fresh else self._scans.get(owner_id)
        if known is not None:
            return known
        found: dict[str, Record] = {}
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


def _cursor(record: Record) -> str:
    return f"{int(record.at.timestamp() * 1_000_000):020d}|{record.record_id}"


def _memory(record: Record) -> Memory:
    text_hash = sha256(record.text.encode(errors="replace")).digest()
    return Memory(record.record_id, record.text, text_hash, record.at, "", dict(record.metadata))
