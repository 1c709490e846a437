"""Reads the people whose pages may list other pages: the people named in the summaries of changed pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import CitedMemory, Page, PageType
from compiler.plan.judging import parents
from compiler.state.row_mapping import load, outline
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates

_TRAITS = ("preferences", "relations", "visits")


async def candidates_of(
    connection: Connection, scope: Scope, changed: Iterable[Page], listing: Iterable[UUID] = ()
) -> tuple[ParentCandidate, ...]:
    """Return a candidate for each person named in the summaries of changed pages, with the pages whose summaries cite a memory
    of the person.

    `listing` are further pages of people, whose lists may have to be made again.
    """
    names = parents.names_in_summaries(changed)
    bearing = await candidates.bearing(connection, scope, names)
    page_ids = sorted({*listing, *(one.page_id for _, one in bearing if one.type == PageType.ENTITY)})
    rows = await candidates.opened_by(connection, scope, page_ids, _TRAITS, least=parents.MIN_PAGES)
    if not rows:
        return ()
    people = await load(connection, scope, {row["person_id"] for row in rows})
    outlines = await candidates.outlines(connection, scope, sorted({row["found_id"] for row in rows}))
    shown = {row["page_id"]: outline(row) for row in outlines}
    cited: dict[UUID, set[CitedMemory]] = {}
    for row in rows:
        cited.setdefault(row["found_id"], set()).add(CitedMemory(row["source_ref"], b""))
    whole = {id_: replace(page, summary_sources=tuple(sorted(cited[id_]))) for id_, page in shown.items()}
    opened = {
        key: [whole[one] for one in dict.fromkeys(row["found_id"] for row in rows if row["person_id"] == page_id)]
        for key, page_id in people.ids.items()
        if key in people.pages
    }
    return parents.from_people(opened, people.pages.values())
