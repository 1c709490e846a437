"""One question put to every enabled source at once, and what each of them made of it.

A source's failure never leaves this module: it becomes a report. `docs/architecture.md` lists it among the broad catches.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from models.endpoint import Breaker, BreakerPolicy, BreakerState, Permit
from sidecar.backends.errors import BackendError
from sidecar.sources import ContextSource, Limits, Query, Skipped
from sidecar.turn.items import HistorySummary, Source, SourceReport, Status
from sidecar.turn.profile import LOCAL_DEADLINE_MS, Profile, SourceKnobs
from sidecar.vetting import check
from store.errors import DatabaseBusy
from store.scope import Scope
from store.threads import StoredTurn

log = logging.getLogger(__name__)

_STALE_AFTER_S = 60.0
_STALE_ANSWERS = 512
_UNWIND_S = 0.005
_STALE_CHARS = 16_000_000
# One database answers these: it costs next to nothing to ask whether it is back, and a degraded turn costs much.
_ON_DATABASE = frozenset(Source) - {Source.TOOLS}
_DATABASE_BREAKER = BreakerPolicy(open_s=0.25, longest_open_s=1.0)
_FAIR_MS = LOCAL_DEADLINE_MS  # a shorter time than this, which a caller may ask for, says nothing about the source


@dataclass(frozen=True, slots=True)
class Findings:
    """What the sources brought: a report each, and what the thread says of itself."""

    reports: tuple[SourceReport, ...]
    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """A query with the scope and knobs it is asked under, and when all answers are due (seconds of the inquiry's clock)."""

    query: Query
    scope: Scope
    profile: Profile
    profile_version: str
    window_tokens: int
    due_s: float


@dataclass(slots=True)
class _Asked:
    """A source that is being asked, until when it is waited for, and the permit that its breaker gave and is owed."""

    source: Source
    permit: Permit
    due_s: float
    has_fair_time: bool
    is_settled: bool = False


class Inquiry:
    """Asks the sources side by side, each under its own deadline and behind its own breaker."""

    def __init__(self, sources: Mapping[Source, ContextSource], *, clock: Callable[[], float]) -> None:
        self._sources = sources
        self._clock = clock
        self._breakers = {source: Breaker(_DATABASE_BREAKER if source in _ON_DATABASE else None) for source in sources}
        self._failing: set[Source] = set()
        self._recent = _RecentAnswers(clock)
        self._unwinding: set[asyncio.Task[SourceReport]] = set()

    def resting(self) -> list[str]:
        """Return the sources that are not asked now because they have been failing."""
        now_s = self._clock()
        return [source.value for source, one in self._breakers.items() if one.state(now_s) is BreakerState.OPEN]

    def forgot(self, scope: Scope | None) -> None:
        """Drop the old answers that could stand in for an owner of whom something was forgotten; without one, all."""
        self._recent.forget(scope)

    async def ask(self, asking: Asking) -> Findings:
        """Return every source's report, in the order of `Source`, no later than a few milliseconds after `due_s`."""
        outcome = _Outcome()
        asked = [one for source in Source if (one := self._begin(source, asking)) is not None]
        tasks = {asyncio.create_task(self._report(one, asking, outcome)): one for one in asked}
        try:
            await self._wait(tasks)
        finally:
            self._abandon(task for task in tasks if not task.done())
        answered = {one.source: task for task, one in tasks.items()}
        for task, one in tasks.items():
            if not task.done():  # it swallowed its cancellation, and may never tell
                self._settle(one, SourceReport(one.source, Status.TIMEOUT))
        reports = tuple(self._collect(source, answered.get(source), asking) for source in Source)
        return Findings(reports, outcome.history, outcome.summary)

    def _begin(self, source: Source, asking: Asking) -> _Asked | None:
        """Return how the source is asked now; None when it is off, or rests."""
        knobs = asking.profile.knobs(source)
        if source not in self._sources or not knobs.enabled:
            return None
        now_s = self._clock()
        permit = self._breakers[source].admit(now_s)
        time_s = self._time_for(knobs, asking)
        return None if permit is None else _Asked(source, permit, now_s + time_s, time_s * 1000 >= _FAIR_MS)

    async def _wait(self, asked: Mapping[asyncio.Task[SourceReport], _Asked]) -> None:
        """Return once each has answered or is past its own time: one that ignores its cancellation holds up nobody."""
        waiting = {task: one.due_s + _UNWIND_S for task, one in asked.items()}
        while waiting:
            await asyncio.wait(waiting, timeout=max(0.0, min(waiting.values()) - self._clock()))
            now_s = self._clock()
            waiting = {task: until_s for task, until_s in waiting.items() if not task.done() and until_s > now_s}

    def _time_for(self, knobs: SourceKnobs, asking: Asking) -> float:
        return max(0.0, min(knobs.deadline_ms / 1000, asking.due_s - self._clock()))

    def _abandon(self, tasks: Iterable[asyncio.Task[SourceReport]]) -> None:
        """Cancel what is still running without waiting for it: a source that ignores this must not hold the turn."""
        for task in tasks:
            task.cancel()
            self._unwinding.add(task)
            task.add_done_callback(self._unwinding.discard)

    def _collect(self, source: Source, task: asyncio.Task[SourceReport] | None, asking: Asking) -> SourceReport:
        if task is None and source in self._sources and asking.profile.knobs(source).enabled:
            refused = SourceReport(source, Status.BREAKER_OPEN, reason="it has been failing and rests")
            return self._recent.instead_of(refused, asking)
        if task is None:
            why = "off in the profile" if source in self._sources else "no backend is set up"
            return SourceReport(source, Status.SKIPPED, reason=why)
        if task.done() and not task.cancelled():
            return task.result()
        late = SourceReport(source, Status.TIMEOUT, reason="no answer by its deadline", attempts=1)
        return self._recent.instead_of(late, asking)

    async def _report(self, asked: _Asked, asking: Asking, outcome: _Outcome) -> SourceReport:
        began, source = self._clock(), asked.source
        report = told = None
        try:
            report = told = await self._attempt(source, asking, outcome)
        except BackendError as error:
            # One tenant's, with a breaker of its own: no sign that the source is broken for all.
            log.warning("backend_failed", extra={"source": source.value, "backend": error.backend, "code": error.code})
            told = SourceReport(source, error.status, reason=str(error))
        finally:
            self._settle(asked, report)
        timed = replace(told, latency_ms=(self._clock() - began) * 1000, attempts=1)
        if timed.status in (Status.OK, Status.EMPTY) and not timed.is_partial:
            self._recent.keep(timed, asking, began_s=began)
        return self._recent.instead_of(timed, asking) if timed.status in _FAILED else timed

    def _settle(self, asked: _Asked, report: SourceReport | None) -> None:
        """Tell the breaker, once. A caller in a hurry, or gone, must not make a source look broken to everyone else."""
        if asked.is_settled:
            return
        asked.is_settled = True
        breaker, now_s = self._breakers[asked.source], self._clock()
        if report is None or report.status is Status.SHED:
            breaker.released(asked.permit)
        elif report.status not in (Status.TIMEOUT, Status.ERROR):
            breaker.succeeded(asked.permit, now_s)
            self._recovered(report)
        elif asked.has_fair_time:
            breaker.failed(asked.permit, now_s, is_slow=report.status is Status.TIMEOUT)
            self._failing.add(asked.source)
        else:
            breaker.released(asked.permit)

    def _recovered(self, report: SourceReport) -> None:
        """Close the breakers of all the database's sources when one of them answers that had been failing.

        A source that fails while the others answer, as one whose table is locked, keeps its breaker.
        """
        if report.source in self._failing & _ON_DATABASE and report.status is Status.OK and not report.is_partial:
            for source in _ON_DATABASE & self._breakers.keys():
                self._breakers[source].close()
        self._failing.discard(report.source)

    async def _attempt(self, source: Source, asking: Asking, outcome: _Outcome) -> SourceReport:
        knobs = asking.profile.knobs(source)
        time_s = self._time_for(knobs, asking)
        limits = Limits(
            knobs.top_k, asking.profile.lead_lines, asking.window_tokens, asking.profile.history_turns, time_s
        )
        try:
            async with asyncio.timeout(time_s):
                answer = await self._sources[source].find(asking.query, asking.scope, limits)
            answer = check(answer, source, top_k=knobs.top_k)
        except Skipped as why:
            return SourceReport(source, Status.SKIPPED, reason=str(why))
        except TimeoutError:
            return SourceReport(source, Status.TIMEOUT, reason="no answer by its deadline")
        except DatabaseBusy:
            return SourceReport(source, Status.SHED, reason="too many questions are waiting for the database")
        except BackendError:
            raise
        except Exception as error:  # a source's failure becomes a report
            log.warning("source_failed", extra={"source": source.value, "error": type(error).__name__}, exc_info=error)
            return SourceReport(source, Status.ERROR, reason=_told(error))
        if source is Source.THREAD:
            outcome.history, outcome.summary = answer.history, answer.summary
        status = Status.OK if answer.items or answer.history else Status.EMPTY
        reason = "; ".join((*answer.failures, *answer.notes))
        partly = bool(answer.failures)
        return SourceReport(source, status, answer.items, reason, is_partial=partly, candidates=answer.candidates)


_Question = tuple[Source, Scope, str, str, str, str, str]
_FAILED = frozenset({Status.TIMEOUT, Status.ERROR, Status.SHED, Status.BREAKER_OPEN})


class _Outcome:
    """What the thread source says beside its items."""

    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None


class _RecentAnswers:
    """Good answers of the last minute, to stand in, marked stale, when the same question meets a failing source."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[_Question, tuple[float, SourceReport]] = OrderedDict()
        self._chars = 0
        self._forgotten: OrderedDict[Scope, float] = OrderedDict()
        self._all_forgotten_s = -math.inf

    def forget(self, scope: Scope | None) -> None:
        """Drop the answers of an owner, or all; none of a question that is under way is kept either."""
        if scope is None:
            self._all_forgotten_s = self._clock()
        else:
            self._forgotten[scope] = self._clock()
            self._forgotten.move_to_end(scope)
        while len(self._forgotten) > _STALE_ANSWERS:
            self._all_forgotten_s = max(self._all_forgotten_s, self._forgotten.popitem(last=False)[1])
        for key in [key for key in self._kept if scope in {None, key[1]}]:
            self._chars -= _chars(self._kept.pop(key)[1])

    def keep(self, report: SourceReport, asking: Asking, *, began_s: float) -> None:
        if report.source is Source.THREAD:
            return  # history must be the record, never a copy of it
        if began_s <= max(self._all_forgotten_s, self._forgotten.get(asking.scope, -math.inf)):
            return
        key = _question(report.source, asking)
        if key in self._kept:
            self._chars -= _chars(self._kept.pop(key)[1])
        self._kept[key] = (self._clock(), report)
        self._chars += _chars(report)
        while len(self._kept) > _STALE_ANSWERS or self._chars > _STALE_CHARS:
            self._chars -= _chars(self._kept.popitem(last=False)[1][1])

    def instead_of(self, failed: SourceReport, asking: Asking) -> SourceReport:
        kept_at, report = self._kept.get(_question(failed.source, asking), (-math.inf, failed))
        if self._clock() - kept_at > _STALE_AFTER_S:
            return failed
        reason = f"an answer {self._clock() - kept_at:.0f} s old stands in: {failed.reason}"
        items = report.items[: asking.profile.knobs(failed.source).top_k]
        candidates = report.candidates and report.candidates.only({item.id for item in items})
        return replace(failed, status=Status.STALE, items=items, reason=reason, candidates=candidates)


def _chars(report: SourceReport) -> int:
    return sum([len(item.text) + len(item.lead) for item in report.items])


def _question(source: Source, asking: Asking) -> _Question:
    query = asking.query
    text = " ".join(query.text.casefold().split())
    return (source, asking.scope, asking.profile_version, query.template_id, query.agent_id, query.space_id, text)


def _told(error: Exception) -> str:
    """Return what a caller may read of a failure: our own errors say themselves, others only their kind."""
    own = type(error).__module__.partition(".")[0] in {"store", "models", "sidecar"}
    return str(error) if own else f"it failed with {type(error).__name__}"
