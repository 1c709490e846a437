"""What decays, and together with what: a pure function of the candidates and the policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from compiler.decay.summary import DECAY_SUMMARY_CLAIM_SEPARATOR, cut_claim
from store.content.tiers import AgedCandidate
from store.text.texts import telling_weight


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """Candidates older than `age_days` are compressed, `most_sources` at most in one summary and at least two.

    One stays that tells more than `most_salience` (its names, numbers and telling words), or that stood in more than
    `most_reads` of a hundred contexts of the last `read_days` days. Those of one document go together; without a document,
    those of one calendar month (UTC).
    """

    age_days: int = 30
    most_sources: int = 50
    most_salience: int = 1_000
    most_reads: int = 6
    read_days: int = 90


@dataclass(frozen=True, slots=True)
class DecayInput:
    """What the policy knew of a source: its day, how much it tells, and in how many contexts it stood."""

    memory_id: str
    occurred_on: str
    salience: float
    reads: int


@dataclass(frozen=True, slots=True)
class DecayGroup:
    """Candidates that go together, in order of time, and the bytes of text that they have and their summary saves."""

    inputs: tuple[DecayInput, ...]
    source_bytes: int
    saved_bytes: int

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The ids of the candidates, in order."""
        return tuple(one.memory_id for one in self.inputs)


def groups(candidates: Sequence[AgedCandidate], policy: DecayPolicy) -> list[DecayGroup]:
    """Return what goes together, in order of each group's first memory. A candidate that would be alone stays out."""
    together: dict[str, list[AgedCandidate]] = defaultdict(list)
    for one in sorted(candidates, key=lambda one: (one.occurred_at, one.memory_id)):
        if 100 * one.reads <= policy.most_reads * one.contexts and telling_weight(one.text) <= policy.most_salience:
            together[f"document {one.document_id}" if one.document_id else _month(one.occurred_at)].append(one)
    size = policy.most_sources
    parts = (members[at : at + size] for members in together.values() for at in range(0, len(members), size))
    return [_group(some) for some in parts if len(some) > 1]


def _month(instant: datetime) -> str:
    return f"month {instant:%Y-%m}"


def _group(members: Sequence[AgedCandidate]) -> DecayGroup:
    texts = [one.text for one in members]
    source_bytes = sum(len(text.encode()) for text in texts)
    kept = len(cut_claim(DECAY_SUMMARY_CLAIM_SEPARATOR.join(texts)).encode())
    return DecayGroup(tuple(map(_input, members)), source_bytes, source_bytes - kept)


def _input(one: AgedCandidate) -> DecayInput:
    return DecayInput(one.memory_id, one.occurred_at.date().isoformat(), telling_weight(one.text), one.reads)
