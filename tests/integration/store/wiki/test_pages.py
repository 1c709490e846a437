"""Wiki pages in Postgres: writing one whole, and search among pages and sections."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from store.content import memories
from store.content.memories import NewMemory
from store.content.recalling import RecallQuery
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.errors import ReferenceMissing
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import query_words, signatures
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection, Passage

SCOPE = Scope(UUID(int=1), UUID(int=11))
OTHER_OWNER = Scope(UUID(int=1), UUID(int=12))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
NOTHING: tuple[list[Passage], list[Passage]] = ([], [])

TRIESTE = NewPage(
    type="entity",
    slug="trieste",
    title="Trieste, Italy",
    summary="The port where the boat winters.",
    sections=(
        NewSection("overview", "Overview", "A windy harbour town near the border.", ("m1", "m2")),
        NewSection("visits", "Visits", "Three times, twice by train.", ("m2",)),
    ),
    aliases=("Triest", "TRIÉSTE"),
    tags=("place",),
)


@pytest.fixture
async def wiki(pools: Pools) -> UUID:
    """One page of the first owner, from two memories; returns its id."""
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        new = [NewMemory("The boat winters there.", "m1"), NewMemory("Went by train.", "m2")]
        await memories.retain(connection, SCOPE, new, now=NOW)
    return await put(pools, TRIESTE)


async def put(pools: Pools, page: NewPage, *, scope: Scope = SCOPE, now: datetime = NOW) -> UUID:
    async with scoped(pools.background, scope) as connection:
        return await pages.put_page(connection, scope, page, now=now)


async def section_ids(database: str) -> dict[str, UUID]:
    """Return the ids of all sections by their slugs."""
    connection = await asyncpg.connect(database)
    try:
        rows = await connection.fetch("SELECT section_slug, section_id FROM wiki_page_sections")
    finally:
        await connection.close()
    return {row["section_slug"]: row["section_id"] for row in rows}


async def found(
    pools: Pools, question: str, scope: Scope = SCOPE, limit: int = 10
) -> tuple[list[Passage], list[Passage]]:
    """Return the sections and the summaries that a question finds by its words."""
    wanted = RecallQuery(tuple(query_words(question)), limit)
    async with scoped(pools.turn, scope, read_only=True) as connection:
        sections, summaries = await pages.recall(connection, scope, wanted)
    return list(sections.texts), list(summaries.texts)


async def test_section_is_found_with_its_page_and_memories(pools: Pools, wiki: UUID) -> None:
    (best, _), _ = await found(pools, "Trieste harbour")
    assert (best.slug, best.heading, best.memory_ids) == ("overview", "Overview", ("m1", "m2"))
    assert best.page == pages.PageHead(wiki, "entity", "trieste", TRIESTE.title, TRIESTE.summary, NOW)
    assert best.signature == signatures([best.text])[0]


@pytest.mark.usefixtures("wiki")
async def test_page_is_found_by_title_alias_summary_and_body(pools: Pools) -> None:
    for question in ("Italy", "triest", "where does the boat winter", "by train"):
        _, (page,) = await found(pools, question)
        assert page.page.slug == "trieste"
        assert page.signature == signatures([TRIESTE.summary])[0]
    assert await found(pools, "Lisbon") == NOTHING == await found(pools, "")


@pytest.mark.usefixtures("wiki")
async def test_section_is_found_by_its_pages_name_but_not_by_its_neighbours(pools: Pools) -> None:
    assert {one.slug for one in (await found(pools, "triest"))[0]} == {"overview", "visits"}
    assert {one.slug for one in (await found(pools, "train"))[0]} == {"visits"}


async def test_rewritten_page_and_its_remaining_parts_keep_their_ids(pools: Pools, wiki: UUID, database: str) -> None:
    before = await section_ids(database)
    rewritten = replace(
        TRIESTE,
        title="Trieste",
        summary="Sold the boat.",
        sections=(
            NewSection("notes", "Notes", "Sold in spring.", ("m1",)),
            NewSection("overview", "Overview", "A town.", ("m1",)),
        ),
        aliases=("Triest", "Trst"),
        page_id=UUID(int=99),
    )
    assert await put(pools, rewritten, now=LATER) == wiki
    sections = {one.slug: one for one in (await found(pools, "Trieste"))[0]}
    after = await section_ids(database)
    assert sections.keys() == after.keys() == {"notes", "overview"}
    assert after["overview"] == before["overview"]
    assert sections["overview"].memory_ids == ("m1",)
    assert sections["overview"].page.last_compiled_at == LATER
    assert await found(pools, "harbour") == NOTHING
    connection = await asyncpg.connect(database)
    try:
        aliases = await connection.fetch("SELECT alias FROM wiki_page_aliases ORDER BY alias")
        seen = await connection.fetch(
            "SELECT subject_ref, source_ref, first_seen_at FROM wiki_section_sources ORDER BY 1"
        )
    finally:
        await connection.close()
    assert [row["alias"] for row in aliases] == ["triest", "trst"]
    assert [tuple(row) for row in seen] == [("notes", "m1", LATER), ("overview", "m1", NOW)]


async def test_new_page_takes_the_given_id(pools: Pools, wiki: UUID) -> None:
    assert wiki == pages.page_uuid(SCOPE, "entity", "trieste")
    assert await put(pools, replace(TRIESTE, slug="other", page_id=UUID(int=99))) == UUID(int=99)


async def test_same_slug_is_another_page_for_another_type_or_owner(pools: Pools, wiki: UUID) -> None:
    topic = await put(pools, replace(TRIESTE, type="topic"))
    bare = replace(TRIESTE, sections=(NewSection("overview", "Overview", "Theirs."),))
    theirs = await put(pools, bare, scope=OTHER_OWNER)
    assert len({wiki, topic, theirs}) == 3
    assert {one.page.page_id for one in (await found(pools, "Trieste", OTHER_OWNER))[0]} == {theirs}
    async with scoped(pools.turn, OTHER_OWNER) as connection:
        both = await pages.recall(connection, SCOPE, RecallQuery(("trieste",), 9))
    assert [found.texts for found in both] == [(), ()]


async def test_citation_of_an_unknown_memory_is_refused_and_nothing_is_written(pools: Pools, wiki: UUID) -> None:
    invented = replace(TRIESTE, summary="Changed.", sections=(NewSection("a", "A", "Made up.", ("m1", "m9")),))
    for scope in (SCOPE, OTHER_OWNER):
        with pytest.raises(ReferenceMissing):
            await put(pools, invented, scope=scope)
    _, (page,) = await found(pools, "Trieste")
    assert (page.page.page_id, page.page.summary) == (wiki, TRIESTE.summary)
    assert await found(pools, "Trieste", OTHER_OWNER) == NOTHING


async def test_archived_page_is_not_found_until_it_is_rewritten(pools: Pools, wiki: UUID, database: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("UPDATE wiki_pages SET status = 'archived' WHERE page_id = $1", wiki)
    finally:
        await connection.close()
    assert await found(pools, "Trieste harbour") == NOTHING
    await put(pools, TRIESTE)
    assert len((await found(pools, "Trieste harbour"))[1]) == 1


@pytest.mark.usefixtures("wiki")
async def test_each_kind_has_its_own_limit_and_order(pools: Pools) -> None:
    for n in range(4):
        await put(
            pools, NewPage("topic", f"t{n}", f"Harbour {n}", "On it.", (NewSection("a", "A", "Harbour " * (n + 1)),))
        )
    both = await found(pools, "harbour", limit=3)
    assert [[one.page.slug for one in kind] for kind in both] == [["t0", "t1", "t2"]] * 2, "the shortest first"


async def test_page_written_concurrently_is_one_writers_whole(wiki: UUID, database: str) -> None:
    pools = await open_pools(database, PoolsConfig(turn_connections=1, background_connections=8))
    try:
        versions = [
            replace(TRIESTE, sections=tuple(NewSection(f"v{v}s{n}", "S", f"Version {v}.") for n in range(3)))
            for v in range(8)
        ]
        ids = await asyncio.gather(*(put(pools, version) for version in versions))
        sections, _ = await found(pools, "Trieste")
    finally:
        await pools.close()
    assert set(ids) == {wiki}
    assert len(sections) == 3
    assert len({one.text for one in sections}) == 1
