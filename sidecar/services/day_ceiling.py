"""A tenant's daily limit on the cost of model calls outside compiles: thread summaries, scans of the ontology, decay.

Compiles count towards the same sum and check it themselves, between their calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from models.language.language import ConverseAnswer
from sidecar.runtime.settings import Settings
from store.accounting import costs
from store.accounting.costs import CompileCall
from store.compile import answers
from store.db.postgres import DatabaseRole, Pool, scoped
from store.scope import Scope


@dataclass(frozen=True, slots=True)
class DayCeiling:
    """`usd` is the maximum cost of a tenant's calls on a UTC day; None means no limit. `now` gives the day.

    `work` names the calls in the owner's costs, beside the passes of compiles.
    """

    usd: float | None
    pool: Pool
    now: Callable[[], datetime]
    work: str

    @classmethod
    def of_settings(cls, settings: Settings, pool: Pool, *, now: Callable[[], datetime], work: str) -> Self:
        """Return the ceiling that `SIDECAR_COMPILE_DAY_CEILING_CENTS` sets."""
        return cls(settings.compile_day_ceiling_cents / 100 or None, pool, now, work)

    async def is_reached(self, scope: Scope) -> bool:
        """Return whether the cost of the tenant's calls of the day has reached the ceiling."""
        if self.usd is None:
            return False
        async with scoped(self.pool, scope, read_only=True, role=DatabaseRole.WORKER) as connection:
            return await answers.spent(connection, scope, now=self.now()) >= self.usd

    async def count(self, scope: Scope, answer: ConverseAnswer) -> None:
        """Add an answer to the costs of the owner, and its cost to the tenant's sum of the day."""
        now, model_id = self.now(), answer.model_id
        tokens = (answer.input_tokens, answer.output_tokens, answer.cached_tokens)
        async with scoped(self.pool, scope, role=DatabaseRole.WORKER) as connection:
            if answer.cost_usd:
                await answers.spend(connection, scope, model_id=model_id, cost_usd=answer.cost_usd, now=now)
            call = CompileCall(self.work, model_id, *tokens, answer.cost_usd)
            await costs.add_compile_call(connection, scope, call, now=now)
