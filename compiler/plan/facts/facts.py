"""The facts of a sentence that a rewording must not change: numbers, dates, names, and negations.

Words are compared, not meanings. A doubtful fact counts as lost: the old line is then kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from compiler.plan.facts import numerals
from compiler.plan.facts.fact_words import NEGATION_RUNS, NEGATIONS, NUMBERS
from compiler.plan.facts.numerals import COUNTED, UNSPACED
from compiler.plan.text.sentences import sentences
from compiler.plan.text.words import ALWAYS_CAPITAL, NO_NAMES
from store.text.text_cache import cached_by_text
from store.text.words import STOP_WORDS

NUMBER, DATE, NAME, NEGATION = "number", "date", "name", "negation"

_STEM_CHARS = 4
_MOST_SENTENCES = 8192  # of 4 KB each
# Letters with combining marks of several scripts, which \w leaves out.
_W = "\\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e"
_TOKEN = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s<>()\"']+|(?<!\w)@\w+"
    r"|(?<![\w-])-(?=\d)\d+(?:[.,:/\-]\d+)*|\d+(?:[.,:/\-]\d+)*(?!\w)"
    rf"|[{_W}]+(?:'[{_W}]+)*"
)
_CLAUSE = re.compile(
    r"[,;:—–()](?=\s|$)|[、，；：،؛]|\s(?:but|and|while|although|though|whereas|however|aber|und|sondern|pero|sino|mas|mais|et|"
    r"ma|maar|но|и|а|ama|ve|لكن|و)\s",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_BEHIND_NUMBER = re.compile(r"(?<=\d)\s+(?=\S)")
_LATIN = re.compile("[a-z]{2,}")
_HIDDEN = frozenset({"Cf", "Cc"})
_SIGNS = str.maketrans("٫٬−‐‑‒–⁄’", ".,-----/'")
_KANA = re.compile("[\u3041-\u309f]+")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence: `stems` are the first letters of its content words; `numbers`, `dates` and `names` its facts.

    `dates` and `months` are subsets of `numbers`; `wholes` are numbers written with separators, verbatim.
    """

    stems: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    wholes: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    months: frozenset[str] = frozenset()
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence verbatim, its folded words with a space around each, and its clauses."""

    text: str
    words: str
    clauses: tuple[Clause, ...]
    whole: Clause

    @property
    def has_facts(self) -> bool:
        """Whether a rewording could change a fact of it."""
        return bool(self.whole.numbers or self.whole.names or self.whole.is_negated)


@dataclass(frozen=True, slots=True)
class Loss:
    """The kinds of facts that another text changes or drops. `by` is the contradicting sentence, `foreign` are its new facts."""

    kinds: frozenset[str] = frozenset()
    by: Sentence | None = None
    foreign: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Gist:
    """The content words and the facts of a text."""

    stems: frozenset[str]
    facts: frozenset[str]


def read(text: str, common: frozenset[str] = frozenset()) -> tuple[Sentence, ...]:
    """Return the sentences of a plain text. A word in `common` is not a name just because it is capitalised at a sentence's
    start.
    """
    return tuple(_sentence(one, _first_word(one) in common) for one in sentences(text))


def words_of(text: str) -> frozenset[str]:
    """Return the words of each sentence of a plain text, as `Sentence.words` has them."""
    return frozenset(_spaced(_folded_words(_plain(one))) for one in sentences(text))


def common_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that occur in lower case in the texts."""
    return frozenset().union(*(_lower_words(one) for text in texts for one in sentences(text)))


def lost(old: Sentence, new: Sequence[Sentence], own: frozenset[str] = frozenset()) -> Loss:
    """Return which facts of a sentence the new text changes or drops; an empty Loss if it still states them all.

    `own` are the words of the page's own names: dropping them loses nothing.
    """
    if any(_holds(one, old) for one in new):
        return Loss()
    kinds = _dropped(old, new, own)
    changed = contradiction(old, new)
    if not kinds and not changed.kinds:
        return Loss()
    return Loss(kinds | changed.kinds, changed.by, changed.foreign)


