"""A snapshot of a wiki for comparison: its present state as JSON by key, without generated ids and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson

from compiler.state.row_mapping import load, mentions, ruling
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates, governed, rulings


async def snapshot(connection: Connection, scope: Scope) -> dict[str, bytes]:
    """Return every page, link and held name of the scope as JSON, each under its own name."""
    standing = await load(connection, scope, await candidates.all_ids(connection, scope))
    found = {f"page {key.path}": _json(asdict(page)) for key, page in sorted(standing.pages.items())}
    for row in await candidates.all_causes(connection, scope):
        name = f"/wiki/{row['from_type']}/{row['from_slug']} {row['kind']} /wiki/{row['to_type']}/{row['to_slug']}"
        edge = f" {row['edge_type']} {row['valid_from'] or ''}" if row["edge_type"] else ""
        attributes = [row["valid_until"], row["said_at"], row["properties"], row["is_sole"]] if edge else []
        found[f"link {name}{edge} {row['origin']} {row['context']} {row['ref']}"] = (
            _json(attributes) if attributes else b""
        )
    for row in await candidates.all_mentions(connection, scope):
        found[f"mention {row['alias_normalized']} {row['status']}"] = _json(dict(row))
    keys = await candidates.open_keys(connection, scope)
    for one in mentions(await candidates.mentions(connection, scope, keys)):
        found[f"sightings {one.key}"] = _json(asdict(one))
    for row in await governed.everything(connection, scope):
        found[f"governed {row['kind']} /wiki/{row['type']}/{row['slug']} {row['part']}"] = _json(dict(row))
    for row in await rulings.listed(connection, scope):
        found[f"ruling {row.kind} {row.page_type}/{row.page_slug} {row.ref}"] = _json(asdict(ruling(row)))
    return found


def differences(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the names under which two snapshots differ, sorted."""
    return tuple(sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)))


def _json(value: object) -> bytes:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)


def _plain(value: Any) -> object:
    return value.hex() if isinstance(value, bytes) else str(value)
