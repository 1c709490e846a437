"""Generated and hostile input for what `tests/unit/ingest/exports/test_messages.py` tests by example."""

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sidecar.ingest.errors import UnreadableExport
from sidecar.ingest.exports.conversation import Conversation, ImportedTurn, SkippedPiece
from sidecar.ingest.exports.conversations import read_conversations
from sidecar.ingest.exports.records import LINE_BYTES
from tests.unit.ingest.exports.test_messages import jsonl, read

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "x"]) | json_values, "content": json_values},
    optional=dict.fromkeys(
        ["id", "name", "tool_calls", "tool_call_id", "function_call", "time", "thread_id"], json_values
    ),
)


def test_a_line_above_the_limit_is_skipped_whole() -> None:
    long = b'{"role": "user", "content": "' + b"x" * LINE_BYTES + b'"}'
    (conversation,), (skipped,) = read(b"\n".join([long, jsonl({"role": "user", "content": "Hi"})]))
    assert [turn.text for turn in conversation.turns] == ["Hi"]
    assert "split it" in skipped.reason


def stands(turn: ImportedTurn) -> bool:
    stored: dict[str, Any] = {
        "text": turn.text,
        "speaker": turn.speaker,
        "parts": turn.parts,
        "id": turn.client_turn_id,
    }
    written = json.dumps(stored, allow_nan=False, ensure_ascii=False)
    written.encode()
    return "\\u0000" not in written and bool(turn.text or turn.parts) and 0 < len(turn.client_turn_id) <= 200


@settings(deadline=None)
@given(
    st.lists(messages | json_values | st.fixed_dictionaries({"messages": st.lists(messages) | json_values}), max_size=6)
)
def test_any_json_gives_turns_fit_to_store_and_accounts_for_every_line(values: list[Any]) -> None:
    assume(not values or not isinstance(values[0], list))
    data = "\n".join(json.dumps(value) for value in values).encode()
    conversations, skipped = read(data)
    assert all(stands(turn) for conversation in conversations for turn in conversation.turns)
    assert all(len({t.client_turn_id for t in c.turns}) == len(c.turns) > 0 for c in conversations)
    assert (conversations, skipped) == read(data)
    lone = [value for value in values if not (isinstance(value, dict) and "messages" in value)]
    assert len(lone) <= sum(len(c.turns) for c in conversations) + len(skipped)


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["a.jsonl", "a.json", "a.zip", "a"]))
def test_any_bytes_are_read_or_refused(data: bytes, name: str) -> None:
    try:
        found: set[type] = {type(one) for one in read_conversations(name, data)}
    except UnreadableExport as error:
        found = {type(str(error).encode())}
    assert found <= {Conversation, SkippedPiece} or found == {bytes}
