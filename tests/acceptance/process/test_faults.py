"""Whatever fails beneath a turn, it answers in time with the rest, reports the failure, and recovers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import grpc
import pytest

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.process.app import running
from sidecar.runtime.settings import Settings
from sidecar.turn.items import Item, Ref, Source
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2, profile_pb2
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.served.site import Caller, Site
from tests.support.served.turns import (
    ACTIVE,
    WAITING,
    as_superuser,
    asking,
    asking_in_haste,
    assembled,
    detailed,
    explained,
    fill,
    knobs,
    locked,
    recount,
    refusal,
    report,
    statuses,
    until_as_few_tasks_as,
    until_count,
)

NOT_ANSWERED = ["TIMEOUT", "ERROR", "SHED", "BREAKER_OPEN", "STALE"]
NUMBERS = {source: items_pb2.Source.Value(f"SOURCE_{source.name}") for source in Source}


@dataclass(frozen=True, slots=True)
class Weakness:
    """How one of the built-in sources is hurt from below: the table it reads, and the function that it searches with."""

    table: str
    function: str
    signature: str


WEAKNESSES = {
    Source.THREAD: Weakness("turns", "recall_turns", "uuid, uuid, text, text[], integer, text[], integer, real[]"),
    Source.KNOWLEDGE: Weakness("chunks", "recall_chunks", "uuid, uuid[], text[], integer, text[], integer, real[]"),
    Source.MEMORY: Weakness("memories", "recall_memories", "uuid, uuid, text[], integer, text[], integer, real[]"),
    Source.WIKI: Weakness(
        "wiki_page_sections", "recall_sections", "uuid, uuid, text[], integer, text[], integer, real[]"
    ),
}
# Without the conversation there is no turn: what befalls the thread stands in test_conversation.py.
BESIDE_THE_THREAD = pytest.mark.parametrize("hurt", [source for source in WEAKNESSES if source is not Source.THREAD])


@pytest.fixture
async def agent(site: Site) -> Caller:
    return await fill(site)


@asynccontextmanager
async def killed(site: Site, hurt: Source) -> AsyncIterator[None]:
    """The source's function is gone."""
    weak = WEAKNESSES[hurt]
    await as_superuser(site, f"ALTER FUNCTION {weak.function}({weak.signature}) RENAME TO gone")
    yield
    await as_superuser(site, f"ALTER FUNCTION gone({weak.signature}) RENAME TO {weak.function}")


@asynccontextmanager
async def hung(site: Site, hurt: Source) -> AsyncIterator[None]:
    """The source's table is locked."""
    async with locked(site, WEAKNESSES[hurt].table):
        yield


@asynccontextmanager
async def babbling(site: Site, hurt: Source) -> AsyncIterator[None]:
    """The source's function finds what it did, but what it tells of it is no number, or missing."""
    weak = WEAKNESSES[hurt]
    oid = f"'{weak.function}({weak.signature})'::regprocedure"
    returns = await as_superuser(site, f"SELECT pg_get_function_result({oid})")
    names = [column.split()[0] for column in returns.removeprefix("TABLE(").split(", ")]
    garbled = {"cosines": "ARRAY['NaN']::real[]", "frequencies": "NULL::integer[]", "total": "NULL::integer"}
    columns = ", ".join(garbled.get(name, name) for name in names)
    asked = ", ".join(f"${place}" for place in range(1, weak.signature.count(",") + 2))
    async with killed(site, hurt):
        await as_superuser(
            site,
            f"CREATE FUNCTION {weak.function}({weak.signature}) RETURNS {returns} STABLE LANGUAGE sql"
            f" AS 'SELECT {columns.replace(chr(39), 2 * chr(39))} FROM gone({asked})'",
        )
        yield
        await as_superuser(site, f"DROP FUNCTION {weak.function}({weak.signature})")


