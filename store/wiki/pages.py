"""The wiki's pages: writing a complete page, and recall among pages and sections.

Every function takes a connection inside a scoped transaction. The content of a page is decided by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from store.content import embeddings
from store.content.derived import Derived, derive
from store.content.recalling import Recalled, RecallQuery, recalled
from store.db import queries
from store.db.queries import Connection
from store.errors import ReferenceMissing
from store.scope import Scope
from store.text.texts import Signature, fold
from store.wiki import page_writes

_sql = queries.load(__file__)
_PAGES = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a05")


@dataclass(frozen=True, slots=True)
class NewSection:
    """A section to write; `memory_ids` are the memories it was written from."""

    slug: str
    heading: str
    body_md: str
    memory_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewPage:
    """A complete page to write: `type` is entity, topic or decision, `aliases` are names as people write them.

    Without a `page_id`, a new page's id is derived from its scope, type and slug.
    """

    type: str
    slug: str
    title: str
    summary: str
    sections: tuple[NewSection, ...] = ()
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    page_id: UUID | None = None


class PageHead(NamedTuple):
    """A page without its sections."""

    page_id: UUID
    type: str
    slug: str
    title: str
    summary: str
    last_compiled_at: datetime


class Passage(NamedTuple):
    """A section of a page with the memories it cites; without slug and heading, the page's summary.

    `signature` is that of the stored text; None for a changed one. A tuple, like the head, because many are created per turn.
    """

    page: PageHead
    text: str
    memory_ids: tuple[str, ...]
    signature: Signature | None
    slug: str = ""
    heading: str = ""
    position: int = 0


async def put_page(connection: Connection, scope: Scope, page: NewPage, *, now: datetime) -> UUID:
    """Write the page with its sections, aliases and sources, replacing existing ones, and return its id.

    Sections and sources that stay keep id and creation time. Raises ReferenceMissing if a section cites a memory that the
    owner does not have.
    """
    own, *of_sections = await derive(
        [page.summary, *(section.body_md for section in page.sections)],
        [_page_words(page), *(_section_words(page, section) for section in page.sections)],
    )
    page_id: UUID = await _sql.put_page(
        connection,
        **scope.key,
        page_id=page.page_id or page_uuid(scope, page.type, page.slug),
        type=page.type,
        slug=page.slug,
        title=page.title,
        summary=page.summary,
        tags=list(page.tags),
        now=now,
        signature=own.signature,
        word_count=own.word_count,
        words=own.words,
    )
    key = {**scope.key, "page_id": page_id}
    await _put_sections(connection, key, page.sections, of_sections)
    await _put_aliases(connection, key, page.aliases, now)
    await _put_sources(connection, key, page.sections, now)
    await page_writes.settle_search(connection)
    await keep_page_count(connection, scope)
    await embeddings.mark(connection, scope, embeddings.TextKind.WIKI, now=now)
    return page_id


async def keep_page_count(connection: Connection, scope: Scope) -> None:
    """Recount the owner's active pages and store the number for searches. The caller holds the scope's row.

    Every writer that creates, archives or deletes pages calls it in the same transaction.
    """
    await _sql.keep_page_count(connection, **scope.key)


async def recall(
    connection: Connection, scope: Scope, wanted: RecallQuery
) -> tuple[Recalled[Passage], Recalled[Passage]]:
    """Return the sections and the page summaries that match, best first within each, in one round trip.

    Archived pages are never returned.
    """
    rows = await _sql.recall_wiki(connection, **scope.key, **wanted.parameters())
    sections = [row for row in rows if row["kind"] == "section"]
    summaries = [row for row in rows if row["kind"] == "page"]
    return recalled(sections, _passages), recalled(summaries, _passages)


async def passages_of(
    connection: Connection, scope: Scope, page_ids: Sequence[UUID], wanted: RecallQuery, *, each: int
) -> Recalled[Passage]:
    """Return the summaries and the first sections, `each` per page, of the given pages; word frequencies are not counted."""
    if not page_ids:
        return Recalled()
    parameters = {
        name: value for name, value in wanted.parameters().items() if name in {"words", "embedder_no", "vectors"}
    }
    rows = await _sql.passages_of_pages(connection, **scope.key, page_ids=list(page_ids), each=each, **parameters)
    return recalled([(*row[:4], None, *row[4:]) for row in map(tuple, rows)], _passages)


def page_uuid(scope: Scope, page_type: str, slug: str) -> UUID:
    """Return the id of a page without an id of its own: the same for the same scope, type and slug."""
    return uuid5(_PAGES, "\n".join((str(scope.tenant_id), str(scope.owner_id), page_type, slug)))


async def _put_sections(
    connection: Connection, key: dict[str, UUID], sections: Sequence[NewSection], derived: Sequence[Derived]
) -> None:
    slugs = [section.slug for section in sections]
    await _sql.delete_other_sections(
        connection, tenant_id=key["tenant_id"], page_id=key["page_id"], section_slugs=slugs
    )
    await _sql.put_sections(
        connection,
        **key,
        section_ids=[uuid5(key["page_id"], slug) for slug in slugs],
        section_slugs=slugs,
        headings=[section.heading for section in sections],
        bodies=[section.body_md for section in sections],
        positions=list(range(len(sections))),
        signatures=[one.signature for one in derived],
        word_counts=[one.word_count for one in derived],
        words=[one.words for one in derived],
    )


async def _put_aliases(connection: Connection, key: dict[str, UUID], names: Sequence[str], now: datetime) -> None:
    by_alias = {fold(name): name for name in names}
    aliases = list(by_alias)
    await _sql.delete_other_aliases(connection, tenant_id=key["tenant_id"], page_id=key["page_id"], aliases=aliases)
    await _sql.put_aliases(connection, **key, aliases=aliases, displays=list(by_alias.values()), now=now)


async def _put_sources(
    connection: Connection, key: dict[str, UUID], sections: Sequence[NewSection], now: datetime
) -> None:
    cited = sorted({(section.slug, memory_id) for section in sections for memory_id in section.memory_ids})
    pairs = {"section_slugs": [slug for slug, _ in cited], "memory_ids": [memory_id for _, memory_id in cited]}
    await _sql.delete_other_sources(connection, tenant_id=key["tenant_id"], page_id=key["page_id"], **pairs)
    if await _sql.put_sources(connection, **key, **pairs, now=now) != len(cited):
        raise ReferenceMissing("a cited memory")


def _page_words(page: NewPage) -> str:
    bodies = (text for section in page.sections for text in (section.heading, section.body_md))
    return "\n".join((page.title, *page.aliases, page.summary, *bodies))


def _section_words(page: NewPage, section: NewSection) -> str:
    return "\n".join((page.title, *page.aliases, section.heading, section.body_md))


def _passages(*columns: Any) -> Iterable[Passage | None]:
    return map(_passage, zip(*columns, strict=True))


def _passage(row: tuple[Any, ...]) -> Passage | None:
    """Return the passage of a row, or None if the page is archived or has no summary."""
    _, *head, text, memory_ids, signature, slug, heading, position = row
    if not text:
        return None
    return Passage(PageHead(*head), text, tuple(memory_ids), Signature.unpack(signature), slug, heading, position)
