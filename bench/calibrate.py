"""Calibration of worth: asks real questions, small talk and questions about other people's conversations, fits the numbers of
`sidecar/turn/calibration.py` on what recall brings, and writes them.

To be run again after the ranker's weights have changed. What it prints is measured on folds that were not fitted on.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

from bench.figures import Figure, at_least, at_most, plain
from bench.recall import fitting_worth, follow_ups, measuring
from bench.recall.cases import (
    ADVERSARIAL,
    SETS,
    Conversation,
    DocumentQuestion,
    conversations,
    document_questions,
    squash,
)
from bench.recall.fitting_worth import ASKING, STRANGER, TALK, Row
from bench.recall.world import AGENT, TENANT, THREAD, World
from models.embedding.embedder import LocalEmbedder
from models.embedding.minilm import MiniLM
from sidecar.context.ports import ContextSource, SourceLimits, SourceQuery
from sidecar.context.query_embedding import QueryReader
from sidecar.runtime.embedders import Numbered
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn import rank
from sidecar.turn.items import Source
from sidecar.turn.profile import DEFAULTS
from sidecar.turn.rank import Candidates
from sidecar.turn.worth import RULES, Spend
from store.content import embedders
from store.scope import Scope, owner_uuid, tenant_uuid

_TARGET = Path("sidecar/turn/calibration.py")
_TALK = Path(__file__).with_name("small_talk.json")
_A_CONVERSATION, _DOCUMENTS, _STRANGERS, _FOLLOW_UPS = 100, 16, 16, 240

_Held = Callable[[Source, str, str], bool]
"""Whether a candidate of a source, by its id and text, holds evidence."""


def run(*, scale: float, data: Path, write: bool = True) -> list[Figure]:
    """Return how well the numbers hold on folds that they were not fitted on; `scale` is the share of the questions asked."""
    vars(rank)["CALIBRATION"] = {}  # the relevances to be calibrated, in the process that asks
    rows = uvloop.run(_rows(data, scale))
    told = _figures(rows)
    if write:
        provenance = _PROVENANCE.format(date=date.today(), scale=scale, digest=_digest(data), rows=len(rows))  # noqa: DTZ011
        fitting_worth.write(_TARGET, fitting_worth.fit_all(rows), provenance=provenance)
    return told


async def _rows(data: Path, scale: float) -> list[Row]:
    rows: list[Row] = []
    async with measuring.served() as world:
        told = [one for name in SETS for one in conversations(data, name)]
        await world.fill(told, data)
        _say(f"{await world.compile([one for one in told if one.facts])} pages; asking")
        asking = await _Asking.of(world)
        for place, conversation in enumerate(told):
            other = told[place - 1]
            rows += await asking.conversation(conversation, other, document_questions(data), scale)
        rows += await asking.small_talk([(one.name, THREAD) for one in told])
        rows += await asking.own_questions()
        asking.close()
    async with measuring.served() as world:
        dialogs = follow_ups.dialogs(data)
        asked = random.Random(4).sample(follow_ups.questions(dialogs), round(_FOLLOW_UPS * min(1.0, scale)))
        await follow_ups.fill(world, dialogs, asked)
        _say("asking follow-ups")
        asking = await _Asking.of(world)
        rows += await asking.follow_ups(asked)
        rows += await asking.small_talk([(follow_ups.OWNER, one.thread(follow_ups.VARIANTS[0])) for one in asked])
        asking.close()
    return rows


class _Asking:
    """Asks the sources as a turn does, and keeps what they bring as rows."""

    def __init__(self, embedder: LocalEmbedder, reader: QueryReader, sources: dict[Source, ContextSource]) -> None:
        self._embedder = embedder
        self._reader = reader
        self._sources = sources

    @classmethod
    async def of(cls, world: World) -> _Asking:
        """Return one that asks this world."""
        pool = world.app.pools.turn
        embedder = LocalEmbedder(MiniLM())
        number = await embedders.number_of(pool, embedder.name, embedder.dimensions)
        assert number is not None, "the database keeps vectors"
        reader = QueryReader(pool, Numbered(embedder, number), deadline_s=60.0, clock=time.monotonic)
        made = (ThreadSource(pool), KnowledgeSource(pool), MemorySource(pool), WikiSource(pool))
        return cls(embedder, reader, dict(zip(Source, made, strict=False)))

    def close(self) -> None:
        """Release the embedder."""
        self._embedder.close()

    async def conversation(
        self, conversation: Conversation, other: Conversation, documents: Sequence[DocumentQuestion], scale: float
    ) -> list[Row]:
        """Return rows of a conversation's questions, of another's in it, and of questions to documents beside it."""
        chance = random.Random(conversation.name)
        rows = []
        group = "turns with facts" if conversation.facts else "turns"
        own, others = ([q for q in one.questions if q.category != ADVERSARIAL] for one in (conversation, other))
        for question in chance.sample(own, min(len(own), round(_A_CONVERSATION * scale))):
            texts = {squash(conversation.turns[place].text) for place in question.gold}
            facts = {
                f"memory:fact-{n}" for n, fact in enumerate(conversation.facts) if {*fact.turns} & {*question.gold}
            }

            def held(source: Source, item_id: str, text: str, texts: set[str] = texts, facts: set[str] = facts) -> bool:
                return (
                    item_id in facts if source is Source.MEMORY else source is Source.THREAD and squash(text) in texts
                )

            rows.append(await self._row((group, conversation.name), question.text, conversation.name, THREAD, held))
        for asked in chance.sample(documents, round(_DOCUMENTS * scale)):

            def holds(source: Source, item_id: str, text: str, asked: DocumentQuestion = asked) -> bool:
                return source is Source.KNOWLEDGE and any(one in squash(text) for one in asked.sentences)

            rows.append(await self._row(("documents", conversation.name), asked.text, conversation.name, THREAD, holds))
        strangers = chance.sample(others, round(_STRANGERS * scale))
        key = (STRANGER, other.name)
        return rows + [await self._row(key, one.text, conversation.name, THREAD, _none) for one in strangers]

    async def small_talk(self, places: Sequence[tuple[str, str]]) -> list[Row]:
        """Return rows of small talk, each message in one of these owners' threads."""
        rows = []
        for place, message in enumerate(told_talk("small_talk")):
            owner, thread = places[place % len(places)]
            rows.append(await self._row((TALK, message), message, owner, thread, _none))
        return rows

    async def own_questions(self) -> list[Row]:
        """Return rows of questions in many languages, by how they read alone."""
        rows = []
        for message in told_talk("asking"):
            (vector,) = await self._embedder.embed([message])
            rows.append(Row(ASKING, message, message, np.asarray(vector, np.float64)))
        return rows

    async def follow_ups(self, asked: Sequence[follow_ups.FollowUp]) -> list[Row]:
        """Return rows of follow-up questions in their dialogs, and of the same rewritten to stand alone."""
        rows = []
        for question in asked:
            answer, owner = squash(question.exchange.answer), follow_ups.OWNER

            def held(source: Source, item_id: str, text: str, answer: str = answer) -> bool:
                return source is Source.KNOWLEDGE and answer in squash(text)

            for variant in (follow_ups.VARIANTS[0], follow_ups.VARIANTS[2]):
                key = (variant, question.dialog.name)
                rows.append(await self._row(key, question.exchange.typed, owner, question.thread(variant), held))
            thread = question.thread(follow_ups.VARIANTS[0])
            rows.append(
                await self._row(("rewritten", question.dialog.name), question.exchange.rewritten, owner, thread, held)
            )
        return rows

    async def _row(self, key: tuple[str, str], message: str, owner: str, thread: str, held: _Held) -> Row:
        scope = Scope(tenant_uuid(TENANT), owner_uuid(owner))
        now = datetime.now(UTC)
        read = await self._reader.understand(message, scope, thread, now=now, due_s=float("inf"))
        assert read.vector is not None, read.without_meaning
        query = SourceQuery(message, read.reading.words, thread, AGENT, "", "", "", now, read.reading, read.meaning)
        found: list[tuple[Source, Candidates]] = []
        for source, one in self._sources.items():
            limits = SourceLimits(DEFAULTS.knobs(source).top_k, lead_lines=3, window_tokens=128_000, window_turns=0)
            answer = await one.find(query, scope, limits)
            if answer.candidates is not None:
                found.append((source, answer.candidates))
        relevances = np.clip(rank.rank(read.reading, [one for _, one in found]).relevances, 1e-6, 1 - 1e-6)
        columns = [
            (one.kind.value, held(source, item_id, text))
            for source, one in found
            for item_id, text in zip(one.ids, one.texts, strict=True)
        ]
        return Row(
            *key,
            message,
            np.asarray(read.vector, np.float64),
            [kind for kind, _ in columns],
            np.log(relevances / (1 - relevances)),
            np.array([is_gold for _, is_gold in columns], np.bool_),
        )


