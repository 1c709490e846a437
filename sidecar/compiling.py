"""The compile as the settings want it: its bounds, its planner with or without a model, where its memories are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from compiler.access import Access
from compiler.compilation import Engine, Hand
from compiler.model_planner import Meter, ModelPlanner
from compiler.places_on_demand import PlacesOnDemand
from compiler.plan.places import Gazetteer
from compiler.planner import ExtractivePlanner
from compiler.settings import Caps, CompileSettings, Costs, Flags
from compiler.substrates import MemorySubstrate, PostgresSubstrate
from models import tokens
from models.language import LanguageModel
from models.openai_client import OpenAIConfig
from models.openai_compatible import openai_model
from models.remote import RemoteModel
from sidecar.errors import SettingInvalid
from sidecar.settings import Settings
from store import answers
from store.jobs import Job
from store.postgres import Pool

_CAPS = (
    "compile_record_page_size",
    "compile_max_records_per_job",
    "compile_max_records_per_bootstrap_job",
    "compile_max_new_pages_per_job",
    "compile_max_sections_rewritten_per_job",
    "compile_max_aggregation_pages",
)
EXTRACTIVE, BEDROCK, OPENAI = "extractive", "bedrock", "openai"


def now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


def compile_settings(settings: Settings) -> CompileSettings:
    """Return a compile's bounds as the settings say. Raises SettingInvalid for a cap of nothing."""
    for name in _CAPS:
        if getattr(settings, name) < 1:
            raise SettingInvalid(f"SIDECAR_{name.upper()}", "0 would let no job get anywhere", "set 1 or more")
    return CompileSettings(
        caps=Caps(
            settings.compile_record_page_size,
            settings.compile_max_records_per_job,
            settings.compile_max_records_per_bootstrap_job,
            settings.compile_max_new_pages_per_job,
            settings.compile_max_sections_rewritten_per_job,
            settings.compile_max_aggregation_pages,
        ),
        flags=Flags(settings.wiki_aggregation_pass_enabled, settings.wiki_deterministic_linking_enabled),
        costs=Costs(
            per_job_usd=settings.compile_job_ceiling_cents / 100 or None,
            per_tenant_day_usd=settings.compile_day_ceiling_cents / 100 or None,
        ),
        model_id=settings.bedrock_model_id,
        uses_model=settings.compile_planner != EXTRACTIVE,
    )


@asynccontextmanager
async def engine(settings: Settings, pool: Pool, *, substrate: MemorySubstrate | None = None) -> AsyncIterator[Engine]:
    """Yield what compiles as the settings say; without a substrate the built-in memories are read. Raises SettingInvalid."""
    bounds = compile_settings(settings)
    model = _model(settings)
    count = tokens.meter_for(bounds.model_id).count_one
    places = PlacesOnDemand()
    try:
        yield Engine(
            substrate or PostgresSubstrate(pool),
            Hands(model, bounds, now, places).for_job,
            bounds,
            now,
            count,
            places,
        )
    finally:
        if model is not None:
            await model.close()


@dataclass(frozen=True, slots=True)
class Hands:
    """Gives each job its planner: the model's, or the extractive one."""

    model: LanguageModel | None
    bounds: CompileSettings
    clock: Callable[[], datetime]
    gazetteer: Gazetteer

    async def for_job(self, access: Access, job: Job) -> Hand:
        """Return the job's planner and what it spends."""
        if self.model is None:
            return Hand(ExtractivePlanner(self.gazetteer))
        async with access.reading() as connection:
            today = await answers.spent(connection, access.scope, now=self.clock())
        meter = Meter(self.bounds.costs, float(job.metrics.get("cost_usd", 0.0)), today)
        model_id = job.options.model_id or self.bounds.model_id
        most = self.bounds.sight.max_memory_chars
        return Hand(ModelPlanner(self.model, model_id, access, self.bounds.costs, meter, self.clock, most), meter)


def _bedrock(settings: Settings) -> RemoteModel:
    from models.bedrock import bedrock_model
    from sidecar.bedrock import at

    return at(settings, bedrock_model)


def _model(settings: Settings) -> RemoteModel | None:
    match settings.compile_planner:
        case "extractive":
            return None
        case "bedrock":
            return _bedrock(settings)
        case "openai":
            key = settings.compile_api_key
            return openai_model(OpenAIConfig(settings.compile_base_url, (lambda: key) if key else None))
        case other:
            raise SettingInvalid(
                "SIDECAR_COMPILE_PLANNER", f"{other!r} is no planner", f"set {EXTRACTIVE}, {BEDROCK} or {OPENAI}"
            )
