"""Fits the models of whether a message leans on its thread, and measures them. With `--write-weights` it writes `MAY_LEAN` and
`LEANING` of `sidecar/turn/fitted/weights.py`, and the log odds by words, `sidecar/turn/message/leaning_by_words.json`.

Messages that lean are follow-ups, asked in their dialogs, whole and without answers. Messages that stand by themselves are the
rewrites of follow-ups, asked in other dialogs, and the conversations' questions, asked in their own thread and in other dialogs.
`leaning.json` holds messages of both kinds in eight languages, half of them held back, asked in short threads of owners with a
few notes. `leaning_messages.json` holds both kinds in 29 languages, without the conversations they belong to; a fifth of them and
of the questions of `personal.json` is held back. Every message is judged by its form and words. Where the evidence is known, the
evidence found with the thread is compared with that found by the message alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import uvloop
from numpy.typing import NDArray

from bench.figures import Figure, at_least, at_most, log_progress, plain
from bench.recall import follow_ups, measuring
from bench.recall.cases import ADVERSARIAL, SETS, Conversation, Question, conversations, document_questions, squash
from bench.recall.training import fit_weighted, put_weights
from bench.recall.world import AGENT, TENANT, THREAD, World
from bench.training.fitting_worth import ASKING
from bench.training.leaning_words import MORE_FILE, fit_words, more_messages, odds_without_fold, write_words
from bench.training.own_messages import own_questions
from models.embedding.embedder import LocalEmbedder
from models.embedding.minilm import MiniLM
from sidecar.context.ports import ContextSource, SourceLimits, SourceQuery
from sidecar.context.query_embedding import QueryReader
from sidecar.runtime.embedders import Numbered
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.turn.candidates import Candidates
from sidecar.turn.fitted.weights import RankerWeights
from sidecar.turn.message.leaning import WORDS_FILE, keeping_best, leaning_features, leaning_of, message_form
from sidecar.turn.message.reading import read
from sidecar.turn.message.telling_words import telling_words
from sidecar.turn.ranking.rank import judged_parts, own_evidence
from sidecar.v1 import context_pb2, memory_pb2
from store.content import embedders
from store.scope import Scope, owner_uuid, tenant_uuid

_TARGET = Path("sidecar/turn/fitted/weights.py")
_MESSAGES = Path(__file__).with_name("leaning.json")
_FOLLOW_UPS, _PER_CONVERSATION, _STRANGE_THREADS, _PLACES = 400, 40, 6, 3
_THREADS = (follow_ups.VARIANTS[0], follow_ups.VARIANTS[2])
_OWN, _STRANGE, _REWRITTEN = "own questions", "own questions, elsewhere", "rewritten, elsewhere"
_FITTED, _MORE, _HELD, _MORE_HELD = "messages", "more messages", "held", "more messages, held"
_MORE_ASKED = 160
_WEIGHTS = {_THREADS[0]: 4.0, _THREADS[1]: 2.0, _REWRITTEN: 4.0, _OWN: 8.0, _STRANGE: 8.0, _FITTED: 4.0, _MORE: 0.5}
_TODAY = date(2026, 1, 1)  # no form depends on it
_RIDGE, _FOLDS = 1.0, 5
_LIMITS = SourceLimits(top_k=250, lead_lines=3, window_tokens=128_000, window_turns=0)
_ROOM = {"1k": 3_600, "2k": 7_200}  # bytes of text in so many tokens, without headers
_HEADER_BYTES = 32
_HALF = 0.5

_Numbers = NDArray[np.float64]
_Holds = Callable[[str, str], bool]
"""Returns whether a candidate, by its id and text, holds evidence."""


@dataclass(frozen=True, slots=True)
class Contest:
    """The candidates of a message whose evidence is known: the relevance of each to the message itself and to the message in its
    thread, its size in bytes, and whether it is evidence. With `is_one`, one candidate answers the message.
    """

    own: _Numbers
    in_thread: _Numbers
    sizes: Sequence[int]
    gold: NDArray[np.bool_]
    is_one: bool

    def found(self, leans: float, room: int) -> float:
        """Return the share of the evidence in a context of `room` bytes if the message leans by `leans`, from 0 to 1."""
        both = (1 - leans) * self.own + leans * self.in_thread
        relevances = keeping_best(both, self.own, np.array(self.sizes))
        remaining, held = room, 0
        for place in np.argsort(-relevances, kind="stable").tolist():
            if (size := self.sizes[place] + _HEADER_BYTES) <= remaining:
                remaining -= size
                held += bool(self.gold[place])
        return float(held > 0) if self.is_one else held / int(self.gold.sum())


@dataclass(frozen=True, slots=True)
class Row:
    """A message with its label: its group and fold, whether it leans, its features by form and, if it was searched, those of the
    second step, its candidates if their evidence is known, and its `telling_words`.
    """

    group: str
    fold: str
    leans: bool
    form: Mapping[str, float]
    searched: Mapping[str, float] | None = None
    contest: Contest | None = None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MessageToAsk:
    """A message to ask: the group it counts in, its fold, the owner and the thread, and which candidates hold evidence, if
    known.
    """

    group: str
    fold: str
    text: str
    owner: str
    thread: str
    leans: bool = False
    holds: _Holds | None = None


def messages(half: str) -> list[tuple[str, bool]]:
    """Return the messages of a half, `fitted` or `held`, and whether each leans on its thread."""
    own_messages = _own()[half]
    return [(text, kind == "leaning") for kind in ("leaning", "standing") for text in own_messages[kind]]


def run(*, scale: float, data: Path, write_weights: bool = False) -> list[Figure]:
    """Return how often messages of held-back folds are judged right, and how much evidence they find.

    `scale` is the share of the conversations and dialogs that are searched.
    """
    rows = list(_with_words(uvloop.run(_rows(data, scale))))
    fitted_on = [row for row in rows if row.group not in {_HELD, _MORE_HELD}]
    if write_weights:
        digest = _digest(data)
        provenance = _PROVENANCE.format(date=date.today(), scale=scale, digest=digest, rows=len(fitted_on))  # noqa: DTZ011
        put_weights(_TARGET, dict(zip(("MAY_LEAN", "LEANING"), fit(fitted_on), strict=True)), provenance=provenance)
        by_words = fit_words([row.words for row in fitted_on], [row.leans for row in fitted_on])
        write_words(WORDS_FILE, by_words, provenance=provenance)
    return figures(rows)


def fit(rows: Sequence[Row]) -> tuple[RankerWeights, RankerWeights]:
    """Return the weights fitted to these rows: of `MAY_LEAN`, and of `LEANING`, which also needs a search."""
    formed = [(row.form, row.leans, _WEIGHTS.get(row.group, 1.0)) for row in rows]
    by_form = fit_weighted(*map(list, zip(*formed, strict=True)), ridge=_RIDGE)
    flat = [(row.searched, row.leans, _WEIGHTS.get(row.group, 1.0)) for row in rows if row.searched]
    found, labels, weights = map(list, zip(*flat, strict=True))
    return by_form, fit_weighted(found, labels, weights, ridge=_RIDGE)


def _with_words(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows with the feature `by_words`, from models that were fitted without the row's fold."""
    folds = [_fold_of(row.fold) for row in rows]
    shown = [row.group not in {_HELD, _MORE_HELD} for row in rows]
    odds = odds_without_fold([row.words for row in rows], [row.leans for row in rows], folds, shown)
    for row, log_odds in zip(rows, odds, strict=True):
        by_words = {"by_words": log_odds}
        yield replace(row, form={**row.form, **by_words}, searched=row.searched and {**row.searched, **by_words})


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Return the figures, each fold judged by weights that were fitted without it."""
    right: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    found: dict[tuple[str, bool], list[tuple[float, Contest]]] = defaultdict(list)
    for fold in range(_FOLDS):
        may_lean, leaning = fit(
            [row for row in rows if row.group not in {_HELD, _MORE_HELD} and _fold_of(row.fold) != fold]
        )
        for row in rows:
            if _fold_of(row.fold) == fold and row.searched is not None:
                leans = leaning_of(may_lean, leaning, row.form, row.searched)
                right[row.group, row.leans].append(leans > _HALF)
                if row.contest is not None:
                    found[row.group, row.leans].append((leans, row.contest))
    measured = []
    for (group, leans), values in sorted(right.items()):
        figure = at_least if leans else at_most
        title = f"{group}, {'leaning' if leans else 'standing'}: taken to lean"
        measured.append(figure(title, fmean(values), 0.9 if leans else 0.1, note=f"of {len(values)}"))
    for (group, leans), contests in sorted(found.items(), key=lambda one: one[0]):
        measured += _evidence(group, contests, leans=leans)
    return measured


def _evidence(group: str, contests: Sequence[tuple[float, Contest]], *, leans: bool) -> Iterator[Figure]:
    for name, room in _ROOM.items():
        alone = fmean(one.found(0.0, room) for _, one in contests)
        there = fmean(one.found(far, room) for far, one in contests)
        always = fmean(one.found(1.0, room) for _, one in contests)
        note = f"alone {alone:.3f}, all taken to lean {always:.3f}, of {len(contests)}"
        if leans:
            yield plain(f"{group}: found at {name}", there, note=note)
        else:
            yield at_most(f"{group}: lost at {name}", alone - there, 0.005, note=note)


async def _rows(data: Path, scale: float) -> list[Row]:
    """Return rows of all messages of the data by their form, and of a share of them with the features of their search."""
    chance, dialogs = random.Random(7), follow_ups.dialogs(data)
    every = follow_ups.questions(dialogs)
    chats = [chat for name in SETS for chat in conversations(data, name)]
    rows = [_by_form(group, fold, text, leans=leans) for group, fold, text, leans in _texts(chats, every, data)]
    chats = [chat for n in SETS for chat in [c for c in chats if bool(c.facts) is (n == SETS[0])][: _count(10, scale)]]
    questions = chance.sample(every, _count(_FOLLOW_UPS, scale))
    async with measuring.served() as world:
        log_progress(
            f"writing {len(chats)} conversations, {len(dialogs)} texts and threads of {len(questions)} follow-ups"
        )
        for conversation in chats:
            await world.put_conversation(conversation)
            for place, question in enumerate(chance.sample(every, _STRANGE_THREADS)):
                await world.put_turns(conversation.name, _strange(place), question.turns(_THREADS[0]))
        await follow_ups.put(world, dialogs, questions, _THREADS)
        await _put_notes(world)
        await world.until_made([])
        log_progress("all data written")
        asker = await _Asker.of(world)
        messages = [*_of_dialogs(questions), *_of_conversations(chats, chance), *_of_messages(chance)]
        found = [await asker.row(one) for one in messages]
        asker.close()
    return [*rows, *(row for row in found if row is not None)]


def _of_dialogs(questions: Sequence[follow_ups.FollowUp]) -> Iterator[MessageToAsk]:
    """Yield each follow-up in its dialog, and its rewrite in another one."""
    for place, question in enumerate(questions):
        name, holds = question.dialog.name, _text_holds(question.exchange.answer)
        for variant in _THREADS:
            text, thread = question.exchange.typed, question.thread(variant)
            yield MessageToAsk(variant, name, text, follow_ups.OWNER, thread, leans=True, holds=holds)
        other = questions[place - 1].thread(_THREADS[0])
        yield MessageToAsk(_REWRITTEN, name, question.exchange.rewritten, follow_ups.OWNER, other, holds=holds)


def _of_conversations(chats: Iterable[Conversation], chance: random.Random) -> Iterator[MessageToAsk]:
    """Yield questions of each conversation in its own thread; those that an observation answers also in an unrelated dialog."""
    for conversation in chats:
        answerable = [one for one in conversation.questions if one.category != ADVERSARIAL]
        for place, question in enumerate(chance.sample(answerable, min(len(answerable), _PER_CONVERSATION))):
            name, facts = conversation.name, _facts(conversation, question)
            turns = frozenset(conversation.turns[turn].text for turn in question.gold)
            yield MessageToAsk(_OWN, name, question.text, name, THREAD, holds=_either_holds(turns, facts))
            if facts:
                thread = _strange(place % _STRANGE_THREADS)
                yield MessageToAsk(_STRANGE, name, question.text, name, thread, holds=_either_holds(frozenset(), facts))


def _of_messages(chance: random.Random) -> Iterator[MessageToAsk]:
    """Yield our own messages, each in one or several threads of an owner with a few notes."""
    threads = list(_own()["threads"])
    for group, half in ((_FITTED, "fitted"), (_HELD, "held")):
        for text, leans in messages(half):
            for thread in chance.sample(threads, _PLACES):
                yield MessageToAsk(group, text, text, chance.choice((_ALL_NOTES, _SOME_NOTES)), thread, leans=leans)
    for group, half in ((_FITTED, "fitted"), (_MORE_HELD, "held")):
        questions = [text for _, text in own_questions("" if half == "fitted" else "held ")]
        standing = (more_messages(half, "standing"), questions)
        for texts, leans in ((more_messages(half), True), *((texts, False) for texts in standing)):
            for text in chance.sample(texts, min(len(texts), _MORE_ASKED)):
                yield MessageToAsk(
                    group, text, text, chance.choice((_ALL_NOTES, _SOME_NOTES)), chance.choice(threads), leans=leans
                )


_ALL_NOTES, _SOME_NOTES = "owner of notes", "owner of some notes"


async def _put_notes(world: World) -> None:
    """Write the two owners of notes, each with every thread."""
    notes = _own()["notes"]
    for owner, kept in ((_ALL_NOTES, notes), (_SOME_NOTES, notes[::4])):
        written = [memory_pb2.NewMemory(memory_id=f"note-{place}", text=text) for place, text in enumerate(kept)]
        await world.put_memories(owner, written)
        for thread, exchanges in _own()["threads"].items():
            turns = [
                context_pb2.NewTurn(client_turn_id=f"{role}{place}", role=role, text=text)
                for place, exchange in enumerate(exchanges)
                for role, text in zip(("user", "assistant"), exchange, strict=True)
            ]
            await world.put_turns(owner, thread, turns)


def _texts(
    chats: Iterable[Conversation], every: Iterable[follow_ups.FollowUp], data: Path
) -> Iterable[tuple[str, str, str, bool]]:
    """Yield the group, the fold and the text of every message, and whether it leans."""
    for conversation in chats:
        yield from ((_OWN, conversation.name, one.text, False) for one in conversation.questions)
    yield from (("documents", one.corpus, one.text, False) for one in document_questions(data))
    for one in every:
        yield "follow-ups", one.dialog.name, one.exchange.typed, True
        yield "rewritten", one.dialog.name, one.exchange.rewritten, False
    yield from ((_MORE, text, text, True) for text in more_messages("fitted"))
    yield from ((_MORE, text, text, False) for text in more_messages("fitted", "standing"))
    yield from ((_MORE, text, text, False) for group, text in own_questions() if group != ASKING)


def _by_form(group: str, fold: str, text: str, *, leans: bool) -> Row:
    reading = read(text, today=_TODAY)
    return Row(group, fold, leans, message_form(reading), words=telling_words(reading))


def _facts(conversation: Conversation, question: Question) -> frozenset[str]:
    """Return the ids of the observations drawn from a question's evidence."""
    facts = enumerate(conversation.facts)
    return frozenset(f"memory:fact-{place}" for place, one in facts if {*one.turns} & {*question.gold})


