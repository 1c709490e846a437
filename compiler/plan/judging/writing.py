"""Decides how a proposed section changes the present one: kept, extended, or given to a writer.

A section that is not proposed keeps its bytes, and existing text is never replaced without a writer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import compress

from compiler.plan import bounds
from compiler.plan.citing import Citable, united
from compiler.plan.contract import Draft, Page, Section
from compiler.plan.decision_builder import DecisionBuilder
from compiler.plan.facts import past
from compiler.plan.proposal import ProposedSection
from compiler.plan.text import change, markup
from compiler.plan.text.markdown import heading, slug, strip_wikilinks

MAX_SECTION_SLUG_CHARS = 60


@dataclass(frozen=True, slots=True)
class Writing:
    """A section to write, and the draft of its text if a writer is needed."""

    section: Section
    draft: Draft | None = None


def coalesced(sections: Iterable[ProposedSection]) -> tuple[ProposedSection, ...]:
    """Return the sections with equal slugs merged, in order of appearance, with normalised slugs.

    A proposal for a continuation counts as one for the section that it continues.
    """
    found: dict[str, ProposedSection] = {}
    for one in sections:
        name = section_slug(bounds.base(one.slug)) or section_slug(one.heading) or "notes"
        first = found.get(name)
        if first is None:
            found[name] = replace(one, slug=name, heading=one.heading.strip() or heading(name))
            continue
        found[name] = replace(
            first,
            body_md="\n".join(part for part in (first.body_md, one.body_md) if part.strip()),
            memory_ids=(*first.memory_ids, *one.memory_ids),
            is_verbatim=first.is_verbatim and one.is_verbatim,
        )
    return tuple(found.values())


def within_bound(page: Page, sections: tuple[ProposedSection, ...]) -> tuple[ProposedSection, ...]:
    """Return the sections so that the page has at most SECTIONS: the excess of a written answer is joined in one, `more`."""
    standing = {bounds.base(one.slug) for one in page.sections}
    free = bounds.SECTIONS - 1 - len(standing)
    kept: list[ProposedSection] = []
    over: list[ProposedSection] = []
    for one in sections:
        is_there = one.slug in standing or one.is_verbatim
        free -= not is_there
        (kept if is_there or free >= 0 else over).append(one)
    parts = (replace(one, slug="more", heading="More", body_md=f"**{one.heading}**\n\n{one.body_md}") for one in over)
    return coalesced((*kept, *parts)) if over else sections


def section_slug(text: str) -> str:
    """Return the slug of a section: like that of a page, with underscores for dashes, at most 60 characters."""
    return slug(text)[:MAX_SECTION_SLUG_CHARS].strip("-").replace("-", "_")


def write(page: Page, proposed: ProposedSection, *, citable: Citable, builder: DecisionBuilder) -> Writing | None:
    """Return the section to write for a proposed one, None if nothing changes or it is rejected; rejections are collected."""
    builder.rejections.extend(citable.unknown(proposed.memory_ids))
    cited = citable.cite(proposed.memory_ids)
    body = markup.outside_code(proposed.body_md, strip_wikilinks).strip()
    standing = next((one for one in page.sections if one.slug == proposed.slug), None)
    if not cited or not body:
        builder.reject("section_without_sources" if body else "empty_section", f"{page.key.path}#{proposed.slug}")
        return None
    if standing is not None and standing.aggregation is not None:
        builder.reject("section_is_rollup", f"{page.key.path}#{proposed.slug}")
        return None
    texts = citable.texts(proposed.memory_ids)
    if not proposed.is_verbatim:
        strangers = change.are_unrelated(body, [one.text for one in texts])
        builder.count("citations_without_shared_content", sum(strangers))
    sources = united(standing.sources if standing else (), cited)
    section = Section(proposed.slug, standing.heading if standing else proposed.heading, body, sources)
    if proposed.is_verbatim:
        return _added(section, standing, page)
    if standing is not None and not change.is_meaningful(past.split(standing.body_md)[0], body):
        builder.count("sections_skipped")
        strangers = change.are_unrelated(standing.body_md, [one.text for one in texts])
        strangers_ids = {one.memory_id for one in compress(texts, strangers)}
        held = united(standing.sources, (one for one in cited if one.memory_id not in strangers_ids))
        return _unless_same(replace(section, body_md=standing.body_md, sources=held), standing)
    existing_md, cites = (standing.body_md, standing.sources) if standing else ("", ())
    return Writing(section, Draft(page.key, page.title, section, existing_md, texts, page_names(page), cites))


def page_names(page: Page) -> tuple[str, ...]:
    """Return the page's names, its title first."""
    return tuple(dict.fromkeys((page.title, *sorted(alias.display for alias in page.aliases))))


def added_lines(standing_md: str, more_md: str) -> str:
    """Return the present text plus the other text's new lines, in order."""
    lines = dict.fromkeys(line for line in standing_md.split("\n") if line.strip())
    lines.update(dict.fromkeys(line for line in more_md.split("\n") if line.strip()))
    return "\n".join(lines)


def _added(section: Section, standing: Section | None, page: Page) -> Writing | None:
    """Return the present lines and the new ones, without those that a continuation has."""
    later = [one for one in page.sections if one.slug != section.slug and bounds.base(one.slug) == section.slug]
    continued = {line for one in later for line in one.body_md.split("\n")}
    fresh = "\n".join(line for line in section.body_md.split("\n") if line not in continued)
    if later and not fresh.strip():
        return None
    body = added_lines(standing.body_md if standing else "", fresh)
    return _unless_same(replace(section, body_md=body), standing)


def _unless_same(section: Section, standing: Section | None) -> Writing | None:
    return None if section == standing else Writing(section)
