"""Names and markdown: slugs, comparison keys of names, adding and removing wiki links.

Rewriting happens once a text has its final words, and is idempotent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from compiler.plan.contract import PageKey, PageType
from compiler.plan.text.sentences import sentences
from store.text.texts import fold

MAX_SLUG_CHARS = 80
MAX_NAME_CHARS = 120

# C++ and C# are not C: a plus or a hash after a word belongs to it.
_SIGN = re.compile(r"(?<=[^\W_])(?:\+\+?|#)(?![\w+#])")
_SIGNED_WORD = re.compile(rf"[^\W_]+(?:{_SIGN.pattern})?")
_SIGN_NAMES = {"+": " plus", "++": " plus plus", "#": " sharp"}
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_NOT_WORD = re.compile(r"[\W_]+")
_APOSTROPHES = re.compile(r"(?<=\w)['’ʼ`](?=\w)")
_WIKILINK = re.compile(r"\[\[([^\[\]\n]*?)\]\]")
_BOLD = re.compile(r"(?<![\\*\[])\*\*(?=[^\s*])((?:[^*\n\[\]\\]|\\[^\n]){1,120}?)(?<!\s)\*\*(?![*\]])")
_PAGE_LINK = re.compile(r"(!?)\[((?:[^\[\]\\\n]|\\.)*)\]\(\s*<?/wiki/([^/)\s>]*)/([^)\s>]*)>?(?:\s+\"[^\"\n]*\")?\s*\)")
_ESCAPED = re.compile(r"([\\`*\[\]<]|(?<!\w)_|_(?!\w)|~(?=~)|(?<=~)~)")
_LINE_SIGN = re.compile(r"^([-+#]|\d{1,9}(?=[.)]))")
_UNESCAPED = re.compile(r"\\([^\w\s]|_)")
_MARKING = ("\\", "**", "](")
_SPACES = re.compile(r"\s+")
_CYRILLIC = (
    "а a б b в v г g д d е e ж zh з z и i к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts "
    "ч ch ш sh щ shch ы y э e ю yu я ya"
)
_GREEK = "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o"
_LATIN = "ø o đ d ł l æ ae œ oe þ th ð d ı i є e і i ґ g"
_SPELLED = f"{_CYRILLIC} {_GREEK} {_LATIN}".split()
_LETTERS = dict(zip(_SPELLED[::2], _SPELLED[1::2], strict=True))
_TYPES = frozenset(map(str, PageType))


@dataclass(frozen=True, slots=True)
class References:
    """References in texts: names in bold, folded, and linked pages."""

    names: tuple[str, ...]
    pages: tuple[PageKey, ...]


def slug(text: str) -> str:
    """Return the text as part of a path: a to z, digits and single dashes, at most 80 characters, never empty if it has a letter.

    Latin, Cyrillic and Greek letters are transliterated; those of other scripts become their code points.
    """
    return _slug_of_name(text) if len(text) <= MAX_NAME_CHARS else _slug(text)


def alias_key(name: str) -> str:
    """Return the key of an alias, folded as in the store."""
    return fold(name)


def plain_key(name: str) -> str:
    """Return the name's words, folded, one space apart: `St. Regis` and `st regis` are equal, `C++` and `C` are not."""
    return _plain_name(name) if len(name) <= MAX_NAME_CHARS else _plain(name)


def alias_keys(name: str) -> tuple[str, ...]:
    """Return the alias keys of a page with this name: folded, and without punctuation if that differs."""
    return tuple(key for key in dict.fromkeys((alias_key(name), plain_key(name))) if key)


def heading(section_slug: str) -> str:
    """Return a heading for a section without one: its slug as words."""
    return section_slug.replace("_", " ").replace("-", " ").strip().capitalize()


def one_line(text: str) -> str:
    """Return the text with white space squeezed to single spaces."""
    return _SPACES.sub(" ", text).strip()


def first_sentence(text: str, *, most_chars: int = 160) -> str:
    """Return the first sentence of a summary on one line; a long one is cut between words."""
    line = one_line(text)
    sentence = next(iter(sentences(line)), "")
    if len(sentence) <= most_chars:
        return sentence
    cut = sentence[: most_chars - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut}…"


