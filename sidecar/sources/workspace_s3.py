"""Workspace files in S3, from the agent's, its template's and the tenant's folders; for the same path, in that order."""

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

_READ_A_TURN = 500


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file, from the nearest workspace that has its path."""

    file: S3File
    level: str


@dataclass(frozen=True, slots=True)
class WorkspaceS3Source:
    """Searches the folders below a tenant's prefix, which have the layout of local workspaces."""

    pool: Pool
    files: S3Files

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` files with words of the question in path or text. Raises SourceSkipped or a BackendError."""
        async with tenant_scoped(self.pool, scope.tenant_id, read_only=True) as connection:
            spaces = await tenants.workspaces(
                connection, scope.tenant_id, template_id=query.template_id, agent_id=query.agent_id
            )
        if not spaces:
            raise SourceSkipped("no workspace is set up for this agent, template or tenant")
        wanted = {fold(word) for word in query.words}
        if not wanted:
            return SourceAnswer()
        seen = await self._visible(spaces)
        read = seen[:_READ_A_TURN]
        texts = await self.files.texts([one.file for one in read])
        scored = [
            (_coverage(wanted, one.file.path, text), one, text) for one in read if (text := texts.get(one.file.key))
        ]
        best = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1].file.path))
        items = [
            item_of(WorkspaceFile(one.file.path, one.level, text, one.file.changed_at), coverage, rank, scope.tenant_id)
            for rank, (coverage, one, text) in enumerate(best[: limits.top_k])
        ]
        left = len(seen) - len(read)
        return SourceAnswer(tuple(items), notes=(f"{self.files.name}: {left} files were left unread",) if left else ())

    async def _visible(self, spaces: Sequence[Workspace]) -> list[_Seen]:
        """Return each path once, from the nearest workspace that has it."""
        listings = await asyncio.gather(*(self.files.listed(space.location) for space in spaces))
        nearest: dict[str, _Seen] = {}
        for space, listing in zip(spaces, listings, strict=True):
            for file in listing:
                nearest.setdefault(file.path, _Seen(file, space.level))
        return [nearest[path] for path in sorted(nearest)]


def _coverage(wanted: set[str], path: str, text: str) -> float:
    return len(wanted & (words_of(text) | words_of(path))) / len(wanted)
