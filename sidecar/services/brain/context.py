"""The use case of an agent that looks something up: a shortlist of pages for a query, then the details of some by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.brain.statements import PageStatement, described, listed_pages, relations, statements
from sidecar.services.validation import check_count, read_text
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse, edges, page_search
from store.wiki.browse import PageRef, PageRow
from store.wiki.edges import GraphPath

MAX_HITS = 10
MAX_DETAILS = 10
MAX_QUERY_CHARS = 2_000
MAX_PAGES = 100


class BrainScope(StrEnum):
    """Where a page stands; the first part of its id in a shortlist."""

    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class BrainId:
    """A page's id in a shortlist, written as scope:UUID."""

    scope: BrainScope
    page_id: UUID

    def __str__(self) -> str:
        return f"{self.scope.value}:{self.page_id}"

    @classmethod
    def parse(cls, text: str) -> BrainId | None:
        """Return the id; None for a text that is none."""
        scope, _, page_id = text.partition(":")
        try:
            return cls(BrainScope(scope), UUID(page_id))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class BrainHit:
    """A page in a shortlist with its first statement, which may be missing, and how well it matches, 0 to 1."""

    id: BrainId
    page: PageRow
    description: PageStatement | None
    score: float


@dataclass(frozen=True, slots=True)
class BrainDetail:
    """The details that an id asks for. Without a page, it is not there; without `id`, the text is none of a shortlist."""

    asked: str
    id: BrainId | None = None
    page: PageRow | None = None
    statements: tuple[PageStatement, ...] = ()
    relations: tuple[GraphPath, ...] = ()
    pages: tuple[PageRef, ...] = ()


@dataclass(frozen=True, slots=True)
class BrainQuery:
    """What is asked for: a shortlist of up to `limit` pages if there is a `text`, and details of `detail_ids`."""

    text: str = ""
    detail_ids: tuple[str, ...] = ()
    limit: int = MAX_HITS


@dataclass(frozen=True, slots=True)
class BrainAnswer:
    """The shortlist, best first, and the details in the order of the ids."""

    hits: tuple[BrainHit, ...] = ()
    details: tuple[BrainDetail, ...] = ()


class BrainContext:
    """Looks up pages of an owner's wiki. Every statement returned names the memories that say it."""

    def __init__(self, pools: Pools) -> None:
        self._pool = pools.background

    async def query(self, scope: Scope, asked: BrainQuery) -> BrainAnswer:
        """Return what is asked for. Raises InvalidArgument for `query`, `detail_ids` or `limit`."""
        _check(asked)
        async with scoped(self._pool, scope, read_only=True) as connection:
            return BrainAnswer(
                await _shortlist(connection, scope, asked),
                tuple([await _detail(connection, scope, one) for one in asked.detail_ids]),
            )


def _check(asked: BrainQuery) -> None:
    if not asked.text.strip() and not asked.detail_ids:
        raise InvalidArgument("query", "is empty", "send a query, or detail_ids of an earlier shortlist")
    read_text("query", asked.text, max_chars=MAX_QUERY_CHARS)
    check_count("detail_ids", asked.detail_ids, most=MAX_DETAILS)
    if not 0 <= asked.limit <= MAX_HITS:
        raise InvalidArgument("limit", f"is {asked.limit}", f"send 1 to {MAX_HITS}, or 0 for {MAX_HITS}")


async def _shortlist(connection: Connection, scope: Scope, asked: BrainQuery) -> tuple[BrainHit, ...]:
    if not asked.text.strip():
        return ()
    found = (await page_search.search(connection, scope, asked.text))[: asked.limit or MAX_HITS]
    hits = []
    for one in found:
        whole = await browse.whole(connection, scope, one.page, with_texts=True)
        hits.append(BrainHit(BrainId(BrainScope.OWNER, one.page.page_id), one.page, described(whole), one.score))
    return tuple(hits)


async def _detail(connection: Connection, scope: Scope, asked: str) -> BrainDetail:
    wanted = BrainId.parse(asked)
    row = await browse.page(connection, scope, wanted.page_id) if wanted else None
    if wanted is None or row is None or row.status != "active":
        return BrainDetail(asked, wanted)
    whole = await browse.whole(connection, scope, row, with_texts=True)
    around: Sequence[GraphPath] = await edges.edges_of(connection, scope, row.page_id)
    return BrainDetail(asked, wanted, row, statements(whole), relations(around), tuple(listed_pages(whole)[:MAX_PAGES]))
