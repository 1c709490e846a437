"""Measures merging on real names: how many aliases are merged into their page, and how many new names are merged wrongly.

The rules are the compile's own (`compiler/plan/names/merge.py`); pages are looked up as a plan looks up its own pages.

The data may not be shipped with the project; `--data` names their folder. It holds `names/aliases.csv` and `names/venues.csv`,
made from the schema-guided dialogues of google-research-datasets.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, at_least, at_most, plain
from compiler.plan.contract import Alias, Page, PageKey, PageType, Tag
from compiler.plan.names.merge import CITY_TAG, merger, names
from compiler.plan.names.planned import PagesByName
from compiler.plan.places.gazetteer import Gazetteer
from compiler.plan.proposal import Proposal, ProposedPage
from compiler.plan.text.markdown import alias_keys, plain_key, slug
from compiler.planners import gazetteer


@dataclass(frozen=True, slots=True)
class Outcome:
    """The number of aliases, of those merged correctly and of those merged at all; of new names, and of those merged."""

    aliases: int
    right: int
    merged: int
    new: int
    new_merged: int

    @property
    def precision(self) -> float:
        """The share of merges that are correct, counting those of new names."""
        return self.right / max(1, self.merged + self.new_merged)

    @property
    def recall(self) -> float:
        """The share of aliases that were merged into their page."""
        return self.right / max(1, self.aliases)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures for the names in the folder."""
    folder = data / "names"
    cities = gazetteer.load()
    places, others = (outcome(folder / "aliases.csv", kind, cities, scale=scale) for kind in ("place", "name"))
    strangers, branches = other_cities(folder / "venues.csv", cities)
    return [
        at_least("places: precision", places.precision, 0.99),
        at_least("places: recall", places.recall, 0.85),
        at_most("places: new names merged", places.new_merged / max(1, places.new), 0.005),
        at_least("other names: F1", others.f1, 0.80),
        plain("other names: precision", others.precision),
        plain("other names: recall", others.recall),
        at_most("other names: new ones merged", others.new_merged / max(1, others.new), 0.02),
        at_most("a venue merged with its namesake of another city", strangers, 0, note=f"of {branches}"),
    ]


def outcome(path: Path, kind: str, cities: Gazetteer, *, scale: float = 1.0) -> Outcome:
    """Return the outcome for a kind's aliases and new names."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == kind]
    scope = _pages(_page(row["name"]) for row in rows if row["role"] == "existing")
    tested = [row for row in rows if row["role"] != "existing"]
    tested = tested[: max(1, round(len(tested) * scale))]
    merged = [(row, resolved(scope, row["name"], cities)) for row in tested]
    aliases = [(row, page) for row, page in merged if row["role"] == "alias"]
    strangers = [page for row, page in merged if row["role"] == "new"]
    return Outcome(
        aliases=len(aliases),
        right=sum(1 for row, page in aliases if page and page.title == row["canonical"]),
        merged=sum(1 for _, page in aliases if page),
        new=len(strangers),
        new_merged=sum(1 for page in strangers if page),
    )


def resolved(scope: PagesByName, title: str, cities: Gazetteer, *, city: str = "") -> Page | None:
    """Return the page that a proposed title is merged into."""
    proposed = ProposedPage(PageType.ENTITY, title, city=city)
    matches = scope.look_up(names(Proposal(new_pages=(proposed,)), gazetteer=cities))
    found = merger(matches, gazetteer=cities).resolve(proposed)
    return scope.pages[found.page] if found else None


def other_cities(path: Path, cities: Gazetteer) -> tuple[int, int]:
    """Return how many venues are merged with a namesake in another city, and how many have such a namesake."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    by_name: dict[str, dict[str, str]] = defaultdict(dict)
    for row in (row for row in rows if slug(row["city"])):
        by_name[plain_key(row["name"])].setdefault(slug(row["city"]), row["name"])
    strangers = branches = 0
    for towns in by_name.values():
        (first, title), *others = towns.items()
        scope = _pages([_page(title, city=first)])
        for town, name in others:
            branches += 1
            strangers += resolved(scope, name, cities, city=town) is not None
    return strangers, branches


def _pages(pages: Iterable[Page]) -> PagesByName:
    found = PagesByName()
    for page in pages:
        found.add(page)
    return found


def _page(title: str, *, city: str = "") -> Page:
    aliases = tuple(Alias(key, title) for key in alias_keys(title))
    tags = (Tag(CITY_TAG + slug(city)),) if city else ()
    return Page(PageKey(PageType.ENTITY, f"{slug(title)}-{letters_of(title)}"), title, "", aliases=aliases, tags=tags)


def letters_of(title: str) -> str:
    """Return letters of the title that distinguish pages with the same slug."""
    return title.encode().hex()[-16:]
