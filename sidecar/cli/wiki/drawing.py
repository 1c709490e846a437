"""Terminal output of the wiki commands: pages, lists, graphs, jobs, and results of maintenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from compiler.plan.judging import promotion
from compiler.plan.text.markdown import unescape
from sidecar.cli.shared.drawing import moment, rows
from sidecar.cli.shared.output import counted
from sidecar.client.answers.wiki import (
    BackfillEffect,
    Citation,
    CompileJob,
    Density,
    GraphPart,
    LintReport,
    Mention,
    PageHit,
    PageRef,
    PageWhole,
    PlanPreview,
    QuarantinedMemory,
    ReadMeasure,
    RollbackEffect,
    WikiPage,
    WikiSection,
    WikiSource,
)

_SUMMARY_CHARS = 70
_TEXT_CHARS = 200
_LINKS_SHOWN = 12
_HISTORY_SHOWN = 5
_SHOWN = (
    "records_read", "records_filtered", "records_quarantined", "pages_created", "pages_updated", "sections_rewritten",
    "links_written", "edges_put_back", "mentions_held", "mentions_promoted", "sections_promoted", "alias_dedup_merged",
    "fuzzy_dedupe_merges", "planner_calls", "input_tokens", "output_tokens", "cost_usd", "cap_hit", "aggregation_error",
)  # fmt: skip


def page(found: PageWhole) -> Iterator[str]:
    """Yield a page: title, sections with their sources, then names, tags, links and history."""
    one = found.page
    yield f"{one.title}  ({one.path}{', archived' if one.status == 'archived' else ''})"
    if one.summary:
        yield unescape(one.summary)
    if found.summary_sources or found.summary_pages:
        yield from _origins(found.summary_sources, found.summary_pages)
    for section in found.sections:
        yield from _section(section)
    yield ""
    yield from _around(found)


def _section(section: WikiSection) -> Iterator[str]:
    yield ""
    yield f"── {section.heading}"
    yield section.body_md
    if section.aggregation is not None:
        known = section.aggregation
        score = f"{known.promotion_score:.3f} ({promotion.label(known.promotion_score)})"
        yield f"  [{known.promotion_status}, score {score}, {counted(len(known.linked_page_ids), 'page')}]"
    yield from _origins(section.sources, section.source_pages)
    yield from (f"      {one.memory_id}: {one.text[:_TEXT_CHARS]}" for one in section.sources if one.text)


def _origins(sources: Sequence[WikiSource], pages: Sequence[PageRef]) -> Iterator[str]:
    if sources:
        yield f"  ← {_sources(sources)}"
    if pages:
        yield f"  ← from pages: {', '.join(one.path for one in pages)}"
    if not sources and not pages:
        yield "  ← no source"


def _sources(sources: Iterable[WikiSource]) -> str:
    return ", ".join(f"{one.memory_id}{_state(one)}" for one in sources)


def _state(source: WikiSource) -> str:
    return " (forgotten)" if not source.is_there else " (edited since)" if not source.is_current else ""


def _around(found: PageWhole) -> Iterator[str]:
    if found.aliases:
        yield f"also called: {', '.join(dict.fromkeys(one.display for one in found.aliases))}"
    if found.page.entity_type:
        yield f"type: {found.page.entity_type}"
    if found.page.tags:
        yield f"tags: {', '.join(found.page.tags)}"
    if found.parent is not None:
        yield f"promoted from: {found.parent.title} ({found.parent.path})"
    counts = f"{counted(found.link_count, 'link')}, {counted(found.backlink_count, 'backlink')}"
    counts += f", {counted(found.child_count, 'promoted page')}"
    yield f"{counts}, hubness {found.page.hubness_score:,}, changed {moment(found.page.update_time)}"
    for link in found.links[:_LINKS_SHOWN]:
        yield f"  → {link.page.title} ({link.page.path}; {link.kind}, {', '.join(link.origins)})"
    for entry in found.history[:_HISTORY_SHOWN]:
        places = ", ".join(entry.section_slugs) or "summary, names or tags"
        yield f"  {moment(entry.time)}  cites {counted(entry.memory_count, 'more memory', 'more memories')}: {places}"


def pages(found: Sequence[WikiPage]) -> Iterator[Any]:
    """Yield a line for each page."""
    yield rows(
        ("page", "title", "hubness", "compiled", "summary"),
        (
            (one.path, one.title, one.hubness_score, moment(one.compile_time), unescape(one.summary)[:_SUMMARY_CHARS])
            for one in found
        ),
        empty="No such pages yet; write them from memories with: sidecar wiki compile",
    )


def hits(found: Sequence[PageHit]) -> Iterator[Any]:
    """Yield a line for each search hit."""
    yield rows(
        ("page", "title", "score", "text", "name", "by"),
        (
            (
                one.page.path,
                one.page.title,
                f"{one.score:.2f}",
                f"{one.text_score:.2f}",
                f"{one.name_score:.2f}",
                one.matched_alias,
            )
            for one in found
        ),
        empty="No page matches; list the pages with: sidecar wiki list",
    )


def citations(found: Sequence[Citation]) -> Iterator[Any]:
    """Yield a line for each citation."""
    yield rows(
        ("page", "title", "subject", "which", "through", "since", "now"),
        (
            (
                one.page.path, one.page.title, one.subject, one.heading or one.subject_ref,
                one.through_page.path if one.through_page else "", moment(one.first_seen_time),
                "as read" if one.is_current else "changed",
            )
            for one in found
        ),
        empty="No page cites it, directly or through a listed page; list the ids with: sidecar memory list",
    )  # fmt: skip


def mentions(found: Sequence[Mention]) -> Iterator[Any]:
    """Yield a line for each held name."""
    yield rows(
        ("name", "seen", "last", "type", "held because", "newest words", "mention"),
        (
            (
                one.alias, one.sighting_count, moment(one.last_seen_time), one.held_type or one.suggested_type, one.reason,
                one.sightings[0].quote[:_SUMMARY_CHARS] if one.sightings else "", one.mention_id,
            )
            for one in found
        ),
        empty="No such names; a compile holds a name that is too rare for a page.",
    )  # fmt: skip


def quarantined(found: Sequence[QuarantinedMemory]) -> Iterator[Any]:
    """Yield a line for each quarantined memory."""
    yield rows(
        ("memory", "why", "since", "begins"),
        ((one.memory_id, one.reason, moment(one.update_time), (one.text or "")[:_SUMMARY_CHARS]) for one in found),
        empty="No memory is quarantined.",
    )


def graph(part: GraphPart) -> Iterator[str]:
    """Yield each page with the pages it links to."""
    titles = {node.page_id: node.title for node in part.nodes}
    leads: dict[str, list[str]] = {}
    for edge in part.edges:
        kind = "" if edge.kind == "reference" else f" ({edge.kind})"
        leads.setdefault(edge.from_page_id, []).append(f"{titles.get(edge.to_page_id, edge.to_page_id)}{kind}")
    for node in part.nodes:
        yield f"{node.title}  ({node.path}, hubness {node.hubness_score:,})"
        yield from (f"  → {target}" for target in leads.get(node.page_id, ()))
    counts = f"{counted(len(part.nodes), 'page')}, {counted(len(part.edges), 'link')}"
    yield f"{counts}{'; there are more' if part.is_truncated else ''}"


def preview(preview: PlanPreview) -> Iterator[Any]:
    """Yield the changes that a compile would make."""
    memories = counted(preview.memory_count, "memory", "memories")
    yield f"the next batch has {memories} and would make {counted(preview.item_count, 'change')}"
    yield rows(
        ("change", "page", "what", "memories"),
        ((one.kind, one.path, one.subject, ", ".join(one.memory_ids)) for one in preview.items),
        empty="Nothing would change.",
    )
    yield from (
        f"turned down {counted(count, 'time')}: {reason}" for reason, count in sorted(preview.rejections.items())
    )


def jobs(found: Sequence[CompileJob]) -> Iterator[Any]:
    """Yield a line for each job."""
    yield rows(
        ("job", "status", "trigger", "created", "ended", "read", "pages", "error"),
        (
            (
                one.job_id, one.status, one.trigger, moment(one.create_time), moment(one.finish_time),
                one.metrics.get("records_read", ""), one.metrics.get("pages_created", ""), one.error[:_SUMMARY_CHARS],
            )
            for one in found
        ),
        empty="No jobs yet; queue one with: sidecar wiki compile",
    )  # fmt: skip


def job(one: CompileJob, before: Sequence[CompileJob] = ()) -> Iterator[Any]:
    """Yield a job's status, and its metrics summed with those of the earlier jobs in its chain."""
    yield f"{one.status}: job {one.job_id}, triggered by {one.trigger}{f', {one.error}' if one.error else ''}"
    figures = [(name, value) for name in _SHOWN if (value := _together(name, (*before, one)))]
    if figures and before:
        yield f"together with the {len(before):,} before it:"
    if figures:
        yield rows(("what", "count"), figures)
    rejected: Counter[str] = Counter()
    for every in (*before, one):
        rejected.update(every.metrics.get("rejections") or {})
    if rejected:
        reasons = ", ".join(f"{reason} ({count:,.0f})" for reason, count in sorted(rejected.items()))
        yield f"left out of the plans: {reasons}"
    if waiting := one.metrics.get("edges_waiting"):
        edges = counted(waiting, "edge stated by hand waits", "edges stated by hand wait")
        yield f"{edges} for a page; see: sidecar wiki lint --dry-run"


