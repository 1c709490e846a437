"""The subjects of a batch: names collected over its memories, each subject once.

A nickname or a first name joins the only subject that it can stand for; an ambiguous one stays separate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import BatchMemory, Mention, Page, PageType
from compiler.plan.lexicon.common_words import COMMON_WORDS
from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.same_names import country, is_titled, main_key, main_name, surname
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spelling import are_distinct
from compiler.plan.names.spotting import (
    NameKind,
    Spotted,
    acts,
    begins_told,
    declared,
    known_names,
    runs,
    spotted,
    themed,
)
from compiler.plan.names.themes import is_form
from compiler.plan.names.tokens import capitals
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.text.german_nouns import is_german_compound, is_german_noun
from compiler.plan.text.kin import introductions, is_owned, kind_of
from compiler.plan.text.markdown import alias_keys, plain_key
from compiler.plan.text.persons import addressed, greeted
from compiler.plan.text.sentences import sentences
from compiler.plan.text.words import ADDRESSES, GENERIC, HONORIFICS, PERSONAL, THIRD_PERSON

SHORTEST_NICKNAME = 3
OFTEN_TOGETHER = 3
LEAST_ACTS = 2


@dataclass(slots=True)
class Subject:
    """A name with the memories that contain it, in order. `key` is its plain key, `page` its existing page."""

    key: str
    kind: NameKind = NameKind.THING
    page: Page | None = None
    names: dict[str, int] = field(default_factory=dict)
    memories: dict[str, BatchMemory] = field(default_factory=dict)
    named_in: dict[str, set[str]] = field(default_factory=dict)
    is_sure: bool = False
    is_noun: bool = False
    is_told: bool = False

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
        full = [key for key in counts if key.startswith(f"{best} ") and _is_person_like(key)]
        if full and self._may_be_person:
            best = min(full, key=lambda key: (-counts[key], -len(key), key))
        spellings = (name for name in self.names if plain_key(name) == best)
        title = min(spellings, key=lambda name: (-capitals(name), -self.names[name], name))
        return title if unowned and not title.islower() else f"{title[0].upper()}{title[1:]}"

    @property
    def _may_be_person(self) -> bool:
        if self.kind is NameKind.THING:
            keys = set(map(plain_key, self.names))
            return any(acts(key, memory.text) for key in keys for memory in self.memories.values())
        return self.kind is NameKind.PERSON

    @property
    def keys(self) -> frozenset[str]:
        """The plain keys of all its names, including the page's."""
        of_page = (plain_key(alias.display) for alias in self.page.aliases) if self.page else ()
        return frozenset(key for key in (*map(plain_key, self.names), *of_page) if key)


def subjects(batch: LeafBatch, *, gazetteer: Gazetteer = NO_PLACES) -> list[Subject]:
    """Return the subjects of the batch, by key. Held names come with the earlier memories that contain them, even with a page.

    Names that may be common words are returned too, not `is_sure`, so that no sighting of them is lost.
    """
    pages = _pages(batch.pages)
    held = {main_key(plain_key(mention.alias)): mention for mention in batch.mentions}
    every = (*batch.memories, *batch.earlier)
    introduced = {plain_key(name) for memory in every for _, name in introductions(memory.text)}
    found = _seen(
        batch.memories, {*map(plain_key, (*pages, *(mention.alias for mention in batch.mentions))), *introduced}
    )
    earlier = {memory.memory_id: memory for memory in batch.earlier}
    for key, subject in found.items():
        subject.page = pages.get(key)
        if key in held:
            _recall(subject, held[key], earlier)
        if gazetteer.is_known_city(key) and subject.kind is NameKind.THING and not _is_person(subject):
            subject.kind = NameKind.CITY
        subject.is_sure |= subject.page is not None
    for key in introduced.intersection(found):
        found[key].is_sure, found[key].kind = True, NameKind.PERSON
    several = {key for key in sorted(found) if kind_of(key) and _introduce(found, key)}
    for subject in found.values():
        if alone := _first_alone(subject, found):
            subject.is_sure = alone.is_sure = True
    certain = frozenset(key for key, subject in found.items() if subject.is_sure)
    for subject in found.values():
        subject.is_sure |= _is_full_name(subject) or _is_word_as_name(subject, certain)
        subject.is_sure |= any(subject.key in greeted(memory.text) for memory in subject.memories.values())
    for key, subject in sorted(found.items()):
        begins = (found.get(key[:at]) for at, letter in enumerate(key) if letter == " ")
        subject.is_sure |= any(one is not None and one.is_sure and one.kind is not NameKind.CITY for one in begins)
    for key in several:
        found[key].is_sure = False
    sure = {key: one for key, one in sorted(found.items()) if one.is_sure}
    doubtful = {key: one for key, one in found.items() if not one.is_sure}
    both = {**_joined(sure), **doubtful}
    return [both[key] for key in sorted(both)]


