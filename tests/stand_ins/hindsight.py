"""A small Hindsight over HTTP: it keeps what is retained word by word and recalls by shared words, in the real one's shapes.

What the real one does and ours must bear is here too: new ids on every retain, one instant for a batch, nulls that are present,
newest first, parameters that an older one ignores, refusals of each kind.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

from tests.stand_ins.listening import listening

_PATH = re.compile(r"/v1/default/banks/([^/]+)/memories(?:/(recall|list))?$")
_BANK = re.compile(r"/v1/default/banks/([^/]+)$")
_DOCUMENT = re.compile(r"/v1/default/banks/([^/]+)/documents/(.+)$")
_UNIT = re.compile(r"/v1/default/banks/([^/]+)/memories/([^/]+)$")
_WINDOW = {"time_field", "start_date", "end_date"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal: its status, body and headers; with `until` nothing comes before that event."""

    status: int
    body: bytes = b'{"detail": "no"}'
    headers: Mapping[str, str] = field(default_factory=dict)
    until: threading.Event | None = None


@dataclass(slots=True)
class FakeHindsight:
    """The stand-in: refusals wait in a queue, everything else is answered from what was retained."""

    url: str = ""
    units: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    invalidated: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    seen: list[tuple[str, str, Any, Mapping[str, str]]] = field(default_factory=list)
    is_old: bool = False
    longest_query: int = 1_000_000
    lists_until_moving: int = -1
    moving: list[dict[str, Any]] = field(default_factory=lambda: [{"content": "one more"}])
    lock: threading.RLock = field(default_factory=threading.RLock)

    def retain(self, bank: str, items: list[dict[str, Any]]) -> None:
        """Store each item as one unit; a document that is retained again replaces its units, under new ids."""
        with self.lock:
            kept = self.units.setdefault(bank, [])
            documents = {item.get("document_id") for item in items if item.get("document_id")}
            kept[:] = [unit for unit in kept if unit["document_id"] not in documents]
            at = datetime.now(UTC).isoformat(timespec="microseconds")
            kept += [
                {
                    "id": str(uuid4()),
                    "text": item["content"],
                    "fact_type": "world",
                    "document_id": item.get("document_id"),
                    "mentioned_at": at,
                    "occurred_start": None,
                    "updated_at": at,
                    "metadata": item.get("metadata", {}),
                    "entities": "",
                    "tags": [],
                    "source_memory_ids": [],
                }
                for item in items
            ]

    def delete_bank(self, bank: str) -> tuple[int, Any]:
        """Delete a bank; one that is not there is deleted."""
        count = len(self.units.pop(bank, []))
        return 200, {"success": True, "message": f"Bank '{bank}' deleted", "deleted_count": count}

    def delete_document(self, bank: str, document_id: str) -> tuple[int, Any]:
        """Delete a document with its units."""
        units = self.units.get(bank, [])
        kept = [unit for unit in units if unit["document_id"] != document_id]
        if len(kept) == len(units):
            return 404, {"detail": "Document not found"}
        count, self.units[bank] = len(units) - len(kept), kept
        answer = {"success": True, "message": "deleted", "document_id": document_id, "memory_units_deleted": count}
        return 200, answer

    def curate(self, bank: str, unit_id: str, asked: Mapping[str, Any]) -> tuple[int, Any]:
        """Invalidate a unit: it is kept, and neither listed nor recalled. Only facts can be."""
        found = next((unit for unit in self.units.get(bank, []) if unit["id"] == unit_id), None)
        if found is None:
            return 404, {"detail": f"Memory unit '{unit_id}' not found"}
        if found["fact_type"] == "observation":
            return 400, {"detail": "Only world/experience facts can be curated. Observations are derived."}
        assert asked == {"state": "invalidated"}
        self.units[bank].remove(found)
        self.invalidated.setdefault(bank, []).append(found)
        return 200, found

    def listed(self, bank: str, query: Mapping[str, str]) -> tuple[int, Any, dict[str, str]]:
        """Return a page, newest first; where it is to move, the moving units are retained before."""
        if self.lists_until_moving == 0:
            self.retain(bank, self.moving)
        self.lists_until_moving -= 1
        ignored = sorted(_WINDOW & query.keys()) if self.is_old else []
        window = {name: value for name, value in query.items() if name not in ignored}
        if any(" " in window.get(name, "") for name in _WINDOW):
            return 400, {"detail": "Invalid date"}, {}
        units = [unit for unit in self.units.get(bank, []) if unit["fact_type"] == query.get("type")]
        if "start_date" in window:
            units = [unit for unit in units if _moment(unit["updated_at"]) >= _moment(window["start_date"])]
            units = [unit for unit in units if _moment(unit["updated_at"]) < _moment(window["end_date"])]
        units.sort(key=lambda unit: (-_moment(unit["updated_at"]).timestamp(), unit["id"]))
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", 100))
        page = {"items": units[offset : offset + limit], "total": len(units), "limit": limit, "offset": offset}
        return 200, page, {"X-Ignored-Params": ",".join(ignored)} if ignored else {}

    def recalled(self, bank: str, asked: Mapping[str, Any]) -> tuple[int, Any, dict[str, str]]:
        """Return units that share words with the question, most first."""
        words = set(re.findall(r"\w+", asked["query"].lower()))
        if not words:
            return 422, {"detail": [{"loc": ["body", "query"], "msg": "empty", "type": "value_error"}]}, {}
        if len(asked["query"]) > self.longest_query:
            return 400, {"detail": "Query too long: 612 tokens exceeds maximum of 500"}, {}
        shared = [
            (len(words & set(re.findall(r"\w+", unit["text"].lower()))), unit) for unit in self.units.get(bank, [])
        ]
        found = [unit for count, unit in sorted(shared, key=lambda one: -one[0]) if count]
        found = [unit for unit in found if unit["fact_type"] in (asked.get("types") or [unit["fact_type"]])]
        results = [_as_recalled(unit) for unit in found]
        empty = {"trace": None, "entities": None, "chunks": None, "source_facts": None}
        return 200, {"memory_units": results} if self.is_old else {"results": results, **empty}, {}


