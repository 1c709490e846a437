"""An operator's acts on the wiki: each locks the scope's row, applies the plan's items, and is logged for replay.

Every function takes a connection inside a scoped transaction and is idempotent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from compiler.plan import codec, upkeep
from compiler.plan.contract import IgnoreMention, Item, Page, PageKey, PageType
from compiler.state import apply, surroundings
from store.compile import batches, scopes
from store.compile.batches import Batch, BatchKind
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse
from store.wiki import upkeep as rows
from store.wiki.browse import PageRow


async def add_alias(
    connection: Connection, scope: Scope, row: PageRow, name: str, *, origin: str = "manual", now: datetime
) -> None:
    """Give a page a name. Raises ActRefused."""
    await scopes.lock(connection, scope, now=now)
    pages = await surroundings.pages(connection, scope, [row.page_id])
    await enact(connection, scope, upkeep.name(_standing(pages, row), name, origin=origin), now=now)


async def archive_page(connection: Connection, scope: Scope, row: PageRow, *, now: datetime) -> None:
    """Archive a page: remove it from reads and search, and remove everything that leads to it."""
    await scopes.lock(connection, scope, now=now)
    around = await _around(connection, scope, row)
    await enact(connection, scope, upkeep.archive(_standing(around, row), around), now=now)


async def delete_page(connection: Connection, scope: Scope, row: PageRow, *, now: datetime) -> None:
    """Delete a page with its contents and everything that leads to it; a page already deleted is no error."""
    await scopes.lock(connection, scope, now=now)
    around = await _around(connection, scope, row)
    if (page := around.get(_key(row))) is not None:
        await enact(connection, scope, upkeep.delete(page, around), now=now)


async def ignore_mention(connection: Connection, scope: Scope, mention_id: UUID, *, now: datetime) -> bool:
    """Ignore a held name, and return whether this id exists. Raises ActRefused for a name that has its page."""
    await scopes.lock(connection, scope, now=now)
    known = await rows.mention(connection, scope, mention_id)
    if known is None:
        return False
    if known[1] == "promoted":
        raise upkeep.ActRefused("mention_id", "has its page already; archive or delete that page instead")
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


async def enact(connection: Connection, scope: Scope, items: Sequence[Item], *, now: datetime) -> Mapping[str, int]:
    """Apply items under the scope's row and log them as an operator's batch; return the changed rows by counter."""
    before = await scopes.lock(connection, scope, now=now)
    seen = await _seen(connection, scope, items)
    applied = await apply.apply_items(connection, scope, items, now=now)
    if any(applied.counters.values()):
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
        )
        await batches.log_applied(connection, scope, batch, now=now)
    return applied.counters


async def _seen(connection: Connection, scope: Scope, items: Sequence[Item]) -> set[str]:
    """Return the memories whose words may stand in the items, including in names of pages."""
    named, cited = upkeep.named(items), upkeep.cited(items)
    behind = await rows.memories_behind(connection, scope, [(key.type.value, key.slug) for key in named])
    held = [item.key for item in items if isinstance(item, IgnoreMention)]
    return {*cited, *behind, *await rows.memories_seen(connection, scope, held)}


async def _around(connection: Connection, scope: Scope, row: PageRow) -> dict[PageKey, Page]:
    return await surroundings.around(connection, scope, [row.page_id], [row.path])


async def _around_key(connection: Connection, scope: Scope, key: PageKey) -> dict[PageKey, Page]:
    row = await browse.page_by_key(connection, scope, key.type.value, key.slug)
    return {} if row is None else await _around(connection, scope, row)


def _standing(pages: Mapping[PageKey, Page], row: PageRow) -> Page:
    """Return the page's present state under the scope's lock. Raises ActRefused if it was deleted while waiting for the lock."""
    page = pages.get(_key(row))
    if page is None:
        raise upkeep.ActRefused("page", "was deleted by another call; look again")
    return page


def _key(row: PageRow) -> PageKey:
    return PageKey(PageType(row.type), row.slug)
