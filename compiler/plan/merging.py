"""Items of an operator's rename, merge and unmerge of pages.

A renamed page keeps its key, so every link to it stays. A merged page is archived with its texts, and links and lists that led
to it lead to the page that it was merged into. Rulings make later compiles do the same.

In this module `gone` is the page that is merged away and `into` the page that receives its contents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.plan import bounds
from compiler.plan.citing import united
from compiler.plan.contract import (
    Alias,
    ArchivePage,
    CreatePage,
    DropAlias,
    DropLink,
    DropRuling,
    Item,
    LinkKind,
    Page,
    PageKey,
    RemoveSection,
    RenamePage,
    Ruling,
    RulingKind,
    ScoreHubs,
    Section,
    SetParent,
    WriteAlias,
    WriteLink,
    WriteRuling,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from compiler.plan.names.naming import holds
from compiler.plan.names.ruled import MANUAL, SHARED
from compiler.plan.text import markdown, rollup
from compiler.plan.upkeep import ActRefused, is_name
from store.text.texts import fold


@dataclass(frozen=True, slots=True)
class Undone:
    """The items that undo a merge, and the memories to read again because it is unknown which of the pages they belong to."""

    items: tuple[Item, ...]
    again: tuple[str, ...] = ()


def rename(page: Page, display: str, bearers: Iterable[PageKey], standing: Sequence[Ruling] = ()) -> tuple[Item, ...]:
    """Return the items that give the page a title. `bearers` are the pages that have the title as a name, `standing` all rulings.
    Raises ActRefused.
    """
    title = markdown.one_line(display)
    if not is_name(title):
        raise ActRefused("title", "has no letter or digit; send a name")
    if len(title) > markdown.MAX_NAME_CHARS:
        raise ActRefused("title", f"has {len(title)} characters; send at most {markdown.MAX_NAME_CHARS}")
    others = sorted(set(bearers) - {page.key})
    if others:
        raise ActRefused("title", f"is a name of {others[0].path}; merge the two pages, or send another title")
    if title == page.title:
        return ()
    named = replace(page, title=title)
    alias = Alias(fold(title), title, MANUAL)
    return (
        RenamePage(page.key, title),
        *_rulings(named, (*page.aliases, alias), taken=_brought(page.key, standing) - {alias.key}),
    )


def _brought(key: PageKey, standing: Sequence[Ruling]) -> set[str]:
    """Return the names that merges brought to a page: those of the pages merged into it that it does not have by a ruling."""
    return _ruled(_below(key, standing) - {key}, standing) - _ruled({key}, standing)


def _below(key: PageKey, standing: Sequence[Ruling]) -> set[PageKey]:
    """Return the page and those that were merged into it, also through others."""
    found, size = {key}, 0
    while len(found) > size:
        size = len(found)
        found |= {one.page for one in standing if one.kind is RulingKind.MERGED and one.into in found}
    return found


def _ruled(keys: Collection[PageKey], standing: Iterable[Ruling]) -> set[str]:
    return {one.ref for one in standing if one.kind is RulingKind.NAME and one.page in keys}


def _rulings(page: Page, names: Iterable[Alias], *, taken: Collection[str]) -> Iterator[WriteRuling]:
    """Yield the rulings that keep the page's title and its names, except names that other pages have."""
    behind = tuple(sorted({one.memory_id for one in page.cited()}))
    yield WriteRuling(Ruling(RulingKind.TITLE, page.key, text=page.title, memory_ids=behind))
    for alias in names:
        if alias.key not in taken:
            memory_ids = tuple(sorted({one.memory_id for one in alias.sources})) or behind
            yield WriteRuling(
                Ruling(RulingKind.NAME, page.key, alias.key, alias.display, alias.origin, memory_ids=memory_ids)
            )


def merge(
    gone: Page,
    into: Page,
    around: Mapping[PageKey, Page],
    links: Sequence[WriteLink],
    *,
    taken: Collection[str] = (),
    standing: Sequence[Ruling] = (),
) -> tuple[Item, ...]:
    """Return the items that merge `gone` into `into`. `around` are the pages that lead to `gone`, and all pages that these and
    both pages list; `links` are the causes of the links of `gone`, `taken` its names that other pages have, `standing` all
    rulings. Raises ActRefused.
    """
    if gone.key == into.key:
        raise ActRefused("into", "is the same page; send two pages")
    for page in (gone, into):
        if not page.is_active:
            raise ActRefused(page.key.path, "is archived; send active pages")
    behind = tuple(sorted({one.memory_id for one in gone.cited()}))
    moved = tuple(_moved(gone, into, around))
    redirected = tuple(_redirected(gone.key, into, around, skipped={item.section.slug for item in moved}))
    return (
        *_parents(gone, into, around),
        *moved,
        *_names(gone, into),
        *redirected,
        *_links(gone.key, into.key, links),
        ArchivePage(gone.key),
        WriteRuling(Ruling(RulingKind.MERGED, gone.key, into=into.key, memory_ids=behind)),
        *_rulings(gone, gone.aliases, taken={*taken, *_brought(gone.key, standing)}),
        *_rulings(into, into.aliases, taken={*taken, *_brought(into.key, standing)}),
        ScoreHubs(
            tuple(sorted({into.key, *(key for link in links for key in (link.source, link.target))} - {gone.key}))
        ),
    )


