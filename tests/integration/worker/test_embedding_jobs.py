"""Stored texts get their vectors behind the writes: each once, again when they change, all of them for another embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import asyncpg
import pytest

from models.errors import EmbedderUnusable
from sidecar.runtime.embedders import Numbered
from sidecar.worker.embedding_jobs import KIND, Embedded, Embedding, Rests, embed_some, mark_unfinished
from sidecar.worker.worker_process import handlers
from store.compile import background
from store.content import embeddings, memories
from store.content.embeddings import TextKind, TextPartition
from store.db.postgres import Pools, scoped
from tests.support.compiler.compiling import Clock, engine_on, worker_on
from tests.support.store.embedding_world import (
    NOW,
    OTHER_OWNER,
    OTHER_TENANT,
    SCOPE,
    TopicEmbedder,
    compile_page,
    numbered,
    read_in,
    remember,
    say,
    tenants_made,
    until_embedded,
)
from tests.support.store.notes import as_admin
from tests.support.waiting import PATIENCE_S, next_round, until

PRESENT = partial(datetime.now, UTC)
VECTORS = ("turn_vectors", "memory_vectors", "chunk_vectors", "section_vectors", "page_vectors")


@pytest.fixture(autouse=True)
async def world(pools: Pools) -> None:
    await tenants_made(pools)


@pytest.fixture
async def topics(pools: Pools) -> Numbered:
    return await numbered(pools, TopicEmbedder())


async def embed_all(pools: Pools, embedder: Numbered, *, limit: int = 64) -> int:
    """Embed until nothing waits, and return how many texts that were."""
    count = 0
    while partitions := await embeddings.waiting(pools.background, limit=10):
        for partition in partitions:
            count += (await embed_some(pools.background, embedder, partition, limit=limit)).count
    return count


async def counts(database: str) -> dict[str, int]:
    """Return how many vectors each table holds."""
    connection = await asyncpg.connect(database)
    found = {table: await connection.fetchval(f"SELECT count(*) FROM {table}") for table in VECTORS}
    await connection.close()
    return found


def embedding_by(holder: str, pools: Pools, embedder: Numbered, *, now: Callable[[], datetime] = PRESENT) -> Embedding:
    """Return a process that embeds."""
    return Embedding(pools.background, embedder, holder=holder, now=now)


def asked(embedder: Numbered) -> list[str]:
    assert isinstance(embedder.embedder, TopicEmbedder)
    return embedder.embedder.asked


async def test_every_kind_of_text_gets_one_vector(pools: Pools, database: str, topics: Numbered) -> None:
    await say(pools, "the boat leaks", "caulk it", "")
    await remember(pools, "Mara has a boat")
    await read_in(pools, "boats ashore", "boats afloat")
    await compile_page(pools, "The boat is a sloop.", "It sails.", summary="A boat.")
    assert await embed_all(pools, topics) == 8
    assert list((await counts(database)).values()) == [2, 1, 2, 2, 1]
    assert "Part 0: The boat is a sloop." in asked(topics)
    assert await embed_all(pools, topics) == 0
    assert len(asked(topics)) == 8


async def test_embedding_resumes_where_it_was_interrupted(pools: Pools, database: str, topics: Numbered) -> None:
    await say(pools, *(f"turn {number}" for number in range(5)))
    (partition,) = await embeddings.waiting(pools.background, limit=10)
    first = await embed_some(pools.background, topics, partition, limit=2)
    assert (first.count, first.is_done) == (2, False)
    assert await embeddings.waiting(pools.background, limit=10) == [partition]
    assert await embed_all(pools, topics, limit=2) == 3
    assert sorted(asked(topics)) == [f"turn {number}" for number in range(5)]


async def test_text_written_during_embedding_is_not_missed(pools: Pools, topics: Numbered) -> None:
    await say(pools, "one")
    (seen,) = await embeddings.waiting(pools.background, limit=10)
    await say(pools, "one", "two")
    done = await embed_some(pools.background, topics, seen)
    assert (done.count, done.is_done) == (2, False)
    assert len(await embeddings.waiting(pools.background, limit=10)) == 1
    assert await embed_all(pools, topics) == 0
    assert await embeddings.waiting(pools.background, limit=10) == []


async def test_a_changed_text_is_embedded_again(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "Mara has a boat", ids=["m"])
    await compile_page(pools, "The boat.", "The garden.", summary="On boats.")
    await embed_all(pools, topics)
    before = len(asked(topics))
    await remember(pools, "Mara has a cello", ids=["m"])
    await compile_page(pools, "The boat.", "The roses.", summary="On boats and roses.")
    assert await embed_all(pools, topics) == 3
    assert asked(topics)[before:] == ["Mara has a cello", "Part 1: The roses.", "A page: On boats and roses."]


async def test_new_embedder_embeds_everything_again(pools: Pools, database: str, topics: Numbered) -> None:
    await say(pools, "the boat leaks")
    await remember(pools, "Mara has a boat")
    await remember(pools, "Somebody else has a boat", scope=OTHER_TENANT)
    await read_in(pools, "boats ashore")
    await compile_page(pools, "The boat.", summary="On boats.")
    await embed_all(pools, topics)
    other = await numbered(pools, TopicEmbedder("other", dimensions=7))
    assert other.embedder_no != topics.embedder_no
    assert await embed_all(pools, other) == 0, "nothing was written, so nothing waits"
    assert await mark_unfinished(pools.background, other, now=lambda: NOW) == 5
    assert await embed_all(pools, other) == 6
    assert await mark_unfinished(pools.background, other, now=lambda: NOW) == 0
    assert sum((await counts(database)).values()) == 6, "a text has one vector"


async def test_every_partition_of_every_tenant_is_visited(pools: Pools) -> None:
    for scope in (SCOPE, OTHER_OWNER, OTHER_TENANT):
        for thread_id in ("a", "b"):
            await say(pools, "boat", scope=scope, thread_id=thread_id)
        await remember(pools, "boat", scope=scope)
        await compile_page(pools, "boat", scope=scope)
    base_ids = [await read_in(pools, "boat", base=name) for name in ("one", "two")]
    found = [partition async for partition in embeddings.every_partition(pools.background)]
    owned = [
        (partition.kind, partition.tenant_id, partition.owner_id, partition.ref)
        for partition in found
        if partition.owner_id
    ]
    assert len(owned) == len(set(owned)) == 3 * (2 + 1 + 1)
    assert {partition.ref for partition in found if partition.kind is TextKind.CHUNKS} == {
        str(base_id) for base_id in base_ids
    }


async def test_forgotten_text_loses_its_vector(pools: Pools, database: str, topics: Numbered) -> None:
    await remember(pools, "Mara has a boat", ids=["m"])
    await embed_all(pools, topics)
    async with scoped(pools.background, SCOPE) as connection:
        await memories.forget_all(connection, SCOPE, ["m"])
    assert (await counts(database))["memory_vectors"] == 0


async def test_text_deleted_during_its_embedding_gets_no_vector(pools: Pools, database: str) -> None:
    class Forgetful(TopicEmbedder):
        async def embed(self, texts):  # type: ignore[no-untyped-def]
            async with scoped(pools.background, SCOPE) as connection:
                await memories.forget_all(connection, SCOPE, ["m"])
            return await super().embed(texts)

    await remember(pools, "Mara has a boat", "Mara has a cello", ids=["m", "n"])
    await embed_all(pools, await numbered(pools, Forgetful()))
    assert (await counts(database))["memory_vectors"] == 1


async def test_partition_is_identified_within_its_scope(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "Mara has a boat")
    foreign = TextPartition(TextKind.MEMORIES, OTHER_OWNER.tenant_id, OTHER_OWNER.owner_id)
    assert (await embed_some(pools.background, topics, foreign)).count == 0


async def test_service_embeds_existing_and_arriving_texts(pools: Pools, database: str) -> None:
    class Watched(TopicEmbedder):
        def __init__(self) -> None:
            super().__init__()
            self.more = asyncio.Event()

        async def embed(self, texts):  # type: ignore[no-untyped-def]
            self.more.set()
            return await super().embed(texts)

    embedder = Watched()
    await remember(pools, "written before")
    async with asyncpg.create_pool(database, min_size=1, max_size=1) as admin:
        await admin.execute("DELETE FROM places_to_embed")
    task = asyncio.create_task(embedding_by("one", pools, await numbered(pools, embedder)).keep())
    async with asyncio.timeout(PATIENCE_S):
        await embedder.more.wait()
        embedder.more.clear()
        await remember(pools, "written since")
        await embedder.more.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert embedder.asked == ["written before", "written since"]


async def test_failing_partition_delays_no_other(pools: Pools, database: str) -> None:
    class Choosy(TopicEmbedder):
        async def embed(self, texts):  # type: ignore[no-untyped-def]
            if "poison" in texts:
                raise EmbedderUnusable("asked to")
            done.set()
            return await super().embed(texts)

    done = asyncio.Event()
    await say(pools, "poison")
    await remember(pools, "Mara has a boat")
    task = asyncio.create_task(embedding_by("one", pools, await numbered(pools, Choosy())).keep())
    async with asyncio.timeout(PATIENCE_S):
        await done.wait()
    await until(lambda: as_admin(database, "SELECT count(*) FROM memory_vectors"))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await counts(database))["turn_vectors"] == 0


def test_failing_partition_rests_twice_as_long_each_time_and_is_dropped_once_it_waits_no_more() -> None:
    clock, partition = Clock(NOW), embeddings.partition_of(SCOPE, "turns")
    rests = Rests(clock)
    for rest_s in (5, 10, 20):
        rests.begin(partition)
        clock.move(seconds=rest_s - 1)
        assert rests.has(partition)
        clock.move(seconds=1)
        assert not rests.has(partition)
    rests.drop_old()
    assert len(rests) == 1, "the next failure is still its fourth in a row"
    clock.move(minutes=5)
    rests.drop_old()
    assert len(rests) == 0


class Held(TopicEmbedder):
    """Says when it is asked, and answers when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived, self.opened = asyncio.Event(), asyncio.Event()

    async def embed(self, texts):  # type: ignore[no-untyped-def]
        self.arrived.set()
        await self.opened.wait()
        return await super().embed(texts)


