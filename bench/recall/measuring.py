"""The measured run: loads the data into a sidecar, trains weights without the data under test, and asks every question through
the RPC.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from bench.databases import own_database
from bench.recall.asking import Asking, some
from bench.recall.baselines import Baselines
from bench.recall.cases import Conversation, conversations, document_questions
from bench.recall.folds import Fold, folds, write_weights
from bench.recall.tally import Journal, Tally
from bench.recall.world import Asked, World
from models.embedding.embedder import LocalEmbedder
from models.embedding.minilm import MiniLM
from sidecar.process.app import running
from sidecar.turn import rank
from store.db.postgres import Pools

_TIMED = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: the data's folder, the number of folds (0: the shipped weights), and the share of the questions.

    `keep` is a folder from which an interrupted run continues; `only` is the number of conversations, if not all.
    """

    data: Path
    folds: int = 0
    share: float = 1.0
    with_wiki: bool = False
    keep: Path | None = None
    write: Path | None = None
    only: int | None = None

    @property
    def told(self) -> str:
        """The plan's identity; outcomes of a plan with another identity are not reused."""
        return f"{self.data} {self.folds} {self.share} {self.with_wiki} {self.only}"


async def measure(plan: Plan) -> Tally:
    """Return what was found."""
    told = conversations(plan.data)[: plan.only]
    asked = document_questions(plan.data)
    tally, journal = Tally(), Journal(plan.keep, plan=plan.told)
    async with _filled(plan, told) as (world, pools):
        if plan.write is not None:
            await write_weights(plan.write, pools, told, asked, keep=plan.keep)
        made = await folds(pools, told, asked, count=plan.folds, keep=plan.keep)
        _say(f"{len(made)} folds trained")
        asking = Asking(world, journal, tally, share=plan.share, with_wiki=plan.with_wiki)
        embedder = LocalEmbedder(MiniLM())
        for number, fold in enumerate(made):
            vars(rank)["BY_VECTORS"] = fold.weights  # the weights under test, in the process that serves
            for conversation in fold.conversations:
                await asking.conversation(conversation)
                await asking.baselines(conversation, Baselines(conversation, pools.turn, embedder))
            documents = [one for one in asked if one.corpus in fold.corpora]
            if documents and fold.conversations:
                await asking.documents(documents, fold.conversations[0].name)
            _say(f"fold {number + 1} of {len(made)} asked, {tally.contexts} contexts")
        embedder.close()
        tally.took_ms = await _alone_ms(world, made[0])
    if plan.keep is not None:
        text = json.dumps(tally.misses, ensure_ascii=False, indent=1)
        (plan.keep / "misses.json").write_text(text, encoding="utf-8")
    return tally


@asynccontextmanager
async def _filled(plan: Plan, told: Sequence[Conversation]) -> AsyncIterator[tuple[World, Pools]]:
    async with own_database(embedder="minilm") as (settings, _), running(settings) as app:
        options = [("grpc.max_receive_message_length", -1)]
        async with grpc.aio.insecure_channel(app.addresses[0], options) as channel:
            world = World(app, settings, channel)
            await world.fill(told, plan.data)
            if plan.with_wiki:
                _say(f"{await world.compile(told)} pages compiled")
            _say("the data are in")
            yield world, app.pools


async def _alone_ms(world: World, fold: Fold) -> list[float]:
    """Return how long turns take that nothing else is asked beside, in milliseconds."""
    took_ms = []
    conversation = fold.conversations[0]
    for question in some(conversation.questions, _TIMED / len(conversation.questions)):
        began = time.perf_counter()
        await world.ask(Asked(conversation.name, question.text, frozenset({"thread", "memory", "knowledge"}), 4_000))
        took_ms.append((time.perf_counter() - began) * 1000)
    return took_ms


def _say(what: str) -> None:
    """Print the run's progress."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
