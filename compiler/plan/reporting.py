"""Sentences that a reader reported as wrong: finding one, removing it from its page, and keeping it out of later plans.

A sentence is identified by its words: markup, case and punctuation do not matter. Its citation is removed from its page only;
the memory stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from compiler.plan.contract import (
    CitedMemory,
    CreatePage,
    DropRuling,
    Item,
    Page,
    PageKey,
    RemoveSection,
    Ruling,
    RulingKind,
    Section,
    WriteRuling,
    WriteSection,
    WriteSummary,
)
from compiler.plan.text.change import content_words
from compiler.plan.text.markdown import plain_key, unescape
from compiler.plan.text.sentences import sentences, undated
from compiler.plan.upkeep import ActRefused

SHARED = 0.6
_REF_CHARS = 32
_MARKER = "- "


@dataclass(frozen=True, slots=True)
class PageSentence:
    """A sentence of a page as markdown. `section` is the slug of its section, empty for the summary."""

    section: str
    text: str


def ref_of(sentence: str) -> str:
    """Return the key of a sentence: the first 32 hex digits of the SHA-256 of its words."""
    return sha256(_key(sentence).encode()).hexdigest()[:_REF_CHARS]


def find(page: Page, sentence: str) -> PageSentence:
    """Return the page's sentence with the same words, or else the only one that contains them in a row. Raises ActRefused."""
    wanted = _key(sentence)
    every = list(_page_sentences(page))
    equal = [one for one in every if wanted and _key(one.text) == wanted]
    found = equal or [one for one in every if wanted and f" {wanted} " in f" {_key(one.text)} "]
    if not found or len({_key(one.text) for one in found}) > 1:
        problem = "is in several sentences of the page; send a whole one" if found else "is not a sentence of the page"
        raise ActRefused("sentence", problem)
    return found[0]


def source_of(sentence: str, sources: Iterable[CitedMemory], texts: Mapping[str, str]) -> str:
    """Return the id of the cited memory that holds most of the sentence's words, at least 60 %; empty if none does."""
    words = words_of(sentence)
    shares = {
        one.memory_id: len(words & words_of(texts[one.memory_id])) / max(1, len(words))
        for one in sources
        if one.memory_id in texts
    }
    best = max(sorted(shares), key=lambda one: shares[one], default="")
    return best if best and shares[best] >= SHARED else ""


def words_of(sentence: str) -> frozenset[str]:
    """Return the content words of a sentence, without markup."""
    return content_words(plain_key(unescape(sentence)))


def report(page: Page, reported: PageSentence, memory_id: str, texts: Mapping[str, str]) -> tuple[Item, ...]:
    """Return the items that remove the sentence from the page.

    They also remove the citation of `memory_id`, if no other sentence of the same text rests on that memory. `texts` has the
    texts of cited memories by id.
    """
    ids = (memory_id,) if memory_id else ()
    ruling = Ruling(
        RulingKind.SENTENCE, page.key, ref_of(reported.text), reported.text, reported.section, memory_ids=ids
    )
    written: list[Item] = [WriteRuling(ruling)]
    refs = frozenset({ruling.ref})
    for section in page.sections:
        rest = _without(section, refs, ids, texts)
        if rest is None:
            written.append(RemoveSection(page.key, section.slug))
        elif rest != section:
            written.append(WriteSection(page.key, rest))
    summary = _without_sentences(page.summary, refs)
    if summary != page.summary:
        kept = _cited(summary, page.summary_sources, ids, texts)
        written.append(WriteSummary(page.key, summary, kept if summary else ()))
    return tuple(written)


def restore(page: Page | None, into: Page | None, ruling: Ruling, source: CitedMemory | None) -> tuple[Item, ...]:
    """Return the items that revoke the ruling and put its sentence back: at its section's end, or as an empty summary's text.

    `into` is the page that the page was merged into; it gets the sentence too. If a page, the section or the place of the summary
    is gone, or the sentence was forgotten, only the ruling is revoked.
    """
    pages = [one for one in (page, into) if one is not None and ruling.text]
    return (DropRuling(ruling), *(item for one in pages for item in _put_back(one, ruling, source)))


def _put_back(page: Page, ruling: Ruling, source: CitedMemory | None) -> Iterator[Item]:
    cited = () if source is None else (source,)
    section = next((one for one in page.sections if one.slug == ruling.detail), None)
    if not ruling.detail and not page.summary:
        yield WriteSummary(page.key, ruling.text, cited)
    elif section is not None and ref_of(ruling.text) not in _refs(section.body_md):
        sources = {one.memory_id: one for one in (*section.sources, *cited)}
        line = ruling.text if ruling.text.startswith(_MARKER) else f"{_MARKER}{ruling.text}"
        body = f"{section.body_md}\n{line}" if section.body_md else line
        yield WriteSection(page.key, replace(section, body_md=body, sources=tuple(sources.values())))


