"""Lines that a section keeps beside its present text: what stood there earlier, and what a tool, document or webhook claims.

Each is a bullet that names where it comes from and the day it was said. A writer is not shown these lines and can't change them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from compiler.plan.contract import BatchMemory
from compiler.plan.facts.facts import holds_all, read
from compiler.plan.text.markdown import escape, one_line, unescape

ORIGIN_KEYS = ("origin", "source", "source_type", "role")

_MARK = re.compile(r"- (Earlier|Claimed) \((?:user|tool|document|webhook)(?:, \d{4}-\d{2}-\d{2})?\): (.*\S)")
_ITEM = re.compile(r"^\s*(?:[-*+]\s+|\d{1,9}[.)]\s+|#{1,6}\s+|>\s?)+")
_OUTSIDE = re.compile(r"\]\(\s*<?((?:https?://|mailto:)[^)\s>]+)>?[^)]*\)")


class Origin(StrEnum):
    """Where a memory comes from. What the user said is replaced by the user alone."""

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
    """Return where a memory comes from, by its metadata's `origin` (else `source`, `source_type` or `role`); else the user."""
    given = (memory.metadata.get(key) for key in ORIGIN_KEYS)
    told = (_ORIGINS.get(one.strip().casefold()) for one in given if isinstance(one, str))
    return next((one for one in told if one is not None), Origin.USER)


def split(markdown: str) -> tuple[str, tuple[str, ...]]:
    """Return a section's present text and the lines that are kept beside it, in order."""
    if "- Earlier (" not in markdown and "- Claimed (" not in markdown:
        return markdown, ()
    lines = markdown.split("\n")
    kept = tuple(line for line in lines if _MARK.fullmatch(line))
    return "\n".join(line for line in lines if not _MARK.fullmatch(line)).strip("\n"), kept


def join(present: str, kept: Iterable[str]) -> str:
    """Return a present text with the lines that are kept beside it, each once, without those that it says again itself."""
    said = {one.words for one in read(plain(present))}
    lines = [line for line in dict.fromkeys(kept) if not any(one.words in said for one in read(said_in(line)))]
    listed = "\n".join(lines)
    return "\n\n".join(part for part in (present.strip("\n"), listed) if part)


def earlier(said: str, memory: BatchMemory | None) -> str:
    """Return the line for a sentence that was replaced; `memory` is the one that it came from, None if not known."""
    return _line("Earlier", said, memory)


def claimed(said: str, memory: BatchMemory) -> str:
    """Return the line for a sentence that contradicts the user; `memory` is the one of another origin that says it."""
    return _line("Claimed", said, memory)


def inert(markdown: str) -> str:
    """Return the markdown with lines that look like kept ones escaped: they read the same, but are not kept."""
    if "Earlier (" not in markdown and "Claimed (" not in markdown:
        return markdown
    return "\n".join(line.replace("(", "\\(", 1) if _MARK.fullmatch(line) else line for line in markdown.split("\n"))


def borne_out(markdown: str, memories: Iterable[BatchMemory]) -> tuple[str, ...]:
    """Return the kept lines of a section whose words and facts all stand in one of these memories."""
    texts = [memory.text for memory in memories]
    return tuple(
        line
        for line in split(markdown)[1]
        if (said := read(said_in(line))) and all(any(holds_all(text, one) for text in texts) for one in said)
    )


def said_in(line: str) -> str:
    """Return the plain sentence of a kept line."""
    found = _MARK.fullmatch(line)
    return unescape(found[2]) if found else ""


def plain(markdown: str) -> str:
    """Return the text that a markdown shows, line by line, with the addresses that its links lead to outside the wiki."""
    lines = (_ITEM.sub("", line) for line in markdown.split("\n"))
    return "\n".join(unescape(_OUTSIDE.sub(r"](x) \1", line)) for line in lines)


def _line(word: str, said: str, memory: BatchMemory | None) -> str:
    told = f"{origin(memory)}, {memory.occurred_at.date().isoformat()}" if memory else Origin.USER
    return f"- {word} ({told}): {escape(one_line(said))}"
