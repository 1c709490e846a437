"""The input views of planners: a batch's memories with the pages around them, or the pages that hubs are made of.

Immutable values, fixed before planning, so that the same view always gives the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from compiler.plan.contract import BatchMemory, CitedMemory, Mention, Page, PageKey, WriteLink
from compiler.plan.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class LeafBatch:
    """Memories to read, in feed order, with candidate pages and open mentions.

    `earlier` holds memories of earlier batches that an open mention quotes; they can be cited too. `near` are the pages that
    only vector search found. Vectors change over time, so a replay needs this list. `known` is the ontology in force. `standing`
    are memories that the shown pages cite and that may contradict the batch's memories: a model is shown their texts. `said_at`
    maps the ids of the memories behind the shown pages' summaries to the times at which they were said.
    """

    memories: tuple[BatchMemory, ...]
    pages: tuple[Page, ...] = ()
    mentions: tuple[Mention, ...] = ()
    earlier: tuple[BatchMemory, ...] = ()
    near: tuple[PageKey, ...] = ()
    known: Vocabulary | None = None
    standing: tuple[BatchMemory, ...] = ()
    said_at: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryEvidence:
    """The parts of a memory that an aggregation needs: its citation and its time."""

    source: CitedMemory
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class ParentCandidate:
    """A hub suggested by metadata or summaries.

    `kind` is city, journal, tag, person or period; `title` is its display form; `section` the slug of the section for its
    members. `memory_ids` and `pages` are the evidence. `origin` is record, summary, tag, list or title.
    """

    kind: str
    slug: str
    title: str
    section: str
    memory_ids: tuple[str, ...] = ()
    pages: tuple[PageKey, ...] = ()
    tags: tuple[str, ...] = ()
    origin: str = "record"


@dataclass(frozen=True, slots=True)
class AggregationView:
    """The input of an aggregation pass.

    `pages` are the recently changed pages, complete, and the hubs that candidates and rollups name. `others` are the other
    active pages in their rollups (title, summary and tags suffice); a child in neither list no longer exists. `changed` has the
    keys of all changed pages, including those without a hub: their hubness is computed again. `evidence` has every memory that
    the pages' sections and the candidates cite, by id. `inbound` counts reference links to a page. `parents` is the scope's
    whole hierarchy, child to parent.
    """

    pages: tuple[Page, ...]
    candidates: tuple[ParentCandidate, ...] = ()
    others: tuple[Page, ...] = ()
    evidence: Mapping[str, MemoryEvidence] = field(default_factory=dict)
    inbound: Mapping[PageKey, int] = field(default_factory=dict)
    parents: Mapping[PageKey, PageKey] = field(default_factory=dict)
    changed: frozenset[PageKey] = frozenset()


@dataclass(frozen=True, slots=True)
class StaleView:
    """Pages and mentions that cite edited (`changed`) or deleted (`gone`) memories.

    `memories` has the present text of every cited memory that still exists. `links` are the causes of links whose `ref` is an
    edited or deleted memory. `around` are the pages that link to a page citing a deleted memory, and all pages that these
    list: they are rendered again if a page that they list loses its summary or is removed.
    """

    pages: tuple[Page, ...]
    changed: frozenset[str]
    gone: frozenset[str]
    memories: Mapping[str, BatchMemory]
    mentions: tuple[Mention, ...] = ()
    links: tuple[WriteLink, ...] = ()
    around: tuple[Page, ...] = ()

    @property
    def seen_memory_ids(self) -> frozenset[str]:
        """The ids of the memories whose words the result may contain."""
        return frozenset({*self.memories, *(one.memory_id for page in self.around for one in page.cited())} - self.gone)
