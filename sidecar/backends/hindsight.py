"""Client of Hindsight over HTTP: recalls from an owner's bank, and lists a bank's units in pages.

The configuration maps owners to banks; tags are not used for isolation. A unit's id changes when its document is retained
again, so units of a document are identified by document and text instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import quote
from uuid import UUID

from sidecar.backends import web
from sidecar.backends.backend_caller import BackendCaller, CallLimits, Units, identifier, read_units
from sidecar.backends.errors import (
    MAX_ANSWER_BYTES,
    AnswerUnreadable,
    BackendMissing,
    BackendMisused,
    BackendUnavailable,
)
from sidecar.backends.secrets import Secret
from sidecar.turn.ranking.remote_evidence import readable


class QueryTooLong(BackendMisused):
    """The service refuses the length of the question; lower query_chars."""


class NoBank(BackendMissing):
    """The owner has no bank there yet; it is created when something is retained."""


class NoDocument(BackendMissing):
    """The bank has no such document."""


class NoUnit(BackendMissing):
    """The bank has no such unit."""


class NotCurated(BackendMisused):
    """The service cannot invalidate units of this kind: observations follow from the facts that they were drawn from."""


_REFUSALS = web.Refusals(
    {
        (400, b"too long"): QueryTooLong,
        (400, b"curated"): NotCurated,
        (404, b"bank '"): NoBank,
        (404, b"document not found"): NoDocument,
        (404, b"memory unit '"): NoUnit,
    }
)
_WORDLESS = re.compile(r"\W*")
_SHORT_BYTES = 500  # a text of 500 bytes is at most 500 tokens under any tokenizer
_RECALL_TOKENS = 8192
_RECALL_BYTES = 2 << 20  # parsed during turns, in which nothing else runs meanwhile
_PAGE = 200
_TRIES = 3
_MOST_IN_A_WINDOW = 1_000
_SHORTEST = timedelta(milliseconds=1)

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
"""An instant before every unit; also the time of a unit without a time of its last write."""


@dataclass(frozen=True, slots=True)
class Banks:
    """The banks of a server. `owners` maps owners' UUIDs to the names in their banks; without an entry, the UUID is used."""

    url: str
    bank: str = "{owner}"
    owners: Mapping[UUID, str] = field(default_factory=dict)
    api_key: Secret | None = None
    budget: str = "mid"
    types: tuple[str, ...] = ("observation", "world", "experience")
    query_chars: int = 1500
    results: int = 40

    def bank_of(self, owner_id: UUID) -> str:
        """Return the name of the owner's bank."""
        return self.bank.replace("{owner}", self.owners.get(owner_id, str(owner_id)))


