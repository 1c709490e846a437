"""The lead of a text: its first lines, or its first sentences where lines are long."""

from __future__ import annotations

import pytest

from sidecar.turn.leads import lead

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
