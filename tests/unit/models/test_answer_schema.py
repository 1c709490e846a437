"""An answer is held against the part of JSON schema that answers are asked for with."""

from __future__ import annotations

from typing import Any

import pytest

from models.language.schema import fitted, misfit, unchecked_keyword

PAGE: dict[str, Any] = {
    "type": "object",
    "description": "A page.",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 5},
        "kind": {"enum": ["entity", "topic", None]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "score": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "count": {"type": "integer"},
        "live": {"type": "boolean"},
        "version": {"const": 1},
        "where": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {}, "additionalProperties": False}]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value",
    [
        {"title": "a"},
        {"title": "a", "kind": None, "tags": ["x", "y"], "score": 0.5, "count": 3.0, "live": True, "version": 1},
        {"title": "a", "where": "here"},
        {"title": "a", "where": {}, "score": None},
    ],
)
def test_valid_answer_fits_its_schema(value: Any) -> None:
    assert misfit(value, PAGE) == ""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "answer: object"),
        ({}, "answer.title: required"),
        ({"title": ""}, "answer.title: minLength 1"),
        ({"title": "abcdef"}, "answer.title: maxLength 5"),
        ({"title": 1}, "answer.title: string"),
        ({"title": "a", "kind": "place"}, "answer.kind: one of 3 values"),
        ({"title": "a", "tags": []}, "answer.tags: minItems 1"),
        ({"title": "a", "tags": ["x", 2]}, "answer.tags[1]: string"),
        ({"title": "a", "tags": ["x", "y", "z"]}, "answer.tags: maxItems 2"),
        ({"title": "a", "score": -0.1}, "answer.score: minimum 0"),
        ({"title": "a", "score": 2}, "answer.score: maximum 1"),
        ({"title": "a", "score": "1"}, "answer.score: number or null"),
        ({"title": "a", "score": True}, "answer.score: number or null"),
        ({"title": "a", "count": 1.5}, "answer.count: integer"),
        ({"title": "a", "count": True}, "answer.count: integer"),
        ({"title": "a", "live": 1}, "answer.live: boolean"),
        ({"title": "a", "version": True}, "answer.version: the constant"),
        ({"title": "a", "where": {"x": 1}}, "answer.where: one of 2 shapes"),
        ({"title": "a", "secret of the model": 1}, "answer.(additional): nothing"),
    ],
)
def test_violation_is_named_by_its_path(value: Any, said: str) -> None:
    assert misfit(value, PAGE) == said


def test_additional_properties_may_have_a_schema_of_their_own() -> None:
    counts = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert misfit({"a": 1}, counts) == ""
    assert misfit({"a": "b"}, counts) == "answer.(additional): integer"
    assert fitted({"a": 1}, counts) == {"a": 1}


def test_forbidden_properties_are_removed_at_every_depth() -> None:
    schema = {"type": "object", "properties": {"pages": {"type": "array", "items": PAGE}}}
    assert fitted({"pages": [{"title": "a", "why": "b"}], "more": 1}, schema) == {"pages": [{"title": "a"}], "more": 1}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (PAGE, ""),
        ({"type": "object", "additionalProperties": True}, ""),
        ({"type": "object", "$ref": "#"}, "schema: $ref"),
        ({"type": "object", "properties": {"a": {"pattern": "x"}}}, "schema.a: pattern"),
        ({"type": "array", "items": {"anyOf": [{"oneOf": []}]}}, "schema.items.anyOf: oneOf"),
        ({"type": "strin"}, "schema: type strin"),
        ({"type": "object", "additionalProperties": "no"}, "schema.additionalProperties"),
    ],
)
def test_unchecked_schema_keyword_is_named(schema: Any, said: str) -> None:
    assert unchecked_keyword(schema) == said