def _parents(gone: Page, into: Page, around: Mapping[PageKey, Page]) -> Iterator[Item]:
    """Yield the hierarchy without `gone`: its children move to `into`, which takes its place if it has no parent."""
    if gone.parent is not None:
        yield SetParent(gone.key, None)
    above = gone.parent if gone.parent != into.key else None
    if into.parent == gone.key or (into.parent is None and above is not None and around[above].parent != into.key):
        yield SetParent(into.key, above)
    for page in (around[key] for key in sorted(around)):
        if page.parent == gone.key and page.key != into.key:
            yield SetParent(page.key, into.key)


def _moved(gone: Page, into: Page, around: Mapping[PageKey, Page]) -> Iterator[WriteSection]:
    """Yield the sections of `into` with the lines and children of the sections of `gone`."""
    standing = {section.slug: section for section in into.sections}
    claimed = {key for section in into.sections for key in section.children}
    used = {one.slug for page in (gone, into) for one in page.sections}
    for one in gone.sections:
        children = tuple(key for key in one.children if key != into.key and key not in claimed)
        section = replace(one, children=children)
        present = standing.get(one.slug)
        if section.aggregation is not None and not children and section.aggregation.promoted_page is None:
            continue
        if present is not None and (present.aggregation is None) != (section.aggregation is None):
            section = replace(section, slug=f"{one.slug[:40]}_{gone.key.slug[:20]}".replace("-", "_"))
            present = standing.get(section.slug)
        joined = section if present is None else _union(present, section, around)
        joined = _redirect(joined, gone.key, into.key, around, own=True)
        yield from (WriteSection(into.key, part) for part in _split(joined, used))


def _split(section: Section, used: Collection[str]) -> Iterator[Section]:
    """Yield the section as parts of at most SECTION_CHARS, split at line ends. A list of pages is paged by the next compile."""
    if section.aggregation is not None or len(section.body_md) <= bounds.SECTION_CHARS:
        yield section
        return
    parts = [""]
    for line in section.body_md.split("\n"):
        if parts[-1] and len(parts[-1]) + len(line) + 1 > bounds.SECTION_CHARS:
            parts.append(line)
        else:
            parts[-1] = f"{parts[-1]}\n{line}" if parts[-1] else line
    free = (number for number in range(2, 10_000) if bounds.continuation(section.slug, number) not in used)
    yield replace(section, body_md=parts[0])
    for part, number in zip(parts[1:], free, strict=False):
        slug, heading = bounds.continuation(section.slug, number), bounds.heading(section.heading, number)
        yield replace(section, slug=slug, heading=heading, body_md=part)


def _union(there: Section, more: Section, around: Mapping[PageKey, Page]) -> Section:
    """Return the union of two sections: lines, children, sources and tags of both."""
    sources = united(there.sources, more.sources)
    if there.aggregation is not None and more.aggregation is not None:
        children = tuple(sorted({*there.children, *more.children}))
        tags = tuple(sorted({*there.aggregation.observed_tags, *more.aggregation.observed_tags}))[: bounds.TAGS]
        known = replace(there.aggregation, observed_tags=tags)
        body = there.body_md if known.promoted_page else rollup.render(around[key] for key in children if key in around)
        return replace(there, body_md=body, sources=sources, children=children, aggregation=known)
    lines = set(there.body_md.split("\n"))
    added = "\n".join(line for line in more.body_md.split("\n") if line.strip() and line not in lines)
    between = "\n" if there.body_md.startswith("- ") and added.startswith("- ") else "\n\n"
    body = f"{there.body_md}{between}{added}" if added else there.body_md
    return replace(there, body_md=body, sources=sources)


def _names(gone: Page, into: Page) -> Iterator[Item]:
    """Yield the names and tags of `gone` as those of `into`, and its summary if `into` has none."""
    names = {alias.key: alias for alias in into.aliases}
    for alias in gone.aliases:
        present = names.get(alias.key)
        sources = united(present.sources if present else (), alias.sources)
        origin = alias.origin if sources or alias.origin != "compiler" else "manual"
        yield WriteAlias(into.key, replace(alias, sources=sources, origin=present.origin if present else origin))
    tags = {tag.name: tag for tag in into.tags}
    for tag in gone.tags:
        known = tags[tag.name].sources if tag.name in tags else ()
        yield WriteTag(into.key, replace(tag, sources=united(known, tag.sources)))
    if gone.summary and not into.summary:
        yield WriteSummary(into.key, gone.summary, gone.summary_sources)


