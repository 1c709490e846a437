"""Generated and hostile input for what `tests/unit/models/test_structured_answers.py` tests by example."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.language.structured import kept_text, object_in
from tests.unit.models.test_structured_answers import ANY, SCHEMA

# Marks that mean something to the search, in any order.
TALK = st.text(st.sampled_from(list('{}[]"\\`\n <>/thinka:,1')) | st.characters(), max_size=40)


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs", "Cc"]))
)


OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"])), SCALARS, max_size=4)


@given(TALK)
def test_any_text_is_searched_for_an_object_without_an_error(text: str) -> None:
    found, reason = object_in(text, SCHEMA)
    assert (found is None) == bool(reason)


@given(OBJECTS)
def test_whole_object_is_returned_unchanged(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), f"```json\n{json.dumps(value, indent=2)}\n```", f"Well: {json.dumps(value)} Done."):
        assert object_in(text, ANY) == (value, "")


@pytest.mark.parametrize("mark", ["`", "{", '"\\', "```json\n", "<think>", "</think>", '{"a":[', "\n"])
def test_a_long_run_of_marks_is_searched_once(mark: str) -> None:
    # Searched again from each mark, this would take minutes.
    assert object_in(mark * 300_000, SCHEMA)[0] is None


@given(st.text(st.characters()))
def test_kept_text_can_be_stored(text: str) -> None:
    kept = kept_text(text)
    assert "\0" not in kept
    assert kept.encode().decode() == kept
    assert len(kept) == len(text)
