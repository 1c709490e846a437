"""Several places behind one source: what one of them does to the others, and to other tenants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from models.transport.endpoint import BreakerPolicy
from sidecar.backends.errors import BackendDenied, BackendTimedOut, BackendUnavailable
from sidecar.context.answer_validation import MOST_REMOTE_CHARS
from sidecar.context.fan_out import FanOut, FanOutQuery
from sidecar.context.ports import ContextSource, SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.sources.composite import Instead, NamedSource, SideBySide
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.items import Item, Ref, Source, SourceReport, Status
from sidecar.turn.profile import merge, parse_layer
from store.errors import DatabaseUnavailable
from store.scope import Scope
from tests.support.models.remote_calls import pass_time, run

FAIR_MS = 250  # a shorter time would say nothing about the source
MINE, THEIRS = Scope(UUID(int=1), UUID(int=11)), Scope(UUID(int=2), UUID(int=21))
QUERY = SourceQuery("boats", ("boats",), "t", "a", "default", "", "", datetime(2026, 5, 1, tzinfo=UTC))
LIMITS = SourceLimits(9, 3)


@dataclass(frozen=True, slots=True)
class Scripted:
    """A source that does what it is told."""

    do: Callable[[], Awaitable[SourceAnswer]]

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        return await self.do()


class Decided:
    """Rulings as they are."""

    def __init__(self, *off: str) -> None:
        self._off = frozenset(off)

    async def switched_off(self, tenant_id: UUID) -> frozenset[str]:
        return self._off


def bringing(*names: str) -> Scripted:
    items = [
        Item(name, Source.KNOWLEDGE, name, rank, 0.9 - rank / 10, provenance=(Ref("b", "b"),))
        for rank, name in enumerate(names)
    ]

    async def do() -> SourceAnswer:
        return SourceAnswer(tuple(items))

    return Scripted(do)


def failing(error: Exception) -> Scripted:
    async def do() -> SourceAnswer:
        raise error

    return Scripted(do)


def hanging() -> Scripted:
    async def do() -> SourceAnswer:
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody answers for it")

    return Scripted(do)


def placed(**places: Scripted) -> Mapping[UUID, Sequence[NamedSource]]:
    return {MINE.tenant_id: [NamedSource(name, source) for name, source in places.items()]}


async def found(source: ContextSource, scope: Scope = MINE, limits: SourceLimits = LIMITS) -> list[str]:
    return [item.id for item in (await source.find(QUERY, scope, limits)).items]


async def test_answers_are_merged_by_rank_within_the_limits() -> None:
    source = SideBySide(bringing("a", "b", "c"), placed(one=bringing("x", "b")), Decided())
    assert await found(source) == ["a", "x", "b", "c"]
    assert await found(source, limits=SourceLimits(2, 3)) == ["a", "x"]
    assert await found(source, THEIRS) == ["a", "b", "c"]


async def test_remote_item_never_takes_the_place_of_a_built_in_one_with_its_id() -> None:
    async def theirs() -> SourceAnswer:
        answer = await bringing("c", "x").do()
        return replace(answer, items=tuple(item._replace(text="theirs") for item in answer.items))

    source = SideBySide(bringing("a", "b", "c"), placed(one=Scripted(theirs)), Decided())
    items = (await source.find(QUERY, MINE, LIMITS)).items
    assert [(item.id, item.text) for item in items] == [("a", "a"), ("b", "b"), ("x", "theirs"), ("c", "c")]


async def test_evidence_of_the_built_in_source_is_kept() -> None:
    ids = ["a", "b", "c"]

    async def judged() -> SourceAnswer:
        answer = await bringing(*ids).do()
        return replace(
            answer, candidates=Candidates(CandidateKind.PASSAGE, ids, ids, of_shares([0.3, 0.2, 0.1], parts=1))
        )

    source = SideBySide(Scripted(judged), placed(one=bringing("x")), Decided())
    for top_k, kept in ((9, ids), (3, ["a", "b"])):
        candidates = (await source.find(QUERY, MINE, SourceLimits(top_k, 3))).candidates
        assert candidates is not None
        assert (list(candidates.ids), candidates.evidence.coverage.shape) == (kept, (1, len(kept)))


@pytest.mark.parametrize("error", [BackendDenied("one"), KeyError("bug"), DatabaseUnavailable(), UnicodeError("x")])
async def test_failing_backend_is_noted_and_hides_no_other(error: Exception) -> None:
    answer = await SideBySide(bringing("a"), placed(one=failing(error)), Decided()).find(QUERY, MINE, LIMITS)
    assert [item.id for item in answer.items] == ["a"]
    assert len(answer.failures) == 1


async def test_hanging_backend_is_abandoned_at_the_deadline() -> None:
    answer = await SideBySide(bringing("a"), placed(one=hanging()), Decided()).find(
        QUERY, MINE, SourceLimits(9, 3, deadline_s=0.1)
    )
    assert [item.id for item in answer.items] == ["a"]
    assert answer.failures[0].startswith("one:")


async def test_failure_is_distinguished_from_an_empty_answer() -> None:
    with pytest.raises(BackendUnavailable):
        await found(SideBySide(bringing(), placed(one=failing(KeyError("bug"))), Decided()))


async def test_failure_of_all_backends_names_each() -> None:
    places = placed(one=failing(BackendDenied("one")), two=failing(BackendUnavailable("two")))
    with pytest.raises(BackendDenied, match=r"one: .*; two: "):
        await found(SideBySide(None, places, Decided()))


async def test_disabled_or_unassigned_backend_is_no_failure() -> None:
    places = placed(off=failing(BackendDenied("off")), nobodys=failing(SourceSkipped("not assigned")))
    answer = await SideBySide(bringing("a"), places, Decided("off")).find(QUERY, MINE, LIMITS)
    assert answer.failures == ()
    assert answer.notes == ("off: switched off",)


async def test_partly_failed_answer_says_so_and_is_never_reused() -> None:
    failing_now = [True]

    async def do() -> SourceAnswer:
        if failing_now:
            raise BackendDenied("one")
        return SourceAnswer((Item("x", Source.KNOWLEDGE, "x", 0, 0.9, provenance=(Ref("b", "b"),)),))

    source = SideBySide(bringing("a"), placed(one=Scripted(do)), Decided())
    fan_out = FanOut({Source.KNOWLEDGE: source}, clock=asyncio.get_running_loop().time)
    partly = await asked(fan_out, MINE, deadline_ms=60_000)
    failing_now.clear()
    wholly = await asked(fan_out, MINE, deadline_ms=60_000)
    assert (partly.status, partly.is_partial, wholly.is_partial) == (Status.OK, True, False)
    assert partly.reason.startswith("one:")
    places = placed(one=failing(BackendDenied("one")))
    broken = FanOut({Source.KNOWLEDGE: SideBySide(once(bringing("a")), places, Decided())}, clock=lambda: 0.0)
    assert (await asked(broken, MINE, deadline_ms=60_000)).is_partial
    assert (await asked(broken, MINE, deadline_ms=60_000)).status is Status.ERROR


async def test_log_of_a_failed_backend_tells_its_status(caplog: pytest.LogCaptureFixture) -> None:
    source = SideBySide(None, placed(one=failing(BackendTimedOut("one"))), Decided())
    await asked(FanOut({Source.KNOWLEDGE: source}, clock=lambda: 0.0), MINE, deadline_ms=60_000)
    (record,) = [record for record in caplog.records if record.message == "backend_failed"]
    assert (record.__dict__["backend"], record.__dict__["status"]) == ("one", "TIMEOUT")


def once(source: Scripted) -> Scripted:
    """Return a source that answers once and fails from then on."""
    answers = [source]

    async def do() -> SourceAnswer:
        if not answers:
            raise BackendUnavailable("built-in")
        return await answers.pop().do()

    return Scripted(do)


@dataclass(frozen=True, slots=True)
class Backwards:
    """A reranker that turns the order around, or does what it is told."""

    do: Callable[[], Awaitable[None]] | None = None
    name: str = "order"
    deadline_s: float = 0.05

    async def order(self, query: str, texts: Sequence[str]) -> tuple[int, ...]:
        if self.do:
            await self.do()
        return tuple(reversed(range(len(texts))))


def reranked(reranker: Backwards, *off: str, built_in: Scripted | None = None) -> SideBySide:
    places = placed(one=bringing("a", "b"), two=bringing("x"))
    return SideBySide(built_in, places, Decided(*off), {MINE.tenant_id: reranker})


async def test_rerankers_order_of_backend_items_is_kept() -> None:
    answer = await reranked(Backwards()).find(QUERY, MINE, LIMITS)
    assert [(item.id, item.rank) for item in answer.items] == [("b", 0), ("x", 1), ("a", 2)]
    assert answer.reranked == ("b", "x", "a")
    assert await found(reranked(Backwards(), built_in=bringing("ours"))) == ["ours", "b", "x", "a"]
    assert await found(reranked(Backwards(), "order")) == ["a", "x", "b"]


async def test_pinned_items_come_first_and_take_no_place_of_others() -> None:
    async def do() -> SourceAnswer:
        answer = await bringing("pinned", "also pinned", "ours").do()
        return SourceAnswer((*[one._replace(is_pinned=True) for one in answer.items[:2]], answer.items[2]))

    source = SideBySide(Scripted(do), placed(one=bringing("x", "y")), Decided())
    assert await found(source, limits=SourceLimits(2, 3)) == ["pinned", "also pinned", "x", "y"]


async def hangs() -> None:
    await asyncio.get_running_loop().create_future()


async def breaks() -> None:
    raise BackendUnavailable("order", "500")


@pytest.mark.parametrize("do", [hangs, breaks])
async def test_without_the_reranker_items_are_merged_by_rank_and_none_is_missing(
    do: Callable[[], Awaitable[None]],
) -> None:
    answer = await reranked(Backwards(do)).find(QUERY, MINE, SourceLimits(9, 3, deadline_s=0.5))
    assert [item.id for item in answer.items] == ["a", "x", "b"]
    assert answer.failures == ()
    assert answer.notes[0].endswith("merged by rank instead")


def test_reranker_has_its_time_even_if_a_backend_hangs() -> None:
    async def thinks() -> None:
        await pass_time(0.4)

    async def story() -> None:
        places = {MINE.tenant_id: [NamedSource("one", bringing("a", "b")), NamedSource("hung", hanging())]}
        source = SideBySide(None, places, Decided(), {MINE.tenant_id: Backwards(thinks, deadline_s=0.5)})
        answer = await source.find(QUERY, MINE, SourceLimits(9, 3, deadline_s=2.0))
        assert [item.id for item in answer.items] == ["b", "a"]
        assert answer.failures[0].startswith("hung:")

    run(story())


async def test_source_is_skipped_if_no_backend_has_anything_to_ask() -> None:
    skipping = failing(SourceSkipped("not assigned"))
    with pytest.raises(SourceSkipped, match="not assigned"):
        await found(SideBySide(skipping, placed(one=skipping), Decided()))
    with pytest.raises(SourceSkipped, match="one: switched off"):
        await found(SideBySide(None, placed(one=bringing("a")), Decided("one")))
    with pytest.raises(SourceSkipped, match="no backend"):
        await found(SideBySide(None, placed(one=bringing("a")), Decided()), THEIRS)


async def test_record_is_read_from_one_backend_only() -> None:
    source = Instead(bringing("ours"), placed(one=bringing("theirs")), Decided())
    assert await found(source) == ["theirs"]
    assert await found(source, THEIRS) == ["ours"]
    assert await found(Instead(bringing("ours"), placed(one=bringing("theirs")), Decided("one"))) == ["ours"]
    with pytest.raises(BackendTimedOut):
        await found(
            Instead(bringing("ours"), placed(one=hanging()), Decided()), limits=SourceLimits(9, 3, deadline_s=0.1)
        )


@pytest.mark.parametrize("kind", [SideBySide, Instead])
@pytest.mark.parametrize("broken", [failing(BackendUnavailable("one")), hanging()], ids=["failing", "hanging"])
async def test_broken_backend_of_one_tenant_never_closes_the_source_to_another(
    kind: Callable[..., ContextSource], broken: Scripted
) -> None:
    built_in = None if kind is SideBySide else bringing("ours")
    places = {MINE.tenant_id: [NamedSource("one", broken)], THEIRS.tenant_id: [NamedSource("two", bringing("well"))]}
    fan_out = FanOut({Source.KNOWLEDGE: kind(built_in, places, Decided())}, clock=asyncio.get_running_loop().time)
    for _ in range(BreakerPolicy().least_calls + 1):
        assert (await asked(fan_out, MINE, deadline_ms=FAIR_MS)).status is not Status.OK
    assert (await asked(fan_out, THEIRS, deadline_ms=60_000)).status is Status.OK


async def asked(fan_out: FanOut, scope: Scope, *, deadline_ms: int) -> SourceReport:
    profile = merge(parse_layer({"sources": {"knowledge": {"deadline_ms": deadline_ms}}}))
    due_s = asyncio.get_running_loop().time() + 100
    findings = await fan_out.ask(FanOutQuery(QUERY, scope, profile, "v", 1000, due_s))
    return next(report for report in findings.reports if report.source is Source.KNOWLEDGE)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": "x" * 2000}, "an item's id is not of 1 to 1000 characters"),
        ({"id": "a\0b"}, "NUL"),
        ({"provenance": (Ref("memory", "x", "\ud800"),)}, "half a surrogate pair"),
        ({"provenance": (Ref("memory", "x", 5),)}, "wrong type"),  # type: ignore[arg-type]
        ({"text": "x" * (MOST_REMOTE_CHARS + 1)}, "a text of more than 200,000 characters"),
    ],
    ids=["long id", "NUL", "surrogate", "number", "long text"],
)
async def test_unusable_result_of_a_backend_costs_neither_its_others_nor_the_built_in_ones(
    changes: dict[str, Any], why: str
) -> None:
    (bad,) = (await bringing("bad").do()).items
    (good,) = (await bringing("good").do()).items

    async def both() -> SourceAnswer:
        return SourceAnswer((bad._replace(**changes), good._replace(rank=1)))

    async def only() -> SourceAnswer:
        return SourceAnswer((bad._replace(**changes),))

    answer = await SideBySide(bringing("ours"), placed(one=Scripted(both)), Decided()).find(QUERY, MINE, LIMITS)
    assert [item.id for item in answer.items] == ["ours", "good"]
    [note] = answer.notes
    assert note.startswith("one: 1 unusable, left out (")
    assert why in note
    answer = await SideBySide(bringing("ours"), placed(one=Scripted(only)), Decided()).find(QUERY, MINE, LIMITS)
    assert [item.id for item in answer.items] == ["ours"]
    assert why in answer.failures[0]


async def test_unusable_results_of_one_tenant_open_no_other_tenants_breaker() -> None:
    (bad,) = (await bringing("bad").do()).items

    async def do() -> SourceAnswer:
        return SourceAnswer((bad._replace(id="a\0b"),))

    source = SideBySide(bringing("ours"), placed(one=Scripted(do)), Decided())
    fan_out = FanOut({Source.KNOWLEDGE: source}, clock=lambda: 0.0)
    for _ in range(20):
        assert (await asked(fan_out, MINE, deadline_ms=60_000)).status is Status.OK
    assert fan_out.resting() == []
