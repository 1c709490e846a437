"""Returns freed memory to the operating system after a load peak.

glibc keeps freed memory in its arenas: after a peak of large messages, a process that needed 0.4 GB stayed at 3.2 GB. Objects
that wait for Python's cyclic collector, which runs rarely here, may keep more.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
from pathlib import Path

log = logging.getLogger(__name__)

EVERY_S = 10.0
GROWN_BYTES = 64 << 20

_STATM = Path("/proc/self/statm")


async def keep_trimmed(*, every_s: float = EVERY_S, grown_bytes: int = GROWN_BYTES) -> None:
    """Check every `every_s` seconds, and trim if the process uses `grown_bytes` more than it needs.

    Memory that a trim cannot free counts as needed from then on. Runs until cancelled; without glibc or /proc it only sleeps.
    """
    needed_bytes = resident_bytes()
    while True:
        await asyncio.sleep(every_s)
        held_bytes = resident_bytes()
        if held_bytes - needed_bytes > grown_bytes:
            gc.collect()
            await asyncio.to_thread(trim)
            left_bytes = resident_bytes()
            log.info("memory_trimmed", extra={"held_bytes": held_bytes, "left_bytes": left_bytes})
            if held_bytes - left_bytes < grown_bytes // 8:
                needed_bytes = left_bytes
        needed_bytes = min(needed_bytes, held_bytes)


def trim() -> None:
    """Make glibc return every free page; do nothing with another C library."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)


def resident_bytes() -> int:
    """Return the process's resident memory in bytes; 0 without /proc."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