def _redirected(
    gone: PageKey, into: Page, around: Mapping[PageKey, Page], *, skipped: Collection[str]
) -> Iterator[WriteSection]:
    """Yield the sections that led to `gone`, now leading to `into`."""
    for key in sorted(around):
        page = around[key]
        if key == gone or not page.is_active:
            continue
        for section in page.sections:
            changed = _redirect(section, gone, into.key, around, own=key == into.key)
            if changed != section and not (key == into.key and section.slug in skipped):
                yield WriteSection(key, changed)


def _redirect(section: Section, gone: PageKey, into: PageKey, around: Mapping[PageKey, Page], *, own: bool) -> Section:
    """Return the section with `into` in place of `gone`; with neither if the section is `into`'s own."""
    children = tuple(dict.fromkeys(into if key == gone else key for key in section.children))
    known = section.aggregation
    if known is not None:
        linked = tuple(dict.fromkeys(into if key == gone else key for key in known.linked_pages))
        promoted = into if known.promoted_page == gone and not own else known.promoted_page
        known = replace(
            known, linked_pages=tuple(key for key in linked if not own or key != into), promoted_page=promoted
        )
    if own:
        children = tuple(key for key in children if key != into)
    body = section.body_md.replace(f"]({gone.path})", f"]({into.path})")
    if own and f"]({into.path})" in body:
        body = markdown.drop_bad_links(body, set(markdown.references([body]).pages) - {into})
    if children != section.children and known is not None and known.promoted_page is None:
        body = rollup.render(around[key] for key in children if key in around)
    return replace(section, body_md=body, children=children, aggregation=known)


def _links(gone: PageKey, into: PageKey, links: Iterable[WriteLink]) -> Iterator[Item]:
    """Yield the links of `gone` as links of `into`. Hierarchy links are skipped: SetParent makes them."""
    for link in links:
        if link.kind is not LinkKind.REFERENCE:
            continue
        yield DropLink(link)
        ends = (into if link.source == gone else link.source, into if link.target == gone else link.target)
        if ends[0] != ends[1]:
            yield replace(link, source=ends[0], target=ends[1])


def unmerge(
    gone: Page | None, merged: Ruling, into: Page, links: Sequence[WriteLink], standing: Sequence[Ruling]
) -> Undone:
    """Return the items that undo a merge: `gone` with the texts it had, and `into` without them.

    `gone` is the archived page, None if a rebuild has deleted it: then all memories that `into` cites are read again. `links`
    are the causes of the links of `into`, `standing` all rulings. Raises ActRefused if `into` was merged into a third page since,
    which has the texts now, or renamed to a name of `gone`.
    """
    later = next((one for one in standing if one.kind is RulingKind.MERGED and one.page == into.key), None)
    if later is not None and later.into is not None:
        raise ActRefused(into.key.path, f"was merged into {later.into.path} since; undo that merge first")
    given = _given_since(merged, into, standing)
    if given & set(markdown.alias_keys(into.title)):
        raise ActRefused(into.key.path, f"was renamed to {into.title!r}, a name of the merged page; rename it first")
    kept = [one for one in standing if (one.kind, one.page) != (RulingKind.NAME, into.key) or one.ref not in given]
    undone = _unmerged(gone, merged, into, links, kept)
    dropped = tuple(DropRuling(one) for one in standing if one not in kept)
    return replace(undone, items=(*dropped, *undone.items))


def _given_since(merged: Ruling, into: Page, standing: Sequence[Ruling]) -> set[str]:
    """Return the names of the merged page that an operator also gave `into`, by renaming it after the merge."""
    own = (one for one in standing if one.kind is RulingKind.NAME and one.page == into.key)
    return {one.ref for one in own if one.detail == MANUAL} & _ruled(_below(merged.page, standing), standing)


