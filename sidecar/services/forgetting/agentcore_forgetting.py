"""Forgets at AgentCore Memory: records by id or time, the events of a session, or everything of an actor."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sidecar.backends.agentcore import SESSION, AgentCoreMemory, MemoryRecord
from sidecar.services.forgetting.targets import RemoteOutcome, RemoteState, RemoteTarget

_MAX_PAGES = 1_000
_DRAWN = "records drawn from these events stay: the service does not identify them"
_NO_DOCUMENTS = "it has no documents"


@dataclass(frozen=True, slots=True)
class AgentCoreForgetting:
    """Forgets an owner's records and events. A thread is the session with its id."""

    memory: AgentCoreMemory
    service: str = "AgentCore Memory"

    @property
    def name(self) -> str:
        """The backend's configured name."""
        return self.memory.name

    async def forget(self, owner_id: UUID, target: RemoteTarget) -> RemoteOutcome:
        """Delete the named records and events. Records are looked up in the owner's namespace first. Raises a BackendError."""
        if target.kind == "document":
            return RemoteOutcome(RemoteState.NOTHING, detail=_NO_DOCUMENTS)
        if target.kind == "thread":
            is_session = SESSION.fullmatch(target.id) is not None
            count = await self._forget_events(owner_id, target.id, None) if is_session else 0
            return _deleted(count, _DRAWN if count else "")
        records = [one.record_id for one in await self._records(owner_id) if _is_named(one, target)]
        await self.memory.delete_records(records)
        count = len(records)
        if target.kind in {"owner", "span"}:
            span = target if target.kind == "span" else None
            for session_id in await self.memory.sessions(owner_id):
                count += await self._forget_events(owner_id, session_id, span)
        return _deleted(
            count, "records drawn from these events later have a later time" if target.kind == "span" else ""
        )

    async def _forget_events(self, owner_id: UUID, session_id: str, span: RemoteTarget | None) -> int:
        events = await self.memory.event_ids(owner_id, session_id)
        wanted = [event_id for event_id, at in events if span is None or span.spans(at)]
        for event_id in wanted:
            await self.memory.delete_event(owner_id, session_id, event_id)
        return len(wanted)

    async def _records(self, owner_id: UUID) -> list[MemoryRecord]:
        records: list[MemoryRecord] = []
        token = ""
        for _ in range(_MAX_PAGES):
            page = await self.memory.page(owner_id, next_token=token)
            records += page.records
            token = page.next_token
            if not token:
                break
        return records


def _is_named(record: MemoryRecord, target: RemoteTarget) -> bool:
    return target.kind == "owner" or record.record_id == target.id or target.spans(record.at)


def _deleted(count: int, detail: str = "") -> RemoteOutcome:
    return RemoteOutcome(RemoteState.DELETED if count else RemoteState.NOTHING, count, detail)
