"""The planner that needs no model: names by rule, pages where two memories agree, sentences quoted verbatim.

Deterministic and offline. It finds names only as they are written, and writes no text of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import starmap

from compiler.plan.batch import AggregationView, LeafBatch, ParentCandidate
from compiler.plan.contract import BatchMemory, Draft, Mention, Page, PageKey, PageType, PromotionStatus
from compiler.plan.edges.statements import may_state, statements
from compiler.plan.judging.duplicate_sentences import without
from compiler.plan.judging.finishing import SUMMARY
from compiler.plan.judging.membership import MIN_CHILDREN, MemberRequirement, is_tag_of, requirement, shows
from compiler.plan.judging.parents import LISTS_OF_PEOPLE, PERIOD, PERSON, list_slugs, section_of
from compiler.plan.judging.writing import added_lines
from compiler.plan.names.collecting import remembered, subjects
from compiler.plan.names.merge import CITY_TAG
from compiler.plan.names.naming import holds
from compiler.plan.names.ruled import known_as
from compiler.plan.names.same_names import country, surname
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import NameKind, runs
from compiler.plan.names.subjects import Subject
from compiler.plan.names.themes import is_everyday, theme_of
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import (
    HeldName,
    MentionPromotion,
    PageUpdate,
    Proposal,
    ProposedName,
    ProposedPage,
    Rollup,
    SectionPromotion,
)
from compiler.plan.quoting.decisions import decisions
from compiler.plan.quoting.definitions import is_home
from compiler.plan.quoting.excerpts import dated, excerpt, founds, line, naming
from compiler.plan.quoting.openings import (
    OLDEST,
    is_about_subject,
    is_fragment,
    opening,
    opening_line,
    place_line,
)
from compiler.plan.quoting.reversals import LATER, LATER_HEADING, reversals
from compiler.plan.quoting.sections import arrange
from compiler.plan.quoting.weighing import is_common, is_loose, weight
from compiler.plan.text.bearers import are_several, told, without_others
from compiler.plan.text.markdown import escape, heading, one_line, plain_key, slug, unescape
from compiler.plan.text.page_words import heading_in, language_of
from compiler.plan.text.sentences import sentences

NAME = "extractive"
MIN_MEMORIES = 2
MIN_THEME_MEMORIES = 3
MIN_TOLD_IN_PASSING = 3
MIN_TOLD_OFTEN = 4
MIN_NAME_WEIGHT = 2
MIN_EVERYDAY_WEIGHT = 5
MIN_PASSING_WEIGHT = 6
MIN_NOTED_WEIGHT = 6
MIN_NOTED_EVERYDAY_WEIGHT = 9
LONGEST_LETTERS = 4
HIGHLIGHTS = 3

_PLACED = re.compile(r"\w[\w ]* in [^.]+\.")
_ORDER = {"city": 0, "journal": 1, "tag": 2}


def plan_leaf(batch: LeafBatch, *, gazetteer: Gazetteer = NO_PLACES, about: Collection[str] = ()) -> Proposal:
    """Return pages, updates and held names for the batch. A new page needs two memories, an existing page one.

    `about` limits the plan to subjects with one of these names, given as plain keys; empty plans all, and the decisions.
    """
    held = {plain_key(mention.alias): mention for mention in batch.mentions}
    earlier = {memory.memory_id: memory for memory in batch.earlier}
    updates: list[PageUpdate] = []
    new: list[ProposedPage] = []
    mentions: list[HeldName] = []
    promoted: list[MentionPromotion] = []
    for subject in subjects(batch, gazetteer=gazetteer):
        mention = held.pop(subject.key, None)
        if about and subject.key not in about and subject.keys.isdisjoint(about):
            continue
        found = _excerpts(subject)
        if subject.page is not None:
            updates.extend(_updates(subject, subject.page, found, batch.said_at))
        elif subject.is_shared or not subject.is_sure or not _is_enough(subject, found):
            mentions.extend(_held(subject))
        elif mention is not None:
            promoted.append(MentionPromotion(mention.key, _page(subject, found), "seen in two memories"))
        else:
            new.append(_page(subject, found))
    promoted.extend(_promoted_without_new(held.values(), earlier))
    new.extend(page for memory in batch.memories if not about for page in decisions(memory))
    return Proposal(tuple(updates), tuple(new), tuple(mentions), tuple(promoted))


def write_section(draft: Draft) -> str:
    """Return the section's text: the present text plus the proposed lines; for a rebuild, the memories' sentences about the page.

    A summary is the best of these sentences. Empty if no memory has a sentence about the page.
    """
    if draft.existing_md or draft.section.body_md:
        return added_lines(draft.existing_md, draft.section.body_md)
    keys = {plain_key(name) for name in draft.names or (draft.title,)} - {""}
    found = [(memory, excerpt(memory, keys)) for memory in draft.memories]
    if draft.section.slug == SUMMARY:
        return _rebuilt_summary(draft, *opening_line(found, keys)) if any(quoted for _, quoted in found) else ""
    return "\n".join(without((line(one, memory) for memory, quoted in found for one in quoted), draft.elsewhere))


def quote(draft: Draft) -> str:
    """Return the text of a rebuilt section as quotations of its memories: the sentences about the page, else all sentences."""
    if written := write_section(draft):
        return written
    found = [(sentence, memory) for memory in draft.memories for sentence in sentences(memory.text)]
    if draft.section.slug == SUMMARY:
        return _rebuilt_summary(draft, *found[0]) if found else ""
    return "\n".join(dict.fromkeys(starmap(line, found)))


def _rebuilt_summary(draft: Draft, text: str, memory: BatchMemory) -> str:
    """Return the first line of a rebuilt page as markdown; that of a decision tells its day."""
    return escape(dated(text, memory) if draft.page.type is PageType.DECISION else text)


def _is_enough(subject: Subject, found: list[tuple[BatchMemory, tuple[str, ...]]]) -> bool:
    """Return whether the subject's memories suffice for a page, and one of them has a sentence that is understood alone.

    A sentence that only lists the name among others does not count. A few capital letters are often a kind and no name (`a USB
    stick`), and a city or country is often named by the way unless somebody lives or moves there, so they need as many memories
    as a theme. A theme, most of all one of everyday life, is often named in passing, so its sentences are weighted as well; those
    of notes and of a conversation have their own bounds. A name that several people bear is nobody's.
    """
    is_letters = subject.kind is NameKind.THING and _is_letters(subject.title)
    is_theme = subject.kind is NameKind.THEME
    least = MIN_THEME_MEMORIES if is_theme or is_letters else MIN_MEMORIES
    found = [(memory, tuple(naming(one, subject.keys) for one in quoted)) for memory, quoted in found]
    saying = [[one for one in quoted if founds(one, subject.keys)] for _, quoted in found]
    if sum(map(bool, saying)) < least or all(is_loose(one) for quoted in saying for one in quoted):
        return False
    if are_several(told(subject.names, (one for _, quoted in found for one in quoted))):
        return False
    weights = [
        max((weight(one, subject.keys, is_talk=bool(speaker_of(memory.text))) for one in quoted), default=0)
        for (memory, _), quoted in zip(found, saying, strict=True)
    ]
    if not is_theme:
        is_plain = subject.kind is NameKind.THING
        is_few = not subject.is_told and sum(map(bool, saying)) < MIN_TOLD_IN_PASSING
        every = [one for quoted in saying for one in quoted]
        is_on_map = subject.kind is NameKind.CITY or bool(country(subject.key))
        if is_few and is_on_map and not any(is_home(one, subject.keys) for one in every):
            return False
        if is_few and is_plain and not any(_is_about(one, subject.keys) for one in every):
            return False
        is_certain = subject.is_told or sum(map(bool, saying)) >= MIN_TOLD_OFTEN
        return sum(weights) >= (1 if is_certain else MIN_NAME_WEIGHT) and not (
            is_plain and is_fragment((one for _, quoted in found for one in quoted), subject.keys)
        )
    is_of_everyday = is_everyday(subject.title)
    is_noted = not any(speaker_of(memory.text) for memory, _ in found)
    if is_noted and not is_common(subject.keys):
        return sum(weights) >= (MIN_NOTED_EVERYDAY_WEIGHT if is_of_everyday else MIN_NOTED_WEIGHT)
    if not is_of_everyday:
        return sum(weights) >= MIN_THEME_MEMORIES
    return sum(weights) >= (MIN_EVERYDAY_WEIGHT if max(weights) > 1 else MIN_PASSING_WEIGHT)


def _is_about(sentence: str, keys: Collection[str]) -> bool:
    """Return whether the sentence is about the subject, says that somebody lives there, or states its relation to another name:
    `Ana works at Helios`.
    """
    if is_about_subject(sentence, keys) or is_home(sentence, keys, is_living=True):
        return True
    names = {one.name for one in runs(sentence)} if may_state(sentence) else ()
    stated = statements(sentence, names, speaker=speaker_of(sentence) or "I")
    return any(plain_key(name) in keys for one in stated for name in (one.subject, one.object))


def _is_letters(title: str) -> bool:
    letters = title.removesuffix("s")
    return letters.isupper() and len(letters) <= LONGEST_LETTERS


def _excerpts(subject: Subject) -> list[tuple[BatchMemory, tuple[str, ...]]]:
    every = sorted(subject.memories.values(), key=lambda memory: (memory.occurred_at, memory.memory_id))
    found = [(memory, excerpt(memory, subject.keys)) for memory in every]
    known = told(subject.names, (one for _, quoted in found for one in quoted))
    if any(one.is_label for one in known):
        found = [(memory, without_others(quoted, subject.names, known)) for memory, quoted in found]
    return [(memory, quoted) for memory, quoted in found if quoted]


def _updates(
    subject: Subject,
    page: Page,
    found: list[tuple[BatchMemory, tuple[str, ...]]],
    said_at: Mapping[str, datetime],
) -> Iterable[PageUpdate]:
    aliases = tuple(_alias(subject, name) for name in sorted(subject.names))
    summary, proof = _better_summary(subject, page, found, said_at)
    cited = (proof,) if summary else ()
    yield PageUpdate(page.key, arrange(found, page, subject.keys), aliases, (), summary, cited, opens=bool(summary))


def _page(subject: Subject, found: list[tuple[BatchMemory, tuple[str, ...]]]) -> ProposedPage:
    is_topic = subject.kind is NameKind.THEME or (subject.kind is NameKind.CITY and subject.is_told)
    kind = PageType.TOPIC if is_topic else PageType.ENTITY
    summary, proof = _summary(subject, found)
    aliases = tuple(_alias(subject, name) for name in sorted(subject.names))
    if surname(subject.key):
        aliases = (*aliases, ProposedName(subject.title.rpartition(" ")[2], tuple(sorted(subject.memories))))
    return ProposedPage(kind, subject.title, summary, arrange(found, None, subject.keys), aliases, memory_ids=(proof,))


def _alias(subject: Subject, name: str) -> ProposedName:
    return ProposedName(name, tuple(sorted(subject.named_in.get(name, ()))))


def _summary(subject: Subject, found: list[tuple[BatchMemory, tuple[str, ...]]]) -> tuple[str, str]:
    """Return the opening line about the subject as markdown, and the id of its memory."""
    text, memory = opening_line(found, subject.keys)
    return escape(text), memory.memory_id


def _better_summary(
    subject: Subject,
    page: Page,
    found: list[tuple[BatchMemory, tuple[str, ...]]],
    said_at: Mapping[str, datetime],
) -> tuple[str, str]:
    """Return a line that defines the subject better than the present summary, and the id of its memory; else empty texts.

    The line with the kind and city of a place is never replaced. `said_at` maps the ids of the summary's memories to their times:
    of equally good lines the newer one is better.
    """
    standing = one_line(unescape(page.summary))
    is_placed = _PLACED.fullmatch(standing) and any(tag.name.startswith(CITY_TAG) for tag in page.tags)
    if not found or is_placed or page.key.type is PageType.DECISION:
        return "", ""
    summary, proof = _summary(subject, found)
    proposed = one_line(unescape(summary))
    if _PLACED.fullmatch(proposed) and any(escape(place_line(memory, subject.keys)) == summary for memory, _ in found):
        return summary, proof
    since = max((said_at[one.memory_id] for one in page.summary_sources if one.memory_id in said_at), default=OLDEST)
    when = {standing: since, proposed: next(one.occurred_at for one, _ in found if one.memory_id == proof)}
    if proposed == standing:
        is_better = when[proposed] > since and all(one.memory_id != proof for one in page.summary_sources)
    else:
        is_better = opening((proposed, standing) if standing else (proposed,), subject.keys, when) == proposed
    return (summary, proof) if is_better else ("", "")


def _held(subject: Subject) -> Iterable[HeldName]:
    """Yield the subject's title and its other names, as later memories may have only these: `Mme Lefort`, `my sister`."""
    kind = PageType.TOPIC if subject.kind is NameKind.THEME else PageType.ENTITY
    yield HeldName(subject.title, kind, "", tuple(sorted(subject.memories)))
    for name in sorted(subject.names):
        if plain_key(name) != plain_key(subject.title):
            yield HeldName(name, kind, "", tuple(sorted(subject.named_in.get(name, ()))))


