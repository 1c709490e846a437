"""Applies an ontology to pages: sets their types, the display of their sections, and which of their typed edges are held.

The result depends only on a page's present state and the ontology, so that applying it again changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from compiler.plan.contract import Page
from compiler.plan.ontology.edges import EdgeClaim, held_reason, limited_types, over_cardinality
from compiler.plan.ontology.page_types import HeldReason, PageTyping, typing_of
from compiler.plan.ontology.shapes import shape
from compiler.plan.vocabulary import Vocabulary
from compiler.state.row_mapping import load
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import governed
from store.wiki.governed import GovernedEdge, ShownRow, TypingRow
from store.wiki.page_writes import section_uuid, settle_search

_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class PageWindow:
    """At most `limit` pages after a place (type, slug), up to and including `through`."""

    after: tuple[str, str]
    limit: int
    through: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class GovernedPages:
    """The result of applying an ontology: the number of pages, the place of the last one, and counters of changes."""

    pages: int
    last: tuple[str, str]
    counters: Mapping[str, int]


async def govern_window(
    connection: Connection, scope: Scope, window: PageWindow, known: Vocabulary, *, now: datetime
) -> GovernedPages | None:
    """Apply the ontology to the pages of a window; return None if it has no pages. The caller holds the scope's row."""
    found = await governed.pages_after(connection, scope, window.after, limit=window.limit)
    wanted = [(page_id, place) for page_id, place in found if window.through is None or place <= window.through]
    if not wanted:
        return None
    standing = await load(connection, scope, [page_id for page_id, _ in wanted])
    pages = {standing.ids[key]: page for key, page in standing.pages.items()}
    counters = await govern(connection, scope, pages, known, now=now)
    if counters:
        await settle_search(connection)
    return GovernedPages(len(wanted), wanted[-1][1], counters)


async def govern(
    connection: Connection,
    scope: Scope,
    pages: Mapping[UUID, Page],
    known: Vocabulary,
    *,
    linked: Collection[UUID] = (),
    now: datetime,
) -> Counter[str]:
    """Apply the ontology to written pages, their typed edges and those of `linked` pages. Return counters of changes.

    The caller holds the scope's row.
    """
    present = await governed.typings(connection, scope, sorted(pages))
    made = {
        page_id: typing_of(page, known, _typing(present[page_id]))
        for page_id, page in pages.items()
        if page_id in present
    }
    changed = {page_id: one for page_id, one in made.items() if one != _typing(present[page_id])}
    counters = Counter[str]()
    if changed:
        await governed.write_typings(connection, scope, [_row(*one) for one in sorted(changed.items())], now=now)
        counters.update(f"pages_held_{one.reason}" for one in changed.values() if one.reason)
        counters["pages_typed"] = sum(bool(one.slug) for one in changed.values())
        counters["pages_untyped"] = sum(one == PageTyping() for one in changed.values())
    shown = [row for page_id, typing in made.items() for row in _shown(page_id, pages[page_id], typing, known)]
    counters["sections_shaped"] = await governed.show_sections(connection, scope, shown) if shown else 0
    counters.update(await _gate(connection, scope, sorted({*linked, *pages}), known, now))
    return +counters


async def preview(connection: Connection, scope: Scope, known: Vocabulary, *, limit: int) -> GovernedPages | None:
    """Return the changes that applying an ontology to the owner's first `limit` pages would make; None without pages.

    Nothing is written. The counters are the numbers of `pages`, `sections` and `edges` that would change, and among these
    `pages_typed`, `pages_held` and `edges_held`.
    """
    after: tuple[str, str] = ("", "")
    typed: dict[UUID, PageTyping] = {}
    counters = Counter[str]()
    while len(typed) < limit:
        some = min(_AT_ONCE, limit - len(typed))
        found = await governed.pages_after(connection, scope, after, limit=some)
        if not found:
            break
        standing = await load(connection, scope, [page_id for page_id, _ in found])
        pages = {standing.ids[key]: page for key, page in standing.pages.items()}
        typings, counts = await _previewed(connection, scope, pages, known)
        typed |= typings
        counters.update(counts)
        after = found[-1][1]
    if not typed:
        return None
    edges = [_retyped(one, typed) for one in await governed.edges_at(connection, scope, typed)]
    changed = [(edge, why) for edge, why in _judged(edges, edges, known).items() if why != edge.held_reason]
    counters.update(edges=len(changed), edges_held=sum(bool(why) for _, why in changed))
    return GovernedPages(len(typed), after, counters)


