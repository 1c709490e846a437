"""Measures the parts of a turn: the processor time of each part's functions, without the parts that they call.

A coroutine is timed step by step, so that nothing else that runs while it waits counts. What is left of a process's time is
gRPC, the event loop and the threads of the embedder.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial, wraps
from types import coroutine
from typing import Any, Final

import asyncpg

from sidecar.context import fan_out
from sidecar.context.assembler import Assembler
from sidecar.context.fan_out import FanOut
from sidecar.context.query_embedding import QueryReader
from sidecar.context.receipt_writer import ReceiptWriter
from sidecar.rpc.messages import assemblies
from sidecar.rpc.transport.interceptor import CallInterceptor
from sidecar.sources.brain import WithBrain
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn import usable
from store.db.postgres import Transaction

_SOURCES: Final = (
    (ThreadSource, "recent"),
    *((one, "find") for one in (ThreadSource, MemorySource, KnowledgeSource, WikiSource)),
)
_PARTS: Final[dict[str, tuple[tuple[Any, str], ...]]] = {
    "the receipt, behind the answer": ((ReceiptWriter, "_made"), (ReceiptWriter, "_write")),
    "fitting": ((usable, "fit"),),
    "judging": ((usable, "judge"),),
    "rows into evidence and items": (*_SOURCES, (WithBrain, "find")),
    "transactions and the driver": (
        (Transaction, "__aenter__"),
        (Transaction, "__aexit__"),
        *((asyncpg.Connection, name) for name in ("fetch", "fetchrow", "fetchval", "execute")),
    ),
    "checking answers": ((fan_out, "check"),),
    "reading the message, its vectors": ((QueryReader, "understand"),),
    "fan-out and assembling": ((Assembler, "assemble"), (FanOut, "_report"), (FanOut, "_recent_turns")),
    "the message": ((assemblies, "write_response"),),
    "identity, admission, tracing": ((CallInterceptor, "_answered"),),
}
_Function = Callable[..., Any]


class PartTimes:
    """Times the parts of every turn of this process from now on."""

    def __init__(self) -> None:
        self._spent_s: Counter[str] = Counter()
        self._inner = threading.local()  # seconds spent in parts that the running part called
        for part, functions in _PARTS.items():
            for owner, name in functions:
                function = inspect.getattr_static(owner, name)
                timed = self._timed_steps if inspect.iscoroutinefunction(function) else self._timed
                setattr(owner, name, timed(part, function))

    def taken(self) -> dict[str, float]:
        """Return the seconds of each part since the last call."""
        taken, self._spent_s = self._spent_s, Counter()
        return dict(taken)

    def _timed(self, part: str, function: _Function) -> _Function:
        @wraps(function)
        def timed(*args: Any, **named: Any) -> Any:
            return self._counted(part, partial(function, *args, **named))

        return timed

    def _timed_steps(self, part: str, function: Callable[..., Coroutine[Any, Any, Any]]) -> _Function:
        @wraps(function)
        async def timed(*args: Any, **named: Any) -> Any:
            return await self._stepped(part, function(*args, **named))

        return timed

    def _stepped(self, part: str, running: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        @coroutine
        def steps() -> Generator[Any, Any, Any]:
            step: Callable[[], Any] = partial(running.send, None)
            while True:
                try:
                    waits_for = self._counted(part, step)
                except StopIteration as ended:
                    return ended.value
                try:
                    step = partial(running.send, (yield waits_for))
                except BaseException as error:  # noqa: BLE001 - it is the coroutine's, also a cancellation
                    step = partial(running.throw, error)

        return steps()

    def _counted(self, part: str, work: Callable[[], Any]) -> Any:
        outer_s, self._inner.spent_s = getattr(self._inner, "spent_s", 0.0), 0.0
        began_s = time.thread_time()
        try:
            return work()
        finally:
            took_s = time.thread_time() - began_s
            self._spent_s[part] += took_s - self._inner.spent_s
            self._inner.spent_s = outer_s + took_s