def remembered(mention: Mention, earlier: Mapping[str, BatchMemory]) -> Subject:
    """Return the subject of a held name that no new memory contains, with the earlier memories that contain it."""
    subject = Subject(main_key(plain_key(mention.alias)))
    _recall(subject, mention, earlier)
    found = {subject.key: subject}
    if kind_of(subject.key) and _introduce(found, subject.key):
        subject.is_sure = False
    return subject


def _introduce(found: dict[str, Subject], key: str) -> bool:
    """Join a word for kin with the name that a memory gives it (`my sister Ana`, `Oma Trude`), so that a person has one page.

    Return whether memories give several names: the word may then mean any of them, and is joined with none.
    """
    kin, kind = found[key], kind_of(key)
    introduced = [
        (name, memory) for memory in kin.memories.values() for own, name in introductions(memory.text) if own == kind
    ]
    by_key = {plain_key(name): (name, memory) for name, memory in introduced}
    people_of_kind = (one for one in found if kind_of(one.partition(" ")[0]) == kind and _is_person_like(one))
    names = {*by_key, *people_of_kind}
    whole = [name for name in names if not any(other.startswith(f"{name} ") for other in names)]
    if len(whole) != 1:
        return len(whole) > 1
    people = [one for other, one in found.items() if f"{other} ".startswith(f"{whole[0]} ")]
    bearer = found.get(whole[0]) or (people[0] if len(people) == 1 else None)
    if bearer is None:
        kin.see(Spotted(by_key[whole[0]][0]), by_key[whole[0]][1])
    elif kin.page in (None, bearer.page):
        bearer.take(kin)
        bearer.is_sure, bearer.kind = True, NameKind.PERSON
        if len(people) == 2:
            people[1].kind = people[0].kind = NameKind.PERSON  # the name alone and the full name, which will take it
        del found[key]
    return False


def _is_full_name(subject: Subject) -> bool:
    """Return whether a name that only opens sentences is certain all the same: it has several words, none common, and is in three
    memories, or in two with a verb in one. Only its first word could owe its capital to the sentence.
    """
    words = subject.key.split()
    if len(words) < 2 or not COMMON_WORDS.isdisjoint(words):
        return False
    texts = [memory.text for memory in subject.memories.values()]
    return len(texts) >= OFTEN_TOGETHER or (len(texts) > 1 and any(acts(subject.key, text) for text in texts))


def _first_alone(subject: Subject, found: Mapping[str, Subject]) -> Subject | None:
    """Return the subject of the first of a name's two words, if other memories have it alone and a verb follows both: `Gary Pike
    is fixing the roof`, `Gary quoted 900`. Both are then names although they only open sentences. None otherwise.
    """
    first, _, last = subject.key.partition(" ")
    alone = found.get(first)
    if alone is None or not last or " " in last or is_ordinary(first) or not COMMON_WORDS.isdisjoint((first, last)):
        return None
    is_other = not alone.memories.keys() <= subject.memories.keys()
    return alone if is_other and _acts(subject) and _acts(alone) else None


