"""Whatever a source does, the fan_out answers in time and says what happened. Sources here are hand-written and misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from sidecar.context.fan_out import FanOut, FanOutQuery, Findings
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.items import Item, Ref, Source, SourceReport, Status
from sidecar.turn.message.reading import read
from sidecar.turn.profile import LOCAL_DEADLINE_MS, merge, parse_layer
from store.errors import DatabaseBusy
from store.scope import Scope

SCOPE = Scope(UUID(int=1), UUID(int=2))
QUERY = SourceQuery("what?", ("what",), "t", "a", "default", "", "", datetime(2026, 5, 1, tzinfo=UTC))


class Behaving:
    """A source that does what it is told."""

    def __init__(self, behave: Callable[[], Awaitable[Any]]) -> None:
        self._behave = behave
        self.asked = 0

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> Any:
        self.asked += 1
        return await self._behave()


def an_item(source: Source = Source.MEMORY, **changes: Any) -> Item:
    item = Item("memory:1", source, "Mara likes tea.", rank=0, relevance=0.5, provenance=(Ref("memory", "1"),))
    return item._replace(**changes)


def asking(due_in_s: float = 60.0, **knobs: Any) -> FanOutQuery:
    """Return a question that sources have all the time for that a busy machine may need, unless the memory's knobs differ."""
    patient = {source.value: {"deadline_ms": 30_000} for source in Source}
    profile = merge(parse_layer({"sources": patient | {"memory": patient["memory"] | knobs}}))
    return FanOutQuery(QUERY, SCOPE, profile, "v", 1000, time.monotonic() + due_in_s)


def fan_out_of(**sources: Behaving) -> FanOut:
    return FanOut({Source(name): source for name, source in sources.items()}, clock=time.monotonic)


def good(source: Source = Source.MEMORY) -> Behaving:
    async def answer() -> SourceAnswer:
        return SourceAnswer((an_item(source),))

    return Behaving(answer)


def raising(error: Exception) -> Behaving:
    async def fail() -> SourceAnswer:
        raise error

    return Behaving(fail)


def hanging(release: asyncio.Event | None = None) -> Behaving:
    """A source that never answers; with `release`, one that ignores being cancelled until that is set."""

    async def hang() -> SourceAnswer:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if release is None:
                raise
            await release.wait()
        return SourceAnswer()

    return Behaving(hang)


def saying(answer: Any) -> Behaving:
    async def say() -> Any:
        return answer

    return Behaving(say)


def once(answer: SourceAnswer) -> Behaving:
    """A source that answers once and fails from then on."""
    answers = [answer]

    async def say() -> SourceAnswer:
        if not answers:
            raise ConnectionResetError
        return answers.pop()

    return Behaving(say)


async def status_of(source: Behaving, question: FanOutQuery | None = None) -> tuple[Status, str]:
    findings = await fan_out_of(memory=source, wiki=good(Source.WIKI)).ask(question or asking())
    reports = {report.source: report for report in findings.reports}
    assert reports[Source.WIKI].status is Status.OK, "the other source answers whatever this one does"
    return reports[Source.MEMORY].status, reports[Source.MEMORY].reason


async def test_reports_of_all_sources_have_a_fixed_order() -> None:
    findings = await fan_out_of(wiki=good(Source.WIKI), memory=good()).ask(asking())
    assert [report.source for report in findings.reports] == list(Source)
    assert [report.status for report in findings.reports if report.source is Source.TOOLS] == [Status.SKIPPED]


async def test_empty_answer_is_not_a_failure() -> None:
    assert (await status_of(saying(SourceAnswer())))[0] is Status.EMPTY


async def test_source_with_nothing_to_ask_is_skipped_with_a_reason() -> None:
    assert await status_of(raising(SourceSkipped("no base"))) == (Status.SKIPPED, "no base")


async def test_failure_is_reported_without_foreign_secrets() -> None:
    assert await status_of(raising(RuntimeError("password=hunter2"))) == (Status.ERROR, "it failed with RuntimeError")


