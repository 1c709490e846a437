"""A cache of model answers by the hash of the request, with the memories that each request showed, and the spend per day.

Every function takes a connection inside a scoped transaction. An answer is bytes here;
`models/language/language.py` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from store.db import queries
from store.db.queries import Connection, utc_day
from store.scope import Scope

_sql = queries.load(__file__)


async def get(connection: Connection, scope: Scope, key: bytes) -> bytes | None:
    """Return the answer kept under the key, or None."""
    answer: bytes | None = await _sql.get_answer(connection, **scope.key, answer_key=key)
    return answer


async def put(
    connection: Connection, scope: Scope, key: bytes, *, answer: bytes, memory_ids: Collection[str], now: datetime
) -> None:
    """Store an answer. If the key already has one, it stays, and the memories of both count as seen."""
    await _sql.put_answer(connection, **scope.key, answer_key=key, answer=answer, now=now)
    await _sql.put_seen(connection, **scope.key, answer_key=key, memory_ids=sorted(set(memory_ids)))


async def note_seen(connection: Connection, scope: Scope, key: bytes, memory_ids: Collection[str]) -> None:
    """Record that the answer was used for these memories too; no effect if it is no longer kept."""
    await _sql.note_seen(connection, **scope.key, answer_key=key, memory_ids=sorted(memory_ids))


async def forget(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Delete every answer to a request that showed one of the memories; return how many."""
    return int(await _sql.forget_answers(connection, **scope.key, memory_ids=list(memory_ids)))


async def spend(connection: Connection, scope: Scope, *, model_id: str, cost_usd: float, now: datetime) -> None:
    """Add the cost of a call to the tenant's spend of the day (UTC)."""
    await _sql.add_spend(connection, tenant_id=scope.tenant_id, day=utc_day(now), model_id=model_id, cost_usd=cost_usd)


async def spent(connection: Connection, scope: Scope, *, now: datetime) -> float:
    """Return the tenant's model spend on the day (UTC) of `now`, in US dollars."""
    return float(await _sql.spent_on(connection, tenant_id=scope.tenant_id, day=utc_day(now)))
