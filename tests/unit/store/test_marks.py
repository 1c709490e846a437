"""The marks of a text: whether it is a question, its times and its names, as one small number with the rule's version."""

from __future__ import annotations

import pytest

from store.text.marks import MARKS, READ_CHARS, RULE, Marks, marks_of, written


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("", Marks(0, 0, 0)),
        ("We went swimming.", Marks(0, 0, 0)),
        ("Did you go?", Marks(1, 0, 0)),
        ("Did you go? [a photo of a lake]", Marks(1, 0, 0)),
        ("行きましたか？", Marks(1, 0, 0)),
        ("It was in May 2025, last week, on the 3rd.", Marks(0, 2, 1)),
        ("gestern um 7", Marks(0, 1, 0)),
        ("昨日、去年", Marks(0, 2, 0)),
        ("Ana and Rui met Bea, Dale and Priya.", Marks(0, 0, 3)),
        ("Fine. Ana left. NASA called McCoy.", Marks(0, 0, 1)),
    ],
)
def test_marks_tell_a_question_its_times_and_its_names(text: str, marks: Marks) -> None:
    assert MARKS[marks_of(text)] == marks


def test_each_number_has_one_reading_by_this_rule() -> None:
    assert len(MARKS) == 2 * 3 * 4
    assert {number >> 5 for number in MARKS if number is not None} == {RULE}
    assert all(written(marks) == number for number, marks in MARKS.items())
    assert all(0 < number < 1 << 15 for number in MARKS if number is not None), "a small integer of the database"


def test_only_the_beginning_of_a_text_is_read() -> None:
    head = ("word " * READ_CHARS)[:READ_CHARS]
    assert marks_of(head) == marks_of(f"{head} we saw Ana and Rui in May 2025?")
