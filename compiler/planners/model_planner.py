"""The planner that calls a model: sends the plan's prompts, caches and counts answers, checks ceilings before each call.

Every answer is untrusted and read by the plan's validation. A cached answer costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from compiler.errors import CostCeilingReached
from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.contract import Draft, PageKey, PageType, Section
from compiler.plan.judging import validate
from compiler.plan.prompting import prompt, schema, splitting
from compiler.plan.prompting.handles import without_handles
from compiler.plan.prompting.prompt import Prompt
from compiler.planners.planner import HARMLESS, Proposed
from compiler.settings import Costs
from compiler.state.access import Access
from models.errors import AnswerUnusable, MalformedOutput, ProviderError
from models.language.language import (
    AnswerSchema,
    ConverseAnswer,
    ConverseRequest,
    LanguageModel,
    answer_bytes,
    answer_from,
    answer_key,
)
from store.accounting import costs
from store.accounting.costs import CompileCall
from store.compile import answers, ledger
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import forgotten

_LEAF, _SECTION, _AGGREGATION = "leaf", "section", "aggregation"
_CALLS = {_LEAF: "planner_calls", _SECTION: "section_writer_calls", _AGGREGATION: "aggregation_planner_calls"}


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """One request to a model: its start, and the answer or the error's name. `is_kept` marks an answer from the cache."""

    request: ConverseRequest
    of_pass: str
    began_at: datetime
    answer: ConverseAnswer | None = None
    error: str = ""
    is_kept: bool = False


