"""Intake filter: drops noise before planning, with a reason for each dropped memory."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from compiler.plan.contract import BatchMemory
from compiler.plan.text.change import content_words
from store.text.texts import fold

EMPTY = "empty"
FRAGMENT = "fragment"
SELF_REFERENCE = "self_reference"

_ASSISTANT = re.compile(
    r"""\b(?: as\ an?\ (?:ai|artificial|large)\ (?:language\ )?(?:model|assistant)
    | i(?:'m|\ am)\ (?:just\ )?an?\ (?:ai|language\ model|virtual\ assistant)
    | (?:the\ |this\ )?(?:assistant|agent|chatbot|model)\ (?:
        offered|asked\ (?:how|if|whether)|apologi[sz]ed|greeted|acknowledged|thanked)
    | how\ (?:can|may)\ i\ (?:help|assist)\ you )\b""",
    re.VERBOSE,
)
_DANGLING = re.compile(
    r"(?: \b(?:and|or|but|the|of|to|with|because|that|which|und|oder|et|ou|y|e) | [,;:(\[{&/-] )\s*$",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class IntakeRules:
    """The kinds of memories to drop. `patterns` are further regular expressions of noise, searched in the folded text."""

    min_content_words: int = 2
    drop_self_reference: bool = True
    drop_fragments: bool = True
    patterns: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A memory that is not read, with the reason: empty, fragment, self_reference or pattern."""

    memory_id: str
    reason: str


def sift(
    memories: Iterable[BatchMemory], *, rules: IntakeRules | None = None
) -> tuple[tuple[BatchMemory, ...], tuple[Dropped, ...]]:
    """Return the memories worth reading, in order, and the dropped ones with their reasons."""
    chosen = rules or IntakeRules()
    kept: list[BatchMemory] = []
    dropped: list[Dropped] = []
    for memory in memories:
        reason = _noise(memory, chosen)
        if reason:
            dropped.append(Dropped(memory.memory_id, reason))
        else:
            kept.append(memory)
    return tuple(kept), tuple(dropped)


def _noise(memory: BatchMemory, rules: IntakeRules) -> str:
    """Return why the memory is noise, empty if it is not. A memory with metadata is never a fragment."""
    words = content_words(memory.text)
    if not words:
        return EMPTY
    folded = fold(memory.text)
    if rules.drop_self_reference and _ASSISTANT.search(folded) and len(words) < 40:
        return SELF_REFERENCE
    if any(pattern.search(folded) for pattern in rules.patterns):
        return "pattern"
    few = len(words) < rules.min_content_words and folded.isascii()
    dangling = len(words) < 4 and _DANGLING.search(memory.text.rstrip()) is not None
    return FRAGMENT if rules.drop_fragments and not memory.metadata and (few or dangling) else ""
