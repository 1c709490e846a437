"""Plans as JSON and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from compiler.plan import codec, contract
from compiler.plan.codec import InvalidPlan
from compiler.plan.contract import Item

# A memory's metadata is whatever JSON it came with; times are told in UTC, and numbers are those that a column holds.
_JSON = st.dictionaries(
    st.text(max_size=5), st.none() | st.text(max_size=5) | st.lists(st.integers(), max_size=2), max_size=2
)
_TIMES = st.datetimes(timezones=st.just(UTC))
st.register_type_strategy(datetime, _TIMES)
st.register_type_strategy(int, st.integers(-(2**63), 2**63 - 1))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(contract.BatchMemory, st.builds(contract.BatchMemory, metadata=_JSON, occurred_at=_TIMES))
_QUICKLY = settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.generate))


@pytest.mark.parametrize("kind", get_args(Item), ids=lambda kind: kind.__name__)
@_QUICKLY
@given(data=st.data())
def test_every_item_survives_encoding(kind: type[Item], data: st.DataObject) -> None:
    item = data.draw(st.from_type(kind))
    stored = json.loads(json.dumps(codec.dump([item])))
    assert codec.load(stored) == (item,)
    assert codec.load(json.loads(codec.dump_json([item]))) == (item,)


@pytest.mark.parametrize(
    "stored",
    [
        [{"kind": "destroy"}],
        [{}],
        ["text"],
        [{"kind": "archive_page"}],
        [{"kind": "archive_page", "page": {"type": "person", "slug": "x"}}],
        [{"kind": "archive_page", "page": "entity/x"}],
        [{"kind": "set_hubness", "page": {"type": "entity", "slug": "x"}, "score": 1, "more": 2}],
    ],
)
def test_foreign_plan_is_refused(stored: list[Any]) -> None:
    with pytest.raises(InvalidPlan):
        codec.load(stored)
