"""Wikis of any size whose pages an ontology types and whose edges it partly holds, written without a compile."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from uuid import UUID

from compiler.job import reprocess
from compiler.plan.contract import CreatePage, Item, LinkKind, LinkOrigin, Page, WriteLink
from compiler.plan.edge_types import TypedEdge
from compiler.state import apply
from store.db.postgres import Pool, scoped
from store.ontology import reprocess_jobs
from store.ontology.reprocess_jobs import ReprocessWish
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import NOW, fetch
from tests.support.compiler.plan_cases import page, section

OWNERS = 3
AT_ONCE = 500
KINDS = ("Restaurant", "Cafe", "Lighthouse")


def owners(tenant_id: UUID) -> list[Scope]:
    """Return the owners of a tenant."""
    return [Scope(tenant_id, UUID(int=at)) for at in range(1, OWNERS + 1)]


async def fill(pool: Pool, dsn: str, tenant_id: UUID, pages: int, *, now: datetime = NOW) -> None:
    """Write so many pages with their edges, shared out among the owners; the tables are analysed as they grow."""
    parts = 0
    for number, scope in enumerate(owners(tenant_id)):
        async with scoped(pool, scope) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
        made = iter(range(number, pages, OWNERS))
        while some := list(islice(made, AT_ONCE)):
            items = [*map(_created, some), *(link for at in some for link in _links(at))]
            async with scoped(pool, scope) as connection:
                await apply.apply_items(connection, scope, items, now=now)
            parts += 1
            if parts.bit_count() == 1:
                await fetch(dsn, "ANALYZE")


async def queue(pool: Pool, tenant_id: UUID, version: int, *, now: datetime = NOW) -> None:
    """Queue the job of a version, as its approval does."""
    async with scoped(pool, reprocess.tenant_scope(tenant_id)) as connection:
        await reprocess_jobs.queue_reprocess(connection, tenant_id, ReprocessWish(version - 1, version), now=now)
        await reprocess.wake(connection, tenant_id, now=now)


def _created(at: int) -> Item:
    return CreatePage(_page(at))


def _page(at: int) -> Page:
    parts = [section(f"- Line {at}.", f"m{at}"), section("- More.", f"m{at}", name="notes")]
    if at // OWNERS % 3 == 0:
        return page(f"Person {at}", *parts, section("- Likes rain.", f"m{at}", name="preferences"))
    if at // OWNERS % 3 == 1:
        return page(f"Place {at}", *parts, summary=f"{KINDS[at % 7 % 3]} in Graz.", tags=["city:graz"])
    return page(f"Thing {at}", *parts, summary=f"Thing {at} is a company.")


def _links(at: int) -> Iterator[Item]:
    """Yield the typed edges of a page, to the pages of the owner before it; some fit no ontology."""
    for step, edge in ((OWNERS, "works_at"), (2 * OWNERS, "located_in")):
        if at >= step and at % 5 != 4:
            source, target = _page(at).key, _page(at - step).key
            yield WriteLink(
                source, target, LinkKind.REFERENCE, LinkOrigin.PLANNER, f"edge:{edge}", f"m{at}", TypedEdge(edge)
            )