async def test_full_connection_pool_sheds_the_source() -> None:
    assert (await status_of(raising(DatabaseBusy("full"))))[0] is Status.SHED


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        "text",
        SourceAnswer((an_item(source=Source.WIKI),)),
        SourceAnswer((an_item(id=""),)),
        SourceAnswer((an_item(provenance=()),)),
        SourceAnswer((an_item(relevance=float("nan")),)),
        SourceAnswer((an_item(relevance=7.0),)),
        SourceAnswer((an_item(text="lone \ud800 surrogate"),)),
        SourceAnswer(("not an item",)),  # type: ignore[arg-type]
    ],
)
async def test_malformed_answer_of_a_source_is_an_error(garbage: Any) -> None:
    assert (await status_of(saying(garbage)))[0] is Status.ERROR


async def test_hung_source_is_reported_at_its_deadline_and_cancelled() -> None:
    assert (await status_of(hanging(), asking(deadline_ms=30)))[0] is Status.TIMEOUT


async def test_source_that_ignores_cancellation_does_not_delay_the_turn() -> None:
    release = asyncio.Event()
    async with asyncio.timeout(20):  # far less than the other source was given
        assert (await status_of(hanging(release), asking(deadline_ms=30)))[0] is Status.TIMEOUT
    assert not release.is_set(), "the report is there while the source still hangs"
    release.set()


async def test_source_that_is_slow_to_cancel_does_not_delay_the_turn() -> None:
    release = asyncio.Event()

    async def lingering() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await release.wait()

    async with asyncio.timeout(20):
        assert (await status_of(Behaving(lingering), asking(deadline_ms=30)))[0] is Status.TIMEOUT
    release.set()


async def test_source_that_keeps_ignoring_cancellation_is_no_longer_asked() -> None:
    release = asyncio.Event()
    source = hanging(release)
    fan_out = fan_out_of(memory=source)
    fair = asking(deadline_ms=LOCAL_DEADLINE_MS)
    statuses = [_memory_status(await fan_out.ask(fair)) for _ in range(6)]
    release.set()
    assert (statuses[0], statuses[-1]) == (Status.TIMEOUT, Status.BREAKER_OPEN)
    assert source.asked == 5


class Queued:
    """A built-in source whose query may begin once it is let."""

    def __init__(self) -> None:
        self.may_begin = asyncio.Event()

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        await self.may_begin.wait()
        limits.begin()
        return SourceAnswer((an_item(),))


def beside_the_database(**sources: Any) -> FanOut:
    """Return an fan_out whose memory is a built-in source, and no other."""
    return FanOut(
        {Source(name): source for name, source in sources.items()},
        clock=time.monotonic,
        local=lambda tenant_id: {Source.MEMORY},
    )


async def test_deadline_of_a_built_in_source_starts_with_its_query() -> None:
    queued = Queued()

    async def hang() -> SourceAnswer:
        try:
            await asyncio.Event().wait()
        finally:
            queued.may_begin.set()  # this one's time is over, and the same time of the queued one begins
        raise AssertionError("nothing ends the wait but its cancellation")

    brief = {source: {"deadline_ms": 30} for source in ("memory", "wiki")}
    asked = replace(asking(), profile=merge(parse_layer({"sources": brief})))
    findings = await beside_the_database(memory=queued, wiki=Behaving(hang)).ask(asked)
    reports = {report.source: report for report in findings.reports}
    assert (reports[Source.WIKI].status, reports[Source.MEMORY].status) == (Status.TIMEOUT, Status.OK)


async def test_built_in_source_that_hangs_in_its_query_ends_at_its_deadline() -> None:
    class Begun:
        async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
            limits.begin()
            await asyncio.Event().wait()
            return SourceAnswer()

    async with asyncio.timeout(20):
        findings = await beside_the_database(memory=Begun()).ask(asking(deadline_ms=30))
    assert _memory_status(findings) is Status.TIMEOUT


async def test_waiting_for_the_database_opens_no_breaker() -> None:
    fan_out = beside_the_database(memory=Queued())
    due_in_s = 1.2 * LOCAL_DEADLINE_MS / 1000
    for _ in range(6):
        findings = await fan_out.ask(asking(due_in_s=due_in_s))
        report = next(one for one in findings.reports if one.source is Source.MEMORY)
        assert (report.status, report.reason) == (Status.TIMEOUT, "no connection by the turn's deadline")


