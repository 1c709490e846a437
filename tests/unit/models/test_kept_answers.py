"""An answer that was paid for is kept under a name of its own, made of whatever shaped it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from models.language.language import (
    AnswerSchema,
    ConverseAnswer,
    ConverseRequest,
    TokenUsage,
    answer_bytes,
    answer_from,
    answer_key,
)

REQUEST = ConverseRequest("m", "system", "user", 10, 1.0, AnswerSchema("s", {"type": "object"}), prompt_version="1")
ANSWER = ConverseAnswer("m", "text ✓", "end_turn", TokenUsage(10, 2, 1), {"n": 2**70, "s": ["é"]}, 0.5, 2, "tool")


@pytest.mark.parametrize(
    "changes",
    [
        {"model_id": "n"},
        {"system": "other"},
        {"user": "other"},
        {"prompt_version": "2"},
        {"schema": None},
        {"schema": AnswerSchema("t", {"type": "object"})},
        {"schema": AnswerSchema("s", {"type": "object", "properties": {}})},
        {"system": "systemu", "user": "ser"},
    ],
)
def test_everything_that_shapes_an_answer_changes_its_key(changes: dict[str, Any]) -> None:
    assert answer_key(replace(REQUEST, **changes)) != answer_key(REQUEST)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_output_tokens": 99},
        {"deadline_s": 9.0},
        {"schema": AnswerSchema("s", MappingProxyType({"type": "object"}))},
    ],
)
def test_anything_else_does_not_change_the_key(changes: dict[str, Any]) -> None:
    assert answer_key(replace(REQUEST, **changes)) == answer_key(REQUEST)


def test_key_is_the_same_in_every_process() -> None:
    assert answer_key(REQUEST).hex() == "f13cd9e57d8093057b732da221f29d9c7f01f37f78f1f75dc458d331672d298d"
    assert len(answer_key(replace(REQUEST, user="\ud800\0東京"))) == 32


def test_answer_survives_serialization() -> None:
    assert answer_from(answer_bytes(ANSWER)) == ANSWER
    bare = ConverseAnswer("m", "", "stop", TokenUsage(1, 1, is_estimated=True))
    assert answer_from(answer_bytes(bare)) == bare
