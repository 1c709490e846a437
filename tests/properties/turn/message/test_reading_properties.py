"""Generated and hostile input for what `tests/unit/turn/message/test_reading.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.message.reading import MAX_PARTS, read
from tests.unit.turn.message.test_reading import SPEAKERS, TODAY

PHRASES = (
    "thanks", "hello there", "please answer briefly", "you are a guide", "> a quote", "what did I pay", "and", "and why",
    "Caroline", "in March 2026", "okay", "?", ".", "\n", "\u200b", "東京は", "do you remember", "user:", "[2026-11-02 14:03]",
)  # fmt: skip


phrases = st.sampled_from(PHRASES)
messages = st.lists(phrases, max_size=8).map(" ".join) | st.builds(
    lambda one, other: f"{one} {other} " * 50, phrases, phrases
)


@given(st.text(max_size=300) | messages)
def test_any_message_is_read(message: str) -> None:
    found = read(message, speakers=SPEAKERS, today=TODAY)
    assert 1 <= len(found.parts) <= MAX_PARTS
    assert found.named <= found.speakers