async def test_query_that_never_began_is_reported_so_though_it_ignores_its_cancellation() -> None:
    release = asyncio.Event()

    class Stubborn(Queued):
        async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return SourceAnswer()

    findings = await beside_the_database(memory=Stubborn()).ask(asking(due_in_s=0.05))
    release.set()
    report = next(one for one in findings.reports if one.source is Source.MEMORY)
    assert (report.status, report.reason) == (Status.TIMEOUT, "no connection by the turn's deadline")


async def test_turn_slot_is_released_when_the_built_in_sources_are_done() -> None:
    left = asyncio.Event()

    async def patient() -> SourceAnswer:
        await left.wait()
        return SourceAnswer((an_item(Source.WIKI),))

    queued = Queued()
    queued.may_begin.set()
    findings = await beside_the_database(memory=queued, wiki=Behaving(patient)).ask(asking(), done_here=left.set)
    assert {report.status for report in findings.reports if report.source in {Source.MEMORY, Source.WIKI}} == {
        Status.OK
    }


async def test_source_is_cut_off_when_the_remaining_time_is_needed_for_fitting() -> None:
    whole_time = replace(asking(), reserve_s=lambda items: 60.0 if items else 0.0)
    async with asyncio.timeout(20):  # far less than the hanging source was given
        findings = await fan_out_of(memory=good(), wiki=hanging()).ask(whole_time)
    reports = {report.source: report for report in findings.reports}
    assert (reports[Source.MEMORY].status, reports[Source.WIKI].status) == (Status.OK, Status.TIMEOUT)


async def test_source_that_is_cut_off_early_is_asked_again() -> None:
    source = hanging()
    fan_out = fan_out_of(memory=good(), wiki=source)
    for _ in range(12):
        await fan_out.ask(replace(asking(), reserve_s=lambda items: 60.0 if items else 0.0))
    assert source.asked == 12


async def test_source_that_is_cut_off_after_a_fair_time_is_no_longer_asked() -> None:
    clock, source = Clock(), hanging()

    async def slow() -> SourceAnswer:
        clock.now_s += LOCAL_DEADLINE_MS / 1000
        return SourceAnswer((an_item(),))

    fan_out = FanOut({Source.MEMORY: Behaving(slow), Source.WIKI: source}, clock=clock)
    for _ in range(12):
        question = replace(asking(), due_s=clock() + 60.0, reserve_s=lambda items: 60.0 if items else 0.0)
        await fan_out.ask(question)
    assert source.asked < 12


async def test_no_more_than_top_k_items_are_taken() -> None:
    many = SourceAnswer(tuple(an_item(id=f"memory:{n}", rank=n) for n in range(10)))
    findings = await fan_out_of(memory=saying(many)).ask(asking(top_k=3))
    assert [len(report.items) for report in findings.reports if report.source is Source.MEMORY] == [3]


async def test_failing_source_is_no_longer_asked() -> None:
    source = raising(ConnectionResetError())
    fan_out = fan_out_of(memory=source)
    statuses = [_memory_status(await fan_out.ask(asking())) for _ in range(12)]
    assert statuses[0] is Status.ERROR
    assert statuses[-1] is Status.BREAKER_OPEN
    assert source.asked < 12


async def test_short_deadline_of_a_caller_does_not_open_the_breaker() -> None:
    fan_out = fan_out_of(memory=hanging())
    statuses = {_memory_status(await fan_out.ask(asking(due_in_s=0.005))) for _ in range(12)}
    assert statuses == {Status.TIMEOUT}


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Outage:
    """Sources that share one database, which is away at first: each raises, or hangs, until it is back."""

    def __init__(self, *, failing: Callable[[], Awaitable[Any]]) -> None:
        self.clock, self.is_away = Clock(), True
        self._fail = failing
        self._sources = {source: Behaving(partial(self._find, source)) for source in DATABASE_SOURCES}
        self.fan_out = FanOut(self._sources, clock=self.clock)

    async def ask(self, *sources: Source) -> dict[Source, Status]:
        """Ask these sources alone and return their statuses."""
        knobs = {one.value: {"enabled": one in sources, "deadline_ms": LOCAL_DEADLINE_MS} for one in Source}
        question = FanOutQuery(QUERY, SCOPE, merge(parse_layer({"sources": knobs})), "v", 1000, self.clock() + 60)
        reports = (await self.fan_out.ask(question)).reports
        return {report.source: report.status for report in reports if report.source in sources}

    async def open_breakers(self) -> None:
        while len(self.fan_out.resting()) < len(DATABASE_SOURCES):
            await self.ask(*DATABASE_SOURCES)

    async def _find(self, source: Source) -> Any:
        return await self._fail() if self.is_away else SourceAnswer((an_item(source),))


