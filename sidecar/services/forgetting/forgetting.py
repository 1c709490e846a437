"""The use case of forgetting: memories, turns and threads with everything derived from them, in one transaction.

After its commit no read, export or cache holds the text; the next purge removes it from the database's files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from compiler.decay.compress import remake_summaries
from compiler.decay.remaking import forget_turns
from compiler.operations import acts
from compiler.passes import forgetting
from compiler.releases import releasing
from sidecar.runtime.errors import FailedPrecondition
from sidecar.services.brain.settling import settle
from sidecar.services.forgetting.remote_forgetter import RemoteForgetter, remote_target
from sidecar.services.forgetting.targets import (
    MAX_HITS,
    ForgetReport,
    ForgottenElsewhere,
    Target,
    check,
    chosen,
)
from sidecar.services.threads import KIND
from sidecar.turn.leads import MAX_LEAD_LINES, lead
from store.accounting import receipts
from store.compile import background, batches, decay_jobs, jobs, ledger, scopes
from store.content import episodes, feed, memories, threads
from store.db import purging
from store.db.postgres import Pool, Pools, scoped
from store.db.queries import Connection
from store.ontology import evidence
from store.scope import Scope
from store.tenancy import changes, forgotten, tenants, traces
from store.tenancy.traces import WordHit
from store.text.texts import text_hash
from store.wiki import browse, upkeep

MAX_AT_ONCE = 10_000


class _Undone(Exception):
    """Rolls back the transaction of a dry run."""


@dataclass(slots=True)
class _Found:
    """The ids to forget. A thread in `thread_ids` is deleted with `turn_ids`; a thread in `titles` loses its title.

    `thread_ids` also contains a thread that the owner does not have, because running turns may be about to write a receipt of
    it. Only a thread that `is_locked` is deleted; one that begins meanwhile stays.
    """

    memory_ids: list[str] = field(default_factory=list)
    turn_ids: list[UUID] = field(default_factory=list)
    thread_ids: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    receipt_ids: list[UUID] = field(default_factory=list)
    page_ids: list[UUID] = field(default_factory=list)
    hits: tuple[WordHit, ...] = ()
    is_locked: bool = False


class Forgetting:
    """Forgets memories, turns, documents or words. `on_forgotten` is then called with the owner, ahead of the notice.

    `compile_anew` queues a compile; `elsewhere` forgets at remote memory services.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        on_forgotten: Callable[[Scope], None],
        compile_anew: Callable[[Scope, datetime], Awaitable[object]],
        elsewhere: RemoteForgetter,
    ) -> None:
        self._pool: Pool = pools.background
        self._now = now
        self._on_forgotten = on_forgotten
        self._compile_anew = compile_anew
        self._elsewhere = elsewhere
        self.counts: Counter[str] = Counter()  # forgettings by kind of target

    async def forget(self, scope: Scope, target: Target, *, is_dry_run: bool = False) -> ForgetReport:
        """Forget the target and everything derived from it, and return the report. A missing target counts as forgotten.

        Memories drawn from a forgotten turn are forgotten too. For a word without confirmed hits, only the hits are returned. A
        dry run rolls back. Raises InvalidArgument, and FailedPrecondition for more than 10,000 at once.
        """
        target, now = check(target), self._now()
        report, notes = ForgetReport(is_dry_run=True), forgotten.NO_NOTES
        with suppress(_Undone):
            async with scoped(self._pool, scope) as connection:
                if await tenants.get(connection, scope.tenant_id) is None:
                    return replace(report, is_dry_run=is_dry_run)
                is_preview = bool(target.word and not target.confirmed)
                is_locked = not is_preview and await _hold(connection, scope, target)
                found = await _find(connection, scope, target, is_locked=is_locked)
                if is_preview:
                    left = await traces.rows_holding(connection, scope, target.word)
                    return replace(report, hits=found.hits, left=left, elsewhere=self._elsewhere.unsearched(scope))
                report, notes = await _forget(connection, scope, found, target.word, now=now)
                report = replace(report, is_dry_run=is_dry_run, elsewhere=self._announced(scope, target, report))
                if is_dry_run:
                    raise _Undone
                if report.elsewhere and not target.word:
                    await self._elsewhere.note(connection, scope, remote_target(target))
        if notes and not is_dry_run:
            self.counts[target.kind] += 1
            self._on_forgotten(scope)
            async with scoped(self._pool, scope) as connection:
                await forgotten.date(connection, scope, notes, clock=self._now)
            await settle(self._pool, scope.tenant_id, now=self._now, on_forgotten=self._on_forgotten)
            if report.memory_ids or report.summary_ids or report.page_ids:
                await self._compile_anew(scope, self._now())
        if report.elsewhere and not target.word and not is_dry_run:
            report = replace(report, elsewhere=await self._elsewhere.settle_in_time(scope))
        return report

    def _announced(self, scope: Scope, target: Target, report: ForgetReport) -> tuple[ForgottenElsewhere, ...]:
        """Return the outcomes at remote services for a dry run. Built-in memories and words are not sent to them."""
        if target.word:
            return self._elsewhere.unsearched(scope)
        if target.memory_id in report.memory_ids:
            return ()
        return self._elsewhere.announced(scope)


