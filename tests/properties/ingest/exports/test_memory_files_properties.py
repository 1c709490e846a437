"""Generated and hostile input for what `tests/unit/ingest/exports/test_memory_files.py` tests by example."""

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sidecar.ingest.exports.memories import ImportedMemory
from tests.unit.ingest.exports.test_memory_files import read

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


keys = ["id", "content", "created_at", "occurred_at", "metadata", "document_id", "tags", "turn_ids", "place"]


memories = st.fixed_dictionaries(
    {"text": st.text(st.characters()) | json_values}, optional=dict.fromkeys(keys, json_values)
)


@settings(deadline=None)
@given(st.lists(memories | json_values, max_size=6))
def test_any_json_gives_a_memory_fit_to_store_or_a_reason_for_every_line(values: list[Any]) -> None:
    assume(not values or not isinstance(values[0], list))
    found = read(*values)
    assert len(found) == len(values)
    assert found == read(*values)
    for memory in found:
        if isinstance(memory, ImportedMemory):
            stored = [memory.id, memory.text, memory.document_id, memory.tags, dict(memory.metadata)]
            written = json.dumps(stored, allow_nan=False, ensure_ascii=False)
            written.encode()
            assert "\\u0000" not in written
            assert memory.text.strip()
            assert 0 < len(memory.id) <= 200
