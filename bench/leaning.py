"""Fits how a message is found to lean on its thread: writes `MAY_LEAN` and `LEANING` of `sidecar/turn/weights.py`.

Follow-ups are asked in their dialogs, whole and without answers; their rewrites in other dialogs and the conversations' own
questions stand by themselves. `leaning.json` holds messages of both kinds in eight languages, half of them held back. What is
searched is judged over all that the search brings, and over a tenth of it, as in a small store; by its form, every message of the
data is judged.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import uvloop

from bench.figures import Figure, at_least, at_most
from bench.recall import follow_ups, measuring
from bench.recall.cases import ADVERSARIAL, SETS, Conversation, conversations, document_questions
from bench.recall.training import fit_weighted, put_weights
from bench.recall.world import AGENT, TENANT, THREAD, World
from models.embedding.embedder import LocalEmbedder
from models.embedding.minilm import MiniLM
from sidecar.context.ports import ContextSource, SourceLimits, SourceQuery
from sidecar.context.query_embedding import QueryReader
from sidecar.runtime.embedders import Numbered
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.turn.leaning import leaning_features, leaning_of, message_form
from sidecar.turn.rank import Candidates, judged_parts
from sidecar.turn.reading import read
from sidecar.turn.weights import RankerWeights
from store.content import embedders
from store.scope import Scope, owner_uuid, tenant_uuid

_TARGET = Path("sidecar/turn/weights.py")
_MESSAGES = Path(__file__).with_name("leaning.json")
_FOLLOW_UPS, _A_CONVERSATION = 400, 40
_THREADS = (follow_ups.VARIANTS[0], follow_ups.VARIANTS[2])
_WEIGHTS = {_THREADS[0]: 4.0, _THREADS[1]: 4.0, "own questions": 2.0, "messages": 3.0}
_TODAY = date(2026, 1, 1)  # no form depends on it
_RIDGE, _FOLDS = 1.0, 5
_SMALL, _LEAST = 0.1, 5
_LIMITS = SourceLimits(top_k=250, lead_lines=3, window_tokens=128_000, window_turns=0)
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """A message as it was judged: its group and fold, whether it leans, and the features of both steps.

    `searched` holds those over all that its search brought, and over a tenth of it.
    """

    group: str
    fold: str
    leans: bool
    form: Mapping[str, float]
    searched: tuple[Mapping[str, float], ...]


def messages(half: str) -> list[tuple[str, bool]]:
    """Return the messages of a half, `fitted` or `held`, and whether each leans on its thread."""
    told = json.loads(_MESSAGES.read_text(encoding="utf-8"))[half]
    return [(text, kind == "leaning") for kind in ("leaning", "standing") for text in told[kind]]


def run(*, scale: float, data: Path, write_weights: bool = False) -> list[Figure]:
    """Return how often the folds held back are judged right; `scale` is the share of conversations and dialogs searched."""
    rows = uvloop.run(_rows(data, scale))
    fitted_on = [row for row in rows if row.group != "held"]
    if write_weights:
        digest = _digest(data)
        provenance = _PROVENANCE.format(date=date.today(), scale=scale, digest=digest, rows=len(fitted_on))  # noqa: DTZ011
        put_weights(_TARGET, dict(zip(("MAY_LEAN", "LEANING"), fit(fitted_on), strict=True)), provenance=provenance)
    return _figures(rows)


def fit(rows: Sequence[Row]) -> tuple[RankerWeights, RankerWeights]:
    """Return the weights of both steps fitted to these rows."""
    shares = [_WEIGHTS.get(row.group, 1.0) for row in rows]
    formed = [(row.form, row.leans, share) for row, share in zip(rows, shares, strict=True)]
    by_form = fit_weighted(*map(list, zip(*formed, strict=True)), ridge=_RIDGE)
    flat = [(searched, row.leans, share) for row, share in zip(rows, shares, strict=True) for searched in row.searched]
    found, labels, weights = map(list, zip(*flat, strict=True))
    return by_form, fit_weighted(found, labels, weights, ridge=_RIDGE)


def _figures(rows: Sequence[Row]) -> list[Figure]:
    right: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for fold in range(_FOLDS):
        kept = [row for row in rows if row.group != "held" and _fold_of(row.fold) != fold]
        may_lean, leaning = fit(kept)
        for row in rows:
            if _fold_of(row.fold) == fold:
                for place, searched in enumerate(row.searched):
                    leans = leaning_of(may_lean, leaning, row.form, searched)
                    right[f"{row.group}{', small store' if place else ''}", row.leans].append(leans)
    told = []
    for (group, leans), values in sorted(right.items()):
        share, note = sum(value > _HALF for value in values) / len(values), f"of {len(values)}"
        figure = at_least if leans else at_most
        told.append(figure(f"{group}: lean", share, 0.9 if leans else 0.1, note=note))
    return told


async def _rows(data: Path, scale: float) -> list[Row]:
    """Return every message of the data judged by its form, and a share of them judged with what their search brings."""
    chance, dialogs = random.Random(7), follow_ups.dialogs(data)
    every = follow_ups.questions(dialogs)
    told = [one for name in SETS for one in conversations(data, name)]
    rows = [_by_form(group, fold, text, leans=leans) for group, fold, text, leans in _texts(told, every, data)]
    told = [one for n in SETS for one in [c for c in told if bool(c.facts) is (n == SETS[0])][: _count(10, scale)]]
    questions = chance.sample(every, _count(_FOLLOW_UPS, scale))
    own = [("messages", *one) for one in messages("fitted")] + [("held", *one) for one in messages("held")]
    async with measuring.served() as world:
        _say(f"writing {len(told)} conversations, {len(dialogs)} texts and threads of {len(questions)} follow-ups")
        for conversation in told:
            await world.put_conversation(conversation)
        await follow_ups.put(world, dialogs, questions, _THREADS)
        await world.until_made([])
        _say("the data are in")
        asking = await _Asking.of(world)
        found: list[Row | None] = []
        for conversation in told:
            asked = [one.text for one in conversation.questions if one.category != ADVERSARIAL]
            some, name = chance.sample(asked, min(len(asked), _A_CONVERSATION)), conversation.name
            found += [await asking.row("own questions", name, one, name) for one in some]
        for place, question in enumerate(questions):
            name, owner = question.dialog.name, follow_ups.OWNER
            for variant in _THREADS:
                thread = question.thread(variant)
                found.append(await asking.row(variant, name, question.exchange.typed, owner, thread, leans=True))
            other = questions[place - 1].thread(_THREADS[0])
            found.append(await asking.row("rewritten, elsewhere", name, question.exchange.rewritten, owner, other))
        for place, (group, text, leans) in enumerate(own):
            thread = questions[place % len(questions)].thread(_THREADS[0])
            found.append(await asking.row(group, text, text, follow_ups.OWNER, thread, leans=leans))
            if told:
                owner = told[place % len(told)].name
                found.append(await asking.row(group, text, text, owner, leans=leans))
        asking.close()
    return [*rows, *(row for row in found if row is not None)]


def _texts(
    told: Iterable[Conversation], every: Iterable[follow_ups.FollowUp], data: Path
) -> Iterable[tuple[str, str, str, bool]]:
    """Yield the group, the fold and the text of every message, and whether it leans."""
    for conversation in told:
        yield from (("own questions", conversation.name, one.text, False) for one in conversation.questions)
    yield from (("documents", one.corpus, one.text, False) for one in document_questions(data))
    for one in every:
        yield "follow-ups", one.dialog.name, one.exchange.typed, True
        yield "rewritten", one.dialog.name, one.exchange.rewritten, False


def _by_form(group: str, fold: str, text: str, *, leans: bool) -> Row:
    return Row(group, fold, leans, message_form(read(text, today=_TODAY)), ())


def _count(most: int, scale: float) -> int:
    return max(1, round(most * min(1.0, scale)))


class _Asking:
    """Asks the sources as a turn does, with every message read in its thread."""

    def __init__(self, embedder: LocalEmbedder, reader: QueryReader, sources: Iterable[ContextSource]) -> None:
        self._embedder = embedder
        self._reader = reader
        self._sources = tuple(sources)
        self._count = 0

    @classmethod
    async def of(cls, world: World) -> _Asking:
        """Return one that asks this world."""
        pool, embedder = world.app.pools.turn, LocalEmbedder(MiniLM())
        number = await embedders.number_of(pool, embedder.name, embedder.dimensions)
        assert number is not None, "the database keeps vectors"
        numbered = Numbered(embedder, number)
        reader = QueryReader(pool, numbered, deadline_s=60.0, clock=time.monotonic, leans=lambda reading: True)
        return cls(embedder, reader, (ThreadSource(pool), KnowledgeSource(pool), MemorySource(pool)))

    def close(self) -> None:
        """Release the embedder."""
        self._embedder.close()

    async def row(
        self, group: str, fold: str, message: str, owner: str, thread: str = THREAD, *, leans: bool = False
    ) -> Row | None:
        """Return a message as it is judged; None if nothing is found or its thread cannot be read."""
        scope, now = Scope(tenant_uuid(TENANT), owner_uuid(owner)), datetime.now(UTC)
        read = await self._reader.understand(message, scope, thread, now=now, due_s=float("inf"))
        reading = read.reading
        query = SourceQuery(message, reading.words, thread, AGENT, "", "", "", now, reading, read.meaning)
        answers = await asyncio.gather(*(source.find(query, scope, _LIMITS) for source in self._sources))
        found = [answer.candidates for answer in answers if answer.candidates is not None and answer.items]
        self._count += 1
        if self._count % 100 == 0:
            _say(f"{self._count} messages asked")
        if reading.thread is None or not found:
            return None
        chance = random.Random(message)
        searched = [leaning_features(reading, *_odds(query, one)) for one in (found, _few(found, chance)) if one]
        return Row(group, fold, leans, message_form(reading), tuple(searched))


def _odds(query: SourceQuery, found: Sequence[Candidates]) -> tuple[np.ndarray, np.ndarray]:
    assert query.reading is not None
    _, odds = judged_parts(query.reading, found)
    return odds[:-1].max(axis=0), odds[-1]


def _few(found: Sequence[Candidates], chance: random.Random) -> list[Candidates]:
    """Return a tenth of the candidates of each kind, at least five."""
    few = []
    for one in found:
        count = min(len(one.ids), max(_LEAST, round(_SMALL * len(one.ids))))
        few.append(one.only(frozenset(chance.sample(list(one.ids), count))))
    return few


def _fold_of(name: str) -> int:
    return random.Random(name).randrange(_FOLDS)


def _digest(data: Path) -> str:
    folders = (*SETS, "kb", follow_ups.FOLLOW_UPS)
    files = sorted(file for name in folders for file in (data / name).iterdir())
    return hashlib.sha256(b"".join(file.read_bytes() for file in (*files, _MESSAGES))).hexdigest()


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


_PROVENANCE = """Fitted on {date} by `python -m bench leaning --data DIR --scale {scale} --write-weights`, on {rows} messages
from data with the SHA-256 {digest}.
Data: follow-ups of CANARD (aagohary/canard, CC BY-SA 4.0: measured, never shipped) in their dialogs and their rewrites in
others, LoCoMo's, REALTALK's and chunking_evaluation's questions, and the first half of `bench/leaning.json`. Ridge 1."""
