"""Judges a leaf planner's proposal: which parts become items, in the order in which they are applied.

Updates come first, then new pages, held names, settled ones, links and memories that end. A proposed page that exists becomes
an update of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from compiler.plan.batch import LeafBatch
from compiler.plan.citing import Citable, citable, source_of, united
from compiler.plan.contract import (
    BatchMemory,
    CreatePage,
    HoldMention,
    LinkKind,
    LinkOrigin,
    Mention,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    SettleMention,
    Sighting,
    Tag,
    WriteAlias,
    WriteLink,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from compiler.plan.decision_builder import DecisionBuilder
from compiler.plan.edge_types import SOLE_TYPES, TypedEdge, first_moment
from compiler.plan.judging import ending, writing
from compiler.plan.judging.duplicate_sentences import once
from compiler.plan.names import naming
from compiler.plan.names.locating import located, tags_at
from compiler.plan.names.merge import Matches, Merger, merger, proposed_key
from compiler.plan.names.planned import PlannedPages
from compiler.plan.ontology.edges import proposed_type
from compiler.plan.ontology.page_types import type_tag
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import HeldName, PageUpdate, Proposal, ProposedLink, ProposedName, ProposedPage
from compiler.plan.text import markdown
from compiler.plan.vocabulary import Vocabulary

_COUNTED_AS = {"exact": "alias_dedup_merged", "derived": "alias_dedup_merged", "fuzzy": "fuzzy_dedupe_merges"}


def decide(batch: LeafBatch, proposal: Proposal, matches: Matches, *, gazetteer: Gazetteer = NO_PLACES) -> PlanDecision:
    """Return the accepted parts of the proposal. The order of candidate pages, mentions and matches does not matter."""
    known = merger(matches, batch.pages, gazetteer=gazetteer)
    leaf = _Leaf(citable(batch), known, batch.mentions, PlannedPages(gazetteer), batch.known)
    for update in proposal.updates:
        leaf.take_update(update)
    for page in (*proposal.new_pages, *(promotion.page for promotion in proposal.promotions)):
        leaf.take_new(page)
    leaf.join_twins()
    leaf.write()
    leaf.hold(proposal.mentions)
    leaf.settle()
    leaf.link(proposal.links)
    ending.judge(proposal.ends, leaf.citable, leaf.builder)
    for foreign in ("rollups", "section_promotions"):
        if getattr(proposal, foreign):
            leaf.builder.reject("not_of_this_pass", foreign)
    return leaf.builder.decision()


@dataclass(slots=True)
class _Leaf:
    """A decision in progress: pages updated and created, and the final key of each proposed page.

    `fresh` are proposals that match no existing page, with the keys of their titles and those of their pages.
    """

    citable: Citable
    merger: Merger
    mentions: tuple[Mention, ...]
    planned: PlannedPages
    known: Vocabulary | None = None
    builder: DecisionBuilder = field(default_factory=DecisionBuilder)
    updates: dict[PageKey, list[PageUpdate]] = field(default_factory=dict)
    fresh: list[tuple[PageKey, PageKey, ProposedPage]] = field(default_factory=list)
    new: dict[PageKey, ProposedPage] = field(default_factory=dict)
    ended: dict[PageKey, PageKey] = field(default_factory=dict)

    def take_update(self, update: PageUpdate) -> None:
        """Record an update of a page that was shown."""
        page = self.merger.pages.get(update.page)
        if page is None or not page.is_active:
            self.builder.reject("unknown_page", update.page.path)
            return
        self.updates.setdefault(update.page, []).append(update)

    def take_new(self, proposed: ProposedPage) -> None:
        """Record a proposed page: as an update of an existing page, or as one to create."""
        page = located(proposed, self.citable)
        key, own = self.merger.key_of(page), proposed_key(page)
        if key is None or own is None:
            self.builder.reject("page_without_name", proposed.title)
            return
        there = self.merger.resolve(page)
        if there is not None:
            self.builder.count(_COUNTED_AS[there.way])
            self.updates.setdefault(there.page, []).append(_as_update(page, there.page))
            self.ended[own] = there.page
            return
        self.fresh.append((own, key, self.merger.rulings.titled(key, page)))

    def join_twins(self) -> None:
        """Merge the new pages of one name. The longest name before a comma is the title; the order of creation stays."""
        first: dict[PageKey, int] = {}
        for at, (own, key, page) in sorted(enumerate(self.fresh), key=lambda one: (-_words(one[1][2]), one[0])):
            twin = self._twin(key, page)
            if twin is not None:
                self.builder.count("twins_in_plan")
                self.new[twin] = _joined(self.new[twin], page)
            else:
                twin = self._free(key, page)
                self.new[twin] = page
            first[twin] = min(at, first.get(twin, at))
            self.ended[own] = twin
            self.planned.add(twin, self.new[twin])
        self.new = {key: self.new[key] for key in sorted(first, key=lambda one: first[one])}

    def _twin(self, key: PageKey, page: ProposedPage) -> PageKey | None:
        """Return the new page that the proposal belongs to; None if there is none. A key that a ruling names is one page's."""
        if self.merger.rulings.page_of(page) == key:
            return key if key in self.new else None
        return self.planned.twin(page)

    def _free(self, key: PageKey, page: ProposedPage) -> PageKey:
        """Return an unused key: as given, with the city, or with a number appended. An archived page's key is free."""
        city = markdown.slug(page.city)
        wanted = [key, *([PageKey(key.type, f"{key.slug}-{city}")] if city else [])]
        numbered = (
            PageKey(key.type, f"{key.slug}-{number}") for number in range(2, len(self.merger.pages) + len(self.new) + 3)
        )
        return next(one for one in (*wanted, *numbered) if self._is_free(one))

    def _is_free(self, key: PageKey) -> bool:
        there = self.merger.pages.get(key)
        if key in self.merger.rulings.merged:
            return False
        return key not in self.new and (there is None or not there.is_active)

    def write(self) -> None:
        """Collect the items of all updates and all new pages, each by key."""
        for key in sorted(self.updates):
            self._update(self.merger.pages[key], self.updates[key])
        for key in self.new:
            self._create(key, self.new[key])

    def _update(self, page: Page, updates: Iterable[PageUpdate]) -> None:
        together = tuple(updates)
        proposed_sections = writing.coalesced(one for update in together for one in update.sections)
        for section in writing.within_bound(page, once(page, proposed_sections, self.citable)):
            written = writing.write(page, section, citable=self.citable, builder=self.builder)
            if written is not None:
                self.builder.items.append(WriteSection(page.key, written.section))
                self.builder.drafts.extend([written.draft] if written.draft else [])
        summary = next((update for update in together if update.summary and self.citable.cite(update.memory_ids)), None)
        if page.key.type is PageType.DECISION and (quoted := [one for one in together if _is_quoted(one)]):
            first = min(quoted, key=_saying)
            summary = replace(first, opens=_saying(first) < _standing(page))
        if summary is not None and (summary.opens or not page.summary):
            standing = () if summary.opens else page.summary_sources
            sources = united(standing, self.citable.cite(summary.memory_ids))
            self.builder.items.append(WriteSummary(page.key, markdown.one_line(summary.summary), sources))
        cited = [one for update in together for one in update.memory_ids]
        cited += [one for update in together for section in update.sections for one in section.memory_ids]
        proposed = [alias for update in together for alias in update.aliases]
        names = naming.aliases(page, proposed, citable=self.citable, cited=cited)
        self.builder.add(WriteAlias(page.key, alias) for alias in names)
        proposed_tags = [tag for update in together for tag in (*update.tags, *self._type_tags(update))]
        proposed_tags += tags_at(page, (alias.name for alias in proposed), self.citable, cited)
        tags = naming.tags(page, proposed_tags, citable=self.citable)
        self.builder.add(WriteTag(page.key, tag) for tag in tags)

    def _create(self, key: PageKey, proposed: ProposedPage) -> None:
        self.builder.rejections.extend(self.citable.unknown(proposed.memory_ids))
        there = self.merger.pages.get(key) or Page(
            key, markdown.one_line(proposed.title)[: markdown.MAX_NAME_CHARS], ""
        )
        page = self.merger.rulings.named(_returned(there))
        sections = {section.slug: section for section in page.sections}
        for one in writing.within_bound(page, once(page, writing.coalesced(proposed.sections), self.citable)):
            written = writing.write(page, one, citable=self.citable, builder=self.builder)
            if written is not None:
                sections[one.slug] = written.section
                self.builder.proposed.extend([written.draft] if written.draft else [])
        proof = self.citable.cite(proposed.memory_ids)
        summary = markdown.one_line(proposed.summary) if proof else ""
        if not sections and not summary:
            self.builder.reject("page_without_sources", key.path)
            self.ended = {name: end for name, end in self.ended.items() if end != key}
            return
        cited = [*proposed.memory_ids, *(one for section in proposed.sections for one in section.memory_ids)]
        names = (ProposedName(proposed.title, proposed.memory_ids), *proposed.aliases)
        aliases = naming.aliases(page, names, citable=self.citable, cited=cited)
        written_keys = {alias.key for alias in aliases}
        made = replace(
            page,
            summary=page.summary or summary,
            summary_sources=page.summary_sources if page.summary or not summary else proof,
            sections=tuple(sections.values()),
            aliases=(*(alias for alias in page.aliases if alias.key not in written_keys), *aliases),
            tags=_with_tags(
                page, naming.tags(page, (*proposed.tags, *self._type_tags(proposed)), citable=self.citable)
            ),
        )
        self.builder.items.append(CreatePage(made))

    def _type_tags(self, one: PageUpdate | ProposedPage) -> tuple[ProposedName, ...]:
        """Return the tag for the entity type that a planner gives a page under an ontology, with all memories it cites."""
        name = type_tag(one.entity_type) if self.known else ""
        cited = (*one.memory_ids, *(memory_id for section in one.sections for memory_id in section.memory_ids))
        return (ProposedName(name, tuple(dict.fromkeys(cited))),) if name else ()

    def hold(self, proposed: Iterable[HeldName]) -> None:
        """Collect the names to hold, each with its sightings; a name that a page has is not held."""
        held: dict[str, Mention] = {}
        for one in proposed:
            name = markdown.one_line(one.alias)[: markdown.MAX_NAME_CHARS]
            key = markdown.alias_key(name)
            if not key or self.planned.knows(key) or self.merger.knows(key):
                self.builder.reject("mention_of_page" if key else "mention_without_name", one.alias)
                continue
            self.builder.rejections.extend(self.citable.unknown(one.memory_ids))
            seen = tuple(_sighting(name, memory) for memory in self.citable.texts(one.memory_ids))
            if not seen:
                self.builder.reject("mention_without_sources", one.alias)
                continue
            first = held.get(key) or Mention(key, name, one.suggested_type)
            held[key] = replace(first, sightings=tuple(dict.fromkeys((*first.sightings, *seen))))
        self.builder.add(HoldMention(held[key]) for key in sorted(held))

    def settle(self) -> None:
        """Collect the shown mentions whose name a page of this decision has."""
        named = {
            alias.key: item.page.key
            for item in self.builder.items
            if isinstance(item, CreatePage)
            for alias in item.page.aliases
        }
        named |= {item.alias.key: item.page for item in self.builder.items if isinstance(item, WriteAlias)}
        known = sorted({mention.key for mention in self.mentions})
        found = [(key, named.get(key) or self.merger.page_of(key)) for key in known]
        self.builder.add(SettleMention(key, page) for key, page in found if page is not None)

    def link(self, proposed: Iterable[ProposedLink]) -> None:
        """Collect the links between pages that exist or are being created; reject others."""
        made = {item.page.key for item in self.builder.items if isinstance(item, CreatePage)}
        there = made | {key for key, page in self.merger.pages.items() if page.is_active}
        seen = set()
        for one in proposed:
            source, target = self.ended.get(one.source, one.source), self.ended.get(one.target, one.target)
            if source not in there or target not in there or source == target:
                self.builder.reject(
                    "link_to_itself" if source == target else "link_to_unknown_page", f"{source.path} {target.path}"
                )
                continue
            if (source, target) not in seen:
                seen.add((source, target))
                context = markdown.one_line(one.context)[: naming.QUOTE_CHARS]
                self.builder.items.append(WriteLink(source, target, LinkKind.REFERENCE, LinkOrigin.PLANNER, context))
            if one.edge_type:
                self._type(one, source, target)

    def _type(self, one: ProposedLink, source: PageKey, target: PageKey) -> None:
        """Collect a typed edge, with each cited memory as evidence; an unknown type stays an untyped link."""
        edge_type = proposed_type(one.edge_type, self.known)
        if not edge_type:
            self.builder.reject("unknown_edge_type", one.edge_type)
            return
        cited = self.citable.texts(one.memory_ids)
        if not cited:
            self.builder.reject("edge_without_sources", f"{source.path} {edge_type} {target.path}")
        since, until = first_moment(one.since), first_moment(one.until)
        if since is not None and until is not None and until <= since:
            until = None
        for memory in cited:
            edge = TypedEdge(
                edge_type,
                since,
                until,
                memory.occurred_at,
                one.since if since else "",
                one.until if until else "",
                is_sole=edge_type in SOLE_TYPES and until is None,
            )
            self.builder.items.append(
                WriteLink(
                    source,
                    target,
                    LinkKind.REFERENCE,
                    LinkOrigin.PLANNER,
                    f"edge:{edge.type}",
                    memory.memory_id,
                    edge,
                )
            )


