"""Parses a message: its questions without courtesies, their words, and the speakers and periods it names.

This is done once per turn, before the sources are queried. `rank` compares candidates with the result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from models.embedding.vector_parts import MINILM
from sidecar.turn.message.periods import Period, read_periods
from sidecar.turn.message.wording import weight_besides
from store.text.calendar_words import CALENDAR_WORDS
from store.text.texts import fold, is_unspaced, query_words
from store.text.words import STOP_WORDS

MAX_PARTS: Final = 4

CERTAIN: Final = 35.0
"""The log odds of a certain event."""

_LONG_WORDS = 40
_HEAD_CHARS, _TAIL_CHARS = 8_000, 2_000  # the question usually stands at either end of a pasted document
_LEAST_SPELT, _LEAST_ALIKE = 5, 0.7  # for two spellings of a name: the letters of the shorter, and their similarity
_MOST_BESIDES = 1.5  # the weight of telling words besides the days; a word of eight letters has 1
_UNSOUNDED, _DOUBLED = re.compile("[aeiouyh]"), re.compile(r"(.)\1+")
_LEAST_CHARS = 7  # of a name and its misspelling together: shorter words are one edit away from too many others
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+(?=\s|$|[^\x00-\x7f])|[.!?](?=\S)[^.!?。！？\n]*)*")
_QUESTION = re.compile(r"[?？]\W*$|か[。\s]*$")
_WRAPPING = re.compile(r"^(?:>.*|\s*\[[\d\s:.,/TZ+-]{8,}\])", re.MULTILINE)
_ROLE = re.compile(r"^\s*(?:user|human|usuário|benutzer)(?: message)?:\s*", re.IGNORECASE)
_COURTESY = re.compile(
    r"\s*(?:(?:hi|hello|hey|hallo|olá|oi|hola|bonjour|guten tag|good (?:morning|afternoon|evening))\b(?:\W+\w+){0,2}\W*$"
    r"|i hope (?:you|this)|hope you|(?:many )?thanks|thank you|i (?:would |really )?appreciate|cheers|danke|obrigad|gracias|merci"
    r"|(?:please|bitte|por favor)\W+(?:answer|respond|reply|be|keep|cite|use|give|format|write|do not|don't|antworte|responda)\b"
    r"|if you (?:do not|don't|are not|aren't)\b.*\b(?:know|sure)|(?:do not|don't) (?:make|invent|guess)\b"
    r"|(?:answer|respond|reply) (?:in|with|briefly|concisely|only)\b|you are (?:a|an) )",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"^\W*(?:(?:and|so|ok|okay|well|also|now|please|hi|hey|hello)\b[\s,]*)*"
    r"(?:(?:could|can|would|will) you (?:please |kindly )?(?:tell|remind|show) me\b"
    r"|(?:please )?(?:tell|remind) me\b|i(?: would|'d) (?:like|love) to know\b|i was wondering\b"
    r"|(?:do|can) you (?:happen to |still )?(?:remember|recall|know)\b"
    r"|(?:kannst|könntest) du mir sagen\b|(?:você )?(?:pode|poderia) me dizer\b)?"
    r"[\s,:]*(?:,? ?if you (?:happen to )?(?:remember|recall|know)\b[\s,:]*)?",
    re.IGNORECASE,
)
_SEAM = re.compile(
    r"[,;]?\s+(?:and(?: also)?\s+(?=(?:what|when|where|who|whose|how|why|which|did|does|do|is|are|was|were|has|have|can)\b)"
    r"|und\s+(?=(?:was|wann|wo|wer|wie|warum|welche\w?)\b)|e\s+(?=(?:o que|quando|onde|quem|como|qua(?:l|is|nto\w?))\b)"
    r"|y\s+(?=(?:qué|cuándo|dónde|quién|cómo|cuál|cuánt\w+)\b)|et\s+(?=(?:que|quand|où|qui|comment|quel\w*)\b))",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_MARKS: Final = ".,;:!?()[]…\"“”'’¿¡"
_POSSESSIVE = re.compile(r"['’]s?$")
_KATAKANA: Final = re.compile("[\u30a1-\u30fa\u30fc]+")
# In all Japanese, and in no Chinese, where a surname of one sign stands before 先生.
_KANA: Final = re.compile("[\u3041-\u30fa]")
_HONOURED: Final = re.compile(
    "([\u3400-\u9fff々]{2,6}|[\u30a1-\u30fa\u30fc]{2,12})(?:さん|さま|様|ちゃん|くん|君|氏|先生)"
)
_GERMAN_WORDS: Final = """
    der das den dem und oder ist sind ich du er wir ihr nicht wie wo wann wer wen wem warum welche welcher welches ein eine einen
    einer mein meine meinen meiner dein deine unser unsere hatte haben habe mit für von vom zum zur auf bei nach
