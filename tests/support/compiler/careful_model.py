"""A scripted model whose answers are of a large one's quality, and what it said and cited; made of memories with known pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from store.content.memories import NewMemory
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Say
from tests.support.compiler.compiling import NOW

Place = tuple[str, str]

# Each memory with what a careful reader writes of it: page, section, and a sentence in words of its own.
TOLD: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    ("Ines Varga joined the rowing club in Porto on Monday.", (
        ("Ines Varga", "overview", "Ines Varga has been a member of the rowing club in Porto since March."),
        ("Porto", "overview", "The rowing club that Ines Varga joined is in Porto."),
    )),
    ("Ines Varga paid 45 euros for the club's yearly card.", (
        ("Ines Varga", "overview", "She paid 45 euros for its yearly card."),
    )),
    ("Tomas Brandt, who coaches the rowing club, broke his left wrist.", (
        ("Tomas Brandt", "overview", "Tomas Brandt coaches the rowing club and broke his left wrist."),
    )),
    ("The boathouse in Porto closes at nine in the evening.", (
        ("Porto", "notes", "Its boathouse closes at nine in the evening."),
    )),
    ("Tomas Brandt is allergic to walnuts and never eats pesto.", (
        ("Tomas Brandt", "notes", "He is allergic to walnuts, so pesto is out for him."),
    )),
    ("Ines Varga rowed 12 kilometres with Tomas Brandt up the Douro.", (
        ("Ines Varga", "notes", "With Tomas Brandt she rowed 12 kilometres up the Douro."),
        ("Tomas Brandt", "notes", "He rowed up the Douro with Ines Varga, 12 kilometres in all."),
        ("Douro", "overview", "Ines Varga and Tomas Brandt rowed up the Douro."),
    )),
    ("The Douro was closed for boats in the second week of April.", (
        ("Douro", "notes", "It was closed for boats in the second week of April."),
    )),
    ("Ines Varga's sister Lidia moved to Porto from Graz.", (
        ("Lidia Varga", "overview", "Lidia Varga is the sister of Ines Varga and came from Graz."),
        ("Porto", "overview", "Lidia Varga lives in Porto too."),
    )),
    ("Lidia Varga teaches chemistry at a night school.", (
        ("Lidia Varga", "overview", "She teaches chemistry at a night school."),
    )),
    ("Tomas Brandt's wrist healed, and he steered the eight again on 3 May.", (
        ("Tomas Brandt", "overview", "The wrist healed, and on 3 May he steered the eight again."),
    )),
    ("Lidia Varga lent Ines Varga her old bicycle for the summer.", (
        ("Lidia Varga", "notes", "For the summer she lent her old bicycle to Ines Varga."),
        ("Ines Varga", "notes", "She rides the old bicycle of Lidia Varga this summer."),
    )),
    ("The regatta on the Douro was won by the crew of Tomas Brandt.", (
        ("Douro", "notes", "The crew of Tomas Brandt won the regatta on it."),
        ("Tomas Brandt", "notes", "His crew won the regatta on the Douro."),
    )),
)  # fmt: skip


@dataclass(slots=True)
class CarefulModel:
    """Answers every question of a compile as a careful reader would, and keeps what it said and cited, by page and section."""

    said: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    cited: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    linked: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, ask: Ask) -> Behaviour:
        """Return the answer."""
        if ask.schema_name == "leaf_plan":
            return Say(self._plan(ask.user))
        if ask.schema_name == "aggregation_plan":
            return Say(plan_answers.aggregation())
        return Say(_merged(ask.user))

    def _plan(self, user: str) -> dict[str, Any]:
        known = {one["title"]: one["id"] for one in plan_answers.lines_of(user, "PAGES")}
        refs: dict[Place, dict[str, str]] = defaultdict(dict)
        for shown in plan_answers.lines_of(user, "MEMORIES"):
            number = next(at for at, (text, _) in enumerate(TOLD) if text == shown["text"])
            for title, section, sentence in TOLD[number][1]:
                refs[title, section][sentence] = shown["ref"]
                self.said[title, section].add(sentence)
                self.cited[title, section].add(f"m{number:02}")
        titles = list(dict.fromkeys(title for title, _ in refs))
        new = [_page(title, refs) for title in titles if title not in known]
        updates = [_update(known[title], title, refs) for title in titles if title in known]
        return plan_answers.leaf(newPages=new, pageUpdates=updates)


def memories() -> list[NewMemory]:
    """Return the memories, a day apart."""
    return [
        NewMemory(text, f"m{number:02}", NOW - timedelta(days=60 - number)) for number, (text, _) in enumerate(TOLD)
    ]


def _page(title: str, refs: Mapping[Place, Mapping[str, str]]) -> dict[str, Any]:
    kind = "topic" if title in {"Porto", "Douro"} else "entity"
    sections = [
        {"slug": slug, "heading": slug.title(), "body_md": " ".join(said), "source_refs": list(said.values())}
        for (page, slug), said in refs.items()
        if page == title
    ]
    first = next(iter(refs[title, str(sections[0]["slug"])].items()))
    named = {"type": kind, "slug": "", "title": title, "aliases": [], "sections": sections}
    return {**named, "summary": first[0], "source_refs": [first[1]]}


def _update(page_id: str, title: str, refs: Mapping[Place, Mapping[str, str]]) -> dict[str, Any]:
    sections = [
        {"slug": slug, "heading": slug.title(), "proposed_body_md": " ".join(said), "source_refs": list(said.values())}
        for (page, slug), said in refs.items()
        if page == title
    ]
    return {"pageId": page_id, "sections": sections, "aliases": []}


def _merged(user: str) -> str:
    """Return a section as a careful writer merges it: what stands, then what is new."""
    stands, proposal = (_text(user, part) for part in ("STANDS", "PROPOSAL"))
    return " ".join(dict.fromkeys(one for one in (stands, proposal) if one))


def _text(user: str, part: str) -> str:
    lines = plan_answers.lines_of(user, part)
    return " ".join(str(line["text"]) for line in lines)