def _promoted_without_new(
    mentions: Iterable[Mention], earlier: Mapping[str, BatchMemory]
) -> Iterable[MentionPromotion]:
    """Yield the promotions of mentions that no new memory names and whose earlier memories suffice."""
    for mention in sorted(mentions, key=lambda one: one.key):
        subject = remembered(mention, earlier)
        found = _excerpts(subject)
        if subject.is_sure and _is_enough(subject, found):
            yield MentionPromotion(mention.key, _page(subject, found), "seen often enough")


def plan_aggregation(view: AggregationView) -> Proposal:
    """Return hubs for candidates with at least three pages, with their lists, the later decisions that take one back, and
    promotions of ready sections.
    """
    every = sorted((*view.pages, *view.others), key=lambda page: page.key)
    active = [page for page in every if page.is_active]
    titles = {plain_key(name): page.key for page in reversed(active) for name in (known_as(page), page.title)}
    hubs: list[ProposedPage] = []
    rollups: list[Rollup] = []
    ruled: dict[PageKey, set[str]] = {
        page.key: set(LISTS_OF_PEOPLE) for page in view.pages if page.is_active and page.key.type is PageType.ENTITY
    }
    for candidates in _by_hub(view.candidates):
        title = candidates[0].title
        key = titles.get(plain_key(title)) or PageKey(PageType.TOPIC, slug(title))
        required = requirement(title, (candidate.title for candidate in candidates))
        members = [page for page in active if page.key != key and _is_member(page, candidates, required)]
        is_there = plain_key(title) in titles
        if candidates[0].kind == "tag" and not theme_of(plain_key(title)):
            continue
        ruled.setdefault(key, set()).update(*map(list_slugs, candidates))
        if len(members) >= MIN_CHILDREN and (is_there or candidates[0].kind != PERSON):
            hubs.extend([] if is_there else [ProposedPage(PageType.TOPIC, title)])
            rollups.extend(_rollups(key, candidates, members))
    decided = [page for page in active if page.key.type is PageType.DECISION]
    ruled.update((page.key, {LATER}) for page in decided)
    rollups.extend(_reversed(decided, {one: told.occurred_at for one, told in view.evidence.items()}))
    rollups.extend(_ended(every, ruled, {(one.page, one.section_slug) for one in rollups}))
    return Proposal(new_pages=tuple(hubs), rollups=tuple(rollups), section_promotions=tuple(_promotions(view)))


