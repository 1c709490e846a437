"""What is not worth its tokens stays out, whatever room is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from models.embedding.minilm import MiniLM
from sidecar.turn.candidates import Features
from sidecar.turn.fitting.fitting import Fitted, fit
from sidecar.turn.items import Decision, Item, Source, Zone
from sidecar.turn.message.reading import MessageReading
from sidecar.turn.profile import Profile
from sidecar.turn.ranking.worth import (
    RULES,
    Spend,
    asking,
    estimated_tokens,
    message_features,
    message_score,
    recall_features,
    worths,
)
from sidecar.turn.receipt import receipt
from tests.support.turn import turn_laws as laws
from tests.support.turn.turn_cases import METER, a_fitting, a_profile, a_turn, an_item, kept_ids

GOOD = an_item("good", "Anna moved to Lisbon in May", relevance=0.4)
POOR = an_item("poor", "Bruno walks in the rain with his dog", relevance=0.0001)
BALANCED = a_profile(spend="balanced")


def fitted_with(*items: Item, profile: Profile = BALANCED, reading: MessageReading | None = None) -> Fitted:
    return fit(replace(a_fitting(*items, profile=profile), reading=reading), METER)


def worth(relevance: float, text: str, holds: float = 1.0) -> float:
    (told,) = worths([relevance], [text], [holds])
    return told


def reasons(result: Fitted) -> dict[str, str]:
    return {fate.item.id: fate.reason for fate in result.fates if fate.decision is Decision.BELOW_WORTH}


@pytest.mark.parametrize("allocation", ["priority", "pooled"])
def test_item_not_worth_its_tokens_is_left_out_with_its_number(allocation: str) -> None:
    result = fitted_with(GOOD, POOR, profile=a_profile(spend="balanced", allocation=allocation))
    assert kept_ids(result) == ["good"]
    assert reasons(result) == {"poor": f"its worth of {worth(0.0001, POOR.text):.6f} is below 0.00032"}


def test_full_spend_includes_all_that_fits_and_seed_order_is_literal() -> None:
    assert set(kept_ids(fitted_with(GOOD, POOR, profile=a_profile(spend="full")))) == {"good", "poor"}
    literal = a_profile(spend="frugal", allocation="seed_order")
    assert set(kept_ids(fitted_with(GOOD, POOR, profile=literal))) == {"good", "poor"}


def test_floor_is_for_items_worth_their_tokens() -> None:
    profile = a_profile(spend="balanced", sources={"memory": {"floor_tokens": 500}})
    assert kept_ids(fitted_with(POOR, profile=profile)) == []


def test_the_judgement_is_the_same_in_every_pool() -> None:
    for budget in (64, 200, 5_000):
        assert reasons(fitted_with(GOOD, POOR, profile=a_profile(spend="balanced", budget_tokens=budget))).keys() == {
            "poor"
        }


def test_workspace_files_and_sources_without_relevances_are_not_judged() -> None:
    file = an_item("file", "House rules", Source.WORKSPACE, relevance=0.00001)
    unjudged = an_item("tool", "An answer of a tool", Source.TOOLS, relevance=0.0)
    assert set(kept_ids(fitted_with(file, unjudged))) == {"file", "tool"}


@pytest.mark.parametrize("source", [Source.MEMORY, Source.KNOWLEDGE, Source.WIKI, Source.THREAD])
def test_source_all_of_whose_judged_relevances_round_to_nothing_gives_nothing(source: Source) -> None:
    judged = [an_item(f"item{n}", f"Text {n}", source, relevance=0.0) for n in range(3)]
    judged = [item._replace(features=Features(holds=0.0001)) for item in judged]
    assert kept_ids(fitted_with(GOOD, *judged)) == ["good"]


def test_a_message_that_asks_for_nothing_gets_nothing_but_workspace_files() -> None:
    file = an_item("file", "House rules", Source.WORKSPACE, relevance=0.3)
    reading = MessageReading(("Thanks!",), asks=0.01)
    result = fitted_with(GOOD, file, reading=reading)
    assert kept_ids(result) == ["file"]
    assert reasons(result)["good"].startswith("the message asks for nothing here: 0.010")
    assert fitted_with(GOOD, reading=reading).has_found_nothing
    assert kept_ids(fitted_with(GOOD, reading=reading, profile=a_profile(spend="full"))) == ["good"]


@pytest.mark.parametrize("source", [Source.MEMORY, Source.KNOWLEDGE])
def test_where_no_answer_is_to_be_expected_less_is_worth_it(source: Source) -> None:
    item = an_item("item", "Anna moved to Lisbon in May", source, relevance=0.003)
    assert kept_ids(fitted_with(item)) == ["item"]
    assert kept_ids(fitted_with(item._replace(features=Features(holds=0.1)))) == []


def test_less_is_worth_it_the_less_likely_the_message_asks_for_anything() -> None:
    sure, doubtful = (MessageReading(("How are you doing?",), asks=asks) for asks in (1.0, 0.25))
    item = an_item("item", "Carla keeps bees in Porto", relevance=0.003)
    assert kept_ids(fitted_with(GOOD, item, reading=sure)) == ["good", "item"]
    assert kept_ids(fitted_with(GOOD, item, reading=doubtful)) == ["good"]


def test_replay_with_full_spend_shows_the_items_left_out() -> None:
    question = replace(a_fitting(GOOD, POOR, profile=BALANCED), reading=MessageReading(("Where?",), asks=0.05))
    result = fit(question, METER)
    assert kept_ids(result) == []
    details, texts = receipt.write(laws.ASKED, question, result)
    again = receipt.replay(details, texts, fence_tag=question.fence_tag)
    assert fit(again, METER).fates == result.fates
    full = replace(again, profile=a_profile(spend="full"))
    assert set(kept_ids(fit(full, METER))) == {"good", "poor"}


def test_receipts_of_earlier_releases_are_replayed_in_full() -> None:
    question = a_fitting(GOOD, POOR, profile=a_profile(spend="full"))
    details, texts = receipt.write(laws.ASKED, question, fit(question, METER))
    knobs = {
        name: value for name, value in details["profile"]["knobs"].items() if name not in {"spend", "thread_summary"}
    }
    old = {**details, "profile": {**details["profile"], "knobs": knobs}, "reading": None}
    assert set(kept_ids(fit(receipt.replay(old, texts, fence_tag=question.fence_tag), METER))) == {"good", "poor"}


def test_recall_is_bounded_by_default_and_the_last_exchange_by_the_window_alone() -> None:
    many = [an_item(f"m{n}", f"fact{n} " * 100, relevance=0.9) for n in range(120)]
    question = a_fitting(*many, history=(a_turn(1, "user", "long " * 20_000),), profile=BALANCED)
    result = fit(replace(question, window_tokens=400_000), METER)
    recalled = sum(block.tokens for block in result.rendering.blocks if block.zone is Zone.VOLATILE)
    most = RULES[Spend.BALANCED].recall_tokens
    assert 0.9 * most < recalled <= most
    assert not result.is_exchange_cut
    assert result.rendering.tokens > 20_000


def recalled(*items: Item, leaning: float, **knobs: Any) -> list[Item]:
    reading = MessageReading(("and the second one?",), leaning=leaning)
    result = fitted_with(*items, profile=a_profile(**{"spend": "balanced"} | knobs), reading=reading)
    return [fate.item for fate in result.fates if fate.form]


def test_message_that_leans_on_its_thread_recalls_less_the_further_it_leans() -> None:
    judged = Features(holds=0.8)
    many = [an_item(f"m{n}", f"fact{n} " * 100, relevance=0.5 - n / 1000, features=judged) for n in range(120)]
    kept = {leaning: recalled(*many, leaning=leaning) for leaning in (0.0, 0.5, 1.0)}
    taken = {leaning: estimated_tokens([item.text for item in items]).sum() for leaning, items in kept.items()}
    rule = RULES[Spend.BALANCED]
    assert 0.9 * rule.follow_up_tokens < taken[1.0] <= rule.follow_up_tokens
    assert rule.follow_up_tokens < taken[0.5] <= rule.judged_tokens(0.5) < taken[0.0]
    assert {item.id for item in kept[1.0]} == {f"m{n}" for n in range(len(kept[1.0]))}
    assert recalled(*many, leaning=1.0, spend="full") == recalled(*many, leaning=0.0, spend="full")


def test_item_beyond_a_follow_ups_bound_is_refused_with_the_bound() -> None:
    items = [an_item(f"m{n}", f"fact{n} " * 900, relevance=0.4, features=Features(holds=1.0)) for n in range(3)]
    result = fitted_with(*items, reading=MessageReading(("why?",), leaning=1.0))
    reason = "past the 3000 tokens that a message leaning 1.00 on its thread may recall"
    assert [*reasons(result).values()] == [reason]


def test_follow_up_keeps_workspace_files_and_unjudged_items() -> None:
    judged = [an_item(f"m{n}", f"fact{n} " * 100, relevance=0.5, features=Features(holds=1.0)) for n in range(40)]
    file = an_item("file", "rule " * 2_000, Source.WORKSPACE, relevance=0.00001, features=Features(holds=1.0))
    tool = an_item("tool", "answer " * 1_500, Source.TOOLS, relevance=0.0)
    assert {"file", "tool"} <= {item.id for item in recalled(*judged, file, tool, leaning=1.0)}


def test_turns_of_the_window_use_nothing_of_a_follow_ups_bound() -> None:
    judged = Features(holds=1.0)
    turns = [a_turn(n, "user", f"said{n} " * 400) for n in range(1, 5)]
    said = [an_item(turn.id, turn.text, Source.THREAD, relevance=0.9, features=judged) for turn in turns]
    told = [an_item(f"m{n}", f"fact{n} " * 100, relevance=0.3, features=judged) for n in range(12)]
    reading = MessageReading(("and why?",), leaning=1.0)
    question = a_fitting(*said, *told, profile=a_profile(spend="balanced"), history=turns, window_tokens=64_000)
    kept = kept_ids(fit(replace(question, reading=reading), METER))
    assert {*kept} == {item.id for item in told}
    assert len(recalled(*told, *said, leaning=1.0)) < len(told)


def test_turns_before_the_recent_ones_count_towards_a_follow_ups_bound() -> None:
    turns = [a_turn(n, "user", f"said{n} " * 400) for n in range(1, 40)]
    found = [an_item(one.id, one.text, Source.THREAD, relevance=0.9, features=Features(holds=1.0)) for one in turns]
    question = a_fitting(*found, profile=a_profile(spend="balanced"), history=turns, window_tokens=64_000)
    result = fit(replace(question, reading=MessageReading(("and why?",), leaning=1.0)), METER)
    taken = estimated_tokens([fate.item.text for fate in result.fates if fate.form]).sum()
    assert 0 < taken <= RULES[Spend.BALANCED].follow_up_tokens + question.profile.history_tail_tokens


def test_worth_is_relevance_times_holds_over_the_root_of_the_tokens() -> None:
    assert worth(0.3, "x" * 400) == pytest.approx(0.03)
    assert worth(0.3, "x" * 400, 0.5) == pytest.approx(0.03 / 2)
    assert worth(0.3, "") == worth(0.3, "x" * 16)


def test_recall_is_described_by_its_best_relevances_and_their_sum() -> None:
    told = recall_features([0.1, 0.5, 0.2], 0.7, 0.5)
    assert told["best"] == pytest.approx(0.0)
    assert told["fifth"] == told["best"], "of fewer than five"
    assert recall_features([0.1, 0.5, 0.2, 0.3, 0.4], 0.0, 0.0)["fifth"] == pytest.approx(-2.1972, abs=1e-3)
    assert told["likeness"] == 0.5
    assert told["leaning_sum"] == pytest.approx(told["sum"] / 2)
    assert 0 <= asking(35.0, [], 0.0, 0.0, has_vector=True) <= 1


@pytest.mark.parametrize(
    "text", ["自転車はいくらでしたか。", "你去过里斯本吗", "어디에 갔습니까", "คุณไปลิสบอนไหม", "Where is it?"]
)
def test_question_is_known_by_its_particle_where_no_mark_need_stand(text: str) -> None:
    assert message_features(text)["is_question"] == 1.0


@pytest.mark.parametrize("text", ["ありがとう。", "谢谢", "Where it is I do not know.", "か月前のこと", ""])
def test_statement_with_no_mark_and_no_particle_is_no_question(text: str) -> None:
    assert message_features(text)["is_question"] == 0.0


def test_a_year_is_no_sum() -> None:
    assert message_features("did he win anything in 1985")["digits"] == 0.0
    assert message_features("was war am 3.10.2026, am 3.10. und 2026-10-03?")["digits"] == 0.0
    assert message_features("17*23")["digits"] == 0.8
    assert message_features("1.5")["digits"] == 2 / 3
    assert message_features("19853 + 1985")["digits"] == 5 / 12


@pytest.mark.parametrize("code", ["BA-17", "P16", "4B", "WA-55120", "covid-19", "Ä12/C3", "HbA1c"])
def test_a_code_is_no_sum(code: str) -> None:
    assert message_features(f"What do I know about {code}?")["digits"] == 0.0


@pytest.mark.parametrize("text", ["What is 17*23?", "3x4", "5km to miles", "25たす17は？", "7pm in 24h", "3 B"])
def test_a_sum_or_an_amount_is_no_code(text: str) -> None:
    digits = sum(map(str.isdigit, text))
    assert message_features(text)["digits"] == digits / len(text)


@pytest.mark.parametrize(
    "text",
    ["did he win anything in 1985", "o que disse a minha irmã sobre o casamento"],
)
def test_a_question_without_a_mark_asks_more_than_small_talk_does(text: str) -> None:
    vectors = MiniLM().encode([text, "Thanks a lot!"]).tolist()
    asked, thanked = (message_score(*one) for one in zip((text, "Thanks a lot!"), vectors, strict=True))
    assert asked > 1.0
    assert thanked < 0.0


def test_a_vector_counts_less_the_less_the_embedder_knows_the_language() -> None:
    (vector,) = MiniLM().encode(["Wer ist mein Trauzeuge?"]).tolist()
    known, half, unknown = (message_score("Wer ist mein Trauzeuge?", vector, blind) for blind in (0.0, 0.5, 1.0))
    assert unknown == message_score("Wer ist mein Trauzeuge?", None)
    assert half == pytest.approx((known + unknown) / 2)


def test_a_memory_like_the_message_makes_it_likelier_that_the_message_asks() -> None:
    unlike, like, more, most = (asking(-1.0, [0.3], one, 0.0, has_vector=True) for one in (-0.4, 0.2, 0.5, 0.9))
    assert asking(-1.0, [0.3], 0.0, 0.0, has_vector=True) == unlike < like < more == most


def test_much_that_the_thread_brings_does_not_show_that_the_message_asks() -> None:
    alone, leaning = (asking(-1.0, [0.9] * 5, 0.0, far, has_vector=True) for far in (0.0, 1.0))
    assert leaning < alone


@pytest.mark.parametrize("word", ["and", "what's", "obrigada", "哈哈"])
def test_a_word_repeated_many_times_asks_for_no_more_than_once(word: str) -> None:
    once, often = message_features(word), message_features(f"{word} " * 200)
    assert [often[name] for name in ("words", "telling", "telling_share", "length")] == [
        once[name] for name in ("words", "telling", "telling_share", "length")
    ]
    assert message_score(f"{word} " * 200, None) < 0
