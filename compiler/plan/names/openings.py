"""The sentence that a page opens with: the one that best says what its subject is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from compiler.plan.contract import BatchMemory
from compiler.plan.names.excerpts import bare, founds, naming, tells_day
from compiler.plan.names.locating import city_of, place_name, types_of
from compiler.plan.names.naming import holds
from compiler.plan.names.spotting import runs, speaker_of
from compiler.plan.names.theme_words import EVERYONES
from compiler.plan.names.themes import theme_of, themes_in
from compiler.plan.text.change import content_words
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import speaks_of_self
from compiler.plan.text.sentences import sentences
from compiler.plan.text.words import FIRST_PERSON, NAMING, NO_NAMES, PREDICATES, SECOND_PERSON, TITLES
from store.text.words import STOP_WORDS

_IS = "is|are|was|were|es|era|foi|ist|war|est|etait|means|stands for"
_WHO_IS = "is|ist|es|est|was|war|heisst|sera|wird"
_TITLES = (
    "the|o|a|el|la|der|die|dr|dra|prof|mr|mrs|ms|herr|frau|senora?|doctora?|doutora?|dona?|seu|now|jetzt|ahora|agora"
)
_LEADS = "runs|leads|owns|manages|heads|leitet|fuhrt|dirige|coordina|coordena|lidera|gerencia"
_COPULA = re.compile(r"\sé\s")  # without its accent it is the Portuguese `and`
_AN = (
    "a|an|the|my|our|his|her|their|one|un|una|el|la|los|las|um|uma|o|os|as|ein|eine|der|die|das|une|le|mi|meu|minha|mein|meine"
    "|mon|ma|unser|unsere|sein|seine|ihr|ihre|nuestr[oa]|noss[oa]|su|seu|sua"
)
_NOW = (
    "now|also|currently|no longer|not|jetzt|nun|nicht mehr|auch|kein|keine|ahora|ya no|agora|ja nao|nao|tambien|tambem"
)
# Verbs that end what an earlier definition says of their subject.
_ENDED = re.compile(
    r"\b(?:left|leaves|quit|resigned|retires|retired|died|passed away|stepped down|no longer|anymore|any more|is gone|is off"
    r"|(?:was|is|got|has been|will be) (?:\w+ )?(?:replaced|sold|closed|archived|deprecated|shut down|cancell?ed|discontinued)"
    r"|verl(?:asst|ie(?:ss|ß))|gekundigt|in rente|gestorben|verstorben|verkauft|nicht mehr|abgeschaltet|abgelost|geschlossen"
    r"|se jubil[ao]|dejo|deja|ya no|murio|fallecio|se vendio|cerro|se cerro"
    r"|saiu|deixou|aposentou|se aposenta|ja nao|nao .{1,40} mais|morreu|faleceu|foi vendid[oa]|fechou)\b"
)
_COMING = re.compile(r"\b(?:will|wird|werden|sera|vai|va a|going to|should|soll)\b")
_LIKES = """
love loves loved likes enjoy enjoys enjoyed favorite favourite passion passionate hobby started starting learning joined
practice practices interested fan ama amo adoro encanta encantan gusta gustan gosta gosto liebt liebe mag gern gerne aime adore
piace always usually every often weekly daily siempre sempre toujours immer suelo costumo aprendo lerne apprends
"""
# `like` alone mostly compares: it tells what somebody likes only after who does.
_LIKED = re.compile(
    r"\b(?:i|we|you|they|dont|doesnt|didnt)(?: (?!feel|felt|look|looks|am|are|was|were|do|just|sound|be|have|seem)\w+)? like\b"
)
_BY_THE_WAY = re.compile(
    r"\b(?:friends? (?:and|or) family|family (?:and|or) (?:close )?friends?|familia [yeo] amigos|amigos [yeo] familia"
    r"|familie und freunden?|freunden? und familie|famille et (?:les |mes |ses )?amis|amis et (?:la |ma |sa )?famille)\b"
)
_POINTING = re.compile(
    r"(?:and|but|so|or|not|also|then|plus|because|it|its|that|thats|this|these|those|they|theyre|he|she|hes|shes|there|here|either"
    r"|as for|on the other hand|one of|some of|another|other|for example|dont|lets|wow|yeah|yes|no|nah|hope|thanks|hmm|well)\b"
)
_REACTING = re.compile(
    r"\b(?:sounds?|seems?|must (?:be|have)|looks? like|glad|sorry to|thats|if|whether|would|shares? a (?:picture|photo))\b"
)
_DISCOURSE = re.compile(
    r"^(?:oh|ooh|ah|well|no|nah|nope|yes|yeah|yep|okay|ok|hmm|wow|sure|right|actually|honestly|basically|anyway|unfortunately"
    r"|sadly|luckily|fortunately|hopefully|of course|by the way|btw|as for me"
    r"|as i \w+ to say|like i said|you know|for example|and also)\b"
)
_LOOSE = frozenset(["it", "there", "them", "then", "this", "these", "those"])
# What a speaker tells of themselves is known by its pronouns in English only: other languages leave them out.
_ENGLISH = re.compile(
    r"\b(?:the|is|are|was|were|it|its|this|that|of|and|to|for|with|but|they|he|she|his|her|their|be|been|has|have)\b"
)
# Without an apostrophe `we're` and `we'll` are words that tell nothing of who speaks.
_OWN = FIRST_PERSON - {"were", "well", "wed"}
_LEARNT = frozenset(["learn", "learned", "learnt"])
_LIKES_WORDS = frozenset(_LIKES.split())
_OF = r"(?:of|on|de|do|da|dos|das|del|di|della|von|du)(?: (?:the|la|el|los|las|le|les))?"
_OTHERS = frozenset(["he", "she", "him", "her", "his", "hers", "they", "their"])
_LONGEST = 240
_SHORTEST_WORDS = 3
_WORDS = 12
_OPENING_WORDS = 3
_LABEL_WORDS = 4
_BEGINS = 3
_LABELLED = "\x01"
_NAME_WORDS = 3
_TITLE = re.compile(rf"\b(?:{'|'.join(sorted(TITLES))})\.\s", re.IGNORECASE)
_NAME_ALONE = re.compile(r"[,.(;!?](?:\s|$)")
_OWNER = re.compile(r"\b[^\W\d_][\w-]*['’]s?\s+(?=[^\W\d_])")
_CLAUSE = re.compile(r"(;\s+|:\s+|\s[-–—]\s)")
_LONGEST_LEAD = 160

OLDEST = datetime.min.replace(tzinfo=UTC)
"""The time of a sentence of which none is known."""


def opening_line(found: Iterable[tuple[BatchMemory, Sequence[str]]], keys: Collection[str]) -> tuple[str, BatchMemory]:
    """Return the line that a page about the subject with these keys opens with, and its memory; a sentence must be found.

    For a place, what and where it is: else the best of the sentences.
    """
    every = list(found)
    for memory, _ in every:
        if place := place_line(memory, keys):
            return place, memory
    newest = {sentence: memory for memory, said in every for sentence in reversed(said)}
    best = opening(newest, keys, {sentence: memory.occurred_at for sentence, memory in newest.items()})
    return bare(lead(best)), newest[best]


def place_line(memory: BatchMemory, keys: Collection[str]) -> str:
    """Return what and where the memory's place is, if the keys name that place."""
    city = city_of(memory)
    if plain_key(place_name(memory)) not in keys or not city:
        return ""
    kind = next((one.replace("_", " ") for one in types_of(memory)), "place")
    return f"{kind.capitalize()} in {city}."


