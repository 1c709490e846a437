"""The messages of the wiki service, made from values of the store. No function here queries the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from compiler.operations.ruling_views import Report
from sidecar.rpc.transport.validation import write_time
from sidecar.v1 import wiki_pb2 as pb
from store.wiki.browse import (
    AliasRow,
    Citation,
    HistoryRow,
    PageRef,
    PageRow,
    PageWhole,
    SectionRow,
    SourceRow,
)
from store.wiki.edges import GraphPath
from store.wiki.mentions import MentionRow
from store.wiki.neighbourhood import Child, Counts, Graph, LinkRow
from store.wiki.page_search import Hit

MAX_TEXT_BYTES = 16 * 1024 * 1024


def page(row: PageRow) -> pb.WikiPage:
    """Return a page without its sections."""
    return pb.WikiPage(
        page_id=str(row.page_id),
        type=pb.PageType.Value(f"PAGE_TYPE_{row.type.upper()}"),
        slug=row.slug,
        path=row.path,
        title=row.title,
        summary=row.summary,
        status=pb.PageStatus.Value(f"PAGE_STATUS_{row.status.upper()}"),
        parent_page_id=_id(row.parent_page_id),
        hubness_score=row.hubness_score,
        tags=row.tags,
        compile_time=write_time(row.last_compiled_at),
        create_time=write_time(row.created_at),
        update_time=write_time(row.updated_at),
        entity_type=row.entity_type,
    )


def whole(
    found: PageWhole, parent: PageRow | None, links: Sequence[LinkRow], around: Counts, edges: Sequence[GraphPath]
) -> pb.GetPageResponse:
    """Return a complete page with its surroundings, but only the first 16 MiB of cited texts."""
    answer = pb.GetPageResponse(
        page=page(found.page),
        parent=None if parent is None else page(parent),
        sections=[section(one) for one in found.sections],
        aliases=[alias(one) for one in found.aliases],
        summary_sources=[_source(one) for one in found.other_sources if one.subject == "summary"],
        links=[link(one) for one in links],
        link_count=around.links,
        backlink_count=around.backlinks,
        child_count=around.children,
        history=[_history(one) for one in found.history],
        summary_pages=[_ref(one) for one in found.summary_pages],
        tags=[_tag(found, name) for name in found.page.tags],
        edges=[edge for one in edges for edge in typed_edges(one)],
    )
    leave_out_texts(answer, most_bytes=MAX_TEXT_BYTES)
    return answer


def leave_out_texts(answer: pb.GetPageResponse, *, most_bytes: int) -> None:
    """Empty the texts of sources beyond `most_bytes`, so that the answer fits into a message."""
    remaining_bytes = most_bytes
    cited = chain(
        answer.summary_sources,
        *(one.sources for one in answer.sections),
        *(one.sources for one in answer.aliases),
        *(one.sources for one in answer.tags),
    )
    for source in cited:
        remaining_bytes -= len(source.text.encode())
        if remaining_bytes < 0:
            source.ClearField("text")


def section(row: SectionRow) -> pb.WikiSection:
    """Return a section with its sources."""
    return pb.WikiSection(
        slug=row.slug,
        heading=row.heading,
        body_md=row.body_md,
        position=row.position,
        last_source_time=write_time(row.last_source_at),
        sources=[_source(one) for one in row.sources],
        aggregation=None if row.aggregation is None else _aggregation(row.aggregation),
        source_pages=[_ref(one) for one in row.pages],
    )


def _tag(found: PageWhole, name: str) -> pb.WikiTag:
    cited = [one for one in found.other_sources if (one.subject, one.subject_ref) == ("tag", name)]
    return pb.WikiTag(name=name, sources=[_source(one) for one in cited])


def alias(row: AliasRow) -> pb.WikiAlias:
    """Return a name of a page."""
    origin = pb.AliasOrigin.Value(f"ALIAS_ORIGIN_{row.source.upper()}")
    return pb.WikiAlias(alias=row.alias, display=row.display, origin=origin, sources=[_source(s) for s in row.sources])


def link(row: LinkRow) -> pb.WikiLink:
    """Return a link seen from one end."""
    return pb.WikiLink(kind=_kind(row.kind), page=page(row.page), origins=_origins(row.origins), contexts=row.contexts)


def path(found: GraphPath) -> pb.GraphPath:
    """Return a path of typed edges."""
    return pb.GraphPath(pages=[_ref(one) for one in found.pages], edges=typed_edges(found))


def typed_edges(found: GraphPath) -> list[pb.TypedEdge]:
    """Return the edges of a path, each in its own direction."""
    ends = {one.page_id: one for one in found.pages}
    return [
        pb.TypedEdge(
            source=_ref(ends[one.from_page_id]),
            target=_ref(ends[one.to_page_id]),
            edge_type=one.type,
            valid_from_time=write_time(one.valid_from),
            valid_until_time=write_time(one.valid_until),
            properties={name: str(value) for name, value in one.properties.items()},
            memory_ids=one.memory_ids,
            origins=_origins(one.origins),
        )
        for one in found.edges
    ]


def child(row: Child) -> pb.WikiChild:
    """Return a page under another."""
    return pb.WikiChild(page=page(row.page), is_promoted=row.is_promoted, section_slug=row.section_slug)


def graph(found: Graph) -> pb.GraphResponse:
    """Return a part of the wiki."""
    edges = [
        pb.GraphEdge(
            from_page_id=str(one.from_page_id),
            to_page_id=str(one.to_page_id),
            kind=_kind(one.kind),
            origins=_origins(one.origins),
            edge_type=one.edge_type,
            valid_from_time=write_time(one.valid_from),
            valid_until_time=write_time(one.valid_until),
        )
        for one in found.edges
    ]
    return pb.GraphResponse(nodes=[page(one) for one in found.pages], edges=edges, is_truncated=found.is_truncated)


def hit(found: Hit) -> pb.PageHit:
    """Return a search hit."""
    return pb.PageHit(
        page=page(found.page),
        score=found.score,
        text_score=found.text,
        name_score=found.name,
        matched_alias=found.alias,
    )


def citation(row: Citation) -> pb.Citation:
    """Return a place where a page cites a memory."""
    return pb.Citation(
        page=page(row.page),
        subject=pb.CitationSubject.Value(f"CITATION_SUBJECT_{row.subject.upper()}"),
        subject_ref=row.subject_ref,
        heading=row.heading,
        first_seen_time=write_time(row.first_seen_at),
        is_current=row.is_current,
        through_page=None if row.through is None else _ref(row.through),
    )


def mention(row: MentionRow) -> pb.Mention:
    """Return a held name."""
    sightings = [
        pb.Sighting(memory_id=one.memory_id, quote=one.quote, seen_time=write_time(one.seen_at)) for one in row.newest
    ]
    return pb.Mention(
        mention_id=str(row.mention_id),
        alias=row.alias,
        suggested_type=pb.PageType.Value(
            f"PAGE_TYPE_{row.suggested_type.upper() if row.suggested_type else 'UNSPECIFIED'}"
        ),
        status=pb.MentionStatus.Value(f"MENTION_STATUS_{row.status.upper()}"),
        sighting_count=row.sighting_count,
        first_seen_time=write_time(row.first_seen_at),
        last_seen_time=write_time(row.last_seen_at),
        sightings=sightings,
        promoted_page_id=_id(row.promoted_page_id),
        reason=row.reason,
        held_type=row.held_type,
        page=None if row.page is None else _ref(row.page),
        target_page=None if row.target is None else _ref(row.target),
    )


def report(found: Report) -> pb.SentenceReport:
    """Return a reported sentence."""
    return pb.SentenceReport(
        report_id=found.report_id,
        path=found.ruling.page.path,
        section_slug=found.ruling.detail,
        sentence=found.ruling.text,
        memory_id=found.memory_id,
        report_time=write_time(found.reported_at),
    )


def _ref(row: PageRef) -> pb.PageRef:
    return pb.PageRef(page_id=str(row.page_id), path=row.path, title=row.title)


def _source(row: SourceRow) -> pb.WikiSource:
    return pb.WikiSource(
        memory_id=row.memory_id,
        is_there=row.is_there,
        is_current=row.is_current,
        first_seen_time=write_time(row.first_seen_at),
        occurred_time=write_time(row.occurred_at),
        text=row.text or "",
    )


def _aggregation(known: Mapping[str, Any]) -> pb.Aggregation:
    status = str(known.get("promotion_status") or "none").upper()
    return pb.Aggregation(
        linked_page_ids=known.get("linked_page_ids") or (),
        supporting_record_count=known.get("supporting_record_count") or 0,
        first_source_time=_moment(known.get("first_source_at")),
        last_source_time=_moment(known.get("last_source_at")),
        observed_tags=known.get("observed_tags") or (),
        promotion_status=pb.PromotionStatus.Value(f"PROMOTION_STATUS_{status}"),
        promotion_score=known.get("promotion_score") or 0.0,
        promoted_page_id=known.get("promoted_page_id") or "",
    )


def _history(row: HistoryRow) -> pb.HistoryEntry:
    return pb.HistoryEntry(time=write_time(row.at), memory_count=row.memory_count, section_slugs=row.section_slugs)


def _kind(kind: str) -> pb.LinkKind.ValueType:
    return pb.LinkKind.Value(f"LINK_KIND_{kind.upper()}")


def _origins(origins: Iterable[str]) -> list[pb.LinkOrigin.ValueType]:
    return [pb.LinkOrigin.Value(f"LINK_ORIGIN_{origin.upper()}") for origin in origins]


def _id(value: UUID | None) -> str:
    return "" if value is None else str(value)


def _moment(written: str | None) -> Timestamp | None:
    return write_time(datetime.fromisoformat(written)) if written else None
