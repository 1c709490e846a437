"""Whole turns of the service as it is installed: real chats as threads, four sources, the embedding of the question included.

`sidecar serve --processes auto` runs with its worker and defaults on an embedded Postgres of its own. The person of each chat has
it as thread (`--data`, `realtalk/conversations.json` in it). Once every turn has its vector, each question is asked once, in its
thread, for a context of 2,000 tokens, through the client: half of them one at a time, the others eight at a time. Client,
service and Postgres share the machine.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import uvloop

from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.installed import Token, address, cpu_s, served
from bench.recall.cases import Conversation, conversations
from sidecar.client import Assembly, AsyncSidecar, NewTurn, Stance
from store.content import embeddings
from store.db.postgres import PoolsConfig, open_pools
from store.embedded.layout import Layout

_TENANT, _THREAD, _MODEL = "whole-turn", "chat", "gpt-4o"
_SET = "realtalk"
_BUDGET_TOKENS = 2_000
_WIDTH = 8
_AT_ONCE = 500
_WARM = 24


@dataclass(frozen=True, slots=True)
class _Heard:
    """The milliseconds of each turn, all turns a second, and the processor milliseconds of a turn by kind of process."""

    took_ms: list[float]
    per_s: float
    cpu_ms: dict[str, float]
    answers: list[Assembly]


def run(*, scale: float, data: Path | None) -> list[Figure]:
    """Return the figures; `scale` is the share of the questions."""
    if data is None:
        sys.exit("whole-turn: name the folder of the data with --data")
    return uvloop.run(_measured(conversations(data, _SET), scale))


async def _measured(chats: Sequence[Conversation], scale: float) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="context-sidecar-whole-turn-", dir="/tmp") as name:
        root = Path(name)
        root.chmod(0o755)
        async with served(root, "--processes", "auto") as process:
            token = Token(root, _TENANT, [chat.name for chat in chats])
            async with AsyncSidecar(address(root), token.current) as shared:
                clients = {chat.name: shared.taking(Stance(owner_id=chat.name, deadline_s=30)) for chat in chats}
                for chat in chats:
                    await _append(clients[chat.name], chat)
                await _until_embedded(root)
                told = [(clients[chat.name], question.text) for chat in chats for question in chat.questions]
                asked = told[:: max(1, round(1 / scale))]
                await _ask(asked[:_WARM], _WIDTH, process.pid, root)
                alone = await _ask(asked[::2], 1, process.pid, root)
                together = await _ask(asked[1::2], _WIDTH, process.pid, root)
    return _figures(alone, together)


async def _append(client: AsyncSidecar, chat: Conversation) -> None:
    said = [
        NewTurn(
            client_turn_id=turn.id,
            role="user" if turn.speaker == chat.turns[0].speaker else "assistant",
            speaker=turn.speaker,
            text=turn.text,
            said_time=turn.at,
        )
        for turn in chat.turns
    ]
    for start in range(0, len(said), _AT_ONCE):
        await client.append_turns(thread_id=_THREAD, turns=said[start : start + _AT_ONCE])


async def _until_embedded(root: Path) -> None:
    pools = await open_pools(Layout.of(root / "data").dsn, PoolsConfig())
    while await embeddings.waiting(pools.background, limit=1):  # noqa: ASYNC110 - only the database knows
        await asyncio.sleep(0.5)
    await pools.close()


async def _ask(asked: Sequence[tuple[AsyncSidecar, str]], width: int, pid: int, root: Path) -> _Heard:
    """Ask every question once, `width` at a time."""
    left, took_ms, answers = iter(asked), list[float](), list[Assembly]()

    async def caller() -> None:
        for client, message in left:
            sent = time.perf_counter()
            answers.append(
                await client.assemble_context(
                    message=message,
                    thread_id=_THREAD,
                    model_id=_MODEL,
                    overrides={"budget_tokens": _BUDGET_TOKENS},
                )
            )
            took_ms.append((time.perf_counter() - sent) * 1000)

    began, before = time.perf_counter(), cpu_s(pid, root)
    await asyncio.gather(*(caller() for _ in range(width)))
    seconds, after = time.perf_counter() - began, cpu_s(pid, root)
    cpu_ms = {kind: (after[kind] - before[kind]) * 1000 / len(answers) for kind in after}
    return _Heard(took_ms, len(answers) / seconds, cpu_ms, answers)


def _figures(alone: _Heard, together: _Heard) -> list[Figure]:
    answers = alone.answers + together.answers
    candidates = mean(sum(report.offered_count for report in one.sources) for one in answers)
    note = f"{len(alone.took_ms)} turns of {candidates:.0f} candidates, {_BUDGET_TOKENS} tokens"
    return [
        at_most("a whole turn, one at a time, p50", quantile(alone.took_ms, 0.5), 20, unit=" ms", note=note),
        at_most("the same, p95", quantile(alone.took_ms, 0.95), 35, unit=" ms"),
        *(plain(f"of it processor time of {kind}", spent, unit=" ms") for kind, spent in alone.cpu_ms.items()),
        at_least(f"turns a second, {_WIDTH} at a time", together.per_s, 75, note=f"{len(together.took_ms)} turns"),
        plain(f"a whole turn, {_WIDTH} at a time, p50", quantile(together.took_ms, 0.5), unit=" ms"),
        *(plain(f"of it processor time of {kind}", spent, unit=" ms") for kind, spent in together.cpu_ms.items()),
        plain("degraded turns", sum(one.degraded for one in answers)),
    ]