DATABASE_SOURCES = (Source.THREAD, Source.KNOWLEDGE, Source.MEMORY, Source.WIKI)


async def _refuse() -> Any:
    raise ConnectionResetError


async def test_one_answer_of_the_database_closes_the_breakers_of_all_its_sources() -> None:
    outage = Outage(failing=_refuse)
    await outage.open_breakers()
    outage.clock.now_s += 2.0
    assert await outage.ask(Source.MEMORY, Source.KNOWLEDGE, Source.THREAD) == dict.fromkeys(
        (Source.MEMORY, Source.KNOWLEDGE, Source.THREAD), Status.ERROR
    )
    outage.is_away = False
    assert await outage.ask(Source.WIKI) == {Source.WIKI: Status.OK}
    assert await outage.ask(*DATABASE_SOURCES) == dict.fromkeys(DATABASE_SOURCES, Status.OK)


async def test_breakers_of_database_sources_open_for_at_most_two_seconds() -> None:
    outage = Outage(failing=_refuse)
    await outage.open_breakers()
    for _ in range(10):
        outage.clock.now_s += 2.0
        assert set((await outage.ask(*DATABASE_SOURCES)).values()) == {Status.ERROR}


async def test_slow_probes_of_the_database_do_not_lengthen_the_pause() -> None:
    outage = Outage(failing=asyncio.Event().wait)
    await outage.open_breakers()
    for _ in range(3):
        outage.clock.now_s += 0.5
        assert set((await outage.ask(*DATABASE_SOURCES)).values()) == {Status.TIMEOUT}


async def test_source_that_fails_while_others_answer_is_no_longer_asked() -> None:
    fan_out = fan_out_of(memory=raising(ConnectionResetError()), wiki=good(Source.WIKI))
    statuses = [_memory_status(await fan_out.ask(asking())) for _ in range(8)]
    assert statuses[-1] is Status.BREAKER_OPEN


async def test_recent_answer_to_the_same_question_replaces_a_failing_source() -> None:
    fan_out = fan_out_of(memory=once(SourceAnswer((an_item(),))))
    assert _memory_status(await fan_out.ask(asking())) is Status.OK
    stale = await fan_out.ask(asking())
    assert _memory_status(stale) is Status.STALE
    another = replace(asking(), query=replace(QUERY, text="who?"))
    assert _memory_status(await fan_out.ask(another)) is Status.ERROR


async def test_recent_answer_of_another_day_or_time_zone_replaces_nothing() -> None:
    message = "What did I say yesterday?"
    at = datetime(2026, 5, 1, 23, 59, 50, tzinfo=UTC)
    for now in (at, at + timedelta(seconds=20), at.astimezone(ZoneInfo("Europe/Berlin"))):
        fan_out = fan_out_of(memory=once(SourceAnswer((an_item(),))))
        for moment in (at, now):
            reading = read(message, today=moment.date())
            query = replace(QUERY, text=message, now=moment, reading=reading)
            status = _memory_status(await fan_out.ask(replace(asking(), query=query)))
        assert status is (Status.STALE if now is at else Status.ERROR)


async def test_recent_answer_is_cut_and_judged_by_the_current_limits() -> None:
    items = tuple(an_item(id=f"memory:{rank}", rank=rank) for rank in range(5))
    ids, texts = [item.id for item in items], [item.text for item in items]
    judged_by = Candidates(CandidateKind.FACT, ids, texts, of_shares([0.5] * 5, parts=1))
    fan_out = fan_out_of(memory=once(SourceAnswer(items, candidates=judged_by)))
    await fan_out.ask(asking())
    stale = next(report for report in (await fan_out.ask(asking(top_k=2))).reports if report.source is Source.MEMORY)
    assert (stale.status, stale.items) == (Status.STALE, items[:2])
    assert stale.candidates is not None
    assert list(stale.candidates.ids) == ids[:2]


