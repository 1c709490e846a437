"""The asynchronous client: `AsyncSidecar`, for one event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Self, TypeVar

import grpc

from sidecar.client.calls import WaitingCalls
from sidecar.client.channel import Tls, opened
from sidecar.client.contract import Exchange, Stance, exchange, health_check, health_of, repeatable
from sidecar.client.errors import failure
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
    ) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable."""
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channel = opened(grpc.aio, target, tls=tls, repeatable=repeatable())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel; running calls fail."""
        await self._channel.close()

    def taking(self, stance: Stance) -> AsyncSidecar:
        """Return a client on the same channel for another tenant or owner, or with another deadline."""
        sibling = object.__new__(AsyncSidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    async def send(self, request: Request[A]) -> A:
        """Return the answer to a request. Raises a SidecarCallError."""
        response = await self._made(await self._exchange(request))
        answer: A = request.reads(response)
        return answer

    async def stream(self, request: Request[A]) -> AsyncGenerator[A]:
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
        one = await self._exchange(request)
        responses = one.call(one.message, **one.options)
        try:
            async for response in responses:
                answer: A = request.reads(response)
                yield answer
        except grpc.RpcError as error:
            raise failure(error, self._target) from error
        finally:
            responses.cancel()

    async def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
        return health_of(await self._made(health_check(self._channel, deadline_s=deadline_s, waits=waits)))

    async def _exchange(self, request: Request[A]) -> Exchange:
        token = self._token if isinstance(self._token, str) else self._token()
        token = token if isinstance(token, str) else await token
        return exchange(self._channel, request, stance=self._stance, token=token)

    async def _made(self, one: Exchange) -> object:
        try:
            return await one.call(one.message, **one.options)
        except grpc.RpcError as error:
            raise failure(error, self._target) from error
