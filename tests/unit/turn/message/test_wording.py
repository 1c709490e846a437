"""Texts hold a question's words in any form, in any language."""

from __future__ import annotations

import pytest

from sidecar.turn.message.wording import word_shares
from store.text.texts import query_words


def share(question: str, text: str) -> float:
    return word_shares(query_words(question), [text])[0]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("urodziny Marka", "Marek obchodzi urodziny 9 listopada."),
        ("велосипед Кости", "Я отдал велосипед Косте до лета."),
        ("sözleşmesi bitiyor", "Kira sözleşmemiz ekimde bitiyor."),
        ("Ersatzschlüssel", "Die ERSATZSCHLÜSSEL liegen oben."),
        ("祖父薬", "祖父は薬を飲んでいます。祖父薬。"),
    ],
)
def test_inflected_words_count_as_held(question: str, text: str) -> None:
    assert share(question, text) == 1.0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Marzena", "Marek obchodzi urodziny."),
        ("contract", "continental breakfast"),
        ("Haus", "Hausaufgaben"),
        ("です", "母です"),
        ("", "anything"),
    ],
)
def test_other_words_that_begin_alike_do_not(question: str, text: str) -> None:
    assert share(question, text) == 0.0


def test_long_words_weigh_more_than_short_ones() -> None:
    assert share("velociped bil", "bil") < 0.5 < share("velociped bil", "velociped")


def test_endings_of_japanese_words_weigh_less_than_their_signs() -> None:
    assert share("工房はどこですか", "どこですか") < 0.5 < share("工房はどこですか", "工房")


def test_each_text_is_separate_and_only_its_beginning_is_read() -> None:
    assert word_shares(["bicycle"], ["a bicycle", "a car", f"{'x ' * 2000}bicycle"]) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Sommerzeit März", "Bernd ist seit März insolvent."),
        ("ishockey 2017", "Anders är nykter sedan 2017."),
        ("周末吃饭", "我们周末搬家。"),
    ],
)
def test_word_for_a_time_weighs_nothing_beside_others(question: str, text: str) -> None:
    assert share(question, text) == 0.0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("meine Schwester heiratet", "Meine Tante wohnt in Ulm."),
        ("minha mulher", "A minha casa é velha."),
        ("мой брат", "Мой отпуск в июле."),
    ],
)
def test_word_for_an_owner_weighs_nothing_beside_others(question: str, text: str) -> None:
    assert share(question, text) == 0.0


def test_a_question_of_times_alone_is_held_by_them() -> None:
    assert share("Donnerstag", "Am Donnerstag Tennis mit Olaf.") == 1.0
