"""What the passes are shown: the rows around a batch, read in a few queries and made into the plan's values.

Candidates are looked for by what stands in the memories and cut to a budget, so that a batch costs the same in a small wiki and
in a large one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from compiler.apply import load
from compiler.plan import links, lookup, parents
from compiler.plan.batch import AggregationView, Evidence, LeafBatch, StaleView
from compiler.plan.contract import (
    LinkKind,
    LinkOrigin,
    Memory,
    Page,
    PageKey,
    PageType,
    Source,
    WriteLink,
)
from compiler.plan.lookup import Sought
from compiler.plan.merge import SIMILARITY, Match, Matches, Names, Way
from compiler.plan.text import alias_keys
from compiler.settings import Sight
from compiler.stored import key_of, mentions
from compiler.substrates import MemorySubstrate
from store import candidates, ledger
from store.queries import Connection
from store.scope import Scope

_MOST_LOADED = 150
_MOST_LIKENED = 300
_LIKE_EACH = 3


async def leaf_batch(
    connection: Connection,
    scope: Scope,
    memories: tuple[Memory, ...],
    *,
    sight: Sight,
    count: Callable[[str], int],
    mention_ids: Sequence[UUID] = (),
) -> LeafBatch:
    """Return the batch with the pages and held names that it may be about; `earlier` is still to be fetched."""
    sought = await asyncio.to_thread(lookup.names_in, memories)
    page_ids = await _candidates(connection, scope, sought, sight)
    standing = await load(connection, scope, page_ids)
    active = [page for page in standing.pages.values() if page.is_active]
    shown = await asyncio.to_thread(
        lambda: lookup.choose(active, memories, budget_tokens=sight.candidate_budget_tokens, count=count)
    )
    asked = await candidates.mention_keys(connection, scope, mention_ids) if mention_ids else []
    held = mentions(await candidates.mentions(connection, scope, sorted({*sought.keys, *asked})))
    chosen = lookup.choose_mentions(held, most=max(sight.max_mentions, len(asked)))
    return LeafBatch(memories, shown[: sight.max_candidates], chosen)


async def _candidates(connection: Connection, scope: Scope, sought: Sought, sight: Sight) -> list[UUID]:
    """Return the pages that are named, those named alike, and the top hubs; the most often found first."""
    exact = await candidates.by_aliases(connection, scope, sought.keys)
    found = Counter(page_id for _, page_id in exact)
    unknown = sorted(set(sought.names) - {alias for alias, _ in exact})[:_MOST_LIKENED]
    alike = await candidates.by_likeness(connection, scope, unknown, least=sight.likeness, each=_LIKE_EACH)
    found.update(one.page_id for one in alike)
    ranked = sorted(found, key=lambda page_id: (-found[page_id], page_id))[:_MOST_LOADED]
    hubs = await candidates.top_hubs(connection, scope, limit=sight.top_hubs)
    return list(dict.fromkeys((*ranked, *hubs)))


async def matches(connection: Connection, scope: Scope, names: Names) -> Matches:
    """Return which pages bear the names or ones like them, and whole every page found so."""
    exact = await candidates.by_aliases(connection, scope, names.keys)
    known = {alias for alias, _ in exact}
    asked = sorted({name for _, name in names.similar if name not in known})
    alike = await candidates.by_likeness(connection, scope, asked, least=SIMILARITY, each=_LIKE_EACH)
    there = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in names.pages])
    page_ids = {page_id for _, page_id in exact} | {one.page_id for one in alike} | {one.page_id for one in there}
    standing = await load(connection, scope, page_ids)
    keys = {page_id: key for key, page_id in standing.ids.items()}
    types = {(kind, name) for kind, name in names.similar}
    found = [Match(alias, Way.EXACT, alias, keys[page_id]) for alias, page_id in exact]
    found += [
        Match(one.name, Way.SIMILAR, one.alias, keys[one.page_id], one.likeness)
        for one in alike
        if (keys[one.page_id].type, one.name) in types
    ]
    return Matches(tuple(found), tuple(standing.pages.values()))


async def named_pages(connection: Connection, scope: Scope, names: Sequence[str]) -> dict[str, PageKey]:
    """Return the one active page of each folded name; a name of two pages is left out."""
    hits = await candidates.by_aliases(connection, scope, names)
    by_name: dict[str, set[UUID]] = {}
    for alias, page_id in hits:
        by_name.setdefault(alias, set()).add(page_id)
    single = {alias: next(iter(found)) for alias, found in by_name.items() if len(found) == 1}
    known = await candidates.identities_of(connection, scope, sorted(set(single.values())))
    keys = {one.page_id: key_of(one) for one in known}
    return {alias: keys[page_id] for alias, page_id in sorted(single.items())}


async def existing(connection: Connection, scope: Scope, pages: Iterable[PageKey]) -> frozenset[PageKey]:
    """Return those of the pages that are there and active."""
    found = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in sorted(set(pages))])
    return frozenset(key_of(one) for one in found if one.is_active)


async def feeding(connection: Connection, scope: Scope, memories: Iterable[Memory]) -> dict[str, set[PageKey]]:
    """Return the entity pages that each memory feeds by a section, as things stand."""
    rows = await candidates.feeding(connection, scope, [one.memory_id for one in memories])
    fed: dict[str, set[PageKey]] = {}
    for row in rows:
        fed.setdefault(row["source_ref"], set()).add(PageKey(PageType(row["type"]), row["slug"]))
    return fed


async def topics_titled(connection: Connection, scope: Scope, memories: Iterable[Memory]) -> dict[str, PageKey]:
    """Return the topic pages that the memories' hubs name, by folded title."""
    titles = links.parent_titles(memories)
    hits = await candidates.by_aliases(connection, scope, titles)
    known = await candidates.identities_of(connection, scope, sorted({page_id for _, page_id in hits}))
    keys = {one.page_id: key_of(one) for one in known if one.type == PageType.TOPIC}
    found = {alias: keys[page_id] for alias, page_id in sorted(hits, reverse=True) if page_id in keys}
    return dict(sorted(found.items()))


