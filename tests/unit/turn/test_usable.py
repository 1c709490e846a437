"""No single item fails a turn: what cannot be used falls with its reason, and everything else is as without it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

import pytest

from sidecar.runtime.errors import PoolTooSmall
from sidecar.turn.fitting.fitting import SUMMARY_ID, Fitted, Fitting, fit
from sidecar.turn.items import Decision, HistorySummary, Source
from sidecar.turn.receipt import receipt
from sidecar.turn.usable import decide
from tests.support.turn import turn_laws as laws
from tests.support.turn.turn_cases import METER, PieceMeter, a_fitting, a_turn, an_item, grown, kept_ids


class TouchyMeter(PieceMeter):
    """Fails to count any text with POISON in it, and two texts at once that hold ACID and BASE."""

    def count(self, texts: Sequence[str]) -> list[int]:
        if any("POISON" in text for text in texts):
            raise ValueError("exceeds the limit")
        joined = "".join(texts)
        if "ACID" in joined and "BASE" in joined:
            raise ZeroDivisionError
        return super().count(texts)


TOUCHY = TouchyMeter()
ITEMS = [an_item(word, f"the {word} is sound") for word in ("lantern", "orchard", "kitchen", "zebra", "umbrella")]


def unusable(result: Fitted) -> dict[str, str]:
    fell = {told.item.id: told.reason for told in result.fates if told.decision is Decision.UNUSABLE}
    return fell | {told.turn.id: told.reason for told in result.turn_fates if told.decision is Decision.UNUSABLE}


def decided(question: Fitting) -> Fitted:
    return decide(question, None, TOUCHY)[1]


@pytest.mark.parametrize("count", [1, 2, 9])
def test_uncountable_items_are_dropped_and_the_others_stay(count: int) -> None:
    bad = [an_item(f"bad{number}", f"POISON {number}", Source.KNOWLEDGE) for number in range(count)]
    result = decided(a_fitting(*ITEMS, *bad))
    assert unusable(result) == dict.fromkeys([item.id for item in bad], "using it failed with ValueError")
    without = fit(a_fitting(*ITEMS), METER)
    assert result.rendering == without.rendering
    assert sum(share.dropped_count for share in result.shares) == count


def test_uncountable_summary_and_turns_are_dropped_and_their_neighbours_stay() -> None:
    turns = (a_turn(1, "user", "hello"), a_turn(2, "assistant", "POISON", tokens=9), a_turn(3, "user", "bye"))
    question = a_fitting(*ITEMS, history=turns, summary=HistorySummary("POISON", 0), budget_tokens=2_000)
    long = replace(question, history=(*turns, a_turn(4, "user", "long POISON " * 500, tokens=4_000)))
    result = decided(long)
    assert unusable(result).keys() == {SUMMARY_ID, "turn:4"}
    assert [message.turn_id for message in result.rendering.messages] == ["turn:1", "turn:2", "turn:3"]


def test_one_of_two_incompatible_items_stays() -> None:
    result = decided(a_fitting(an_item("one", "ACID drops"), *ITEMS, an_item("other", "BASE line", Source.WIKI)))
    assert list(unusable(result)) == ["other"]
    assert {"one", *(item.id for item in ITEMS)} == set(kept_ids(result))


class Moody(tzinfo):
    """A time zone that cannot be asked."""

    def utcoffset(self, moment: datetime | None) -> None:
        raise RuntimeError

    def dst(self, moment: datetime | None) -> None:
        raise RuntimeError

    def tzname(self, moment: datetime | None) -> None:
        raise RuntimeError


def test_item_that_cannot_be_sorted_is_dropped() -> None:
    odd = an_item("odd", "said at an odd time", at=datetime(2026, 5, 1, tzinfo=Moody()))
    assert unusable(decided(a_fitting(*ITEMS, odd))) == {"odd": "using it failed with RuntimeError"}


def test_receipt_lists_unusable_items_and_its_replay_is_the_same() -> None:
    turns = (a_turn(1, "user", "POISON " * 99, tokens=99), a_turn(2, "user", "hello"))
    asked = a_fitting(*ITEMS, an_item("bad", "POISON", at=datetime(2026, 5, 1, tzinfo=UTC)), history=turns)
    question, result = decide(replace(asked, summary=HistorySummary("POISON", 1)), None, TOUCHY)
    written, texts = receipt.write(laws.ASKED, question, result)
    read = json.loads(json.dumps(written, allow_nan=False))
    rows = {row["id"]: row["decision"] for source in read["sources"] for row in source["items"]}
    assert rows == {"bad": "unusable"} | {item.id: "kept" for item in ITEMS}
    again = fit(receipt.replay(read, texts, fence_tag=question.fence_tag), METER)
    assert (again.rendering, unusable(again)) == (result.rendering, unusable(result))


def test_pool_that_is_too_small_blames_no_item() -> None:
    with pytest.raises(PoolTooSmall):
        decided(a_fitting(an_item("bad", "POISON"), budget_tokens=10))


def test_failure_without_any_item_is_raised() -> None:
    with pytest.raises(ValueError, match="exceeds"):
        decided(replace(a_fitting(*ITEMS), fence_tag="POISON"))


def test_laws_hold_of_the_remaining_items() -> None:
    for seed in range(20):
        question = grown(seed)
        reports = tuple(
            replace(
                report,
                items=tuple(
                    item._replace(text=f"POISON {item.text}") if place % 3 == seed % 3 else item
                    for place, item in enumerate(report.items)
                ),
            )
            for report in question.reports
        )
        marked, result = decide(replace(question, reports=reports), None, TOUCHY)
        laws.check_tokens(result)
        laws.check_fates(marked, result)
        laws.check_facts(marked, result)
        laws.check_thread(marked, result)
        laws.check_replay(marked, result)
        assert not any("POISON" in block.text for block in result.rendering.blocks)