def _words(page: ProposedPage) -> int:
    return len(markdown.plain_key(page.title.partition(",")[0]).split())


def _as_update(page: ProposedPage, key: PageKey) -> PageUpdate:
    aliases = (ProposedName(page.title, page.memory_ids), *page.aliases)
    return PageUpdate(
        key, page.sections, aliases, page.tags, page.summary, page.memory_ids, entity_type=page.entity_type
    )


def _is_quoted(one: ProposedPage | PageUpdate) -> bool:
    return bool(one.summary and one.sections) and all(section.is_verbatim for section in one.sections)


def _saying(one: ProposedPage | PageUpdate) -> tuple[str, tuple[str, ...]]:
    """Return the order of quotations of one decision, by day and words, so that it does not matter which came first."""
    return markdown.one_line(one.summary), tuple(sorted(one.memory_ids))


def _standing(page: Page) -> tuple[str, tuple[str, ...]]:
    return page.summary, tuple(sorted(source.memory_id for source in page.summary_sources))


def _joined(first: ProposedPage, second: ProposedPage) -> ProposedPage:
    if first.type is PageType.DECISION and _is_quoted(first) and _is_quoted(second):
        said = min(first, second, key=_saying)
        aliases = (ProposedName(first.title, first.memory_ids), *first.aliases)
        first = replace(first, summary=said.summary, memory_ids=said.memory_ids, aliases=aliases)
    return replace(
        first,
        summary=first.summary or second.summary,
        sections=(*first.sections, *second.sections),
        aliases=(*first.aliases, ProposedName(second.title, second.memory_ids), *second.aliases),
        tags=(*first.tags, *second.tags),
        entity_type=first.entity_type or second.entity_type,
        memory_ids=tuple(dict.fromkeys((*first.memory_ids, *(() if first.summary else second.memory_ids)))),
        city=first.city or second.city,
    )


def _with_tags(page: Page, tags: Iterable[Tag]) -> tuple[Tag, ...]:
    written = {tag.name: tag for tag in tags}
    return (*(tag for tag in page.tags if tag.name not in written), *written.values())


def _sighting(alias: str, memory: BatchMemory) -> Sighting:
    return Sighting(source_of(memory), naming.quote(alias, memory.text), memory.occurred_at)


def _returned(archived: Page) -> Page:
    """Return the archived page as an active one. If it is empty, its compiler names lose their sources, edited away.

    An archived page keeps these sources, so that forgetting the memories removes the title.
    """
    if archived.sections or archived.summary:
        return replace(archived, is_active=True)
    aliases = (replace(alias, sources=()) if alias.origin == "compiler" else alias for alias in archived.aliases)
    return replace(archived, is_active=True, aliases=tuple(aliases))
