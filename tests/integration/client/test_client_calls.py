"""Both clients against a scripted gRPC server: tokens, deadlines, retries, sizes, errors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from sidecar.client import (
    AsyncSidecar,
    CallRefused,
    CallUnavailable,
    RequestUnusable,
    Sidecar,
    SidecarCallError,
    Stance,
)
from sidecar.client.channel import MAX_MESSAGE_BYTES
from sidecar.client.contract import METHODS
from sidecar.v1 import context_pb2

Answer = Callable[[Any, Any], Any]


@dataclass
class Service:
    """A server whose every method answers with `answer(request, context)`; it remembers who called what."""

    target: str = ""
    answer: Answer | None = None
    calls: list[tuple[str, str]] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)

    def handler(self, name: str) -> Any:
        method = METHODS[name]

        def behaviour(request: Any, context: Any) -> Any:
            token = dict(context.invocation_metadata()).get("authorization", "")
            self.calls.append((name, token))
            self.requests.append(request)
            answer = self.answer(request, context) if self.answer else None
            return answer or GetMessageClass(method.output_type)()

        return grpc.unary_unary_rpc_method_handler(
            behaviour,
            GetMessageClass(method.input_type).FromString,
            GetMessageClass(method.output_type).SerializeToString,
        )


@pytest.fixture(params=["tcp", "unix"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    server = grpc.server(
        ThreadPoolExecutor(4),
        options=[(f"grpc.max_{way}_message_length", MAX_MESSAGE_BYTES) for way in ("send", "receive")],
    )
    told = Service()
    handlers: dict[str, dict[str, Any]] = {}
    for name, method in METHODS.items():
        handlers.setdefault(method.containing_service.full_name, {})[name] = told.handler(name)
    for service_name, methods in handlers.items():
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service_name, methods),))
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    if request.param == "unix":
        told.target = f"unix:{tmp_path / 's.sock'}"
        server.add_insecure_port(told.target)
    else:
        told.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield told
    server.stop(0).wait()


def refuse(code: grpc.StatusCode, reason: str, message: str) -> Answer:
    def answer(request: Any, context: Any) -> None:
        status = Status(code=code.value[0], message=message)
        status.details.add().Pack(ErrorInfo(reason=reason, domain="context-sidecar"))
        context.abort_with_status(rpc_status.to_status(status))

    return answer


def fails_once(code: grpc.StatusCode) -> Answer:
    """Return an answer that has this status the first time and is fine from then on."""
    attempts: list[None] = []

    def answer(request: Any, context: Any) -> None:
        attempts.append(None)
        if len(attempts) == 1:
            context.abort(code, "starting or stopping")

    return answer


def test_call_carries_the_token_and_its_owner(service: Service) -> None:
    with Sidecar(service.target, "secret", stance=Stance("acme", "ada")) as sidecar:
        assert sidecar.list_threads(page_size=3).values == ()
        sidecar.taking(Stance("acme", "bob")).list_threads()
    assert service.calls[0] == ("ListThreads", "Bearer secret")
    assert [(one.tenant_id, one.owner_id, one.page_size) for one in service.requests] == [
        ("acme", "ada", 3),
        ("acme", "bob", 0),
    ]


def test_token_function_is_called_for_every_call(service: Service) -> None:
    tokens = iter(["one", "two"])
    with Sidecar(service.target, lambda: next(tokens)) as sidecar:
        sidecar.list_threads()
        sidecar.list_threads()
    assert [token for _, token in service.calls] == ["Bearer one", "Bearer two"]


async def test_blocking_client_behaves_the_same(service: Service) -> None:
    async def fetch() -> str:
        return "fetched"

    async with AsyncSidecar(service.target, fetch, stance=Stance(owner_id="ada")) as sidecar:
        pages = await asyncio.gather(*(sidecar.list_threads() for _ in range(8)))
        assert await sidecar.health() == "SERVING"
    assert len(pages) == 8
    assert service.calls == [("ListThreads", "Bearer fetched")] * 8


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED])
def test_repeatable_call_is_retried_while_a_server_starts_or_stops(service: Service, code: grpc.StatusCode) -> None:
    service.answer = fails_once(code)
    with Sidecar(service.target, "t") as sidecar:
        sidecar.list_threads()
    assert len(service.calls) == 2


def test_unrepeatable_call_is_sent_once(service: Service) -> None:
    service.answer = fails_once(grpc.StatusCode.UNAVAILABLE)
    with Sidecar(service.target, "t") as sidecar, pytest.raises(CallUnavailable):
        sidecar.set_profile(level="tenant", profile={})
    assert len(service.calls) == 1


def test_refusal_is_not_retried_and_has_its_reason(service: Service) -> None:
    service.answer = refuse(grpc.StatusCode.PERMISSION_DENIED, "ADMIN_REQUIRED", "This call needs the role admin.")
    with Sidecar(service.target, "t") as sidecar, pytest.raises(CallRefused) as refused:
        sidecar.create_base(name="x")
    assert (refused.value.reason, str(refused.value)) == ("ADMIN_REQUIRED", "This call needs the role admin.")
    assert len(service.calls) == 1


def test_client_made_outside_of_any_event_loop_serves_one_loop_after_another(service: Service) -> None:
    sidecar = AsyncSidecar(service.target, "t")
    sibling = sidecar.taking(Stance(deadline_s=10))

    async def job() -> str:
        await asyncio.gather(*(sibling.list_threads() for _ in range(3)))
        return await sidecar.health()

    assert [asyncio.run(job()) for _ in range(3)] == ["SERVING"] * 3
    assert len(service.calls) == 9
    asyncio.run(sidecar.close())
    with pytest.raises(SidecarCallError, match="The client is closed"):
        asyncio.run(job())


async def test_call_from_a_second_running_event_loop_is_refused_with_the_remedy(service: Service) -> None:
    async with AsyncSidecar(service.target, "t") as sidecar:
        await sidecar.list_threads()
        with pytest.raises(SidecarCallError, match="another event loop, which still runs; open one in each loop"):
            await asyncio.to_thread(lambda: asyncio.run(sidecar.list_threads()))
        await sidecar.list_threads()


async def test_errors_reach_the_blocking_client_with_their_details(service: Service) -> None:
    service.answer = refuse(grpc.StatusCode.NOT_FOUND, "RECEIPT_DROPPED", "The receipt was dropped.")
    async with AsyncSidecar(service.target, "t") as sidecar:
        with pytest.raises(SidecarCallError) as missing:
            await sidecar.explain_assembly(receipt_id="r")
    assert (missing.value.code, missing.value.reason) == ("NOT_FOUND", "RECEIPT_DROPPED")


def test_a_deadline_ends_the_call_and_reaches_the_server(service: Service) -> None:
    ended = threading.Event()
    remaining: list[float] = []

    def hang(request: Any, context: Any) -> None:
        remaining.append(context.time_remaining())
        context.add_callback(ended.set)
        ended.wait(10)

    service.answer = hang
    with Sidecar(service.target, "t", stance=Stance(deadline_s=0.2)) as sidecar, pytest.raises(CallUnavailable) as late:
        sidecar.list_threads()
    assert late.value.code == "DEADLINE_EXCEEDED"
    assert ended.wait(10)
    assert 0 < remaining[0] <= 0.25  # gRPC rounds a deadline up


def test_calls_have_a_default_deadline(service: Service) -> None:
    remaining: list[float] = []
    service.answer = lambda request, context: remaining.append(context.time_remaining())
    with Sidecar(service.target, "t") as sidecar:
        sidecar.list_threads()
        sidecar.ingest(base="b", path="a.md", content=b"x")
    assert round(remaining[0]) == 3
    assert 110 <= remaining[1] <= 122  # gRPC rounds a deadline up by as much as a hundredth


def test_a_document_of_32_mib_can_be_sent(service: Service) -> None:
    content = b"x" * (32 << 20)
    with Sidecar(service.target, "t") as sidecar:
        sidecar.ingest(base="b", path="a.txt", content=content)
    assert service.requests[0].content == content


def test_request_above_the_limit_is_reported_as_too_large_and_not_as_retryable(service: Service) -> None:
    with (
        Sidecar(service.target, "t") as sidecar,
        pytest.raises(RequestUnusable, match="larger than 48 MiB; send") as told,
    ):
        sidecar.ingest(base="b", path="a.txt", content=b"x" * (49 << 20))
    assert told.value.code == "RESOURCE_EXHAUSTED"
    assert service.calls == []


def test_answer_above_the_limit_is_reported_as_too_large_and_not_as_retryable(service: Service) -> None:
    service.answer = lambda request, context: context_pb2.ListThreadsResponse(next_page_token="x" * (49 << 20))
    with (
        Sidecar(service.target, "t", stance=Stance(deadline_s=60)) as sidecar,
        pytest.raises(SidecarCallError, match="larger than 48 MiB; ask") as told,
    ):
        sidecar.list_threads()
    assert type(told.value) is SidecarCallError


def test_environments_proxy_is_not_used_for_this_machine(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with Sidecar(service.target, "t") as sidecar:
        assert sidecar.health() == "SERVING"


def test_client_waits_for_a_starting_sidecar(tmp_path: Path) -> None:
    target = f"unix:{tmp_path / 'late.sock'}"
    with Sidecar(target, "t") as sidecar, ThreadPoolExecutor(1) as threads:
        with pytest.raises(CallUnavailable):
            sidecar.health()
        answer = threads.submit(sidecar.health, deadline_s=30, waits=True)
        server = grpc.server(ThreadPoolExecutor(1))
        servicer = health.HealthServicer()
        servicer.set("", health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        server.add_insecure_port(target)
        server.start()
        assert answer.result() == "SERVING"
        server.stop(0).wait()


def test_threads_may_share_a_client(service: Service) -> None:
    with Sidecar(service.target, "t") as sidecar, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: sidecar.list_threads(), range(32)))
    assert len(answers) == len(service.calls) == 32


async def test_call_of_a_client_that_is_closed_meanwhile_fails_and_is_not_cancelled(service: Service) -> None:
    arrived, ended = threading.Event(), threading.Event()

    def hang(request: Any, context: Any) -> None:
        arrived.set()
        ended.wait(10)

    service.answer = hang
    sidecar = AsyncSidecar(service.target, "t")
    running = asyncio.create_task(sidecar.list_threads())
    await asyncio.to_thread(arrived.wait, 10)
    await sidecar.close()
    with pytest.raises(SidecarCallError, match="The client is closed"):
        await running
    ended.set()


def test_blocking_call_that_runs_when_another_thread_closes_the_client_says_so(service: Service) -> None:
    arrived, ended = threading.Event(), threading.Event()

    def hang(request: Any, context: Any) -> None:
        arrived.set()
        ended.wait(10)

    service.answer = hang
    sidecar = Sidecar(service.target, "t")
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(sidecar.list_threads)
        assert arrived.wait(10)
        sidecar.close()
        with pytest.raises(SidecarCallError, match="The client is closed"):
            running.result()
        ended.set()


def test_client_closed_between_choosing_a_channel_and_the_call_says_so(service: Service) -> None:
    def token() -> str:
        return "t"

    sidecar = Sidecar(service.target, token)
    choose = sidecar._channels.next

    def choose_and_close() -> tuple[int, Any]:
        chosen = choose()
        sidecar.close()
        return chosen

    sidecar._channels.next = choose_and_close  # type: ignore[method-assign]  # a thread that closes it in that moment
    with pytest.raises(SidecarCallError, match="The client is closed"):
        sidecar.list_threads()


async def test_call_of_a_closed_client_is_refused(service: Service) -> None:
    sidecar, waiting = Sidecar(service.target, "t"), AsyncSidecar(service.target, "t")
    sibling = sidecar.taking(Stance(deadline_s=5))
    sidecar.close()
    await waiting.close()
    for call in (sidecar.list_threads, sibling.list_threads, sidecar.health):
        with pytest.raises(SidecarCallError, match="The client is closed"):
            call()
    with pytest.raises(SidecarCallError, match="The client is closed"):
        await waiting.list_threads()
