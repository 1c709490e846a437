"""Sends a query to every enabled source at once and returns a report from each.

A source's failure becomes a report and never leaves this module (one of the broad catches in `docs/architecture.md`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from models.transport.endpoint import Breaker, BreakerPolicy, BreakerState
from sidecar.context.answer_cache import AnswerCache, answer_key
from sidecar.context.answer_validation import check
from sidecar.context.pinned_items import read_beside, read_items, with_pinned
from sidecar.context.ports import (
    BackendError,
    ContextSource,
    ConversationReader,
    PinnedReader,
    SourceAnswer,
    SourceLimits,
    SourceQuery,
    SourceSkipped,
)
from sidecar.context.source_call import SourceCall
from sidecar.turn.items import HistorySummary, Item, Source, SourceReport, Status
from sidecar.turn.profile import Profile
from store.content.threads import StoredTurn
from store.errors import DatabaseBusy
from store.scope import Scope

log = logging.getLogger(__name__)

_Asked = tuple[asyncio.Task[SourceReport], SourceCall]
_READ_PAUSES_S = (0.0, 0.05, 0.2)
_UNWIND_S = 0.005
# One database serves these sources: probing it is cheap, and a degraded turn is expensive.
_ON_DATABASE = frozenset(Source) - {Source.TOOLS}
_DATABASE_BREAKER = BreakerPolicy(open_s=0.25, longest_open_s=1.0)
_PINNED_S = 0.1  # the time to read pinned memories while the breaker of their source is open


@dataclass(frozen=True, slots=True)
class Findings:
    """The sources' reports and the conversation. `missing` says why the conversation could not be read; empty if it was."""

    reports: tuple[SourceReport, ...]
    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None
    missing: str = ""

    @property
    def item_count(self) -> int:
        """The number of items that the sources returned."""
        return sum(len(report.items) for report in self.reports)


@dataclass(frozen=True, slots=True)
class Recent:
    """The thread's recent turns and the report of reading them."""

    report: SourceReport
    answer: SourceAnswer = field(default_factory=SourceAnswer)


@dataclass(frozen=True, slots=True)
class FanOutQuery:
    """A query with its scope and profile, and the time at which all answers are due (seconds on the fan-out's clock).

    `reserve_s` returns the seconds before `due_s` by which the sources must have answered, given the number of items found: the
    items must still be fitted.
    """

    query: SourceQuery
    scope: Scope
    profile: Profile
    profile_version: str
    window_tokens: int
    due_s: float
    reserve_s: Callable[[int], float] = lambda items: 0.0

    @property
    def last_s(self) -> float:
        """The latest time at which an answer counts if no other items were found."""
        return self.due_s - self.reserve_s(0)


