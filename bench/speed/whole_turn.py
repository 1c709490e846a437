"""Measures whole turns of the installed service: four sources, real chats as threads, and questions that must be embedded.

`sidecar serve --processes auto` runs with its worker, with default settings, on an embedded Postgres of its own. Each chat of
`realtalk/conversations.json` (in the folder `--data`) is the thread of an owner. Once every turn has its vector, each question is
asked once through the client, in its thread, for a context of 2,000 tokens: half of them one at a time, the others eight at a
time. Client, service and Postgres share the machine.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import uvloop

from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.installed import Token, address, cpu_s, served
from bench.recall.cases import Conversation, Question, conversations, squash
from sidecar.client import AsyncSidecar, NewTurn, Stance
from store.content import embeddings
from store.db.postgres import PoolsConfig, open_pools
from store.embedded.layout import Layout

BUDGET_TOKENS = 2_000
SET = "realtalk"
WIDTH = 8
_TENANT, _THREAD, _MODEL = "whole-turn", "chat", "gpt-4o"
_AT_ONCE = 500
_WARM = 24

Ask = Callable[[Conversation, Question], Awaitable[str]]
"""Asks a question in its chat, and returns the text of the context."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Results of calls: milliseconds of each, calls a second, processor milliseconds a call by kind of process, and the texts."""

    took_ms: list[float]
    per_s: float
    cpu_ms: dict[str, float]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Rounds:
    """Calls one at a time, calls `WIDTH` at a time, and the share of gold turns in the texts of both."""

    alone: Calls
    together: Calls
    evidence: float


@dataclass(slots=True)
class Sidecar:
    """A sidecar that holds the chats. `candidates` counts those of each turn; `degraded` counts the turns that lack a source."""

    root: Path
    pid: int
    clients: Mapping[str, AsyncSidecar]
    candidates: list[int] = field(default_factory=list)
    degraded: int = 0

    async def ask(self, chat: Conversation, question: Question) -> str:
        """Assemble one turn."""
        assembly = await self.clients[chat.name].assemble_context(
            message=question.text,
            thread_id=_THREAD,
            model_id=_MODEL,
            overrides={"budget_tokens": BUDGET_TOKENS},
        )
        self.candidates.append(sum(report.offered_count for report in assembly.sources))
        self.degraded += assembly.degraded
        return "\n".join([block.text for block in assembly.system_blocks] + [one.text for one in assembly.messages])

    def cpu_s(self) -> dict[str, float]:
        """Return the processor seconds so far by kind of process."""
        return cpu_s(self.pid, self.root)


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures; `scale` is the share of the questions."""
    return uvloop.run(_measured(conversations(data, SET), scale))


async def _measured(chats: Sequence[Conversation], scale: float) -> list[Figure]:
    async with sidecar(chats) as service:
        rounds = await ask_all(chats, scale, service.ask, service.cpu_s)
    alone, together = rounds.alone, rounds.together
    note = f"{len(alone.took_ms)} turns of {mean(service.candidates):.0f} candidates, {BUDGET_TOKENS} tokens"
    return [
        at_most("a whole turn, one at a time, p50", quantile(alone.took_ms, 0.5), 20, unit=" ms", note=note),
        at_most("the same, p95", quantile(alone.took_ms, 0.95), 35, unit=" ms"),
        *(plain(f"of it processor time of {kind}", spent, unit=" ms") for kind, spent in alone.cpu_ms.items()),
        at_least(f"turns a second, {WIDTH} at a time", together.per_s, 75, note=f"{len(together.took_ms)} turns"),
        plain(f"a whole turn, {WIDTH} at a time, p50", quantile(together.took_ms, 0.5), unit=" ms"),
        *(plain(f"the processor time of {kind} then", spent, unit=" ms") for kind, spent in together.cpu_ms.items()),
        plain("evidence in the contexts", rounds.evidence),
        plain("degraded turns", service.degraded),
    ]


@asynccontextmanager
async def sidecar(chats: Sequence[Conversation]) -> AsyncIterator[Sidecar]:
    """Yield a sidecar that serves from as many processes as there are cores, once it holds the chats with their vectors."""
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
                yield Sidecar(root, process.pid, clients)


async def _append(client: AsyncSidecar, chat: Conversation) -> None:
    turns = [
        NewTurn(
            client_turn_id=turn.id,
            role="user" if turn.speaker == chat.turns[0].speaker else "assistant",
            speaker=turn.speaker,
            text=turn.text,
            said_time=turn.at,
        )
        for turn in chat.turns
    ]
    for start in range(0, len(turns), _AT_ONCE):
        await client.append_turns(thread_id=_THREAD, turns=turns[start : start + _AT_ONCE])


async def _until_embedded(root: Path) -> None:
    pools = await open_pools(Layout.of(root / "data").dsn, PoolsConfig())
    while await embeddings.waiting(pools.background, limit=1):  # noqa: ASYNC110 - only the database knows
        await asyncio.sleep(0.5)
    await pools.close()


async def ask_all(
    chats: Sequence[Conversation], scale: float, ask: Ask, spent_s: Callable[[], dict[str, float]]
) -> Rounds:
    """Ask a share of the chats' questions, half of them one at a time; the first are asked twice, to warm the service."""
    questions = [(chat, question) for chat in chats for question in chat.questions][:: max(1, round(1 / scale))]
    await _calls(questions[:_WARM], WIDTH, ask, spent_s)
    alone = await _calls(questions[::2], 1, ask, spent_s)
    together = await _calls(questions[1::2], WIDTH, ask, spent_s)
    pairs = [*zip(questions[::2], alone.texts, strict=True), *zip(questions[1::2], together.texts, strict=True)]
    found = [
        squash(chat.turns[place].text) in squash(text) for (chat, question), text in pairs for place in question.gold
    ]
    return Rounds(alone, together, mean(found))


async def _calls(
    questions: Sequence[tuple[Conversation, Question]], width: int, ask: Ask, spent_s: Callable[[], dict[str, float]]
) -> Calls:
    remaining, took_ms, texts = iter(enumerate(questions)), list[float](), [""] * len(questions)

    async def caller() -> None:
        for place, (chat, question) in remaining:
            sent = time.perf_counter()
            texts[place] = await ask(chat, question)
            took_ms.append((time.perf_counter() - sent) * 1000)

    began, before = time.perf_counter(), spent_s()
    await asyncio.gather(*(caller() for _ in range(width)))
    seconds, after = time.perf_counter() - began, spent_s()
    return Calls(
        took_ms,
        len(questions) / seconds,
        {kind: (after[kind] - before[kind]) * 1000 / len(questions) for kind in after},
        texts,
    )
