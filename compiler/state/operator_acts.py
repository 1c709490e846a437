"""Acts on a wiki: items applied under the scope's row, and logged as an operator's batch for replay.

Every function takes a connection inside a scoped transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from compiler.plan import codec, upkeep
from compiler.plan.contract import IgnoreMention, Item
from compiler.plan.judging import links
from compiler.plan.vocabulary import Vocabulary, vocabulary
from compiler.state import apply
from store.compile import batches, ledger, scopes
from store.compile.batches import Batch, BatchKind
from store.compile.scopes import ScopeRow
from store.db.queries import Connection
from store.ontology import versions
from store.scope import Scope
from store.wiki import upkeep as rows


async def enact(connection: Connection, scope: Scope, items: Sequence[Item], *, now: datetime) -> Mapping[str, int]:
    """Apply items under the scope's row and log them as an operator's batch; return the changed rows by counter."""
    before = await scopes.lock(connection, scope, now=now)
    seen = await _seen(connection, scope, items)
    known = await in_force(connection, scope)
    counters = await take(connection, scope, items, now=now, known=known)
    if any(counters.values()):
        await log_act(connection, scope, before, items, seen, now=now)
    return counters


async def take(
    connection: Connection, scope: Scope, items: Sequence[Item], *, now: datetime, known: Vocabulary | None
) -> Mapping[str, int]:
    """Apply an act's items, also in a replay, and return the changed rows by counter. No compile restores the links to hubs that
    it drops, until their memories are read again.
    """
    applied = await apply.apply_items(connection, scope, items, now=now, known=known)
    await ledger.leave_unlinked(connection, scope, links.rolled_back(items))
    return applied.counters


async def in_force(connection: Connection, scope: Scope) -> Vocabulary | None:
    """Return the ontology in force; None without one."""
    ontology = await versions.newest_ontology(connection, scope.tenant_id)
    return vocabulary(ontology) if ontology else None


async def log_act(
    connection: Connection, scope: Scope, before: ScopeRow, items: Sequence[Item], seen: Iterable[str], *, now: datetime
) -> None:
    """Log items as an operator's batch, which a replay applies again; `seen` are the memories whose words they may contain."""
    batch = Batch(
        batch_seq=await scopes.next_batch_seq(connection, scope, now=now),
        kind=BatchKind.OPERATOR,
        job_id=None,
        revision=before.wiki_revision,
        cursor_from=before.cursor,
        cursor_to=before.cursor,
        read_through=before.read_through,
        memory_ids=(),
        content_hashes=(),
        seen_memory_ids=tuple(sorted(seen)),
        items=codec.dump(items),
        items_applied=len(items),
        options={"ontology": version} if (version := await versions.newest(connection, scope.tenant_id)) else {},
    )
    await batches.log_applied(connection, scope, batch, now=now)


async def _seen(connection: Connection, scope: Scope, items: Sequence[Item]) -> set[str]:
    """Return the ids of memories whose words the items may contain, including names of pages."""
    named, cited = upkeep.named(items), upkeep.cited(items)
    behind = await rows.memories_behind(connection, scope, [(key.type.value, key.slug) for key in named])
    held = [item.key for item in items if isinstance(item, IgnoreMention)]
    return {*cited, *behind, *await rows.memories_seen(connection, scope, held)}
