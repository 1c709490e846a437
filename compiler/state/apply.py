"""Writes the items of a plan or an operator as rows, set-based, inside the caller's transaction.

The caller holds the scope's row. Unchanged rows are not written again; counters count rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import orjson

from compiler.plan import upkeep
from compiler.plan.contract import (
    DropLink,
    DropSighting,
    HoldMention,
    IgnoreMention,
    Item,
    LinkOrigin,
    PageKey,
    SettleMention,
    WriteLink,
    WriteRuling,
)
from compiler.plan.edge_types import TypedEdge
from compiler.plan.ontology.edges import limited_types
from compiler.plan.vocabulary import Vocabulary
from compiler.state import governing, reducer
from compiler.state.difference import page_changes
from compiler.state.reducer import Folded, RemainingCaps
from compiler.state.row_mapping import Stored, key_of, load, ruling_row
from store.compile import scopes
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates, governed, mentions, page_writes, rulings
from store.wiki import upkeep as removals
from store.wiki.mentions import HeldRow, MentionChanges, SightingWrite
from store.wiki.page_writes import UNTYPED, CauseRow, EdgeStatement
from store.wiki.pages import keep_page_count, page_uuid

UNLIMITED = RemainingCaps(new_pages=1_000_000, sections=1_000_000)


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """The options of applying items: caps, wiki revision and time, and the ontology in force (`known`)."""

    limits: RemainingCaps
    revision: int
    now: datetime
    known: Vocabulary | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The number of items applied, the cap that stopped them (empty if none), and counters of changed rows."""

    taken: int
    cap: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)


async def apply_items(
    connection: Connection, scope: Scope, items: Sequence[Item], *, now: datetime, known: Vocabulary | None = None
) -> Applied:
    """Apply an operator's items under `scopes.lock`, without caps, and raise the revision if anything changed.

    The pages that the items name, and those that these link to before or after, are scored again.
    """
    row = await scopes.lock(connection, scope, now=now)
    before = await _around(connection, scope, items)
    applied = await write(connection, scope, items, ApplyOptions(UNLIMITED, row.wiki_revision + 1, now, known))
    around = sorted(before | await _around(connection, scope, items))
    await page_writes.score_hubs(connection, scope, around)
    if any(applied.counters.values()):
        await page_writes.settle_search(connection)
        await scopes.bump_revision(connection, scope, now=now)
    return applied


async def _around(connection: Connection, scope: Scope, items: Sequence[Item]) -> set[UUID]:
    """Return the pages that the items name and those that they link to."""
    named = [(key.type.value, key.slug) for key in upkeep.named(items)]
    page_ids = [one.page_id for one in await candidates.identities(connection, scope, named)]
    return {*page_ids, *await candidates.linked_from(connection, scope, page_ids)}


async def write(connection: Connection, scope: Scope, items: Sequence[Item], options: ApplyOptions) -> Applied:
    """Apply items up to a cap."""
    standing = await _standing(connection, scope, items)
    folded = reducer.fold(standing.pages, items, options.limits)
    ids = await _ids(connection, scope, standing, folded)
    changes = page_changes(standing.pages, folded.pages, ids)
    await page_writes.write_names(connection, scope, changes, revision=options.revision, now=options.now)
    counters = Counter(folded.counters)
    pages = len(changes.pages_found_anew) + len(changes.pages)
    counters.update(pages_written=pages, sections_written=len(changes.sections))
    counters.update(sources_written=len(changes.sources), aliases_written=len(changes.aliases))
    await page_writes.write_texts(connection, scope, changes, revision=options.revision, now=options.now)
    counters.update(await _write_links(connection, scope, folded.links, ids, options.now))
    freed = await _freed(connection, scope, [standing.ids[key] for key in folded.deleted], options.known)
    for key in folded.deleted:
        await removals.delete_page(connection, scope, standing.ids[key], now=options.now)
    counters.update(await _write_mentions(connection, scope, folded.mentions, ids, options.now))
    counters["rulings_written"] = await _write_rulings(connection, scope, folded, options.now)
    counters["hubs_scored"] = await page_writes.score_hubs(
        connection, scope, [ids[key] for key in folded.scored if key in ids]
    )
    if options.known is not None:
        counters.update(await _govern(connection, scope, (standing, folded, ids), options, freed))
    written = {name: count for name, count in counters.items() if count}
    if written:
        await page_writes.settle_search(connection)
        await keep_page_count(connection, scope)
    return Applied(folded.taken, folded.cap, written)


async def _freed(connection: Connection, scope: Scope, deleted: Sequence[UUID], known: Vocabulary | None) -> set[UUID]:
    """Return the pages at the other ends of deleted pages' edges of limited types: another edge may be approved there now."""
    limited = limited_types(known) if known is not None and deleted else frozenset()
    found = await governed.edges_at(connection, scope, deleted, limited) if limited else []
    return {end for one in found for end in (one.source_id, one.target_id)} - {*deleted}


async def _govern(
    connection: Connection,
    scope: Scope,
    done: tuple[Stored, Folded, Mapping[PageKey, UUID]],
    options: ApplyOptions,
    freed: Collection[UUID],
) -> Counter[str]:
    """Apply the ontology in force to the pages and typed edges that were written."""
    assert options.known is not None, "only an ontology governs"
    standing, folded, ids = done
    changed = {key: page for key, page in folded.pages.items() if standing.pages.get(key) is not page}
    links = [link.link if isinstance(link, DropLink) else link for link in folded.links]
    limited = limited_types(options.known)
    sources = {link.source for link in links if link.edge is not None}
    targets = {link.target for link in links if link.edge is not None and link.edge.type in limited}
    linked = {*freed, *(ids[key] for key in sources | targets if key in ids)}
    pages = {ids[key]: page for key, page in changed.items()}
    return await governing.govern(connection, scope, pages, options.known, linked=linked, now=options.now)


