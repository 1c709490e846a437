"""Generated and hostile input for what `tests/unit/compiler/plan/test_intake.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compiler.plan.text.sentences import MAX_SENTENCE_CHARS, sentences


@given(st.text(max_size=1_500))
def test_sentences_are_pieces_of_the_text_and_leave_nothing_out(text: str) -> None:
    found = sentences(text)
    assert all(one in text and one == one.strip() and len(one) <= MAX_SENTENCE_CHARS for one in found)
    assert "".join("".join(found).split()) == "".join(text.split())