@BESIDE_THE_THREAD
@pytest.mark.parametrize(("hurting", "status"), [(killed, "ERROR"), (hung, "TIMEOUT"), (babbling, "ERROR")])
async def test_other_sources_answer_if_one_fails(
    site: Site, agent: Caller, hurt: Source, hurting: Callable[[Site, Source], Any], status: str
) -> None:
    brief = knobs(NUMBERS[hurt], deadline_ms=250 if hurting is hung else 20_000)
    async with hurting(site, hurt):
        answer = await assembled(agent, asking(overrides=brief))
    failed = report(answer, NUMBERS[hurt])
    assert statuses(answer) == _all_well() | {hurt.name: status}
    assert failed.reason
    assert failed.attempt_count == 1
    assert failed.offered_count == failed.included_tokens == 0
    assert answer.degraded
    assert {item.source for item in answer.items} | {items_pb2.SOURCE_THREAD} == {
        NUMBERS[source] for source in WEAKNESSES
    } - {NUMBERS[hurt]} | {items_pb2.SOURCE_THREAD}
    assert recount(answer) == answer.budget.used_tokens
    receipt = await explained(agent, answer.receipt_id)
    assert receipt.degraded
    assert list(receipt.sources) == list(answer.sources)
    healed = await assembled(agent)
    assert statuses(healed) == _all_well()
    assert not healed.degraded


@BESIDE_THE_THREAD
async def test_failing_required_source_fails_the_turn(site: Site, agent: Caller, hurt: Source) -> None:
    request = asking(overrides=knobs(NUMBERS[hurt], required=True))
    async with killed(site, hurt):
        code, reason, _ = await refusal(agent.AssembleContext(request))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "REQUIRED_SOURCE_FAILED")
    assert statuses(await assembled(agent, request)) == _all_well()


async def test_earlier_answer_replaces_a_failing_source_and_is_called_stale(site: Site, agent: Caller) -> None:
    fresh = await assembled(agent)
    async with killed(site, Source.MEMORY):
        answer = await assembled(agent)
        other = await assembled(agent, asking("Who paints the boat?"))
    assert statuses(answer)["MEMORY"] == "STALE"
    assert answer.degraded
    assert "a cached answer" in report(answer, items_pb2.SOURCE_MEMORY).reason
    assert answer.content_sha256 == fresh.content_sha256
    assert statuses(other)["MEMORY"] == "ERROR"


async def test_turn_is_answered_if_every_source_hangs(site: Site, agent: Caller) -> None:
    async with hung(site, Source.KNOWLEDGE), hung(site, Source.MEMORY), hung(site, Source.WIKI):
        answer = await assembled(agent, asking_in_haste(thread_id=""))
    assert set(statuses(answer).values()) == {"TIMEOUT", "SKIPPED", "EMPTY"}
    assert not answer.items
    await until_count(site, WAITING, 0)


async def test_source_slower_than_the_callers_deadline_does_not_delay_the_call(site: Site, agent: Caller) -> None:
    patient = knobs(items_pb2.SOURCE_MEMORY, deadline_ms=60_000)
    async with hung(site, Source.MEMORY):
        answer = await answer_within(agent, asking(overrides=patient), deadline_s=5.0)
        assert answer is not None
        assert statuses(answer) == _all_well() | {"MEMORY": "TIMEOUT"}
        await until_count(site, WAITING, 0)


async def test_zero_deadline_gets_an_answer_or_a_clear_status(site: Site, agent: Caller) -> None:
    tasks = len(asyncio.all_tasks())
    for timeout in (0.000_001, 0.001, 0.002, 0.005, 0.01, 0.02):
        answer = await answer_within(agent, asking(), deadline_s=timeout)
        assert answer is None or answer.receipt_id
    answer = await answer_within(agent, asking(), deadline_s=5.0)
    assert answer is not None
    assert answer.receipt_id
    await until_count(site, f"{ACTIVE} AND state <> 'idle'", 0)
    await until_as_few_tasks_as(tasks)


