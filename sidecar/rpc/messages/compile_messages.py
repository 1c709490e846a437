"""The messages of the compile service, made from values of the store and the compiler. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from compiler.job import metrics
from compiler.operations.lint import LintFindings
from compiler.operations.preview import Preview
from compiler.plan.contract import (
    CitedMemory,
    CreatePage,
    EndMemory,
    HoldMention,
    Item,
    WriteAlias,
    WriteLink,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from sidecar.rpc.messages import wiki_messages
from sidecar.rpc.transport.validation import write_struct, write_time
from sidecar.v1 import compile_pb2 as pb
from store.compile.jobs import Job
from store.compile.overview import QuarantinedRow
from store.wiki.browse import PageRow
from store.wiki.upkeep import Density, Reads

MOST_ITEMS = 500


def job(one: Job) -> pb.CompileJob:
    """Return a job."""
    return pb.CompileJob(
        job_id=str(one.job_id),
        status=pb.JobStatus.Value(f"JOB_STATUS_{one.status.value.upper()}"),
        trigger=one.trigger.value,
        attempt=one.attempt,
        hops=one.hops,
        error=one.error,
        metrics=write_struct(_figures(one)),
        options=write_struct(_options(one)),
        parent_job_id=str(one.parent_job_id or ""),
        create_time=write_time(one.created_at),
        claim_time=write_time(one.claimed_at),
        finish_time=write_time(one.finished_at),
    )


def _figures(one: Job) -> dict[str, Any]:
    """Return a job's metrics. An ended job has every figure, even if it was cancelled before it began."""
    return one.metrics if one.finished_at is None else metrics.merged(metrics.empty(), one.metrics)


def quarantined(one: QuarantinedRow) -> pb.QuarantinedMemory:
    """Return a quarantined memory."""
    return pb.QuarantinedMemory(
        memory_id=one.memory_id,
        reason=one.reason,
        text=one.text,
        occurred_time=write_time(one.occurred_at),
        update_time=write_time(one.updated_at),
    )


def preview(found: Preview) -> pb.PlanPreview:
    """Return the changes that a compile would make, at most 500."""
    return pb.PlanPreview(
        memory_count=found.memory_count,
        items=[_item(one) for one in found.items[:MOST_ITEMS]],
        item_count=len(found.items),
        rejections=found.rejections,
    )


def lint(report: LintFindings, queued: Job | None) -> pb.RunLintResponse:
    """Return the lint findings."""
    return pb.RunLintResponse(
        findings=[pb.LintFinding(kind=one.kind, subject=one.subject, detail=one.detail) for one in report.findings],
        counts=report.counts,
        job=None if queued is None else job(queued),
    )


def density(found: Density) -> pb.LinkDensityResponse:
    """Return a wiki's link density."""
    return pb.LinkDensityResponse(
        page_count=found.pages,
        linked_page_count=found.linked,
        density=found.share,
        link_counts=found.links_by_kind,
        origin_counts=found.links_by_origin,
        duplicate_title_count=found.shared_titles,
        archived_page_count=found.archived,
        edge_counts=found.edges_by_type,
    )


def reads(found: Reads, pages: Mapping[Any, PageRow]) -> pb.MeasureReadsResponse:
    """Return the turns' reads of the wiki and the cost of compiling it."""
    rows = [
        pb.PageReads(page=wiki_messages.page(pages[page_id]), assembly_count=assemblies, answer_count=answers)
        for page_id, (assemblies, answers) in found.by_page.items()
        if page_id in pages
    ]
    return pb.MeasureReadsResponse(
        assembly_count=found.assemblies,
        wiki_assembly_count=found.wiki_assemblies,
        wiki_answer_count=found.wiki_answers,
        pages=rows,
        job_count=found.jobs,
        cost_usd=found.cost_usd,
        cost_per_read_usd=found.cost_usd / found.wiki_assemblies if found.wiki_assemblies else None,
    )


def _options(one: Job) -> dict[str, Any]:
    """Return the job's options that differ from their defaults."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(one.options).items() if value
    }


def _item(item: Item) -> pb.PlanItem:
    kind = "".join(f"_{one.lower()}" if one.isupper() else one for one in type(item).__name__).lstrip("_")
    path, subject, sources = _about(item)
    return pb.PlanItem(kind=kind, path=path, subject=subject, memory_ids=sorted({one.memory_id for one in sources}))


def _about(item: Item) -> tuple[str, str, tuple[CitedMemory, ...]]:
    """Return the path of the page, the changed part of it, and the memories that the change cites."""
    match item:
        case CreatePage(page=page):
            cited = tuple(source for section in page.sections for source in section.sources)
            return page.key.path, page.title, (*page.summary_sources, *cited)
        case WriteSection(page=key, section=section):
            return key.path, section.slug, section.sources
        case WriteSummary(page=key, sources=sources):
            return key.path, "summary", sources
        case WriteAlias(page=key, alias=alias):
            return key.path, alias.display, alias.sources
        case WriteTag(page=key, tag=tag):
            return key.path, tag.name, tag.sources
        case WriteLink(source=source, target=target):
            return source.path, target.path, ()
        case _:
            return _about_others(item)


def _about_others(item: Item) -> tuple[str, str, tuple[CitedMemory, ...]]:
    match item:
        case HoldMention(mention=mention):
            return "", mention.alias, tuple(one.source for one in mention.sightings)
        case EndMemory(newer=newer, older=older):
            return "", older.memory_id, (newer, older)
        case _:
            page = getattr(item, "page", None)
            return getattr(page, "path", ""), str(getattr(item, "slug", getattr(item, "key", ""))), ()
