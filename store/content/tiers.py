"""The trust in a memory: its status, and the tier of its authority."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum


class MemoryStatus(StrEnum):
    """An accepted memory is recalled and compiled; a candidate is recalled as unconfirmed; a rejected one is only listed."""

    CANDIDATE = "candidate"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class AuthorityTier(IntEnum):
    """The source of a memory's authority, least trusted first."""

    DERIVED = 0
    CANDIDATE = 1
    AGENT = 2
    USER = 3

    @classmethod
    def parse(cls, authority: str) -> AuthorityTier:
        """Return the tier of a stored authority, in any case; an unknown one is DERIVED, the least trusted."""
        return _BY_NAME.get(authority.lower(), cls.DERIVED)

    @property
    def trust_rank(self) -> int:
        """Return 0 for the least trusted tier, 3 for the most."""
        return int(self)


_BY_NAME = {tier.name.lower(): tier for tier in AuthorityTier}


@dataclass(frozen=True, slots=True)
class AgedCandidate:
    """A candidate that may be compressed. `reads` counts the contexts that contained it, of `contexts` in all.

    `bytes_behind` is the size of the texts of all aged candidates that are in a summary or in a waiting job.
    """

    memory_id: str
    text: str
    occurred_at: datetime
    document_id: str
    reads: int = 0
    contexts: int = 0
    bytes_behind: int = 0


def least_trusted(authorities: Iterable[str]) -> str:
    """Return the authority of the lowest tier, as spelled; of several in that tier, the first."""
    return min(authorities, key=AuthorityTier.parse)
