"""The rolling summary of a thread's older turns: the reads and writes of the summarizer.

Every function takes a connection inside a scoped transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class OlderTurn:
    """A turn that is no longer among the newest ones."""

    turn_id: UUID
    position: int
    role: str
    speaker: str
    text: str


async def turns_to_fold(
    connection: Connection, scope: Scope, thread_id: str, *, keep_turns: int, limit: int
) -> list[OlderTurn]:
    """Return turns that are neither summarized nor among the newest `keep_turns`, oldest first."""
    rows = await _sql.turns_to_fold(connection, **_key(scope, thread_id), keep_turns=keep_turns, limit=limit)
    return [OlderTurn(row["turn_id"], row["position"], row["role"], row["speaker"], row["text"]) for row in rows]


async def write(
    connection: Connection,
    scope: Scope,
    thread_id: str,
    *,
    text: str,
    covered: tuple[int, Sequence[str], int],
    now: datetime,
) -> bool:
    """Write the summary with the ids of its turns, unless another writer has advanced it; return whether it was written.

    `covered` is the position it now reaches, the ids of the turns, and the position it reached before (0: no summary).
    """
    through, turn_ids, before = covered
    written = await _sql.write_summary(
        connection,
        **_key(scope, thread_id),
        text=text,
        through=through,
        turn_ids=list(turn_ids),
        before=before,
        now=now,
    )
    return bool(written)


def _key(scope: Scope, thread_id: str) -> dict[str, Any]:
    return {**scope.key, "thread_id": thread_id}