@contextmanager
def serving(fake: FakeHindsight | None = None) -> Iterator[FakeHindsight]:
    """Yield a stand-in that listens."""
    fake = fake or FakeHindsight()
    with listening(_Handler, fake) as fake.url:
        yield fake


class _Handler(BaseHTTPRequestHandler):
    stand_in: FakeHindsight
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}"))

    def do_DELETE(self) -> None:
        self._answer(None)

    def do_PATCH(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""

    def _answer(self, body: Any) -> None:
        fake, parts = self.stand_in, urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with fake.lock:
            fake.seen.append((self.command, self.path, body, dict(self.headers)))
            refusal = fake.refusals.pop(0) if fake.refusals else None
        if refusal is not None:
            if refusal.until is not None:
                refusal.until.wait()
            self._send(refusal.status, refusal.body, dict(refusal.headers))
            return
        if (changed := self._changed(parts.path, body)) is not None:
            self._send(changed[0], json.dumps(changed[1]).encode(), {})
            return
        match = _PATH.match(parts.path)
        if match is None:
            self._send(404, b'{"detail": "Not Found"}', {})
            return
        bank, what = unquote(match[1]), match[2]
        if what is not None and bank not in fake.units:
            self._send(404, json.dumps({"detail": f"Bank '{bank}' not found"}).encode(), {})
            return
        if what is None:
            fake.retain(bank, body["items"])
            retained = {"success": True, "bank_id": bank, "items_count": len(body["items"])}
            self._send(200, json.dumps(retained).encode(), {})
            return
        status, answer, headers = fake.recalled(bank, body) if what == "recall" else fake.listed(bank, query)
        self._send(status, json.dumps(answer).encode(), headers)

    def _changed(self, path: str, body: Any) -> tuple[int, Any] | None:
        """Return the answer to a deletion or a curation; None for any other call."""
        fake = self.stand_in
        with fake.lock:
            if self.command == "DELETE" and (bank := _BANK.match(path)):
                return fake.delete_bank(unquote(bank[1]))
            if self.command == "DELETE" and (document := _DOCUMENT.match(path)):
                return fake.delete_document(unquote(document[1]), unquote(document[2]))
            if self.command == "PATCH" and (unit := _UNIT.match(path)):
                return fake.curate(unquote(unit[1]), unquote(unit[2]), body)
        return None

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the client has gone


def _as_recalled(unit: Mapping[str, Any]) -> dict[str, Any]:
    own = {
        "type": unit["fact_type"],
        "entities": None,
        "chunk_id": None,
        "source_fact_ids": None,
        "scores": {"final": 1.0},
    }
    return {
        name: unit[name] for name in ("id", "text", "document_id", "mentioned_at", "occurred_start", "metadata")
    } | own


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