async def _standing(connection: Connection, scope: Scope, items: Sequence[Item]) -> Stored:
    """Return the pages that the items name, in their present state."""
    paths = [(key.type.value, key.slug) for key in reducer.keys_of(items)]
    named = await candidates.identities(connection, scope, paths)
    return await load(connection, scope, [one.page_id for one in named])


async def _ids(connection: Connection, scope: Scope, standing: Stored, folded: Folded) -> dict[PageKey, UUID]:
    """Return the ids of every page that the changes name, existing or new."""
    wanted = {*folded.scored, *(key for link in folded.links for key in _ends(link))}
    wanted |= {item.page for item in folded.mentions if isinstance(item, SettleMention)}
    for page in folded.pages.values():
        wanted |= {child for section in page.sections for child in section.children}
        wanted |= {key for one in page.sections if one.aggregation is not None for key in one.aggregation.linked_pages}
    ids = dict(standing.ids)
    keys = sorted(wanted - ids.keys() - folded.pages.keys())
    found = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in keys])
    ids.update({key_of(one): one.page_id for one in found})
    ids.update({key: page_uuid(scope, key.type.value, key.slug) for key in folded.pages if key not in ids})
    return ids


def _ends(link: WriteLink | DropLink) -> tuple[PageKey, PageKey]:
    cause = link.link if isinstance(link, DropLink) else link
    return cause.source, cause.target


async def _write_links(
    connection: Connection,
    scope: Scope,
    links: Sequence[WriteLink | DropLink],
    ids: Mapping[PageKey, UUID],
    now: datetime,
) -> Counter[str]:
    counters: Counter[str] = Counter()
    last: dict[tuple[object, ...], tuple[CauseRow, bool]] = {}
    for link in links:
        if not all(key in ids for key in _ends(link)):
            counters["links_without_page"] += 1
            continue
        cause = _cause(link.link if isinstance(link, DropLink) else link, ids)
        last[cause.identity] = (cause, isinstance(link, WriteLink))
    counters["links_removed"] = await page_writes.drop_causes(
        connection, scope, [one for one, adds in last.values() if not adds]
    )
    added = [one for one, adds in last.values() if adds]
    made, causes = await page_writes.add_causes(connection, scope, added, now=now)
    counters["link_causes_written"] = causes
    for cause in added:
        if cause.link_id not in made:
            continue
        made.discard(cause.link_id)
        if cause.edge.type:
            counters["edges_written"] += 1
            counters[f"edges_written_{cause.edge.type}"] += 1
        else:
            counters["links_written"] += 1
            counters[f"links_written_{cause.origin}"] += 1
    return counters


async def _write_rulings(connection: Connection, scope: Scope, folded: Folded, now: datetime) -> int:
    """Write and drop rulings, including those on deleted pages. Return the number of changed rows."""
    last = {(one.ruling.kind, one.ruling.page, one.ruling.ref): one for one in folded.rulings}
    dropped = [ruling_row(one.ruling) for one in last.values() if not isinstance(one, WriteRuling)]
    written = [ruling_row(one.ruling) for one in last.values() if isinstance(one, WriteRuling)]
    gone = await rulings.drop_on_pages(connection, scope, [(key.type.value, key.slug) for key in folded.deleted])
    gone += await rulings.drop(connection, scope, dropped)
    return gone + await rulings.write(connection, scope, written, now=now)


def _cause(link: WriteLink, ids: Mapping[PageKey, UUID]) -> CauseRow:
    origin = LinkOrigin(link.origin).value
    return CauseRow(
        ids[link.source], ids[link.target], link.kind.value, origin, link.context, link.ref, _edge(link.edge)
    )


def _edge(edge: TypedEdge | None) -> EdgeStatement:
    if edge is None:
        return UNTYPED
    period = {"since": edge.since, "until": edge.until}
    properties = {name: text for name, text in period.items() if text} | (
        {"confidence": edge.confidence} if edge.confidence < 1 else {}
    )
    written = orjson.dumps(properties).decode()
    return EdgeStatement(edge.type, edge.valid_from, edge.valid_until, edge.said_at, written, edge.is_sole)


async def _write_mentions(
    connection: Connection,
    scope: Scope,
    items: Sequence[reducer.MentionItem],
    ids: Mapping[PageKey, UUID],
    now: datetime,
) -> Counter[str]:
    held = [item.mention for item in items if isinstance(item, HoldMention)]
    changes = MentionChanges(
        tuple(HeldRow(one.key, one.alias, one.suggested_type) for one in {one.key: one for one in held}.values()),
        tuple(
            SightingWrite(one.key, sighting.source.memory_id, sighting.quote, sighting.seen_at)
            for one in held
            for sighting in one.sightings
        ),
        tuple((item.key, item.memory_id) for item in items if isinstance(item, DropSighting)),
        tuple((item.key, ids[item.page]) for item in items if isinstance(item, SettleMention) and item.page in ids),
        tuple(item.key for item in items if isinstance(item, IgnoreMention)),
    )
    counts = await mentions.write(connection, scope, changes, now=now)
    return Counter(
        mentions_held=counts.held,
        mention_sightings_written=counts.sightings,
        mentions_promoted=counts.settled,
        mentions_removed=counts.removed,
        mentions_ignored=counts.ignored,
    )
