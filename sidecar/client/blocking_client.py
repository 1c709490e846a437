"""The blocking client: `Sidecar`, which threads may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, Self, TypeVar

import grpc

from sidecar.client.calls import BlockingCalls
from sidecar.client.channel import Channels, Tls, opened
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


class Sidecar(BlockingCalls):
    """A blocking client. `token` is a token, or a function that returns the current one."""

    def __init__(
        self,
        target: str,
        token: str | Callable[[], str],
        *,
        tls: Tls | None = None,
        stance: Stance | None = None,
        channels: int = 1,
    ) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable.

        If the service has several processes, a connection to a port stays with one of them: set several `channels`, four per
        process, and calls use them in turn. Each unix socket has its own channel.
        """
        check_token_source(token)
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channels = Channels(
            partial(opened, grpc, tls=tls, repeatable=tuple(repeatable()), is_apart=channels > 1),
            target,
            at_port=channels,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the channels; running calls fail."""
        for channel in self._channels.leave():
            channel.close()

    def taking(self, stance: Stance) -> Sidecar:
        """Return a client on the same channels for another tenant or owner, or with another deadline."""
        sibling = object.__new__(Sidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    def send(self, request: Request[A]) -> A:
        """Return the answer to a request. Raises a SidecarCallError."""
        token = self._token if isinstance(self._token, str) else self._token()
        for tried in count(1):
            place, channel = self._channels.next()
            one = exchange(channel, request, stance=self._stance, token=token)
            try:
                response = self._started(one)
            except grpc.RpcError as error:
                if not moves_on(self._channels, place, request, error) or tried == len(self._channels.all()):
                    raise self._failure(error) from error
                continue
            self._channels.answered(place)
            answer: A = request.reads(response)
            return answer
        raise AssertionError("the last channel's error is raised")

    def stream(self, request: Request[A]) -> Iterator[A]:
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
        token = self._token if isinstance(self._token, str) else self._token()
        place, channel = self._channels.next()
        responses = self._started(exchange(channel, request, stance=self._stance, token=token))
        try:
            for response in responses:
                answer: A = request.reads(response)
                yield answer
        except grpc.RpcError as error:
            moves_on(self._channels, place, request, error)
            raise self._failure(error) from error
        finally:
            responses.cancel()

    def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
        _, channel = self._channels.next()
        try:
            return health_of(self._started(health_check(channel, deadline_s=deadline_s, waits=waits)))
        except grpc.RpcError as error:
            raise self._failure(error) from error

    def _started(self, one: Exchange) -> Any:
        """Send a message and return gRPC's answer or iterator; it raises a ValueError on a channel closed meanwhile."""
        try:
            return one.call(one.message, **one.options)
        except ValueError as error:
            if self._channels.is_closed:
                raise client_closed() from error
            raise

    def _failure(self, error: Any) -> SidecarCallError:
        """Return the error of a failed call, also of one that another thread ended by closing the client."""
        is_closed = self._channels.is_closed and error.code() is grpc.StatusCode.CANCELLED
        return client_closed() if is_closed else failure(error, self._target)
