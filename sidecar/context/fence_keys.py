"""Makes the fence tag of a scope with the installation key that its thread is pinned to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sidecar.runtime.errors import FenceKeyMissing
from sidecar.runtime.ttl_cache import TtlCache
from sidecar.turn.fences.fence import fence_tag
from store.content import threads
from store.db.postgres import Pool, scoped
from store.scope import Scope
from store.tenancy.keys import Key

_CACHE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Fence:
    """A tag and the id of its key. Receipts store the id, never the tag."""

    key_id: str
    tag: str


class FenceKeys:
    """Makes fences with the installation's keys, given newest first."""

    def __init__(self, pool: Pool, keys: Sequence[Key], *, clock: Callable[[], float]) -> None:
        """Raises FenceKeyMissing if there are no keys."""
        if not keys:
            raise FenceKeyMissing
        self._pool = pool
        self._keys = {key.key_id: key for key in keys}
        self._newest = keys[0]
        self._pinned: TtlCache[tuple[Scope, str], str | None] = TtlCache(
            self._read, for_s=_CACHE_S, grace_s=_CACHE_S, clock=clock
        )

    @property
    def newest_key_id(self) -> str:
        """The id of the key that new threads are pinned to."""
        return self._newest.key_id

    async def of(self, scope: Scope, thread_id: str) -> Fence:
        """Return the fence of a turn, made with the key that its thread is pinned to, or the newest key."""
        pinned = None
        if thread_id and len(self._keys) > 1:
            pinned = await self._pinned.get((scope, thread_id))
        return self.with_key(scope, pinned or self._newest.key_id)

    def with_key(self, scope: Scope, key_id: str) -> Fence:
        """Return the fence made with this key, or with the newest if this key no longer exists."""
        key = self._keys.get(key_id, self._newest)
        return Fence(key.key_id, fence_tag(key.secret, scope.tenant_id, scope.owner_id))

    async def _read(self, key: tuple[Scope, str]) -> str | None:
        scope, thread_id = key
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await threads.fence_key_id(connection, scope, thread_id)
