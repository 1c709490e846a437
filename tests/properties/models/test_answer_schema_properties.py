"""Generated and hostile input for what `tests/unit/models/test_answer_schema.py` tests by example."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from models.language.schema import fitted, misfit
from tests.unit.models.test_answer_schema import PAGE

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=8), below, max_size=4),
    max_leaves=12,
)
PAGES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"title": st.text(max_size=6)},
    optional={
        "kind": st.sampled_from(["entity", "topic", None]),
        "tags": st.lists(st.text(max_size=4), max_size=3),
        "score": st.none() | st.floats(0, 1),
        "count": st.integers(),
        "where": st.text(max_size=4) | st.just({}),
        "colour": st.text(max_size=4),
    },
)


@given(VALUES | PAGES)
@example({"title": "a", "tags": ["x"], "where": {}})
def test_removing_forbidden_properties_keeps_valid_answers_valid(value: Any) -> None:
    if not misfit(value, PAGE):
        assert fitted(value, PAGE) == value
    assert fitted(fitted(value, PAGE), PAGE) == fitted(value, PAGE)
