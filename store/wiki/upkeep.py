"""Queries for wiki upkeep: counts, lint findings, classes of evidence, resets, deletions, read statistics.

Every function takes a connection inside a scoped transaction; callers of writes hold the scope's row. Decisions are made in
`compiler`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import edge_ends, page_writes
from store.wiki.pages import keep_page_count

_sql = queries.load(__file__)

MOST_FINDINGS = 100
MOST_RECEIPTS = 5_000


@dataclass(frozen=True, slots=True)
class Density:
    """The number of pages and links in an owner's wiki; only active pages, and links between them, count."""

    pages: int
    archived: int
    linked: int
    shared_titles: int
    links_by_kind: Mapping[str, int]
    links_by_origin: Mapping[str, int]
    edges_by_type: Mapping[str, int]

    @property
    def share(self) -> float:
        """The share of pages with a reference link, 0 to 1; 0 without pages."""
        return self.linked / self.pages if self.pages else 0.0


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One lint finding, and how many of its kind there are."""

    kind: str
    subject: str
    detail: str
    found: int
    ref: UUID | None = None


@dataclass(frozen=True, slots=True)
class Measures:
    """Lint thresholds: the instant before which a page is stale, the maximum characters of a page, and the number of sightings
    since an instant after which a held name is due for a page.
    """

    stale_before: datetime
    most_body_chars: int
    ripe_since: datetime
    least_sightings: int


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One cause of a link, with the types and slugs of both ends."""

    source: tuple[str, str]
    target: tuple[str, str]
    kind: str
    origin: str
    context: str
    ref: str
    link_id: UUID
    edge_type: str = ""
    valid_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A place in a memory's metadata, and its other names."""

    memory_id: str
    text_hash: bytes
    name: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reads:
    """Use of the wiki by turns: all assemblies, those with wiki content, answers that used it, and counts by page."""

    assemblies: int
    wiki_assemblies: int
    wiki_answers: int
    by_page: Mapping[UUID, tuple[int, int]]
    jobs: int
    cost_usd: float


async def density(connection: Connection, scope: Scope) -> Density:
    """Return the wiki's density."""
    row = await _sql.count_pages(connection, **scope.key)
    kinds = await _sql.count_links(connection, **scope.key)
    origins = await _sql.count_origins(connection, **scope.key)
    types = await _sql.count_edge_types(connection, **scope.key)
    return Density(
        row["pages"],
        row["archived"],
        row["linked"],
        row["shared_titles"],
        {one["kind"]: one["links"] for one in kinds},
        {one["origin"]: one["links"] for one in origins},
        {one["edge_type"]: one["links"] for one in types},
    )


async def findings(connection: Connection, scope: Scope, measures: Measures) -> list[LintFinding]:
    """Return lint findings, at most 100 of each kind; findings of held names due for a page have their id."""
    key = {**scope.key, "limit": MOST_FINDINGS}
    found = [_broken_text(row) for row in await _sql.find_broken_text_links(connection, **key)]
    found += [
        LintFinding(
            "unsourced_section",
            f"{_path(row)}#{row['section_slug']}",
            "cites no memory and is made of no page",
            row["found"],
        )
        for row in await _sql.find_unsourced_sections(connection, **key)
    ]
    found += [_twice_named(row) for row in await _sql.find_duplicate_aliases(connection, **key)]
    found += [_twice_titled(row) for row in await _sql.find_duplicate_titles(connection, **key)]
    stale = await _sql.find_stale_pages(connection, **key, before=measures.stale_before)
    found += [
        LintFinding("stale_page", _path(row), f"last compiled {row['last_compiled_at']:%Y-%m-%d}", row["found"])
        for row in stale
    ]
    large = await _sql.find_oversize_bodies(connection, **key, most_chars=measures.most_body_chars)
    found += [LintFinding("oversize_body", _path(row), f"has {row['chars']} characters", row["found"]) for row in large]
    ripe = await _sql.find_ripe_mentions(connection, **key, since=measures.ripe_since, least=measures.least_sightings)
    found += [_waiting(row) for row in await _sql.find_waiting_edges(connection, **key)]
    return found + [
        LintFinding("ripe_mention", row["alias"], f"seen {row['sightings']} times", row["found"], row["mention_id"])
        for row in ripe
    ]


