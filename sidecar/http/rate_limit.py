"""Bounds how many requests a second one peer may send to a listener; the rest get 429.

A refusal is held back for a second: a client that asks again as soon as it is refused would otherwise cost nearly as much as
one that is served.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sidecar.backends.asking import TokenBucket

HELD_BACK_S = 1.0
_MAX_PEERS = 4096


class RateLimit:
    """Wraps an application. A peer is an IPv4 address or an IPv6 network of 64 bits; the listener's own address is one too."""

    def __init__(
        self, inner: ASGIApp, *, per_s: int, clock: Callable[[], float], held_back_s: float = HELD_BACK_S
    ) -> None:
        self._inner = inner
        self._per_s = per_s
        self._clock = clock
        self._held_back_s = held_back_s
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or self._admits(scope.get("client")):
            await self._inner(scope, receive, send)
            return
        await asyncio.sleep(self._held_back_s)
        text = f"Send at most {self._per_s} requests a second."
        await PlainTextResponse(text, 429, {"retry-after": "1"})(scope, receive, send)

    def _admits(self, client: tuple[str, int] | None) -> bool:
        """Return whether the peer has a request left this second, and take it."""
        peer = peer_of(client[0] if client else "")
        bucket = self._buckets.setdefault(peer, TokenBucket(self._per_s))
        self._buckets.move_to_end(peer)
        if len(self._buckets) > _MAX_PEERS:
            self._buckets.popitem(last=False)
        if bucket.wait_s(self._clock()) > 0:
            bucket.give_back()
            return False
        return True


def peer_of(host: str) -> str:
    """Return what stands for the peer at an address; the address itself where it cannot be read."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