def _unmerged(
    gone: Page | None, merged: Ruling, into: Page, links: Sequence[WriteLink], standing: Sequence[Ruling]
) -> Undone:
    names = _ruled(_below(merged.page, standing), standing)
    own_names = _ruled({into.key}, standing) | set(markdown.alias_keys(into.title))
    moved_aliases = [alias for alias in into.aliases if alias.key in names - own_names]
    items: list[Item] = [DropRuling(merged), *_revoked(merged, into, standing)]
    items.extend(DropAlias(into.key, alias.key) for alias in moved_aliases)
    if gone is None:
        items.extend(RemoveSection(into.key, one.slug) for one in into.sections if one.aggregation is None)
        items.extend(WriteTag(into.key, replace(tag, sources=())) for tag in into.tags)
        items.extend([WriteSummary(into.key, "")] if into.summary_sources else [])
        return Undone(tuple(items), tuple(sorted({one.memory_id for one in into.cited()})))
    items.append(CreatePage(replace(gone, is_active=True)))
    behind = {one.memory_id for one in gone.cited()}
    later = {one.memory_id for alias in moved_aliases for one in alias.sources} - behind
    kept = {one.memory_id for alias in into.aliases if alias.key in own_names for one in alias.sources}
    reread_ids = behind | later
    for section in into.sections:
        rest = _without(_deduplicated(section, gone, into), gone, (behind | later) - kept, own_names)
        if rest is None or (later & {one.memory_id for one in section.sources}):
            items.append(RemoveSection(into.key, section.slug))
            reread_ids |= {one.memory_id for one in section.sources}
        elif rest not in into.sections:
            items.append(WriteSection(into.key, rest))
    items.extend(_taken_back(gone, into, (behind | later) - kept))
    items.extend(DropLink(one) for one in links if one.ref in behind and one.kind is LinkKind.REFERENCE)
    items.append(ScoreHubs(tuple(sorted({into.key, gone.key}))))
    return Undone(tuple(items), tuple(sorted(reread_ids)))


def _taken_back(gone: Page, into: Page, leaving: Collection[str]) -> Iterator[WriteTag | WriteSummary]:
    """Yield the tags of `into` without the memories that leave it, and no summary in place of one that came with the merge.

    Memories that `into` cites too are read again, and give their tags again.
    """
    for tag in into.tags:
        sources = tuple(one for one in tag.sources if one.memory_id not in leaving)
        if sources != tag.sources:
            yield WriteTag(into.key, replace(tag, sources=sources))
    if into.summary and (into.summary, into.summary_sources) == (gone.summary, gone.summary_sources):
        yield WriteSummary(into.key, "")


def _revoked(merged: Ruling, into: Page, standing: Sequence[Ruling]) -> Iterator[DropRuling]:
    """Yield the drops of title and name rulings that only the merge made: pages that were also renamed or merged keep theirs.

    Names that an operator gave by hand stay.
    """
    by_hand = {
        (one.page, one.ref) for one in standing if one.kind is RulingKind.NAME and one.detail in (MANUAL, SHARED)
    }
    titled = (one for one in standing if one.kind is RulingKind.TITLE)
    renamed = {one.page for one in titled if (one.page, fold(one.text)) in by_hand}
    others = {one.into for one in standing if one.kind is RulingKind.MERGED and one.page != merged.page}
    for key in (merged.page, into.key):
        if key not in renamed | others:
            named = (one for one in standing if one.page == key and one.kind in (RulingKind.TITLE, RulingKind.NAME))
            yield from (DropRuling(one) for one in named if (key, one.ref) not in by_hand)


def _deduplicated(section: Section, gone: Page, into: Page) -> Section:
    """Return the section without lines that came with the merge and that another section of the page had before.

    Their memories are read again, so a citation that another line needs comes back.
    """
    moved_lines = {line for one in gone.sections if one.slug == section.slug for line in one.body_md.split("\n")}
    others = [one for one in into.sections if one.slug != section.slug and one.aggregation is None]
    lines = section.body_md.split("\n")
    duplicates = {
        line for line in lines if line in moved_lines and any(line in one.body_md.split("\n") for one in others)
    }
    if section.aggregation is not None or not duplicates:
        return section
    moved_ids = {source.memory_id for one in gone.sections if one.slug == section.slug for source in one.sources}
    other_ids = {
        one.memory_id for other in others if duplicates & {*other.body_md.split("\n")} for one in other.sources
    }
    sources = tuple(one for one in section.sources if one.memory_id not in moved_ids & other_ids)
    return replace(section, body_md="\n".join(line for line in lines if line not in duplicates), sources=sources)


def _without(section: Section, gone: Page, leaving: Collection[str], own: Collection[str]) -> Section | None:
    """Return the section without the lines and children of `gone`, except lines with one of the `own` names of `into`.

    None if nothing is left, or if the section was rewritten after the merge.
    """
    if section.aggregation is not None:
        listed = {key for one in gone.sections for key in one.children}
        kept = tuple(key for key in section.children if key not in listed)
        return replace(section, children=kept) if kept or not section.children else None
    moved_lines = {line for one in gone.sections for line in one.body_md.split("\n")}
    lines = [
        line
        for line in section.body_md.split("\n")
        if line not in moved_lines or any(holds(name, markdown.plain_key(markdown.unescape(line))) for name in own)
    ]
    sources = tuple(one for one in section.sources if one.memory_id not in leaving)
    body = "\n".join(lines).strip()
    is_rewritten = body == section.body_md and len(sources) < len(section.sources)
    return None if not body or not sources or is_rewritten else replace(section, body_md=body, sources=sources)
