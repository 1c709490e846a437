"""A small wiki for tests: a city with its restaurants listed under it, a person, and a held name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from compiler.plan.contract import (
    Aggregation,
    Alias,
    CitedMemory,
    CreatePage,
    HoldMention,
    Item,
    LinkKind,
    LinkOrigin,
    Mention,
    Page,
    PageKey,
    PageType,
    PromotionStatus,
    Section,
    SetHubness,
    Sighting,
    Tag,
    WriteLink,
)
from compiler.state.operator_acts import enact
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import text_hash

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TEXTS = {
    "m1": "Ate a beef empanada at Casa Lola in Austin.",
    "m2": "Franklin Barbecue in Austin had a two hour line.",
    "m3": "Chef João cooks at Casa Lola now.",
    "m4": "Chef João waved.",
    "m5": "Met chef joao again.",
}
AUSTIN = PageKey(PageType.TOPIC, "austin")
LOLA = PageKey(PageType.ENTITY, "casa-lola")
FRANKLIN = PageKey(PageType.ENTITY, "franklin-barbecue")
JOAO_ID = "chef joao"


def source(memory_id: str) -> CitedMemory:
    """A memory as it is cited."""
    return CitedMemory(memory_id, text_hash(TEXTS[memory_id]))


def small_wiki() -> tuple[Item, ...]:
    """The items that make the wiki."""
    rollup = (
        f"- [**Casa Lola**]({LOLA.path}) — Empanadas in Austin.\n- [**Franklin Barbecue**]({FRANKLIN.path}) — Barbecue."
    )
    restaurants = Section(
        "restaurants",
        "Restaurants",
        rollup,
        (source("m1"), source("m2")),
        (LOLA, FRANKLIN),
        Aggregation((LOLA, FRANKLIN), 2, NOW, NOW, ("food",), PromotionStatus.NONE, 0.2),
    )
    lola = Page(
        LOLA,
        "Casa Lola",
        "Empanadas in Austin.",
        (source("m1"),),
        (Tag("food", (source("m1"),)),),
        (Alias("lola", "Lola", sources=(source("m1"),)),),
        (
            Section(
                "overview", "Overview", f"A beef empanada in [**Austin**]({AUSTIN.path}).", (source("m1"), source("m3"))
            ),
        ),
    )
    franklin = Page(
        FRANKLIN, "Franklin Barbecue", "Barbecue.", (source("m2"),),
        sections=(Section("overview", "Overview", "A two hour line.", (source("m2"),)),),
    )  # fmt: skip
    austin = Page(
        AUSTIN,
        "Austin, Texas",
        "A city in Texas.",
        (source("m1"),),
        aliases=(Alias("atx", "ATX"),),
        sections=(restaurants,),
    )
    links = [
        WriteLink(page, AUSTIN, LinkKind.REFERENCE, LinkOrigin.DETERMINISTIC, "deterministic:city:austin", ref)
        for page, ref in ((LOLA, "m1"), (FRANKLIN, "m2"))
    ]
    planner = WriteLink(LOLA, AUSTIN, LinkKind.REFERENCE, LinkOrigin.PLANNER, "it is there", "m1")
    co_mention = WriteLink(LOLA, FRANKLIN, LinkKind.REFERENCE, LinkOrigin.CO_MENTION, "co_mention:m1", "m1")
    joao = Mention(
        JOAO_ID, "Chef João", PageType.ENTITY,
        tuple(
            Sighting(source(memory_id), TEXTS[memory_id], NOW - timedelta(days=day))
            for memory_id, day in (("m3", 9), ("m4", 5), ("m5", 1))
        ),
    )  # fmt: skip
    return (
        CreatePage(lola), CreatePage(franklin), CreatePage(austin), *links, planner, co_mention, HoldMention(joao),
        SetHubness(AUSTIN, 2),
    )  # fmt: skip


async def put_wiki(pools: Pools, scope: Scope) -> None:
    """Write the memories and the wiki."""
    async with scoped(pools.background, scope) as connection:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
        new = [NewMemory(text, memory_id, occurred_at=NOW) for memory_id, text in TEXTS.items()]
        await memories.retain(connection, scope, new, now=NOW)
        await enact(connection, scope, small_wiki(), now=NOW)
