"""Texts of every kind under one scope, and an embedder with predictable vectors, for tests of recall and embedding."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from models.embedding.embedder import Vectors
from sidecar.runtime.embedders import Numbered
from store.content import documents, embedders, embeddings, memories, threads
from store.content.documents import NewChunk, NewDocument
from store.content.memories import NewMemory
from store.content.recalling import RecallQuery, literal
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import query_words
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection
from tests.support.waiting import until_equal

SCOPE = Scope(UUID(int=1), UUID(int=11))
OTHER_OWNER, OTHER_TENANT = Scope(UUID(int=1), UUID(int=12)), Scope(UUID(int=2), UUID(int=11))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TOPICS = ("boat", "dentist", "garden", "music")


async def until_embedded(pools: Pools) -> None:
    """Wait until every stored text has its vector."""
    await until_equal(lambda: embeddings.waiting(pools.background, limit=1), [])


class TopicEmbedder:
    """Knows four topics: a text's vector points where its topics do. Words of no topic leave it on a fifth axis."""

    question_prefix = ""

    def __init__(self, name: str = "topics", dimensions: int = 5) -> None:
        self.name = name
        self.dimensions = dimensions
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text."""
        self.asked += texts
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            known = [topic in text.lower() or _SYNONYMS[topic] in text.lower() for topic in TOPICS]
            rows[place, : len(TOPICS)] = known
            rows[place, -1] = not any(known)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


_SYNONYMS = {"boat": "sloop", "dentist": "tooth", "garden": "roses", "music": "cello"}


async def tenants_made(pools: Pools) -> None:
    """Make the tenants of the tests."""
    for scope in (SCOPE, OTHER_TENANT):
        async with scoped(pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)


async def numbered(pools: Pools, embedder: TopicEmbedder) -> Numbered:
    """Return the embedder under its number."""
    number = await embedders.number_of(pools.background, embedder.name, embedder.dimensions)
    assert number is not None
    return Numbered(embedder, number)


async def wanted(text: str, embedder: Numbered | None = None, *, limit: int = 10) -> RecallQuery:
    """Return what a question looks for, with its vector when there is an embedder."""
    words = tuple(query_words(text))
    if embedder is None:
        return RecallQuery(words, limit)
    (vector,) = await embedder.embedder.embed([text])
    return RecallQuery(words, limit, embedder.embedder_no, (literal(vector.tolist()),))


async def say(pools: Pools, *said: str, scope: Scope = SCOPE, thread_id: str = "t") -> None:
    """Append turns, a minute apart; their client turn ids are their texts."""
    new = [
        NewTurn(text, "user", text, NOW + timedelta(minutes=number), 10, 10, speaker="Mara")
        for number, text in enumerate(said)
    ]
    async with scoped(pools.background, scope) as connection:
        await threads.append(connection, scope, ThreadToOpen(thread_id, "", "key"), new, now=NOW)


async def remember(pools: Pools, *texts: str, scope: Scope = SCOPE, ids: Sequence[str] = ()) -> None:
    """Retain memories, under ids of their own if given."""
    new = [NewMemory(text, memory_id=ids[place] if ids else "") for place, text in enumerate(texts)]
    async with scoped(pools.background, scope) as connection:
        await memories.retain(connection, scope, new, now=NOW)


async def read_in(pools: Pools, *chunks: str, base: str = "boats") -> UUID:
    """Ingest a document of these chunks and return its base's id."""
    document = NewDocument("a.md", "A", "text/markdown", bytes(32), tuple(NewChunk(text) for text in chunks))
    prepared = await documents.prepare(document)
    async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
        base_id = (await documents.ensure_base(connection, SCOPE.tenant_id, base, now=NOW)).base_id
        await documents.put(connection, SCOPE.tenant_id, base_id, prepared, now=NOW)
    return base_id


async def compile_page(pools: Pools, *sections: str, summary: str = "", scope: Scope = SCOPE) -> UUID:
    """Write a page of these sections and return its id."""
    written = tuple(NewSection(f"s{place}", f"Part {place}", text) for place, text in enumerate(sections))
    async with scoped(pools.background, scope) as connection:
        page = NewPage("topic", "page", "A page", summary, written)
        return await pages.put_page(connection, scope, page, now=NOW)
