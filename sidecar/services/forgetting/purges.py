"""Purges what was forgotten from the database's files, every few minutes."""

from __future__ import annotations

import asyncio
import logging

from store.db.purging import purge

log = logging.getLogger(__name__)


class Purges:
    """Purges regularly; `waiting_count` are the forgettings whose words the files may still hold after the last look."""

    def __init__(self, dsn: str, *, every_s: float) -> None:
        """Purge the database of `dsn`, a direct connection of the tables' owner, every `every_s` seconds."""
        self._dsn = dsn
        self._every_s = every_s
        self.waiting_count = 0

    async def run(self) -> None:
        """Purge until cancelled. A purge that has nothing to do costs one query."""
        while True:
            await asyncio.sleep(self._every_s)
            await self.look()

    async def look(self) -> None:
        """Purge now, if a forgetting requested it."""
        report = await purge(self._dsn)
        self.waiting_count = report.left
        if report.settled:
            log.info("purged", extra={"forgettings": report.settled, "tables": len(report.tables)})
        if report.left or report.refused:
            held_up = {"forgettings": report.left, "busy": list(report.busy), "refused": list(report.refused)}
            log.warning("purge_incomplete", extra=held_up)
