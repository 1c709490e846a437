"""One question put to every enabled source at once, and what each of them made of it.

A source's failure never leaves this module: it becomes a report. This is one of the house's three broad catches.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from models.endpoint import Breaker, BreakerState, Permit
from sidecar.backends.errors import BackendError
from sidecar.sources import Answer, ContextSource, Limits, Query, Skipped
from sidecar.turn.items import HistorySummary, Item, Source, SourceReport, Status
from sidecar.turn.profile import LOCAL_DEADLINE_MS, Profile, SourceKnobs
from store.errors import DatabaseBusy
from store.scope import Scope
from store.threads import StoredTurn

log = logging.getLogger(__name__)

_STALE_AFTER_S = 60.0
_STALE_ANSWERS = 512
_UNWIND_S = 0.005
_STALE_CHARS = 16_000_000
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


class Garbage(Exception):
    """The source's answer is not what a source may answer; the text says what is wrong with it."""


class Inquiry:
    """Asks the sources side by side, each under its own deadline and behind its own breaker."""

    def __init__(self, sources: Mapping[Source, ContextSource], *, clock: Callable[[], float]) -> None:
        self._sources = sources
        self._clock = clock
        self._breakers = {source: Breaker() for source in sources}
        self._recent = _RecentAnswers(clock)
        self._unwinding: set[asyncio.Task[SourceReport]] = set()

    def resting(self) -> list[str]:
        """Return the sources that are not asked now because they have been failing."""
        now_s = self._clock()
        return [source.value for source, one in self._breakers.items() if one.state(now_s) is BreakerState.OPEN]

    async def ask(self, asking: Asking) -> Findings:
        """Return every source's report, in the order of `Source`, no later than a few milliseconds after `due_s`."""
        outcome = _Outcome()
        tasks = {
            source: asyncio.create_task(self._report(source, asking, outcome))
            for source in Source
            if source in self._sources and asking.profile.knobs(source).enabled
        }
        try:
            if tasks:
                await asyncio.wait(tasks.values(), timeout=self._longest(asking, tasks.keys()) + _UNWIND_S)
        finally:
            self._abandon(task for task in tasks.values() if not task.done())
        reports = tuple(self._collect(source, tasks.get(source), asking) for source in Source)
        return Findings(reports, outcome.history, outcome.summary)

    def _longest(self, asking: Asking, sources: Iterable[Source]) -> float:
        return max(self._time_for(asking.profile.knobs(source), asking) for source in sources)

    def _time_for(self, knobs: SourceKnobs, asking: Asking) -> float:
        return max(0.0, min(knobs.deadline_ms / 1000, asking.due_s - self._clock()))

    def _abandon(self, tasks: Iterable[asyncio.Task[SourceReport]]) -> None:
        """Cancel what is still running without waiting for it: a source that ignores this must not hold the turn."""
        for task in tasks:
            task.cancel()
            self._unwinding.add(task)
            task.add_done_callback(self._unwinding.discard)

    def _collect(self, source: Source, task: asyncio.Task[SourceReport] | None, asking: Asking) -> SourceReport:
        if task is None:
            why = "off in the profile" if source in self._sources else "no backend is set up"
            return SourceReport(source, Status.SKIPPED, reason=why)
        if task.done() and not task.cancelled():
            return task.result()
        late = SourceReport(source, Status.TIMEOUT, reason="no answer by its deadline", attempts=1)
        return self._recent.instead_of(late, asking)

    async def _report(self, source: Source, asking: Asking, outcome: _Outcome) -> SourceReport:
        began = self._clock()
        permit = self._breakers[source].admit(began)
        if permit is None:
            refused = SourceReport(source, Status.BREAKER_OPEN, reason="it has been failing and rests")
            return self._recent.instead_of(refused, asking)
        had_own_time = self._time_for(asking.profile.knobs(source), asking) * 1000 >= _FAIR_MS
        report = told = None
        try:
            report = told = await self._attempt(source, asking, outcome)
        except (
            BackendError
        ) as error:  # one tenant's, with a breaker of its own: no sign that the source is broken for all
            log.warning("backend_failed", extra={"source": source.value, "backend": error.backend, "code": error.code})
            told = SourceReport(source, error.status, reason=str(error))
        finally:
            self._settle(source, permit, report, had_own_time=had_own_time)
        timed = replace(told, latency_ms=(self._clock() - began) * 1000, attempts=1)
        if timed.status in (Status.OK, Status.EMPTY):
            self._recent.keep(timed, asking)
        return self._recent.instead_of(timed, asking) if timed.status in _FAILED else timed

    def _settle(self, source: Source, permit: Permit, report: SourceReport | None, *, had_own_time: bool) -> None:
        """Tell the breaker. A caller in a hurry, or gone, must not make a source look broken to everyone else."""
        breaker = self._breakers[source]
        if report is not None and report.status not in (Status.TIMEOUT, Status.ERROR):
            breaker.succeeded(permit, self._clock())
        elif report is not None and had_own_time:
            breaker.failed(permit, self._clock())
        else:
            breaker.released(permit)

    async def _attempt(self, source: Source, asking: Asking, outcome: _Outcome) -> SourceReport:
        knobs = asking.profile.knobs(source)
        time_s = self._time_for(knobs, asking)
        limits = Limits(
            knobs.top_k, asking.profile.lead_lines, asking.window_tokens, asking.profile.history_turns, time_s
        )
        try:
            async with asyncio.timeout(time_s):
                answer = await self._sources[source].find(asking.query, asking.scope, limits)
            items = _checked(answer, source, knobs.top_k)
        except Skipped as why:
            return SourceReport(source, Status.SKIPPED, reason=str(why))
        except TimeoutError:
            return SourceReport(source, Status.TIMEOUT, reason="no answer by its deadline")
        except DatabaseBusy:
            return SourceReport(source, Status.SHED, reason="too many questions are waiting for the database")
        except BackendError:
            raise
        except Exception as error:  # the first of three: where a source's failure becomes a report
            log.warning("source_failed", extra={"source": source.value, "error": type(error).__name__}, exc_info=error)
            return SourceReport(source, Status.ERROR, reason=_told(error))
        if source is Source.THREAD:
            outcome.history, outcome.summary = answer.history, answer.summary
        status = Status.OK if items or answer.history else Status.EMPTY
        return SourceReport(source, status, items, reason="; ".join(answer.notes))