async def test_partition_is_embedded_by_one_process_at_a_time(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "Mara has a boat")
    (partition,) = await embeddings.waiting(pools.background, limit=10)
    held = Held()
    first = asyncio.create_task(embedding_by("one", pools, await numbered(pools, held)).go(partition))
    async with asyncio.timeout(PATIENCE_S):
        await held.arrived.wait()
    assert await embedding_by("two", pools, topics).go(partition) is None
    held.opened.set()
    assert await first == Embedded(1, is_done=True)
    assert await embedding_by("two", pools, topics).go(partition) == Embedded(0, is_done=False), "there is no mark left"
    assert asked(topics) == []


async def test_concurrent_processes_embed_each_text_once(pools: Pools, database: str) -> None:
    for thread_id in "abc":
        await say(pools, *(f"{thread_id} {number}" for number in range(100)), thread_id=thread_id)
    await read_in(pools, *(f"chunk {number}" for number in range(40)))
    each = [TopicEmbedder() for _ in range(3)]
    tasks = [
        asyncio.create_task(embedding_by(f"process {partition}", pools, await numbered(pools, embedder)).keep())
        for partition, embedder in enumerate(each)
    ]
    await until_embedded(pools)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    every = [text for embedder in each for text in embedder.asked]
    assert len(every) == len(set(every)) == 340
    assert await counts(database) == dict.fromkeys(VECTORS, 0) | {"turn_vectors": 300, "chunk_vectors": 40}
    assert await jobs_left(database) == 0