async def _hold(connection: Connection, scope: Scope, target: Target) -> bool:
    """Lock the owner's memories, and the thread to forget, so that nothing is added to them until the transaction ends. Return
    whether there is a thread to forget.

    The feed is the first lock, as in every write, so that no two transactions deadlock.
    """
    await feed.hold(connection, scope)
    return bool(target.thread_id) and await episodes.lock_thread(connection, scope, target.thread_id)


async def _find(connection: Connection, scope: Scope, target: Target, *, is_locked: bool) -> _Found:
    found = _Found(is_locked=is_locked)
    if target.memory_id:
        found.memory_ids = [target.memory_id]
    elif target.document_id:
        found.memory_ids = await traces.memories_of_document(connection, scope, target.document_id)
    elif target.thread_id:
        found.thread_ids = [target.thread_id]
        found.turn_ids = await traces.turns_of_thread(connection, scope, target.thread_id) if is_locked else []
    elif target.word:
        found = await _confirmed(connection, scope, target)
    else:
        found.memory_ids = await traces.memories_between(connection, scope, target.span)
        found.turn_ids = await traces.turns_between(connection, scope, target.span)
        found.receipt_ids = await traces.receipts_between(connection, scope, target.span)
    if found.turn_ids:
        drawn = await traces.memories_from_turns(connection, scope, found.turn_ids)
        found.memory_ids = list(dict.fromkeys([*found.memory_ids, *drawn]))
    if max(len(found.memory_ids), len(found.turn_ids)) > MAX_AT_ONCE:
        problem = f"names {len(found.memory_ids):,} memories and {len(found.turn_ids):,} turns"
        raise FailedPrecondition(
            "target", f"{problem}; at most {MAX_AT_ONCE:,} of each are forgotten at once: send a part"
        )
    return found


async def _confirmed(connection: Connection, scope: Scope, target: Target) -> _Found:
    hits = tuple(await traces.hits(connection, scope, target.word, limit=MAX_HITS))
    ids: dict[str, list[str]] = {}
    for hit in chosen(target, hits):
        ids.setdefault(hit.kind, []).append(hit.id)
    return _Found(
        memory_ids=ids.get("memory", []),
        turn_ids=[UUID(one) for one in ids.get("turn", ())],
        titles=ids.get("thread", []),
        receipt_ids=[UUID(one) for one in ids.get("receipt", ())],
        page_ids=[UUID(one) for one in ids.get("page", ())],
        hits=hits,
    )


async def _forget(
    connection: Connection, scope: Scope, found: _Found, word: str, *, now: datetime
) -> tuple[ForgetReport, forgotten.Notes]:
    before = await changes.so_far(connection, scope.tenant_id)
    report = ForgetReport(is_dry_run=False, hits=found.hits)
    has_turns = bool(found.turn_ids or found.thread_ids or found.titles)
    resting = await forget_turns(connection, scope, found.turn_ids, now=now) if found.turn_ids else frozenset()
    notes = await _forget_turns(connection, scope, found, now=now) if has_turns else ()
    report = replace(report, turn_ids=tuple(found.turn_ids))
    if found.thread_ids or found.receipt_ids:
        notes += await _forget_receipts(connection, scope, found)
        thread_ids = tuple(found.thread_ids) if found.is_locked or found.receipt_ids else ()
        report = replace(report, thread_ids=thread_ids, receipt_ids=tuple(found.receipt_ids))
    if found.memory_ids or resting:
        report, more = await _forget_memories(connection, scope, (found.memory_ids, resting), report, now=now)
        notes += more
    if found.page_ids:
        report = replace(report, page_ids=await _forget_pages(connection, scope, found.page_ids, now=now))
    if notes:
        await jobs.forget_error_details(connection, scope)
        await background.forget_error_details(connection, scope)
    if word:
        notes += await forgotten.note_receipts(connection, scope)
        report = replace(report, left=await traces.rows_holding(connection, scope, word))
    counts = changes.since(before, await changes.so_far(connection, scope.tenant_id))
    if counts:
        await purging.request(connection, now=now)
    return replace(report, row_counts=counts), notes


