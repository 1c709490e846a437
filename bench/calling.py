"""Callers in separate processes: many concurrent calls in closed loops, each timed; answers are parsed only at the end.

Requests are serialised beforehand and answers stay bytes, so that a caller uses as little processor time as possible.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from uuid import uuid4

import grpc
import uvloop
from grpc_health.v1 import health_pb2

from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant
from sidecar.rpc.server import identity_settings
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb

HEALTH = "/grpc.health.v1.Health/Check"
ASSEMBLE = "/sidecar.v1.ContextService/AssembleContext"
TENANT, OWNER, AGENT = "bench", "owner", "assistant"
_SAMPLE_EVERY = 20


@dataclass(frozen=True, slots=True)
class Load:
    """A load: what to call, with `width` concurrent calls for `seconds`, or until `most_calls` are answered.

    After a refused call a caller waits about `pause_after_refusal_s` with 50 % jitter, as well-behaved clients do; without
    jitter, calls refused together would always return together. After an answered call it waits `pause_s`. Callers that pause
    start one after the other.
    """

    address: str
    method: str
    requests: tuple[bytes, ...]
    metadata: tuple[tuple[str, str], ...] = ()
    width: int = 1
    seconds: float = 2.0
    most_calls: int = 1_000_000
    pause_after_refusal_s: float = 0.0
    pause_s: float = 0.0
    timeout_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Heard:
    """The results: seconds of each answered and each refused call, and refusals by code.

    `samples` are some of the answers, for figures that need their contents; `cpu_s` is what the caller's process spent itself.
    """

    seconds: float
    answered_s: list[float] = field(default_factory=list)
    refused_s: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    samples: list[bytes] = field(default_factory=list)
    cpu_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Return answered calls a second."""
        return len(self.answered_s) / self.seconds

    @property
    def complete_per_s(self) -> float:
        """Return turns per second without a missing source, estimated from the share among the samples."""
        complete = sum(not assembly_of(answer).degraded for answer in self.samples)
        return self.per_s * complete / max(1, len(self.samples))


class Callers:
    """A pool of calling processes, started once, so that their start is not measured."""

    def __init__(self, processes: int = 1) -> None:
        self._pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Callers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    async def call(self, load: Load) -> Heard:
        """Return the results of one process."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _call, load)


def metadata(settings: Settings, *, owner: str = OWNER) -> tuple[tuple[str, str], ...]:
    """Return the metadata that proves an agent of the owner, for as long as a token lives."""
    grant = Grant(TENANT, (owner,), AGENT)
    token = mint(grant, identity_settings(settings), now_s=time.time(), token_id=uuid4().hex)
    return (("authorization", f"Bearer {token}"),)


def turn_requests(messages: Sequence[str], *, thread_id: str = "") -> tuple[bytes, ...]:
    """Return one turn request per message, for a model with a window of 128,000 tokens."""
    return tuple(
        pb.AssembleContextRequest(
            message=message,
            thread_id=thread_id,
            model_id="gpt-4o",
            system=pb.Spent(tokens=600),
            tools=pb.Spent(tokens=400),
        ).SerializeToString()
        for message in messages
    )


def empty_request() -> bytes:
    """Return the smallest request that the server answers: a health check."""
    return bytes(health_pb2.HealthCheckRequest().SerializeToString())


def assembly_of(answer: bytes) -> pb.Assembly:
    """Return the assembly in an answer's bytes."""
    return pb.AssembleContextResponse.FromString(answer).assembly


def _call(load: Load) -> Heard:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_calling(load))


async def _calling(load: Load) -> Heard:
    async with grpc.aio.insecure_channel(load.address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        await channel.channel_ready()
        method = channel.unary_unary(load.method)
        began, cpu_s = time.perf_counter(), time.process_time()
        heard = Heard(0.0)
        await asyncio.gather(*(_loop(load, method, place, heard, began) for place in range(load.width)))
        seconds = time.perf_counter() - began
    return Heard(
        seconds,
        heard.answered_s,
        heard.refused_s,
        heard.refusals,
        heard.samples,
        time.process_time() - cpu_s,
    )


async def _loop(load: Load, method: grpc.aio.UnaryUnaryMultiCallable, place: int, heard: Heard, began: float) -> None:
    ends, jitter = began + load.seconds, Random(place)
    await asyncio.sleep(max(load.pause_s, load.pause_after_refusal_s) * place / load.width)
    turn = place % len(load.requests)
    for request in cycle(load.requests[turn:] + load.requests[:turn]):
        sent = time.perf_counter()
        if sent >= ends or len(heard.answered_s) >= load.most_calls:
            return
        try:
            answer = await method(request, metadata=load.metadata, timeout=load.timeout_s)
            heard.answered_s.append(time.perf_counter() - sent)
            if len(heard.answered_s) % _SAMPLE_EVERY == 1:
                heard.samples.append(answer)
            if load.pause_s:
                await asyncio.sleep(load.pause_s)
        except grpc.aio.AioRpcError as error:
            heard.refused_s.append(time.perf_counter() - sent)
            heard.refusals[error.code().name] += 1
            await asyncio.sleep(load.pause_after_refusal_s * jitter.uniform(0.5, 1.5))
