"""An operator's acts on the wiki: each locks the scope's row, applies the plan's items, and is logged for replay.

Every function takes a connection inside a scoped transaction and is idempotent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from compiler.passes import edge_restoration
from compiler.plan import merging, reporting, upkeep
from compiler.plan.contract import CitedMemory, IgnoreMention, Page, PageKey, PageType, Ruling, WriteRuling
from compiler.plan.edge_types import EDGE_TYPES, TypedEdge, is_edge_type
from compiler.plan.names.ruled import rulings as rules_of
from compiler.plan.text.markdown import alias_keys
from compiler.state import surroundings, views
from compiler.state.operator_acts import enact, in_force, log_act
from compiler.state.row_mapping import key_of, link_cause, ruling
from store.compile import ledger, scopes
from store.content import memories
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse, candidates, kept_edges, rulings
from store.wiki import upkeep as rows
from store.wiki.browse import PageRow


async def add_alias(connection: Connection, scope: Scope, row: PageRow, name: str, *, now: datetime) -> None:
    """Give a page a name, which later compiles keep. Raises ActRefused."""
    await scopes.lock(connection, scope, now=now)
    page = _standing(await surroundings.pages(connection, scope, [row.page_id]), row)
    bearers = {key_of(one) for _, one in await candidates.bearing(connection, scope, alias_keys(name))}
    await enact(connection, scope, upkeep.name(page, name, is_shared=bool(bearers - {page.key})), now=now)


async def rename_page(connection: Connection, scope: Scope, row: PageRow, title: str, *, now: datetime) -> None:
    """Give a page another title, which later compiles keep. Raises ActRefused."""
    await scopes.lock(connection, scope, now=now)
    page = _standing(await surroundings.pages(connection, scope, [row.page_id]), row)
    bearers = [key_of(one) for _, one in await candidates.bearing(connection, scope, alias_keys(title))]
    standing = [ruling(one) for one in await rulings.listed(connection, scope)]
    await enact(connection, scope, merging.rename(page, title, bearers, standing), now=now)


async def merge_pages(connection: Connection, scope: Scope, row: PageRow, into: PageRow, *, now: datetime) -> None:
    """Merge a page into another, which later compiles keep. The caller holds the scope's row. Raises ActRefused."""
    around = await surroundings.around(connection, scope, [row.page_id, into.page_id], [row.path, into.path])
    links = [link_cause(one) for one in await candidates.links_of_page(connection, scope, row.page_id)]
    gone, kept = _standing(around, row), _standing(around, into)
    names = [alias.key for page in (gone, kept) for alias in page.aliases]
    bearers = await candidates.bearing(connection, scope, names)
    taken = {name for name, one in bearers if key_of(one) not in {gone.key, kept.key}}
    standing = [ruling(one) for one in await rulings.listed(connection, scope)]
    items = merging.merge(gone, kept, around, links, taken=taken, standing=standing)
    unsaid = rules_of(standing).unsaid_on([kept.key])
    reported = [memory_id for ruled in unsaid.values() for one in ruled for memory_id in one.memory_ids]
    texts = {one.memory_id: one.text for one in await memories.by_ids(connection, scope, reported)}
    await enact(connection, scope, reporting.silenced(items, unsaid, texts), now=now)


async def undo_merge(
    connection: Connection, scope: Scope, merged: Ruling, standing: Sequence[Ruling], *, now: datetime
) -> int:
    """Undo a merge: both pages are as they would be without it, once the next job has read their memories again.

    The caller holds the scope's row, passes all `standing` rulings, and queues the job. Return the number of memories to reread.
    """
    assert merged.into is not None, "a MERGED ruling names the other page"
    row = await browse.page_by_key(connection, scope, merged.into.type.value, merged.into.slug)
    if row is None:
        raise upkeep.ActRefused("page", "was deleted by another call; read the wiki again")
    gone = await _around_key(connection, scope, merged.page)
    around = await _around(connection, scope, row)
    links = [link_cause(one) for one in await candidates.links_of_page(connection, scope, row.page_id)]
    undone = merging.unmerge(gone.get(merged.page), merged, _standing(around, row), links, standing)
    await enact(connection, scope, undone.items, now=now)
    return await ledger.queue_reread(connection, scope, undone.again, now=now)


