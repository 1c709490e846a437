"""Assembles a turn's context: queries the sources, fits their items, records a receipt. All decisions are in `sidecar/turn`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import numpy as np

from models.tokens.meters import Meter
from models.tokens.prices import Model
from sidecar.context.fan_out import FanOut, FanOutQuery, Findings
from sidecar.context.fence_keys import Fence, FenceKeys
from sidecar.context.fitting_reserve import Reserve
from sidecar.context.ports import SourceQuery
from sidecar.context.profile_cache import InForce, ProfileCache
from sidecar.context.query_embedding import QueryReader, Vector
from sidecar.context.receipt_writer import ReceiptWriter, new_receipt_id
from sidecar.context.token_counting import Metered, TokenMeters, history
from sidecar.runtime.errors import RequiredSourceFailed
from sidecar.runtime.loop_fairness import OnePerIteration
from sidecar.telemetry import calls
from sidecar.turn.fitting.fitting import Fitted, Fitting
from sidecar.turn.fitting.history import MESSAGE_TOKENS
from sidecar.turn.fitting.pool import PromptTokens, TokenPool, pool_of
from sidecar.turn.items import Decision, Source, SourceReport, Status
from sidecar.turn.message.reading import MessageReading, Reading
from sidecar.turn.profile import Profile
from sidecar.turn.ranking import remote_evidence
from sidecar.turn.receipt import receipt
from sidecar.turn.usable import decide
from store.accounting.receipts import NewReceipt
from store.content.recalling import numbers
from store.scope import Scope

log = logging.getLogger(__name__)

_LONG_CHARS, _MANY_ITEMS = 100_000, 1_000  # counting or fitting more than this would block other turns; use a thread
_ANSWERED = frozenset({Status.OK, Status.EMPTY, Status.SKIPPED})


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One validated turn request. A prompt part is a text, a token count, or None (the profile's count is used).

    Memories are ranked as of `as_of`, with the knowledge of `known_at`; None is now. Days are those of `time_zone`.
    """

    agent_id: str
    thread_id: str
    space_id: str
    message: str
    client_turn_id: str
    model_id: str
    context_window_tokens: int = 0
    system: str | int | None = None
    tools: str | int | None = None
    response_reserve_tokens: int | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    seen_item_ids: frozenset[str] = frozenset()
    as_of: datetime | None = None
    known_at: datetime | None = None
    time_zone: tzinfo = UTC

    @property
    def fields(self) -> dict[str, Any]:
        """The request fields that the receipt records besides the message."""
        moments = {"as_of": self.as_of, "known_at": self.known_at}
        given = {name: moment.isoformat() for name, moment in moments.items() if moment}
        zone = {} if self.time_zone is UTC else {"time_zone": str(self.time_zone)}
        return (
            given
            | zone
            | {
                "model_id": self.model_id,
                "agent_id": self.agent_id,
                "thread_id": self.thread_id,
                "space_id": self.space_id,
                "client_turn_id": self.client_turn_id,
            }
        )


@dataclass(frozen=True, slots=True)
class Assembly:
    """The context for the model, and the id of the receipt that records its decisions (None for a replay)."""

    fitted: Fitted
    reports: tuple[SourceReport, ...]
    profile_version: str
    is_degraded: bool
    model: Model | None = None
    receipt_id: UUID | None = None
    is_conversation_missing: bool = False
    reading: MessageReading | None = None


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of a turn: wall time for stored values, and a monotonic clock in seconds for deadlines."""

    now: Callable[[], datetime]
    steady_s: Callable[[], float]


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """The values that a turn looks up before it queries the sources."""

    in_force: InForce
    profile: Profile
    metered: Metered
    spent: PromptTokens
    window_tokens: int
    pool: TokenPool
    fence: Fence


@dataclass(frozen=True, slots=True)
class Recorded:
    """An assembly and its inputs, held until its receipt is written."""

    assembly: Assembly
    question: TurnRequest
    fitting: Fitting
    fence_key_id: str
    meter: Meter

    def written(self) -> tuple[dict[str, Any], dict[bytes, str]]:
        """Return the receipt's details, and the texts they reference, by hash."""
        inputs = receipt.ReceiptInputs(
            message=self.question.message,
            fields=self.question.fields,
            profile_version=self.assembly.profile_version,
            fence_key_id=self.fence_key_id,
            meter_ratio=self.meter.ratio,
        )
        return receipt.write(inputs, self.fitting, self.assembly.fitted)


