"""Chooses the sentence that a page opens with: the best definition of its subject."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from compiler.plan.contract import BatchMemory
from compiler.plan.names.locating import city_of, place_name, types_of
from compiler.plan.names.naming import holds
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import runs
from compiler.plan.names.themes import theme_of
from compiler.plan.quoting.definitions import KIND, clause, definition, introduces, is_home, without_longer
from compiler.plan.quoting.excerpts import asks, bare, dated, founds, naming, tells_day
from compiler.plan.quoting.weighing import POINTING, is_central, is_liking, is_listed, is_subject, theme_place
from compiler.plan.text.change import content_words
from compiler.plan.text.kin import is_of_kin
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import COPULA, acts, greeted, is_verb, speaks_of_self, speaks_to_other
from compiler.plan.text.sentences import sentences, undated
from compiler.plan.text.words import PREDICATES
from store.text.words import STOP_WORDS

_REACTING = re.compile(
    r"\b(?:sounds?|seems?|must (?:be|have)|looks? like|glad|sorry to|thats|if|whether|would|shares? a (?:picture|photo))\b"
)
_DISCOURSE = re.compile(
    r"^(?:oh|ooh|ah|well|no|nah|nope|yes|yeah|yep|okay|ok|hmm|wow|sure|right|actually|honestly|basically|obviously|anyway|unfortunately"
    r"|sadly|luckily|fortunately|hopefully|next time|of course|by the way|btw|as for me|even|especially|maybe|perhaps"
    r"|as i \w+ to say|like i said|you know|for example|and also)\b"
)
# `Ana: With my friend from choir.` answers a question.
_ANSWERING = re.compile(r"^(?:with|from|for|about|because|by|at|on|in|to)(?: (?!(?:i|we)\b)\w+){1,7}$")
# `Tell Ada that we are late` is a wish.
_WISHING = re.compile(r"^(?:tell|ask|remind|say (?:hi|hello) to|sag|frag|dile|pregunta|diz|pergunta|dis|demande)\b")
# `Rumour: Ana becomes lead` may be false.
_HEARD = re.compile(
    r"(?:(?:the |only a |a )?rumou?rs?|gossip|apparently|supposedly|allegedly|word is|they say|people say|(?:i )?heard (?:that )?"
    r"|angeblich|geruchtehalber|man sagt|dizque|dicen que|parece que|se rumorea|dizem que|pelos vistos|on dit que|il parait)\b"
)
# The owner of a memory that somebody else wrote.
_USER = re.compile(
    r"(?:the )?user\b|(?:la|el) usuari[ao]\b|[ao] (?:usuari[ao]|utilizadora?)\b|(?:der|die) (?:be)?nutzer(?:in)?\b|l ?utilisat\w+"
)
_OF_PERSONS = re.compile(r"(?:(?:also|and|und|y|e) )?(?:he|she|they|el[ea]s?|ell[ao]s?|er|sie|ils?|elles?|lui|lei) ")
_LOOSE = frozenset(["it", "there", "them", "then", "this", "these", "those"])
_THIS_TIME = re.compile(
    r"\bth(?:is|ese) (?:time|days?|weeks?|weekend|month|year|morning|afternoon|evening|spring|summer|autumn|fall|winter|season)\b"
)
# `I did that`, `she swims there`: what they mean is in another sentence, unless a place is named before.
_REFERRING = re.compile(
    r"\b(?:do|does|did|doing|done) (?:that|it|so|this)\b|\b(?:says?|said|thinks?|thought|think) (?:yes|no|so)\b"
    r"|\b(?:wants?|wanted|got|has|have|had|bought|needs?|likes?) one(?: too)?(?=[.,;!?]|$)"
    r"|\b(?:(?:is|are|was|were|does|did|has|had|would|could|should|ca|wo)(?:n['’]t)?|can|will)\W*$"
    r"|\b(?:had|has|have|got|saw|knew|knows?|likes|liked|loved?|loves|wants?|wanted|needs?|needed|fixed|heard|tried) that"
    r"(?= (?:with|from|in|at|on|for|when|too|and|but)\b|[.,;!?]|$)"
    r"|\b(?:ist|war|wird|hat) das (?-i:(?:ge|be|ver|er)[a-zäöüß]+t)(?=[.,;!?]|$)"
    r"|\b(?:by|of|about|with|for|from|at|to|on) (?:this|that)(?: and\b|[.,;!?])"
    r"|\bthere\b(?!['’]| (?:is|are|was|were|has|have|had|will|would|isn|aren|wasn|weren|must|may|might|can))",
    re.IGNORECASE,
)
# `I like also pizza`, `I used to do karate though`: half of what is meant was said before.
_CONTINUING = re.compile(
    r"\b(?:also|we both|this one|that one|remember (?:how|when|that)|(?:though|too|more)(?=$)|too(?= (?:and|but)\b))\b"
)
# `Joe is certain that it came`: what came is in another sentence, unless a thing is named before.
_THING_MEANT = re.compile(
    r"(?<=\w )(?:it|them)\b(?! (?:is|was|s|takes|took|seems|rains|rained|snows|snowed|turns|turned)\b)"
)
_THING_BEFORE = re.compile(
    r"\b(?:an?|the|my|our|his|her|their|some|each|every|this|that|two|three|both|all|no|any|new|old) [a-z]"
)
_PLACE_BEFORE = re.compile(r"\b(?:in|at|to|from|of|near|into|around|visit\w*) (?:the )?[A-Z]")
# A noun that a `he` or `she` after it may mean: `a coworker`, `my old boss`.
_ANTECEDENT = re.compile(r"\b(?:an?|my|our|another|some|every) [a-z]")
_OF = r"(?:of|on|de|do|da|dos|das|del|di|della|von|du)(?: (?:the|la|el|los|las|le|les))?"
_WITHIN = "from|aus|in|near"
_DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
# Types of places on a map that tell nothing about one.
_NO_KINDS = frozenset(
    ["premise", "route", "establishment", "point_of_interest", "street_address", "natural_feature", "political"]
)
# What a place is whose name ends in such a word, whatever a map calls it.
_NAMED_KINDS = """
airport beach bridge castle cathedral church hotel island lake library market museum palace park river stadium station theater
theatre university zoo
"""
_KINDS_IN_NAMES = frozenset(_NAMED_KINDS.split())
_SUBJECTLESS = PREDICATES - {"a"}  # a Portuguese article too
_ONE_PERSON = frozenset(["he", "she", "him", "her", "his", "hers"])
_SUBJECTS = frozenset(["he", "she", "they"])
_SEVERAL = frozenset(["they", "their"])
_NOT_POINTING = ("his ", "her ", "their ", "yes ", "yeah ", "no ")
_LONGEST = 240
_MOST_NAMES = 5
_SHORTEST_WORDS = 3
_FEW_WORDS = 6
_WORDS = 12
_BEGINS, _STATE = 3, 4
_REFERS = 2  # looseness of a sentence that refers to another one
_DOUBT = 6  # below any other sentence
_LONGEST_LEAD = 160
# A change of the subject names it within these first characters: `Marmot ends now`, not `We now book the hall for Marmot`.
_CHANGE_CHARS = 24
_FIRST_WORDS = 3
_ARTICLE_CHARS = 4

_SAYINGS = """
says said thinks asked asks told wants recommends recommended suggests suggested mentions mentioned indicates indicated expresses
expressed congratulates congratulated encourages encouraged shared shares hopes admires talks talked discusses discussed describes
described dice dijo diz disse sagt sagte meint findet dit
"""
_SAYING = frozenset(_SAYINGS.split())
_QUOTING = frozenset(["says", "said", "dice", "dijo", "diz", "disse", "sagt", "sagte", "dit"])
# Verbs before a theme, and nouns after it: `missed two dance practices`.
_VERB_BEFORE_THEME = frozenset(["practice", "practices"])
# Verbs in the present that tell of no activity: `Ana misses dance`.
_IDLE_VERB_WORDS = "breaks buys drops forgets has hates loses misses needs owes pays sees skips wants was"
_IDLE_VERBS = frozenset(_IDLE_VERB_WORDS.split())
_DETERMINERS = frozenset(
    ["a", "an", "the", "his", "her", "their", "el", "la", "o", "um", "uma", "der", "die", "das", "le"]
)

OLDEST = datetime.min.replace(tzinfo=UTC)
"""The time of a sentence without a known time."""


def opening_line(found: Iterable[tuple[BatchMemory, Sequence[str]]], keys: Collection[str]) -> tuple[str, BatchMemory]:
    """Return the opening line of a page about the subject with these keys, and its memory. `found` needs at least one sentence.

    The line of a place is its kind and city; of any other subject, the best sentence with its day before it, since most of what
    is said may stop being true.
    """
    every = list(found)
    for memory, _ in every:
        if place := place_line(memory, keys):
            return place, memory
    newest = {sentence: memory for memory, lines in every for sentence in reversed(lines)}
    best = opening(newest, keys, {sentence: memory.occurred_at for sentence, memory in newest.items()})
    text = clause(bare(lead(best, keys)), keys)
    return dated(text, newest[best]), newest[best]


def place_line(memory: BatchMemory, keys: Collection[str]) -> str:
    """Return the kind and city of the memory's place as a line (`Museum in Lisbon.`).

    The kind in the place's name, if there is one: `Deep Eddy Pool` is a swimming pool in a park. Empty if the keys do not name
    the place.
    """
    city, name = city_of(memory), plain_key(place_name(memory))
    kinds = [one.replace("_", " ") for one in types_of(memory) if one not in _NO_KINDS]
    if name not in keys or not city:
        return ""
    words = name.split()
    own = words[-1] if words[-1] in _KINDS_IN_NAMES else ""
    kind = next((one for one in kinds if one.split()[-1] in words), own or [*kinds, "place"][0])
    return f"{kind.capitalize()} in {city}."


def opening(excerpts: Iterable[str], keys: Collection[str], said_at: Mapping[str, datetime] | None = None) -> str:
    """Return the sentence that best defines the subject with these keys; empty if there are no sentences.

    `said_at` maps sentences to their times. Of sentences of about equal `fitness` that begin with the subject or state its
    change, the newest is best; then the one that names the subject earliest, then the one nearest to twelve words. Of one
    sentence with several days before it, the newest is best. The order of the input does not matter.
    """
    times = said_at or {}
    return max(excerpts, key=lambda one: _order(lead(undated(one), keys), times.get(one, OLDEST), keys), default="")


def lead(excerpt: str, keys: Collection[str]) -> str:
    """Return the part of an excerpt that a page may open with.

    All of it up to 160 characters, else its sentences up to the one that names the subject.
    """
    every = sentences(excerpt)
    if len(excerpt) <= _LONGEST_LEAD or len(every) < 2:
        return excerpt
    first = naming(excerpt, keys)
    return " ".join(every[: every.index(first) + 1]) if first in every else every[0]


def _order(
    excerpt: str, said_at: datetime, keys: Collection[str]
) -> tuple[int, datetime, int, int, int, str, datetime]:
    text = plain_key(excerpt)
    alone = without_longer(text, excerpt, keys)
    at = min((alone.find(key) for key in keys if key in alone), default=len(text))
    first = naming(excerpt, keys)
    is_theme = any(map(theme_of, keys))
    at = theme_place(first, keys) if is_theme and not speaker_of(first) else at
    is_change = tells_day(first) and (at <= _CHANGE_CHARS or bool(speaker_of(first)))
    says = COPULA.sub(" est ", first)
    is_led = not excerpt.startswith(first)
    defined = 0 if is_theme else _definition(says, keys, is_led=is_led)
    is_dated = not is_theme and (is_change or defined >= _BEGINS)
    fit = fitness(first, keys, is_led=is_led)
    fit -= 0 if is_theme or defined > _STATE else _brevity(excerpt[excerpt.find(first) :], keys)
    # Of sentences that begin with the subject and do not define it, a newer one tells more than one of slightly better form.
    speaker = plain_key(speaker_of(first))
    begins = at <= len(speaker) + _ARTICLE_CHARS and (speaker not in keys or _is_of_speaker(first))
    about = fit if is_theme or fit > _STATE else (fit + begins) // 2
    return (about, said_at if is_dated else OLDEST, fit, -at, -abs(len(text.split()) - _WORDS), excerpt, said_at)


def fitness(sentence: str, keys: Collection[str], *, is_led: bool = False) -> int:
    """Return how well the sentence suits as the opening of a page about the subject: high for a definition, low for an aside.

    A sentence that is led by another one may refer to it (`Lunch with Priya. Her husband Arjun came.`).
    """
    speaker = speaker_of(sentence)
    sentence = COPULA.sub(" est ", sentence)
    said = sentence.removeprefix(f"{speaker}: ")
    text = plain_key(said)
    words = set(text.split())
    found = 0
    is_theme = any(theme_of(key) for key in keys)
    score = 0 if is_theme else _definition(sentence, keys, is_led=is_led)
    if not is_led:
        # `Her daughter Ana lives here` says who Ana is, whoever `her` is.
        # `They have two daughters, Ana and Eva` does so too.
        is_pointing = POINTING.match(text) and not (_OF_PERSONS.match(text) and score > _STATE)
        is_telling = text.startswith(_NOT_POINTING) and score > _BEGINS
        is_pointing = is_pointing and not is_telling
        found = (-2 if is_pointing else -1 if _DISCOURSE.match(text) and not is_telling else 0) - _looseness(said, text)
        # `Lies in hospital in Fulda` has no subject; another sentence has it.
        found -= 1 if not is_theme and (text.partition(" ")[0] in _SUBJECTLESS or _has_bare_it(said)) else 0
    elif text.partition(" ")[0] in _SUBJECTS:
        found -= 2  # `He asked his boss, Ana.` is about the person of the sentence before
    found -= _reserve(sentence, text, is_theme=is_theme)
    found -= 2 if speaker and asks(said) else 0
    found -= 2 if is_theme and speaker and _ANSWERING.match(text) and not any(map(is_verb, words)) else 0
    found -= 2 if speaks_to_other(words) or (speaker and not greeted(said).isdisjoint(keys)) else 0
    is_own = speaks_of_self(words)
    if is_own and is_theme:
        found += 4 if speaker else 2
    elif is_own and speaker:
        found += 2 if plain_key(speaker) in keys and _is_of_speaker(sentence) else 1
    found -= 0 if score > _BEGINS or founds(sentence, frozenset(keys)) else 2
    is_short = score < KIND - is_led and len(content_words(sentence)) < _SHORTEST_WORDS
    found -= 2 if len(sentence) > _LONGEST or is_short else 0
    found -= 1 if score <= _STATE and len(runs(sentence)) > _MOST_NAMES else 0
    found -= 1 if sentence.rstrip().endswith("!") else 0
    if is_theme:
        opens, user = runs(sentence)[:1], _USER.match(text)
        name = user[0] if user else plain_key(opens[0].name) if opens else ""
        is_told = bool(name) and not speaker and text.startswith(name)
        is_doing = is_told and _does(name, text, theme_place(sentence, keys)) and _looseness(said, text) < _REFERS
        is_reported = bool(name) and acts(name, text, _SAYING)
        found += -2 if is_reported else is_told + is_doing
        found += 2 if is_liking(text, keys, only_before=_VERB_BEFORE_THEME) else 0
        return found if speaker else found + _telling(sentence, keys)
    # `Mico says Tuesday` tells of something else.
    is_saying = score <= _STATE and any(acts(key, text, _QUOTING) for key in keys)
    return found + score - is_saying - (score < _BEGINS and _introduces_another(sentence, keys))


def _introduces_another(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a sentence that does not begin with the subject says who or what another name is: `New buyer at Helios is
    Tim.`
    """
    text, others = plain_key(sentence), {plain_key(one.name) for one in runs(sentence)}
    others = {one for one in others if not any(holds(key, one) or holds(one, key) for key in keys)}
    at = min((text.find(key) for key in keys if key in text), default=0)
    after = [one for one in others if text.find(one) > at]
    return any(definition(sentence, {one}) > _STATE for one in after)


