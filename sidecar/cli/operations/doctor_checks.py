"""The checks of `sidecar doctor`: each check ends in a finding, even if it fails."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from models.embedding.embedder import LocalEmbedder
from models.errors import EmbedderUnusable, ModelsError
from models.tokens import encodings
from models.tokens.catalog import CATALOG
from models.tokens.meters import meter_for
from sidecar.backends import configuration
from sidecar.backends.entries import BackendEntry, HindsightEntry, ToolsEntry
from sidecar.cli.shared.output import counted
from sidecar.process.checking import check_settings
from sidecar.process.children import most_connections
from sidecar.process.parts import cores, count_of
from sidecar.rpc.auth.authentication import Authenticator
from sidecar.rpc.server import identity_settings
from sidecar.rpc.transport.tls_files import valid_between
from sidecar.runtime import embedders
from sidecar.runtime import settings as all_settings
from sidecar.runtime.database import Database, check_roles, migrations, pools_config, reached
from sidecar.runtime.errors import SidecarError, StartRefused
from sidecar.runtime.settings import Settings
from sidecar.telemetry.watch import config_of
from store.db import migrate
from store.db.distribution import ShardServer, shard_servers
from store.db.postgres import DatabaseRole, direct, open_pools
from store.db.queries import Connection
from store.db.server_checks import check_server, server_time
from store.embedded import disk
from store.errors import (
    AccessRefused,
    DatabaseBusy,
    DatabaseFull,
    DatabaseRefused,
    EmbeddedPostgresError,
    LedgerForeign,
    LedgerUnreadable,
    MigrationEdited,
    MigrationError,
    MigrationFileInvalid,
    MigrationMissing,
    MigrationOutOfOrder,
    RightsLost,
    RoleNotGranted,
    ServerUnsuitable,
    StoreError,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `fix` is empty if none is needed."""

    name: str
    is_well: bool
    detail: str
    fix: str = ""


_MOST_SKEW_S = 5.0
_RENEW_BEFORE = timedelta(days=7)
_LEAST_FREE_BYTES = 64 * 2**20  # four files of the database's log
_ENGLISH = "the installed all-MiniLM-L6-v2, offline; for languages other than English, multilingual finds more"
_MANY = "the installed all-MiniLM-L6-v2 and multilingual-e5-small, offline"
_MORE_CONNECTIONS = "raise max_connections, set smaller pools (SIDECAR_TURN_POOL_SIZE), or put a pooler in between"
_FIXES = {
    MigrationEdited: "restore the released file: install this release again; put changes into a new file",
    MigrationMissing: "install the release that migrated this database, or a newer one",
    MigrationOutOfOrder: "give the file the next free number",
    LedgerForeign: "correct the database in SIDECAR_DATABASE_URL",
    LedgerUnreadable: "run `sidecar migrate` as the owner of the tables, then grant the roles to this user",
    RightsLost: "see “Restore a database of your own” in docs/operations.md",
    MigrationFileInvalid: "install this release again",
}


async def examine(environ: Mapping[str, str]) -> list[Finding]:
    """Return a finding for everything that serving needs, in order of dependency."""
    try:
        settings = all_settings.read(environ)
        check_settings(settings)
        await embedders.check(settings)
    except SidecarError as error:
        return [Finding("settings", is_well=False, detail=str(error), fix="correct the named variable")]
    findings = [
        Finding("settings", is_well=True, detail=f"data in {settings.data_dir}"),
        _tokenizer(),
        await asyncio.to_thread(_identity, settings),
        *_certificate(settings.tls_cert),
    ]
    findings += [one async for one in _database(settings)]
    findings += [*_workspaces(settings), *await backends(settings, environ), *await models(settings)]
    return [*findings, _collector(environ)]


def _tokenizer() -> Finding:
    try:
        encodings.warm()
        count = meter_for("gpt-4o").count(["a boat in the old dock"])[0]
    except ModelsError as error:
        return Finding("tokenizer", is_well=False, detail=str(error), fix="install the package again from its lock")
    return Finding("tokenizer", is_well=count > 0, detail="exact counts for OpenAI's models, offline")