@pytest.mark.parametrize("request_id", ["", "cancelled"])
async def test_cancelled_turn_cancels_its_query(site: Site, agent: Caller, request_id: str) -> None:
    patient = knobs(items_pb2.SOURCE_MEMORY, deadline_ms=60_000)
    async with hung(site, Source.MEMORY):
        call = asyncio.create_task(assembled(agent, asking(overrides=patient, request_id=request_id), timeout=60.0))
        await until_count(site, WAITING, 1)
        call.cancel()
        await asyncio.wait([call])
        await until_count(site, WAITING, 0)
    answer = await assembled(agent, asking(overrides=patient, request_id=request_id))
    assert statuses(answer) == _all_well()


async def test_cancelled_listing_cancels_its_query_too(site: Site, agent: Caller) -> None:
    async with hung(site, Source.MEMORY):
        call = asyncio.ensure_future(agent.ListMemories(memory_pb2.ListMemoriesRequest(), timeout=60.0))
        await until_count(site, WAITING, 1)
        call.cancel()
        await until_count(site, WAITING, 0)
    assert call.cancelled()
    assert (await agent.ListMemories(memory_pb2.ListMemoriesRequest(), timeout=60.0)).memories


async def test_turn_queues_for_a_connection_and_is_whole(site: Site, agent: Caller) -> None:
    scope = Scope(tenant_uuid("acme"), owner_uuid("mara"))
    await assembled(agent, asking("What is looked up before a turn is remembered by now."))
    async with AsyncExitStack() as stack:
        for _ in range(site.settings.turn_pool_size):
            await stack.enter_async_context(scoped(site.app.pools.turn, scope))
        turn = asyncio.create_task(assembled(agent, timeout=60.0))
        hasty = await answer_within(agent, asking(thread_id=""), deadline_s=5.0)
        assert hasty is not None
        assert "no connection" in report(hasty, items_pb2.SOURCE_MEMORY).reason
    assert statuses(await turn) == _all_well()


async def test_notice_whose_compile_cannot_be_queued_does_not_fail_its_caller(site: Site, agent: Caller) -> None:
    await as_superuser(site, "ALTER TABLE wiki_compile_jobs RENAME TO elsewhere")
    answer = await agent.NotifyRetained(pb.NotifyRetainedRequest(), timeout=60.0)
    assert answer.outcome == pb.NOTIFY_OUTCOME_FAILED


