"""Children that kill themselves, forked from a process that has imported all: a campaign of many pays for one start."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

_IMPORTED = ("brain_crashing", "crashing", "killed_wikis", "loaded_gazetteer", "reprocess_crashing")

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([f"{__package__}.{name}" for name in _IMPORTED])


@dataclass(slots=True)
class Steps:
    """Counts the steps of a child, which tells its parent of the step `at` and kills itself there; 0 is never reached."""

    at: int
    parent: Connection
    taken: int = 0

    def __call__(self, place: str) -> None:
        self.taken += 1
        if self.taken == self.at:
            self.parent.send(Ended(True, place, self.taken))
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: whether it killed itself, at which step, by its name and number, or how many it took."""

    is_killed: bool
    place: str
    steps: int


Program = Callable[..., Awaitable[None]]


async def run(program: Program, *arguments: Any, killed_at: int = 0) -> Ended:
    """Run an async function in a child, its first argument the steps that it is to count, and return how it ended."""
    answer, parent = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_run, args=(program, Steps(killed_at, parent), arguments))
    child.start()
    parent.close()
    await asyncio.to_thread(child.join)
    with answer:
        ended: Ended = answer.recv()
    assert child.exitcode == (-signal.SIGKILL if ended.is_killed else 0)
    child.close()
    return ended


def _run(program: Program, steps: Steps, arguments: tuple[Any, ...]) -> None:
    asyncio.run(_ran(program(steps, *arguments)))
    steps.parent.send(Ended(False, "", steps.taken))


async def _ran(program: Awaitable[None]) -> None:
    await program
