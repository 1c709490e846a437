"""The context service: a turn's context, its receipt, its usage, and the thread it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from sidecar.context.assembler import Assembler, Clocks, TurnRequest
from sidecar.context.fence_keys import FenceKeys
from sidecar.context.receipt_writer import ReceiptWriter
from sidecar.context.replay import Replayer
from sidecar.context.token_counting import TokenMeters
from sidecar.rpc.auth.identity import Identity, resolve_agent, resolve_space
from sidecar.rpc.messages import assemblies, explanations, turns
from sidecar.rpc.messages.knobs import read_knobs
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.idempotency import RepeatedAnswers
from sidecar.rpc.transport.paging import Int4, ListCall
from sidecar.rpc.transport.validation import read_choice, read_each, read_time, read_zone, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.memories import Memories
from sidecar.services.receipts import Receipts
from sidecar.services.threads import MAX_TURNS, Threads
from sidecar.services.validation import check_count, read_id, read_int, read_item_ids, read_text, read_uuid
from sidecar.turn.receipt.difference import compare
from sidecar.v1 import context_pb2 as pb
from store.accounting.receipts import ReportedUsage, StoredReceipt
from store.content.threads import ThreadHead
from store.scope import Scope

SERVICE = pb.DESCRIPTOR.services_by_name["ContextService"]
MAX_MESSAGE_CHARS = 1_000_000
MAX_PROMPT_CHARS = 4_000_000
MAX_TOKENS = 10_000_000

TurnRepeats = RepeatedAnswers[tuple[Scope, str, str], pb.AssembleContextResponse]
"""Answers by scope, agent and request id."""


@dataclass(frozen=True, slots=True)
class ContextDeps:
    """The dependencies of the service."""

    assembler: Assembler
    replayer: Replayer
    meters: TokenMeters
    fences: FenceKeys
    receipt_writer: ReceiptWriter
    clocks: Clocks
    repeats: TurnRepeats


def turn_repeats(clocks: Clocks) -> TurnRepeats:
    """Return the cache of turns' answers by request id."""
    return RepeatedAnswers(clock=clocks.steady_s, size_of=pb.AssembleContextResponse.ByteSize)


