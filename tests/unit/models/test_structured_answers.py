"""The object that was asked for is found in whatever a model wrote around it, and never made up."""

from __future__ import annotations

from typing import Any

import pytest

from models.language.structured import object_in

ANY = {"type": "object"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


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
def test_object_is_found_in_the_text_around_it(text: str) -> None:
    assert object_in(text, SCHEMA) == ({"a": 1}, "")


ACCEPTED = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"b": [1], "note": 2}', {"b": [1], "note": 2}),
        ('{"c": 1} or {"a": "no number"}', {"a": "no number"}),
        ('{"b": 1}, no: {"a": 1}', {"a": 1}),
    ],
)
def test_merely_acceptable_object_is_taken_if_none_fits(text: str, value: object) -> None:
    found, reason = object_in(text, SCHEMA, ACCEPTED)
    assert found == value
    assert bool(reason) == (found != {"a": 1})
    assert object_in('{"c": 1}', SCHEMA, ACCEPTED)[0] is None


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
def test_missing_object_is_reported_with_the_reason(text: str, reason: str) -> None:
    assert object_in(text, SCHEMA) == (None, reason)


def test_characters_that_no_database_holds_are_replaced_in_names_and_texts() -> None:
    found, _ = object_in('{"a\\u0000": ["\\ud800x", {"b": "\\u0000"}], "c": "\\ud83d\\ude42"}', ANY)
    assert found == {"a\ufffd": ["\ufffdx", {"b": "\ufffd"}], "c": "🙂"}
