"""The same fact once: by id, text, near text and lineage, and never one that differs in what matters."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.turn.fitting import containment
from sidecar.turn.fitting.containment import says
from sidecar.turn.fitting.dedupe import relate
from sidecar.turn.fitting.fitting import Fitted, fit
from sidecar.turn.items import Decision, HistorySummary, Item, Source
from tests.support.turn.turn_cases import METER, a_fitting, a_profile, a_turn, an_item, fitted, kept_ids, text_of

LONG = "The harbour committee agreed to repaint the old lighthouse in white and red before the summer festival starts"
NEAR = (
    "The harbour committee agreed to repaint the old lighthouse in white and red before the summer festival starts up."
)


def knowledge(item_id: str, text: str, **fields: Any) -> Item:
    return an_item(item_id, text, Source.KNOWLEDGE, **fields)


def wiki(item_id: str, text: str, **fields: Any) -> Item:
    return an_item(item_id, text, Source.WIKI, **fields)


def fate(result: Fitted, item_id: str) -> tuple[Decision, str]:
    found = next(fate for fate in result.fates if fate.item.id == item_id)
    return found.decision, found.into


def test_same_text_is_included_once_by_priority() -> None:
    result = fitted(
        an_item("m", "Anna lives in Lisbon.", relevance=0.9), knowledge("k", "anna lives in lisbon", relevance=0.4)
    )
    assert fate(result, "k") == (Decision.KEPT, "")
    assert fate(result, "m") == (Decision.DEDUPED_INTO, "k")
    assert text_of(result).lower().count("lisbon") == 1


def test_equal_priority_is_decided_by_relevance_then_by_id() -> None:
    result = fitted(an_item("b", "Anna lives here", relevance=0.4), wiki("a", "Anna lives here", relevance=0.6))
    assert kept_ids(result) == ["a"]
    assert kept_ids(fitted(an_item("b", "Anna lives here"), an_item("a", "Anna lives here"))) == ["b"]


def test_floor_does_not_change_the_winner() -> None:
    profile = a_profile(sources={"memory": {"floor_tokens": 500}})
    result = fitted(an_item("m", LONG), knowledge("k", LONG), profile=profile)
    assert kept_ids(result) == ["k"]


def test_one_id_is_included_once_whatever_its_texts() -> None:
    result = fitted(
        an_item("x", "Anna lives in Lisbon"), wiki("x", "Quite another text"), knowledge("x", "A third one")
    )
    assert kept_ids(result) == ["x"]


def test_near_duplicates_fold_and_the_fitting_one_stays() -> None:
    assert kept_ids(fitted(knowledge("k", LONG), an_item("m", NEAR))) == ["k"]
    profile = a_profile(sources={"knowledge": {"ceiling_tokens": 5}})
    result = fitted(knowledge("k", LONG), an_item("m", NEAR), profile=profile)
    assert kept_ids(result) == ["m"]
    assert fate(result, "k")[0] is Decision.DEDUPED_INTO


MORE = f"The keeper agrees. {LONG}. He will then move to the village for good."


@pytest.mark.parametrize("relevance", [0.1, 0.9])
def test_a_text_that_says_more_pushes_out_the_shorter_one_whichever_is_offered_first(relevance: float) -> None:
    result = fitted(knowledge("k", LONG, relevance=0.5), an_item("m", MORE, relevance=relevance))
    assert kept_ids(result) == ["m"]
    assert fate(result, "k") == (Decision.DEDUPED_INTO, "m")


def test_text_that_says_a_dropped_one_does_not_displace_its_replacement() -> None:
    dropped = an_item("m1", LONG, relevance=0.9)
    longer = an_item("m2", f"Ben cooks on Fridays. {LONG}.", relevance=0.8)
    other = an_item("m3", f"{LONG}. The festival has a new name.", relevance=0.7)
    result = fitted(dropped, longer, other)
    assert set(kept_ids(result)) == {"m2", "m3"}
    assert fate(result, "m1") == (Decision.DEDUPED_INTO, "m2")


def test_a_longer_text_that_does_not_fit_pushes_out_nothing() -> None:
    profile = a_profile(sources={"memory": {"ceiling_tokens": 5}})
    assert kept_ids(fitted(knowledge("k", LONG), an_item("m", MORE), profile=profile)) == ["k"]


def test_a_pinned_text_stays_beside_a_longer_one() -> None:
    assert set(kept_ids(fitted(an_item("p", LONG, is_pinned=True), knowledge("k", MORE)))) == {"p", "k"}


def test_a_turn_is_pushed_out_by_no_longer_text_and_pushes_out_none() -> None:
    turn, memory = an_item("t", LONG, source=Source.THREAD), an_item("m", MORE)
    assert set(kept_ids(fitted(turn, memory))) == {"t", "m"}
    longer, shorter = an_item("t", MORE, source=Source.THREAD), an_item("m", LONG)
    assert set(kept_ids(fitted(longer, shorter))) == {"t", "m"}


@pytest.mark.parametrize(
    "other",
    [
        LONG.replace("before", "after 3 weeks before"),
        LONG.replace("agreed", "never agreed"),
        LONG.replace("summer", "May"),
        LONG.replace("harbour", "Lisbon"),
        LONG.replace("white and red", "blue and green and yellow and not much else at all, says Tom"),
    ],
    ids=["number", "negation", "date", "name", "text"],
)
def test_texts_differing_in_number_date_negation_or_name_never_fold(other: str) -> None:
    assert len(kept_ids(fitted(knowledge("k", LONG), an_item("m", other)))) == 2


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ("No dogs are allowed in the building.", "Dogs are allowed in the building."),
        ("Nobody knows whether Anna lives in Lisbon.", "Anna lives in Lisbon."),
        ("I doubt that Anna lives in Lisbon.", "Anna lives in Lisbon."),
        ("If it rains the match is cancelled.", "The match is cancelled."),
        ("Mary Anna lives in Lisbon.", "Anna lives in Lisbon."),
        ("Does Anna live there? Anna lives in Lisbon?", "Anna lives in Lisbon."),
        ("The rent is 1.500 euros.", "The rent is 1."),
        ("She was born in 1990-05.", "She was born in 1990"),
        ("Anna lives in Lisbon no longer.", "Anna lives in Lisbon."),
        ("彼はパンが好きではない。", "彼はパンが好き"),
        ("The word yes was never said.", "Yes."),
        ("Anna lives in Lisbon.", "🙂"),
    ],
)
def test_a_text_that_only_holds_the_words_of_another_does_not_say_it(other: str, text: str) -> None:
    assert not says(other, text)
    result = fitted(an_item("m", text), wiki("w", f"{other} The village has a school.", stands_for=("m",)))
    assert set(kept_ids(result)) == {"m", "w"}


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ("user: I moved to Lisbon", "I moved to Lisbon."),
        ("- **Anna** lives in [Lisbon](/lisbon).\n- She sings.", "Anna lives in Lisbon"),
        ("- She sings.\n- 2026-03-14: Anna lives in Lisbon.", "Anna lives in Lisbon."),
        ("Anna lives\nin Lisbon. She sings.", "Anna lives in Lisbon."),
        ("Anna lives in Lisbon. She sings.", "Anna lives\nin Lisbon."),
        ("He asked: Where?\nWhere is Anna?", "where is anna?"),
    ],
)
def test_a_sentence_is_said_whatever_its_form(other: str, text: str) -> None:
    assert says(other, text)


def test_complete_section_displaces_the_memories_whose_sentences_it_has() -> None:
    result = fitted(
        an_item("m1", "Anna likes tea.", relevance=0.9),
        an_item("m2", "Anna likes cake.", relevance=0.1),
        an_item("m3", "Bruno likes rain."),
        wiki("w", "[Anna](/wiki/entity/anna) likes tea. Anna likes **cake**!", stands_for=("m1", "m2"), relevance=0.5),
    )
    assert fate(result, "m1") == (Decision.DEDUPED_INTO, "w")
    assert fate(result, "m2") == (Decision.DEDUPED_INTO, "w")
    assert set(kept_ids(result)) == {"w", "m3"}


def test_a_section_that_quotes_one_sentence_of_a_memory_leaves_it_room() -> None:
    memory = an_item("m1", "We ate at Suerte. It came to 142 dollars.", relevance=0.1)
    section = wiki("w", "We ate at Suerte.", stands_for=("m1",), relevance=0.5)
    assert "m1" in kept_ids(fitted(memory, section))


def test_partly_repeated_item_comes_after_new_ones() -> None:
    section = wiki("w", "Anna likes tea.", stands_for=("m1",), relevance=0.9)
    memory = an_item("m1", "Anna drinks tea with milk at five in the afternoon", relevance=0.8)
    other = an_item("m2", "Bruno walks in the rain with his dog at five", relevance=0.3)
    profile = a_profile(sources={"wiki": {"priority": 2}, "memory": {"floor_tokens": 0}})
    pool = fitted(section, other, profile=profile).rendering.tokens
    result = fitted(section, memory, other, profile=profile, budget_tokens=pool)
    assert set(kept_ids(result)) == {"w", "m2"}
    assert fate(result, "m1")[0] is Decision.OVER_BUDGET


def test_section_cut_to_its_first_lines_replaces_only_their_content() -> None:
    section = wiki(
        "w",
        "Anna likes tea. " + "More about Anna. " * 60,
        lead="Anna likes tea.",
        stands_for=("m1", "m2"),
        relevance=0.9,
    )
    told = an_item("m2", "Anna likes tea.", relevance=0.8)
    result = fitted(an_item("m1", "Anna likes cake.", relevance=0.1), told, section, budget_tokens=110)
    assert fate(result, "w")[0] is Decision.SHORTENED
    assert fate(result, "m1")[0] is Decision.KEPT
    assert fate(result, "m2") == (Decision.DEDUPED_INTO, "w")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Anna has a boat on the river.", "m1"),
        ("Anna likes tea. Anna has a boat on the river.", "m2"),
    ],
)
def test_memory_waits_behind_others_only_for_first_lines_that_say_a_sentence_of_it(text: str, kept: str) -> None:
    long = "\n".join(
        ["Anna likes tea.", "Anna has a boat on the river.", *(f"Anna is seen in town {at}." for at in range(60))]
    )
    section = wiki("w", long, lead="Anna likes tea.", stands_for=("m1",), relevance=0.9)
    memory = an_item("m1", text, relevance=0.8)
    other = an_item("m2", "Bruno walks in the rain with his dog at five.", relevance=0.3)
    profile = a_profile(sources={"wiki": {"priority": 2}, "memory": {"floor_tokens": 0}})
    short = wiki("w", "Anna likes tea.", relevance=0.9)
    pool = max(fitted(short, one, profile=profile).rendering.tokens for one in (memory, other))
    result = fitted(section, memory, other, profile=profile, budget_tokens=pool)
    assert set(kept_ids(result)) == {"w", kept}


def test_memories_of_a_section_that_does_not_fit_get_their_chance() -> None:
    long = " ".join(f"She drinks tea{number} here." for number in range(60))
    section = wiki("w", long, stands_for=("m1",), relevance=0.9)
    result = fitted(an_item("m1", "Anna likes tea."), section, budget_tokens=150)
    assert fate(result, "w")[0] is Decision.OVER_BUDGET
    assert fate(result, "m1")[0] is Decision.KEPT


def test_tokens_of_a_replaced_item_go_to_others() -> None:
    memory = an_item("m1", "Tea is liked. " * 80, relevance=0.9)
    other = an_item("m2", " ".join(f"rain{place}y" for place in range(70)), relevance=0.3)
    section = wiki("w", "Tea is liked, as people here have said for many years", stands_for=("m1",), relevance=0.4)
    profile = a_profile(sources={"wiki": {"floor_tokens": 0}, "memory": {"floor_tokens": 0}})
    alone = fitted(memory, section, profile=a_profile(sources={"memory": {"enabled": False}}))
    pool = fitted(memory, profile=profile).rendering.tokens + alone.rendering.tokens
    result = fitted(memory, other, section, budget_tokens=pool, profile=profile)
    assert set(kept_ids(result)) == {"w", "m2"}


def test_chains_and_cycles_of_lineage_terminate() -> None:
    result = fitted(
        an_item("fact", "Anna likes tea"),
        an_item("observation", "It is known: Anna likes tea and milk", stands_for=("fact", "observation")),
        wiki("w", "It is known: Anna likes tea and milk", stands_for=("observation",), relevance=0.1),
        wiki("v", "A book on tea", stands_for=("w",), relevance=0.05),
        knowledge("k", "A book on tea. It is known: Anna likes tea and milk", stands_for=("v", "w")),
    )
    assert fate(result, "observation") == fate(result, "w") == fate(result, "v") == (Decision.DEDUPED_INTO, "k")
    circle = fitted(an_item("a", "one thing", stands_for=("b",)), an_item("b", "another", stands_for=("a",)))
    assert set(kept_ids(circle)) == {"a", "b"}


def test_memory_drawn_from_a_visible_turn_is_dropped() -> None:
    turns = (a_turn(1, "user", "I moved to Lisbon"), a_turn(2, "assistant", "Nice"), a_turn(3, "user", "And now?"))
    memories = (
        an_item("m1", "I moved to Lisbon", stands_for=("turn:1",)),
        an_item("m2", "Anna moved with her cat", stands_for=("turn:1", "turn:99")),
        an_item("m3", "And now? I moved to Lisbon.", stands_for=("turn:3", "turn:1")),
        an_item("turn:1", "user: I moved to Lisbon", Source.THREAD),
    )
    result = fitted(*memories, history=turns)
    assert kept_ids(result) == ["m2"]
    assert fate(result, "m1") == (Decision.DEDUPED_INTO, "turn:1")
    assert fate(result, "turn:1") == (Decision.DEDUPED_INTO, "turn:1")


def test_memory_of_a_cut_turn_stays() -> None:
    turns = (a_turn(1, "user", "I moved to Lisbon " * 100),)
    result = fitted(an_item("m1", "Lisbon", stands_for=("turn:1",)), history=turns, budget_tokens=100)
    assert result.is_exchange_cut
    assert fate(result, "m1")[0] is Decision.OVER_BUDGET


def test_memory_taken_before_its_turn_is_dropped_for_it() -> None:
    profile = a_profile(sources={"memory": {"priority": 1}, "thread": {"priority": 2}})
    turns = (a_turn(1, "user", "I moved to Lisbon"), a_turn(2, "user", "And now?"))
    result = fitted(an_item("m1", "I moved to Lisbon.", stands_for=("turn:1",)), history=turns, profile=profile)
    assert fate(result, "m1") == (Decision.DEDUPED_INTO, "turn:1")
    assert kept_ids(result) == []


def test_turn_is_never_dropped_for_a_memory_drawn_from_it() -> None:
    turn = an_item("turn:7", "user: We moved in spring", Source.THREAD)
    apart = fitted(an_item("m", "Anna moved", stands_for=("turn:7",)), turn)
    assert set(kept_ids(apart)) == {"m", "turn:7"}
    result = fitted(an_item("m", "We moved in spring.", stands_for=("turn:7",)), turn)
    assert kept_ids(result) == ["turn:7"]
    assert [(one.decision, one.into) for one in result.fates if one.item.id == "m"] == [
        (Decision.DEDUPED_INTO, "turn:7")
    ]


def test_item_that_gave_way_to_its_turn_is_not_dropped_for_itself() -> None:
    said = "Anna lives in Lisbon. She sings in a choir on Fridays."
    file = an_item("m", said, Source.WORKSPACE, stands_for=("turn:7",), relevance=0.9)
    twin = an_item("turn:7", said, Source.TOOLS, relevance=0.05)
    result = fitted(file, twin, an_item("turn:7", "user: Anna lives in Lisbon.", Source.THREAD))
    assert set(kept_ids(result)) == {"m", "turn:7"}


def test_memory_stays_while_one_of_its_turns_is_absent() -> None:
    turn = an_item("turn:7", "user: We moved in spring", Source.THREAD)
    result = fitted(an_item("m", "Anna moved", stands_for=("turn:7", "turn:8")), turn)
    assert set(kept_ids(result)) == {"m", "turn:7"}


def test_turns_in_the_callers_history_are_dropped_with_their_memories() -> None:
    items = (
        wiki("w", "Anna likes tea.", stands_for=("m1",)),
        an_item("m1", "Anna likes tea"),
        an_item("m2", "anna likes tea"),
        an_item("m3", "Bruno likes rain"),
    )
    result = fit(a_fitting(*items, seen_item_ids=frozenset({"w"})), METER)
    assert fate(result, "w")[0] is Decision.ALREADY_SEEN
    assert fate(result, "m1") == (Decision.DEDUPED_INTO, "w")
    assert fate(result, "m2") == (Decision.DEDUPED_INTO, "w")
    assert kept_ids(result) == ["m3"]


def test_summary_of_visible_turns_is_dropped() -> None:
    turns = (a_turn(1, "user", "one"), a_turn(2, "assistant", "two"))
    summary = HistorySummary("They counted.\nThey stopped.", 2, ("turn:1", "turn:2"))
    assert kept_ids(fitted(history=turns, summary=summary)) == []
    assert kept_ids(fitted(history=turns[1:], summary=summary)) == ["thread-summary"]


def test_items_without_lineage_are_related_to_none() -> None:
    kinship = relate([an_item("a", "one thing"), wiki("b", "quite another matter")], ())
    assert kinship.akin == frozenset()
    assert relate([], ()).kinds == []


def test_a_text_is_cut_into_sentences_once_however_many_it_is_compared_with() -> None:
    texts = [f"Note {'x' * at} of a day.\nAll of these notes end with this sentence." for at in range(40)]
    before = containment._sentences.cache_info().misses
    relate([knowledge(f"k{at}", text) for at, text in enumerate(texts)], ())
    assert containment._sentences.cache_info().misses - before <= 4 * len(texts)


def test_of_many_long_texts_only_the_first_million_characters_are_compared() -> None:
    short = ["They saw " + " ".join(f"word{number}x{place}" for number in range(400)) for place in range(200)]
    texts = [text for one in short for text in (f"{one}.", f"It rained. {one}. It was late.")]
    kinship = relate([an_item(f"m{place}", text) for place, text in enumerate(texts)], ())
    assert 50 < len(kinship.alike) < 150
    assert len(relate([an_item(f"m{place}", text) for place, text in enumerate(texts[:40])], ()).alike) == 20
