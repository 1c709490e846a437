"""What changes, promotes and ranks: arithmetic with golden figures."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from compiler.plan.contract import PageKey, PageType, PromotionStatus
from compiler.plan.judging import promotion
from compiler.plan.judging.promotion import Signals
from compiler.plan.text import rollup
from compiler.plan.text.change import is_meaningful, shares_content
from tests.support.compiler.plan_cases import page

GOLDEN = Signals(linked_pages=15, supporting_records=20, spread_days=30)
NONE = Signals(0, 0, 0)


def test_fifteen_children_twenty_records_thirty_days_make_a_section_ready() -> None:
    assert promotion.score(GOLDEN) == 0.554
    assert promotion.label(promotion.score(GOLDEN)) == "promote_ready"


@pytest.mark.parametrize(
    ("signals", "score"),
    [
        (replace(NONE, linked_pages=20), 0.25),
        (replace(NONE, supporting_records=30), 0.25),
        (replace(NONE, spread_days=30), 0.2),
        (replace(NONE, tag_overlap=1), 0.15),
        (replace(NONE, body_chars=1800), 0.15),
        (replace(NONE, body_chars=1200), 0.1),
        (Signals(200, 300, 3000, 9, 99_999), 1.0),
        (Signals(-1, -1, -1, -1, -1), 0.0),
    ],
)
def test_each_signal_has_its_weight_and_limit(signals: Signals, score: float) -> None:
    assert promotion.score(signals) == score


@pytest.mark.parametrize(
    ("status", "score", "after"),
    [
        (PromotionStatus.NONE, 0.549, PromotionStatus.NONE),
        (PromotionStatus.NONE, 0.55, PromotionStatus.CANDIDATE),
        (PromotionStatus.CANDIDATE, 0.4, PromotionStatus.NONE),
        (PromotionStatus.PROMOTED, 0.0, PromotionStatus.PROMOTED),
        (PromotionStatus.SUPPRESSED, 0.9, PromotionStatus.SUPPRESSED),
    ],
)
def test_section_becomes_a_candidate_at_the_threshold_and_promotion_is_permanent(
    status: PromotionStatus, score: float, after: PromotionStatus
) -> None:
    assert promotion.status_after(status, score) is after


def test_lower_threshold_only_shows_a_section() -> None:
    assert [promotion.label(score) for score in (0.399, 0.4, 0.55)] == ["none", "candidate", "promote_ready"]
    assert promotion.status_after(PromotionStatus.NONE, 0.4) is PromotionStatus.NONE


def test_tag_overlap_is_the_share_of_children_with_a_tag_of_the_section() -> None:
    assert promotion.tag_overlap(["BBQ"], [["bbq", "food"], ["sushi"], [], ["Bbq"]]) == 0.5
    assert promotion.tag_overlap([], [["bbq"]]) == promotion.tag_overlap(["bbq"], []) == 0


def test_spread_counts_fractions_of_days() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert promotion.spread_days(start, start + timedelta(hours=36)) == 1.5
    assert promotion.spread_days(None, start) == 0


def test_rollup_lists_children_with_their_first_sentences() -> None:
    franklin = page("Franklin Barbecue", summary="BBQ joint in Austin, TX. Long queue.")
    daisho = page("Momofuku Daishō")
    assert rollup.render([franklin, daisho]) == (
        "- [**Franklin Barbecue**](/wiki/entity/franklin-barbecue) — BBQ joint in Austin, TX.\n"
        "- [**Momofuku Daishō**](/wiki/entity/momofuku-daisho)"
    )


def test_a_hostile_title_cannot_break_out_of_its_bullet() -> None:
    assert rollup.line(page("a](x) **b**")).count("](") == 2
    assert r"[**a\](x) \*\*b\*\***](/wiki/entity/a-x-b)" in rollup.line(page("a](x) **b**"))


def test_rest_of_a_promoted_section_links_to_its_page() -> None:
    stub = rollup.stub(
        "Good food.", ["- Uchi", " "], title="Austin Food", promoted=PageKey(PageType.TOPIC, "austin-food")
    )
    assert stub == "Good food.\n\n- Uchi\n\nSee: [Austin Food](/wiki/topic/austin-food)"


LONG = "The flat is on the third floor and the rent is due on the eighth of every month, no shoes after ten. " * 3


@pytest.mark.parametrize(
    ("existing", "proposed", "expected"),
    [
        ("", "anything", True),
        ("anything", "", False),
        ("same  words", "same words", False),
        (LONG + "Rent is 1,350 euros.", LONG + "Rent is 1,450 euros.", True),
        (LONG + "Met Maria.", LONG + "Met Marta.", True),
        (LONG + "It opened in 2009.", LONG + "It opened in 2008.", True),
        (LONG + "a little loud", LONG + "a bit loud", False),
        ("short and sweet", "long and bitter", True),
        ("**Uchi** is good", "[**Uchi**](/wiki/entity/uchi) is good", False),
    ],
)
def test_changed_fact_counts_as_a_change_and_a_reworded_line_does_not(
    existing: str, proposed: str, expected: bool
) -> None:
    assert is_meaningful(existing, proposed) is expected


def test_citation_without_a_shared_word_is_reported() -> None:
    assert shares_content("The rent is 1,350 euros", "Paid the rent")
    assert not shares_content("Weather in Austin", "CRM pages were moved")
    assert shares_content("東京に行った", "東京に行った")
