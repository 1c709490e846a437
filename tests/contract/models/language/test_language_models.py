"""A language model keeps its promises over either wire: the answer asked for, whole, and what it cost."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from models.errors import (
    AnswerUnusable,
    InvalidRequest,
    MalformedOutput,
    ModelRefused,
    OutputTruncated,
)
from models.language.language import AnswerSchema
from models.language.remote import RemoteModel
from tests.stand_ins.model_script import Ask, Cut, Decline, Garble, Raw, Say
from tests.stand_ins.model_server import ModelServer
from tests.support.models.questions import LISBON, SHAPE, question, shaped

FORMS = ("json_schema", "tool", "text")


async def test_text_answer_has_its_tokens_and_cost(model: RemoteModel, site: ModelServer) -> None:
    site.then(Say("In Lisboa."))
    answer = await model.converse(question())
    assert (answer.text, answer.parsed, answer.attempts, answer.form) == ("In Lisboa.", None, 1, "text")
    assert answer.input_tokens == (len("Be brief.") + len("Where?")) // 4 + 1
    assert answer.output_tokens > 0
    assert not answer.usage.is_estimated
    # 15 and 60 cents a million, as the table has it for this id.
    assert answer.cost_usd == pytest.approx((answer.input_tokens * 0.15 + answer.output_tokens * 0.60) / 1e6)


async def test_request_arrives_as_it_was_asked(model: RemoteModel, site: ModelServer) -> None:
    await model.converse(question(system="Sei kurz. 東京", user="Onde? 🙂", max_output_tokens=77))
    (ask,) = site.asks
    assert (ask.model_id, ask.system, ask.user) == ("openai.gpt-oss-120b-1:0", "Sei kurz. 東京", "Onde? 🙂")
    assert (ask.max_output_tokens, ask.temperature, ask.schema) == (77, 0.0, None)


async def test_empty_system_prompt_is_not_sent(model: RemoteModel, site: ModelServer) -> None:
    await model.converse(question(system=""))
    assert len(site.asks[0].body["messages"]) == 1
    assert "system" not in site.asks[0].body


@pytest.mark.parametrize("lacking", [0, 1, 2])
async def test_object_is_requested_in_the_most_reliable_mode_of_the_server(
    model: RemoteModel, site: ModelServer, lacking: int
) -> None:
    site.lacks = set(FORMS[:lacking])
    site.by_request = lambda _: Say(LISBON)
    first, second = await model.converse(shaped()), await model.converse(shaped(user="And now?"))
    assert first.parsed == second.parsed == LISBON
    assert first.form == FORMS[lacking]
    assert (first.attempts, second.attempts) == (lacking + 1, 1)
    assert [ask.form for ask in site.asks] == [*FORMS[: lacking + 1], FORMS[lacking]]
    assert all(ask.schema == SHAPE for ask in site.asks if ask.form != "text")
    assert all(json.dumps(SHAPE) in ask.system for ask in site.asks if ask.form == "text")


async def test_server_that_does_not_enforce_schemas_is_asked_to_only_once(
    compatible: RemoteModel, site: ModelServer
) -> None:
    accepted = {"type": "object", "required": ["city"]}
    site.by_request = lambda _: Say({"city": "Lisboa", "more": 1})
    loose = question(schema=AnswerSchema("place", SHAPE, accepted))
    answers = [await compatible.converse(loose) for _ in range(2)]
    assert [one.parsed for one in answers] == [{"city": "Lisboa", "more": 1}] * 2
    assert [ask.body["response_format"]["json_schema"]["strict"] for ask in site.asks] == [True, False]


async def test_schema_stays_strict_after_an_exact_answer(compatible: RemoteModel, site: ModelServer) -> None:
    site.by_request = lambda _: Say(LISBON)
    for _ in range(2):
        await compatible.converse(question(schema=AnswerSchema("place", SHAPE, {"type": "object"})))
    assert all(ask.body["response_format"]["json_schema"]["strict"] for ask in site.asks)


async def test_refusal_of_every_mode_is_cached_for_none(model: RemoteModel, site: ModelServer) -> None:
    site.lacks = set(FORMS)
    with pytest.raises(InvalidRequest, match="answers nothing") as refused:
        await model.converse(shaped())
    assert refused.value.attempts == 3
    site.lacks = set()
    site.then(Say(LISBON))
    assert (await model.converse(shaped())).form == "json_schema"


async def test_mode_needed_for_one_schema_is_not_applied_to_another(model: RemoteModel, site: ModelServer) -> None:
    site.by_request = lambda ask: Say(LISBON if ask.schema_name != "other" else {})
    site.lacks = {"json_schema"}
    await model.converse(shaped())
    site.lacks = set()
    other = await model.converse(question(schema=AnswerSchema("other", {"type": "object", "properties": {}})))
    assert other.form == "json_schema"


async def test_parameter_that_a_model_no_longer_accepts_is_left_out(model: RemoteModel, site: ModelServer) -> None:
    site.refuses_temperature = site.wants_new_cap = True
    await model.converse(question())
    asked_before = len(site.asks)
    answer = await model.converse(question())
    assert answer.attempts == 1 == len(site.asks) - asked_before
    assert site.asks[-1].temperature is None
    assert site.asks[-1].max_output_tokens == 100


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LISBON),
        f"```json\n{json.dumps(LISBON, indent=1)}\n```",
        f"Here you are:\n\n{json.dumps(LISBON)}\nAnything else?",
        f"<think>A set such as {{1, 2}}? No.</think>{json.dumps(LISBON)}",
        json.dumps({**LISBON, "confidence": 0.9}),
    ],
    ids=["bare", "fenced", "in talk", "after thoughts", "with more"],
)
async def test_object_is_extracted_from_the_text_around_it(model: RemoteModel, site: ModelServer, text: str) -> None:
    site.then(Say(text))
    assert (await model.converse(shaped())).parsed == LISBON


async def test_reasoning_is_not_part_of_the_answer(model: RemoteModel, site: ModelServer) -> None:
    site.then(Say(LISBON, thoughts='Perhaps {"city": "Porto", "visits": 1}?'))
    answer = await model.converse(shaped())
    assert (json.loads(answer.text), answer.parsed) == (LISBON, LISBON)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("<think>Is it <b>Porto</b>?\n</think>\n\nLisboa.", "\n\nLisboa."),
        ("Is it Porto?</think>Lisboa.", "Lisboa."),
        ("The tags `<think>` and `</think>` frame it.", "The tags `<think>` and `</think>` frame it."),
    ],
    ids=["tagged", "opening removed", "about tags"],
)
async def test_reasoning_before_a_text_is_not_part_of_it(
    model: RemoteModel, site: ModelServer, text: str, spoken: str
) -> None:
    site.then(Say(text))
    assert (await model.converse(question())).text == spoken


@pytest.mark.parametrize("text", ["<think>Is it Porto?", "<think>Is it Porto?</think> \n"], ids=["open", "closed"])
async def test_text_of_nothing_but_reasoning_is_no_answer(model: RemoteModel, site: ModelServer, text: str) -> None:
    site.then(Say(text))
    with pytest.raises(MalformedOutput, match="no text"):
        await model.converse(question())


@pytest.mark.parametrize(
    "reply",
    [Say("I would rather not."), Say('{"city": "Lisboa"'), Say({"city": "Lisboa"}), Say([1]), Say(""), Garble()],  # type: ignore[arg-type]  # a list is what it must not be
    ids=["prose", "cut off", "misfit", "a list", "nothing", "said to be"],
)
async def test_unusable_object_is_reported_and_not_requested_again(
    model: RemoteModel, site: ModelServer, reply: Say | Garble
) -> None:
    site.then(reply)
    with pytest.raises(MalformedOutput) as failed:
        await model.converse(shaped())
    assert len(site.asks) == failed.value.attempts == 1
    assert failed.value.answer.cost_usd


async def test_empty_text_is_no_answer(model: RemoteModel, site: ModelServer) -> None:
    site.then(Say(" \n"))
    with pytest.raises(MalformedOutput, match="no text"):
        await model.converse(question())


@pytest.mark.parametrize("request_", [question(), shaped()], ids=["text", "object"])
@pytest.mark.parametrize(
    ("reply", "kind"),
    [(Cut('{"city": "Lisboa", "visits": 3}'), OutputTruncated), (Decline(), ModelRefused)],
    ids=["truncated", "declined"],
)
async def test_unusable_answer_has_its_reason_and_cost(
    model: RemoteModel, site: ModelServer, reply: Cut | Decline, kind: type[AnswerUnusable], request_: Any
) -> None:
    site.then(reply)
    with pytest.raises(kind) as failed:
        await model.converse(request_)
    assert len(site.asks) == 1
    assert failed.value.answer.cost_usd
    assert failed.value.answer.text == reply.text


async def test_output_limit_is_capped_at_the_models(model: RemoteModel, site: ModelServer) -> None:
    await model.converse(question(model_id="amazon.nova-micro-v1:0", max_output_tokens=24_000))
    await model.converse(question(model_id="nobody.knows-it-v1:0", max_output_tokens=24_000))
    assert [ask.max_output_tokens for ask in site.asks] == [10_000, 24_000]


async def test_model_without_a_price_has_unknown_cost(model: RemoteModel) -> None:
    assert (await model.converse(question(model_id="nobody.knows-it-v1:0"))).cost_usd is None


async def test_cached_input_tokens_are_counted_and_cheaper(model: RemoteModel, site: ModelServer) -> None:
    site.then(Say("ok"), Say("ok", cached_tokens=1_000))
    plain = await model.converse(question(model_id="anthropic.claude-sonnet-4-5-20250929-v1:0"))
    cached = await model.converse(question(model_id="anthropic.claude-sonnet-4-5-20250929-v1:0"))
    assert (cached.cached_tokens, cached.input_tokens) == (1_000, plain.input_tokens + 1_000)
    assert plain.cost_usd is not None
    assert cached.cost_usd == pytest.approx(plain.cost_usd + 1_000 * 0.3 / 1e6)


async def test_missing_token_counts_are_estimated(compatible: RemoteModel, site: ModelServer) -> None:
    site.then(Say("a few words", has_usage=False))
    usage = (await compatible.converse(question(user="word " * 1_000))).usage
    assert usage.is_estimated
    assert 1_000 <= usage.input_tokens < 1_100
    assert 0 < usage.output_tokens < 10


async def test_lone_surrogates_and_nul_are_neither_sent_nor_returned(model: RemoteModel, site: ModelServer) -> None:
    site.then(Say('{"city": "Lis\\u0000boa\\ud83d", "visits": 3}'))
    answer = await model.converse(shaped(system="a\ud800b", user="c\0d"))
    assert (site.asks[0].system, site.asks[0].user) == ("a\ufffdb", "c\ufffdd")
    assert answer.parsed == {"city": "Lis\ufffdboa\ufffd", "visits": 3}


async def test_truncated_text_is_kept_up_to_the_cut(model: RemoteModel, site: ModelServer) -> None:
    site.then(Say("a\0b\ud800 東京"))
    assert (await model.converse(question())).text == "a\ufffdb\ufffd 東京"


async def test_concurrent_questions_get_their_own_answers(model: RemoteModel, site: ModelServer) -> None:
    site.by_request = echo
    answers = await asyncio.gather(*(model.converse(question(user=f"number {n}")) for n in range(24)))
    assert [answer.text for answer in answers] == [f"number {n}" for n in range(24)]


def echo(ask: Ask) -> Say:
    return Say(ask.user)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"user": " \n"}, "user"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"schema": AnswerSchema("no spaces", SHAPE)}, r"schema\.name"),
        ({"schema": AnswerSchema("list", {"type": "array"})}, "type"),
        ({"schema": AnswerSchema("ref", {"type": "object", "$ref": "#/a"})}, r"\$ref"),
    ],
)
async def test_request_that_no_provider_could_answer_is_refused_unsent(
    model: RemoteModel, site: ModelServer, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidRequest, match=said):
        await model.converse(question(**changes))
    assert not site.asks


NESTED = b'{"output": %s}' % (b"[" * 100_000 + b"]" * 100_000)


@pytest.mark.parametrize("body", [b"{}", b'{"choices": [7]}', b'{"output": {}}', b"[]", b"\xff\xfe", b"", NESTED])
async def test_malformed_body_is_the_servers_failure(model: RemoteModel, site: ModelServer, body: bytes) -> None:
    site.then(Raw(body), Raw(body), Say("better"))
    answer = await model.converse(question())
    assert (answer.text, answer.attempts) == ("better", 3)


def raw(text: str = "Lisboa", *, reason: str = "stop", usage: object = None, tool: object = None) -> Raw:
    """Return one body that is an answer in both formats."""
    chat: dict[str, Any] = {"role": "assistant", "content": text}
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    if tool is not None:
        chat["tool_calls"] = [{"id": "1", "type": "function", "function": {"name": "look_up", "arguments": tool}}]
        content.append({"toolUse": {"toolUseId": "1", "name": "look_up", "input": tool}})
    body = {
        "choices": [{"message": chat, "finish_reason": reason}],
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reason,
        "usage": usage,
    }
    return Raw(json.dumps(body).encode())


def used(prompt: object, output: object, cached: object = 0) -> dict[str, object]:
    """Return the token counts under their names in both formats."""
    chat = {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": {"cached_tokens": cached}}
    return chat | {"inputTokens": prompt, "outputTokens": output, "cacheReadInputTokens": cached}


@pytest.mark.parametrize(
    ("prompt", "output"),
    [(10**30, 1), (int("9" * 400), 1), (10**10, 1), (-5, 1), (5, -100), (None, None), (5, None)],
    ids=["huge", "no float", "large", "negative prompt", "negative output", "none", "no output"],
)
async def test_token_counts_that_no_call_can_have_are_replaced_by_estimates(
    model: RemoteModel, site: ModelServer, prompt: object, output: object
) -> None:
    site.then(raw(usage=used(prompt, output)))
    answer = await model.converse(question())
    assert answer.usage.is_estimated
    assert answer.cost_usd is not None
    assert 0 < answer.cost_usd < 0.001


async def test_more_cached_tokens_than_the_prompt_has_are_not_counted(model: RemoteModel, site: ModelServer) -> None:
    site.then(raw(usage=used(100, 5, 10**9)), raw(usage=used(100, 5, 500)))
    first, second = [await model.converse(question()) for _ in range(2)]
    assert (first.input_tokens, first.cached_tokens, first.usage.is_estimated) == (100, 0, False)
    assert (second.input_tokens, second.cached_tokens) == (100, 100)


@pytest.mark.parametrize("reason", ["max_tokens", "MAX_TOKENS", "model_length"])
async def test_answer_cut_off_in_the_words_of_another_server_is_truncated(
    model: RemoteModel, site: ModelServer, reason: str
) -> None:
    site.then(raw("Lisboa is the", reason=reason))
    with pytest.raises(OutputTruncated):
        await model.converse(question())


@pytest.mark.parametrize("reason", ["refusal", "SAFETY", "content_filtered"])
async def test_refusal_in_the_words_of_another_server_is_a_refusal(
    model: RemoteModel, site: ModelServer, reason: str
) -> None:
    site.then(raw("I cannot", reason=reason))
    with pytest.raises(ModelRefused):
        await model.converse(question())


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
async def test_text_of_an_answer_that_the_server_gave_up_is_not_used(
    model: RemoteModel, site: ModelServer, reason: str
) -> None:
    site.then(raw("Lisboa is", reason=reason))
    with pytest.raises(MalformedOutput, match=reason):
        await model.converse(question())


async def test_call_of_a_tool_that_was_not_offered_is_no_text(model: RemoteModel, site: ModelServer) -> None:
    site.then(raw("In Lisboa.", tool={"query": "Lisboa"}), raw("", tool={"query": "Lisboa"}))
    assert (await model.converse(question())).text == "In Lisboa."
    with pytest.raises(MalformedOutput, match="no text"):
        await model.converse(question())


@pytest.mark.parametrize("tool", [LISBON, json.dumps(LISBON)], ids=["object", "text"])
async def test_tool_input_is_read_as_object_and_as_text(model: RemoteModel, site: ModelServer, tool: object) -> None:
    site.then(raw("", tool=tool))
    assert (await model.converse(shaped())).parsed == LISBON


async def test_part_without_text_is_no_text(compatible: RemoteModel, site: ModelServer) -> None:
    parts = [{"type": "text", "text": None}, {"type": "text", "text": "Lisboa"}]
    site.then(Raw(json.dumps({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}).encode()))
    assert (await compatible.converse(question())).text == "Lisboa"
