"""`python docs/make_density.py` (`make density`): writes the table of edge types into docs/metrics/wiki-link-density.md.

Compiled anew each time: the demo's journal, and the generated corpora that `python -m bench graph` asks questions about.
"""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench.graph.asking import SEED, fill
from bench.graph.corpus import corpora
from bench.recall.measuring import served
from bench.recall.world import TENANT
from compiler.plan.edge_types import EDGE_TYPES
from sidecar.cli.shared.output import Voice
from sidecar.demo import corpus, story
from sidecar.process.app import running
from sidecar.process.parts import Part
from sidecar.runtime.settings import Settings
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki.upkeep import Density, density

PAGE = Path(__file__).parent / "metrics" / "wiki-link-density.md"
BEGIN, END = "<!-- made by docs/make_density.py -->", "<!-- end -->"


def table(found: dict[str, Density], day: str) -> str:
    """Return the rows: one an edge type, a column a wiki."""
    names = list(found)
    types = dict.fromkeys((*EDGE_TYPES, *(kind for one in found.values() for kind in one.edges_by_type)))
    rows = [
        ("pages", [one.pages for one in found.values()]),
        ("titles of several pages", [one.shared_titles for one in found.values()]),
        *((f"`{kind}`", [one.edges_by_type.get(kind, 0) for one in found.values()]) for kind in types),
    ]
    lines = [f"| {day} | {' | '.join(names)} |", f"|---{'|---:' * len(names)}|"]
    lines += [f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |" for name, counts in rows]
    return "\n".join(lines)


async def _density(pools: Pools, tenant: str, owner: str) -> Density:
    scope = Scope(tenant_uuid(tenant), owner_uuid(owner))
    async with scoped(pools.background, scope, read_only=True) as connection:
        return await density(connection, scope)


async def measured(home: Path) -> dict[str, Density]:
    """Return the density of each wiki."""
    settings = Settings(data_dir=home / "data", listen=("127.0.0.1:0",))
    await story.run(settings, Voice(is_json=False))
    async with running(settings, part=Part(embeds=False)) as app:
        found = {"the demo's journal": await _density(app.pools, corpus.TENANT, corpus.OWNER)}
    told = corpora(SEED)
    async with served() as world:
        await fill(world, told)
        for one in told:
            found[f"generated, {one.language}"] = await _density(world.app.pools, TENANT, one.owner)
    return found


def main() -> None:
    """Compile, measure, and write the table."""
    with tempfile.TemporaryDirectory(prefix="density-") as directory:
        Path(directory).chmod(0o711)  # for root, Postgres runs as another user and passes through here
        found = asyncio.run(measured(Path(directory)))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    written = table(found, datetime.now(UTC).date().isoformat())
    PAGE.write_text(f"{before}{BEGIN}\n{written}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
