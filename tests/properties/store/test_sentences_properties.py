"""Generated and hostile input for what `tests/unit/store/test_sentences.py` tests by example."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.steps import grows_in_line
from tests.unit.store.test_sentences import sentences


@given(st.text(st.sampled_from("aB1 .!?…。？»\"')\n\u0301\u200d।"), max_size=200))
def test_only_spaces_are_lost_between_sentences(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("text", ["." * 100_000, ".)" * 50_000, "a." * 50_000, "!\u0301" * 50_000, "。" * 100_000])
def test_hostile_punctuation_is_read_in_linear_time_and_loses_nothing(text: str) -> None:
    assert "".join(sentences(text)) == text
    assert grows_in_line(lambda count: sentences(text[:count]), 2_000)
