"""The asynchronous client: `AsyncSidecar`, for one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from itertools import count
from typing import Self, TypeVar

import grpc

from sidecar.client.calls import WaitingCalls
from sidecar.client.channel import Channels, Tls, opened
from sidecar.client.contract import Exchange, Stance, exchange, health_check, health_of, moves_on, repeatable
from sidecar.client.errors import client_closed, failure
from sidecar.client.requests.request import Request

A = TypeVar("A")


class AsyncSidecar(WaitingCalls):
    """A client for one event loop; create it inside the loop. `token` is a token, or a function that returns the current one."""

    def __init__(
        self,
        target: str,
        token: str | Callable[[], str | Awaitable[str]],
        *,
        tls: Tls | None = None,
        stance: Stance | None = None,
        channels: int = 1,
    ) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable.

        If the service has several processes, a connection to a port stays with one of them: set several `channels`, four per
        process, and calls use them in turn. Each unix socket has its own channel.
        """
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channels = Channels(
            partial(opened, grpc.aio, tls=tls, repeatable=tuple(repeatable()), is_apart=channels > 1),
            target,
            at_port=channels,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channels; running calls fail."""
        for channel in self._channels.leave():
            await channel.close()

    def taking(self, stance: Stance) -> AsyncSidecar:
        """Return a client on the same channels for another tenant or owner, or with another deadline."""
        sibling = object.__new__(AsyncSidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    async def send(self, request: Request[A]) -> A:
        """Return the answer to a request. Raises a SidecarCallError."""
        for tried in count(1):
            place, one = await self._exchange(request)
            try:
                response = await one.call(one.message, **one.options)
            except asyncio.CancelledError:
                self._raise_if_closed()
                raise
            except grpc.RpcError as error:
                if not moves_on(self._channels, place, request, error) or tried == len(self._channels.all()):
                    raise failure(error, self._target) from error
                continue
            self._channels.answered(place)
            answer: A = request.reads(response)
            return answer
        raise AssertionError("the last channel's error is raised")

    async def stream(self, request: Request[A]) -> AsyncGenerator[A]:
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
        place, one = await self._exchange(request)
        responses = one.call(one.message, **one.options)
        try:
            async for response in responses:
                answer: A = request.reads(response)
                yield answer
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise
        except grpc.RpcError as error:
            moves_on(self._channels, place, request, error)
            raise failure(error, self._target) from error
        finally:
            responses.cancel()

    async def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
        _, channel = self._channels.next()
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

    async def _exchange(self, request: Request[A]) -> tuple[int, Exchange]:
        """Return the index of the next channel, and the call on it."""
        token = self._token if isinstance(self._token, str) else self._token()
        token = token if isinstance(token, str) else await token
        place, channel = self._channels.next()
        return place, exchange(channel, request, stance=self._stance, token=token)
