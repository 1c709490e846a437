"""Bounds of the plan that nothing else meets: thresholds, what is never overwritten, what is never its own ancestor."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.citing import united
from compiler.plan.contract import (
    CreatePage,
    HoldMention,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    WriteLink,
    WriteSummary,
)
from compiler.plan.judging import aggregation, leaf
from compiler.plan.names import lookup
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import HeldName, PageUpdate, Proposal, ProposedLink
from compiler.plan.text import change, markdown
from tests.support.compiler.plan_cases import batch, memory, new_page, page, source
from tests.unit.compiler.plan.judging.test_aggregation_judging import (
    AUSTIN,
    CITY,
    asking,
    evidence,
    places,
    ready,
    reasons,
    written,
)

WORDS = tuple(f"word{chr(97 + at)}" for at in range(20))
SAID = memory("m1", "Ada Byron wrote about engines.")


def decided(proposal: Proposal, *pages: Page) -> PlanDecision:
    return leaf.decide(LeafBatch((SAID,), pages), proposal, Matches())


@pytest.mark.parametrize(("lost", "is_change"), [(1, False), (2, True)])
def test_change_of_more_than_a_twentieth_of_the_words_counts(lost: int, *, is_change: bool) -> None:
    assert change.is_meaningful(" ".join(WORDS), " ".join(WORDS[:-lost])) is is_change


def test_memory_cited_again_is_cited_at_its_latest_version() -> None:
    assert united([source("m1", "old"), source("m2")], [source("m1", "new")]) == (source("m1", "new"), source("m2"))


def test_section_is_not_promoted_to_an_ancestor_even_an_archived_one() -> None:
    children = places(15)
    texas = PageKey(PageType.TOPIC, "texas")
    view = AggregationView((ready(children), *children), (CITY,), evidence=evidence(20, 30), parents={AUSTIN: texas})
    decision = aggregation.decide(view, Proposal(section_promotions=(asking(AUSTIN, "Texas"),)), Matches())
    assert reasons(decision) == ["promoted_page_exists"]


def test_promoted_section_keeps_five_highlights() -> None:
    children = places(15)
    asked = replace(asking(AUSTIN, "Austin Restaurants"), highlights=tuple(f"place {at}" for at in range(9)))
    view = AggregationView((ready(children), *children), (CITY,), evidence=evidence(20, 30))
    decision = aggregation.decide(view, Proposal(section_promotions=(asked,)), Matches())
    assert written(decision)["restaurants"].body_md.count("- place") == 5


def test_unproven_name_is_not_held() -> None:
    decision = decided(Proposal(mentions=(HeldName("Charles", None, "", ()), HeldName("Ada", None, "", ("m9",)))))
    assert not [item for item in decision.items if isinstance(item, HoldMention)]
    assert reasons(decision) == ["mention_without_sources", "unknown_memory", "mention_without_sources"]


def test_a_page_is_not_linked_to_itself() -> None:
    ada = page("Ada Byron")
    decision = decided(Proposal(links=(ProposedLink(ada.key, ada.key),)), ada)
    assert not [item for item in decision.items if isinstance(item, WriteLink)]
    assert reasons(decision) == ["link_to_itself"]


def test_update_sets_a_missing_summary_and_never_replaces_one() -> None:
    update = PageUpdate(PageKey(PageType.ENTITY, "ada-byron"), summary="Wrote.", memory_ids=("m1",))
    for standing, summaries in (("", ["Wrote."]), ("A countess.", [])):
        decision = decided(Proposal(updates=(update,)), page("Ada Byron", summary=standing))
        assert [item.summary for item in decision.items if isinstance(item, WriteSummary)] == summaries


def test_slug_has_at_most_eighty_characters() -> None:
    assert len(markdown.slug("long name " * 40)) <= 80
    (made,) = [
        item.page.key.slug
        for item in leaf.decide(batch(SAID), Proposal(new_pages=(new_page("long " * 90, "b", "m1"),)), Matches()).items
        if isinstance(item, CreatePage)
    ]
    assert len(made) <= 80


def test_pages_shown_to_a_model_fit_the_token_budget() -> None:
    pages = [page(f"Page {at}") for at in range(10)]
    sought = lookup.names_in([memory("m1", "Page 3 and Page 7.")])
    cost = len(lookup.outline(pages[0]))
    shown = lookup.choose(pages, sought, budget_tokens=3 * cost, count=len)
    assert len(shown) == 3
    assert {pages[3].key, pages[7].key} <= {one.key for one in shown}
