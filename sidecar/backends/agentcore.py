"""Client of AgentCore Memory: searches or lists long-term records, and reads a session's events.

A record is used only if it names the requested namespace itself, since the service's filter alone does not isolate owners.
A throttled call and a missing memory are errors, never empty lists.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Any, TypeVar
from uuid import UUID

from sidecar.backends.aws import AwsCalls, Clients, Where
from sidecar.backends.backend_caller import BackendCaller, CallLimits, Units, identifier, read_units
from sidecar.backends.entries import ACTOR
from sidecar.backends.errors import AnswerUnreadable, BackendMisused, BackendUnavailable
from sidecar.turn.ranking.remote_evidence import readable

T = TypeVar("T")

MAX_QUERY_CHARS = 10_000
MAX_RESULTS = 100
MAX_EVENT_PAGES = 10
SESSION = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-_]{0,99}")
_MAIN_BRANCH = "main"
_MAX_PAGES = 1_000
_MOST_DIGITS = 1_000


@dataclass(frozen=True, slots=True)
class MemoryLocation:
    """A memory and the namespace of an owner's records. `actors` maps owners' UUIDs to actors."""

    memory_id: str
    namespace: str
    where: Where = field(default_factory=Where)
    actors: Mapping[UUID, str] = field(default_factory=dict)
    results: int = 40

    def actor_of(self, owner_id: UUID) -> str:
        """Return the owner's actor: the configured one, else the owner's UUID."""
        return self.actors.get(owner_id, str(owner_id))

    def namespace_of(self, owner_id: UUID) -> str:
        """Return the owner's namespace."""
        return self.namespace.replace("{owner}", self.actor_of(owner_id))


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory record. `at` is the time that it is about if it has one, otherwise its creation time."""

    record_id: str
    text: str
    strategy_id: str
    at: datetime
    score: float | None
    metadata: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        """A hash that changes with the record, since the service stores no modification time."""
        content = "\n".join((self.record_id, self.text, self.strategy_id, repr(sorted(self.metadata.items()))))
        return sha256(content.encode(errors="replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A page of records and the token of the next page; empty after the last."""

    records: tuple[MemoryRecord, ...]
    next_token: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a session: its payloads as received, and its metadata as texts."""

    event_id: str
    at: datetime
    payloads: tuple[Mapping[str, Any], ...]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Events:
    """A session's events in the order of their ids, and whether older events were not read."""

    events: tuple[Event, ...]
    is_cut: bool


