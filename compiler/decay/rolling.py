"""Summarises a thread's turns in their own words: a line for each turn with lasting content. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.plan.text.markdown import first_sentence, one_line
from store.content.summaries import OlderTurn
from store.text.sentences import sentence_spans
from store.text.texts import telling_weight

MAX_CHARS = 4_000

_LINE_CHARS = 160
_LEAST_WEIGHT = 3  # "Sure!" and "Sounds good to me" are below it


def rolled(before: str, turn_ids: Sequence[str], turns: Iterable[OlderTurn]) -> tuple[str, Sequence[str]]:
    """Return the summary `before` with a line for each new turn with lasting content, and the turn ids of its last lines.

    A turn's line is its sentence of most weight. If the summary is too long, the lines of least weight are dropped, the
    oldest of them first. `turn_ids` are those of the last lines of `before`.
    """
    lines = before.splitlines()
    known = list(turn_ids) if len(turn_ids) <= len(lines) else []
    held = [*[""] * (len(lines) - len(known)), *known]
    for turn in turns:
        sentence = _telling_sentence(turn.text) if turn.role in {"user", "assistant"} else ""
        if sentence:
            lines.append(f"{turn.speaker or turn.role}: {sentence}")
            held.append(str(turn.turn_id))
    size = sum(len(line) + 1 for line in lines)
    dropped: set[int] = set()
    for place in sorted(range(len(lines)), key=lambda place: (telling_weight(lines[place]), place)):
        if size <= MAX_CHARS or len(dropped) == len(lines) - 1:
            break
        size -= len(lines[place]) + 1
        dropped.add(place)
    kept = [place for place in range(len(lines)) if place not in dropped]
    # Lines whose turns are unknown come first, so the known turns are those of the last lines.
    return "\n".join(lines[place] for place in kept), [held[place] for place in kept if held[place]]


def _telling_sentence(text: str) -> str:
    """Return the sentence of a turn with the most weight; empty if none has enough."""
    line = one_line(text)
    sentences = [line[start:end] for start, end in sentence_spans(line, 0, len(line))]
    best = max(sentences, key=telling_weight, default="")
    return first_sentence(best, most_chars=_LINE_CHARS) if telling_weight(best) >= _LEAST_WEIGHT else ""
