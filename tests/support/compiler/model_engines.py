"""Engines whose planner is a language model at a scripted server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from compiler.job.compilation import BatchDeps, Engine
from compiler.planners.model_planner import CostMeter, ModelPlanner
from compiler.settings import CompileSettings, Costs
from compiler.state.access import Access
from models.language.language import DEFAULT_MODEL_ID
from models.language.remote import RemoteModel
from models.transport.endpoint import BreakerPolicy
from models.transport.provider import RetryPolicy
from store.compile import answers
from store.compile.jobs import Job
from store.db.postgres import Pools
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Say
from tests.support.compiler.compiling import NAMES, Clock, engine_on

# Nothing opens the breaker for long: what is tested is what the compile makes of each answer.
HASTY = RetryPolicy(backoff_s=0.001, longest_backoff_s=0.002, breaker=BreakerPolicy(open_s=0.01, longest_open_s=0.01))


def planned(user: str) -> dict[str, Any]:
    """Return a good leaf plan: a page for each known name that is not shown as a page, citing the memories it stands in."""
    memories, pages = plan_answers.lines_of(user, "MEMORIES"), plan_answers.lines_of(user, "PAGES")
    known = {page["title"]: page["id"] for page in pages}
    new, updates = [], []
    for name in NAMES:
        refs = [one["ref"] for one in memories if name in one["text"]]
        if refs and name in known:
            section = {
                "slug": "overview",
                "heading": "Overview",
                "proposed_body_md": f"{name}, again.",
                "source_refs": refs,
            }
            updates.append({"pageId": known[name], "sections": [section], "aliases": []})
        elif refs:
            new.append(
                plan_answers.new_page(name, refs, body=f"{name} was seen {len(refs)} times. **{NAMES[0]}** too.")
            )
    return plan_answers.leaf(newPages=new, pageUpdates=updates)


def script(spoil: Callable[[dict[str, Any]], dict[str, Any]] = lambda plan: plan) -> Callable[[Ask], Behaviour]:
    """Return a model that plans well, but for what `spoil` does to its leaf plans, and whose writer repeats the proposal."""

    def answer(ask: Ask) -> Behaviour:
        if ask.schema_name == "leaf_plan":
            return Say(spoil(planned(ask.user)))
        if ask.schema_name == "aggregation_plan":
            return Say(plan_answers.aggregation())
        return Say("Written by the section writer.")

    return answer


def engine_with(pools: Pools, model: RemoteModel, *, costs: Costs | None = None, clock: Clock | None = None) -> Engine:
    engine = engine_on(
        pools, settings=replace(CompileSettings(), costs=costs or Costs(call_deadline_s=60.0)), clock=clock
    )

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        async with access.reading() as connection:
            today = await answers.spent(connection, access.scope, now=engine.now())
        meter = CostMeter(engine.settings.costs, float(job.metrics.get("cost_usd", 0.0)), today)
        model_id = job.options.model_id or DEFAULT_MODEL_ID
        return BatchDeps(ModelPlanner(model, model_id, access, engine.settings.costs, meter, engine.now), meter)

    return replace(engine, planner_for=planner_for)