def opening(said: Iterable[str], keys: Collection[str], said_at: Mapping[str, datetime] | None = None) -> str:
    """Return the sentence that says best what the subject with these keys is; empty without any.

    `said_at` are the times at which they were said. Of equal ones that begin with the subject, or tell of a change, the newest
    is best; then the one that names the subject
    first, then the one nearest to a dozen words: never the first that came, so that the choice depends on the sentences and
    their times alone.
    """
    times = said_at or {}
    return max(said, key=lambda one: _order(lead(one), times.get(one, OLDEST), keys), default="")


def lead(said: str) -> str:
    """Return what a page may open with of a sentence and those that go on about its subject: all if that is short."""
    every = sentences(said)
    return said if len(said) <= _LONGEST_LEAD or len(every) < 2 else every[0]


def _order(said: str, said_at: datetime, keys: Collection[str]) -> tuple[int, datetime, int, int, str]:
    text = plain_key(said)
    at = min((text.find(key) for key in keys if key in text), default=len(text))
    first = naming(said, keys)
    is_theme = any(map(theme_of, keys))
    is_dated = not is_theme and (tells_day(first) or _definition(_COPULA.sub(" est ", first), keys) >= _BEGINS)
    return (fitness(first, keys), said_at if is_dated else OLDEST, -at, -abs(len(text.split()) - _WORDS), said)


