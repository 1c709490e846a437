"""Pages compiled without a model, over real conversations: how many, what they cover, and whether batching changes them.

`--data` names the folder of real data, which is not part of the project; the demo's journal is always measured. Quality is
read, not computed: `--sample N` prints N pages drawn by `--seed`.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import uvloop

from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain
from bench.wiki import compiling
from compiler.job.compilation import BatchDeps, Engine
from compiler.job.worker import Worker, WorkerSettings
from compiler.plan.contract import BatchMemory, Page
from compiler.plan.names.naming import holds
from compiler.plan.quoting.excerpts import excerpt
from compiler.plan.text.markdown import plain_key, unescape
from compiler.planners import gazetteer
from compiler.planners.planner import ExtractivePlanner
from compiler.settings import Caps, CompileSettings
from compiler.state import row_mapping
from compiler.state.access import Access
from compiler.state.substrates import PostgresSubstrate
from sidecar.demo import corpus
from store.compile import jobs
from store.compile.jobs import Job
from store.content.memories import NewMemory
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.scope import Scope
from store.wiki import candidates

KINDS = ("observations", "turns", "journal")
_TARGETS = {"observations": 8.0, "turns": 4.0}
_HOUR = timedelta(hours=1)
_CAPTION = re.compile(r"\[[^\]]*\]?")


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner's memories: of two speakers as observations or as turns, or of the demo's journal."""

    name: str
    kind: str
    memories: tuple[NewMemory, ...]
    speakers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Batching:
    """How the memories arrive: memories a batch, jobs, and a seed to shuffle them; 0 keeps their order."""

    name: str
    size: int = 50
    jobs: int = 1
    seed: int = 0


