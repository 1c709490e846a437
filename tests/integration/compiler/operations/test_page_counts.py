"""The stored count of an owner's active pages is right after every change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random

import pytest

from compiler.operations import acts, lint, upkeep
from compiler.operations.upkeep import ResetMode
from compiler.passes import forgetting
from compiler.plan.contract import CreatePage, LinkOrigin, Page, PageKey, PageType, RulingKind
from compiler.plan.upkeep import ActRefused
from compiler.state.operator_acts import enact
from compiler.state.row_mapping import ruling
from store.compile import scopes
from store.content import memories
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.tenancy import owners
from store.wiki import browse, pages, rulings
from store.wiki.browse import PageRow
from tests.support.compiler.compiling import HOUSEMATE, NOW, SCOPE, compiled, engine_on, fetch, journal, wish, write

_STANDING = """SELECT c.active_pages AS kept, c.counted_revision = c.wiki_revision AS is_in_force,
    (SELECT count(*) FROM wiki_pages p
        WHERE p.tenant_id = c.tenant_id AND p.owner_id = c.owner_id AND p.status = 'active') AS counted
    FROM wiki_compile_cursors c WHERE c.owner_id = $1"""
_ACTS = 40


async def standing(database: str) -> tuple[int | None, bool | None, int]:
    """Return the kept count, whether it is in force, and the count of the rows."""
    [row] = await fetch(database, _STANDING, SCOPE.owner_id)
    return row["kept"], row["is_in_force"], row["counted"]


async def answered(pools: Pools) -> int:
    """Return how many pages a search takes the owner to have."""
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        return int(await connection.fetchval("SELECT active_pages($1, $2)", SCOPE.tenant_id, SCOPE.owner_id))


class Wiki:
    """An owner's wiki that is compiled, edited, forgotten and reset at random."""

    def __init__(self, pools: Pools, seed: int) -> None:
        self.dice = Random(seed)
        self._pools = pools
        self._written = 0

    async def act(self) -> str:
        """Do one act, and return its name."""
        act = self.dice.choice(
            (
                *(self.compile, self.compile, self.compile, self._archive, self._resurrect, self._delete, self._rename),
                *(self._merge, self._unmerge, self._bring, self._put, self._forget, self._rebuild, self._reset),
                self._rollback,
            )
        )
        await act()
        return act.__name__

    async def compile(self) -> None:
        count = self.dice.randint(1, 12)
        await write(self._pools, journal(count, first=self._written))
        self._written += count
        await self._compiled()

    async def _compiled(self) -> None:
        await wish(self._pools)
        await compiled(self._pools, engine_on(self._pools))

    async def _archive(self) -> None:
        await self._on_page(acts.archive_page)

    async def _resurrect(self) -> None:
        """Archive a page and have all its memories read again."""
        await self._archive()
        async with scoped(self._pools.background, SCOPE) as connection:
            await scopes.lock(connection, SCOPE, now=NOW)
            await scopes.rewind(connection, SCOPE, now=NOW)
        await self.compile()

    async def _delete(self) -> None:
        await self._on_page(acts.delete_page)

    async def _rename(self) -> None:
        async with scoped(self._pools.background, SCOPE) as connection:
            if row := await self._page(connection):
                try:
                    await acts.rename_page(connection, SCOPE, row, f"Name {self.dice.random()}", now=NOW)
                except ActRefused:
                    return

    async def _merge(self) -> None:
        async with scoped(self._pools.background, SCOPE) as connection:
            await scopes.lock(connection, SCOPE, now=NOW)
            one, other = await self._page(connection), await self._page(connection)
            if one and other and one.page_id != other.page_id and one.type == other.type:
                await acts.merge_pages(connection, SCOPE, one, other, now=NOW)

    async def _unmerge(self) -> None:
        try:
            async with scoped(self._pools.background, SCOPE) as connection:
                await scopes.lock(connection, SCOPE, now=NOW)
                every = [ruling(row) for row in await rulings.listed(connection, SCOPE)]
                merged = [one for one in every if one.kind is RulingKind.MERGED]
                if merged:
                    await acts.undo_merge(connection, SCOPE, self.dice.choice(merged), every, now=NOW)
        except ActRefused:
            return
        await self._compiled()

    async def _bring(self) -> None:
        """Write pages as an import does."""
        keys = [PageKey(PageType.TOPIC, f"imported-{self.dice.randint(1, 20)}") for _ in range(3)]
        items = [CreatePage(Page(key, key.slug, "Imported.", ())) for key in keys]
        async with scoped(self._pools.background, SCOPE) as connection:
            await enact(connection, SCOPE, items, now=NOW)

    async def _put(self) -> None:
        async with scoped(self._pools.background, SCOPE) as connection:
            page = pages.NewPage("topic", f"put-{self.dice.randint(1, 20)}", "Put", "A page that was put.")
            await pages.put_page(connection, SCOPE, page, now=NOW)

    async def _forget(self) -> None:
        async with scoped(self._pools.background, SCOPE) as connection:
            await forgetting.forget(connection, SCOPE, await self._forgotten(connection), now=NOW)
        await self._compiled()

    async def _rebuild(self) -> None:
        """Forget memories and settle the wiki in the same transaction."""
        async with scoped(self._pools.background, SCOPE) as connection:
            gone = await self._forgotten(connection)
            await forgetting.forget(connection, SCOPE, gone, now=NOW)
            await forgetting.rebuild(connection, SCOPE, gone, now=NOW)

    async def _forgotten(self, connection: Connection) -> list[str]:
        gone = sorted({f"m{self.dice.randrange(self._written):05}" for _ in range(3)})
        await memories.forget_all(connection, SCOPE, gone)
        return gone

    async def _reset(self) -> None:
        async with scoped(self._pools.background, SCOPE) as connection:
            await upkeep.reset(connection, SCOPE, mode=self.dice.choice(tuple(ResetMode)), now=NOW)
        if self.dice.random() < 0.5:
            await self._compiled()

    async def _rollback(self) -> None:
        async with scoped(self._pools.background, SCOPE) as connection:
            await upkeep.rollback(connection, SCOPE, origin=LinkOrigin.CO_MENTION, prefix="", now=NOW)

    async def _on_page(self, act: Callable[..., Awaitable[None]]) -> None:
        async with scoped(self._pools.background, SCOPE) as connection:
            if row := await self._page(connection):
                await act(connection, SCOPE, row, now=NOW)

    async def _page(self, connection: Connection) -> PageRow | None:
        found = await connection.fetch("SELECT type, slug FROM wiki_pages WHERE status = 'active' ORDER BY type, slug")
        if not found:
            return None
        row = self.dice.choice(found)
        return await browse.page_by_key(connection, SCOPE, row["type"], row["slug"])


