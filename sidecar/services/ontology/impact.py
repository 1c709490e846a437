"""The impact of approving a change set: types the tenant's pages under the next version, without writing."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from compiler.plan.vocabulary import vocabulary
from compiler.state import governing
from store.db.postgres import Pool, scoped, tenant_scoped
from store.ontology import versions
from store.ontology.terms import Ontology
from store.scope import Scope

MOST_PAGES = 3_000
"""The maximum number of pages examined, over all owners in the order of their ids."""
_OWNERS_AT_ONCE = 50


async def dry_run(pool: Pool, tenant_id: UUID, ontology: Ontology) -> dict[str, int]:
    """Return the numbers of pages, sections and edges that would change under an ontology, and `pages_looked_at`.

    `is_partial` is 1 if the tenant has more pages than were examined.
    """
    known, total, left = vocabulary(ontology), Counter[str](), MOST_PAGES
    after: UUID | None = None
    while left > 0:
        async with tenant_scoped(pool, tenant_id, read_only=True) as connection:
            owner_ids = await versions.owners_with_wikis(connection, tenant_id, limit=_OWNERS_AT_ONCE, after=after)
        if not owner_ids:
            break
        after = owner_ids[-1]
        for owner_id in owner_ids:
            scope = Scope(tenant_id, owner_id)
            async with scoped(pool, scope, read_only=True) as connection:
                found = await governing.preview(connection, scope, known, limit=left) if left else None
            if found is not None:
                left -= found.pages
                total.update(found.counters)
    looked_at = MOST_PAGES - left
    named = ("pages", "pages_typed", "pages_held", "sections", "edges", "edges_held")
    return {**{name: total[name] for name in named}, "pages_looked_at": looked_at, "is_partial": int(left == 0)}
