"""Edges that operators stated, restored after a rebuild: finding their pages, and keeping the edges whose pages are missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from compiler.plan.contract import PageKey, WriteLink
from compiler.plan.edge_types import TypedEdge
from store.text.texts import fold


@dataclass(frozen=True, slots=True)
class KeptEdge:
    """A typed edge as an operator stated it, with the titles that its pages had."""

    link: WriteLink
    titles: tuple[str, str]

    @property
    def ends(self) -> tuple[tuple[PageKey, str], tuple[PageKey, str]]:
        """Both pages, each with its title."""
        return (self.link.source, self.titles[0]), (self.link.target, self.titles[1])

    def is_meant(self, named: tuple[str, str], stated: TypedEdge) -> bool:
        """Return whether it is an edge of the same type and `valid_from` between pages with these paths, slugs or titles."""
        edge = self.link.edge
        are_its = (
            name in {key.path, f"{key.type}/{key.slug}", key.slug} or fold(name) == fold(title)
            for name, (key, title) in zip(named, self.ends, strict=True)
        )
        return edge is not None and (edge.type, edge.valid_from) == (stated.type, stated.valid_from) and all(are_its)


def place_of(
    key: PageKey, merged_into: PageKey, existing: Collection[PageKey], bearers: Iterable[PageKey]
) -> PageKey | None:
    """Return the present page for an earlier page: the one it was merged into, or the only bearer of its title.

    `bearers` are the pages that have the title as a name; of several, the only one of its type. None if there is no such page.
    """
    if merged_into in existing:
        return merged_into
    every = set(bearers)
    same = {one for one in every if one.type is key.type} or every
    return same.pop() if len(same) == 1 else None


def put_back(
    kept: Iterable[KeptEdge], places: Mapping[PageKey, PageKey], stated: Collection[tuple[object, ...]]
) -> tuple[tuple[WriteLink, ...], tuple[KeptEdge, ...]]:
    """Return the links to write, and the edges that need not be kept any more.

    `places` maps the pages of the kept edges to the present pages, `stated` are the identities of edges that operators stated
    after the rebuild: these are not written again.
    """
    written: list[WriteLink] = []
    settled: list[KeptEdge] = []
    for one in kept:
        source, target = (places.get(key) for key, _ in one.ends)
        if source is None or target is None or source == target:
            continue
        settled.append(one)
        link = replace(one.link, source=source, target=target)
        if link.identity not in stated:
            written.append(link)
    return tuple(written), tuple(settled)