def _reversed(decided: Sequence[Page], times: Mapping[str, datetime]) -> Iterable[Rollup]:
    """Yield the lists of later decisions that take a decision back, on its page."""
    for page, later in reversals(decided, times):
        title = heading_in(LATER_HEADING, language_of(unescape(page.summary)))
        cited = {source.memory_id for one in later for source in one.summary_sources}
        yield Rollup(page.key, LATER, title, tuple(one.key for one in later), tuple(sorted(cited)), is_whole=True)


def _ended(
    pages: Iterable[Page], ruled: Mapping[PageKey, Collection[str]], listed: Collection[tuple[PageKey, str]]
) -> Iterable[Rollup]:
    """Yield lists made by the rules (`ruled`, by page) that are not in `listed`: they have too few members now."""
    for page in pages:
        lists = (one for one in page.sections if one.aggregation is not None and one.slug in ruled.get(page.key, ()))
        for section in lists if page.is_active else ():
            if (page.key, section.slug) not in listed:
                yield Rollup(page.key, section.slug, section.heading, is_whole=True)


def _is_member(page: Page, candidates: Sequence[ParentCandidate], required: MemberRequirement) -> bool:
    if candidates[0].kind == PERSON:
        return any(page.key in candidate.pages for candidate in candidates)
    if candidates[0].kind == PERIOD:
        return page.key.type is PageType.DECISION and _belongs(page, candidates) and shows(page, required)
    if page.key.type is not PageType.ENTITY or not _belongs(page, candidates):
        return False
    return candidates[0].kind == "tag" or shows(page, required)


