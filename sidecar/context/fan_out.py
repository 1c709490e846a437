"""Fans a query out to every enabled source at once and returns a report of each.

A source's failure becomes a report and never leaves this module (one of the broad catches in `docs/architecture.md`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from models.transport.endpoint import Breaker, BreakerPolicy, BreakerState
from sidecar.context.answer_validation import check
from sidecar.context.kept_answers import KeptAnswers, KeptQuestion
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

_READ_PAUSES_S = (0.0, 0.05, 0.2)
_UNWIND_S = 0.005
# One database serves these: probing it is cheap and a degraded turn is expensive.
_ON_DATABASE = frozenset(Source) - {Source.TOOLS}
_DATABASE_BREAKER = BreakerPolicy(open_s=0.25, longest_open_s=1.0)
_APART_S = 0.1  # for pinned memories while the breaker of their source is open


@dataclass(frozen=True, slots=True)
class Findings:
    """The sources' reports and the conversation. `missing` says why the conversation could not be read, if so."""

    reports: tuple[SourceReport, ...]
    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None
    missing: str = ""

    @property
    def item_count(self) -> int:
        """Return how many items the sources found."""
        return sum(len(report.items) for report in self.reports)


@dataclass(frozen=True, slots=True)
class Recent:
    """The thread's recent turns and the report of reading them."""

    report: SourceReport
    answer: SourceAnswer = field(default_factory=SourceAnswer)


