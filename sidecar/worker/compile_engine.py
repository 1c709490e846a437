"""Builds the compile engine from the settings: its bounds, its planner (with or without a model), and its memory feeds."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from compiler.job.compilation import BatchDeps, Engine
from compiler.plan.places.gazetteer import Gazetteer
from compiler.planners.model_planner import CostMeter, ModelPlanner, ModelQuestion
from compiler.planners.places_on_demand import PlacesOnDemand
from compiler.planners.planner import ExtractivePlanner
from compiler.settings import Caps, CompileSettings, Costs, Flags, Patience
from compiler.state.access import Access
from compiler.state.substrates import MemorySubstrate, PostgresSubstrate
from models.language.language import LanguageModel
from models.tokens import meters
from sidecar.runtime import language_models
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.worker import memory_feeds
from store.compile import answers
from store.compile.jobs import Job
from store.db.postgres import Pool

_CAPS = (
    "compile_record_page_size",
    "compile_max_records_per_job",
    "compile_max_records_per_bootstrap_job",
    "compile_max_new_pages_per_job",
    "compile_max_sections_rewritten_per_job",
    "compile_max_aggregation_pages",
)


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def compile_settings(settings: Settings) -> CompileSettings:
    """Return a compile's bounds from the settings. Raises SettingInvalid, also for a cap of 0."""
    for name in _CAPS:
        if getattr(settings, name) < 1:
            raise SettingInvalid(f"SIDECAR_{name.upper()}", "0 would let no job make progress", "set 1 or more")
    for name in ("compile_planner", "thread_summaries"):
        language_models.check(f"SIDECAR_{name.upper()}", getattr(settings, name))
    return CompileSettings(
        caps=Caps(
            settings.compile_record_page_size,
            settings.compile_max_records_per_job,
            settings.compile_max_records_per_bootstrap_job,
            settings.compile_max_new_pages_per_job,
            settings.compile_max_sections_rewritten_per_job,
            settings.compile_max_aggregation_pages,
        ),
        flags=Flags(
            settings.wiki_aggregation_pass_enabled,
            settings.wiki_deterministic_linking_enabled,
            settings.compile_unread_pause_s,
        ),
        costs=Costs(
            per_job_usd=settings.compile_job_ceiling_cents / 100 or None,
            per_tenant_day_usd=settings.compile_day_ceiling_cents / 100 or None,
        ),
        patience=Patience(extractive_takes_over=settings.compile_extractive_takes_over),
        model_id=settings.bedrock_model_id,
    )


@asynccontextmanager
async def engine(
    settings: Settings,
    pool: Pool,
    *,
    substrate: MemorySubstrate | None = None,
    on_question: Callable[[ModelQuestion], None] = lambda question: None,
) -> AsyncIterator[Engine]:
    """Yield the compile engine of the settings; without a substrate, it reads the tenants' own. Raises SettingInvalid.

    `on_question` is called for each question to a model.
    """
    bounds = compile_settings(settings)
    model = language_models.made(settings, "SIDECAR_COMPILE_PLANNER", settings.compile_planner)
    count = meters.meter_for(bounds.model_id).count_one
    places = PlacesOnDemand()
    try:
        async with memory_feeds.fed(settings.backends, os.environ, PostgresSubstrate(pool), now=now) as fed:
            yield Engine(
                substrate or fed,
                JobPlanners(model, bounds, now, places, on_question).for_job,
                bounds,
                now,
                count,
                places,
                has_models=model is not None,
            )
    finally:
        if model is not None:
            await model.close()


@dataclass(frozen=True, slots=True)
class JobPlanners:
    """Gives each job its planner: the model's, or the extractive one."""

    model: LanguageModel | None
    bounds: CompileSettings
    clock: Callable[[], datetime]
    gazetteer: Gazetteer
    on_question: Callable[[ModelQuestion], None] = lambda question: None

    async def for_job(self, access: Access, job: Job) -> BatchDeps:
        """Return the job's planner and its spending."""
        if self.model is None:
            return BatchDeps(ExtractivePlanner(self.gazetteer))
        async with access.reading() as connection:
            today = await answers.spent(connection, access.scope, now=self.clock())
        meter = CostMeter(self.bounds.costs, float(job.metrics.get("cost_usd", 0.0)), today)
        model_id = job.options.model_id or self.bounds.model_id
        most, costs = self.bounds.sight.max_memory_chars, self.bounds.costs
        return BatchDeps(
            ModelPlanner(self.model, model_id, access, costs, meter, self.clock, most, self.on_question), meter
        )
