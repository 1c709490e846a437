"""Keeps typed edges stated by hand across a rebuild: they are stored while their pages are gone, and then put back.

Every function takes a connection inside a scoped transaction; callers of writes hold the scope's row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from compiler.plan.contract import LinkKind, LinkOrigin, PageKey, PageType, WriteLink
from compiler.plan.edge_types import TypedEdge
from compiler.plan.edges import kept
from compiler.plan.edges.kept import KeptEdge
from compiler.plan.text.markdown import alias_keys
from compiler.state import surroundings, views
from compiler.state.operator_acts import enact
from compiler.state.row_mapping import key_of
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates, kept_edges
from store.wiki.kept_edges import KeptEdgeRow, KeptKey


async def put_back(connection: Connection, scope: Scope, *, now: datetime) -> int:
    """Put back the kept edges whose pages exist again, and return their number. Logged as an operator's act, for replay."""
    every = await waiting(connection, scope)
    if not every:
        return 0
    places = await _places(connection, scope, every)
    stated = await _stated(connection, scope, {place for one in every if (place := places.get(one.link.source))})
    links, settled = kept.put_back(every, places, stated)
    if links:
        await enact(connection, scope, links, now=now)
    await release(connection, scope, [one.link for one in settled])
    return len(settled)


async def waiting(connection: Connection, scope: Scope) -> list[KeptEdge]:
    """Return the kept edges, whose pages are missing."""
    return [_edge(row) for row in await kept_edges.listed(connection, scope)]


async def release(connection: Connection, scope: Scope, links: Iterable[WriteLink]) -> int:
    """Delete these edges from the kept ones, and return the number deleted."""
    return await kept_edges.release(connection, scope, [_key(link) for link in links if link.edge is not None])


async def _places(connection: Connection, scope: Scope, every: Sequence[KeptEdge]) -> dict[PageKey, PageKey]:
    """Return the present page for each page of the edges; pages without one are left out."""
    titles = dict(end for one in every for end in one.ends)
    rules = await views.operator_rulings(connection, scope)
    merged = {key: rules.end(key) for key in titles}
    keys = sorted({*titles, *merged.values()})
    identities = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in keys])
    existing = {key_of(one) for one in identities}
    names = sorted({name for key, title in titles.items() if merged[key] not in existing for name in alias_keys(title)})
    borne: dict[str, set[PageKey]] = {}
    for name, one in await candidates.bearing(connection, scope, names) if names else ():
        borne.setdefault(name, set()).add(key_of(one))
    found = {
        key: kept.place_of(
            key, merged[key], existing, {page for name in alias_keys(title) for page in borne.get(name, ())}
        )
        for key, title in titles.items()
    }
    return {key: place for key, place in found.items() if place is not None}


async def _stated(connection: Connection, scope: Scope, sources: Iterable[PageKey]) -> set[tuple[object, ...]]:
    """Return the identities of the edges by hand from some pages."""
    paths = [(key.type.value, key.slug) for key in sorted(sources)]
    page_ids = [one.page_id for one in await candidates.identities(connection, scope, paths)]
    return {one.identity for one in await surroundings.edges_by_hand(connection, scope, page_ids)}


def _edge(row: KeptEdgeRow) -> KeptEdge:
    source, target = (PageKey(PageType(page_type), slug) for page_type, slug in (row.source, row.target))
    extra = row.properties
    edge = TypedEdge(
        row.edge_type,
        row.valid_from,
        row.valid_until,
        row.said_at,
        extra.get("since", ""),
        extra.get("until", ""),
        extra.get("confidence", 1.0),
        row.is_sole,
    )
    return KeptEdge(WriteLink(source, target, LinkKind.REFERENCE, LinkOrigin.MANUAL, row.context, "", edge), row.titles)


def _key(link: WriteLink) -> KeptKey:
    assert link.edge is not None, "only typed edges are kept"
    ends = ((key.type.value, key.slug) for key in (link.source, link.target))
    return next(ends), next(ends), link.edge.type, link.edge.valid_from
