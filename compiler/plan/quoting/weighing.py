"""Weighs how much a sentence says about a subject: what a person likes or does, a passing mention, or nothing."""

from __future__ import annotations

import re
from collections.abc import Collection

from compiler.plan.lexicon.noun_words import DOINGS
from compiler.plan.lexicon.theme_words import EVERYONES, SCENERY
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import runs
from compiler.plan.names.themes import theme_of, themes_in
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import OWN, is_verb
from compiler.plan.text.words import PASTS, PREDICATES
from store.text.words import STOP_WORDS

_LIKES = """
love loves loved likes enjoy enjoys enjoyed favorite favourite passion passionate hobby started starting learning joined
practice practices interested fan ama amo adoro encanta encantan gusta gustan gosta gosto liebt liebe mag gern gerne aime adore
piace suelo costumo aprendo lerne apprends
"""
# How often somebody does what stands before these words, or directly after them: `every Sunday she bakes`.
_OFTEN = frozenset(["always", "usually", "every", "often", "weekly", "daily", "siempre", "sempre", "toujours", "immer"])
# `like` alone is mostly a comparison; it is a verb only after its subject.
_LIKED = re.compile(
    r"\b(?:i|we|you|they|dont|doesnt|didnt)(?: (?!feel|felt|look|looks|am|are|was|were|do|just|sound|be|have|seem)\w+)? like\b"
)
_SET_PHRASE = re.compile(
    r"\b(?:friends? (?:and|or) family|family (?:and|or) (?:close )?friends?|familia [yeo] amigos|amigos [yeo] familia"
    r"|familie und freunden?|freunden? und familie|famille et (?:les |mes |ses )?amis|amis et (?:la |ma |sa )?famille)\b"
)
POINTING = re.compile(
    r"(?:and|but|so|or|not|also|then|plus|because|it|its|that|thats|this|these|those|they|theyre|their|he|she|hes|shes|his|her"
    r"|ela|ele|elas|eles|ella|ellas|ellos|elle|ils|elles|theres?|heres?|either|as for|on the other hand|one of|some of|another"
    r"|other|for example|dont|lets|wow|yeah|yes|no|nah|hope|thanks|hmm|well)\b"
)
# Changing trains or planes at a place tells nothing of it.
_ON_THE_WAY = re.compile(
    r"\b(?:fl(?:y|ew|ight)|land(?:ed)?|arrived?|book(?:ed)?|moved|travel(?:l?ed)?|train|bus|connection|layover|home)\b"
    r".* (?:through|via) (.+)"
)
# Only in English do pronouns show whether a sentence is about the speaker: other languages leave them out.
_ENGLISH = re.compile(
    r"\b(?:the|is|are|was|were|it|its|this|that|of|and|to|for|with|but|they|he|she|his|her|their|be|been|has|have)\b"
)
# What a sentence adds to its main clause: brackets, a relative clause, an apposition, what else was seen or done.
_ADDED = re.compile(
    r"\s?\([^)]*\)"
    r"|(?<=\w),? (?:who|whom|whose|which|where|donde|onde)\b[^,;]*,?"
    r"|(?P<noun>(?-i:\b[^\W\d_a-zß-ÿ])[\w-]+), (?:que|qui|dont|die|der|das|dem|den)\b[^,;]*,?"
    r"|(?<=\w), (?P<apposed>(?:an?|eine?[nrms]?|une?|uma?|un) [^,;]*,?)"
    r"|(?<=\w), (?P<tail>(?:\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|mainly|including|especially|such as"
    r"|\w+ing)\b[^,;]*)$",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"(?:in|on|at|after|before|since|for|with|during|when|while|because|if|as|by|every|last|next|en|em|a|al|no|na|después|antes|desde"
    r"|durante|cuando|quando|pendant|depuis|après|quand|au|pour|nach|vor|seit|im|am|bei|wenn|als)\b",
    re.IGNORECASE,
)
# `Ana from the choir`
_MEMBER = re.compile(r"^[^\W\d_a-z][\w-]+(?: [^\W\d_a-z][\w-]+)? from (?:the|my|our|his|her|their) \w+")
_SPACE = re.compile(r"[\s-]+")
_SHORTEST_CLAUSE = 4
_AFTER_THING = frozenset(["in", "on", "at", "of", "for", "with", "from", "to", "out", "by", "off", "up", "and"])
_NO_THINGS = STOP_WORDS | PREDICATES | PASTS | DOINGS
_NO_NOUN_ENDS = ("ing", "ed", "ly", "ful", "al", "ive", "ous", "able", "ible", "ic")
_LEARNT = frozenset(["learn", "learned", "learnt"])
_ITEM = re.compile(r",? (?:and|or|as well as|y|e|und|et) |, ")
_LEAST_LISTED = 3
_LISTED_WORDS = 2
_OWNERS = frozenset(["my", "our", "his", "her", "their", "mi", "meu", "minha", "mein", "meine"])
_DETERMINERS = _OWNERS | {"a", "an", "the", "this", "that", "each", "every"}
_OWNER_SIGNS = ("'s", "’s", "s'", "s’")
_OWNING_WORDS = 3
POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_VALUING = frozenset(["value", "values", "valued", "cherish", "cherishes", "appreciates", "misses", "wants", "hopes"])
_REACTION = re.compile(
    r"(?:\S+ ){1,3}(?:(?:is|was) (?:supportive|proud|concerned|happy|glad) (?:of|about|for|that)"
    r"|(?:acknowledge|admire|encourage|praise|motivate|compliment|thank|ask|congratulate)(?:s|d|ed)?) (?:\S+ ){0,1}"
)
_PICTURES = frozenset(
    ["paint", "painted", "paints", "painting", "paintings", "picture", "pictures", "photo", "photos", "drew"]
)
_LIKES_WORDS = frozenset(_LIKES.split())
_OPENING_WORDS = 3
# The words before and after a verb of liking in which its theme stands.
_BEFORE_LIKING = 5
_AFTER_LIKING = 9
_AFTER_OFTEN = 4


