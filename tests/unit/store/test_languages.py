"""The language of a short text is guessed by its script and its function words."""

from __future__ import annotations

import pytest

from bench.spend.privacy import answers
from store.text.languages import UNKNOWN, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Jonas is my best man; he keeps the rings.", "en"),
        ("Der Zug kam heute Morgen wieder zu spät.", "de"),
        ("O comboio atrasou-se outra vez, e eu não sei quando é o próximo.", "pt"),
        ("祖母は毎朝薬を飲みます。", "ja"),
        ("我对花生过敏。", "zh"),
        ("저는 새우를 못 먹어요.", "ko"),
        ("Поезд опоздал.", "ru"),
        ("", UNKNOWN),
        ("4,300 Skoda", UNKNOWN),
        ("🙂 \0 \ud800", UNKNOWN),
        ("de", UNKNOWN),
    ],
)
def test_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


def test_texts_of_sixteen_languages_are_seldom_taken_for_another() -> None:
    told = [(one.language, language_of(one.memory)) for half in ("answers", "held answers") for one in answers(half)]
    right, wrong = sum(a == b for a, b in told), sum(b not in {a, UNKNOWN} for a, b in told)
    assert right / len(told) >= 0.75
    assert wrong / len(told) <= 0.04