@dataclass(frozen=True, slots=True)
class MemoryUnit:
    """A unit of memory. `facts` are the units that an observation was drawn from."""

    unit_id: str
    text: str
    kind: str
    document_id: str
    at: datetime | None
    updated_at: datetime | None = None
    facts: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def written_at(self) -> datetime:
        """The time of the last write."""
        return self.updated_at or BEGINNING

    @property
    def text_hash(self) -> str:
        """The hash of the unit's text."""
        return sha256(self.text.encode(errors="replace")).hexdigest()

    @property
    def memory_id(self) -> str:
        """Our id of the unit. It stays the same when its document is retained again with the same text."""
        if not self.document_id:
            return self.unit_id
        return sha256(f"{self.kind}\n{self.document_id}\n{self.text_hash}".encode(errors="replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class UnitPage:
    """A page of units, the total count, and the server's time."""

    units: tuple[MemoryUnit, ...]
    total: int
    server_time: datetime | None


@dataclass(frozen=True, slots=True)
class UnitListing:
    """A list query: one kind of unit, updated from `since` (inclusive) until `until` (exclusive)."""

    kind: str
    since: datetime
    until: datetime
    offset: int = 0
    limit: int = 200


class Hindsight:
    """One Hindsight server."""

    def __init__(self, name: str, banks: Banks, bounds: CallLimits) -> None:
        self.name = name
        self.banks = banks
        self.caller = BackendCaller(name, bounds)
        self._service = web.client(banks.url, connections=bounds.concurrency)

    async def recall(self, owner_id: UUID, query: str, *, now: datetime, limit: int) -> Units[MemoryUnit]:
        """Return at most `limit` units of the owner's bank, best first. Raises a BackendError, NoBank among them."""
        text = _cut(query.strip()[: self.banks.query_chars], self.banks.query_chars)
        count = min(limit, self.banks.results)
        if _WORDLESS.fullmatch(text) or count <= 0:
            return Units()

        async def attempt() -> Units[MemoryUnit]:
            try:
                return await self._recalled(owner_id, text, now, count)
            except QueryTooLong:  # older servers reject long queries, newer ones cut them
                return await self._recalled(owner_id, _cut(text, _SHORT_BYTES), now, count)

        return await self.caller.ask(attempt)

    async def listed(self, owner_id: UUID, listing: UnitListing) -> UnitPage:
        """Return a page of the owner's units, newest first. Raises a BackendError, also if the server ignores a parameter."""
        parameters = {
            "type": listing.kind,
            "time_field": "updated_at",
            "start_date": _instant(listing.since),
            "end_date": _instant(listing.until),
            "limit": str(listing.limit),
            "offset": str(listing.offset),
        }

        async def attempt() -> UnitPage:
            got = await self._send("GET", owner_id, "/memories/list", params=parameters)
            if ignored := got.headers.get("x-ignored-params"):
                # An older server ignores the window and would return everything, in another order.
                raise BackendMisused(self.name, f"it ignores {ignored[:80]}; use Hindsight 1.1 or newer")
            return self._page(got)

        return await self.caller.ask(attempt)

    async def every(self, owner_id: UUID) -> list[MemoryUnit]:
        """Return all units of the owner. Raises a BackendError, NoBank among them."""
        return await self.between(owner_id, BEGINNING, datetime.now(UTC) + timedelta(days=1))

    async def between(self, owner_id: UUID, since: datetime, until: datetime) -> list[MemoryUnit]:
        """Return the owner's units updated in [since, until). Raises a BackendError, NoBank among them.

        A window is listed one kind at a time, and again if it changed during that: pages are counted from the newest unit, so a
        write shifts the later ones.
        """
        if until <= since:
            return []
        return [unit for kind in self.banks.types for unit in await self._window(owner_id, kind, since, until)]

    async def _window(self, owner_id: UUID, kind: str, since: datetime, until: datetime) -> list[MemoryUnit]:
        """Return one kind's units of a window; a window with too many is split in half."""
        for _ in range(_TRIES):
            first = await self._listed_within(owner_id, UnitListing(kind, since, until, limit=_PAGE))
            if first is None:
                continue
            if first.total > _MOST_IN_A_WINDOW and until - since > _SHORTEST:
                middle = since + (until - since) / 2
                return [
                    *await self._window(owner_id, kind, since, middle),
                    *await self._window(owner_id, kind, middle, until),
                ]
            units = await self._rest(owner_id, UnitListing(kind, since, until, limit=_PAGE), first)
            if units is not None:
                return units
        raise BackendUnavailable(self.name, "the list keeps changing")

    async def _rest(self, owner_id: UUID, listing: UnitListing, first: UnitPage) -> list[MemoryUnit] | None:
        """Return all units of the window, or None if it changed while being read."""
        units = list(first.units)
        while len(units) < first.total:
            page = await self._listed_within(owner_id, replace(listing, offset=len(units)))
            if page is None or page.total != first.total:
                return None
            units += page.units
        return units if len({unit.unit_id for unit in units}) == first.total else None

    async def _listed_within(self, owner_id: UUID, listing: UnitListing) -> UnitPage | None:
        """Return a page of a window, or None if it has fewer or more units than its total says."""
        page = await self.listed(owner_id, listing)
        if any(not listing.since <= unit.written_at < listing.until for unit in page.units):
            raise BackendMisused(self.name, "it lists units outside the window; use Hindsight 1.1 or newer")
        is_whole = len(page.units) == min(listing.limit, max(0, page.total - listing.offset))
        return page if is_whole else None

    async def delete_bank(self, owner_id: UUID) -> int:
        """Delete the owner's bank with all its content, and return the number of deleted objects. Raises a BackendError."""
        return await self._deleted(owner_id, "", "deleted_count")

    async def delete_document(self, owner_id: UUID, document_id: str) -> int:
        """Delete a document, and return the number of its deleted units. Raises a BackendError, NoDocument among them."""
        return await self._deleted(owner_id, f"/documents/{_segment(document_id)}", "memory_units_deleted")

    async def invalidate(self, owner_id: UUID, unit_id: str) -> None:
        """Exclude a unit from recall; the server keeps its text.

        Raises a BackendError; NoUnit if there is no such unit, NotCurated for an observation.
        """

        async def attempt() -> None:
            path = f"/memories/{_segment(unit_id)}"
            await self._send("PATCH", owner_id, path, json={"state": "invalidated"})

        await self.caller.ask(attempt, may_hedge=False)

    async def _deleted(self, owner_id: UUID, path: str, count: str) -> int:
        async def attempt() -> int:
            body = (await self._send("DELETE", owner_id, path)).body
            try:
                return int(body[count] or 0)
            except (KeyError, TypeError, ValueError) as error:
                raise AnswerUnreadable(self.name, type(error).__name__) from error

        return await self.caller.ask(attempt, may_hedge=False)

    async def close(self) -> None:
        """Close the connections."""
        await self._service.aclose()

    async def _recalled(self, owner_id: UUID, text: str, now: datetime, count: int) -> Units[MemoryUnit]:
        question = {
            "query": text,
            "types": list(self.banks.types),
            "budget": self.banks.budget,
            "max_tokens": _RECALL_TOKENS,
            "query_timestamp": _instant(now),
            "prefer_observations": "observation" in self.banks.types,
            "include": {"entities": None, "source_facts": None, "chunks": None},
            "trace": False,
        }
        body = (await self._send("POST", owner_id, "/memories/recall", _RECALL_BYTES, json=question)).body
        try:
            results = body["results"] if "results" in body else body["memory_units"]  # its name before 0.8.4
            return read_units(self.name, results, _unit, most=count)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise AnswerUnreadable(self.name, type(error).__name__) from error

    async def _send(
        self, method: str, owner_id: UUID, suffix: str, most_bytes: int = MAX_ANSWER_BYTES, **content: Any
    ) -> web.Got:
        key = self.banks.api_key
        headers = {"Authorization": f"Bearer {key.header(self.name)}"} if key else {}
        path = f"/v1/default/banks/{_segment(self.banks.bank_of(owner_id))}{suffix}"
        request = self._service.build_request(method, path, headers=headers, **content)
        return await web.get(self.name, self._service, request, _REFUSALS, most_bytes=most_bytes)

    def _page(self, got: web.Got) -> UnitPage:
        try:
            units = tuple(map(_unit, got.body["items"]))
            return UnitPage(units, int(got.body["total"]), got.server_time())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise AnswerUnreadable(self.name, type(error).__name__) from error


def _unit(row: Mapping[str, Any]) -> MemoryUnit:
    """Parse a unit from recall or the list, which name some fields differently."""
    return MemoryUnit(
        unit_id=readable(identifier(row["id"])),
        text=readable(str(row["text"])),
        kind=readable(str(row.get("type") or row.get("fact_type") or "")),
        document_id=readable(str(row.get("document_id") or "")),
        at=_time(row.get("occurred_start") or row.get("mentioned_at") or row.get("date")),
        updated_at=_time(row.get("updated_at")),
        facts=tuple(readable(str(fact)) for fact in row.get("source_fact_ids") or row.get("source_memory_ids") or ()),
        metadata={str(name): str(value) for name, value in (row.get("metadata") or {}).items()},
    )


def _time(text: object) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(str(text))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _instant(moment: datetime) -> str:
    """Return the instant in ISO 8601 with a Z, since a plus sign in a query string means a space."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _segment(name: str) -> str:
    """Return the name as one segment of a path. Plain dots alone would be resolved: `documents/..` is the bank itself."""
    encoded = quote(name, safe="")
    return encoded.replace(".", "%2E") if not encoded.strip(".") else encoded


def _cut(text: str, most_bytes: int) -> str:
    return text.encode(errors="replace")[:most_bytes].decode(errors="ignore")
