"""How a model is asked after it refused to be asked otherwise."""

from __future__ import annotations

from models.language.language import AnswerSchema, ConverseRequest
from models.language.request_mode import JsonMeans, ModelRequest, RequestMode, first_mode, next_mode

SHAPE = AnswerSchema("place", {"type": "object", "properties": {"city": {"type": "string"}}})


def request(schema: AnswerSchema | None = SHAPE, system: str = "Be brief.") -> ConverseRequest:
    return ConverseRequest("m", system, "Where?", 10, 1.0, schema)


def test_object_is_first_requested_in_the_most_reliable_mode() -> None:
    assert first_mode(request()) == RequestMode(JsonMeans.JSON_SCHEMA)
    assert first_mode(request(None)) == RequestMode(JsonMeans.TEXT)


def test_refusal_leads_to_the_next_mode_and_finally_to_none() -> None:
    tool = next_mode(RequestMode(JsonMeans.JSON_SCHEMA), "no response_format here")
    assert tool == RequestMode(JsonMeans.TOOL)
    assert next_mode(RequestMode(JsonMeans.TOOL), "no tools here") == RequestMode(JsonMeans.TEXT)
    assert next_mode(RequestMode(JsonMeans.TEXT), "no") is None


def test_a_refused_parameter_changes_only_itself_and_only_once() -> None:
    warm = RequestMode(JsonMeans.JSON_SCHEMA)
    cold = next_mode(warm, "`Temperature` is deprecated for this model")
    assert cold == RequestMode(JsonMeans.JSON_SCHEMA, has_temperature=False)
    assert next_mode(cold, "temperature") == RequestMode(JsonMeans.TOOL, has_temperature=False)
    capped = next_mode(warm, "Use 'max_completion_tokens' instead.")
    assert capped == RequestMode(JsonMeans.JSON_SCHEMA, has_new_cap=True)


def test_every_sequence_of_refusals_terminates() -> None:
    mode: RequestMode | None = first_mode(request())
    for _ in range(5):
        mode = mode and next_mode(mode, "temperature max_completion_tokens")
    assert mode is None


def test_schema_is_in_the_prompt_only_if_nothing_else_carries_it() -> None:
    told = ModelRequest(request(), RequestMode(JsonMeans.TEXT), 10)
    assert told.schema is None
    assert told.system.startswith("Be brief.\n\nAnswer with one JSON object")
    assert '"city": {"type": "string"}' in told.system
    assert ModelRequest(request(system=""), RequestMode(JsonMeans.TEXT), 10).system.startswith(
        "Answer with one JSON object"
    )
    assert ModelRequest(request(), RequestMode(JsonMeans.TOOL), 10).system == "Be brief."
    assert ModelRequest(request(None), RequestMode(JsonMeans.TEXT), 10).system == "Be brief."
