"""What decays, and together with what: a pure function of the candidates and the policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.decay.summary import DECAY_SUMMARY_CLAIM_SEPARATOR, cut_claim
from store.content.tiers import AgedCandidate


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """Candidates older than `age_days` are compressed, `most_sources` at most in one summary and at least two.

    Those of one document go together; without a document, those of one calendar month (UTC).
    """

    age_days: int = 30
    most_sources: int = 20


@dataclass(frozen=True, slots=True)
class DecayGroup:
    """Candidates that go together, in order of time, and the bytes of text that their summary takes out of recall."""

    source_ids: tuple[str, ...]
    saved_bytes: int


def groups(candidates: Sequence[AgedCandidate], policy: DecayPolicy) -> list[DecayGroup]:
    """Return what goes together, in order of each group's first memory. A candidate that would be alone stays out."""
    together: dict[str, list[AgedCandidate]] = defaultdict(list)
    for one in sorted(candidates, key=lambda one: (one.occurred_at, one.memory_id)):
        together[f"document {one.document_id}" if one.document_id else f"month {one.occurred_at:%Y-%m}"].append(one)
    size = policy.most_sources
    parts = (members[at : at + size] for members in together.values() for at in range(0, len(members), size))
    return [_group(some) for some in parts if len(some) > 1]


def _group(members: Sequence[AgedCandidate]) -> DecayGroup:
    texts = [one.text for one in members]
    kept = len(cut_claim(DECAY_SUMMARY_CLAIM_SEPARATOR.join(texts)).encode())
    return DecayGroup(tuple(one.memory_id for one in members), sum(len(text.encode()) for text in texts) - kept)
