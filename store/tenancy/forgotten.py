"""Notes of recently forgotten content. They stop a turn that read the content before it was forgotten from storing it again.

The code that forgets writes notes (hashes) in the transaction that deletes; the code that stores receipts or answers checks
the notes first. A lock per owner serializes the two. A turn can read forgotten content until the deletion commits, however
long that takes, so a note has no date until it is known to be committed, and an undated note counts as newer than every
turn.
Every function takes a connection inside a scoped transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from store.accounting.receipts import NewReceipt
from store.db import queries
from store.db.queries import Connection
from store.scope import Scope, brain_of
from store.text.texts import hash_named

Notes = tuple[bytes, ...]
NO_NOTES: Notes = ()
FORGOTTEN = "forgotten"
"""The channel of notices that content of an owner was forgotten. Payload: tenant id and owner id, separated by a space."""

OWNER = ("owner", "")
"""The reference of an owner that is forgotten whole."""

_sql = queries.load(__file__)
_EVERY_RECEIPT = ("receipts", "")
_ANYTHING = ("anything", "")  # noted with every forgetting of the owner
_SKEW = timedelta(seconds=1)  # allowed between the clocks of the process that forgets and the one that answers turns
_PROCESS = uuid4()  # notes dated by this process share a clock with its turns, so they need no skew
LONGEST_TURN = timedelta(hours=1)


class _Note(NamedTuple):
    """The date of a note, None while undated, and the process that dated it."""

    at: datetime | None
    dated_by: UUID | None

    def concerns(self, began: datetime) -> bool:
        """Return whether a turn of this process that began at `began` may have read the forgotten content."""
        return self.at is None or self.at >= began - (timedelta(0) if self.dated_by == _PROCESS else _SKEW)


async def hold_alone(connection: Connection, scope: Scope) -> None:
    """Lock the owner's receipts: wait for writes in progress, and block others until the transaction ends."""
    await _sql.hold_alone(connection, **scope.key)


async def note(
    connection: Connection, scope: Scope, memory_ids: Iterable[str], page_ids: Iterable[object] = ()
) -> Notes:
    """Note that memories, and the pages that cited them, are forgotten; blocks the owner's receipts.

    Pass the returned notes to `date` after the transaction has committed.
    """
    refs = [("memory", one) for one in memory_ids] + [("page", str(one)) for one in page_ids]
    return await _note(connection, scope, refs)


async def note_refs(connection: Connection, scope: Scope, refs: Iterable[tuple[str, str]]) -> Notes:
    """Note that content is forgotten, as `note` does, by its references (kind, id).

    A receipt drops items that rest on a turn or document, and a receipt of a thread is dropped whole.
    """
    return await _note(connection, scope, refs)


async def note_receipts(connection: Connection, scope: Scope) -> Notes:
    """Note, as `note` does, that receipts of turns that began earlier are dropped whole: any may hold forgotten content."""
    return await _note(connection, scope, [_EVERY_RECEIPT])


async def note_owner(connection: Connection, scope: Scope) -> None:
    """Note that the owner is forgotten, as `note` does: receipts of turns that began before are dropped."""
    await _note(connection, scope, [OWNER])


async def date(connection: Connection, scope: Scope, notes: Notes, *, clock: Callable[[], datetime]) -> None:
    """Date notes, in a later transaction than theirs: receipts of turns that begin later are stored complete.

    If this is never called, the next receipt that a note concerns dates it. Notes older than any turn can be are deleted.
    """
    await hold_alone(connection, scope)
    await _date(connection, scope, notes, now=clock())


def notes_of(scope: Scope, refs: Iterable[tuple[str, str]]) -> Notes:
    """Return the notes that `note_refs` writes of references (kind, id), to be passed to `date`."""
    return tuple(sorted({_hash(scope, kind, ref) for kind, ref in (*refs, _ANYTHING)}))


