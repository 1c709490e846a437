"""Removes stored traces of forgotten memories: when they are forgotten, and again when the pages they fed are rebuilt.

Between the two, a turn may read those pages and a model may answer an earlier request. Both times are noted, so that a receipt
written afterwards, for a turn that read before, keeps none of the memories' words. `rebuild` closes this gap: it rebuilds the
pages in the transaction that forgets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from compiler.passes import leaf
from compiler.passes.leaf import LeafDeps
from compiler.plan.contract import Alias, DeletePage, DropAlias, Item, Page, TitlePage
from compiler.plan.names.ruled import MANUAL, unkept_names
from compiler.plan.text.markdown import alias_keys, slug
from compiler.plan.version import RULES
from compiler.plan.vocabulary import vocabulary
from compiler.planners.planner import ExtractivePlanner
from compiler.settings import CompileSettings
from compiler.state import apply, surroundings, views
from compiler.state.access import OpenTransactionAccess
from compiler.state.apply import UNLIMITED, ApplyOptions
from compiler.state.row_mapping import ruling
from compiler.state.substrates import OpenTransactionSubstrate
from store.accounting import receipts
from store.compile import answers, batches, ledger, scopes
from store.compile.batches import Batch, BatchKind
from store.compile.ledger import MemoryOutcome
from store.content import feed, memories, standing
from store.db.queries import Connection
from store.ontology import versions
from store.scope import Scope
from store.tenancy import forgotten
from store.tenancy.forgotten import Notes
from store.wiki import candidates, edge_ends, kept_edges, rulings, upkeep

_AT_ONCE = 200


async def forget(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime, is_built_in: bool = True
) -> Notes:
    """Delete stored traces of the memories, and mark their pages for the next job.

    The caller has deleted the memories, or replaced their texts. Memories that they superseded are current again. A plan under
    way is superseded, so that none of their words is written any more. The caller enqueues the job, and passes the returned notes
    to `forgotten.date` after the commit.
    """
    if not memory_ids:
        return ()
    await scopes.lock(connection, scope, now=now)
    notes = await _delete_traces(connection, scope, memory_ids, now=now)
    await _mark(connection, scope, memory_ids, now=now)
    if is_built_in:
        settled = await standing.settle(connection, scope, None, now=now)
        await edge_ends.settle_stated_by(connection, scope, [one.memory_id for one in settled])
    through = await feed.announce_forgotten(connection, scope) if is_built_in else None
    await scopes.mark_dirty(connection, scope, through=through, now=now)
    return notes


async def rebuild(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> Notes:
    """Rebuild the pages of forgotten memories in this transaction, without a model. Call `forget` for them before.

    A remaining section consists of sentences of its other memories. Each part of the work is logged as a batch. The caller
    passes the returned notes to `forgotten.date` after the commit.
    """
    access = OpenTransactionAccess(connection, scope)
    deps = LeafDeps(ExtractivePlanner(), OpenTransactionSubstrate(connection), CompileSettings(), len)
    ontology = await versions.newest_ontology(connection, scope.tenant_id)
    words = vocabulary(ontology) if ontology else None
    governing = {"ontology": ontology.version} if ontology else {}
    notes: dict[bytes, None] = {}
    for start in range(0, len(memory_ids), _AT_ONCE):
        some = memory_ids[start : start + _AT_ONCE]
        row = await scopes.lock(connection, scope, now=now)
        planned = await leaf.plan_stale(access, deps, changed=frozenset(), gone=frozenset(some))
        notes |= dict.fromkeys(await settle(connection, scope, some, planned.items, now=now))
        await ledger.queue_reread(connection, scope, planned.options["again"], now=now)
        await apply.write(connection, scope, planned.items, ApplyOptions(UNLIMITED, row.wiki_revision + 1, now, words))
        known = await ledger.read(connection, scope, some)
        await ledger.drop(connection, scope, some)
        if planned.items:
            await scopes.bump_revision(connection, scope, now=now)
            batch = Batch(
                batch_seq=await scopes.next_batch_seq(connection, scope, now=now),
                kind=BatchKind.STALE,
                job_id=None,
                revision=row.wiki_revision,
                cursor_from=row.cursor,
                cursor_to=row.cursor,
                read_through=row.read_through,
                memory_ids=tuple(known),
                content_hashes=tuple(entry.content_hash.hex() for entry in known.values()),
                entries=tuple(known.values()),
                options={**planned.options, "rules": RULES, "planner": deps.planner.name, "prompts": [], **governing},
            )
            await batches.log_applied(connection, scope, batch, now=now)
    return tuple(notes)


async def withdraw(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> None:
    """Mark the memories' pages for the next job, as `forget` does, for memories that stay but are no longer accepted.

    Receipts keep their words. The caller enqueues the job.
    """
    await scopes.lock(connection, scope, now=now)
    await _drop_quotes(connection, scope, memory_ids, now=now)
    await _mark(connection, scope, memory_ids, now=now)
    await scopes.mark_dirty(connection, scope, through=await feed.announce_forgotten(connection, scope), now=now)


async def settle(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], items: Iterable[Item], *, now: datetime
) -> Notes:
    """Delete traces of the memories stored since they were forgotten, and traces of the pages that the items delete.

    Of a memory that stays but is no longer accepted, only quotes are deleted: receipts keep its words. Call it in the transaction
    that applies the items, before they are applied. The caller passes the returned notes to `forgotten.date` after the commit.
    """
    deleted = [item.page for item in items if isinstance(item, DeletePage)]
    if deleted:
        await batches.forget_names(connection, scope, [(key.slug, key.path) for key in deleted])
    if deleted and memory_ids:
        await kept_edges.drop_on_pages(connection, scope, [(key.type.value, key.slug) for key in deleted])
    stays = {one.memory_id for one in await memories.by_ids(connection, scope, memory_ids)} if memory_ids else set()
    if stays:
        await _drop_quotes(connection, scope, sorted(stays), now=now)
    lost = [one for one in memory_ids if one not in stays]
    return await _delete_traces(connection, scope, lost, now=now) if lost else ()


async def forget_edited_quotes(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete quotes of edited memories that no plan updates: those under settled names, in rulings and in the log of operators'
    acts.
    """
    if memory_ids:
        await batches.forget_texts(connection, scope, memory_ids)
        await upkeep.forget_settled_sightings(connection, scope, memory_ids)
        await rulings.forget_sentences(connection, scope, memory_ids)


