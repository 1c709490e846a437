"""Times on the command line."""

from __future__ import annotations

from datetime import UTC, datetime

import click


class Instant(click.ParamType[datetime]):
    """A date or a time in ISO 8601, taken as UTC without an offset."""

    name = "time"

    def convert(self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the instant in UTC; a date is its first moment."""
        if isinstance(value, datetime):
            return value
        try:
            instant = datetime.fromisoformat(value)
            return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time; send a date such as 2026-03-01, or 2026-03-01T16:20:00Z", param, ctx)


INSTANT = Instant()
