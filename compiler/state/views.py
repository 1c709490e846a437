"""Reads the views that passes plan from: the rows around a batch, in a few queries, mapped to the plan's values.

Candidates are searched by the memories' contents and cut to a budget, so that a batch costs the same in a small and a
large wiki.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from compiler.plan.batch import AggregationView, LeafBatch, MemoryEvidence, ParentCandidate, StaleView
from compiler.plan.contract import (
    BatchMemory,
    CitedMemory,
    LinkOrigin,
    Page,
    PageKey,
    PageType,
    WriteLink,
)
from compiler.plan.edges.typed import is_of_rules
from compiler.plan.judging import departing, links, membership, parents
from compiler.plan.names import lookup, ruled
from compiler.plan.names.lookup import Sought
from compiler.plan.names.merge import SIMILARITY, Match, Matches, Names, Way
from compiler.plan.text.markdown import alias_keys
from compiler.settings import Sight
from compiler.state import people, surroundings, tagged
from compiler.state.row_mapping import Stored, key_of, link_cause, load, mentions, outline, ruling
from compiler.state.substrates import MemorySubstrate
from store.compile import ledger
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates, rulings
from store.wiki.candidates import Like, PageIdentity, Place

_MOST_LOADED = 150
_MOST_LIKENED = 300
_LIKE_EACH = 3
_LESS_LIKE = 0.1
_LONGER_EACH = 50
_AKIN_EACH = 2
_MOST_NEARED = 10
_MOST_FED = 300
_Candidates = tuple[ParentCandidate, ...]


@dataclass(frozen=True, slots=True)
class Looking:
    """The parameters of reading a batch: the limits of what is shown, and the function that counts tokens.

    `near` are the pages that vector search found, for a batch that is replayed; None searches.
    """

    sight: Sight
    count: Callable[[str], int]
    near: tuple[PageKey, ...] | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """The window of an aggregation: at most `most` pages that changed after `since`.

    With `is_linking`, a new hub's children are linked to it by the memories that they cite, whenever these were read. With
    `is_for_change`, pages that only wait for promotion do not start an aggregation, because the last one failed. With
    `is_by_rules` the extractive planner plans: it is shown all members of a hub, changed or not. With `is_whole` every changed
    page is shown whole; else only those that may change a hub.
    """

    since: Place
    most: int
    is_linking: bool
    is_for_change: bool = False
    is_by_rules: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """Candidate pages of a batch, best first: `named` are named pages and hubs, `about` found by words, `near` by vectors."""

    named: list[UUID]
    about: list[UUID]
    near: list[UUID]


async def leaf_batch(
    connection: Connection,
    scope: Scope,
    memories: tuple[BatchMemory, ...],
    looking: Looking,
    *,
    mention_ids: Sequence[UUID] = (),
) -> LeafBatch:
    """Return the batch with the candidate pages and held names; the caller fetches `earlier`."""
    sight = looking.sight
    sought = await asyncio.to_thread(lookup.names_in, memories)
    found = await _candidates(connection, scope, memories, sought, looking)
    standing = await load(connection, scope, [*found.named, *found.about, *found.near])
    active = [page for page in standing.pages.values() if page.is_active]
    by_id = {page_id: key for key, page_id in standing.ids.items()}
    akin = frozenset(by_id[page_id] for page_id in (*found.about, *found.near) if page_id in by_id)
    budget_tokens = sight.candidate_budget_tokens
    shown = await asyncio.to_thread(
        lambda: lookup.choose(active, sought, budget_tokens=budget_tokens, count=looking.count, akin=akin)
    )
    mention_keys = await candidates.mention_keys(connection, scope, mention_ids) if mention_ids else []
    held = mentions(await candidates.mentions(connection, scope, sorted({*sought.keys, *mention_keys})))
    chosen = lookup.choose_mentions(held, most=max(sight.max_mentions, len(mention_keys)))
    near = tuple(sorted(by_id[page_id] for page_id in found.near if page_id in by_id))
    return LeafBatch(memories, shown[: sight.max_candidates], chosen, near=near)


async def _candidates(
    connection: Connection, scope: Scope, memories: tuple[BatchMemory, ...], sought: Sought, looking: Looking
) -> _Found:
    """Return the pages named, those with similar names and the top hubs; for memories that name no page, the most relevant."""
    sight = looking.sight
    exact = await candidates.bearing(connection, scope, sought.keys)
    found = Counter(one.page_id for _, one in exact)
    labels = {one.page_id: alias for alias, one in exact}
    known = {alias for alias, _ in exact}
    unknown = sorted(set(sought.names) - known)[:_MOST_LIKENED]
    alike = _likest(await candidates.by_likeness(connection, scope, unknown, least=sight.likeness, each=_LIKE_EACH))
    found.update(one.page_id for one in alike)
    labels = {one.page_id: one.alias for one in alike} | labels
    ranked = sorted(found, key=lambda page_id: (-found[page_id], labels[page_id], page_id))[
        : max(_MOST_LOADED, sight.max_candidates)
    ]
    hubs = await candidates.top_hubs(connection, scope, limit=sight.top_hubs)
    silent = lookup.unnamed(memories, sought, (*known, *(one.name for one in alike)))
    about = await candidates.about(connection, scope, lookup.words_to_search(silent), each=_AKIN_EACH)
    near = await _near(connection, scope, silent, looking)
    return _Found(list(dict.fromkeys((*ranked, *hubs))), about, near)


def _likest(found: Sequence[Like]) -> list[Like]:
    """Return the matches nearly as similar as the best for their name; less similar pages are rarely meant."""
    best: dict[str, float] = {}
    for one in found:
        best[one.name] = max(one.likeness, best.get(one.name, 0.0))
    return [one for one in found if one.likeness >= best[one.name] - _LESS_LIKE]


async def _near(connection: Connection, scope: Scope, memories: Sequence[BatchMemory], looking: Looking) -> list[UUID]:
    if looking.near is not None:
        known = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in looking.near])
        return [one.page_id for one in known]
    memory_ids = [memory.memory_id for memory in memories[:_MOST_NEARED]]
    return await candidates.near(connection, scope, memory_ids, least=looking.sight.nearness, each=_AKIN_EACH)


async def matches(connection: Connection, scope: Scope, names: Names) -> Matches:
    """Return the matches of the names or similar ones, with the complete pages."""
    exact = await candidates.by_aliases(connection, scope, names.keys)
    known = {alias for alias, _ in exact}
    similar = sorted({name for _, name in names.similar if name not in known})
    alike = await candidates.by_likeness(connection, scope, similar, least=SIMILARITY, each=_LIKE_EACH)
    longer = await candidates.by_beginnings(connection, scope, names.prefixes, each=_LONGER_EACH)
    rules = await operator_rulings(connection, scope)
    wanted = sorted({*names.pages, *rules.ends(names.keys, names.pages)})
    there = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in wanted])
    page_ids = {page_id for _, page_id in exact} | {one.page_id for one in alike} | {one.page_id for one in there}
    page_ids |= {page_id for _, _, page_id in longer}
    standing = await load(connection, scope, page_ids)
    keys = {page_id: key for key, page_id in standing.ids.items()}
    types = {(kind, name) for kind, name in names.similar}
    found = [Match(alias, Way.EXACT, alias, keys[page_id]) for alias, page_id in exact]
    found += [Match(beginning, Way.PREFIX, alias, keys[page_id]) for beginning, alias, page_id in longer]
    found += [
        Match(one.name, Way.SIMILAR, one.alias, keys[one.page_id], one.likeness)
        for one in alike
        if (keys[one.page_id].type, one.name) in types
    ]
    return Matches(tuple(found), tuple(standing.pages.values()), rules)


async def operator_rulings(connection: Connection, scope: Scope) -> ruled.Rulings:
    """Return the operators' rulings of the scope."""
    return ruled.rulings(map(ruling, await rulings.listed(connection, scope)))