async def date_owner(connection: Connection, scope: Scope, *, clock: Callable[[], datetime]) -> None:
    """Date the note of the owner, as `date` does."""
    await date(connection, scope, (_hash(scope, *OWNER), _hash(scope, *_ANYTHING)), clock=clock)


async def admit(
    connection: Connection, scope: Scope, receipts: Sequence[NewReceipt], *, clock: Callable[[], datetime]
) -> list[NewReceipt]:
    """Return the receipts that may be stored in this transaction, without content forgotten since their turns began.

    Receipts of turns that ran when the owner, their thread or every receipt was forgotten are left out. For a note dated by
    another process, turns that began up to a second later count as running too.
    """
    rows = await _since_then(connection, scope, since=min(map(_began, receipts)) - _SKEW)
    if not rows:
        return list(receipts)
    notes = {row["ref_hash"]: _Note(row["forgotten_at"], row["dated_by"]) for row in rows}
    met: set[bytes] = set()
    known = [(one, _since(scope, notes, _began(one), met=met)) for one in receipts]
    kept = [
        without(one, is_forgotten)
        for one, is_forgotten in known
        if not any(is_forgotten(*ref) for ref in (OWNER, _EVERY_RECEIPT, ("thread", one.thread_id)))
    ]
    undated = tuple(sorted(one for one in met if notes[one].at is None))
    if undated:
        await _date(connection, scope, undated, now=clock())
    return kept


async def anything_since(connection: Connection, scope: Scope, began: datetime) -> bool:
    """Return whether a committed note says that content of the owner was forgotten since `began`."""
    hashes = [_hash(one, *_ANYTHING) for one in (scope, brain_of(scope.tenant_id))]
    key = {"tenant_id": scope.tenant_id, "since": began - _SKEW}
    return any([await _sql.is_forgotten_since(connection, **key, ref_hash=one) for one in hashes])


async def meanwhile(connection: Connection, scope: Scope, began: datetime, *, now: datetime) -> bool:
    """Return whether content of the owner was forgotten since `began`. Blocks forgetting until the transaction ends.

    An undated note counts, and is dated `now`.
    """
    rows = await _sql.forgotten_since(connection, **scope.key, since=began - _SKEW)
    refs = {_hash(scope, *_ANYTHING), _hash(scope, *OWNER)}
    met = [row for row in rows if row["ref_hash"] in refs]
    undated = tuple(sorted(row["ref_hash"] for row in met if row["forgotten_at"] is None))
    if undated:
        await _date(connection, scope, undated, now=now)
    return any(_Note(row["forgotten_at"], row["dated_by"]).concerns(began) for row in met)


async def lately(
    connection: Connection, scope: Scope, refs: Iterable[tuple[str, str]], *, now: datetime
) -> list[tuple[str, str]]:
    """Return those of the references (kind, id) that were forgotten in the last hour. Blocks forgetting until the transaction
    ends.

    An undated note counts, and is dated `now`.
    """
    rows = await _sql.forgotten_since(connection, **scope.key, since=now - LONGEST_TURN)
    noted = {row["ref_hash"]: row["forgotten_at"] for row in rows}
    met = {_hash(scope, *ref): ref for ref in refs} if noted else {}
    met = {ref_hash: ref for ref_hash, ref in met.items() if ref_hash in noted}
    undated = tuple(sorted(one for one in met if noted[one] is None))
    if undated:
        await _date(connection, scope, undated, now=now)
    return list(met.values())


async def _since_then(connection: Connection, scope: Scope, *, since: datetime) -> list[Any]:
    """Return the notes since an instant. Blocks forgetting for the owner and in the tenant's Brain until the transaction ends."""
    await _sql.forgotten_since(connection, **scope.key, since=since)
    rows: list[Any] = await _sql.forgotten_since(connection, **brain_of(scope.tenant_id).key, since=since)
    return rows


