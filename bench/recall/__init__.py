"""Measures recall, how much of the evidence for a question is in the context, and trains the ranker's weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.recall.measuring import Plan, measure
from bench.recall.tally import Tally

_NOISE = 0.003  # the share of the evidence that a larger budget may cost
_LOST_TO_WIKI = 1 / 400  # the share of the evidence that a wiki may cost at the same budget
_WEIGHTS = Path("sidecar/turn/fitted/weights.py")
_TARGETS = {
    ("turns", "verbatim"): {1_000: 0.72, 2_000: 0.82, 4_000: 0.89, 8_000: 0.945},
    ("turns + facts", "coverage"): {1_000: 0.79, 2_000: 0.87, 4_000: 0.93, 8_000: 0.975},
}
_ROUTED = {  # what competes, against the same questions with the budget to themselves; and how much it may cost
    ("turns, documents compete", "turns", 0.02),
    ("turns, documents compete, pooled", "turns", 0.01),
    ("documents, turns compete", "documents alone", 0.02),
    ("documents, turns compete, pooled", "documents alone", 0.01),
}

_WIKI = (  # with the wiki, and without it: which columns are compared
    ("turns + wiki", "coverage", "turns", "verbatim"),
    ("turns + facts + wiki", "coverage", "turns + facts", "coverage"),
)


def run(*, scale: float, data: Path, write_weights: bool = False, **how: Any) -> list[Figure]:
    """Return the figures, with weights trained without the conversations and corpora under test.

    `scale` is the share of the questions that are asked; `how` are a plan's `name`, `folds`, `with_wiki`, `keep`, `only`, `spend`
    and `budgets`.
    """
    plan = Plan(data, share=scale, write=_WEIGHTS if write_weights else None, **how)
    return figures(uvloop.run(measure(plan)), plan.budgets, with_wiki=plan.with_wiki)


def figures(tally: Tally, budgets: Sequence[int], *, with_wiki: bool) -> list[Figure]:
    """Return the figures of a tally."""
    found_figures = [_figure(tally, name, column, budget) for name, column, budget in tally.found]
    found_figures += [_routing(tally, budgets, *routed) for routed in sorted(_ROUTED) if _was_asked(tally, routed[0])]
    found_figures += _rising(tally, budgets)
    if with_wiki:
        found_figures += [_with_wiki(tally, *compared, budget) for compared in _WIKI for budget in budgets]
    found_figures.append(at_most("contexts over their budget", tally.over_budget, 0, note=f"of {tally.contexts}"))
    found_figures.append(plain("turns that lacked a source", tally.degraded))
    if tally.took_ms:
        found_figures.append(plain("a turn, p50", median(tally.took_ms), unit=" ms"))
        found_figures.append(plain("a turn, p95", quantile(tally.took_ms, 0.95), unit=" ms"))
    return found_figures


def _was_asked(tally: Tally, name: str) -> bool:
    return any(one == name for one, *_ in tally.found)


def _figure(tally: Tally, name: str, column: str, budget: int) -> Figure:
    share, wanted = tally.share(name, column, budget), tally.found[name, column, budget][1]
    title, note = f"{name}, {column}, {budget / 1000:g}k", f"of {wanted}"
    target = _TARGETS.get((name, column), {}).get(budget)
    return plain(title, share, note=note) if target is None else at_least(title, share, target, note=note)


def _routing(tally: Tally, budgets: Sequence[int], name: str, alone: str, most: float) -> Figure:
    """Return how much is lost to competing sources, at the budget where most is lost."""
    lost = [tally.share(alone, "verbatim", budget) - tally.share(name, "verbatim", budget) for budget in budgets]
    return at_most(f"lost to routing: {name}", max(lost), most)


def _rising(tally: Tally, budgets: Sequence[int]) -> list[Figure]:
    """Return the most that is lost at any budget against a smaller one, for each scenario and column."""
    lost = []
    for name, column in dict.fromkeys((name, column) for name, column, _ in tally.found if "baseline" not in name):
        asked = [budget for budget in sorted(budgets) if (name, column, budget) in tally.found]
        shares = [tally.share(name, column, budget) for budget in asked]
        fallen = max((max(shares[:place]) - shares[place] for place in range(1, len(shares))), default=0.0)
        lost.append(at_most(f"lost to a larger budget: {name}, {column}", max(0.0, fallen), _NOISE))
    return lost


def _with_wiki(tally: Tally, name: str, column: str, without: str, against: str, budget: int) -> Figure:
    """Return how much more is found with the wiki than without it."""
    gained = tally.share(name, column, budget) - tally.share(without, against, budget)
    return at_least(f"gained by the wiki: {name}, {budget / 1000:g}k", gained, -_LOST_TO_WIKI)