def contradiction(old: Sentence, new: Sequence[Sentence]) -> Loss:
    """Return the facts of a sentence that are contradicted by the clauses that share most words with it."""
    if any(_holds(one, old) for one in new):
        return Loss()
    kinds: set[str] = set()
    foreign: set[str] = set()
    found: list[Sentence] = []
    for kind in (NUMBER, NAME):
        closest = _nearest(old.whole, new, kind) if _of(old.whole, kind) else []
        replaced = [_replacing_facts(_of(old.whole, kind), one, clause, kind) for one, clause in closest]
        if replaced and all(one is not None for one in replaced) and any(replaced):
            kinds.add(DATE if kind == NUMBER and old.whole.dates else kind)
            found += [one for (one, _), some in zip(closest, replaced, strict=True) if some]
            foreign |= {fact for some in replaced for fact in some or ()}
    for part in old.clauses:
        closest = _nearest(part, new, NUMBER)
        if closest and all(clause.is_negated != part.is_negated for _, clause in closest):
            kinds.add(NEGATION)
            found.append(closest[0][0])
    closest = _nearest(old.whole, new, NUMBER)
    if closest and all(_is_reordered(old.whole, one.whole) for one, _ in closest):
        kinds.add(DATE)
        found.append(closest[0][0])
        foreign |= (found[-1].whole.wholes - old.whole.wholes) or found[-1].whole.numbers
    return Loss(frozenset(kinds), found[0] if found else None, frozenset(foreign))


def _replacing_facts(facts: frozenset[str], one: Sentence, clause: Clause, kind: str) -> frozenset[str] | None:
    """Return the facts that a clause, or its sentence, has in place of `facts`; None if the clause has `facts`."""
    if facts <= _of(clause, kind):
        return None
    sentence_facts = _of(one.whole, kind)
    return (_of(clause, kind) if facts <= sentence_facts else sentence_facts) - facts


def says(text: str, loss: Loss) -> bool:
    """Return whether a text supports the contradiction: it has one of the foreign facts or, if there is none, its words."""
    read_sentences = read(text)
    found = [one.whole for one in read_sentences]
    if loss.foreign:
        facts = {fact.partition("#")[0] for fact in loss.foreign}
        return any(facts & (one.numbers | one.names | one.wholes) for one in found) or any(
            f" {fact} " in one.words for one in read_sentences for fact in facts
        )
    return loss.by is not None and any(
        len(loss.by.whole.stems & one.stems) * 2 >= len(loss.by.whole.stems) for one in found
    )


def every_fact(old: Sentence) -> Loss:
    """Return all facts of a sentence as lost, for texts too long to compare."""
    numbers = {DATE} if old.whole.dates else {NUMBER} if old.whole.numbers else set()
    named = {NAME} if old.whole.names else set()
    return Loss(frozenset(numbers | named | ({NEGATION} if old.whole.is_negated else set())))


def gist(found: Iterable[Sentence], own: frozenset[str] = frozenset()) -> Gist:
    """Return all content words and facts of some sentences, without the page's own names."""
    every = [one.whole for one in found]
    stems = frozenset(stem for one in every for stem in one.stems) - own
    return Gist(stems, frozenset(fact for one in every for fact in one.numbers | one.names) - own)


def shared(one: Gist, other: Gist) -> int:
    """Return the overlap of two texts: shared stems plus three times the shared facts."""
    return len(one.stems & other.stems) + 3 * len(one.facts & other.facts)


def holds_all(text: str, sentence: Sentence) -> bool:
    """Return whether a text states every fact and content word of a sentence."""
    read_sentences, wanted = read(text), sentence.whole
    known = gist(read_sentences)
    is_denied = any(one.whole.is_negated for one in read_sentences) or not wanted.is_negated
    return wanted.stems <= known.stems and wanted.numbers | wanted.names <= known.facts and is_denied


