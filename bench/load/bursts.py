"""Measures turns in bursts, under a flood, and with short deadlines: how many are answered in full, in part, or not at all.

Real conversations (`realtalk/conversations.json` in the folder `--data`) are the threads of ten owners.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import grpc
import uvloop

from bench import calling
from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.serving import served
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1.context_pb2_grpc import ContextServiceStub
from store.content import embeddings
from store.db.postgres import Pool, PoolsConfig, open_pools

WIDTHS, TIMES, PATIENCE_S = (16, 32, 64), 3, 10.0
SHORT_S, LATE_S, LOAD = 0.5, 0.05, 6
ROOM, FLOOD = 8, 32
_AT_ONCE, _QUESTIONS = 500, 40
_PAUSE_S = 0.3


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn to ask: its owner and its text."""

    owner: str
    message: str


@dataclass(slots=True)
class Answers:
    """Results of turns: the seconds of those answered; how many of them lack a source, or their thread; the others' codes."""

    answered_s: list[float] = field(default_factory=list)
    degraded_count: int = 0
    threadless_count: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def note(self) -> str:
        """Return the codes and the most frequent reasons, with their counts."""
        counts = [f"{count} {code}" for code, count in self.codes.items()]
        counts += [f"{count} {reason}" for reason, count in self.reasons.most_common(3)]
        return "; ".join(counts)