def _is_word_as_name(subject: Subject, certain: Iterable[str]) -> bool:
    """Return whether a single doubtful word is a name.

    It is if it is the first word of a full name that is `certain`, if it acts (a verb follows it) and is the surname in a certain
    name with a form of address, or if it acts in two memories. One memory suffices if three have the word or if the verb is one
    of people only. A possible noun of German texts needs three memories. A word that is mostly written in lower case must act in
    two memories, once with a verb of people only.
    """
    is_common = subject.key in COMMON_WORDS or (subject.is_noun and is_german_noun(subject.key))
    is_common |= subject.key in THIRD_PERSON or len(subject.key) < SHORTEST_NICKNAME
    if " " in subject.key or is_common or subject.kind is not NameKind.THING:
        return False
    if any(key.startswith(f"{subject.key} ") and _is_person_like(key) for key in certain):
        return True
    if any(surname(key) == subject.key for key in certain) and _acts(subject):
        return True
    count = len(subject.memories)
    if subject.is_noun and count >= OFTEN_TOGETHER:
        return True
    notes = [memory.text for memory in subject.memories.values() if not speaker_of(memory.text)]
    acting = [text for text in notes if acts(subject.key, text)] if count >= LEAST_ACTS else []
    is_common = is_ordinary(subject.key)
    if subject.is_noun and not is_common:
        acting = [text for text in acting if plain_key(text).startswith(f"{subject.key} ")]
        return len(acting) >= LEAST_ACTS and not is_german_compound(subject.key)
    is_personal = any(acts(subject.key, text, PERSONAL) for text in acting)
    if is_common:
        return is_personal and len(acting) >= LEAST_ACTS
    return len(acting) >= (1 if is_personal or count >= OFTEN_TOGETHER else LEAST_ACTS)


def _is_person(subject: Subject) -> bool:
    """Return whether a verb of people only follows the name in a memory: `Sofia wants refunds`."""
    return any(acts(subject.key, memory.text, PERSONAL) for memory in subject.memories.values())


def _is_person_like(key: str) -> bool:
    """Return whether the key is of two or three words, of which none is common or a German noun (`Mama das Silber`)."""
    words = key.split()
    is_plain = COMMON_WORDS.isdisjoint(words) and GENERIC.isdisjoint(words)
    return len(words) in (2, 3) and is_plain and not any(map(is_german_noun, words[1:]))


def _recall(subject: Subject, mention: Mention, earlier: Mapping[str, BatchMemory]) -> None:
    """Add the earlier sightings of a held name, read by the present rules."""
    for memory_id in (one.source.memory_id for one in mention.sightings):
        memory = earlier.get(memory_id)
        if memory is None:
            continue
        shown = (*declared(memory), *runs(memory.text), *themed(memory))
        same = [one for one in shown if main_key(plain_key(one.name)) == subject.key]
        for one in same or (Spotted(mention.alias, is_initial=True),):
            subject.see(one, memory)


def _called(subjects: Iterable[Subject]) -> set[str]:
    """Return the keys of the subjects that a memory uses as a form of address."""
    return {one.key for one in subjects if any(one.key in addressed(memory.text) for memory in one.memories.values())}


def _pages(pages: Iterable[Page]) -> dict[str, Page]:
    """Return the pages by the keys of their names; of several with a name, the one with that title, else the first by key.

    Decisions are left out: the title of a decision may be that of a thing (`Postgres 16`).
    """
    named = (one for one in pages if one.key.type is not PageType.DECISION)
    ordered = sorted(named, key=lambda one: one.key, reverse=True)
    borne = {key: page for page in ordered for alias in page.aliases for key in (main_key(alias.key), alias.key)}
    titled = {key: page for page in ordered for key in alias_keys(page.title) if key in borne}
    return borne | titled


