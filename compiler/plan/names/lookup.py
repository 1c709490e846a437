"""Candidates of a batch: the keys to look up, and the found pages and mentions that a planner is shown.

The budget is fixed, so that a prompt over a hundred pages costs the same as one over a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.plan.contract import BatchMemory, Mention, Page, PageKey
from compiler.plan.names.same_names import main_name
from compiler.plan.names.spotting import declared, runs
from compiler.plan.names.themes import themes_in
from compiler.plan.text.kin import keys_of, kind_of
from compiler.plan.text.markdown import alias_keys, first_sentence, plain_key
from store.text.texts import query_words
from store.text.words import STOP_WORDS

MAX_KEYS = 6_000
MAX_WORDS = 150

_MAX_GRAM_WORDS = 4
_WORDS_EACH = 10


@dataclass(frozen=True, slots=True)
class Sought:
    """The keys of a lookup: `keys` are alias keys to match exactly (mentions too), `names` folded names to match by trigrams.

    Both are sorted and unique. `texts` are the memories' words with a space around each; `where` maps a key to the memories that
    contain it, as a bit set by index.
    """

    keys: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...] = ()
    where: Mapping[str, int] = field(default_factory=dict)

    def naming(self, keys: Iterable[str]) -> int:
        """Return the memories that contain one of the keys, as a bit set by index."""
        bits = 0
        for key in keys:
            bits |= self.where.get(key, 0) or self._spelled_out(key)
        return bits

    def _spelled_out(self, key: str) -> int:
        """Return the memories that contain a key, as a bit set. Searches only keys that `where` lacks: those of more than four
        words, or with a stop word at either end.
        """
        words = key.split()
        if not words or (len(words) <= _MAX_GRAM_WORDS and STOP_WORDS.isdisjoint((words[0], words[-1]))):
            return 0
        return sum(1 << at for at, text in enumerate(self.texts) if f" {key} " in text)


def names_in(memories: Iterable[BatchMemory]) -> Sought:
    """Return the names that the memories may contain: from metadata and text, and runs of up to four words of the texts."""
    keys: dict[str, None] = {}
    names: dict[str, None] = {}
    where: dict[str, int] = {}
    texts = []
    for at, memory in enumerate(memories):
        bit, plain = 1 << at, plain_key(memory.text)
        texts.append(f" {plain} ")
        for one in (*declared(memory), *runs(memory.text)):
            kin = keys_of(kind_of(plain_key(one.name)))
            found = tuple(dict.fromkeys((*alias_keys(one.name), *alias_keys(main_name(one.name)), *kin)))
            keys.update(dict.fromkeys(found))
            names.update(dict.fromkeys(found[:1]))
            for key in found:
                where[key] = where.get(key, 0) | bit
        for title in themes_in(memory.text):
            for key in alias_keys(title):
                keys[key] = None
                where[key] = where.get(key, 0) | bit
        for gram in _grams(plain.split()):
            where[gram] = where.get(gram, 0) | bit
    room = max(0, MAX_KEYS - len(keys))
    keys.update(dict.fromkeys([gram for gram in where if gram not in keys][:room]))
    return Sought(tuple(sorted(keys)), tuple(sorted(names)), tuple(texts), where)


def unnamed(memories: Sequence[BatchMemory], sought: Sought, found: Iterable[str]) -> tuple[BatchMemory, ...]:
    """Return the memories that contain none of the found keys; their pages must be searched by words."""
    named = sought.naming(found)
    return tuple(memory for at, memory in enumerate(memories) if not named >> at & 1)


def words_to_search(memories: Iterable[BatchMemory], *, most: int = MAX_WORDS) -> list[list[str]]:
    """Return the words to search for each memory, longest first, up to `most` in all."""
    texts, remaining = [], most
    for memory in memories:
        words = sorted(query_words(memory.text), key=lambda word: (-len(word), word))[: min(_WORDS_EACH, remaining)]
        remaining -= len(words)
        texts.append(words)
    return texts


def _grams(words: list[str]) -> Iterator[str]:
    for start, word in enumerate(words):
        if word in STOP_WORDS:
            continue
        gram = word
        yield gram
        for other in words[start + 1 : start + _MAX_GRAM_WORDS]:
            gram = f"{gram} {other}"
            if other not in STOP_WORDS:
                yield gram


def choose(
    pages: Iterable[Page],
    sought: Sought,
    *,
    budget_tokens: int,
    count: Callable[[str], int],
    akin: Collection[PageKey] = (),
) -> tuple[Page, ...]:
    """Return the pages to show, best first, within the budget: those named in most memories, then those `akin` to memories that
    name no page, then those with the highest hub score.

    The order of `pages` does not matter. `count` counts the tokens of a text.
    """
    ranked = sorted(
        pages, key=lambda page: (-_named_in(page, sought), page.key not in akin, -page.hubness_score, page.key)
    )
    shown: list[Page] = []
    remaining_tokens = budget_tokens
    for page in ranked:
        cost = count(outline(page))
        if cost <= remaining_tokens:
            shown.append(page)
            remaining_tokens -= cost
    return tuple(shown)


def choose_mentions(mentions: Iterable[Mention], *, most: int = 100) -> tuple[Mention, ...]:
    """Return the mentions to show: the most often seen ones, by key."""
    ranked = sorted(mentions, key=lambda mention: (-len(mention.sightings), mention.key))[:most]
    return tuple(sorted(ranked, key=lambda mention: mention.key))


def outline(page: Page) -> str:
    """Return a page's outline for a planner: name, summary, aliases and section slugs."""
    aliases = ", ".join(sorted({alias.display for alias in page.aliases} - {page.title})[:8])
    sections = ", ".join(section.slug for section in page.sections)
    summary = first_sentence(page.summary, most_chars=200)
    return f"{page.key.type} {page.title} | {summary} | also: {aliases} | sections: {sections}"


def _named_in(page: Page, sought: Sought) -> int:
    plain = {plain_key(page.title), *(plain_key(alias.display) for alias in page.aliases)}
    return sought.naming({*plain, *(alias.key for alias in page.aliases)}).bit_count()
