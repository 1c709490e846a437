"""Wikis compiled by workers that are killed at random moments, over memories that state many typed edges, and their rebuilds.

What happens to a wiki is drawn from its seed: memories in six languages, written, edited, judged, superseded and forgotten in
rounds, each with a compile. A worker is killed at a step or after some milliseconds, in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import orjson

from compiler.decay.supersede import SupersessionCause
from compiler.job.compilation import Engine
from compiler.operations import upkeep
from compiler.operations.upkeep import ResetMode
from compiler.planners.places_on_demand import PlacesOnDemand
from compiler.planners.planner import ExtractivePlanner
from sidecar.runtime.errors import SidecarError
from sidecar.services.memories import Memories
from store.compile.ledger import MemoryOutcome
from store.content.memories import NewMemory
from store.content.standing import StatusDecision
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.scope import Scope
from tests.support.compiler.compiling import NOW, Clock, capped, engine_on, fetch, wiki_of, wish, worker_on
from tests.support.compiler.crashes.children import CONTEXT
from tests.support.places import ROOT

ROUND_MINUTES = 7
LEASE_MINUTES = 3
NEVER = 10**9
PAGE_SIZES = (3, 8, 50)
"""The memories in a batch, one of these for a wiki."""

_SENTENCES = ROOT / "tests/unit/compiler/plan/edges/edge_sentences.txt"
_NAMES = {
    "M": ("Maria Reis", "Odile Brandt", "Ana Prado", "Giulia Conti"),
    "T": ("Tom Ortega", "Rui Falcão", "Jonas Keller", "Marc Lefèvre"),
    "A": ("Ana Sofia", "Carla Dias"),
    "H": ("Helios Labs", "Nordwind", "Banco Aurora"),
    "N": ("Kestrel Works", "Atelier Verne"),
    "C": ("Café Luz", "Casa Lola", "Zum Anker"),
    "V": ("Villa Rosa", "Quinta Velha"),
    "L": ("Lisbon", "Porto"),
    "U": ("Austin", "Lyon"),
    "R": ("Rex", "Brisa"),
    "B": ("Blue River", "Noite Clara"),
    "G": ("Tagus Choir", "Elbe Rowers"),
}
_CITIES = {"Café Luz": "Lisbon", "Casa Lola": "Porto", "Zum Anker": "Lyon"}
_KINDS = {"people": "MTA", "organizations": "HNG", "places": "CV"}
_CHATTER = (
    "{M} had lunch with {T} near {C}.",
    "We saw {T} and {M} at {H} on Friday.",
    "{M} told {T} about {N} and {G}.",
    "O {T} encontrou a {M} em {L}.",
    "{M} traf {T} im {C}.",
    "{T} a vu {M} à {U}.",
    "Yesterday {R} ran after {T} through {L}.",
    "{T} lent {M} a copy of {B}.",
)


@dataclass(frozen=True, slots=True)
class Round:
    """What happens before a compile, and where the workers of that compile die: at a step, or after seconds."""

    written: tuple[NewMemory, ...]
    forgotten: tuple[str, ...]
    judged: tuple[tuple[str, MemoryStatus], ...]
    superseded: tuple[tuple[str, str], ...]
    kills: tuple[tuple[int, float], ...]
    is_finished: bool


@dataclass(frozen=True, slots=True)
class KilledWiki:
    """A wiki as the workers left it, and as a full rebuild makes it; what was quarantined, and how many workers died."""

    left: dict[str, bytes]
    rebuilt: dict[str, bytes]
    killed: int
    quarantined: tuple[str, ...]

    @property
    def unlike(self) -> tuple[str, ...]:
        """What one of the two says and the other does not, and the lists of pages that differ."""
        one, other = _said(self.left), _said(self.rebuilt)
        said = (f"{'-' if part in one else '+'} {' '.join(part)}" for part in sorted(one ^ other))
        return (*said, *self._unlike_lists())

    def _unlike_lists(self) -> Iterator[str]:
        left, rebuilt = _listed(self.left), _listed(self.rebuilt)
        for page in sorted(left.keys() | rebuilt.keys()):
            one, other = left.get(page, frozenset()), rebuilt.get(page, frozenset())
            if one != other:
                yield f"- {page} lists {sorted(one - other)}"
                yield f"+ {page} lists {sorted(other - one)}"


def _said(wiki: dict[str, bytes]) -> set[tuple[str, str, str, str]]:
    """Return pages and links as (page, other page or part, memory, what is said), without lists."""
    found: set[tuple[str, str, str, str]] = set()
    for name, body in wiki.items():
        kind, _, rest = name.partition(" ")
        if kind == "link" and " rollup " not in name:
            source, link_kind, target, *evidence = rest.split(" ")
            found.add((source, target, evidence[-1], f"{link_kind} {' '.join(evidence)} {body.decode()}"))
        elif kind == "page":
            page = orjson.loads(body)
            parts = [*(one for one in page["sections"] if one["aggregation"] is None), *page["aliases"]]
            found.add((rest, "", "", "page"))
            found.update(
                (rest, part.get("key") or part["slug"], one["memory_id"], "cites")
                for part in parts
                for one in part["sources"]
            )
    return found


def _listed(wiki: dict[str, bytes]) -> dict[str, frozenset[tuple[str, str]]]:
    """Return the lists of each page that has some, as pairs of section and listed page."""
    found: dict[str, frozenset[tuple[str, str]]] = {}
    for name, body in wiki.items():
        if name.startswith("page "):
            lists = (one for one in orjson.loads(body)["sections"] if one["aggregation"] is not None)
            pairs = (
                (one["slug"], f"/wiki/{child['type']}/{child['slug']}") for one in lists for child in one["children"]
            )
            if pages := frozenset(pairs):
                found[name.removeprefix("page ")] = pages
    return found


def drawn(seed: int, *, rounds: int, most: int, kills: int) -> list[Round]:
    """Return what happens to the wiki of that seed: in each round up to `most` memories, and up to `kills` deaths."""
    dice = Random(seed)
    sentences = _sentences()
    ids: list[str] = []
    made: list[Round] = []
    for _ in range(rounds):
        new = [_memory(dice, sentences, f"m{len(ids) + at:04}") for at in range(dice.randint(most // 2, most))]
        edited = [_memory(dice, sentences, one) for one in _some(dice, ids, 3)]
        forgotten = tuple(_some(dice, ids, 3))
        judged = tuple(
            (one, dice.choice((MemoryStatus.REJECTED, MemoryStatus.ACCEPTED))) for one in _some(dice, ids, 2)
        )
        ids += [one.memory_id for one in new if one.memory_id]
        pairs = [tuple(dice.sample(ids, 2)) for _ in range(dice.randint(0, 2))]
        deaths = tuple(
            (dice.randint(1, 40), 0.0) if dice.random() < 0.6 else (0, dice.uniform(0.05, 1.2))
            for _ in range(dice.randint(0, kills))
        )
        pairs_of = tuple((newer, older) for newer, older in pairs)
        made.append(Round((*new, *edited), forgotten, judged, pairs_of, deaths, dice.random() < 0.7))
    return made


def _some(dice: Random, ids: Sequence[str], most: int) -> list[str]:
    return dice.sample(list(ids), min(len(ids), dice.randint(0, most)))


def _sentences() -> tuple[str, ...]:
    lines = (line.split("|")[0].strip() for line in _SENTENCES.read_text(encoding="utf-8").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _memory(dice: Random, sentences: Sequence[str], memory_id: str) -> NewMemory:
    telling = [dice.choice(sentences if dice.random() < 0.7 else _CHATTER) for _ in range(dice.choice((1, 1, 1, 2, 3)))]
    chosen = {letter: dice.choice(names) for letter, names in _NAMES.items()}
    text = " ".join(telling)
    used = [letter for letter in chosen if f"{{{letter}}}" in text]
    for letter in used:
        text = text.replace(f"{{{letter}}}", chosen[letter])
    metadata: dict[str, Any] = {}
    if dice.random() < 0.6:
        metadata = {kind: [chosen[one] for one in used if one in letters] for kind, letters in _KINDS.items()}
    if dice.random() < 0.25:
        metadata["place"] = {"name": chosen["C"], "city": _CITIES[chosen["C"]]}
    if dice.random() < 0.15:
        metadata["speaker"] = chosen["M"]
        text = f"I work at {chosen['H']}. {text}"
    return NewMemory(text, memory_id, occurred_at=NOW - timedelta(hours=dice.randint(1, 20_000)), metadata=metadata)


@dataclass(slots=True)
class Campaign:
    """Where wikis are compiled, killed and rebuilt."""

    pools: Pools
    dsn: str

    async def run(self, scope: Scope, rounds: Sequence[Round], *, page_size: int, is_killed: bool = True) -> KilledWiki:
        """Let all that happen to a wiki, finish its work, and rebuild it."""
        clock, killed = Clock(), 0
        service = Memories(self.pools, now=clock)
        for one in rounds:
            await self._happen(scope, service, one, clock)
            clock.move(minutes=ROUND_MINUTES)
            await wish(self.pools, scope=scope, now=clock())
            for step, seconds in one.kills if is_killed else ():
                killed += await self._die(scope, page_size, clock, step, seconds)
                clock.move(minutes=LEASE_MINUTES)
            if one.is_finished:
                await self._finish(scope, page_size, clock)
        await self._finish(scope, page_size, clock)
        left = await wiki_of(self.pools, scope=scope)
        quarantined = await self._quarantined(scope)
        async with scoped(self.pools.background, scope) as connection:
            await upkeep.reset(connection, scope, mode=ResetMode.FULL, now=clock())
        clock.move(minutes=ROUND_MINUTES)
        await wish(self.pools, scope=scope, now=clock())
        await self._finish(scope, 50, clock)
        return KilledWiki(left, await wiki_of(self.pools, scope=scope), killed, quarantined)

    async def _happen(self, scope: Scope, service: Memories, one: Round, clock: Clock) -> None:
        await service.retain(scope, one.written)
        for memory_id in one.forgotten:
            await _unless_refused(service.forget(scope, memory_id))
        for memory_id, status in one.judged:
            await _unless_refused(service.set_status(scope, memory_id, StatusDecision(status, "admin", "dice")))
        for newer, older in one.superseded:
            cause = SupersessionCause(SupersessionReason.CONTRADICTED, most_trusted=AuthorityTier.USER)
            await _unless_refused(service.supersessions.supersede(scope, [older], newer, cause))

    async def _die(self, scope: Scope, page_size: int, clock: Clock, step: int, seconds: float) -> bool:
        """Let a worker work until it dies, and return whether it did."""
        place = (self.dsn, str(scope.tenant_id), str(scope.owner_id), page_size, (clock() - NOW) / timedelta(minutes=1))
        child = CONTEXT.Process(target=_work, args=(*place, step or NEVER, seconds))
        child.start()
        await asyncio.to_thread(child.join)
        assert child.exitcode in (0, -signal.SIGKILL), child.exitcode
        return bool(child.exitcode)

    async def _finish(self, scope: Scope, page_size: int, clock: Clock) -> None:
        clock.move(minutes=LEASE_MINUTES)
        worker = worker_on(self.pools, _engine(self.pools, page_size, clock))
        async with asyncio.timeout(300):
            while not await worker.drain_scope(scope):
                clock.move(minutes=1)

    async def _quarantined(self, scope: Scope) -> tuple[str, ...]:
        rows = await fetch(
            self.dsn,
            "SELECT memory_id, reason FROM memory_ledger WHERE tenant_id = $1 AND owner_id = $2 AND outcome = $3 ORDER BY 1",
            scope.tenant_id, scope.owner_id, MemoryOutcome.QUARANTINED.value,
        )  # fmt: skip
        return tuple(f"{row['memory_id']} {row['reason']}" for row in rows)


async def _unless_refused(doing: Any) -> None:
    try:
        await doing
    except SidecarError:
        return


def _engine(pools: Pools, page_size: int, clock: Clock) -> Engine:
    """Return the engine of a worker as it is served, but for the size of its batches."""
    places = PlacesOnDemand()
    made = engine_on(pools, planner=ExtractivePlanner(places), settings=capped(record_page_size=page_size), clock=clock)
    return replace(made, gazetteer=places)


def _work(dsn: str, tenant_id: str, owner_id: str, page_size: int, minutes: float, step: int, seconds: float) -> None:
    """Work on the scope in this process until the step is reached or the time is over."""
    if seconds:
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
    asyncio.run(_worked(dsn, Scope(UUID(tenant_id), UUID(owner_id)), page_size, minutes, step))
    os._exit(0)


async def _worked(dsn: str, scope: Scope, page_size: int, minutes: float, step: int) -> None:
    left = step

    def count(place: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=3))
    engine = _engine(pools, page_size, Clock(NOW + timedelta(minutes=minutes)))
    worker = worker_on(pools, replace(engine, checkpoint=count), holder="doomed")
    worker.on_finished = lambda job, ending: count("settled")
    await worker.drain_scope(scope)
    await pools.close()
