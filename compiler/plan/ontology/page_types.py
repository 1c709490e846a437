"""The entity type of a page, by rule, from its own content. No model is called, and the same page always gives the same type.

The page's signals are read in this order, and the first that means an approved type of the ontology (by slug, name or alias)
decides:

1. a tag `type:<name>`, which a planner writes with its sources;
2. the kind in the summary's first sentence: `Museum in Lisbon.` of a page with a city, or `<title> is a small museum`, longest
   phrase first;
3. a plain tag that at least half of the page's memories have, if its type is a subtype of the type by 4 where that is approved;
   the narrowest type first;
4. the page's structure: a page in which the subject speaks, or with sections of relations or preferences, is a person; a page
   with a city is a place; a page of decisions is a decision.

Topics get a type by 1 and 2 only. A page without a signal has no type. If a signal of 1, of a place's kind, or of a person or
place by 4 means no approved type, its name is held with the reason and the page stays as it is. Under an ontology without entity
types, to which a tenant went back, only the earlier types of pages are held.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from compiler.plan import bounds
from compiler.plan.contract import Page, PageType
from compiler.plan.names.merge import CITY_TAG
from compiler.plan.names.speakers import speaker_of
from compiler.plan.text.markdown import first_sentence, one_line, plain_key, slug, unescape
from compiler.plan.text.sentences import undated
from compiler.plan.vocabulary import Vocabulary, is_approved, name_key
from store.ontology.terms import EntityType

TYPE_TAG = "type:"
PERSON, PLACE, DECISION = "person", "place", "decision"
MOST_WORDS = 4
MOST_CHARS = 64

_TRAITS = frozenset({"relations", "preferences"})
_PLACED = re.compile(r"(\w[\w ]*?) in [^.]+\.?")
_IS_A = re.compile(r"(?:is|was|are|were) (?:a|an|the|our|my|his|her|their|one of the|one of)\s+")
_NOUNS_END = re.compile(
    r"[,.;:()!?–—]| (?:in|on|at|of|from|for|with|near|by|to|who|that|which|where|whose|and|or|but|made|called|named)\b",
    re.IGNORECASE,
)


class HeldReason(StrEnum):
    """Why the type of a page or an edge is held.

    It was never approved, is no longer in force, connects pages of other types, or exceeds the cardinality of its type.
    """

    NONE = ""
    NOT_APPROVED = "type_not_approved"
    DEPRECATED = "type_deprecated"
    WITHDRAWN = "type_withdrawn"
    RELATIONSHIP_NOT_APPROVED = "relationship_not_approved"
    RELATIONSHIP_DEPRECATED = "relationship_deprecated"
    SOURCE_TYPE = "source_type_not_allowed"
    TARGET_TYPE = "target_type_not_allowed"
    CARDINALITY = "over_cardinality"


@dataclass(frozen=True, slots=True)
class PageTyping:
    """The approved type of a page, or the name that is `held` in its place and why. All empty: the page has no signal."""

    slug: str = ""
    held: str = ""
    reason: HeldReason = HeldReason.NONE


@dataclass(frozen=True, slots=True)
class _Signal:
    """A name for the page's type. A strong signal is held if it means no approved type."""

    name: str
    is_strong: bool = False


UNTYPED = PageTyping()


def typing_of(page: Page, known: Vocabulary, before: PageTyping = UNTYPED) -> PageTyping:
    """Return the type of a page. `before` is its present type, which is held as withdrawn if it is no longer approved."""
    held: PageTyping | None = None
    for signal in _signals(page, known):
        found = known.entity(signal.name)
        if found is not None and is_approved(found):
            return PageTyping(found.slug)
        if held is None and (found is not None or (signal.is_strong and known.entities)):
            held = _held(signal, found)
    return held or _withdrawn(before, known)