def _text_holds(answer: str) -> _Holds:
    squashed = squash(answer)
    return lambda _, text: squashed in squash(text)


def _either_holds(turns: frozenset[str], facts: frozenset[str]) -> _Holds:
    return lambda item_id, text: text in turns or item_id in facts


def _strange(place: int) -> str:
    return f"stranger-{place}"


def _count(most: int, scale: float) -> int:
    return max(1, round(most * min(1.0, scale)))


class _Asker:
    """Asks the sources as a turn does, but reads every message in its thread."""

    def __init__(self, embedder: LocalEmbedder, reader: QueryReader, sources: Iterable[ContextSource]) -> None:
        self._embedder = embedder
        self._reader = reader
        self._sources = tuple(sources)
        self._count = 0

    @classmethod
    async def of(cls, world: World) -> _Asker:
        """Return an instance that asks this world."""
        pool, embedder = world.app.pools.turn, LocalEmbedder(MiniLM())
        number = await embedders.number_of(pool, embedder.name, embedder.dimensions)
        assert number is not None, "the database keeps vectors"
        numbered = Numbered(embedder, number)
        reader = QueryReader(pool, numbered, deadline_s=60.0, clock=time.monotonic, leans=lambda reading: True)
        return cls(embedder, reader, (ThreadSource(pool), KnowledgeSource(pool), MemorySource(pool)))

    def close(self) -> None:
        """Release the embedder."""
        self._embedder.close()

    async def row(self, message: MessageToAsk) -> Row | None:
        """Return the row of a message; None if no source has candidates, or its thread has no turns to read it in."""
        scope, now = Scope(tenant_uuid(TENANT), owner_uuid(message.owner)), datetime.now(UTC)
        read = await self._reader.understand(message.text, scope, message.thread, now=now, due_s=float("inf"))
        reading = read.reading
        query = SourceQuery(message.text, reading.words, message.thread, AGENT, "", "", "", now, reading, read.meaning)
        answers = await asyncio.gather(*(source.find(query, scope, _LIMITS) for source in self._sources))
        found = [answer.candidates for answer in answers if answer.candidates is not None and answer.items]
        self._count += 1
        if self._count % 100 == 0:
            log_progress(f"{self._count} messages asked")
        if reading.thread is None or not found:
            return None
        _, odds = judged_parts(reading, found)
        own, in_thread = odds[:-1].max(axis=0), odds[-1]
        searched = leaning_features(reading, own, in_thread, own_evidence(found))
        contest, words = _contest(message, found, own, in_thread), telling_words(reading)
        return Row(message.group, message.fold, message.leans, message_form(reading), searched, contest, words)


