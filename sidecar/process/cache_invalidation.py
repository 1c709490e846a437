"""Invalidates a process's per-tenant caches when a Postgres notice reports a change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from sidecar.backends.backend_policy import BackendPolicy
from sidecar.context.profile_cache import ProfileCache
from sidecar.services.compiles import Progress
from sidecar.services.tenants import Tenancy
from store.compile.jobs import PROGRESS
from store.db import notices
from store.scope import Scope
from store.tenancy.forgotten import FORGOTTEN
from store.tenancy.templates import PROFILE_CHANGED

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TenantCaches:
    """The per-tenant caches, and the waiters for the progress of compile jobs.

    `drop_answers` drops the cached answers of an owner after a forget; with None, those of all owners. `withdraw` drops those of
    a tenant, which may hold what an admin has withdrawn: results of a tool, a backend or a knowledge base.
    """

    profiles: ProfileCache
    tenancy: Tenancy
    policy: BackendPolicy
    progress: Progress
    drop_answers: Callable[[Scope | None], None]
    withdraw: Callable[[UUID], None]

    async def listen(self, dsn: str) -> None:
        """Handle the database's notices until cancelled. Raises what `store.db.notices` raises."""
        listener = notices.Listener(on_notice=self._on_notice, on_connected=self._connected)
        await notices.listen(dsn, [PROFILE_CHANGED, PROGRESS, FORGOTTEN], listener)

    def changed(self, tenant_id: UUID | None = None) -> None:
        """Invalidate a tenant's caches; with None, all, since notices may have been missed."""
        self.profiles.forget(tenant_id)
        self.tenancy.forget(tenant_id)
        self.policy.forget(tenant_id)
        if tenant_id is not None:
            self.withdraw(tenant_id)

    def _connected(self) -> None:
        self.changed()
        self.progress.missed()
        self.drop_answers(None)

    def _on_notice(self, notice: notices.Notice) -> None:
        if notice.channel == PROGRESS:
            self.progress.moved(notice.payload)
            return
        try:
            ids = [UUID(one) for one in notice.payload.split()]
            if notice.channel == FORGOTTEN:
                self.drop_answers(Scope(*ids))
            else:
                (tenant_id,) = ids
                self.changed(tenant_id)
        except (ValueError, TypeError):
            log.warning("notice_ignored", extra={"channel": notice.channel})
