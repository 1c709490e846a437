"""Our own messages: small talk, messages that ask, and questions about the user's life or general knowledge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.training.fitting_worth import ASKING, KNOWLEDGE, LIFE

TALK_FILE = Path(__file__).with_name("small_talk.json")
PERSONAL_FILE = Path(__file__).with_name("personal.json")


def talk_messages(kind: str, half: str = "fitted") -> list[str]:
    """Return the messages of a kind, `small_talk` or `asking`, in eight languages, of a half, `fitted` or `held`."""
    read: dict[str, Any] = json.loads(TALK_FILE.read_text(encoding="utf-8"))
    return [message for messages in read[kind].get(half, {}).values() for message in messages]


def own_questions(half: str = "") -> Iterator[tuple[str, str]]:
    """Yield the group and text of our own questions: those fitted on, or with `half` "held ", those held back."""
    if not half:
        yield from ((ASKING, message) for message in talk_messages("asking"))
    read: dict[str, dict[str, list[str]]] = json.loads(PERSONAL_FILE.read_text(encoding="utf-8"))
    for group, kind in ((LIFE, f"{half}personal"), (KNOWLEDGE, f"{half}general")):
        yield from ((group, message) for messages in read[kind].values() for message in messages)
