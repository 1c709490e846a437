"""Reads a model's answer: resolves handles, and rejects unreadable items, each with a reason.

Items are read one by one. An answer whose proposals are all unreadable is no plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from compiler.plan import bounds
from compiler.plan.contract import EndReason, PageKey, PageType, Rejection
from compiler.plan.prompting import schema
from compiler.plan.prompting.handles import NEW, Handles, normal
from compiler.plan.proposal import (
    HeldName,
    MentionPromotion,
    PageUpdate,
    Proposal,
    ProposedEnd,
    ProposedLink,
    ProposedName,
    ProposedPage,
    ProposedSection,
    Rollup,
    SectionPromotion,
)
from compiler.plan.text.markdown import MAX_NAME_CHARS, one_line, page_key, slug, strip_wikilinks

_Read = TypeVar("_Read")

# A shorter line, as MEMORIES, may stand in any text; a section is far shorter than what is compared.
_LINE_CHARS = 30
_COMPARED_CHARS = 100_000


def read(answer: object, handles: Handles) -> tuple[Proposal, tuple[Rejection, ...]]:
    """Return the proposal in the answer, and its unreadable parts."""
    reader = _Reader(handles)
    if not isinstance(answer, Mapping):
        return Proposal(), (Rejection("answer_is_no_object", type(answer).__name__),)
    proposal = Proposal(
        updates=reader.every(answer, "pageUpdates", reader.update),
        new_pages=reader.every(answer, "newPages", reader.new_page),
        mentions=reader.every(answer, "unresolvedMentions", reader.mention),
        promotions=reader.every(answer, "promotions", reader.promotion),
        links=reader.every(answer, "pageLinks", reader.link),
        rollups=reader.every(answer, "parentSectionUpdates", reader.rollup),
        section_promotions=reader.every(answer, "sectionPromotions", reader.section_promotion),
        ends=reader.every(answer, "supersessions", reader.end),
    )
    return proposal, tuple(reader.rejections)


def is_plan(answer: object, proposal: Proposal, handles: Handles) -> bool:
    """Return whether an answer is usable: it proposes nothing, or at least one of its items can stand.

    A page or name needs a memory that the model was shown, and a link two pages that were shown or are proposed beside it.
    """
    is_proposing = isinstance(answer, Mapping) and any(answer.get(name) for name in schema.ARRAYS)
    return not is_proposing or any(_standing(proposal, handles))


def text_problem(text: str, *, system: str, user: str) -> str:
    """Return why a section's text is unusable: it is JSON, or repeats a line of its prompt; empty if it is usable."""
    if _is_json(text.strip()):
        return "the text is JSON"
    asked = (*user.splitlines(), *(line for line in system.splitlines() if line not in user))
    said = text[:_COMPARED_CHARS]
    return "the text repeats its prompt" if any(line in said for line in asked if len(line) >= _LINE_CHARS) else ""


def _is_json(text: str) -> bool:
    """Return whether the text is a JSON object or array."""
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def _standing(proposal: Proposal, handles: Handles) -> Iterator[bool]:
    """Yield for each item whether it can stand."""
    yield from (True for _ in (*proposal.promotions, *proposal.rollups, *proposal.section_promotions, *proposal.ends))
    paged: tuple[PageUpdate | ProposedPage, ...] = (*proposal.updates, *proposal.new_pages)
    for one in paged:
        cited = (
            one.memory_ids,
            *(part.memory_ids for part in one.sections),
            *(name.memory_ids for name in one.aliases),
        )
        yield any(cited)
    yield from (bool(mention.memory_ids) for mention in proposal.mentions)
    made = {PageKey(page.type, slug(page.title) or page.slug) for page in proposal.new_pages}
    known = {*handles.pages.values(), *made}
    yield from ({link.source, link.target} <= known for link in proposal.links)


