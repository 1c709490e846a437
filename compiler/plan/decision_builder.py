"""The builder of a pass's decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.plan.contract import Draft, Item, PlanDecision, Rejection


@dataclass(slots=True)
class DecisionBuilder:
    """Collected items, drafts, sections with the planner's own text, rejections and counters, in order."""

    items: list[Item] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    proposed: list[Draft] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)

    def reject(self, reason: str, subject: str = "") -> None:
        """Record a rejection."""
        self.rejections.append(Rejection(reason, subject))

    def count(self, key: str, by: int = 1) -> None:
        """Add to a counter."""
        self.counters[key] += by

    def add(self, items: Iterable[Item]) -> None:
        """Append items."""
        self.items.extend(items)

    def decision(self) -> PlanDecision:
        """Return the decision."""
        counters = {name: count for name, count in sorted(self.counters.items()) if count}
        return PlanDecision(
            tuple(self.items), tuple(self.drafts), tuple(self.rejections), counters, tuple(self.proposed)
        )
