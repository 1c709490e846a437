"""Makes the clients' methods, one per RPC, from the requests that they send."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from sidecar.client.requests.request import Request

A = TypeVar("A")
P = ParamSpec("P")
C = TypeVar("C", bound=Callable[..., Any])


def blocking(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Any, P], A]:
    """Return the method that builds a request from its keyword arguments and sends it."""

    def call(client: Any, /, *args: P.args, **fields: P.kwargs) -> A:
        answer: A = client.send(kind(*args, **fields))
        return answer

    return _described(call, kind)


def blocking_stream(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Any, P], Iterator[A]]:
    """Return the method that builds a request and yields its answers as they arrive."""

    def call(client: Any, /, *args: P.args, **fields: P.kwargs) -> Iterator[A]:
        answers: Iterator[A] = client.stream(kind(*args, **fields))
        return answers

    return _described(call, kind)


def asynchronous(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, A]]:
    """Return the asynchronous method that builds a request and sends it."""

    async def call(client: Any, /, *args: P.args, **fields: P.kwargs) -> A:
        answer: A = await client.send(kind(*args, **fields))
        return answer

    return _described(call, kind)


def async_stream(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Any, P], AsyncGenerator[A]]:
    """Return the method that builds a request and yields its answers asynchronously as they arrive."""

    def call(client: Any, /, *args: P.args, **fields: P.kwargs) -> AsyncGenerator[A]:
        answers: AsyncGenerator[A] = client.stream(kind(*args, **fields))
        return answers

    return _described(call, kind)


def _described(call: C, kind: Any) -> C:
    """Return the method with the name, docstring and signature of the request that it sends, for help()."""
    functools.update_wrapper(call, kind, updated=())
    client = inspect.Parameter("client", inspect.Parameter.POSITIONAL_ONLY)
    call.__dict__["__signature__"] = inspect.Signature([client, *inspect.signature(kind).parameters.values()])
    return call
