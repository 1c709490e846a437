"""Addresses that nothing is ever asked at: a cloud's metadata, where the machine's own credentials lie."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address

_METADATA = frozenset({"fd00:ec2::254", "100.100.100.200"})
_METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.goog"})


def is_metadata(host: str) -> bool:
    """Return whether a host is link-local or a cloud's metadata, in any spelling that a connection understands.

    Names are not looked up: those that the configuration gives are trusted to lead where they should.
    """
    name = host.lower().rstrip(".")
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        try:
            address = ip_address(socket.inet_aton(name))  # 2852039166, 0xA9FEA9FE and 169.254.43518 are one
        except (OSError, UnicodeError, ValueError):
            return name in _METADATA_NAMES
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_link_local or str(address) in _METADATA