def weight(sentence: str, keys: Collection[str], *, is_talk: bool) -> int:
    """Return how much the sentence says about a subject, 0 to 3.

    0 if it is not understood alone, names the subject only in a set phrase (`with friends and family`) or as a place on the way
    (`the flight home through London`); in a conversation also if it is neither about the speaker nor begins with the subject.
    1 in passing; 2 if a person says what they like, learn or do regularly. A sentence of a note is 3, unless it has the theme
    only in passing or the theme is one that often is.
    """
    text = plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))
    words = text.split()
    is_own = not OWN.isdisjoint(words) or (is_talk and not _ENGLISH.search(text))
    way = _ON_THE_WAY.search(text)
    if way and any(f"{way[1]} ".startswith(f"{key} ") for key in keys):
        return 0
    if not is_own and (is_loose(sentence) or (is_talk and not _begins(sentence, keys))):
        return 0
    if _SET_PHRASE.search(text) and not _has_theme(_SET_PHRASE.sub(" ", text), keys):
        return 0
    if not (is_talk or is_common(keys)):
        return 3 if is_central(sentence, keys) or not any(map(theme_of, keys)) else 1
    is_telling = is_liking(text, keys) or not _LEARNT.isdisjoint(words)
    return 2 if is_telling and (is_own or not is_talk) else 1


def _begins(sentence: str, keys: Collection[str]) -> bool:
    """Return whether the subject begins within the first three words, also in the possessive; a longer name may continue after
    them.
    """
    text = plain_key(POSSESSIVE.sub("", sentence.removeprefix(f"{speaker_of(sentence)}: ")))
    first = " ".join(text.split()[:_OPENING_WORDS])
    return any(f" {text}".find(f" {key} ", 0, len(first) + len(key)) >= 0 for key in keys) or _has_theme(first, keys)


def _has_theme(text: str, keys: Collection[str]) -> bool:
    return not {theme_of(key) for key in keys}.isdisjoint(themes_in(text))


def is_common(keys: Collection[str]) -> bool:
    """Return whether the theme is one that is often mentioned in passing: family, friends, hopes."""
    return any(theme_of(key) in EVERYONES for key in keys)


def is_loose(sentence: str) -> bool:
    """Return whether the sentence refers to an earlier one, so that it is not understood alone."""
    return bool(POINTING.match(plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))))


def is_liking(text: str, keys: Collection[str], *, only_before: Collection[str] = ()) -> bool:
    """Return whether the words state that a person likes the theme, learns it or does it regularly.

    The theme must be near the verb: `a game I loved in high school` tells nothing of school. After a word in `only_before` it
    does not count.
    """
    marked = _LIKED.sub(lambda found: f"{found[0][:-4]}loves", text).split()
    reach = {**dict.fromkeys(_LIKES_WORDS, _AFTER_LIKING), **dict.fromkeys(_OFTEN, _AFTER_OFTEN)}
    return any(
        word in reach
        and _has_theme(
            " ".join(marked[at if word in only_before else max(0, at - _BEFORE_LIKING) : at + reach[word]]), keys
        )
        for at, word in enumerate(marked)
    )


def theme_place(sentence: str, keys: Collection[str]) -> int:
    """Return how many words stand before the theme in a sentence; all of them if the theme is not found."""
    words = plain_key(sentence).split()
    return next((at for at in range(len(words)) if _has_theme(" ".join(words[: at + 1]), keys)), len(words))


