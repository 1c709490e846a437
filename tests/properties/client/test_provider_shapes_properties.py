"""Generated and hostile input for what `tests/unit/client/test_provider_shapes.py` tests by example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

import botocore.session
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from sidecar.client.shapes import (
    Conversation,
    Message,
    SystemBlock,
    ToolCall,
    ToolResult,
    to_anthropic,
    to_bedrock_converse,
    to_openai,
    to_openai_responses,
)
from tests.unit.client.test_provider_shapes import call, result

ID = re.compile(r"[A-Za-z0-9_-]{1,40}")

texts = st.sampled_from(["", " \n", "Olá", "two\nlines", "你好", "<|endoftext|>", "🙂" * 3])
ids = st.sampled_from(["a", "b", "call_1", "functions.search:0", "", "x" * 80, "日本"])
names = st.sampled_from(["search", "mcp.server/tool", "", "n" * 100])
arguments = st.dictionaries(
    st.sampled_from(["q", "n"]), st.sampled_from([1, "x", None, [1, {"deep": True}]]), max_size=2
)
parts = st.lists(
    st.builds(ToolCall, id=ids, name=names, arguments=arguments) | st.builds(ToolResult, call_id=ids, content=texts),
    max_size=3,
).map(tuple)
roles = st.sampled_from(["user", "assistant", "tool", "system"])
messages = st.builds(Message, role=roles, text=texts, parts=parts, is_cache_point=st.booleans())
zones = st.sampled_from(["stable", "volatile", ""])
blocks = st.lists(st.builds(SystemBlock, text=texts, zone=zones, is_cache_point=st.booleans()), max_size=7)


paired = st.tuples(ids, texts).map(lambda pair: [call(pair[0], q=1), result(pair[0], pair[1])])


histories = st.lists(messages.map(lambda one: [one]) | paired, max_size=8).map(lambda groups: tuple(chain(*groups)))


conversations = st.builds(
    Conversation,
    message=st.just("The new message"),
    history=histories,
    blocks=blocks,
    system=texts,
    has_tools=st.booleans(),
    max_cache_points=st.integers(0, 4),
    tool_turns=st.lists(paired, max_size=2).map(lambda groups: tuple(chain(*groups))),
)


@given(conversations)
def test_bedrock_requests_keep_the_rules_of_converse(conversation: Conversation) -> None:
    request = to_bedrock_converse(conversation)
    validator, shape = _converse()
    report = validator.validate({"modelId": "m", **request}, shape)
    assert not report.has_errors(), report.generate_report()
    _check_alternation(request["messages"])
    sent = [_bedrock_ids(message["content"]) for message in request["messages"]]
    _check_pairs([asked for asked, _ in sent], [told for _, told in sent])
    assert str(request).count("cachePoint") <= conversation.max_cache_points
    assert all(text.strip() for text in _texts(request))
    for message in request["messages"]:
        assert len({"toolResult" in block for block in message["content"] if "cachePoint" not in block}) == 1
    _check_nothing_is_lost(conversation, request)


@given(conversations)
def test_anthropic_requests_keep_the_rules_of_messages(conversation: Conversation) -> None:
    request = to_anthropic(conversation)
    _check_alternation(request["messages"])
    asked = [[block["id"] for block in one["content"] if block["type"] == "tool_use"] for one in request["messages"]]
    told = [
        [block["tool_use_id"] for block in one["content"] if block["type"] == "tool_result"]
        for one in request["messages"]
    ]
    _check_pairs(asked, told)
    for message, results in zip(request["messages"], told, strict=True):
        assert all(block["type"] == "tool_result" for block in message["content"][: len(results)])
    assert str(request).count("cache_control") <= conversation.max_cache_points
    assert all(text.strip() for text in _texts(request))
    _check_nothing_is_lost(conversation, request)


@given(conversations)
def test_openai_requests_keep_the_rules_of_chat_completions(conversation: Conversation) -> None:
    request = to_openai(conversation)
    awaited: list[str] = []
    seen: list[str] = []
    for message in request["messages"]:
        if message["role"] == "tool":
            awaited.remove(message["tool_call_id"])
        else:
            assert not awaited, "something stands between a call and its result"
            awaited = [one["id"] for one in message.get("tool_calls", ())]
            seen += awaited
        assert all(isinstance(json.loads(one["function"]["arguments"]), dict) for one in message.get("tool_calls", ()))
        assert message["content"] is None or message["content"].strip()
        assert message["content"] is not None or message["tool_calls"]
    assert not awaited
    assert len(seen) == len(set(seen))
    assert all(ID.fullmatch(one) for one in seen)
    assert conversation.tool_turns or request["messages"][-1]["content"].endswith(conversation.message)
    _check_nothing_is_lost(conversation, request)


@given(conversations)
def test_openai_requests_keep_the_rules_of_responses(conversation: Conversation) -> None:
    request = to_openai_responses(conversation)
    awaited: list[str] = []
    seen: list[str] = []
    for item in request["input"]:
        match item.get("type"):
            case "function_call_output":
                awaited.remove(item["call_id"])
            case "function_call":
                assert isinstance(json.loads(item["arguments"]), dict)
                awaited.append(item["call_id"])
                seen.append(item["call_id"])
            case _:
                assert not awaited, "something stands between a call and its result"
                assert item["role"] in {"user", "assistant"}
                assert item["content"].strip()
    assert not awaited
    assert len(seen) == len(set(seen))
    assert all(ID.fullmatch(one) for one in seen)
    assert conversation.tool_turns or request["input"][-1]["content"].endswith(conversation.message)
    _check_nothing_is_lost(conversation, request)


rounds = st.lists(paired, min_size=1, max_size=2).map(lambda groups: tuple(chain(*groups)))


@given(conversations, rounds)
def test_further_tool_rounds_change_nothing_before_them_but_cache_points(
    conversation: Conversation, further: tuple[Message, ...]
) -> None:
    later = replace(conversation, tool_turns=(*conversation.tool_turns, *further))
    for shape in (to_bedrock_converse, to_anthropic, to_openai, to_openai_responses):
        before, after = _without_cache_points(shape(conversation)), _without_cache_points(shape(later))
        (name,) = before.keys() & {"messages", "input"}
        assert after[name][: len(before[name])] == before[name]
        assert [after.get(one) for one in ("system", "instructions")] == [
            before.get(one) for one in ("system", "instructions")
        ]


def _without_cache_points(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_cache_points(one) for one in value if not (isinstance(one, dict) and "cachePoint" in one)]
    if isinstance(value, dict):
        return {name: _without_cache_points(inner) for name, inner in value.items() if name != "cache_control"}
    return value


@cache
def _converse() -> tuple[ParamValidator, Any]:
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return ParamValidator(), model.operation_model("Converse").input_shape


def _check_alternation(sent: list[dict[str, Any]]) -> None:
    assert [message["role"] for message in sent] == ["user", "assistant"] * (len(sent) // 2) + ["user"]
    assert all(message["content"] for message in sent)


def _check_pairs(asked: list[list[str]], told: list[list[str]]) -> None:
    assert told[0] == []
    assert asked[-1] == []
    assert asked[:-1] == told[1:]
    every = list(chain(*asked))
    assert len(every) == len(set(every))
    assert all(ID.fullmatch(one) for one in every)


def _bedrock_ids(content: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    asked = [block["toolUse"]["toolUseId"] for block in content if "toolUse" in block]
    return asked, [block["toolResult"]["toolUseId"] for block in content if "toolResult" in block]


def _texts(value: Any) -> Iterator[str]:
    """Yield every text block and tool result of a request."""
    if isinstance(value, dict):
        yield from (
            inner
            for name, inner in value.items()
            if name in {"text", "content", "output", "instructions"} and isinstance(inner, str)
        )
        for name, inner in value.items():
            if (
                name != "arguments"
                and not (name == "input" and "toolUseId" in value)
                and value.get("type") != "tool_use"
            ):
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _check_nothing_is_lost(conversation: Conversation, request: dict[str, Any]) -> None:
    sent = list(_texts(request))
    spoken = [conversation.system, *(block.text for block in conversation.blocks)]
    for turn in conversation.history:
        spoken += [turn.text, *(part.content for part in turn.parts if isinstance(part, ToolResult))]
    assert all(any(text in one for one in sent) for text in spoken if text.strip())
