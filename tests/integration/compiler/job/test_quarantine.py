"""Memories that a compile set aside, as the compile service shows them and has them tried again; and logs of other rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from compiler.plan.batch import LeafBatch
from compiler.planners.planner import ExtractivePlanner, Planner, Proposed
from sidecar.rpc.compile import CompileService
from sidecar.runtime.errors import AdminRequired, FailedPrecondition, InvalidArgument
from sidecar.services.compiles import Compiles, Progress
from sidecar.services.upkeep import Upkeep
from sidecar.v1 import compile_pb2 as pb
from store.compile import ledger
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.compiler.compiling import Clock, compiled, engine_on, fetch, journal, wiki_of, wish, write
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, now, refused

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
ANN: dict[str, Any] = {"owner_id": "ann"}
BAD = ("bad-1", "bad-2")


class Picky(ExtractivePlanner):
    """Can't read batches with some memories in them."""

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        if any(memory.memory_id in BAD for memory in batch.memories):
            raise ValueError("no plan can be made of this")
        return await super().plan_leaf(batch)


def service_on(pools: Pools, planner: Planner | None = None) -> CompileService:
    engine = engine_on(pools, planner=planner)
    return CompileService(Compiles(pools, engine, Progress(), now=now), Upkeep(pools, engine, now=now))


@pytest.fixture
async def service(pools: Pools) -> CompileService:
    """The service, over a wiki two of whose memories no plan could be made of."""
    bad = [NewMemory(f"Renee Castellano hid kumquat {one} behind the stove.", one, NOW) for one in BAD]
    await write(pools, [*journal(4), *bad], scope=SCOPE)
    await wish(pools, scope=SCOPE)
    await compiled(pools, engine_on(pools, planner=Picky()), scope=SCOPE)
    return service_on(pools)


async def held(service: CompileService, **given: Any) -> pb.ListQuarantinedResponse:
    return await service.list_quarantined(pb.ListQuarantinedRequest(**ANN, **given), an_admin())


async def test_quarantined_memories_are_listed_with_reasons_page_by_page(service: CompileService) -> None:
    first = await held(service, page_size=1)
    second = await held(service, page_size=1, page_token=first.next_page_token)
    found = [*first.memories, *second.memories]
    assert [(one.memory_id, one.reason) for one in found] == [(one, "ValueError") for one in BAD]
    assert found[0].text.startswith("Renee Castellano hid")
    assert not second.next_page_token
    other = pb.ListQuarantinedRequest(owner_id="bob")
    assert not (await service.list_quarantined(other, an_admin())).memories


@pytest.mark.parametrize("named", [(), BAD, (*BAD, "m00001", "never")], ids=["all", "named", "others too"])
async def test_retried_memory_is_compiled(service: CompileService, pools: Pools, named: tuple[str, ...]) -> None:
    before = await wiki_of(pools, scope=SCOPE)
    assert not any(b"kumquat" in body for body in before.values())
    asked = pb.RetryQuarantinedRequest(**ANN, memory_ids=named)
    effect = await service.retry_quarantined(asked, an_admin())
    assert (effect.memory_count, effect.job.status) == (2, pb.JOB_STATUS_PENDING)
    assert not (await held(service)).memories
    await compiled(pools, engine_on(pools), scope=SCOPE)
    after = await wiki_of(pools, scope=SCOPE)
    assert b"kumquat bad-1" in after["page /wiki/entity/renee-castellano"]
    twice = await service.retry_quarantined(asked, an_admin())
    assert (twice.memory_count, twice.HasField("job")) == (0, False)


async def test_retried_memory_that_breaks_a_batch_again_is_quarantined_again(
    service: CompileService, pools: Pools
) -> None:
    await service.retry_quarantined(pb.RetryQuarantinedRequest(**ANN), an_admin())
    await compiled(pools, engine_on(pools, planner=Picky()), scope=SCOPE)
    assert [one.memory_id for one in (await held(service)).memories] == list(BAD)


async def test_quarantined_backend_memory_names_its_source_and_can_be_retried(
    service: CompileService, pools: Pools, database: str
) -> None:
    await fetch(database, "DELETE FROM memories WHERE memory_id = 'bad-1'")
    assert [one.HasField("text") for one in (await held(service)).memories] == [False, True]
    assert (await service.retry_quarantined(pb.RetryQuarantinedRequest(**ANN), an_admin())).memory_count == 2
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        assert await ledger.reread_queue(connection, SCOPE, limit=9) == list(BAD)


async def test_quarantine_needs_an_admin_and_retrying_needs_compile_on(service: CompileService, database: str) -> None:
    retry = pb.RetryQuarantinedRequest(owner_id="ann", memory_ids=["bad-1"])
    for work in (
        service.list_quarantined(pb.ListQuarantinedRequest(**ANN), an_agent()),
        service.retry_quarantined(retry, an_agent()),
    ):
        assert isinstance(await refused(work), AdminRequired)
    many = pb.RetryQuarantinedRequest(**ANN, memory_ids=[str(one) for one in range(1_001)])
    assert isinstance(await refused(service.retry_quarantined(many, an_admin())), InvalidArgument)
    await fetch(database, "UPDATE tenants SET wiki_compile_enabled = false")
    assert isinstance(await refused(service.retry_quarantined(retry, an_admin())), FailedPrecondition)
    assert len((await held(service)).memories) == 2


async def test_log_of_other_rules_is_not_reported_as_different(
    service: CompileService, pools: Pools, database: str
) -> None:
    """As a wiki stands that an earlier version compiled: its batches bear no version, and other rules would write otherwise."""

    async def verified() -> pb.VerifyRebuildResponse:
        return await service.verify_rebuild(pb.VerifyRebuildRequest(**ANN), an_admin())

    fresh = await verified()
    assert (fresh.is_identical, fresh.outdated_count, fresh.batch_count > 0) == (True, 0, True)
    await fetch(database, "UPDATE compile_batches SET options = options - 'rules' WHERE batch_seq = 1")
    await fetch(database, "UPDATE wiki_page_sections SET body_md = body_md || ' as it was written once'")
    old = await verified()
    assert (old.is_identical, list(old.differences), old.outdated_count) == (False, [], 1)
    assert (old.batch_count, old.page_count) == (fresh.batch_count, fresh.page_count)
    await service.reset_cursor(pb.ResetCursorRequest(**ANN, mode=pb.RESET_MODE_FULL), an_admin())
    later = Clock(NOW + timedelta(minutes=6))
    await wish(pools, scope=SCOPE, now=later())
    await compiled(pools, engine_on(pools, clock=later), scope=SCOPE)
    anew = await verified()
    assert (anew.is_identical, anew.outdated_count) == (True, 0)
