"""Chooses the candidates to compress, and groups them: a pure function of the candidates and the policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from compiler.decay.summary import DECAY_SUMMARY_CLAIM_SEPARATOR, cut_claim
from store.content.tiers import AgedCandidate
from store.text.texts import telling_weight


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """Candidates older than `age_days` are compressed, at least two and at most `most_sources` in one summary.

    A candidate stays if its salience (by its names, numbers and content words) is above `most_salience`, or if it was in more
    than `most_reads` percent of the contexts of the last `read_days` days. Of the rest, those in the fewest contexts are
    compressed first, then those of least salience, then the oldest, until summaries replace `most_share` percent of the text of
    all aged candidates. Candidates of one document are grouped; without a document, those of one calendar month (UTC).
    """

    age_days: int = 30
    most_sources: int = 50
    most_salience: int = 1_000
    most_reads: int = 25
    read_days: int = 90
    most_share: int = 60


@dataclass(frozen=True, slots=True)
class DecayInput:
    """The inputs of the policy for a source: its day, its salience, and the number of contexts that contained it."""

    memory_id: str
    occurred_on: str
    salience: float
    reads: int


@dataclass(frozen=True, slots=True)
class DecayGroup:
    """Candidates to compress together, in order of time, the bytes of their texts, and the bytes that their summary saves."""

    inputs: tuple[DecayInput, ...]
    source_bytes: int
    saved_bytes: int

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The ids of the candidates, in order."""
        return tuple(one.memory_id for one in self.inputs)


def groups(candidates: Sequence[AgedCandidate], policy: DecayPolicy) -> list[DecayGroup]:
    """Return the groups of candidates to compress, in order of each group's first memory. A single candidate is left out."""
    together: dict[str, list[AgedCandidate]] = defaultdict(list)
    for one in sorted(_chosen(candidates, policy), key=lambda one: (one.occurred_at, one.memory_id)):
        together[f"document {one.document_id}" if one.document_id else _month(one.occurred_at)].append(one)
    size = policy.most_sources
    parts = (members[at : at + size] for members in together.values() for at in range(0, len(members), size))
    return [_group(some) for some in parts if len(some) > 1]


def _chosen(candidates: Sequence[AgedCandidate], policy: DecayPolicy) -> Iterator[AgedCandidate]:
    """Yield the candidates to compress, least read first, until the share is reached. Memories in summaries count towards it."""
    if not candidates:
        return
    behind = candidates[0].bytes_behind
    room = policy.most_share * (behind + sum(len(one.text.encode()) for one in candidates)) - 100 * behind
    weighed = [(one.reads, telling_weight(one.text), one.occurred_at, one.memory_id, one) for one in candidates]
    for reads, weight, _, _, one in sorted(weighed, key=lambda row: row[:4]):
        if 100 * reads > policy.most_reads * one.contexts or weight > policy.most_salience:
            continue
        room -= 100 * len(one.text.encode())
        if room < 0:
            return
        yield one


def _month(instant: datetime) -> str:
    return f"month {instant:%Y-%m}"


def _group(members: Sequence[AgedCandidate]) -> DecayGroup:
    texts = [one.text for one in members]
    source_bytes = sum(len(text.encode()) for text in texts)
    kept = len(cut_claim(DECAY_SUMMARY_CLAIM_SEPARATOR.join(texts)).encode())
    return DecayGroup(tuple(map(_input, members)), source_bytes, source_bytes - kept)


def _input(one: AgedCandidate) -> DecayInput:
    return DecayInput(one.memory_id, one.occurred_at.date().isoformat(), telling_weight(one.text), one.reads)