async def count_evidence(connection: Connection, scope: Scope, *, origin: str, prefix: str) -> tuple[int, int]:
    """Return how many pieces of evidence a class has, and how many links have no other evidence."""
    row = await _sql.count_evidence(connection, **scope.key, origin=origin, prefix=prefix)
    return row["evidence"], row["links"]


async def evidence(connection: Connection, scope: Scope, *, origin: str, prefix: str) -> list[EvidenceRow]:
    """Return every piece of evidence of a class, in order of the ends of its link."""
    rows = await _sql.evidence_of(connection, **scope.key, origin=origin, prefix=prefix)
    return [
        EvidenceRow(
            (row["from_type"], row["from_slug"]), (row["type"], row["slug"]), row["kind"], row["origin"], row["context"],
            row["ref"], row["link_id"], row["edge_type"], row["valid_from"],
        )
        for row in rows
    ]  # fmt: skip


async def archive_all(connection: Connection, scope: Scope, *, now: datetime) -> int:
    """Archive every page of the owner, and return how many were active."""
    archived = int(await _sql.archive_all_pages(connection, **scope.key, now=now))
    await page_writes.settle_search(connection)
    await keep_page_count(connection, scope)
    return archived


async def delete_all(connection: Connection, scope: Scope) -> int:
    """Delete every page of the owner, and return how many there were."""
    await _sql.unlink_all_parents(connection, **scope.key)
    deleted = int(await _sql.delete_all_pages(connection, **scope.key))
    await keep_page_count(connection, scope)
    return deleted


async def delete_mentions(connection: Connection, scope: Scope) -> int:
    """Delete every held name of the owner, and return how many there were."""
    return int(await _sql.delete_all_mentions(connection, **scope.key))


async def pages_leading_to(
    connection: Connection, scope: Scope, page_ids: Sequence[UUID], paths: Sequence[str]
) -> list[UUID]:
    """Return the ids of the pages that are a parent or child of some pages, list them, or link to one of the paths."""
    links = [f"]({path})" for path in paths]
    rows = await _sql.pages_leading_to(connection, **scope.key, page_ids=list(page_ids), paths=links)
    return [row["page_id"] for row in rows]


async def memories_behind(connection: Connection, scope: Scope, pages: Sequence[tuple[str, str]]) -> list[str]:
    """Return the ids of the memories that some pages (type, slug) cite, in any subject."""
    types, slugs = [one[0] for one in pages], [one[1] for one in pages]
    rows = await _sql.memories_behind_pages(connection, **scope.key, types=types, slugs=slugs)
    return [row["source_ref"] for row in rows]


async def memories_seen(connection: Connection, scope: Scope, keys: Sequence[str]) -> list[str]:
    """Return the memories in which some names, held or ignored, were seen."""
    rows = await _sql.memories_behind_mentions(connection, **scope.key, keys=list(keys))
    return [row["memory_id"] for row in rows]


