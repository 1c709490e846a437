"""Subjects: names with the memories that contain them, and the names that are of the same subject.

A nickname or a first name joins the only subject that it can stand for; an ambiguous one stays separate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from compiler.plan.contract import BatchMemory, Page
from compiler.plan.lexicon.common_words import COMMON_WORDS
from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.same_names import country, is_other_gender, is_titled, main_name, surname
from compiler.plan.names.spelling import are_distinct
from compiler.plan.names.spotting import NameKind, Spotted
from compiler.plan.text.bearers import BearerKind, are_labelled, are_several, is_beast, is_kin_of_somebody, told
from compiler.plan.text.german_nouns import is_german_noun
from compiler.plan.text.kin import is_owned
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.namesakes import (
    has_article,
    has_namesakes,
    is_acronym_in,
    is_branded,
    is_compound_of,
    is_new,
    is_of_generation,
    is_partnership,
    is_town_of,
    told_apart,
)
from compiler.plan.text.persons import acts, addressed
from compiler.plan.text.sentences import sentences
from compiler.plan.text.tokens import capitals
from compiler.plan.text.words import ADDRESSES, CONNECTORS, GENERIC, PERSONAL
from store.text.words import STOP_WORDS

SHORTEST_NICKNAME = 3
LEAST_ACTS = 2
FULL_NAME = 2
FULL_NAMES = 2
_INITIALS = 2

_PHRASING = STOP_WORDS - CONNECTORS
# Peoples whose plural is no family.
_PEOPLES = frozenset(["finn", "dane", "scot", "pole", "swede", "turk", "serb", "croat", "slovak", "celt"])


@dataclass(slots=True)
class Subject:
    """A name with the memories that contain it, in order. `key` is its plain key, `page` its existing page. A name `is_shared` if
    several people bear it, so that it is nobody's.
    """

    key: str
    kind: NameKind = NameKind.THING
    page: Page | None = None
    names: dict[str, int] = field(default_factory=dict)
    memories: dict[str, BatchMemory] = field(default_factory=dict)
    named_in: dict[str, set[str]] = field(default_factory=dict)
    is_sure: bool = False
    is_noun: bool = False
    is_told: bool = False
    is_shared: bool = False

    def see(self, one: Spotted, memory: BatchMemory) -> None:
        """Record the name in a memory. A name from metadata, or capitalised within a sentence, is certain."""
        self.names[one.name] = self.names.get(one.name, 0) + (10 if one.is_told else 1)
        self.named_in.setdefault(one.name, set()).add(memory.memory_id)
        self.memories[memory.memory_id] = memory
        self.is_sure |= one.is_told or not (one.is_initial or one.is_noun)
        self.is_noun |= one.is_noun
        self.is_told |= one.is_told
        if one.is_told and self.kind is NameKind.THING:
            self.kind = one.kind

    def take(self, other: Subject, *, may_title: bool = True) -> None:
        """Merge another subject's names and memories into this one. If not `may_title`, its names do not count for the title."""
        for name, count in other.names.items():
            self.names.setdefault(name, 0)
            self.names[name] += min(count, 1) if name in other.named_in and may_title else 0
            self.named_in.setdefault(name, set()).update(other.named_in.get(name, ()))
        self.memories = dict(sorted({**self.memories, **other.memories}.items()))
        self.is_told |= other.is_told

    @property
    def title(self) -> str:
        """The most frequent name, or a person's full name that begins with it, in the spelling with the most capitals: `Vinland
        Saga`, not `vinland Saga`.

        A country has its English name in every language, so that it has one page.
        """
        if country(self.key):
            return main_name(self.key)
        counts: Counter[str] = Counter()
        unowned = [name for name in self.names if not is_owned(plain_key(name))]
        for name in unowned or self.names:
            counts[plain_key(name)] += self.names[name]
        best = min(counts, key=lambda key: (-counts[key], key))
        full = [key for key in counts if key.startswith(f"{best} ") and is_person_like(key)]
        if full and self._may_be_person:
            best = min(full, key=lambda key: (-counts[key], -len(key), key))
        spellings = (name for name in self.names if plain_key(name) == best)
        title = min(spellings, key=lambda name: (-capitals(name), -self.names[name], sum(map(str.isupper, name)), name))
        return title if unowned and not title.islower() else f"{title[0].upper()}{title[1:]}"

    @property
    def _may_be_person(self) -> bool:
        if self.kind is NameKind.THING:
            keys = set(map(plain_key, self.names))
            return any(acts(key, memory.text) for key in keys for memory in self.memories.values())
        return self.kind is NameKind.PERSON

    @property
    def is_acting(self) -> bool:
        """Whether a verb follows the name in a memory."""
        return any(acts(self.key, text) for text in self.texts)

    @property
    def is_personal(self) -> bool:
        """Whether it is shown to be a person: by metadata, or by a verb of people only after the name."""
        return self.kind is NameKind.PERSON or any(acts(self.key, text, PERSONAL) for text in self.texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the memories, in order."""
        return tuple(memory.text for memory in self.memories.values())

    @property
    def keys(self) -> frozenset[str]:
        """The plain keys of all its names, including the page's."""
        of_page = (plain_key(alias.display) for alias in self.page.aliases) if self.page else ()
        return frozenset(key for key in (*map(plain_key, self.names), *of_page) if key)


def joined(found: dict[str, Subject]) -> dict[str, Subject]:
    """Return the subjects by key, each short name, plural and surname merged into the only subject that it can stand for."""
    called = _called(found.values())
    kept = dict(found)
    for key in sorted(found, key=lambda one: (len(one), one)):
        subject = found[key]
        plural = kept.get(f"{key}s")
        if subject.page is None and plural is not None and _is_plural(plural, subject, kept):
            plural.take(subject)
            del kept[key]
        elif subject.page is None and subject.kind in (NameKind.THING, NameKind.PERSON) and _is_short(subject):
            longer = _longer(key, kept, is_called=key in called and subject.kind is NameKind.THING)
            if longer is not None and _may_join(subject, longer) and not _are_apart(subject, plural, longer, found):
                longer.take(subject)
                del kept[key]
    _share(kept)
    for key in sorted(kept, key=lambda one: (len(one), one)):
        subject = kept[key]
        bearer = _bearer(key, subject, kept) if subject.page is None else None
        if bearer is not None:
            bearer.take(subject, may_title=False)
            del kept[key]
    return kept


def _share(found: Mapping[str, Subject]) -> None:
    """Set `is_shared` of the first names that may be those of several people."""
    begun: dict[str, list[Subject]] = {}
    for key, subject in found.items():
        first, _, rest = key.partition(" ")
        if rest and first in found:
            begun.setdefault(first, []).append(subject)
    for first, longer in begun.items():
        found[first].is_shared = _is_shared(found[first], longer)


def _is_shared(subject: Subject, begun: Collection[Subject]) -> bool:
    """Return whether two full names begin with a first name, and it is neither that of a relative of the owner nor in more
    memories than these.
    """
    if subject.kind not in (NameKind.THING, NameKind.PERSON):
        return False
    full = [
        one
        for one in begun
        if len(one.key.split()) == FULL_NAME and is_person_like(one.key) and one.kind is not NameKind.PLACE
    ]
    if len(full) < FULL_NAMES or not (subject.is_personal or sum(one.is_personal for one in full) > 1):
        return False
    roles = told(subject.names, (sentence for text in subject.texts for sentence in sentences(text)))
    is_of_kin = any(one.bearer is BearerKind.KIN and not one.is_label for one in roles)
    return not is_of_kin and len(subject.memories) <= sum(len(one.memories) for one in full)


def _called(subjects: Iterable[Subject]) -> set[str]:
    """Return the keys of the subjects that a memory uses as a form of address."""
    return {one.key for one in subjects if any(one.key in addressed(memory.text) for memory in one.memories.values())}


def _bearer(key: str, subject: Subject, found: Mapping[str, Subject]) -> Subject | None:
    """Return the only person with this surname: the full name for `Dr. Reuter`, `Señor Uribe` for `Uribe`; else None."""
    surname_key = surname(key)
    if subject.kind not in (NameKind.THING, NameKind.PERSON) or " " in (surname_key or key):
        return None
    if any(is_beast(name, text) for name in subject.names for text in subject.texts):
        return None
    if any(is_of_generation(surname_key or key, text) for text in subject.texts):
        return None
    ending = [one for other, one in found.items() if other != key and other.endswith(f" {surname_key or key}")]
    addressed = [one for one in ending if surname(one.key) and not is_other_gender(key, one.key, subject.texts)]
    if surname_key or is_titled(key, (memory.text for memory in subject.memories.values())):
        full = [one for one in ending if not surname(one.key) and is_person_like(one.key)]
        if len(full) == 1 and len(addressed) < (1 if surname_key else LEAST_ACTS):
            return None if _are_beside(subject, full[0]) else full[0]
    if surname_key or len(addressed) != 1 or key in COMMON_WORDS:
        return None
    is_of_kin = any(is_kin_of_somebody(name, text) for name in subject.names for text in subject.texts)
    return None if is_of_kin and len(subject.memories) > 1 else addressed[0]


def _are_beside(subject: Subject, other: Subject) -> bool:
    """Return whether a sentence has both names, which are then those of two people: `Karl Reuter, no relation of Frau Reuter`,
    `Mr Reuter came with Karl`.
    """
    first = other.key.partition(" ")[0]
    wanted = {other.key} if is_ordinary(first) else {other.key, first}
    said = (f" {plain_key(sentence)} " for text in subject.texts for sentence in sentences(text))
    others = ((one.replace(f" {other.key} ", " "), one) for one in said)
    return any(f" {subject.key} " in left and any(f" {name} " in one for name in wanted) for left, one in others)


def _is_short(subject: Subject) -> bool:
    """Return whether a name may stand for a longer one: one word (`Soo-jin`), or one after a form of address (`Dona Odete`)."""
    first, _, rest = subject.key.partition(" ")
    return not rest or (first in ADDRESSES and " " not in rest) or any(" " not in name for name in subject.names)


def _may_join(subject: Subject, longer: Subject) -> bool:
    """Return whether a single word may stand for a longer name. Two names seen once each do not prove a common subject.

    A page, metadata or a person's full name is enough proof, and so is a verb of people only.
    """
    if subject.kind is NameKind.THING and longer.kind is NameKind.THING and longer.page is None:
        is_kind_added = all(word in GENERIC for word in longer.key.split()[1:])
        is_person = is_person_like(longer.key) and (subject.is_personal or longer.is_personal)
        is_person |= (
            longer.is_sure and is_person_like(longer.key) and not is_ordinary(subject.key) and subject.is_acting
        )
        return is_kind_added or is_person or max(len(subject.memories), len(longer.memories)) > 1
    return subject.kind is NameKind.THING or longer.kind is NameKind.PERSON


def _are_distinct(subject: Subject, longer: Subject) -> bool:
    """Return whether the names are of two things: the longer one is that of something in a town, a firm of partners, an
    acronym's product, somebody with a trade of two letters (`DJ`) or a compound given name (`Ana-Lena`), a sentence has both, or
    the short one is that of a thing and the longer one a person's (`beside the Wilhelmina`, `Wilhelmina Rook wants`).
    """
    if any(is_compound_of(subject.key, name) for name in longer.names):
        return True
    texts = (*subject.texts, *longer.texts)
    if longer.kind is NameKind.THING and any(is_town_of(name, longer.key, texts) for name in subject.names):
        return True
    if all(len(name) == _INITIALS and name.isupper() for name in subject.names) and not subject.is_acting:
        return True
    if any(map(is_partnership, longer.names)) or all(is_acronym_in(name, longer.key) for name in subject.names):
        return True
    if longer.is_personal and any(has_article(name, text) for name in subject.names for text in subject.texts):
        return True
    both = [memory.text for memory_id, memory in subject.memories.items() if memory_id in longer.memories]
    if longer.kind is NameKind.PERSON:
        return False
    is_brand = any(is_branded(subject.names, name, text) for name in longer.names for text in both)
    return is_brand or are_distinct(
        subject.key, longer.key, (plain_key(sentence) for text in both for sentence in sentences(text))
    )


def _have_namesakes(subject: Subject, plural: Subject | None, longer: Subject) -> bool:
    """Return whether a memory says that several bear the short name, or introduces the bearer of the longer one as somebody new
    when the short one was known.
    """
    texts = [*subject.texts, *(plural.texts if plural else ()), *longer.texts]
    if any(has_namesakes(name, text) for name in subject.names for text in texts):
        return True
    if any(subject.key in told_apart(text) for text in subject.texts):
        return True
    since = min((one.occurred_at for one in subject.memories.values()), default=None)
    new = (one for one in longer.memories.values() if any(is_new(name, one.text) for name in longer.names))
    return since is not None and any(since < one.occurred_at for one in new)


def _are_apart(subject: Subject, plural: Subject | None, longer: Subject, found: Iterable[str]) -> bool:
    """Return whether memories tell that a name is not short for a longer one."""
    return (
        _are_distinct(subject, longer)
        or _are_of_several(subject, longer, found)
        or _have_namesakes(subject, plural, longer)
    )


def _are_of_several(subject: Subject, longer: Subject, found: Iterable[str]) -> bool:
    """Return whether memories say that the two names belong to different people: to a sister and a plumber, to a relative and
    somebody with a formal name (`Herr Lorenz`, `Doña Carmen`) or an often used full name, or to somebody with a label (`Ana from
    work`).
    """
    said = [sentence for text in subject.texts for sentence in sentences(text)]
    roles = told(subject.names, said)
    full = [one for one in longer.names if " " in one]
    of_longer = told(full, (one for text in longer.texts for one in sentences(text)))
    words = longer.key.split()
    is_full_name = is_person_like(" ".join(words[:FULL_NAME]))
    if are_several(roles | of_longer):
        return True
    if is_full_name and are_labelled(roles, of_longer, len(longer.memories)):
        return True
    is_formal = len(longer.memories) > 1 or any((surname(key) or key) in words[1:] for key in found)
    of_others = [one for one in said if set(words[1:]).isdisjoint(plain_key(one).split())]
    return is_formal and any(is_kin_of_somebody(name, one) for name in subject.names for one in of_others)


def _is_plural(plural: Subject, subject: Subject, found: Collection[str]) -> bool:
    """Return whether a name is a plural: NFTs of NFT; the Brandts of Brandt, if no full name has it. CSS is none of CS."""
    if any(name.isupper() and f"{name}s" in plural.names for name in subject.names):
        return True
    has_other = len(subject.key) <= SHORTEST_NICKNAME or any(other.endswith(f" {subject.key}") for other in found)
    has_other |= subject.key in _PEOPLES
    texts = (f" {plain_key(memory.text)} " for memory in plural.memories.values())
    return not has_other and any(f" the {plural.key} " in text for text in texts)


def _longer(key: str, found: Mapping[str, Subject], *, is_called: bool) -> Subject | None:
    """Return the only subject that a short name can stand for.

    First the only name that starts with it, if it is a person's or adds only a kind (`Fleet Coffee`); else, for a word used as
    a form of address, the only person whose name starts with its letters (`Mel`).
    """
    begins = [one for other, one in found.items() if other.startswith(f"{key} ")]
    if begins:
        rest = begins[0].key.split()[1:]
        is_phrase = not _PHRASING.isdisjoint(rest)  # `Ana-from-the-shop` is no full name
        fits = begins[0].kind in (NameKind.PERSON, NameKind.THING, NameKind.PLACE) or GENERIC.issuperset(rest)
        return begins[0] if len(begins) == 1 and fits and not is_phrase else None
    if not is_called or len(key) < SHORTEST_NICKNAME:
        return None
    people = [
        one for other, one in found.items() if one.kind is NameKind.PERSON and other.startswith(key) and other != key
    ]
    return people[0] if len(people) == 1 else None


def is_person_like(key: str) -> bool:
    """Return whether the key is of two or three words, of which none is common or a German noun (`Mama das Silber`)."""
    words = key.split()
    is_plain = COMMON_WORDS.isdisjoint(words) and GENERIC.isdisjoint(words)
    return len(words) in (2, 3) and is_plain and not any(map(is_german_noun, words[1:]))
