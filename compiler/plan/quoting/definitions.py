"""Scores how well a sentence defines its subject, in several languages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from compiler.plan.lexicon import definition_words
from compiler.plan.names.naming import holds
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import runs
from compiler.plan.quoting.role_changes import has_become, is_ended
from compiler.plan.quoting.signs import ANY, COMMA, LABELLED, NAME, STOP
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import is_verb
from compiler.plan.text.words import ADDRESSES, HONOURED, NAMING, NO_NAMES, PREDICATES, TITLES
from store.text.words import STOP_WORDS

KIND = 6
"""The score of a sentence that defines its subject."""

_IS, _TITLES, _AN, _MY = ANY["is"], ANY["before a name"], ANY["article"], ANY["possessive"]
_NO_OFFICE = frozenset(ANY["no office"].split("|")) | STOP_WORDS
_ROLES = definition_words.ROLES
_LABEL_WORDS = 4
_LONG_LABEL_WORDS = 7
_NEW = re.compile(r"new|neue[rs]?|nuev[oa]|nov[oa]|nouveau|nouvelle")
_NAME_WORDS = 3

_WORD = rf"[^{COMMA}{STOP}\s]+"
_KIND = rf"(?!(?:{ANY['and']}|{ANY['no kind']})\b){_WORD}"
_APPOSED = (
    rf"(?:(?:who is |who s |que es )?(?:{_AN}|{_MY}|{ANY['article in a case']})(?! (?:{ANY['for']})\b)(?: {_KIND}){{1,5}}"
    rf"(?: (?:that|who|which|que|qui)(?: {_WORD})+)?"
    rf"|que (?:es|era|est|foi) (?!(?:{ANY['how much']})\b){_KIND}(?: (?:de|da|do|del|en|em|no|na) {_WORD})?)"
    rf"(?: [{COMMA}{STOP}]|$)"
)
_STOP_SIGNS = frozenset([COMMA, STOP])
_RELATIVES = frozenset(["that", "who", "which", "que", "qui"])
_CALLED = rf"(?:(?:{_TITLES}) )*{NAME}"
_HONOURED = re.compile(rf"{NAME} (?:{HONOURED})\b")

# `His name is Jon`, `she is called Jon`: who he is stands in another sentence.
_HIS_NAME = rf"(?:{ANY['pronoun']}) (?:name |nombre |nome |nom )?(?:{ANY['is called']}) "
# `Omar's boat called Jon`, `the fifth called Jon`: something else has the name.
_BAPTISING = frozenset(["called", "named"])
# `Jon, an architect`; `our baker, Jon, came`; `my old boss Jon`; `the boss Dona Ana`.
_IS_BESIDE = re.compile(rf"(?:^|\s){NAME} {COMMA} {_APPOSED}")
_IS_BETWEEN = re.compile(
    rf"^(?:{_AN}|{_MY})(?: {_WORD}){{1,5}} {COMMA} (?:{_WORD} (?:{ANY['and']}) )?(?:old |young |little )?{_CALLED}"
    rf"(?: (?:{ANY['and']}) {_WORD})?"
    rf" [{COMMA}{STOP}]"
    rf"|\b(?:{ANY['has']}) (?:{ANY['one']})(?: {_WORD}){{1,4}} {COMMA} {_CALLED} {COMMA}"
    rf"|\b(?:{_MY}) (?:{_WORD} )?(?:{'|'.join(sorted(NAMING - _BAPTISING))}) {COMMA} {_CALLED} [{COMMA}{STOP}]"
)
# `She met a widow, Jon.`, `says the landlady, Mrs Jon`; in a conversation Jon may be spoken to.
_IS_AT_END = re.compile(
    rf"\b(?:{ANY['one']})(?: (?!(?:{ANY['and']}|{ANY['for']})\b){_WORD}){{1,4}} {COMMA} {_CALLED}(?: {STOP})?$"
    rf"|\b(?:{_AN})(?: {_WORD}){{1,2}} {COMMA} (?:{_TITLES}) {NAME}(?: {STOP})?$"
)
_MINE = re.compile(rf"\b(?:{_MY}) (?:{_WORD} )??({_WORD}) {_CALLED}")
_MINE_OR_THE = re.compile(rf"\b(?:{_MY}|{_AN}) (?:{_WORD} )??({_WORD}) {_CALLED}")
# `Kick-off: their lead is Jon`, `he has a son who is called Jon`, `she bought a boat and named it Jon`; `married to Jon`.
_HAS_CALLED = re.compile(
    rf"(?:^|[{COMMA}{STOP}] |\b(?:{ANY['and']}) )(?:{_MY}|the)"
    rf"(?: (?!(?:{ANY['no kind']}|{ANY['aim']})\b(?! friend| man\b)){_WORD}){{1,4}}"
    rf" (?:{ANY['is called']}) {_CALLED}"
    rf"|\b(?:{ANY['one']})(?: (?!(?:{ANY['and']})\b){_WORD}){{1,6}}?"
    rf" (?:{ANY['bears']}|called|named|namens|(?:ll|ch)amad[ao]) (?:{_WORD} (?:{ANY['and']}) )?{_CALLED}"
    rf"|\b(?:{ANY['married to']}) {_CALLED}"
    rf"|{NAME} (?:{_IS}) (?:{ANY['married to']})\b|\b\w+ in law {NAME}"
    rf"|(?:^|[{COMMA}{STOP}] )(?:new|neuer?|nuev[oa]|nov[oa])(?: {_WORD}){{1,3}} (?:{ANY['is called']}) {_CALLED}"
    rf"|\b(?:{_AN}|{_MY})(?: (?!(?:{ANY['for']}|{ANY['in']}|{ANY['and']}|at|to|on|of)\b){_WORD}){{1,3}}"
    rf" (?:{ANY['title']}) {NAME}"
    rf"|\b(?:{ANY['one']})(?: {_WORD}){{1,4}} {COMMA} (?:{_HIS_NAME}|(?:he|she|it)s (?:called|named) |(?:{ANY['bears']}) )"
    rf"{_CALLED}"
    rf"|\b(?:{ANY['one']}|another|{_MY})(?: {_WORD}){{1,5}} (?:{COMMA} )?(?:{ANY['whom all call']}) {NAME}"
    rf"|^{_WORD} (?!(?:after|ever|never|other|over|under)\b)\w{{2,}}(?:er|or|ist|ian) (?:dr|mr|mrs|ms) {NAME}"
)
# `Jon is an architect`; `the architect is called Jon`; `New architect: Jon`.
# `New buyer at Jon is an architect` tells of the buyer.
_NO_SUBJECT = "".join(rf"(?<!\b{word} )" for word in f"at|in|{ANY['for']}|bei|en|em|na|no|chez".split("|"))
_NAME_OF = r"(?:name|nombre|nome|nom) (?:of|for|von|vom|des|der|fur|de|del|da|do|du)\b"
_IS_KIND = re.compile(
    rf"(?:(?!(?:{ANY['supposing']})\b)\S+ ){{0,3}}{_NO_SUBJECT}{NAME} (?:{_IS}) "
    rf"(?:(?:{ANY['now or not']}) )*(?:{_AN})\b(?! (?!{_NAME_OF})(?:{ANY['no kind']})\b)"
)
_IS_HIS_NAME = re.compile(rf"{_HIS_NAME}{_CALLED}(?!\S)")
_NOW = "(?: (?:now|jetzt|nun|ahora|agora|maintenant|officially|offiziell))*"
_KIND_IS = re.compile(
    rf"(?!{_HIS_NAME})(?:(?!(?:it|this|that|these|those|{ANY['aim']})\b)\S+ ){{1,5}}(?:{ANY['is called']}){_NOW}"
    rf" (?:(?:{_AN}) (?:(?!(?:{ANY['works at']}|{ANY['from']}|{ANY['in']}|to|with|on)\b){_WORD} ){{1,2}})?{_CALLED}"
    rf"(?! \w+ing\b)"
    rf"|(?!{_HIS_NAME})(?:{_AN}|{_MY}) (?:\S+ ){{1,8}}(?:{ANY['bears']}) {_CALLED}"
)
_LABELS = re.compile(rf"{LABELLED} (?:\S+ ){{0,2}}{NAME}(?: \S+)?")
# `Jon Baker, born Weiss, is her oldest friend`.
_IS_AFTER_ASIDE = re.compile(
    rf"{NAME} {COMMA} (?:{_WORD} ){{1,6}}{COMMA} (?:{_IS}) (?:{_AN}|{_MY}) (?!(?:{ANY['no kind']})\b)"
)
# `Jon runs the lab`; `Jon is 40 and works at the lab`; `colleague Jon`.
_AGED = rf"(?:(?:{_IS}) \d+ (?:\w+ ){{0,3}}?(?:{ANY['and']}) |\d+ )?"
_WORKS = rf"(?:{ANY['works']})(?: \S+){{0,4}} (?:{ANY['works at']})\b"
# `Jon runs ten miles before work` tells of no role.
_NO_LEADING = (
    r"on|it|them|this|that|\d+|half|two|three|four|five|six|seven|eight|nine|ten|every|each|most|several|before|after|for|in|at|by|to|from|off"
    r"|out|away|late|with|along|around|marathons?|miles|laps|daily"
)
# `Jon runs the trial` is about one that another sentence tells.
_EVENT = r"(?:\w+ )?(?:trial|test|tests|pilot|meeting|migration|rollout|retro|session|call|interviews?|kickoff)"
# `Jon joined the sales team`, `Jon joined us as a cook`
_TEAM = r"(?:the|our|my|his|her|their) (?:\S+ ){0,3}(?:team|staff|board|department|committee)"
_JOINED = rf"(?:joins|joined) (?:{_TEAM}|(?:\S+ ){{0,2}}as)\b"
_HAS_ROLE = re.compile(
    rf"(?:\S+ )?{NAME} {_AGED}(?:(?:{ANY['leads']})\b(?! (?:{_NO_LEADING})\b)(?! the {_EVENT}\W*$)|{_WORKS}|{_JOINED})"
)
_BEFORE = re.compile(rf"(?:^|\s)(\S+) (\S+) {NAME}")
# `Jon is tired`, and not `Jon is here`; `Jon from the lab`.
# `The teacher Jon likes is kind`
_LIKED = re.compile(r" \w+s(?: (?:with|at|to|for|about|in|from))? (?:is|was|has|had|will|can|says|said|came|left)\b")
_HAS_STATE = re.compile(
    rf"(?:\S+ ){{0,1}}{NAME} (?:(?:{ANY['in']}|at|{ANY['from']}) (?:\S+ ){{1,3}})?(?:{_IS}) (?!(?:{ANY['here']})\b)"
)
# `Ana lives alone in Jon`, `in the old part of Jon`; not `our living room in Jon`, `the cost of living in Jon`.
_NO_LIVING = "".join(rf"(?<!\b{word} )" for word in ("of", "our", "the", "my", "her", "his", "their", "a", "many"))
_PART = (
    r"(?: the (?:\w+ ){0,3}(?:part|side|centre|center|middle|outskirts|suburbs|area|end|edge|quarter|district) of"
    r"| (?:(?:el|la|las|o|a|le) )?(?:centro|afueras|zona|parte|norte|sur|sul|centre|banlieue) (?:\w+ )?de)?"
)
_LIVES_IN = rf"(?:{ANY['lives']})(?: (?!(?:{ANY['next clause']}|who|which)\b)\w+){{0,9}} (?:{ANY['in']}){_PART}"
_IS_HOME = re.compile(rf"\b{_NO_LIVING}(?:{_LIVES_IN}|{ANY['moves to']}) {NAME}")
_IS_LIVED_IN = re.compile(rf"\b{_NO_LIVING}{_LIVES_IN} {NAME}")
_NOBODY = re.compile(
    r"\b(?:(?:nobody|niemand|nadie|ninguem|personne ne)(?: \w+){0,2}|never|no longer|not|dont|doesnt|didnt|nunca|jamais|ya no) $"
)
_NOT_IN_IT = re.compile(r"\b(?:nicht|kein\w*|no longer|pas)\b")
_IS_FROM = re.compile(rf"(?:(?:yes|yeah|no|oh|ah|well|ok|ja|nein|si|sim|nao|oui) )?{NAME} (?:{ANY['from']}) ")
# `Her name is Jon and she teaches`
_DOES = "|".join((ANY["works"], ANY["leads"], ANY["lives"], _IS))
_HIS_NAME_AND = re.compile(rf"{_HIS_NAME}{_CALLED} (?:(?:{ANY['and']}) )?(?:(?:{ANY['pronoun']}) \w|(?:{_DOES})\b)")
# `There is no town called Jon`.
_DENIED = re.compile(r"\b(?:no|not|nothing|isnt|kein\w*|nicht|ningun\w*|nenhum\w*|aucune?)\b")
# `I think it was: Jon` answers a question that is not in the text.
_ANSWERED = frozenset(["it", "this", "that", "these", "those"])
# `Power cut today: Jon, unreachable` says when, and not who Jon is.
_WHEN = frozenset(
    ["today", "tonight", "tomorrow", "yesterday", "now", "heute", "morgen", "gestern", "hoy", "ayer", "hoje", "ontem"]
)
# Who rings somebody up: `she called Jon`.
_CALLERS = frozenset(["i", "we", "you", "he", "she", "they", "who", "and", "user", "just", "then"])
# `A small cat we called Jon`.
_NAMED_BY = re.compile(
    rf"\b(?:(?:an?|the|two|three|my|our|his|her|their) (?:(?!(?:and|but)\b)\w+ ){{1,5}}|(?:{'|'.join(sorted(NAMING))}) )$"
)
_ORDINALS = re.compile(r"\b(?:second|third|fourth|fifth|sixth|last|other) $")
_NAMESAKE = re.compile(
    rf"['’]s (?:\w+ )?(?!(?:is|was|{'|'.join(NAMING)})\b)[a-z]+ (?:called|named) ([^\W\d_a-z][\w-]+)"
)
_NAMED_IT = re.compile(rf"\b(?:named|christened|called) (?:it|him) {NAME}")
_OPENS = re.compile(rf"(?:(?:{_AN}) (?:\S+ )?)?{NAME}")
_STATE = re.compile(rf"{NAME} (?:{_IS}) ")
_WAS = re.compile(rf"{NAME} (?:was|were|war|era|foi|fue|etait) (?:{_AN})\b")  # it may be so no longer
_SEVERAL = re.compile(rf"{NAME} (?:are|were) ")
_BEFORE_NOUN = re.compile(rf"{NAME} ((?:[a-z]{{3,}} ){{0,2}}[a-z]{{3,}}) (?:is|was|has|will|{ANY['title']})\b")
_NO_NOUN = re.compile(r"\w+(?:ly|[^s]s|ed)")

_MARK = re.compile(r"[,();:!?]|\.(?=\s*$)")
_BRACKET = re.compile(
    r"([^(),;:]+) \((?:(?!(?:see|if|not|no|n[aã]o|nicht|pas|and|or|but|with|on|in|at|from|until|since)\b)"
    r"[^\W\d_A-Z][^()\d.;:!?]{2,40}"
    r"|(?:C[A-Z]O|VP|PM|HR|QA|GP|DBA|SRE)\b[^()\d.;:!?]{0,40})\)"
)
# `Two sons, Ana (7) and Jon`
_LISTED = re.compile(r"[^\W\d_a-zß-ÿ][\w'’-]*(?: [^\W\d_a-zß-ÿ][\w'’-]*)*")
_NUMBERS = "two|three|four|five|dos|tres|cuatro|dois|duas|três|quatro|zwei|drei|vier|deux|trois|quatre"
_COUNTS = frozenset(map(plain_key, _NUMBERS.split("|")))
_COUNTED = re.compile(
    rf"\b(?i:{_NUMBERS}) (?:[^\W\d_][\w-]+ ){{0,3}}"
    rf"[^\W\d_][\w-]+(?:,|:| \(| called| named| namens| llamad[ao]s| chamad[ao]s)? ("
    rf"{_LISTED.pattern}(?:(?: \([^)]*\))?(?:,? (?:and|y|e|und|et) |, ){_LISTED.pattern})+)"
)
# `Jon's dog`, and not `he's at sea`.
_OWNER = re.compile(
    r"\b(?!(?:he|she|it|that|this|there|here|what|who|where|how|when|let|one)['’]s\b)[^\W\d_][\w-]*['’]s?\s+(?=[^\W\d_])",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(;\s+|:\s+|\s[-–—]\s)")
_LATER = re.compile(rf";\s+|,?\s+(?:{ANY['next clause']})\s+")
_TITLE = re.compile(rf"\b(?:{'|'.join(sorted(TITLES))})\.\s", re.IGNORECASE)
_NAME_ALONE = re.compile(r"[,.(;!?](?:\s|$)")
_CONTACT = re.compile(
    r" (?=\d|(?:on|at|in|in der|im|bei|en|na|no)\b|(?:tel|phone|telefon|mobil|handy|e-?mail)\b)", re.IGNORECASE
)


def definition(sentence: str, keys: Collection[str]) -> int:
    """Return how well a sentence or its best clause defines the subject, 0 to 6: 6 for a definition, 3 if it begins with it."""
    text = sentence.removeprefix(f"{speaker_of(sentence)}: ")
    found = max((_defined(clause, key) for clause in _every_clause(sentence, keys) for key in keys), default=0)
    if found < KIND:
        marked = [_with_signs(one) for one in (text, *_owned(text))]
        found = max(found, *(_beside(one, key) for one in marked for key in keys))
        is_ended = text == sentence and any(_IS_AT_END.search(_signed(one, key)) for one in marked for key in keys)
        found = max(found, 5 * is_ended)
    if any(plain_key(one[1]) in keys for one in _NAMESAKE.finditer(text)):
        return min(found, 1)
    return max(found, 5) if _has_bracket(text, keys) or _is_counted(text, keys) else found


def is_home(sentence: str, keys: Collection[str], *, is_living: bool = False) -> bool:
    """Return whether a sentence says that somebody lives in the subject, comes from it or moved there, and does not deny it; if
    `is_living`, only that somebody lives there.
    """
    said = (_signed(clause, key) for clause in _every_clause(sentence, keys) for key in keys)
    homes = ((one, match) for one in said if (match := (_IS_LIVED_IN if is_living else _IS_HOME).search(one)))
    return any(not (_NOBODY.search(one[: match.start()]) or _NOT_IN_IT.search(match[0])) for one, match in homes)


def introduces(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a sentence gives the subject's name to what the one before it tells of: `It is called Jon.`"""
    text = plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))
    return any(_IS_HIS_NAME.match(_signed(text, key)) for key in keys)


