"""An operator's larger acts: reset a scope, backfill links, roll back a class of links, name places.

Every function takes a connection inside a scoped transaction and locks the scope's row. For a dry run, roll the
transaction back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from compiler.errors import NotCompiledYet
from compiler.operations import acts
from compiler.plan.contract import (
    Alias,
    CitedMemory,
    DropLink,
    LinkKind,
    LinkOrigin,
    PageKey,
    PageType,
    WriteAlias,
    WriteLink,
)
from compiler.plan.edge_types import TypedEdge
from compiler.plan.judging import links
from compiler.plan.upkeep import ActRefused, is_name
from compiler.state import views
from compiler.state.naming import pages_named
from compiler.state.operator_acts import enact
from compiler.state.row_mapping import key_of
from compiler.state.substrates import memory_of
from store.compile import background, batches, jobs, ledger, scopes
from store.compile.batches import Batch, BatchKind
from store.content import feed
from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold
from store.wiki import candidates, kept_edges, upkeep
from store.wiki.upkeep import EvidenceRow, PlaceRow

PLACE_NAMES = "place_names"
MEMORIES_AT_ONCE = 500

_ITEMS_AT_ONCE = 5_000
_EXAMPLES = 20


class ResetMode(StrEnum):
    """Whether a reset archives the pages or deletes them."""

    POLITE = "polite"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Reset:
    """The counts of a reset: pages archived or deleted, held names deleted, jobs cancelled, memories to be read again."""

    pages: int
    mentions: int
    jobs: int
    memories: int


@dataclass(frozen=True, slots=True)
class Backfill:
    """The counts of a backfill: memories, links written, and candidates by stage (`funnel`). `reached` is its feed position."""

    memories: int = 0
    deterministic: int = 0
    co_mention: int = 0
    funnel: Mapping[str, int] = field(default_factory=dict)
    reached: int = 0
    is_done: bool = False

    def with_more(self, more: Backfill) -> Backfill:
        """Return the sum of both, with the position of the later one."""
        return Backfill(
            self.memories + more.memories,
            self.deterministic + more.deterministic,
            self.co_mention + more.co_mention,
            Counter(self.funnel) + Counter(more.funnel),
            more.reached,
            more.is_done,
        )


@dataclass(frozen=True, slots=True)
class Rollback:
    """The result of a rollback: causes removed, links removed because they had no other cause, and examples of the links."""

    evidence: int
    links: int
    examples: tuple[str, ...]


async def reset(connection: Connection, scope: Scope, *, mode: ResetMode, now: datetime) -> Reset:
    """Reset the scope to its beginning. Raises ActRefused while a job runs."""
    row = await scopes.lock(connection, scope, now=now)
    running = await jobs.running(connection, scope)
    if running is not None:
        raise ActRefused("job", f"{running.job_id} is running; cancel it or wait until it has ended")
    cancelled = await jobs.cancel_pending(connection, scope, now=now)
    mentions = 0
    if mode is ResetMode.FULL:
        await kept_edges.keep(connection, scope)
        memories = await ledger.clear(connection, scope)
        mentions = await upkeep.delete_mentions(connection, scope)
        pages = await upkeep.delete_all(connection, scope)
        await batches.clear(connection, scope)
    else:
        memories = await ledger.reopen(connection, scope)
        await batches.discard(connection, scope)
        pages = await upkeep.archive_all(connection, scope, now=now)
    await scopes.rewind(connection, scope, now=now)
    await scopes.bump_revision(connection, scope, now=now)
    if mode is ResetMode.POLITE:
        await _log_reset(connection, scope, row.wiki_revision, now=now)
    else:
        await acts.log_rulings(connection, scope, now=now)
    return Reset(pages, mentions, cancelled, memories)


async def backfill(
    connection: Connection, scope: Scope, *, after: int = 0, limit: int = MEMORIES_AT_ONCE, now: datetime
) -> Backfill:
    """Write the missing deterministic links of the next memories in the feed."""
    await scopes.lock(connection, scope, now=now)
    rows, last = await feed.after(connection, scope, after, limit=limit)
    memories = tuple(memory_of(row) for row in rows)
    fed = await views.feeding(connection, scope, memories)
    parents = await views.topics_titled(connection, scope, memories)
    about = await pages_named(connection, scope, memories)
    names = await views.names_of(connection, scope, {page for pages in about.values() for page in pages})
    decision = links.emit(memories, fed, parents, naming=links.Naming(about, names))
    written = await enact(connection, scope, decision.items, now=now)
    return Backfill(
        len(memories),
        written.get("links_written_deterministic", 0),
        written.get("links_written_co_mention", 0),
        dict(decision.counters),
        rows[-1].change_seq if rows else last,
        len(rows) < limit,
    )


async def rollback(connection: Connection, scope: Scope, *, origin: LinkOrigin, prefix: str, now: datetime) -> Rollback:
    """Remove a class of link causes, and the links without other causes. Raises ActRefused for the hierarchy's class."""
    if origin is LinkOrigin.PROMOTION:
        raise ActRefused("origin", "is the origin of the hierarchy; undo single promotions instead")
    await scopes.lock(connection, scope, now=now)
    count, bare = await upkeep.count_evidence(connection, scope, origin=origin.value, prefix=prefix)
    found = await upkeep.evidence(connection, scope, origin=origin.value, prefix=prefix)
    items = [DropLink(_link(row)) for row in found]
    for start in range(0, len(items), _ITEMS_AT_ONCE):
        await enact(connection, scope, items[start : start + _ITEMS_AT_ONCE], now=now)
    ends = dict.fromkeys(f"{_path(row.source)} → {_path(row.target)}" for row in found)
    return Rollback(count, bare, tuple(list(ends)[:_EXAMPLES]))


