"""Walks over typed edges for a turn: from the pages that a message names, over the edges that its relation words ask for.

Takes a connection inside a scoped transaction and changes nothing. Walks are bounded: MAX_HOPS edges long, from MAX_STARTS pages,
FAN_OUT edges per page and MAX_PAGES pages per step.
"""

from __future__ import annotations

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.wiki.edge_paths import EdgeWay, WalkQuery

_sql = queries.load(__file__)

MAX_HOPS = 3
MAX_STARTS = 8
MAX_PAGES = 32
MAX_WAYS = 40
FAN_OUT = 16
_EACH_NAME = 4
_MAX_EDGES = 400


async def walk_from_names(
    connection: Connection, scope: Scope, wanted: WalkQuery, *, hops: int = MAX_HOPS
) -> list[EdgeWay]:
    """Return at most MAX_WAYS paths with a requested edge, those with the greatest share of requested edges first.

    Paths over archived pages are left out.
    """
    rows = await _sql.walk_from_names(
        connection,
        **scope.key,
        names=[one.name for one in wanted.names],
        first_words=[one.first_word for one in wanted.names],
        last_words=[one.last_word for one in wanted.names],
        asked_types=list(wanted.types),
        words=list(wanted.words),
        since=wanted.since,
        until=wanted.until,
        hops=hops,
        each_name=_EACH_NAME,
        most_starts=MAX_STARTS,
        most_pages=MAX_PAGES,
        most_edges=_MAX_EDGES,
        fan_out=FAN_OUT,
        limit=MAX_WAYS,
    )
    return [
        EdgeWay(
            row["first_word"], row["last_word"], tuple(row["page_ids"]), tuple(row["titles"]), tuple(row["types"]),
            tuple(row["inward"]), tuple(row["evidence_counts"]),
        )
        for row in rows
        if len(row["titles"]) == len(row["page_ids"])
    ]  # fmt: skip
