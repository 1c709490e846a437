"""What is sent to a provider keeps that provider's rules, whatever the stored history looks like, and loses nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sidecar.client.shapes import (
    Conversation,
    EmptyMessage,
    Message,
    SystemBlock,
    ToolCall,
    ToolResult,
    to_anthropic,
    to_bedrock_converse,
    to_openai,
    to_openai_responses,
)

Shape = Callable[[Conversation], dict[str, Any]]
SHAPES: list[Shape] = [to_bedrock_converse, to_anthropic, to_openai, to_openai_responses]


def call(call_id: str, name: str = "search", **arguments: Any) -> Message:
    return Message("assistant", parts=(ToolCall(call_id, name, arguments),))


def result(call_id: str, content: str = "found") -> Message:
    return Message("tool", parts=(ToolResult(call_id, content),))


def said(role: str, text: str) -> Message:
    return Message(role, text)


WEATHER = (
    said("user", "Weather in Lisbon?"),
    call("a", city="Lisbon"),
    result("a", "22 degrees"),
    said("assistant", "Warm."),
)


RECALLED = [
    SystemBlock("notice", zone="stable", is_cache_point=True),
    SystemBlock("<pages>\n", zone="volatile"),
    SystemBlock("<facts>\n", zone="volatile"),
]


def messages_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = request["input"] if "input" in request else request["messages"]
    return messages


def plain(sent: object) -> str:
    """Return what is sent without its cache points."""
    return (
        str(sent)
        .replace(", {'cachePoint': {'type': 'default'}}", "")
        .replace(", 'cache_control': {'type': 'ephemeral'}", "")
    )


class TestBedrock:
    def test_tool_pair_becomes_blocks_with_the_result_as_a_user_message(self) -> None:
        request = to_bedrock_converse(Conversation("And tomorrow?", WEATHER))
        assert request == {
            "messages": [
                {"role": "user", "content": [{"text": "Weather in Lisbon?"}]},
                {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "a", "name": "search", "input": {"city": "Lisbon"}}}],
                },
                {
                    "role": "user",
                    "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "22 degrees"}]}}],
                },
                {"role": "assistant", "content": [{"text": "Warm."}]},
                {"role": "user", "content": [{"text": "And tomorrow?"}]},
            ]
        }

    def test_cache_points_follow_their_blocks(self) -> None:
        blocks = [SystemBlock("wiki", is_cache_point=True), SystemBlock("memory")]
        request = to_bedrock_converse(Conversation("Hi", blocks=blocks, system="Be brief."))
        assert request["system"] == [
            {"text": "Be brief."},
            {"text": "wiki"},
            {"cachePoint": {"type": "default"}},
            {"text": "memory"},
        ]

    def test_history_ends_with_a_cache_point_before_the_recalled_text(self) -> None:
        history = (said("user", "Go"), Message("assistant", "Gone.", is_cache_point=True))
        request = to_bedrock_converse(Conversation("And now?", history, RECALLED))
        point = {"cachePoint": {"type": "default"}}
        assert request["system"] == [{"text": "notice"}, point]
        assert [message["content"] for message in request["messages"]] == [
            [{"text": "Go"}],
            [{"text": "Gone."}, point],
            [{"text": "<pages>\n<facts>\n"}, {"text": "And now?"}],
        ]

    def test_cache_point_of_results_stays_with_them_when_words_get_a_message_of_their_own(self) -> None:
        told = Message("tool", parts=(ToolResult("a", "found"),), is_cache_point=True)
        messages = to_bedrock_converse(Conversation("Never mind", (said("user", "Go"), call("a"), told)))["messages"]
        assert [list(block) for block in messages[2]["content"]] == [["toolResult"], ["cachePoint"]]
        assert messages[4]["content"] == [{"text": "Never mind"}]

    def test_results_and_text_never_share_a_message(self) -> None:
        history = (said("user", "Go"), call("a"), result("a"))
        request = to_bedrock_converse(Conversation("Never mind", history))
        assert [message["role"] for message in request["messages"]] == [
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
        ]
        assert "toolResult" in request["messages"][2]["content"][0]
        assert request["messages"][4]["content"] == [{"text": "Never mind"}]


class TestAnthropic:
    def test_results_come_before_text_in_one_message(self) -> None:
        history = (said("user", "Go"), call("a"), result("a", "1"))
        request = to_anthropic(Conversation("Never mind", history))
        assert request["messages"][-1] == {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                {"type": "text", "text": "Never mind"},
            ],
        }

    def test_history_ends_with_a_cache_point_before_the_recalled_text(self) -> None:
        history = (said("user", "Go"), Message("assistant", "Gone.", is_cache_point=True))
        request = to_anthropic(Conversation("And now?", history, RECALLED))
        assert request["system"] == [{"type": "text", "text": "notice", "cache_control": {"type": "ephemeral"}}]
        assert request["messages"][1]["content"] == [
            {"type": "text", "text": "Gone.", "cache_control": {"type": "ephemeral"}}
        ]
        assert request["messages"][2]["content"] == [
            {"type": "text", "text": "<pages>\n<facts>\n"},
            {"type": "text", "text": "And now?"},
        ]

    def test_recalled_text_follows_results_and_earlier_texts(self) -> None:
        history = (said("user", "Go"), call("a"), result("a", "1"), Message("user", "Hm.", is_cache_point=True))
        content = to_anthropic(Conversation("Never mind", history, RECALLED))["messages"][-1]["content"]
        assert [block.get("text", "1") for block in content] == ["1", "Hm.", "<pages>\n<facts>\n", "Never mind"]
        assert ["cache_control" in block for block in content] == [False, True, False, False]

    def test_single_allowed_cache_point_is_in_the_history(self) -> None:
        history = (said("user", "Go"), Message("assistant", "Gone.", is_cache_point=True))
        request = to_anthropic(Conversation("Hi", history, RECALLED, max_cache_points=1))
        assert "cache_control" not in str(request["system"])
        assert "cache_control" in str(request["messages"][1])

    def test_at_most_four_cache_points_and_the_stable_ones_stay(self) -> None:
        blocks = [SystemBlock(f"block {place}", is_cache_point=True) for place in range(6)]
        system = to_anthropic(Conversation("Hi", blocks=blocks))["system"]
        assert [block["text"] for block in system if "cache_control" in block] == [
            f"block {place}" for place in range(4)
        ]
        assert system[0]["cache_control"] == {"type": "ephemeral"}

    def test_cache_points_can_be_left_out(self) -> None:
        blocks = [SystemBlock("wiki", is_cache_point=True)]
        assert to_anthropic(Conversation("Hi", blocks=blocks, max_cache_points=0))["system"] == [
            {"type": "text", "text": "wiki"}
        ]

    def test_window_that_begins_inside_an_answer_gets_a_leading_user_message(self) -> None:
        request = to_anthropic(Conversation("Go on", (said("assistant", "…as I said."),)))
        assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]

    def test_neighbours_of_one_role_are_merged(self) -> None:
        request = to_anthropic(Conversation("three", (said("user", "one"), said("user", "two"))))
        assert [block["text"] for block in request["messages"][0]["content"]] == ["one", "two", "three"]


class TestOpenAI:
    def test_several_results_follow_their_calls_as_messages_of_their_own(self) -> None:
        asked = Message(
            "assistant", "Looking.", (ToolCall("a", "search", {"q": "ä"}), ToolCall("b", "search", {"q": 2}))
        )
        history = (said("user", "Go"), asked, result("b", "second"), result("a", "first"))
        messages = to_openai(Conversation("Well?", history))["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user"]
        assert messages[1]["content"] == "Looking."
        assert [one["function"]["arguments"] for one in messages[1]["tool_calls"]] == ['{"q": "ä"}', '{"q": 2}']
        assert [(one["tool_call_id"], one["content"]) for one in messages[2:4]] == [("a", "first"), ("b", "second")]

    def test_two_calls_of_one_id_keep_their_own_results(self) -> None:
        asked = Message("assistant", parts=(ToolCall("a", "search", {"q": 1}), ToolCall("a", "search", {"q": 2})))
        messages = to_openai(Conversation("Well?", (asked, result("a", "first"), result("a", "second"))))["messages"]
        assert [one["content"] for one in messages if one["role"] == "tool"] == ["first", "second"]

    def test_system_text_is_one_leading_message(self) -> None:
        blocks = [SystemBlock("wiki", is_cache_point=True), SystemBlock("  "), SystemBlock("memory")]
        messages = to_openai(Conversation("Hi", blocks=blocks, system="Be brief."))["messages"]
        assert messages[0] == {"role": "system", "content": "Be brief.\n\nwiki\n\nmemory"}

    def test_recalled_text_and_message_are_one_text(self) -> None:
        messages = to_openai(Conversation("And now?", blocks=RECALLED))["messages"]
        assert messages == [
            {"role": "system", "content": "notice"},
            {"role": "user", "content": "<pages>\n<facts>\nAnd now?"},
        ]

    def test_neighbours_of_one_role_are_one_message(self) -> None:
        history = (said("user", "One"), said("user", "Two"), said("assistant", "A"), said("assistant", "B"))
        messages = to_openai(Conversation("And?", (*history, said("user", "Three")), RECALLED))["messages"]
        assert messages[1:] == [
            {"role": "user", "content": "One\n\nTwo"},
            {"role": "assistant", "content": "A\n\nB"},
            {"role": "user", "content": "Three\n\n<pages>\n<facts>\nAnd?"},
        ]

    def test_call_without_text_has_no_content(self) -> None:
        messages = to_openai(Conversation("Hi", WEATHER))["messages"]
        assert messages[1]["content"] is None


class TestResponses:
    def test_tool_round_is_calls_and_outputs_between_texts(self) -> None:
        request = to_openai_responses(Conversation("And tomorrow?", WEATHER, RECALLED, system="Be brief."))
        assert request == {
            "instructions": "Be brief.\n\nnotice",
            "input": [
                {"role": "user", "content": "Weather in Lisbon?"},
                {"type": "function_call", "call_id": "a", "name": "search", "arguments": '{"city": "Lisbon"}'},
                {"type": "function_call_output", "call_id": "a", "output": "22 degrees"},
                {"role": "assistant", "content": "Warm."},
                {"role": "user", "content": "<pages>\n<facts>\nAnd tomorrow?"},
            ],
        }

    def test_several_calls_follow_the_text_before_them(self) -> None:
        asked = Message("assistant", "Looking.", (ToolCall("a", "search", {}), ToolCall("b", "mail", {})))
        request = to_openai_responses(
            Conversation("Go", tool_turns=(asked, result("b", "second"), result("a", "first")))
        )
        assert [item.get("type", item.get("role")) for item in request["input"]] == [
            "user", "assistant", "function_call", "function_call", "function_call_output", "function_call_output",
        ]  # fmt: skip
        assert [item["output"] for item in request["input"][-2:]] == ["first", "second"]

    def test_request_without_system_text_has_no_instructions(self) -> None:
        assert to_openai_responses(Conversation("Hi")) == {"input": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize("shape", SHAPES)
class TestEveryShape:
    def test_tool_turns_follow_the_message_and_all_before_them_repeats(self, shape: Shape) -> None:
        history = (said("user", "Go"), Message("assistant", "Gone.", is_cache_point=True))
        asked = Conversation("Weather?", history, RECALLED, max_cache_points=2)
        first = messages_of(shape(asked))
        again = messages_of(shape(replace(asked, tool_turns=(call("a"), result("a", "22 degrees")))))
        assert len(again) == len(first) + 2
        assert plain(again[: len(first)]) == plain(first)
        assert "22 degrees" in str(again[-1])
        assert plain(again[-1]) != str(again[-1]) or shape in (to_openai, to_openai_responses)

    def test_ids_of_earlier_calls_stay_when_a_tool_turn_has_the_id_that_one_was_given(self, shape: Shape) -> None:
        history = (
            *WEATHER,
            said("user", "Porto?"),
            call("a", city="Porto"),
            result("a", "19"),
            said("assistant", "Mild."),
        )
        asked = Conversation("Faro?", history, tool_turns=(call("x"), result("x")))
        first = messages_of(shape(asked))
        for made in ("call_1", "call_2"):
            again = messages_of(shape(replace(asked, tool_turns=(*asked.tool_turns, call(made), result(made)))))
            assert again[: len(first)] == first

    def test_a_round_stored_as_one_turn_is_sent_as_calls_results_and_text(self, shape: Shape) -> None:
        parts = (ToolCall("a", "search", {"n": 1}), ToolResult("a", "one"), ToolCall("b", "search", {"n": 2}))
        whole = Message("assistant", "Both.", (*parts, ToolResult("b", "two")))
        asked = (call("a", n=1), call("b", n=2), result("a", "one"), result("b", "two"), said("assistant", "Both."))
        history = said("user", "Go")
        for max_points in (0, 4):
            sent = shape(
                Conversation("And?", (history, replace(whole, is_cache_point=True)), max_cache_points=max_points)
            )
            apart = (history, *asked[:-1], replace(asked[-1], is_cache_point=True))
            assert sent == shape(Conversation("And?", apart, max_cache_points=max_points))

    def test_a_call_without_its_result_stays_a_note_beside_a_round_stored_as_one_turn(self, shape: Shape) -> None:
        parts = (
            ToolCall("a", "search", {}),
            ToolCall("b", "mail", {}),
            ToolResult("a", "one"),
            ToolResult("c", "lost"),
        )
        request = str(shape(Conversation("And?", (said("user", "Go"), Message("assistant", "", parts)))))
        assert "[called mail with {}]" in request
        assert "[a tool answered: lost]" in request
        assert "[called search" not in request

    def test_callers_may_change_a_request_without_changing_the_next(self, shape: Shape) -> None:
        history = (said("user", "Go"), Message("assistant", "Gone.", is_cache_point=True))
        asked = Conversation("And now?", history, RECALLED)
        before = json.dumps(shape(asked))
        request = shape(asked)
        for block in [*request.get("system", ()), *(one for each in messages_of(request) for one in each["content"])]:
            for point in ("cache_control", "cachePoint"):
                if isinstance(block, dict) and point in block:
                    block[point]["ttl"] = "1h"
        assert json.dumps(shape(asked)) == before

    def test_the_empty_message_is_refused_whatever_was_recalled(self, shape: Shape) -> None:
        with pytest.raises(EmptyMessage):
            shape(Conversation(" ", blocks=RECALLED))

    def test_an_empty_message_is_refused(self, shape: Shape) -> None:
        with pytest.raises(EmptyMessage, match="send some text"):
            shape(Conversation(" \n"))

    def test_call_without_a_stored_result_is_sent_as_text(self, shape: Shape) -> None:
        request = shape(Conversation("Well?", (said("user", "Go"), call("a", city="Porto"))))
        assert "toolUse" not in str(request)
        assert "tool_use" not in str(request)
        assert "tool_calls" not in str(request)
        assert "function_call" not in str(request)
        assert "called search with" in str(request)
        assert "Porto" in str(request)

    def test_result_without_its_call_is_sent_as_text(self, shape: Shape) -> None:
        assert "a tool answered: 22 degrees" in str(shape(Conversation("Well?", (result("gone", "22 degrees"),))))

    def test_calls_and_results_are_sent_as_text_if_the_request_has_no_tools(self, shape: Shape) -> None:
        request = str(shape(Conversation("Well?", WEATHER, has_tools=False)))
        assert "called search" in request
        assert "a tool answered: 22 degrees" in request
        assert "toolResult" not in request
        assert "tool_result" not in request
        assert "'tool'" not in request
        assert "function_call" not in request

    def test_id_used_in_two_turns_names_only_one_call(self, shape: Shape) -> None:
        history = (
            *WEATHER,
            said("user", "Porto?"),
            call("a", city="Porto"),
            result("a", "19"),
            said("assistant", "Mild."),
        )
        ids = re.findall(
            r"'(?:toolUseId|tool_use_id|tool_call_id|call_id)': '([^']+)'", str(shape(Conversation("Hi", history)))
        )
        assert len(set(ids)) == 2

    def test_empty_result_is_sent_as_empty(self, shape: Shape) -> None:
        assert "(no output)" in str(shape(Conversation("Hi", (said("user", "Go"), call("a"), result("a", "")))))

    def test_system_turn_is_appended_to_the_system_text(self, shape: Shape) -> None:
        history = (said("user", "one"), said("system", "Speak French."), said("user", "two"))
        request = shape(Conversation("Hi", history, blocks=[SystemBlock("wiki")]))
        text = json.dumps(request)
        assert text.index("wiki") < text.index("Speak French.") < text.index("one")

    def test_text_of_a_tool_turn_that_repeats_its_result_is_sent_once(self, shape: Shape) -> None:
        told = Message("tool", "22 degrees", (ToolResult("a", "22 degrees"),))
        request = shape(Conversation("Hi", (said("user", "Go"), call("a"), told)))
        assert str(request).count("22 degrees") == 1