"""
_GERMAN: Final = frozenset(_GERMAN_WORDS.split())
_ENDS: Final = ("", *".!?:;¿¡\n")  # before the first word of a sentence
_OWN_WORDS: Final = """
    i my me mine myself ich mein meine meinen meinem meiner mir mich eu meu minha meus minhas yo mi mis je j mon mes moi
    io mio mia miei mie
"""
OWN: Final = frozenset(map(fold, _OWN_WORDS.split()))
"""Words for the person who asks."""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One part of a message. `text` is embedded and has no names of speakers; `words` are searched and include names."""

    text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InThread:
    """The thread that a message is read with: the `weights` of its words, below 1, and the position of the first turn read.

    `repeated` is the share of the message's own words that occur in the thread, 0 to 1.
    """

    weights: Mapping[str, float]
    first_position: int
    repeated: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed message. The first part is the whole without courtesies; the others are its questions, if there are several.

    `speakers` are the folded names of the thread's speakers, `named` those that the message names (one typo allowed), and
    `name_words` the words of those names. `names` holds the search spellings of every other name in the message. With `thread`,
    the last part is the message in its thread.

    `is_of_days` is set if the message has hardly a telling word besides those that name its days.

    `score` is the log odds that the message asks for something, judged by its text alone (`worth.message_score`); `has_vector`
    says whether its vector was used for that. `background` is each part's cosine with neutral sentences (`likeness.background`);
    empty if unknown. `levels` is, for each part and language, how far texts in that language are below texts in the message's own
    (`likeness.levels`); empty if the embedder knows only one language. `blind` is how little the embedder knows the message's
    language, 0 to 1 (`likeness.blindness`). `personal` is the log odds that the message asks about the user's own life, `breadth`
    the log of the number of texts that hold its answer (`breadth.breadth`), and `embedder` the embedder of all these vectors.
    """

    parts: tuple[QuestionPart, ...]
    speakers: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    name_words: frozenset[str] = frozenset()
    names: tuple[tuple[str, ...], ...] = ()
    periods: tuple[Period, ...] = ()
    is_of_days: bool = False
    thread: InThread | None = None
    score: float = CERTAIN
    has_vector: bool = False
    background: tuple[float, ...] = ()
    levels: tuple[Mapping[str, float], ...] = ()
    blind: float = 0.0
    personal: float = CERTAIN
    breadth: float = 0.0
    embedder: str = MINILM

    @property
    def asks_for_days(self) -> bool:
        """Whether the message names hardly more than days and reads like a question, so that their texts are found too.

        Of a few words in a language that the embedder does not know, the question mark tells more than the score.
        """
        return self.is_of_days and (self.score > 0 or _QUESTION.search(self.parts[0].text) is not None)

    @property
    def own_parts(self) -> tuple[QuestionPart, ...]:
        """The parts of the message itself."""
        return self.parts[:-1] if self.thread else self.parts

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words of the message's own parts, in order of appearance."""
        return tuple(dict.fromkeys(word for part in self.own_parts for word in part.words))


@dataclass(frozen=True, slots=True)
class MessageReading:
    """How a message was read, for receipts: its parts, the words of its thread that were searched in addition to its own, and how
    far it leans on the thread (0 to 1).

    `asks` is the probability that it asks for anything, `holds` the probability that the candidates hold an answer. `days` are
    the periods that it names, and `days_searched` says whether the texts of these days were searched too.
    """

    parts: tuple[str, ...]
    thread_words: tuple[str, ...] = ()
    leaning: float = 0.0
    asks: float = 1.0
    holds: float = 1.0
    days: tuple[str, ...] = ()
    days_searched: bool = False


@dataclass(frozen=True, slots=True)
class Prospects:
    """The prospects of recall for a message: the probabilities that it asks for anything and that candidates hold an answer, and
    how far it leans on its thread (0 to 1).
    """

    asks: float = 1.0
    holds: float = 1.0
    leaning: float = 0.0


def message_reading(reading: Reading, prospects: Prospects) -> MessageReading:
    """Return how the message was read. Without leaning, the thread's words had no effect and are left out."""
    thread_words = tuple(reading.thread.weights) if reading.thread and prospects.leaning else ()
    parts = tuple(part.text for part in reading.own_parts)
    return MessageReading(
        parts,
        thread_words,
        prospects.leaning,
        round(prospects.asks, 4),
        round(prospects.holds, 4),
        tuple(map(str, reading.periods)),
        reading.asks_for_days,
    )