async def stale_view(
    connection: Connection,
    scope: Scope,
    *,
    changed: frozenset[str],
    gone: frozenset[str],
    substrate: MemorySubstrate,
) -> StaleView:
    """Return what the edited and forgotten memories fed, with the present text of everything cited there."""
    ids = sorted(changed | gone)
    standing = await load(connection, scope, await candidates.citing(connection, scope, ids))
    keys = await candidates.mentions_seen_in(connection, scope, ids)
    held = mentions(await candidates.mentions(connection, scope, keys))
    causes = [_cause(row) for row in await candidates.links_of_refs(connection, scope, ids)]
    pages = tuple(standing.pages.values())
    cited = {source.memory_id for page in pages for source in cited_on(page)}
    cited |= {sighting.source.memory_id for mention in held for sighting in mention.sightings}
    texts = await substrate.fetch(scope, sorted(cited - gone))
    return StaleView(pages, changed, gone, dict(texts), held, tuple(causes))


async def aggregation_view(
    connection: Connection, scope: Scope, *, since: int, memories: tuple[Memory, ...], most: int
) -> AggregationView | None:
    """Return what the aggregation looks at, None when nothing changed and nothing waits for promotion.

    Pages that changed since the last run, the hubs above them, and those that candidates name.
    """
    changed = await candidates.changed_since(connection, scope, since, limit=most)
    waiting = await candidates.waiting_rollups(connection, scope, limit=most)
    if not changed and not waiting:
        return None
    above = await candidates.rollups_of(connection, scope, changed)
    recent = await load(connection, scope, changed)
    found = parents.merge_candidates(parents.from_memories(memories), parents.from_pages(recent.pages.values()))
    titles = sorted({key for one in found for key in alias_keys(one.title)})
    named = [page_id for _, page_id in await candidates.by_aliases(connection, scope, titles)]
    whole = await load(connection, scope, dict.fromkeys((*changed, *waiting, *above, *named)))
    pages = [page for page in whole.pages.values() if page.is_active]
    others = await _others(connection, scope, pages, (key for one in found for key in one.pages))
    return AggregationView(
        tuple(pages),
        found,
        others,
        await _evidence(connection, scope, (*pages, *others), [id_ for one in found for id_ in one.memory_ids]),
        await _inbound(connection, scope, whole.ids),
        await _hierarchy(connection, scope),
    )


async def _others(
    connection: Connection, scope: Scope, pages: Sequence[Page], named: Iterable[PageKey]
) -> tuple[Page, ...]:
    shown = {page.key for page in pages}
    wanted = {child for page in pages for section in page.sections for child in section.children}
    wanted |= {
        key for page in pages for one in page.sections if one.aggregation for key in one.aggregation.linked_pages
    }
    wanted |= set(named)
    asked = [(key.type.value, key.slug) for key in sorted(wanted - shown)]
    known = await candidates.identities(connection, scope, asked)
    standing = await load(connection, scope, [one.page_id for one in known])
    return tuple(page for page in standing.pages.values() if page.is_active)


async def _evidence(
    connection: Connection, scope: Scope, pages: Iterable[Page], more: Iterable[str]
) -> Mapping[str, Evidence]:
    cited = {source.memory_id for page in pages for section in page.sections for source in section.sources} | set(more)
    known = await ledger.read(connection, scope, sorted(cited))
    return {
        memory_id: Evidence(Source(memory_id, entry.text_hash), entry.occurred_at)
        for memory_id, entry in sorted(known.items())
        if entry.outcome is not ledger.Outcome.GONE
    }


async def _inbound(connection: Connection, scope: Scope, ids: Mapping[PageKey, UUID]) -> dict[PageKey, int]:
    keys = {page_id: key for key, page_id in ids.items()}
    counts = await candidates.inbound(connection, scope, sorted(keys))
    return {keys[page_id]: links_ for page_id, links_ in counts}


async def _hierarchy(connection: Connection, scope: Scope) -> dict[PageKey, PageKey]:
    rows = await candidates.hierarchy(connection, scope)
    return {
        PageKey(PageType(row["child_type"]), row["child_slug"]): PageKey(
            PageType(row["parent_type"]), row["parent_slug"]
        )
        for row in rows
    }


def cited_on(page: Page) -> Iterable[Source]:
    """Yield everything that the page cites anywhere."""
    yield from page.summary_sources
    yield from (source for section in page.sections for source in section.sources)
    yield from (source for alias in page.aliases for source in alias.sources)
    yield from (source for tag in page.tags for source in tag.sources)


def _cause(row: Mapping[str, str]) -> WriteLink:
    return WriteLink(
        PageKey(PageType(row["from_type"]), row["from_slug"]),
        PageKey(PageType(row["to_type"]), row["to_slug"]),
        LinkKind(row["kind"]),
        LinkOrigin(row["origin"]),
        row["context"],
        row["ref"],
    )