def told_talk(kind: str, half: str = "fitted") -> list[str]:
    """Return the messages of a kind, `small_talk` or `asking`, in eight languages: those fitted on, or those `held` back."""
    read: dict[str, Any] = json.loads(_TALK.read_text(encoding="utf-8"))
    return [message for messages in read[kind].get(half, {}).values() for message in messages]


def _none(source: Source, item_id: str, text: str) -> bool:
    return False


def _figures(rows: Sequence[Row]) -> list[Figure]:
    told = []
    for group, share in sorted(fitting_worth.passing(rows, RULES[Spend.BALANCED].least_asking).items()):
        name = f"taken to ask for something: {group}"
        told.append(at_most(name, share, 0.15) if group == TALK else at_least(name, share, 0.99))
    real = [row for row in rows if row.gold.any()]
    names = sorted({row.fold for row in real})
    halves = [[row for row in real if names.index(row.fold) % 2 == half] for half in (0, 1)]
    tested = [*halves[0], *halves[1]]
    relevances = [
        fitting_worth.calibrated(knots, row)
        for test, knots in zip(halves, map(fitting_worth.calibrate, halves[::-1]), strict=True)
        for row in test
    ]
    for kind in sorted({kind for row in tested for kind in row.kinds}):
        found = fitting_worth.bins(tested, relevances, kind)
        expected, observed = (sum(one[place] for one in found) for place in (1, 2))
        told.append(plain(f"{kind}: observed ÷ expected", observed / max(1e-9, expected), note=f"of {observed:.0f}"))
        for high, wanted, seen in found:
            if seen >= 20:
                told.append(plain(f"{kind} up to {high:g}: observed ÷ expected", seen / wanted, note=f"of {seen:.0f}"))
    return told


def _digest(data: Path) -> str:
    digest = hashlib.sha256(_TALK.read_bytes())
    for file in sorted(file for name in (*SETS, "kb", follow_ups.FOLLOW_UPS) for file in (data / name).iterdir()):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


_PROVENANCE = """Command: `python -m bench calibrate --data DIR --scale {scale:g}`, {rows} messages, {date}. The data's SHA-256
begins {digest}. Data: LoCoMo, REALTALK, chunking_evaluation, CANARD (measured on, never shipped) and
`bench/small_talk.json` (own). Relevance is calibrated by kind, on what recall brings to the default turn. A message asks
for something if it is no small talk."""