class Site:
    """A client of a served sidecar, for every owner."""

    def __init__(self, channel: grpc.aio.Channel, settings: Settings) -> None:
        stub: Any = ContextServiceStub  # generated, and without types
        self._stub = stub(channel)
        self._settings = settings
        self._proofs: dict[str, tuple[tuple[str, str], ...]] = {}

    async def append(self, owner: str, turns: Sequence[pb.NewTurn]) -> None:
        """Write the owner's thread."""
        for start in range(0, len(turns), _AT_ONCE):
            request = pb.AppendTurnsRequest(thread_id=owner, turns=turns[start : start + _AT_ONCE])
            await self._stub.AppendTurns(request, metadata=self._proof(owner), timeout=60)

    async def ask(self, turn: Turn, into: Answers, *, timeout_s: float) -> bool:
        """Ask for one turn's context, record the result, and return whether it was answered."""
        request = pb.AssembleContextRequest(thread_id=turn.owner, message=turn.message, model_id="gpt-4o")
        began_s = time.perf_counter()
        try:
            answer = await self._stub.AssembleContext(request, metadata=self._proof(turn.owner), timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            into.codes[error.code().name] += 1
            return False
        into.answered_s.append(time.perf_counter() - began_s)
        into.degraded_count += answer.assembly.degraded
        into.threadless_count += not answer.assembly.messages
        if answer.assembly.degraded:
            into.reasons.update(one.reason for one in answer.assembly.sources if one.status not in (1, 2, 6))
        return True

    def _proof(self, owner: str) -> tuple[tuple[str, str], ...]:
        if owner not in self._proofs:
            self._proofs[owner] = calling.metadata(self._settings, owner=owner)
        return self._proofs[owner]


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures of bursts, of a flood and of short deadlines."""
    return uvloop.run(_measured(data, scale))


async def _measured(data: Path, scale: float) -> list[Figure]:
    conversations = list(_conversations(data))[: max(2, round(10 * scale))]
    turns_to_ask = [turn for turns in zip(*(turns for _, _, turns in conversations), strict=True) for turn in turns]
    async with own_database(embedder="minilm") as (patient, database):
        settings = replace(patient, embed_deadline_s=Settings(patient.data_dir).embed_deadline_s)
        pools = await open_pools(database.dsn, PoolsConfig())
        async with _site(settings) as site:
            for owner, thread, _ in conversations:
                await site.append(owner, thread)
            await _until_embedded(pools.background)
        await pools.close()
        figures = []
        async with _site(settings) as site:
            await _ask_all(site, turns_to_ask[: len(conversations)], timeout_s=PATIENCE_S)
            figures += [figure for width in WIDTHS for figure in await _bursts(site, turns_to_ask, width)]
            figures += await _short(site, turns_to_ask, round(300 * scale))
        async with _site(replace(settings, max_in_flight=ROOM, max_in_flight_per_tenant=ROOM, max_waiting=2)) as site:
            await _ask_all(site, turns_to_ask[:ROOM], timeout_s=PATIENCE_S)
            figures += await _flood(site, turns_to_ask, seconds=max(4.0, 10.0 * scale))
    return figures


async def _bursts(site: Site, every: Sequence[Turn], width: int) -> list[Figure]:
    answers = Answers()
    for start in range(TIMES):
        turns = [every[(start * width + place) % len(every)] for place in range(width)]
        await _ask_all(site, turns, timeout_s=PATIENCE_S, into=answers)
    return _figures(f"{width} at once", answers, width * TIMES)


async def _ask_all(site: Site, turns: Sequence[Turn], *, timeout_s: float, into: Answers | None = None) -> None:
    answers = into or Answers()
    await asyncio.gather(*(site.ask(turn, answers, timeout_s=timeout_s) for turn in turns))


async def _short(site: Site, every: Sequence[Turn], count: int) -> list[Figure]:
    answers = Answers()
    running = await _running_count()
    with _busy(max(0, LOAD - running)):
        for place in range(count):
            await site.ask(every[place % len(every)], answers, timeout_s=SHORT_S)
    quick = sum(one <= SHORT_S + LATE_S for one in answers.answered_s)
    name = f"load {LOAD}, deadline {SHORT_S:g} s"
    return [
        at_least(f"{name}: answered by it + 50 ms", quick / count, 0.98, note=answers.note()),
        plain(
            f"{name}: of these in part", answers.degraded_count / count, note=f"{running} processes were busy before"
        ),
        plain(f"{name}: p95", quantile(answers.answered_s, 0.95) * 1000, unit=" ms"),
    ]


async def _flood(site: Site, every: Sequence[Turn], *, seconds: float) -> list[Figure]:
    answers, ends_s = Answers(), time.perf_counter() + seconds

    async def caller(place: int) -> None:
        await asyncio.sleep(_PAUSE_S * place / (FLOOD * ROOM))
        while time.perf_counter() < ends_s:
            turn = every[place % len(every)]
            if not await site.ask(turn, answers, timeout_s=PATIENCE_S):
                await asyncio.sleep(_PAUSE_S)

    await asyncio.gather(*map(caller, range(FLOOD * ROOM)))
    return _figures(f"{FLOOD} x {ROOM} callers", answers, len(answers.answered_s) + answers.codes.total())


def _figures(name: str, answers: Answers, count: int) -> list[Figure]:
    return [
        at_most(f"{name}: admitted and degraded", answers.degraded_count, 0, note=answers.note()),
        at_most(f"{name}: admitted without conversation", answers.threadless_count, 0, note=f"of {count} turns"),
        plain(f"{name}: answered", len(answers.answered_s)),
        plain(f"{name}: slowest", max(answers.answered_s, default=0.0) * 1000, unit=" ms"),
    ]


@asynccontextmanager
async def _site(settings: Settings) -> AsyncIterator[Site]:
    async with served(settings) as serving, grpc.aio.insecure_channel(serving.address) as channel:
        yield Site(channel, settings)


async def _until_embedded(pool: Pool) -> None:
    while await embeddings.waiting(pool, limit=1):  # noqa: ASYNC110
        await asyncio.sleep(0.5)  # only the database knows


async def _running_count() -> int:
    """Return the mean number of runnable processes over three seconds."""
    samples = []
    for _ in range(100):
        samples.append(int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0]) - 1)
        await asyncio.sleep(0.03)
    return round(sum(samples) / len(samples))


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep `count` processes busy within the block."""
    processes = [multiprocessing.get_context("spawn").Process(target=_spin, daemon=True) for _ in range(count)]
    for one in processes:
        one.start()
    try:
        yield
    finally:
        for one in processes:
            one.kill()


def _spin() -> None:
    while True:
        pass


def _conversations(data: Path) -> Iterator[tuple[str, list[pb.NewTurn], list[Turn]]]:
    """Yield for each conversation its owner, the turns of its thread, and the turns to ask: messages of the same thread."""
    for one in json.loads((data / "realtalk" / "conversations.json").read_text(encoding="utf-8")):
        read = [turn for session in one["sessions"] for turn in session["turns"]]
        first = read[0]["speaker"]
        turns = [_turn(turn, "user" if turn["speaker"] == first else "assistant") for turn in read if turn["text"]]
        long = [turn["text"] for turn in read if 40 < len(turn["text"]) < 300]
        every = max(1, len(long) // _QUESTIONS)
        yield one["id"], turns, [Turn(one["id"], text) for text in long[::every][:_QUESTIONS]]


def _turn(read: dict[str, str], role: str) -> pb.NewTurn:
    turn = pb.NewTurn(client_turn_id=read["id"], role=role, speaker=read["speaker"], text=read["text"])
    turn.said_time.FromDatetime(datetime.strptime(read["at"], "%d.%m.%Y, %H:%M:%S"))  # noqa: DTZ007
    return turn
