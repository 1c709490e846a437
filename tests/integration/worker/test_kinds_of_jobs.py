"""Background jobs of a worker, by the kinds that it has handlers for."""

from __future__ import annotations

import asyncio

from store.compile import background
from store.db.postgres import Pools, scoped
from store.scope import Scope
from tests.support.compiler.compiling import HOUSEMATE, SCOPE, Clock, engine_on, fetch, journal, wish, worker_on, write
from tests.support.waiting import until


async def test_job_without_a_handler_is_left_to_a_worker_of_a_later_release(pools: Pools, database: str) -> None:
    clock, done = Clock(), list[str]()

    async def handle(scope: Scope, subject: str) -> None:
        done.append(subject)

    older, newer = (worker_on(pools, engine_on(pools, clock=clock), holder=name) for name in ("older", "newer"))
    older.handlers, newer.handlers = {"known": handle}, {"known": handle, "new": handle}
    await write(pools, journal(1))
    async with scoped(pools.background, SCOPE) as connection:
        await background.enqueue(connection, SCOPE, "new", "later", now=clock())
        clock.move(seconds=1)
        await background.enqueue(connection, SCOPE, "known", "now", now=clock())
    await older.drain()
    assert done == ["now"]
    states = "SELECT kind, status, attempt, error FROM background_jobs ORDER BY kind"
    assert await fetch(database, states) == [("known", "succeeded", 1, ""), ("new", "pending", 0, "")]
    clock.move(seconds=older.settings.poll_s)
    await newer.drain()
    assert done == ["now", "later"]


async def test_job_without_a_handler_does_not_keep_its_scope_in_front(pools: Pools, database: str) -> None:
    clock = Clock()
    worker = worker_on(pools, engine_on(pools, clock=clock))

    async def handle(scope: Scope, subject: str) -> None:
        raise AssertionError

    worker.handlers = {"known": handle}
    await write(pools, journal(1))
    async with scoped(pools.background, SCOPE) as connection:
        await background.enqueue(connection, SCOPE, "new", "", now=clock())
    assert not await worker.work_once()
    (hint,) = await fetch(database, "SELECT ready_at FROM compile_ready")
    assert (hint["ready_at"] - clock()).total_seconds() == worker.settings.poll_s


async def test_job_that_fails_unexpectedly_ends_neither_the_worker_nor_the_other_scopes_jobs(
    pools: Pools, database: str
) -> None:
    clock = Clock()
    worker = worker_on(pools, engine_on(pools, clock=clock), scopes_at_once=2)

    async def handle(scope: Scope, subject: str) -> None:
        raise RecursionError("nested\0 too deep")

    worker.handlers = {"known": handle}
    await write(pools, journal(12))
    await write(pools, journal(12), scope=HOUSEMATE)
    async with scoped(pools.background, SCOPE) as connection:
        await background.enqueue(connection, SCOPE, "known", "now", now=clock())
    await wish(pools, scope=HOUSEMATE)
    running = asyncio.create_task(worker.run())
    states = "SELECT status, attempt, error FROM background_jobs"
    compiles = "SELECT FROM wiki_compile_jobs WHERE status = 'succeeded'"

    async def is_done() -> bool:
        assert not running.done(), running.exception()
        ((status, _, error),) = await fetch(database, states)
        return status == "pending" and error != "" and len(await fetch(database, compiles)) == 1

    await until(is_done)
    assert await fetch(database, states) == [("pending", 1, "RecursionError: nested\ufffd too deep")]
    worker.stop()
    await running
