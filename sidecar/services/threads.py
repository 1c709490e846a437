"""What can be done with a thread."""

from __future__ import annotations

from datetime import datetime

from store.compile import background
from store.db.queries import Connection
from store.scope import Scope

KIND = "thread_summary"
KEEP_TURNS = 20
STEP_TURNS = 20


async def queue_summary(
    connection: Connection, scope: Scope, thread_id: str, *, turn_counts: tuple[int, int], now: datetime
) -> None:
    """Queue a summary when the thread, which grew from and to so many turns, has passed another step."""
    before, after = turn_counts
    if after > KEEP_TURNS and before // STEP_TURNS != after // STEP_TURNS:
        await background.enqueue(connection, scope, KIND, thread_id, now=now)