def own_words(names: Iterable[str]) -> frozenset[str]:
    """Return the words of a page's names and their stems, to be left out of a comparison."""
    words = {word for name in names for word in _folded_words(name)}
    return frozenset(words | {_stem(word) for word in words})


def _dropped(old: Sentence, new: Sequence[Sentence], own: frozenset[str]) -> frozenset[str]:
    kinds: set[str] = set()
    around = old.whole.stems - own
    for kind in (NUMBER, NAME):
        for fact in _of(old.whole, kind) - (own if kind == NAME else frozenset()):
            context = around - {_stem(fact)}
            if not any(fact in _of(one.whole, kind) and (not context or context & one.whole.stems) for one in new):
                kinds.add(DATE if fact in old.whole.dates else kind)
    denied = frozenset(stem for one in old.clauses if one.is_negated for stem in one.stems) - own
    if old.whole.is_negated and not any(
        clause.is_negated and (not denied or denied & clause.stems) for one in new for clause in one.clauses
    ):
        kinds.add(NEGATION)
    return frozenset(kinds)


def _nearest(old: Clause, new: Sequence[Sentence], kind: str) -> list[tuple[Sentence, Clause]]:
    """Return the clauses that share most words with `old`, ignoring its facts of this kind; none below a third of its words."""
    facts = {_stem(one) for one in _of(old, kind)}
    context = (old.stems - facts) or old.stems
    counted = [(len(context & clause.stems), one, clause) for one in new for clause in one.clauses]
    most = max((count for count, _, _ in counted), default=0)
    least = max(1, (len(context) + 2) // 3)
    return [(one, clause) for count, one, clause in counted if count == most and count >= least]


def _is_reordered(old: Clause, new: Clause) -> bool:
    """Return whether the new clause has the parts of a date in another order: the third of May for the fifth of March."""
    if old.months and new.months and not old.months <= new.months:
        return True
    gone = {tuple(sorted(numerals.parts_of(one))) for one in old.wholes - new.wholes}
    return any(tuple(sorted(numerals.parts_of(one))) in gone for one in new.wholes - old.wholes)


def _of(clause: Clause, kind: str) -> frozenset[str]:
    return clause.numbers if kind == NUMBER else clause.names


def _holds(one: Sentence, part: Sentence) -> bool:
    """Return whether a sentence contains the words of `part` in a row, with the same negation unless the words are equal."""
    return part.words in one.words and (one.words == part.words or one.whole.is_negated == part.whole.is_negated)


@lru_cache(maxsize=_MOST_SENTENCES)
def _lower_words(text: str) -> frozenset[str]:
    return frozenset(numerals.key(token) for token in _TOKEN.findall(_plain(text)) if token.islower())


@lru_cache(maxsize=_MOST_SENTENCES)
def _first_word(text: str) -> str:
    return next(iter(_folded_words(_plain(text))), "")


@lru_cache(maxsize=_MOST_SENTENCES)
def _sentence(text: str, opens_common: bool) -> Sentence:
    plain = _plain(text)
    parts = [piece for part in _CLAUSE.split(plain) if part and part.strip() for piece in _pieces(part)]
    words = _folded_words(plain)
    is_plain = opens_common or not words or words[0] in NO_NAMES
    clauses = tuple(_clause(part, opens_plain=is_plain and at == 0) for at, part in enumerate(parts))
    whole = clauses[0] if parts == [plain] else _clause(plain, opens_plain=is_plain)
    return Sentence(text, _spaced(words), clauses, whole)


def _spaced(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "


def _pieces(clause: str) -> list[str]:
    """Return a clause in parts that each end with a number: without punctuation, a number belongs to the words before it."""
    return _BEHIND_NUMBER.split(clause) if len(_NUMBER.findall(clause)) > 1 else [clause]


def _plain(text: str) -> str:
    """Return a text without invisible characters, with digits and signs of every script in ASCII."""
    if text.isascii() and text.isprintable():
        return text.translate(_SIGNS)
    shown = "".join(sign for sign in text if sign.isspace() or unicodedata.category(sign) not in _HIDDEN)
    normal = unicodedata.normalize("NFKC", shown)
    digits = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in normal)
    return digits.translate(_SIGNS)


def _clause(plain: str, *, opens_plain: bool) -> Clause:
    tokens = _TOKEN.findall(plain)
    stems: set[str] = set()
    numbers: dict[str, bool] = {}
    names: set[str] = set()
    wholes: set[str] = set()
    months: set[str] = set()
    is_negated = NEGATION_RUNS.search(plain) is not None
    for at, token in enumerate(tokens):
        one = _token(token)
        word = one.word
        around = tokens[max(0, at - 1) : at + 2]
        found, whole = numerals.numbers(token, word, around) if one.may_count else ([], "")
        for fact, is_date in found:
            numbers[_counted(fact, numbers)] = is_date
        if found:
            wholes |= {whole} if whole else set()
            months |= numerals.months(token, word)
        if one.is_negation:
            is_negated = True
        elif (not found and word not in NUMBERS) or UNSPACED.search(token):
            stems |= one.stems
            names |= set() if opens_plain and at == 0 and token.istitle() else one.names
    dates = frozenset(fact for fact, is_date in numbers.items() if is_date)
    return Clause(
        frozenset(stems), frozenset(numbers), frozenset(names), frozenset(wholes), dates, frozenset(months), is_negated
    )


@dataclass(frozen=True, slots=True)
class _Token:
    """The readings of a token without its context. Only if `may_count` are the tokens around it needed."""

    word: str
    may_count: bool
    is_negation: bool
    stems: frozenset[str]
    names: frozenset[str]


@cached_by_text(8_192)
def _token(token: str) -> _Token:
    word = numerals.key(token)
    stems, names = frozenset(_stems(token, word)), frozenset(_names(token, word))
    return _Token(word, numerals.may_count(token, word), _denies(word), stems, names)


def _counted(fact: str, known: Collection[str]) -> str:
    """Return the key under which a number is recorded; a repeated number gets a suffix, as in the third of the third month."""
    return next(one for at in range(1, len(known) + 2) if (one := f"{fact}#{at}" if at > 1 else fact) not in known)


def _stems(token: str, word: str) -> set[str]:
    if word in STOP_WORDS or (len(word) == 1 and word.isascii()):
        return set()
    unspaced = UNSPACED.findall(COUNTED.sub(" ", token))
    if unspaced:
        return {*(piece for run in unspaced for piece in _pairs(run)), *map(_stem, _LATIN.findall(word))}
    return set() if _KANA.fullmatch(token) else {_stem(word)}


def _names(token: str, word: str) -> set[str]:
    """Return possible names: capitalised words, addresses, and in scripts without capitals every content word."""
    if "@" in token or "://" in token or word.startswith("www."):
        return {word}
    if word in STOP_WORDS or word in ALWAYS_CAPITAL or (len(word) < 2 and word.isascii()):
        return set()
    if token.lower() != token.upper():
        return set() if token == token.lower() else {word}
    unspaced = UNSPACED.findall(COUNTED.sub(" ", token))
    if unspaced:
        return {piece for run in unspaced for piece in _pairs(run)}
    return set() if _KANA.fullmatch(token) else {_stem(word)}


def _pairs(run: str) -> Iterator[str]:
    yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


def _denies(word: str) -> bool:
    bare = word.replace("'", "")
    return bare in NEGATIONS or word.endswith("n't") or (word.startswith("n'") and len(word) > 2)


def _stem(word: str) -> str:
    return word.rstrip("s")[:_STEM_CHARS] or word


def _folded_words(text: str) -> tuple[str, ...]:
    return tuple(map(numerals.key, _TOKEN.findall(text)))
