"""The titles of themes and countries, in the language of their pages' lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from compiler.plan.batch import AggregationView
from compiler.plan.contract import Page, PageType, TitlePage
from compiler.plan.names.ruled import known_as
from compiler.plan.names.same_names import country, country_in
from compiler.plan.names.themes import theme_of, title_in
from compiler.plan.text import markdown
from compiler.plan.text.page_words import language_of


def in_their_language(view: AggregationView) -> tuple[AggregationView, tuple[TitlePage, ...]]:
    """Return the view with the titles of themes and countries in the language of most lines of their pages, and the TitlePage
    items for it. A manual title stays; a country gets a title only if it is one of the page's names.
    """
    found = {page.key: title for page in view.pages if (title := _in_its_language(page)) != page.title}
    pages = tuple(replace(page, title=found.get(page.key, page.title)) for page in view.pages)
    return replace(view, pages=pages), tuple(TitlePage(key, title) for key, title in sorted(found.items()))


def _in_its_language(page: Page) -> str:
    name = known_as(page)
    theme, own = theme_of(markdown.plain_key(name)), country(markdown.plain_key(name))
    is_by_hand = any(one.origin != "compiler" and one.display == page.title for one in page.aliases)
    lines = [line for one in page.sections if one.aggregation is None for line in one.body_md.split("\n") if line]
    if not page.is_active or not lines or is_by_hand or page.key.type is PageType.DECISION or not (theme or own):
        return page.title
    counted = Counter(language_of(markdown.unescape(line)) for line in lines)
    language = min(counted, key=lambda one: (-counted[one], one))
    title = title_in(theme, language) if theme else country_in(name, language)
    is_written = theme or any(markdown.plain_key(one.display) == markdown.plain_key(title) for one in page.aliases)
    return title if is_written else name
