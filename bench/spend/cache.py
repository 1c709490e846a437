"""Measures how much of a turn's request repeats the one before it, and how much a provider's prompt cache saves.

Talks of 30 turns are held over real conversations (`--data`), each in a thread of its own: two of three messages ask about the
owner's past, the third is small talk. Steady talks ask about the past in its order, changing ones about anything, documents
included. The caller's system prompt and tools are 2,000 tokens. The repeated part of a request is the longest prefix that it
shares with the request before; a provider caches it from 1,024 tokens on, in steps of 128.

For comparison, a full budget is priced too, with the recalled text in the system prompt, before the conversation.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import uvloop

from bench.figures import Figure, at_least, at_most, plain
from bench.recall.cases import Conversation, conversations, document_questions
from bench.recall.measuring import served
from bench.recall.world import QuestionToAsk, World
from models.tokens.catalog import CATALOG, TokenSpending, cost_usd
from models.tokens.encodings import count
from sidecar.v1 import context_pb2

KINDS = ("steady", "changing")
PRICED = ("gpt-4o", "gpt-5")
"""The models by whose list prices requests are priced: cached input at a half and at a tenth."""

_TURNS, _SMALL_TALK_EVERY, _SYSTEM_TOKENS = 30, 3, 2_000
_LEAST_CACHED_TOKENS, _CACHE_STEP_TOKENS = 1_024, 128
_SOURCES = frozenset({"thread", "memory", "knowledge", "wiki"})
_SYSTEM = " ".join(["rule"] * (_SYSTEM_TOKENS - 8))
_SMALL_TALK = (
    ("Thanks!", "You're welcome."),
    ("Haha, nice.", "Glad you like it."),
    ("What is 17*23?", "391."),
    ("👍", "👍"),
    ("Give me a moment, the phone rings.", "Sure, take your time."),
    ("Okay, back again.", "Good, go on."),
    ("Obrigado!", "De nada!"),
    ("Make it shorter next time, please.", "I will."),
    ("Good morning", "Good morning!"),
    ("You are really helpful.", "Thank you."),
)


@dataclass(slots=True)
class _Talked:
    """Sums over the requests of talks: for each, the share of the text before the recalled part that repeats the request before;
    moves of the window; tokens and costs.
    """

    repeated: list[float] = field(default_factory=list)
    window_moves: int = 0
    turns: int = 0
    recalled_tokens: list[int] = field(default_factory=list)
    uncached_usd: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PRICED, 0.0))
    cached_usd: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PRICED, 0.0))
    full_usd: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PRICED, 0.0))

    def pay(self, request: str, repeated: str) -> None:
        """Add the cost of a request, with and without the cache."""
        for model in PRICED:
            self.uncached_usd[model] += _usd(model, request, "")
            self.cached_usd[model] += _usd(model, request, repeated)


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures of one talk of each kind per conversation; `scale` is the share of the conversations."""
    return uvloop.run(_measured(scale, data))


async def _measured(scale: float, data: Path) -> list[Figure]:
    chats = conversations(data)
    chats = chats[: max(1, round(len(chats) * scale))]
    answers = _answers(data)
    documents = [one.text for one in document_questions(data)]
    talked = {kind: _Talked() for kind in KINDS}
    async with served() as world:
        await world.fill(chats, data)
        await world.compile(chats)
        for conversation in chats:
            for kind in KINDS:
                questions = _questions(conversation, kind, documents)
                await _talk(world, conversation.name, kind, _messages(questions, answers), talked[kind])
    return [figure for kind in KINDS for figure in _figures(kind, talked[kind])]


def _figures(kind: str, talked: _Talked) -> Iterator[Figure]:
    note = f"{talked.turns} requests"
    yield at_least(f"{kind}: repeats of what stands before the recalled part", fmean(talked.repeated), 0.97, note=note)
    yield at_most(f"{kind}: turns at which the window moves", talked.window_moves / talked.turns, 0.1)
    yield plain(f"{kind}: tokens recalled a turn", fmean(talked.recalled_tokens))
    for model in PRICED:
        cached, uncached, full = (costs[model] for costs in (talked.cached_usd, talked.uncached_usd, talked.full_usd))
        yield at_most(f"{kind}: input cost with {model}'s cache ÷ without", cached / uncached, 0.6)
        yield at_most(f"{kind}: the same ÷ a full budget, recalled text first", cached / full, 0.12, note=model)


