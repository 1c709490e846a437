"""What plans a compile: the protocol, and the extractive planner that needs no model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from compiler import extractive
from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.contract import Draft, Rejection
from compiler.plan.places import NO_PLACES, Gazetteer
from compiler.plan.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Proposed:
    """A planner's answer: what it proposes, and what of its words could not be read."""

    proposal: Proposal
    rejections: tuple[Rejection, ...] = ()


class Planner(Protocol):
    """Proposes what to make of memories. It writes nothing, and is believed nothing that code can check."""

    @property
    def name(self) -> str:
        """The planner's name in metrics: extractive, or the model's id."""

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return what to make of the batch. Raises a ProviderError."""

    async def write_section(self, draft: Draft) -> str:
        """Return the section's text, empty when its memories say nothing of it. Raises a ProviderError."""

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return hubs, rollups and promotions for the view. Raises a ProviderError."""


@dataclass
class ExtractivePlanner:
    """Compiles without a model: deterministic, verbatim, free. Its work runs beside the event loop."""

    gazetteer: Gazetteer = NO_PLACES

    @property
    def name(self) -> str:
        """The planner's name in metrics."""
        return "extractive"

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return pages of cited sentences for names that stand in two memories or more."""
        return Proposed(await asyncio.to_thread(partial(extractive.plan_leaf, batch, gazetteer=self.gazetteer)))

    async def write_section(self, draft: Draft) -> str:
        """Return the cited memories' own sentences."""
        return await asyncio.to_thread(extractive.write_section, draft)

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return the hubs that the candidates ask for."""
        return Proposed(await asyncio.to_thread(extractive.plan_aggregation, view))
