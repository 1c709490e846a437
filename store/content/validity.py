"""The period in which a memory is valid, and its text form in ISO dates, which fit every language. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from store.text.sentences import sentence_spans

_CLOSING = ".!?…。！？\"'”’»)]} \t"


class ValidPrecision(StrEnum):
    """The precision of an instant."""

    INSTANT = "instant"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"

    def floor(self, moment: datetime) -> datetime:
        """Return the start of the unit (UTC) that contains the instant; the instant itself for INSTANT."""
        utc = moment.astimezone(UTC)
        match self:
            case ValidPrecision.INSTANT:
                return utc
            case ValidPrecision.DAY:
                return utc.replace(hour=0, minute=0, second=0, microsecond=0)
            case ValidPrecision.MONTH:
                return ValidPrecision.DAY.floor(utc).replace(day=1)
            case ValidPrecision.YEAR:
                return ValidPrecision.DAY.floor(utc).replace(month=1, day=1)

    def written(self, moment: datetime) -> str:
        """Return the instant in ISO 8601 (UTC) with this precision: 2026, 2026-03, 2026-03-03 or 2026-03-03T14:05Z."""
        text = moment.astimezone(UTC).isoformat(timespec="minutes")
        return {"instant": f"{text[:16]}Z", "day": text[:10], "month": text[:7], "year": text[:4]}[self]


@dataclass(frozen=True, slots=True)
class Validity:
    """The period [valid_from, valid_until) in which a memory is valid; None means no bound."""

    valid_from: datetime | None = None
    valid_until: datetime | None = None
    valid_precision: ValidPrecision = ValidPrecision.INSTANT
    until_precision: ValidPrecision = ValidPrecision.INSTANT

    @property
    def is_open(self) -> bool:
        """Whether it has no bounds."""
        return self.valid_from is None and self.valid_until is None

    def holds_at(self, moment: datetime) -> bool:
        """Return whether the memory is valid at an instant."""
        has_begun = self.valid_from is None or self.valid_from <= moment
        return has_begun and (self.valid_until is None or moment < self.valid_until)

    def in_words(self) -> str:
        """Return "from 2025-01 until 2026-03-03", or the bound that is set; empty without bounds.

        It says nothing of the present, and so stays true as time passes.
        """
        parts = (
            f"from {self.valid_precision.written(self.valid_from)}" if self.valid_from else "",
            f"until {self.until_precision.written(self.valid_until)}" if self.valid_until else "",
        )
        return " ".join(part for part in parts if part)

    def marked(self, text: str) -> str:
        """Return the text with `in_words()` in parentheses at the end of each sentence, so that a quoted sentence keeps it."""
        if self.is_open:
            return text
        mark = f" ({self.in_words()})"
        return "\n".join("".join(_marked(line, mark)) for line in text.split("\n"))


OPEN = Validity()
"""At all times."""


def validity_of(row: Any) -> Validity:
    """Return the validity in a memory's row."""
    if row["valid_from"] is None and row["valid_until"] is None:
        return OPEN
    precisions = ValidPrecision(row["valid_precision"]), ValidPrecision(row["until_precision"])
    return Validity(row["valid_from"], row["valid_until"], *precisions)


def _marked(line: str, mark: str) -> Iterator[str]:
    done = 0
    for start, end in sentence_spans(line, 0, len(line), shortest_chars=0):
        sentence = line[start:end].rstrip(_CLOSING)
        yield line[done:start] + sentence + (mark if sentence else "") + line[start + len(sentence) : end]
        done = end
    yield line[done:]
