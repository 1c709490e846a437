"""A wiki of generated names and memories about them, for the benchmarks of the compile."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

from compiler.plan.contract import Alias, CreatePage, Page, PageKey, PageType, Section
from compiler.plan.text.markdown import alias_key, slug
from compiler.state import apply
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, installation, scoped
from store.scope import Scope
from store.tenancy import tenants

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SYLLABLES = (
    "ba",
    "cor",
    "dan",
    "el",
    "fi",
    "gro",
    "han",
    "in",
    "jo",
    "kel",
    "lu",
    "mar",
    "no",
    "pe",
    "qui",
    "ro",
    "sa",
    "tor",
    "ul",
    "vin",
)
DEEDS = (
    "paid 31 dollars",
    "waited in line",
    "cooked for six",
    "fixed the door",
    "told the story again",
    "left before nine",
)
_AT_ONCE = 500


def names(count: int, *, seed: int = 1) -> list[str]:
    """Return `count` names of two words, each unlike the others."""
    chance = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        words = ("".join(chance.choices(SYLLABLES, k=chance.choice((2, 3)))).title() for _ in range(2))
        found[" ".join(words)] = None
    return list(found)


def scope_of(number: int) -> Scope:
    """Return a new scope of the benchmark."""
    return Scope(UUID(int=77), UUID(int=7700 + number))


async def fill(pools: Pools, scope: Scope, titles: list[str]) -> None:
    """Make a page for each name."""
    async with scoped(pools.background, scope) as connection:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
    for start in range(0, len(titles), _AT_ONCE):
        items = [CreatePage(page_of(title)) for title in titles[start : start + _AT_ONCE]]
        async with scoped(pools.background, scope) as connection:
            await apply.apply_items(connection, scope, items, now=NOW)
    async with installation(pools.background) as connection:
        await connection.execute("RESET ROLE; ANALYZE")  # what autovacuum does within a minute of such a load


def page_of(title: str) -> Page:
    """Return a page of one section, with an alias beside its title."""
    first, last = title.split()
    aliases = tuple(Alias(alias_key(one), one, "import") for one in (title, f"{first[:1]}. {last}"))
    sections = (Section("overview", "Overview", f"{title} is known for many things."),)
    return Page(
        PageKey(PageType.ENTITY, slug(title)), title, f"{title}, of the bench.", aliases=aliases, sections=sections
    )


def journal(
    titles: list[str], count: int, *, new_share: float = 0.02, seed: int = 2
) -> tuple[list[NewMemory], dict[str, tuple[str, ...]]]:
    """Return memories about one or two of the names each, a few about new ones, and the names each is about."""
    chance = random.Random(seed)
    strangers = names(max(2, round(count * new_share)), seed=99)
    about = {}
    entries = []
    for number in range(count):
        pool = strangers if chance.random() < new_share else titles
        subjects = tuple(dict.fromkeys(chance.choices(pool, k=chance.choice((1, 2)))))
        about[f"b{number:06}"] = subjects
        text = f"{' and '.join(subjects)} {chance.choice(DEEDS)} on day {number}, {chance.choice(DEEDS)} the day after."
        entries.append(NewMemory(text, f"b{number:06}", NOW - timedelta(minutes=count - number)))
    return entries, about


async def retain(pools: Pools, scope: Scope, entries: list[NewMemory]) -> None:
    """Write the memories."""
    for start in range(0, len(entries), _AT_ONCE):
        async with scoped(pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
            await memories.retain(connection, scope, entries[start : start + _AT_ONCE], now=NOW)