async def name_places(connection: Connection, scope: Scope, *, now: datetime) -> int:
    """Give pages of imported places their other names as aliases of the import; return the number of new aliases.

    A name that another page has is skipped: text about that page would otherwise go to the place.
    """
    await scopes.lock(connection, scope, now=now)
    after = ""
    named: dict[tuple[PageKey, str], Alias] = {}
    while places := await upkeep.places(connection, scope, after=after, limit=MEMORIES_AT_ONCE):
        pages = await _pages_named(connection, scope, [fold(place.name) for place in places])
        for place in places:
            page = pages.get(fold(place.name))
            if page is None:
                continue
            for alias in _names(place):
                known = named.get((page, alias.key), replace(alias, sources=()))
                named[page, alias.key] = replace(known, sources=(*known.sources, *alias.sources))
        after = places[-1].memory_id
    bearers = await _bearers(connection, scope, sorted({key for _, key in named}))
    items = [
        WriteAlias(page, alias)
        for (page, key), alias in sorted(named.items(), key=lambda one: one[0])
        if key not in bearers or page in bearers[key]
    ]
    return (await enact(connection, scope, items, now=now)).get("aliases_written", 0)


async def handle_place_names(pool: Pool, now: Callable[[], datetime], scope: Scope, subject: str) -> None:
    """Name imported places as a background job. Raises NotCompiledYet while the scope has memories to compile."""
    async with scoped(pool, scope, role=DatabaseRole.WORKER) as connection:
        row = await scopes.read(connection, scope)
        if row is not None and not row.is_caught_up:
            raise NotCompiledYet
        await name_places(connection, scope, now=now())


async def queue_place_names(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Queue the naming of imported places."""
    await background.enqueue(connection, scope, PLACE_NAMES, "", now=now)


async def _pages_named(connection: Connection, scope: Scope, names: Sequence[str]) -> dict[str, PageKey]:
    hits = await candidates.by_aliases(connection, scope, sorted(set(names)))
    known = await candidates.identities_of(connection, scope, sorted({page_id for _, page_id in hits}))
    keys = {one.page_id: PageKey(PageType(one.type), one.slug) for one in known if one.is_active}
    entities = {page_id: key for page_id, key in keys.items() if key.type is PageType.ENTITY}
    return {name: entities[page_id] for name, page_id in sorted(hits, reverse=True) if page_id in entities}


async def _bearers(connection: Connection, scope: Scope, names: Sequence[str]) -> dict[str, set[PageKey]]:
    found: dict[str, set[PageKey]] = {}
    for name, one in await candidates.bearing(connection, scope, names):
        found.setdefault(name, set()).add(key_of(one))
    return found


def _names(place: PlaceRow) -> Sequence[Alias]:
    source = CitedMemory(place.memory_id, place.text_hash)
    names = {fold(name): " ".join(name.split()) for name in place.others}
    return [
        Alias(key, display, "import", (source,))
        for key, display in sorted(names.items())
        if is_name(display) and key != fold(place.name)
    ]


def _link(row: EvidenceRow) -> WriteLink:
    source, target = (PageKey(PageType(kind), slug) for kind, slug in (row.source, row.target))
    edge = TypedEdge(row.edge_type, row.valid_from) if row.edge_type else None
    return WriteLink(source, target, LinkKind(row.kind), LinkOrigin(row.origin), row.context, row.ref, edge)


def _path(end: tuple[str, str]) -> str:
    return f"/wiki/{end[0]}/{end[1]}"


async def _log_reset(connection: Connection, scope: Scope, revision: int, *, now: datetime) -> None:
    batch = Batch(
        batch_seq=await scopes.next_batch_seq(connection, scope, now=now),
        kind=BatchKind.RESET,
        job_id=None,
        revision=revision,
        cursor_from="",
        cursor_to="",
        read_through=0,
        memory_ids=(),
        content_hashes=(),
        options={"mode": ResetMode.POLITE.value},
    )
    await batches.log_applied(connection, scope, batch, now=now)
