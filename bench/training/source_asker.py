"""Asks the sources as a turn does, and records their candidates with the evidence among them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np

from bench.figures import log_progress
from bench.recall import follow_ups
from bench.recall.cases import ADVERSARIAL, SETS, Conversation, DocumentQuestion, Question, squash
from bench.recall.world import AGENT, TENANT, THREAD, World
from bench.training import answers, pronouns, talks
from bench.training.fitting_worth import (
    CHATS,
    DOCUMENTS,
    NOT_STORED,
    REWRITTEN,
    STRANGER,
    TALK,
    TALKS,
    WITH_PRONOUNS,
    without_marks,
)
from bench.training.own_messages import own_questions, talk_messages
from bench.training.recordings import Offered, Recorded
from models.embedding.answer_map import towards_answers
from models.embedding.embedder import LocalEmbedder
from models.embedding.minilm import MiniLM
from sidecar.context.ports import ContextSource, SourceLimits, SourceQuery
from sidecar.context.query_embedding import QueryReader
from sidecar.runtime.embedders import Numbered
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.items import Source
from sidecar.turn.message.reading import read
from sidecar.turn.profile import DEFAULTS
from store.content import embedders
from store.scope import Scope, owner_uuid, tenant_uuid

THREADS = (follow_ups.VARIANTS[0], follow_ups.VARIANTS[2])
DOCUMENTS_ASKED = 32
_PER_CONVERSATION, _STRANGERS, _FOLLOW_UPS = 100, 40, 240
_AT_ONCE, _PROGRESS_EVERY = 2, 100

_HoldsEvidence = Callable[[Source, str, str], bool]
"""Returns whether a candidate of a source, by its id and text, holds evidence."""
Ask = Callable[[], Awaitable[Recorded]]
"""Asks the sources one message, and returns the recording."""


class SourceAsker:
    """Asks the sources as a turn does, and records their candidates."""

    def __init__(
        self, embedder: LocalEmbedder, readers: Mapping[str, QueryReader], sources: dict[Source, ContextSource]
    ) -> None:
        self._embedder = embedder
        self._readers = readers
        self._sources = sources

    @classmethod
    async def of(cls, world: World, towards: Mapping[str, answers.Towards] | None = None) -> SourceAsker:
        """Return an instance that asks this world; `towards` are the maps of questions' vectors, by set of conversations."""
        pool = world.app.pools.turn
        embedder = LocalEmbedder(MiniLM())
        number = await embedders.number_of(pool, embedder.name, embedder.dimensions)
        assert number is not None, "the database keeps vectors"
        numbered, maps = Numbered(embedder, number), {"": towards_answers} | dict(towards or {})
        readers = {name: QueryReader(pool, numbered, deadline_s=60.0, clock=time.monotonic) for name in maps}
        for name, reader in readers.items():
            reader.towards = maps[name]
        sources = (ThreadSource(pool), KnowledgeSource(pool), MemorySource(pool), WikiSource(pool))
        return cls(embedder, readers, dict(zip(Source, sources, strict=False)))

    def close(self) -> None:
        """Release the embedder."""
        self._embedder.close()

    def conversation(
        self, conversation: Conversation, other: Conversation, documents: Sequence[DocumentQuestion], scale: float
    ) -> Iterable[Ask]:
        """Yield some of a conversation's questions, of those to documents, and of another conversation's."""
        chance = random.Random(conversation.name)
        group, name = CHATS[not conversation.facts], _set_of(conversation)
        others = [one for one in other.questions if one.category != ADVERSARIAL]
        for question in drawn_questions(chance, conversation, scale):
            key, holds = (group, conversation.name), _evidence_of(conversation, question)
            yield partial(self._record, key, question.text, conversation.name, THREAD, holds, name)
        for document_question in chance.sample(documents, round(DOCUMENTS_ASKED * scale)):
            key, holds = (DOCUMENTS, document_question.corpus), _holds_any(document_question.sentences)
            yield partial(self._record, key, document_question.text, conversation.name, THREAD, holds, name)
        for stranger in chance.sample(others, round(_STRANGERS * scale)):
            yield partial(self._record, (STRANGER, other.name), stranger.text, conversation.name, THREAD, _never, name)

    def with_pronouns(self, conversation: Conversation, question: pronouns.PronounQuestion) -> Ask:
        """Return a question with pronouns; the exchange before it is in the thread."""
        holds, name = _evidence_of(conversation, question.question), _set_of(conversation)
        key = (WITH_PRONOUNS, conversation.name)
        return partial(self._record, key, question.text, conversation.name, THREAD, holds, name)

    def talk(self, person: talks.Person, place: int) -> Ask:
        """Return the message of one of a person's talks."""
        talk = person.talks[place]
        answers = {f"memory:{person.memory_id(answer)}" for answer in talk.answers}

        def holds(source: Source, item_id: str, text: str) -> bool:
            return item_id in answers

        key = (TALKS if talk.answered_in == talks.MEMORY else NOT_STORED, person.name)
        return partial(self._record, key, talk.message, person.name, f"talk-{place}", holds)

    def not_stored(self, conversation: Conversation, message: str) -> Ask:
        """Return a message that nothing stored answers."""
        key = (NOT_STORED, message)
        return partial(self._record, key, message, conversation.name, THREAD, _never, _set_of(conversation))

    def small_talk(self, threads: Sequence[tuple[str, str]]) -> Iterable[Ask]:
        """Yield small talk, each message in one of these owners' threads."""
        for number, message in enumerate(talk_messages("small_talk")):
            yield partial(self._record, (TALK, message), message, *threads[number % len(threads)], _never)

    def of_owner(self, key: tuple[str, str], message: str, owner: str) -> Ask:
        """Return a message to an owner's memories, without a thread; no candidate is labelled as evidence."""
        return partial(self._record, key, message, owner, "", _never)

    async def own_questions(self) -> list[Recorded]:
        """Return our own questions in many languages, without candidates: no source is asked."""
        recorded, today = [], datetime.now(UTC).date()
        for group, message in own_questions():
            reading = read(message, today=today)
            texts = [reading.parts[0].text, without_marks(reading.parts[0].text)]
            own, unmarked = (await self._embedder.embed(texts)).astype(np.float64)
            recorded.append(Recorded(group, message, message, own, unmarked, reading))
        return recorded

    def follow_ups(self, questions: Sequence[follow_ups.FollowUp]) -> Iterable[Ask]:
        """Yield follow-up questions in their dialogs, and the same questions rewritten to stand alone."""
        for question in questions:
            holds, owner = _holds_any([squash(question.exchange.answer)]), follow_ups.OWNER
            for variant in THREADS:
                key = (variant, question.dialog.name)
                yield partial(self._record, key, question.exchange.typed, owner, question.thread(variant), holds)
            thread, key = question.thread(THREADS[0]), (REWRITTEN, question.dialog.name)
            yield partial(self._record, key, question.exchange.rewritten, owner, thread, holds)

    async def _record(
        self, key: tuple[str, str], message: str, owner: str, thread: str, holds: _HoldsEvidence, name: str = ""
    ) -> Recorded:
        """Ask the sources a message. `key` is its group and fold; `name` the set of the conversation asked, if any."""
        scope = Scope(tenant_uuid(TENANT), owner_uuid(owner))
        now = datetime.now(UTC)
        read = await self._readers[name].understand(message, scope, thread, now=now, due_s=float("inf"))
        assert read.vector is not None, read.without_meaning
        (unmarked,) = await self._embedder.embed([without_marks(read.reading.parts[0].text)])
        query = SourceQuery(message, read.reading.words, thread, AGENT, "", "", "", now, read.reading, read.meaning)
        offered: list[Offered] = []
        for source, one in self._sources.items():
            limits = SourceLimits(DEFAULTS.knobs(source).top_k, lead_lines=3, window_tokens=128_000, window_turns=0)
            answer = await one.find(query, scope, limits)
            if answer.candidates is not None and answer.candidates.ids:
                found = answer.candidates
                texts = {item.id: item.text for item in answer.items}
                sizes = tuple(len(texts[item_id].encode(errors="replace")) / 4 for item_id in found.ids)
                gold = tuple(holds(source, *one) for one in zip(found.ids, found.texts, strict=True))
                offered.append(Offered(found, sizes, gold))
        vectors = (np.asarray(read.vector, np.float64), np.asarray(unmarked, np.float64))
        return Recorded(*key, message, *vectors, read.reading, tuple(offered), name)


