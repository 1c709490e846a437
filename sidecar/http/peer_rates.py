"""Limits the requests per second of one peer to a listener."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

from sidecar.backends.backend_caller import TokenBucket

_MAX_PEERS = 4096


class PeerRates:
    """Counts requests by peer: an IPv4 address, or an IPv6 network of 64 bits. 0 per second means no limit."""

    def __init__(self, per_s: int, *, clock: Callable[[], float]) -> None:
        self._per_s = per_s
        self._clock = clock
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def admits(self, host: str) -> bool:
        """Count one request of the peer at an address, and return whether it is within this second's limit."""
        peer = peer_of(host)
        bucket = self._buckets.setdefault(peer, TokenBucket(self._per_s))
        self._buckets.move_to_end(peer)
        if len(self._buckets) > _MAX_PEERS:
            self._buckets.popitem(last=False)
        if bucket.wait_s(self._clock()) > 0:
            bucket.give_back()
            return False
        return True


def peer_of(host: str) -> str:
    """Return the key of the peer at an address; the address itself if it cannot be parsed."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
