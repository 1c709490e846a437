"""Generated input for what `tests/unit/client/test_client_contract.py` tests by example."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidecar.client import knobs
from sidecar.v1 import profile_pb2


def _value(name: str) -> st.SearchStrategy[Any]:
    kind = knobs._kind(name)
    values: dict[type, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(0, 10_000),
        float: st.floats(0, 1),
        str: st.sampled_from(knobs.WORDS.get(name, ("",))),
    }
    return values[kind]


class TestKnobs:
    @given(
        st.dictionaries(st.sampled_from(knobs.NAMES), st.none(), max_size=12).flatmap(
            lambda names: st.fixed_dictionaries({name: _value(name) for name in names})
        )
    )
    def test_knobs_survive_the_wire(self, given_knobs: dict[str, Any]) -> None:
        assert knobs.from_wire(profile_pb2.Profile(**knobs.to_wire(given_knobs))) == given_knobs
