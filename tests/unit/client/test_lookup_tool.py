"""The tool by which a model looks things up: its definition, its arguments, and what it is told."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sidecar.client import RequestUnusable, requests
from sidecar.client.answers.brain import BrainAnswer, BrainDetail, BrainHit, BrainStatement
from sidecar.client.contract import METHODS
from sidecar.client.lookup_tool import LOOKUP_TOOL, looked_up, lookup_arguments
from sidecar.client.requests.request import Request
from tests.support.each import each


def test_definition_is_plain_json_and_names_the_arguments() -> None:
    written = orjson.loads(orjson.dumps(LOOKUP_TOOL))
    assert set(written["parameters"]["properties"]) == {"query", "detail_ids"}


@pytest.mark.parametrize(
    ("given", "field"),
    [({}, "query"), ({"query": 3}, "query"), ({"query": " "}, "query"), ({"detail_ids": "x"}, "detail_ids"),
     ({"detail_ids": [1]}, "detail_ids")],
)  # fmt: skip
def test_arguments_that_cannot_be_used_name_their_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestUnusable) as refused:
        lookup_arguments(given)
    assert refused.value.field == field


@each("given", [None, [], "Helios", 3])
def test_arguments_that_are_no_object_are_refused_with_a_text_for_the_model(given: Any) -> None:
    with pytest.raises(RequestUnusable, match="the arguments are not a JSON object"):
        lookup_arguments(given)


def test_arguments_are_cut_to_the_services_limits() -> None:
    assert lookup_arguments({"detail_ids": [f"owner:{n}" for n in range(12)]})["detail_ids"] == [
        f"owner:{n}" for n in range(10)
    ]
    assert lookup_arguments({"query": "Helios", "other": 1}) == {"query": "Helios", "detail_ids": []}


def test_model_gets_statements_with_their_memories_and_trust() -> None:
    hit = BrainHit(1, "owner:a", "Helios", "An office.", ("m1",), "entity", "owner", 0.5, 4)
    said = BrainStatement("It is in Lisbon.", "Overview", ("m1", "m2"), 2)
    found = BrainDetail("owner:a", "found", "Helios", "entity", "owner", (said,), (), ())
    gone = BrainDetail("owner:b", "not_found", "", "", "", (), (), ())
    told = looked_up(BrainAnswer((hit,), (found, gone), ()))
    assert told == {
        "pages": [{"id": "owner:a", "title": "Helios", "description": "An office."}],
        "details": [
            {
                "id": "owner:a",
                "title": "Helios",
                "statements": [{"text": "It is in Lisbon.", "memory_ids": ["m1", "m2"], "trust": 2}],
            },
            {"id": "owner:b", "status": "not_found"},
        ],
    }
    assert looked_up(BrainAnswer((), (), ())) == {"pages": []}


def test_every_request_of_the_client_has_its_method() -> None:
    named = {one.__name__ for one in vars(requests).values() if isinstance(one, type) and issubclass(one, Request)}
    assert named - {"Request"} == set(METHODS)
