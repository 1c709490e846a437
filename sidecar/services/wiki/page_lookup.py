"""Finds a page by a caller's reference: an id, a path, a slug, a name, or the former name of a merged page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from compiler.operations import ruling_views
from compiler.plan.contract import PageKey, PageType, Ruling, RulingKind
from compiler.plan.names import ruled
from compiler.plan.upkeep import ActRefused
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.validation import read_text
from store.db.postgres import Pool, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold
from store.wiki import browse
from store.wiki.browse import TYPES, PageRow

MAX_PAGE_CHARS = 300

_PATH = re.compile(rf"(?:/?wiki/|/)?({'|'.join(TYPES)})/(.+)")


@asynccontextmanager
async def acting(pool: Pool, scope: Scope) -> AsyncIterator[Connection]:
    """Yield a transaction for an operation. Raises FailedPrecondition if the plan refuses the operation."""
    try:
        async with scoped(pool, scope) as connection:
            yield connection
    except ActRefused as error:
        raise FailedPrecondition(error.subject, error.problem) from error


def read_page(field: str, value: str) -> str:
    """Return the name of a page, 1 to 300 characters. Raises InvalidArgument."""
    return read_text(field, value, min_chars=1, max_chars=MAX_PAGE_CHARS).strip()


async def find(connection: Connection, scope: Scope, named: str, *, field: str = "page") -> PageRow:
    """Return the page of that name, or the page it was merged into. Raises NotFound, and InvalidArgument for `field`."""
    found = await _by_id_or_path(connection, scope, named)
    if found is not None and found.status == "active":
        return found
    candidates = [] if found else await browse.pages_named(connection, scope, named)
    if not any(page.status == "active" for page in candidates):
        merged = await merge_of(connection, scope, named)
        target = await _target(connection, scope, merged.page) if merged else None
        if target is not None:
            return target
    if found is not None:
        return found
    if not candidates:
        raise NotFound("page", field=field if field != "page" else "")
    if len(candidates) > 1:
        paths = ", ".join(page.path for page in candidates[:5])
        raise InvalidArgument(field, f"could mean {len(candidates)} pages", f"send one of their paths: {paths}")
    return candidates[0]


async def _by_id_or_path(connection: Connection, scope: Scope, named: str) -> PageRow | None:
    try:
        return await browse.page(connection, scope, UUID(named))
    except ValueError:
        pass
    path = _PATH.fullmatch(named)
    return await browse.page_by_key(connection, scope, path[1], path[2]) if path else None


async def by_key(connection: Connection, scope: Scope, page_type: str, slug: str) -> PageRow:
    """Return the page of that type and slug, or the page it was merged into. Raises NotFound."""
    row = await browse.page_by_key(connection, scope, page_type, slug)
    if row is None or row.status != "active":
        row = await _target(connection, scope, PageKey(PageType(page_type), slug)) or row
    if row is None:
        raise NotFound("page")
    return row


async def _target(connection: Connection, scope: Scope, key: PageKey) -> PageRow | None:
    """Return the page into which a page was merged; None if it was not merged."""
    end = ruled.rulings(await ruling_views.standing(connection, scope)).end(key)
    return None if end == key else await browse.page_by_key(connection, scope, end.type.value, end.slug)


async def merge_of(connection: Connection, scope: Scope, named: str) -> Ruling | None:
    """Return the merge of the page with this id, path, slug or former name; None if there is not exactly one."""
    every = await ruling_views.standing(connection, scope)
    merged = {one.page: one for one in every if one.kind is RulingKind.MERGED}
    if not merged:
        return None
    row = await _by_id_or_path(connection, scope, named)
    path = _PATH.fullmatch(named)
    if row is not None:
        return merged.get(key_of(row))
    if path is not None:
        return merged.get(PageKey(PageType(path[1]), path[2]))
    found = [one for key, one in merged.items() if key.slug == named]
    lent = {one.page for one in every if one.kind is RulingKind.NAME and one.ref == fold(named)}
    found = found or [one for key, one in merged.items() if key in lent]
    return found[0] if len(found) == 1 else None


def key_of(row: PageRow) -> PageKey:
    """Return the page's key."""
    return PageKey(PageType(row.type), row.slug)