def read(message: str, *, speakers: Sequence[str] = (), today: date) -> Reading:
    """Return the parsed message. `speakers` are the thread's speakers by name. A message of only courtesies is kept whole."""
    if len(message) > _HEAD_CHARS + _TAIL_CHARS:
        message = f"{message[:_HEAD_CHARS]}\n{message[-_TAIL_CHARS:]}"
    message = _without_asker(message, speakers)
    sentences = [text for text in _sentences(_ROLE.sub("", _WRAPPING.sub(" ", message))) if not _COURTESY.match(text)]
    whole = " ".join(_LEAD_IN.sub("", text, count=1) for text in sentences).strip() or message.strip()
    named = _named(whole, speakers)
    parts = [_part(text, named) for text in (whole, *_questions(sentences, whole))]
    name_words = frozenset(word for names in named.values() for name in names for word in query_words(name))
    periods, besides = read_periods(whole, today)
    return Reading(
        parts=tuple(dict.fromkeys(parts)),
        speakers=frozenset(map(folded_words, speakers)) - {""},
        named=frozenset().union(*named.values()),
        name_words=name_words,
        names=_names(whole, named),
        periods=periods,
        is_of_days=bool(periods) and _is_of_days(periods, query_words(besides), name_words, today),
    )


def _is_of_days(periods: Sequence[Period], besides: Sequence[str], name_words: Collection[str], today: date) -> bool:
    """Return whether a message names only days and weeks that have begun before today, and has at most about a dozen letters of
    telling words besides.

    Who speaks of today seldom asks what was stored today ("What is the weather today?"), and most of it is in the window.
    """
    words = [word for word in besides if word not in STOP_WORDS]
    is_past = all(period.is_short and any(first < today for first, _ in period.ranges()) for period in periods)
    return is_past and weight_besides(words, name_words) <= _MOST_BESIDES


def _without_asker(message: str, speakers: Iterable[str]) -> str:
    """Return the message without the name of the person who asks ("Bob: when is it?"), unless they ask about themselves.

    Otherwise recall would prefer what that person said, and rank what others said far lower.
    """
    asker, _, question = message.replace("：", ":", 1).partition(":")
    if not question.strip() or _folded_words(asker) not in {folded_words(name) for name in speakers} - {""}:
        return message
    is_own = not OWN.isdisjoint(map(fold, _WORD.findall(question)))
    return message if is_own else question.strip()


def _sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        if match[0].strip():
            yield match[0].strip()


def _questions(sentences: Sequence[str], whole: str) -> list[str]:
    """Return the separate questions if there are several, or if a long message would drown the only one; otherwise none.

    `sentences` are those without courtesies; none, if the message has no others.
    """
    questions = [_LEAD_IN.sub("", text, count=1) for text in sentences if _QUESTION.search(text)]
    if len(questions) == 1:
        pieces = _SEAM.split(questions[0])
        questions = pieces if len(pieces) > 1 and all(len(query_words(piece)) > 1 for piece in pieces) else questions
    is_lost = len(_WORD.findall(whole)) > _LONG_WORDS
    if not questions and is_lost and sentences:
        questions = [sentences[0], sentences[-1]]
    return questions[1 - MAX_PARTS :] if len(questions) > 1 or is_lost else []


