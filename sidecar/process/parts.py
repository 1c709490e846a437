"""The parts of a service with several processes: some answer calls, one has the HTTP servers, the maintenance and the worker."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings

HTTP = "http"
AUTO = "auto"
MOST_PROCESSES = 64
_MOST_AUTO = 4
_HTTP_TURN_CONNECTIONS = 6  # one turn at a time, tried in the console
_OFF = "off"
_LAST_S = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a service that this process runs; by default the whole. `directory` has the sockets between the parts.

    Parts that answer calls are numbered from 1. With `embeds`, this part embeds stored texts; otherwise a worker does.
    """

    name: str = ""
    directory: Path | None = None
    embeds: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the service has only this process."""
        return not self.name

    @property
    def has_upkeep(self) -> bool:
        """Whether this part prunes, counts and watches for all parts, and runs the worker beside it."""
        return self.name in {"", HTTP}

    @property
    def answers_calls(self) -> bool:
        """Whether this part answers calls as one of several, and reports its state to the part with the HTTP servers."""
        return not self.has_upkeep

    def settings(self, settings: Settings) -> Settings:
        """Return the service's settings, adapted to this part."""
        if self.is_whole:
            return settings
        if self.name == HTTP:
            return replace(settings, listen=(), turn_pool_size=min(settings.turn_pool_size, _HTTP_TURN_CONNECTIONS))
        own = tuple(own_address(address, int(self.name)) for address in settings.listen)
        return replace(settings, listen=own, http_listen=_OFF, console_listen=_OFF, worker=False)


def own_address(address: str, number: int) -> str:
    """Return the address of a part: processes share a port, and each has its own socket.

    The first part has the configured socket, so that a client with that path finds the service.
    """
    return f"{address}.{number}" if address.startswith("unix:") and number > 1 else address


def count_of(setting: str, *, cores: int, is_linux: bool) -> int:
    """Return the number of processes that answer calls. Raises SettingInvalid for an impossible number."""
    if setting == AUTO:
        return max(1, min(cores, _MOST_AUTO)) if is_linux else 1
    fix = f"set a whole number from 1 to {MOST_PROCESSES}, or {AUTO} for one per core up to {_MOST_AUTO}"
    if not (setting.isascii() and setting.isdigit() and 1 <= int(setting[:6]) <= MOST_PROCESSES):
        raise SettingInvalid("SIDECAR_PROCESSES", f"{setting[:40]!r} is not a number of processes", fix)
    count = int(setting)
    if count > 1 and not is_linux:
        raise SettingInvalid("SIDECAR_PROCESSES", f"{count} processes can share a port only on Linux", "set 1")
    return count


def cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return the number of processors that this process may use, by its affinity and its control group's quota."""
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        most, period = quota.read_text(encoding="ascii").split()
        return min(usable, max(1, int(most) // int(period)))
    except (OSError, ValueError):
        return usable


def tell_serving(addresses: tuple[str, ...], http_addresses: dict[str, str]) -> None:
    """Report to the parent, on standard output, that this part serves, with its addresses."""
    sys.stdout.buffer.write(orjson.dumps({"addresses": addresses, **http_addresses}) + b"\n")
    sys.stdout.buffer.flush()


def end_with_parent(stop: Callable[[], object], *, within_s: float) -> None:
    """Call `stop` on the event loop once the parent has ended, and end this process if stopping takes too long.

    Standard input closes when the parent ends in any way. A thread waits for that, because a hanging event loop would not notice.
    """
    loop = asyncio.get_running_loop()

    def wait() -> None:
        while os.read(0, 1024):
            pass
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop)
        time.sleep(within_s + _LAST_S)
        os._exit(1)

    threading.Thread(target=wait, name="sidecar-parent", daemon=True).start()
