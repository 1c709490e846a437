"""The server's one interceptor: authenticates, admits, enforces the deadline, and turns failures into statuses.

Every call but health checks passes through it. A request is parsed only after its caller is authenticated and admitted, so
unauthenticated bytes cost nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, contextmanager, nullcontext
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from sidecar.rpc.auth.authentication import Authenticator
from sidecar.rpc.auth.identity import Identity
from sidecar.rpc.transport.auditing import Noting, is_noted, of_request
from sidecar.rpc.transport.call import LARGE_BYTES, Call, Method, MethodOptions, deadline_s, public_metadata
from sidecar.rpc.transport.status import answer, code_name
from sidecar.runtime.errors import InvalidArgument, Stopping
from sidecar.services.audit import AuditLog
from sidecar.telemetry import calls
from sidecar.telemetry.watch import Watch

HEALTH = "/grpc.health.v1.Health/"

_END: Any = object()
Answer = TypeVar("Answer")


class CallInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpcio ships no types
    """Calls our methods with a `Call`; other libraries' methods (reflection) run unchanged after authentication."""

    def __init__(self, authenticator: Authenticator, watch: Watch | None = None, audit: AuditLog | None = None) -> None:
        self._authenticator = authenticator
        self._watch = watch
        self._audit = audit
        self._in_flight_count = 0
        self._is_closed = False
        self._stopping = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    def close(self) -> None:
        """Refuse new calls of our own methods; running calls continue, and streams are signalled to end."""
        self._is_closed = True
        self._stopping.set()

    async def wait_idle(self) -> None:
        """Wait until no call of our own methods is running. Other streams (health, reflection) may never end."""
        await self._is_idle.wait()

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Return the guarded handler of the called method; None if there is no such method."""
        handler = await continuation(details)
        if handler is None or details.method.startswith(HEALTH):
            return handler
        if isinstance(handler, Method):
            return self._ours(handler, details.method)
        return self._foreign(handler, details.method)

    def _ours(self, method: Method, path: str) -> Any:
        if method.response_streaming:
            return grpc.unary_stream_rpc_method_handler(self._streaming(method, path))

        async def behaviour(request: bytes, context: Any) -> bytes:
            # gRPC keeps the frames of a failed call until the cyclic collector runs: none of them may reference the request.
            held = [request]
            del request
            with self._counted():
                return await self._answered(method, path, held, context)

        return grpc.unary_unary_rpc_method_handler(behaviour)

    async def _answered(self, method: Method, path: str, held: list[bytes], context: Any) -> bytes:
        try:
            return await self._watched_answer(path, context, lambda: self._serve(method, path, held, context))
        finally:
            held.clear()

    async def _watched_answer(self, path: str, context: Any, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the work's answer, traced; if it fails, end the call with the failure's status."""
        if self._watch is None:
            return await answer(context, path, work())
        watched = self._watch.call(path, public_metadata(context.invocation_metadata() or ()), code_name)

        async def answering() -> Answer:
            with watched:
                return await work()

        with calls.within(watched.call):
            return await answer(context, path, answering())

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._in_flight_count += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._in_flight_count -= 1
            if not self._in_flight_count:
                self._is_idle.set()

    async def _serve(self, method: Method, path: str, held: list[bytes], context: Any) -> bytes:
        """Return the response. The request is removed from `held` once it is parsed."""
        if self._is_closed:
            raise Stopping
        loop = asyncio.get_running_loop()
        options = method.options
        ends_at_s = loop.time() + deadline_s(context, options.default_deadline_s, options.max_deadline_s)
        async with asyncio.timeout_at(ends_at_s):
            identity = await self._identify(context)
            async with (
                options.admission.slot(identity.tenant_id, identity.queue_key),
                _large_slot(options, identity, held[0]),
            ):
                metadata = public_metadata(context.invocation_metadata())
                is_large = len(held[0]) > LARGE_BYTES
                call = Call(identity, path, ends_at_s, loop.time, metadata, is_large=is_large)
                parsed = [_parse(method, held.pop())]  # no reference to the request is kept here while it is processed
                with self._audited(call, parsed[0]):
                    response: Message = await method.behaviour(parsed.pop(), call)
                return response.SerializeToString()

    def _streaming(self, method: Method, path: str) -> Callable[..., AsyncGenerator[bytes]]:
        async def behaviour(request: bytes, context: Any) -> AsyncGenerator[bytes]:
            with self._counted():
                responses = self._serve_stream(method, path, request, context)
                async with aclosing(self._answered_stream(path, context, responses)) as answers:
                    async for response in answers:
                        yield response

        return behaviour

    async def _answered_stream(
        self, path: str, context: Any, responses: AsyncGenerator[Answer]
    ) -> AsyncGenerator[Answer]:
        """Yield the responses, traced; if one fails, end the call with the failure's status."""
        async with aclosing(self._traced_stream(path, context, responses)) as stream:
            while (response := await answer(context, path, anext(stream, _END))) is not _END:
                yield response

    async def _traced_stream(
        self, path: str, context: Any, responses: AsyncGenerator[Answer]
    ) -> AsyncGenerator[Answer]:
        """Yield the responses, traced. The span is current while a response is computed, not while it is sent."""
        async with aclosing(responses):
            if self._watch is None:
                async for response in responses:
                    yield response
                return
            metadata = public_metadata(context.invocation_metadata() or ())
            with (watched := self._watch.stream(path, metadata, code_name)):
                while True:
                    with calls.within(watched.call):
                        response = await anext(responses, _END)
                    if response is _END:
                        return
                    yield response
                    watched.message_count += 1

    async def _serve_stream(self, method: Method, path: str, request: bytes, context: Any) -> AsyncGenerator[bytes]:
        if self._is_closed:
            raise Stopping
        loop = asyncio.get_running_loop()
        options = method.options
        ends_at_s = loop.time() + deadline_s(context, options.default_deadline_s, options.max_deadline_s)
        async with asyncio.timeout_at(ends_at_s):
            identity = await self._identify(context)
        metadata = public_metadata(context.invocation_metadata())
        async with options.admission.slot(identity.tenant_id, identity.queue_key):
            call = Call(identity, path, ends_at_s, loop.time, metadata, self._stopping)
            parsed = _parse(method, request)
            with self._audited(call, parsed):
                async with aclosing(method.behaviour(parsed, call)) as messages:
                    while True:
                        async with asyncio.timeout_at(ends_at_s):
                            message = await anext(messages, None)
                        if message is None:
                            return
                        yield message.SerializeToString()

    def _audited(self, call: Call, request: Message) -> AbstractContextManager[Any]:
        """Return a context manager that audits the call, if such calls are audited."""
        if self._audit is None or not is_noted(call.identity, call.method):
            return nullcontext()
        return Noting(self._audit, call.identity, "rpc", call.method.lstrip("/"), **of_request(request))

    async def _identify(self, context: Any) -> Identity:
        return await self._authenticator.authenticate(context.invocation_metadata() or (), context.auth_context())

    def _foreign(self, handler: Any, path: str) -> Any:
        """Return the handler with authentication in front; its streaming shape decides which function is wrapped."""
        shapes = {
            (False, False): (handler.unary_unary, grpc.unary_unary_rpc_method_handler),
            (True, False): (handler.stream_unary, grpc.stream_unary_rpc_method_handler),
            (False, True): (handler.unary_stream, grpc.unary_stream_rpc_method_handler),
            (True, True): (handler.stream_stream, grpc.stream_stream_rpc_method_handler),
        }
        inner, make = shapes[handler.request_streaming, handler.response_streaming]
        guard = self._guarded_stream if handler.response_streaming else self._guarded_unary
        return make(guard(inner, path), handler.request_deserializer, handler.response_serializer)

    def _guarded_unary(self, inner: Callable[..., Awaitable[Any]], path: str) -> Callable[..., Any]:
        async def behaviour(request: Any, context: Any) -> Any:
            async def work() -> Any:
                await self._identify(context)
                return await inner(request, context)

            return await self._watched_answer(path, context, work)

        return behaviour

    def _guarded_stream(self, inner: Callable[..., AsyncGenerator[Any]], path: str) -> Callable[..., Any]:
        async def known(request: Any, context: Any) -> AsyncGenerator[Any]:
            await self._identify(context)
            async with aclosing(inner(request, context)) as responses:
                async for response in responses:
                    yield response

        async def behaviour(request: Any, context: Any) -> AsyncGenerator[Any]:
            async with aclosing(self._answered_stream(path, context, known(request, context))) as answers:
                async for response in answers:
                    yield response

        return behaviour


def _large_slot(options: MethodOptions, identity: Identity, request: bytes) -> AbstractAsyncContextManager[None]:
    if options.large_admission is None or len(request) <= LARGE_BYTES:
        return nullcontext()
    return options.large_admission.slot(identity.tenant_id, identity.queue_key)


def _parse(method: Method, request: bytes) -> Message:
    try:
        return method.request_type.FromString(request)
    except DecodeError as error:
        name = method.request_type.DESCRIPTOR.name
        raise InvalidArgument(
            "request", f"is not a valid {name}", "send that message, with texts in valid UTF-8"
        ) from error
