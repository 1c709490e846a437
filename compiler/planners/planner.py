"""Planners: the protocol, the extractive planner without a model, and the fallback for texts that a model fails to write."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from compiler.errors import CostCeilingReached
from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.contract import BatchMemory, Draft, Rejection
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import Proposal
from compiler.planners import extractive
from models.errors import AnswerUnusable, InvalidRequest, ModelTimeout, ModelUnavailable, ProviderError

HARMLESS = BatchMemory(
    "probe", "Maria Silva had lunch with Tom Baker at Cafe Luna on Friday.", b"", datetime(2026, 1, 2, tzinfo=UTC)
)
"""The memory that probes are made with."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A planner's answer: its proposal, and the parts that could not be read."""

    proposal: Proposal
    rejections: tuple[Rejection, ...] = ()


class Planner(Protocol):
    """Proposes changes of the wiki for memories. It writes nothing, and its proposals are judged by code."""

    @property
    def name(self) -> str:
        """The planner's name in metrics: extractive, or the model's id."""

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return a proposal for the batch. Raises a ProviderError."""

    async def write_section(self, draft: Draft) -> str:
        """Return the section's text, empty if its memories have nothing about it. Raises a ProviderError."""

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return hubs, rollups and promotions for the view. Raises a ProviderError."""

    async def probe(self) -> None:
        """Plan and write for a harmless memory, and discard the result. Raises a ProviderError if even that fails."""


@dataclass
class ExtractivePlanner:
    """The planner without a model: deterministic, verbatim, free. Its work runs on a thread."""

    gazetteer: Gazetteer = NO_PLACES

    @property
    def name(self) -> str:
        """The planner's name in metrics."""
        return extractive.NAME

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return pages of cited sentences for names that occur in two memories or more."""
        return Proposed(await asyncio.to_thread(partial(extractive.plan_leaf, batch, gazetteer=self.gazetteer)))

    async def write_section(self, draft: Draft) -> str:
        """Return the cited memories' own sentences."""
        return await asyncio.to_thread(extractive.write_section, draft)

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return hubs for the candidates, with their lists, and promotions of ready sections."""
        return Proposed(await asyncio.to_thread(extractive.plan_aggregation, view))

    async def probe(self) -> None:
        """Plan for a harmless memory, and discard the result. An error is a defect of the planner, not of a memory."""
        await self.plan_leaf(LeafBatch((HARMLESS,)))


@dataclass
class Rebuilder:
    """Plans as `planner` does, but quotes the memories' own sentences if its model fails to write a section.

    Otherwise a page would keep withdrawn statements whenever the model fails. With `quotes_outages` it does so too while the
    model does not answer. `quoted` counts the quoted sections.
    """

    planner: Planner
    quotes_outages: bool = False
    quoted: int = 0

    @property
    def name(self) -> str:
        """The planner's name in metrics."""
        return self.planner.name

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return the planner's proposal. Raises a ProviderError."""
        return await self.planner.plan_leaf(batch)

    async def write_section(self, draft: Draft) -> str:
        """Return the section's text. Raises a ProviderError that a retry may avoid, and the job's CostCeilingReached."""
        try:
            return await self.planner.write_section(draft)
        except (ProviderError, CostCeilingReached) as error:
            if not self._is_quoted(error):
                raise
        self.quoted += 1
        return await asyncio.to_thread(extractive.quote, draft)

    def _is_quoted(self, error: ProviderError | CostCeilingReached) -> bool:
        if isinstance(error, CostCeilingReached):
            return error.is_for_today
        is_outage = isinstance(error, ModelUnavailable | ModelTimeout)
        return isinstance(error, AnswerUnusable | InvalidRequest) or (is_outage and self.quotes_outages)

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return the planner's proposal. Raises a ProviderError."""
        return await self.planner.plan_aggregation(view)

    async def probe(self) -> None:
        """Probe the planner. Raises a ProviderError."""
        await self.planner.probe()