def is_central(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a sentence of a note is about a theme: it states a liking, or its main clause has the theme as more than the
    kind of another thing (`the museum bus`) or what somebody belongs to (`Ana from the choir`).
    """
    if is_liking(plain_key(sentence), keys):
        return True
    main = _MEMBER.sub("", _ADDED.sub(lambda one: _kept(one, sentence, keys), sentence))
    return _has_theme(main, keys) and not _is_kind(main, keys)


def _kept(added: re.Match[str], sentence: str, keys: Collection[str]) -> str:
    """Return what stays of an addition to a main clause: all after a beginning that only leads to it (`Last May, a choir came`),
    and what begins with the theme (`We stayed all day, swimming in the lake`); else only the noun before it.
    """
    before = sentence[: added.start()]
    is_inserted = bool(added["apposed"] or added["tail"])
    leads = is_inserted and (len(before.split()) < _SHORTEST_CLAUSE or bool(_LEADING.match(before)))
    begins = bool(added["tail"]) and _has_theme(" ".join(added["tail"].split()[:2]), keys)
    return added[0] if leads or begins else f" {added['noun'] or ''} "


def _is_kind(text: str, keys: Collection[str]) -> bool:
    """Return whether an English text has a theme only as the kind of a thing, before a noun (`the museum bus`)."""
    at = theme_place(text, keys)
    words, spaced = plain_key(text).split(), _SPACE.split(text)
    if not 0 < at < len(words) - 1 or len(spaced) != len(words) or not _ENGLISH.search(" ".join(words)):
        return False
    is_determined = not _DETERMINERS.isdisjoint(words[max(0, at - 2) : at]) or words[at - 1] == "of"
    is_joined = spaced[at][-1].isalnum() and not words[at].endswith("s") and spaced[at + 1][0].islower()
    after = words[at + 2] if at + 2 < len(words) and spaced[at + 1][-1].isalnum() else ""
    is_acting = is_verb(after) and after != "a"
    is_ended = is_acting or (at > 1 and (not after or after in _AFTER_THING))
    is_plural = words[at - 1] == "of" and words[at + 1].removesuffix("s") not in DOINGS
    return is_determined and is_joined and is_ended and (is_plural or _is_thing(words[at + 1]))


def _is_thing(word: str) -> bool:
    """Return whether a word after a theme's is a noun in the singular that stands for something else: `bus`, and not `lesson`."""
    if word in _NO_THINGS or word.endswith(_NO_NOUN_ENDS):
        return False
    return not word.endswith("s") or word.endswith(("ss", "us"))


def is_subject(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a theme is the first word of a sentence, or the second after a determiner: `The choir sings`."""
    at = theme_place(sentence, keys)
    return at == 0 or (at == 1 and plain_key(sentence).partition(" ")[0] in _DETERMINERS)


def is_listed(sentence: str, keys: Collection[str]) -> bool:
    """Return whether the sentence names the theme only in a list of three or more: not first, and beside another short item."""
    items = _ITEM.split(sentence)
    is_short = [len(one.split()) <= _LISTED_WORDS for one in items]
    named = [at for at, one in enumerate(items) if _has_theme(one, keys)]
    if len(items) < _LEAST_LISTED or not named:
        return False
    return all(at and is_short[at] and any(is_short[at - 1 : at + 2 : 2]) for at in named)


def is_aside(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a sentence of a note mentions a theme only in passing.

    It does if the theme is a short item of a list, the motif of a picture, or part of a reaction to another person, or if it is a
    theme that everybody has, without an owner (`a struggling family`). A sentence that states a liking is never an aside.
    """
    text = plain_key(sentence)
    if is_liking(text, keys) or not _has_theme(text, keys):
        return False
    if is_listed(sentence, keys) or _is_reaction(sentence):
        return True
    if is_common(keys):
        return not _is_owned(sentence, keys) and _VALUING.isdisjoint(text.split())
    return any(theme_of(key) in SCENERY for key in keys) and not _PICTURES.isdisjoint(text.split())


def _is_owned(sentence: str, keys: Collection[str]) -> bool:
    """Return whether a sentence says whose the theme is, or of what kind: `her family`, `a family trip`."""
    at = theme_place(sentence, keys)
    words, spaced = plain_key(sentence).split(), sentence.split()
    spaced = spaced if len(spaced) == len(words) else words
    before = slice(max(0, at - _OWNING_WORDS), at)
    if any(one.endswith(_OWNER_SIGNS) for one in spaced[before]) or not _OWNERS.isdisjoint(words[before]):
        return True
    is_followed = at + 1 < len(words) and spaced[at][-1].isalnum()
    return is_followed and words[at + 1] not in STOP_WORDS


def _is_reaction(sentence: str) -> bool:
    """Return whether a sentence only states how one person reacted to another's deed: `Ana congratulated Rui on his painting`."""
    names = [one.name for one in runs(sentence)]
    met = _REACTION.match(sentence)
    if met is None or len(names) < 2:
        return False
    return sentence.startswith(names[0]) and sentence.find(names[1]) <= met.end()