@dataclass(slots=True)
class CostMeter:
    """Counts the cost of a job's calls and enforces ceilings. `spent_usd` includes the job's earlier claims,
    `today_usd` is the tenant's.
    """

    costs: Costs
    spent_usd: float = 0.0
    today_usd: float = 0.0
    figures: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise CostCeilingReached if a ceiling is already reached, so that no further call is made."""
        most, daily = self.costs.per_job_usd, self.costs.per_tenant_day_usd
        if daily is not None and self.today_usd >= daily:
            raise CostCeilingReached("the tenant's ceiling for this day", is_for_today=True)
        if most is not None and self.spent_usd >= most:
            raise CostCeilingReached("the job's ceiling", is_for_today=False)

    def count(self, answer: ConverseAnswer, of_pass: str, *, is_kept: bool = False, is_of_use: bool = True) -> None:
        """Add an answer to the figures; a cached one only counts as remembered.

        An unusable answer counts towards the day's ceiling, but not the job's: a job that it stopped would buy it again in the
        next job, and make no progress.
        """
        if is_kept:
            self._add("calls_remembered", 1)
            return
        cost = answer.cost_usd or 0.0
        self.spent_usd += cost if is_of_use else 0.0
        self.today_usd += cost
        self._add(_CALLS[of_pass], 1)
        for name, tokens in (("input_tokens", answer.input_tokens), ("output_tokens", answer.output_tokens)):
            self._add(name, tokens)
            if of_pass == _AGGREGATION:
                self._add(f"aggregation_{name}", tokens)
        self._add("cached_tokens", answer.cached_tokens)
        self._add("calls_without_price", int(answer.cost_usd is None))
        self._add("cost_usd", cost)
        for heading, name in (("cost_by_pass", of_pass), ("cost_by_model", answer.model_id)):
            under = self.figures.setdefault(heading, {})
            under[name] = under.get(name, 0.0) + cost

    def take(self) -> dict[str, Any]:
        """Return the figures since the last call."""
        figures, self.figures = self.figures, {}
        return figures

    def _add(self, name: str, count: float) -> None:
        self.figures[name] = self.figures.get(name, 0) + count


@dataclass(frozen=True, slots=True)
class ModelPlanner:
    """Calls `model` under `model_id` for one scope, which has its own cache of answers. `on_question` receives each request."""

    model: LanguageModel
    model_id: str
    access: Access
    costs: Costs
    meter: CostMeter
    now: Callable[[], datetime]
    max_memory_chars: int = 120_000
    on_question: Callable[[ModelQuestion], None] = lambda question: None

    @property
    def name(self) -> str:
        """The planner's name in metrics."""
        return self.model_id

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return the model's proposal; a long batch is sent in parts. Raises a ProviderError, CostCeilingReached."""
        parts = [await self._plan_part(part) for part in splitting.split(batch, max_chars=self.max_memory_chars)]
        rejections = tuple(one for part in parts for one in part.rejections)
        return Proposed(splitting.join(part.proposal for part in parts), rejections)

    async def _plan_part(self, batch: LeafBatch) -> Proposed:
        question = await asyncio.to_thread(prompt.leaf, batch)
        seen = {memory.memory_id for memory in (*batch.memories, *batch.earlier, *batch.standing)}
        seen |= {source.memory_id for page in batch.pages for source in page.cited()}
        seen |= {one.source.memory_id for mention in batch.mentions for one in mention.sightings}
        return _read(await self._ask(question, _LEAF, seen), question)

    async def write_section(self, draft: Draft) -> str:
        """Return the section's text. Raises a ProviderError, CostCeilingReached."""
        question = prompt.section(draft)
        seen = {memory.memory_id for memory in draft.memories} | {one.memory_id for one in draft.section.sources}
        return (await self._ask(question, _SECTION, seen)).text.strip()

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return the hubs, rollups and promotions that the model proposes. Raises a ProviderError, CostCeilingReached."""
        question = await asyncio.to_thread(prompt.aggregation, view)
        seen = {source.memory_id for page in view.pages for source in page.cited()} | view.evidence.keys()
        return _read(await self._ask(question, _AGGREGATION, seen), question)

    async def probe(self) -> None:
        """Request a plan and a section for a harmless memory, bypassing the cache. Raises a ProviderError,
        CostCeilingReached.
        """
        section = Section("overview", "Overview", "Had lunch at Cafe Luna.")
        draft = Draft(PageKey(PageType.ENTITY, "maria-silva"), "Maria Silva", section, "", (HARMLESS,))
        for question, of_pass in ((prompt.leaf(LeafBatch((HARMLESS,))), _LEAF), (prompt.section(draft), _SECTION)):
            await self._check()
            answer = await self._bought(self._request(question, of_pass), question, of_pass)
            async with self.access.writing() as connection:
                await self._spend(connection, answer, of_pass)

    def _request(self, question: Prompt, of_pass: str) -> ConverseRequest:
        return ConverseRequest(
            self.model_id,
            question.system,
            question.user,
            self.costs.section_output_tokens if of_pass == _SECTION else self.costs.planner_output_tokens,
            self.costs.call_deadline_s,
            AnswerSchema(question.name, question.schema, schema.PLAN) if question.schema is not None else None,
            prompt_version=question.version,
        )

    async def _ask(self, question: Prompt, of_pass: str, seen: set[str]) -> ConverseAnswer:
        request = self._request(question, of_pass)
        key = answer_key(request)
        kept = await self._kept(key, seen)
        if kept is not None:
            self.meter.count(kept, of_pass, is_kept=True)
            self.on_question(ModelQuestion(request, of_pass, self.now(), kept, is_kept=True))
            return _cleaned(kept, question)
        await self._check()
        answer = await self._bought(request, question, of_pass)
        await self._keep(key, answer, seen, of_pass)
        return _cleaned(answer, question)

    async def _check(self) -> None:
        """Raise CostCeilingReached if a ceiling forbids the call; the tenant's other jobs share the daily one."""
        if self.costs.per_tenant_day_usd is not None:
            async with self.access.reading() as connection:
                self.meter.today_usd = await answers.spent(connection, self.access.scope, now=self.now())
        self.meter.check()

    async def _bought(self, request: ConverseRequest, question: Prompt, of_pass: str) -> ConverseAnswer:
        began_at = self.now()
        try:
            answer = await self.model.converse(request)
            _check_content(answer, question)
        except AnswerUnusable as error:
            self.on_question(ModelQuestion(request, of_pass, began_at, error.answer, type(error).__name__))
            self.meter.count(error.answer, of_pass, is_of_use=False)
            async with self.access.writing() as connection:
                await self._spend(connection, error.answer, of_pass)
            raise
        except ProviderError as error:
            self.on_question(ModelQuestion(request, of_pass, began_at, error=type(error).__name__))
            raise
        self.on_question(ModelQuestion(request, of_pass, began_at, answer))
        self.meter.count(answer, of_pass)
        return answer

    async def _kept(self, key: bytes, seen: set[str]) -> ConverseAnswer | None:
        """Return the cached answer. Records the memories it is now used with, so that forgetting one of them deletes it."""
        scope = self.access.scope
        async with self.access.reading() as connection:
            kept = await answers.get(connection, scope, key)
        if kept is None:
            return None
        async with self.access.writing() as connection:
            await answers.note_seen(connection, scope, key, seen)
            if gone := await _gone(connection, scope, seen):
                await answers.forget(connection, scope, gone)
        return answer_from(kept)

    async def _keep(self, key: bytes, answer: ConverseAnswer, seen: set[str], of_pass: str) -> None:
        scope = self.access.scope
        async with self.access.writing() as connection:
            # A memory may have been forgotten during the call; in a preview the ledger may already have dropped its row.
            refs = [forgotten.OWNER, *(("memory", one) for one in seen)]
            gone = await forgotten.lately(connection, scope, refs, now=self.now())
            await self._spend(connection, answer, of_pass)
            if not gone and not await _gone(connection, scope, seen):
                content = answer_bytes(answer)
                await answers.put(connection, scope, key, answer=content, memory_ids=seen, now=self.now())

    async def _spend(self, connection: Connection, answer: ConverseAnswer, of_pass: str) -> None:
        scope, now, model_id = self.access.scope, self.now(), answer.model_id
        if answer.cost_usd:
            await answers.spend(connection, scope, model_id=model_id, cost_usd=answer.cost_usd, now=now)
        tokens = (answer.input_tokens, answer.output_tokens, answer.cached_tokens)
        call = CompileCall(of_pass, model_id, *tokens, answer.cost_usd)
        await costs.add_compile_call(connection, scope, call, now=now)


