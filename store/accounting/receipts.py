"""Receipts: one row per assembly, the texts it names by hash, the usage callers reported, and calibrations learned from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Reach, Scope
from store.text.quoting import is_said_by
from store.text.texts import SHORT_HASH_BYTES

_sql = queries.load(__file__)
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_LAST_ID = UUID(int=2**128 - 1)
_TEXTS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """A receipt to write. `details` is JSON; it names texts by the short hash, in Base64, under which `texts` holds them."""

    scope: Scope
    receipt_id: UUID
    agent_id: str
    thread_id: str
    model_id: str
    is_degraded: bool
    duration_ms: float
    details: dict[str, Any]
    texts: Mapping[bytes, str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """The usage a caller reported for an assembly, in the provider's token counts."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    used_item_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as written, with the usage reported since."""

    receipt_id: UUID
    agent_id: str
    thread_id: str
    model_id: str
    is_degraded: bool
    duration_ms: float
    details: dict[str, Any]
    created_at: datetime
    usage: ReportedUsage | None = None

    def is_within(self, reach: Reach | None) -> bool:
        """Return whether a reader may see it: an admin (None), or the agent it was made for if that agent holds its space."""
        if reach is None:
            return True
        return self.agent_id == reach.agent_id and reach.has_space(self.details["asked"].get("space_id", ""))


async def insert(connection: Connection, receipts: Sequence[NewReceipt]) -> None:
    """Insert receipts of one scope. A receipt that already exists is left unchanged."""
    scope = receipts[0].scope
    await _sql.insert_receipts(
        connection,
        **scope.key,
        receipt_ids=[receipt.receipt_id for receipt in receipts],
        agent_ids=[receipt.agent_id for receipt in receipts],
        thread_ids=[receipt.thread_id for receipt in receipts],
        model_ids=[receipt.model_id for receipt in receipts],
        degraded=[receipt.is_degraded for receipt in receipts],
        durations_ms=[receipt.duration_ms for receipt in receipts],
        details=[receipt.details for receipt in receipts],
        created_at=[receipt.created_at for receipt in receipts],
    )


async def keep_texts(connection: Connection, scope: Scope, texts: Mapping[bytes, str], *, until: datetime) -> None:
    """Keep an owner's texts, by hash, until `until`, give or take an hour; texts already kept that long are not sent."""
    key = {**scope.key, "kept_until": until}
    rows = await _sql.texts_to_keep(connection, **key, text_hashes=list(texts))
    hashes = sorted(row["text_hash"] for row in rows)
    if hashes:
        await _sql.keep_texts(connection, **key, text_hashes=hashes, texts=[texts[one] for one in hashes])


async def forget_texts(
    connection: Connection, scope: Scope, hashes: Collection[bytes], refs: Collection[tuple[str, str]] = ()
) -> None:
    """Delete, before they expire, an owner's texts with these SHA-256 hashes, and those of candidates and turns resting on the
    references (kind, id), because their content was forgotten. Headings and labels of such candidates are blanked, as are the
    speakers of such turns; receipts stay. The words of a thread with which its later turns searched are deleted with any of its
    turns.

    A text stays if every sentence of it is in memories that are not among the references: the memories it is drawn from, or one
    with the same text.
    """
    if not hashes and not refs:
        return
    pairs = {"kinds": [kind for kind, _ in refs], "refs": [ref for _, ref in refs]}
    gone = [ref for kind, ref in refs if kind == "memory"]
    named = {*hashes, *(one[:SHORT_HASH_BYTES] for one in hashes)}  # receipts of earlier releases name whole hashes
    rows = await _sql.texts_at_stake(connection, **scope.key, **pairs, memory_ids=gone, text_hashes=list(named))
    lost = [row["text_hash"] for row in rows if not is_said_by(row["text"], row["others"])]
    if lost:
        await _sql.forget_texts(connection, **scope.key, text_hashes=lost)
    if refs:
        await _sql.blank_names_resting_on(connection, **scope.key, **pairs)
    if turn_ids := [f"turn:{ref}" for kind, ref in refs if kind == "turn"]:
        await _sql.blank_speakers_of(connection, **scope.key, turn_ids=turn_ids)


async def forget(connection: Connection, scope: Scope, receipt_ids: Sequence[UUID]) -> None:
    """Delete receipts, with the texts that no other receipt of the owner names."""
    if not receipt_ids:
        return
    key = {**scope.key, "receipt_ids": list(receipt_ids)}
    rows = await _sql.texts_of_receipts(connection, **key)
    hashes = [row["text_hash"] for row in rows]
    await _sql.forget_texts(connection, tenant_id=scope.tenant_id, owner_id=scope.owner_id, text_hashes=hashes)
    await _sql.delete_receipts(connection, **key)