def _contest(message: MessageToAsk, found: Sequence[Candidates], own: _Numbers, in_thread: _Numbers) -> Contest | None:
    """Return the contest of a message's candidates, by log odds; None if none of them is known to be evidence."""
    if message.holds is None:
        return None
    pairs = [pair for one in found for pair in zip(one.ids, one.texts, strict=True)]
    gold = np.array([message.holds(*pair) for pair in pairs])
    if not gold.any():
        return None
    sizes = [len(text.encode()) for _, text in pairs]
    is_one = message.group not in {_OWN, _STRANGE}
    return Contest(1 / (1 + np.exp(-own)), 1 / (1 + np.exp(-in_thread)), sizes, gold, is_one)


def _fold_of(name: str) -> int:
    return random.Random(name).randrange(_FOLDS)


def _own() -> dict[str, Any]:
    own: dict[str, Any] = json.loads(_MESSAGES.read_text(encoding="utf-8"))
    return own


def _digest(data: Path) -> str:
    folders = (*SETS, "kb", follow_ups.FOLLOW_UPS)
    files = sorted(file for name in folders for file in (data / name).iterdir())
    return hashlib.sha256(b"".join(file.read_bytes() for file in (*files, _MESSAGES, MORE_FILE))).hexdigest()


_PROVENANCE = """Fitted on {date} by `python -m bench leaning --data DIR --scale {scale} --write-weights`, on {rows} messages
from data with the SHA-256 {digest}.
Data: follow-ups of CANARD (aagohary/canard, CC BY-SA 4.0: measured, never shipped) in their dialogs and their rewrites in
others, LoCoMo's, REALTALK's and chunking_evaluation's questions, the first half of `leaning.json` in `bench/training`, and
those of its `leaning_messages.json` and `personal.json` that are not held back. Ridge 1."""
