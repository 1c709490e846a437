"""A page as statements, each with the memories that say it. Pure.

Statements and typed edges without a present memory are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from compiler.plan.reporting import SHARED, words_of
from compiler.plan.text.markdown import one_line, unescape
from compiler.plan.text.sentences import sentences
from store.wiki.browse import PageRef, PageWhole, SourceRow
from store.wiki.edges import GraphPath

MAX_STATEMENTS = 200
MAX_RELATIONS = 100
MAX_DESCRIPTION_CHARS = 180
_MARKER = "- "


@dataclass(frozen=True, slots=True)
class PageStatement:
    """One sentence without markup, the heading of its section (empty for the summary), and the memories that say it."""

    text: str
    heading: str
    memory_ids: tuple[str, ...]


def statements(page: PageWhole) -> tuple[PageStatement, ...]:
    """Return the page's statements, its summary first, at most MAX_STATEMENTS. Lists of other pages are left out."""
    return tuple(islice(_said(page), MAX_STATEMENTS))


def relations(paths: Sequence[GraphPath]) -> tuple[GraphPath, ...]:
    """Return the typed edges that memories state, each as a path of one edge from the page; at most MAX_RELATIONS."""
    return tuple(islice((one for one in paths if one.edges[0].memory_ids), MAX_RELATIONS))


def ids_of(path: GraphPath) -> tuple[str, ...]:
    """Return the ids of the memories that state a path's edges."""
    return tuple(memory_id for edge in path.edges for memory_id in edge.memory_ids)


def listed_pages(page: PageWhole) -> tuple[PageRef, ...]:
    """Return the pages that the page's lists name, each once."""
    return tuple({one.page_id: one for section in page.sections for one in section.pages}.values())


def described(page: PageWhole) -> PageStatement | None:
    """Return the page's first statement, cut to MAX_DESCRIPTION_CHARS between words; None if it has none."""
    first = next(_said(page), None)
    if first is None or len(first.text) <= MAX_DESCRIPTION_CHARS:
        return first
    cut = first.text.rfind(" ", 1, MAX_DESCRIPTION_CHARS)
    text = first.text[: cut if cut > 0 else MAX_DESCRIPTION_CHARS - 1].rstrip() + "…"
    return replace(first, text=text)


def _sayers(words: frozenset[str], known: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    shares = {one: len(words & memory_words) / max(1, len(words)) for one, memory_words in known.items()}
    held = sorted((one for one in shares if shares[one] >= SHARED), key=lambda one: (-shares[one], one))
    return tuple(held) or tuple(known)


def _known(cited: Sequence[SourceRow]) -> dict[str, frozenset[str]]:
    """Return the present memories, each with the words of its text; no words if the text is stored elsewhere."""
    there = [one for one in cited if one.is_there and one.source_kind == "memory"]
    return {one.memory_id: words_of(one.text or "") for one in there}


def _said(page: PageWhole) -> Iterator[PageStatement]:
    of_summary = [one for one in page.other_sources if one.subject == "summary"]
    yield from _pieces(page.page.summary, "", of_summary)
    for section in page.sections:
        if section.aggregation is None:
            yield from _pieces(section.body_md, section.heading, section.sources)


def _pieces(markdown: str, heading: str, cited: Sequence[SourceRow]) -> Iterator[PageStatement]:
    known = _known(cited)
    for line in markdown.split("\n") if known else ():
        for piece in sentences(line.removeprefix(_MARKER)):
            if text := one_line(unescape(piece)):
                yield PageStatement(text, heading, _sayers(words_of(piece), known))