async def named_pages(connection: Connection, scope: Scope, names: Sequence[str]) -> dict[str, PageKey]:
    """Return the active page of each folded name; of several pages, the one with that title. Ambiguous names are left out."""
    found = _meant(await candidates.bearing(connection, scope, names))
    return {alias: pages[0] for alias, pages in found.items() if len(pages) == 1}


def _meant(hits: Iterable[tuple[str, PageIdentity]]) -> dict[str, list[PageKey]]:
    """Return the pages with each name, by path; if it is a title, only the pages with that title."""
    borne: dict[str, set[PageKey]] = {}
    titled: dict[str, set[PageKey]] = {}
    for alias, one in hits:
        borne.setdefault(alias, set()).add(key_of(one))
        if alias in alias_keys(one.title):
            titled.setdefault(alias, set()).add(key_of(one))
    return {alias: sorted(titled.get(alias, pages)) for alias, pages in sorted(borne.items())}


async def existing(connection: Connection, scope: Scope, pages: Iterable[PageKey]) -> frozenset[PageKey]:
    """Return the pages that exist and are active."""
    found = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in sorted(set(pages))])
    return frozenset(key_of(one) for one in found if one.is_active)


async def feeding(connection: Connection, scope: Scope, memories: Iterable[BatchMemory]) -> dict[str, set[PageKey]]:
    """Return, by memory id, the entity pages with a section that cites it at present."""
    return await _feeding(connection, scope, [one.memory_id for one in memories])


