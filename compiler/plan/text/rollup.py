"""A rollup's body: its children as a list of links, one line each, always rendered the same way."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.plan.contract import LinkKind, LinkOrigin, Page, PageKey, Section, WriteLink
from compiler.plan.text.markdown import escape, first_sentence, unescape

ROLLED_UP = "rolled_up:"


def render(children: Iterable[Page]) -> str:
    """Return a bullet for each child in the given order: its title as a link, then its summary's first sentence."""
    return "\n".join(line(child) for child in children)


def line(child: Page) -> str:
    """Return a child's bullet."""
    said = first_sentence(unescape(child.summary))
    link = f"- [**{escape(child.title)}**]({child.key.path})"
    return f"{link} — {escape(said)}" if said else link


def rolled_up(page: PageKey, section: Section) -> tuple[WriteLink, ...]:
    """Return the links from a rollup to its children."""
    context = ROLLED_UP + section.slug
    return tuple(WriteLink(page, child, LinkKind.REFERENCE, LinkOrigin.ROLLUP, context) for child in section.children)


def stub(summary: str, highlights: Iterable[str], *, title: str, promoted: PageKey) -> str:
    """Return what stays of a promoted section: its summary, highlights and a link to the page."""
    bullets = "\n".join(f"- {one.strip().removeprefix('-').strip()}" for one in highlights if one.strip(" -"))
    parts = [summary.strip(), bullets, f"See: [{escape(title)}]({promoted.path})"]
    return "\n\n".join(part for part in parts if part)
