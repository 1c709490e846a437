"""The scripted server is no easier to please than the services it stands in for, and as wayward as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from compiler.plan.prompting import schema as shapes
from models.language.schema import misfit
from tests.stand_ins import bedrock_format, plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Cut, Decline, Garble, Say
from tests.stand_ins.model_server import ModelServer, model_server
from tests.stand_ins.service_shapes import faults, operation

ASKED = {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "inferenceConfig": {"maxTokens": 5}}
SIGNED = {
    "authorization": "AWS4-HMAC-SHA256 Credential=AKID/20260301/eu-west-1/bedrock/aws4_request,"
    f" SignedHeaders=host;x-amz-date, Signature={'0' * 64}",
    "x-amz-date": "20260301T000000Z",
}
LEAF = plan_answers.leaf(newPages=[plan_answers.new_page("Nonna's", ["R1"])])
HUB = plan_answers.aggregation(parentSectionUpdates=[plan_answers.rollup("P1", "restaurants", [("entity", "nonnas")])])


@pytest.fixture
def lax() -> Iterator[ModelServer]:
    """A server whose findings are looked at by the test."""
    with model_server() as served:
        yield served


def converse(site: ModelServer, fields: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
    return httpx.post(f"{site.url}/model/some.model/converse", json=fields, headers=headers)


def test_well_formed_signed_request_is_answered(lax: ModelServer) -> None:
    response = converse(lax, ASKED, SIGNED)
    assert response.json()["stopReason"] == "end_turn"
    assert not lax.faults


@pytest.mark.parametrize(
    ("fields", "headers", "said"),
    [
        (ASKED, {}, "request: not signed"),
        (ASKED, {**SIGNED, "authorization": "Bearer key"}, "request: not signed"),
        ({**ASKED, "maxTokens": 5}, SIGNED, "request.maxTokens: unknown"),
        ({"messages": [{"role": "user"}]}, SIGNED, "request.messages[0].content: required"),
        ({"messages": [{"role": "tool", "content": []}]}, SIGNED, "request.messages[0].role: one of"),
        ({**ASKED, "system": [{"text": ""}]}, SIGNED, "request.system[0].text: {'min': 1}"),
        ({**ASKED, "inferenceConfig": {"temperature": 2}}, SIGNED, "request.inferenceConfig.temperature"),
        ({**ASKED, "inferenceConfig": {"maxTokens": "5"}}, SIGNED, "request.inferenceConfig.maxTokens: integer"),
    ],
)
def test_malformed_request_is_refused_and_noted(
    lax: ModelServer, fields: dict[str, Any], headers: dict[str, str], said: str
) -> None:
    response = converse(lax, fields, headers)
    assert (response.status_code, response.headers["x-amzn-errortype"].split(":")[0]) == (400, "ValidationException")
    assert lax.faults[0].startswith(said)


@pytest.mark.parametrize("form", ["text", "json_schema", "tool"])
@pytest.mark.parametrize(
    "behaviour", [Say({"a": 1}, thoughts="hm", cached_tokens=9), Say("a"), Cut("a"), Decline(), Garble()]
)
def test_scripted_answers_match_the_services_own_schema(behaviour: Behaviour, form: str) -> None:
    answer, wrong = bedrock_format.write(behaviour, Ask("converse", "m", form=form, schema_name="plan"))
    assert not wrong
    spoiled = {**json.loads(answer[2]), "stopReason": "tired"}
    assert list(faults(spoiled, operation("Converse").output_shape, "response"))


@pytest.mark.parametrize(
    ("spoil", "answer"),
    [
        (plan_answers.hallucinated, LEAF),
        (plan_answers.with_wikilinks, LEAF),
        (plan_answers.uncited, LEAF),
        (plan_answers.one_child_under_two_sections, HUB),
        (lambda plan: plan_answers.across_cities(plan, [("entity", "trattoria-porto")]), HUB),
    ],
    ids=["hallucinated", "wikilinks", "uncited", "two sections", "across cities"],
)
def test_spoiled_plan_keeps_the_requested_shape(
    spoil: Callable[[plan_answers.Answer], plan_answers.Answer], answer: plan_answers.Answer
) -> None:
    shape = shapes.LEAF if answer is LEAF else shapes.AGGREGATION
    before = json.dumps(answer)
    spoiled = spoil(answer)
    assert not misfit(answer, shape)
    assert not misfit(spoiled, shape)
    assert spoiled != answer == json.loads(before)


def test_scripted_planner_reads_its_prompt() -> None:
    user = 'PAGES\n(none)\n\nMEMORIES\n{"ref":"R1","text":"a"}\n{"ref":"R2","text":"b"}'
    assert plan_answers.lines_of(user, "PAGES") == []
    assert [one["ref"] for one in plan_answers.lines_of(user, "MEMORIES")] == ["R1", "R2"]
