"""How far a sentence says who or what its subject is, in several languages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from compiler.plan.names.naming import holds
from compiler.plan.names.spotting import runs, speaker_of
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import ADDRESSES, NAMING, NO_NAMES, PREDICATES, TITLES
from store.text.words import STOP_WORDS

_IS = "is|are|was|were|es|era|foi|ist|war|est|etait|means|stands for"
_WHO_IS = (
    "is|ist|es|est|was|war|heisst|hiess|sera|wird|(?:is|was|are) (?:called|named)|wurde|se llama(?:ba)?|se chama(?:va)?|chama se"
    "|sappelle|si chiama"
)
_TITLES = (
    "the|o|a|el|la|der|die|dr|dra|prof|mr|mrs|ms|herr|frau|senora?|doctora?|doutora?|dona?|seu|now|jetzt|ahora|agora"
)
_LEADS = "runs|leads|owns|manages|heads|leitet|fuhrt|dirige|coordina|coordena|lidera|gerencia"
COPULA = re.compile(r"\s[éè]\s")  # without its accent it is the Portuguese `and`
_AN = (
    "a|an|the|my|our|his|her|their|one|un|una|el|la|los|las|um|uma|o|os|as|ein|eine|der|die|das|une|le|mi|meu|minha|mein|meine"
    "|mon|ma|unser|unsere|sein|seine|ihr|ihre|nuestr[oa]|noss[oa]|su|seu|sua"
)
# What follows an article without saying what somebody or something is: `Nimbus is the reason`, `Tim is a bit late`.
_NO_KIND = (
    "reason|best|only|one|ones|same|worst|bit|lot|little|problem|answer|question|mess|mejor|peor|unic[oa]|mism[oa]|problema"
    "|beste[nr]?|einzige[nr]?|letzte[nr]?|grund|melhor|pior|mesm[oa]|meilleure?|seule?"
)
_MY = (
    "my|our|his|her|their|mi|mis|su|sus|nuestr[oa]s?|meu|minha|seu|sua|noss[oa]|mein|meine[mnr]?|unser|unsere[mnr]?|sein|seine[mnr]?"
    "|ihr|ihre[mnr]?|mon|ma|notre|son|sa|mio|mia"
)
# Between such a word and a name these tell nothing of who it is: `my old Berlin photos`.
_NO_OFFICES = """
old new first next last whole own favourite favorite dear poor usual best other nuevo nueva nuevos viejo primer primera neue
neuen neuer alte alten erste ersten ganze novo nova velho velha nouveau nouvelle and y und e et
"""
_NOW = (
    "now|also|currently|no longer|not|jetzt|nun|nicht mehr|auch|kein|keine|ahora|ya no|agora|ja nao|nao|tambien|tambem"
)
# Verbs that end what an earlier definition says of their subject.
_ENDED = re.compile(
    r"\b(?:(?:left|leaves)(?! (?:for \S+ for|an?|my|his|her|their|me|us|it|early|late|at)\b)|quit|resigned|retires|retired|died"
    r"|passed away|stepped down|is gone|is off"
    r"|no longer (?:works? (?:at|for|here|with)|with|in use|used|exists?|available|supported|here)"
    r"|(?:was|is|got|has been|will be) (?:\w+ )?(?:replaced|sold|closed|archived|deprecated|shut down|cancell?ed|discontinued)"
    r"(?! (?:on|until|for|from)\b)"
    r"|verl(?:asst|ie(?:ss|ß))|gekundigt|in rente|gestorben|verstorben|verkauft|arbeitet nicht mehr|abgeschaltet|abgelost"
    r"|geschlossen(?! (?:bis|am|an))"
    r"|se jubil[ao]|dejo|deja|ya no (?:trabaja|existe|esta con)|murio|fallecio|se vendio|cerro|se cerro"
    r"|saiu|deixou|aposentou|se aposenta|(?:ja )?nao (?:\S+ ){0,4}trabalha|nao .{1,40} mais|morreu|faleceu|foi vendid[oa]"
    r"|fechou)\b"
)
_COMING = re.compile(r"\b(?:will|wird|werden|sera|vai|va a|going to|should|soll)\b")
_LABEL_WORDS = 4
_LABELLED = "\x01"
_NAME_WORDS = 3
_TITLE = re.compile(rf"\b(?:{'|'.join(sorted(TITLES))})\.\s", re.IGNORECASE)
_NAME_ALONE = re.compile(r"[,.(;!?](?:\s|$)")
_CONTACT = re.compile(
    r" (?=\d|(?:on|at|in|in der|im|bei|en|na|no)\b|(?:tel|phone|telefon|mobil|handy|e-?mail)\b)", re.IGNORECASE
)
KIND = 6
"""What a sentence counts that says what its subject is."""
_STOPS = ("\x02", "\x03")
_MARK = re.compile(r"[,();:!?]|\.(?=\s*$)")
_APPOSED = (
    rf"(?:who is |who s |que es )?(?:{_AN}|{_MY}|einem|einer|einen)(?: (?!(?:and|und|y|e|et|{_NO_KIND})\b)[^\x02\x03\s]+){{1,5}}"
    r"(?: [\x02\x03]|$)"
)
_NO_OFFICE = frozenset(_NO_OFFICES.split()) | STOP_WORDS
_LATER = re.compile(r";\s+|,?\s+(?:and|but|while|und|aber|y|pero|e|mas|et|mais)\s+")
_WORKS = (
    r"(?:works|worked|arbeitet|trabaja|trabalha|travaille|lavora)(?: \S+){0,4}"
    r" (?:at|as|for|in|bei|als|am|im|fur|en|como|de|na|no|em|chez|comme|da|come)\b"
)
_PRESENCE = "here|there|away|back|late|out|off|da|dort|hier|weg|aqui|alli|fora"
# Patterns over words in which the sign stands for the subject's name.
_NAME = "\x04"
_IS_BESIDE = re.compile(rf"(?:^|\s){_NAME} \x02 {_APPOSED}")
_IS_BETWEEN = re.compile(rf"(?:{_AN}|{_MY})(?: [^\x02\x03\s]+){{1,4}} \x02 (?:(?:{_TITLES}) )*{_NAME} [\x02\x03]")
_MINE = re.compile(rf"\b(?:{_MY}) (?:[^\x02\x03\s]+ )?([^\x02\x03\s]+) (?:(?:{_TITLES}) )*{_NAME}")
_MINE_OR_THE = re.compile(rf"\b(?:{_MY}|{_AN}) (?:[^\x02\x03\s]+ )?([^\x02\x03\s]+) (?:(?:{_TITLES}) )*{_NAME}")
_LABELS = re.compile(rf"{_LABELLED} (?:\S+ ){{0,2}}{_NAME}(?: \S+)?")
_HAS_STATE = re.compile(rf"(?:\S+ ){{0,1}}{_NAME} (?:{_IS}) (?!(?:{_PRESENCE})\b)")
_IS_FROM = re.compile(rf"{_NAME} (?:from|of|vom|von der|von den|del|de la|da|do|du) ")
_HAS_ROLE = re.compile(rf"(?:\S+ )?{_NAME} (?:(?:{_LEADS})\b(?! on\b)|{_WORKS})")
_BEFORE = re.compile(rf"(?:^|\s)(\S+) (\S+) {_NAME}")
_OPENS = re.compile(rf"(?:(?:{_AN}) (?:\S+ )?)?{_NAME}")
_BEGINS = re.compile(rf"(?:\S+ ){{0,1}}{_NAME}")
_IS_KIND = re.compile(rf"(?:\S+ ){{0,3}}{_NAME} (?:{_IS}) (?:(?:{_NOW}) )*(?:{_AN})\b(?! (?:{_NO_KIND})\b)")
_KIND_IS = re.compile(rf"(?:\S+ ){{1,5}}(?:{_WHO_IS}) (?:(?:{_TITLES}) )*{_NAME}")
_STATE = re.compile(rf"{_NAME} (?:{_IS}) ")
_OWNER = re.compile(r"\b[^\W\d_][\w-]*['’]s?\s+(?=[^\W\d_])")
_CLAUSE = re.compile(r"(;\s+|:\s+|\s[-–—]\s)")


def definition(sentence: str, keys: Collection[str]) -> int:
    """Return how far a sentence, or a clause of it, says what the subject is: 6 if it does, 3 if it begins with the subject."""
    told = sentence.removeprefix(f"{speaker_of(sentence)}: ")
    said = _without_longer(plain_key(told), sentence, keys)
    clauses = [said, *map(plain_key, _owned(sentence)), *_clauses(sentence)]
    found = max((_defined(clause, key) for clause in clauses for key in keys), default=0)
    marked = " ".join(word if word in _STOPS else plain_key(word) for word in _MARK.sub(_marked, told).split())
    return max(found, *(_beside(marked, key) for key in keys)) if found < KIND else found


def _marked(stop: re.Match[str]) -> str:
    """Return the sign for a stop: one for a comma or an opening bracket, behind which may stand what a name is, else another."""
    return f" {_STOPS[0 if stop[0] in ',(' else 1]} "


def _beside(said: str, key: str) -> int:
    """Return how far the words beside a name say what it is, 0 to 6: `Jon, an architect`, `our baker, Jon, came`, `my boss Jon`.

    `said` has a sign for each stop.
    """
    said = _signed(said, key)
    if _NAME not in said:
        return 0
    if _IS_BESIDE.search(said) or _IS_BETWEEN.match(said):
        return KIND
    before = (_MINE_OR_THE if key.partition(" ")[0] in ADDRESSES else _MINE).search(said)
    return 5 if before and before[1] not in _NO_OFFICE else 0


def _signed(said: str, key: str) -> str:
    """Return the words with a sign for the name with this plain key."""
    return f" {said} ".replace(f" {key} ", f" {_NAME} ")[1:-1]


def clause(said: str, keys: Collection[str]) -> str:
    """Return the clause of a sentence that is about the subject, if the sentence begins with another: all of it otherwise.

    `Adyen takes cards; Stripe is only used in Brazil.` says of Stripe that it is only used in Brazil.
    """
    if speaker_of(said) or any(_begins_with(said, key) for key in keys):
        return said
    parts = _LATER.split(said)
    found = (one for one in parts[1:] if any(_STATE.match(_signed(plain_key(one), key)) for key in keys))
    first = next(found, "")
    return f"{first.rstrip(' .;')}." if first and first[0].isupper() else said


def _begins_with(said: str, key: str) -> bool:
    return plain_key(said).startswith(f"{key} ")


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
            names = _CONTACT.split(told, maxsplit=1)[0].split()
            yield f"{_LABELLED} {plain_key(' '.join(names))}" if all(one[0].isupper() for one in names) else ""


def _without_longer(said: str, sentence: str, keys: Collection[str]) -> str:
    """Return the words without longer names of other things that hold the subject's: `Acropolis Museum`, of the Acropolis."""
    for name in (plain_key(one.name) for one in runs(sentence)):
        if name not in keys and any(holds(key, name) for key in keys):
            said = said.replace(name, " . ")
    return said


def _defined(said: str, key: str) -> int:
    said = _signed(said, key)
    if _NAME not in said:
        return 0
    if said.startswith(f"{_LABELLED} "):
        return KIND if _LABELS.fullmatch(said) else 0
    if _says_what(said):
        return KIND
    if _HAS_STATE.match(said) or _IS_FROM.match(said):
        return 4
    if _HAS_ROLE.match(said):
        return 5
    before = _BEFORE.search(said)
    if before and (before[2] in NAMING or (before[1] in NAMING and len(before[2]) > 2)):
        return 5
    return 3 if _OPENS.match(said) else 1


def _says_what(said: str) -> bool:
    """Return whether the words say what the name is, who it is that is something, or that it is no more what it was."""
    is_ended = _BEGINS.match(said) and _ENDED.search(said) and not _COMING.search(said)
    return bool(is_ended or _IS_KIND.match(said) or _KIND_IS.match(said))