@dataclass(frozen=True, slots=True)
class Lookups:
    """The lookups that a turn does before it queries the sources."""

    profiles: ProfileCache
    meters: TokenMeters
    fences: FenceKeys


class TurnSlot(Protocol):
    """A slot of a turn that may query the database now."""

    def leave(self) -> None:
        """Release the slot to the next turn. Idempotent."""


class TurnSlots(Protocol):
    """Limits how many turns query the database at the same time; the others queue."""

    async def enter(self, tenant_id: UUID, caller: Hashable, *, within_s: float) -> TurnSlot:
        """Wait for a slot. Raises Overloaded if the turn could not finish within `within_s` seconds."""


class Assembler:
    """Assembles turns. It holds only collaborators, no state of a turn."""

    def __init__(
        self,
        *,
        lookups: Lookups,
        slots: TurnSlots,
        query_reader: QueryReader,
        fan_out: FanOut,
        receipt_writer: ReceiptWriter,
        clocks: Clocks,
    ) -> None:
        self._profiles = lookups.profiles
        self._meters = lookups.meters
        self._fences = lookups.fences
        self._slots = slots
        self._query_reader = query_reader
        self._fan_out = fan_out
        self._receipt_writer = receipt_writer
        self._clocks = clocks
        # Several turns fitted in one iteration of the loop would delay the refusal of other turns.
        self._one_per_iteration = OnePerIteration()
        self._reserve = Reserve()

    async def assemble(self, question: TurnRequest, scope: Scope, *, due_s: float) -> Assembly:
        """Return the turn's context, no later than `due_s` on the monotonic clock.

        Raises InvalidKnob, UnknownModel, PoolTooSmall, RequiredSourceFailed, Overloaded.
        """
        began_s = self._clocks.steady_s()
        setup = await self._set_up(question, scope)
        asked_s = self._clocks.steady_s()
        reserve = partial(self._reserve.seconds, max(0.0, due_s - asked_s))
        query = _unread(question, setup.in_force.template_id, self._clocks.now().astimezone(question.time_zone))
        in_force, pool_tokens = setup.in_force.label, setup.pool.pool_tokens
        fan_out_query = FanOutQuery(query, scope, setup.profile, in_force, pool_tokens, due_s, reserve)
        findings, reading = await self._query_sources(fan_out_query)
        answered_s = self._clocks.steady_s()
        _check_required(findings, setup.profile)
        fitting, fitted = await self._fitted(findings, reading, setup, question.seen_item_ids)
        _log_unusable(fitted)
        assembly = Assembly(
            fitted=fitted,
            reports=fitting.reports,
            profile_version=in_force,
            is_degraded=any(report.status not in _ANSWERED or report.is_partial for report in findings.reports),
            model=setup.metered.model,
            receipt_id=new_receipt_id(self._clocks.now()),
            is_conversation_missing=bool(findings.missing),
            reading=fitting.reading,
        )
        recorded = Recorded(assembly, question, fitting, setup.fence.key_id, setup.metered.meter)
        self._record(recorded, scope, (began_s, asked_s, answered_s))
        began_fitting_s = min(answered_s, due_s - reserve(findings.item_count))
        self._reserve.took(self._clocks.steady_s() - began_fitting_s, items=findings.item_count)
        return assembly

    async def _set_up(self, question: TurnRequest, scope: Scope) -> TurnSetup:
        in_force = await self._profiles.in_force(scope.tenant_id, question.agent_id, question.space_id)
        profile = in_force.with_overrides(question.overrides)
        metered = await self._meters.of(scope, question.model_id, question.context_window_tokens)
        spent = await _spent(question, profile, metered.meter)
        window_tokens = metered.window_tokens(spent.response_reserve_tokens)
        pool = pool_of(profile, window_tokens=window_tokens, spent=spent, meter=metered.meter)
        fence = await self._fences.of(scope, question.thread_id)
        return TurnSetup(in_force, profile, metered, spent, window_tokens, pool, fence)

    async def _query_sources(self, fan_out_query: FanOutQuery) -> tuple[Findings, Reading | None]:
        """Wait for a slot, then return the sources' findings and the parsed message."""
        within_s = fan_out_query.due_s - fan_out_query.reserve_s(_MANY_ITEMS) - self._clocks.steady_s()
        slot = await self._slots.enter(fan_out_query.scope.tenant_id, fan_out_query.scope.owner_id, within_s=within_s)
        conversation = self._fan_out.read(fan_out_query)
        try:
            query = await self._understood(fan_out_query)
            findings = await self._fan_out.ask(replace(fan_out_query, query=query), conversation, done_here=slot.leave)
        finally:
            slot.leave()
            if conversation is not None:
                conversation.cancel()
        return await self._with_evidence(findings, query, fan_out_query), query.reading

    async def _with_evidence(self, findings: Findings, query: SourceQuery, fan_out_query: FanOutQuery) -> Findings:
        """Return the findings with evidence added for remote texts: from their words, and their vectors if these come in time."""
        if query.reading is None or not (texts := remote_evidence.texts_to_embed(findings.reports, query.reading)):
            return findings
        question, vectors = None, dict[str, Vector]()
        if query.meaning is not None:
            due_s = fan_out_query.due_s - fan_out_query.reserve_s(findings.item_count)
            vectors = await self._query_reader.vectors_of(texts, due_s=due_s)
            parts = np.array([numbers(vector) for vector in query.meaning.vectors], np.float64)
            probe = np.array(numbers(query.meaning.probe), np.float64) if query.meaning.probe else None
            question = remote_evidence.QuestionVectors(parts, probe)
        reports = remote_evidence.with_evidence(
            findings.reports, query.reading, question, vectors, zone=query.now.tzinfo
        )
        return replace(findings, reports=reports)

    async def _understood(self, fan_out_query: FanOutQuery) -> SourceQuery:
        """Return the query with the parsed message, and its vectors if the embedder answers in time."""
        query, reader = fan_out_query.query, self._query_reader
        read = await reader.understand(
            query.text,
            fan_out_query.scope,
            query.thread_id,
            now=query.now,
            due_s=fan_out_query.last_s,
            client_turn_id=query.client_turn_id,
        )
        return replace(
            query,
            words=read.reading.words,
            reading=read.reading,
            meaning=read.meaning,
            without_meaning=read.without_meaning,
        )

    async def _fitted(
        self, findings: Findings, reading: Reading | None, setup: TurnSetup, seen_item_ids: frozenset[str]
    ) -> tuple[Fitting, Fitted]:
        """Return the fitting input with the findings as judged (if the message was read), and the fitted turn."""

        def fit_findings() -> tuple[Fitting, Fitted]:
            draft = Fitting(
                profile=setup.profile,
                window_tokens=setup.window_tokens,
                spent=setup.spent,
                seen_item_ids=seen_item_ids,
                fence_tag=setup.fence.tag,
                reports=findings.reports,
                history=history(findings.history, setup.metered.meter),
                summary=findings.summary,
            )
            return decide(draft, reading, setup.metered.meter)

        if _is_long(findings):
            return await asyncio.to_thread(fit_findings)
        async with self._one_per_iteration:
            return fit_findings()

    def _record(self, recorded: Recorded, scope: Scope, moments_s: tuple[float, float, float]) -> None:
        receipt_id = recorded.assembly.receipt_id
        assert receipt_id is not None, "only a replay has no receipt id"
        began_s, asked_s, answered_s = moments_s
        now, duration_ms = self._clocks.now(), (self._clocks.steady_s() - began_s) * 1000
        call = calls.current()

        def make() -> NewReceipt:
            details, texts = recorded.written()
            details["timings"] = {
                "before_ms": (asked_s - began_s) * 1000,
                "asking_ms": (answered_s - asked_s) * 1000,
            }
            details["trace_id"] = call.trace_id if call else ""
            return NewReceipt(
                scope=scope,
                receipt_id=receipt_id,
                agent_id=recorded.question.agent_id,
                thread_id=recorded.question.thread_id,
                model_id=recorded.question.model_id,
                is_degraded=recorded.assembly.is_degraded,
                duration_ms=duration_ms,
                details=details,
                texts=texts,
                created_at=now,
            )

        self._receipt_writer.record(scope, receipt_id, make)


