"""Generated and hostile input for what `tests/unit/ingest/exports/test_journal.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.ingest.exports.conversation import SkippedPiece
from sidecar.ingest.exports.journal import ImportedRecord
from tests.unit.ingest.exports.test_journal import read


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["text", "place", "name", "tags", "id"]), inner)
        ),
    )
)
def test_no_json_breaks_the_journal_reader(value: object) -> None:
    for one in read(value, {"text": "good"}):
        assert isinstance(one, ImportedRecord | SkippedPiece)