def _together(name: str, chain: Sequence[CompileJob]) -> Any:
    """Return a metric's sum over a chain of jobs; if it is not a number, the last job's value."""
    values = [one.metrics.get(name) or 0 for one in chain]
    return (
        round(sum(values), 6)
        if all(isinstance(value, int | float) for value in values)
        else chain[-1].metrics.get(name)
    )


def lint(report: LintReport) -> Iterator[Any]:
    """Yield the lint findings."""
    if not report.findings:
        yield "no problems found"
    else:
        yield ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.counts.items()))
        yield rows(("kind", "subject", "detail"), ((one.kind, one.subject, one.detail) for one in report.findings))
    if report.job is not None:
        yield f"queued for held names: job {report.job.job_id}"


def backfill(effect: BackfillEffect, *, is_dry: bool) -> Iterator[str]:
    """Yield the links that were written or would be, and the counts of dropped candidates."""
    verb = "would write" if is_dry else "wrote"
    yield f"{verb} {effect.deterministic_count:,} deterministic and {counted(effect.co_mention_count, 'co-mention link')}"
    yield f"from {counted(effect.memory_count, 'memory', 'memories')}; {_counts(effect.funnel) or 'no candidates'}"


def rollback(effect: RollbackEffect, *, is_dry: bool) -> Iterator[str]:
    """Yield the evidence and links that were removed or would be."""
    verb = "would remove" if is_dry else "removed"
    evidence = counted(effect.evidence_count, "piece of evidence", "pieces of evidence")
    yield f"{verb} {evidence}, and {counted(effect.link_count, 'link')} without other evidence"
    yield from (f"  {one}" for one in effect.examples)


