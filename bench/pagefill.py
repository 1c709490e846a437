"""Wiki pages by the hundred thousand, written straight into their tables from a seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from bench.bulk import filling
from bench.texts import Writer
from store import queries
from store.texts import search_words, signatures

_sql = queries.load(__file__)
_NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def fill(dsn: str, tenant_id: UUID, *, owners: int, each: int) -> Sequence[str]:
    """Give so many owners (ids 1 upwards) so many pages of one section each, and return the pages' texts."""
    writer = Writer(11)
    texts = writer.texts(each, 30)
    titles = [writer.name() for _ in range(each)]
    rows = [
        (place, title, search_words(f"{title} {text}"))
        for place, (title, text) in enumerate(zip(titles, texts, strict=True))
    ]
    async with filling(dsn, ("wiki_pages", "wiki_page_sections")) as connection:
        await _sql.make_drafts(connection)
        await connection.copy_records_to_table("drafts", records=rows, columns=["place", "title", "words"])
        await _sql.vectorise_drafts(connection)
        for owner in range(1, owners + 1):
            key = {"tenant_id": tenant_id, "owner_id": UUID(int=owner)}
            await _sql.pages_of_owner(connection, **key, now=_NOW, signature=signatures(["page"])[0].pack())
            await _sql.sections_of_owner(connection, **key)
    return texts
