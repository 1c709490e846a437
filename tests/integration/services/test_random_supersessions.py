"""Random sequences of acts: validity follows from the live edges, and no chain raises trust."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest

from compiler.decay import supersede as superseding
from compiler.decay.supersede import SupersessionCause
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.memories import Memories
from store.content import memories, standing
from store.content.memories import NewMemory
from store.content.standing import StatusDecision
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus
from store.db.postgres import Pools, scoped
from store.scope import Scope
from tests.support.compiler.compiling import NOW, Clock, fetch

SCOPE = Scope(UUID(int=71), UUID(int=72))
ACTS = 70
ENDING = (SupersessionReason.CORRECTED, SupersessionReason.CONTRADICTED)
TIERS = ("Derived", "Candidate", "Agent", "User", "someone")
LIVE = """
    SELECT s.memory_id, s.superseded_id, s.reason, coalesce(n.valid_from, n.occurred_at) AS starts, n.status AS by,
        o.status, o.stated_until
    FROM memory_supersessions s
    JOIN memories n ON n.tenant_id = s.tenant_id AND n.owner_id = s.owner_id AND n.memory_id = s.memory_id
    JOIN memories o ON o.tenant_id = s.tenant_id AND o.owner_id = s.owner_id AND o.memory_id = s.superseded_id
    WHERE s.undone_at IS NULL ORDER BY s.created_at, s.memory_id, s.superseded_id"""


@dataclass
class World:
    """An owner whose memories are written, judged, compressed, superseded, restored and forgotten at random.

    `bounds` are the tier and the confidence that each memory may have at most, by how it came about.
    """

    service: Memories
    clock: Clock
    dice: Random
    ids: list[str] = field(default_factory=list)
    bounds: dict[str, tuple[AuthorityTier, float]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    async def act(self) -> None:
        """Do one thing; one that is refused changes nothing."""
        self.clock.now += timedelta(minutes=1)
        acts = (
            self.write,
            self.write,
            self.edit,
            self.judge,
            self.compress,
            self.supersede,
            self.rewrite,
            self.restore,
        )
        act: Callable[[], Awaitable[None]] = self.dice.choice((*acts, self.forget))
        try:
            await act()
        except (FailedPrecondition, InvalidArgument, NotFound):
            return
        self.done.add(act.__name__)

    def some(self, most: int) -> list[str]:
        return self.dice.sample(self.ids, min(len(self.ids), self.dice.randint(1, most)))

    def made(self, text: str, **given: Any) -> NewMemory:
        days = timedelta(days=self.dice.randint(-300, 300))
        return NewMemory(
            text,
            occurred_at=NOW + days,
            valid_from=self.dice.choice((None, NOW + days)),
            stated_until=self.dice.choice((None, None, NOW + timedelta(days=400))),
            authority=self.dice.choice((None, *TIERS)),
            confidence=self.dice.choice((None, self.dice.random())),
            **given,
        )

    async def write(self) -> None:
        memory_id = f"m{len(self.bounds)}"
        new = self.made(f"Text {memory_id}.", memory_id=memory_id, status=self.dice.choice(list(MemoryStatus)))
        await self.service.retain(SCOPE, [new])
        self.ids.append(memory_id)
        self.bounds[memory_id] = AuthorityTier.parse(new.authority or "Agent"), 1.0

    async def edit(self) -> None:
        for memory_id in self.some(1):
            new = self.made(f"Other {self.dice.random()}.", memory_id=memory_id)
            await self.service.retain(SCOPE, [new])
            tier, doubt = self.bounds[memory_id]
            is_summary = bool((await self.service.get(SCOPE, memory_id)).source_events)
            confidence = doubt if is_summary else 1.0  # the writer is as sure of its own words as it says
            self.bounds[memory_id] = min(tier, AuthorityTier.parse(new.authority or "Agent")), confidence

    async def judge(self) -> None:
        for memory_id in self.some(2):
            status = self.dice.choice(list(MemoryStatus))
            await self.service.set_status(SCOPE, memory_id, StatusDecision(status, "admin", "dice"))

    async def compress(self) -> None:
        ids = [one for one in self.ids if (await self.service.get(SCOPE, one)).status is MemoryStatus.CANDIDATE]
        sources = self.dice.sample(ids, min(len(ids), 3))
        held = [await self.service.get(SCOPE, one) for one in sources]
        made = await self.service.compress(SCOPE, sources)
        tiers = [AuthorityTier.parse(one.authority) for one in held]
        self._came(made.memory_id, min(tiers), min(one.confidence for one in held))

    async def supersede(self) -> None:
        newer, *older = self.some(4)
        tier = self.dice.choice((AuthorityTier.AGENT, AuthorityTier.USER))
        await self.service.supersessions.supersede(SCOPE, older, newer, self._cause(tier))

    async def rewrite(self) -> None:
        older = self.some(3)
        held = [await self.service.get(SCOPE, one) for one in older]
        edit = self.made(f"Edit {self.dice.random()}.", status=self.dice.choice((None, MemoryStatus.ACCEPTED)))
        made, _ = await self.service.supersessions.supersede(SCOPE, older, edit, self._cause(AuthorityTier.USER))
        doubts = [one.confidence for one in held if one.source_events]
        self._came(made.memory_id, min(AuthorityTier.parse(one.authority) for one in held), min([1.0, *doubts]))
        assert made.status is MemoryStatus.CANDIDATE or all(one.status is not MemoryStatus.CANDIDATE for one in held)

    async def restore(self) -> None:
        for memory_id in self.some(2):
            await self.service.supersessions.restore(SCOPE, memory_id)

    async def forget(self) -> None:
        if self.dice.random() < 0.3:
            for memory_id in self.some(1):
                await self.service.forget(SCOPE, memory_id)

    def _cause(self, tier: AuthorityTier) -> SupersessionCause:
        return SupersessionCause(self.dice.choice(ENDING), most_trusted=tier)

    def _came(self, memory_id: str, tier: AuthorityTier, confidence: float) -> None:
        if memory_id not in self.bounds:
            self.ids.append(memory_id)
            self.bounds[memory_id] = tier, confidence


@pytest.mark.parametrize("seed", range(6))
async def test_validity_follows_from_the_live_edges_and_trust_never_rises(
    pools: Pools, database: str, seed: int, is_soak: bool
) -> None:
    clock = Clock(NOW)
    world = World(Memories(pools, now=clock), clock, Random(seed))
    await world.write()
    numbers: dict[str, int] = {}
    for _ in range(ACTS if is_soak else ACTS // 4):
        await world.act()
        rows = await fetch(database, "SELECT * FROM memories")
        world.ids = [one for one in world.ids if one in {row["memory_id"] for row in rows}] or world.ids[:1]
        if not rows:
            await world.write()
            continue
        ends, covered = await followed(database)
        for row in rows:
            memory_id = row["memory_id"]
            assert row["valid_until"] == ends.get(memory_id, row["stated_until"])
            assert row["is_compressed"] == (memory_id in covered)
            tier, confidence = world.bounds[memory_id]
            assert AuthorityTier.parse(row["authority"]) <= tier
            assert row["confidence"] <= confidence
        assert await above_their_sources(database) == []
        seen = {row["memory_id"]: row["change_seq"] for row in rows}
        assert len(set(seen.values())) == len(seen)
        assert all(seen.get(one, number) >= number for one, number in numbers.items())
        numbers = seen
    assert {"supersede", "rewrite", "compress", "restore"} & world.done
    await in_another_order(pools, database, world.dice)


async def followed(database: str) -> tuple[dict[str, datetime], set[str]]:
    """Return where the live edges let memories end, and which memories stand behind a summary."""
    ends: dict[str, datetime] = {}
    covered: set[str] = set()
    for row in await fetch(database, LIVE):
        if row["by"] == "rejected" or (row["by"] == "candidate" and row["status"] == "accepted"):
            continue
        if row["reason"] == "compressed":
            covered.add(row["superseded_id"])
        else:
            known = ends.get(row["superseded_id"], row["stated_until"])
            ends[row["superseded_id"]] = min(known, row["starts"]) if known else row["starts"]
    return ends, covered


async def above_their_sources(database: str) -> list[str]:
    """Return the summaries that claim more than a source claims now."""
    pairs = await fetch(
        database,
        "SELECT s.memory_id, s.authority, s.confidence, o.authority AS least, o.confidence AS doubt"
        " FROM memory_supersessions e JOIN memories s USING (tenant_id, owner_id, memory_id)"
        " JOIN memories o ON (o.tenant_id, o.owner_id, o.memory_id) = (e.tenant_id, e.owner_id, e.superseded_id)"
        " WHERE e.reason = 'compressed' AND e.undone_at IS NULL",
    )
    return [
        row["memory_id"]
        for row in pairs
        if AuthorityTier.parse(row["authority"]) > AuthorityTier.parse(row["least"]) or row["confidence"] > row["doubt"]
    ]


async def in_another_order(pools: Pools, database: str, dice: Random) -> None:
    """The same memories and edges of another owner, arriving in another order, end at the same instants."""
    other = Scope(SCOPE.tenant_id, UUID(int=73))
    rows = list(await fetch(database, "SELECT * FROM memories"))
    edges = [row for row in await fetch(database, LIVE) if row["reason"] != "compressed"]
    dice.shuffle(rows)
    dice.shuffle(edges)
    async with scoped(pools.background, other) as connection:
        for row in rows:
            names = ("memory_id", "text", "occurred_at", "valid_from", "stated_until", "valid_precision")
            new = NewMemory(status=MemoryStatus(row["status"]), **{name: row[name] for name in names})
            await memories.retain(connection, other, [new], now=NOW)
        for row in edges:
            cause = SupersessionCause(SupersessionReason(row["reason"]), most_trusted=AuthorityTier.USER)
            await superseding.supersede(connection, other, row["memory_id"], [row["superseded_id"]], cause, now=NOW)
        assert await standing.settle(connection, other, None, now=NOW) == []
        found = {row["memory_id"]: await memories.get(connection, other, row["memory_id"]) for row in rows}
    assert {one: memory and memory.validity.valid_until for one, memory in found.items()} == {
        row["memory_id"]: row["valid_until"] for row in rows
    }
