"""Runs an image's files as a container runtime would, with util-linux alone: the image's own user, environment, entry
point and volume; processes, mounts and names of its own; a network with nothing but loopback; a root that is read-only.

Limits on memory and processors, seccomp and user namespaces are not here.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from tests.interop.programs import ran

_NAMESPACES = ("--net", "--pid", "--ipc", "--uts", "--mount")
_SET_UP = """
root=$1 volume=$2 place=$3; shift 3
ip link set lo up
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$volume" "$root$place"
mount -o remount,bind,ro "$root"
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Image:
    """An image's files under `root`, and what its configuration says. `volume` is the one place it may write."""

    root: Path
    user: str
    environ: Sequence[str]
    entrypoint: Sequence[str]
    command: Sequence[str]
    health_check: Sequence[str]
    volume: str

    def inside(self, *command: str) -> list[str]:
        """Return the command that becomes this one, as the image's user, once the mounts stand."""
        become = ["setpriv", "--no-new-privs", "chroot", f"--userspec={self.user}", str(self.root), "env", "-i"]
        return [*become, *self.environ, *command]


class Container:
    """A running image: its entry point is process 1."""

    def __init__(self, image: Image, *, volume: Path, log: Path) -> None:
        """Start the entry point with the image's own command; what it writes goes to the end of the log."""
        self._image = image
        command = image.inside(*image.entrypoint, *image.command)
        with log.open("ab") as output:
            self._outer = subprocess.Popen(_isolated(image, volume, command), stdout=output, stderr=output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._outer.kill()  # --kill-child takes the rest along
        self._outer.wait()

    @property
    def pid(self) -> int:
        """The number of its process 1, as seen from outside; 0 while there is none."""
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text(encoding="ascii").split()
        return int(children[0]) if children else 0

    @property
    def has_ended(self) -> bool:
        """Whether the entry point has ended."""
        return self._outer.poll() is not None

    def run(self, *command: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Return what a command inside did."""
        enter = ["nsenter", f"--target={self.pid}", *_NAMESPACES]
        return ran([*enter, *self._image.inside(*command)], timeout_s=timeout_s)

    def stop(self, *, patience_s: float) -> int:
        """Send SIGTERM to process 1, as runtimes do, and return its exit code. Raises subprocess.TimeoutExpired."""
        os.kill(self.pid, signal.SIGTERM)
        return self._outer.wait(patience_s)

    def listening(self) -> list[str]:
        """Return the TCP addresses listened on inside, as ADDRESS:PORT."""
        lines = [
            line.split()
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/{self.pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        ]
        return [_address(fields[1]) for fields in lines if fields[3] == "0A"]


def _address(text: str) -> str:
    """Return an address of the kernel's table, where it stands in hexadecimal, each four bytes of it reversed."""
    number, _, port = text.partition(":")
    words = [bytes.fromhex(number[start : start + 8])[::-1] for start in range(0, len(number), 8)]
    host = ip_address(b"".join(words))
    return f"{getattr(host, 'ipv4_mapped', None) or host}:{int(port, 16)}"


def run_once(image: Image, *command: str, volume: Path) -> subprocess.CompletedProcess[str]:
    """Return what a command did as process 1 of a container of its own."""
    return ran(_isolated(image, volume, image.inside(*command)), timeout_s=180)


def _isolated(image: Image, volume: Path, command: Sequence[str]) -> list[str]:
    unshared = ["unshare", *_NAMESPACES, "--fork", "--kill-child"]
    return [*unshared, "sh", "-ec", _SET_UP, "sh", str(image.root), str(volume), image.volume, *command]