def _identity(settings: Settings) -> Finding:
    async def never(_: object) -> datetime | None:
        return None

    try:
        identity = identity_settings(settings)
        Authenticator(identity, not_before=never)
    except StartRefused as error:
        return Finding("identity", is_well=False, detail=str(error), fix="see “Authentication” in docs/operations.md")
    if identity.jwks_url:
        return reach("identity", identity.jwks_url, fix="correct SIDECAR_JWKS_URL, or let this machine reach it")
    if identity.has_signing_keys:
        return Finding("identity", is_well=True, detail=f"tokens of {', '.join(sorted(identity.issuers))}")
    fix = "set SIDECAR_TOKEN_KEYS or SIDECAR_JWKS_URL before others call it" if settings.production else ""
    return Finding("identity", is_well=not settings.production, detail="the development key of this machine", fix=fix)


def _certificate(path: Path | None) -> Iterator[Finding]:
    """Yield a finding for the server's certificate, if one is set and can be read."""
    validity = valid_between(path) if path else None
    if validity is None:
        return
    begins_at, ends_at = validity
    now = datetime.now(UTC)
    is_well = begins_at <= now < ends_at
    fix = (
        ""
        if is_well and ends_at - now > _RENEW_BEFORE
        else f"put a renewed certificate into {path}; it is read without a restart"
    )
    detail = f"valid from {begins_at:%Y-%m-%d %H:%M} to {ends_at:%Y-%m-%d %H:%M} UTC"
    yield Finding("certificate", is_well=is_well, detail=detail, fix=fix)


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    where = "your Postgres" if settings.database_url else "the embedded Postgres"
    try:
        async with _connected(settings) as (database, connection):
            facts = await check_server(connection)
            yield Finding("database", is_well=True, detail=f"{where}, {_running(database, facts.version)}")
            if not settings.database_url:
                yield _disk(disk.free_bytes(settings.data_dir), settings.data_dir)
            vector = "with vector" if facts.has_vector else "without vector: recall is by words only"
            yield Finding("extensions", is_well=True, detail=f"pg_trgm, btree_gin, unaccent; {vector}")
            yield _clock(await server_time(connection))
            if settings.database_url and not settings.database_direct_url:  # else a pooler may hold the others back
                yield _connections(settings, facts.connections)
            schema = await _schema(database)
            yield schema
            if schema.is_well:
                async for finding in _served(database, settings):
                    yield finding
    except StoreError as error:
        yield Finding("database", is_well=False, detail=f"{where}: {error}", fix=_fix(error, settings))


def _running(database: Database, version: int) -> str:
    running = f"version {version // 10000}.{version % 10000}"
    return f"{running}, with its socket in {database.embedded.socket_dir}" if database.embedded else running


def _fix(error: StoreError, settings: Settings) -> str:
    """Return the fix for an unusable database."""
    if isinstance(error, DatabaseFull):
        return "make room on the database's disk"
    if isinstance(error, DatabaseBusy):
        return _MORE_CONNECTIONS
    if isinstance(error, ServerUnsuitable):
        return "use PostgreSQL 15 or newer with pg_trgm, btree_gin and unaccent (Debian: postgresql-contrib), in UTF-8"
    if isinstance(error, EmbeddedPostgresError):
        return f"see “The embedded Postgres does not start” in docs/operations.md, and {settings.data_dir}/postgres.log"
    if isinstance(error, DatabaseRefused | AccessRefused):
        return "correct the user, password or database in SIDECAR_DATABASE_URL"
    return "start it, or correct SIDECAR_DATABASE_URL"


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[tuple[Database, Connection]]:
    async with reached(settings) as database, direct(database.direct_dsn) as connection:
        yield database, connection


def _disk(free_bytes: int, data_dir: Path) -> Finding:
    is_well = free_bytes >= _LEAST_FREE_BYTES
    fix = "" if is_well else "make room: on a full disk the database writes nothing, and may not start again"
    return Finding("disk", is_well=is_well, detail=f"{free_bytes // 2**20} MB are free for {data_dir}", fix=fix)