async def _delete_traces(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> Notes:
    page_ids = await upkeep.pages_resting_on(connection, scope, memory_ids)
    notes = await forgotten.note(connection, scope, memory_ids, page_ids)
    known = await ledger.read(connection, scope, memory_ids)
    hashes = [entry.text_hash for entry in known.values() if entry.text_hash]
    refs = [*(("memory", one) for one in memory_ids), *(("page", str(one)) for one in page_ids)]
    await receipts.forget_texts(connection, scope, hashes, refs)
    await rulings.forget_sentences_on(connection, scope, page_ids)
    await _drop_quotes(connection, scope, memory_ids, now=now)
    return notes


async def _drop_quotes(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> None:
    await answers.forget(connection, scope, memory_ids)
    await _drop_rulings(connection, scope, memory_ids, now=now)
    await kept_edges.forget(connection, scope, memory_ids)
    await upkeep.forget_sightings(connection, scope, memory_ids)


async def _drop_rulings(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> None:
    """Delete the rulings that rest on the memories alone, and the names and titles given by hand that no other ruling or memory
    keeps.

    No act is logged, since the log would keep the names.
    """
    before = [ruling(row) for row in await rulings.listed(connection, scope)]
    await rulings.forget(connection, scope, memory_ids)
    remaining = await views.operator_rulings(connection, scope)
    names = unkept_names(before, remaining)
    if not names:
        return
    found = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in sorted(names)])
    pages = await surroundings.pages(connection, scope, [one.page_id for one in found])
    named_by = {source.memory_id for page in pages.values() for alias in page.aliases for source in alias.sources}
    known = await ledger.read(connection, scope, sorted(named_by))
    gone = {*memory_ids, *(one for one, entry in known.items() if entry.outcome is MemoryOutcome.GONE)}
    items = [
        item
        for page in pages.values()
        for item in _without_names(
            page, names[page.key], gone=gone, is_title_kept=page.title == remaining.titles.get(page.key)
        )
    ]
    row = await scopes.lock(connection, scope, now=now)
    ontology = await versions.newest_ontology(connection, scope.tenant_id)
    known_terms = vocabulary(ontology) if ontology else None
    await apply.write(connection, scope, items, ApplyOptions(UNLIMITED, row.wiki_revision + 1, now, known_terms))


def _without_names(
    page: Page, names: Collection[str], *, gone: Collection[str], is_title_kept: bool
) -> Iterator[TitlePage | DropAlias]:
    """Yield the items that drop these names from the page, as far as an operator gave them.

    A title among them is replaced by the name that the slug was made from, else by one that a remaining memory has. The title
    stays if a remaining memory or a ruling has it, or if the page has no other name.
    """

    def is_said(alias: Alias) -> bool:
        return any(source.memory_id not in gone for source in alias.sources)

    titles = {*alias_keys(page.title)}
    lost = [one for one in page.aliases if one.key in names and one.origin == MANUAL]
    others = [one for one in page.aliases if one not in lost and (is_said(one) or slug(one.display) == page.key.slug)]
    others.sort(key=lambda one: (slug(one.display) != page.key.slug, not is_said(one), one.key))
    is_retitled = bool(others) and not is_title_kept and any(one.key in titles and not is_said(one) for one in lost)
    if is_retitled:
        yield TitlePage(page.key, others[0].display, others[0].sources)
    yield from (DropAlias(page.key, one.key) for one in lost if is_retitled or one.key not in titles)


async def _mark(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> None:
    await ledger.mark_gone(connection, scope, memory_ids, now=now)
    await batches.forget(connection, scope, memory_ids)
    await scopes.bump_revision(connection, scope, now=now)
