"""Generated and hostile input for what `tests/unit/turn/test_profile.py` tests by example."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.profile import InvalidKnob, merge, parse_layer
from tests.support.turn.turn_cases import grown


@given(st.integers(0, 10**6))
def test_profile_survives_its_mapping(seed: int) -> None:
    profile = grown(seed, 1).profile
    assert merge(parse_layer(profile.as_mapping())) == profile


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["sources", "wiki", "top_k", "x"]), inner)
        ),
        max_leaves=6,
    )
)
def test_any_json_is_a_layer_or_is_refused(knobs: Any) -> None:
    with suppress(InvalidKnob):
        assert merge(parse_layer(knobs)).as_mapping()