async def test_lost_connections_affect_only_the_turns_that_used_them(site: Site, agent: Caller) -> None:
    for _ in range(3):
        await as_superuser(
            site,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        answer = await assembled(agent)
        assert set(statuses(answer).values()) <= {"OK", "SKIPPED", *NOT_ANSWERED}
    assert statuses(await assembled(agent)) == _all_well()
    profile = profile_pb2.SetProfileRequest(
        level=profile_pb2.PROFILE_LEVEL_TEMPLATE, ref="default", profile=knobs(items_pb2.SOURCE_WIKI, enabled=False)
    )
    await site.caller(admin=True).SetProfile(profile)
    assert statuses(await assembled(agent))["WIKI"] == "SKIPPED"


class Playing:
    """A source that does what it is told; well behaved at first."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.play: Callable[[], Any] = self.well
        self.is_asked = asyncio.Event()
        self.is_left = asyncio.Event()

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> Any:
        self.is_asked.set()
        try:
            answer = self.play()
            return await answer if asyncio.iscoroutine(answer) else answer
        finally:
            self.is_left.set()

    def well(self) -> SourceAnswer:
        provenance = (Ref("file", "a"),)
        moment = datetime(2026, 5, 1, tzinfo=UTC)
        item = Item(
            f"{self.source}:1", self.source, f"{self.source} says hello.", 0, 0.9, "", "", provenance, at=moment
        )
        return SourceAnswer((item,))

    def failing(self) -> SourceAnswer:
        raise ConnectionResetError("10.0.0.7:5432 user=secret")

    async def hanging(self) -> None:
        await asyncio.Event().wait()

    def garbage(self) -> Any:
        return {"items": "none"}


@pytest.fixture
async def troupe(settings: Settings) -> AsyncIterator[tuple[Site, dict[Source, Playing]]]:
    """A site whose every source is played."""
    cast = {source: Playing(source) for source in Source}
    async with running(settings, sources=dict(cast)) as app, grpc.aio.insecure_channel(app.addresses[0]) as channel:
        yield Site(app, settings, channel), cast


@pytest.mark.parametrize(("how", "status"), [("failing", "ERROR"), ("hanging", "TIMEOUT"), ("garbage", "ERROR")])
async def test_any_source_may_fail_in_any_way(
    troupe: tuple[Site, dict[Source, Playing]], how: str, status: str
) -> None:
    site, cast = troupe
    agent = site.caller()
    everyone = {source.name: "OK" for source in Source}
    for source, player in cast.items():
        player.play = getattr(player, how)
        player.is_left.clear()
        brief = {"deadline_ms": 100} if how == "hanging" else {}
        overrides = knobs(NUMBERS[source], **brief)
        overrides.spend = profile_pb2.SPEND_FULL
        answer = await assembled(agent, asking(f"{source} {how}", overrides=overrides))
        assert statuses(answer) == everyone | {source.name: status}
        assert answer.degraded
        assert "secret" not in str(answer)
        assert len(answer.items) == len(cast) - 1
        await player.is_left.wait()
        player.play = player.well
    assert statuses(await assembled(agent)) == everyone


class Uncuttable(str):
    """A header that fails whoever takes the beginning of it."""

    __slots__ = ()

    def __getitem__(self, _: object) -> str:
        raise ZeroDivisionError


def _beside(player: Playing, item: Item) -> SourceAnswer:
    return SourceAnswer((*player.well().items, item))


async def test_unrenderable_item_is_dropped_alone(troupe: tuple[Site, dict[Source, Playing]]) -> None:
    site, cast = troupe
    provenance = (Ref("file", "b"),)
    header = Uncuttable("Berths")
    for source, player in cast.items():
        bad = Item(f"{source}:bad", source, f"{source} says nothing.", 1, 0.9, header, "", provenance)
        player.play = partial(_beside, player, bad)
    answer = await assembled(site.caller(), asking(overrides=profile_pb2.Profile(spend=profile_pb2.SPEND_FULL)))
    assert set(statuses(answer).values()) == {"OK"}
    assert not answer.degraded
    assert {item.id for item in answer.items} == {f"{source}:1" for source in Source}
    fell = {one.item_id: one.reason for one in answer.decisions if one.decision == items_pb2.DECISION_UNUSABLE}
    assert fell == {f"{source}:bad": "using it failed with ZeroDivisionError" for source in Source}
    receipt = await explained(site.caller(), answer.receipt_id)
    assert sum(one.decision == items_pb2.DECISION_UNUSABLE for one in receipt.decisions) == len(cast)
    replayed = await site.caller().ReplayAssembly(pb.ReplayAssemblyRequest(receipt_id=answer.receipt_id))
    assert replayed.assembly.content_sha256 == answer.content_sha256


async def test_turn_asks_all_sources_at_once_and_ends_with_the_slowest(
    troupe: tuple[Site, dict[Source, Playing]],
) -> None:
    site, cast = troupe
    together = asyncio.Barrier(len(cast))

    def meeting(player: Playing) -> Callable[[], Any]:
        async def meet() -> SourceAnswer:
            await together.wait()
            return player.well()

        return meet

    for player in cast.values():
        player.play = meeting(player)
    answer = await assembled(site.caller())
    assert set(statuses(answer).values()) == {"OK"}, "each waited for all the others"


async def answer_within(agent: Caller, request: pb.AssembleContextRequest, *, deadline_s: float) -> pb.Assembly | None:
    """Return the answer, or None when there was no time for one, or for the conversation; nothing else may happen."""
    try:
        return await assembled(agent, request, timeout=deadline_s)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED or detailed(error)[0] == "REQUIRED_SOURCE_FAILED":
            return None
        raise


def _all_well() -> dict[str, str]:
    asked = dict.fromkeys((source.name for source in WEAKNESSES), "OK")
    return asked | {"WORKSPACE": "SKIPPED", "TOOLS": "SKIPPED"}
