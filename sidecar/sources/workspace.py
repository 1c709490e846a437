"""Workspace files: the agent's, its template's and the tenant's trees, the nearer shadowing the same path of the farther."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from sidecar.sources import Answer, Limits, Query, Skipped
from sidecar.turn.items import Item, Ref, Source
from store import tenants
from store.postgres import Pool, tenant_scoped
from store.scope import Scope
from store.texts import fold

MAX_FILE_BYTES = 64 * 1024
MAX_FILES = 2000
MAX_DEPTH = 12
TEXT_SUFFIXES = frozenset(
    {".md", ".markdown", ".txt", ".rst", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".csv", ".tsv"}
    | {".py", ".js", ".ts", ".go", ".rs", ".java", ".sql", ".sh", ".html", ".css", ".xml"}
)

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """A text file of a workspace: its path inside the workspace, its content, when it was last changed."""

    path: str
    level: str
    text: str
    changed_at: datetime


class WorkspaceSource:
    """Searches directory trees below `root`/<tenant id>. No path can lead out of a tenant's folder: links are not followed."""

    def __init__(self, pool: Pool, root: Path) -> None:
        self._pool = pool
        self._root = root

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return up to `top_k` files whose path or text holds words of the question. Raises Skipped without a workspace."""
        async with tenant_scoped(self._pool, scope.tenant_id, read_only=True) as connection:
            spaces = await tenants.workspaces(
                connection, scope.tenant_id, template_id=query.template_id, agent_id=query.agent_id
            )
        if not spaces:
            raise Skipped("no workspace is set up for this agent, template or tenant")
        files = await asyncio.to_thread(_visible, self._root / str(scope.tenant_id), spaces)
        return Answer(_best(files, query.words, limits.top_k, scope.tenant_id))


def _visible(folder: Path, spaces: tuple[tenants.Workspace, ...]) -> list[WorkspaceFile]:
    """Return each path once, from the nearest workspace that has it. Unreadable, large and binary files are left out."""
    seen: dict[str, WorkspaceFile] = {}
    for space in spaces:
        for path, file in _files(folder, space.location):
            if path not in seen and (read := _read(file, path, space.level)) is not None:
                seen[path] = read
    return list(seen.values())


def _files(folder: Path, location: str) -> Iterator[tuple[str, Path]]:
    top = folder.joinpath(*_parts(location))
    if any(step.is_symlink() for step in (top, *top.parents) if step.is_relative_to(folder)):
        return
    count = 0
    for directory, names, files in os.walk(top, followlinks=False):
        depth = len(Path(directory).relative_to(top).parts)
        names[:] = sorted(name for name in names if not name.startswith(".")) if depth < MAX_DEPTH else []
        for name in sorted(files):
            file = Path(directory, name)
            if name.startswith(".") or file.suffix.lower() not in TEXT_SUFFIXES:
                continue
            count += 1
            if count > MAX_FILES:
                return
            yield file.relative_to(top).as_posix(), file


def _parts(location: str) -> tuple[str, ...]:
    return tuple(part for part in Path(location).parts if part not in {"/", ".", ".."})


def _read(file: Path, path: str, level: str) -> WorkspaceFile | None:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return None
        data = opened.read(MAX_FILE_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or not text.strip() else WorkspaceFile(path, level, text, _when(status.st_mtime))


def _when(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _best(files: list[WorkspaceFile], words: tuple[str, ...], top_k: int, tenant_id: UUID) -> tuple[Item, ...]:
    wanted = {fold(word) for word in words}
    scored = [(_coverage(file, wanted), file) for file in files] if wanted else []
    found = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].path))
    return tuple(_item(file, coverage, rank, tenant_id) for rank, (coverage, file) in enumerate(found[:top_k]))


def _coverage(file: WorkspaceFile, wanted: set[str]) -> float:
    present = set(_WORD.findall(fold(f"{file.path} {file.text}")))
    return len(wanted & present) / len(wanted)


def _item(file: WorkspaceFile, coverage: float, rank: int, tenant_id: UUID) -> Item:
    return Item(
        id=f"file:{file.level}/{file.path}",
        source=Source.WORKSPACE,
        text=file.text,
        rank=rank,
        relevance=coverage,
        header=f"{file.path} ({file.level} workspace)",
        provenance=(Ref("file", f"{tenant_id}/{file.level}/{file.path}", file.path),),
        at=file.changed_at,
    )