def fitness(sentence: str, keys: Collection[str]) -> int:
    """Return how well a page about the subject may open with the sentence; a definition counts most, an aside least."""
    speaker = speaker_of(sentence)
    sentence = _COPULA.sub(" est ", sentence)
    said = plain_key(sentence.removeprefix(f"{speaker}: "))
    words = set(said.split())
    found = -2 if _POINTING.match(said) else -1 if _DISCOURSE.match(said) else 0
    found -= _looseness(sentence, words)
    found -= 2 if _REACTING.search(said) else 0
    found -= 0 if words.isdisjoint(SECOND_PERSON) else 2
    is_own = speaks_of_self(words)
    is_theme = any(theme_of(key) for key in keys)
    is_theirs = is_theme or not speaker or plain_key(speaker) in keys
    found += 2 if is_own and is_theirs else -1 if is_own else 0
    found -= 0 if founds(sentence, frozenset(keys)) else 2
    found -= 2 if len(sentence) > _LONGEST or len(content_words(sentence)) < _SHORTEST_WORDS else 0
    found -= 1 if sentence.rstrip().endswith("!") else 0
    if is_theme:
        opens = runs(sentence)[:1]
        is_told = bool(opens) and not speaker and said.startswith(plain_key(opens[0].name))
        return found + (1 if is_told else 0) + (2 if _is_liking(said, words) else 0)
    return found + _definition(sentence, keys)


def _definition(sentence: str, keys: Collection[str]) -> int:
    """Return how far a sentence, or a clause of it, says what the subject is: 6 if it does, 3 if it begins with the subject."""
    said = _without_longer(plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: ")), sentence, keys)
    clauses = [said, *map(plain_key, _owned(sentence)), *_clauses(sentence)]
    return max((_defined(clause, key) for clause in clauses for key in keys), default=0)


def _owned(sentence: str) -> tuple[str, ...]:
    """Return the sentence with what is somebody's as `the`, if anything is: `Petra is Harrier's lead` tells what she is."""
    told = _OWNER.sub("the ", sentence)
    return (told,) if told != sentence else ()


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the later clauses of a sentence, and as a definition what stands behind a label: `New DBA: Tomasz`.

    A label that may be a speaker has only a name behind it.
    """
    every = _CLAUSE.split(sentence)
    yield from map(plain_key, every[2::2])
    if len(every) < 2 or not every[1].startswith(":"):
        return
    label = plain_key(every[0]).split()
    is_note = label[:1] and len(label) <= _LABEL_WORDS and (len(label) > 1 or label[0] not in NO_NAMES)
    if is_note and label[-1] not in PREDICATES:
        told = _NAME_ALONE.split(_TITLE.sub("", every[2]), maxsplit=1)[0]
        if not speaker_of(sentence) or len(told.split()) <= _NAME_WORDS:
            yield f"{_LABELLED} {plain_key(told)}"


def _without_longer(said: str, sentence: str, keys: Collection[str]) -> str:
    """Return the words without longer names of other things that hold the subject's: `Acropolis Museum`, of the Acropolis."""
    for name in (plain_key(one.name) for one in runs(sentence)):
        if name not in keys and any(holds(key, name) for key in keys):
            said = said.replace(name, " . ")
    return said


def _is_liking(said: str, words: Collection[str]) -> bool:
    """Return whether the words tell what somebody likes, learns or does regularly."""
    return not _LIKES_WORDS.isdisjoint(words) or bool(_LIKED.search(said))


def weight(sentence: str, keys: Collection[str], *, is_talk: bool) -> int:
    """Return how much the sentence says of a subject, from 0 to 3: nothing if it does not stand alone or names the subject in a
    set phrase (`with friends and family`), 1 in passing, 2 if somebody tells what they like, learn or do regularly.

    In a conversation it must be of the speaker, or begin with the subject. A note says 3, unless it is of a theme that
    everybody speaks of in passing.
    """
    said = plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))
    words = said.split()
    is_own = not _OWN.isdisjoint(words) or (is_talk and not _ENGLISH.search(said))
    if not is_own and (is_loose(sentence) or (is_talk and not _begins(words, keys))):
        return 0
    if _BY_THE_WAY.search(said) and not _has_theme(_BY_THE_WAY.sub(" ", said), keys):
        return 0
    if not (is_talk or _is_common(keys)):
        return 3
    is_telling = _is_liking(said, words) or not _LEARNT.isdisjoint(words)
    return 2 if is_telling and (is_own or not is_talk) else 1


