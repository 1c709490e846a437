"""Decisions in a memory: their content, their time and, if stated, their reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import regex

from compiler.plan.contract import BatchMemory, PageType
from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.locating import PERIOD_TAG, tags_of
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import runs
from compiler.plan.proposal import ProposedName, ProposedPage, ProposedSection
from compiler.plan.quoting.excerpts import attributed, dated, line
from compiler.plan.text.change import content_words
from compiler.plan.text.kin import kin_in
from compiler.plan.text.markdown import escape, one_line, plain_key
from compiler.plan.text.page_words import words_of
from compiler.plan.text.sentences import sentences
from compiler.plan.text.words import CONNECTORS, FIRST_PERSON, PREDICATES
from store.text.words import STOP_WORDS

MAX_TITLE_WORDS = 12
MIN_TITLE_WORDS = 2
MIN_TOLD_WORDS = 3
MAX_SENTENCE_WORDS = 16

# Also `chose Kafka over RabbitMQ`, not `chose a puppy over the weekend`; `decided not to sell`, not `decided not to come`.
_DECIDED = re.compile(
    r"""(?<!not\s)(?<!n't\s)\b(?:
        (?:decided|chose|opted|we\sagreed|resolved)\s(?:together\s|finally\s|today\s)?(?:to|on|against|that\swe|that\si|that(?!\s(?:he|she|they|it|you)\b))
        | chose(?=(?-i:\s[A-Z]\w*(?:\s\w+)?\sover\s[A-Z]))
        | decided(?=\snot\sto\s(?!(?:say|tell|come|reply|answer|mention|attend|join)\b)(?!.*\b(?:today|tonight)\b))
        | made\s(?:up\s(?:my|our|his|her|their)\smind|(?:the|a)\sdecision)\sto
        | settled\son | (?:i|we)(?:['’]ll|\swill|['’]m\sgoing\sto|['’]re\sgoing\sto)\sgo\swith
        | (?:(?:hemos|han|he|ha|foi|ficou)\s(?:decidido|acordado|combinado)|quedamos\sen)(?:\sque)?
        | (?:decidimos|acordamos|combinamos|resolvemos)(?:\sque)?
        | decidi(?:ram|u)? | decid[ií](?:eron|ó)? | opt[eé]i?\spor | beschlossen, | entschieden,(?:\sdass)?
        | (?:haben|habe)\s(?:uns|mich)\s(?:\w+\s)?(?:für|gegen)(?=\s.+\sentschieden\b)
        | (?:ai|avons|a|ont)\sd[ée]cid[ée]\s(?:de|d['’])
    )(?!\w)\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_AGAINST = re.compile(r"(?:against|gegen)\s*$", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?:\d|two|three|four|five|six|seven|eight|nine|ten|zwei|drei|vier|dos|tres|dois|deux)\b", re.IGNORECASE
)
_LABEL = re.compile(
    r"^\W*(?:decision|decided|agreed|decisi[óo]n|decis[ãa]o|decidido|decidimos|acordado|acordamos|combinado|entscheidung"
    r"|entschieden|beschluss|beschlossen|abgemacht|vereinbart|d[ée]cision|d[ée]cid[ée]"
    r"|reversed|changed (?:my|our) minds?|umentschieden|mud(?:ei|[áa]mos) de ideias?|cambi[ée] de idea)\b[^:.;]{0,30}:(?!\d)\s*",
    re.IGNORECASE,
)
# What a decision is about, in its label: `Decided about the boat: blue paint`.
_ABOUT = re.compile(
    r"\W*(?:decision|decided|agreed) (?:about|on|regarding|for) ((?:the |our |my )?\w[\w'’-]*(?: \w[\w'’-]*){0,2}):\s",
    re.IGNORECASE,
)
_HENCEFORTH = re.compile(
    r"\W*\b(?:from\snow\son|from\stoday\son|going\sforward|a\spartir\sde\s(?:agora|ahora|hoje|hoy)"
    r"|de\s(?:ahora|hoy)\sen\sadelante|(?:de\sagora|daqui)\sem\sdiante|ab\s(?:jetzt|sofort)"
    r"|(?:von|ab)\s(?:nun|jetzt|heute)\san|d[ée]sormais|[àa]\spartir\sde\smaintenant)\b\W*",
    re.IGNORECASE,
)
# After these words a German sentence has its verb before its subject, so that the rest alone is no title.
_INVERTING = re.compile(r"\W*(?:ab|von) (?:jetzt|sofort|heute|nun)\b", re.IGNORECASE)
# `Will be done monthly from now on`: what will be done is in another sentence.
_WITHOUT_SUBJECT = re.compile(r"\W*(?:will|would|has|have|to) be(?:en)? |\W*(?:is|are|were) \w", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:i|we|he|she|they)\b", re.IGNORECASE)
# What may stand between a cause and `from now on we cook at home`; what others say may also be joined by a comma or a bare `and`.
_LEADING_ON = re.compile(r"(?:,\s+(?:so|and|therefore)\s*|[;:])$", re.IGNORECASE)
_JOINED = re.compile(r"(?:\s(?:so|and)\s*|,)$", re.IGNORECASE)
_SO_WE = re.compile(r"\b(?:so|and)\s(?:i|we)\b", re.IGNORECASE)
_OURS = re.compile(r"(?:i|we)\b", re.IGNORECASE)
# Before `from now on`, a consequence (`The doctor came, so she is off work`) or the question of another (`Leo asked who pays`).
_UNDECIDED = re.compile(
    r",\s+(?:so\s+(?:he|she|they|it)\b|(?:and|but)\s+(?:he|she|they|it)(?:['’](?:s|re)|\s(?:is|are|was|were))\s)(?!\s?and\b)[^,;.]*$"
    r"|\basked (?:who|what|whether|if|when|how|why)\b",
    re.IGNORECASE,
)
# Clauses in which another person asks for, says or wants something.
_OTHERS_SAY = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!['’]ve )\basked (?:for|that|us|me)\b[^,;.]*$"
    r"|\bsays (?!(?:i|we|he|she|they|it|that)\b)[^,;.]*$|\bwants (?!to\b)\w+(?: \w+)? to\b[^,;.:]*$",
    re.IGNORECASE,
)
# `Ana wants to swim every day from now on` is a wish.
_WISHED = re.compile(
    r"\b(?:(?:wants|hopes|wishes|would like) to|möchte|quiere|espera|quer|veut|aimerait)\b[^,;.]*$", re.IGNORECASE
)
# `No bass after eight and he gave me some leeks`: another clause.
_NEXT_CLAUSE = re.compile(r"\s(?:and|y|e|und|et)\s(?:he|she|they|it|is|was|has|had)\s.*$", re.IGNORECASE)
# `After the rains put the road under water`, in a long title.
_SUBORDINATE = re.compile(
    r"\s(?:after|before|until|while|although|though|unless|nachdem|bevor|mientras|enquanto)\s"
    r"(?:the|an?|my|our|his|her|their|i|we|he|she|they|it|der|die|das|el|la|los|las|os?|as?)\s.*$",
    re.IGNORECASE,
)
# `after one of his hens, Grofica, had her first clutch`: what stands before the comma is half a clause.
_APPOSED = re.compile(r", [^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*, (?!(?:and|or|y|e|und|et|ou|o|oder)\b)[a-zß-ÿ]")
_HALF_CLAUSE = re.compile(
    r"\s(?:after|before|until|while|when|although|though|unless|once)\s(?:(?:one|some|all|two|most)\sof\s)?"
    r"(?:the|my|our|his|her|their|its|i|we|he|she|they|it)\b.*$",
    re.IGNORECASE,
)
_DOUBTFUL = re.compile(
    r"\b(?:if|whether|should|would|could|might|may|when|once|until|before)\b[^.;]{0,30}\b(?:decid|cho[so]se|opt)"
    r"|\bto decide|[?？]\W*$",
    re.IGNORECASE,
)
# What was decided long ago is told, not decided.
_LONG_AGO = re.compile(
    r"\b(?:last (?:year|spring|summer|fall|autumn|winter)|years ago|back (?:in|then|when)|when (?:i|we) (?:was|were)"
    r"|(?:el )?ano (?:pasado|passado)|hace \w+ anos|ha \w+ anos|letztes jahr|letzten (?:sommer|winter)|vor \w+ jahren"
    r"|annee derniere|il y a \w+ ans)\b"
)
_SUPPOSING = re.compile(
    r"\b(?:i|we) (?:guess|think|believe|suppose|assume|heard|hear|say|said)\b"
    r"|\b(?:creo|supongo|acho|suponho|(?:ich )?glaube|je crois)\b"
)
# A pronoun without a noun in the same clause to refer to, or `this money`: the clause alone is no title.
_NO_NOUN = r"^(?:(?!\b(?:an?|the|my|our|his|her|their|your|\d+)\b).)*?"
_UNEXPLAINED = re.compile(
    rf"{_NO_NOUN}\b(?:it|them|this|these|those|one(?=$|\s(?:and|or|for|of\s(?:my|our))\b))(?:\W|$)",
    re.IGNORECASE,
)
_ONLY_IT = re.compile(rf"{_NO_NOUN}\b(it|them)\b", re.IGNORECASE)
_OTHERS = frozenset(["they", "he", "she", "it", "you", "who", "which", "that"])
_CONTRACTED = re.compile(r"\b(?:they|he|she|you)['’]\w+(?:\s\w+)?\s*$", re.IGNORECASE)  # `They've settled on a name`
_OBJECTS = frozenset(["it", "them", "him", "her", "me", "us", "one", "this", "that", "other"])
_NO_LAST_WORDS = (STOP_WORDS | CONNECTORS | {"rather"}) - _OBJECTS - {"van"}  # `the old van`
_EVERYDAY = re.compile(
    r"""(?:to\s)?(?:
        go\s(?:have|out|get|grab|see|eat|for|home|shopping|to\s(?:bed|sleep|lunch|dinner|the\s(?:beach|movies|park|store|gym)))
        | have\s(?:\w+\s){0,3}(?:dinner|lunch|breakfast|brunch|drinks?|coffee|meal|nap|picnic|party)
        | take\s(?:an?|the|some)\s(?:\w+\s)?(?:nap|break|shower|bath|walk|day\soff|photos?|pictures?|look)
        | (?:start|try)\s(?:an?|the|another)\s(?:\w+\s){0,2}(?:show|series|movie|film|book|recipe|dish|restaurant)
        | spend\s(?:(?:some|the|an?|my|our)\s)?(?:\w+\s)?(?:time|day|night|morning|afternoon|evening|weekend)\b
        | stay\s(?:in|home|inside|up|at\shome) | (?:stop|swing|drop)\sby | check\s(?:out|it|in)
        | try\s(?:my|our|his|her|their)\shand\b
        | do\s(?:an?|the|some)\b | (?:an?|the|this|that|my|your)\s(?:\w+\s)?(?:answer|guess|flow)\b
        | (?:eat|grab|order|watch|sleep|call|text|cook|bake|wait|walk|listen|treat|binge|relax|surprise|wear|freshen)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_LASTING = re.compile(
    r"\b(?:every|each|always|never|regularly|daily|weekly|monthly|anymore|any more|from now on|no longer)\b",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    r"\b(?:will|won['’]t|gave up|signed|cancelled|canceled|instead|no longer|(?:am|are) not)\b", re.IGNORECASE
)
_ENTSCHIEDEN = re.compile(r"\s(?:entschieden|beschlossen)(?=\W*$)", re.IGNORECASE)
# Emoji and pictures, with the signs that join them.
_SYMBOLS = regex.compile(r"[\p{So}\p{Sk}\p{Cs}\u200d\ufe0f\p{Emoji_Presentation}]+")
_REASON = re.compile(
    r"\b(?:because|since|so that|so we|so i|as it|due to|in order to|the reason|porque|para que|weil|denn|damit|parce que"
    r"|car(?= (?:ils?|elles?|je|tu|nous|vous|on|ce|les?|la|une?|mon|ma|mes|notre|nos|sa|ses)\b| [cjlns]['’]))\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[;:!?](?=\W*(?:\s|$))|\.(?=\W*$)|(?<!\d)\.(?=\W*\s)|[，。]|,\s|\s[-–—]{1,2}\s|\s\("
    r"|\s(?:because|since|so that|due to|as (?:i|we|you|he|she|they)|porque|weil|parce que)\s",
    re.IGNORECASE,
)


def decisions(memory: BatchMemory) -> Iterator[ProposedPage]:
    """Yield a page for each decision of the memory, at most one per sentence."""
    every = sentences(memory.text)
    is_tagged = "decision" in tags_of(memory)
    for at, sentence in enumerate(every):
        decided = _decided(sentence, is_tagged=is_tagged and not at)
        title = _title(decided)
        is_short = bool(title) and len(content_words(title)) < MIN_TOLD_WORDS
        if is_short and (about := _ABOUT.match(sentence)):
            title = f"{about[1][:1].upper()}{about[1][1:]}: {title}"
        elif _UNEXPLAINED.search(title) or (is_short and _AMOUNT.match(title)):
            title = _title_of_sentence(sentence)
        if title:
            yield _page(
                memory, title, attributed((sentence,), memory)[0], every[at + 1 : at + 2], every[max(0, at - 1) : at]
            )


def _decided(sentence: str, *, is_tagged: bool) -> str:
    """Return the words of the decision; empty if the sentence decides nothing, or only a thing of the day (`go out`)."""
    text = sentence.removeprefix(f"{speaker_of(sentence)}: ")
    if _DOUBTFUL.search(text) or _WITHOUT_SUBJECT.match(text):
        return ""
    label, marker, henceforth = _LABEL.match(text), _DECIDED.search(text), _HENCEFORTH.search(text)
    text = _ENTSCHIEDEN.sub("", text) if marker else text
    if label:
        rest = text[label.end() :]
        second_marker = _DECIDED.search(rest)
        return rest[second_marker.end() :] if second_marker and _is_own(rest, rest[: second_marker.start()]) else rest
    if marker and _LONG_AGO.search(plain_key(text[: marker.start()])):
        return ""
    if marker and _is_own(sentence, text[: marker.start()]):
        against = _AGAINST.search(marker[0])
        decided = text[against.start() + marker.start() if against else marker.end() :]
        _, colon, clause = decided.partition(": ")
        if colon and _COMMITTED.search(clause) and not FIRST_PERSON.isdisjoint(plain_key(clause).split()[:1]):
            return clause
        return "" if _EVERYDAY.match(decided.removeprefix("not ")) and not _LASTING.search(decided) else decided
    if henceforth and (ruled := _ruled(text, henceforth)):
        return ruled
    return text if is_tagged and _COMMITTED.search(text) else ""


def _ruled(text: str, henceforth: re.Match[str]) -> str:
    """Return what holds from now on; empty if the text before only tells a wish, or what somebody else asks for or says."""
    before, after = text[: henceforth.start()], text[henceforth.end() :]
    joint = f"{before}{henceforth[0][:1]}"  # the marker begins with the stop before it
    is_said = bool(_OTHERS_SAY.search(before))
    leads_on = _LEADING_ON.search(joint) or (is_said and _JOINED.search(joint))
    if leads_on and _OURS.match(after):
        title = _title(after)
        if title and not _UNEXPLAINED.search(title):
            return after
    is_said |= bool(_WISHED.search(before))
    if _UNDECIDED.search(before) or (is_said and not _SO_WE.search(before)):
        return ""
    if content_words(before):
        return " ".join(filter(None, (_after_turn(before), after)))
    return text if _INVERTING.match(text) else after


def _after_turn(before: str) -> str:
    """Return the clause of a sentence after `but`, with the name that it begins with: of `Ana is well but has promised to rest`,
    `Ana has promised to rest`; the sentence if no clause follows (`anything but meat`).
    """
    told, _, turned = before.strip().rpartition(" but ")
    first = plain_key(turned).partition(" ")[0]
    name = next((one.name for one in runs(told) if told.startswith(one.name)), "")
    if told and _SUBJECT.match(turned):
        return turned
    return f"{name} {turned}" if name and first in PREDICATES else before.strip()


def _is_own(sentence: str, before: str) -> bool:
    """Return whether the words before `decided` name the decider: the writer, or a name at the beginning of the sentence.

    In a conversation only the speaker's own decisions count. A sentence without a subject is the writer's own.
    """
    words = plain_key(before).split()
    if not _OTHERS.isdisjoint(words[-4:]) or _CONTRACTED.search(before):
        return False
    is_others = bool(speaker_of(sentence)) and _is_name(before)
    if not FIRST_PERSON.isdisjoint(words[-6:]) or (len(words) <= 1 and not is_others):
        return not _SUPPOSING.search(" ".join(words[-6:]))
    names = runs(before)
    return not speaker_of(sentence) and bool(names) and plain_key(before).startswith(plain_key(names[0].name))


def _is_name(before: str) -> bool:
    """Return whether the word before `decided` is a capitalised one for a person: `Mom`, `Tarka`, and not `Finally`."""
    word = before.strip()
    return word[:1].isupper() and (bool(kin_in(word)) or not is_ordinary(plain_key(word)))


def _title(decided: str) -> str:
    """Return the clause as a title of at most twelve words; empty if it says too little."""
    end = _CLAUSE_END.search(decided, 1)
    clause = one_line(decided[: end.start()] if end else decided)
    whole = _HALF_CLAUSE.sub("", clause) if end and _APPOSED.match(decided, end.start()) else clause
    clause = whole if len(content_words(whole)) >= MIN_TITLE_WORDS else clause
    first = _NEXT_CLAUSE.sub("", clause)
    every = (first if len(content_words(first)) >= MIN_TOLD_WORDS else clause).split()
    words = every[:MAX_TITLE_WORDS]
    told = _SUBORDINATE.sub("", " ".join(words))
    if len(every) > len(words) and told.count(" ") + 1 < len(words) and len(content_words(told)) >= MIN_TITLE_WORDS:
        words = told.split()
    elif len(every) > len(words):
        joints = [at for at, word in enumerate(words) if word.lower() in STOP_WORDS | CONNECTORS]
        joints = [at for at in joints if not (at and words[at - 1][-1].isdigit())] or joints
        words = words[: joints[-1]] if joints and joints[-1] >= MAX_TITLE_WORDS // 2 else words
    while words and words[-1].lower() in _NO_LAST_WORDS:
        words.pop()
    words = words[words[:1] in (["And"], ["But"], ["So"]) :]
    title = " ".join(_SYMBOLS.sub(" ", " ".join(words)).split()).strip(" \"'“”‘’,*_")
    return f"{title[:1].upper()}{title[1:]}" if len(content_words(title)) >= MIN_TITLE_WORDS else ""


def _title_of_sentence(sentence: str) -> str:
    """Return the whole sentence as a title; empty if it is too long for one, or does not say what is decided either."""
    words = _SYMBOLS.sub(" ", sentence.removeprefix(f"{speaker_of(sentence)}: ")).rstrip(" .!").split()
    whole = " ".join(words)
    it = _ONLY_IT.search(whole)
    is_told = it is None or len(content_words(whole[: it.start(1)])) >= MIN_TOLD_WORDS
    return whole if is_told and len(words) <= MAX_SENTENCE_WORDS else ""


def _page(
    memory: BatchMemory, title: str, sentence: str, after: tuple[str, ...], before: tuple[str, ...]
) -> ProposedPage:
    words = words_of(memory.text)
    within = _REASON.search(sentence)
    reasons = []
    if within and content_words(sentence[within.end() :]) and len(content_words(sentence[: within.start()])) > 1:
        reasons.append(sentence[within.start() :])
    reasons += [one for one in after if _REASON.search(one)]
    telling = tuple(one for one in before if len(content_words(one)) >= MIN_TOLD_WORDS)
    texts: Mapping[str, list[str]] = {
        "decision": [sentence],
        "rationale": reasons,
        "context": [words.noted(memory.occurred_at), *attributed(telling, memory)],
    }
    cited = (memory.memory_id,)
    sections = tuple(
        ProposedSection(
            slug, words.headings[slug], "\n".join(line(one, memory) for one in quoted), cited, is_verbatim=True
        )
        for slug, quoted in texts.items()
        if quoted
    )
    year = ProposedName(f"{PERIOD_TAG}{words.decisions}-{memory.occurred_at:%Y}", cited)
    summary = escape(dated(sentence, memory))
    return ProposedPage(PageType.DECISION, title, summary, sections, tags=(year,), memory_ids=cited)