async def report_sentence(
    connection: Connection, scope: Scope, row: PageRow, sentence: str, texts: Mapping[str, str], *, now: datetime
) -> Ruling:
    """Remove a sentence from a page and keep later compiles from writing it there; return the ruling, also of an earlier report.

    `texts` are those of the memories that the page cites, by id. Raises ActRefused for a sentence that the page does not have.
    """
    await scopes.lock(connection, scope, now=now)
    page = _standing(await surroundings.pages(connection, scope, [row.page_id]), row)
    known = [ruling(one) for one in await rulings.listed(connection, scope)]
    earlier_report = next(
        (one for one in known if one.page == page.key and one.ref == reporting.ref_of(sentence)), None
    )
    if earlier_report is not None:
        return earlier_report
    reported = reporting.find(page, sentence)
    section = next((one for one in page.sections if one.slug == reported.section), None)
    sources = section.sources if section is not None else page.summary_sources
    memory_id = reporting.source_of(reported.text, sources, texts) or (
        sources[0].memory_id if len(sources) == 1 else ""
    )
    items = reporting.report(page, reported, memory_id, texts)
    await enact(connection, scope, items, now=now)
    return next(item.ruling for item in items if isinstance(item, WriteRuling))


async def restore_sentence(connection: Connection, scope: Scope, reported: Ruling, *, now: datetime) -> None:
    """Put a reported sentence back on its page, and on the one that it was merged into, with its citation if the memory still
    exists.
    """
    await scopes.lock(connection, scope, now=now)
    end = (await views.operator_rulings(connection, scope)).end(reported.page)
    page = await _page(connection, scope, reported.page)
    into = await _page(connection, scope, end) if end != reported.page else None
    known = await ledger.read(connection, scope, reported.memory_ids)
    source = next((CitedMemory(one, known[one].text_hash) for one in reported.memory_ids if one in known), None)
    await enact(connection, scope, reporting.restore(page, into, reported, source), now=now)


