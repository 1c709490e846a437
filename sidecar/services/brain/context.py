"""The use case of lookups by agents: a shortlist of pages for a query, then the details of pages by id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from compiler.releases.rules import TrustTier, tier_of
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.brain.statements import PageStatement, described, ids_of, listed_pages, relations, statements
from sidecar.services.validation import check_count, read_text
from store.content import memories
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.errors import StoreError
from store.scope import Scope, brain_of
from store.tenancy import brain
from store.wiki import browse, edges, page_search
from store.wiki.browse import PageRef, PageRow
from store.wiki.edges import GraphPath

MAX_HITS = 10
MAX_DETAILS = 10
MAX_QUERY_CHARS = 2_000
MAX_PAGES = 100
_PATIENCE_S = 2.0  # wait for the Brain after the owner's wiki has answered


class BrainScope(StrEnum):
    """The wiki that a page is in; the first part of its id in a shortlist."""

    OWNER = "owner"
    BRAIN = "brain"


@dataclass(frozen=True, slots=True)
class BrainId:
    """A page's id in a shortlist, written as scope:UUID."""

    scope: BrainScope
    page_id: UUID

    def __str__(self) -> str:
        return f"{self.scope.value}:{self.page_id}"

    @classmethod
    def parse(cls, text: str) -> BrainId | None:
        """Return the id; None for a text that is not a valid id."""
        scope, _, page_id = text.partition(":")
        try:
            return cls(BrainScope(scope), UUID(page_id))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class BrainHit:
    """A page in a shortlist with its first statement (which may be missing), its score from 0 to 1, and its trust tier."""

    id: BrainId
    page: PageRow
    description: PageStatement | None
    score: float
    trust_tier: int


@dataclass(frozen=True, slots=True)
class BrainDetail:
    """The details of the page that `asked` names. `page` is None if it does not exist, `id` None for an invalid id."""

    asked: str
    id: BrainId | None = None
    page: PageRow | None = None
    statements: tuple[PageStatement, ...] = ()
    relations: tuple[GraphPath, ...] = ()
    pages: tuple[PageRef, ...] = ()
    tiers: Mapping[str, int] = field(default_factory=dict)

    def tier(self, memory_ids: Sequence[str]) -> int:
        """Return the trust tier of a statement with these memories: their lowest tier."""
        return lowest(self.tiers, memory_ids)


@dataclass(frozen=True, slots=True)
class BrainQuery:
    """A lookup: a shortlist of up to `limit` pages for `text` (empty: none), and details of `detail_ids`."""

    text: str = ""
    detail_ids: tuple[str, ...] = ()
    limit: int = MAX_HITS


