"""Measures questions of synthesis, which need several memories: how many of these the context holds, with the wiki and without.

`synthesis_questions.json` holds the questions, each with its memories: `fact-7` is the eighth observation of the conversation.
Every second question of the first set is held back: nothing is tuned on it. The second set was written before pages were last
tuned. `--data` names the folder of conversations.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench.figures import Figure, at_least, log_progress, plain
from bench.recall.asking import BUDGETS, context_of, is_over
from bench.recall.cases import Conversation, conversations
from bench.recall.cases import plain as plain_text
from bench.recall.measuring import served
from bench.recall.world import QuestionToAsk, World
from models.tokens.encodings import count

QUESTIONS = Path(__file__).with_name("synthesis_questions.json")
PROVED_AT = 2_000
_WIKI = "wiki"
_SOURCES = {"memories": frozenset({"memory"}), "turns + memories": frozenset({"thread", "memory"})}
PARTS = ("open half", "held back", "second set")
_AT_ONCE = 2
_EMBED_DEADLINE_S = 10.0


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question to a conversation, the positions of the observations that together answer it, and its part, one of PARTS."""

    text: str
    gold: tuple[int, ...]
    part: str


@dataclass(slots=True)
class SetTally:
    """Memories found, memories wanted and tokens spent, by sources, whether the wiki took part, budget and part."""

    found: Counter[tuple[str, bool, int, str]] = field(default_factory=Counter)
    wanted: Counter[tuple[str, bool, int, str]] = field(default_factory=Counter)
    tokens: Counter[tuple[str, bool, int, str]] = field(default_factory=Counter)
    over: int = 0

    def share(self, sources: str, has_wiki: bool, budget: int, part: str = "") -> float:
        """Return the share of the wanted memories that were found, of one part of the questions or of all."""
        parts = (part,) if part else PARTS
        wanted = sum(self.wanted[sources, has_wiki, budget, one] for one in parts)
        return sum(self.found[sources, has_wiki, budget, one] for one in parts) / max(1, wanted)

    def per_1k_tokens(self, sources: str, has_wiki: bool, budget: int) -> float:
        """Return the memories found per 1,000 tokens of context."""
        tokens = sum(self.tokens[sources, has_wiki, budget, one] for one in PARTS)
        return 1000 * sum(self.found[sources, has_wiki, budget, one] for one in PARTS) / max(1, tokens)


def run(*, scale: float, data: Path, only: str = "", spend: str = "full") -> list[Figure]:
    """Return the figures. A scale below 1 takes the first questions of each conversation; `only` is a part of its name."""
    chats = [one for one in conversations(data) if only in one.name]
    return figures(uvloop.run(_measured(chats, scale, spend)))


def questions(conversation: Conversation, scale: float = 1.0) -> tuple[SetQuestion, ...]:
    """Return the questions to a conversation, or for a scale below 1 that share, from the first on."""
    read = json.loads(QUESTIONS.read_text(encoding="utf-8")).get(conversation.name, ())
    every = [
        SetQuestion(
            one["question"],
            tuple(int(gold.removeprefix("fact-")) for gold in one["gold"]),
            PARTS[2] if one.get("is_second") else PARTS[place % 2],
        )
        for place, one in enumerate(read)
    ]
    return tuple(every[: max(1, round(len(every) * scale))]) if every else ()


def figures(tally: SetTally) -> list[Figure]:
    """Return the figures of a tally."""
    results = []
    for sources in _SOURCES:
        for budget in BUDGETS:
            without, with_wiki = (tally.share(sources, one, budget) for one in (False, True))
            name = f"{sources} + wiki, {budget // 1000}k"
            note = f"{without:.4f} without, {tally.per_1k_tokens(sources, True, budget):.2f} a 1,000 tokens, "
            note += f"{tally.per_1k_tokens(sources, False, budget):.2f} without"
            results.append(
                at_least(name, with_wiki, without, note=note)
                if budget == PROVED_AT
                else plain(name, with_wiki, note=note)
            )
            for part in PARTS:
                both = [tally.share(sources, one, budget, part) for one in (True, False)]
                results += [plain(f"  {part}", both[0], note=f"{both[1]:.4f} without")] if budget == PROVED_AT else []
    return [*results, plain("contexts over their budget", tally.over)]


async def _measured(chats: Sequence[Conversation], scale: float, spend: str) -> SetTally:
    async with served(embed_deadline_s=_EMBED_DEADLINE_S) as world:
        await world.fill_conversations(chats)
        log_progress(f"{await world.compile(chats)} pages compiled")
        asker = _Asker(world, spend)
        async with asyncio.TaskGroup() as tasks:
            for conversation in chats:
                for question in questions(conversation, scale):
                    for sources in _SOURCES:
                        tasks.create_task(asker.ask(conversation, question, sources))
    log_progress("asked")
    return asker.tally


@dataclass(frozen=True, slots=True)
class _Asker:
    world: World
    spend: str
    tally: SetTally = field(default_factory=SetTally)
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def ask(self, conversation: Conversation, question: SetQuestion, sources: str) -> None:
        """Ask a question once with these sources and the wiki; replay its receipt at every budget, with the wiki and without.

        If it were asked twice, a source that is late once would make a larger difference than the wiki does.
        """
        every = _SOURCES[sources] | {_WIKI}
        async with self.gate:
            first = await self.world.ask(
                QuestionToAsk(conversation.name, question.text, every, BUDGETS[-1], spend=self.spend)
            )
        for budget in BUDGETS:
            for has_wiki in (False, True):
                kept = every if has_wiki else _SOURCES[sources]
                replayed = QuestionToAsk(conversation.name, question.text, kept, budget, spend=self.spend)
                async with self.gate:
                    assembly = await self.world.replay(replayed, first.receipt_id)
                context, is_too_large = context_of(assembly), is_over(assembly, budget)
                key = (sources, has_wiki, budget, question.part)
                held = set() if is_too_large else found(conversation, question, plain_text(context))
                self.tally.over += is_too_large
                self.tally.found[key] += len(held)
                self.tally.wanted[key] += len(question.gold)
                self.tally.tokens[key] += count([context], "o200k_base")[0]


def found(conversation: Conversation, question: SetQuestion, context: str) -> set[int]:
    """Return the wanted observations that are in the context, themselves or by all of their turns."""
    facts = {place: conversation.facts[place] for place in question.gold}
    return {
        place
        for place, fact in facts.items()
        if plain_text(fact.text) in context
        or (fact.turns and all(plain_text(conversation.turns[turn].text) in context for turn in fact.turns))
    }
