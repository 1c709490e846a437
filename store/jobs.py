"""Compile jobs: queueing one for a scope whose memories changed, at most one waiting per five minutes."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import uuid4

from store import queries
from store.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)

BUCKET_S = 300


class Enqueued(StrEnum):
    """What became of a wish to compile."""

    ENQUEUED = "ENQUEUED"
    DEDUPED = "DEDUPED"
    SKIPPED_FLAG_OFF = "SKIPPED_FLAG_OFF"


async def enqueue(connection: Connection, scope: Scope, *, trigger: str, now: datetime) -> Enqueued:
    """Queue a compile of the scope and record how far its memories reach.

    Wishes of one bucket of 300 s fold into its job while that has not started; one that meets a started job gets the next
    bucket's.
    """
    key = {"tenant_id": scope.tenant_id, "owner_id": scope.owner_id}
    if not await _sql.wiki_compile_enabled(connection, tenant_id=scope.tenant_id):
        return Enqueued.SKIPPED_FLAG_OFF
    await _sql.mark_dirty(connection, **key, now=now)
    bucket = int(now.timestamp()) // BUCKET_S
    for dedupe_key in (_dedupe_key(scope, bucket), _dedupe_key(scope, bucket + 1)):
        job_id = await _sql.insert_job(
            connection, **key, job_id=uuid4(), dedupe_key=dedupe_key, trigger=trigger, now=now
        )
        if job_id is not None:
            return Enqueued.ENQUEUED
        if await _sql.is_pending(connection, tenant_id=scope.tenant_id, dedupe_key=dedupe_key):
            return Enqueued.DEDUPED
    return Enqueued.DEDUPED


def _dedupe_key(scope: Scope, bucket: int) -> str:
    return f"{scope.tenant_id}:{scope.owner_id}:{bucket}"
