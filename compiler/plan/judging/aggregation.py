"""Judges an aggregation planner's proposal: hubs, rollups, promotions, parents and scores.

Membership is verified here for every planner. A child is in one section of a parent only. A hub needs three verified children.
Rollups are rendered, never written by a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from compiler.plan import bounds
from compiler.plan.batch import AggregationView
from compiler.plan.citing import united
from compiler.plan.contract import (
    Aggregation,
    Alias,
    CitedMemory,
    CreatePage,
    DeletePage,
    DropLink,
    LinkKind,
    LinkOrigin,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    PromotionStatus,
    RemoveSection,
    ScoreHubs,
    Section,
    SetParent,
    WriteLink,
    WriteSection,
)
from compiler.plan.decision_builder import DecisionBuilder
from compiler.plan.judging import membership, promotion, writing
from compiler.plan.judging.membership import MIN_CHILDREN, MemberRequirement, bare, hub_cities, requirement, shows
from compiler.plan.judging.titles import in_their_language
from compiler.plan.names import naming
from compiler.plan.names.merge import Matches, Merger, merger, proposed_key
from compiler.plan.names.ruled import known_as
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import Proposal, ProposedLink, ProposedPage, Rollup, SectionPromotion
from compiler.plan.text import markdown, paging, rollup

MAX_HIGHLIGHTS = 5


def decide(
    view: AggregationView, proposal: Proposal, matches: Matches, *, gazetteer: Gazetteer = NO_PLACES
) -> PlanDecision:
    """Return the accepted parts of the proposal, and the rollups to render again because a child changed.

    The order of the view's pages and of matches does not matter. There are no drafts: everything is rendered.
    """
    continued = {page.key: page for page in (*view.others, *view.pages, *matches.pages) if page != rollup.whole(page)}
    view, titled = in_their_language(whole(view))
    matches = replace(matches, pages=tuple(map(rollup.whole, matches.pages)))
    known = merger(matches, (*view.pages, *view.others), gazetteer=gazetteer)
    cities = hub_cities(view.candidates, (*view.pages, *view.others))
    passing = _Pass(view, known, continued, cities)
    passing.builder.add(titled)
    for name in ("updates", "mentions", "promotions"):
        if getattr(proposal, name):
            passing.builder.reject("not_of_this_pass", name)
    for hub in proposal.new_pages:
        passing.take_hub(hub)
    for one in proposal.rollups:
        passing.clear(one)
    for one in proposal.rollups:
        passing.take_rollup(one)
    passing.refresh()
    for section_promotion in proposal.section_promotions:
        passing.promote(section_promotion)
    passing.write()
    passing.drop()
    passing.link(proposal.links)
    passing.score_hubs()
    return passing.builder.decision()


def whole(view: AggregationView) -> AggregationView:
    """Return the view with each continued list as one section."""
    return replace(view, pages=tuple(map(rollup.whole, view.pages)), others=tuple(map(rollup.whole, view.others)))


@dataclass(slots=True)
class _Pass:
    """An aggregation in progress: hubs to create, and the new state of rollups.

    `continued` are the stored pages whose lists have continuations, `ended` maps the keys of proposed hubs to their final keys.
    """

    view: AggregationView
    merger: Merger
    continued: Mapping[PageKey, Page]
    cities: frozenset[str]
    builder: DecisionBuilder = field(default_factory=DecisionBuilder)
    hubs: dict[PageKey, Page] = field(default_factory=dict)
    ended: dict[PageKey, PageKey] = field(default_factory=dict)
    rollups: dict[tuple[PageKey, str], Section] = field(default_factory=dict)
    promoted: list[tuple[PageKey, Page]] = field(default_factory=list)

    def take_hub(self, proposed: ProposedPage) -> None:
        """Record a proposed hub: as an existing page, or as a new one, created once it has its children."""
        own, key = proposed_key(proposed), self.merger.key_of(proposed)
        if own is None or key is None or proposed.type is not PageType.TOPIC:
            self.builder.reject("hub_without_name" if key is None else "hub_is_no_topic", proposed.title)
            return
        resolution = self.merger.resolve(proposed)
        if resolution is not None:
            self.builder.count("fuzzy_dedupe_merges" if resolution.way == "fuzzy" else "alias_dedup_merged")
            self.ended[own] = resolution.page
            return
        proposed = self.merger.rulings.titled(key, proposed)
        standing = self.merger.pages.get(key)
        if standing is not None and standing.is_active:
            self.ended[own] = key
            return
        title = markdown.one_line(proposed.title)[: markdown.MAX_NAME_CHARS]
        proof = self._cited(proposed.memory_ids)
        summary = markdown.one_line(proposed.summary) if proof else ""
        names = (title, *(one.name for one in proposed.aliases))
        aliases = tuple(Alias(one, name, sources=proof) for name in names for one in markdown.alias_keys(name))
        hub = Page(key, title, summary, proof if summary else (), aliases=aliases)
        self.hubs[key] = self.merger.rulings.named(hub)
        self.ended[own] = self.ended[key] = key

    def clear(self, proposed: Rollup) -> None:
        """Empty a section whose complete list is proposed. It precedes all `take_rollup`: a page may move between sections."""
        page = self._page(proposed.page) if proposed.is_whole else None
        standing = self._standing(page, proposed.section_slug) if page is not None else None
        known = standing.aggregation if standing is not None else None
        if known is not None and known.promoted_page is not None:
            self.clear(replace(proposed, page=known.promoted_page))
        elif page is not None and standing is not None and known is not None:
            empty = replace(standing, sources=(), children=(), aggregation=replace(known, observed_tags=()))
            self.rollups[page.key, standing.slug] = empty

    def take_rollup(self, proposed: Rollup) -> None:
        """Record a rollup: its present children, and the proposed ones that are verified and in no other section."""
        page = self._page(proposed.page)
        if page is None:
            self.builder.reject("unknown_page", proposed.page.path)
            return
        if not proposed.children:
            if proposed.is_whole:
                return
            self.builder.reject("rollup_without_children", page.key.path)
            return
        named = writing.section_slug(proposed.section_slug)
        slug = named or writing.section_slug(proposed.heading) or "related_entities"
        standing = self._standing(page, slug)
        if proposed.is_whole:
            standing = self.rollups.get((page.key, slug), standing)
        if standing is not None and standing.aggregation is None:
            self.builder.reject("section_is_no_rollup", f"{page.key.path}#{slug}")
            return
        known = standing.aggregation if standing and standing.aggregation else self._left(page.key, slug)
        if known.promoted_page is not None and self._page(known.promoted_page) is not None:
            self.take_rollup(replace(proposed, page=known.promoted_page))
            return
        taken = self._verified(page, slug, proposed)
        children = tuple(sorted({*(standing.children if standing else ()), *taken}))
        if not children:
            return
        heading = standing.heading if standing else proposed.heading.strip() or markdown.heading(slug)
        sources = united(standing.sources if standing else (), self._cited(proposed.memory_ids))
        if not sources and not proposed.is_whole:
            sources = membership.shown_by(self.merger.pages[key] for key in children if key in self.merger.pages)
        more = {markdown.one_line(tag).casefold() for tag in proposed.observed_tags} - {""}
        tags = tuple(sorted({*known.observed_tags, *more}))[: bounds.TAGS]
        self.rollups[page.key, slug] = Section(slug, heading, "", sources, children, replace(known, observed_tags=tags))

    def _verified(self, page: Page, slug: str, proposed: Rollup) -> list[PageKey]:
        required = self._required(page)
        claimed = self._claims(page, besides=slug)
        above = {page.key, *self._ancestors(page.key)}
        taken = []
        for key in dict.fromkeys(proposed.children):
            child = self.merger.pages.get(key)
            if child is None or not child.is_active:
                self.builder.reject("unknown_child", key.path)
            elif key in above:
                self.builder.reject("child_is_ancestor", key.path)
            elif not shows(child, required):
                self.builder.reject("child_without_evidence", f"{page.key.path} {key.path}")
            elif key in claimed:
                self.builder.reject("child_claimed", f"{page.key.path} {key.path}")
            else:
                taken.append(key)
        return taken

    def refresh(self) -> None:
        """Record every existing rollup, without children that are gone or no longer verified; drop hubs with few children."""
        for page in sorted(self.view.pages, key=lambda page: page.key):
            lists = [one for one in page.sections if one.aggregation is not None and one.children]
            required = self._required(page) if lists else MemberRequirement()
            for section in lists:
                planned = self.rollups.get((page.key, section.slug), section)
                kept = tuple(key for key in planned.children if self._still(key, required))
                self.rollups[page.key, section.slug] = replace(planned, children=kept)
        for key in [key for key in self.hubs if self._count(key) < MIN_CHILDREN]:
            self.builder.reject("hub_with_few_children", key.path)
            del self.hubs[key]
            self.rollups = {place: one for place, one in self.rollups.items() if place[0] != key}
        self.rollups = {place: self._rendered(one) for place, one in sorted(self.rollups.items())}

    def _required(self, page: Page) -> MemberRequirement:
        above = self.merger.pages.get(page.parent) if page.parent is not None else None
        lists = (one.aggregation for one in above.sections) if above is not None else ()
        if above is not None and any(one is not None and one.promoted_page == page.key for one in lists):
            page = above  # a promoted list requires what it did on its hub: any place shows a word of `Velmar Places`
        names = (one.title for one in self.view.candidates)
        return requirement(known_as(page), names, cities=self.cities, gazetteer=self.merger.gazetteer)

    def _still(self, key: PageKey, required: MemberRequirement) -> bool:
        child = self.merger.pages.get(key)
        return child is not None and child.is_active and shows(child, required)

    def _count(self, page: PageKey) -> int:
        return len({child for place, one in self.rollups.items() if place[0] == page for child in one.children})

    def _rendered(self, section: Section) -> Section:
        children = rollup.ordered(self._children(section))
        body = rollup.render(children)
        known = section.aggregation or Aggregation()
        seen = self.view.evidence
        times = [seen[one.memory_id].occurred_at for one in section.sources if one.memory_id in seen]
        first, last = min(times, default=known.first_source_at), max(times, default=known.last_source_at)
        signals = promotion.Signals(
            linked_pages=len(section.children),
            supporting_records=len(section.sources),
            spread_days=promotion.spread_days(first, last),
            tag_overlap=promotion.tag_overlap(
                known.observed_tags, [[tag.name for tag in child.tags] for child in children]
            ),
            body_chars=len(body),
        )
        score = promotion.score(signals)
        counted = replace(
            known,
            linked_pages=section.children,
            supporting_record_count=len(section.sources),
            first_source_at=first,
            last_source_at=last,
            promotion_score=score,
            promotion_status=promotion.status_after(known.promotion_status, score),
        )
        return replace(section, body_md=body, aggregation=counted)

    def promote(self, proposed: SectionPromotion) -> None:
        """Record a section's promotion if it was a candidate before this pass and its score still reaches the threshold."""
        page = self._page(proposed.page)
        slug = writing.section_slug(proposed.section_slug)
        standing = self._standing(page, slug) if page else None
        if page is None or standing is None or standing.aggregation is None:
            self.builder.reject("unknown_section", f"{proposed.page.path}#{proposed.section_slug}")
            return
        section = self.rollups.get((page.key, slug), standing)
        now = section.aggregation or standing.aggregation
        if (
            standing.aggregation.promotion_status is not PromotionStatus.CANDIDATE
            or now.promotion_score < promotion.PROMOTE_READY
        ):
            self.builder.reject("section_not_ready", f"{page.key.path}#{slug}")
            return
        key = self.merger.key_of(proposed.new_page)
        if (
            key is None
            or key.type is not PageType.TOPIC
            or self._is_there(key, proposed.new_page.title)
            or key in self._ancestors(page.key)
        ):
            self.builder.reject("promoted_page_exists" if key else "page_without_name", proposed.new_page.title)
            return
        child = self._promoted_page(key, proposed, section)
        self.promoted.append((page.key, child))
        body = rollup.stub(
            proposed.parent_summary, proposed.highlights[:MAX_HIGHLIGHTS], title=child.title, promoted=key
        )
        done = replace(now, promotion_status=PromotionStatus.PROMOTED, promoted_page=key)
        self.rollups[page.key, slug] = replace(section, body_md=body, children=(), aggregation=done)
        self.builder.count("sections_promoted")

    def _is_there(self, key: PageKey, title: str) -> bool:
        """Return whether a topic has the key or the title, or this pass already creates it."""
        planned = {hub.key for hub in self.hubs.values()} | {child.key for _, child in self.promoted}
        return key in planned or self._page(key) is not None or self.merger.has(PageType.TOPIC, title)

    def _promoted_page(self, key: PageKey, proposed: SectionPromotion, section: Section) -> Page:
        title = markdown.one_line(proposed.new_page.title)[: markdown.MAX_NAME_CHARS]
        fresh = Aggregation(observed_tags=section.aggregation.observed_tags if section.aggregation else ())
        moved = self._rendered(replace(section, aggregation=fresh))
        aliases = tuple(Alias(one, title, sources=section.sources) for one in markdown.alias_keys(title))
        summary = paging.short(
            markdown.one_line(proposed.new_page.summary or proposed.parent_summary), bounds.SUMMARY_CHARS
        )
        return Page(key, title, summary, section.sources if summary else (), aliases=aliases, sections=(moved,))

    def write(self) -> None:
        """Collect the items: hubs with rollups, changed rollups, promoted pages with parents, and links."""
        for key, hub in sorted(self.hubs.items()):
            sections = tuple(
                part for place, one in self.rollups.items() if place[0] == key for part in self._parts(one)
            )
            self.builder.items.append(CreatePage(replace(hub, sections=sections)))
            self.builder.count("hubs_created")
        for parent, child in self.promoted:
            self.builder.items.append(CreatePage(replace(child, sections=self._parts(child.sections[0]))))
            self.builder.items.append(SetParent(child.key, parent))
            self._link(child.key, child.sections[0], None)
        for (key, _), section in self.rollups.items():
            standing = None if key in self.hubs else self._standing(self.merger.pages[key], section.slug)
            if key not in self.hubs and section != standing:
                self.builder.add(self._written(key, section))
                self.builder.count("parent_sections_updated")
            self._link(key, section, standing)

    def drop(self) -> None:
        """Delete the hubs that had lists alone and have no member left, unless an operator named them."""
        pages = [page for page in self.view.pages if page.key not in self.merger.rulings.pages]
        self.builder.items.extend(map(DeletePage, bare(pages, self.rollups)))

    def _parts(self, section: Section) -> tuple[Section, ...]:
        return rollup.parts(section, self.merger.pages)

    def _written(self, key: PageKey, section: Section) -> Iterator[WriteSection | RemoveSection]:
        """Yield the section's parts, and the removal of continuations that it no longer needs."""
        parts = self._parts(section)
        yield from (WriteSection(key, part) for part in parts)
        standing = self.continued[key].sections if key in self.continued else ()
        needed = {part.slug for part in parts}
        left = (one.slug for one in standing if bounds.base(one.slug) == section.slug)
        yield from (RemoveSection(key, slug) for slug in left if slug not in needed and slug != section.slug)

    def _link(self, page: PageKey, section: Section, standing: Section | None) -> None:
        before = rollup.rolled_up(page, standing) if standing else ()
        links = rollup.rolled_up(page, section)
        self.builder.add(link for link in links if link not in before)
        self.builder.add(DropLink(link) for link in before if link not in links)

    def link(self, proposed: Iterable[ProposedLink]) -> None:
        """Collect the links between pages that exist or are being created; reject others."""
        made = {item.page.key for item in self.builder.items if isinstance(item, CreatePage)}
        active = made | {key for key, page in self.merger.pages.items() if page.is_active}
        for one in dict.fromkeys(proposed):
            source, target = self.ended.get(one.source, one.source), self.ended.get(one.target, one.target)
            if source == target or not {source, target} <= active:
                reason = "link_to_itself" if source == target else "link_to_unknown_page"
                self.builder.reject(reason, f"{source.path} {target.path}")
                continue
            context = markdown.one_line(one.context)[: naming.QUOTE_CHARS]
            self.builder.items.append(WriteLink(source, target, LinkKind.REFERENCE, LinkOrigin.PLANNER, context))

    def score_hubs(self) -> None:
        """Collect the scoring of every changed page, every page of the view, and every new or newly linked page, at the end."""
        touched = {*self.view.changed, *(page.key for page in self.view.pages)}
        touched |= {item.page.key for item in self.builder.items if isinstance(item, CreatePage)}
        touched |= {item.target for item in self.builder.items if isinstance(item, WriteLink)}
        touched |= {item.link.target for item in self.builder.items if isinstance(item, DropLink)}
        if touched:
            self.builder.items.append(ScoreHubs(tuple(sorted(touched))))

    def _page(self, key: PageKey) -> Page | None:
        found = self.ended.get(key, key)
        page = self.hubs.get(found) or self.merger.pages.get(found)
        return page if page is not None and (page.is_active or found in self.hubs) else None

    def _standing(self, page: Page, slug: str) -> Section | None:
        planned = self.rollups.get((page.key, slug)) if page.key in self.hubs else None
        return planned or next((one for one in page.sections if one.slug == slug), None)

    def _left(self, key: PageKey, slug: str) -> Aggregation:
        """Return the aggregation of a list whose hub is restored from the archive: empty, but still suppressed if it was."""
        archived = self.merger.pages.get(key)
        before = next((one.aggregation for one in archived.sections if one.slug == slug), None) if archived else None
        is_suppressed = before is not None and before.promotion_status is PromotionStatus.SUPPRESSED
        return Aggregation(promotion_status=PromotionStatus.SUPPRESSED) if is_suppressed else Aggregation()

    def _claims(self, page: Page, *, besides: str) -> set[PageKey]:
        planned = {slug: one.children for (key, slug), one in self.rollups.items() if key == page.key}
        standing = {one.slug: one.children for one in page.sections}
        return {child for slug, children in (standing | planned).items() if slug != besides for child in children}

    def _ancestors(self, key: PageKey) -> set[PageKey]:
        found: set[PageKey] = set()
        above = self.view.parents.get(key)
        while above is not None and above not in found:
            found.add(above)
            above = self.view.parents.get(above)
        return found

    def _children(self, section: Section) -> Iterable[Page]:
        return (self.merger.pages[key] for key in section.children if key in self.merger.pages)

    def _cited(self, memory_ids: Iterable[str]) -> tuple[CitedMemory, ...]:
        return tuple(sorted({self.view.evidence[one].source for one in memory_ids if one in self.view.evidence}))
