"""Generated and hostile input for what `tests/unit/turn/test_reading.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.message.reading import MAX_PARTS, read
from tests.unit.turn.test_reading import SPEAKERS, TODAY


@given(st.text(max_size=300))
def test_any_message_is_read(message: str) -> None:
    found = read(message, speakers=SPEAKERS, today=TODAY)
    assert 1 <= len(found.parts) <= MAX_PARTS
    assert found.named <= found.speakers
