"""Rounds of the event loop: who takes long gets one each, and nobody is left behind a task that went away."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from sidecar.runtime.loop_fairness import OnePerIteration
from tests.support.waiting import PATIENCE_S, next_round


async def test_concurrent_tasks_run_one_per_loop_round() -> None:
    one_per_iteration, rounds, now = OnePerIteration(), list[int](), 0

    async def work() -> None:
        async with one_per_iteration:
            rounds.append(now)

    tasks = [asyncio.create_task(work()) for _ in range(8)]
    while not all(task.done() for task in tasks):
        now += 1
        await next_round()
    assert len(set(rounds)) == len(rounds) == 8


async def test_cancelled_or_failed_task_delays_no_other() -> None:
    one_per_iteration = OnePerIteration()

    async def failing() -> None:
        async with one_per_iteration:
            raise ValueError

    async def passing() -> bool:
        async with one_per_iteration:
            return True

    cancelled = [asyncio.create_task(passing()) for _ in range(3)]
    await next_round()  # the first has entered, the others wait
    for task in cancelled:
        task.cancel()
    with suppress(ValueError):
        await failing()
    async with asyncio.timeout(PATIENCE_S):
        assert await passing()
