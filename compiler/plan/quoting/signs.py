"""The words and signs that the patterns of definitions share."""

from __future__ import annotations

from compiler.plan.lexicon import definition_words


def _alternatives() -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for line in definition_words.WORDS.strip().split("\n"):
        if not line.startswith(" "):
            words = found.setdefault(line, [])
        else:
            words.extend(line.partition(":")[2].split())
    return {row: "|".join(dict.fromkeys(words)).replace("_", " ") for row, words in found.items()}


ANY = _alternatives()
"""The words of all languages by their role, as alternatives of a pattern."""

NAME, LABELLED = "\x04", "\x01"
"""Signs in a marked sentence: the subject's name, and a label."""

COMMA, STOP = "\x02", "\x03"
"""Signs of a comma or opening bracket, after which a definition may follow, and of another stop."""