@dataclass(frozen=True, slots=True)
class FanOutQuery:
    """A query with its scope and profile, and when all answers are due (seconds on the fan-out's clock).

    `reserve_s` returns, for a number of items found, how many seconds before `due_s` the sources must have answered: the
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
        """The latest time at which an answer counts, if nothing else was found."""
        return self.due_s - self.reserve_s(0)


class FanOut:
    """Asks the sources concurrently, each with its own deadline and circuit breaker.

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
        self._kept = KeptAnswers(clock)
        self._unwinding: set[asyncio.Task[SourceReport]] = set()

    def resting(self) -> list[str]:
        """Return the sources whose circuit breaker is open."""
        now_s = self._clock()
        return [source.value for source, one in self._breakers.items() if one.state(now_s) is BreakerState.OPEN]

    def drop_answers(self, scope: Scope | None) -> None:
        """Drop the cached answers of an owner after a forget; with None, drop all."""
        self._kept.forget(scope)

    def read(self, asking: FanOutQuery) -> asyncio.Task[Recent] | None:
        """Start reading the thread's recent turns, due with the answers; return None if there is no thread to read."""
        source = self._sources.get(Source.THREAD)
        is_on = asking.profile.knobs(Source.THREAD).enabled and bool(asking.query.thread_id)
        if not is_on or not isinstance(source, ConversationReader):
            return None
        call = SourceCall(Source.THREAD, source.recent, max(0.0, asking.last_s - self._clock()), asking.last_s)
        return asyncio.create_task(self._recent_turns(call, asking))

    async def ask(
        self,
        asking: FanOutQuery,
        conversation: asyncio.Task[Recent] | None = None,
        *,
        done_here: Callable[[], None] = lambda: None,
    ) -> Findings:
        """Return every source's report, in the order of `Source`, at most a few milliseconds after `due_s`.

        `conversation` is the task from `read`. `done_here` is called once no call to a built-in source is running.
        """
        local = self._local(asking.scope.tenant_id)
        calls = [one for source in Source if (one := self._begin(source, asking, is_local=source in local)) is not None]
        tasks = {asyncio.create_task(self._report(one, asking)): one for one in calls}
        pinned, pinned_due_s = self._pinned(tasks, asking)
        _when_done([task for task, one in tasks.items() if one.is_local], done_here)
        try:
            await self._wait(tasks, asking)
            if conversation is not None:
                await asyncio.wait([conversation], timeout=max(0.0, asking.last_s + _UNWIND_S - self._clock()))
            if pinned is not None:
                await asyncio.wait([pinned], timeout=max(0.0, pinned_due_s - self._clock()))
        finally:
            self._abandon(task for task in tasks if not task.done())
            if pinned is not None:
                pinned.cancel()
        for task, one in tasks.items():
            if not task.done():  # it ignored its cancellation and may never finish
                self._settle(one, SourceReport(one.source, Status.TIMEOUT))
        answered = {one.source: task for task, one in tasks.items()}
        reports = [self._collect(source, answered.get(source), asking) for source in Source]
        if (items := read_items(pinned)) is not None:
            reports = [with_pinned(one, items) if one.source is Source.MEMORY else one for one in reports]
        findings = Findings(tuple(reports))
        if conversation is None:
            return findings
        is_read = conversation.done() and not conversation.cancelled()
        return _with_conversation(findings, conversation.result() if is_read else Recent(_UNREAD))

    def _pinned(
        self, calls: Mapping[asyncio.Task[SourceReport], SourceCall], asking: FanOutQuery
    ) -> tuple[asyncio.Task[tuple[Item, ...] | None] | None, float]:
        """Return the read of the pinned memories beside their search, and when it is due; no read if memory is off."""
        reader, knobs = self._sources.get(Source.MEMORY), asking.profile.knobs(Source.MEMORY)
        if not knobs.enabled or not isinstance(reader, PinnedReader):
            return None, 0.0
        search, one = next(((task, one) for task, one in calls.items() if one.source is Source.MEMORY), (None, None))
        time_s = one.time_s if one else min(knobs.deadline_ms / 1000, _APART_S)
        reading = read_beside(reader, asking.scope, search, lambda: one is None or one.has_begun, time_s)
        return asyncio.create_task(reading), min(asking.last_s, self._clock() + time_s)

    async def _recent_turns(self, call: SourceCall, asking: FanOutQuery) -> Recent:
        """Return the recent turns. A failed read is tried again: idle connections may have been lost, more than one at a time."""
        began, attempts = self._clock(), 1
        try:
            report = await self._attempt(call, asking)
            for pause_s in _READ_PAUSES_S:
                if report.status is not Status.ERROR or self._clock() + pause_s >= asking.last_s:
                    break
                await asyncio.sleep(pause_s)
                report, attempts = await self._attempt(call, asking), attempts + 1
        except BackendError as error:
            report = SourceReport(call.source, error.status, reason=str(error))
        return Recent(replace(report, latency_ms=(self._clock() - began) * 1000, attempts=attempts), call.answer)

    def _begin(self, source: Source, asking: FanOutQuery, *, is_local: bool) -> SourceCall | None:
        """Return the call to make to the source; None if it is disabled or its breaker is open."""
        knobs = asking.profile.knobs(source)
        if source not in self._sources or not knobs.enabled:
            return None
        now_s = self._clock()
        permit = self._breakers[source].admit(now_s)
        if permit is None:
            return None
        find, left_s = self._sources[source].find, max(0.0, asking.last_s - now_s)
        time_s = min(knobs.deadline_ms / 1000, left_s)
        due_s = now_s + (left_s if is_local else time_s)
        return SourceCall(source, find, time_s, due_s, permit, is_local=is_local, has_begun=not is_local)

    async def _wait(self, calls: Mapping[asyncio.Task[SourceReport], SourceCall], asking: FanOutQuery) -> None:
        """Return once every source has answered or timed out, or once the findings must be fitted.

        A source that ignores its cancellation does not delay the return.
        """
        waiting = set(calls)
        while waiting:
            last_s = asking.due_s - asking.reserve_s(sum(_found(task) for task in calls))
            until_s = min(last_s, min(calls[task].due_s for task in waiting) + _UNWIND_S)
            left_s = max(0.0, until_s - self._clock())
            done, _ = await asyncio.wait(waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            now_s = self._clock()
            waiting = {one for one in waiting - done if min(last_s, calls[one].due_s + _UNWIND_S) > now_s}

    def _abandon(self, tasks: Iterable[asyncio.Task[SourceReport]]) -> None:
        """Cancel the running tasks without awaiting them: a source that ignores cancellation must not delay the turn."""
        for task in tasks:
            task.cancel()
            self._unwinding.add(task)
            task.add_done_callback(self._unwinding.discard)

    def _collect(self, source: Source, task: asyncio.Task[SourceReport] | None, asking: FanOutQuery) -> SourceReport:
        if task is None and source in self._sources and asking.profile.knobs(source).enabled:
            refused = SourceReport(source, Status.BREAKER_OPEN, reason="it has been failing and rests")
            return self._stands_in(refused, asking)
        if task is None:
            why = "off in the profile" if source in self._sources else "no backend is set up"
            return SourceReport(source, Status.SKIPPED, reason=why)
        if task.done() and not task.cancelled():
            return task.result()
        late = SourceReport(source, Status.TIMEOUT, reason=_LATE, attempts=1)
        return self._stands_in(late, asking)

    async def _report(self, call: SourceCall, asking: FanOutQuery) -> SourceReport:
        began, source = self._clock(), call.source
        report = outcome = None
        try:
            report = outcome = await self._attempt(call, asking)
        except BackendError as error:
            # It is one tenant's backend with its own breaker; the source may work for other tenants.
            log.warning("backend_failed", extra={"source": source.value, "backend": error.backend, "code": error.code})
            outcome = SourceReport(source, error.status, reason=str(error))
        finally:
            self._settle(call, report)
        timed = replace(outcome, latency_ms=(self._clock() - began) * 1000, attempts=1)
        if timed.status in (Status.OK, Status.EMPTY) and not timed.is_partial:
            self._kept.keep(timed, _question(source, asking), began_s=began)
        return self._stands_in(timed, asking) if timed.status in _FAILED else timed

    def _stands_in(self, failed: SourceReport, asking: FanOutQuery) -> SourceReport:
        """Return the cached answer to the same question instead of the failure, if there is one."""
        top_k = asking.profile.knobs(failed.source).top_k
        return self._kept.instead_of(failed, _question(failed.source, asking), top_k=top_k)

    def _settle(self, call: SourceCall, report: SourceReport | None) -> None:
        """Report the outcome to the breaker, once. A short deadline or a cancelled call must not open it for others."""
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
        """Close the breakers of all database sources when one that had been failing answers.

        A source that fails while the others answer (a locked table, say) keeps its breaker open.
        """
        if report.source in self._failing & _ON_DATABASE and report.status is Status.OK and not report.is_partial:
            for source in _ON_DATABASE & self._breakers.keys():
                self._breakers[source].close()
        self._failing.discard(report.source)

    async def _attempt(self, call: SourceCall, asking: FanOutQuery) -> SourceReport:
        source, knobs = call.source, asking.profile.knobs(call.source)
        limits = SourceLimits(
            knobs.top_k,
            asking.profile.lead_lines,
            asking.window_tokens,
            asking.profile.history_turns,
            call.time_s,
            lambda: call.begin(self._clock()),
            min(asking.window_tokens, asking.profile.recall_tokens or asking.window_tokens),
        )
        try:
            async with asyncio.timeout(max(0.0, call.due_s - self._clock())) as timeout:
                call.timeout = timeout
                answer = await call.find(asking.query, asking.scope, limits)
            answer = check(answer, source, top_k=knobs.top_k)
        except SourceSkipped as why:
            return SourceReport(source, Status.SKIPPED, reason=str(why))
        except TimeoutError:
            return SourceReport(source, Status.TIMEOUT, reason=_LATE if call.has_begun else _UNBEGUN)
        except DatabaseBusy:
            return SourceReport(source, Status.SHED, reason="too many questions are waiting for the database")
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
    left = len(tasks)

    def one_is_done(_: asyncio.Task[SourceReport]) -> None:
        nonlocal left
        left -= 1
        if not left:
            call()

    for task in tasks:
        task.add_done_callback(one_is_done)
    if not tasks:
        call()


def _found(task: asyncio.Task[SourceReport]) -> int:
    """Return how many items a source has returned so far."""
    return len(task.result().items) if task.done() and not task.cancelled() else 0


def _with_conversation(findings: Findings, conversation: Recent) -> Findings:
    """Return the findings with the conversation merged in; the thread's report covers both of its parts."""
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


def _question(source: Source, asking: FanOutQuery) -> KeptQuestion:
    query = asking.query
    moments = () if query.is_now else (f"as of {query.as_of}", f"known at {query.known_at}")
    text = " ".join((*query.text.casefold().split(), *query.thread_words, *moments))
    return (source, asking.scope, asking.profile_version, query.template_id, query.agent_id, query.space_id, text)


def _reason_of(error: Exception) -> str:
    """Return the text of a failure for a caller: our own errors' messages, only the type name of others."""
    own = type(error).__module__.partition(".")[0] in {"store", "models", "sidecar"}
    return str(error) if own else f"it failed with {type(error).__name__}"