@pytest.mark.parametrize("seed", range(3))
async def test_count_is_kept_through_random_acts(pools: Pools, database: str, seed: int, is_soak: bool) -> None:
    await write(pools, journal(1), scope=HOUSEMATE)
    wiki = Wiki(pools, seed)
    await wiki.compile()
    done, counts = [], set()
    for _ in range(_ACTS if is_soak else _ACTS // 2):
        done.append(await wiki.act())
        kept, is_in_force, counted = await standing(database)
        assert (kept, is_in_force) == (counted, True), done
        assert await answered(pools) == counted, done
        counts.add(counted)
    assert len(counts) > 5, "the acts change the number of pages"


async def test_writer_that_keeps_no_count_makes_questions_count(pools: Pools, database: str) -> None:
    await write(pools, journal(6))
    await wish(pools)
    await compiled(pools, engine_on(pools))
    before = await answered(pools)
    await fetch(database, "UPDATE wiki_compile_cursors SET wiki_revision = wiki_revision + 1")
    await fetch(
        database,
        "UPDATE wiki_pages SET status = 'archived' WHERE page_id = (SELECT min(page_id::text)::uuid FROM wiki_pages)",
    )
    assert await answered(pools) == before - 1
    await write(pools, journal(6, first=6))
    await wish(pools)
    await compiled(pools, engine_on(pools))
    kept, is_in_force, counted = await standing(database)
    assert (kept, is_in_force) == (counted, True)


async def test_lint_repairs_a_count_that_differs_and_keeps_one_that_is_missing(pools: Pools, database: str) -> None:
    await write(pools, journal(6))
    await wish(pools)
    await compiled(pools, engine_on(pools))
    for broken in ("active_pages = 1000", "active_pages = NULL, counted_revision = NULL"):
        await fetch(database, f"UPDATE wiki_compile_cursors SET {broken}")
        await lint.handle(pools.background, lambda: NOW, SCOPE, "")
        kept, is_in_force, counted = await standing(database)
        assert (kept, is_in_force) == (counted, True)


async def test_count_is_deleted_with_its_owner(pools: Pools, database: str) -> None:
    await write(pools, journal(6))
    await wish(pools)
    await compiled(pools, engine_on(pools))
    async with scoped(pools.background, SCOPE) as connection:
        await owners.forget(connection, SCOPE)
    assert await fetch(database, _STANDING, SCOPE.owner_id) == []
    assert await answered(pools) == 0