async def pages_resting_on(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[UUID]:
    """Return the pages that cite one of the memories, and the pages that list such a page or are its parent."""
    rows = await _sql.pages_resting_on(connection, **scope.key, memory_ids=list(memory_ids))
    return [row["page_id"] for row in rows]


async def forget_sightings(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Delete the sightings in the memories, and the names without other sightings, of any status."""
    key = {**scope.key, "memory_ids": list(memory_ids)}
    keys = [row["alias_normalized"] for row in await _sql.mentions_only_in(connection, **key)]
    await _sql.forget_sightings(connection, **key)
    return int(await _sql.forget_mentions(connection, **scope.key, keys=keys)) if keys else 0


async def forget_settled_sightings(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete the sightings in the memories of names that have a page or are ignored; open names keep theirs."""
    await _sql.forget_settled_sightings(connection, **scope.key, memory_ids=list(memory_ids))


async def delete_page(connection: Connection, scope: Scope, page_id: UUID, *, now: datetime) -> None:
    """Delete a page with everything on it, after its children were detached. Edges that its edges had ended are live again.

    Held names that became the page stay if a memory has them.
    """
    await _sql.forget_bare_mentions(connection, tenant_id=scope.tenant_id, page_id=page_id)
    await _sql.release_mentions(connection, tenant_id=scope.tenant_id, page_id=page_id, now=now)
    led = await edge_ends.leading_to(connection, scope, page_id)
    await _sql.delete_page(connection, **scope.key, page_id=page_id)
    await edge_ends.settle(connection, scope, led)


async def mention(connection: Connection, scope: Scope, mention_id: UUID) -> tuple[str, str] | None:
    """Return a held name's key and status; None if the owner has none with this id."""
    row = await _sql.mention_status(connection, **scope.key, mention_id=mention_id)
    return row and (row["alias_normalized"], row["status"])


async def record_lint(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Record that the scope was linted."""
    await _sql.record_lint(connection, **scope.key, now=now)


async def scopes_due_lint(connection: Connection, *, before: datetime, limit: int) -> list[Scope]:
    """Return scopes with a wiki that was not linted since an instant; the connection needs no scope."""
    rows = await _sql.scopes_due_lint(connection, before=before, limit=limit)
    return [Scope(row["tenant_id"], row["owner_id"]) for row in rows]


async def places(connection: Connection, scope: Scope, *, after: str = "", limit: int = 500) -> list[PlaceRow]:
    """Return places with other names in the metadata of memories, in order of memory id, after `after`."""
    rows = await _sql.places_of_memories(connection, **scope.key, after_id=after, limit=limit)
    return [
        PlaceRow(
            row["memory_id"], row["text_hash"], row["name"], tuple(one for one in row["others"] if isinstance(one, str))
        )
        for row in rows
    ]


async def reads(connection: Connection, scope: Scope, *, since: datetime) -> Reads:
    """Return the wiki reads of turns since an instant, from at most the newest 5,000 assemblies, and the compile cost."""
    bounds = {**scope.key, "since": since, "most_receipts": MOST_RECEIPTS}
    counted = await _sql.count_receipts(connection, **bounds)
    pages = await _sql.read_pages_in_receipts(connection, **bounds, limit=MOST_FINDINGS)
    cost = await _sql.compile_cost(connection, **scope.key, since=since)
    by_page = {_uuid(row["page_id"]): (row["assemblies"], row["answers"]) for row in pages}
    return Reads(
        counted["assemblies"], counted["wiki_assemblies"], counted["wiki_answers"],
        {page_id: counts for page_id, counts in by_page.items() if page_id is not None}, cost["jobs"], cost["cost_usd"],
    )  # fmt: skip


def _broken_text(row: Any) -> LintFinding:
    place = f"/wiki/{row['from_type']}/{row['from_slug']}#{row['section_slug']}"
    return LintFinding("broken_text_link", place, f"its text links to {_path(row)}, which is no page", row["found"])


def _waiting(row: Any) -> LintFinding:
    edge = f"/wiki/{row['from_type']}/{row['from_slug']} {row['edge_type']} {_path(row)}"
    return LintFinding("waiting_edge", edge, "was stated by hand, and a page of it is not there", row["found"])


def _twice_named(row: Any) -> LintFinding:
    return LintFinding(
        "duplicate_alias", row["alias"], f"names {row['type']} pages {', '.join(row['slugs'][:5])}", row["found"]
    )


def _twice_titled(row: Any) -> LintFinding:
    return LintFinding("duplicate_title", row["title"], f"is the title of {', '.join(row['paths'][:5])}", row["found"])


def _path(row: Any) -> str:
    return f"/wiki/{row['type']}/{row['slug']}"


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
