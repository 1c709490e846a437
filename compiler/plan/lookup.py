"""Which pages and mentions a batch may be about: what to look for, and which of the found ones a planner is shown.

The budget is fixed, so that a prompt costs the same over a hundred pages and over a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from compiler.plan.contract import Memory, Mention, Page
from compiler.plan.spotting import runs, told
from compiler.plan.text import alias_keys, first_sentence, plain_key
from store.words import STOP_WORDS

CANDIDATE_TOKENS = 12_000
MAX_KEYS = 6_000

_MAX_GRAM_WORDS = 4


@dataclass(frozen=True, slots=True)
class Sought:
    """What to look for: `keys` are alias keys to find exactly (mentions too), `names` folded names whose trigram neighbours
    may be meant. Sorted, each once."""

    keys: tuple[str, ...]
    names: tuple[str, ...]


def names_in(memories: Iterable[Memory]) -> Sought:
    """Return what may be named in the memories: names told and spotted, and runs of up to four words of the texts."""
    keys: dict[str, None] = {}
    names: dict[str, None] = {}
    grams: dict[str, None] = {}
    for memory in memories:
        for one in (*told(memory), *runs(memory.text)):
            found = alias_keys(one.name)
            keys.update(dict.fromkeys(found))
            names.update(dict.fromkeys(found[:1]))
        grams.update(dict.fromkeys(_grams(plain_key(memory.text).split())))
    room = max(0, MAX_KEYS - len(keys))
    keys.update(dict.fromkeys([gram for gram in grams if gram not in keys][:room]))
    return Sought(tuple(sorted(keys)), tuple(sorted(names)))


def _grams(words: list[str]) -> Iterator[str]:
    for start, word in enumerate(words):
        if word in STOP_WORDS:
            continue
        for end in range(start + 1, min(len(words), start + _MAX_GRAM_WORDS) + 1):
            if words[end - 1] not in STOP_WORDS:
                yield " ".join(words[start:end])


def choose(
    pages: Iterable[Page], memories: Iterable[Memory], *, budget_tokens: int, count: Callable[[str], int]
) -> tuple[Page, ...]:
    """Return the pages to show, best first, within the budget: those named in most memories, then the greatest hubs.

    The order of `pages` changes nothing. `count` counts the tokens of a text.
    """
    texts = [f" {plain_key(memory.text)} " for memory in memories]
    told_keys = [{key for one in told(memory) for key in alias_keys(one.name)} for memory in memories]
    ranked = sorted(pages, key=lambda page: (-_named_in(page, texts, told_keys), -page.hubness_score, page.key))
    shown: list[Page] = []
    left = budget_tokens
    for page in ranked:
        cost = count(outline(page))
        if cost <= left:
            shown.append(page)
            left -= cost
    return tuple(shown)


def choose_mentions(mentions: Iterable[Mention], *, most: int = 100) -> tuple[Mention, ...]:
    """Return the mentions to show: the most often seen ones, by key."""
    ranked = sorted(mentions, key=lambda mention: (-len(mention.sightings), mention.key))[:most]
    return tuple(sorted(ranked, key=lambda mention: mention.key))


def outline(page: Page) -> str:
    """Return how a page is shown to a planner that chooses among pages: name, summary, aliases and section slugs."""
    aliases = ", ".join(sorted({alias.display for alias in page.aliases} - {page.title})[:8])
    sections = ", ".join(section.slug for section in page.sections)
    summary = first_sentence(page.summary, most_chars=200)
    return f"{page.key.type} {page.title} | {summary} | also: {aliases} | sections: {sections}"


def _named_in(page: Page, texts: list[str], told_keys: list[set[str]]) -> int:
    names = {plain_key(page.title), *(plain_key(alias.display) for alias in page.aliases)} - {""}
    keys = {alias.key for alias in page.aliases}
    return sum(
        1
        for text, told_here in zip(texts, told_keys, strict=True)
        if not keys.isdisjoint(told_here) or any(f" {one} " in text for one in names)
    )
