"""Whether a message leans on its thread: judged by itself first, then with what both searches found."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from bench.training.leaning import messages
from bench.training.leaning_words import more_messages
from bench.training.own_messages import own_questions
from sidecar.turn.fitted.weights import LEANING, MAY_LEAN
from sidecar.turn.message.conversation import in_thread
from sidecar.turn.message.leaning import (
    OwnEvidence,
    WordOdds,
    keeping_best,
    leaning,
    leaning_of,
    may_lean,
    message_form,
)
from sidecar.turn.message.reading import Reading, read
from store.content.recalling import EarlierTurn

HELD = messages("held")
TALK = (
    EarlierTurn(1, "user", "Which two ferries go to Skagen?"),
    EarlierTurn(2, "assistant", "The Aurora leaves at 9:10 for 240 kroner, the Vega at 14:30 for 190."),
)


def asked(message: str) -> Reading:
    return read(message, today=date(2026, 5, 4))


def share(kind: bool, *, of: list[bool]) -> float:
    return sum(one is kind for one in of) / len(of)


def test_the_messages_are_many_of_both_kinds_in_several_languages() -> None:
    assert min(sum(leans for _, leans in HELD), sum(not leans for _, leans in HELD)) >= 40
    assert not {text for text, _ in HELD} & {text for text, _ in messages("fitted")}


def test_nearly_every_message_that_leans_is_read_with_its_thread() -> None:
    assert share(True, of=[may_lean(asked(text)) for text, leans in HELD if leans]) >= 0.95


def test_third_of_the_messages_that_do_not_lean_cost_no_second_search() -> None:
    """Of the others ("Where is the fuse box?") only what is found can tell."""
    assert share(False, of=[may_lean(asked(text)) for text, leans in HELD if not leans]) >= 0.35


def test_words_distinguish_follow_ups_without_pronouns_from_complete_questions() -> None:
    """Both were held back. "Since when?" has no word that points at something, and is told all the same."""
    follow_ups = [message_form(asked(text))["by_words"] for text in more_messages("held")]
    questions = [message_form(asked(text))["by_words"] for _, text in own_questions("held ")]
    assert (np.array(follow_ups)[:, None] > np.array(questions)).mean() >= 0.87
    assert {*more_messages("held")}.isdisjoint(more_messages("fitted"))


def test_the_odds_by_words_are_bounded() -> None:
    odds = WordOdds(1.0, {"why": 5.0, "then": 5.0, "lease": -20.0})
    assert [odds.of(frozenset(told)) for told in ((), ("why",), ("why", "then"), ("lease",))] == [1.0, 6.0, 8.0, -8.0]


@pytest.mark.parametrize(
    ("message", "form"),
    [
        ("What did I pay at Suerte?", {"names": 1, "own": 1, "pointing": 0.0, "begins": 0.0}),
        ("Und danach?", {"names": 0, "own": 0, "begins": 1.0}),
        ("Wann fährt Oskar am 3. Mai? Er fragt.", {"names": 2, "own": 0, "begins": 0.0}),
        ("それはなぜですか。", {"names": 0, "pointing": 0.5}),
    ],
)
def test_form_of_a_message(message: str, form: dict[str, float]) -> None:
    told = message_form(asked(message))
    assert {name: round(told[name], 4) for name in form} == form


def test_a_message_in_a_script_without_spaces_is_as_long_as_its_words() -> None:
    there, here = (
        message_form(asked("スエルテでいくら払いましたか。")),
        message_form(asked("What did I pay at Suerte?")),
    )
    assert abs(there["words"] - here["words"]) < 0.7


BOAT = (
    EarlierTurn(1, "user", "Our boat leaked all winter."),
    EarlierTurn(2, "assistant", "Then have the boat caulked."),
)


def evidence(coverage: list[float], cosine: list[float], is_fact: list[bool]) -> OwnEvidence:
    return OwnEvidence(np.array(coverage), np.array(cosine), np.array(is_fact))


def test_a_message_that_finds_all_it_says_still_leans_if_it_says_so() -> None:
    """In a small store one telling word is found at once: that alone must not decide."""
    found, there = np.array([2.0, -3.0, -4.0]), np.array([1.0, 0.5, -4.0])
    told = evidence([1.0, 0.0, 0.0], [0.4, 0.1, 0.1], [False, True, True])
    assert leaning(in_thread(asked("and the second one?"), TALK), found, there, told) > 0.5
    assert leaning(in_thread(asked("What did I pay at Suerte?"), TALK), found, there, told) < 0.5


def test_message_whose_words_one_memory_has_does_not_lean_on_a_thread_with_them() -> None:
    reading = in_thread(asked("Where does the boat winter?"), BOAT)
    assert reading.thread is not None
    assert reading.thread.repeated == 1.0
    own, there = np.array([1.5, 0.5, -4.0]), np.array([1.5, 0.4, -3.0])
    held = evidence([1.0, 1.0, 0.0], [0.6, 0.7, 0.1], [False, True, True])
    elsewhere = evidence([1.0, 0.3, 0.0], [0.6, 0.2, 0.1], [False, True, True])
    assert leaning(reading, own, there, held) < 0.1
    assert leaning(reading, own, there, held) < leaning(reading, own, there, elsewhere)


def test_message_leans_however_similar_texts_in_an_unknown_language_are() -> None:
    reading = in_thread(asked("Wann genau kam die eigentlich an?"), TALK)
    own, there = np.array([-1.0, -2.0]), np.array([-1.5, -2.0])
    alike, unlike = (evidence([0.2, 0.0], cosines, [True, True]) for cosines in ([0.7, 0.6], [0.0, 0.0]))
    assert leaning(reading, own, there, alike) < leaning(reading, own, there, unlike)
    unknown = replace(reading, blind=1.0)
    assert leaning(unknown, own, there, alike) == leaning(reading, own, there, unlike)


def test_the_best_for_the_message_itself_keep_their_relevance_whatever_the_thread_says() -> None:
    alone, there = np.array([0.9, 0.6, 0.5, 0.1]), np.array([0.0, 0.8, 0.0, 0.7])
    assert keeping_best(there, alone, np.array([800, 800, 800, 800])).tolist() == [0.9, 0.8, 0.0, 0.7]
    assert keeping_best(there, alone, np.array([9_000, 1, 1, 1])).tolist() == [0.9, 0.8, 0.0, 0.7]
    assert keeping_best(there, alone, np.array([1, 1, 1, 1])).tolist() == [0.9, 0.8, 0.5, 0.7]
    assert there.tolist() == [0.0, 0.8, 0.0, 0.7]


def test_both_steps_must_say_that_a_message_leans() -> None:
    reading = in_thread(asked("Why?"), TALK)
    form = message_form(reading)
    searched = form | {"own_top": -4.0, "thread_top": 0.0, "own_of_thread_best": -1.0, "thread_of_own_best": -2.0}
    searched |= {"same_best": 0.0, "repeated": 0.0, "covered": 0.0, "covered_by_fact": 0.0, "resolved": 0.0}
    searched |= {"cosine": 0.2, "cosine_of_fact": 0.1}
    assert leaning_of(MAY_LEAN, LEANING, form, searched) > 0.5
    assert (
        leaning_of(MAY_LEAN, LEANING, form | {"pointing": 0.0, "names": 3, "words": 9.0, "by_words": -8.0}, searched)
        == 0
    )