def _connections(settings: Settings, accepted: int) -> Finding:
    count = count_of(settings.processes, cores=cores(), is_linux=sys.platform == "linux")
    needed = most_connections(settings, count)
    is_well = needed <= accepted
    detail = f"the server accepts {accepted}, and this service may open {needed}"
    return Finding("connections", is_well=is_well, detail=detail, fix="" if is_well else _MORE_CONNECTIONS)


def _clock(theirs: datetime) -> Finding:
    skew_s = abs((datetime.now(UTC) - theirs).total_seconds())
    is_well = skew_s <= _MOST_SKEW_S
    fix = "" if is_well else "synchronize both hosts with one time server: tokens and the order of rows depend on it"
    return Finding("clock", is_well=is_well, detail=f"{skew_s:.1f} s from the database's", fix=fix)


async def _served(database: Database, settings: Settings) -> AsyncIterator[Finding]:
    """Yield a finding for the roles of transactions and, on a cluster, one for its servers."""
    pools = await open_pools(database.dsn, pools_config(settings))
    try:
        await check_roles(pools.background)
        yield Finding("roles", is_well=True, detail=", ".join(DatabaseRole))
        if servers := await shard_servers(pools.background):
            yield cluster(servers)
    except RoleNotGranted as error:
        yield Finding(
            "roles", is_well=False, detail=str(error), fix="as a superuser, or the user that ran `sidecar migrate`"
        )
    finally:
        await pools.close()


def cluster(servers: Sequence[ShardServer]) -> Finding:
    """Return the finding for the servers that hold the tenants' rows."""
    silent = [one for one in servers if one.unanswered]
    if not silent:
        return Finding("cluster", is_well=True, detail=f"all {len(servers)} servers with tenants answer")
    described = "; ".join(
        f"{one.address} does not answer {' and '.join(one.unanswered)}: {one.shards} of {one.of_shards} shards of tenants"
        for one in silent
    )
    detail = f"{described}. Their calls are refused, turns may be degraded, and work across all tenants waits"
    fix = "start it, or let it admit these roles: see “A Citus cluster” and “Loss of a server” in docs/scaling.md"
    return Finding("cluster", is_well=False, detail=detail, fix=fix)


async def _schema(database: Database) -> Finding:
    try:
        states = await migrate.status(database.direct_dsn, migrations())
    except MigrationError as error:
        return Finding(
            "migrations", is_well=False, detail=str(error), fix=_FIXES.get(type(error), "see docs/operations.md")
        )
    pending = [state.name for state in states if state.applied_at is None and not state.waits_for]
    detail = (
        f"{counted(len(pending), 'migration is', 'migrations are')} left: {', '.join(pending[:5])}"
        if pending
        else "the schema is this release's"
    )
    return Finding("migrations", is_well=not pending, detail=detail, fix="run `sidecar migrate`" if pending else "")


def _collector(environ: Mapping[str, str]) -> Finding:
    config = config_of(environ)
    if not config.sends_spans and not config.sends_metrics:
        return Finding("telemetry", is_well=True, detail="off; OTEL_EXPORTER_OTLP_ENDPOINT enables it")
    endpoint = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or "http://localhost:4317"
    fix = "start the collector, or correct the variable; turns are served in any case"
    return reach("telemetry", endpoint, fix=fix, port=4317)


_PATIENCE_S = 2.0
_PORTS = {"http": 80, "https": 443}
_AWS = "set AWS_PROFILE or the keys, or give the host a role"


def _workspaces(settings: Settings) -> Iterator[Finding]:
    """Yield a finding for the directory of workspaces if one is set."""
    if settings.workspace_root is None:
        return
    is_well = settings.workspace_root.is_dir()
    fix = "" if is_well else "create or mount it, or correct SIDECAR_WORKSPACE_ROOT; until then turns have no workspace"
    detail = str(settings.workspace_root) if is_well else f"{settings.workspace_root} is not a directory"
    yield Finding("workspaces", is_well=is_well, detail=detail, fix=fix)