def _cleaned(answer: ConverseAnswer, question: Prompt) -> ConverseAnswer:
    """Return the answer as it is read: a plan without citations in its prose."""
    if question.schema is None or answer.parsed is None:
        return answer
    return replace(answer, parsed=without_handles(answer.parsed, question.handles, question.user))


def _check_content(answer: ConverseAnswer, question: Prompt) -> None:
    """Raise MalformedOutput for an answer that is no plan, or no text of a section."""
    if question.schema is not None:
        _read(answer, question)
    elif problem := validate.text_problem(answer.text, system=question.system, user=question.user):
        raise MalformedOutput(answer, problem)


def _read(answer: ConverseAnswer, question: Prompt) -> Proposed:
    """Return the proposal in an answer. Raises MalformedOutput if none of its items can stand."""
    proposal, rejections = validate.read(answer.parsed, question.handles)
    if not validate.is_plan(answer.parsed, proposal, question.handles):
        reasons = ", ".join(sorted({one.reason for one in rejections})) or "none names a memory or page that was shown"
        raise MalformedOutput(answer, f"no item of the plan can stand: {reasons}")
    return Proposed(proposal, rejections)


async def _gone(connection: Connection, scope: Scope, memory_ids: set[str]) -> list[str]:
    known = await ledger.read(connection, scope, sorted(memory_ids))
    return [memory_id for memory_id, entry in known.items() if entry.outcome is ledger.MemoryOutcome.GONE]