def _every_clause(sentence: str, keys: Collection[str]) -> list[str]:
    text = sentence.removeprefix(f"{speaker_of(sentence)}: ")
    clauses = (plain_key(text), *map(plain_key, _owned(text)), *_clauses(sentence))
    return [without_longer(one, sentence, keys) for one in clauses]


def _has_bracket(text: str, keys: Collection[str]) -> bool:
    """Return whether a few words in brackets after the subject's name say who or what it is: `Ana Sousa (lead, Toronto)`."""
    return any(f" {plain_key(one[1])}".endswith(f" {key}") for one in _BRACKET.finditer(text) for key in keys)


def _is_counted(text: str, keys: Collection[str]) -> bool:
    """Return whether the name is in a list of those that a number counts: `two sons, Ana and Jon (4)`."""
    if _COUNTS.isdisjoint(plain_key(text).split()):
        return False
    lists = (one[1] for one in _COUNTED.finditer(text))
    return any(plain_key(name) in keys for every in lists for name in _LISTED.findall(every))


def _with_signs(text: str) -> str:
    """Return the plain words of a text with a sign for each stop."""
    return " ".join(word if word in (COMMA, STOP) else plain_key(word) for word in _MARK.sub(_marked, text).split())


def _marked(stop: re.Match[str]) -> str:
    """Return the sign for a stop: one for a comma or an opening bracket, after which a definition may follow, else another."""
    return f" {COMMA if stop[0] in ',(' else STOP} "


