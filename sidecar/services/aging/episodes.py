"""Episodes of threads: made when a session ends, rebuilt when its turns change, listed, and closed by callers.

Every method opens its own transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from compiler.decay.remaking import RemadeEpisodes, remake_episodes
from sidecar.runtime.errors import NotFound
from sidecar.services.validation import read_id
from store.content import episodes, feed
from store.content.episodes import Episode
from store.db.postgres import DatabaseRole, Pool, scoped
from store.scope import Scope


class Episodes:
    """Makes and lists episodes. A session ends after `pause` without turns."""

    def __init__(
        self,
        pool: Pool,
        *,
        now: Callable[[], datetime],
        pause: timedelta,
        role: DatabaseRole = DatabaseRole.APP,
    ) -> None:
        self._pool = pool
        self._now = now
        self._pause = pause
        self._role = role

    async def page(
        self, scope: Scope, *, thread_id: str = "", limit: int, before: tuple[datetime, str] | None = None
    ) -> list[Episode]:
        """Return up to `limit` episodes of the owner, or of one thread, the latest end first."""
        read_id("thread_id", thread_id, is_optional=True)
        async with scoped(self._pool, scope, read_only=True, role=self._role) as connection:
            return await episodes.page(connection, scope, thread_id=thread_id, limit=limit, before=before)

    async def close(self, scope: Scope, thread_id: str) -> Episode | None:
        """Close the thread's session now, and return its newest episode; None if it has no turns. Raises NotFound."""
        read_id("thread_id", thread_id)
        now = self._now()
        async with scoped(self._pool, scope, role=self._role) as connection:
            await feed.hold_there(connection, scope)  # the first lock, as in every write
            if not await episodes.lock_thread(connection, scope, thread_id):
                raise NotFound("thread")
            await episodes.close(connection, scope, thread_id, at=now)
            await remake_episodes(connection, scope, thread_id, pause=self._pause, now=now)
            newest = await episodes.page(connection, scope, thread_id=thread_id, limit=1)
        return newest[0] if newest else None

    async def remake(self, scope: Scope, thread_id: str) -> RemadeEpisodes:
        """Rebuild the thread's episodes whose turns changed, and return the changes."""
        async with scoped(self._pool, scope, role=self._role) as connection:
            return await remake_episodes(connection, scope, thread_id, pause=self._pause, now=self._now())
