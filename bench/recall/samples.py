"""Training data of the ranker: the features of the candidates that the product's own sources return for a question, labelled as
evidence or not.

A question to a corpus is asked in an unrelated conversation; a question to a conversation has the unrelated corpora beside it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from bench.recall.cases import ADVERSARIAL, Conversation, DocumentQuestion, plain, squash
from bench.recall.training import Sample
from bench.recall.world import AGENT, TENANT, THREAD
from models.embedding.embedder import LocalEmbedder
from models.embedding.minilm import MiniLM
from sidecar.context.ports import ContextSource, SourceAnswer, SourceLimits, SourceQuery
from sidecar.context.query_embedding import QueryReader
from sidecar.runtime.embedders import Numbered
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.candidates import Candidates
from sidecar.turn.items import Source
from sidecar.turn.message.reading import Reading
from sidecar.turn.ranking.rank import features, rank
from store.content import embedders
from store.db.postgres import Pools
from store.scope import Scope, owner_uuid, tenant_uuid

_LIMITS = SourceLimits(top_k=1000, lead_lines=3, window_tokens=8_000, window_turns=0)
_POOLS = (("thread",), ("thread", "memory"), ("thread", "knowledge"), ("thread", "memory", "knowledge"))
_DOCUMENT_POOLS = (("knowledge",), ("thread", "knowledge"), ("thread", "memory", "knowledge"))
_EMPTY_POOLS = (("knowledge",), ("thread",))  # pools without an answer, so that low relevances are calibrated

_BESIDE_PAGES = (("thread",), ("thread", "memory"))
_BESIDE_CHARS = 7_000  # about 2,000 tokens without marks and headers


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Asks the sources as a turn does."""

    recall: QueryReader
    sources: dict[Source, ContextSource]

    async def gather(self, message: str, owner: str) -> tuple[Reading, dict[str, Candidates]]:
        """Return the message as read, and the candidates of each source that has any."""
        reading, found = await self.ask(message, owner)
        return reading, {source: answer.candidates for source, answer in found.items() if answer.candidates}

    async def ask(self, message: str, owner: str) -> tuple[Reading, dict[str, SourceAnswer]]:
        """Return the message as read, and each source's answer."""
        scope = Scope(tenant_uuid(TENANT), owner_uuid(owner))
        now = datetime.now(UTC)
        understood = await self.recall.understand(message, scope, THREAD, now=now, due_s=float("inf"))
        assert understood.meaning is not None, understood.without_meaning
        words, reading = understood.reading.words, understood.reading
        query = SourceQuery(message, words, THREAD, AGENT, "", "", "", now, reading, understood.meaning)
        return reading, {source.value: await one.find(query, scope, _LIMITS) for source, one in self.sources.items()}


@asynccontextmanager
async def gathering(pools: Pools, *, has_documents: bool = True) -> AsyncIterator[Gatherer]:
    """Yield a gatherer over the built-in sources, with MiniLM; `has_documents` includes the knowledge source."""
    embedder = LocalEmbedder(MiniLM())
    number = await embedders.number_of(pools.background, embedder.name, embedder.dimensions)
    assert number is not None, "the database keeps vectors"
    pool = pools.turn
    sources: dict[Source, ContextSource] = {
        Source.THREAD: ThreadSource(pool),
        Source.MEMORY: MemorySource(pool),
        Source.WIKI: WikiSource(pool),
    }
    if has_documents:
        sources[Source.KNOWLEDGE] = KnowledgeSource(pool)
    yield Gatherer(QueryReader(pool, Numbered(embedder, number), deadline_s=60.0, clock=time.monotonic), sources)
    embedder.close()


