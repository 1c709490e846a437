"""The blocking client: `Sidecar`, which threads may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Self, TypeVar

import grpc

from sidecar.client.calls import BlockingCalls
from sidecar.client.channel import Channels, Tls, opened
from sidecar.client.contract import Stance, exchange, health_check, health_of, moves_on, repeatable
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
                response = one.call(one.message, **one.options)
            except grpc.RpcError as error:
                if not moves_on(self._channels, place, request, error) or tried == len(self._channels.all()):
                    raise failure(error, self._target) from error
                continue
            self._channels.answered(place)
            answer: A = request.reads(response)
            return answer
        raise AssertionError("the last channel's error is raised")

    def stream(self, request: Request[A]) -> Iterator[A]:
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
        token = self._token if isinstance(self._token, str) else self._token()
        place, channel = self._channels.next()
        one = exchange(channel, request, stance=self._stance, token=token)
        responses = one.call(one.message, **one.options)
        try:
            for response in responses:
                answer: A = request.reads(response)
                yield answer
        except grpc.RpcError as error:
            moves_on(self._channels, place, request, error)
            raise failure(error, self._target) from error
        finally:
            responses.cancel()

    def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
        _, channel = self._channels.next()
        one = health_check(channel, deadline_s=deadline_s, waits=waits)
        try:
            return health_of(one.call(one.message, **one.options))
        except grpc.RpcError as error:
            raise failure(error, self._target) from error