class AgentCoreMemory:
    """One AgentCore memory."""

    def __init__(self, name: str, place: MemoryLocation, clients: Clients, bounds: CallLimits) -> None:
        self.name = name
        self.place = place
        self.caller = BackendCaller(name, bounds)
        self._threads = AwsCalls(name, bounds.concurrency)
        self._client = clients.client(
            "bedrock-agentcore", place.where, read_timeout_s=bounds.deadline_s, connections=bounds.concurrency
        )

    async def recall(self, owner_id: UUID, query: str, *, limit: int) -> Units[MemoryRecord]:
        """Return at most `limit` records of the owner, best first. Raises a BackendError."""
        text = query.strip()[:MAX_QUERY_CHARS]
        count = min(limit, self.place.results, MAX_RESULTS)
        if not text or count <= 0:
            return Units()
        namespace = self.place.namespace_of(owner_id)
        parameters = {
            "memoryId": self.place.memory_id,
            "namespace": namespace,
            "searchCriteria": {"searchQuery": text, "topK": count},
            "maxResults": count,
        }

        async def attempt() -> Units[MemoryRecord]:
            response = await self._threads.run(lambda: self._client.call("retrieve_memory_records", **parameters))
            summaries = self._readable(lambda: tuple(response["memoryRecordSummaries"]))
            read = read_units(self.name, summaries, partial(_record_in, namespace=namespace), most=count)
            return Units(tuple(record for record in read.found if record is not None), read.left_out)

        return await self.caller.ask(attempt)

    async def page(self, owner_id: UUID, *, next_token: str = "", limit: int = MAX_RESULTS) -> RecordPage:
        """Return a page of the owner's records, in the service's order. Raises a BackendError."""
        namespace = self.place.namespace_of(owner_id)
        parameters: dict[str, Any] = {"memoryId": self.place.memory_id, "namespace": namespace, "maxResults": limit}
        if next_token:
            parameters["nextToken"] = next_token

        async def attempt() -> RecordPage:
            response = await self._threads.run(lambda: self._client.call("list_memory_records", **parameters))
            records = self._readable(lambda: _records(response, namespace))
            return RecordPage(records, str(response.get("nextToken", "")))

        return await self.caller.ask(attempt)

    async def events(self, owner_id: UUID, session_id: str, *, most: int) -> Events:
        """Return at most `most` of a session's newest events, in order. Raises a BackendError (BackendMisused for a bad id)."""
        actor = self.place.actor_of(owner_id)
        if not SESSION.fullmatch(session_id) or not ACTOR.fullmatch(actor):
            raise BackendMisused(self.name, "the thread's id is not a valid session id")
        events: list[Event] = []
        next_token = ""
        for _ in range(MAX_EVENT_PAGES):
            parameters: dict[str, Any] = {
                "memoryId": self.place.memory_id,
                "actorId": actor,
                "sessionId": session_id,
                "includePayloads": True,
                "maxResults": MAX_RESULTS,
                **({"nextToken": next_token} if next_token else {}),
            }
            page, next_token = await self.caller.ask(self._event_page(parameters))
            events += page
            # The service does not document its order, and the newest events are needed.
            if not next_token or (len(events) >= most and _is_newest_first(events)):
                break
        ordered = sorted(events, key=lambda event: _event_key(event.event_id))
        return Events(tuple(ordered[-most:]), bool(next_token) or len(ordered) > most)

    async def sessions(self, owner_id: UUID) -> list[str]:
        """Return the ids of the owner's sessions. Raises a BackendError."""
        actor = self._actor(owner_id)

        async def page(next_token: str) -> tuple[list[str], str]:
            parameters = {"memoryId": self.place.memory_id, "actorId": actor, **_after(next_token)}
            response = await self._threads.run(lambda: self._client.call("list_sessions", **parameters))
            pairs = self._readable(lambda: [(one["actorId"], one["sessionId"]) for one in response["sessionSummaries"]])
            return [session for owner, session in pairs if owner == actor], str(response.get("nextToken", ""))

        return await self._paged(page)

    async def event_ids(self, owner_id: UUID, session_id: str) -> list[tuple[str, datetime]]:
        """Return the id and the time of all events of a session, on any branch. Raises a BackendError."""
        actor = self._actor(owner_id)

        async def page(next_token: str) -> tuple[list[tuple[str, datetime]], str]:
            named = {"memoryId": self.place.memory_id, "actorId": actor, "sessionId": session_id}
            parameters = {**named, "includePayloads": False, **_after(next_token)}
            response = await self._threads.run(lambda: self._client.call("list_events", **parameters))
            events = self._readable(
                lambda: [
                    (event["eventId"], event["eventTimestamp"])
                    for event in response["events"]
                    if (event["actorId"], event["sessionId"]) == (actor, session_id)
                ]
            )
            return events, str(response.get("nextToken", ""))

        return await self._paged(page)

    async def delete_event(self, owner_id: UUID, session_id: str, event_id: str) -> None:
        """Delete an event if it exists. Raises a BackendError."""
        named = {"memoryId": self.place.memory_id, "actorId": self._actor(owner_id), "sessionId": session_id}

        async def attempt() -> None:
            await self._threads.run(lambda: self._client.call("delete_event", **named, eventId=event_id))

        await self.caller.ask(attempt, may_hedge=False)

    async def delete_records(self, record_ids: Sequence[str]) -> None:
        """Delete records, in calls of at most 100. Raises a BackendError, also if the service fails to delete a record."""
        for at in range(0, len(record_ids), MAX_RESULTS):
            records = [{"memoryRecordId": record_id} for record_id in record_ids[at : at + MAX_RESULTS]]
            await self.caller.ask(self._record_deletion(records), may_hedge=False)

    def close(self) -> None:
        """Stop accepting calls."""
        self._threads.close()

    def _record_deletion(self, records: list[dict[str, str]]) -> Callable[[], Awaitable[None]]:
        async def attempt() -> None:
            parameters = {"memoryId": self.place.memory_id, "records": records}
            response = await self._threads.run(lambda: self._client.call("batch_delete_memory_records", **parameters))
            if failed := self._readable(lambda: [one["memoryRecordId"] for one in response["failedRecords"]]):
                raise BackendUnavailable(self.name, f"{len(failed)} records were not deleted")

        return attempt

    def _actor(self, owner_id: UUID) -> str:
        actor = self.place.actor_of(owner_id)
        if not ACTOR.fullmatch(actor):
            raise BackendMisused(self.name, "the owner's name is not a valid actor id")
        return actor

    async def _paged(self, page: Callable[[str], Awaitable[tuple[list[T], str]]]) -> list[T]:
        rows: list[T] = []
        next_token = ""
        for _ in range(_MAX_PAGES):
            page_rows, next_token = await self.caller.ask(partial(page, next_token))
            rows += page_rows
            if not next_token:
                return rows
        raise BackendUnavailable(self.name, f"more than {_MAX_PAGES} pages")

    def _event_page(self, parameters: Mapping[str, Any]) -> Callable[[], Awaitable[tuple[list[Event], str]]]:
        async def attempt() -> tuple[list[Event], str]:
            response = await self._threads.run(lambda: self._client.call("list_events", **parameters))
            session = (str(parameters["actorId"]), str(parameters["sessionId"]))
            return self._readable(lambda: _events(response, session)), str(response.get("nextToken", ""))

        return attempt

    def _readable(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (KeyError, TypeError, AttributeError) as error:
            raise AnswerUnreadable(self.name, type(error).__name__) from error


def _after(next_token: str) -> dict[str, Any]:
    """Return the parameters that select the page at `next_token`."""
    return {"maxResults": MAX_RESULTS, **({"nextToken": next_token} if next_token else {})}


def _records(response: Mapping[str, Any], namespace: str) -> tuple[MemoryRecord, ...]:
    found = (_record_in(one, namespace=namespace) for one in response["memoryRecordSummaries"])
    return tuple(record for record in found if record is not None)


def _record_in(row: Mapping[str, Any], *, namespace: str) -> MemoryRecord | None:
    """Return the record; None if it belongs to another namespace."""
    return _record(row) if namespace.strip("/") in {name.strip("/") for name in row["namespaces"]} else None


def _record(row: Mapping[str, Any]) -> MemoryRecord:
    score, at = row.get("score"), row.get("timestamp") or row["createdAt"]
    if not isinstance(at, datetime):
        raise TypeError("its time is not a datetime")
    return MemoryRecord(
        record_id=readable(identifier(row["memoryRecordId"])),
        text=readable(str(row["content"].get("text", ""))),
        strategy_id=readable(str(row["memoryStrategyId"])),
        at=at,
        score=None if score is None else float(score),
        metadata={name: str(next(iter(value.values()), "")) for name, value in row.get("metadata", {}).items()},
    )


def _events(response: Mapping[str, Any], session: tuple[str, str]) -> list[Event]:
    """Return the events of the main branch of one actor's session; any other events in the response are ignored."""
    return [
        Event(
            event_id=event["eventId"],
            at=event["eventTimestamp"],
            payloads=tuple(event["payload"]),
            metadata={name: str(value.get("stringValue", "")) for name, value in event.get("metadata", {}).items()},
        )
        for event in response["events"]
        if (event["actorId"], event["sessionId"]) == session
        and event.get("branch", {}).get("name", _MAIN_BRANCH) == _MAIN_BRANCH
    ]


def _event_key(event_id: str) -> tuple[int, str]:
    number, _, rest = event_id.partition("#")
    return (int(number) if number.isdecimal() and len(number) <= _MOST_DIGITS else 0, rest)


def _is_newest_first(events: list[Event]) -> bool:
    keys = [_event_key(event.event_id) for event in events]
    return all(earlier >= later for earlier, later in pairwise(keys))
