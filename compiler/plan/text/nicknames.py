"""Finds nicknames and former names that a text gives: `Lubbert Kool, known on the water as the Pike`."""

from __future__ import annotations

import re

from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.sentences import sentences
from compiler.plan.text.words import NO_NAMES
from store.text.text_cache import cached_by_text

_WORD = r"[^\W\d_a-zß-ÿ](?=[^\W_]*[a-zß-ÿ])[\w'’-]*+"
_NAME = rf"{_WORD}(?:\s{_WORD}){{0,2}}"
# An aside between commas may stand between: `Devraj Kohli, CTO, goes by Dev`.
_ASIDE = r"(?:,\s[^,.;:!?]{1,40}(?=,))?"
_MARKS = r"""
known(?:\s\w+){0,4}\sas | nicknamed | goes\sby | (?:aka|a\.k\.a\.)
| genannt | mit\sSpitznamen
| (?:mejor\s)?conocid[oa](?:\s\w+){0,3}\scomo | apodad[oa] | alias
| (?:mais\s)?conhecid[oa](?:\s\w+){0,3}\s(?:como|por) | apelidad[oa](?:\sde)?
| connue?(?:\s\w+){0,3}\scomme | surnommée?
"""
_GIVEN = re.compile(
    rf"(?<![\w'’-])({_NAME}){_ASIDE},?\s\(?(?:who\s)?(?:is\s|was\s|also\s|better\s|auch\s|también\s|também\s|aussi\s)*"
    rf"(?:{_MARKS})\s(?:the\s|de\s|der\s|die\s|el\s|la\s|o\s|a\s|le\s)?[\"“'‘«]?({_WORD}(?:\s{_WORD})?)",
    re.VERBOSE,
)
_QUOTED = rf"[\"“'‘«]({_WORD}(?:\s{_WORD})?)[\"”'’»]"
_CALLED_SO = re.compile(
    rf"(?<![\w'’-])({_NAME}){_ASIDE},?\s(?:who\s)?(?:"
    rf"(?:is|was)\s(?:(?!now\s)\w+\s){{0,2}}called|(?:wants|wanted|prefers|preferred|likes|asked|asks)\sto\sbe\s(?:just\s)?called"
    rf"|se\shace\sllamar|(?:quiere|prefiere)\sque\s(?:la|lo|le)\sllamen|prefere\sser\schamad[oa](?:\s(?:de|por))?"
    rf"|nennt\ssich|se\sfait\sappeler"
    rf")\s[\"“'‘«]?({_WORD})(?![\w'’-]|\s[^\W\d_a-zß-ÿ])"
)
# `Everybody calls Devraj "Dev"`, `a Ana Sousa todos la llaman Nita`, `Petra wird von allen Pit genannt`.
_BY_ALL = re.compile(
    rf"\b(?i:everybody|everyone|people|friends|colleagues|they|we|most|all)(?:\s\w+){{0,3}}\scalls?\s({_NAME})\s{_QUOTED}"
)
_SAID_OF = re.compile(
    rf"\b[Aa]\s({_NAME})\s(?:\w+\s){{0,3}}(?:la|lo|le)\s(?:llaman|llamamos|dicen)\s[\"“'‘«]?({_WORD})"
    rf"|(?<![\w'’-])({_NAME})\s(?:wird|will|wurde)\s(?:\w+\s){{0,4}}?[\"“'‘„«]?({_WORD})[\"”'’“»]?\sgenannt"
)
_OWNING = re.compile(r"['’]s?$")
# `Lil Tibia's real name is Clive`
_REALLY = re.compile(
    rf"(?<![\w'’-])({_NAME})(?:\s(?:real|actual|proper)\sname\s(?:is|was)|,?\s(?:whose\sreal\sname\sis)"
    rf"|\sheißt\s(?:eigentlich|in\sWirklichkeit|wirklich)|\s(?:en\srealidad\sse\sllama|se\sllama\sen\srealidad)"
    rf"|\s(?:na\sverdade\sse\schama|chama-se\sna\sverdade)|\ss['’]appelle\sen\sréalité)\s({_NAME})"
)
# `Heron was renamed to Kestrel`, `Heron is now called Kestrel`: the old name stands for the new one.
_RENAMED = re.compile(
    rf"(?<![\w'’-])({_NAME})\s(?:was|is|has\sbeen|got|was\srecently)\s(?:renamed|now\s(?:called|named))"
    rf"(?:\s(?:to|as|into))?\s(?:the\s)?[\"“'‘]?({_NAME})"
    rf"|\brenamed\s(?:from\s)?(?:the\s)?[\"“'‘]?({_NAME})[\"”'’]?\s(?:to|as|into)\s(?:the\s)?[\"“'‘]?({_NAME})"
    rf"|(?<![\w'’-])({_NAME})\s(?:heißt\s(?:jetzt|nun|inzwischen)|(?:ahora|desde\sahora)\sse\sllama|pasó\sa\sllamarse"
    rf"|(?:agora\sse\schama|agora\schama-se|passou\sa\schamar-se)|s['’]appelle\s(?:maintenant|désormais))"
    rf"\s[\"“'‘„«]?({_NAME})"
)
# `We renamed Sparrow to Kestrel as a joke`, `Nobody renamed it`, `It was nearly renamed`, `Iva suggests that it is renamed`
_UNREAL = re.compile(
    r"\?|\b(?:jok(?:e|ed|ing|ingly)|prank|scherz\w*|witz\w*|broma|bromeando|brincadeira|blague|scherzo"
    r"|nobody|no one|never|not|\w+n['’]t|nearly|almost|if|would|could|should|might|may|suggest\w*|propos\w*|back"
    r"|nicht|nie|niemand|fast|beinahe|wenn|falls|würde|könnte|sollte|vielleicht"
    r"|no|nunca|nadie|casi|si|quizás|não|ninguém|quase|talvez|jamais|personne|presque|peut-être)\b",
    re.IGNORECASE,
)
_PLACED = re.compile(r"\b(?:in|at|of|from|near|by|to|von|aus|bei|en|de|do|da|à)(?:\sthe)?\s$", re.IGNORECASE)


