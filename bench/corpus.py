"""One owner's corpus, written through the store as the services write it: a thread, memories, documents and wiki pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from bench.calling import AGENT, OWNER, TENANT
from bench.texts import Writer
from models.tokens.meters import stored_counts
from sidecar.turn.fitting.history import MESSAGE_TOKENS
from store.content import documents, memories, threads
from store.db.postgres import Pool, scoped, tenant_scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.tenancy import templates, tenants
from store.wiki import pages

SCOPE = Scope(tenant_uuid(TENANT), owner_uuid(OWNER))
THREAD = "thread"
_START = datetime(2025, 11, 1, 9, tzinfo=UTC)
_AT_ONCE = 500
_CHUNKS_A_DOCUMENT = 40


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of an owner's data: turns in the thread, memories, chunks of documents, wiki pages of two sections each."""

    turns: int = 400
    memories: int = 3_000
    chunks: int = 3_000
    pages: int = 500

    def scaled(self, scale: float) -> Sizes:
        """Return the sizes times the scale, each at least forty."""
        scaled = (max(40, round(count * scale)) for count in (self.turns, self.memories, self.chunks, self.pages))
        return Sizes(*scaled)


async def put_tenant(pool: Pool, knobs: Mapping[str, Any] | None = None) -> None:
    """Make the tenant of every benchmark, with its own knobs if any are given."""
    async with tenant_scoped(pool, SCOPE.tenant_id) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=_START)
        if knobs:
            new = templates.NewVersion(templates.Level("tenant"), knobs, "bench")
            await templates.put(connection, SCOPE.tenant_id, new, now=_START)


async def fill(pool: Pool, sizes: Sizes, *, questions: int, seed: int = 5) -> list[str]:
    """Write the corpus, and return `questions` questions about its contents."""
    writer = Writer(seed)
    texts = [
        *await put_thread(pool, THREAD, writer.texts(sizes.turns, 25)),
        *await _put_memories(pool, writer.texts(sizes.memories, 25)),
        *await _put_documents(pool, writer, sizes.chunks),
        *await _put_pages(pool, writer, sizes.pages),
    ]
    return [writer.question_about(writer.pick(texts)) for _ in range(questions)]


async def put_thread(pool: Pool, thread_id: str, texts: Sequence[str]) -> Sequence[str]:
    """Write a thread of these turns, user and assistant in turn, and return their texts."""
    turns = [_turn(place, text) for place, text in enumerate(texts)]
    for start in range(0, len(turns), _AT_ONCE):
        async with scoped(pool, SCOPE) as connection:
            opened = threads.ThreadToOpen(thread_id, "A long thread", "fence")
            await threads.append(connection, SCOPE, opened, turns[start : start + _AT_ONCE], now=_START)
    return texts


def _turn(place: int, text: str) -> threads.NewTurn:
    counts = stored_counts(text)
    return threads.NewTurn(
        client_turn_id=f"turn-{place}",
        role="assistant" if place % 2 else "user",
        text=text,
        said_at=_START + timedelta(minutes=place),
        o200k_tokens=counts.o200k_base + MESSAGE_TOKENS,
        cl100k_tokens=counts.cl100k_base + MESSAGE_TOKENS,
    )


async def _put_memories(pool: Pool, texts: Sequence[str]) -> Sequence[str]:
    new = [
        memories.NewMemory(text, f"memory-{place}", _START + timedelta(hours=place)) for place, text in enumerate(texts)
    ]
    for start in range(0, len(new), _AT_ONCE):
        async with scoped(pool, SCOPE) as connection:
            await memories.retain(connection, SCOPE, new[start : start + _AT_ONCE], now=_START)
    return texts


async def _put_documents(pool: Pool, writer: Writer, chunks: int) -> Sequence[str]:
    texts = writer.texts(chunks, 130)
    async with tenant_scoped(pool, SCOPE.tenant_id) as connection:
        base = await documents.ensure_base(connection, SCOPE.tenant_id, "bench", now=_START)
        await documents.assign(connection, SCOPE.tenant_id, base.base_id, documents.Assignment("agent", AGENT))
    for start in range(0, chunks, _CHUNKS_A_DOCUMENT):
        some = texts[start : start + _CHUNKS_A_DOCUMENT]
        prepared = await documents.prepare(_document(writer.name(), start, some))
        async with tenant_scoped(pool, SCOPE.tenant_id) as connection:
            await documents.put(connection, SCOPE.tenant_id, base.base_id, prepared, now=_START)
    return texts


def _document(title: str, start: int, texts: Sequence[str]) -> documents.NewDocument:
    chunks = tuple(documents.NewChunk(text, f"Part {place // 5}") for place, text in enumerate(texts))
    digest = sha256("".join(texts).encode()).digest()
    return documents.NewDocument(f"documents/{start}.md", title, "text/markdown", digest, chunks)


async def _put_pages(pool: Pool, writer: Writer, count: int) -> Sequence[str]:
    summaries, bodies = writer.texts(count, 30), writer.texts(2 * count, 60)
    for place, summary in enumerate(summaries):
        async with scoped(pool, SCOPE) as connection:
            await pages.put_page(connection, SCOPE, _page(writer.name(), place, summary, bodies), now=_START)
    return summaries


def _page(title: str, place: int, summary: str, bodies: Sequence[str]) -> pages.NewPage:
    sections = tuple(
        pages.NewSection(slug, slug.title(), bodies[2 * place + side])
        for side, slug in enumerate(("overview", "notes"))
    )
    return pages.NewPage("topic", f"page-{place}", title, summary, sections, aliases=(title.split(maxsplit=1)[0],))
