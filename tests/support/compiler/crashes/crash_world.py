"""What is compiled while workers die over it, and the model that plans it: batches, hubs, promotions, held names, continuations.

The model is a function of what it is shown, so that a question asked twice is answered alike.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from compiler.job.compilation import BatchDeps, Engine
from compiler.operations import lint
from compiler.passes import forgetting
from compiler.planners.model_planner import CostMeter, ModelPlanner
from compiler.settings import Costs
from compiler.state.access import Access
from models.language.language import DEFAULT_MODEL_ID, LanguageModel
from models.language.openai_compatible import openai_model
from models.language.remote import RemoteModel
from models.transport.endpoint import BreakerPolicy
from models.transport.openai_client import OpenAIConfig
from models.transport.provider import RetryPolicy
from store.compile import ledger
from store.compile.jobs import Job
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Say
from tests.stand_ins.model_server import ModelServer, model_server
from tests.support.compiler.compiling import NOW, Clock, capped, compiled, engine_on, wish, write

LATER = NOW + timedelta(minutes=10)
LAST = NOW + timedelta(hours=1)
HELD = "Chef Ondine"
DOOMED = "doomed"
_PATIENCE = RetryPolicy(
    backoff_s=0.001, longest_backoff_s=0.002, breaker=BreakerPolicy(open_s=0.01, longest_open_s=0.01)
)
_TREES = (
    "Alder",
    "Birch",
    "Cedar",
    "Dogwood",
    "Elm",
    "Fir",
    "Ginkgo",
    "Hazel",
    "Ivy",
    "Juniper",
    "Larch",
    "Maple",
    "Oak",
    "Pine",
)
_KINDS = ("Bakery", "Diner", "Garden", "Kitchen", "Market", "Tavern", "Terrace")
PLACES = tuple(f"{tree} {_KINDS[at % len(_KINDS)]}" for at, tree in enumerate(_TREES))
_AT_FIRST, _MORE = 15, 40


def told(count: int, *, first: int = 0) -> list[NewMemory]:
    """Return memories of meals at two places each, a day apart; every sixth names a person without a page."""
    return [_memory(number) for number in range(first, first + count)]


def _memory(number: int) -> NewMemory:
    one, other = PLACES[number % len(PLACES)], PLACES[(number * 5 + 3) % len(PLACES)]
    guest = f" {HELD} was there." if number % 6 == 0 else ""
    return NewMemory(
        text=f"{one} and {other} were both full on day {number}, table {number * 7 % 31}.{guest}",
        memory_id=f"m{number:05}",
        occurred_at=NOW - timedelta(days=90 - number),
        metadata={"place": {"name": one, "city": "Austin"}, "tags": ["meals"]},
    )


async def prepare(pools: Pools, scope: Scope, model: LanguageModel) -> None:
    """Compile a few memories, look the wiki over, then edit one memory, forget one, have two read again, add more, and ask for a
    compile."""
    await write(pools, told(_AT_FIRST), scope=scope)
    await wish(pools, scope=scope)
    await compiled(pools, engine(pools, model, Clock()), scope=scope)
    edited = NewMemory(f"{PLACES[0]} was shut on day 0, table 99.", "m00000", metadata={"place": {"city": "Austin"}})
    await write(pools, [edited, *told(_MORE, first=_AT_FIRST)], scope=scope)
    async with scoped(pools.background, scope) as connection:
        await memories.forget_all(connection, scope, ["m00007"])
        await forgetting.forget(connection, scope, ["m00007"], now=NOW)
        assert await ledger.queue_reread(connection, scope, ["m00003", "m00004"], now=NOW) == 2
        await lint.run(connection, scope, now=NOW)
    await wish(pools, scope=scope, now=NOW + timedelta(minutes=6))


def engine(pools: Pools, model: LanguageModel, clock: Clock) -> Engine:
    """Return the engine that every worker here has: small batches, low caps, and the model at its server."""
    settings = capped(record_page_size=4, max_new_pages_per_job=3, max_sections_rewritten_per_job=29)
    settings = replace(settings, costs=Costs(call_deadline_s=60.0, writers_at_once=4))
    made = engine_on(pools, settings=settings, clock=clock)

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        meter = CostMeter(settings.costs, float(job.metrics.get("cost_usd", 0.0)), 0.0)
        return BatchDeps(ModelPlanner(model, DEFAULT_MODEL_ID, access, settings.costs, meter, clock), meter)

    return replace(made, planner_for=planner_for)


@asynccontextmanager
async def model_at(url: str, api_key: str = "") -> AsyncIterator[RemoteModel]:
    """Yield the client of the model at a server; the key, if one is given, tells its requests from another client's."""
    model = openai_model(OpenAIConfig(f"{url}/v1", (lambda: api_key) if api_key else None), patience=_PATIENCE)
    try:
        yield model
    finally:
        await model.close()