def _unread(question: TurnRequest, template_id: str, now: datetime) -> SourceQuery:
    """Return the request as a source query whose message is not yet parsed."""
    return SourceQuery(
        text=question.message,
        words=(),
        thread_id=question.thread_id,
        agent_id=question.agent_id,
        template_id=template_id,
        space_id=question.space_id,
        client_turn_id=question.client_turn_id,
        now=now,
        as_of=question.as_of,
        known_at=question.known_at,
    )


async def _spent(question: TurnRequest, profile: Profile, meter: Meter) -> PromptTokens:
    """Return the prompt's tokens without context: texts are counted, and missing parts get the profile's counts."""
    parts = (question.system, question.tools, question.message)
    texts = [part for part in parts if isinstance(part, str)]
    is_long = sum(map(len, texts)) > _LONG_CHARS
    counted = iter(await asyncio.to_thread(meter.count, texts) if is_long else meter.count(texts))
    system, tools, message = (next(counted) if isinstance(part, str) else part for part in parts)
    reserve = question.response_reserve_tokens
    return PromptTokens(
        system_tokens=profile.system_prompt_tokens if system is None else system,
        tool_tokens=profile.tool_tokens if tools is None else tools,
        response_reserve_tokens=profile.response_reserve_tokens if reserve is None else reserve,
        message_tokens=(message or 0) + MESSAGE_TOKENS,
    )


