"""Selects the sentences of a memory that are about a subject, verbatim."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set

from compiler.plan.contract import BatchMemory
from compiler.plan.facts import past
from compiler.plan.lexicon.common_words import COMMON_WORDS
from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.naming import is_named
from compiler.plan.names.speakers import is_talk, speaker_of
from compiler.plan.names.spotting import NameKind, declared, runs
from compiler.plan.names.themes import theme_of, themes_in
from compiler.plan.quoting.weighing import POSSESSIVE, is_aside, weight
from compiler.plan.text.change import content_words
from compiler.plan.text.german_nouns import is_german_noun
from compiler.plan.text.kin import is_owned, kin_in
from compiler.plan.text.markdown import escape, plain_key
from compiler.plan.text.namesakes import told_apart
from compiler.plan.text.persons import acts, greeted, speaks_of_self, speaks_to_other
from compiler.plan.text.sentences import MAX_SENTENCE_CHARS, sentences
from compiler.plan.text.words import FIRST_PERSON, INTERJECTIONS, NO_NAMES, THIRD_PERSON

LEAST_WORDS = 3
LEAST_UNOWNED_WORDS = 5
MOST_FOLLOWING = 2
LEAST_EXAMPLES = 3
LONG_CHARS = 160

_RELATIVE = re.compile(
    r"\b(?:(?:is|turned|turns|turning) \d{1,3}(?= and| in| this| next|$)|\d{1,3} years old"
    r"|yesterday|today|tonight|tomorrow|recently|lately|currently|nowadays|ago|soon|upcoming|so far"
    r"|(?:last|next|this|past|coming|previous) (?:\w+ )?(?:night|day|week|weekend|month|year|spring|summer|autumn|fall|winter"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)"
    r"|now|as of|no longer|starting|since (?:then|monday|tuesday|wednesday|thursday|friday)|this (?:morning|afternoon|evening)"
    r"|on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?!s)|still"
    r"|raised|lowered|increased|reduced|moved|switched|changed|upgraded|downgraded|migrated|delayed|postponed|cancell?ed|replaced"
    r"|renamed|removed|took over|taken over|retired|resigned|stepped down|anymore"
    r"|erhoht|gesenkt|umgezogen|gewechselt|geandert|verschoben|abgesagt|ersetzt|ubern(?:immt|ommen)|gekundigt|abgeschaltet|verkauft"
    r"|cambi[oa]mos|cambio|subio|sube|bajo|baja|ha (?:subido|bajado)|se mudo|se vendio|aplazo|pospuso|sustituyo|se jubila|dejo"
    r"|mudou|mudamos|trocou|trocamos|subiu|baixou|vendeu|vendemos|cancelou|adiou|adiamos|substituiu|se aposent\w+|deixou"
    r"|ahora|ya no|todavia|esta (?:manana|tarde|noche|semana)|agora|ja nao|ainda|esta (?:manha|noite)|jetzt|nicht mehr|inzwischen"
    r"|ab (?:jetzt|sofort|heute)|noch|am (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)"
    r"|diese[nrs]? (?:woche|monat|jahr)"
    r"|ayer|hoy|(?<!la )manana|hace \w+ (?:dias|semanas|meses|anos)|(?:semana|mes|ano) (?:pasad[ao]|passad[ao]|que v[ie]e?ne?m?)"
    r"|ontem|hoje|amanha|ha \w+ (?:dias|semanas|meses|anos)|gestern|heute|(?:letzte|nachste|vorige)[nmrs]? \w+|neulich"
    r"|hier|aujourdhui|demain|(?:semaine|mois|annee) (?:derniere?|prochaine?))\b"
)
# A measure, which makes a short note telling: `Weight 97.6 kg.`, not `Diary 2026-03-01`.
_MEASURE = re.compile(
    r"\d ?(?:kg|lbs?|pounds|km|miles?|m|h|hrs?|hours?|min|minutes|stunden|std|horas|heures|bpm|kcal|calories)\b",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:jan|feb|fev|mar|m[äa]r|apr|abr|avr|ma[iy]|jun|jui|jul|aug|ago|ao[uû]|sep|set|o[ck]t|out|nov|d[eé][cz]|dic|ene)"
    r"[^\W\d]*\.?"
)
# A date that a sentence begins with: `2026-01-05: I swim.`, `Jan 7: I swim.`
_OPENING_DATE = re.compile(
    r"\W{0,2}(?:\d{4}-\d\d-\d\d|(?:[0-2]?\d|3[01])[./](?:0?\d|1[0-2])[./](?:20)?\d\d\b(?!\.)"
    rf"|\d{{1,2}}\.? (?:de )?{_MONTH} (?:de )?\d{{4}}|{_MONTH} \d{{1,2}}(?:, \d{{4}})?\b(?=\W*:))",
    re.IGNORECASE,
)
# A pronoun at the beginning of these phrases refers to no subject.
_OF_NOTHING = re.compile(
    r"(?:it|its|es) (?:is |was |has been |had |will |all |hat |war |ist |wird )?(?:really |so |very |sehr )?"
    r"(?:rain|snow|hail|pour|storm|cold|hot|warm|sunny|late|early|dark|nice|fun|great|good|turned? out|turns out|seems|looks like"
    r"|takes|took|regn|geregn|schnei|geschnei|kalt|heiss|warm|spat|schon|gibt|gab)"
)
_OWN, _OTHER = "\x01", "\x02"
_ROW = re.compile(r"[\x01\x02](?: (?:(?:and|or|the|y|e|und|et|o|ou) )*[\x01\x02]){2,}")
_LONG_UNSPACED = 8
_BULLET = re.compile(r"^(?:[-*•–—]\s+)+|^\d{1,2}\)\s+")  # `1. June` may be a date
_LENGTHENED = re.compile(r"(\w)\1{2,}")  # `noooo`
_ASIDE = re.compile(r"[\[(*].*[\])*]\W*", re.DOTALL)
# A mere answer to the other speaker (praise, advice, an echo) says nothing new, and is often about the wrong person.
_ECHO = re.compile(
    r"^(?:(?:i|im|id|ive|so|really|just|we)\s)*(?:am\s)?(?:so\s|really\s|very\s|totally\s|truly\s|also\s)*"
    r"(?:glad|happy|sorry|sure|proud|excited|thrilled|hope|hoping|bet|guess|wish|love|admire|appreciate|respect|see|understand|know"
    r"|agree|think|believe|suggest|recommend|thanks|thank|can (?:see|imagine|tell|relate)|cant wait)\b(?:\s\S+){0,3}?\s"
    r"(?:you|your|youre|youve|yours)\b"
)
_OWNERS = frozenset(["my", "our", "his", "her", "their", "a", "an", "mein", "meine", "mi", "meu", "minha"])
_APPOSED_WORDS = 4
_THAT = re.compile(r"(?:That|This|Those|These)\b")
_SEEMING = re.compile(
    r"^(?:(?:that|this|it|what|which|such)\s)?(?:\S+\s){0,8}?(?:sounds?|seems?|must (?:be|have))\b"
    r"|^(?:glad|happy|sorry|love|loving) "
)
_ADVISING = re.compile(
    r"^(?:\d+\s)?(?:dont|do not|try|consider|make sure|remember|feel free|keep|stay|take care|take your|enjoy|let me|lets"
    r"|check out|have (?:a|fun)|be sure|go for|talk to|if you)\b"
)
_PRAISING = re.compile(
    r"^\w+ing\b.*\b(?:is|are|was|were) (?:such |truly |really |quite )?an? (?:\w+ )?(?:great|good|amazing|wonderful|fantastic"
    r"|incredible|exciting|awesome|lovely|brilliant|perfect|excellent|promising|smart|impressive|bold|thrilling)\b"
    r"(?: \w+)? (?:move|choice|decision|step|plan|idea|adventure|accomplishment|achievement)\b"
)
# A question without its mark: `who's driving`, `how much would it cost`, `can he come`, and not `what a day`, `is fine by me`.
_ASKED = "i|you|we|he|she|it|they|u|(?-i:[A-Z])[a-z]+"
_DOES = "is|are|was|were|do|does|did|can|could|will|would|should|have|has|shall|am"
_ASKING = re.compile(
    rf"(?:(?:ok|so|and|but|wait|oh|btw) ){{0,2}}(?:(?:what|who|where|when|why|how|which)"
    rf"(?:(?:['’]s|['’]re|['’]d|s) (?!a\b)\w| (?:(?:much|many|long|old|far|often|kind|time|day) )?(?:{_DOES})\b)"
    rf"|(?:{_DOES}) (?:{_ASKED})\b)",
    re.IGNORECASE,
)
_AGREEING = frozenset(["indeed", "truly", "definitely", "certainly", "absolutely"])


def excerpt(memory: BatchMemory, keys: Collection[str]) -> tuple[str, ...]:
    """Return the memory's sentences about the subject with these keys: those that name it and have content.

    In a note, a sentence and the following ones about the same subject are one excerpt (`Petra leads the squad. She is out on
    Mondays.`). If only the metadata names the subject, return the most informative sentence; for the speaker, one in which they
    speak of themselves. Questions and mere answers to another speaker never count.
    """
    every = sentences(memory.text)
    is_said = is_talk(memory.text)
    if speaker_of(memory.text):
        every = tuple(one for one in every if not _is_called(one, keys))
    is_note = not is_said and not any(map(theme_of, keys))
    kinds = {one.kind for one in declared(memory) if plain_key(one.name) in keys}
    if is_note:
        naming = tuple(
            one for one in _with_following(every, keys) if _is_telling(one, keys, least=_least_words(one, keys))
        )
        telling = [one for one in every if _is_telling(one, keys)]
    else:
        telling = [
            one
            for one in every
            if _is_telling(one, keys, LEAST_WORDS - bool(_does(one, keys) if is_said else _MEASURE.search(one)))
            and not (is_said and is_reply(one))
        ]
        naming = tuple(
            one
            for one in telling
            if _names(one, keys) and not _is_in_passing(one, keys, is_said=is_said, is_led=one != every[0])
        )
    if not kinds or kinds == {NameKind.CITY} or (naming and (is_note or NameKind.PERSON not in kinds)):
        return attributed(naming, memory)
    if NameKind.PERSON in kinds:
        telling = [one for one in telling if _is_own(one)]
    best = max(telling, key=lambda one: (len(content_words(one)), -every.index(one)), default=None)
    return (best,) if best is not None else ()


def _does(sentence: str, keys: Collection[str]) -> bool:
    """Return whether an utterance begins with the subject and a verb: `Ana: Rui broke his leg.`"""
    said = plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))
    return any(said.startswith(f"{key} ") and acts(key, said) for key in keys)


def _least_words(sentence: str, keys: Collection[str]) -> int:
    """Return the least words of content of a sentence of a note: more under the name of the subject in lower case (`Ana: lovely`,
    not `Plumber: rings`) or about what was said before (`Ana: That's a relief.`).
    """
    key = plain_key(speaker := speaker_of(sentence))
    said = sentence.removeprefix(f"{speaker}: ")
    if key not in keys or is_ordinary(key):
        return 1
    return LEAST_WORDS if _THAT.match(said) else 1 + said[:1].islower()


def _is_in_passing(sentence: str, keys: Collection[str], *, is_said: bool, is_led: bool) -> bool:
    """Return whether a sentence mentions a theme only in passing.

    In a conversation: it uses another word than the theme's title and has no weight for it. In a note: it is an aside, or it
    begins with a pronoun that refers to the sentence before it.
    """
    if not any(map(theme_of, keys)):
        return False
    if not is_said:
        is_pointing = is_led and not THIRD_PERSON.isdisjoint(plain_key(sentence).split()[:1])
        return is_pointing or is_aside(sentence, keys)
    return not any(is_named(key, sentence) for key in keys) and not weight(sentence, keys, is_talk=True)


def _with_following(every: Sequence[str], keys: Collection[str]) -> Iterator[str]:
    """Yield the sentences that name the subject, each joined with up to two following ones about it."""
    at = taken = 0
    while at < len(every):
        group = [every[at]] if _names(every[at], keys) else []
        if group and at > taken and _needs_previous(every[at], keys):
            group.insert(0, every[at - 1])
        at += 1
        while group and at < len(every) and len(group) <= MOST_FOLLOWING and _goes_on(every[at], keys):
            if sum(map(len, group)) + len(every[at]) > MAX_SENTENCE_CHARS:
                break
            group.append(every[at])
            at += 1
        if group:
            taken = at
            yield " ".join(group)


def _needs_previous(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a sentence needs the one before it to be understood: it begins with a pronoun, or has little content."""
    words = plain_key(sentence).split()
    return words[0] in THIRD_PERSON or not _is_telling(sentence, keys, least=2)


