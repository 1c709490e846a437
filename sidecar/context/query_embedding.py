"""Prepares a turn's message for the sources: reads it, given the speakers in the thread, and embeds it.

A missing, slow or broken embedder never fails the turn: recall then goes by words alone, and the reports say so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from models.errors import ModelsError
from sidecar.context.ports import Meaning
from sidecar.runtime.embedders import BROKEN, UNSET, Numbered
from sidecar.runtime.ttl_cache import TtlCache
from sidecar.turn.reading import Reading, read
from store.content import threads
from store.content.recalling import literal
from store.db.postgres import Pool, scoped
from store.errors import StoreError
from store.scope import Scope

log = logging.getLogger(__name__)

EMBED_DEADLINE_S = 0.2
_SPEAKERS_DEADLINE_S = 0.1
_REMEMBER_S, _GRACE_S = 5.0, 600.0
_SHARE = 4  # each step before the sources may take a quarter of the time left

LATE = "by words alone: the embedder did not answer in time"
FAILED = "by words alone: the embedder failed"


@dataclass(frozen=True, slots=True)
class Understood:
    """A message as read, with its vectors, or the reason why it has none."""

    reading: Reading
    meaning: Meaning | None
    without_meaning: str = ""


class QueryReader:
    """Reads and embeds messages. `why_not` says why there is no embedder; `deadline_s` limits one embedding, in seconds."""

    def __init__(
        self,
        pool: Pool,
        embedder: Numbered | None,
        *,
        why_not: str = UNSET,
        deadline_s: float = EMBED_DEADLINE_S,
        clock: Callable[[], float],
    ) -> None:
        self._pool = pool
        self._embedder = embedder
        self._why_not = why_not
        self._deadline_s = deadline_s
        self._clock = clock
        self._trouble = why_not if why_not == BROKEN else ""
        self._speakers: TtlCache[tuple[Scope, str], tuple[str, ...]] = TtlCache(
            self._read_speakers, for_s=_REMEMBER_S, grace_s=_GRACE_S, clock=clock
        )

    def trouble(self) -> str:
        """Return why the configured embedder gives no vectors; empty while it answers, even late."""
        return self._trouble

    async def understand(
        self, message: str, scope: Scope, thread_id: str, *, now: datetime, due_s: float
    ) -> Understood:
        """Return the message as read given the thread's speakers, with its vectors if they come in time."""
        speakers = await self._speakers_of(scope, thread_id, due_s)
        reading = read(message, speakers=speakers, today=now.date())
        if self._embedder is None:
            return Understood(reading, None, self._why_not)
        try:
            async with asyncio.timeout(self._within(self._deadline_s, due_s)):
                vectors = await self._embedder.embedder.embed([part.text for part in reading.parts])
        except TimeoutError:
            return Understood(reading, None, LATE)
        except ModelsError as error:
            log.warning("embedder_failed", extra={"error": type(error).__name__})
            self._trouble = FAILED
            return Understood(reading, None, FAILED)
        self._trouble = ""
        written = tuple(literal(vector) for vector in vectors.tolist())
        return Understood(reading, Meaning(self._embedder.embedder_no, written))

    async def _speakers_of(self, scope: Scope, thread_id: str, due_s: float) -> tuple[str, ...]:
        """Return the speakers of the thread; none if they cannot be read in time."""
        if not thread_id:
            return ()
        try:
            async with asyncio.timeout(self._within(_SPEAKERS_DEADLINE_S, due_s)):
                return await self._speakers.get((scope, thread_id))
        except (StoreError, TimeoutError):
            return ()

    async def _read_speakers(self, key: tuple[Scope, str]) -> tuple[str, ...]:
        scope, thread_id = key
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await threads.speakers(connection, scope, thread_id)

    def _within(self, most_s: float, due_s: float) -> float:
        return max(0.0, min(most_s, (due_s - self._clock()) / _SHARE))
