"""Measures an hour of steady use: the memory of each process and the size of the database's files over time.

`sidecar serve` runs as installed on an embedded Postgres of its own. Owners take turns: two turns are appended, sometimes a
memory is retained or forgotten, a context is assembled, and its usage reported. Every ten seconds the memory of each process is
read: what it alone holds, and its share of what several hold, so that Postgres' shared buffers count once.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import mean

import asyncpg
import uvloop

from bench.figures import Figure, at_most, plain
from bench.installed import KINDS, Token, address, family, served
from bench.load.growth import SIZES
from sidecar.client import AsyncSidecar, NewMemory, NewTurn, SidecarCallError, Stance
from store.embedded.layout import Layout

_TENANT = "soak"
_MINUTES = 60.0
_EVERY_S = 10.0
_STEPS_PER_S = 3.0
_OWNERS = 40
_PEOPLE = ("Mara", "Noor", "Ivo", "Inês", "Tomás", "Ada", "Rui", "Lena", "Omar", "Yuki", "Pia", "Jonas")
_DEEDS = ("met", "phoned", "wrote to", "cooked for", "sailed with", "paid back", "moved in with", "painted with")
_PLACES = ("Porto", "Lisbon", "Ghent", "Oslo", "Kyoto", "Turin", "Graz", "Cork", "Riga", "Bern", "Faro", "Nice")
_THINGS = ("the red boat", "a borrowed van", "an old piano", "the tax letter", "two tickets", "the garden key")
_LAST_SHARE = 1 / 3
_MOST_GROWTH = 1.05


@dataclass(slots=True)
class _Seen:
    """The samples: megabytes by kind of process over time; and the counts of the work done."""

    megabytes: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    steps: int = 0
    refused: int = 0
    began_s: float = field(default_factory=time.monotonic)


def run(*, scale: float) -> list[Figure]:
    """Return the figures; `scale` is the share of an hour."""
    return uvloop.run(_measured(scale * _MINUTES * 60))


async def _measured(seconds: float) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="context-sidecar-soak-", dir="/tmp") as name:
        root = Path(name)
        root.chmod(0o755)
        async with served(root) as process:
            before = await _table_bytes(root)
            seen = _Seen()
            calling = asyncio.create_task(_call(root, seen, seconds))
            while not calling.done():
                await asyncio.wait({calling}, timeout=_EVERY_S)
                _sample(process.pid, root, seen)
            await calling
            after = await _table_bytes(root)
            log_bytes = sum(file.stat().st_size for file in root.rglob("*.log*"))
    return [*_memory(seen, seconds), *_growth(before, after, seen, log_bytes)]


async def _call(root: Path, seen: _Seen, seconds: float) -> None:
    """Make steps at a steady rate until the time is over; a refused call is counted and skipped."""
    drawn, ends = Random(7), time.monotonic() + seconds
    token = Token(root, _TENANT, [f"owner-{number}" for number in range(_OWNERS)])
    async with AsyncSidecar(address(root), token.current) as shared:
        clients = [shared.taking(Stance(owner_id=f"owner-{number}", deadline_s=20)) for number in range(_OWNERS)]
        memories: dict[int, list[str]] = defaultdict(list)
        began, step = time.monotonic(), 0
        while time.monotonic() < ends:
            owner = step % _OWNERS
            try:
                await _step(clients[owner], drawn, memories[owner], step)
                seen.steps += 1
            except SidecarCallError:
                seen.refused += 1
            step += 1
            await asyncio.sleep(max(0.0, began + step / _STEPS_PER_S - time.monotonic()))


async def _step(client: AsyncSidecar, drawn: Random, memories: list[str], step: int) -> None:
    thread = f"thread-{step // (_OWNERS * 20)}"
    turns = [
        NewTurn(client_turn_id=f"{step}-{role}", role=role, text=_sentence(drawn)) for role in ("user", "assistant")
    ]
    await client.append_turns(thread_id=thread, turns=turns)
    if step % 3 == 0:
        memories += (await client.retain(memories=[NewMemory(text=_sentence(drawn))])).memory_ids
    if step % 50 == 0 and memories:
        await client.delete_memory(memory_id=memories.pop(drawn.randrange(len(memories))))
    message = f"What about {drawn.choice(_PEOPLE)} in {drawn.choice(_PLACES)}?"
    assembly = await client.assemble_context(message=message, thread_id=thread, model_id="gpt-4o")
    await client.report_usage(receipt_id=assembly.receipt_id, input_tokens=1_000 + step % 97, output_tokens=100)
    if step % 20 == 0:
        await client.explain_assembly(receipt_id=assembly.receipt_id)


def _sentence(drawn: Random) -> str:
    one, other = drawn.sample(_PEOPLE, 2)
    return (
        f"{one} {drawn.choice(_DEEDS)} {other} in {drawn.choice(_PLACES)} on day {drawn.randrange(9_999)}"
        f" because of {drawn.choice(_THINGS)}."
    )


def _sample(pid: int, root: Path, seen: _Seen) -> None:
    """Read the memory of the service, its worker, and the embedded Postgres."""
    megabytes = dict.fromkeys(KINDS, 0.0)
    for one, kind in family(pid, root):
        with suppress(OSError, StopIteration):  # it has ended
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            megabytes[kind] += int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
    for kind, size in megabytes.items():
        seen.megabytes[kind].append(size)
    sizes = ", ".join(f"{kind} {size:.0f} MB" for kind, size in megabytes.items())
    sys.stderr.write(f"{(time.monotonic() - seen.began_s) / 60:.1f} min: {sizes}, {seen.steps} steps\n")


async def _table_bytes(root: Path) -> dict[str, float]:
    connection = await asyncpg.connect(Layout.of(root / "data").dsn)
    try:
        return {row["relname"]: row["size"] for row in await connection.fetch(SIZES)}
    finally:
        await connection.close()


def _memory(seen: _Seen, seconds: float) -> Iterator[Figure]:
    """Yield the first and last memory of each process, and its growth over the last third."""
    note = f"{seconds / 60:.0f} min, {seen.steps} steps, {seen.refused} refused"
    for kind, sizes in seen.megabytes.items():
        yield plain(f"{kind}: after a tenth of the time", _mean_about(sizes, 0.1), unit=" MB", note=note)
        yield plain(f"{kind}: at the end", _mean_about(sizes, 1.0), unit=" MB")
        yield plain(f"{kind}: the most", max(sizes), unit=" MB")
        ratio = _mean_about(sizes, 1.0) / _mean_about(sizes, 1 - _LAST_SHARE)
        yield at_most(f"{kind}: the end ÷ two thirds of the way", ratio, _MOST_GROWTH)


def _mean_about(sizes: Sequence[float], place: float) -> float:
    """Return the mean of the twentieth of the samples that ends at a share of the way."""
    end = max(1, round(len(sizes) * place))
    return mean(sizes[max(0, end - max(1, len(sizes) // 20)) : end])


def _growth(before: Mapping[str, float], after: Mapping[str, float], seen: _Seen, log_bytes: float) -> Iterator[Figure]:
    """Yield the bytes that a step left in each table with its indexes, and in the log."""
    grown = {table: (size - before[table]) / max(1, seen.steps) for table, size in after.items()}
    yield plain("bytes a step in the database", sum(grown.values()), note="two turns, a third of a memory, a context")
    yield plain("bytes a step in logs", log_bytes / max(1, seen.steps))
    for table, size in sorted(grown.items(), key=lambda one: -one[1]):
        if size >= 1:
            yield plain(f"bytes a step: {table}", size)
