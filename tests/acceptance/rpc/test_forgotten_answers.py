"""No cached answer survives the forgetting of its content, in any process or replica."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from sidecar.v1 import admin_pb2, memory_pb2
from sidecar.v1 import context_pb2 as pb
from tests.support.served.site import Caller, Site, served
from tests.support.served.turns import (
    ACTIVE,
    BOAT,
    WAITING,
    asking,
    asking_in_haste,
    assembled,
    fill,
    locked,
    statuses,
    until_count,
)
from tests.support.waiting import next_round


@pytest.fixture
async def replica(site: Site) -> AsyncIterator[Site]:
    """Another sidecar on the same database."""
    async with served(site.settings) as one:
        yield one


async def forget(site: Site, *, is_owner: bool) -> None:
    """Forget the memory of the boat, or its owner, through one of the replicas."""
    if is_owner:
        await site.caller(admin=True).ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))
    else:
        await site.caller().DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="boat-dock"))


@pytest.mark.parametrize("is_owner", [False, True])
async def test_repeated_request_returns_nothing_forgotten(site: Site, replica: Site, is_owner: bool) -> None:
    await fill(site)
    callers = [site.caller(), replica.caller()]
    request = asking(request_id="before")
    for caller in callers:
        first = await assembled(caller, request)
        assert BOAT in str(first)
        assert await assembled(caller, request) == first
    await forget(site, is_owner=is_owner)
    for caller in callers:
        anew = await assembled(caller, request)
        assert BOAT not in str(anew)
        assert not anew.degraded


async def test_neighbours_forgetting_keeps_a_cached_answer(site: Site) -> None:
    await fill(site)
    neighbour = await fill(site, owner="noor")
    kept = await assembled(neighbour, asking(request_id="mine"))
    await forget(site, is_owner=True)
    assert await assembled(neighbour, asking(request_id="mine")) == kept


async def test_request_joins_no_running_turn_that_read_before_a_forget(site: Site) -> None:
    agent = await fill(site)
    request = asking(request_id="under way")
    async with locked(site, "chunks"):
        before = asyncio.create_task(assembled(agent, request))
        await until_count(site, WAITING, 1)
        await until_memories_are_read(site)
        await forget(site, is_owner=False)
        after = asyncio.create_task(assembled(agent, request))
        await next_round()
    assert BOAT not in str(await after)
    await before


async def until_memories_are_read(site: Site) -> None:
    """Wait until of the turn's queries only the one that is held up still runs."""
    await until_count(site, f"{ACTIVE} AND state = 'active'", 1)


async def test_stale_answer_is_not_served_after_a_forget(site: Site, replica: Site) -> None:
    await fill(site)
    callers = [site.caller(), replica.caller()]
    for caller in callers:
        assert BOAT in str(await assembled(caller))
    async with locked(site, "memories"):
        assert BOAT in str(await in_haste(callers[0]))
    await forget(site, is_owner=False)
    async with locked(site, "memories"):
        assert statuses(await in_haste(callers[0]))["MEMORY"] != "STALE"
        while statuses(answer := await in_haste(callers[1]))["MEMORY"] == "STALE":
            pass  # until the replica has heard
        assert BOAT not in str(answer)


async def in_haste(caller: Caller) -> pb.Assembly:
    """Return a turn whose sources get little time."""
    return await assembled(caller, asking_in_haste())
