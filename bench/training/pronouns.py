"""Questions to a conversation with pronouns instead of names, as people ask them once a person has been mentioned.

Before each of them, a question about a nearby part of the conversation is asked and answered in the same thread.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from bench.recall.cases import ADVERSARIAL, Conversation, Question
from sidecar.v1 import context_pb2

_NEAR = 40  # turns
_PRONOUNS = (("her", "she"), ("his", "he"))  # of the speakers in turn


@dataclass(frozen=True, slots=True)
class PronounQuestion:
    """A question with pronouns, the question that it was made from, and the exchange before it."""

    text: str
    question: Question
    before: tuple[str, str]

    def exchange(self, turn_id: str) -> list[context_pb2.NewTurn]:
        """Return the earlier exchange as two turns, whose ids begin with `turn_id`."""
        roles = zip(("user", "assistant"), self.before, strict=True)
        return [context_pb2.NewTurn(client_turn_id=f"{turn_id}-{role}", role=role, text=text) for role, text in roles]


def drawn(conversation: Conversation, count: int, chance: random.Random) -> list[PronounQuestion]:
    """Return up to `count` questions that name a speaker, each after a question whose evidence is near but not the same."""
    answerable = [one for one in conversation.questions if one.category != ADVERSARIAL and one.gold]
    questions = []
    for question in chance.sample(answerable, len(answerable)):
        text = without_names(question.text, sorted({turn.speaker for turn in conversation.turns}))
        near = [
            one for one in answerable if {*one.gold}.isdisjoint(question.gold) and _distance(one, question) <= _NEAR
        ]
        if text != question.text and near:
            first = chance.choice(near)
            questions.append(PronounQuestion(text, question, (first.text, conversation.turns[first.gold[0]].text)))
    return questions[:count]


def without_names(text: str, speakers: Sequence[str]) -> str:
    """Return the text with pronouns instead of these names, full or first names."""
    for speaker, (possessive, subject) in zip(speakers, cycle(_PRONOUNS)):
        for name in (speaker, speaker.split()[0]):
            text = re.sub(rf"\b{re.escape(name)}['’]s\b", possessive, text)
            text = re.sub(rf"\b{re.escape(name)}\b", subject, text)
    return text


def _distance(one: Question, other: Question) -> int:
    return min(abs(first - second) for first in one.gold for second in other.gold)