def _begins(words: Sequence[str], keys: Collection[str]) -> bool:
    """Return whether the subject is among the first words; a longer name goes on after them."""
    said = " ".join(words)
    first = " ".join(words[:_OPENING_WORDS])
    return any(f" {said}".find(f" {key} ", 0, len(first) + len(key)) >= 0 for key in keys) or _has_theme(first, keys)


def _has_theme(said: str, keys: Collection[str]) -> bool:
    return not {theme_of(key) for key in keys}.isdisjoint(themes_in(said))


def _is_common(keys: Collection[str]) -> bool:
    """Return whether the theme is one that everybody speaks of in passing: family, friends, hopes."""
    return any(theme_of(key) in EVERYONES for key in keys)


def is_fragment(said: Iterable[str], keys: Collection[str]) -> bool:
    """Return whether the subject is named in the sentences as the end of one and the same phrase only: `the birds of Texas`."""
    name = "|".join(sorted(map(re.escape, keys), key=len, reverse=True))
    before = re.compile(rf"(?:(\S+) {_OF} )?\b(?:{name})\b")
    found = {match[1] for one in said for match in before.finditer(plain_key(one))}
    return len(found) == 1 and None not in found and found.isdisjoint(STOP_WORDS)


def is_loose(sentence: str) -> bool:
    """Return whether the sentence points to one that went before it, so that alone it does not say what it is about."""
    return bool(_POINTING.match(plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))))


def _looseness(sentence: str, words: Collection[str]) -> int:
    """Return how much a sentence hangs on others: 1 for a word like `it` or `there`, 1 for a `she` without a name."""
    found = 0 if _LOOSE.isdisjoint(words) else 1
    return found + (0 if _OTHERS.isdisjoint(words) or runs(sentence) else 1)


def _defined(said: str, key: str) -> int:
    name = re.escape(key)
    if said.startswith(f"{_LABELLED} "):
        return 6 if re.match(rf"(?:\S+ )?{name}\b", said.removeprefix(f"{_LABELLED} ")) else 0
    if _says_what(said, name):
        return 6
    if re.match(rf"(?:\S+ ){{0,1}}{name} (?:{_IS}) ", said):
        return 4
    if re.match(rf"(?:\S+ )?{name} (?:{_LEADS})\b(?! on\b)", said):
        return 5
    before = re.search(rf"(?:^|\s)(\S+) (\S+) {name}\b", f"  {said}")
    if before and (before[2] in NAMING or (before[1] in NAMING and len(before[2]) > 2)):
        return 5
    if re.match(rf"(?:(?:{_AN}) (?:\S+ )?)?{name}\b", said):
        return 3
    return 1 if re.search(rf"\b{name}\b", said) else 0


def _says_what(said: str, name: str) -> bool:
    """Return whether the words say what the name is, who it is that is something, or that it is no more what it was."""
    is_ended = re.match(rf"(?:\S+ ){{0,1}}{name}\b", said) and _ENDED.search(said) and not _COMING.search(said)
    return bool(
        is_ended
        or re.match(rf"(?:\S+ ){{0,3}}{name} (?:{_IS}) (?:(?:{_NOW}) )*(?:{_AN})\b", said)
        or re.match(rf"(?:\S+ ){{1,5}}(?:{_WHO_IS}) (?:(?:{_TITLES}) )*{name}\b", said)
    )