async def get(
    connection: Connection, scope: Scope, receipt_id: UUID, *, reach: Reach | None = None
) -> StoredReceipt | None:
    """Return one receipt of the scope with its usage; None if there is none or it is out of reach."""
    row = await _sql.get_receipt(connection, **scope.key, receipt_id=receipt_id)
    found = row and _receipt(row, _usage(row))
    return found if found and found.is_within(reach) else None


async def texts(connection: Connection, scope: Scope, hashes: Sequence[bytes], *, now: datetime) -> dict[bytes, str]:
    """Return the owner's texts that are still kept, by hash."""
    rows = await _sql.get_texts(connection, **scope.key, text_hashes=list(hashes), now=now)
    return {row["text_hash"]: row["text"] for row in rows}


async def page(
    connection: Connection,
    scope: Scope,
    *,
    thread_id: str = "",
    limit: int,
    before: tuple[datetime, UUID] | None = None,
    reach: Reach | None = None,
) -> list[StoredReceipt]:
    """Return a page of the owner's receipts within reach, newest first; with `thread_id`, only that thread's.

    Of their details only the version, the pool, the tokenizer, the hash and the account of each source are read.
    """
    before_at, before_id = before or (_END_OF_TIME, _LAST_ID)
    place = {"before": before_at, "before_id": before_id, "limit": limit} | _seen_by(reach)
    if thread_id:
        rows = await _sql.list_receipts_of_thread(connection, **scope.key, **place, thread_id=thread_id)
    else:
        rows = await _sql.list_receipts(connection, **scope.key, **place)
    return [_receipt(row, None) for row in rows]


async def report_usage(
    connection: Connection, scope: Scope, receipt_id: UUID, usage: ReportedUsage, *, now: datetime
) -> bool:
    """Store the usage a caller reported for its own receipt, and return whether it is the first report.

    A later report replaces an earlier one. Concurrent reports on one receipt are serialized by a row lock.
    """
    key = {**scope.key, "receipt_id": receipt_id}
    await _sql.lock_receipt(connection, **key)
    is_known = await _sql.is_reported(connection, **key)
    await _sql.report_usage(connection, **key, **{**asdict(usage), "used_item_ids": list(usage.used_item_ids)}, now=now)
    return not is_known


async def open_calibration(connection: Connection, scope: Scope, model_id: str, *, now: datetime) -> dict[str, Any]:
    """Create or lock the calibration learned from an owner's reports on a model until the transaction ends, and return it."""
    return dict(await _sql.open_calibration(connection, **scope.key, model_id=model_id, now=now))


async def put_calibration(
    connection: Connection, scope: Scope, model_id: str, calibration: Mapping[str, float], *, now: datetime
) -> None:
    """Store the calibration learned from an owner's reports on a model, after `open_calibration`."""
    key = {**scope.key, "model_id": model_id}
    await _sql.put_calibration(connection, **key, **calibration, now=now)


async def calibrations_in_force(
    connection: Connection, tenant_id: UUID, *, trusted_after: int
) -> dict[str, dict[UUID | None, dict[str, Any]]]:
    """Return a tenant's calibrations with at least `trusted_after` reports, by model id and owner.

    Once three owners have that many, their median applies to all owners, under the key None; until then each has its own.
    """
    found: dict[str, dict[UUID | None, dict[str, Any]]] = {}
    for row in await _sql.calibrations_in_force(connection, tenant_id=tenant_id, trusted_after=trusted_after):
        fields = dict(row)
        found.setdefault(fields.pop("model_id"), {})[fields.pop("owner_id")] = fields
    return found


async def owners_with_expired_texts(connection: Connection, *, now: datetime, limit: int) -> list[Scope]:
    """Return owners with expired receipt texts."""
    rows = await _sql.owners_with_expired_texts(connection, now=now, limit=limit)
    return [Scope(row["tenant_id"], row["owner_id"]) for row in rows]


async def delete_expired_texts(connection: Connection, scope: Scope, *, now: datetime) -> int:
    """Delete some of the owner's expired receipt texts, at most 500, and return how many; 0 when none is left."""
    return int(await _sql.delete_expired_texts(connection, **scope.key, now=now, limit=_TEXTS_AT_ONCE))


def _seen_by(reach: Reach | None) -> dict[str, Any]:
    if reach is None:
        return {"agent_id": "", "has_every_space": True, "spaces": []}
    spaces = ["", *sorted(reach.spaces)]
    return {"agent_id": reach.agent_id, "has_every_space": reach.has_every_space, "spaces": spaces}


def _receipt(row: Any, usage: ReportedUsage | None) -> StoredReceipt:
    names = ("receipt_id", "agent_id", "thread_id", "model_id", "is_degraded", "duration_ms", "details", "created_at")
    return StoredReceipt(**{name: row[name] for name in names}, usage=usage)


def _usage(row: Any) -> ReportedUsage | None:
    if row["input_tokens"] is None:
        return None
    counts = {name: row[name] for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")}
    return ReportedUsage(**counts, used_item_ids=tuple(row["used_item_ids"]))
