"""The memory service: writes, lists, returns and forgets an owner's memories.

Converts between messages and values; the use cases are in `sidecar.services.memories`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from compiler.decay.supersede import SupersessionCause
from sidecar.rpc.auth.identity import Role
from sidecar.rpc.messages.elsewhere import write_elsewhere
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import MAX_PAGE_BYTES, ListCall
from sidecar.rpc.transport.validation import (
    read_choice,
    read_each,
    read_struct,
    read_time,
    storable,
    write_struct,
    write_time,
)
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.forgetting.targets import ForgetReport, Target
from sidecar.services.memories import MAX_MEMORIES, MAX_METADATA_BYTES, Memories, check_memory
from sidecar.services.validation import check_count
from sidecar.v1 import memory_pb2 as pb
from sidecar.v1.context_pb2 import NotifyOutcome
from store.content.memories import Memory, MemoryFilter, NewMemory
from store.content.standing import StatusChange, StatusDecision
from store.content.supersessions import SourceTurn, Supersession, SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus
from store.content.validity import ValidPrecision

_STATUS_VALUES = {status: pb.MemoryStatus.Value(f"MEMORY_STATUS_{status.name}") for status in MemoryStatus}
_STATUSES: dict[int, MemoryStatus] = {value: status for status, value in _STATUS_VALUES.items()}
_PRECISION_VALUES = {one: pb.ValidPrecision.Value(f"VALID_PRECISION_{one.name}") for one in ValidPrecision}
_PRECISIONS: dict[int, ValidPrecision] = {value: one for one, value in _PRECISION_VALUES.items()}
_ENDING = (SupersessionReason.CORRECTED.value, SupersessionReason.CONTRADICTED.value)

LONG_CALLS = frozenset({"Forget"})
SERVICE = pb.DESCRIPTOR.services_by_name["MemoryService"]


class MemoryService:
    """Manages memories in the built-in store."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def retain(self, request: pb.RetainRequest, call: Call) -> pb.RetainResponse:
        """Write memories, and return their ids and the numbers of new and changed ones."""
        scope = call.scope(request)
        check_count("memories", request.memories, most=MAX_MEMORIES)
        read = partial(_read, most_trusted=_most_trusted(call))
        new_memories = await read_each("memories", request.memories, read, chars=lambda one: len(one.text))
        retained, outcome = await self._memories.retain(scope, new_memories)
        return pb.RetainResponse(
            memory_ids=retained.memory_ids,
            created_count=retained.created_count,
            updated_count=retained.updated_count,
            compile_outcome=NotifyOutcome.Value(f"NOTIFY_OUTCOME_{outcome or 'UNSPECIFIED'}"),
        )

    async def list_memories(self, request: pb.ListMemoriesRequest, call: Call) -> pb.ListMemoriesResponse:
        """Return a page of the owner's memories, newest first."""
        scope = call.scope(request)
        memory_filter = MemoryFilter(
            request.pinned_only,
            read_time("as_of_time", request.as_of_time) if request.HasField("as_of_time") else None,
            read_time("known_at_time", request.known_at_time) if request.HasField("known_at_time") else None,
        )
        listing = ListCall("ListMemories", (scope, memory_filter), (datetime, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._memories.page(
            scope,
            limit=page.limit,
            most_bytes=MAX_PAGE_BYTES,
            wanted=memory_filter,
            **page.starting("after"),
        )
        written, token = listing.cut(rows, page, lambda memory: (memory.occurred_at, memory.memory_id), _write)
        return pb.ListMemoriesResponse(memories=written, next_page_token=token)

    async def update_memory(self, request: pb.UpdateMemoryRequest, call: Call) -> pb.UpdateMemoryResponse:
        """Pin or unpin a memory. Raises NotFound."""
        memory = await self._memories.set_pinned(call.scope(request), request.memory_id, is_pinned=request.pinned)
        return pb.UpdateMemoryResponse(memory=_write(memory))

    async def get_memory(self, request: pb.GetMemoryRequest, call: Call) -> pb.GetMemoryResponse:
        """Return one memory. Raises NotFound."""
        scope = call.scope(request)
        return pb.GetMemoryResponse(memory=_write(await self._memories.get(scope, request.memory_id)))

    async def delete_memory(self, request: pb.DeleteMemoryRequest, call: Call) -> pb.DeleteMemoryResponse:
        """Forget a memory; a missing memory counts as forgotten."""
        scope = call.scope(request)
        await self._memories.forget(scope, request.memory_id)
        return pb.DeleteMemoryResponse()

    async def forget(self, request: pb.ForgetRequest, call: Call) -> pb.ForgetResponse:
        """Forget the request's target, or preview that."""
        scope = call.scope(request)
        target = Target(
            memory_id=request.memory_id,
            document_id=request.document_id,
            thread_id=request.thread_id,
            since=read_time("since_time", request.since_time) if request.HasField("since_time") else None,
            until=read_time("until_time", request.until_time) if request.HasField("until_time") else None,
            word=request.word,
            confirmed=tuple(request.confirmed_ids),
        )
        return _write_report(await self._memories.forgetting.forget(scope, target, is_dry_run=request.dry_run))

    async def set_memory_status(self, request: pb.SetMemoryStatusRequest, call: Call) -> pb.SetMemoryStatusResponse:
        """Accept or reject a memory, or make it a candidate again. Raises NotFound."""
        scope = call.scope(request)
        status = read_choice("status", request.status, _STATUSES)
        decision = StatusDecision(status, f"{call.identity.role} {call.identity.subject}".strip(), request.rule)
        return pb.SetMemoryStatusResponse(
            memory=_write(await self._memories.set_status(scope, request.memory_id, decision))
        )

    async def get_memory_history(self, request: pb.GetMemoryHistoryRequest, call: Call) -> pb.GetMemoryHistoryResponse:
        """Return a memory with the changes of its status and its supersessions. Raises NotFound."""
        scope = call.scope(request)
        history = await self._memories.history(scope, request.memory_id)
        return pb.GetMemoryHistoryResponse(
            memory=_write(history.memory),
            changes=map(_write_change, history.changes),
            supersessions=map(_write_supersession, history.supersessions),
        )

    async def supersede(self, request: pb.SupersedeRequest, call: Call) -> pb.SupersedeResponse:
        """Replace memories by another. Raises FailedPrecondition with the reason."""
        scope = call.scope(request)
        reason = request.reason or SupersessionReason.CORRECTED
        if reason not in _ENDING:
            raise InvalidArgument("reason", f"is {reason!r}", f"send {' or '.join(_ENDING)}")
        if bool(request.memory_id) == request.HasField("edit"):
            raise InvalidArgument("memory_id", "and edit are both set or both missing", "send exactly one of them")
        if request.edit.HasField("pinned"):
            raise InvalidArgument("edit.pinned", "is not part of an edit", "pin the memory with UpdateMemory")
        cause = SupersessionCause(SupersessionReason(reason), request.evidence, most_trusted=_most_trusted(call))
        newer = request.memory_id or _read("edit", request.edit, most_trusted=_most_trusted(call))
        memory, superseded = await self._memories.supersessions.supersede(scope, request.superseded_ids, newer, cause)
        return pb.SupersedeResponse(memory=_write(memory), superseded=map(_write, superseded))

    async def restore_memory(self, request: pb.RestoreMemoryRequest, call: Call) -> pb.RestoreMemoryResponse:
        """Undo the supersession of a memory. Raises NotFound."""
        scope = call.scope(request)
        memory = await self._memories.supersessions.restore(scope, request.memory_id, request.superseding_id)
        return pb.RestoreMemoryResponse(memory=_write(memory))

    async def explain_memory(self, request: pb.ExplainMemoryRequest, call: Call) -> pb.ExplainMemoryResponse:
        """Return the evidence for a memory. Raises NotFound."""
        belief = await self._memories.supersessions.explain(call.scope(request), request.memory_id)
        drawn: dict[str, list[str]] = {}
        for one in (belief.memory, *belief.memories):
            for turn_id in dict.fromkeys((*one.turn_ids, *one.source_events)):
                drawn.setdefault(turn_id.lower(), []).append(one.memory_id)
        return pb.ExplainMemoryResponse(
            memory=_write(belief.memory),
            chain=map(_write_supersession, belief.chain),
            memories=map(_write, belief.memories),
            turns=[_write_turn(one, drawn.get(one.turn_id, [])) for one in belief.turns],
        )

    async def compress_memories(self, request: pb.CompressMemoriesRequest, call: Call) -> pb.CompressMemoriesResponse:
        """Compress candidates into one summary. Raises FailedPrecondition with the reason."""
        scope = call.scope(request)
        return pb.CompressMemoriesResponse(memory=_write(await self._memories.compress(scope, request.memory_ids)))


def _most_trusted(call: Call) -> AuthorityTier:
    """Return the highest authority that the caller may claim."""
    return AuthorityTier.USER if call.identity.role is Role.ADMIN else AuthorityTier.AGENT


def _read(field: str, message: pb.NewMemory, *, most_trusted: AuthorityTier) -> NewMemory:
    happened = message.HasField("occurred_time")
    precision = (
        read_choice(f"{field}.valid_precision", message.valid_precision, _PRECISIONS)
        if message.valid_precision
        else None
    )
    memory = NewMemory(
        text=message.text,
        memory_id=message.memory_id,
        occurred_at=read_time(f"{field}.occurred_time", message.occurred_time) if happened else None,
        document_id=message.document_id,
        metadata=read_struct(f"{field}.metadata", message.metadata, max_bytes=MAX_METADATA_BYTES),
        turn_ids=tuple(message.turn_ids),
        memory_type=message.memory_type or None,
        status=read_choice(f"{field}.status", message.status, _STATUSES) if message.status else None,
        confidence=message.confidence if message.HasField("confidence") else None,
        authority=message.authority or None,
        domains=tuple(dict.fromkeys(message.domains)) or None,
        is_pinned=message.pinned if message.HasField("pinned") else None,
        valid_from=_read_bound(field, message, "valid_from_time", precision),
        stated_until=_read_bound(field, message, "valid_until_time", precision),
        valid_precision=precision,
    )
    check_memory(field, memory, most_trusted=most_trusted)
    return memory


def _read_bound(
    field: str,
    message: pb.NewMemory,
    name: Literal["valid_from_time", "valid_until_time"],
    precision: ValidPrecision | None,
) -> datetime | None:
    """Return a bound of the validity, rounded down to its precision; None if it is not set."""
    if not message.HasField(name):
        return None
    moment = read_time(f"{field}.{name}", getattr(message, name))
    return storable((precision or ValidPrecision.INSTANT).floor(moment))


def _write(memory: Memory) -> pb.Memory:
    return pb.Memory(
        memory_id=memory.memory_id,
        text=memory.text,
        occurred_time=write_time(memory.occurred_at),
        document_id=memory.document_id,
        metadata=write_struct(memory.metadata),
        turn_ids=memory.turn_ids,
        create_time=write_time(memory.created_at),
        update_time=write_time(memory.updated_at),
        memory_type=memory.memory_type,
        status=_STATUS_VALUES[memory.status],
        confidence=memory.confidence,
        authority=memory.authority,
        domains=memory.domains,
        source_episodes=memory.source_episodes,
        source_events=memory.source_events,
        pinned=memory.is_pinned,
        valid_from_time=write_time(memory.validity.valid_from),
        valid_until_time=write_time(memory.validity.valid_until),
        valid_precision=_PRECISION_VALUES[memory.validity.valid_precision],
        until_precision=_PRECISION_VALUES[memory.validity.until_precision],
        compressed=memory.is_compressed,
    )


def _write_turn(turn: SourceTurn, memory_ids: Sequence[str]) -> pb.SourceTurn:
    return pb.SourceTurn(
        turn_id=turn.turn_id,
        thread_id=turn.thread_id,
        position=turn.position,
        role=turn.role,
        text=turn.text,
        said_time=write_time(turn.said_at),
        memory_ids=memory_ids,
    )


def _write_report(report: ForgetReport) -> pb.ForgetResponse:
    return pb.ForgetResponse(
        is_dry_run=report.is_dry_run,
        memory_ids=report.memory_ids,
        summary_ids=report.summary_ids,
        turn_ids=map(str, report.turn_ids),
        thread_ids=report.thread_ids,
        receipt_ids=map(str, report.receipt_ids),
        page_ids=map(str, report.page_ids),
        row_counts=report.row_counts,
        hits=[pb.ForgetHit(confirm_id=one.name, kind=one.kind, excerpt=one.excerpt) for one in report.hits],
        rows_left=report.left,
        elsewhere=map(write_elsewhere, report.elsewhere),
    )


def _write_change(change: StatusChange) -> pb.MemoryStatusChange:
    return pb.MemoryStatusChange(
        old_status=_STATUS_VALUES[change.old_status],
        new_status=_STATUS_VALUES[change.new_status],
        changed_by=change.changed_by,
        rule=change.rule,
        change_time=write_time(change.changed_at),
    )


def _write_supersession(edge: Supersession) -> pb.MemorySupersession:
    return pb.MemorySupersession(
        memory_id=edge.memory_id,
        superseded_id=edge.superseded_id,
        reason=edge.reason,
        create_time=write_time(edge.created_at),
        undo_time=write_time(edge.undone_at) if edge.undone_at else None,
        evidence=edge.evidence,
        job_id=str(edge.job_id) if edge.job_id else "",
    )
