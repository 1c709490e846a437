"""Sentences of a conversation that answer the other speaker instead of telling something: praise, wishes, advice, echoes.

They speak of what somebody else said, so a page that quotes them says nothing new, and often of the wrong person.
"""

from __future__ import annotations

import re

from compiler.plan.names.spotting import speaker_of
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import FIRST_PERSON, INTERJECTIONS, SECOND_PERSON

_ECHO = re.compile(
    r"^(?:(?:i|im|id|ive|so|really|just|we)\s)*(?:am\s)?(?:so\s|really\s|very\s|totally\s|truly\s|also\s)*"
    r"(?:glad|happy|sorry|sure|proud|excited|thrilled|hope|hoping|bet|guess|wish|love|admire|appreciate|respect|see|understand|know"
    r"|agree|think|believe|suggest|recommend|thanks|thank|can (?:see|imagine|tell|relate)|cant wait)\b(?:\s\S+){0,3}?\s"
    r"(?:you|your|youre|youve|yours)\b"
)
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
_AGREEING = frozenset(["indeed", "truly", "definitely", "certainly", "absolutely"])


def is_reply(sentence: str) -> bool:
    """Return whether a sentence of a conversation only answers what the other said."""
    said = plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))
    words = said.split()
    while words and words[0] in INTERJECTIONS - FIRST_PERSON:
        words.pop(0)
    said = " ".join(words)
    is_own, is_addressed = not FIRST_PERSON.isdisjoint(words), not SECOND_PERSON.isdisjoint(words)
    if is_addressed and (not is_own or _ECHO.match(said)):
        return True
    answers = _SEEMING.match(said) or _ADVISING.match(said) or _PRAISING.match(said)
    return not is_own and bool(answers or not _AGREEING.isdisjoint(words))
