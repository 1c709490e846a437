"""Generated and hostile input for what `tests/unit/rpc/transport/test_validation.py` tests by example."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidecar.rpc.transport import validation


@given(st.datetimes(timezones=st.just(UTC)))
def test_instant_survives_being_written(moment: datetime) -> None:
    assert abs(validation.read_time("time", validation.write_time(moment)) - moment) <= timedelta.resolution


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcé", max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text("xyz", max_size=5), json_values, max_size=5))
def test_object_survives_being_written(values: dict[str, Any]) -> None:
    assert validation.read_struct("metadata", validation.write_struct(values), max_bytes=10**6) == values