class ContextService:
    """Thin: reads requests, calls the use cases, writes responses."""

    def __init__(self, parts: ContextDeps, *, threads: Threads, memories: Memories, receipts: Receipts) -> None:
        self._parts = parts
        self._threads = threads
        self._memories = memories
        self._receipts = receipts
        self._repeats = parts.repeats

    async def assemble_context(self, request: pb.AssembleContextRequest, call: Call) -> pb.AssembleContextResponse:
        """Return one turn's context. A repeated request id returns the first request's answer."""
        scope = call.scope(request)
        question = _question(request, call.identity)
        detail = read_choice("detail", request.detail, assemblies.DETAILS)
        due_s = self._parts.clocks.steady_s() + call.remaining_s

        async def work() -> pb.AssembleContextResponse:
            assembly = await self._parts.assembler.assemble(question, scope, due_s=due_s)
            return assemblies.write_response(assembly, detail)

        request_id = read_id("request_id", request.request_id, is_optional=True)
        if not request_id:
            return await work()
        digest = request.SerializeToString(deterministic=True)
        key = (scope, call.identity.agent_id, request_id)
        return await self._repeats.once(key, digest, work, stands=partial(self._stands, scope))

    async def _stands(self, scope: Scope, age_s: float) -> bool:
        return await self._receipts.stands(scope, self._parts.clocks.now() - timedelta(seconds=age_s))

    async def report_usage(self, request: pb.ReportUsageRequest, call: Call) -> pb.ReportUsageResponse:
        """Store the provider's counts and learn from them. Raises NotFound if the receipt is unknown or out of reach."""
        scope = call.scope(request)
        usage = ReportedUsage(
            input_tokens=request.input_tokens,
            output_tokens=request.output_tokens,
            cache_read_tokens=request.cache_read_tokens,
            cache_write_tokens=request.cache_write_tokens,
            used_item_ids=tuple(request.used_item_ids),
        )
        receipt_id = read_uuid("receipt_id", request.receipt_id)
        learned = await self._receipts.report_usage(scope, receipt_id, usage, reach=call.identity.reach)
        return pb.ReportUsageResponse(expected_input_tokens=learned.expected_input_tokens, ratio=learned.ratio)

    async def append_turns(self, request: pb.AppendTurnsRequest, call: Call) -> pb.AppendTurnsResponse:
        """Append turns to the thread; existing turns are not changed."""
        scope = call.scope(request)
        check_count("turns", request.turns, most=MAX_TURNS)
        read = partial(turns.read_turn, now=self._parts.clocks.now())
        new_turns = await read_each("turns", request.turns, read, chars=turns.chars_of)
        appended = await self._threads.append(scope, request.thread_id, request.title, new_turns)
        return pb.AppendTurnsResponse(
            turn_ids=[str(turn_id) for turn_id in appended.turn_ids], appended_count=appended.new_count
        )

    async def explain_assembly(self, request: pb.ExplainAssemblyRequest, call: Call) -> pb.ExplainAssemblyResponse:
        """Return a complete receipt."""
        scope = call.scope(request)
        receipt = await self._receipt(scope, "receipt_id", request.receipt_id, call)
        asked = await self._parts.replayer.asked(scope, receipt)
        return pb.ExplainAssemblyResponse(receipt=explanations.write_receipt(receipt, asked))

    async def replay_assembly(self, request: pb.ReplayAssemblyRequest, call: Call) -> pb.ReplayAssemblyResponse:
        """Fit a stored assembly again with other knobs. Raises TextsDropped if its texts are no longer stored."""
        scope = call.scope(request)
        overrides = read_knobs("overrides", request.overrides)
        receipt = await self._receipt(scope, "receipt_id", request.receipt_id, call)
        replayed = await self._parts.replayer.replay(scope, receipt, overrides)
        return pb.ReplayAssemblyResponse(
            assembly=assemblies.write_assembly(replayed.assembly),
            diff=explanations.write_difference(replayed.difference),
        )

    async def diff_assemblies(self, request: pb.DiffAssembliesRequest, call: Call) -> pb.DiffAssembliesResponse:
        """Return the differences between two receipts."""
        scope = call.scope(request)
        before = await self._receipt(scope, "before_receipt_id", request.before_receipt_id, call)
        after = await self._receipt(scope, "after_receipt_id", request.after_receipt_id, call)
        return pb.DiffAssembliesResponse(diff=explanations.write_difference(compare(before.details, after.details)))

    async def list_assemblies(self, request: pb.ListAssembliesRequest, call: Call) -> pb.ListAssembliesResponse:
        """Return a page of the owner's receipts that the caller may see, newest first."""
        scope = call.scope(request)
        thread_id = read_id("thread_id", request.thread_id, is_optional=True)
        listing = ListCall("ListAssemblies", (scope, thread_id), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._receipts.page(
            scope, thread_id=thread_id, reach=call.identity.reach, limit=page.limit, **page.starting("before")
        )
        written, token = listing.cut(
            rows, page, lambda row: (row.created_at, row.receipt_id), explanations.write_receipt_head
        )
        return pb.ListAssembliesResponse(receipts=written, next_page_token=token)

    async def list_threads(self, request: pb.ListThreadsRequest, call: Call) -> pb.ListThreadsResponse:
        """Return a page of the owner's threads, newest turn first."""
        scope = call.scope(request)
        listing = ListCall("ListThreads", (scope,), (datetime, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._threads.page(scope, limit=page.limit, **page.starting("before"))
        written, token = listing.cut(rows, page, lambda row: (row.last_turn_at, row.thread_id), _write_thread)
        return pb.ListThreadsResponse(threads=written, next_page_token=token)

    async def list_turns(self, request: pb.ListTurnsRequest, call: Call) -> pb.ListTurnsResponse:
        """Return a page of the thread's turns in their original wording, oldest first."""
        scope = call.scope(request)
        thread_id = read_id("thread_id", request.thread_id)
        listing = ListCall("ListTurns", (scope, thread_id), (Int4,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._threads.turns(scope, thread_id, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda row: (row.position,), turns.write_turn)
        return pb.ListTurnsResponse(turns=written, next_page_token=token)

    async def notify_retained(self, request: pb.NotifyRetainedRequest, call: Call) -> pb.NotifyRetainedResponse:
        """Queue a compile of the owner's scope; a failure of the store is an outcome, not an error."""
        scope = call.scope(request)
        outcome = await self._memories.notify_retained(scope)
        return pb.NotifyRetainedResponse(outcome=pb.NotifyOutcome.Value(f"NOTIFY_OUTCOME_{outcome}"))

    async def _receipt(self, scope: Scope, field: str, receipt_id: str, call: Call) -> StoredReceipt:
        return await self._receipts.get(scope, read_uuid(field, receipt_id), reach=call.identity.reach)


def _question(request: pb.AssembleContextRequest, identity: Identity) -> TurnRequest:
    message = read_text("message", request.message, max_chars=MAX_MESSAGE_CHARS)
    if not request.model_id:
        raise InvalidArgument("model_id", "is empty", "name the model that will answer")
    reserve = request.response_reserve_tokens if request.HasField("response_reserve_tokens") else None
    return TurnRequest(
        agent_id=resolve_agent(identity, request.agent_id),
        thread_id=read_id("thread_id", request.thread_id, is_optional=True),
        space_id=resolve_space(identity, request.space_id),
        message=message,
        client_turn_id=read_id("client_turn_id", request.client_turn_id, is_optional=True),
        model_id=read_id("model_id", request.model_id),
        context_window_tokens=read_int(
            "context_window_tokens", request.context_window_tokens, least=0, most=MAX_TOKENS
        ),
        system=_spent("system", request.system) if request.HasField("system") else None,
        tools=_spent("tools", request.tools) if request.HasField("tools") else None,
        response_reserve_tokens=None
        if reserve is None
        else read_int("response_reserve_tokens", reserve, least=0, most=MAX_TOKENS),
        overrides=read_knobs("overrides", request.overrides) if request.HasField("overrides") else {},
        seen_item_ids=frozenset(read_item_ids("seen_item_ids", request.seen_item_ids)),
        as_of=read_time("as_of_time", request.as_of_time) if request.HasField("as_of_time") else None,
        known_at=read_time("known_at_time", request.known_at_time) if request.HasField("known_at_time") else None,
        time_zone=read_zone("time_zone", request.time_zone),
    )


def _write_thread(row: ThreadHead) -> pb.Thread:
    return pb.Thread(
        thread_id=row.thread_id,
        title=row.title,
        turn_count=row.turn_count,
        last_turn_time=write_time(row.last_turn_at),
    )


def _spent(field: str, spent: pb.Spent) -> str | int:
    if spent.WhichOneof("spent") == "text":
        return read_text(f"{field}.text", spent.text, max_chars=MAX_PROMPT_CHARS)
    return read_int(f"{field}.tokens", spent.tokens, least=0, most=MAX_TOKENS)
