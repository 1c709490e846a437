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
_TARGETS = {  # a set, a scenario and a column, and the share of the evidence to find at each budget
    ("locomo", "turns", "verbatim"): {1_000: 0.79, 2_000: 0.87, 4_000: 0.93, 8_000: 0.975},
    ("locomo", "turns + facts", "coverage"): {1_000: 0.84, 2_000: 0.92, 4_000: 0.955, 8_000: 0.985},
    ("realtalk", "turns", "verbatim"): {1_000: 0.71, 2_000: 0.82, 4_000: 0.905, 8_000: 0.95},
}
_ROUTED = {  # a scenario with competing sources, the same questions without them, and the share that may be lost
    ("turns, documents compete", "turns", 0.02),
    ("turns, documents compete, pooled", "turns", 0.01),
    ("documents, turns compete", "documents alone", 0.02),
    ("documents, turns compete, pooled", "documents alone", 0.01),
}

_WIKI = (  # a scenario and column with the wiki, and those without it that they are compared with
    ("turns + wiki", "coverage", "turns", "verbatim"),
    ("turns + facts + wiki", "coverage", "turns + facts", "coverage"),
)


def run(*, scale: float, data: Path, write_weights: bool = False, **options: Any) -> list[Figure]:
    """Return the figures, with weights trained without the conversations and corpora under test.

    `scale` is the share of the questions that are asked; `options` are the `name`, `folds`, `with_wiki`, `keep`, `only`, `spend`
    and `budgets` of a `Plan`.
    """
    plan = Plan(data, share=scale, write=_WEIGHTS if write_weights else None, **options)
    return _figures(uvloop.run(measure(plan)), plan)


def _figures(tally: Tally, plan: Plan) -> list[Figure]:
    budgets = plan.budgets
    results = [_figure(tally, plan.name, *found) for found in tally.found]
    results += [_routing(tally, budgets, *routed) for routed in sorted(_ROUTED) if _was_asked(tally, routed[0])]
    results += _rising(tally, budgets)
    if plan.with_wiki:
        results += [_with_wiki(tally, *compared, budget) for compared in _WIKI for budget in budgets]
    results.append(at_most("contexts over their budget", tally.over_budget, 0, note=f"of {tally.contexts}"))
    results.append(plain("turns that lacked a source", tally.degraded))
    if tally.took_ms:
        results.append(plain("a turn, p50", median(tally.took_ms), unit=" ms"))
        results.append(plain("a turn, p95", quantile(tally.took_ms, 0.95), unit=" ms"))
    return results


def _was_asked(tally: Tally, name: str) -> bool:
    return any(one == name for one, *_ in tally.found)


def _figure(tally: Tally, of_set: str, name: str, column: str, budget: int) -> Figure:
    share, wanted = tally.share(name, column, budget), tally.found[name, column, budget][1]
    title, note = f"{name}, {column}, {budget / 1000:g}k", f"of {wanted}"
    target = _TARGETS.get((of_set, name, column), {}).get(budget)
    return plain(title, share, note=note) if target is None else at_least(title, share, target, note=note)


def _routing(tally: Tally, budgets: Sequence[int], name: str, alone: str, most: float) -> Figure:
    """Return the greatest share of the evidence, over the budgets, that is lost to competing sources."""
    lost = [tally.share(alone, "verbatim", budget) - tally.share(name, "verbatim", budget) for budget in budgets]
    return at_most(f"lost to routing: {name}", max(lost), most)


def _rising(tally: Tally, budgets: Sequence[int]) -> list[Figure]:
    """Return for each scenario and column the greatest share of the evidence lost by a larger budget."""
    lost = []
    for name, column in dict.fromkeys((name, column) for name, column, _ in tally.found if "baseline" not in name):
        measured = [budget for budget in sorted(budgets) if (name, column, budget) in tally.found]
        shares = [tally.share(name, column, budget) for budget in measured]
        fall = max((max(shares[:place]) - shares[place] for place in range(1, len(shares))), default=0.0)
        lost.append(at_most(f"lost to a larger budget: {name}, {column}", max(0.0, fall), _NOISE))
    return lost


def _with_wiki(tally: Tally, name: str, column: str, without: str, against: str, budget: int) -> Figure:
    """Return the share of the evidence gained by the wiki, negative if some is lost."""
    gained = tally.share(name, column, budget) - tally.share(without, against, budget)
    return at_least(f"gained by the wiki: {name}, {budget / 1000:g}k", gained, -_LOST_TO_WIKI)