def _log_unusable(fitted: Fitted) -> None:
    """Log the number of unusable items and turns, if there are any: each points to a bug."""
    unusable = Decision.UNUSABLE
    reasons = [fate.reason for fate in fitted.fates if fate.decision is unusable]
    reasons += [fate.reason for fate in fitted.turn_fates if fate.decision is unusable]
    if reasons:
        log.error("items_unusable", extra={"count": len(reasons), "error": reasons[0]})


def _is_long(findings: Findings) -> bool:
    """Return whether the findings are large enough to fit in a thread rather than on the event loop."""
    sizes = [len(item.text) for report in findings.reports for item in report.items]
    results = (part.get("content", "") for turn in findings.history for part in turn.parts)
    chars = sum(sizes) + sum(len(turn.text) for turn in findings.history) + sum(map(len, results))
    return len(sizes) > _MANY_ITEMS or chars > _LONG_CHARS


def _check_required(findings: Findings, profile: Profile) -> None:
    """Raise RequiredSourceFailed if a required source did not answer. The thread needs only its conversation."""
    for report in findings.reports:
        has_failed = report.status not in _ANSWERED and report.status is not Status.STALE
        if report.source is Source.THREAD:
            has_failed = bool(findings.missing)
        if has_failed and profile.knobs(report.source).required:
            raise RequiredSourceFailed(report.source)
