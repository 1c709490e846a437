"""Compares the search for pages with that of the first design: how often the right page is among the first five.

Both search the same generated pages under the same row security. A question gives a page's whole name, an alias, a prefix, the
name without a letter, or words of its text.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import uvloop

from bench import corpus
from bench.databases import own_database
from bench.figures import Figure, at_least, plain, quantile
from bench.texts import Writer
from store.db import queries
from store.db.postgres import Pool, PoolsConfig, open_pools, scoped
from store.db.queries import Connection
from store.text.texts import fold, query_words
from store.wiki import page_search, pages
from store.wiki.pages import NewPage, NewSection

_sql = queries.load(__file__)
_PAGES, _QUESTIONS, _FIRST = 3_000, 60, 5
_NOW = datetime(2026, 3, 1, tzinfo=UTC)

Search = Callable[[Connection, str], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A question and the slug of the page that it is about."""

    kind: str
    question: str
    slug: str


def run(*, scale: float) -> list[Figure]:
    """Return the figures of both searches; a scale of 1 is 3,000 pages."""
    return uvloop.run(_measured(max(200, round(_PAGES * scale))))


async def _measured(count: int) -> list[Figure]:
    written = _written(count)
    questions = _questions(written)
    async with own_database() as (_, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        await _put(pools.background, written)
        slugs = {str(pages.page_uuid(corpus.SCOPE, "entity", page.slug)): page.slug for page in written}
        firsts, first_ms = await _tried(pools.turn, _first_design, questions, slugs)
        shares, took_ms = await _tried(pools.turn, _served, questions, slugs)
        await pools.close()
    figures = []
    for kind, share in shares.items():
        figures.append(plain(f"{kind}, first design", firsts[kind]))
        figures.append(at_least(f"{kind}, served", share, firsts[kind]))
    figures.append(plain("p95, first design", quantile(first_ms, 0.95), unit=" ms"))
    return [*figures, plain("p95, served", quantile(took_ms, 0.95), unit=" ms", note=f"{count} pages")]


def _written(count: int) -> list[NewPage]:
    """Return pages with names of two words, every third with another name, each with a text of its own."""
    writer, rng = Writer(31), np.random.default_rng(5)
    texts = writer.texts(count, 40)
    rare = sorted({word for text in writer.texts(count, 60) for word in query_words(text) if len(word) > 5})
    found = []
    for place, text in enumerate(texts):
        first, second, nick = (rare[int(one)] for one in rng.integers(len(rare), size=3))
        title = f"{first} {second}".title()
        aliases = (title, f"{nick} {place}".title()) if place % 3 == 0 else (title,)
        section = NewSection("notes", "Notes", text)
        found.append(NewPage("entity", f"page-{place}", title, f"{text[:80]}…", (section,), aliases))
    return found


def _questions(written: Sequence[NewPage]) -> list[PageQuestion]:
    writer, rng = Writer(99), np.random.default_rng(6)
    questions = []
    for place in rng.choice(len(written), size=min(_QUESTIONS, len(written)), replace=False).tolist():
        page = written[place]
        nicknamed = written[place - place % 3]
        cut = int(rng.integers(2, len(page.title) - 2))
        questions += [
            PageQuestion("question", writer.question_about(page.sections[0].body_md), page.slug),
            PageQuestion("question with a name", f"What was it again that we said about {page.title}?", page.slug),
            PageQuestion("name", page.title, page.slug),
            PageQuestion("other name", nicknamed.aliases[1].lower(), nicknamed.slug),
            PageQuestion("beginning of a name", page.title[:-3], page.slug),
            PageQuestion("misspelt name", page.title[:cut] + page.title[cut + 1 :], page.slug),
        ]
    return questions


async def _put(pool: Pool, written: Sequence[NewPage]) -> None:
    for start in range(0, len(written), 200):
        async with scoped(pool, corpus.SCOPE) as connection:
            for page in written[start : start + 200]:
                await pages.put_page(connection, corpus.SCOPE, page, now=_NOW)


async def _tried(
    pool: Pool, search: Search, questions: Sequence[PageQuestion], slugs: dict[str, str]
) -> tuple[dict[str, float], list[float]]:
    """Return for each kind of question the share whose page is among the first five, and the milliseconds of all."""
    found: dict[str, list[bool]] = {}
    took_ms = []
    for one in questions:
        async with scoped(pool, corpus.SCOPE, read_only=True) as connection:
            began = time.perf_counter()
            ids = await search(connection, one.question)
            took_ms.append((time.perf_counter() - began) * 1000)
        found.setdefault(one.kind, []).append(one.slug in [slugs[page_id] for page_id in ids[:_FIRST]])
    return {kind: sum(hits) / len(hits) for kind, hits in found.items()}, took_ms


async def _first_design(connection: Connection, question: str) -> list[str]:
    beginnings = " & ".join(f"{word}:*" for word in query_words(question))
    rows = await _sql.seed_search(
        connection,
        tenant_id=corpus.SCOPE.tenant_id,
        owner_id=corpus.SCOPE.owner_id,
        query=fold(question),
        beginnings=beginnings,
        limit=20,
    )
    return [str(row["page_id"]) for row in rows]


async def _served(connection: Connection, question: str) -> list[str]:
    return [str(hit.page.page_id) for hit in await page_search.search(connection, corpus.SCOPE, question)]