async def of_conversation(gatherer: Gatherer, conversation: Conversation) -> list[Sample]:
    """Return the samples of a conversation's questions."""
    samples: list[Sample] = []
    for question in conversation.questions:
        if question.category == ADVERSARIAL:
            continue
        reading, found = await gatherer.gather(question.text, conversation.name)
        gold = {conversation.turns[place].text for place in question.gold}
        facts = {
            f"memory:fact-{place}" for place, one in enumerate(conversation.facts) if {*one.turns} & {*question.gold}
        }
        held = {
            "thread": [text in gold for text in found["thread"].texts],
            "memory": [item_id in facts for item_id in found["memory"].ids] if "memory" in found else [],
            "knowledge": [False] * len(found["knowledge"].ids),
        }
        folds = frozenset({conversation.name})
        samples += _samples(reading, found, held, (*_POOLS, _EMPTY_POOLS[0]), folds)
    return samples


async def of_pages(gatherer: Gatherer, conversation: Conversation) -> list[Sample]:
    """Return the samples of an owner's pages, labelled by whether a page's first lines add evidence to the context.

    The context is the most relevant turns, or turns and observations, that fit into `_BESIDE_CHARS` characters.
    """
    samples: list[Sample] = []
    for question in conversation.questions:
        if question.category == ADVERSARIAL:
            continue
        reading, found = await gatherer.ask(question.text, conversation.name)
        pages = found["wiki"].candidates
        if pages is None:
            continue
        leads = [plain(item.lead or item.text) for item in found["wiki"].items]
        for names in _BESIDE_PAGES:
            beside = [one for name in names if (one := found[name].candidates)]
            missing = {*question.gold} - _contained(reading, beside, conversation)
            facts = [squash(fact.text) for fact in conversation.facts if missing.intersection(fact.turns)]
            labels = np.array([any(fact in lead for fact in facts) for lead in leads], np.float64)
            whole, *_ = features(reading, [*beside, pages])
            samples.append(Sample(whole[-len(leads) :], labels, frozenset({conversation.name})))
    return samples


def _contained(reading: Reading, beside: Sequence[Candidates], conversation: Conversation) -> set[int]:
    """Return the positions of the turns that a context of these candidates holds, verbatim or by an observation."""
    texts = [text for one in beside for text in one.texts]
    ids = [item_id for one in beside for item_id in one.ids]
    places = {turn.text: place for place, turn in enumerate(conversation.turns)}
    remaining, contained = _BESIDE_CHARS, set[int]()
    relevances = rank(reading, beside).relevances
    for place in sorted(range(len(texts)), key=lambda place: -relevances[place]):
        if len(texts[place]) <= remaining:
            remaining -= len(texts[place])
            kind, _, name = ids[place].partition(":fact-")
            contained.update(conversation.facts[int(name)].turns if kind == "memory" else [places[texts[place]]])
    return contained


async def of_documents(
    gatherer: Gatherer, questions: Sequence[DocumentQuestion], beside: Sequence[Conversation]
) -> list[Sample]:
    """Return the samples of the corpora's questions, each asked in one of the unrelated conversations `beside`."""
    samples: list[Sample] = []
    for place, question in enumerate(questions):
        conversation = beside[place % len(beside)]
        reading, found = await gatherer.gather(question.text, conversation.name)
        texts = [squash(text) for text in found["knowledge"].texts]
        held = {
            "thread": [False] * len(found["thread"].ids),
            "memory": [False] * len(found["memory"].ids) if "memory" in found else [],
            "knowledge": [any(sentence in text for sentence in question.sentences) for text in texts],
        }
        samples += _samples(reading, found, held, _DOCUMENT_POOLS[:1], frozenset({question.corpus}))
        folds = frozenset({question.corpus, conversation.name})
        samples += _samples(reading, found, held, (*_DOCUMENT_POOLS[1:], _EMPTY_POOLS[1]), folds)
    return samples


def _samples(
    reading: Reading,
    found: dict[str, Candidates],
    held: dict[str, list[bool]],
    pools: Sequence[tuple[str, ...]],
    folds: frozenset[str],
) -> Iterator[Sample]:
    for pool in pools:
        if not all(source in found for source in pool):
            continue
        labels = np.array([label for source in pool for label in held[source]], np.float64)
        if len(labels):
            whole, *_ = features(reading, [found[source] for source in pool])
            yield Sample(whole, labels, folds)
