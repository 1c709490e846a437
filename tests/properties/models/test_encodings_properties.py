"""Generated input for what `tests/contract/models/test_encodings.py` tests by example."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tokens import encodings
from models.tokens.encodings import ENCODINGS, EncodingName
from tests.contract.models.test_encodings import HOSTILE

# Without unassigned code points: what a later Unicode makes of them is where the two tokenizers may differ.
words = st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=30)
texts = st.lists(
    words | st.sampled_from([*HOSTILE, "'s", "'LL", "\n", "\r\n", "  ", "/", "A", "aB", "12", "=" * 40]), max_size=12
).map("".join)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=150, deadline=None)
@given(text=texts)
def test_the_fast_tokenizer_counts_as_the_reference_on_any_text(encoding: EncodingName, text: str) -> None:
    assert encodings.count_one(text, encoding) == encodings.reference_count(text, encoding)
