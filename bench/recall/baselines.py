"""Baselines for the same questions: a thread's turns in random order, by time, by Postgres' text search, and by reciprocal rank
fusion (of BM25, of vectors, and of vectors of a turn with its neighbours).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bench.recall.cases import Conversation
from bench.recall.world import TENANT, THREAD
from models.embedding.embedder import Embedder, Vectors
from models.tokens.encodings import count
from store.db import queries
from store.db.postgres import Pool, scoped
from store.scope import Scope, owner_uuid, tenant_uuid

_sql = queries.load(__file__)
_K1, _B, _RRF_K = 1.2, 0.75, 60


class Baselines:
    """The orders of one conversation's turns, by positions from 0."""

    def __init__(self, conversation: Conversation, pool: Pool, embedder: Embedder) -> None:
        self._conversation = conversation
        self._pool = pool
        self._embedder = embedder
        self._scope = Scope(tenant_uuid(TENANT), owner_uuid(conversation.name))
        self._lexemes: list[list[str]] = []
        self._vectors: Vectors | None = None
        lines = [f"{turn.speaker}: {turn.text}\n" for turn in conversation.turns]
        self._lines, self._tokens = lines, count(lines, "o200k_base")
        self._headers = [f"## {turn.session.date()}\n" for turn in conversation.turns]
        self._header_tokens = count(self._headers, "o200k_base")

    async def read(self) -> None:
        """Read the data that all orders need."""
        async with scoped(self._pool, self._scope, read_only=True) as connection:
            rows = await _sql.lexemes(connection, **self._key)
        self._lexemes = [row["lexemes"] for row in rows]
        self._vectors = await self._embedder.embed([turn.text for turn in self._conversation.turns])

    async def orders(self, question: str) -> dict[str, Sequence[int]]:
        """Return the turns in each baseline's order, best first; turns that it does not match are left out."""
        count_of = len(self._conversation.turns)
        shuffled = random.Random(question).sample(range(count_of), count_of)
        async with scoped(self._pool, self._scope, read_only=True) as connection:
            any_word = [row["position"] - 1 for row in await _sql.rank_or(connection, **self._key, text=question)]
            all_words = [row["position"] - 1 for row in await _sql.rank_and(connection, **self._key, text=question)]
            lexemes = await _sql.question_lexemes(connection, text=question)
        return {
            "random": shuffled,
            "recency": range(count_of - 1, -1, -1),
            "all words (AND)": all_words,
            "any word (OR)": any_word,
            "BM25": _best(self._bm25(lexemes)),
            "fusion": await self._fused(question, lexemes),
        }

    def fill(self, order: Sequence[int], budget_tokens: int) -> str:
        """Return the context for an order: the turns that fit, by day, each day under a header."""
        kept: set[int] = set()
        days: set[str] = set()
        remaining = budget_tokens
        for place in order:
            header = self._headers[place]
            cost = self._tokens[place] + (0 if header in days else self._header_tokens[place])
            if cost <= remaining:
                remaining -= cost
                days.add(header)
                kept.add(place)
        text, before = [], ""
        for place in sorted(kept):
            if self._headers[place] != before:
                before = self._headers[place]
                text.append(before)
            text.append(self._lines[place])
        return "".join(text)

    @property
    def _key(self) -> dict[str, object]:
        return {"tenant_id": self._scope.tenant_id, "owner_id": self._scope.owner_id, "thread_id": THREAD}

    def _bm25(self, query: Sequence[str]) -> list[float]:
        total = len(self._lexemes)
        mean = sum(map(len, self._lexemes)) / total
        found = Counter(lexeme for lexemes in self._lexemes for lexeme in set(lexemes) & set(query))
        idf = {lexeme: math.log(1 + (total - n + 0.5) / (n + 0.5)) for lexeme, n in found.items()}
        return [
            sum(idf[lexeme] for lexeme in set(query).intersection(lexemes))
            * (_K1 + 1)
            / (1 + _K1 * (1 - _B + _B * len(lexemes) / mean))
            for lexemes in self._lexemes
        ]

    async def _fused(self, question: str, query: Sequence[str]) -> list[int]:
        assert self._vectors is not None, "call read() first"
        (vector,) = await self._embedder.embed([question])
        cosines = self._vectors @ vector
        around = np.pad(self._vectors, ((1, 1), (0, 0)))
        windows = around[:-2] + around[1:-1] + around[2:]
        near = windows @ vector / np.maximum(np.linalg.norm(windows, axis=1), 1e-9)
        scores: Counter[int] = Counter()
        for ranking in (_best(self._bm25(query)), _best(cosines.tolist()), _best(near.tolist())):
            scores.update({place: 1 / (_RRF_K + rank) for rank, place in enumerate(ranking, start=1)})
        return sorted(scores, key=lambda place: (-scores[place], place))


def _best(scores: Sequence[float]) -> list[int]:
    return [
        place for place in sorted(range(len(scores)), key=lambda place: (-scores[place], place)) if scores[place] > 0
    ]