@dataclass(frozen=True, slots=True)
class BrainAnswer:
    """The shortlist, best first, and the details in the order of the ids; `failed` are the wikis whose search failed."""

    hits: tuple[BrainHit, ...] = ()
    details: tuple[BrainDetail, ...] = ()
    failed: tuple[BrainScope, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    hits: tuple[BrainHit, ...] = ()
    details: tuple[BrainDetail, ...] = ()


def lowest(tiers: Mapping[str, int], memory_ids: Sequence[str]) -> int:
    """Return the lowest tier of the memories. Unknown memories, and an empty sequence, have the tier of external sources."""
    return min((tiers.get(one, int(TrustTier.EXTERNAL)) for one in memory_ids), default=int(TrustTier.EXTERNAL))


class BrainContext:
    """Looks up pages of an owner's wiki and of its tenant's Brain, each in its own transaction.

    Every statement returned names the memories that say it.
    """

    def __init__(self, pools: Pools) -> None:
        self._pool = pools.background

    async def query(self, scope: Scope, query: BrainQuery) -> BrainAnswer:
        """Answer the lookup. If the Brain fails, the owner's own answer is returned alone.

        Raises InvalidArgument for `query`, `detail_ids` or `limit`.
        """
        _check(query)
        shared = asyncio.create_task(self._in_brain(scope.tenant_id, query))
        try:
            async with scoped(self._pool, scope, read_only=True) as connection:
                own = await _find(connection, scope, BrainScope.OWNER, query)
            await asyncio.wait([shared], timeout=_PATIENCE_S)
        finally:
            shared.cancel()
        problem = shared.exception() if shared.done() else TimeoutError()
        if not isinstance(problem, StoreError | TimeoutError | None):
            raise problem
        theirs = _Found() if problem is not None else shared.result()
        known = {one.asked: one for one in (*theirs.details, *own.details)}
        hits = sorted((*own.hits, *theirs.hits), key=lambda one: -one.score)[: query.limit or MAX_HITS]
        return BrainAnswer(
            tuple(hits),
            tuple(known.get(one) or BrainDetail(one, BrainId.parse(one)) for one in query.detail_ids),
            () if problem is None else (BrainScope.BRAIN,),
        )

    async def _in_brain(self, tenant_id: UUID, query: BrainQuery) -> _Found:
        brain_scope = brain_of(tenant_id)
        async with scoped(self._pool, brain_scope, read_only=True) as connection:
            settings = await brain.settings(connection, tenant_id)
            if settings is None or not settings.is_shown:
                return _Found()
            return await _find(connection, brain_scope, BrainScope.BRAIN, query)


def _check(query: BrainQuery) -> None:
    if not query.text.strip() and not query.detail_ids:
        raise InvalidArgument("query", "is empty", "send a query, or detail_ids of an earlier shortlist")
    read_text("query", query.text, max_chars=MAX_QUERY_CHARS)
    check_count("detail_ids", query.detail_ids, most=MAX_DETAILS)
    if not 0 <= query.limit <= MAX_HITS:
        raise InvalidArgument("limit", f"is {query.limit}", f"send 1 to {MAX_HITS}, or 0 for {MAX_HITS}")


async def _find(connection: Connection, scope: Scope, at: BrainScope, query: BrainQuery) -> _Found:
    wanted = [one for one in map(BrainId.parse, dict.fromkeys(query.detail_ids)) if one and one.scope is at]
    details = [await _detail(connection, scope, one) for one in wanted]
    return _Found(
        await _shortlist(connection, scope, at, query) if query.text.strip() else (),
        tuple(one for one in details if one is not None),
    )


async def _shortlist(connection: Connection, scope: Scope, at: BrainScope, query: BrainQuery) -> tuple[BrainHit, ...]:
    matches = (await page_search.search(connection, scope, query.text))[: query.limit or MAX_HITS]
    hits = []
    for one in matches:
        description = described(await browse.whole(connection, scope, one.page, with_texts=True))
        cited = description.memory_ids if description else ()
        tier = lowest(await _tiers(connection, scope, at, cited), cited)
        hits.append(BrainHit(BrainId(at, one.page.page_id), one.page, description, one.score, tier))
    return tuple(hits)


async def _detail(connection: Connection, scope: Scope, wanted: BrainId) -> BrainDetail | None:
    row = await browse.page(connection, scope, wanted.page_id)
    if row is None or row.status != "active":
        return None
    whole = await browse.whole(connection, scope, row, with_texts=True)
    page_statements = statements(whole)
    around = relations(await edges.edges_of(connection, scope, row.page_id))
    cited = {
        *(one for each in page_statements for one in each.memory_ids),
        *(one for each in around for one in ids_of(each)),
    }
    return BrainDetail(
        str(wanted),
        wanted,
        row,
        page_statements,
        around,
        tuple(listed_pages(whole)[:MAX_PAGES]),
        await _tiers(connection, scope, wanted.scope, sorted(cited)),
    )


async def _tiers(connection: Connection, scope: Scope, at: BrainScope, memory_ids: Sequence[str]) -> Mapping[str, int]:
    """Return the trust tiers of the known memories, by id."""
    if not memory_ids:
        return {}
    if at is BrainScope.BRAIN:
        return await brain.tiers_of(connection, scope, memory_ids)
    return {one.memory_id: int(tier_of(one)) for one in await memories.by_ids(connection, scope, memory_ids)}
