"""Compares turns of the sidecar with recalls of a real Hindsight, on the same chats and questions, each for 2,000 tokens.

Hindsight 1.1 is installed on the same machine (1.4 GB), with a Postgres of its own, the sidecar's embedder, rank fusion instead
of a reranker, and no language model: each turn of a chat is one unit, verbatim. It is called over HTTP, as by its own client; the
sidecar is called as in `whole-turn`. One runs after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC
from pathlib import Path
from typing import Any

import httpx
import uvloop

from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.recall.cases import Conversation, Question, conversations
from bench.speed import whole_turn
from bench.speed.whole_turn import BUDGET_TOKENS, SET, WIDTH, Rounds
from tests.servers.__main__ import hindsight

_AT_ONCE = 50
_EFFORTS = ("low", "mid")


class _Hindsight:
    """A server with a bank per chat; every recall has one `effort`, which Hindsight calls its budget."""

    def __init__(self, client: httpx.AsyncClient, effort: str) -> None:
        self._client = client
        self._effort = effort

    async def ask(self, chat: Conversation, question: Question) -> str:
        """Return the text of the units recalled for a question."""
        body = {
            "query": question.text,
            "types": ["world"],
            "budget": self._effort,
            "max_tokens": BUDGET_TOKENS,
            "include": {"entities": None},
        }
        answer = await self._client.post(f"/v1/default/banks/{chat.name}/memories/recall", json=body)
        answer.raise_for_status()
        return "\n".join(str(one["text"]) for one in answer.json()["results"])


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures; `scale` is the share of the questions."""
    return uvloop.run(_measured(conversations(data, SET), scale))


async def _measured(chats: Sequence[Conversation], scale: float) -> list[Figure]:
    async with whole_turn.sidecar(chats) as service:
        ours = await whole_turn.ask_all(chats, scale, service.ask, dict)
    figures = _figures("sidecar", ours)
    with ExitStack() as stack:
        url = hindsight(stack, embedder="minilm")["HINDSIGHT_URL"]
        async with httpx.AsyncClient(base_url=url, timeout=600) as client:
            for chat in chats:
                await _retain(client, chat)
            for effort in _EFFORTS:
                theirs = await whole_turn.ask_all(chats, scale, _Hindsight(client, effort).ask, dict)
                figures += _figures(f"Hindsight, {effort}", theirs) + _compared(effort, ours, theirs)
    return figures


async def _retain(client: httpx.AsyncClient, chat: Conversation) -> None:
    items: list[dict[str, Any]] = [
        {
            "content": f"{turn.speaker}: {turn.text}",
            "timestamp": turn.at.astimezone(UTC).isoformat(),
            "document_id": turn.id,
        }
        for turn in chat.turns
        if turn.text.strip()
    ]
    for start in range(0, len(items), _AT_ONCE):
        body = {"items": items[start : start + _AT_ONCE], "async": False}
        answer = await client.post(f"/v1/default/banks/{chat.name}/memories", json=body)
        answer.raise_for_status()
    sys.stderr.write(f"{chat.name}: {len(items)} turns retained\n")


def _figures(name: str, rounds: Rounds) -> list[Figure]:
    note = f"{len(rounds.alone.took_ms)} and {len(rounds.together.took_ms)} calls"
    return [
        plain(f"{name}: one at a time, p50", quantile(rounds.alone.took_ms, 0.5), unit=" ms", note=note),
        plain(f"{name}: one at a time, p95", quantile(rounds.alone.took_ms, 0.95), unit=" ms"),
        plain(f"{name}: calls a second, {WIDTH} at a time", rounds.together.per_s),
        plain(f"{name}: evidence in {BUDGET_TOKENS} tokens", rounds.evidence),
    ]


def _compared(effort: str, ours: Rounds, theirs: Rounds) -> list[Figure]:
    p50 = quantile(ours.alone.took_ms, 0.5) / quantile(theirs.alone.took_ms, 0.5)
    return [
        at_most(f"sidecar ÷ Hindsight, {effort}: p50", p50, 1 / 3),
        at_least(f"sidecar ÷ Hindsight, {effort}: calls a second", ours.together.per_s / theirs.together.per_s, 3),
        at_least(f"sidecar ÷ Hindsight, {effort}: evidence", ours.evidence / theirs.evidence, 1),
    ]
