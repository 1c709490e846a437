"""The difference between two receipts: candidates, tokens, statuses, and the first zone whose bytes differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.turn.items import Decision, Form, Source, Zone
from sidecar.turn.receipt.receipt_rows import decided_items


@dataclass(frozen=True, slots=True)
class Change:
    """A candidate whose outcome differs. A decision of None means that the candidate was not offered."""

    source: Source
    item_id: str
    before: Decision | None
    after: Decision | None
    before_form: Form | None
    after_form: Form | None
    reason: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between an earlier and a later assembly.

    `token_deltas` and `status_changes` ("OK → TIMEOUT") hold only sources that differ. `first_changed_zone` is stable,
    turns or volatile; empty if all bytes are equal. `note` says why bytes may differ when nothing else does.
    """

    changes: tuple[Change, ...]
    token_deltas: dict[Source, int]
    status_changes: dict[Source, str]
    first_changed_zone: str
    note: str = ""


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Return the difference between two receipts written by `receipt.write`."""
    return Difference(
        changes=_changes(before, after),
        token_deltas=_token_deltas(before, after),
        status_changes=_status_changes(before, after),
        first_changed_zone=_first_changed_zone(before, after),
        note=_note(before["version"], after["version"]),
    )


def _note(before: int, after: int) -> str:
    if before == after:
        return ""
    return f"the earlier context was rendered by version {before} of the rules and the later one by version {after}"


_Key = tuple[Source, str, int]


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    earlier, later = _items(before), _items(after)
    keys = dict.fromkeys([*earlier, *later])
    changes = (_change(key, earlier.get(key), later.get(key)) for key in keys)
    return tuple(change for change in changes if _differs(change))


def _differs(change: Change) -> bool:
    return (change.before, change.before_form) != (change.after, change.after_form)


def _change(key: _Key, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Change:
    source, item_id, _ = key
    return Change(
        source=source,
        item_id=item_id,
        before=Decision(before["decision"]) if before else None,
        after=Decision(after["decision"]) if after else None,
        before_form=Form(before["form"]) if before and before["form"] else None,
        after_form=Form(after["form"]) if after and after["form"] else None,
        reason=f"{_reason(before)} → {_reason(after)}",
    )


def _reason(row: Mapping[str, Any] | None) -> str:
    return f"{row['decision']} ({row['reason']})" if row else "not offered"


def _items(receipt: Mapping[str, Any]) -> dict[_Key, Mapping[str, Any]]:
    """Return the item rows by source, id, and occurrence (a source may send an id twice)."""
    times: Counter[tuple[Source, str]] = Counter()
    items = {}
    for source, item in decided_items(receipt):
        items[source, item["id"], times[source, item["id"]]] = item
        times[source, item["id"]] += 1
    return items


def _token_deltas(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[Source, int]:
    earlier, later = _by_source(before, "included_tokens"), _by_source(after, "included_tokens")
    deltas = {source: later.get(source, 0) - earlier.get(source, 0) for source in Source}
    return {source: delta for source, delta in deltas.items() if delta}


def _status_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[Source, str]:
    earlier, later = _by_source(before, "status"), _by_source(after, "status")
    return {
        source: f"{earlier.get(source)} → {later.get(source)}"
        for source in Source
        if earlier.get(source) != later.get(source)
    }


def _by_source(receipt: Mapping[str, Any], field: str) -> dict[Source, Any]:
    return {Source(row["source"]): row[field] for row in reversed(receipt["sources"]) if field in row}


def _first_changed_zone(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    earlier, later = before["rendered"]["zones"], after["rendered"]["zones"]
    return next((zone.value for zone in Zone if earlier[zone]["sha256"] != later[zone]["sha256"]), "")
