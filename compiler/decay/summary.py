"""The summary of several memories or episodes: a pure function of the sources and their order.

A summary never has more trust than its sources: it takes the lowest confidence and the least trusted authority, and it names
every memory or turn at the start of the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from store.content.tiers import least_trusted

DECAY_SUMMARY_CLAIM_SEPARATOR = "\n"
DECAY_SUMMARY_MAX_CLAIM_BYTES = 512
DECAY_SUMMARY_TRUNCATION_SUFFIX = " […]"

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LEAST_TRUSTED_ORIGINS = ("tool", "webhook", "document")


@dataclass(frozen=True, slots=True)
class DecaySource:
    """A memory or an episode's summary to compress.

    `episodes` and `events` name the episodes, and the turns or memories, that it was made from; both are empty for a memory
    that was not made from others.
    """

    id: str
    claim: str
    confidence: float
    authority: str
    occurred_at: datetime
    domains: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()
    origin: str = ""

    @property
    def leaves(self) -> tuple[str, ...]:
        """The events at the start of the chain: its own id if it was made from none."""
        return self.events or (self.id,)


@dataclass(frozen=True, slots=True)
class DecaySummary:
    """The content of a summary, without its id and the instant of its creation."""

    claim: str
    confidence: float
    authority: str
    occurred_at: datetime
    domains: tuple[str, ...]
    episodes: tuple[str, ...]
    events: tuple[str, ...]
    turn_ids: tuple[str, ...]
    origin: str


def summarise(sources: Sequence[DecaySource], claim: str | None = None, *, least_sources: int = 2) -> DecaySummary:
    """Return the summary of the sources, in their order; a repeated source counts once.

    The claims are joined by the separator and cut to 512 bytes of UTF-8, suffix included; a given `claim` replaces them, cut
    to the same size. `occurred_at` is that of the newest source. `origin` is the least trusted origin of the sources.
    Raises ValueError for fewer than `least_sources`.
    """
    distinct = list({one.id: one for one in sources}.values())
    if len(distinct) < least_sources:
        raise ValueError(f"a summary needs {least_sources} sources, and has {len(distinct)}")
    origins = {one.origin for one in distinct}
    return DecaySummary(
        claim=cut_claim(DECAY_SUMMARY_CLAIM_SEPARATOR.join(one.claim for one in distinct) if claim is None else claim),
        confidence=min(one.confidence for one in distinct),
        authority=least_trusted(one.authority for one in distinct),
        occurred_at=max(one.occurred_at for one in distinct),
        domains=_union(distinct, lambda one: one.domains),
        episodes=_union(distinct, lambda one: one.episodes),
        events=_union(distinct, lambda one: one.leaves),
        turn_ids=_union(distinct, lambda one: one.turn_ids),
        origin=next((origin for origin in _LEAST_TRUSTED_ORIGINS if origin in origins), ""),
    )


def cut_claim(claim: str) -> str:
    """Return the claim in at most 512 bytes of UTF-8: whole if it fits, else its start with the suffix."""
    encoded = claim.encode()
    if len(encoded) <= DECAY_SUMMARY_MAX_CLAIM_BYTES:
        return claim
    room = DECAY_SUMMARY_MAX_CLAIM_BYTES - len(DECAY_SUMMARY_TRUNCATION_SUFFIX.encode())
    return encoded[:room].decode(errors="ignore") + DECAY_SUMMARY_TRUNCATION_SUFFIX


def ulid(made_at: datetime, randomness: int) -> str:
    """Return a ULID, 26 characters: the instant in milliseconds, then 80 bits of `randomness` (github.com/ulid/spec)."""
    number = (int(made_at.timestamp() * 1000) << 80) | (randomness & ((1 << 80) - 1))
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def _union(sources: Iterable[DecaySource], of: Callable[[DecaySource], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the distinct values, in order of first appearance."""
    return tuple(dict.fromkeys(value for one in sources for value in of(one)))
