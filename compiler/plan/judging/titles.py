"""The titles of themes and countries, in the language of their pages' lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from compiler.plan.batch import AggregationView
from compiler.plan.contract import Alias, Page, PageType, TitlePage, WriteAlias
from compiler.plan.lexicon.theme_titles import THEME_TITLES
from compiler.plan.names.ruled import known_as
from compiler.plan.names.same_names import country, country_in
from compiler.plan.names.themes import theme_of, title_in
from compiler.plan.text import markdown
from compiler.plan.text.page_words import language_of

MIN_LINES = 2
"""How many lines in a language a theme needs before its title in that language is one of its names."""


def in_their_language(view: AggregationView) -> tuple[AggregationView, tuple[TitlePage | WriteAlias, ...]]:
    """Return the view with themes and countries titled in the language of most lines of their pages, and the items for this.

    The items also give themes their names in other languages. A title that an operator gave stays, and a country only gets a
    title that is one of its page's names. The sources of a title do not depend on when the page got it: a theme cites all
    memories that have the theme, a country those that have the name.
    """
    pages: list[Page] = []
    items: list[TitlePage | WriteAlias] = []
    for page in sorted(view.pages, key=lambda page: page.key):
        counted = _languages(page)
        title = _title(page, counted) if counted else page.title
        items.extend(_naming_items(page, title, counted) if counted else ())
        pages.append(replace(page, title=title))
    return replace(view, pages=tuple(pages)), tuple(items)


def _languages(page: Page) -> Mapping[str, int]:
    """Return the number of the page's lines in each language; empty if the title does not depend on the language."""
    key = markdown.plain_key(known_as(page))
    is_by_hand = any(one.origin != "compiler" and one.display == page.title for one in page.aliases)
    if not page.is_active or is_by_hand or page.key.type is PageType.DECISION or not (theme_of(key) or country(key)):
        return {}
    lines = [line for one in page.sections if one.aggregation is None for line in one.body_md.split("\n") if line]
    return Counter(language_of(markdown.unescape(line)) for line in lines)


def _title(page: Page, counted: Mapping[str, int]) -> str:
    name = known_as(page)
    theme = theme_of(markdown.plain_key(name))
    language = min(counted, key=lambda one: (-counted[one], one))
    if theme:
        return title_in(theme, language)
    title = country_in(name, language)
    return title if _has(page, title) else name


def _naming_items(page: Page, title: str, counted: Mapping[str, int]) -> Iterator[TitlePage | WriteAlias]:
    """Yield the items that title the page and, for a theme, leave only the names in the languages of its lines."""
    theme = theme_of(markdown.plain_key(known_as(page)))
    aliases = {alias.key: alias for alias in page.aliases}
    own = aliases.get(markdown.alias_key(known_as(page) if theme else title))
    proof = own.sources if own else page.summary_sources
    if title != page.title:
        yield TitlePage(page.key, title, proof)
    if not theme:
        return
    in_languages = {title_in(theme, one) for one, lines in counted.items() if lines >= MIN_LINES}
    wanted = {
        markdown.alias_key(name): Alias(markdown.alias_key(name), name, sources=proof)
        for name in (*in_languages, title)
    }
    known = {markdown.alias_key(name) for name in THEME_TITLES.get(theme, {}).values()}
    for key in sorted((known | wanted.keys()) - ({own.key} if own else set())):
        there = aliases.get(key)
        is_titled = there is None and key == markdown.alias_key(title) and title != page.title
        if there != wanted.get(key) and not is_titled and (there is None or there.origin == "compiler"):
            yield WriteAlias(page.key, wanted[key] if key in wanted else Alias(key, theme))


def _has(page: Page, name: str) -> bool:
    return any(markdown.plain_key(one.display) == markdown.plain_key(name) for one in page.aliases)