def strip_wikilinks(markdown: str) -> str:
    """Return the markdown without [[double brackets]]; of `[[page|words]]` the words stay."""
    while (stripped := _WIKILINK.sub(lambda found: found[1].rpartition("|")[2].strip(), markdown)) != markdown:
        markdown = stripped
    return markdown


def bold_names(bodies: Iterable[str]) -> tuple[str, ...]:
    """Return the names in bold as they are displayed, folded and sorted; each may be the name of a page."""
    return tuple(sorted({_bold_key(found) for body in bodies for found in _BOLD.finditer(body)}))


def references(bodies: Iterable[str]) -> References:
    """Return every name and page in the texts, sorted."""
    texts = tuple(bodies)
    found = {key for text in texts for link in _PAGE_LINK.finditer(text) if (key := page_key(link[3], link[4]))}
    return References(bold_names(texts), tuple(sorted(found)))


def page_key(page_type: str, page_slug: str) -> PageKey | None:
    """Return the key, or None if the type is unknown or the slug invalid."""
    if page_type not in _TYPES or not page_slug or slug(page_slug) != page_slug:
        return None
    return PageKey(PageType(page_type), page_slug)


def linkify(markdown: str, known: Mapping[str, PageKey], *, own: PageKey | None = None) -> str:
    """Return the markdown with bold names of known pages (by folded name) linked; names inside links are unchanged."""

    def linked(found: re.Match[str]) -> str:
        page = known.get(_bold_key(found))
        return found[0] if page is None or page == own else f"[{found[0]}]({page.path})"

    return _BOLD.sub(linked, markdown)


def drop_bad_links(markdown: str, known: Collection[PageKey]) -> str:
    """Return the markdown without links to unknown wiki pages; their words stay."""

    def kept(found: re.Match[str]) -> str:
        return found[0] if page_key(found[3], found[4]) in known else found[2]

    while (dropped := _PAGE_LINK.sub(kept, markdown)) != markdown:
        markdown = dropped
    return markdown


def unlinked(markdown: str) -> str:
    """Return the markdown with each link to a wiki page replaced by its words, without their bold."""
    if "](" not in markdown:
        return markdown
    return _PAGE_LINK.sub(lambda found: found[2].removeprefix("**").removesuffix("**"), markdown)


def escape(line: str) -> str:
    """Return one line of plain text as markdown that displays exactly that text."""
    return _LINE_SIGN.sub(r"\\\1" if line[:1] in "-+#" else r"\1\\", _ESCAPED.sub(r"\\\1", line))


def unescape(markdown: str) -> str:
    """Return the plain text that a line of markdown displays: links, bold and escapes removed."""
    if not any(sign in markdown for sign in _MARKING):
        return markdown
    unlinked = re.sub(r"\[((?:[^\[\]\\]|\\.)*)\]\([^)\s]*\)", r"\1", markdown)
    return _UNESCAPED.sub(r"\1", re.sub(r"(?<!\\)\*\*", "", unlinked))


def _bold_key(found: re.Match[str]) -> str:
    return alias_key(_UNESCAPED.sub(r"\1", found[1]))


def _slug(text: str) -> str:
    plain = _SIGN.sub(lambda found: _SIGN_NAMES[found[0]], _APOSTROPHES.sub("", fold(text)))
    spelled = plain if plain.isascii() else "".join(map(_spelled, plain))
    return _NOT_SLUG.sub("-", spelled).strip("-")[:MAX_SLUG_CHARS].rstrip("-")


def _plain(text: str) -> str:
    folded = text.lower() if text.isascii() else fold(text)
    whole = _APOSTROPHES.sub("", folded)
    if "+" in whole or "#" in whole:
        return " ".join(_SIGNED_WORD.findall(whole))
    return _NOT_WORD.sub(" ", whole).strip()


# The same names recur in every batch.
_plain_name = lru_cache(maxsize=8192)(_plain)
_slug_of_name = lru_cache(maxsize=8192)(_slug)


@lru_cache(maxsize=4096)
def _spelled(character: str) -> str:
    if character.isascii():
        return character
    category = unicodedata.category(character)
    if category[0] not in "LN":
        return "" if category[0] == "M" else " "
    return _LETTERS.get(character) or f" {ord(character):x} "
