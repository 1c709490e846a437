"""Links that need no model: from a page to the hub of its memories' city or journal, and between pages of one memory.

Each is a separate cause with a tag of its class, so that a class can be rolled back without touching others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import (
    BatchMemory,
    CreatePage,
    DropLink,
    Item,
    LinkKind,
    LinkOrigin,
    PageKey,
    PageType,
    PlanDecision,
    ScoreHubs,
    WriteLink,
)
from compiler.plan.decision_builder import DecisionBuilder
from compiler.plan.edges.statements import may_state
from compiler.plan.edges.typed import typed_edges
from compiler.plan.judging.parents import from_memories
from compiler.plan.names.locating import city_of, place_name
from store.text.texts import fold

MAX_CO_MENTIONS = 10


class Naming(NamedTuple):
    """The pages that a memory names, by its id, and all names of these pages."""

    about: Mapping[str, Iterable[PageKey]]
    names: Mapping[PageKey, Iterable[str]]


UNNAMED = Naming(MappingProxyType({}), MappingProxyType({}))


def parent_titles(memories: Iterable[BatchMemory]) -> tuple[str, ...]:
    """Return the folded titles of the hubs that the memories may link to, sorted, for exact look-up."""
    return tuple(sorted({fold(one.title) for one in _hubs(memories)}))


def may_be_typed(memory: BatchMemory) -> bool:
    """Return whether a memory may state a typed edge: its metadata has a place in a city, or its text has a phrase's word."""
    return bool(place_name(memory) and city_of(memory)) or may_state(memory.text)


def to_parents(
    memories: Iterable[BatchMemory],
    fed: Mapping[str, Iterable[PageKey]],
    parents: Mapping[str, PageKey],
    naming: Naming = UNNAMED,
) -> PlanDecision:
    """Return only the links to hubs and typed edges, as in `emit`, and the scoring of the hubs; the counters are separate."""
    builder = DecisionBuilder()
    every = tuple(memories)
    found = tuple(_to_parents(every, fed, parents, builder))
    builder.add(found)
    builder.count("deterministic_edges", len(found))
    builder.add(_typed(every, parents, naming, builder))
    if found:
        builder.items.append(ScoreHubs(tuple(sorted({link.target for link in found}))))
    decision = builder.decision()
    return replace(decision, counters={f"after_hubs_{name}": count for name, count in decision.counters.items()})


def emit(
    memories: Iterable[BatchMemory],
    fed: Mapping[str, Iterable[PageKey]],
    parents: Mapping[str, PageKey],
    standing: Iterable[WriteLink] = (),
    naming: Naming = UNNAMED,
) -> PlanDecision:
    """Return the memories' links as items, with counters for every stage.

    `fed` maps a memory's id to the pages that cite it after the batch, `parents` a folded title to its topic page; `naming` has
    the named pages after the batch. `standing` are present links of these memories; those not found again are dropped.
    """
    every = tuple(memories)
    builder = DecisionBuilder()
    to_hubs = tuple(_to_parents(every, fed, parents, builder))
    builder.items.extend(to_hubs)
    if to_hubs:
        builder.count("deterministic_edges", len(to_hubs))
    paired: dict[WriteLink, None] = {}
    for memory in every:
        pairs = list(_pairs(fed.get(memory.memory_id, ()), builder))
        builder.count("co_mention_edges", len(pairs))
        paired.update((_co_mention(source, target, memory), None) for source, target in pairs)
    paired.update((link, None) for link in _typed(every, parents, naming, builder))
    kept = {link.identity for link in (*to_hubs, *paired)}
    builder.add(DropLink(link) for link in standing if link.identity not in kept)
    builder.add(paired)
    return builder.decision()


def _typed(
    memories: Iterable[BatchMemory],
    parents: Mapping[str, PageKey],
    naming: Naming,
    builder: DecisionBuilder,
) -> tuple[WriteLink, ...]:
    named = {
        memory_id: {page: naming.names[page] for page in sorted(pages) if page in naming.names}
        for memory_id, pages in naming.about.items()
    }
    found = tuple(dict.fromkeys(typed_edges(memories, named, parents)))
    builder.count("typed_edges", len(found))
    return found


def rolled_back(items: Iterable[Item]) -> tuple[str, ...]:
    """Return the ids of the memories whose links to hubs the items drop, without writing others of them; sorted."""
    every = tuple(items)
    dropped = {item.link.ref for item in every if isinstance(item, DropLink) and is_to_hub(item.link)}
    written = {item.ref for item in every if isinstance(item, WriteLink) and is_to_hub(item)}
    return tuple(sorted(dropped - written))


def scoring(items: Iterable[Item], linked: Iterable[Item], lost_links: Iterable[PageKey] = ()) -> tuple[Item, ...]:
    """Return the item that scores the pages whose links change although no other item changes them.

    `lost_links` are the pages to which deleted pages link. The aggregation scores the changed ones.
    """
    written = {item.page.key if isinstance(item, CreatePage) else getattr(item, "page", None) for item in items}
    causes = [item.link if isinstance(item, DropLink) else item for item in linked]
    targets = {*lost_links, *(one.target for one in causes if isinstance(one, WriteLink))} - written
    return (ScoreHubs(tuple(sorted(targets))),) if targets else ()


def is_to_hub(link: WriteLink) -> bool:
    """Return whether a link leads to the hub of its memory's city or journal."""
    return link.origin is LinkOrigin.DETERMINISTIC and link.edge is None


def _hubs(memories: Iterable[BatchMemory]) -> list[ParentCandidate]:
    return [one for one in from_memories(memories, least=1) if one.kind in {"city", "journal"}]


def _to_parents(
    memories: tuple[BatchMemory, ...],
    fed: Mapping[str, Iterable[PageKey]],
    parents: Mapping[str, PageKey],
    builder: DecisionBuilder,
) -> Iterator[WriteLink]:
    for hub in _hubs(memories):
        builder.count("deterministic_candidates")
        parent = parents.get(fold(hub.title))
        if parent is None:
            continue
        builder.count("deterministic_parents_found")
        for memory_id in hub.memory_ids:
            leaves = sorted(
                {page for page in fed.get(memory_id, ()) if page.type is PageType.ENTITY and page != parent}
            )
            builder.count("deterministic_leaves_found", len(leaves))
            context = f"deterministic:{hub.kind}:{hub.slug}"
            for leaf in leaves:
                yield WriteLink(leaf, parent, LinkKind.REFERENCE, LinkOrigin.DETERMINISTIC, context, memory_id)


def _pairs(pages: Iterable[PageKey], builder: DecisionBuilder) -> Iterator[tuple[PageKey, PageKey]]:
    """Yield the pairs of a memory's entity pages in both directions, by slug: at most ten links, always both directions."""
    entities = sorted({page for page in pages if page.type is PageType.ENTITY}, key=lambda page: (page.slug, page.type))
    if len(entities) > 1:
        builder.count("co_mention_memories")
    for one, other in list(combinations(entities, 2))[: MAX_CO_MENTIONS // 2]:
        yield one, other
        yield other, one


def _co_mention(source: PageKey, target: PageKey, memory: BatchMemory) -> WriteLink:
    context = f"co_mention:{memory.memory_id}"
    return WriteLink(source, target, LinkKind.REFERENCE, LinkOrigin.CO_MENTION, context, memory.memory_id)