async def ask_all(asks: Sequence[Ask]) -> list[Recorded]:
    """Ask all messages, two at a time, and print the progress."""
    gate, rows = asyncio.Semaphore(_AT_ONCE), list[Recorded]()

    async def one(ask: Ask) -> None:
        async with gate:
            rows.append(await ask())
        if len(rows) % _PROGRESS_EVERY == 0 or len(rows) == len(asks):
            log_progress(f"{len(rows)} of {len(asks)} messages asked")

    async with asyncio.TaskGroup() as tasks:
        for ask in asks:
            tasks.create_task(one(ask))
    return sorted(rows, key=lambda row: (row.group, row.fold, row.message))


def drawn_questions(chance: random.Random, conversation: Conversation, scale: float) -> list[Question]:
    own = [one for one in conversation.questions if one.category != ADVERSARIAL]
    return chance.sample(own, min(len(own), round(_PER_CONVERSATION * scale)))


def drawn_follow_ups(dialogs: Sequence[follow_ups.Dialog], scale: float) -> list[follow_ups.FollowUp]:
    return random.Random(4).sample(follow_ups.questions(dialogs), round(_FOLLOW_UPS * min(1.0, scale)))


def _set_of(conversation: Conversation) -> str:
    return SETS[0] if conversation.facts else SETS[1]


def _evidence_of(conversation: Conversation, question: Question) -> _HoldsEvidence:
    """Return the function that says whether a candidate is evidence for a question to this conversation."""
    texts = {squash(conversation.turns[place].text) for place in question.gold}
    facts = {f"memory:fact-{n}" for n, fact in enumerate(conversation.facts) if {*fact.turns} & {*question.gold}}

    def holds(source: Source, item_id: str, text: str) -> bool:
        return item_id in facts if source is Source.MEMORY else source is Source.THREAD and squash(text) in texts

    return holds


def _holds_any(sentences: Sequence[str]) -> _HoldsEvidence:
    """Return the function that says whether a chunk of a document holds one of these sentences."""
    return lambda source, _, text: source is Source.KNOWLEDGE and any(one in squash(text) for one in sentences)


def _never(source: Source, item_id: str, text: str) -> bool:
    return False
