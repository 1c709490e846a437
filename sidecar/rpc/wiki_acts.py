"""An operator's acts of the wiki service. Every one needs the admin role.

Only the way between messages and values stands here; what an act changes is decided in `compiler`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from compiler.operations import acts
from compiler.plan.upkeep import ActRefused
from sidecar.rpc.auth.identity import require_admin, resolve_scope
from sidecar.rpc.messages import wiki_messages as write
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.wiki_names import find_page, read_page
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.validation import read_id, read_text, read_uuid
from sidecar.v1 import wiki_pb2 as pb
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold
from store.wiki import browse
from store.wiki.browse import PageRow

MAX_ALIAS_CHARS = 200


class WikiActs:
    """Puts an owner's wiki right; `now` tells the time of an act."""

    def __init__(self, pools: Pools, *, now: Callable[[], datetime]) -> None:
        self._pools = pools
        self._now = now

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the acts by their names in the contract."""
        return {
            "IgnoreMention": self.ignore_mention,
            "AddAlias": self.add_alias,
            "ArchivePage": self.archive_page,
            "DeletePage": self.delete_page,
            "SuppressPromotion": self.suppress_promotion,
            "UndoPromotion": self.undo_promotion,
        }

    async def ignore_mention(self, request: pb.IgnoreMentionRequest, call: Call) -> pb.IgnoreMentionResponse:
        """Set a held name aside. Raises NotFound."""
        scope = _admin_scope(request, call)
        mention_id = read_uuid("mention_id", request.mention_id)
        async with self._acting(scope) as connection:
            if not await acts.ignore_mention(connection, scope, mention_id, now=self._now()):
                raise NotFound("mention")
        return pb.IgnoreMentionResponse()

    async def add_alias(self, request: pb.AddAliasRequest, call: Call) -> pb.AddAliasResponse:
        """Give a page a name, and return it as it is kept."""
        scope = _admin_scope(request, call)
        named = read_page("page", request.page)
        name = read_text("alias", request.alias, min_chars=1, max_chars=MAX_ALIAS_CHARS)
        async with self._acting(scope) as connection:
            row = await find_page(connection, scope, named)
            await acts.add_alias(connection, scope, row, name, now=self._now())
            found = await browse.whole(connection, scope, row)
        kept = next(one for one in found.aliases if one.alias == fold(name))
        return pb.AddAliasResponse(alias=write.alias(kept))

    async def archive_page(self, request: pb.ArchivePageRequest, call: Call) -> pb.ArchivePageResponse:
        """Archive a page, and return it."""
        scope = _admin_scope(request, call)
        named = read_page("page", request.page)
        async with self._acting(scope) as connection:
            row = await find_page(connection, scope, named)
            await acts.archive_page(connection, scope, row, now=self._now())
            archived = await browse.page(connection, scope, row.page_id)
        return pb.ArchivePageResponse(page=write.page(archived or row))

    async def delete_page(self, request: pb.DeletePageRequest, call: Call) -> pb.DeletePageResponse:
        """Delete a page, and return it as it was; one that is not there is gone already."""
        scope = _admin_scope(request, call)
        named = read_page("page", request.page)
        async with self._acting(scope) as connection:
            try:
                row = await find_page(connection, scope, named)
            except NotFound:
                return pb.DeletePageResponse()
            await acts.delete_page(connection, scope, row, now=self._now())
        return pb.DeletePageResponse(page=write.page(row))

    async def suppress_promotion(
        self, request: pb.SuppressPromotionRequest, call: Call
    ) -> pb.SuppressPromotionResponse:
        """Keep a section from being promoted, and return it."""
        scope = _admin_scope(request, call)
        named, slug = read_page("page", request.page), read_id("section_slug", request.section_slug)
        async with self._acting(scope) as connection:
            row = await find_page(connection, scope, named)
            await acts.suppress_promotion(connection, scope, row, slug, now=self._now())
            section = await _section(connection, scope, row, slug)
        return pb.SuppressPromotionResponse(section=section)

    async def undo_promotion(self, request: pb.UndoPromotionRequest, call: Call) -> pb.UndoPromotionResponse:
        """Take a promotion back, and return the section."""
        scope = _admin_scope(request, call)
        named, slug = read_page("page", request.page), read_id("section_slug", request.section_slug)
        async with self._acting(scope) as connection:
            row = await find_page(connection, scope, named)
            await acts.undo_promotion(connection, scope, row, slug, now=self._now())
            section = await _section(connection, scope, row, slug)
        return pb.UndoPromotionResponse(section=section)

    @asynccontextmanager
    async def _acting(self, scope: Scope) -> AsyncIterator[Connection]:
        """Yield a transaction to act in. A refusal of the plan is told as the state's."""
        try:
            async with scoped(self._pools.background, scope) as connection:
                yield connection
        except ActRefused as error:
            raise FailedPrecondition(error.subject, error.problem) from error


def _admin_scope(request: Any, call: Call) -> Scope:
    require_admin(call.identity)
    return resolve_scope(call.identity, request.tenant_id, request.owner_id)


async def _section(connection: Connection, scope: Scope, row: PageRow, slug: str) -> pb.WikiSection:
    found = await browse.whole(connection, scope, row)
    return next(write.section(one) for one in found.sections if one.slug == slug)
