"""Measures the processor time of this process and its Postgres server, which excludes a busy machine's other work."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS_A_S = os.sysconf("SC_CLK_TCK")
_PARENT, _USER, _SYSTEM = 1, 11, 12  # fields of /proc/PID/stat after the command's name


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor time up to a moment, in seconds: of this process, and of the server's processes that still live."""

    own_s: float
    server_s: float

    def since(self, before: Spent) -> Spent:
        """Return the difference from an earlier measurement."""
        return Spent(self.own_s - before.own_s, self.server_s - before.server_s)

    @property
    def both_s(self) -> float:
        """The sum of both."""
        return self.own_s + self.server_s


def spent(data_dir: Path) -> Spent:
    """Return the processor time so far; the server is the embedded Postgres in this directory (Linux only)."""
    (pidfile,) = data_dir.rglob("postmaster.pid")
    postmaster = pidfile.read_text(encoding="utf-8").split("\n", 1)[0]
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[_PARENT] == postmaster:
            ticks += int(fields[_USER]) + int(fields[_SYSTEM])
    return Spent(time.process_time(), ticks / _TICKS_A_S)