@cached_by_text(4096)
def nicknames(text: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a nickname or former name and the name that it stands for, as written.

    The name is the last one before words like `known as`; one after a preposition is not what the sentence is about.
    """
    said = (one for pattern in (_GIVEN, _CALLED_SO) for one in pattern.finditer(text))
    every = [(one[2], one[1]) for one in said if not (_PLACED.search(text, 0, one.start()) or _is_noun(one[1], text))]
    every += [(one[2], one[1]) for one in _BY_ALL.finditer(text)]
    every += [(one[2] or one[4], one[1] or one[3]) for one in _SAID_OF.finditer(text)]
    every += [(_OWNING.sub("", one[1]), one[2]) for one in _REALLY.finditer(text)]
    real = (sentence for sentence in sentences(text) if not _UNREAL.search(sentence)) if _RENAMED.search(text) else ()
    renamed = (one for sentence in real for one in _RENAMED.finditer(sentence))
    every += [(one[1] or one[3] or one[5], one[2] or one[4] or one[6]) for one in renamed]
    return tuple(dict.fromkeys((nick, name) for nick, name in every if _are_names(nick, name)))


def _is_noun(name: str, text: str) -> bool:
    """Return whether a name is an ordinary word with which a text begins: `Boiler is called Jon`."""
    return " " not in name and text.startswith(name) and is_ordinary(plain_key(name))


def _are_names(nick: str, name: str) -> bool:
    if nick.endswith(("'s", "’s")):
        return False
    keys = plain_key(nick), plain_key(name)
    return keys[0] != keys[1] and not any(all(word in NO_NAMES for word in key.split()) for key in keys)