def silenced(
    items: Sequence[Item], unsaid: Mapping[PageKey, tuple[Ruling, ...]], texts: Mapping[str, str]
) -> tuple[Item, ...]:
    """Return the items without sentences that were reported on their pages.

    `unsaid` are the SENTENCE rulings by page, `texts` those of their memories by id.
    """
    if not unsaid:
        return tuple(items)
    return tuple(one for item in items for one in _without_reported(item, unsaid, texts))


def _without_reported(
    item: Item, unsaid: Mapping[PageKey, tuple[Ruling, ...]], texts: Mapping[str, str]
) -> Iterator[Item]:
    key = item.page.key if isinstance(item, CreatePage) else getattr(item, "page", None)
    rulings = unsaid.get(key, ()) if isinstance(key, PageKey) else ()
    refs = frozenset(one.ref for one in rulings)
    ids = tuple(memory_id for one in rulings for memory_id in one.memory_ids)
    if not refs:
        yield item
    elif isinstance(item, WriteSection):
        rest = _without(item.section, refs, ids, texts)
        yield replace(item, section=rest) if rest else RemoveSection(item.page, item.section.slug)
    elif isinstance(item, WriteSummary):
        summary = _without_sentences(item.summary, refs)
        yield replace(item, summary=summary, sources=_cited(summary, item.sources, ids, texts) if summary else ())
    elif isinstance(item, CreatePage):
        page = item.page
        sections = (_without(one, refs, ids, texts) for one in page.sections)
        summary = _without_sentences(page.summary, refs)
        kept = _cited(summary, page.summary_sources, ids, texts) if summary else ()
        written = tuple(one for one in sections if one is not None)
        if not written and not summary:
            return
        yield CreatePage(replace(page, sections=written, summary=summary, summary_sources=kept))
    else:
        yield item


def _without(section: Section, refs: Collection[str], ids: Sequence[str], texts: Mapping[str, str]) -> Section | None:
    """Return the section without the sentences of these keys; None if nothing is left."""
    body = _without_sentences(section.body_md, refs)
    if section.aggregation is not None or body == section.body_md:
        return section
    sources = _cited(body, section.sources, ids, texts)
    return replace(section, body_md=body, sources=sources) if body and sources else None


def _cited(
    body: str, sources: tuple[CitedMemory, ...], ids: Sequence[str], texts: Mapping[str, str]
) -> tuple[CitedMemory, ...]:
    """Return the sources without those of the memories `ids` on which no sentence of the text rests."""
    released = {
        one.memory_id
        for one in sources
        if one.memory_id in ids
        and not any(source_of(sentence, (one,), texts) for line in body.split("\n") for sentence in _pieces(line))
    }
    return tuple(one for one in sources if one.memory_id not in released)


def _without_sentences(text: str, refs: Collection[str]) -> str:
    """Return the text without the sentences of these keys, and without lines that they leave empty."""
    if _refs(text).isdisjoint(refs):
        return text
    lines = []
    for line in text.split("\n"):
        if not line.strip() or ref_of(line) in refs:
            lines += [] if line.strip() else [line]
            continue
        marker = _MARKER if line.startswith(_MARKER) else ""
        pieces = _pieces(line)
        kept = [one for one in pieces if ref_of(one) not in refs]
        lines += [line] if kept == pieces else [f"{marker}{' '.join(kept)}"] if kept else []
    return "\n".join(lines).strip()


def _refs(text: str) -> set[str]:
    lines = [line for line in text.split("\n") if line.strip()]
    return {ref_of(one) for line in lines for one in (line, *_pieces(line))}


def _page_sentences(page: Page) -> Iterator[PageSentence]:
    """Yield the sentences of the page, and its lines of several sentences, sections first."""
    for section in page.sections:
        for line in section.body_md.split("\n") if section.aggregation is None else ():
            pieces = _pieces(line)
            yield from (PageSentence(section.slug, one) for one in pieces)
            if len(pieces) > 1:
                yield PageSentence(section.slug, line.removeprefix(_MARKER))
    yield from (PageSentence("", one) for one in _pieces(page.summary))


def _pieces(line: str) -> list[str]:
    return list(sentences(line.removeprefix(_MARKER)))


def _key(sentence: str) -> str:
    """Return the words of a sentence, without the day that a line puts before them."""
    return plain_key(unescape(undated(sentence.strip().removeprefix(_MARKER))))
