"""Size limits of a plan, and the continuation sections that hold the overflow. Reasons: docs/decisions.md.

A full section continues in sections of its own, `notes__2`, `notes__3`: a planner's own slug never has two underscores.
"""

from __future__ import annotations

import re

ITEMS = 40  # of one array of an answer
ITEMS_PER_SHOWN = 8  # or this many for each memory, page and mention in the prompt, if that is more
SECTION_CHARS = 8_000
CONTINUATIONS = 3
SUMMARY_CHARS = 1_000
HEADING_CHARS = 120
SECTIONS = 40
ALIASES = 60
TAGS = 60
HIGHLIGHT_CHARS = 300
ENDS = 10
EVIDENCE_CHARS = 300
STANDING_MEMORIES = 16
STANDING_CHARS = 8_000

_CONTINUED = re.compile(r"(.+)__(\d{1,4})")


def base(section_slug: str) -> str:
    """Return the slug of the section that this one continues, or the slug itself."""
    match = _CONTINUED.fullmatch(section_slug)
    return match[1] if match else section_slug


def number(section_slug: str) -> int:
    """Return the place of a section among its continuations: 1 for the section itself."""
    match = _CONTINUED.fullmatch(section_slug)
    return int(match[2]) if match else 1


def continuation(section_slug: str, at: int) -> str:
    """Return the slug of a section's part: `notes`, `notes__2`."""
    return base(section_slug) if at == 1 else f"{base(section_slug)}__{at}"


def heading(of: str, at: int) -> str:
    """Return the heading of a section's part: `Notes`, `Notes (2)`."""
    return of if at == 1 else f"{of[: HEADING_CHARS - 7].rstrip()} ({at})"
