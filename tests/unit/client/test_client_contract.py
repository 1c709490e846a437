"""The client covers the contract: every method, every field, every knob; what cannot be sent is refused by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from sidecar.client import (
    AsyncSidecar,
    CallRefused,
    CallUnavailable,
    NewMemory,
    NewTurn,
    RequestUnusable,
    Sidecar,
    SidecarCallError,
    Stance,
    TargetUnusable,
    ToolCall,
    ToolResult,
    answers,
    decoding,
    knobs,
    requests,
)
from sidecar.client.channel import check_target
from sidecar.client.contract import METHODS, message_of, repeatable
from sidecar.client.errors import failure
from sidecar.rpc.compile import LONG_CALLS
from sidecar.v1 import context_pb2, items_pb2, profile_pb2
from tests.support.each import each

BEYOND = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))  # after the last instant in UTC
WHOSE = {"tenant_id", "owner_id"}
PB: Any = context_pb2
ITEMS: Any = items_pb2
FILES = [
    items_pb2.DESCRIPTOR,
    *{method.containing_service.file.name: method.containing_service.file for method in METHODS.values()}.values(),
]
MESSAGES = {name: message for file in FILES for name, message in file.message_types_by_name.items()}


@each("name", sorted(METHODS))
def test_every_method_of_the_contract_can_be_called_with_every_field(name: str) -> None:
    request: Any = getattr(requests, name)
    wanted = {field.name for field in METHODS[name].input_type.fields} - WHOSE
    assert {field.name for field in fields(request)} == wanted
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    for client in (Sidecar, AsyncSidecar):
        assert getattr(client, snake).__doc__ == request.__doc__


@each("name", sorted(name for name in decoding._VALUES if name in MESSAGES))
def test_every_field_of_an_answer_is_read(name: str) -> None:
    message = MESSAGES[name]
    assert {field.name for field in fields(decoding._VALUES[name])} == {field.name for field in message.fields}


@each("name", sorted(METHODS))
def test_empty_answer_of_every_method_reads_as_empty_values(name: str) -> None:
    answer = getattr(requests, name).reads(GetMessageClass(METHODS[name].output_type)())
    assert not [leaf for leaf in leaves(answer) if leaf and leaf != datetime.fromtimestamp(0, UTC)]


@each("method", ["RunDecay", "CloseEpisode"])
def test_answer_that_may_be_absent_is_none(method: str) -> None:
    message = GetMessageClass(METHODS[method].output_type)()
    assert getattr(requests, method).reads(message) is None
    getattr(message, message.DESCRIPTOR.fields[0].name).SetInParent()
    assert getattr(requests, method).reads(message) is not None


def leaves(value: object) -> Iterator[object]:
    """Yield the plain values inside an answer."""
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, tuple | list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


def test_only_methods_marked_repeatable_are_retried() -> None:
    never = set(METHODS) - {method for _, method in repeatable()}
    assert never == {"SetProfile", "RollbackProfile", "RunDecay", "DraftOntologyChanges", "ProposeRule"}


class TestReading:
    def test_assembly_is_converted_to_plain_values(self) -> None:
        message = PB.AssembleContextResponse(
            assembly={
                "receipt_id": "r1",
                "items": [
                    {"source": "SOURCE_MEMORY", "form": "FORM_LEAD", "freshness_time": datetime(2026, 2, 1, tzinfo=UTC)}
                ],
                "sources": [{"source": "SOURCE_WIKI", "status": "SOURCE_STATUS_BREAKER_OPEN", "cost_usd": 0.0}],
                "decisions": [{"decision": "DECISION_DEDUPED_INTO", "into_item_id": "i2"}],
                "messages": [
                    {
                        "role": "assistant",
                        "parts": [{"tool_call": {"id": "c", "name": "n", "arguments": {"a": [1, 1.5, None]}}}],
                    },
                    {"role": "tool", "parts": [{"tool_result": {"call_id": "c", "content": "ok"}}]},
                ],
            }
        )
        assembly = requests.AssembleContext.reads(message)
        assert assembly.receipt_id == "r1"
        assert (assembly.items[0].source, assembly.items[0].form) == ("memory", "LEAD")
        assert assembly.items[0].freshness_time == datetime(2026, 2, 1, tzinfo=UTC)
        assert (assembly.sources[0].status, assembly.sources[0].cost_usd) == ("BREAKER_OPEN", 0.0)
        assert assembly.decisions[0].decision == "deduped_into"
        assert assembly.messages[0].parts == (ToolCall("c", "n", {"a": [1, 1.5, None]}),)
        assert assembly.messages[1].parts == (ToolResult("c", "ok"),)
        assert assembly.budget == answers.Budget(0, 0, 0, 0, 0, 0, 0, 0, "", False)

    def test_absent_field_is_none(self) -> None:
        receipt = requests.ExplainAssembly.reads(PB.ExplainAssemblyResponse(receipt={"sources": [{}]}))
        assert (receipt.usage, receipt.create_time, receipt.sources[0].cost_usd) == (None, None, None)

    def test_maps_become_dicts(self) -> None:
        message = PB.DiffAssembliesResponse(
            diff={"token_deltas": {"memory": -3}, "status_changes": {"wiki": "OK → TIMEOUT"}}
        )
        diff = requests.DiffAssemblies.reads(message)
        assert diff.token_deltas == {"memory": -3}
        assert diff.status_changes == {"wiki": "OK → TIMEOUT"}

    def test_every_decision_is_read_by_its_number(self) -> None:
        numbers = items_pb2.Decision.values()[1:]
        read = [
            decoding.read(answers.CandidateDecision, ITEMS.CandidateDecision(decision=number)) for number in numbers
        ]
        names = [items_pb2.Decision.Name(number).removeprefix("DECISION_").lower() for number in numbers]
        assert [one.decision for one in read] == names

    def test_decision_of_a_newer_server_is_shown_as_its_number(self) -> None:
        assert decoding.read(answers.CandidateDecision, ITEMS.CandidateDecision(decision=4711)).decision == "4711"

    def test_page_carries_its_next_token(self) -> None:
        page = requests.ListThreads.reads(PB.ListThreadsResponse(threads=[{"thread_id": "t"}], next_page_token="n"))
        assert page.values[0].thread_id == "t"
        assert page.next_page_token == "n"


class TestWriting:
    def test_tenant_and_owner_of_the_client_are_sent(self) -> None:
        message: Any = message_of(requests.ListThreads(), Stance("acme", "ada"))
        assert (message.tenant_id, message.owner_id) == ("acme", "ada")
        assert message_of(requests.ListBases(), Stance("acme", "ada")).tenant_id == "acme"  # type: ignore[attr-defined]  # a message of any kind

    def test_tokens_spent_are_a_text_or_a_count(self) -> None:
        message: Any = message_of(
            requests.AssembleContext(message="m", model_id="x", system="Be brief.", tools=0), Stance()
        )
        assert (message.system.text, message.tools.WhichOneof("spent"), message.tools.tokens) == (
            "Be brief.",
            "tokens",
            0,
        )
        assert not message.HasField("response_reserve_tokens")

    def test_turns_and_memories_carry_times_parts_and_metadata(self) -> None:
        said = datetime(2026, 9, 7, 8, 12, tzinfo=UTC)
        turn = NewTurn(
            client_turn_id="t", role="tool", parts=(ToolCall("c", "n", {"a": 1}), ToolResult("c", "ok")), said_time=said
        )
        message: Any = message_of(requests.AppendTurns(thread_id="t", turns=[turn]), Stance())
        assert message.turns[0].said_time.ToDatetime(tzinfo=UTC) == said
        assert message.turns[0].parts[0].tool_call.arguments["a"] == 1
        assert message.turns[0].parts[1].tool_result.content == "ok"
        memory = NewMemory(text="x", metadata={"place": {"city": "Lisbon"}, "tags": ["a"], "fields": "any"})
        kept: Any = message_of(requests.Retain(memories=[memory]), Stance())
        assert kept.memories[0].metadata["place"]["city"] == "Lisbon"
        assert not kept.memories[0].HasField("occurred_time")

    def test_levels_are_given_by_name(self) -> None:
        message: Any = message_of(requests.AssignBase(base="b", level="agent", ref="a"), Stance())
        assert message.level == 2
        assert message_of(requests.GetProfile(), Stance()).level == 0  # type: ignore[attr-defined]  # a message of any kind

    @pytest.mark.parametrize(
        ("request_", "field"),
        [
            (requests.AssembleContext(message="\ud800", model_id="m"), "message"),
            (requests.AssembleContext(message="m", model_id="m", context_window_tokens=2**40), "context_window_tokens"),
            (requests.AssembleContext(message="m", model_id="m", overrides={"knowledge.topk": 3}), "knowledge.topk"),
            (
                requests.AssembleContext(message="m", model_id="m", overrides={"knowledge.top_k": "3"}),
                "knowledge.top_k",
            ),
            (requests.GetMemory(memory_id=3), "memory_id"),  # type: ignore[arg-type]  # the wrong type is the test
            (requests.AssignBase(base="b", level="planet", ref="x"), "level"),
            (requests.Retain(memories=[NewMemory(text="x", metadata={"a": object()})]), "memories"),
            (requests.Retain(memories=[NewMemory(text="x", occurred_time=BEYOND)]), "memories"),
            (requests.Retain(memories=[NewMemory(text="x", metadata={"a": 10**400})]), "memories"),
            (requests.AssembleContext(message="m", model_id="m", seen_item_ids="i-1"), "seen_item_ids"),
            (requests.Retain(memories=[NewMemory(text="x", turn_ids="t-1")]), "memories[0].turn_ids"),
        ],
    )
    def test_unsendable_value_is_refused_by_name(self, request_: Any, field: str) -> None:
        with pytest.raises(RequestUnusable) as refused:
            message_of(request_, Stance())
        assert refused.value.field == field
        assert field in str(refused.value)


@each("deadline_s", [float("inf"), float("nan"), 1e12])
def test_deadline_that_grpc_cannot_represent_is_refused_by_name(deadline_s: float) -> None:
    stance = Stance(deadline_s=deadline_s)
    with Sidecar("127.0.0.1:1", "t", stance=stance) as sidecar, pytest.raises(RequestUnusable) as refused:
        sidecar.list_threads()
    assert refused.value.field == "deadline_s"


class _RpcError(grpc.RpcError):  # type: ignore[misc]  # grpcio ships no types
    def __init__(self, code: grpc.StatusCode, details: str, trailers: tuple[tuple[str, Any], ...] = ()) -> None:
        self._code, self._details, self._trailers = code, details, trailers

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[tuple[str, Any], ...]:
        return self._trailers


def _refused(code: grpc.StatusCode, message: str, *details: Any) -> _RpcError:
    status = Status(code=code.value[0], message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return _RpcError(code, message, (("grpc-status-details-bin", status.SerializeToString()),))


class TestFailures:
    def test_details_of_the_service_are_read(self) -> None:
        retry = RetryInfo()
        retry.retry_delay.FromMilliseconds(250)
        info = ErrorInfo(reason="OVERLOADED", domain="context-sidecar")
        error = failure(_refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many calls.", info, retry), "t")
        assert isinstance(error, CallUnavailable)
        assert (error.code, error.reason, error.retry_after_s) == ("RESOURCE_EXHAUSTED", "OVERLOADED", 0.25)
        assert str(error) == "Too many calls."

    def test_the_field_at_fault_is_named(self) -> None:
        bad = BadRequest(field_violations=[BadRequest.FieldViolation(field="model_id")])
        error = failure(_refused(grpc.StatusCode.INVALID_ARGUMENT, "model_id: is empty.", bad), "t")
        assert isinstance(error, RequestUnusable)
        assert error.field == "model_id"

    @pytest.mark.parametrize("code", [grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED])
    def test_each_refusal_has_its_own_error_class(self, code: grpc.StatusCode) -> None:
        assert isinstance(failure(_refused(code, "No."), "t"), CallRefused)

    def test_unreachable_sidecar_raises_our_own_message(self) -> None:
        error = failure(_RpcError(grpc.StatusCode.UNAVAILABLE, "failed to connect to all addresses"), "127.0.0.1:1")
        assert str(error) == "No sidecar answers at 127.0.0.1:1; start one with `sidecar serve`, or name its address."

    @pytest.mark.parametrize("trailer", [b"\xff\xff", b""])
    def test_damaged_details_leave_the_code(self, trailer: bytes) -> None:
        error = failure(_RpcError(grpc.StatusCode.NOT_FOUND, "gone", (("grpc-status-details-bin", trailer),)), "t")
        assert type(error) is SidecarCallError
        assert (error.code, str(error)) == ("NOT_FOUND", "gone")


@each("name", sorted(LONG_CALLS))
def test_long_calls_get_a_long_deadline(name: str) -> None:
    assert getattr(requests, name).deadline_s >= 600


def refusal(target: str, *, is_tls: bool = False) -> str:
    """Return why an address is refused, an empty text if it is not."""
    try:
        check_target(target, is_tls=is_tls)
    except TargetUnusable as error:
        return str(error)
    return ""


class TestTargets:
    @pytest.mark.parametrize(
        "target",
        ["127.0.0.1:7433", "localhost:1", "[::1]:7433", "unix:/run/s.sock", "unix:///run/s.sock", "127.9.9.9:80"],
    )
    def test_local_address_needs_no_tls(self, target: str) -> None:
        assert refusal(target) == ""

    @pytest.mark.parametrize("target", ["10.0.0.1:7433", "sidecar:7433", "0.0.0.0:7433", "localhost.evil.example:1"])
    def test_token_is_never_sent_to_another_machine_in_plain_text(self, target: str) -> None:
        assert "plain text" in refusal(target)
        assert refusal(target, is_tls=True) == ""

    @pytest.mark.parametrize("target", ["", "nope", ":7433", "host:", "host:99999", "host:0", "unix:s.sock", "host:٣"])
    def test_text_that_is_no_address_is_refused(self, target: str) -> None:
        assert re.search(r"write (HOST:PORT|unix)", refusal(target, is_tls=True))


@pytest.mark.parametrize("token", ["a b", "a\n", "Usage: sidecar token\n", "tök", "a\0b", "\ud800"])
def test_unusable_token_is_refused_by_name_before_it_is_sent(token: str) -> None:
    with (
        Sidecar("127.0.0.1:1", token) as client,
        pytest.raises(CallRefused, match=r"^token: contains a character") as told,
    ):
        client.get_tenant()
    assert (told.value.code, told.value.field) == ("UNAUTHENTICATED", "token")


class TestKnobs:
    def test_the_knobs_are_those_of_the_contract(self) -> None:
        whole = {field.name for field in profile_pb2.Profile.DESCRIPTOR.fields} - {"sources"}
        of_source = {field.name for field in profile_pb2.SourceKnobs.DESCRIPTOR.fields} - {"source"}
        assert set(knobs.OF_A_TURN) == whole
        assert set(knobs.OF_A_SOURCE) == of_source
        assert [f"SOURCE_{name.upper()}" for name in knobs.SOURCES] == list(items_pb2.Source.keys())[1:]
        for name, kind in (("allocation", profile_pb2.Allocation), ("spend", profile_pb2.Spend)):
            assert [f"{name.upper()}_{word.upper()}" for word in knobs.WORDS[name]] == list(kind.keys())[1:]

    def test_assignments_are_parsed_by_kind_and_an_empty_one_resets_the_knob(self) -> None:
        texts = ["knowledge.top_k=20", "allocation=pooled", "wiki.enabled=no", "relevance_knee=1", "max_items="]
        assert knobs.read_assignments(texts) == {
            "knowledge.top_k": 20,
            "allocation": "pooled",
            "wiki.enabled": False,
            "relevance_knee": 1.0,
            "max_items": None,
        }

    def test_json_may_be_flat_or_nested(self) -> None:
        read = knobs.read_json('{"knowledge": {"top_k": 5, "enabled": true}, "wiki.top_k": 3, "budget_tokens": null}')
        assert read == {"knowledge.top_k": 5, "knowledge.enabled": True, "wiki.top_k": 3, "budget_tokens": None}

    @pytest.mark.parametrize(
        "name", ["topk", "knowledge.topk", "moon.top_k", "", ".", "knowledge.", "knowledge.top_k.x"]
    )
    def test_an_unknown_knob_is_named_with_the_known_ones(self, name: str) -> None:
        with pytest.raises(knobs.UnknownKnob, match="not a knob; known are spend") as refused:
            knobs.read_assignments([f"{name}=1"])
        assert refused.value.name == name

    @pytest.mark.parametrize(
        "text",
        [
            "knowledge.top_k=many",
            "wiki.enabled=perhaps",
            "allocation=best",
            "relevance_knee=x",
            "max_items=1.5",
            "max_items",
        ],
    )
    def test_an_unusable_value_names_its_knob(self, text: str) -> None:
        with pytest.raises(knobs.UnusableKnob, match=text.partition("=")[0]):
            knobs.read_assignments([text])

    @pytest.mark.parametrize(
        "text", ["", "[]", "{", '{"knowledge.top_k": true}', '{"wiki": {"enabled": 1}}', "[" * 100_000]
    )
    def test_unusable_json_is_refused(self, text: str) -> None:
        with pytest.raises(knobs.UnusableKnob):
            knobs.read_json(text)


@pytest.mark.parametrize("target", ["http://127.0.0.1:7433", "https://sidecar.example:7433"])
@pytest.mark.parametrize("is_tls", [True, False])
def test_url_is_refused_as_one(target: str, is_tls: bool) -> None:
    with pytest.raises(TargetUnusable, match="is a URL; write HOST:PORT"):
        check_target(target, is_tls=is_tls)
