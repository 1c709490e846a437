"""Lines that a section keeps besides its present text: earlier statements, and claims of a tool, document or webhook.

Each is a bullet with its origin and the day it was said. A writer is not shown these lines and cannot change them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from compiler.plan.contract import BatchMemory
from compiler.plan.facts.facts import holds_all, read, words_of
from compiler.plan.text.markdown import escape, one_line, unescape

ORIGIN_KEYS = ("origin", "source", "source_type", "role")

_MARK = re.compile(r"- (Earlier|Claimed) \((?:user|tool|document|webhook)(?:, \d{4}-\d{2}-\d{2})?\): (.*\S)")
_ITEM = re.compile(r"^\s*(?:[-*+]\s+|\d{1,9}[.)]\s+|#{1,6}\s+|>\s?)+")
_OUTSIDE = re.compile(r"\]\(\s*<?((?:https?://|mailto:)[^)\s>]+)>?[^)]*\)")


class Origin(StrEnum):
    """The origin of a memory. A user's statement is replaced only by the user."""

    USER = "user"
    TOOL = "tool"
    DOCUMENT = "document"
    WEBHOOK = "webhook"


_ORIGINS = {
    "user": Origin.USER,
    **dict.fromkeys(("tool", "tools", "tool_call", "tool_result", "function", "api"), Origin.TOOL),
    **dict.fromkeys(("document", "documents", "file", "page", "web", "webpage", "website", "email"), Origin.DOCUMENT),
    **dict.fromkeys(("webhook", "webhooks", "event"), Origin.WEBHOOK),
}


def origin(memory: BatchMemory) -> Origin:
    """Return a memory's origin by its metadata's `origin` (else `source`, `source_type` or `role`); else the user."""
    return origin_of(memory.metadata)


def origin_of(metadata: Mapping[str, Any]) -> Origin:
    """Return the origin that a memory's metadata names, as `origin` does."""
    values = (metadata.get(key) for key in ORIGIN_KEYS)
    origins = (_ORIGINS.get(one.strip().casefold()) for one in values if isinstance(one, str))
    return next((one for one in origins if one is not None), Origin.USER)


def split(markdown: str) -> tuple[str, tuple[str, ...]]:
    """Return a section's present text and its kept lines, in order."""
    if "- Earlier (" not in markdown and "- Claimed (" not in markdown:
        return markdown, ()
    lines = markdown.split("\n")
    kept = tuple(line for line in lines if _MARK.fullmatch(line))
    return "\n".join(line for line in lines if not _MARK.fullmatch(line)).strip("\n"), kept


def join(present: str, kept: Iterable[str]) -> str:
    """Return the present text with the kept lines, each once, without kept lines that the present text repeats."""
    kept = tuple(dict.fromkeys(kept))
    present_words = words_of(plain(present)) if kept else frozenset()
    lines = [line for line in kept if present_words.isdisjoint(words_of(sentence_of(line)))]
    listed = "\n".join(lines)
    return "\n\n".join(part for part in (present.strip("\n"), listed) if part)


def earlier(sentence: str, memory: BatchMemory | None) -> str:
    """Return the line for a replaced sentence; `memory` is its source, None if unknown."""
    return _line("Earlier", sentence, memory)


def claimed(sentence: str, memory: BatchMemory) -> str:
    """Return the line for a sentence that contradicts the user; `memory` is its source, of another origin."""
    return _line("Claimed", sentence, memory)


def inert(markdown: str) -> str:
    """Return the markdown with lines that look like kept lines escaped: they render the same but are not kept lines."""
    if "Earlier (" not in markdown and "Claimed (" not in markdown:
        return markdown
    return "\n".join(line.replace("(", "\\(", 1) if _MARK.fullmatch(line) else line for line in markdown.split("\n"))


def supported_lines(markdown: str, memories: Iterable[BatchMemory]) -> tuple[str, ...]:
    """Return the kept lines of a section whose words and facts all occur in one of these memories."""
    texts = [memory.text for memory in memories]
    return tuple(
        line
        for line in split(markdown)[1]
        if (stated := read(sentence_of(line))) and all(any(holds_all(text, one) for text in texts) for one in stated)
    )


def sentence_of(line: str) -> str:
    """Return the plain sentence of a kept line."""
    found = _MARK.fullmatch(line)
    return unescape(found[2]) if found else ""


def plain(markdown: str) -> str:
    """Return the visible text of markdown, line by line, with the external addresses of its links."""
    lines = (_ITEM.sub("", line) for line in markdown.split("\n"))
    return "\n".join(unescape(_OUTSIDE.sub(r"](x) \1", line) if "](" in line else line) for line in lines)


def _line(word: str, sentence: str, memory: BatchMemory | None) -> str:
    label = f"{origin(memory)}, {memory.occurred_at.date().isoformat()}" if memory else Origin.USER
    return f"- {word} ({label}): {escape(one_line(sentence))}"
