"""Long synchronous work given a round of the event loop each, so that what came meanwhile is served in between."""

from __future__ import annotations

import asyncio
from types import TracebackType


class OneARound:
    """Holds back all but one of those who enter in the same round; what is done inside must not wait for anything."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        try:
            # Who never waits inside is out before anyone else asks: only this makes the others queue.
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._lock.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
