"""Times on the command line: a year, a month, a day or an instant in ISO 8601, as an instant or with its precision."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

_SHAPES = ((r"\d{4}", "year", "-01-01"), (r"\d{4}-\d{2}", "month", "-01"), (r"\d{4}-\d{2}-\d{2}", "day", ""))
_CHARS = {"year": 4, "month": 7, "day": 10}


class DatedInstant(NamedTuple):
    """An instant and its precision: instant, day, month or year."""

    moment: datetime
    precision: str


class _DatedType(click.ParamType[DatedInstant]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> DatedInstant:
        """Return the first instant in UTC, with its precision; without a zone it is taken as UTC."""
        if isinstance(value, DatedInstant):
            return value
        unit, rest = next(
            ((unit, rest) for shape, unit, rest in _SHAPES if re.fullmatch(shape, value)), ("instant", "")
        )
        try:
            moment = datetime.fromisoformat(value + rest)
            return DatedInstant(moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC), unit)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time; write 2026, 2026-03, 2026-03-03 or 2026-03-03T14:05:00Z", param, ctx)


class _InstantType(click.ParamType[datetime]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the instant in UTC; a year, a month or a day is its first instant."""
        return value if isinstance(value, datetime) else DATED.convert(value, param, ctx).moment


DATED = _DatedType()
INSTANT = _InstantType()


def written(moment: datetime, precision: str) -> str:
    """Return the instant in ISO 8601 (UTC), to its precision."""
    text = moment.astimezone(UTC).isoformat(timespec="minutes")
    return text[: _CHARS[precision]] if precision in _CHARS else f"{text[:16]}Z"
