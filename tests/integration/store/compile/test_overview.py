"""Queries of operators' views: quarantined and reread memories, growth, jobs at an instant, positions of texts."""

from __future__ import annotations

from datetime import date, timedelta
from hashlib import sha256
from uuid import UUID, uuid4

import pytest

from store.compile import jobs, ledger, overview
from store.compile.ledger import LedgerEntry, MemoryOutcome
from store.content import feed, memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import browse
from tests.support.compiler.wiki_pages import NOW, put_wiki

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
OTHER = Scope(tenant_uuid("acme"), owner_uuid("bob"))


@pytest.fixture
async def wiki(pools: Pools) -> Pools:
    """Pools on a database with one owner's wiki, two of whose memories are held back, one of them without a text here."""
    await put_wiki(pools, SCOPE)
    async with scoped(pools.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, [NewMemory("x" * 900, memory_id="odd")], now=NOW)
        entries = [entry("odd", "ValueError"), entry("gone", "ModelRefused")]
        await ledger.write(connection, SCOPE, entries, now=NOW)
    return pools


def entry(memory_id: str, reason: str) -> LedgerEntry:
    return LedgerEntry(memory_id, "", sha256(memory_id.encode()).digest(), b"", NOW, MemoryOutcome.QUARANTINED, reason)


async def test_quarantined_memories_are_listed_by_id_with_reason_and_first_words(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE, read_only=True) as connection:
        rows = await overview.quarantined(connection, SCOPE, limit=10)
        assert [(one.memory_id, one.reason, one.text) for one in rows] == [
            ("gone", "ModelRefused", None),
            ("odd", "ValueError", "x" * overview.MOST_CHARS),
        ]
        assert [one.memory_id for one in await overview.quarantined(connection, SCOPE, after="gone", limit=10)] == [
            "odd"
        ]
        assert await overview.quarantine_reasons(connection, SCOPE) == {"ModelRefused": 1, "ValueError": 1}
    async with scoped(wiki.background, OTHER, read_only=True) as connection:
        assert await overview.quarantined(connection, OTHER, limit=10) == []


async def test_retried_memory_is_read_by_the_next_compile(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE) as connection:
        assert await overview.retry(connection, SCOPE, ["odd", "odd", "never"], now=NOW) == 1
        assert await ledger.reread_queue(connection, SCOPE, limit=9) == ["odd"]
        known = await ledger.read(connection, SCOPE, ["odd", "gone"])
    assert known["odd"].content_hash == b"", "it is new to the compile"
    assert known["gone"].outcome is MemoryOutcome.QUARANTINED


async def test_retry_without_ids_queues_the_first_quarantined_memories(wiki: Pools) -> None:
    numbered = [entry(f"n{number:04}", "ValueError") for number in range(overview.MOST_RETRIED)]
    async with scoped(wiki.background, SCOPE) as connection:
        await ledger.write(connection, SCOPE, numbered, now=NOW)
        assert await overview.retry(connection, SCOPE, now=NOW) == overview.MOST_RETRIED
        owed = await ledger.reread_queue(connection, SCOPE, limit=overview.MOST_RETRIED + 9)
        assert sorted(owed) == ["gone", *(one.memory_id for one in numbered[:-1])]
        assert await overview.retry(connection, SCOPE, now=NOW) == 2
        assert await overview.retry(connection, SCOPE, now=NOW) == 0


async def test_only_quarantined_memories_are_retried(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE) as connection:
        listed = [one.memory_id for one in await feed.listing(connection, SCOPE) if one.memory_id != "odd"]
        assert await overview.retry(connection, SCOPE, listed, now=NOW) == 0
        assert await ledger.reread_queue(connection, SCOPE, limit=9) == []
    async with scoped(wiki.background, OTHER) as connection:
        assert await overview.retry(connection, OTHER, ["odd"], now=NOW) == 0


async def test_growth_counts_pages_links_and_linked_pages_by_day(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE, read_only=True) as connection:
        grown = await overview.growth(connection, SCOPE)
        active = await browse.pages_by_name(connection, SCOPE, status="active", limit=100)
    assert grown[-1].pages == len(active)
    assert grown[-1].links > 0
    assert 0 < grown[-1].linked <= grown[-1].pages
    assert [one.day for one in grown] == sorted({one.day for one in grown})
    assert isinstance(grown[0].day, date)
    async with scoped(wiki.background, OTHER, read_only=True) as connection:
        assert await overview.growth(connection, OTHER) == []


async def test_job_of_an_instant_is_the_one_that_ran_then(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE) as connection:
        ticket = await jobs.enqueue(connection, SCOPE, trigger="admin", now=NOW)
        began = NOW + timedelta(minutes=1)
        started = await jobs.start_next(connection, SCOPE, now=began)
        assert started is not None
        ending = jobs.Ending(jobs.JobStatus.SUCCEEDED)
        await jobs.settle(connection, SCOPE, started.job_id, ending, now=began + timedelta(minutes=1))
        instants = [began - timedelta(seconds=1), began + timedelta(seconds=30), began + timedelta(hours=1)]
        assert await overview.jobs_at(connection, SCOPE, instants) == {instants[1]: ticket.job_id}


async def test_citations_are_counted_by_page_and_in_total(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE, read_only=True) as connection:
        found = await overview.cited_since(connection, SCOPE, since=NOW - timedelta(days=1), page_ids=[], limit=1)
        assert len(found.by_page) == 1
        assert found.whole >= max(found.by_page.values())
        assert found.pages >= 1
        none = await overview.cited_since(connection, SCOPE, since=NOW + timedelta(days=99), page_ids=[], limit=5)
    assert none == overview.Cited({}, 0, 0)


async def test_missing_text_has_no_position(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE, read_only=True) as connection:
        assert await overview.place_of_turn(connection, SCOPE, uuid4()) is None
        assert await overview.chunk_around(connection, SCOPE.tenant_id, UUID(int=7)) == []
        assert await overview.instant_of_turn(connection, SCOPE, 0) is None