def _reserve(sentence: str, text: str, *, is_theme: bool) -> int:
    """Return how much less a sentence suits because it asks, passes on hearsay, reacts or wishes."""
    if not is_theme and _is_doubtful(sentence):
        return _DOUBT
    return 2 if _REACTING.search(text) or _WISHING.match(text) else 0


def _is_doubtful(sentence: str) -> bool:
    """Return whether a sentence asks, or passes on what may be false, also under such a label: `Rumour: Ana becomes lead.`"""
    if "?" in sentence:
        return True
    said = sentence.removeprefix(f"{speaker_of(sentence)}: ")
    return any(_HEARD.match(plain_key(one)) for one in (sentence, said))


def _definition(sentence: str, keys: Collection[str], *, is_led: bool) -> int:
    """Return how well a sentence defines a subject that is no theme, 0 to 6."""
    score = definition(sentence, keys)
    if score < _STATE and is_home(sentence, keys):
        return _STATE
    return max(score, KIND - 1) if is_led and introduces(sentence, keys) else score


def _is_of_speaker(sentence: str) -> bool:
    """Return whether an utterance begins with words of the first person: `I keep bees`, and not `Ivo sang, I have tapes`."""
    words = plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: ")).split()
    return speaks_of_self(words[:_FIRST_WORDS])


