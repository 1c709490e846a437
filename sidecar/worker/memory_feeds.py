"""Chooses a compile's memory feed per tenant: the built-in memories, or the one backend configured for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from uuid import UUID

from compiler.errors import MemoriesUnavailable
from compiler.plan.contract import BatchMemory
from compiler.state.substrates import Feed, FeedPage, MemoryListing, MemorySubstrate
from sidecar.backends import configuration
from sidecar.backends.entries import Configuration, HindsightEntry
from sidecar.context.ports import BackendError
from store.scope import Scope


class ByTenant:
    """Uses a tenant's own feed if it has one, or else the built-in memories."""

    def __init__(self, built_in: MemorySubstrate, foreign: Mapping[UUID, MemorySubstrate]) -> None:
        self._built_in = built_in
        self._foreign = foreign

    def feed(self, scope: Scope) -> Feed:
        """Return the properties of the owner's feed."""
        return self._of(scope).feed(scope)

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return the cursor at which a job begins to read."""
        return self._of(scope).resume(scope, cursor)

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return at most `limit` memories after the cursor. Raises MemoriesUnavailable."""
        with _as_unavailable():
            return await self._of(scope).changed_after(scope, cursor, limit=limit)

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the memories that exist, by id. Raises MemoriesUnavailable."""
        if not memory_ids:
            return {}
        with _as_unavailable():
            return await self._of(scope).fetch(scope, memory_ids)

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return every memory; the listing is complete. Raises MemoriesUnavailable."""
        with _as_unavailable():
            return await self._of(scope).listing(scope)

    def _of(self, scope: Scope) -> MemorySubstrate:
        return self._foreign.get(scope.tenant_id, self._built_in)


@asynccontextmanager
async def fed(
    path: Path | None, environ: Mapping[str, str], built_in: MemorySubstrate, *, now: Callable[[], datetime]
) -> AsyncIterator[MemorySubstrate]:
    """Yield the compile's memory feeds from the file of backends; without one, the built-in memories. Raises SettingInvalid."""
    backends = Configuration() if path is None else configuration.read(path, environ)
    if not any(backends.compiled()):
        yield built_in
        return
    from compiler.state.substrates import TimedSubstrate
    from sidecar.backends.aws import Clients
    from sidecar.sources import backend_sources  # imports the SDKs, which a process without backends does not need
    from sidecar.worker.agentcore_feed import AgentCoreSubstrate
    from sidecar.worker.hindsight_feed import HindsightMemories

    foreign: dict[UUID, MemorySubstrate] = {}
    async with AsyncExitStack() as stack:
        clients = Clients()
        stack.callback(clients.close)
        for entry in backends.compiled():
            if isinstance(entry, HindsightEntry):
                hindsight = backend_sources.hindsight_client(entry)
                stack.push_async_callback(hindsight.close)
                timed = TimedSubstrate(HindsightMemories(hindsight), now=now, lag_s=entry.compile_lag_s)
                foreign[entry.tenant_id] = timed
            else:
                memory = backend_sources.agentcore_memory(entry, clients)
                stack.callback(memory.close)
                foreign[entry.tenant_id] = AgentCoreSubstrate(memory, now=now)
        yield ByTenant(built_in, foreign)


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except BackendError as error:
        raise MemoriesUnavailable(str(error)) from error
