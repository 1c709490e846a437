"""Earlier memories that may contradict a batch's memories: those that share its words, rare words counting most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from compiler.plan import bounds
from compiler.plan.contract import BatchMemory, Page
from compiler.plan.text.change import content_words

MOST_SOUGHT = 200


def sought(pages: Iterable[Page], own: Collection[str]) -> tuple[str, ...]:
    """Return the ids of memories that the pages' sections cite, except those in `own`: at most 200, by page, in order of id."""
    found: dict[str, None] = {}
    for page in pages:
        cited = {source.memory_id for section in page.sections for source in section.sources}
        found |= dict.fromkeys(sorted(cited.difference(own)))
    return tuple(found)[:MOST_SOUGHT]


def akin(memories: Iterable[BatchMemory], earlier: Iterable[BatchMemory]) -> tuple[BatchMemory, ...]:
    """Return the earlier memories most similar to the batch's, in order of time; each shares at least two words with one of them.

    The score of a pair is the sum of 1/n over its shared words, where n earlier memories have the word. At most 16 memories with
    8,000 characters together; one that does not fit is left out, never cut. The order of the input does not matter.
    """
    words = {one.memory_id: (one, content_words(one.text)) for one in earlier}
    spread = Counter(word for _, own in words.values() for word in own)
    contents = [content_words(one.text) for one in memories]
    scores = {
        memory_id: max((_score(own, one, spread) for one in contents), default=0)
        for memory_id, (_, own) in words.items()
    }
    kept: list[BatchMemory] = []
    remaining_chars = bounds.STANDING_CHARS
    for memory_id in sorted((one for one, score in scores.items() if score), key=lambda one: (-scores[one], one)):
        memory = words[memory_id][0]
        if len(memory.text) <= remaining_chars and len(kept) < bounds.STANDING_MEMORIES:
            kept.append(memory)
            remaining_chars -= len(memory.text)
    return tuple(sorted(kept, key=lambda one: (one.occurred_at, one.memory_id)))


def _score(own: frozenset[str], words: frozenset[str], spread: Counter[str]) -> float:
    shared = sorted(own & words)
    return sum(1 / spread[word] for word in shared) if len(shared) > 1 else 0.0
