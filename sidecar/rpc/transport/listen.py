"""Validates listen addresses: plain text only on loopback or a private unix socket, TLS everywhere else."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from sidecar.rpc.auth.jwks import is_loopback
from sidecar.runtime.errors import PlainTextRefused, SettingInvalid, SocketDirectoryUnsafe

MAX_SOCKET_PATH_BYTES = 107  # sun_path of Linux, without its terminating zero

_FIX = "write HOST:PORT, [IPV6]:PORT or unix:/absolute/path"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """One address in gRPC's form; `socket_path` is set only for a unix socket."""

    target: str
    socket_path: Path | None = None


def check_listen_address(address: str, *, is_tls: bool) -> ListenAddress:
    """Return the address in gRPC's form. Raises PlainTextRefused off loopback without TLS, SettingInvalid."""
    if address.startswith("unix:"):
        return _unix_address(address)
    host, colon, port = address.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or (":" in host and not is_bracketed) or not host.isprintable():
        raise SettingInvalid("SIDECAR_LISTEN", f"{address[:200]!r} is not an address", _FIX)
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise SettingInvalid("SIDECAR_LISTEN", f"{address[:200]!r} has no port of 0 to 65535", _FIX)
    if not is_tls and not is_loopback(host[1:-1] if is_bracketed else host):
        raise PlainTextRefused(address)
    return ListenAddress(address)


def _unix_address(address: str) -> ListenAddress:
    path = Path(address.removeprefix("unix:").removeprefix("//"))
    if not path.is_absolute() or not str(path).isprintable():
        raise SettingInvalid("SIDECAR_LISTEN", f"{address[:200]!r} is not an absolute socket path", _FIX)
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise SettingInvalid("SIDECAR_LISTEN", f"is longer than {MAX_SOCKET_PATH_BYTES} bytes", "use a shorter path")
    return ListenAddress(f"unix:{path}", path)


def prepare_socket_directory(directory: Path) -> None:
    """Create the directory with mode 0700, or check that only this user has access. Raises SocketDirectoryUnsafe."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.lstat()
    except OSError as error:
        raise SocketDirectoryUnsafe(str(directory), f"cannot be created or read ({error.strerror})") from error
    if not stat.S_ISDIR(status.st_mode):
        raise SocketDirectoryUnsafe(str(directory), "is a link or not a directory")
    if status.st_uid != os.geteuid():
        raise SocketDirectoryUnsafe(str(directory), "belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise SocketDirectoryUnsafe(str(directory), f"is open to others (mode {stat.S_IMODE(status.st_mode):04o})")