def density(found: Density) -> Iterator[str]:
    """Yield the counts."""
    linked = f"{found.linked_page_count:,} linked ({found.density:.1%})"
    yield f"{counted(found.page_count, 'page')}, {linked}, {found.archived_page_count:,} archived"
    yield f"links by kind: {_counts(found.link_counts) or 'none'}"
    yield f"links by origin: {_counts(found.origin_counts) or 'none'}"
    yield f"typed edges: {_counts(found.edge_counts) or 'none'}"
    yield f"titles that several pages share: {found.duplicate_title_count:,}"


def density_document(found: Density, now: datetime, *, owner: str = "") -> str:
    """Return the counts as a dated Markdown document; an empty owner is left out."""
    facts = [
        *([("owner", owner.replace("|", "\\|"))] if owner else []),
        ("pages", f"{found.page_count}"),
        ("linked pages", f"{found.linked_page_count}"),
        ("density", f"{found.density:.4f}"),
        ("archived pages", f"{found.archived_page_count}"),
        ("duplicate titles", f"{found.duplicate_title_count}"),
        *((f"links: {kind}", f"{count}") for kind, count in sorted(found.link_counts.items())),
        *((f"edges: {kind}", f"{count}") for kind, count in sorted(found.edge_counts.items())),
        *((f"origin: {origin}", f"{count}") for origin, count in sorted(found.origin_counts.items())),
    ]
    lines = "\n".join(f"| {name} | {value} |" for name, value in facts)
    return f"# Wiki link density, {now:%Y-%m-%d %H:%M:%S} UTC\n\n| what | count |\n|---|---|\n{lines}\n"


def reads(found: ReadMeasure) -> Iterator[Any]:
    """Yield the wiki reads of turns and the compile cost."""
    yield (
        f"{found.wiki_assembly_count:,} of {counted(found.assembly_count, 'assembly', 'assemblies')} contained wiki content, "
        f"{counted(found.wiki_answer_count, 'answer')} used it"
    )
    per_read = "" if found.cost_per_read_usd is None else f", ${found.cost_per_read_usd:.4f} a read"
    yield f"{counted(found.job_count, 'job')}, ${found.cost_usd:.4f}{per_read}"
    if found.pages:
        yield rows(
            ("page", "title", "assemblies", "answers"),
            ((one.page.path, one.page.title, one.assembly_count, one.answer_count) for one in found.pages),
        )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