def _names(text: str, named: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Return the search spellings of words capitalised inside a sentence, which are names, except those in `named`, days and
    months.

    For a German text the result is empty, since German capitalises every noun.
    """
    names, before = list[tuple[str, ...]](), "."
    written = text.split()
    if not _GERMAN.isdisjoint(map(str.lower, written)):
        return ()
    for match in _HONOURED.finditer(text) if _KANA.search(text) else ():
        # Nothing separates a name from the word before it ("昨日田中さん"), but most surnames have two signs.
        name = match[1] if _KATAKANA.fullmatch(match[1]) else match[1][-2:]
        if not any(name in word or word in name for word in map(fold, named)):
            names.append(tuple(word for word in query_words(name) if len(word) == 2))
    for token in written:
        word = token.strip(_MARKS)
        is_inside = before[-1].islower() or before[-1] == ","
        is_name = is_inside and word[:1].isupper() and word[1:2].islower() and _bare(word) not in named
        if is_name and {fold(word), fold(word).removesuffix("s")}.isdisjoint(CALENDAR_WORDS):
            names.append(tuple(query_words(_bare(word))))
        before = token
    return tuple(dict.fromkeys(names))


def _bare(word: str) -> str:
    """Return a name without its possessive ending."""
    return _POSSESSIVE.sub("", word)


def _named(text: str, speakers: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the words of the text that name speakers, mapped to the folded names of these speakers.

    A word of several names ("Ana") names those of whom the text has the most words. A stop word ("the", "von", "will") is a
    name only if it is capitalised inside a sentence. In a script without spaces, a name may be anywhere in a word, and a surname
    before a form of address stands for the whole name.
    """
    known: dict[str, set[str]] = {}
    for name in map(folded_words, speakers):
        for word in name.split():
            known.setdefault(word, set()).update([name] if len(word) > 1 else [])
    found: dict[str, Collection[str]] = {}
    for match in _WORD.finditer(text) if known else ():
        if match[0] not in found or fold(match[0]) in STOP_WORDS:
            found[match[0]] = found.get(match[0]) or _bearers(text, match, known)
    found |= _unspaced(text, known)
    counts = Counter(name for names in found.values() for name in names)
    most = {written: max(map(counts.__getitem__, names)) for written, names in found.items() if names}
    return {written: frozenset(name for name in found[written] if counts[name] == top) for written, top in most.items()}


def _unspaced(text: str, known: Mapping[str, Collection[str]]) -> dict[str, Collection[str]]:
    """Return the names in scripts without spaces that a text holds, mapped to the folded names of their bearers."""
    unspaced = [word for word in known if len(word) > 1 and is_unspaced(word)]
    folded = fold(text) if unspaced else ""
    found: dict[str, Collection[str]] = {word: known[word] for word in unspaced if word in folded}
    for match in _HONOURED.finditer(folded):
        beginnings = (match[1][start:] for start in range(len(match[1]) - 1))
        surname = next((one for one in beginnings if any(word.startswith(one) for word in unspaced)), None)
        if surname and surname not in found:
            found[surname] = {name for word in unspaced if word.startswith(surname) for name in known[word]}
    return found


@lru_cache(maxsize=20_000)
def folded_words(text: str) -> str:
    """Return the folded words of a name or the head of a text, joined by single spaces, to compare names."""
    return _folded_words(text)


def _folded_words(text: str) -> str:
    return " ".join(_WORD.findall(fold(text)))


def _bearers(text: str, match: re.Match[str], known: Mapping[str, Collection[str]]) -> Collection[str]:
    """Return the names that have this word of the text, or else one that it misspells; none for a stop word."""
    written, word = match[0], fold(match[0])
    is_capital = written[:1].isupper()
    if word in STOP_WORDS and not (is_capital and text[: match.start()].rstrip()[-1:] not in _ENDS):
        return ()
    if word in known or word in STOP_WORDS or not is_capital:
        return known.get(word, ())
    return next((names for name, names in known.items() if _is_misspelt(word, name)), ())


def _is_misspelt(word: str, name: str) -> bool:
    """Return whether a word is the name with one letter wrong, or the name in another language's spelling ("Mohammed")."""
    if len(name) + len(word) >= _LEAST_CHARS and is_one_edit(word, name):
        return True
    if min(len(word), len(name)) < _LEAST_SPELT or word[0] != name[0] or _sounds(word) != _sounds(name):
        return False
    return SequenceMatcher(None, word, name, autojunk=False).ratio() >= _LEAST_ALIKE


def _sounds(word: str) -> str:
    """Return a word's consonants without h and y, doubled ones once. All spellings of a name share them."""
    return _DOUBLED.sub(r"\1", _UNSOUNDED.sub("", word))


def is_one_edit(one: str, other: str) -> bool:
    """Return whether the words differ by at most one inserted, deleted, replaced or transposed letter."""
    if len(one) > len(other):
        one, other = other, one
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    rest, longer = one[start:], other[start:]
    if len(one) < len(other):
        return rest == longer[1:]
    return rest[1:] == longer[1:] or (rest[:2] == longer[1::-1] and rest[2:] == longer[2:])


def _part(text: str, named: Mapping[str, Collection[str]]) -> QuestionPart:
    words: list[str] = []
    for word in query_words(text):
        names = next((names for written, names in named.items() if fold(written) == word), ())
        words += [part for name in sorted(names) for part in query_words(name)] or [word]
    bare = text
    for written in named:
        bare = re.sub(rf"\b{re.escape(written)}(?:['’]s)?\b", "", bare)
    return QuestionPart(" ".join(bare.split()) or text, tuple(dict.fromkeys(words)))
