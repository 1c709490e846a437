"""Writes wiki pages by the hundred thousand directly into their tables, from a seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import numpy as np

from bench.bulk import filling
from bench.texts import Writer
from store.content.recalling import literal
from store.db import queries
from store.text.texts import search_words, signatures

_sql = queries.load(__file__)
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_TABLES = ("wiki_pages", "wiki_page_sections", "page_vectors", "section_vectors")

DIMENSIONS = 384


async def fill(dsn: str, tenant_id: UUID, *, owners: int, each: int, embedder_no: int) -> Sequence[str]:
    """Give `owners` owners (ids from 1) `each` pages of one section each, and return the pages' texts.

    A page and its section have the same random vector: distances mean nothing here, but cost the same.
    """
    writer = Writer(11)
    texts = writer.texts(each, 30)
    titles = [writer.name() for _ in range(each)]
    rows = [
        (place, title, search_words(f"{title} {text}"), numbers)
        for place, (title, text, numbers) in enumerate(zip(titles, texts, vectors(each, seed=1), strict=True))
    ]
    async with filling(dsn, _TABLES) as connection:
        await _sql.make_drafts(connection)
        await connection.copy_records_to_table("drafts", records=rows, columns=["place", "title", "words", "numbers"])
        await _sql.derive_drafts(connection)
        for owner in range(1, owners + 1):
            key = {"tenant_id": tenant_id, "owner_id": UUID(int=owner)}
            await _sql.pages_of_owner(connection, **key, now=_NOW, signature=signatures(["page"])[0].pack())
            await _sql.sections_of_owner(connection, **key)
            await _sql.page_vectors_of_owner(connection, **key, embedder_no=embedder_no)
            await _sql.section_vectors_of_owner(connection, **key, embedder_no=embedder_no)
    return texts


def vectors(count: int, *, seed: int) -> list[str]:
    """Return `count` vectors of length 1 in random directions, in the database's text form."""
    drawn = np.random.default_rng(seed).normal(size=(count, DIMENSIONS))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return [literal(numbers) for numbers in drawn.tolist()]
