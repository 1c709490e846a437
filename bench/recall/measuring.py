"""The measured run: loads the data into a sidecar with default settings and a worker, waits for vectors and summaries, trains
weights without the data under test, and asks every question through the RPC.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import grpc

from bench.databases import own_database
from bench.figures import log_progress
from bench.recall import follow_ups
from bench.recall.asking import BUDGETS, Asker, AskOptions, some
from bench.recall.baselines import Baselines
from bench.recall.cases import SETS, Conversation, conversations, document_questions
from bench.recall.folds import Fold, folds, gather, write_weights
from bench.recall.follow_ups import FOLLOW_UPS
from bench.recall.tally import Journal, Tally
from bench.recall.world import QuestionToAsk, World
from models.embedding.embedder import LocalEmbedder
from models.embedding.minilm import MiniLM
from sidecar.process.app import running, working
from sidecar.process.parts import Part
from sidecar.runtime.settings import Settings
from sidecar.telemetry.figures import Figures
from sidecar.turn.ranking import rank
from store.db.postgres import Pools
from store.wiki.edge_walks import MAX_HOPS

_TIMED = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of a run: the data's folder, the set, the number of folds (0: the shipped weights), the share of the questions.

    `keep` is a folder from which an interrupted run continues; `only` is the number of conversations, if not all. Each question
    is asked at each of the budgets, in tokens, with this `spend`.
    """

    data: Path
    name: str = SETS[0]
    folds: int = 0
    share: float = 1.0
    with_wiki: bool = False
    keep: Path | None = None
    write: Path | None = None
    only: int | None = None
    spend: str = "full"
    budgets: Sequence[int] = BUDGETS

    def trained(self) -> tuple[Conversation, ...]:
        """Return the conversations of all sets, on which weights are trained."""
        return tuple(one for name in SETS for one in conversations(self.data, name)[: self.only])

    @property
    def identity(self) -> str:
        """The options that an outcome depends on. Outcomes of a plan with another identity are not reused."""
        return f"{self.data} {self.name} {self.folds} {self.share} {self.with_wiki} {self.only} {self.spend} {self.budgets}"


async def measure(plan: Plan) -> Tally:
    """Run the plan, and return its tally."""
    if plan.name == FOLLOW_UPS:
        return await _follow_ups(plan)
    measured = conversations(plan.data, plan.name)[: plan.only]
    documents_asked = document_questions(plan.data)
    tally, journal, options = (
        Tally(),
        Journal(plan.keep, plan=plan.identity),
        AskOptions(plan.spend, tuple(plan.budgets)),
    )
    trained = plan.trained() if plan.folds or plan.write else measured
    async with _filled(plan, trained) as (world, pools):
        evidence = await gather(pools, trained, documents_asked, keep=plan.keep) if plan.folds or plan.write else None
        if plan.write is not None and evidence is not None:
            write_weights(plan.write, evidence, data=plan.data)
        trained_folds = folds(evidence, measured, count=plan.folds)
        log_progress(f"{len(trained_folds)} folds trained")
        asker = Asker(world, journal, tally, options, share=plan.share, with_wiki=plan.with_wiki)
        embedder = LocalEmbedder(MiniLM())
        for number, fold in enumerate(trained_folds):
            vars(rank)["BY_VECTORS"] = fold.weights  # the weights under test, in the process that serves
            for conversation in fold.conversations:
                await asker.conversation(conversation)
                await asker.baselines(conversation, Baselines(conversation, pools.turn, embedder))
            documents = [one for one in documents_asked if one.corpus in fold.corpora]
            if documents and fold.conversations:
                await asker.documents(documents, fold.conversations[0].name)
            log_progress(f"fold {number + 1} of {len(trained_folds)} asked, {tally.contexts} contexts")
        embedder.close()
        tally.took_ms = await _alone_ms(world, trained_folds[0])
        tally.degraded = world.degraded
    if plan.keep is not None:
        text = json.dumps(tally.misses, ensure_ascii=False, indent=1)
        (plan.keep / "misses.json").write_text(text, encoding="utf-8")
    return tally


async def _follow_ups(plan: Plan) -> Tally:
    """Return the tally of follow-up questions."""
    tally, journal = Tally(), Journal(plan.keep, plan=plan.identity)
    dialogs = follow_ups.dialogs(plan.data)
    questions = some(follow_ups.questions(dialogs), plan.share)
    async with served() as world:
        await follow_ups.fill(world, dialogs, questions)
        log_progress("all data written")
        await follow_ups.ask(world, journal, tally, questions, spend=plan.spend)
        tally.degraded = world.degraded
    return tally


@asynccontextmanager
async def _filled(plan: Plan, trained: Sequence[Conversation]) -> AsyncIterator[tuple[World, Pools]]:
    async with served() as world:
        await world.fill(trained, plan.data)
        if plan.with_wiki:
            log_progress(f"{await world.compile(trained)} pages compiled")
        log_progress("all data written")
        yield world, world.app.pools


@asynccontextmanager
async def served(
    *, embed_deadline_s: float | None = None, backends: Path | None = None, graph_hops: int = MAX_HOPS
) -> AsyncIterator[World]:
    """Yield a sidecar with default settings, and its worker in another process.

    The embedder is that of SIDECAR_EMBEDDER. `embed_deadline_s` is how long a message waits for its vector, `backends` the
    file of remote backends, if any, and `graph_hops` the number of typed edges that a turn follows.
    """
    options = [("grpc.max_receive_message_length", -1)]
    async with (
        own_database(embedder=os.environ.get("SIDECAR_EMBEDDER", "minilm"), is_installed=True) as (installed, _),
        running(settings := _with(installed, embed_deadline_s, backends, graph_hops), part=Part(embeds=False)) as app,
        working(settings, app.database, Figures()),
        grpc.aio.insecure_channel(app.addresses[0], options) as channel,
    ):
        yield World(app, settings, channel)


async def _alone_ms(world: World, fold: Fold) -> list[float]:
    """Return the milliseconds of single turns on an otherwise idle service."""
    took_ms = []
    conversation = fold.conversations[0]
    for question in some(conversation.questions, _TIMED / len(conversation.questions)):
        began = time.perf_counter()
        await world.ask(
            QuestionToAsk(conversation.name, question.text, frozenset({"thread", "memory", "knowledge"}), 4_000)
        )
        took_ms.append((time.perf_counter() - began) * 1000)
    return took_ms


def _with(settings: Settings, embed_deadline_s: float | None, backends: Path | None, graph_hops: int) -> Settings:
    waits_s = embed_deadline_s or settings.embed_deadline_s
    return replace(settings, embed_deadline_s=waits_s, backends=backends, graph_hops=graph_hops)
