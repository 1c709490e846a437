"""Finds the signs that a name belongs to several people, to a thing, or to a brand."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from compiler.plan.lexicon.joined_names import FIRM_ENDS
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import acts
from compiler.plan.text.words import ADDRESSES, GENERIC, NAMING, PERSONAL, PREDICATES, TITLES
from store.text.text_cache import cached_by_text
from store.text.words import STOP_WORDS

_OTHER = (
    r"another|a second|a different|(?:the|an|my|her|his|our) other|otr[oa]|outr[oa]|une? autre"
    r"|(?:noch )?eine[nr]? andere[rn]?|ein anderer|noch eine?[nr]?"
)
# `Not the Dan from before`
_NOT_THE = r"\b(?i:not the|nicht (?:der|den|dem|die)|no (?:es )?(?:el|la)|n[ãa]o [ée]? ?[oa]|pas (?:le|la))"
_APART = re.compile(rf"{_NOT_THE} ([^\W\d_a-z][\w-]+)(?! [^\W\d_a-z])")
# `Young Dan` beside `Dan`
_APART_BY = "Young|Old|Little|Big|Tall"
# `A new member, Dan Reed, joined` introduces somebody whom nobody knew.
_NEW = r"\b(?i:an? (?:new|second|further|additional)|another|una? nuev[oa]|um novo|uma nova|eine? neuer?|un nouveau|une nouvelle)"
_ANOTHER = re.compile(rf"\b(?i:{_OTHER}) ([^\W\d_a-z][\w-]+)(?! [^\W\d_a-z])")
# `His dog is also called Dan`, `also a Dan`, `s'appelle Dan aussi`
_ALSO_WORDS = "auch|aussi|también|tambien|também|tambem|anche"
_BEARS = "is called|is named|heißt|heisst|se llama|se chama|chama-se|s['’]appelle|si chiama"
_ALSO = re.compile(
    rf"\b(?:also|too,?) (?:called|named|an?) ([^\W\d_a-z][\w-]+)|\b(?:called|named) ([^\W\d_a-z][\w-]+),? too\b"
    rf"|\b(?:{_BEARS}) (?:{_ALSO_WORDS}) ([^\W\d_a-z][\w-]+)|\b(?:{_BEARS}) ([^\W\d_a-z][\w-]+) (?:{_ALSO_WORDS})\b"
    rf"|\b(?:{_ALSO_WORDS}) (?:{_BEARS}) ([^\W\d_a-z][\w-]+)|\b(?:is|ist|es|é) ([^\W\d_a-z][\w-]+) (?:too|{_ALSO_WORDS})\b"
)
_LONGEST = 80  # characters of a name and `is`
_NUMBERS = """
two|three|four|five|six|seven|eight|nine|ten|dos|tres|cuatro|cinco|dois|duas|três|quatro|zwei|drei|vier|fünf|deux|trois|quatre
"""
_SEVERAL = rf"(?:{_NUMBERS.strip()}|both|beide|ambos|les deux)"
_NAMED = r"called|named|llamad[oa]s|chamad[oa]s|namens|genannt|appelée?s"
_FOLLOWING = re.compile(r"\s+([^\W\d_][\w'’-]*)")
# `My old Prof Desai` is a former one; in `he is 12 years old. Mr Desai` the word is of somebody else.
_MINE = "my our his her their mein meine unser unsere mi meu mon years"
_NOT_MINE = "".join(rf"(?<!\b(?i:{one}) )" for one in _MINE.split())
_GENERATION = re.compile(
    rf"{_NOT_MINE}\b(?i:old|older|elder|young|younger|alte[rn]?|junge[rn]?|viejo|velho|vieux|jeune)"
    rf" (?i:{'|'.join(sorted(TITLES | ADDRESSES))})\.? ([^\W\d_a-z][\w'’-]+)"
)
_NO_NOUNS = STOP_WORDS | PREDICATES
_LONGEST_PREPOSITION = 3
_SHORTEST_ACRONYM = 3
_INSTITUTIONS = frozenset(
    ["museum", "hospital", "airport", "library", "council", "station", "zoo", "theatre", "theater", "park"]
)
_FIRM_ENDS = frozenset(map(plain_key, FIRM_ENDS.split()))
_JOINING = frozenset(["and", "or", "in", "on", "at", "to", "for", "with", "from", "by"])
_IN_TOWN = r"\b(?:[Ii]n|[Oo]utside|[Aa]cross|[Nn]orth|[Ss]outh|[Ee]ast|[Ww]est|[Cc]entral)"


@lru_cache(maxsize=1024)
def _bearing(name: str) -> re.Pattern[str]:
    one = re.escape(name)
    return re.compile(
        rf"\b(?i:{_OTHER}) {one}(?![\w'’-])|\b(?i:{_SEVERAL})(?: [\w-]+){{1,4}} (?i:{_NAMED}) {one}(?![\w'’-])"
        rf"|\b(?i:{_SEVERAL}) {one}s(?![\w'’-])|{_NOT_THE} {one}(?![\w'’-])"
        rf"|\b(?:{_APART_BY}) {one}(?![\w'’-]| [^\W\d_a-z])"
        + (rf"|\b(?i:{_NUMBERS.strip()}) {one}(?![\w'’-])" if name.endswith("s") else "")
    )


def has_namesakes(name: str, text: str) -> bool:
    """Return whether the text says that several bear the name: `another Dan`, `two women called Dan`, `both Dans`.

    Not `another Dan story` or `both Dan's kids`.
    """
    return name in text and any(not _is_before_noun(text, one.end()) for one in _bearing(name).finditer(text))


def is_new(name: str, text: str) -> bool:
    """Return whether the text introduces the bearer of the name as somebody new: `a new member, Dan Reed, joined`."""
    called = rf"(?: [\w-]+){{1,3}},?(?: (?i:{_NAMED}))? {re.escape(name)}(?![\w'’-])"
    return name in text and bool(re.search(rf"{_NEW}{called}", text))


@cached_by_text(4096)
def told_apart(text: str) -> frozenset[str]:
    """Return the plain keys of the single words of whose bearer a text says that they are another one than the known one: `he met
    a Dan, not the Dan from before`, `there is another Dan, Dan Reed`.
    """
    also = (
        name
        for one in _ALSO.finditer(text)
        for name in one.groups()
        if name and not _is_short_for(name, text, one.start())
    )
    named = (one[1] for one in _ANOTHER.finditer(text) if re.search(rf"\b{one[1]} [^\W\d_a-z]", text[one.end() :]))
    return frozenset(map(plain_key, (*(one[1] for one in _APART.finditer(text)), *named, *also)))


def _is_short_for(name: str, text: str, at: int) -> bool:
    """Return whether a longer name that ends or begins with the name is just before a place: `Mount Etna is also called Etna`."""
    before = text[max(0, at - _LONGEST) : at]
    word = re.escape(name)
    return bool(re.search(rf"(?:[^\W\d_a-z][\w-]* {word}|\b{word} [^\W\d_a-z][\w-]*),?(?: (?:is|was))? $", before))


def _is_before_noun(text: str, at: int) -> bool:
    """Return whether a noun follows at once: a word in lower case that is no function word or verb."""
    following = _FOLLOWING.match(text, at)
    word = following[1] if following is not None else ""
    return word.islower() and len(word) > _LONGEST_PREPOSITION and plain_key(word) not in _NO_NOUNS


def is_of_generation(surname: str, text: str) -> bool:
    """Return whether the text tells a bearer of the surname, a plain key, from a younger or older one: `old Mr Desai`."""
    return any(plain_key(found[1]) == surname for found in _GENERATION.finditer(text))


def has_article(name: str, text: str) -> bool:
    """Return whether the text has the name with `the` and no noun: `on the Wilhelmina, which`, not `the Dan I told you about`."""
    every = re.finditer(rf"\b[Tt]he {re.escape(name)}(?![\w'’-])(\W*)(\w*)", text) if name in text else ()
    return any(not one[2] or one[1].strip() or one[2].lower() in _JOINING | PREDICATES for one in every)


def is_town_of(name: str, longer_key: str, texts: Collection[str]) -> bool:
    """Return whether a text has the name as that of a town, and the longer plain key is that of something in it: `in Kapsabet`
    beside `Kapsabet Boys`.

    It is no town if the longer key only adds a kind (`Vexel GmbH`), or if somebody of that name does what only people do. The
    name of a region is often before another noun: `the Otago marathon` is not that of the `Otago Museum`.
    """
    if longer_key.rpartition(" ")[2] in _INSTITUTIONS and _is_only_before_nouns(name, texts):
        return True
    in_town = re.compile(rf"{_IN_TOWN} {re.escape(name)}(?![\w'’-]| [^\W\d_a-z])")
    is_in_town = any(in_town.search(text) for text in texts if name in text)
    return (
        is_in_town and _adds_more(name, longer_key) and not any(acts(plain_key(name), one, PERSONAL) for one in texts)
    )


def _is_only_before_nouns(name: str, texts: Collection[str]) -> bool:
    alone = re.compile(rf"(?<![\w'’-]){re.escape(name)}(?![\w'’-]| [^\W\d_a-z])")
    every = [_is_before_noun(text, one.end()) for text in texts if name in text for one in alone.finditer(text)]
    return bool(every) and all(every)


def is_acronym_in(name: str, longer_key: str) -> bool:
    """Return whether the name is an acronym and the longer plain key adds more than a kind: `AWS` does not stand for `AWS Secrets
    Manager`, but does for `AWS Inc`. Two letters may be a person's initials.
    """
    is_acronym = len(name) >= _SHORTEST_ACRONYM and name.isalpha() and name.isupper()
    return is_acronym and _adds_more(name, longer_key)


def is_compound_of(key: str, name: str) -> bool:
    """Return whether a name begins with a given name that is joined of the one with this plain key and another: `Marie-Louise` is
    not `Marie`.
    """
    first, hyphen, rest = name.partition(" ")[0].partition("-")
    return bool(hyphen) and plain_key(first) == key and rest[:1].isupper()


def is_partnership(name: str) -> bool:
    """Return whether a name is that of a firm of several partners: `Sal & Castellano`, and not `Frost & Daughters`."""
    _, sign, rest = name.partition(" & ")
    words = plain_key(rest).split()
    return bool(sign) and not any(word.removesuffix("s") in NAMING or word in GENERIC | _FIRM_ENDS for word in words)


def _adds_more(name: str, longer_key: str) -> bool:
    added = longer_key.split()[len(plain_key(name).split()) :]
    return bool(added) and not GENERIC.issuperset(added)


def is_branded(names: Collection[str], brand: str, text: str) -> bool:
    """Return whether a thing of a person has the longer name: `Ray's sauce is sold under the name Ray Day`."""
    after = rf"['’]s\b[^.!?]*\bunder the name {re.escape(brand)}(?!\w)"
    return brand in text and any(re.search(rf"(?<!\w){re.escape(name)}{after}", text) for name in names)