async def _talk(world: World, owner: str, kind: str, exchanges: Sequence[tuple[str, str]], talked: _Talked) -> None:
    """Hold one talk: assemble each message's context, compare the request with the one before, and store both turns."""
    before = before_full = ""
    window_before = ""
    for number, (message, answer) in enumerate(exchanges):
        question = QuestionToAsk(owner, message, _SOURCES, None, thread=kind, system_tokens=_SYSTEM_TOKENS)
        assembly = await world.ask(question)
        prefix, request = _request(assembly, message)
        repeated = _common(prefix, before)
        window = assembly.messages[0].turn_id if assembly.messages else ""
        if number and window == window_before:
            talked.repeated.append(len(repeated) / len(prefix))
        talked.window_moves += number > 1 and window != window_before
        talked.turns += 1
        talked.recalled_tokens.append(assembly.budget.used_tokens - assembly.stable_prefix_tokens)
        talked.pay(request, _common(request, before))
        full = await world.ask(QuestionToAsk(owner, message, _SOURCES, None, thread=kind, spend="full"))
        request_full = _recalled_first(full, message)
        for model in PRICED:
            talked.full_usd[model] += _usd(model, request_full, _common(request_full, before_full))
        before, before_full, window_before = request, request_full, window
        turns = [("user", message), ("assistant", answer)]
        await world.put_turns(
            owner,
            kind,
            [
                context_pb2.NewTurn(client_turn_id=f"{kind}-{number}-{role}", role=role, text=text)
                for role, text in turns
            ],
        )


def _request(assembly: context_pb2.Assembly, message: str) -> tuple[str, str]:
    """Return the text of the request before the recalled part, and the whole text."""
    stable = [block.text for block in assembly.system_blocks if block.zone == "stable"]
    recalled = [block.text for block in assembly.system_blocks if block.zone != "stable"]
    prefix = "\n".join((_SYSTEM, *stable, *_conversation(assembly), "user: "))
    return prefix, prefix + "".join(recalled) + message


def _recalled_first(assembly: context_pb2.Assembly, message: str) -> str:
    """Return the request with the recalled text in the system prompt."""
    return "\n".join(
        (_SYSTEM, *(block.text for block in assembly.system_blocks), *_conversation(assembly), f"user: {message}")
    )


def _conversation(assembly: context_pb2.Assembly) -> list[str]:
    return [f"{message.role}: {message.text}" for message in assembly.messages]


def _common(one: str, other: str) -> str:
    """Return the longest common prefix."""
    pairs = zip(one, other, strict=False)
    length = next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))
    return one[:length]


def _usd(model: str, request: str, repeated: str) -> float:
    """Return the cost of a request's input; the prefix `repeated` is cached."""
    tokens, cached = (count([text], "o200k_base")[0] for text in (request, repeated))
    cached = cached // _CACHE_STEP_TOKENS * _CACHE_STEP_TOKENS if cached >= _LEAST_CACHED_TOKENS else 0
    usd = cost_usd(CATALOG.require(model), TokenSpending(tokens, cache_read_tokens=cached))
    assert usd is not None, "these models have a price"
    return usd


def _questions(conversation: Conversation, kind: str, documents: Sequence[str]) -> list[str]:
    """Return the questions of a talk: `steady` ones about one period in its order, others about anything."""
    needed = _TURNS - _TURNS // _SMALL_TALK_EVERY
    rng = random.Random(f"{conversation.name} {kind}")
    answerable = [one for one in conversation.questions if one.gold]
    if kind == "steady":
        ordered = sorted(answerable, key=lambda one: min(one.gold))
        start = rng.randrange(max(1, len(ordered) - needed))
        return [one.text for one in ordered[start : start + needed]]
    return [one.text for one in rng.sample(answerable, needed - 6)] + rng.sample(list(documents), 6)


def _messages(questions: Sequence[str], answers: dict[str, str]) -> list[tuple[str, str]]:
    """Return the messages of a talk with their answers; every third is small talk."""
    waiting, small_talk = iter(questions), iter(_SMALL_TALK)
    exchanges = []
    for number in range(1, _TURNS + 1):
        if number % _SMALL_TALK_EVERY == 0:
            exchanges.append(next(small_talk))
        else:
            question = next(waiting)
            exchanges.append(
                (question, answers.get(question) or "I found that in the documents; it is on the second page.")
            )
    return exchanges


def _answers(data: Path) -> dict[str, str]:
    read: Any = json.loads((data / "locomo" / "conversations.json").read_text(encoding="utf-8"))
    return {one["text"]: str(one.get("answer") or "") for conversation in read for one in conversation["questions"]}