async def _forget_memories(
    connection: Connection,
    scope: Scope,
    named: tuple[Sequence[str], frozenset[str]],
    report: ForgetReport,
    *,
    now: datetime,
) -> tuple[ForgetReport, forgotten.Notes]:
    """Forget memories. Summaries that rest on one are rebuilt; a summary with fewer than two sources left is forgotten too.

    `named` are the memories, and the summaries whose episodes changed.
    """
    held = await memories.lock(connection, scope, named[0])
    if not held and not named[1]:
        return report, ()
    remade, emptied = await remake_summaries(connection, scope, list(held), now=now, resting_ids=named[1])
    gone = {**held, **{one.memory_id: one for one in emptied}}
    made_anew = [one for one in remade if one.memory_id not in gone]
    await memories.forget_all(connection, scope, list(gone))
    hashes = {kept for one in (*gone.values(), *made_anew) for kept in _kept_forms(one.text)}
    await receipts.forget_texts(connection, scope, hashes)
    await decay_jobs.forget_sources(connection, scope, list(gone))
    summary_ids = tuple(one.memory_id for one in made_anew)
    lost = [*gone, *summary_ids]  # pages lose a summary's earlier text too; the next compile reads its new one
    await evidence.forget(connection, scope, lost)
    await scopes.lock(connection, scope, now=now)  # turns can still read while this waits for a running compile
    notes = await forgetting.forget(connection, scope, lost, now=now)
    notes += await forgetting.rebuild(connection, scope, lost, now=now)
    await releasing.follow(connection, scope, lost, now=now)
    return replace(report, memory_ids=tuple(gone), summary_ids=summary_ids), notes


async def _forget_turns(connection: Connection, scope: Scope, found: _Found, *, now: datetime) -> forgotten.Notes:
    """Forget turns, and whole threads with theirs. The summary of a thread that stays is rebuilt in the background."""
    refs = [("turn", str(one)) for one in found.turn_ids]
    notes = await forgotten.note_refs(connection, scope, refs)
    if found.is_locked:
        for thread_id in found.thread_ids:
            await threads.forget(connection, scope, thread_id, found.turn_ids)
    elif found.turn_ids:
        for thread_id in await threads.empty_turns(connection, scope, found.turn_ids):
            await background.enqueue(connection, scope, KIND, thread_id, now=now)
    await threads.empty_titles(connection, scope, found.titles)
    await receipts.forget_texts(connection, scope, (), refs)
    return notes


async def _forget_receipts(connection: Connection, scope: Scope, found: _Found) -> forgotten.Notes:
    """Forget receipts, also those that running turns are about to write."""
    notes = await forgotten.note_refs(connection, scope, [("thread", one) for one in found.thread_ids])
    for thread_id in found.thread_ids:  # only now is no further receipt written
        found.receipt_ids += await traces.receipts_of_thread(connection, scope, thread_id)
    if not found.thread_ids:
        notes += await forgotten.note_receipts(connection, scope)
    await receipts.forget(connection, scope, found.receipt_ids)
    return notes


async def _forget_pages(
    connection: Connection, scope: Scope, page_ids: Sequence[UUID], *, now: datetime
) -> tuple[UUID, ...]:
    """Delete pages that contain a forgotten word, and queue their memories to be read again. Returns the pages that existed."""
    gone = []
    for page_id in page_ids:
        row = await browse.page(connection, scope, page_id)
        if row is None:
            continue
        behind = await upkeep.memories_behind(connection, scope, [(row.type, row.slug)])
        await acts.delete_page(connection, scope, row, now=now)
        await batches.forget_names(connection, scope, [(row.slug, row.path)])
        await ledger.queue_reread(connection, scope, behind, now=now)
        await receipts.forget_texts(connection, scope, (), [("page", str(page_id))])
        gone.append(page_id)
    return tuple(gone)


def _kept_forms(text: str) -> list[bytes]:
    """Return the hashes under which receipts may have stored the text: of the whole text, and of its first lines."""
    leads = (lead(text, lines) for lines in range(1, MAX_LEAD_LINES + 1))
    return [text_hash(form) for form in {text, *leads}]
