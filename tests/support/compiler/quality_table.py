"""What a compile made of its memories, as a table: the same for a scripted model, a real one, and none."""

from __future__ import annotations

from compiler.state import row_mapping
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.wiki import candidates
from tests.support.compiler.compiling import SCOPE, all_jobs

COUNTED = ("planner_calls", "section_writer_calls", "records_quarantined", "sources_released", "lines_kept_as_past")


async def quality_table(pools: Pools, memory_count: int, *, scope: Scope = SCOPE) -> dict[str, float]:
    """Return pages per 100 memories, the share of memories that a page cites, citations, rejections, and what jobs counted."""
    async with scoped(pools.background, scope, read_only=True) as connection:
        standing = await row_mapping.load(connection, scope, await candidates.all_ids(connection, scope))
    pages = [page for page in standing.pages.values() if page.is_active]
    cited = {one.memory_id for page in pages for section in page.sections for one in section.sources}
    found = await all_jobs(pools, scope=scope)
    rejected = sum(sum(job.metrics.get("rejections", {}).values()) for job in found)
    return {
        "memories": memory_count,
        "pages per 100 memories": 100 * len(pages) / memory_count,
        "memories cited": len(cited) / memory_count,
        "citations": sum(len(section.sources) for page in pages for section in page.sections),
        "sections": sum(len(page.sections) for page in pages),
        "items rejected": rejected,
        **{name.replace("_", " "): sum(int(job.metrics.get(name, 0)) for job in found) for name in COUNTED},
    }
