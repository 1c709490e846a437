"""Memories of places in two cities, and the plans of a model that makes pages and a hub of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from store.content.memories import NewMemory
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Say
from tests.support.compiler.compiling import NOW

AUSTIN = ("Casa Lola", "Lime Yard", "Suerte", "Haus Hof")
TORONTO = ("Bar Isabel", "Pai Kitchen")


def places() -> list[NewMemory]:
    """Return two memories of each place, with the city in their metadata."""
    every = [(name, "Austin") for name in AUSTIN] + [(name, "Toronto") for name in TORONTO]
    return [
        NewMemory(
            f"{name} in {city} had a long line at door {at}.",
            f"{name.replace(' ', '-')}-{at}".lower(),
            NOW - timedelta(hours=number * 3 + at),
            metadata={"place": {"name": name, "city": city}},
        )
        for number, (name, city) in enumerate(every)
        for at in range(2)
    ]


def leaf(ask: Ask) -> dict[str, Any]:
    """Plan a page for each place, whose summary tells its city."""
    memories = plan_answers.lines_of(ask.user, "MEMORIES")
    made = []
    for name in (*AUSTIN, *TORONTO):
        refs = [one["ref"] for one in memories if name in one["text"]]
        city = "Toronto" if name in TORONTO else "Austin"
        if refs:
            made.append({**plan_answers.new_page(name, refs, body=f"Long lines at {name}."), "summary": f"In {city}."})
    return plan_answers.leaf(newPages=made, pageUpdates=[])


def hub(ask: Ask, names: Sequence[str]) -> dict[str, Any]:
    """Plan the hub of Austin with one list."""
    (refs,) = (one["source_refs"] for one in plan_answers.lines_of(ask.user, "CANDIDATES") if one["title"] == "Austin")
    children = [("entity", name.lower().replace(" ", "-")) for name in names]
    listed = {**plan_answers.rollup("new:austin", "places", children), "source_refs": refs}
    made = {**plan_answers.new_page("Austin", refs, kind="topic"), "sections": []}
    return plan_answers.aggregation(newPages=[made], parentSectionUpdates=[listed])


def about_places(ask: Ask) -> Behaviour:
    """Plan pages for the places and the hub of Austin."""
    if ask.schema_name == "leaf_plan":
        return Say(leaf(ask))
    return Say(hub(ask, AUSTIN)) if ask.schema_name == "aggregation_plan" else Say("Written.")


def trip() -> list[NewMemory]:
    """Return memories of places of one journey, all with one tag: their hubs are told by metadata alone."""
    told = {"journal_id": "j1", "journal_title": "Summer trip", "tags": ["bbq"]}
    return [replace(one, metadata={"place": {"name": one.metadata["place"]["name"]}, **told}) for one in places()]
