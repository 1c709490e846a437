"""Checks whether a server and its database can serve, and asks for its clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.extensions import REQUIRED, VECTOR
from store.db.queries import Connection
from store.errors import ServerUnsuitable, driver_errors

_sql = queries.load(__file__)

MINIMUM_VERSION = 150000


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server's version as a number (180006 is 18.6), whether it can store vectors, and the connections that it accepts."""

    version: int
    has_vector: bool
    connections: int


async def check_server(connection: Connection) -> ServerFacts:
    """Return the server's version and abilities. Raises ServerUnsuitable if it is too old, lacks an extension, or the database
    cannot hold our texts or find our tables and their extensions."""
    wanted = [one.extension for one in (*REQUIRED, VECTOR)]
    with driver_errors():
        facts = await _sql.server_facts(connection, extensions=wanted)
        available = await available_extensions(connection, wanted)
    version: int = facts["version"]
    missing = [one.extension for one in REQUIRED if not one.is_met(available)]
    elsewhere = facts["elsewhere"]
    if version < MINIMUM_VERSION:
        raise ServerUnsuitable(f"this one is {version // 10000}")
    if missing:
        raise ServerUnsuitable(f"missing: {', '.join(missing)}")
    if facts["encoding"] != "UTF8":
        raise ServerUnsuitable(f"the database's encoding is {facts['encoding']}; make one with ENCODING 'UTF8'")
    if elsewhere:
        moves = "; ".join(f"ALTER EXTENSION {name} SET SCHEMA public" for name in elsewhere)
        raise ServerUnsuitable(f"an extension is not in the schema public; run `{moves}`")
    if facts["is_hidden"]:
        raise ServerUnsuitable("the user's search_path does not lead to the tables; set it to public")
    return ServerFacts(version, VECTOR.is_met(available), facts["connections"])


async def server_time(connection: Connection) -> datetime:
    """Return the time of the server's clock."""
    with driver_errors():
        moment: datetime = await _sql.server_time(connection)
    return moment


async def available_extensions(connection: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the named extensions that the server can install, each with its version."""
    rows = await _sql.available_extensions(connection, names=list(names))
    return {row["name"]: row["version"] for row in rows}