async def log_rulings(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Log the present rulings as the first act of a cleared log, so that a replay has them too."""
    standing = [ruling(row) for row in await rulings.listed(connection, scope)]
    if standing:
        items = [WriteRuling(one) for one in standing]
        before = await scopes.lock(connection, scope, now=now)
        await log_act(connection, scope, before, items, upkeep.cited(items), now=now)


async def write_edge(
    connection: Connection, scope: Scope, ends: tuple[PageRow, PageRow], stated: TypedEdge, *, now: datetime
) -> None:
    """State a typed edge between two pages, or update it. Raises ActRefused."""
    source, target = map(_key, ends)
    known = await in_force(connection, scope)
    types = known.edge_types() if known else EDGE_TYPES
    items = upkeep.edge(source, target, replace(stated, said_at=now), types)
    await enact(connection, scope, items, now=now)
    await edge_restoration.release(connection, scope, items)


async def drop_edge(
    connection: Connection, scope: Scope, ends: tuple[PageRow, PageRow], stated: TypedEdge, *, now: datetime
) -> bool:
    """Remove a typed edge that was stated by hand, and return whether it existed. Raises ActRefused."""
    source, target = map(_key, ends)
    known = await in_force(connection, scope)
    types = (*known.edge_types(), stated.type) if known and is_edge_type(stated.type) else EDGE_TYPES
    items = upkeep.drop_edge(source, target, stated, types)
    counters = await enact(connection, scope, items, now=now)
    kept = await edge_restoration.release(connection, scope, [item.link for item in items])
    return bool(kept) or any(counters.values())


async def drop_waiting_edge(
    connection: Connection, scope: Scope, named: tuple[str, str], stated: TypedEdge, *, now: datetime
) -> bool:
    """Remove a kept typed edge that waits for a page, and return whether there was one.

    `named` are its pages, each by its earlier path, slug or title.
    """
    await scopes.lock(connection, scope, now=now)
    waiting = await edge_restoration.waiting(connection, scope)
    return bool(
        await edge_restoration.release(connection, scope, [one.link for one in waiting if one.is_meant(named, stated)])
    )


async def archive_page(connection: Connection, scope: Scope, row: PageRow, *, now: datetime) -> None:
    """Archive a page: remove it from reads and search, and remove the links in texts and the list entries that lead to it.

    The graph keeps its links and edges. Reads leave them out until a compile restores the page.
    """
    await scopes.lock(connection, scope, now=now)
    around = await _around(connection, scope, row)
    await enact(connection, scope, upkeep.archive(_standing(around, row), around), now=now)


async def delete_page(connection: Connection, scope: Scope, row: PageRow, *, now: datetime) -> None:
    """Delete a page with its contents and the links and list entries that lead to it; a page already deleted is no error."""
    await scopes.lock(connection, scope, now=now)
    around = await _around(connection, scope, row)
    if (page := around.get(_key(row))) is not None:
        await enact(connection, scope, upkeep.delete(page, around), now=now)
        await kept_edges.drop_on_pages(connection, scope, [(row.type, row.slug)])


async def ignore_mention(connection: Connection, scope: Scope, mention_id: UUID, *, now: datetime) -> bool:
    """Ignore a held name, and return whether this id exists. Raises ActRefused for a name that has a page."""
    await scopes.lock(connection, scope, now=now)
    known = await rows.mention(connection, scope, mention_id)
    if known is None:
        return False
    if known[1] == "promoted":
        raise upkeep.ActRefused("mention_id", "already has a page; archive or delete that page instead")
    if known[1] == "open":
        await enact(connection, scope, [IgnoreMention(known[0])], now=now)
    return True


async def suppress_promotion(connection: Connection, scope: Scope, row: PageRow, slug: str, *, now: datetime) -> None:
    """Prevent a section from ever being promoted to a page. Raises ActRefused."""
    await scopes.lock(connection, scope, now=now)
    pages = await surroundings.pages(connection, scope, [row.page_id])
    await enact(connection, scope, upkeep.suppress(_standing(pages, row), slug), now=now)


async def undo_promotion(connection: Connection, scope: Scope, row: PageRow, slug: str, *, now: datetime) -> None:
    """Undo a promotion. Raises ActRefused."""
    await scopes.lock(connection, scope, now=now)
    around = await _around(connection, scope, row)
    page = _standing(around, row)
    promoted = next(
        (one.aggregation.promoted_page for one in page.sections if one.slug == slug and one.aggregation is not None),
        None,
    )
    if promoted is not None:
        around = {**around, **await _around_key(connection, scope, promoted)}
    await enact(connection, scope, upkeep.undo(page, slug, around), now=now)


async def _page(connection: Connection, scope: Scope, key: PageKey) -> Page | None:
    row = await browse.page_by_key(connection, scope, key.type.value, key.slug)
    return None if row is None else (await surroundings.pages(connection, scope, [row.page_id])).get(key)


async def _around(connection: Connection, scope: Scope, row: PageRow) -> dict[PageKey, Page]:
    return await surroundings.around(connection, scope, [row.page_id], [row.path])


async def _around_key(connection: Connection, scope: Scope, key: PageKey) -> dict[PageKey, Page]:
    row = await browse.page_by_key(connection, scope, key.type.value, key.slug)
    return {} if row is None else await _around(connection, scope, row)


def _standing(pages: Mapping[PageKey, Page], row: PageRow) -> Page:
    """Return the page's present state under the scope's lock. Raises ActRefused if it was deleted while waiting for the lock."""
    page = pages.get(_key(row))
    if page is None:
        raise upkeep.ActRefused("page", "was deleted by another call; read the wiki again")
    return page


def _key(row: PageRow) -> PageKey:
    return PageKey(PageType(row.type), row.slug)
