"""The asynchronous client: `AsyncSidecar`, for one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from inspect import isawaitable
from itertools import count
from typing import Self, TypeVar

import grpc

from sidecar.client.calls import AsyncCalls
from sidecar.client.channel import Channels, Tls, check_target, opened
from sidecar.client.contract import (
    Exchange,
    Stance,
    check_token_source,
    exchange,
    health_check,
    health_of,
    moves_on,
    repeatable,
)
from sidecar.client.errors import SidecarCallError, client_closed, failure
from sidecar.client.requests.request import Request

A = TypeVar("A")


class _ChannelsOfLoop:
    """The channels of a client and its siblings, which belong to the event loop of their first call: gRPC cannot share them.

    Once that loop is closed, the next call opens others. So a client may be a module's global, also where every job has a
    loop of its own.
    """

    def __init__(self, open_all: Callable[[], Channels]) -> None:
        self._open_all = open_all
        self._channels: Channels | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self.is_closed = False

    def of_running_loop(self) -> Channels:
        """Return the channels for a call in the running loop. Raises a SidecarCallError in another loop, or once closed."""
        running = asyncio.get_running_loop()
        with self._lock:
            if self.is_closed:
                raise client_closed()
            if self._channels is None or self._is_of_closed_loop():
                self._channels, self._loop = self._open_all(), running
            if self._loop is not running:
                raise SidecarCallError(
                    "The client belongs to another event loop, which still runs; open one in each loop.",
                    code="FAILED_PRECONDITION",
                )
            return self._channels

    async def close(self) -> None:
        """Close the channels; none is opened from now on."""
        with self._lock:
            self.is_closed = True
            channels = [] if self._channels is None or self._is_of_closed_loop() else self._channels.leave()
        for channel in channels:
            await channel.close()

    def _is_of_closed_loop(self) -> bool:
        return self._loop is not None and self._loop.is_closed()


class AsyncSidecar(AsyncCalls):
    """A client for one event loop at a time, that of its first call.

    `token` is a token, or a function that returns the current one, also an asynchronous one.
    """

    def __init__(
        self,
        target: str,
        token: str | Callable[[], str | Awaitable[str]],
        *,
        tls: Tls | None = None,
        stance: Stance | None = None,
        channels: int = 1,
    ) -> None:
        """Make a client for HOST:PORT or unix:/path, which its first call connects to. Raises TargetUnusable.

        If the service has several processes, a connection to a port stays with one of them: set several `channels`, four per
        process, and calls use them in turn. Each unix socket has its own channel.
        """
        check_token_source(token)
        check_target(target, is_tls=tls is not None)
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        open_one = partial(opened, grpc.aio, tls=tls, repeatable=tuple(repeatable()), is_apart=channels > 1)
        self._channels = _ChannelsOfLoop(partial(Channels, open_one, target, at_port=channels))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channels; running calls fail."""
        await self._channels.close()

    def taking(self, stance: Stance) -> AsyncSidecar:
        """Return a client on the same channels for another tenant or owner, or with another deadline."""
        sibling = object.__new__(AsyncSidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    async def send(self, request: Request[A]) -> A:
        """Return the answer to a request. Raises a SidecarCallError."""
        for tried in count(1):
            channels, place, one = await self._exchange(request)
            try:
                response = await one.call(one.message, **one.options)
            except asyncio.CancelledError:
                self._raise_if_closed()
                raise
            except grpc.RpcError as error:
                if not moves_on(channels, place, request, error) or tried == len(channels.all()):
                    raise failure(error, self._target) from error
                continue
            channels.answered(place)
            answer: A = request.reads(response)
            return answer
        raise AssertionError("the last channel's error is raised")

    async def stream(self, request: Request[A]) -> AsyncGenerator[A]:
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
        channels, place, one = await self._exchange(request)
        responses = one.call(one.message, **one.options)
        try:
            async for response in responses:
                answer: A = request.reads(response)
                yield answer
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise
        except grpc.RpcError as error:
            moves_on(channels, place, request, error)
            raise failure(error, self._target) from error
        finally:
            responses.cancel()

    async def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
        _, channel = self._channels.of_running_loop().next()
        one = health_check(channel, deadline_s=deadline_s, waits=waits)
        try:
            return health_of(await one.call(one.message, **one.options))
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise
        except grpc.RpcError as error:
            raise failure(error, self._target) from error

    def _raise_if_closed(self) -> None:
        """Raise a SidecarCallError if the client was closed during a call: gRPC then raises what a cancelled task would get."""
        task = asyncio.current_task()
        if self._channels.is_closed and not (task and task.cancelling()):
            raise client_closed()

    async def _exchange(self, request: Request[A]) -> tuple[Channels, int, Exchange]:
        """Return the channels of the running loop, the index of the next one, and the call on it."""
        token = self._token if isinstance(self._token, str) else self._token()
        token = await token if isawaitable(token) else token
        channels = self._channels.of_running_loop()
        place, channel = channels.next()
        return channels, place, exchange(channel, request, stance=self._stance, token=token)