def _held(signal: _Signal, found: EntityType | None) -> PageTyping:
    if found is not None:
        return PageTyping("", found.slug, HeldReason.DEPRECATED)
    return PageTyping("", "_".join(name_key(signal.name).split())[:MOST_CHARS], HeldReason.NOT_APPROVED)


def _withdrawn(before: PageTyping, known: Vocabulary) -> PageTyping:
    """Return the typing of a page without a signal: its earlier type, held as long as it is not approved again, else UNTYPED."""
    was = before.slug or (before.held if before.reason is HeldReason.WITHDRAWN else "")
    found = known.entity(was) if was else None
    if not was or (found is not None and is_approved(found)):
        return UNTYPED
    return PageTyping("", was, HeldReason.WITHDRAWN)


def _signals(page: Page, known: Vocabulary) -> Iterator[_Signal]:
    for tag in page.tags:
        if tag.name.startswith(TYPE_TAG) and name_key(tag.name.removeprefix(TYPE_TAG)):
            yield _Signal(tag.name.removeprefix(TYPE_TAG), is_strong=True)
    has_city = any(tag.name.startswith(CITY_TAG) for tag in page.tags)
    yield from _of_summary(page, is_placed=has_city and page.key.type is PageType.ENTITY)
    if page.key.type is PageType.DECISION:
        yield _Signal(DECISION)
    if page.key.type is not PageType.ENTITY:
        return
    structure = _structure(page, has_city=has_city)
    yield from _of_tags(page, known, structure)
    if structure:
        yield _Signal(structure, is_strong=True)


def _structure(page: Page, *, has_city: bool) -> str:
    """Return the type of an entity page by its structure: person, place, or empty."""
    title = plain_key(page.title)
    lines = (line for section in page.sections for line in section.body_md.split("\n"))
    if title and any(plain_key(speaker_of(unescape(line.removeprefix("- ")))) == title for line in lines):
        return PERSON
    if has_city:
        return PLACE
    return PERSON if any(bounds.base(section.slug) in _TRAITS for section in page.sections) else ""


def place_kind(summary: str) -> str:
    """Return the kind of place that a summary's first sentence names, `Museum` of `Museum in Lisbon.`; empty if it names none."""
    placed = _PLACED.fullmatch(one_line(first_sentence(unescape(summary))))
    return placed[1] if placed and plain_key(placed[1]) != PLACE else ""


def _of_summary(page: Page, *, is_placed: bool) -> Iterator[_Signal]:
    """Yield the kinds that the first sentence names, the longest phrase first."""
    line = undated(one_line(first_sentence(unescape(page.summary))))
    if is_placed and (kind := place_kind(page.summary)):
        yield _Signal(kind, is_strong=True)
        return
    match = _IS_A.search(line)
    if match is None or plain_key(line[: match.start()]) not in {plain_key(one.display) for one in page.aliases}:
        return
    words = _NOUNS_END.split(line[match.end() :], maxsplit=1)[0].split()
    for start in range(max(0, len(words) - MOST_WORDS), len(words)):
        yield _Signal(" ".join(words[start:]))


def _of_tags(page: Page, known: Vocabulary, structure: str) -> Iterator[_Signal]:
    """Yield the plain tags that name a type of the page, the narrowest type first."""
    cited = {source.memory_id for section in page.sections for source in section.sources}
    entity = known.entity(structure) if structure else None
    base = entity.slug if entity is not None and is_approved(entity) else ""
    found = []
    for tag in page.tags:
        one = None if ":" in tag.name or len(tag.sources) < len(cited) / 2 else known.entity(tag.name)
        if one is not None and (not base or known.is_kind_of(one.slug, (base,))):
            found.append((-len(known.broader.get(one.slug, ())), -len(tag.sources), one.slug, tag.name))
    yield from (_Signal(name) for *_, name in sorted(found))


def type_tag(name: str) -> str:
    """Return the tag by which a planner gives a page an entity type; empty for a name without letters."""
    return TYPE_TAG + "_".join(name_key(name).split())[:MOST_CHARS] if slug(name) else ""
