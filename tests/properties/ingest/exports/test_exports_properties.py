"""Generated and hostile input for what `tests/unit/ingest/exports/test_exports.py` tests by example."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.ingest.exports.test_exports import CHATGPT, CLAUDE, SLACK, read, zipped

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def spoiled(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """Return the value with some of its inner values replaced by anything."""
    if draw(st.integers(0, 11)) == 0:
        return draw(json_values)
    if isinstance(value, dict):
        return {key: spoiled(inner, draw) for key, inner in value.items()}
    return [spoiled(inner, draw) for inner in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(st.data(), st.sampled_from(["chatgpt", "claude", "slack"]))
def test_export_damaged_anywhere_is_read_up_to_the_damage(data: st.DataObject, kind: str) -> None:
    draw = data.draw
    if kind == "slack":
        export = zipped({name: spoiled(content, draw) for name, content in SLACK.items()})
    else:
        export = json.dumps([spoiled((CHATGPT if kind == "chatgpt" else CLAUDE)[0], draw)]).encode()
    conversations, skipped = read(export, "export.zip" if kind == "slack" else "export.json")
    for conversation in conversations:
        assert conversation.turns
        for turn in conversation.turns:
            assert turn.text or turn.parts
            json.dumps(
                [turn.text, turn.speaker, turn.parts, turn.metadata], allow_nan=False, ensure_ascii=False
            ).encode()
    "".join(skipped).encode()
