"""What a planner is shown: the memories of a batch with the pages around them, or the pages that hubs are made of.

Values only. They are frozen before planning, so that the same view always gives the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from compiler.plan.contract import BatchMemory, CitedMemory, Mention, Page, PageKey, WriteLink


@dataclass(frozen=True, slots=True)
class LeafBatch:
    """Memories to read, in the order of the feed, with candidate pages and open mentions.

    `earlier` holds memories that were read before and are quoted by a shown mention: they can be cited too. `near` are the
    pages that only vectors spoke for, which are made when they are made: a replay has to be told of them.
    """

    memories: tuple[BatchMemory, ...]
    pages: tuple[Page, ...] = ()
    mentions: tuple[Mention, ...] = ()
    earlier: tuple[BatchMemory, ...] = ()
    near: tuple[PageKey, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryEvidence:
    """A memory as an aggregation needs it: how to cite it, and when it happened."""

    source: CitedMemory
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class ParentCandidate:
    """A hub that metadata or summaries ask for.

    `kind` is city, journal or tag; `title` as people write it; `section` the slug of the section that its members belong in.
    `memory_ids` are the memories and `pages` the pages that showed it. `origin` is record or summary.
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
    """What the aggregation looks at, whole pages first.

    `pages` are the recently changed ones with the hubs that candidates and rollups name; `others` are the active pages that
    stand in their rollups and are not among them (title, summary and tags suffice): a child in neither is gone. `evidence`
    has every memory that the pages' sections and the candidates cite, by id. `inbound` counts reference links to a page,
    `parents` is the scope's whole hierarchy, child to parent.
    """

    pages: tuple[Page, ...]
    candidates: tuple[ParentCandidate, ...] = ()
    others: tuple[Page, ...] = ()
    evidence: Mapping[str, MemoryEvidence] = field(default_factory=dict)
    inbound: Mapping[PageKey, int] = field(default_factory=dict)
    parents: Mapping[PageKey, PageKey] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StaleView:
    """Pages and mentions that cite memories which were edited (`changed`) or are gone.

    `memories` has the present text of every memory that the pages and mentions cite and that is still there. `links` are the
    causes of links whose `ref` is an edited or a gone memory. `around` are the pages that lead to those that cite a gone memory,
    and all that these list: what has to be rendered again when one of them loses its summary or goes.
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
        """The memories whose words may stand in what comes of the view."""
        return frozenset({*self.memories, *(one.memory_id for page in self.around for one in page.cited())} - self.gone)
