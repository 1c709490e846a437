"""Collects the subjects of a batch: the names of its memories, each subject once, and whether each name is certain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import dropwhile

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import BatchMemory, Mention, Page, PageType
from compiler.plan.lexicon.common_words import COMMON_WORDS
from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.lower_case import accompanied, addressees, determined, serving, small_keys
from compiler.plan.names.same_names import main_key, surname
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import (
    NameKind,
    Spotted,
    begins_told,
    declared,
    known_names,
    runs,
    spotted,
    themed,
)
from compiler.plan.names.subjects import LEAST_ACTS, SHORTEST_NICKNAME, Subject, is_person_like, joined
from compiler.plan.names.themes import is_form, theme_of
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.text.german_nouns import determines, is_german_compound, is_german_noun
from compiler.plan.text.kin import introductions, kind_of
from compiler.plan.text.markdown import alias_keys, plain_key
from compiler.plan.text.nicknames import nicknames
from compiler.plan.text.persons import acting, acts, greeted, is_apposed
from compiler.plan.text.sentences import sentences
from compiler.plan.text.tokens import paired
from compiler.plan.text.words import HONORIFICS, PERSONAL, THIRD_PERSON

OFTEN_TOGETHER = 3

# Words that follow a verb at the start of a German note, and seldom a name: `Trainiert wieder`.
_AFTER_OPENING_VERB_WORDS = """
ab abends am auch bis ca etwa gern gerne heute im immer in inzwischen jetzt kaum lieber meist mindestens mit
mittlerweile morgens nach nicht noch nur oft schon seit selten taglich ungefahr viel vom von vorerst weiter wenig wieder
zu zum zur zurzeit zweimal dreimal
"""
_AFTER_OPENING_VERB = frozenset(_AFTER_OPENING_VERB_WORDS.split())
_CONTRACTED = frozenset(["am", "vom", "im", "zum", "zur", "beim", "ins", "ans"])


def subjects(batch: LeafBatch, *, gazetteer: Gazetteer = NO_PLACES) -> list[Subject]:
    """Return the subjects of the batch, by key. Held names come with the earlier memories that contain them, even with a page.

    Names that may be common words are returned too, not `is_sure`, so that no sighting of them is lost.
    """
    pages = _pages(batch.pages)
    held = {main_key(plain_key(mention.alias)): mention for mention in batch.mentions}
    every = (*batch.memories, *batch.earlier)
    introduced = {plain_key(name) for memory in every for _, name in introductions(memory.text)}
    joint = {plain_key(name) for memory in every for name in paired(memory.text)}
    found = _seen(
        batch.memories, {*map(plain_key, (*pages, *(mention.alias for mention in batch.mentions))), *introduced, *joint}
    )
    earlier = {memory.memory_id: memory for memory in batch.earlier}
    for key, subject in found.items():
        subject.page = pages.get(key)
        if key in held:
            _recall(subject, held[key], earlier)
        if gazetteer.is_known_city(key) and subject.kind is NameKind.THING and not subject.is_personal:
            subject.kind = NameKind.CITY
        subject.is_sure |= subject.page is not None or key in joint
    for key in introduced.intersection(found):
        found[key].is_sure, found[key].kind = True, NameKind.PERSON
    several = {key for key in sorted(found) if kind_of(key) and _introduce(found, key)}
    _join_nicknames(found, every)
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
    both = {**joined(sure), **doubtful}
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
    people_of_kind = [one for one in found if kind_of(one.partition(" ")[0]) == kind and is_person_like(one)]
    for one in [one for one in people_of_kind if one.partition(" ")[2] in found.keys() & by_key.keys()]:
        named = found[one.partition(" ")[2]]  # `nonna Assunta`, of `Nonna Assunta`
        if found[one].page in (None, named.page):
            named.take(found.pop(one))
            people_of_kind.remove(one)
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


def _join_nicknames(found: dict[str, Subject], memories: Iterable[BatchMemory]) -> None:
    """Join a nickname with the name that a memory gives for it (`Bob Marsh, nicknamed Sticky`), unless memories give several."""
    bearers: dict[str, set[str]] = {}
    for nick, name in (pair for memory in memories for pair in nicknames(memory.text)):
        key, words = plain_key(nick), plain_key(name).split()
        ends = (" ".join(words[at:]) for at in range(len(words)))
        known_nick = _known_as(found, (key,)) or key
        bearers.setdefault(known_nick, set()).add(_known_as(found, ends, nick=known_nick))
    for nick, names in sorted(bearers.items()):
        whole = [name for name in names if not any(other.startswith(f"{name} ") for other in names)]
        bearer = found.get(whole[0]) if len(whole) == 1 else None
        if bearer is not None and nick in found and found[nick].page in (None, bearer.page):
            bearer.take(found.pop(nick), may_title=False)
            bearer.is_sure = True


def _known_as(found: Mapping[str, Subject], names: Iterable[str], *, nick: str = "") -> str:
    """Return the first of the names that is a subject; or, if more memories have it, the first name without the ordinary words
    that it begins with, unless this is the nickname: `kestrel`, of `Project Kestrel`. Return an empty text if neither is a
    subject.
    """
    names = tuple(names)
    bare = " ".join(dropwhile(is_ordinary, names[0].split())) if names else ""
    whole = next((name for name in names if name in found), "")
    known = [one for one in (whole, bare if bare != nick else "") if one in found]
    return max(known, key=lambda one: len(found[one].memories), default="")


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
    return alone if is_other and subject.is_acting and alone.is_acting else None


def _is_word_as_name(subject: Subject, certain: Iterable[str]) -> bool:
    """Return whether a single doubtful word is a name.

    It is if it is the first word of a full name that is `certain`, if it acts (a verb follows it) and is the surname in a certain
    name with a form of address, or if it acts in two memories. One memory suffices if three have the word or if the verb is one
    of people only. A possible noun of German texts needs three memories. A word that is mostly written in lower case must act in
    two memories, once with a verb of people only; for messages in lower case see `_is_small_name`.
    """
    is_common = subject.key in COMMON_WORDS or (subject.is_noun and is_german_noun(subject.key))
    is_common |= subject.key in THIRD_PERSON or len(subject.key) < SHORTEST_NICKNAME
    if " " in subject.key or is_common or subject.kind is not NameKind.THING:
        return False
    if any(key.startswith(f"{subject.key} ") and is_person_like(key) for key in certain):
        return True
    if any(surname(key) == subject.key for key in certain) and subject.is_acting:
        return True
    written = [text for text in subject.texts if speaker_of(text) or subject.key not in small_keys(text)]
    count = len(written)
    if subject.is_noun and count >= OFTEN_TOGETHER:
        return any(_is_bare(subject.key, memory.text) for memory in subject.memories.values())
    notes = [text for text in written if not speaker_of(text)]
    is_often = count >= LEAST_ACTS
    told = [one for one in notes if acts(subject.key, one) or is_apposed(subject.key, one)] if is_often else []
    is_common = is_ordinary(subject.key)
    if subject.is_noun and not is_common:
        told = [text for text in told if plain_key(text).startswith(f"{subject.key} ")]
        return len(told) >= LEAST_ACTS and not is_german_compound(subject.key)
    is_personal = any(acts(subject.key, text, PERSONAL) for text in told)
    if is_common:
        return is_personal and len(told) >= LEAST_ACTS
    is_told = len(told) >= (1 if is_personal or count >= OFTEN_TOGETHER else LEAST_ACTS)
    return is_told or _is_small_name(subject) or _is_talked_of(subject)


def _is_talked_of(subject: Subject) -> bool:
    """Return whether a word that begins sentences of utterances is a name: a verb follows it in three, or in two and in one of
    these a verb of people only: `Ana: Kev says no.`
    """
    said = [text for text in subject.texts if speaker_of(text) and subject.key not in small_keys(text)]
    acted = [text for text in said if acts(subject.key, text)]
    is_often = len(acted) >= OFTEN_TOGETHER
    return is_often or (len(acted) >= LEAST_ACTS and any(acts(subject.key, text, PERSONAL) for text in acted))


def _is_small_name(subject: Subject) -> bool:
    """Return whether a word in lower case is a name: three texts have it without a determiner. In two of these a verb follows it
    or it stands beside a word as names do, in one as only people's names do; in a note, it must do what only people do.
    """
    said = [text for text in subject.texts if subject.key in small_keys(text) - determined(text)]
    sure = [
        text for text in said if subject.key in (acting(text) if speaker_of(text) else serving(text)) | addressees(text)
    ]
    used = [text for text in said if text in sure or subject.key in accompanied(text) | acting(text)]
    return len(said) >= OFTEN_TOGETHER and len(used) >= LEAST_ACTS and bool(sure)


def _is_bare(key: str, text: str) -> bool:
    """Return whether a German text has the word without a determiner: `Emre kam`, `am Kalkhof`, and not `der Schuppen`.

    A verb that opens a sentence does not count: `Trainiert jetzt`.
    """
    for words in (plain_key(one).split() for one in sentences(text)):
        for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False):
            is_opening_verb = (
                not before and key.endswith(("t", "te")) and (after in _AFTER_OPENING_VERB or determines(after))
            )
            if word == key and not is_opening_verb and (before in _CONTRACTED or not determines(before)):
                return True
    return False


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
            is_form_alone = is_form(key) and (one.kind is not NameKind.PERSON or theme_of(key) != "")
            is_word = is_form_alone or key in HONORIFICS or begins_told(one, names, memory.text)
            if key and (one.kind is NameKind.THEME or one.is_told or not is_word):
                found.setdefault(key, Subject(key)).see(one, memory)
    return found