class FanOut:
    """Queries the sources concurrently, each with its own deadline and circuit breaker.

    `local` returns the sources that only the built-in implementation serves for a tenant.
    """

    def __init__(
        self,
        sources: Mapping[Source, ContextSource],
        *,
        clock: Callable[[], float],
        local: Callable[[UUID], Collection[Source]] = lambda tenant_id: (),
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._local = local
        self._breakers = {source: Breaker(_DATABASE_BREAKER if source in _ON_DATABASE else None) for source in sources}
        self._failing: set[Source] = set()
        self._kept = AnswerCache(clock)
        self._unwinding: set[asyncio.Task[SourceReport]] = set()

    def resting(self) -> list[str]:
        """Return the sources whose circuit breaker is open."""
        now_s = self._clock()
        return [source.value for source, breaker in self._breakers.items() if breaker.state(now_s) is BreakerState.OPEN]

    def drop_answers(self, whose: Scope | UUID | None) -> None:
        """Drop the cached answers of an owner after a forget, or of a tenant after a decision; with None, drop all."""
        self._kept.forget(whose)

    def read(self, request: FanOutQuery) -> asyncio.Task[Recent] | None:
        """Start reading the thread's recent turns, due with the answers; return None if there is no thread to read."""
        source = self._sources.get(Source.THREAD)
        is_on = request.profile.knobs(Source.THREAD).enabled and bool(request.query.thread_id)
        if not is_on or not isinstance(source, ConversationReader):
            return None
        call = SourceCall(Source.THREAD, source.recent, max(0.0, request.last_s - self._clock()), request.last_s)
        return asyncio.create_task(self._recent_turns(call, request))

    async def ask(
        self,
        request: FanOutQuery,
        conversation: asyncio.Task[Recent] | None = None,
        *,
        done_here: Callable[[], None] = lambda: None,
    ) -> Findings:
        """Return every source's report, in the order of `Source`, at most a few milliseconds after `due_s`.

        `conversation` is the task from `read`. `done_here` is called once no call to a built-in source is running.
        """
        local = self._local(request.scope.tenant_id)
        begun = (self._begin(source, request, is_local=source in local) for source in Source)
        calls = [call for call in begun if call is not None]
        tasks = {asyncio.create_task(self._report(call, request)): call for call in calls}
        pinned, pinned_due_s = self._pinned(tasks, request)
        _when_done([task for task, call in tasks.items() if call.is_local], done_here)
        try:
            await self._wait(tasks, request)
            if conversation is not None:
                await asyncio.wait([conversation], timeout=max(0.0, request.last_s + _UNWIND_S - self._clock()))
            if pinned is not None:
                await asyncio.wait([pinned], timeout=max(0.0, pinned_due_s - self._clock()))
        finally:
            self._abandon(task for task in tasks if not task.done())
            if pinned is not None:
                pinned.cancel()
        for task, call in tasks.items():
            if not task.done():  # it may ignore its cancellation and never finish
                is_late = call.had_fair_time(self._clock())
                self._settle(call, SourceReport(call.source, Status.TIMEOUT) if is_late else None)
        answered = {call.source: (task, call) for task, call in tasks.items()}
        reports = [self._collect(source, answered.get(source), request) for source in Source]
        if (items := read_items(pinned)) is not None:
            reports = [with_pinned(report, items) if report.source is Source.MEMORY else report for report in reports]
        findings = Findings(tuple(reports))
        if conversation is None:
            return findings
        is_read = conversation.done() and not conversation.cancelled()
        return _with_conversation(findings, conversation.result() if is_read else Recent(_UNREAD))

    def _pinned(
        self, calls: Mapping[asyncio.Task[SourceReport], SourceCall], request: FanOutQuery
    ) -> tuple[asyncio.Task[tuple[Item, ...] | None] | None, float]:
        """Return a task that reads the pinned memories if their search is late or fails, and the time at which it is due.

        The task is None if memory is off.
        """
        reader, knobs = self._sources.get(Source.MEMORY), request.profile.knobs(Source.MEMORY)
        if not knobs.enabled or not isinstance(reader, PinnedReader):
            return None, 0.0
        of_memory = ((task, call) for task, call in calls.items() if call.source is Source.MEMORY)
        search, call = next(of_memory, (None, None))
        time_s = call.time_s if call else min(knobs.deadline_ms / 1000, _PINNED_S)
        reading = read_beside(reader, request.scope, search, lambda: call is None or call.has_begun, time_s)
        return asyncio.create_task(reading), min(request.last_s, self._clock() + time_s)

    async def _recent_turns(self, call: SourceCall, request: FanOutQuery) -> Recent:
        """Return the recent turns. A failed read is retried several times, since several idle connections may be lost at once."""
        began, attempts = self._clock(), 1
        try:
            report = await self._attempt(call, request)
            for pause_s in _READ_PAUSES_S:
                if report.status is not Status.ERROR or self._clock() + pause_s >= request.last_s:
                    break
                await asyncio.sleep(pause_s)
                report, attempts = await self._attempt(call, request), attempts + 1
        except BackendError as error:
            report = SourceReport(call.source, error.status, reason=str(error))
        return Recent(replace(report, latency_ms=(self._clock() - began) * 1000, attempts=attempts), call.answer)

    def _begin(self, source: Source, request: FanOutQuery, *, is_local: bool) -> SourceCall | None:
        """Return the call to make to the source; None if it is disabled or its breaker is open."""
        knobs = request.profile.knobs(source)
        if source not in self._sources or not knobs.enabled:
            return None
        now_s = self._clock()
        permit = self._breakers[source].admit(now_s)
        if permit is None:
            return None
        find, left_s = self._sources[source].find, max(0.0, request.last_s - now_s)
        time_s = min(knobs.deadline_ms / 1000, left_s)
        due_s = now_s + (left_s if is_local else time_s)
        return SourceCall(source, find, time_s, due_s, permit, is_local=is_local, has_begun=not is_local, began_s=now_s)

    async def _wait(self, calls: Mapping[asyncio.Task[SourceReport], SourceCall], request: FanOutQuery) -> None:
        """Return once every source has answered or timed out, or once the findings must be fitted.

        A source that ignores its cancellation does not delay the return.
        """
        waiting = set(calls)
        while waiting:
            last_s = request.due_s - request.reserve_s(sum(_item_count(task) for task in calls))
            until_s = min(last_s, min(calls[task].due_s for task in waiting) + _UNWIND_S)
            left_s = max(0.0, until_s - self._clock())
            done, _ = await asyncio.wait(waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            now_s = self._clock()
            waiting = {task for task in waiting - done if min(last_s, calls[task].due_s + _UNWIND_S) > now_s}

    def _abandon(self, tasks: Iterable[asyncio.Task[SourceReport]]) -> None:
        """Cancel the running tasks without awaiting them: a source that ignores cancellation must not delay the turn."""
        for task in tasks:
            task.cancel()
            self._unwinding.add(task)
            task.add_done_callback(self._unwinding.discard)

    def _collect(self, source: Source, asked: _Asked | None, request: FanOutQuery) -> SourceReport:
        if asked is None and source in self._sources and request.profile.knobs(source).enabled:
            refused = SourceReport(source, Status.BREAKER_OPEN, reason="its circuit breaker is open after failures")
            return self._kept_answer_or(refused, request)
        if asked is None:
            why = "off in the profile" if source in self._sources else "no backend is set up"
            return SourceReport(source, Status.SKIPPED, reason=why)
        task, call = asked
        if task.done() and not task.cancelled():
            return task.result()
        late = SourceReport(source, Status.TIMEOUT, reason=_LATE if call.has_begun else _UNBEGUN, attempts=1)
        return self._kept_answer_or(late, request)

    async def _report(self, call: SourceCall, request: FanOutQuery) -> SourceReport:
        began, source = self._clock(), call.source
        report = outcome = None
        try:
            report = outcome = await self._attempt(call, request)
        except BackendError as error:
            # This is one tenant's backend, with its own breaker; the source may work for other tenants.
            failure = {"backend": error.backend, "status": error.status.value, "code": error.code}
            log.warning("backend_failed", extra={"source": source.value, **failure})
            outcome = SourceReport(source, error.status, reason=str(error))
        finally:
            self._settle(call, report)
        timed = replace(outcome, latency_ms=(self._clock() - began) * 1000, attempts=1)
        if timed.status in (Status.OK, Status.EMPTY) and not timed.is_partial:
            self._kept.keep(
                timed, answer_key(source, request.scope, request.profile_version, request.query), began_s=began
            )
        return self._kept_answer_or(timed, request) if timed.status in _FAILED else timed

    def _kept_answer_or(self, failed: SourceReport, request: FanOutQuery) -> SourceReport:
        """Return the cached answer to the same question if there is one, otherwise the failure."""
        top_k = request.profile.knobs(failed.source).top_k
        return self._kept.instead_of(
            failed, answer_key(failed.source, request.scope, request.profile_version, request.query), top_k=top_k
        )

    def _settle(self, call: SourceCall, report: SourceReport | None) -> None:
        """Report the outcome to the breaker, once. A short deadline or a cancelled call must not open it for other callers."""
        if call.is_settled or call.permit is None:
            return
        call.is_settled = True
        breaker, now_s = self._breakers[call.source], self._clock()
        if report is None or report.status is Status.SHED:
            breaker.released(call.permit)
        elif report.status not in (Status.TIMEOUT, Status.ERROR):
            breaker.succeeded(call.permit, now_s)
            self._recovered(report)
        elif call.has_fair_time and (call.has_begun or report.status is Status.ERROR):
            breaker.failed(call.permit, now_s, is_slow=report.status is Status.TIMEOUT)
            self._failing.add(call.source)
        else:
            breaker.released(call.permit)

    def _recovered(self, report: SourceReport) -> None:
        """Close the breakers of all database sources when one of them answers again after failures.

        If only one source fails while the others answer (because of a locked table, say), its breaker stays open.
        """
        if report.source in self._failing & _ON_DATABASE and report.status is Status.OK and not report.is_partial:
            for source in _ON_DATABASE & self._breakers.keys():
                self._breakers[source].close()
        self._failing.discard(report.source)

    async def _attempt(self, call: SourceCall, request: FanOutQuery) -> SourceReport:
        source, knobs = call.source, request.profile.knobs(call.source)
        limits = SourceLimits(
            knobs.top_k,
            request.profile.lead_lines,
            request.window_tokens,
            request.profile.history_turns,
            call.time_s,
            lambda: call.begin(self._clock()),
            min(request.window_tokens, request.profile.recall_tokens or request.window_tokens),
        )
        try:
            async with asyncio.timeout(max(0.0, call.due_s - self._clock())) as timeout:
                call.timeout = timeout
                answer = await call.find(request.query, request.scope, limits)
            answer = check(answer, source, top_k=knobs.top_k)
        except SourceSkipped as skipped:
            return SourceReport(source, Status.SKIPPED, reason=str(skipped))
        except TimeoutError:
            return SourceReport(source, Status.TIMEOUT, reason=_LATE if call.has_begun else _UNBEGUN)
        except DatabaseBusy:
            return SourceReport(source, Status.SHED, reason="too many queries are waiting for the database")
        except BackendError:
            raise
        except Exception as error:  # a source's failure becomes a report
            log.warning("source_failed", extra={"source": source.value, "error": type(error).__name__}, exc_info=error)
            return SourceReport(source, Status.ERROR, reason=_reason_of(error))
        finally:
            call.timeout = None
        call.answer = answer
        status = Status.OK if answer.items or answer.history else Status.EMPTY
        reason = "; ".join((*answer.failures, *answer.notes))
        partly = bool(answer.failures)
        return SourceReport(
            source,
            status,
            answer.items,
            reason,
            is_partial=partly,
            candidates=answer.candidates,
            reranked=answer.reranked,
        )


_FAILED = frozenset({Status.TIMEOUT, Status.ERROR, Status.SHED, Status.BREAKER_OPEN})
_LATE = "no answer by its deadline"
_UNBEGUN = "no connection by the turn's deadline"
_UNREAD = SourceReport(Source.THREAD, Status.TIMEOUT, reason=_LATE, attempts=1)


def _when_done(tasks: Sequence[asyncio.Task[SourceReport]], call: Callable[[], None]) -> None:
    """Call `call` once all tasks are done; immediately if there are none."""
    running = len(tasks)

    def on_done(_: asyncio.Task[SourceReport]) -> None:
        nonlocal running
        running -= 1
        if not running:
            call()

    for task in tasks:
        task.add_done_callback(on_done)
    if not tasks:
        call()


def _item_count(task: asyncio.Task[SourceReport]) -> int:
    """Return the number of items that a source has returned; 0 while it is running."""
    return len(task.result().items) if task.done() and not task.cancelled() else 0


def _with_conversation(findings: Findings, conversation: Recent) -> Findings:
    """Return the findings with the conversation added; the thread's report covers both its search and its recent turns."""
    recent, answer = conversation.report, conversation.answer
    searched = next(report for report in findings.reports if report.source is Source.THREAD)
    latency_ms = max(searched.latency_ms, recent.latency_ms)
    if recent.status in _FAILED:
        reason = "; ".join(filter(None, (f"the conversation is missing: {recent.reason}", searched.reason)))
        merged = replace(searched, status=recent.status, reason=reason, latency_ms=latency_ms, attempts=1)
    elif searched.status in _FAILED:
        reason = f"its older turns were not searched: {searched.reason}"
        merged = replace(searched, reason=reason, latency_ms=latency_ms)
    else:
        status = Status.OK if searched.items else recent.status
        reason = "; ".join(filter(None, (recent.reason, searched.reason)))
        partly = searched.is_partial or recent.is_partial
        merged = replace(searched, status=status, reason=reason, latency_ms=latency_ms, is_partial=partly)
    reports = tuple(merged if report.source is Source.THREAD else report for report in findings.reports)
    missing = recent.reason if recent.status in _FAILED else ""
    return Findings(reports, answer.history, answer.summary, missing)


def _reason_of(error: Exception) -> str:
    """Return a failure's text for callers: the messages of our own errors, only the type name of others."""
    is_ours = type(error).__module__.partition(".")[0] in {"store", "models", "sidecar"}
    return str(error) if is_ours else f"it failed with {type(error).__name__}"