def naming(text: str, keys: Collection[str]) -> str:
    """Return the first sentence of an excerpt that names the subject; the whole excerpt if none does."""
    return next((one for one in sentences(text) if _names(one, keys)), text)


def _goes_on(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a sentence after one about the subject is still about it.

    True if it begins with a pronoun. Else false if it names the subject itself (it is then an excerpt of its own), is in the
    first person, begins with another name or a label, or is a question.
    """
    words = plain_key(sentence).split()
    if _is_question(sentence) or _names(sentence, keys) or not words or _BULLET.match(sentence):
        return False
    if words[0] in THIRD_PERSON:
        return not _OF_NOTHING.match(" ".join(words))
    if speaks_of_self(words[:2]) or speaker_of(sentence) or kin_in(sentence)[:1]:
        return False
    opens = next(iter(runs(sentence)), None)
    name = plain_key(opens.name) if opens is not None else ""
    if not name or not plain_key(POSSESSIVE.sub("", sentence)).startswith(f"{name} "):
        return True
    words = name.split()
    is_full_name = len(words) > 1 and NO_NAMES.isdisjoint(words) and COMMON_WORDS.isdisjoint(words)
    return any(map(is_german_noun, words)) or not (is_full_name or acts(name, sentence))


def attributed(quoted: tuple[str, ...], memory: BatchMemory) -> tuple[str, ...]:
    """Return the sentences, each prefixed with the speaker that the memory names: what a speaker thinks is no fact."""
    speaker = speaker_of(memory.text)
    return tuple(f"{speaker}: {one}" if speaker and not speaker_of(one) else one for one in quoted)


def _is_called(sentence: str, keys: Collection[str]) -> bool:
    """Return whether an utterance has the subject's name only as a form of address at its end: `He is late, Ana.`, and not `to
    Austin, Texas.` or `I met our baker, Ana.`
    """
    named = [key for key in keys if is_named(key, sentence)]
    before = sentence.split()[:-1][-_APPOSED_WORDS:]
    is_vocative = (
        len(before) == _APPOSED_WORDS and before[-1][:1].islower() and _OWNERS.isdisjoint(map(plain_key, before))
    )
    return bool(named) and is_vocative and greeted(sentence).issuperset(named)


def _names(sentence: str, keys: Collection[str]) -> bool:
    apart = told_apart(sentence)
    return any(
        (is_named(key, sentence) and key not in apart) or (theme_of(key) and theme_of(key) in themes_in(sentence))
        for key in keys
    )


def founds(sentence: str, keys: Set[str]) -> bool:
    """Return whether the sentence is about the subject, and does not only list it as an example among three names or more.

    A sentence in the first person or with `with` is about all its names. A long sentence with four names or more is about the
    first only.
    """
    sentence = sentence.removeprefix(f"{speaker_of(sentence)}: ")
    marked = plain_key(sentence)
    names = list(dict.fromkeys(key for key in (plain_key(one.name) for one in runs(sentence)) if key))
    if keys.isdisjoint(names) or len(names) < LEAST_EXAMPLES:
        return True
    if len(sentence) > LONG_CHARS and len(names) > LEAST_EXAMPLES and names[0] not in keys:
        return False
    words = set(marked.split())
    if "with" in words or speaks_of_self(words):
        return True
    for name in sorted(names, key=len, reverse=True):
        sign = _OWN if name in keys else _OTHER
        marked = f" {marked} ".replace(f" {name} ", f" {sign} ").strip()
    return not any(_OWN in row for row in _ROW.findall(marked))


def line(sentence: str, memory: BatchMemory) -> str:
    """Return a memory's sentence as a line of a section, prefixed with its day if the sentence is relative to it.

    A list marker before the sentence is left out.
    """
    sentence = bare(sentence)
    day = _day(memory) if tells_day(sentence) else ""
    return past.inert(f"- {day}{escape(sentence)}")


def dated(sentence: str, memory: BatchMemory) -> str:
    """Return a sentence with the day of its memory before it, unless it begins with a date of its own."""
    return sentence if _OPENING_DATE.match(sentence) else f"{_day(memory)}{sentence}"


def _day(memory: BatchMemory) -> str:
    return f"{memory.occurred_at:%Y-%m-%d}: "


def tells_day(sentence: str) -> bool:
    """Return whether a sentence is relative to its day: it has a word such as `yesterday`, or one for a change."""
    return bool(_RELATIVE.search(plain_key(sentence)))


def bare(sentence: str) -> str:
    """Return a sentence without a list marker before it."""
    return _BULLET.sub("", sentence)


def _is_own(sentence: str) -> bool:
    """Return whether the speaker speaks of themselves: in the first person, or at least not in the second."""
    words = set(plain_key(sentence).split())
    if speaks_of_self(words):
        return True
    return not speaks_to_other(words) and (
        not sentence.isascii() or len(content_words(sentence)) >= LEAST_UNOWNED_WORDS
    )


def is_reply(sentence: str) -> bool:
    """Return whether a sentence of a conversation is a mere answer to the other speaker."""
    text = plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))
    words = text.split()
    while words and words[0] in INTERJECTIONS - FIRST_PERSON:
        words.pop(0)
    text = " ".join(words)
    is_own, is_addressed = not FIRST_PERSON.isdisjoint(words), speaks_to_other(words)
    if is_addressed and (not is_own or _ECHO.match(text)):
        return True
    answers = _SEEMING.match(text) or _ADVISING.match(text) or _PRAISING.match(text)
    return not is_own and bool(answers or not _AGREEING.isdisjoint(words))


def asks(said: str) -> bool:
    """Return whether an utterance asks without a question mark: `who's driving`."""
    return said.rstrip()[-1:].isalnum() and bool(_ASKING.match(said))


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)*_ ").endswith(("?", "？"))


def _is_telling(sentence: str, keys: Collection[str], least: int = LEAST_WORDS) -> bool:
    speaker = speaker_of(sentence)
    if _is_question(sentence) or _ASIDE.fullmatch(sentence):
        return False
    words = content_words(sentence)
    said, speaker = sentence.removeprefix(f"{speaker}: "), plain_key(speaker)
    if speaker in keys and asks(said):
        return False
    # A label that is a common word says something: `Landlord: Mr Petersen`.
    speaker = "" if least < LEAST_WORDS and is_ordinary(speaker) else speaker
    own = {word for key in (*keys, speaker) if not is_owned(key) for word in key.split()}
    words -= own
    told = {word for word in words - INTERJECTIONS if _LENGTHENED.sub(r"\1", word) not in INTERJECTIONS}
    return len(told) >= least or (not sentence.isascii() and len(max(words, key=len, default="")) >= _LONG_UNSPACED)