@pytest.mark.parametrize("changed", [{"template_id": "board"}, {"agent_id": "other"}, {"space_id": "hr"}], ids=str)
async def test_recent_answer_is_used_only_for_the_same_knowledge(changed: dict[str, Any]) -> None:
    fan_out = fan_out_of(memory=once(SourceAnswer((an_item(),))))
    await fan_out.ask(asking())
    elsewhere = replace(asking(), query=replace(QUERY, **changed))
    assert _memory_status(await fan_out.ask(elsewhere)) is Status.ERROR


async def test_another_owner_never_gets_a_recent_answer() -> None:
    fan_out = fan_out_of(memory=once(SourceAnswer((an_item(),))))
    await fan_out.ask(asking())
    other = replace(asking(), scope=Scope(UUID(int=1), UUID(int=3)))
    assert _memory_status(await fan_out.ask(other)) is Status.ERROR


def _memory_status(findings: Findings) -> Status:
    return next(report.status for report in findings.reports if report.source is Source.MEMORY)


class Pinning(Behaving):
    """A memory source whose pinned items can be read separately from its search."""

    def __init__(self, behave: Callable[[], Awaitable[Any]], read: Callable[[], Awaitable[Any]] | None = None) -> None:
        super().__init__(behave)
        self._read = read
        self.read_apart = 0

    async def pinned(self, scope: Scope) -> tuple[Item, ...]:
        self.read_apart += 1
        if self._read:
            await self._read()
        return (an_item(id="memory:pinned", text="Answer in Portuguese.", is_pinned=True),)


async def hang() -> None:
    await asyncio.Event().wait()


async def refuse() -> None:
    raise DatabaseBusy("full")


async def memory_report(source: Behaving, question: FanOutQuery, fan_out: FanOut | None = None) -> SourceReport:
    findings = await (fan_out or fan_out_of(memory=source, wiki=good(Source.WIKI))).ask(question)
    return next(report for report in findings.reports if report.source is Source.MEMORY)


@pytest.mark.parametrize("behave", [hang, refuse, raising(ValueError("bug"))._behave], ids=["hung", "shed", "broken"])
async def test_pinned_items_hold_whatever_becomes_of_the_search(behave: Callable[[], Awaitable[Any]]) -> None:
    source = Pinning(behave)
    report = await memory_report(source, asking(deadline_ms=300))
    assert report.status in {Status.TIMEOUT, Status.SHED, Status.ERROR}
    assert [(item.id, item.is_pinned, item.rank) for item in report.items] == [("memory:pinned", True, 0)]
    assert "read separately" in report.reason
    assert source.read_apart == 1


async def test_pinned_items_hold_while_the_breaker_is_open_and_for_a_built_in_source() -> None:
    source = Pinning(raising(ConnectionResetError())._behave)
    fan_out = FanOut({Source.MEMORY: source}, clock=time.monotonic, local=lambda tenant_id: [Source.MEMORY])
    told = [await memory_report(source, asking(deadline_ms=5_000), fan_out) for _ in range(8)]
    assert {report.status for report in told} == {Status.ERROR, Status.BREAKER_OPEN}
    assert all(item.is_pinned for report in told for item in report.items)
    assert all(report.items for report in told)


async def test_search_that_answers_is_the_only_read() -> None:
    source = Pinning(good()._behave)
    report = await memory_report(source, asking())
    assert (report.status, source.read_apart, report.reason) == (Status.OK, 0, "")


@pytest.mark.parametrize("read", [hang, refuse], ids=["hung", "shed"])
async def test_pinned_items_that_cannot_be_read_delay_and_break_nothing(read: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(20):
        report = await memory_report(Pinning(hang, read), asking(deadline_ms=60))
    assert (report.status, report.items) == (Status.TIMEOUT, ())


async def test_partly_failed_search_keeps_its_items_and_gets_the_pinned_ones() -> None:
    partly = SourceAnswer((an_item(),), failures=("built-in: no",))
    report = await memory_report(Pinning(saying(partly)._behave), asking())
    assert [(item.id, item.rank) for item in report.items] == [("memory:pinned", 0), ("memory:1", 1)]


async def test_memory_that_is_off_reads_nothing_apart() -> None:
    source = Pinning(hang)
    assert (await memory_report(source, asking(enabled=False))).items == ()
    assert source.read_apart == 0
