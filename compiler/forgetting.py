"""What a forgotten memory takes with it at once: plans and model answers that saw it. What it fed is rebuilt by the next job."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from store import answers, batches, feed, ledger, scopes
from store.queries import Connection
from store.scope import Scope


async def forget(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime, is_built_in: bool = True
) -> None:
    """Delete what was kept of the memories, and mark what they fed for the next job; the caller deletes them themselves.

    A plan under way is superseded, so that no word of theirs is written any more. The caller enqueues the job.
    """
    if not memory_ids:
        return
    await scopes.lock(connection, scope, now=now)
    await ledger.mark_gone(connection, scope, memory_ids, now=now)
    await batches.forget(connection, scope, memory_ids)
    await answers.forget(connection, scope, memory_ids)
    await scopes.bump_revision(connection, scope, now=now)
    through = await feed.announce_forgotten(connection, scope) if is_built_in else None
    await scopes.mark_dirty(connection, scope, through=through, now=now)
