"""Prepares the connections of the first turn, and on each the plans of a turn's queries.

The queries use an unused scope and find nothing. If the database does not answer yet, the first turn reports that.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from uuid import UUID

from store.content import documents, memories, threads
from store.content.recalling import RecallQuery
from store.db.postgres import Pool, scoped
from store.db.queries import Connection
from store.errors import StoreError
from store.scope import Scope
from store.wiki import pages

log = logging.getLogger(__name__)

_UNUSED_SCOPE = Scope(UUID(int=0), UUID(int=0))
_WANTED = RecallQuery(("nothing",), 1, 0, ("[0]",))
_DEADLINE_S = 5.0
_AT_ONCE = 4  # the sources that a turn queries concurrently


async def warm(pool: Pool, *, connections: int) -> None:
    """Prepare a turn's queries on as many connections as it needs; give up, with a log entry, if the database fails."""
    try:
        async with asyncio.timeout(_DEADLINE_S), AsyncExitStack() as stack:
            opening = (
                stack.enter_async_context(scoped(pool, _UNUSED_SCOPE, read_only=True))
                for _ in range(min(connections, _AT_ONCE))
            )
            await asyncio.gather(*(_rehearse(connection) for connection in [await one for one in opening]))
    except (StoreError, TimeoutError) as error:
        log.warning("not_warmed", extra={"error": type(error).__name__})


async def _rehearse(connection: Connection) -> None:
    """Run the queries of a turn's sources."""
    await threads.history(connection, _UNUSED_SCOPE, "", threads.HistoryWindow(1, 1))
    await threads.summary(connection, _UNUSED_SCOPE, "")
    await threads.recall(connection, _UNUSED_SCOPE, "", _WANTED)
    await memories.recall(connection, _UNUSED_SCOPE, _WANTED)
    await documents.assigned_bases(connection, _UNUSED_SCOPE.tenant_id, template_id="", agent_id="")
    await documents.recall(connection, _UNUSED_SCOPE.tenant_id, [UUID(int=0)], _WANTED)
    await pages.recall(connection, _UNUSED_SCOPE, _WANTED)
