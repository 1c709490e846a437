"""Purges forgotten content from the database's files, every few minutes."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from store.db.purging import purge

log = logging.getLogger(__name__)


class Purges:
    """Purges periodically. `waiting_count` is the number of forgettings whose words may still be in the files."""

    def __init__(self, dsn: str, *, every_s: float, pgdata: Path | None = None) -> None:
        """Purge every `every_s` seconds; `dsn` is a direct connection as the owner of the tables. `pgdata` is the server's
        directory, if it is on this machine.
        """
        self._dsn = dsn
        self._pgdata = pgdata
        self._every_s = every_s
        self.waiting_count = 0

    async def run(self) -> None:
        """Purge until cancelled: at once, for forgettings of an earlier process, then every `every_s` seconds, measured from
        start to start. A purge without work costs one query.
        """
        took_s = self._every_s
        while True:
            await asyncio.sleep(pause_s(self._every_s, took_s))
            began_s = time.monotonic()
            await self.look()
            took_s = time.monotonic() - began_s

    async def look(self) -> None:
        """Purge now, if a forgetting requested it."""
        report = await purge(self._dsn, pgdata=self._pgdata)
        self.waiting_count = report.left
        if report.settled:
            log.info("purged", extra={"forgettings": report.settled, "tables": len(report.tables)})
        if report.left or report.refused:
            held_up = {
                "forgettings": report.left,
                "busy": list(report.busy),
                "refused": list(report.refused),
                "unpurged": list(report.unpurged),
            }
            log.warning("purge_incomplete", extra=held_up)


def pause_s(every_s: float, took_s: float) -> float:
    """Return the seconds to wait after a purge that took `took_s`, so that purges start `every_s` apart.

    If the interval began at the end of a purge, content forgotten just after a start would wait for an interval and two purges.
    """
    return max(0.0, every_s - took_s)
