"""Processes killed at random while callers write, forget and ask: nothing acknowledged is lost, doubled or comes back."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.v1 import compile_pb2, memory_pb2, wiki_pb2
from sidecar.v1 import context_pb2 as pb
from store.embedded import postmaster
from tests.support.databases import new_directory
from tests.support.served.fault_world import (
    CALL_S,
    CLEAR,
    FAULTS,
    NEW_CLIENT,
    Callers,
    Ledger,
    Sidecar,
    kill_all,
    kill_worker,
)
from tests.support.waiting import PATIENCE_S, until

CAMPAIGN = 60
SEED = 12


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory straight under /tmp, where the account Postgres runs as may pass."""
    directory = new_directory()
    directory.mkdir(mode=0o755)
    yield directory
    asyncio.run(postmaster.shut_down(directory / "pgdata"))
    shutil.rmtree(directory)
    directory.with_name(f"{directory.name}.log").unlink(missing_ok=True)


@pytest.fixture
async def one(data_dir: Path) -> AsyncIterator[Sidecar]:
    """A sidecar serving from the directory, which may be killed."""
    sidecar = Sidecar(data_dir)
    await sidecar.start()
    yield sidecar
    await sidecar.kill()


async def test_no_acknowledged_write_is_lost_doubled_or_resurrected(one: Sidecar, is_soak: bool) -> None:
    chosen = random.Random(SEED)
    faults = [chosen.choice(FAULTS) for _ in range(CAMPAIGN)] if is_soak else [kill_all]
    async with grpc.aio.insecure_channel(one.address, NEW_CLIENT) as channel:
        await asyncio.wait_for(channel.channel_ready(), PATIENCE_S)
        callers = Callers(one, channel, SEED)
        async with callers.running():
            await callers.until_well()
            for fault in faults:
                await fault(one)
                await callers.until_well()
        _check_told(callers.ledger)
        await _check_turns(callers)
        await _check_memories(callers)
        await _check_forgotten(callers)
        if is_soak:
            await _check_wikis(callers)


async def test_fault_of_the_worker_spares_the_database(one: Sidecar) -> None:
    """Both are children of the served process, and the arguments of Postgres name parallel workers."""
    await until(lambda: one.worker() is not None)
    server = postmaster.serving_pid(one.data_dir / "pgdata")
    assert server is not None
    await kill_worker(one)
    await until(lambda: one.worker() is not None)
    assert postmaster.serving_pid(one.data_dir / "pgdata") == server


def _check_told(ledger: Ledger) -> None:
    """Check that each error told the caller to try again, and that nothing forgotten was told."""
    assert not ledger.told_too_late
    assert not [error for error in ledger.errors if error[1] not in {code.name for code in CLEAR}]


async def _check_turns(callers: Callers) -> None:
    for (owner, thread), sent in callers.ledger.turns.items():
        found = await _all(callers.caller(owner).ListTurns, pb.ListTurnsRequest(thread_id=thread), "turns")
        ids = Counter(turn.client_turn_id for turn in found)
        assert callers.ledger.acknowledged_turns[owner, thread] <= ids.keys() <= sent.keys()
        assert all(count == 1 for count in ids.values())
        assert [turn.position for turn in found] == list(range(1, len(found) + 1))
        assert all(turn.text == sent[turn.client_turn_id] for turn in found)


async def _check_memories(callers: Callers) -> None:
    for owner in {owner for owner, _ in callers.ledger.memories}:
        found = await _all(callers.caller(owner).ListMemories, memory_pb2.ListMemoriesRequest(), "memories")
        texts = {memory.memory_id: memory.text for memory in found}
        assert len(texts) == len(found)
        for (whose, memory_id), possible in callers.ledger.memories.items():
            assert whose != owner or texts.get(memory_id) in possible, memory_id


async def _check_forgotten(callers: Callers) -> None:
    for owner in callers.ledger.forgotten_owners:
        agent = callers.caller(owner)
        assert not (await agent.ListThreads(pb.ListThreadsRequest())).threads
        assert not (await agent.ListMemories(memory_pb2.ListMemoriesRequest())).memories
        assert not (await agent.ListPages(wiki_pb2.ListPagesRequest())).pages
        assert not (await agent.ListAssemblies(pb.ListAssembliesRequest())).receipts


async def _check_wikis(callers: Callers) -> None:
    """Check that every wiki is compiled to its end, and is what its batches make when they are replayed."""
    admin = callers.caller("", admin=True)
    for owner in {owner for owner, _ in callers.ledger.memories}:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                made = await admin.CompileNow(compile_pb2.CompileNowRequest(owner_id=owner))
                job = made.job
                request = compile_pb2.WatchJobRequest(owner_id=owner, job_id=job.job_id)
                async for step in admin.WatchJob(request, timeout=PATIENCE_S):  # type: ignore[attr-defined]  # a stream
                    job = step.job
                if job.status in {compile_pb2.JOB_STATUS_SUCCEEDED, compile_pb2.JOB_STATUS_SKIPPED}:
                    break
        rebuilt = await admin.VerifyRebuild(compile_pb2.VerifyRebuildRequest(owner_id=owner), timeout=CALL_S)
        assert rebuilt.is_identical or rebuilt.unreplayable_count, list(rebuilt.differences)


async def _all(method: Any, request: Any, field: str) -> list[Any]:
    """Return what a listing has, page after page."""
    found: list[Any] = []
    request.page_size = 500
    while True:
        answer = await method(request)
        found += getattr(answer, field)
        if not answer.next_page_token:
            return found
        request.page_token = answer.next_page_token
