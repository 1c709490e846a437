"""Decides which proposed names and tags of a page are proven, and by which sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from compiler.plan.bounds import ALIASES, TAGS
from compiler.plan.citing import Citable, united
from compiler.plan.contract import Alias, BatchMemory, CitedMemory, Page, Tag
from compiler.plan.names.ambiguous_names import is_ambiguous, is_written
from compiler.plan.names.same_names import genitives
from compiler.plan.proposal import ProposedName
from compiler.plan.text.kin import kind_of, kinds_in
from compiler.plan.text.markdown import MAX_NAME_CHARS, alias_keys, one_line, plain_key

QUOTE_CHARS = 200
_MISTER = "herr "
_OWNING = re.compile(r"(?<=\w)['’]s\b|(?<=s)['’](?!\w)")


def aliases(
    page: Page, proposed: Iterable[ProposedName], *, citable: Citable, cited: Iterable[str]
) -> tuple[Alias, ...]:
    """Return the aliases to write for the page: new ones, and those with new sources.

    A page has at most ALIASES aliases of the compiler, not counting its title. A name without citations is proven by the `cited`
    memories that contain it. An unproven name is left out, except the title.
    """
    standing = {alias.key: alias for alias in page.aliases}
    room = ALIASES - sum(alias.origin == "compiler" for alias in page.aliases)
    found: dict[str, Alias] = {}
    for one in proposed:
        name = one_line(one.name)[:MAX_NAME_CHARS]
        sources = citable.cite(one.memory_ids) or _proving(name, citable.texts(cited))
        if not sources and plain_key(name) != plain_key(page.title):
            continue
        for key in alias_keys(name):
            if key not in found and key not in standing and room <= 0 and plain_key(name) != plain_key(page.title):
                continue
            room -= key not in found and key not in standing
            present = found.get(key) or standing.get(key) or Alias(key, name)
            found[key] = Alias(key, present.display, present.origin, united(present.sources, sources))
    return tuple(alias for key, alias in found.items() if alias != standing.get(key))


def tags(page: Page, proposed: Iterable[ProposedName], *, citable: Citable) -> tuple[Tag, ...]:
    """Return the tags to write for the page: cited ones that are new or have new sources. A page has at most TAGS."""
    standing = {tag.name: tag for tag in page.tags}
    found: dict[str, Tag] = {}
    for one in proposed:
        name, sources = one_line(one.name)[:MAX_NAME_CHARS].casefold(), citable.cite(one.memory_ids)
        is_known = name in found or name in standing
        if name and sources and (is_known or len(standing.keys() | found.keys()) < TAGS):
            present = found.get(name) or standing.get(name) or Tag(name)
            found[name] = Tag(name, united(present.sources, sources))
    return tuple(tag for name, tag in found.items() if tag != standing.get(name))


def stands_in(name: str, memory: BatchMemory) -> bool:
    """Return whether the name occurs in the memory's text or metadata as whole words, ignoring case and accents."""
    key = plain_key(name)
    return bool(key) and any(is_named(key, text) for text in (memory.text, *strings(memory.metadata)))


def is_named(key: str, text: str) -> bool:
    """Return whether a text contains the words of a plain key, also as a possessive (`Wren's recital`, `Annas Hund`) or in
    another case (`Herrn Vogt`). For a key of the owner's kin, whether it contains any word for them.
    """
    if kind := kind_of(key):
        return kind in kinds_in(text)
    if is_ambiguous(key):
        return is_written(key, text)
    text_key = plain_key(text)
    if holds(key, text_key) or (_OWNING.search(text) is not None and holds(key, plain_key(_OWNING.sub("", text)))):
        return True
    if key.startswith(_MISTER) and holds(f"{_MISTER[:-1]}n {key.removeprefix(_MISTER)}", text_key):
        return True
    return holds(f"{key}s", text_key) and key.rpartition(" ")[2] in genitives(text)


def holds(key: str, text_key: str) -> bool:
    """Return whether a text's key contains the words of `key` in a row; a key that is not ASCII may also be part of a word."""
    return f" {key} " in f" {text_key} " or (not key.isascii() and key in text_key)


def quote(name: str, memory_text: str) -> str:
    """Return up to 200 characters of the text around the name, verbatim; the text's start if it lacks the name."""
    at = max(0, memory_text.casefold().find(name.casefold()))
    start = max(0, min(at - (QUOTE_CHARS - len(name)) // 2, len(memory_text) - QUOTE_CHARS))
    return memory_text[start : start + QUOTE_CHARS].strip()


def strings(value: object, depth: int = 4) -> Iterator[str]:
    """Yield every string in a metadata value."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for one in value.values():
            yield from strings(one, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for one in value:
            yield from strings(one, depth - 1)


def _proving(name: str, memories: Iterable[BatchMemory]) -> tuple[CitedMemory, ...]:
    return tuple(sorted(CitedMemory(one.memory_id, one.text_hash) for one in memories if stands_in(name, one)))
