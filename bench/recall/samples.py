"""What the ranker is trained on: what the product's own sources bring for a question, as features, and which of it is evidence.

Questions of the corpora have a conversation beside them that has nothing to do with them, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from bench.recall.cases import ADVERSARIAL, Conversation, DocumentQuestion, squash
from bench.recall.training import Sample
from bench.recall.world import AGENT, TENANT, THREAD
from sidecar.recall import Recall
from sidecar.sources import ContextSource, Limits, Query
from sidecar.turn.items import Source
from sidecar.turn.rank import Candidates, features
from sidecar.turn.reading import Reading
from store.scope import Scope, owner_uuid, tenant_uuid

_LIMITS = Limits(top_k=1000, lead_lines=3, window_tokens=8_000, window_turns=0)
_POOLS = (("thread",), ("thread", "memory"), ("thread", "knowledge"), ("thread", "memory", "knowledge"))
_DOCUMENT_POOLS = (("knowledge",), ("thread", "knowledge"), ("thread", "memory", "knowledge"))
_EMPTY_POOLS = (("knowledge",), ("thread",))  # they hold no answer: a low relevance must mean what it says

_Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Asks the sources as a turn does."""

    recall: Recall
    sources: dict[Source, ContextSource]

    async def gather(self, message: str, owner: str) -> tuple[Reading, dict[str, Candidates]]:
        """Return the message as read, and what each source brings for it to be judged by, where it brings anything."""
        scope = Scope(tenant_uuid(TENANT), owner_uuid(owner))
        now = datetime.now(UTC)
        understood = await self.recall.understand(message, scope, THREAD, now=now, due_s=float("inf"))
        assert understood.meaning is not None, understood.without_meaning
        words, reading = understood.reading.words, understood.reading
        query = Query(message, words, THREAD, AGENT, "", "", "", now, reading, understood.meaning)
        found = {source: await one.find(query, scope, _LIMITS) for source, one in self.sources.items()}
        return reading, {source.value: answer.candidates for source, answer in found.items() if answer.candidates}


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
            "memory": [item_id in facts for item_id in found["memory"].ids],
            "knowledge": [False] * len(found["knowledge"].ids),
        }
        folds = frozenset({conversation.name})
        samples += _samples(reading, found, held, (*_POOLS, _EMPTY_POOLS[0]), folds)
    return samples


async def of_documents(
    gatherer: Gatherer, questions: Sequence[DocumentQuestion], beside: Sequence[Conversation]
) -> list[Sample]:
    """Return the samples of the corpora's questions, each with a conversation beside it that has nothing to do with it."""
    samples: list[Sample] = []
    for place, question in enumerate(questions):
        conversation = beside[place % len(beside)]
        reading, found = await gatherer.gather(question.text, conversation.name)
        texts = [squash(text) for text in found["knowledge"].texts]
        held = {
            "thread": [False] * len(found["thread"].ids),
            "memory": [False] * len(found["memory"].ids),
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
        labels = np.array([label for source in pool for label in held[source]], np.float64)
        if len(labels):
            whole, *_ = features(reading, [found[source] for source in pool])
            yield Sample(whole, labels, folds)
