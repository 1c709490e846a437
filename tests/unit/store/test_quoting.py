"""A text that says only what others say."""

from __future__ import annotations

import pytest

from store.text.quoting import is_said_by

BOAT = "The boat is moored at pier nine. It was painted green in May."


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("The boat is moored at pier nine.", True),
        ("It was painted green in May. The boat is moored at pier nine.", True),
        ("- the [boat](/wiki/entity/boat) is moored at Pier Nine", True),
        ("", True),
        ("The boat is moored at pier ninety.", False),
        ("The boat is moored at pier nine. Its owner is Otto.", False),
        ("moored at pier nine. It", True),
        ("at pier nine it was painted", True),
    ],
)
def test_sentences_are_looked_for_word_for_word(text: str, is_said: bool) -> None:
    assert is_said_by(text, ["Something else.", BOAT]) is is_said


def test_sentences_may_come_from_several_texts() -> None:
    both = "The kitchen is painted red. The hall is painted blue."
    assert is_said_by(both, ["The kitchen is painted red.", "The hall is painted blue."])
    assert not is_said_by(both, ["The kitchen is painted red."])
    assert not is_said_by(both, [])
