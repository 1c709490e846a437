"""Pages of notes without a model, as the planner proposes them for one batch."""

from __future__ import annotations

from compiler.plan.proposal import ProposedPage
from compiler.planners import extractive
from tests.support.compiler.plan_cases import batch, memory


def made(*texts: str) -> dict[str, ProposedPage]:
    """Return the pages of these memories, a day apart, by title."""
    seen = (memory(f"m{at}", text, day=at) for at, text in enumerate(texts))
    return {one.title: one for one in extractive.plan_leaf(batch(*seen)).new_pages}


def lines(page: ProposedPage) -> str:
    """Return the bodies of the page's sections."""
    return "\n".join(section.body_md for section in page.sections)