async def test_process_stopped_at_any_step_leaves_no_lease(pools: Pools, database: str, topics: Numbered) -> None:
    await remember(pools, "Mara has a boat")
    (partition,) = await embeddings.waiting(pools.background, limit=10)
    process = embedding_by("one", pools, topics)
    for steps in range(0, 240, 4):
        going = asyncio.create_task(process.go(partition))
        for _ in range(steps):
            await next_round()
        going.cancel()
        await asyncio.wait({going})
        assert await jobs_left(database) == 0, steps


async def test_partition_of_a_dead_process_is_taken_over_after_its_lease(pools: Pools, topics: Numbered) -> None:
    clock = Clock()
    await remember(pools, "Mara has a boat")
    (partition,) = await embeddings.waiting(pools.background, limit=10)
    async with scoped(pools.background, SCOPE) as connection:
        await background.take(connection, SCOPE, (KIND, partition.subject), holder="dead", lease_s=60, now=clock())
    survivor = embedding_by("two", pools, topics, now=clock)
    assert await survivor.go(partition) is None
    clock.move(seconds=61)
    assert await survivor.go(partition) == Embedded(1, is_done=True)


async def test_worker_takes_over_the_partition_of_a_dead_process_as_a_job(pools: Pools, topics: Numbered) -> None:
    clock = Clock()
    base_id = await read_in(pools, "boats ashore")
    partition = TextPartition(TextKind.CHUNKS, SCOPE.tenant_id, None, str(base_id))
    async with scoped(pools.background, partition.scope) as connection:
        await background.take(
            connection, partition.scope, (KIND, partition.subject), holder="dead", lease_s=60, now=clock()
        )
    worker = worker_on(pools, engine_on(pools, clock=clock))
    worker.handlers = handlers(pools.background, embedding_by("two", pools, topics))
    assert await worker.drain() == 0
    clock.move(seconds=61)
    assert await worker.drain() == 1
    assert asked(topics) == ["boats ashore"]


async def test_cancelled_process_releases_its_partition_at_once(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "Mara has a boat")
    (partition,) = await embeddings.waiting(pools.background, limit=10)
    held = Held()
    first = asyncio.create_task(embedding_by("one", pools, await numbered(pools, held)).go(partition))
    async with asyncio.timeout(PATIENCE_S):
        await held.arrived.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert await embedding_by("two", pools, topics).go(partition) == Embedded(1, is_done=True)


async def jobs_left(database: str) -> int:
    connection = await asyncpg.connect(database)
    count = await connection.fetchval("SELECT count(*) FROM background_jobs")
    await connection.close()
    return int(count)
