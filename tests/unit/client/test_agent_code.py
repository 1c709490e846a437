"""What an agent's code hands to the client and gets from it: tool calls, tokens, requests, and errors in other processes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import sidecar
from sidecar.client import (
    AsyncSidecar,
    CallRefused,
    CallUnavailable,
    EmptyMessage,
    Message,
    NewMemory,
    NewTurn,
    RequestUnusable,
    Sidecar,
    SidecarCallError,
    Stance,
    ToolCall,
    ToolResult,
    requests,
)
from sidecar.client.contract import message_of
from sidecar.v1 import context_pb2
from tests.support.each import each

PB: Any = context_pb2
SNOWFLAKE = 1_234_567_890_123_456_789


def stored(arguments: dict[str, Any]) -> ToolCall:
    """Return a tool call after it was sent and came back in an assembly."""
    turn = NewTurn(client_turn_id="t", role="assistant", parts=[ToolCall("c", "n", arguments)])
    sent: Any = message_of(requests.AppendTurns(thread_id="t", turns=[turn]), Stance())
    back = PB.AssembleContextResponse(assembly={"messages": [{"role": "assistant", "parts": sent.turns[0].parts}]})
    part = requests.AssembleContext.reads(back).messages[0].parts[0]
    assert isinstance(part, ToolCall)
    return part


def test_arguments_come_back_in_one_order_in_every_process() -> None:
    names = ["zeta", "alpha", "mid", "beta", "omega", "eta"]
    arguments = {name: {inner: [dict.fromkeys(names, 1)] for inner in names} for name in names}
    back = stored(arguments).arguments
    assert back == arguments
    assert list(back) == list(back["zeta"]) == list(back["zeta"]["alpha"][0]) == sorted(names)


@each("number", [SNOWFLAKE, -SNOWFLAKE, 2**53 + 1, 2**64, 10**300])
def test_whole_number_that_would_be_rounded_keeps_all_its_digits_as_a_text(number: int) -> None:
    assert stored({"id": number, "in": [number]}).arguments == {"id": str(number), "in": [str(number)]}
    memory = NewMemory(text="x", metadata={"id": number})
    sent: Any = message_of(requests.Retain(memories=[memory]), Stance())
    assert sent.memories[0].metadata["id"] == str(number)


@each("number", [0, -7, 2**53, -(2**53)])
def test_whole_number_that_fits_stays_a_number(number: int) -> None:
    assert stored({"id": number}).arguments == {"id": number}


@each("arguments", ['{"city": "Lisbon"}', None, ["Lisbon"]])
def test_arguments_that_are_no_object_are_refused_where_the_call_is_made(arguments: Any) -> None:
    with pytest.raises(TypeError, match=r"^arguments: is of type \w+; pass an object, such as json\.loads"):
        ToolCall("c", "n", arguments)


@each("content", [{"degrees": 22}, None, [{"type": "text", "text": "22"}]])
def test_result_that_is_no_text_is_refused_where_it_is_made(content: Any) -> None:
    with pytest.raises(TypeError, match=r"^content: is of type \w+; pass a text, such as json\.dumps"):
        ToolResult("c", content)


ASSEMBLY = requests.AssembleContext.reads(PB.AssembleContextResponse(assembly={}))


@each("shape", ["to_openai", "to_openai_responses", "to_anthropic", "to_bedrock_converse"])
def test_turns_that_record_a_tool_round_are_sent_as_it_too(shape: str) -> None:
    call, result = ToolCall("c", "n", {}), ToolResult("c", "ok")
    send = getattr(ASSEMBLY, shape)
    recorded = [
        NewTurn(client_turn_id="1", role="assistant", text="Looking.", parts=[call]),
        NewTurn(client_turn_id="2", role="tool", parts=[result]),
    ]
    messages = [Message("assistant", "Looking.", (call,)), Message("tool", parts=(result,))]
    assert send("Go", tool_turns=recorded) == send("Go", tool_turns=messages)


def test_a_providers_own_message_among_the_tool_turns_is_refused() -> None:
    turns: Any = [{"role": "assistant", "content": "Looking."}]
    with pytest.raises(TypeError, match="tool_turns: has a value of type dict; pass each as a Message or a NewTurn"):
        ASSEMBLY.to_openai("Go", tool_turns=turns)


@each("role", ["ai", "function", "system", ""])
def test_a_role_that_no_round_has_is_refused_among_the_tool_turns(role: str) -> None:
    with pytest.raises(ValueError, match=f"tool_turns: has the role '{role}'; send one of assistant, tool, user"):
        ASSEMBLY.to_openai("Go", tool_turns=[Message(role, "Looking.")])


def test_an_empty_message_is_refused_by_a_public_error() -> None:
    with pytest.raises(EmptyMessage):
        ASSEMBLY.to_openai("")


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("kind", [SidecarCallError, CallRefused, CallUnavailable, RequestUnusable])
def test_error_can_be_copied_and_reaches_another_process_whole(again: Any, kind: type[SidecarCallError]) -> None:
    error = kind("Too many calls.", code="RESOURCE_EXHAUSTED", reason="OVERLOADED", field="f", retry_after_s=0.25)
    error.add_note("on Monday")
    other = again(error)
    assert type(other) is kind
    assert (str(other), vars(other)) == (str(error), vars(error))


@pytest.mark.parametrize("client", [Sidecar, AsyncSidecar])
@pytest.mark.parametrize("token", [None, b"secret", 7])
def test_token_that_is_neither_text_nor_function_is_refused_when_the_client_is_made(client: Any, token: Any) -> None:
    with pytest.raises(CallRefused, match=r"^token: is of type \w+; pass a text, or a function") as refused:
        client("127.0.0.1:1", token)
    assert refused.value.field == "token"


async def _fetch() -> str:
    return "t"


@each("source", [lambda: None, lambda: b"secret", partial(partial, _fetch)])
def test_function_that_returns_no_text_is_refused_by_name(source: Any) -> None:
    with Sidecar("127.0.0.1:1", source) as sidecar, pytest.raises(CallRefused, match=r"^token: is of type"):
        sidecar.get_tenant()


async def test_function_that_returns_no_text_is_refused_by_the_asynchronous_client() -> None:
    async with AsyncSidecar("127.0.0.1:1", lambda: None) as client:  # type: ignore[arg-type,return-value]  # the wrong type is the test
        with pytest.raises(CallRefused, match=r"^token: is of type NoneType"):
            await client.get_tenant()


def test_deadline_that_is_no_number_is_refused_by_name() -> None:
    stance = Stance(deadline_s="5")  # type: ignore[arg-type]  # the wrong type is the test
    with Sidecar("127.0.0.1:1", "t", stance=stance) as client, pytest.raises(RequestUnusable, match="is '5'; give"):
        client.get_tenant()


UNTYPED: Any = requests  # the wrong types are the tests
TURN: Any = NewTurn(client_turn_id="1", role="user", text="Hi")
NOT_SENDABLE: list[tuple[Any, str]] = [
    (UNTYPED.AppendTurns(thread_id=UUID(int=7), turns=[TURN]), "thread_id: is of type UUID; pass a text."),
    (UNTYPED.AppendTurns(thread_id="t", turns=TURN), "turns: is of type NewTurn; pass a list."),
    (UNTYPED.AppendTurns(thread_id="t", turns=(one for one in [TURN])), "turns: is of type generator; pass a list."),
    (
        UNTYPED.AppendTurns(thread_id="t", turns=[TURN, replace(TURN, client_turn_id=2)]),
        "turns[1].client_turn_id: is of type int; pass a text.",
    ),
    (
        UNTYPED.AppendTurns(thread_id="t", turns=[replace(TURN, said_time="2026-01-01T00:00:00Z")]),
        "turns[0].said_time: is of type str; pass a datetime.",
    ),
    (
        UNTYPED.AppendTurns(thread_id="t", turns=[replace(TURN, parts=["Hi"])]),
        "turns[0].parts[0]: is of type str; pass a ToolCall or a ToolResult.",
    ),
    (
        UNTYPED.AppendTurns(thread_id="t", turns=[Message("user", "Hi")]),
        "turns[0]: is of type Message; pass a NewTurn.",
    ),
    (
        UNTYPED.AppendTurns(thread_id="t", turns=[TURN, replace(TURN, text="caf\udce9")]),
        "turns[1].text: is not valid Unicode at character 3; decode it with errors='replace'.",
    ),
    (
        UNTYPED.AppendTurns(thread_id="t", turns=[replace(TURN, parts=[ToolResult("c", "\ud800")])]),
        "turns[0].parts[0].tool_result.content: is not valid Unicode at character 0; decode it with errors='replace'.",
    ),
    (
        UNTYPED.AssembleContext(message="m", model_id="m", detail="all"),
        "detail: is 'all'; send one of context, items, decisions.",
    ),
    (UNTYPED.Retain(memories=["I like pears."]), "memories[0]: is of type str; pass a NewMemory."),
    (
        UNTYPED.AssembleContext(message="m", model_id="m", tools=[{"name": "search"}]),
        "tools: is of type list; pass the text that is sent, such as json.dumps(tools), or its number of tokens.",
    ),
    (
        UNTYPED.AssembleContext(message="m", model_id="m", overrides=["memory.enabled"]),
        "overrides: is of type list; pass knobs by name.",
    ),
]


@pytest.mark.parametrize(("request_", "told"), NOT_SENDABLE)
def test_value_of_another_type_is_refused_with_its_place_and_the_remedy(request_: Any, told: str) -> None:
    with pytest.raises(RequestUnusable) as refused:
        message_of(request_, Stance())
    assert str(refused.value) == told
    assert refused.value.field == told.partition(":")[0]


def test_any_collection_of_values_is_sent() -> None:
    by_id = {"1": TURN, "2": replace(TURN, client_turn_id="2")}
    sent: Any = message_of(UNTYPED.AppendTurns(thread_id="t", turns=by_id.values()), Stance())
    assert [turn.client_turn_id for turn in sent.turns] == ["1", "2"]
    seen: Any = message_of(UNTYPED.AssembleContext(message="m", model_id="m", seen_item_ids={"i"}), Stance())
    assert list(seen.seen_item_ids) == ["i"]


def test_package_says_that_it_has_types() -> None:
    assert Path(str(sidecar.__file__)).with_name("py.typed").is_file()
