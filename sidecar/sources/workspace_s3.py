"""Workspace source on S3: files of the agent's, its template's and the tenant's folders; for the same path, the first wins."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.backends.s3 import S3File, S3Files
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.files import WorkspaceFile, item_of, words_of
from store.db.postgres import Pool, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants
from store.tenancy.tenants import Workspace
from store.text.texts import fold

_MOST_READ = 500


@dataclass(frozen=True, slots=True)
class _VisibleFile:
    """A file from the nearest workspace that has its path."""

    file: S3File
    level: str


@dataclass(frozen=True, slots=True)
class WorkspaceS3Source:
    """Searches the folders below a tenant's prefix, which have the layout of local workspaces."""

    pool: Pool
    files: S3Files

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` files that hold words of the question in their path or text, best first.

        Raises SourceSkipped or a BackendError.
        """
        async with tenant_scoped(self.pool, scope.tenant_id, read_only=True) as connection:
            spaces = await tenants.workspaces(
                connection, scope.tenant_id, template_id=query.template_id, agent_id=query.agent_id
            )
        if not spaces:
            raise SourceSkipped("no workspace is set up for this agent, template or tenant")
        wanted = {fold(word) for word in query.words}
        if not wanted:
            return SourceAnswer()
        visible = await self._visible(spaces)
        read = visible[:_MOST_READ]
        texts = await self.files.texts([entry.file for entry in read])
        scored = [
            (_coverage(wanted, entry.file.path, text), entry, text)
            for entry in read
            if (text := texts.by_key.get(entry.file.key))
        ]
        matches = [match for match in scored if match[0] > 0]
        best = sorted(matches, key=lambda match: (-match[0], match[1].file.path))[: limits.top_k]
        items = [
            item_of(
                WorkspaceFile(entry.file.path, entry.level, text, entry.file.changed_at),
                coverage,
                rank,
                scope.tenant_id,
            )
            for rank, (coverage, entry, text) in enumerate(best)
        ]
        unread = len(visible) - len(read)
        notes = (f"{self.files.name}: {unread} files were not read",) if unread else ()
        return SourceAnswer(tuple(items), notes=notes, failures=texts.failures)

    async def _visible(self, spaces: Sequence[Workspace]) -> list[_VisibleFile]:
        """Return each path once, from the nearest workspace that has it."""
        listings = await asyncio.gather(*(self.files.listed(space.location) for space in spaces))
        nearest: dict[str, _VisibleFile] = {}
        for space, listing in zip(spaces, listings, strict=True):
            for file in listing:
                nearest.setdefault(file.path, _VisibleFile(file, space.level))
        return [nearest[path] for path in sorted(nearest)]


def _coverage(wanted: set[str], path: str, text: str) -> float:
    return len(wanted & (words_of(text) | words_of(path))) / len(wanted)
