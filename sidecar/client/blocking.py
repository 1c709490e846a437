"""The blocking client: `Sidecar`, which threads may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self, TypeVar

import grpc

from sidecar.client.calls import BlockingCalls
from sidecar.client.channel import Tls, opened
from sidecar.client.contract import Exchange, Stance, exchange, health_check, health_of, repeatable
from sidecar.client.errors import failure
from sidecar.client.requests.request import Request

A = TypeVar("A")


class Sidecar(BlockingCalls):
    """A blocking client. `token` is a token, or a function that returns the current one."""

    def __init__(
        self,
        target: str,
        token: str | Callable[[], str],
        *,
        tls: Tls | None = None,
        stance: Stance | None = None,
    ) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable."""
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channel = opened(grpc, target, tls=tls, repeatable=repeatable())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the channel; running calls fail."""
        self._channel.close()

    def taking(self, stance: Stance) -> Sidecar:
        """Return a client on the same channel for another tenant or owner, or with another deadline."""
        sibling = object.__new__(Sidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    def send(self, request: Request[A]) -> A:
        """Return the answer to a request. Raises a SidecarCallError."""
        token = self._token if isinstance(self._token, str) else self._token()
        response = self._made(exchange(self._channel, request, stance=self._stance, token=token))
        answer: A = request.reads(response)
        return answer

    def stream(self, request: Request[A]) -> Iterator[A]:
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
        token = self._token if isinstance(self._token, str) else self._token()
        one = exchange(self._channel, request, stance=self._stance, token=token)
        responses = one.call(one.message, **one.options)
        try:
            for response in responses:
                answer: A = request.reads(response)
                yield answer
        except grpc.RpcError as error:
            raise failure(error, self._target) from error
        finally:
            responses.cancel()

    def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
        return health_of(self._made(health_check(self._channel, deadline_s=deadline_s, waits=waits)))

    def _made(self, one: Exchange) -> object:
        try:
            return one.call(one.message, **one.options)
        except grpc.RpcError as error:
            raise failure(error, self._target) from error
