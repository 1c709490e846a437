"""Counts that are remembered are the counts, whatever the texts are cut at and however often they come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UncountableText
from models.tokens.encodings import count
from models.tokens.known_counts import KnownCounts

marks = st.sampled_from(["[k1] ", "[m99] ", "[w12]", "[K1] ", "[k1]\n", "[[k1] ", "[k123456] "])
signs = st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=12)
texts = st.lists(
    marks | signs | st.sampled_from(["\n", "\n\n", "\r\n", "\n /a", " b", "\u2028", "\x1c"]), max_size=12
).map("".join)


@given(st.lists(texts, max_size=8), st.sampled_from([20, 400, 100_000]))
def test_cached_count_equals_the_count(batch: list[str], max_chars: int) -> None:
    known = KnownCounts(max_chars)
    for again in (batch, batch[::-1], ["".join(batch), *batch]):
        assert known.count(again, "o200k_base") == count(again, "o200k_base")


def test_encodings_are_cached_separately() -> None:
    known, text = KnownCounts(), ["Lissabon, 東京 – and the harbour.\n[k1] Quiet."]
    for _ in range(2):
        assert known.count(text, "o200k_base") == count(text, "o200k_base")
        assert known.count(text, "cl100k_base") == count(text, "cl100k_base")


def test_a_lone_surrogate_is_named_by_its_place_in_the_text() -> None:
    with pytest.raises(UncountableText) as refusal:
        KnownCounts().count(["fine", "[k1] one\ntwo \ud83d"], "o200k_base")
    assert refusal.value.position == 13
