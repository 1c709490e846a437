"""Which page a request means: its id, its path, its type and slug, or a slug or name that only one page has."""

from __future__ import annotations

import re
from uuid import UUID

from sidecar.runtime.errors import InvalidArgument, NotFound
from sidecar.services.validation import read_text
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse
from store.wiki.browse import TYPES, PageRow

MAX_PAGE_CHARS = 300

_PATH = re.compile(rf"(?:/?wiki/|/)?({'|'.join(TYPES)})/(.+)")


def read_page(field: str, value: str) -> str:
    """Return how the request names a page, 1 to 300 characters. Raises InvalidArgument."""
    return read_text(field, value, min_chars=1, max_chars=MAX_PAGE_CHARS).strip()


async def find_page(connection: Connection, scope: Scope, named: str, *, field: str = "page") -> PageRow:
    """Return the page, archived or not. Raises NotFound, and InvalidArgument where several could be meant."""
    found = await _by_id_or_path(connection, scope, named)
    if found is not None:
        return found
    candidates = await browse.pages_named(connection, scope, named)
    if not candidates:
        raise NotFound("page")
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
