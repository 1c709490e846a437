"""Measures turns beside large writes: 1,000 memories of 30 kB, 1,000 turns of 20 kB, a document of 30 MB."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from uuid import uuid4

import grpc
import uvloop

from bench import calling
from bench.calling import Callers, Load
from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.serving import served
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2, knowledge_pb2, memory_pb2

_PATIENCE_S = 500.0
_LOOK_S = 3.0
_VOCABULARY = 20_000


@dataclass(frozen=True, slots=True)
class _Write:
    name: str
    method: str
    request: bytes
    metadata: Any


def run(*, scale: float) -> list[Figure]:
    """Return the figures of large writes."""
    return uvloop.run(_measured(scale))


async def _measured(scale: float) -> list[Figure]:
    figures = []
    async with own_database() as (settings, _):
        with Callers(1) as callers:
            async with served(settings) as site, grpc.aio.insecure_channel(site.address) as channel:
                requests = calling.turn_requests(["what now?"])
                load = Load(
                    site.address, calling.ASSEMBLE, requests, calling.metadata(settings), seconds=_LOOK_S, pause_s=0.01
                )
                await callers.call(load)  # the first turns make connections
                for write in await _writes(settings, channel, scale):
                    figures += await _beside(write, channel, callers, load)
    return figures


async def _beside(write: _Write, channel: grpc.aio.Channel, callers: Callers, load: Load) -> list[Figure]:
    """Return the time of turns beside one write, relative to turns right before and after it, because the machine is shared."""
    calm = (await callers.call(load)).answered_s
    began = time.perf_counter()
    under_way = asyncio.ensure_future(
        channel.unary_unary(write.method)(write.request, metadata=write.metadata, timeout=_PATIENCE_S)
    )
    beside: list[float] = []
    while not under_way.done():
        beside += (await callers.call(replace(load, seconds=_LOOK_S / 3))).answered_s
    await under_way
    took_s = time.perf_counter() - began
    calm += (await callers.call(load)).answered_s
    ratio = quantile(beside, 0.95) / quantile(calm, 0.95)
    note = f"p95 {quantile(beside, 0.95) * 1000:.1f} ms beside, {quantile(calm, 0.95) * 1000:.1f} ms before and after"
    return [
        at_most(f"turns' p95 beside {write.name} ÷ without", ratio, 1.5, note=note),
        plain(f"slowest turn beside {write.name}", max(beside) * 1000, unit=" ms"),
        plain(f"{write.name} written in", took_s, unit=" s"),
        at_least(f"turns beside {write.name}", len(beside), 1),
    ]


async def _writes(settings: Settings, channel: grpc.aio.Channel, scale: float) -> list[_Write]:
    count, random = max(10, int(1000 * scale)), Random(1)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(3, 9))) for _ in range(_VOCABULARY)]

    def text(chars: int) -> str:
        return " ".join(words[int(_VOCABULARY * random.random() ** 3)] for _ in range(chars // 6))[:chars]

    agent = calling.metadata(settings)
    token = mint(
        Grant(calling.TENANT, role=Role.ADMIN), identity_settings(settings), now_s=time.time(), token_id=uuid4().hex
    )
    admin = (("authorization", f"Bearer {token}"),)
    base = knowledge_pb2.CreateBaseRequest(name="bench").SerializeToString()
    await channel.unary_unary("/sidecar.v1.KnowledgeService/CreateBase")(base, metadata=admin, timeout=30)
    memories = [memory_pb2.NewMemory(text=text(30_000)) for _ in range(count)]
    turns = [
        context_pb2.NewTurn(client_turn_id=f"c{number}", role="user", text=text(20_000)) for number in range(count)
    ]
    document = "\n\n".join(f"## Part {number}\n\n{text(30_000)}" for number in range(count)).encode()
    retain = memory_pb2.RetainRequest(memories=memories)
    append = context_pb2.AppendTurnsRequest(thread_id="bench", turns=turns)
    ingest = knowledge_pb2.IngestRequest(base="bench", path="large.md", content=document)
    return [
        _Write(f"{count:,} memories of 30 kB", "/sidecar.v1.MemoryService/Retain", retain.SerializeToString(), agent),
        _Write(
            f"{count:,} turns of 20 kB", "/sidecar.v1.ContextService/AppendTurns", append.SerializeToString(), agent
        ),
        _Write(
            f"a document of {len(document) / 1e6:.0f} MB",
            "/sidecar.v1.KnowledgeService/Ingest",
            ingest.SerializeToString(),
            admin,
        ),
    ]
