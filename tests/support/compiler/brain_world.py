"""A tenant with a Brain for tests: owners that remember and forget, rules, and a worker that does what is queued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from compiler.job.worker import Worker, WorkerSettings
from sidecar.services.brain.context import BrainAnswer, BrainContext, BrainQuery
from sidecar.services.brain.releases import Actor, Brain
from sidecar.services.knowledge import Knowledge
from sidecar.services.memories import Memories
from sidecar.services.tenants import Tenants
from sidecar.worker.brain_work import brain_handlers
from store.content.memories import NewMemory
from store.content.tiers import AuthorityTier
from store.db.postgres import Pools
from store.scope import Scope, brain_of, owner_uuid, tenant_uuid
from store.tenancy.brain import BrainCopy, ReleaseRule
from tests.support.compiler.compiling import NOW, Clock, engine_on

TENANT = tenant_uuid("acme")
ANN = Scope(TENANT, owner_uuid("ann"))
BOB = Scope(TENANT, owner_uuid("bob"))
THERE = brain_of(TENANT)
ADMIN = Actor("root")
TAG = "shared"


def _count(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


@dataclass(slots=True)
class BrainWorld:
    """The services over one database."""

    pools: Pools
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    dropped: list[Scope] = field(default_factory=list)
    memories: Memories = field(init=False)
    brain: Brain = field(init=False)
    tenants: Tenants = field(init=False)
    knowledge: Knowledge = field(init=False)

    def __post_init__(self) -> None:
        self.memories = Memories(self.pools, now=self.clock, on_forgotten=self.dropped.append)
        self.brain = Brain(self.pools.background, now=self.clock, on_forgotten=self.dropped.append)
        self.tenants = Tenants(self.pools, now=self.clock, on_forgotten=self.dropped.append)
        self.knowledge = Knowledge(self.pools, now=self.clock, count=_count, on_forgotten=self.dropped.append)

    async def say(self, scope: Scope, memory_id: str, text: str, **fields: Any) -> None:
        """Remember a shared memory of the owner's; `tags=()` for one that no rule releases."""
        tags = fields.pop("tags", (TAG,))
        fields.setdefault("authority", AuthorityTier.USER.name.title())
        new = NewMemory(text, memory_id, metadata={"tags": list(tags), **fields.pop("metadata", {})}, **fields)
        await self.memories.retain(scope, [new])

    async def write(self, path: str, text: str, *, base: str = "handbook") -> None:
        """Put a document into a knowledge base."""
        self.clock.move(seconds=1)
        await self.knowledge.create_base(TENANT, base, "")
        await self.knowledge.ingest(TENANT, base, path, text.encode(), is_large=False)

    async def rule(self, name: str = "shared", **asked: Any) -> UUID:
        """Propose and approve a rule, by tag unless it asks for something else."""
        asked = asked or {"tags": (TAG,)}
        self.clock.move(seconds=1)
        proposed = await self.brain.propose(TENANT, ReleaseRule(UUID(int=0), name, **asked), ADMIN)
        await self.brain.approve(TENANT, proposed.rule_id, ADMIN)
        return proposed.rule_id

    async def work(self) -> None:
        """Do every job that is queued, compiles of the Brain too."""
        engine = engine_on(self.pools, clock=self.clock)
        settings = WorkerSettings("one")
        await Worker(self.pools.background, engine, settings, brain_handlers(self.brain)).drain()

    async def copies(self, state: str = "released") -> dict[str, BrainCopy]:
        """Return the copies of a state by the id of their memory."""
        found = await self.brain.copies(TENANT, state=state, limit=1_000)
        return {copy.origin_memory_id: copy for copy, _ in found}

    async def texts(self) -> dict[str, str]:
        """Return the texts of released copies by the id of their memory."""
        return {copy.origin_memory_id: text for copy, text in await self.brain.copies(TENANT, limit=1_000) if text}

    async def ask(self, scope: Scope, query: str, *detail_ids: str) -> BrainAnswer:
        return await BrainContext(self.pools).query(scope, BrainQuery(query, tuple(detail_ids)))
