"""Reads the demo's data from the files of this package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sidecar.ingest.exports.conversation import ImportedTurn
from sidecar.ingest.exports.conversations import conversations_at
from sidecar.ingest.exports.memories import ImportedMemory, read_memories

TENANT = "demo"
OWNER = "mara"
AGENT = "assistant"
BASE = "demo"
THREAD = "toronto-and-austin"
TITLE = "Toronto and Austin"
MODEL = "gpt-4o"
BUDGET_TOKENS = 3000
WIKI_FLOOR_TOKENS = (
    160  # without a floor, a page would get none of so small a budget, because the memories have the same content
)

_DATA = Path(__file__).parent / "data"
_QUESTION = "question-03"


@dataclass(frozen=True, slots=True)
class File:
    """A document: its path in the knowledge base, and its bytes."""

    path: str
    content: bytes


def memories() -> list[ImportedMemory]:
    """Return the journal, oldest entry first."""
    parsed = read_memories("memories.jsonl", (_DATA / "memories.jsonl").read_bytes())
    return [one for one in parsed if isinstance(one, ImportedMemory)]


def turns() -> list[ImportedTurn]:
    """Return the conversation, oldest turn first."""
    conversations = conversations_at(_DATA / "thread.jsonl")
    return [turn for one in conversations if not hasattr(one, "reason") for turn in one.turns]


def message() -> str:
    """Return the question, whose answer is partly in the thread, the documents, the memories and the pages."""
    lines = (_DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return next(str(one["message"]) for one in map(json.loads, lines) if one["id"] == _QUESTION)


def documents() -> list[File]:
    """Return the person's documents."""
    return [File(path.name, path.read_bytes()) for path in sorted((_DATA / "documents").iterdir())]
