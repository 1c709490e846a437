"""Reads pages with the pages that lead to them and that they list, for deletions and merges.

Reads only; `compiler/plan` decides the changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from compiler.plan.contract import LinkOrigin, Page, PageKey, PageType, WriteLink
from compiler.state.row_mapping import link_cause, load
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates, upkeep


async def around(
    connection: Connection, scope: Scope, page_ids: Sequence[UUID], paths: Sequence[str]
) -> dict[PageKey, Page]:
    """Return the pages; those that list them, promoted them, were promoted from them or link to the paths in their
    texts; and every page that the sections of these list.
    """
    leading = await upkeep.pages_leading_to(connection, scope, page_ids, paths)
    found = await pages(connection, scope, [*page_ids, *leading])
    return {**await _named(connection, scope, _listed(found.values()) - found.keys()), **found}


async def pages(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> dict[PageKey, Page]:
    """Return the pages with these ids."""
    return dict((await load(connection, scope, page_ids)).pages)


def _listed(found: Iterable[Page]) -> set[PageKey]:
    sections = [section for page in found for section in page.sections]
    known = [section.aggregation for section in sections if section.aggregation is not None]
    listed = {key for section in sections for key in section.children}
    return listed | {key for one in known for key in one.linked_pages}


async def _named(connection: Connection, scope: Scope, keys: Iterable[PageKey]) -> Mapping[PageKey, Page]:
    named = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in sorted(keys)])
    return await pages(connection, scope, [one.page_id for one in named])


async def edges_by_hand(connection: Connection, scope: Scope, page_ids: Iterable[UUID]) -> tuple[WriteLink, ...]:
    """Return the typed edges by hand from or to the pages, each once."""
    rows = [row for page_id in page_ids for row in await candidates.links_of_page(connection, scope, page_id)]
    stated = (one for one in map(link_cause, rows) if one.origin is LinkOrigin.MANUAL and one.edge is not None)
    return tuple(dict.fromkeys(stated))


async def inbound(connection: Connection, scope: Scope, ids: Mapping[PageKey, UUID]) -> dict[PageKey, int]:
    """Return how many untyped references lead to each of the pages."""
    keys = {page_id: key for key, page_id in ids.items()}
    counts = await candidates.inbound(connection, scope, sorted(keys))
    return {keys[page_id]: links_ for page_id, links_ in counts}


async def hierarchy(connection: Connection, scope: Scope) -> dict[PageKey, PageKey]:
    """Return the parent of every page of the scope that has one."""
    rows = await candidates.hierarchy(connection, scope)
    return {
        PageKey(PageType(row["child_type"]), row["child_slug"]): PageKey(
            PageType(row["parent_type"]), row["parent_slug"]
        )
        for row in rows
    }
