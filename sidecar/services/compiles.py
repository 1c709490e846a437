"""The use cases of compile jobs."""

from __future__ import annotations

import logging
from datetime import datetime

from store.compile import jobs
from store.compile.jobs import Enqueued, Trigger
from store.db.postgres import Pool, scoped
from store.errors import StoreError
from store.scope import Scope
from store.tenancy import tenants

log = logging.getLogger(__name__)


async def queue_compile(pool: Pool, scope: Scope, *, now: datetime) -> Enqueued:
    """Queue a compile of memories that were written, and return what came of it: FAILED where the store fails.

    It never raises a StoreError: the memories are written already, and the next compile reads them too.
    """
    try:
        async with scoped(pool, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            outcome = (await jobs.enqueue(connection, scope, trigger=Trigger.MEMORY_RETAIN, now=now)).outcome
    except StoreError as error:
        outcome = Enqueued.FAILED
        log.warning("compile_not_queued", extra={"error": type(error).__name__})
    log.debug("compile_wished", extra={"outcome": outcome.value})
    return outcome
