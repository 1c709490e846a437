"""Generated and hostile input for what `tests/unit/rpc/messages/test_knobs.py` tests by example."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidecar.rpc.messages.knobs import read_knobs, write_knobs
from sidecar.turn.items import Source
from sidecar.turn.profile import Allocation
from sidecar.v1 import profile_pb2 as pb

_TOKENS = st.integers(0, 10_000_000)


_SOURCE_KNOBS = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "required": st.booleans(),
        "priority": st.integers(1, 9),
        "top_k": st.integers(0, 1000),
        "floor_tokens": st.integers(0, 100),
        "floor_share": st.floats(0, 1),
        "ceiling_tokens": st.integers(100, 10_000_000),
        "deadline_ms": st.integers(1, 60_000),
    },
)


LAYERS = st.fixed_dictionaries(
    {},
    optional={
        "allocation": st.sampled_from([one.value for one in Allocation]),
        "history_turns": st.integers(0, 10_000),
        "history_tail_tokens": _TOKENS,
        "relevance_knee": st.floats(0, 1),
        "lead_lines": st.integers(1, 20),
        "response_reserve_tokens": _TOKENS,
        "system_prompt_tokens": _TOKENS,
        "tool_tokens": _TOKENS,
        "budget_tokens": _TOKENS,
        "max_items": st.integers(1, 10_000),
        "sources": st.dictionaries(st.sampled_from([source.value for source in Source]), _SOURCE_KNOBS, min_size=1),
    },
)


@given(LAYERS)
def test_layer_survives_being_written(layer: dict[str, Any]) -> None:
    written = write_knobs(layer)
    assert read_knobs("profile", pb.Profile.FromString(written.SerializeToString())) == layer
