"""Starts `sidecar serve` as a user does, with default settings, on a temporary data directory."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

from sidecar.client import AsyncSidecar
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings

AGENT = "assistant"
KINDS = ("serve", "worker", "postgres")
_TOKEN_S = 3_000.0
_USER, _SYSTEM, _TICKS_A_S = 11, 12, os.sysconf("SC_CLK_TCK")  # fields of /proc/PID/stat after the command's name


def address(root: Path) -> str:
    """Return where the service on a directory answers calls."""
    return f"unix:{root}/api/sidecar.sock"


@asynccontextmanager
async def served(root: Path, *options: str) -> AsyncIterator[subprocess.Popen[bytes]]:
    """Yield `sidecar serve` with these options on a data directory beneath `root`, healthy; its log is a file there."""
    environment = {
        "PATH": os.defpath,
        "SIDECAR_DATA_DIR": str(root / "data"),
        "SIDECAR_LISTEN": address(root),
        "SIDECAR_HTTP_LISTEN": "off",
        "SIDECAR_CONSOLE_LISTEN": "off",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # as the image has it
    }
    process = _started(options, environment, root / "serve.log")
    try:
        async with AsyncSidecar(address(root), "") as client:
            await client.health(deadline_s=120, waits=True)
        yield process
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.wait, 60)
    finally:
        process.kill()


def _started(options: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen([sys.executable, "-m", "sidecar", "serve", *options], env=environment, stderr=file)


class Token:
    """A token for all owners of a tenant, minted anew before it expires."""

    def __init__(self, root: Path, tenant: str, owners: Sequence[str]) -> None:
        self._settings = IdentitySettings(root / "data")
        self._grant = Grant(tenant, tuple(owners), AGENT)
        self._token, self._until = "", 0.0

    def current(self) -> str:
        """Return a token that is valid for some minutes at least."""
        if time.time() > self._until:
            self._token = mint(self._grant, self._settings, now_s=time.time(), token_id=uuid4().hex)
            self._until = time.time() + _TOKEN_S
        return self._token


def cpu_s(pid: int, root: Path) -> dict[str, float]:
    """Return the processor seconds so far of the live processes of the service, its worker and its Postgres."""
    spent = dict.fromkeys(KINDS, 0.0)
    for one, kind in family(pid, root):
        with suppress(OSError):  # it has ended
            fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            spent[kind] += (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS_A_S
    return spent


def family(pid: int, root: Path) -> Iterator[tuple[int, str]]:
    """Yield the processes that descend from the service or from its Postgres, each with its kind, one of `KINDS`."""
    parents, commands = {}, {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    server = int((root / "data" / "pgdata" / "postmaster.pid").read_text().split()[0])
    for one in commands.keys() & parents.keys():
        ancestor = one
        while ancestor not in {pid, server} and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor in {pid, server}:
            yield one, "postgres" if ancestor == server else "worker" if " worker" in commands[one] else "serve"
