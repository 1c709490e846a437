"""An operator's acts as items: nothing leads to a page that goes, and a promotion is taken back whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from compiler.plan import upkeep
from compiler.plan.contract import (
    Aggregation,
    ArchivePage,
    CitedMemory,
    DeletePage,
    EndMemory,
    EndReason,
    HoldMention,
    Item,
    LinkOrigin,
    Mention,
    Page,
    PageKey,
    PageType,
    PromotionStatus,
    RemoveSection,
    Section,
    SetParent,
    Sighting,
    TitlePage,
    WriteLink,
    WriteSummary,
)
from compiler.plan.upkeep import ActRefused
from compiler.state.reducer import RemainingCaps, fold

HUB = PageKey(PageType.TOPIC, "austin")
FOOD = PageKey(PageType.TOPIC, "austin-restaurants")
LOLA = PageKey(PageType.ENTITY, "casa-lola")
SUERTE = PageKey(PageType.ENTITY, "suerte")
Act = Callable[[Page, Mapping[PageKey, Page]], tuple[Item, ...]]
NO_LIMITS = RemainingCaps(1_000, 1_000)


def leaf(key: PageKey, title: str) -> Page:
    return Page(key, title, f"{title} in Austin.")


def wiki() -> dict[PageKey, Page]:
    """A hub whose restaurants were promoted, the promoted page, and two places that it lists."""
    promoted = Aggregation((LOLA, SUERTE), 2, promotion_status=PromotionStatus.PROMOTED, promoted_page=FOOD)
    stub = Section(
        "restaurants", "Restaurants", f"Good food.\n\nSee: [Food]({FOOD.path})", (), (LOLA, SUERTE), promoted
    )
    hub = Page(HUB, "Austin", "A city.", sections=(stub,))
    food = Page(FOOD, "Food", "Restaurants.", parent=HUB)
    lola = replace(
        leaf(LOLA, "Casa Lola"),
        sections=(Section("notes", "Notes", f"Part of [**Food**]({FOOD.path}) in [**Austin**]({HUB.path})."),),
    )
    return {HUB: hub, FOOD: food, LOLA: lola, SUERTE: leaf(SUERTE, "Suerte")}


def test_every_memory_that_an_item_names_counts_as_cited() -> None:
    one, other = CitedMemory("m1", b"1"), CitedMemory("m2", b"2")
    seen = Mention("lola", "Lola", sightings=(Sighting(other, "Lola waved.", datetime(2026, 3, 1, tzinfo=UTC)),))
    of_item: dict[Item, set[str]] = {
        WriteSummary(LOLA, "A bar.", (one,)): {"m1"},
        TitlePage(LOLA, "Lola", (other,)): {"m2"},
        HoldMention(seen): {"m2"},
        EndMemory(one, other, EndReason.CORRECTED, "no more"): {"m1", "m2"},
        RemoveSection(LOLA, "notes"): set(),
    }
    for item, cited in of_item.items():
        assert upkeep.cited([item]) == cited


def after(pages: dict[PageKey, Page], items: tuple[Item, ...]) -> dict[PageKey, Page]:
    folded = fold(pages, items, NO_LIMITS)
    assert folded.taken == len(items)
    return dict(folded.pages)


def test_undoing_a_promotion_removes_its_page_links_and_list() -> None:
    items = upkeep.undo(wiki()[HUB], "restaurants", wiki())
    assert items[:2] == (SetParent(FOOD, None), ArchivePage(FOOD))
    stands = after(wiki(), items)
    section = stands[HUB].sections[0]
    assert section.body_md == (
        f"- [**Casa Lola**]({LOLA.path}) — Casa Lola in Austin.\n- [**Suerte**]({SUERTE.path}) — Suerte in Austin."
    )
    assert section.aggregation is not None
    assert section.aggregation.promotion_status is PromotionStatus.SUPPRESSED
    assert section.aggregation.promoted_page is None
    assert (stands[FOOD].is_active, stands[FOOD].parent) == (False, None)
    assert stands[LOLA].sections[0].body_md == f"Part of **Food** in [**Austin**]({HUB.path})."
    assert upkeep.undo(stands[HUB], "restaurants", stands) == ()


@pytest.mark.parametrize(
    "act", [upkeep.archive, upkeep.delete, lambda _, pages: upkeep.undo(pages[HUB], "restaurants", pages)]
)
def test_list_that_is_restored_has_its_links_again(act: Act) -> None:
    pages = wiki()
    links = [item for item in act(pages[FOOD], pages) if isinstance(item, WriteLink)]
    assert [(one.source, one.target, one.origin) for one in links] == [
        (HUB, LOLA, LinkOrigin.ROLLUP),
        (HUB, SUERTE, LinkOrigin.ROLLUP),
    ]


def test_archiving_a_promoted_page_removes_its_promotion() -> None:
    stands = after(wiki(), upkeep.archive(wiki()[FOOD], wiki()))
    aggregation = stands[HUB].sections[0].aggregation
    assert aggregation is not None
    assert (aggregation.promoted_page, aggregation.promotion_status) == (None, PromotionStatus.SUPPRESSED)
    assert LOLA in stands[HUB].sections[0].children
    assert (stands[FOOD].is_active, stands[FOOD].parent) == (False, None)


@pytest.mark.parametrize("act", [upkeep.archive, upkeep.delete])
def test_section_is_restored_to_a_list_when_its_page_is_archived(act: Act) -> None:
    pages = wiki()
    stub = replace(pages[HUB].sections[0], children=())
    pages[HUB] = replace(pages[HUB], sections=(stub,))
    section = after(pages, act(pages[FOOD], pages))[HUB].sections[0]
    assert section.children == (LOLA, SUERTE)
    assert section.body_md == (
        f"- [**Casa Lola**]({LOLA.path}) — Casa Lola in Austin.\n- [**Suerte**]({SUERTE.path}) — Suerte in Austin."
    )


def test_removed_page_leaves_every_list() -> None:
    pages = wiki()
    rollup = replace(
        pages[HUB].sections[0],
        body_md="old",
        aggregation=Aggregation((LOLA, SUERTE), 2),
    )
    pages[HUB] = replace(pages[HUB], sections=(rollup,))
    section = after(pages, upkeep.archive(pages[LOLA], pages))[HUB].sections[0]
    assert (section.children, section.body_md) == ((SUERTE,), f"- [**Suerte**]({SUERTE.path}) — Suerte in Austin.")
    assert section.aggregation is not None
    assert section.aggregation.linked_pages == (SUERTE,)


def test_deleted_hub_releases_its_children_first() -> None:
    items = upkeep.delete(wiki()[HUB], wiki())
    assert items[0] == SetParent(FOOD, None)
    assert items[-1] == DeletePage(HUB)


def test_section_that_cannot_be_promoted_cannot_be_suppressed_or_undone() -> None:
    pages = wiki()
    plain = replace(pages[HUB].sections[0], aggregation=Aggregation((LOLA,), 1))
    for page, slug, act in (
        (pages[LOLA], "notes", upkeep.suppress),
        (pages[HUB], "nothing", upkeep.suppress),
        (pages[HUB], "restaurants", upkeep.suppress),
        (replace(pages[HUB], is_active=False), "restaurants", upkeep.suppress),
        (replace(pages[HUB], sections=(plain,)), "restaurants", lambda one, slug: upkeep.undo(one, slug, pages)),
    ):
        with pytest.raises(ActRefused):
            act(page, slug)


def test_name_is_stored_as_written_and_compared_case_folded() -> None:
    item, _ = upkeep.name(wiki()[LOLA], "  Lola's   Café ")
    alias = item.alias  # type: ignore[union-attr]
    assert (alias.key, alias.display, alias.origin) == ("lola's cafe", "Lola's Café", "manual")
    with pytest.raises(ActRefused):
        upkeep.name(wiki()[LOLA], "\u0301")


@pytest.mark.parametrize("display", ["", " ", "\u200b\u200d", "\u3164", "\u2800", "\u202e\u202c", "…!"])
def test_name_without_visible_characters_is_refused(display: str) -> None:
    with pytest.raises(ActRefused):
        upkeep.name(leaf(LOLA, "Casa Lola"), display)
    assert upkeep.name(leaf(LOLA, "Casa Lola"), f"{display}東京")
