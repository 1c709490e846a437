"""Knowledge bases in Postgres: assignments, documents and their chunks, search."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

import pytest

from store.content import documents
from store.content.documents import Assignment, Base, Document, NewChunk, NewDocument, PutOutcome, RecalledChunk
from store.content.recalling import RecallQuery
from store.db.postgres import Pools, PoolsConfig, open_pools, tenant_scoped
from store.errors import ReferenceMissing
from store.tenancy import tenants
from store.text.texts import query_words, signatures

TENANT, OTHER = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
async def base(pools: Pools) -> Base:
    """A base of the first tenant; the second has one of the same name."""
    for tenant_id in (OTHER, TENANT):
        async with tenant_scoped(pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=NOW)
            made = await documents.ensure_base(connection, tenant_id, "guides", description="How to", now=NOW)
    return made


def a_document(*texts: str, path: str = "a.md", title: str = "Guide") -> NewDocument:
    content_hash = sha256("\n".join(texts).encode()).digest()
    chunks = tuple(NewChunk(text, heading="Guide > Part", page=n + 1) for n, text in enumerate(texts))
    return NewDocument(path, title, "text/markdown", content_hash, chunks)


async def put(
    pools: Pools, base: Base, document: NewDocument, *, tenant_id: UUID = TENANT, now: datetime = NOW
) -> tuple[Document, PutOutcome]:
    prepared = await documents.prepare(document)
    async with tenant_scoped(pools.background, tenant_id) as connection:
        return await documents.put(connection, tenant_id, base.base_id, prepared, now=now)


async def found(pools: Pools, question: str, *bases: Base, tenant_id: UUID = TENANT) -> list[RecalledChunk]:
    async with tenant_scoped(pools.turn, tenant_id, read_only=True) as connection:
        base_ids = [base.base_id for base in bases]
        told = await documents.recall(connection, tenant_id, base_ids, RecallQuery(tuple(query_words(question)), 10))
    return [chunk for chunk, matched in zip(told.texts, told.matched, strict=True) if matched]


async def test_base_is_created_once_and_keeps_its_description(pools: Pools, base: Base) -> None:
    assert (base.name, base.description, base.document_count, base.created_at) == ("guides", "How to", 0, NOW)
    async with tenant_scoped(pools.background, TENANT) as connection:
        again = await documents.ensure_base(connection, TENANT, "guides", description="Other", now=LATER)
        assert again == base == await documents.get_base(connection, TENANT, "guides")
        assert await documents.get_base(connection, TENANT, "Guides") is None


async def test_bases_are_paged_by_name_with_their_document_counts(pools: Pools, base: Base) -> None:
    await put(pools, base, a_document("One."))
    await put(pools, base, a_document("Two.", path="b.md"))
    async with tenant_scoped(pools.background, TENANT) as connection:
        for name in ("b", "a", "z"):
            await documents.ensure_base(connection, TENANT, name, now=NOW)
        first = await documents.list_bases(connection, TENANT, limit=3)
        rest = await documents.list_bases(connection, TENANT, limit=3, after=first[-1].name)
    assert [(one.name, one.document_count) for one in [*first, *rest]] == [("a", 0), ("b", 0), ("guides", 2), ("z", 0)]


async def test_turn_searches_the_bases_of_its_template_agent_and_space_only(pools: Pools, base: Base) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        of = {name: (await documents.ensure_base(connection, TENANT, name, now=NOW)).base_id for name in "tasx"}
        levels = {"t": ("template", "travel"), "a": ("agent", "mara"), "s": ("space", "home")}
        for name, (level, ref) in levels.items():
            for _ in range(2):
                await documents.assign(connection, TENANT, of[name], Assignment(level, ref))
        await documents.assign(connection, TENANT, of["t"], Assignment("agent", "mara"))
        await documents.assign(connection, TENANT, of["x"], Assignment("agent", "travel"))

        async def asked(template_id: str, agent_id: str, space_id: str = "") -> set[UUID]:
            bases = await documents.assigned_bases(
                connection, TENANT, template_id=template_id, agent_id=agent_id, space_id=space_id
            )
            assert len(bases) == len(set(bases))
            return set(bases)

        assert await asked("travel", "mara", "home") == {of["t"], of["a"], of["s"]}
        assert await asked("travel", "other") == {of["t"]}
        assert await asked("other", "other") == set()
        await documents.unassign(connection, TENANT, of["a"], Assignment("agent", "mara"))
        await documents.unassign(connection, TENANT, of["a"], Assignment("agent", "mara"))
        assert await asked("default", "mara") == {of["t"]}
        assert base.base_id not in of.values()


async def test_a_document_is_created_then_unchanged_then_updated(pools: Pools, base: Base) -> None:
    created, outcome = await put(pools, base, a_document("The ferry leaves at nine.", "Tickets cost five."))
    assert outcome is PutOutcome.CREATED
    assert (created.path, created.title, created.chunk_count, created.updated_at) == ("a.md", "Guide", 2, NOW)
    same, outcome = await put(pools, base, a_document("The ferry leaves at nine.", "Tickets cost five."), now=LATER)
    assert (same, outcome) == (created, PutOutcome.UNCHANGED)
    updated, outcome = await put(pools, base, a_document("The ferry leaves at ten.", title="New guide"), now=LATER)
    assert outcome is PutOutcome.UPDATED
    assert (updated.document_id, updated.chunk_count, updated.updated_at) == (created.document_id, 1, LATER)
    assert [one.text for one in await found(pools, "ferry ten nine", base)] == ["The ferry leaves at ten."]
    assert await found(pools, "tickets", base) == []


async def test_moved_chunk_keeps_its_id(pools: Pools, base: Base) -> None:
    await put(pools, base, a_document("Alpha ferry.", "Beta ferry.", "Same ferry.", "Same ferry."))
    before = {(one.text, one.position): one.chunk_id for one in await found(pools, "ferry", base)}
    await put(pools, base, a_document("New ferry.", "Alpha ferry.", "Beta ferry.", "Same ferry.", "Same ferry."))
    after = {(one.text, one.position - 1): one.chunk_id for one in await found(pools, "ferry", base)}
    assert before.items() <= after.items()
    assert len(set(after.values())) == 5


async def test_found_chunk_has_its_page_and_headings(pools: Pools, base: Base) -> None:
    stored, _ = await put(pools, base, a_document("Bread.", "The ferry leaves at nine.", "Cheese."))
    (chunk,) = await found(pools, "when does the ferry leave", base)
    assert (chunk.document_id, chunk.title, chunk.path) == (stored.document_id, "Guide", "a.md")
    assert (chunk.heading, chunk.page, chunk.position) == ("Guide > Part", 2, 1)
    assert chunk.signature == signatures([chunk.text])[0]


async def test_chunk_is_found_by_its_title_and_heading_too(pools: Pools, base: Base) -> None:
    chunks = (NewChunk("It opens at nine.", heading="Lighthouse"),)
    await put(pools, base, NewDocument("a.md", "Island walks", "text/markdown", b"h", chunks))
    assert len(await found(pools, "lighthouse", base)) == len(await found(pools, "walking an island", base)) == 1


async def test_search_keeps_to_the_given_bases(pools: Pools, base: Base) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        other = await documents.ensure_base(connection, TENANT, "other", now=NOW)
    await put(pools, base, a_document("The ferry in guides."))
    await put(pools, other, a_document("The ferry in other."))
    assert [one.text for one in await found(pools, "ferry", other)] == ["The ferry in other."]
    assert len(await found(pools, "ferry", base, other)) == 2
    assert await found(pools, "ferry") == []
    assert await found(pools, "", base) == []


async def test_document_without_chunks_is_stored_and_never_found(pools: Pools, base: Base) -> None:
    stored, outcome = await put(pools, base, a_document())
    assert (stored.chunk_count, outcome) == (0, PutOutcome.CREATED)


async def test_documents_are_paged_by_path(pools: Pools, base: Base) -> None:
    paths = ["a.md", "b/ä.md", "b/ü b.md", "z.md", "ж.md"]
    for path in reversed(paths):
        await put(pools, base, a_document("x", path=path))
    listed: list[str] = []
    async with tenant_scoped(pools.background, TENANT) as connection:
        while page := await documents.page(
            connection, TENANT, base.base_id, limit=2, after=listed[-1] if listed else ""
        ):
            listed += [one.path for one in page]
    assert sorted(listed) == sorted(paths)
    assert len(listed) == len(paths)


async def test_deleting_a_document_deletes_its_chunks(pools: Pools, base: Base) -> None:
    await put(pools, base, a_document("The ferry."))
    async with tenant_scoped(pools.background, TENANT) as connection:
        assert not await documents.delete(connection, TENANT, base.base_id, "b.md")
        assert await documents.delete(connection, TENANT, base.base_id, "a.md")
        assert not await documents.delete(connection, TENANT, base.base_id, "a.md")
        assert await documents.get(connection, TENANT, base.base_id, "a.md") is None
    assert await found(pools, "ferry", base) == []
    assert (await put(pools, base, a_document("The ferry.")))[1] is PutOutcome.CREATED


async def test_document_put_concurrently_is_created_by_one_writer(database: str, base: Base) -> None:
    pools = await open_pools(database, PoolsConfig(turn_connections=1, background_connections=8))
    try:
        document = a_document(*(f"Chunk {n} about the ferry." for n in range(50)))
        outcomes = [outcome for _, outcome in await asyncio.gather(*(put(pools, base, document) for _ in range(8)))]
        assert sorted(outcomes) == [PutOutcome.CREATED, *[PutOutcome.UNCHANGED] * 7]
        versions = [a_document(*(f"Version {v} chunk {n}, ferry." for n in range(20))) for v in range(8)]
        written = await asyncio.gather(*(put(pools, base, version) for version in versions))
        chunks = await found(pools, "version chunk", base)
    finally:
        await pools.close()
    assert [outcome for _, outcome in written] == [PutOutcome.UPDATED] * 8
    assert len({chunk.text.split(" chunk")[0] for chunk in chunks}) == 1
    assert {document.chunk_count for document, _ in written} == {20}


async def test_large_document_is_written_whole(pools: Pools, base: Base) -> None:
    stored, _ = await put(pools, base, a_document(*(f"Part {n} of the long ferry story." for n in range(1201))))
    assert stored.chunk_count == 1201
    (last,) = await found(pools, "1200", base)
    assert last.position == 1200


async def test_base_of_another_tenant_accepts_no_document_and_returns_none(pools: Pools, base: Base) -> None:
    await put(pools, base, a_document("The ferry."))
    with pytest.raises(ReferenceMissing):
        await put(pools, base, a_document("Smuggled."), tenant_id=OTHER)
    assert await found(pools, "ferry", base, tenant_id=OTHER) == []
    async with tenant_scoped(pools.background, OTHER) as connection:
        assert await documents.page(connection, TENANT, base.base_id, limit=9) == []
        assert (await documents.recall(connection, TENANT, [base.base_id], RecallQuery(("ferry",), 9))).texts == ()
        assert not await documents.delete(connection, TENANT, base.base_id, "a.md")
    assert len(await found(pools, "ferry", base)) == 1
