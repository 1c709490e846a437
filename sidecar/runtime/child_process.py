"""Shared by processes that claim work or start others: the name of a lease's holder, and the patient end of a child."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket


def lease_holder() -> str:
    """Return a new name for a holder of leases in this process, unique among processes and machines."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


async def stop(child: asyncio.subprocess.Process, patience_s: float) -> None:
    """Terminate a child that still runs, and kill it if it takes longer than `patience_s` to end."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(patience_s):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
