"""Planner answers for the scripted model server: good ones in a few words, and the ways in which models spoil them.

Every one fits the schema it is asked for by; what is wrong with it only code can see.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

Answer = dict[str, Any]
_PROSE = ("body_md", "proposed_body_md")


def leaf(**arrays: Sequence[Mapping[str, Any]]) -> Answer:
    """Return a leaf plan with these arrays; the others are empty."""
    names = ("pageUpdates", "newPages", "unresolvedMentions", "promotions", "pageLinks")
    rest = ("parentSectionUpdates", "sectionPromotions", "supersessions")
    return {name: [] for name in (*names, *rest)} | {name: list(values) for name, values in arrays.items()}


def aggregation(**arrays: Sequence[Mapping[str, Any]]) -> Answer:
    """Return an aggregation plan with these arrays; the others are empty."""
    names = ("parentSectionUpdates", "sectionPromotions", "newPages", "pageLinks")
    return {name: [] for name in names} | {name: list(values) for name, values in arrays.items()}


def new_page(title: str, refs: Sequence[str], *, kind: str = "entity", body: str = "") -> Answer:
    """Return a new page of one section that cites the handles."""
    section = {
        "slug": "overview",
        "heading": "Overview",
        "body_md": body or f"About {title}.",
        "source_refs": list(refs),
    }
    named = {"type": kind, "slug": "", "title": title, "summary": f"{title}.", "aliases": [], "source_refs": list(refs)}
    return {**named, "sections": [section]}


def rollup(page: str, section: str, children: Sequence[tuple[str, str]]) -> Answer:
    """Return a hub's section that lists children, each a type and a slug."""
    linked = [{"type": kind, "slug": slug} for kind, slug in children]
    told = {"pageId": page, "sectionSlug": section, "heading": section.title(), "linked_page_slugs": linked}
    return {**told, "source_refs": [], "observed_tags": [], "rationale": "They belong together."}


def lines_of(user: str, part: str) -> list[dict[str, Any]]:
    """Return the JSON lines of a part of a prompt, as `PAGES` or `MEMORIES`: what a scripted planner plans from."""
    shown = f"\n\n{user}".split(f"\n\n{part}\n", 1)[-1].split("\n\n", 1)[0]
    return [json.loads(line) for line in shown.splitlines() if line.startswith("{")]


def hallucinated(answer: Answer) -> Answer:
    """Return the plan with pages, names and memories that were not shown, beside and among those that were."""
    made = copy.deepcopy(answer)
    strange = ["R99999", "0e6a3c2e-1d2f-4a55-9a53-3a1a7f1c9b11"]
    for page in made["newPages"]:
        page["source_refs"] += strange
        for section in page["sections"]:
            section["source_refs"] += strange
    section = {"slug": "overview", "heading": "Overview", "proposed_body_md": "Nobody said so.", "source_refs": strange}
    made.get("pageUpdates", []).append({"pageId": "P99999", "sections": [section], "aliases": ["ghost"]})
    return made


def with_wikilinks(answer: Answer) -> Answer:
    """Return the plan with double brackets, bare ids and links to no page in its prose."""
    noise = " See [[Ghost Page]], [there](/wiki/entity/no-such-page) and 0e6a3c2e-1d2f-4a55-9a53-3a1a7f1c9b11."
    return {name: _in_prose(value, noise) for name, value in answer.items()}


def uncited(answer: Answer) -> Answer:
    """Return the plan without a single citation."""
    made = copy.deepcopy(answer)
    for page in (*made["newPages"], *made.get("pageUpdates", [])):
        page.update({"source_refs": []} if "source_refs" in page else {})
        for section in page["sections"]:
            section["source_refs"] = []
    return made


def one_child_under_two_sections(answer: Answer) -> Answer:
    """Return the plan with every rollup's children listed under a second section of the same page too."""
    made = copy.deepcopy(answer)
    again = [{**one, "sectionSlug": f"more-{one['sectionSlug']}"} for one in made["parentSectionUpdates"]]
    return {**made, "parentSectionUpdates": [*made["parentSectionUpdates"], *again]}


def across_cities(answer: Answer, strangers: Sequence[tuple[str, str]]) -> Answer:
    """Return the plan with pages of other cities, by type and slug, under every hub."""
    made = copy.deepcopy(answer)
    for one in made["parentSectionUpdates"]:
        one["linked_page_slugs"] += [{"type": kind, "slug": slug} for kind, slug in strangers]
    return made


def _in_prose(value: Any, noise: str) -> Any:
    if isinstance(value, dict):
        return {name: one + noise if name in _PROSE else _in_prose(one, noise) for name, one in value.items()}
    return [_in_prose(one, noise) for one in value] if isinstance(value, list) else value