def _belongs(page: Page, candidates: Sequence[ParentCandidate]) -> bool:
    """Return whether a page belongs to a hub by its title, a tag or the candidates' own pages; a passing mention is not enough.

    A tag of a single memory says little about the page: at least half of the page's memories must have it.
    """
    slugs = {candidate.slug for candidate in candidates}
    if any(page.key in candidate.pages for candidate in candidates):
        return True
    if any(holds(plain_key(candidate.title), plain_key(page.title)) for candidate in candidates):
        return True
    cited = {source.memory_id for section in page.sections for source in section.sources}
    least = len(cited) / 2 if candidates[0].kind == "tag" else 1
    return any(is_tag_of(tag.name, slugs) and len(tag.sources) >= least for tag in page.tags)


def _by_hub(candidates: Iterable[ParentCandidate]) -> list[list[ParentCandidate]]:
    """Return the candidates of each hub: cities first, then journals, tags and people."""
    found: dict[tuple[int, str, str], list[ParentCandidate]] = {}
    for one in sorted(candidates, key=lambda one: (one.kind, one.slug, one.section)):
        found.setdefault((_ORDER.get(one.kind, len(_ORDER)), one.kind, slug(one.title)), []).append(one)
    return [found[key] for key in sorted(found)]


def _rollups(hub: PageKey, candidates: Sequence[ParentCandidate], members: Sequence[Page]) -> Iterable[Rollup]:
    slugs = {candidate.slug for candidate in candidates}
    sections: dict[str, list[Page]] = {}
    for page in members:
        sections.setdefault(section_of(page, candidates[0]), []).append(page)
    for name, children in sorted(sections.items()):
        cited = {memory_id for page in children for memory_id in _proving(page, slugs)}
        tags = sorted({tag.name for page in children for tag in page.tags if ":" not in tag.name})
        keys = tuple(page.key for page in children)
        yield Rollup(hub, name, heading(name), keys, tuple(sorted(cited)), tuple(tags), is_whole=True)


def _proving(page: Page, slugs: Collection[str]) -> set[str]:
    """Return the ids of the memories that prove a page's membership: the sources of its tag, else those of its summary."""
    tagged = {source.memory_id for tag in page.tags if is_tag_of(tag.name, slugs) for source in tag.sources}
    return tagged or {source.memory_id for source in page.summary_sources}


def _promotions(view: AggregationView) -> Iterable[SectionPromotion]:
    """Yield the sections that are candidates, on hubs that have more than that section."""
    pages = {page.key: page for page in (*view.pages, *view.others)}
    for page in sorted(view.pages, key=lambda page: page.key):
        is_topic = page.key.type is PageType.TOPIC
        lists = [one for one in page.sections if one.aggregation is not None and is_topic]
        for section in lists if len(page.sections) > 1 else ():
            known = section.aggregation
            if known is None or known.promotion_status is not PromotionStatus.CANDIDATE:
                continue
            children = [pages[key] for key in section.children if key in pages]
            top = tuple(f"**{escape(child.title)}**" for child in children[:HIGHLIGHTS])
            new = ProposedPage(PageType.TOPIC, f"{page.title} {section.heading}", "")
            yield SectionPromotion(page.key, section.slug, new, "", top, "dense for long enough")
