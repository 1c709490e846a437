"""The evaluation data as cases: conversations with facts and questions, documents with questions, and the scoring of answers.

The data are not part of this project; `--data` names their folder. A gold turn is found if its text is in the context, a gold
span sentence by sentence; a context over its budget counts as empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

SETS = ("locomo", "realtalk")
"""The folders of conversations with questions."""

CORPORA = ("finance", "state_of_the_union", "wikitexts")
ADVERSARIAL = 5

_SPACES = re.compile(r"\s+")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a conversation: `at` is when it was said, `session` when its session began."""

    id: str
    speaker: str
    text: str
    session: datetime
    at: datetime


@dataclass(frozen=True, slots=True)
class Fact:
    """An observation, with the positions of the turns that it was drawn from."""

    text: str
    at: datetime
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a conversation: its category, and the positions of the turns that hold the evidence."""

    text: str
    category: int
    gold: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation: its turns in order, the observations drawn from it, and the questions about it."""

    name: str
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """A question to a corpus, and the squashed sentences of its gold spans."""

    text: str
    corpus: str
    sentences: tuple[str, ...]


def conversations(data: Path, name: str = SETS[0]) -> tuple[Conversation, ...]:
    """Return the conversations of one of `SETS`."""
    read = json.loads((data / name / "conversations.json").read_text(encoding="utf-8"))
    return tuple(_conversation(one) for one in read)


def document_questions(data: Path) -> tuple[DocumentQuestion, ...]:
    """Return the questions to the corpora."""
    texts = {name: (data / "kb" / f"{name}.md").read_text(encoding="utf-8") for name in CORPORA}
    read = json.loads((data / "kb" / "questions.json").read_text(encoding="utf-8"))
    return tuple(
        DocumentQuestion(one["question"], one["corpus"], tuple(_sentences(texts[one["corpus"]], one["spans"])))
        for one in read
    )


def squash(text: str) -> str:
    """Return the text for comparison: HTML entities decoded, runs of white space replaced by a space."""
    return _SPACES.sub(" ", unescape(text)).strip()


def plain(text: str) -> str:
    """Return the text of a page for comparison: squashed, links replaced by their labels."""
    return _LINK.sub(r"\1", squash(text))


def _sentences(corpus: str, spans: Iterable[Sequence[int]]) -> Iterable[str]:
    for first, end in spans:
        for sentence in _SENTENCE_END.split(corpus[first:end]):
            if squash(sentence):
                yield squash(sentence)


def _conversation(read: dict) -> Conversation:  # type: ignore[type-arg]  # plain JSON
    turns = tuple(turn for session in read["sessions"] for turn in _turns(session))
    places = {turn.id: place for place, turn in enumerate(turns)}
    facts = tuple(
        Fact(one["text"], _when(one["date"]), tuple(places[ref] for ref in one["evidence"] if ref in places))
        for one in read["observations"]
    )
    questions = tuple(
        Question(one["text"], one["category"], tuple(places[ref] for ref in one["evidence"]))
        for one in read["questions"]
    )
    return Conversation(read["id"], turns, facts, questions)


def _turns(session: dict) -> Iterable[Turn]:  # type: ignore[type-arg]  # plain JSON
    began = _when(session["date"])
    for place, turn in enumerate(session["turns"]):
        at = _when(turn["at"]) if "at" in turn else began + timedelta(seconds=place)
        yield Turn(turn["id"], turn["speaker"], turn["text"], began, at)


def _when(text: str) -> datetime:
    form = "%I:%M %p on %d %B, %Y" if "on" in text else "%d.%m.%Y, %H:%M:%S"
    return datetime.strptime(text, form).replace(tzinfo=UTC)