@contextmanager
def model_site() -> Iterator[ModelServer]:
    """Serve the model until the block ends."""
    with model_server() as site:
        site.by_request = _answered
        yield site


@dataclass(frozen=True, slots=True)
class Stepping:
    """A model that tells before it is asked and once it has answered."""

    model: LanguageModel
    step: Callable[[str], None]

    async def converse(self, request: Any) -> Any:
        """Return the model's answer."""
        self.step("asking")
        answer = await self.model.converse(request)
        self.step("answered")
        return answer


def _answered(ask: Ask) -> Behaviour:
    if ask.schema_name == "leaf_plan":
        return Say(_leaf(ask.user))
    if ask.schema_name == "aggregation_plan":
        return Say(_aggregation(ask.user))
    told_on = [line["date"] for line in plan_answers.lines_of(ask.user, "MEMORIES")]
    return Say(f"Full on {', '.join(told_on)}.")


def _leaf(user: str) -> dict[str, Any]:
    """Return a page for each place that is shown without one, and an update for each other; one name is held, then promoted."""
    shown, known = plan_answers.lines_of(user, "MEMORIES"), plan_answers.lines_of(user, "PAGES")
    pages, new, updates = {page["title"]: page["id"] for page in known}, [], []
    for name in PLACES:
        refs = [one["ref"] for one in shown if name in one["text"]]
        body = f"{name} was full on {', '.join(one['date'] for one in shown if one['ref'] in refs)}."
        if refs and name in pages:
            section = {"slug": "overview", "heading": "Overview", "proposed_body_md": body, "source_refs": refs}
            updates.append({"pageId": pages[name], "sections": [section], "aliases": []})
        elif refs:
            new.append({**plan_answers.new_page(name, refs, body=body), "summary": f"{name} is a place in Austin."})
    held = {one["name"]: one for one in plan_answers.lines_of(user, "HELD NAMES")}
    seen = [one["ref"] for one in shown if HELD in one["text"]]
    mentions, promotions = [], []
    if HELD in held and held[HELD]["seen"] >= 3:
        page = plan_answers.new_page(HELD, [one["ref"] for one in held[HELD]["last"]])
        promotions.append({**page, "mentionId": held[HELD]["id"], "reason": "seen often"})
    elif HELD not in pages:
        mentions += [
            {"alias": HELD, "suggestedType": "entity", "context": "at a meal", "source_ref": ref} for ref in seen
        ]
    return plan_answers.leaf(newPages=new, pageUpdates=updates, unresolvedMentions=mentions, promotions=promotions)


def _aggregation(user: str) -> dict[str, Any]:
    """Return one hub with a list of every place that is shown, and its promotion once the list is ready."""
    pages = plan_answers.lines_of(user, "PAGES")
    children = [(page["type"], page["slug"]) for page in pages if page["title"] in PLACES]
    hub = next((page for page in pages if page["title"] == "Austin"), None)
    if hub is None and len(children) < 3:
        return plan_answers.aggregation()
    ready = next((one for one in hub["lists"] if one["status"] == "candidate"), None) if hub else None
    told_of = {
        "source_refs": [ref for one in plan_answers.lines_of(user, "CANDIDATES") for ref in one["source_refs"]],
        "observed_tags": ["meals"],
    }
    lists = (
        [{**plan_answers.rollup(hub["id"] if hub else "new:austin", "places", children), **told_of}] if children else []
    )
    new = [] if hub else [plan_answers.new_page("Austin", told_of["source_refs"], kind="topic")]
    promoted = {
        "pageId": hub["id"] if hub else "",
        "sectionSlug": "places",
        "reason": "dense",
        "parentSummary": "Many places.",
        "topHighlights": ["Places"],
        "newPage": plan_answers.new_page("Austin places", told_of["source_refs"], kind="topic"),
    }
    return plan_answers.aggregation(
        newPages=new, parentSectionUpdates=lists, sectionPromotions=[promoted] if ready else []
    )