def _brevity(excerpt: str, keys: Collection[str]) -> int:
    """Return the penalty of an excerpt that says little, 0 to 2, by its content words besides numbers and the subject's own: 2
    for fewer than two (`Rao countered at 14`), 1 for two among at most six words (`Photo sent to Rao`).
    """
    said = excerpt.removeprefix(f"{speaker_of(excerpt)}: ")
    told = [
        word for word in content_words(said) - {word for key in keys for word in key.split()} if not word[0].isdigit()
    ]
    return 2 if len(told) < 2 else int(len(told) < _SHORTEST_WORDS and len(said.split()) <= _FEW_WORDS)


def _does(name: str, text: str, place: int) -> bool:
    """Return whether a note says that the person of that name does the theme, which is its word number `place`.

    `text` is the note as a plain key: `Ana sings alto`, `Ana coaches a chess team`, but not `Ana has a cake sale for the choir`
    or `Ana's choir is old`.
    """
    if not text.startswith(f"{name} "):
        return False
    verb, *between = text.removeprefix(f"{name} ").split()[: max(1, place - len(name.split()))]
    is_habit = verb.endswith("s") and verb not in _IDLE_VERBS  # `Ana opened a dance club` tells of one day
    return (is_habit and _DETERMINERS.issuperset(between)) or (not between and acts(name, text))


