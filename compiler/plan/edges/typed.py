"""Links for the typed edges that memories state: between the pages that cite them, and from places to their cities.

Like all links made without a model, they depend only on the memories and on the pages that cite them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.plan.contract import BatchMemory, LinkKind, LinkOrigin, PageKey, WriteLink
from compiler.plan.edge_types import TypedEdge
from compiler.plan.edges.statements import StatedEdge, may_state, statements
from compiler.plan.names.locating import city_of, place_name
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import NameKind, declared
from compiler.plan.text.markdown import plain_key
from store.text.texts import fold

CONTEXT = "deterministic:edge:"


def typed_edges(
    memories: Iterable[BatchMemory],
    named: Mapping[str, Mapping[PageKey, Iterable[str]]],
    parents: Mapping[str, PageKey],
) -> Iterator[WriteLink]:
    """Yield the typed edges of the memories, each with its memory as evidence.

    `named` maps a memory's id to the pages that cite it after the batch, with all their names; `parents` maps a folded title to
    its topic page.
    """
    for memory in memories:
        pages = named.get(memory.memory_id, {})
        owners = _owners(pages)
        city = parents.get(fold(city_of(memory)))
        place = owners.get(plain_key(place_name(memory)))
        if place is not None and city is not None and place != city:
            yield _link(place, city, TypedEdge("located_in", said_at=memory.occurred_at), memory)
        if len(pages) + (city is not None) > 1 and may_state(memory.text):
            names = [name for page in pages.values() for name in page]
            people = {one.name for one in declared(memory) if one.kind is NameKind.PERSON}
            speaker = _speaker(memory)
            for stated in statements(memory.text, names, speaker=speaker, people=people):
                source, target = owners.get(plain_key(stated.subject)), owners.get(plain_key(stated.object))
                if source is not None and target is not None and source != target:
                    yield _link(source, target, _edge(stated, memory), memory)


def is_of_rules(link: WriteLink) -> bool:
    """Return whether a link is a typed edge that the rules wrote."""
    return link.edge is not None and link.origin is LinkOrigin.DETERMINISTIC and link.context.startswith(CONTEXT)


def _owners(pages: Mapping[PageKey, Iterable[str]]) -> dict[str, PageKey]:
    """Return the page of each plain name that exactly one of the pages has."""
    bearers: dict[str, set[PageKey]] = {}
    for page, names in pages.items():
        for name in names:
            bearers.setdefault(plain_key(name), set()).add(page)
    return {name: next(iter(keys)) for name, keys in bearers.items() if name and len(keys) == 1}


def _speaker(memory: BatchMemory) -> str:
    speaker = memory.metadata.get("speaker")
    return speaker_of(memory.text) or (speaker if isinstance(speaker, str) else "")


def _edge(stated: StatedEdge, memory: BatchMemory) -> TypedEdge:
    """Return the stated edge. An edge stated as past ends at the time of the memory at the latest."""
    period = stated.period
    until = period.valid_until or (memory.occurred_at if stated.is_past else None)
    if period.valid_from is not None and until is not None and until <= period.valid_from:
        until = None
    said_at = memory.occurred_at
    return TypedEdge(stated.type, period.valid_from, until, said_at, period.since, period.until, is_sole=stated.is_sole)


def _link(source: PageKey, target: PageKey, edge: TypedEdge, memory: BatchMemory) -> WriteLink:
    context = f"{CONTEXT}{edge.type}"
    return WriteLink(source, target, LinkKind.REFERENCE, LinkOrigin.DETERMINISTIC, context, memory.memory_id, edge)