def _beside(text: str, key: str) -> int:
    """Return how well the words beside a name define it, 0, 5 or 6: `Jon, an architect`, `our baker, Jon, came`, `my boss Jon`.

    `text` has a sign for each stop.
    """
    text = _signed(text, key)
    if NAME not in text:
        return 0
    beside = _IS_BESIDE.search(text)
    if (beside and not _is_clause(beside[0])) or _IS_BETWEEN.search(text) or _IS_AFTER_ASIDE.match(text):
        return KIND
    called = _HAS_CALLED.search(text)
    if called and not _DENIED.search(text[: called.end()]):
        return 5
    before = (_MINE_OR_THE if key.partition(" ")[0] in ADDRESSES else _MINE).search(text)
    return 5 if before and before[1] not in _NO_OFFICE else 0


def _is_clause(apposed: str) -> bool:
    """Return whether the words after a name and a comma are a clause: `Jon, a doctor came`, and not `Jon, a doctor who came`."""
    words = [word for word in apposed.split() if word not in _STOP_SIGNS]
    return is_verb(words[-1]) and _RELATIVES.isdisjoint(words)


def _signed(text: str, key: str) -> str:
    """Return the words with a sign for the name with this plain key, also before a Japanese form of address (`Jon-san`)."""
    return _HONOURED.sub(NAME, f" {text} ".replace(f" {key} ", f" {NAME} "))[1:-1]


