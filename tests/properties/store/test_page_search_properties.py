"""Generated and hostile input for what `tests/unit/store/test_page_search.py` tests by example."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from store.wiki.page_search import Name, Words, fuse, name_runs

SHARES = st.floats(0, 1)


IDS = st.sampled_from([UUID(int=n) for n in range(5)])


NAMES = st.builds(
    Name, st.text("abc ", min_size=1, max_size=9), st.sampled_from(["whole", "beginning", "similar"]), SHARES
)


@given(
    st.dictionaries(IDS, st.builds(Words, st.floats(0, 50), SHARES)),
    st.dictionaries(IDS, st.lists(NAMES, min_size=1, max_size=3)),
    st.text("abc ", min_size=1, max_size=30),
)
def test_every_score_is_between_0_and_1(texts: dict[UUID, Words], names: dict[UUID, list[Name]], key: str) -> None:
    fused = fuse(texts, names, key)
    assert fused.keys() == texts.keys() | names.keys()
    for score, text, name, _ in fused.values():
        assert 0 <= score <= 1
        assert 0 <= text <= 1
        assert 0 <= name <= 1


@given(st.text(max_size=300))
def test_any_text_can_be_cut_into_name_candidates(text: str) -> None:
    assert name_runs(text)[0] == text
