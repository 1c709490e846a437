"""Prepares a turn's message for the sources: parses it, given the speakers in the thread, and embeds it.

A missing, slow or broken embedder never fails the turn: recall then uses words alone, and the reports say so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from models.embedding.answer_map import towards_answers
from models.embedding.neutral_sentences import vectors_of
from models.embedding.vector_parts import MINILM, MULTILINGUAL, as_minilm, from_minilm, telling_part
from models.errors import ModelsError
from sidecar.context.ports import Meaning
from sidecar.runtime.embedders import BROKEN, UNSET, Numbered
from sidecar.runtime.ttl_cache import TtlCache
from sidecar.turn.message.breadth import breadth
from sidecar.turn.message.breadth_by_vector import BREADTHS
from sidecar.turn.message.conversation import MOST_TURNS, in_thread, vector_in_thread
from sidecar.turn.message.leaning import may_lean
from sidecar.turn.message.personal import personal_score
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.ranking.likeness import background, blindness, levels
from sidecar.turn.ranking.sensitivity import SENSITIVITY
from sidecar.turn.ranking.worth import message_score
from store.content import threads
from store.content.recalling import MAX_PARTS, EarlierTurn, literal
from store.db.postgres import Pool, scoped
from store.errors import StoreError
from store.scope import Scope

log = logging.getLogger(__name__)

Vector = NDArray[np.float64]

EMBED_DEADLINE_S = 0.2
_TEXTS_DEADLINE_S = 0.4
_SPEAKERS_DEADLINE_S, _EARLIER_DEADLINE_S = 0.1, 0.5
_CACHE_S, _GRACE_S = 5.0, 600.0
_STEP_DIVISOR = 4  # each step before the sources may take a quarter of the remaining time

LATE = "by words alone: the embedder did not answer in time"
FAILED = "by words alone: the embedder failed"
ALONE = "the message was read without its thread: the last turns could not be read in time"


@dataclass(frozen=True, slots=True)
class Understood:
    """A parsed message with its vectors. `without_meaning` says why the vectors or the thread are missing.

    `vector` is the whole message's, in the form that `message_score` takes.
    """

    reading: Reading
    meaning: Meaning | None
    without_meaning: str = ""
    vector: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The last turns of a thread, oldest first, and their stored vectors by position. `why_none` says why there are no turns."""

    turns: tuple[EarlierTurn, ...] = ()
    vectors: Mapping[int, Sequence[float]] = field(default_factory=dict)
    why_none: str = ""

    def missing(self) -> dict[int, str]:
        """Return the texts of the newest two turns that have no vector yet, by position: the worker may be seconds behind."""
        return {turn.position: turn.text for turn in self.turns[-2:] if turn.position not in self.vectors}


_NOTHING = _Earlier()


