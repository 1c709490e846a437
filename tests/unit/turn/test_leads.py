"""The lead of a text: its first lines, or its first sentences where lines are long."""

from __future__ import annotations

import pytest

from sidecar.turn.leads import lead, telling_lead

LONG = "This sentence is long enough to fill a line of its own and then goes on for quite a while more, as some do. "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\n\nthree\nfour", "one\ntwo\nthree"),
        ("one\ntwo", ""),
        ("A short text. With sentences. In one line. And more. Of them.", ""),
        (LONG * 6, (LONG * 3).strip()),
        ("長い文です。" * 100, "長い文です。" * 3),
        ("no end in sight " * 100, ""),
        ("", ""),
    ],
)
def test_lead_is_the_first_lines_or_sentences(text: str, expected: str) -> None:
    assert lead(text, 3) == expected


def test_lead_is_a_shorter_beginning_of_its_text() -> None:
    for text in (LONG * 6, "a\n" * 10, "x. " * 300):
        short = lead(text, 3)
        assert 0 < len(short) < len(text)
        assert text.replace("\n\n", "\n").startswith(short)


LINES = "- Ada rows.\n- Ada paints boats.\n- The roof leaks.\n- Ada sold the boats.\n- It rained."


def test_telling_lead_holds_the_lines_with_the_questions_words_in_order() -> None:
    assert telling_lead(LINES, 2, ["boats", "sold", "ada"]) == "- Ada paints boats.\n- Ada sold the boats."
    assert telling_lead(LINES, 1, ["roof"]) == "- The roof leaks."
    assert telling_lead(LINES, 3, ["roof", "rained"]) == "- The roof leaks.\n- It rained."


def test_telling_lead_without_a_shared_word_is_the_beginning() -> None:
    assert telling_lead(LINES, 2, ["zebra"]) == lead(LINES, 2) == "- Ada rows.\n- Ada paints boats."
    assert telling_lead(LINES, 2, []) == lead(LINES, 2)
    assert telling_lead(LINES, 9, ["boats"]) == "", "a text without a shorter form has no lead"


def test_telling_lead_reads_other_scripts() -> None:
    text = "東京の塔を見た。\n大阪で食べた。\n京都へ行った。"
    assert telling_lead(text, 1, ["大阪"]) == "大阪で食べた。"