def _telling(sentence: str, keys: Collection[str]) -> int:
    """Return how much a sentence of a note says about a theme, -5 to 2.

    More if it begins with the theme and names a person (`Pottery calms Ana`, but not the platitude `Pets are joy`), or if the
    theme is its subject; less if the theme is one item of a list or in passing, or the sentence has a relative date.
    """
    is_of_somebody = any(not sentence.startswith(one.name) for one in runs(sentence))
    begins = is_subject(sentence, keys)
    found = 2 if is_of_somebody and begins and not theme_place(sentence, keys) else 1 if begins else 0
    found -= 2 if is_listed(sentence, keys) else 0
    found -= 0 if is_central(sentence, keys) else 2
    found -= 1 if tells_day(sentence) else 0
    return found


def _has_bare_it(sentence: str) -> bool:
    """Return whether an `it` or `them` of a sentence stands for a thing that another sentence names."""
    found = _THING_MEANT.search(sentence)
    before = sentence[: found.start()] if found else ""
    return bool(found) and not _THING_BEFORE.search(before) and len(runs(before)) < 2


def is_about_subject(sentence: str, keys: Collection[str]) -> bool:
    """Return whether the sentence begins with the subject, defines it or says what it does; false if it names it in passing, also
    as part of the subject of a verb: `the band from Vigo asked`.
    """
    text = plain_key(COPULA.sub(" est ", sentence))
    acting = (key for key in keys if acts(key, sentence))
    return (
        any(not re.search(rf"\w (?:{_WITHIN}) {re.escape(key)}\b", text) for key in acting)
        or definition(COPULA.sub(" est ", sentence), keys) >= _BEGINS
    )


