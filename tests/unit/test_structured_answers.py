"""The object that was asked for is found in whatever a model wrote around it, and never made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.structured import kept_text, object_in

ANY = {"type": "object"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
# Marks that mean something to the search, in any order.
TALK = st.text(st.sampled_from(list('{}[]"\\`\n <>/thinka:,1')) | st.characters(), max_size=40)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs", "Cc"]))
)
OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"])), SCALARS, max_size=4)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' \n{"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}```',
        'Sure:\n```json\n{"a": 1}\n```\nIs that right?',
        'The set {x, y} is {"b": 2}, so: {"a": 1}.',
        '<think>{"a": 7}?</think>{"a": 1}',
        'cut off thoughts {"a": 7}</think>\n\n{"a": 1}',
        '{"a": 1, "note": "}{"}',
        '{"a": "wrong"} no: {"a": 1}',
        '{"a": 1.0}',
    ],
)
def test_the_object_is_found(text: str) -> None:
    assert object_in(text, SCHEMA) == ({"a": 1}, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("nothing here", "no JSON object"),
        ("[1]", "no JSON object"),
        ('"{}"', "answer.a: required"),
        ('{"a": 1', "no JSON object"),
        ('{"outer": {"a": 1}, "cut', "no JSON object"),
        ('{"a": NaN}', "no JSON object"),
        ('{"a": ' + "9" * 5_000 + "}", "no JSON object"),
        ("{'a': 1}", "no JSON object"),
        ('{"b": 1}', "answer.a: required"),
        ('{"a": "the model\'s own words"}', "answer.a: integer"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
)
def test_where_there_is_none_the_reason_is_said(text: str, reason: str) -> None:
    assert object_in(text, SCHEMA) == (None, reason)


@given(TALK)
def test_no_text_is_too_strange(text: str) -> None:
    found, reason = object_in(text, SCHEMA)
    assert (found is None) == bool(reason)


@given(OBJECTS)
def test_a_whole_object_comes_back_as_it_is(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), f"```json\n{json.dumps(value, indent=2)}\n```", f"Well: {json.dumps(value)} Done."):
        assert object_in(text, ANY) == (value, "")


@pytest.mark.parametrize("mark", ["`", "{", '"\\', "```json\n", "<think>", "</think>", '{"a":[', "\n"])
def test_a_long_run_of_marks_is_searched_once(mark: str) -> None:
    # Searched again from each mark, this would take minutes.
    assert object_in(mark * 300_000, SCHEMA)[0] is None


def test_what_no_database_carries_is_replaced_in_names_and_texts() -> None:
    found, _ = object_in('{"a\\u0000": ["\\ud800x", {"b": "\\u0000"}], "c": "\\ud83d\\ude42"}', ANY)
    assert found == {"a\ufffd": ["\ufffdx", {"b": "\ufffd"}], "c": "🙂"}


@given(st.text(st.characters()))
def test_kept_text_can_be_kept(text: str) -> None:
    kept = kept_text(text)
    assert "\0" not in kept
    assert kept.encode().decode() == kept
    assert len(kept) == len(text)
