"""Exports the wiki as markdown files with front matter, one per page, for other programs.

Reads the wiki; writes nothing. Links between pages become links between files; front matter is YAML whose values are JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from compiler.plan.text import markdown as text
from compiler.plan.text import markup
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse
from store.wiki.browse import PageRow, PageWhole

_LINK = re.compile(r"(?<!\\)\]\(/wiki/([a-z]+)/([^)\s]+)\)")
# Characters that YAML rejects or reads as a line break, and that JSON does not escape.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_PAGES_AT_ONCE = 50

Reading = Callable[[], AbstractAsyncContextManager[Connection]]


def path_of(page: PageRow) -> str:
    """Return the path of a page's file: TYPE/SLUG.md."""
    return f"{page.type}/{page.slug}.md"


def markdown(found: PageWhole, parent: PageRow | None) -> str:
    """Return a page's file: front matter between lines of three dashes, then title, summary and sections."""
    sources = sorted({one.memory_id for section in found.sections for one in section.sources})
    sources = sorted({*sources, *(one.memory_id for one in found.other_sources)})
    facts = {
        "title": found.page.title,
        "type": found.page.type,
        "slug": found.page.slug,
        "summary": text.unescape(found.page.summary),
        "aliases": list(dict.fromkeys(one.display for one in found.aliases)),
        "tags": list(found.page.tags),
        "parent": f"{parent.type}/{parent.slug}" if parent else None,
        "hubness": found.page.hubness_score,
        "changed": found.page.updated_at.isoformat(),
        "compiled": found.page.last_compiled_at.isoformat(),
        "sources": sources,
        "sections": {one.slug: [source.memory_id for source in one.sources] for one in found.sections},
        "from_pages": {
            one.slug: [f"{page.type}/{page.slug}" for page in one.pages] for one in found.sections if one.pages
        },
    }
    front = "\n".join(f"{name}: {_yaml(value)}" for name, value in facts.items())
    bodies = [f"## {text.escape(one.heading)}\n\n{_body(one.body_md)}" for one in found.sections]
    parts = [f"# {text.escape(found.page.title)}", markup.harmless(found.page.summary), *bodies]
    whole = "\n\n".join(part for part in parts if part)
    return f"---\n{front}\n---\n\n{whole}\n"


async def files(reading: Reading, scope: Scope) -> AsyncGenerator[tuple[PageRow, str]]:
    """Yield every active page with its file's text, by type and slug; `reading` opens a transaction for a few pages at a time."""
    after: tuple[str, str] | None = None
    while True:
        async with reading() as connection:
            pages = await browse.pages_by_name(connection, scope, status="active", after=after, limit=_PAGES_AT_ONCE)
            texts = [(page, await _file(connection, scope, page)) for page in pages]
        for one in texts:
            yield one
        if len(pages) < _PAGES_AT_ONCE:
            return
        after = (pages[-1].type, pages[-1].slug)


async def _file(connection: Connection, scope: Scope, page: PageRow) -> str:
    found = await browse.whole(connection, scope, page)
    parent = await browse.page(connection, scope, page.parent_page_id) if page.parent_page_id else None
    return markdown(found, parent)


def _body(body_md: str) -> str:
    return markup.outside_code(markup.harmless(body_md), lambda outside: _LINK.sub(_to_file, outside))


def _yaml(value: Any) -> str:
    """Return a value as JSON that is also YAML."""
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _to_file(found: re.Match[str]) -> str:
    return f"](../{found[1]}/{found[2]}.md)"