_FAILED = frozenset({Status.TIMEOUT, Status.ERROR, Status.SHED, Status.BREAKER_OPEN})


class _Outcome:
    """What the thread source says beside its items."""

    history: tuple[StoredTurn, ...] = ()
    summary: HistorySummary | None = None


class _RecentAnswers:
    """Good answers of the last minute, to stand in, marked stale, when the same question meets a failing source."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[object, tuple[float, SourceReport]] = OrderedDict()
        self._chars = 0

    def keep(self, report: SourceReport, asking: Asking) -> None:
        if report.source is Source.THREAD:
            return  # history must be the record, never a copy of it
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
        return replace(failed, status=Status.STALE, items=items, reason=reason)


def _chars(report: SourceReport) -> int:
    return sum(len(item.text) + len(item.lead) for item in report.items)


def _question(source: Source, asking: Asking) -> object:
    text = " ".join(asking.query.text.casefold().split())
    return (source, asking.scope, asking.profile_version, asking.query.agent_id, asking.query.space_id, text)


def _checked(answer: Answer, source: Source, top_k: int) -> tuple[Item, ...]:
    """Return the answer's items, `top_k` at most. Raises Garbage when they are not what a source may answer."""
    if not isinstance(answer, Answer):
        raise Garbage(f"it answered with {type(answer).__name__}")
    for item in answer.items[:top_k]:
        if not isinstance(item, Item) or item.source is not source:
            raise Garbage("an item is not its own")
        if not item.id or not isinstance(item.text, str) or not item.provenance:
            raise Garbage("an item has no id, no text or no provenance")
        if not 0 <= item.relevance <= 1:
            raise Garbage("a relevance is not between 0 and 1")
        for text in (item.text, item.lead, item.id, item.header):
            if not text.isascii():
                text.encode()
    return answer.items[:top_k]


def _told(error: Exception) -> str:
    """Return what a caller may read of a failure: our own errors say themselves, others only their kind."""
    own = type(error).__module__.partition(".")[0] in {"store", "models", "sidecar"}
    return str(error) if own else f"it failed with {type(error).__name__}"
