"""Reports imports from files: skipped parts, and the amount stored when an import ends early."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from sidecar.cli.shared.failures import Interrupted
from sidecar.cli.shared.output import Voice
from sidecar.client import RequestUnusable, SidecarCallError

V = TypeVar("V")
R = TypeVar("R")

_REASONS_SHOWN = 20
_PLACE = re.compile(r"\w+\[(\d+)\]")
_AGAIN = "Run the same command again to store the rest; nothing is stored twice."


@contextmanager
def resumable(voice: Voice, stored: Callable[[], str]) -> Iterator[None]:
    """Report the stored amount when a call fails or Ctrl-C ends an import.

    `stored` returns the amount, such as "500 of 1,200 memories", or empty for none. Raises Interrupted for Ctrl-C.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; stored so far: {stored() or 'nothing'}. {_AGAIN}") from None
    except SidecarCallError:
        if amount := stored():
            voice.note(f"Stored so far: {amount}. {_AGAIN}")
        raise


def sent_without_refused(
    batch: Sequence[V], send: Callable[[Sequence[V]], R], refused: Callable[[V, str], None]
) -> tuple[R | None, int]:
    """Send a batch without the values that the service refuses, which `refused` gets with the reasons.

    Return the answer, None if every value is refused, and the number of values that were sent.
    """
    left = list(batch)
    while left:
        try:
            return send(left), len(left)
        except RequestUnusable as error:
            place = _PLACE.match(error.field)
            if not place or int(place[1]) >= len(left):
                raise
            refused(left.pop(int(place[1])), error.message.removeprefix(place[0]).lstrip(".: "))
    return None, 0


def drawn_refusals(skipped: Sequence[str], *, lost: int) -> Iterator[str]:
    """Yield the first reasons for skipped pieces, and how to continue if `lost` of them have content."""
    yield from (f"skipped {reason}" for reason in skipped[:_REASONS_SHOWN])
    if len(skipped) > _REASONS_SHOWN:
        yield f"… {len(skipped) - _REASONS_SHOWN:,} more were skipped; --json lists all"
    if lost:
        yield f"{lost:,} refused: correct them in the file and run the same command again; nothing is stored twice"
