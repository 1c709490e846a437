"""Background work of tenants' Brains: compares memories with the rules, and removes withdrawn copies from receipts."""

from __future__ import annotations

import logging

from compiler.job.worker import Handler
from sidecar.services.brain.releases import Brain
from store.scope import Scope, is_brain
from store.tenancy.brain import RECEIPTS_KIND, RELEASE_KIND, SPREAD_KIND

log = logging.getLogger(__name__)


def brain_handlers(brain: Brain) -> dict[str, Handler]:
    """Return the handlers of the Brain's job kinds."""

    async def release(scope: Scope, subject: str) -> None:
        is_of_documents = is_brain(scope.owner_id)
        done = await (brain.share(scope.tenant_id) if is_of_documents else brain.compare(scope, subject))
        if done:
            counts = {"released": done.released, "held": done.held, "withdrawn": done.withdrawn}
            log.info("brain_compared", extra=counts)

    async def spread(scope: Scope, subject: str) -> None:
        await brain.spread(scope.tenant_id)

    async def clear_receipts(scope: Scope, subject: str) -> None:
        await brain.settle(scope.tenant_id)

    return {RELEASE_KIND: release, SPREAD_KIND: spread, RECEIPTS_KIND: clear_receipts}
