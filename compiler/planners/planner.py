"""Planners: the protocol, the extractive planner, which needs no model, and the fallback for texts that a model cannot write."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from compiler.errors import CostCeilingReached
from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.contract import Draft, Rejection
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import Proposal
from compiler.planners import extractive
from models.errors import AnswerUnusable, InvalidRequest


@dataclass(frozen=True, slots=True)
class Proposed:
    """A planner's answer: its proposal, and the parts that could not be read."""

    proposal: Proposal
    rejections: tuple[Rejection, ...] = ()


class Planner(Protocol):
    """Proposes what to make of memories. It writes nothing, and code checks all that it can of its proposals."""

    @property
    def name(self) -> str:
        """The planner's name in metrics: extractive, or the model's id."""

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return a proposal for the batch. Raises a ProviderError."""

    async def write_section(self, draft: Draft) -> str:
        """Return the section's text, empty if its memories say nothing about it. Raises a ProviderError."""

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return hubs, rollups and promotions for the view. Raises a ProviderError."""

    async def probe(self) -> None:
        """Plan and write about a harmless memory, and keep nothing. Raises a ProviderError if even that fails."""


@dataclass
class ExtractivePlanner:
    """Compiles without a model: deterministic, verbatim, free. Its work runs on a thread."""

    gazetteer: Gazetteer = NO_PLACES

    @property
    def name(self) -> str:
        """The planner's name in metrics."""
        return "extractive"

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return pages of cited sentences for names that occur in two memories or more."""
        return Proposed(await asyncio.to_thread(partial(extractive.plan_leaf, batch, gazetteer=self.gazetteer)))

    async def write_section(self, draft: Draft) -> str:
        """Return the cited memories' own sentences."""
        return await asyncio.to_thread(extractive.write_section, draft)

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return the hubs that the candidates ask for."""
        return Proposed(await asyncio.to_thread(extractive.plan_aggregation, view))

    async def probe(self) -> None:
        """Do nothing: there is no model to fail."""


@dataclass
class Rebuilder:
    """Plans as `planner` does, but quotes the memories' own sentences where its model cannot write.

    A page must not keep withdrawn statements just because the model fails on the rest. `quoted` counts such sections.
    """

    planner: Planner
    quoted: int = 0

    @property
    def name(self) -> str:
        """The planner's name in metrics."""
        return self.planner.name

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return the planner's proposal. Raises a ProviderError."""
        return await self.planner.plan_leaf(batch)

    async def write_section(self, draft: Draft) -> str:
        """Return the section's text. Raises a ProviderError that may pass with time, and a job's CostCeilingReached."""
        try:
            return await self.planner.write_section(draft)
        except (AnswerUnusable, InvalidRequest, CostCeilingReached) as error:
            if isinstance(error, CostCeilingReached) and not error.is_for_today:
                raise
        self.quoted += 1
        return await asyncio.to_thread(extractive.quote, draft)

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return the planner's proposal. Raises a ProviderError."""
        return await self.planner.plan_aggregation(view)

    async def probe(self) -> None:
        """Probe the planner. Raises a ProviderError."""
        await self.planner.probe()
