"""Previews the changes of a scope's next batch, planned as in a job and then discarded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from compiler.job import reading
from compiler.job.compilation import Engine, flags_in_force
from compiler.passes import leaf
from compiler.passes.leaf import LeafDeps
from compiler.plan import codec, intake
from compiler.plan.contract import BatchMemory, Item
from compiler.state.access import Access
from compiler.state.operator_acts import in_force
from store.compile import batches, ledger, scopes
from store.compile.jobs import unstored_job


@dataclass(frozen=True, slots=True)
class Preview:
    """The memories of the next batch, its changes, and the number of rejections by reason."""

    memory_count: int
    items: tuple[Item, ...]
    rejections: Mapping[str, int]


async def preview(engine: Engine, access: Access, *, model_id: str = "") -> Preview:
    """Return the changes that the next batch would make. Nothing is written to the wiki; a model may be called, at its price."""
    async with access.reading() as connection:
        row = await scopes.read(connection, access.scope)
        planned = await batches.planned(connection, access.scope)
    if planned is not None and planned.items is not None:
        rest = codec.load(planned.items[planned.items_applied :])
        return Preview(len(planned.memory_ids), rest, {})
    memories = await _next(engine, access, row.cursor if row else "")
    async with access.reading() as connection:
        known = await ledger.read(connection, access.scope, [memory.memory_id for memory in memories])
    kept, dropped = intake.sift(reading.fresh(memories, known))
    if not kept:
        return Preview(0, (), Counter(one.reason for one in dropped))
    made = await engine.planner_for(access, unstored_job(uuid4(), model_id, now=engine.now()))
    async with access.reading() as connection:
        ontology = await in_force(connection, access.scope)
    deps = LeafDeps(made.planner, engine.substrate, engine.settings, engine.count_tokens, engine.gazetteer, ontology)
    flags = await flags_in_force(access, engine.settings.flags) or engine.settings.flags
    found = await leaf.plan_leaf(access, deps, kept, is_linking=flags.deterministic_linking_enabled)
    reasons = Counter(one.reason for one in dropped) + Counter(one.reason for one in found.rejections)
    return Preview(len(kept), found.items, reasons)


async def _next(engine: Engine, access: Access, cursor: str) -> tuple[BatchMemory, ...]:
    """Return the memories of the next batch: those queued to be read again, else those of the feed."""
    scope, most = access.scope, engine.settings.caps.record_page_size
    async with access.reading() as connection:
        queued = await ledger.reread_queue(connection, scope, limit=most)
    existing = await engine.substrate.fetch(scope, queued) if queued else {}
    if existing:
        return tuple(existing[memory_id] for memory_id in queued if memory_id in existing)
    position = engine.substrate.resume(scope, cursor)
    return (await engine.substrate.changed_after(scope, position, limit=most)).memories