async def _previewed(
    connection: Connection, scope: Scope, pages: Mapping[UUID, Page], known: Vocabulary
) -> tuple[dict[UUID, PageTyping], Counter[str]]:
    present = await governed.typings(connection, scope, sorted(pages))
    made = {page_id: typing_of(page, known, _typing(present[page_id])) for page_id, page in pages.items()}
    changed = [one for page_id, one in made.items() if one != _typing(present[page_id])]
    rows = [row for page_id, typing in made.items() for row in _shown(page_id, pages[page_id], typing, known)]
    shown = {row.section_id: row for row in await governed.shown(connection, scope, [row.section_id for row in rows])}
    counts = Counter(
        pages=len(changed),
        pages_typed=sum(bool(one.slug) for one in changed),
        pages_held=sum(bool(one.reason) for one in changed),
        sections=sum(shown.get(row.section_id) != row for row in rows),
    )
    return made, counts


def _retyped(edge: GovernedEdge, typed: Mapping[UUID, PageTyping]) -> GovernedEdge:
    source, target = typed.get(edge.source_id), typed.get(edge.target_id)
    return replace(
        edge,
        source_type=edge.source_type if source is None else source.slug,
        target_type=edge.target_type if target is None else target.slug,
    )


async def _gate(
    connection: Connection, scope: Scope, page_ids: list[UUID], known: Vocabulary, now: datetime
) -> Counter[str]:
    """Hold the pages' edges that the ontology does not allow, and release the others."""
    verdicts = await _verdicts(connection, scope, page_ids, known) if page_ids else {}
    changed = {edge.link_id: reason for edge, reason in verdicts.items() if reason != edge.held_reason}
    if changed:
        await governed.hold_edges(connection, scope, {one: reason.value for one, reason in changed.items()}, now=now)
    counters = Counter(f"edges_held_{reason.value}" for reason in changed.values() if reason)
    counters["edges_approved"] = sum(not reason for reason in changed.values())
    return counters


async def _verdicts(
    connection: Connection, scope: Scope, page_ids: list[UUID], known: Vocabulary
) -> dict[GovernedEdge, HeldReason]:
    """Return why each edge of the pages is held (NONE if allowed), and each that competes with one of them for an end."""
    found = await governed.edges_at(connection, scope, page_ids)
    limited = limited_types(known)
    near = [one for one in found if one.edge_type in limited]
    # First the edges that share an end with these, then those that compete for the other ends of the former.
    rivals = await governed.edges_at(connection, scope, _ends(near), limited) if near else []
    every = await governed.edges_at(connection, scope, _ends(rivals), limited) if rivals else []
    return _judged((*found, *rivals), every, known)


def _judged(
    edges: Iterable[GovernedEdge], every: Iterable[GovernedEdge], known: Vocabulary
) -> dict[GovernedEdge, HeldReason]:
    """Return why each of the edges is held; `every` are all edges that compete with them for their ends."""
    claims = [_claim(one) for one in every if one.is_active and not _reason(one, known)]
    over = over_cardinality(claims, known)
    distinct = {one.link_id: one for one in edges}
    return {
        one: HeldReason.CARDINALITY if link_id in over else _reason(one, known) for link_id, one in distinct.items()
    }


def _ends(edges: Iterable[GovernedEdge]) -> set[UUID]:
    return {end for one in edges for end in (one.source_id, one.target_id)}


def _claim(edge: GovernedEdge) -> EdgeClaim:
    when = (edge.valid_from, edge.valid_until, edge.said_at, edge.is_manual)
    return EdgeClaim(edge.link_id, edge.edge_type, edge.source_path, edge.target_path, *when)


def _reason(edge: GovernedEdge, known: Vocabulary) -> HeldReason:
    return held_reason(edge.edge_type, PageTyping(edge.source_type), PageTyping(edge.target_type), known)


def _shown(page_id: UUID, page: Page, typing: PageTyping, known: Vocabulary) -> Iterable[ShownRow]:
    return (ShownRow(section_uuid(page_id, one.slug), one.position, one.heading) for one in shape(page, typing, known))


def _typing(row: TypingRow) -> PageTyping:
    return PageTyping(row.entity_type, row.held_type, HeldReason(row.held_reason))


def _row(page_id: UUID, typing: PageTyping) -> TypingRow:
    return TypingRow(page_id, typing.slug, typing.held, typing.reason.value)
