"""The stored bytes of an owner's turns and memories, their report, and their quota."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import grpc
import pytest

from sidecar.runtime.settings import Settings
from sidecar.v1 import admin_pb2, cost_pb2, memory_pb2
from sidecar.v1 import context_pb2 as pb
from tests.support.served.commands import told
from tests.support.served.site import Caller, Site, served
from tests.support.served.turns import as_superuser, fill, refusal, said

MB = 2**20
COUNTED = (
    "SELECT (SELECT coalesce(sum(octet_length(text) + octet_length(parts::text)), 0) FROM turns)"
    " + (SELECT coalesce(sum(octet_length(text) + octet_length(metadata::text)), 0) FROM memories)"
)


async def held(agent: Caller) -> int:
    """Return how many bytes the owner's turns and memories hold, as the service says."""
    return int((await agent.GetStorage(cost_pb2.GetStorageRequest())).stored_bytes)


async def retain(agent: Caller, name: str, size: int) -> None:
    memory = memory_pb2.NewMemory(memory_id=name, text="x" * size)
    await agent.Retain(memory_pb2.RetainRequest(memories=[memory]))


async def test_stored_bytes_follow_writes_changes_and_forgetting(site: Site) -> None:
    agent = site.caller()
    assert await held(agent) == 0
    await fill(site)
    assert await held(agent) == await as_superuser(site, COUNTED) > 0
    for size in (70_000, 70_000, 90_000, 10):
        await retain(agent, "note", size)
        assert await held(agent) == await as_superuser(site, COUNTED)
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id="other", turns=said(("Hello?", "Yes."))))
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id="other", turns=said(("Hello?", "Yes."))))
    await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="boat-dock"))
    assert await held(agent) == await as_superuser(site, COUNTED)
    await site.caller(admin=True).ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))
    assert await held(agent) == 0


async def test_write_beyond_the_quota_is_refused_whole_and_a_delete_is_not(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served(replace(settings, owner_quota_mb=1)) as site:
        agent, neighbour = site.caller(), site.caller(owner="noor")
        for number in range(10):
            await retain(agent, f"note-{number}", 95_000)
        before = await held(agent)
        assert before < MB < before + 190_000
        large = pb.NewTurn(client_turn_id="large", role="user", text="y" * 190_000)
        writes = (
            agent.Retain(memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(text="z" * 99_000)] * 1)),
            agent.AppendTurns(pb.AppendTurnsRequest(thread_id="t", turns=[large])),
        )
        await retain(agent, "last", 90_000)
        for write in writes:
            code, reason, _ = await refusal(write)
            assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OWNER_QUOTA_EXCEEDED")
        assert not (await agent.ListThreads(pb.ListThreadsRequest())).threads, "nothing of a refused write is kept"
        await retain(neighbour, "note", 95_000)
        await retain(agent, "note-0", 10)
        await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="note-1"))
        await agent.AppendTurns(pb.AppendTurnsRequest(thread_id="t", turns=[large]))
        shown = await told(site, capsys, "owner", "show")
        assert shown == {"stored_bytes": await held(agent), "quota_bytes": MB}


async def test_refusal_names_the_quota_and_the_fix(settings: Settings) -> None:
    async with served(replace(settings, owner_quota_mb=1)) as site:
        turn = pb.NewTurn(client_turn_id="large", role="user", text="y" * 1_990_000)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await site.caller().AppendTurns(pb.AppendTurnsRequest(thread_id="t", turns=[turn]))
    assert "1.9 of 1.0 MB" in str(caught.value.details())
    assert "delete memories" in str(caught.value.details())


async def test_memory_limit_holds_under_concurrent_writes(settings: Settings) -> None:
    async with served(replace(settings, owner_max_memories=5)) as site:
        agent, neighbour = site.caller(), site.caller(owner="noor")
        outcomes = await asyncio.gather(
            *(retain(agent, f"note-{at}", 10 + at) for at in range(12)), return_exceptions=True
        )
        refused = [one for one in outcomes if isinstance(one, grpc.aio.AioRpcError)]
        assert len(refused) == 7
        assert {one.code() for one in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        held = [one.memory_id for one in (await agent.ListMemories(memory_pb2.ListMemoriesRequest())).memories]
        assert len(held) == 5
        code, reason, _ = await refusal(retain(agent, "one-more", 5))
        assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_MEMORIES")
        await retain(agent, held[0], 70)
        await retain(neighbour, "note", 10)
        await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id=held[1]))
        await retain(agent, "one-more", 5)
        assert "SIDECAR_OWNER_MAX_MEMORIES" in str(refused[0].details())
        assert "memories" in str(refused[0].details())
