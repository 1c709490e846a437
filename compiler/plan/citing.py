"""The memories that a batch may cite. A source exists only if a planner cited that memory; nothing here adds one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import BatchMemory, CitedMemory, Rejection

UNKNOWN_MEMORY = "unknown_memory"

_BY_MEMORY = attrgetter("memory_id")  # ids are unique; comparing whole sources gives the same order, slower


@dataclass(frozen=True, slots=True)
class Citable:
    """The sources that a planner may cite, by memory id, with the memories whose whole text is available."""

    sources: Mapping[str, CitedMemory]
    memories: Mapping[str, BatchMemory]

    def cite(self, memory_ids: Iterable[str]) -> tuple[CitedMemory, ...]:
        """Return the allowed ones among the cited sources, sorted by memory id; empty if nothing is cited."""
        allowed = {one: self.sources[one] for one in memory_ids if one in self.sources}
        return tuple(sorted(allowed.values(), key=_BY_MEMORY))

    def unknown(self, memory_ids: Iterable[str]) -> tuple[Rejection, ...]:
        """Return a rejection for each cited memory that was not shown."""
        return tuple(Rejection(UNKNOWN_MEMORY, one) for one in dict.fromkeys(memory_ids) if one not in self.sources)

    def texts(self, memory_ids: Iterable[str]) -> tuple[BatchMemory, ...]:
        """Return the cited memories whose text is available, ordered by time and id."""
        cited = {one: self.memories[one] for one in memory_ids if one in self.memories}
        return tuple(sorted(cited.values(), key=lambda memory: (memory.occurred_at, memory.memory_id)))


def citable(batch: LeafBatch) -> Citable:
    """Return the sources that a planner of the batch may cite: its memories, those that its mentions quote, and standing ones."""
    quoted = {
        sighting.source.memory_id: sighting.source for mention in batch.mentions for sighting in mention.sightings
    }
    memories = {memory.memory_id: memory for memory in (*batch.standing, *batch.earlier, *batch.memories)}
    return Citable({**quoted, **{one: source_of(memory) for one, memory in memories.items()}}, memories)


def source_of(memory: BatchMemory) -> CitedMemory:
    """Return the memory as a source, with the hash of the text read."""
    return CitedMemory(memory.memory_id, memory.text_hash)


def united(standing: Iterable[CitedMemory], cited: Iterable[CitedMemory]) -> tuple[CitedMemory, ...]:
    """Return the union of the sources, sorted by memory id: one source per memory, with the newer hash if it is cited again."""
    return tuple(sorted({source.memory_id: source for source in (*standing, *cited)}.values(), key=_BY_MEMORY))