def clause(sentence: str, keys: Collection[str]) -> str:
    """Return the clause of a sentence that is about the subject, if the sentence begins with another subject; else the sentence.

    `Adyen takes cards; Stripe is only used in Brazil.` says of Stripe that it is only used in Brazil.
    """
    if speaker_of(sentence) or any(_begins_with(sentence, key) for key in keys):
        return sentence
    joints, parts = _LATER.findall(sentence), _LATER.split(sentence)
    stated = (
        (joint, one, _signed(plain_key(one), key)) for joint, one in zip(joints, parts[1:], strict=True) for key in keys
    )
    # `Omar and Ana are a couple` is about both.
    found = (one for joint, one, said in stated if _STATE.match(said) and (";" in joint or not _SEVERAL.match(said)))
    first = next(found, "")
    return f"{first.rstrip(' .;')}." if first and first[0].isupper() else sentence


def _begins_with(text: str, key: str) -> bool:
    return plain_key(text).startswith(f"{key} ")


def _owned(sentence: str) -> tuple[str, ...]:
    """Return the sentence with possessive names replaced by `their`, if it has any: `Petra is Harrier's lead` defines Petra."""
    replaced = _OWNER.sub("their ", sentence)
    return (replaced,) if replaced != sentence else ()


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the later clauses of a sentence, and the text after a label as a definition: `New DBA: Tomasz`.

    After a label that may be a speaker, only a name counts.
    """
    every = _CLAUSE.split(sentence)
    for before, stop, later in zip(every[::2], every[1::2], every[2::2], strict=False):
        if not (stop.startswith(":") and _ANSWERED.intersection(plain_key(before).split())):
            yield plain_key(later)
    if len(every) < 2 or not every[1].startswith(":"):
        return
    label = plain_key(every[0]).split()
    most = _LONG_LABEL_WORDS if label[:1] and _NEW.fullmatch(label[0]) else _LABEL_WORDS
    is_note = label[:1] and len(label) <= most and (len(label) > 1 or label[0] not in NO_NAMES)
    is_note = is_note and label[-1] not in _WHEN
    if is_note and label[-1] not in PREDICATES:
        value = _NAME_ALONE.split(_TITLE.sub("", every[2]), maxsplit=1)[0]
        if not speaker_of(sentence) or len(value.split()) <= _NAME_WORDS:
            names = _CONTACT.split(value, maxsplit=1)[0].split()
            is_name = all(one[0].isupper() for one in names) and names[0] != "RIP"
            yield f"{LABELLED} {plain_key(' '.join(names))}" if is_name else ""


def without_longer(text: str, sentence: str, keys: Collection[str]) -> str:
    """Return the words without longer names of other things that contain the subject's: `Acropolis Museum` for the Acropolis."""
    for name in (plain_key(one.name) for one in runs(sentence)):
        if name not in keys and any(holds(key, name) for key in keys):
            text = text.replace(name, " . ")
    return text


