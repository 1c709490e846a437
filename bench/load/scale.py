"""Measures the cost of a turn among many owners: the same question to two databases, of few and of many tenants, alternately.

Each owner has five turns and five memories. A third database has one large tenant, whose rows a key by tenant does not separate.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from random import Random
from statistics import median
from uuid import UUID

import uvloop

from bench import processor
from bench.bulk import filling
from bench.databases import own_database
from bench.figures import Figure, at_most, plain, quantile
from bench.speed.own_time import CaughtReceipts, assembler_of
from bench.texts import Writer
from sidecar.context.assembler import Assembler, TurnRequest
from sidecar.context.fan_out import FanOut
from sidecar.context.ports import ContextSource
from sidecar.rpc.messages.assemblies import Detail, write_response
from sidecar.runtime.errors import RequiredSourceFailed
from sidecar.runtime.gc_tuning import calm_collector
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.items import Source
from store.db import queries
from store.db.postgres import Pools, PoolsConfig, installation, open_pools
from store.scope import Scope
from store.tenancy import keys
from store.text.texts import search_words, signatures

_sql = queries.load(__file__)
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_DRAFTS = 20_000
_OWNERS_A_TENANT = 100
_FEW, _MANY, _ONE_TENANT = 2_000, 200_000, 100_000
_ROUNDS, _BLOCK = 420, 60
_TENANTS_AT_ONCE = 200
_TABLES = ("tenants", "threads", "turns", "memory_feeds", "memories")

Draft = tuple[int, str, str, bytes]


@dataclass(frozen=True, slots=True)
class _Place:
    """A database to ask: its assembler and the folder of its server."""

    dsn: str
    pools: Pools
    assembler: Assembler
    data_dir: Path


@dataclass(slots=True)
class _Cost:
    """The cost of turns: wall milliseconds, and processor milliseconds of the service and of Postgres."""

    took_ms: list[float]
    processor_s: float = 0.0
    is_warm: bool = False
    late: int = 0


def run(*, scale: float) -> list[Figure]:
    """Return the figures; `scale` is the share of the many owners; the few stay 2,000."""
    return uvloop.run(_measured(scale))


async def _measured(scale: float) -> list[Figure]:
    drafts = _drafted()
    tenants = {"few": _FEW // _OWNERS_A_TENANT, "many": max(1, round(_MANY * scale) // _OWNERS_A_TENANT)}
    calm_collector()
    async with AsyncExitStack() as stack:
        few, many = await _place(stack), await _place(stack)
        large_owners = max(100, round(_ONE_TENANT * scale))
        await _fill(few, drafts, (tenants["few"], _OWNERS_A_TENANT), None)
        began = time.monotonic()
        await _fill(many, drafts, (tenants["many"], _OWNERS_A_TENANT), large_owners)
        filled_s = time.monotonic() - began
        questions = [Writer(99).question_about(drafts[number * 37 % _DRAFTS][1]) for number in range(_ROUNDS)]
        large = tenants["many"] + 1
        # Where to ask: the database, its first tenant and how many there are, and the owners of each.
        blocks = [
            (few, 1, tenants["few"], _OWNERS_A_TENANT),
            (many, 1, tenants["many"], _OWNERS_A_TENANT),
            (many, large, 1, large_owners),
        ]
        drawn, costs = Random(1), [_Cost([]) for _ in blocks]
        for block in (questions[at : at + _BLOCK] for at in range(0, _ROUNDS, _BLOCK)):
            for (place, first, count, owners), cost in zip(blocks, costs, strict=True):
                scopes = [_scope(first + drawn.randrange(count), 1 + drawn.randrange(owners)) for _ in block]
                await _ask_block(place, list(zip(scopes, block, strict=True)), cost)
        async with installation(many.pools.background) as connection:
            await connection.execute("RESET ROLE")
            size = await _sql.sizes(connection)
        await few.pools.close()
        await many.pools.close()
    return _figures(costs, (tenants["few"] * _OWNERS_A_TENANT, size), filled_s, large_owners)


def _figures(costs: list[_Cost], size: tuple[int, dict[str, int]], filled_s: float, large_owners: int) -> list[Figure]:
    few, many, large = ([median(one.took_ms), one.processor_s * 1000 / len(one.took_ms)] for one in costs)
    owners, texts, held = size[1]["owners"], size[1]["texts"], size[1]["bytes"]
    note = f"{owners - large_owners} owners against {size[0]}"
    return [
        plain("owners", owners),
        plain("texts", texts),
        plain("a turn among few owners, p50", few[0], unit=" ms"),
        plain("a turn among many owners, p50", many[0], unit=" ms"),
        plain("a turn in one large tenant, p50", large[0], unit=" ms", note=f"{large_owners} owners"),
        plain("a turn among many owners, p95", quantile(costs[1].took_ms, 0.95), unit=" ms"),
        plain("processor time of a turn among few owners", few[1], unit=" ms"),
        plain("processor time of a turn among many owners", many[1], unit=" ms"),
        at_most("many owners ÷ few, p50", many[0] / few[0], 1.3, note=note),
        at_most("many owners ÷ few, processor time", many[1] / few[1], 1.3, note=note),
        at_most("one large tenant ÷ few owners, p50", large[0] / few[0], 1.3),
        at_most("one large tenant ÷ few owners, processor time", large[1] / few[1], 1.3),
        plain("bytes of the database an owner", held / owners),
        plain("bytes of the database a text", held / texts),
        plain("turns whose thread did not answer in time", sum(one.late for one in costs), note="on a busy machine"),
        plain("time to fill", filled_s, unit=" s"),
    ]


def _scope(tenant: int, owner: int) -> Scope:
    return Scope(_uuid(f"tenant{tenant}"), _uuid(f"{tenant}owner{owner}"))


def _uuid(name: str) -> UUID:
    return UUID(md5(name.encode(), usedforsecurity=False).hexdigest())


def _drafted() -> list[Draft]:
    texts = Writer(3).texts(_DRAFTS, 25)
    return [
        (place, text, search_words(text), signature.pack())
        for place, (text, signature) in enumerate(zip(texts, signatures(texts), strict=True))
    ]


async def _place(stack: AsyncExitStack) -> _Place:
    settings, database = await stack.enter_async_context(own_database())
    pools = await open_pools(database.dsn, PoolsConfig(turn_connections=4, background_connections=2))
    sources: dict[Source, ContextSource] = {
        Source.THREAD: ThreadSource(pools.turn),
        Source.KNOWLEDGE: KnowledgeSource(pools.turn),
        Source.MEMORY: MemorySource(pools.turn),
        Source.WIKI: WikiSource(pools.turn),
    }
    fan_out = FanOut(sources, clock=time.monotonic)
    return _Place(database.dsn, pools, await assembler_of(pools, fan_out, CaughtReceipts()), settings.data_dir.parent)


async def _fill(place: _Place, drafts: list[Draft], tenants: tuple[int, int], large_owners: int | None) -> None:
    async with installation(place.pools.background) as connection:
        [fence, *_] = await keys.of(connection, keys.FENCE)
    async with filling(place.dsn, _TABLES) as connection:
        await _sql.make_drafts(connection)
        columns = ["place", "text", "words", "signature"]
        await connection.copy_records_to_table("drafts", records=drafts, columns=columns)
        await _sql.derive_drafts(connection)
        await _sql.look_at_drafts(connection)
        count, owners = tenants
        for first in range(1, count + 1, _TENANTS_AT_ONCE):
            last = min(count, first + _TENANTS_AT_ONCE - 1)
            await _put(connection, (first, last), owners, fence.key_id)
        if large_owners:
            await _put(connection, (count + 1, count + 1), large_owners, fence.key_id)


async def _put(connection: queries.Connection, span: tuple[int, int], owners: int, fence_key_id: str) -> None:
    numbered = {"first": span[0], "last": span[1]}
    owned = numbered | {"owners": owners}
    await _sql.put_tenants(connection, **numbered, now=_NOW)
    await _sql.put_threads(connection, **owned, fence_key_id=fence_key_id, now=_NOW)
    await _sql.put_feeds(connection, **owned)
    await _sql.put_turns(connection, **owned, drafts=_DRAFTS, now=_NOW)
    await _sql.put_memories(connection, **owned, drafts=_DRAFTS, now=_NOW)


async def _ask_block(place: _Place, messages: list[tuple[Scope, str]], into: _Cost) -> None:
    """Ask the messages one after another and add their cost; the first block of a place warms it up."""
    before = processor.spent(place.data_dir)
    took_ms = []
    for scope, message in messages:
        try:
            took_ms.append(await _ask(place, scope, message))
        except RequiredSourceFailed:
            into.late += into.is_warm
    if into.is_warm:
        into.took_ms.extend(took_ms)
        into.processor_s += processor.spent(place.data_dir).since(before).both_s
    into.is_warm = True


async def _ask(place: _Place, scope: Scope, message: str) -> float:
    question = TurnRequest(
        agent_id="agent",
        thread_id="thread",
        space_id="",
        message=message,
        client_turn_id="",
        model_id="gpt-4o",
        system=600,
        tools=400,
    )
    began = time.perf_counter()
    assembly = await place.assembler.assemble(question, scope, due_s=time.monotonic() + 5.0)
    write_response(assembly, Detail()).SerializeToString()
    return (time.perf_counter() - began) * 1000