BATCHINGS = (
    Batching("batches of 50"),
    Batching("batches of 5", 5),
    Batching("one batch of 500", 500),
    Batching("ten jobs", 50, 10),
    Batching("shuffled", 50, 1, 7),
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled wiki: its active pages, its links, and how many memories its batches read."""

    owner: Owner
    pages: tuple[Page, ...]
    links: frozenset[tuple[str, str, str]]
    read: int
    is_hub: frozenset[str] = field(default=frozenset())

    @property
    def cited(self) -> frozenset[tuple[str, str]]:
        """The pairs of page and cited memory."""
        return frozenset((page.key.path, one.memory_id) for page in self.pages for one in page.cited())


def run(
    *, scale: float, data: Path, sample: int = 0, seed: int = 1, only: str = "", batchings: bool = True
) -> list[Figure]:
    """Return the figures. `only` keeps the owners whose name contains it; a scale below 1 takes the first owners of each kind."""
    owners = [one for one in _owners(data, scale) if only in one.name]
    if not owners:
        raise SystemExit(f"no owner's name contains {only}")
    wikis = uvloop.run(_compiled(owners, BATCHINGS if batchings else BATCHINGS[:1]))
    usual = [found[0] for found in wikis]
    figures = [figure for kind in KINDS for figure in _of_kind(kind, [one for one in usual if one.owner.kind == kind])]
    if batchings:
        figures += _stability(wikis)
    if sample:
        _print_sample(usual, sample, seed)
    return figures


def _of_kind(kind: str, wikis: Sequence[Compiled]) -> Iterable[Figure]:
    if not wikis:
        return
    count = sum(len(one.owner.memories) for one in wikis)
    pages = sum(len(_own(one)) for one in wikis)
    rate, note = 100 * pages / count, f"{pages} pages, {count} memories"
    target = _TARGETS.get(kind)
    name = f"{kind}: pages per 100 memories"
    yield at_least(name, rate, target, note=note) if target else plain(name, rate, note=note)
    reach = sum(len(_reached(one)) for one in wikis) / count
    yield at_least(f"{kind}: memories cited by a page that is no speaker's", reach, 0.60)
    named, cited, said, quoted = (sum(part) for part in zip(*map(_citations, wikis), strict=True))
    yield at_least(f"{kind}: memories that name a page, cited by it", cited / max(1, named), 0.97, note=f"of {named}")
    captionless = (_citations(one, has_captions=False) for one in wikis)
    spoken, told, _, _ = (sum(part) for part in zip(*captionless, strict=True))
    yield plain(
        f"{kind}: the same where more than a picture's caption names it", told / max(1, spoken), note=f"of {spoken}"
    )
    yield plain(f"{kind}: those with a sentence about it, quoted by it", quoted / max(1, said), note=f"of {said}")
    hubs = [page for one in wikis for page in one.pages if page.key.path in one.is_hub]
    yield plain(f"{kind}: hubs", len(hubs), note=", ".join(sorted({page.title for page in hubs})[:12]))
    lists = {(one.owner.name, page.title) for one in wikis for page in one.pages if _has_list(page)}
    yield plain(
        f"{kind}: pages with a list of others", len(lists), note=", ".join(sorted({title for _, title in lists})[:12])
    )
    for kept in ("entity", "topic", "decision"):
        yield plain(f"{kind}: {kept} pages", sum(page.key.type == kept for one in wikis for page in one.pages))


def _has_list(page: Page) -> bool:
    return any(one.aggregation is not None for one in page.sections)


def _own(wiki: Compiled) -> list[Page]:
    """Return the pages that count: lists of a tag or a month count as none."""
    return [page for page in wiki.pages if page.key.path not in wiki.is_hub]


def _reached(wiki: Compiled) -> set[str]:
    return {
        source.memory_id
        for page in wiki.pages
        if page.key.path not in wiki.is_hub and not _is_speaker(page, wiki.owner)
        for source in page.cited()
    }


def _is_speaker(page: Page, owner: Owner) -> bool:
    names = {plain_key(alias.display) for alias in page.aliases} | {plain_key(page.title)}
    return any(name in owner.speakers or name in {one.split()[0] for one in owner.speakers} for name in names)


def _citations(wiki: Compiled, *, has_captions: bool = True) -> tuple[int, int, int, int]:
    """Return how many pairs of page and memory there are that names it, is cited, has a sentence about it, is quoted.

    Without captions, what stands in brackets names nothing.
    """
    named = cited = said = quoted = 0
    memories = [_as_read(one) for one in wiki.owner.memories]
    texts = [plain_key(one.text if has_captions else _CAPTION.sub(" . ", one.text)) for one in memories]
    for page in _own(wiki):
        keys = {plain_key(page.title), *(plain_key(alias.display) for alias in page.aliases)} - {""}
        every = {one.memory_id for one in page.cited()}
        lines = {one.memory_id for section in page.sections for one in section.sources}
        for memory, text in zip(memories, texts, strict=True):
            if any(holds(key, text) for key in keys):
                named += 1
                cited += memory.memory_id in every
                if excerpt(memory, keys):
                    said += 1
                    quoted += memory.memory_id in lines
    return named, cited, said, quoted


def _as_read(one: NewMemory) -> BatchMemory:
    return BatchMemory(one.memory_id, one.text, b"", one.occurred_at or compiling.NOW, one.document_id, one.metadata)


def _stability(wikis: Sequence[Sequence[Compiled]]) -> Iterable[Figure]:
    """Yield how alike the wikis of two batchings are, for the worst pair, as the mean over the owners."""
    parts = (
        ("pages", 0.99, lambda one: frozenset(page.key.path for page in one.pages)),
        ("cited memories", 0.97, lambda one: one.cited),
        ("links", 0.97, lambda one: one.links),
    )
    for name, target, of in parts:
        worst, which = 1.0, ""
        for a, b in combinations(range(len(BATCHINGS)), 2):
            alike = fmean(_jaccard(of(found[a]), of(found[b])) for found in wikis)
            if alike < worst:
                worst, which = alike, f"{BATCHINGS[a].name} against {BATCHINGS[b].name}"
        yield at_least(f"batchings: {name}, Jaccard", worst, target, note=which)
    reads = [found[1].read / max(1, found[2].read) for found in wikis]
    yield at_most("memories read in batches of 5 ÷ in one batch", max(reads), 3.0)


def _jaccard(one: frozenset[Any], other: frozenset[Any]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


async def _compiled(owners: Sequence[Owner], batchings: Sequence[Batching]) -> list[list[Compiled]]:
    async with own_database() as (_, opened):
        pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=4))
        try:
            places = await asyncio.to_thread(gazetteer.load)
            found = []
            for number, owner in enumerate(owners):
                sys.stderr.write(f"{owner.name}: {len(owner.memories)} memories\n")
                scopes = [compiling.scope_of(100 * number + at + 10) for at in range(len(batchings))]
                found.append(
                    [
                        await _wiki(pools, scope, owner, how, places)
                        for scope, how in zip(scopes, batchings, strict=True)
                    ]
                )
            return found
        finally:
            await pools.close()


async def _wiki(pools: Pools, scope: Scope, owner: Owner, how: Batching, places: gazetteer.Cities) -> Compiled:
    settings = CompileSettings(caps=replace(Caps(), record_page_size=how.size, max_records_per_job=500))
    clock = [compiling.NOW]

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        return BatchDeps(ExtractivePlanner(places))

    substrate = PostgresSubstrate(pools.background)
    engine = Engine(substrate, planner_for, settings, lambda: clock[0], lambda text: len(text) // 4 + 1, places)
    worker = Worker(pools.background, engine, WorkerSettings("bench"))
    entries = list(owner.memories)
    if how.seed:
        random.Random(how.seed).shuffle(entries)
    share = -(-len(entries) // how.jobs)
    for start in range(0, len(entries), share):
        await compiling.retain(pools, scope, entries[start : start + share])
        clock[0] += _HOUR
        async with scoped(pools.background, scope) as connection:
            await jobs.enqueue(connection, scope, trigger="admin", now=clock[0])
        await worker.drain_scope(scope)
    async with scoped(pools.background, scope, read_only=True) as connection:
        standing = await row_mapping.load(connection, scope, await candidates.all_ids(connection, scope))
        causes = await candidates.all_causes(connection, scope)
        listed = await jobs.page(connection, scope, limit=1_000)
    read = sum(int(one.metrics.get("records_read", 0)) for one in listed)
    pages = tuple(page for _, page in sorted(standing.pages.items()) if page.is_active)
    links = frozenset(
        (f"{row['from_type']}/{row['from_slug']}", row["kind"], f"{row['to_type']}/{row['to_slug']}") for row in causes
    )
    hubs = frozenset(
        page.key.path for page in pages if page.sections and all(one.aggregation is not None for one in page.sections)
    )
    return Compiled(owner, pages, links, read, hubs)


def _owners(data: Path, scale: float) -> list[Owner]:
    found: list[Owner] = []
    for folder in ("locomo", "realtalk"):
        file = data / folder / "conversations.json"
        if not file.is_file():
            continue
        read = json.loads(file.read_text(encoding="utf-8"))
        read = read[: max(1, round(len(read) * scale))]
        found += [_observed(one) for one in read if one["observations"]]
        found += [_turned(one) for one in read]
    found.append(Owner("journal", "journal", tuple(_entry(one) for one in corpus.memories())))
    return found


def _observed(read: dict[str, Any]) -> Owner:
    memories = tuple(
        NewMemory(one["text"], f"o{place:05}", _when(one["date"]) + timedelta(seconds=place))
        for place, one in enumerate(read["observations"])
    )
    return Owner(f"{read['id']} observations", "observations", memories, _speakers(read))


def _turned(read: dict[str, Any]) -> Owner:
    turns = [(session, turn) for session in read["sessions"] for turn in session["turns"] if turn["text"].strip()]
    memories = tuple(
        NewMemory(
            f"{turn['speaker']}: {turn['text']}", f"t{place:05}", _when(session["date"]) + timedelta(seconds=place)
        )
        for place, (session, turn) in enumerate(turns)
    )
    return Owner(f"{read['id']} turns", "turns", memories, _speakers(read))


def _speakers(read: dict[str, Any]) -> frozenset[str]:
    return frozenset(plain_key(turn["speaker"]) for session in read["sessions"] for turn in session["turns"])


def _when(text: str) -> datetime:
    for form in ("%I:%M %p on %d %B, %Y", "%d.%m.%Y, %H:%M:%S"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise SystemExit(f"no time that this benchmark can read: {text}")


def _entry(one: Any) -> NewMemory:
    return NewMemory(one.text, one.id, one.occurred_at, document_id=one.document_id, metadata=dict(one.metadata))


def _print_sample(wikis: Sequence[Compiled], count: int, seed: int) -> None:
    """Print pages drawn from all owners, speakers' pages left out, and the seed of the draw."""
    sys.stdout.write(f"sample of {count} pages, seed {seed}\n")
    every = [(one.owner, page) for one in wikis for page in _own(one) if not _is_speaker(page, one.owner)]
    for number, (owner, page) in enumerate(random.Random(seed).sample(every, min(count, len(every))), 1):
        sys.stdout.write(f"\n--- {number}. {owner.name}  {page.key.path}\n{_read(page)}\n")


def _read(page: Page) -> str:
    names = ", ".join(sorted({alias.display for alias in page.aliases} - {page.title}))
    tags = ", ".join(tag.name for tag in page.tags)
    head = f"{page.title}  [{names}] {{{tags}}}\n  {unescape(page.summary)}"
    bodies = "\n".join(f"  ## {one.heading}\n{_indented(one.body_md)}" for one in page.sections)
    return f"{head}\n{bodies}"


def _indented(body: str) -> str:
    return "\n".join(f"    {unescape(line)[:300]}" for line in body.split("\n")[:12])