def without(receipt: NewReceipt, is_forgotten: Callable[[str, str], bool]) -> NewReceipt:
    """Return the receipt without the texts, headings and labels of items that cite a forgotten reference (kind, id), and without
    the texts and speakers of forgotten turns and the words that were drawn from them."""
    lost, kept, has_lost = set[str](), set[str](), False
    sources = []
    for source in receipt.details.get("sources", ()):
        items = []
        for item in source["items"]:
            rests, is_named = _standing(item, is_forgotten)
            (lost if rests else kept).update((item["text"], item.get("lead", "")))
            has_lost |= is_named
            items.append(_blank(item) if is_named else item)
        sources.append({**source, "items": items})
    history = receipt.details.get("history") or {"turns": (), "summary": None}
    turns = []
    for turn in history["turns"]:
        rests = is_forgotten("turn", turn["id"].removeprefix("turn:"))
        (lost if rests else kept).update((turn["text"], turn["parts"]))
        turns.append({**turn, "speaker": ""} if rests else turn)
        if rests and (reading := receipt.details.get("reading")):
            lost.add(reading["thread_words"])
    summary = history["summary"]
    if summary and any(is_forgotten("turn", one.removeprefix("turn:")) for one in summary["turn_ids"]):
        lost.add(summary["text"])
    if not lost and not has_lost:
        return receipt
    gone = {hash_named(name) for name in lost - kept if name}
    texts = {text_hash: text for text_hash, text in receipt.texts.items() if text_hash not in gone}
    details = {**receipt.details, "sources": sources}
    if turns:
        details["history"] = {**history, "turns": turns}
    return replace(receipt, details=details, texts=texts)


def _standing(item: Mapping[str, Any], is_forgotten: Callable[[str, str], bool]) -> tuple[bool, bool]:
    """Return whether an item rests on a forgotten reference, and whether its labels may name one: also a page on its path."""
    refs = [(kind, ref) for kind, ref, _ in item.get("provenance", ())]
    rests = any(is_forgotten(kind, ref) for kind, ref in refs)
    return rests, rests or any(is_forgotten("page", ref) for kind, ref in refs if kind == "step")


def _blank(item: Mapping[str, Any]) -> dict[str, Any]:
    return {**item, "header": "", "provenance": [[kind, ref, ""] for kind, ref, _ in item["provenance"]]}


def _since(
    scope: Scope, notes: Mapping[bytes, _Note], began: datetime, *, met: set[bytes]
) -> Callable[[str, str], bool]:
    """Return a predicate for whether a reference was forgotten since `began`; it adds the notes it matches to `met`."""

    brain_scope = brain_of(scope.tenant_id)

    def is_forgotten(kind: str, ref: str) -> bool:
        hashes = [_hash(one, kind, ref) for one in (scope, brain_scope)]
        found = [one for one in hashes if one in notes]
        met.update(found)
        return any(notes[one].concerns(began) for one in found)

    return is_forgotten


def _began(receipt: NewReceipt) -> datetime:
    return receipt.created_at - timedelta(milliseconds=receipt.duration_ms)


async def _note(connection: Connection, scope: Scope, refs: Iterable[tuple[str, str]]) -> Notes:
    await hold_alone(connection, scope)
    hashes = sorted({_hash(scope, kind, ref) for kind, ref in (*refs, _ANYTHING)})
    await _sql.note_forgotten(connection, tenant_id=scope.tenant_id, ref_hashes=hashes)
    await _sql.notify_forgotten(connection, **scope.key)
    return tuple(hashes)


async def _date(connection: Connection, scope: Scope, notes: Notes, *, now: datetime) -> None:
    await _sql.date_notes(connection, tenant_id=scope.tenant_id, ref_hashes=list(notes), now=now, dated_by=_PROCESS)
    await _sql.let_notes_go(connection, tenant_id=scope.tenant_id, before=now - LONGEST_TURN)


def _hash(scope: Scope, kind: str, ref: str) -> bytes:
    return hashlib.sha256(f"{scope.owner_id} {kind} {ref}".encode()).digest()