def _defined(text: str, key: str) -> int:
    text = _signed(text, key)
    if NAME not in text:
        return 0
    if text.startswith(f"{LABELLED} "):
        return KIND if _LABELS.fullmatch(text) else 0
    if _is_definition(text):
        return KIND - bool(_WAS.match(text))
    if _HAS_ROLE.match(text) or _IS_FROM.match(text) or _HIS_NAME_AND.match(text):
        return 5
    if _HAS_STATE.match(text):
        return 4
    first, _, rest = text.partition(" ")
    if rest.startswith(NAME) and (first in NAMING - _BAPTISING or first in _ROLES):
        return 5
    before = _BEFORE.search(text)
    if (
        before
        and not _DENIED.search(text[: before.start()])
        and not _LIKED.match(text, before.end())
        and (
            before[2] in NAMING
            or before[2] in _ROLES
            or (before[1] in NAMING and len(before[2]) > 2 and not is_verb(before[2]))
        )
        and not (before[2] == "called" and before[1] in _CALLERS and not _NAMED_BY.search(text[: before.start(1)]))
        and not (before[2] in _BAPTISING and _ORDINALS.search(text[: before.start(2)]))
    ):
        return 5
    is_begun = _OPENS.match(text) and not _is_before_noun(text)
    return 3 if is_begun or _NAMED_IT.search(text) else 1


def _is_before_noun(text: str) -> bool:
    """Return whether the subject's name at the start belongs to a noun that a verb follows: `Helios rep is a man`."""
    found = _BEFORE_NOUN.match(text)
    words = found[1].split() if found else ()
    return bool(words) and not any(is_verb(one) or one in STOP_WORDS or _NO_NOUN.fullmatch(one) for one in words)


def _is_definition(text: str) -> bool:
    """Return whether the words say what the name is, name the bearer of a role, or end an earlier definition."""
    return is_ended(text) or has_become(text) or bool(_IS_KIND.match(text) or _KIND_IS.match(text))