def _seen(memories: Iterable[BatchMemory], known: Collection[str]) -> dict[str, Subject]:
    every = [(memory, list(declared(memory))) for memory in memories]
    lookout = known_names({*known, *(plain_key(one.name) for _, names in every for one in names)})
    found: dict[str, Subject] = {}
    for memory, names in every:
        for one in (*names, *spotted(memory.text, lookout), *themed(memory)):
            key = main_key(plain_key(one.name))
            is_word = is_form(key) or key in HONORIFICS or begins_told(one, names, memory.text)
            if key and (one.kind is NameKind.THEME or one.is_told or not is_word):
                found.setdefault(key, Subject(key)).see(one, memory)
    return found


def _joined(found: dict[str, Subject]) -> dict[str, Subject]:
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
            if longer is not None and _may_join(subject, longer) and not _are_distinct(subject, longer):
                longer.take(subject)
                del kept[key]
    for key in sorted(kept, key=lambda one: (len(one), one)):
        subject = kept[key]
        bearer = _bearer(key, subject, kept) if subject.page is None else None
        if bearer is not None:
            bearer.take(subject, may_title=False)
            del kept[key]
    return kept


def _bearer(key: str, subject: Subject, found: Mapping[str, Subject]) -> Subject | None:
    """Return the only person with this surname: the full name for `Dr. Reuter`, `Señor Uribe` for `Uribe`; else None."""
    surname_key = surname(key)
    if subject.kind not in (NameKind.THING, NameKind.PERSON) or " " in (surname_key or key):
        return None
    ending = [one for other, one in found.items() if other != key and other.endswith(f" {surname_key or key}")]
    addressed = [one for one in ending if surname(one.key)]
    if surname_key or is_titled(key, (memory.text for memory in subject.memories.values())):
        full = [one for one in ending if not surname(one.key) and _is_person_like(one.key)]
        if len(full) == 1 and len(addressed) < (1 if surname_key else LEAST_ACTS):
            return full[0]
    return addressed[0] if not surname_key and len(addressed) == 1 and key not in COMMON_WORDS else None


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
        is_person = _is_person_like(longer.key) and any(
            acts(one.key, memory.text, PERSONAL) for one in (subject, longer) for memory in one.memories.values()
        )
        is_person |= longer.is_sure and _is_person_like(longer.key) and not is_ordinary(subject.key) and _acts(subject)
        return is_kind_added or is_person or max(len(subject.memories), len(longer.memories)) > 1
    return subject.kind is NameKind.THING or longer.kind is NameKind.PERSON


def _acts(subject: Subject) -> bool:
    return any(acts(subject.key, memory.text) for memory in subject.memories.values())


def _are_distinct(subject: Subject, longer: Subject) -> bool:
    """Return whether a sentence shows that the names are of two things."""
    if longer.kind is NameKind.PERSON:
        return False
    both = (memory.text for memory_id, memory in subject.memories.items() if memory_id in longer.memories)
    return are_distinct(subject.key, longer.key, (plain_key(sentence) for text in both for sentence in sentences(text)))


def _is_plural(plural: Subject, subject: Subject, found: Collection[str]) -> bool:
    """Return whether a name is a plural: NFTs of NFT; the Brandts of Brandt, if no full name has it. CSS is none of CS."""
    if any(name.isupper() and f"{name}s" in plural.names for name in subject.names):
        return True
    has_other = len(subject.key) <= SHORTEST_NICKNAME or any(other.endswith(f" {subject.key}") for other in found)
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
        fits = (
            begins[0].kind is NameKind.PERSON
            or all(word in GENERIC for word in rest)
            or begins[0].kind in (NameKind.THING, NameKind.PLACE)
        )
        return begins[0] if len(begins) == 1 and fits else None
    if not is_called or len(key) < SHORTEST_NICKNAME:
        return None
    people = [
        one for other, one in found.items() if one.kind is NameKind.PERSON and other.startswith(key) and other != key
    ]
    return people[0] if len(people) == 1 else None