async def backends(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Check the configured backends concurrently, one finding each; a single finding if their file cannot be read."""
    if settings.backends is None:
        return [Finding("backends", is_well=True, detail="none are configured; SIDECAR_BACKENDS names their file")]
    try:
        entries = list(configuration.read(settings.backends, environ).entries())
    except SidecarError as error:
        return [
            Finding("backends", is_well=False, detail=str(error), fix="correct the file that SIDECAR_BACKENDS names")
        ]
    return list(await asyncio.gather(*(asyncio.to_thread(_entry, one) for one in entries)))


async def models(settings: Settings) -> list[Finding]:
    """Return a finding for the planner's model if it is a service, and one for the embedder if one is set."""
    wanted = {
        "planner": (settings.compile_planner, settings.compile_base_url, "SIDECAR_COMPILE_BASE_URL"),
        "embedder": (settings.embedder, settings.embedder_base_url, "SIDECAR_EMBEDDER_BASE_URL"),
    }
    findings = []
    for name, (kind, url, variable) in wanted.items():
        match kind.split(":")[0]:
            case "openai":
                findings.append(await asyncio.to_thread(reach, name, url, fix=f"start it, or correct {variable}"))
            case "bedrock" | "titan":
                findings.append(await asyncio.to_thread(_aws, name))
            case "minilm":
                findings.append(await asyncio.to_thread(_local_embedder, embedders.local, _ENGLISH))
            case "multilingual":
                findings.append(await asyncio.to_thread(_local_embedder, embedders.multilingual, _MANY))
    return [_priced(one, settings.bedrock_model_id) if one.name == "planner" else one for one in findings]


def _priced(finding: Finding, model_id: str) -> Finding:
    """Return the planner's finding, with a note if its calls have no known price."""
    model = CATALOG.find(model_id)
    if model is not None and model.price is not None:
        return finding
    note = f"the price of {model_id[:120]} is not known, so ceilings and budgets do not count its calls"
    return replace(finding, detail=f"{finding.detail}; {note}")


def _local_embedder(load: Callable[[], LocalEmbedder], detail: str) -> Finding:
    """Check that an installed embedder can be loaded."""
    try:
        load().close()
    except EmbedderUnusable as error:
        fix = "install its packages again from the lock, or set another SIDECAR_EMBEDDER; until then recall is by words"
        return Finding("embedder", is_well=False, detail=str(error), fix=fix)
    return Finding("embedder", is_well=True, detail=detail)


def reach(name: str, url: str, *, fix: str, port: int = 0) -> Finding:
    """Check that the address accepts a connection within 2 s; `port` is used if it names none."""
    began_s = time.monotonic()
    shown = "the address"
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        # Without a user, a password or a query, which may hold a key.
        shown = (
            parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().removeprefix("//")
        )
        number = parts.port or port or _PORTS.get(parts.scheme, 0)
        socket.create_connection((parts.hostname or "", number), timeout=_PATIENCE_S).close()
    except (OSError, ValueError) as error:
        detail = f"{shown}: {getattr(error, 'strerror', None) or 'no answer'}"
        return Finding(name, is_well=False, detail=detail, fix=fix)
    return Finding(name, is_well=True, detail=f"{shown} in {(time.monotonic() - began_s) * 1000:.0f} ms")


def _entry(entry: BackendEntry) -> Finding:
    name, fix = f"backend {entry.name}", "start it, or correct its entry; turns continue without it"
    match entry:
        case ToolsEntry(command=(program, *_)):
            program_path = shutil.which(program)
            detail = f"{program} is {program_path}" if program_path else f"there is no program {program}"
            return Finding(name, is_well=bool(program_path), detail=detail, fix="" if program_path else fix)
        case HindsightEntry(url=url) | ToolsEntry(url=url):
            return reach(name, url, fix=fix)
    endpoint = str(getattr(entry, "endpoint_url", ""))
    return reach(name, endpoint, fix=fix) if endpoint else _aws(name)


def _aws(name: str) -> Finding:
    """Check that the AWS default chain has credentials; they are not used."""
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        credentials = Session().get_credentials()
    except BotoCoreError as error:
        return Finding(name, is_well=False, detail=str(error), fix=_AWS)
    if credentials is None:
        return Finding(name, is_well=False, detail="the AWS default chain has no credentials", fix=_AWS)
    return Finding(name, is_well=True, detail=f"AWS credentials from {credentials.method}")