async def _feeding(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> dict[str, set[PageKey]]:
    rows = await candidates.feeding(connection, scope, memory_ids)
    fed: dict[str, set[PageKey]] = {}
    for row in rows:
        fed.setdefault(row["source_ref"], set()).add(PageKey(PageType(row["type"]), row["slug"]))
    return fed


async def topics_titled(connection: Connection, scope: Scope, memories: Iterable[BatchMemory]) -> dict[str, PageKey]:
    """Return the topic pages that the memories' hubs name, by folded title."""
    titles = links.parent_titles(memories)
    hits = [hit for hit in await candidates.bearing(connection, scope, titles) if hit[1].type == PageType.TOPIC]
    return {alias: pages[0] for alias, pages in _meant(hits).items()}


async def links_of(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> tuple[WriteLink, ...]:
    """Return the present links of the memories: those to hubs, co-mentions of their pages, and typed edges of the rules."""
    causes = (
        [link_cause(row) for row in await candidates.links_of_refs(connection, scope, memory_ids)] if memory_ids else []
    )
    return tuple(
        one for one in causes if one.origin is LinkOrigin.CO_MENTION or is_of_rules(one) or links.is_to_hub(one)
    )


async def names_of(connection: Connection, scope: Scope, pages: Iterable[PageKey]) -> dict[PageKey, tuple[str, ...]]:
    """Return the title and all other names of each of the pages that exist."""
    paths = [(key.type.value, key.slug) for key in sorted(pages)]
    rows = await candidates.names_of(connection, scope, paths) if paths else []
    return {PageKey(PageType(row["type"]), row["slug"]): (row["title"], *row["displays"]) for row in rows}


async def stale_view(
    connection: Connection,
    scope: Scope,
    *,
    changed: frozenset[str],
    gone: frozenset[str],
    substrate: MemorySubstrate,
) -> StaleView:
    """Return the content that came from the edited and forgotten memories, with the present texts of all memories cited there."""
    ids = sorted(changed | gone)
    standing = await load(connection, scope, await candidates.citing(connection, scope, ids))
    keys = await candidates.mentions_seen_in(connection, scope, ids)
    held = mentions(await candidates.mentions(connection, scope, keys))
    causes = [link_cause(row) for row in await candidates.links_of_refs(connection, scope, ids)]
    pages = tuple(standing.pages.values())
    cited = {source.memory_id for page in pages for source in page.cited()}
    cited |= {sighting.source.memory_id for mention in held for sighting in mention.sightings}
    texts = await substrate.fetch(scope, sorted(cited - gone))
    view = StaleView(pages, changed, gone, dict(texts), held, tuple(causes))
    if not gone or not pages:
        return view
    ended = [page.key.path for page in pages if page.key in departing.ending(view)]
    around = await surroundings.around(connection, scope, sorted(standing.ids[page.key] for page in pages), ended)
    return replace(view, around=tuple(around.values()))


async def window(connection: Connection, scope: Scope, look: Look) -> tuple[list[UUID], Place | None]:
    """Return the ids of the changed pages of the window, and the place of the last one if there are more."""
    found = await candidates.changed_since(connection, scope, look.since, limit=look.most + 1)
    reached = found[look.most - 1][1] if len(found) > look.most else None
    return [page_id for page_id, _ in found[: look.most]], reached


async def memories_of_tags(connection: Connection, scope: Scope, look: Look) -> list[str]:
    """Return the ids of memories that prove a city or a journal of the changed pages, for hubs; without a model also a theme."""
    changed, _ = await window(connection, scope, look)
    return await tagged.memories_behind(connection, scope, changed, has_themes=look.is_by_rules)


async def aggregation_view(
    connection: Connection, scope: Scope, memories: tuple[BatchMemory, ...], look: Look
) -> tuple[AggregationView | None, Place | None]:
    """Return the view for the aggregation, None if nothing changed and nothing waits for promotion.

    Besides the changed pages it has the hubs above them, the pages that candidates name, and the pages that cite
    candidates' memories. The place of the last changed page is returned if there are more.
    """
    changed, reached = await window(connection, scope, look)
    waiting = await candidates.waiting_rollups(connection, scope, limit=look.most)
    if not changed and (look.is_for_change or not waiting):
        return None, None
    above = await candidates.rollups_of(connection, scope, changed)
    tagged_candidates = parents.merge_candidates(
        parents.from_memories(memories), parents.of_single_memories(memories) if look.is_by_rules else ()
    )
    recent, found, lean = await _recent(connection, scope, changed, above, tagged_candidates, look)
    if look.is_by_rules:
        hubs = await load(connection, scope, [*above, *waiting])
        listing = [
            page for page in (*hubs.pages.values(), *recent.pages.values()) if page.is_active and parents.has_list(page)
        ]
        found = await tagged.by_rules(connection, scope, found, listing, (*recent.pages.values(), *lean.values()))
    found = await tagged.with_all_pages(connection, scope, found)
    titles = sorted({key for one in found for key in alias_keys(one.title)})
    named = [page_id for _, page_id in await candidates.by_aliases(connection, scope, titles)]
    rest = await load(connection, scope, {*waiting, *above, *named} - {recent.ids[key] for key in recent.pages})
    whole = Stored({**recent.pages, **rest.pages}, {**recent.ids, **rest.ids})
    pages = [page for _, page in sorted(whole.pages.items()) if page.is_active]
    cited = sorted({memory_id for one in found for memory_id in one.memory_ids})
    fed = {key for keys in (await _feeding(connection, scope, cited)).values() for key in keys}
    members = await tagged.pages_of(connection, scope, found) if look.is_by_rules else set()
    others = await _others(
        connection, scope, pages, {*sorted(fed)[:_MOST_FED], *members, *(key for one in found for key in one.pages)}
    )
    known = {page.key for page in (*pages, *others)}
    outlined = [page for key, page in sorted(lean.items()) if key not in known]
    more = [*cited, *await _cited_elsewhere(connection, scope, (*pages, *others), outlined)]
    view = AggregationView(
        tuple(pages),
        found,
        (*others, *outlined),
        await _evidence(connection, scope, (*pages, *others), more),
        await surroundings.inbound(connection, scope, {page.key: whole.ids[page.key] for page in pages}),
        await surroundings.hierarchy(connection, scope),
        frozenset({*lean, *recent.pages}),
    )
    return view, reached


async def _recent(
    connection: Connection, scope: Scope, changed: Sequence[UUID], above: Sequence[UUID], known: _Candidates, look: Look
) -> tuple[Stored, _Candidates, dict[PageKey, Page]]:
    """Return the changed pages to show whole, the candidates of memories and pages, and outlines of the other changed pages."""
    if look.is_whole:
        recent = await load(connection, scope, changed)
        return recent, parents.merge_candidates(known, parents.from_pages(recent.pages.values())), {}
    rows = await candidates.outlines(connection, scope, changed)
    lean = {row["page_id"]: outline(row) for row in rows}
    first = {row["page_id"] for row in rows if row["has_list"] or row["type"] != PageType.ENTITY}
    first |= {page_id for page_id, page in lean.items() if parents.city_in_summary(page.summary)}
    recent = await load(connection, scope, first)
    found = parents.merge_candidates(known, parents.from_pages(recent.pages.values()))
    joining = membership.may_join(found, lean.values())
    rest = await load(
        connection, scope, [id_ for id_, page in lean.items() if page.key in joining and id_ not in first]
    )
    listing = {*above, *(row["page_id"] for row in rows if row["has_list"])}
    found = parents.merge_candidates(found, await people.candidates_of(connection, scope, lean.values(), listing))
    whole = Stored({**recent.pages, **rest.pages}, {**recent.ids, **rest.ids})
    return whole, found, {page.key: page for page in lean.values() if page.key not in whole.pages}


async def _cited_elsewhere(
    connection: Connection, scope: Scope, shown: Iterable[Page], left: Collection[Page]
) -> list[str]:
    """Return the ids of memories that are sources of the shown pages' tags and that sections of the `left` pages cite."""
    tagged = sorted({source.memory_id for page in shown for tag in page.tags for source in tag.sources}) if left else []
    fed = await _feeding(connection, scope, tagged)
    keys = {page.key for page in left}
    return [memory_id for memory_id, pages in fed.items() if not keys.isdisjoint(pages)]


async def _others(
    connection: Connection, scope: Scope, pages: Sequence[Page], named: Iterable[PageKey]
) -> tuple[Page, ...]:
    shown = {page.key for page in pages}
    wanted = {child for page in pages for section in page.sections for child in section.children}
    wanted |= {
        key for page in pages for one in page.sections if one.aggregation for key in one.aggregation.linked_pages
    }
    wanted |= set(named)
    paths = [(key.type.value, key.slug) for key in sorted(wanted - shown)]
    known = await candidates.identities(connection, scope, paths)
    standing = await load(connection, scope, [one.page_id for one in known])
    return tuple(page for page in standing.pages.values() if page.is_active)


async def _evidence(
    connection: Connection, scope: Scope, pages: Iterable[Page], more: Iterable[str]
) -> Mapping[str, MemoryEvidence]:
    cited = {source.memory_id for page in pages for source in page.cited()} | set(more)
    known = await ledger.read(connection, scope, sorted(cited))
    return {
        memory_id: MemoryEvidence(CitedMemory(memory_id, entry.text_hash), entry.occurred_at)
        for memory_id, entry in sorted(known.items())
        if entry.outcome is not ledger.MemoryOutcome.GONE
    }