def is_fragment(every: Iterable[str], keys: Collection[str]) -> bool:
    """Return whether the sentences name the subject only as the end of one and the same phrase: `the birds of Texas`, as the
    beginning of one that ends with a day: `Ruby Tuesday`, or only its kin: `Anders's mother`.
    """
    every = list(every)
    shown = {name for one in every for name in (spotted.name for spotted in runs(one)) if plain_key(name) in keys}
    if shown and all(is_of_kin(name, one) for one in every for name in shown if name in one):
        return True
    name = "|".join(sorted(map(re.escape, keys), key=len, reverse=True))
    before = re.compile(rf"(?:(\S+) {_OF} )?\b(?:{name})\b(?: ({_DAYS}))?")
    matches = [match for one in every for match in before.finditer(plain_key(one))]
    days = {match[2] for match in matches}
    if len(days) == 1 and None not in days:
        return True
    found = {match[1] for match in matches}
    return len(found) == 1 and None not in found and found.isdisjoint(STOP_WORDS)


def _looseness(sentence: str, text: str) -> int:
    """Return how much a sentence depends on others, 0 to 4.

    1 for a word like `it`, 2 for `did that` or a `there` without a place before it; then 1 for a `they`, 2 for a `she` without a
    name in the sentence or a noun before it, 1 for a `she` before the first name.
    """
    words = _THIS_TIME.sub("", text).split()
    found = 0 if _LOOSE.isdisjoint(words) and not _CONTINUING.search(text) else 1
    referring = _REFERRING.search(sentence)
    if referring and not _PLACE_BEFORE.search(sentence, 0, referring.start()):
        found = 2
    other = next((at for at, word in enumerate(words) if word in _ONE_PERSON), 0)
    before = f" {' '.join(words[:other])} "
    names = [plain_key(one.name) for one in runs(sentence)]
    if other and (_ANTECEDENT.search(before) or any(f" {name} " in before for name in names)):
        return found
    if names:
        return found + (1 if other else 0)
    return found + (2 if not _ONE_PERSON.isdisjoint(words) else 0 if _SEVERAL.isdisjoint(words) else 1)