class QueryReader:
    """Parses and embeds messages. `why_not` says why there is no embedder; `deadline_s` limits one embedding, in seconds.

    `leans` returns whether a message may lean on its thread, so that it is read with it. `towards` maps question vectors to
    vectors towards their answers.
    """

    def __init__(
        self,
        pool: Pool,
        embedder: Numbered | None,
        *,
        why_not: str = UNSET,
        deadline_s: float = EMBED_DEADLINE_S,
        clock: Callable[[], float],
        leans: Callable[[Reading], bool] = may_lean,
    ) -> None:
        self._pool = pool
        self._embedder = embedder
        self._why_not = why_not
        self._deadline_s = deadline_s
        self._clock = clock
        self._leans = leans
        self.towards: Callable[[Sequence[Sequence[float]]], Vector] = towards_answers
        self._trouble = why_not if why_not == BROKEN else ""
        self._speakers: TtlCache[tuple[Scope, str], tuple[str, ...]] = TtlCache(
            self._read_speakers, for_s=_CACHE_S, grace_s=_GRACE_S, clock=clock
        )

    def trouble(self) -> str:
        """Return why the configured embedder gives no vectors; empty while it answers, even if late."""
        return self._trouble

    async def understand(
        self, message: str, scope: Scope, thread_id: str, *, now: datetime, due_s: float, client_turn_id: str = ""
    ) -> Understood:
        """Return the message parsed with the thread's speakers, with its vectors if they come in time.

        A message that may lean on its thread is read with the thread's last turns, except the turn of `client_turn_id`.
        """
        speakers = await self._speakers_of(scope, thread_id, due_s)
        reading, earlier = read(message, speakers=speakers, today=now.date()), _NOTHING
        if thread_id and self._leans(reading):
            earlier = await self._earlier(scope, thread_id, client_turn_id, due_s)
            reading = in_thread(reading, earlier.turns)
        reading = replace(reading, score=message_score(message, None))
        understood = await self._embedded(message, reading, earlier, due_s)
        return replace(
            understood, without_meaning="; ".join(filter(None, (understood.without_meaning, earlier.why_none)))
        )

    async def vectors_of(self, texts: Sequence[str], *, due_s: float) -> dict[str, Vector]:
        """Return the vectors of the texts; empty if there is no embedder, or it does not answer in time."""
        left_s = min(_TEXTS_DEADLINE_S, due_s - self._clock())
        if self._embedder is None or not texts or left_s <= 0:
            return {}
        try:
            async with asyncio.timeout(left_s):
                vectors = await self._embedder.embedder.embed(texts)
        except TimeoutError:
            return {}
        except ModelsError as error:
            log.warning("embedder_failed", extra={"error": type(error).__name__})
            return {}
        return dict(zip(texts, vectors.astype(np.float64), strict=True))

    async def _embedded(self, message: str, reading: Reading, earlier: _Earlier, due_s: float) -> Understood:
        """Return the reading with its vectors. That of the message in its thread is computed from its own and the turns'."""
        if self._embedder is None:
            return Understood(reading, None, self._why_not)
        prefix = self._embedder.embedder.question_prefix
        parts = [prefix + part.text for part in reading.own_parts]
        missing = earlier.missing() if reading.thread else {}
        try:
            async with asyncio.timeout(self._within(self._deadline_s, due_s)):
                embedded = await self._embedder.embedder.embed([*parts, *missing.values()])
        except TimeoutError:
            return Understood(reading, None, LATE)
        except ModelsError as error:
            log.warning("embedder_failed", extra={"error": type(error).__name__})
            self._trouble = FAILED
            return Understood(reading, None, FAILED)
        self._trouble = ""
        vectors = embedded.tolist()
        if reading.thread:
            turn_vectors = {**earlier.vectors, **dict(zip(missing, vectors[len(parts) :], strict=True))}
            by_turn = [turn_vectors.get(turn.position) for turn in earlier.turns]
            vectors = [*vectors[: len(parts)], vector_in_thread(vectors[0], earlier.turns, by_turn).tolist()]
        literals = tuple(literal(vector) for vector in vectors)
        name, no = self._embedder.embedder.name, self._embedder.embedder_no
        table = np.array(vectors, np.float64)
        minilm = as_minilm(name, table)
        if minilm is None:
            return Understood(reading, Meaning(no, literals))
        vector, sentences = minilm[0].tolist(), vectors_of(name)
        unknown = blindness(message, background(minilm[:1], vectors_of(MINILM))[0])
        telling, blind = telling_part(name, table[:1])[0].tolist(), unknown if name == MINILM else 0.0
        reading = replace(
            reading,
            background=background(table, sentences),
            levels=levels(table, sentences) if name == MULTILINGUAL else (),
            blind=blind,
            personal=personal_score(reading, telling, name),
            breadth=breadth(BREADTHS[name], telling, blind),
            embedder=name,
        )
        reading = replace(reading, score=message_score(message, vector, unknown), has_vector=True)
        room = MAX_PARTS - len(vectors)
        towards = self.towards(minilm[:room].tolist()) if room > 0 else np.zeros((0, 0))
        answers = tuple(map(literal, from_minilm(name, towards).tolist()))
        return Understood(reading, Meaning(no, literals, answers, literal(SENSITIVITY[name].vector)), vector=vector)

    async def _earlier(self, scope: Scope, thread_id: str, client_turn_id: str, due_s: float) -> _Earlier:
        """Return the thread's last turns, with their vectors if there is an embedder; no turns if they cannot be read in time."""
        no = self._embedder.embedder_no if self._embedder else None
        try:
            async with (
                asyncio.timeout(self._within(_EARLIER_DEADLINE_S, due_s)),
                scoped(self._pool, scope, read_only=True) as connection,
            ):
                turns = await threads.earlier_turns(
                    connection, scope, thread_id, turns=MOST_TURNS, except_client_turn_id=client_turn_id
                )
                if no is None or not turns:
                    return _Earlier(turns)
                positions = [turn.position for turn in turns]
                return _Earlier(
                    turns, await threads.vectors_of(connection, scope, thread_id, positions, embedder_no=no)
                )
        except (StoreError, TimeoutError):
            return _Earlier(why_none=ALONE)

    async def _speakers_of(self, scope: Scope, thread_id: str, due_s: float) -> tuple[str, ...]:
        """Return the speakers of the thread; none if they cannot be read in time."""
        if not thread_id:
            return ()
        try:
            async with asyncio.timeout(self._within(_SPEAKERS_DEADLINE_S, due_s)):
                return await self._speakers.get((scope, thread_id))
        except (StoreError, TimeoutError):
            return ()

    async def _read_speakers(self, key: tuple[Scope, str]) -> tuple[str, ...]:
        scope, thread_id = key
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await threads.speakers(connection, scope, thread_id)

    def _within(self, most_s: float, due_s: float) -> float:
        return max(0.0, min(most_s, (due_s - self._clock()) / _STEP_DIVISOR))
