"""The wiki's services as one caller, streams too, and a worker that does what is queued, in the test's own process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from compiler.job.worker import Worker
from sidecar.services.brain.releases import Brain
from sidecar.v1 import memory_pb2
from sidecar.v1.brain_pb2_grpc import BrainServiceStub
from sidecar.v1.compile_pb2_grpc import CompileServiceStub
from sidecar.v1.memory_pb2_grpc import MemoryServiceStub
from sidecar.v1.wiki_pb2_grpc import WikiServiceStub
from sidecar.worker import compile_engine
from sidecar.worker.brain_work import brain_handlers
from sidecar.worker.worker_process import handlers, worker_settings
from store.compile.jobs import BUCKET_S
from tests.support.served.site import Caller, Site
from tests.support.waiting import until

_CLEAR_S = 10
JOURNAL = {
    "m1": ("Ate a beef empanada at Casa Lola in Austin with Mara.", "Casa Lola"),
    "m2": ("Casa Lola had live music, and Mara danced.", "Casa Lola"),
    "m3": ("Franklin Barbecue in Austin had a two hour line.", "Franklin Barbecue"),
    "m4": ("Went back to Franklin Barbecue for brisket.", "Franklin Barbecue"),
    "m5": ("Suerte in Austin makes its own masa.", "Suerte"),
    "m6": ("We had a long dinner at Suerte with Mara on Friday.", "Suerte"),
}


class WikiCaller:
    """The wiki's services and the memories as one caller."""

    def __init__(self, site: Site, *args: str, **kwargs: object) -> None:
        token = site.token(*args, **kwargs)  # type: ignore[arg-type]
        self._metadata = (("authorization", f"Bearer {token}"),)
        stubs = (WikiServiceStub, BrainServiceStub, CompileServiceStub, MemoryServiceStub)
        self._methods = {name: call for stub in stubs for name, call in vars(stub(site.channel)).items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = self._methods[name]

        def bound(request: object, *, timeout: float = 30.0) -> Any:
            return call(request, metadata=self._metadata, timeout=timeout)

        return bound


async def retain_journal(caller: WikiCaller | Caller) -> None:
    """Write the journal as memories with their places, at least `_CLEAR_S` before the next bucket of compile jobs begins: a
    compile asked for right after is deduped into the job of this write.
    """
    await until(lambda: time.time() % BUCKET_S < BUCKET_S - _CLEAR_S)
    memories = []
    for memory_id, (text, place) in JOURNAL.items():
        memory = memory_pb2.NewMemory(memory_id=memory_id, text=text)
        memory.metadata.update({"place": {"name": place, "city": "Austin"}, "tags": ["food"]})
        memories.append(memory)
    await caller.Retain(memory_pb2.RetainRequest(memories=memories))


async def worked(site: Site) -> int:
    """Do every job that is due, and return how many there were."""
    pool = site.app.pools.background
    work = {**handlers(pool), **brain_handlers(Brain(pool, now=compile_engine.now))}
    async with compile_engine.engine(site.settings, pool) as engine:
        return await Worker(pool, engine, worker_settings(site.settings), work).drain()


async def streamed(responses: AsyncIterator[Any]) -> list[Any]:
    """Return everything a stream sends."""
    return [one async for one in responses]