@dataclass(slots=True)
class _Reader:
    """Reads one answer and collects rejections."""

    handles: Handles
    rejections: list[Rejection] = field(default_factory=list)

    def every(
        self, answer: Mapping[str, Any], name: str, reading: Callable[[Mapping[str, Any]], _Read | None]
    ) -> tuple[_Read, ...]:
        """Return the readable items of an array, as many as the prompt can call for; a missing array is empty."""
        shown = len(self.handles.memories) + len(self.handles.pages) + len(self.handles.mentions)
        most = max(bounds.ITEMS, bounds.ITEMS_PER_SHOWN * shown)
        found: list[_Read] = []
        for one in self._objects(answer, name):
            if len(found) == most:
                self._reject("too_many_items", name)
            elif (item := reading(one)) is not None:
                found.append(item)
        return tuple(found)

    def update(self, value: Mapping[str, Any]) -> PageUpdate | None:
        page = self._page(value.get("pageId"))
        if page is None:
            return None
        sections = self._sections(value, "proposed_body_md")
        return PageUpdate(
            page,
            sections,
            self._names(value),
            summary=_text(value, "summary"),
            memory_ids=self._refs(value),
            entity_type=_name(value, "entityType"),
        )

    def new_page(self, value: Mapping[str, Any]) -> ProposedPage | None:
        title = _title(value, "title")
        kind = _page_type(value.get("type"))
        if kind is None or not title or not (slug(title) or slug(_text(value, "slug"))):
            self._reject("page_without_type" if kind is None else "page_without_name", title)
            return None
        return ProposedPage(
            type=kind,
            title=title,
            summary=_text(value, "summary"),
            sections=self._sections(value, "body_md"),
            aliases=self._names(value),
            memory_ids=self._refs(value),
            slug=slug(_text(value, "slug")),
            entity_type=_name(value, "entityType"),
        )

    def mention(self, value: Mapping[str, Any]) -> HeldName | None:
        alias = _title(value, "alias")
        if not alias:
            self._reject("mention_without_name")
            return None
        refs_value = value.get("source_ref", value.get("source_refs"))
        refs = self._memories([refs_value] if isinstance(refs_value, str) else refs_value)
        return HeldName(alias, _page_type(value.get("suggestedType")), _text(value, "context"), refs)

    def promotion(self, value: Mapping[str, Any]) -> MentionPromotion | None:
        key = self.handles.mentions.get(normal(value.get("mentionId")))
        if key is None:
            self._reject("unknown_mention", str(value.get("mentionId")))
            return None
        page = self.new_page(value)
        return None if page is None else MentionPromotion(key, page, _text(value, "reason"))

    def link(self, value: Mapping[str, Any]) -> ProposedLink | None:
        source = page_key(_text(value, "fromType"), _text(value, "fromSlug"))
        target = page_key(_text(value, "toType"), _text(value, "toSlug"))
        if source is None or target is None:
            self._reject("malformed_link", f"{value.get('fromSlug')} {value.get('toSlug')}")
            return None
        edge_type, since, until = (_text(value, name) for name in ("edgeType", "since", "until"))
        cited = self._refs(value) if edge_type else ()
        return ProposedLink(source, target, _text(value, "context"), edge_type, since, until, cited)

    def end(self, value: Mapping[str, Any]) -> ProposedEnd | None:
        newer, older = (self._memories([value.get(name)]) for name in ("newer_ref", "older_ref"))
        reason = _text(value, "reason").strip().lower()
        if reason not in set(map(str, EndReason)):
            self._reject("unknown_supersession_reason", reason)
            return None
        return ProposedEnd(newer[0], older[0], EndReason(reason), _text(value, "quote")) if newer and older else None

    def rollup(self, value: Mapping[str, Any]) -> Rollup | None:
        page = self._hub(value.get("pageId"))
        if page is None:
            return None
        children = [
            page_key(_text(one, "type"), _text(one, "slug")) for one in self._objects(value, "linked_page_slugs")
        ]
        if None in children:
            self._reject("malformed_child", page.path)
        return Rollup(
            page=page,
            section_slug=_text(value, "sectionSlug"),
            heading=_name(value, "heading"),
            children=tuple(child for child in children if child is not None),
            memory_ids=self._refs(value),
            observed_tags=tuple(_texts(value.get("observed_tags"))),
            rationale=_text(value, "rationale"),
        )

    def section_promotion(self, value: Mapping[str, Any]) -> SectionPromotion | None:
        page = self._page(value.get("pageId"))
        new_page = value.get("newPage")
        seed = self.new_page(new_page) if isinstance(new_page, Mapping) else None
        if page is None or seed is None:
            if page is not None:
                self._reject("promotion_without_page", page.path)
            return None
        return SectionPromotion(
            page=page,
            section_slug=_text(value, "sectionSlug"),
            new_page=seed,
            parent_summary=_text(value, "parentSummary"),
            highlights=tuple(_texts(value.get("topHighlights"))),
            reason=_text(value, "reason"),
        )

    def _sections(self, value: Mapping[str, Any], body: str) -> tuple[ProposedSection, ...]:
        found = []
        for one in self._objects(value, "sections"):
            text = _text(one, body) or _text(one, "body_md") or _text(one, "proposed_body_md")
            found.append(ProposedSection(_text(one, "slug"), _name(one, "heading"), text, self._refs(one)))
        return tuple(found)

    def _names(self, value: Mapping[str, Any]) -> tuple[ProposedName, ...]:
        found = []
        aliases = value.get("aliases")
        for one in aliases if isinstance(aliases, list) else ():
            if isinstance(one, Mapping):
                found.append(ProposedName(_title(one, "alias"), self._refs(one)))
            elif isinstance(one, str):
                found.append(ProposedName(_title({"alias": one}, "alias")))
        return tuple(name for name in found if name.name)

    def _refs(self, value: Mapping[str, Any]) -> tuple[str, ...]:
        return self._memories(value.get("source_refs"))

    def _memories(self, values: object) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for one in values if isinstance(values, list) else ():
            memory_id = self.handles.memories.get(normal(one))
            if memory_id is None:
                self._reject("unknown_memory", str(one)[:80])
            else:
                found[memory_id] = None
        return tuple(found)

    def _page(self, handle: object) -> PageKey | None:
        page = self.handles.pages.get(normal(handle))
        if page is None:
            self._reject("unknown_page", str(handle)[:80])
        return page

    def _hub(self, handle: object) -> PageKey | None:
        if isinstance(handle, str) and handle.strip().lower().startswith(NEW):
            made = slug(handle.strip()[len(NEW) :])
            return PageKey(PageType.TOPIC, made) if made else self._page(handle)
        return self._page(handle)

    def _objects(self, value: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
        entries = value.get(name)
        if entries is not None and not isinstance(entries, list):
            self._reject("not_an_array", name)
            return
        for one in entries or ():
            if isinstance(one, Mapping):
                yield one
            else:
                self._reject("not_an_object", name)

    def _reject(self, reason: str, subject: str = "") -> None:
        self.rejections.append(Rejection(reason, subject[:200]))


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    return text.replace("\x00", "") if isinstance(text, str) else ""


def _name(value: Mapping[str, Any], name: str) -> str:
    """Return a name or heading on one line, without wiki syntax."""
    return one_line(strip_wikilinks(_text(value, name)))


def _title(value: Mapping[str, Any], name: str) -> str:
    """Return a page's name, cut to MAX_NAME_CHARS: looking up one of a million characters would take minutes."""
    return _name(value, name)[:MAX_NAME_CHARS].strip()


def _texts(values: object) -> Iterator[str]:
    for one in values if isinstance(values, list) else ():
        if isinstance(one, str) and one.strip():
            yield one.strip()


def _page_type(value: object) -> PageType | None:
    name = value.strip().lower() if isinstance(value, str) else ""
    return PageType(name) if name in set(map(str, PageType)) else None
