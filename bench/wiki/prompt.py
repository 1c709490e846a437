"""Measures the size of a leaf prompt in a small and a large wiki, and the share of the right pages that it shows."""

from __future__ import annotations

import random

import uvloop

from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain
from bench.wiki import compiling
from compiler.plan.contract import BatchMemory
from compiler.plan.prompting import prompt
from compiler.settings import Sight
from compiler.state import views
from compiler.state.views import Looking
from models.language.language import DEFAULT_MODEL_ID
from models.tokens import meters
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.scope import Scope
from store.text.texts import text_hash

_BATCH, _ABOUT = 50, 40  # as many pages in every batch, so that only the wiki's size differs


def run(*, scale: float) -> list[Figure]:
    """Return the figures; a scale of 1 is 20 batches over 100 and over 10,000 pages."""
    return uvloop.run(_measured(scale))


async def _measured(scale: float) -> list[Figure]:
    rounds, large = max(2, round(20 * scale)), max(1_000, round(10_000 * min(1.0, scale * 4)))
    async with own_database() as (_, opened):
        pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=2))
        try:
            small = await _prompts(pools, compiling.scope_of(1), 100, rounds)
            big = await _prompts(pools, compiling.scope_of(2), large, rounds)
        finally:
            await pools.close()
    return [
        at_most(f"prompt tokens at {large} pages ÷ at 100", big[0] / small[0], 1.2),
        at_least(f"share of the right pages shown, {large} pages", big[1], 0.98, note="half of them by alias or typo"),
        plain("share of the right pages shown, 100 pages", small[1]),
        plain(f"prompt tokens, {large} pages", big[0]),
    ]


async def _prompts(pools: Pools, scope: Scope, pages: int, rounds: int) -> tuple[float, float]:
    """Return a prompt's mean tokens and the share of the right pages that it shows."""
    titles = compiling.names(pages)
    await compiling.fill(pools, scope, titles)
    chance, count = random.Random(5), meters.meter_for(DEFAULT_MODEL_ID).count_one
    spent = wanted = shown = 0
    for number in range(rounds):
        memories, named = _batch(titles, chance, number)
        async with scoped(pools.background, scope, read_only=True) as connection:
            batch = await views.leaf_batch(connection, scope, memories, Looking(Sight(), count))
        request = prompt.leaf(batch)
        spent += count(request.system) + count(request.user)
        seen = {page.title for page in batch.pages}
        wanted += len(named)
        shown += len(named & seen)
    return spent / rounds, shown / wanted


def _batch(titles: list[str], chance: random.Random, number: int) -> tuple[tuple[BatchMemory, ...], set[str]]:
    """Return memories that each name a page: half by its title, half by an alias or with a typo."""
    memories, about = [], chance.sample(titles, _ABOUT)
    for place in range(_BATCH):
        title = about[place % _ABOUT]
        name = title if place % 2 else _otherwise(title, chance)
        text = f"{name} {chance.choice(compiling.DEEDS)} on day {number}."
        memories.append(BatchMemory(f"p{number}-{place}", text, text_hash(text), compiling.NOW))
    return tuple(memories), set(about)


def _otherwise(title: str, chance: random.Random) -> str:
    first, last = title.split()
    if chance.random() < 0.5:
        return f"{first[:1]}. {last}"
    place = chance.randrange(1, len(last) - 1)
    return f"{first} {last[:place]}{last[place + 1]}{last[place]}{last[place + 2 :]}"
