"""Which memories read before may say otherwise than a batch's: those that share its words, the rarest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from compiler.plan import bounds
from compiler.plan.contract import BatchMemory, Page
from compiler.plan.text.change import content_words

MOST_SOUGHT = 200


def sought(pages: Iterable[Page], own: Collection[str]) -> tuple[str, ...]:
    """Return the memories that the pages' sections cite, but for the batch's own: at most 200, by page, in order of id."""
    found: dict[str, None] = {}
    for page in pages:
        cited = {source.memory_id for section in page.sections for source in section.sources}
        found |= dict.fromkeys(sorted(cited.difference(own)))
    return tuple(found)[:MOST_SOUGHT]


def akin(memories: Iterable[BatchMemory], earlier: Iterable[BatchMemory]) -> tuple[BatchMemory, ...]:
    """Return the earlier memories that share most with the batch's, in order of time; each shares at least two words.

    A shared word counts more the fewer of the earlier memories have it. At most 16 with 8,000 characters together; one that does
    not fit is left out, never cut. The order in which they come in does not matter.
    """
    known = {one.memory_id: one for one in earlier}
    bearing: dict[str, list[str]] = {}
    for memory_id, one in known.items():
        for word in content_words(one.text):
            bearing.setdefault(word, []).append(memory_id)
    scores: dict[str, float] = {}
    for asked in memories:
        for memory_id, score in _scores(content_words(asked.text), bearing).items():
            scores[memory_id] = max(score, scores.get(memory_id, 0.0))
    kept: list[BatchMemory] = []
    left = bounds.STANDING_CHARS
    for memory_id in sorted(scores, key=lambda one: (-scores[one], one)):
        memory = known[memory_id]
        if len(memory.text) <= left and len(kept) < bounds.STANDING_MEMORIES:
            kept.append(memory)
            left -= len(memory.text)
    return tuple(sorted(kept, key=lambda one: (one.occurred_at, one.memory_id)))


def _scores(asked: Collection[str], bearing: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the scores of the earlier memories that share two of the words or more, by id; a word counts 1 / its memories.

    Words are added in alphabetical order, so that equal sets give equal sums.
    """
    counts: Counter[str] = Counter()
    sums: dict[str, float] = {}
    for word in sorted(asked):
        sharing = bearing.get(word, ())
        counts.update(sharing)
        for memory_id in sharing:
            sums[memory_id] = sums.get(memory_id, 0.0) + 1 / len(sharing)
    return {memory_id: score for memory_id, score in sums.items() if counts[memory_id] > 1}
