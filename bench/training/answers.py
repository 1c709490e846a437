"""Fits the map from a question's vector towards the vectors of its answers, and measures it across the sets of conversations.

`python -m bench answers --data DIR` fits the map on each set and measures it on the other; `--write-weights` writes the map
fitted on both. The model is listwise: for each question it ranks the turns of a conversation by the features that the product
computes, and by their dot product with the mapped vector of the question. Questions that the people of a conversation ask each
other count too, with the other person's next turns as answers. Words are matched here, by stems much like those of Postgres, so
that no database is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.figures import Figure, plain
from bench.recall.cases import ADVERSARIAL, SETS, Conversation, Question, conversations
from models.embedding import answer_map
from models.embedding.minilm import MiniLM
from models.tokens.encodings import count
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import TextPositions, evidence_of
from sidecar.turn.fitted.weights import BY_VECTORS
from sidecar.turn.message.reading import read
from sidecar.turn.ranking.rank import NAMES, features
from store.content.recalling import Recalled, RecallQuery
from store.text.texts import search_words

RANK = 32
BUDGETS = (1_000, 2_000, 4_000, 8_000)
_TODAY = date(2026, 11, 23)  # in no period that the data's questions name
_EPOCHS, _RATE, _DECAY, _BATCH = 5, 0.003, 3e-4, 32
_PEER_SHARE, _PEER_COSINE, _LEAST_PEER_WORDS = (
    0.75,
    6.0,
    4,
)  # questions that the people of a conversation ask each other
_MOST_GOLD = 3
_RIDGE, _STEPS, _LEAST_STEP = 20.0, 15, 1e-3
_MARK_TOKENS, _HEADER_TOKENS, _FRAME_TOKENS = 3, 13, 100  # roughly what a context adds to its turns
_UNUSED = frozenset({"is_fact", "is_passage", "is_page", "coverage_gap", "cosine_gap", "answer_cosine"})
_USED = [place for place, name in enumerate(NAMES) if name not in _UNUSED]
_SUFFIXES = {
    "ational": "ate", "ization": "ize", "fulness": "ful", "ies": "i", "sses": "ss", "ing": "", "edly": "", "ed": "",
    "es": "e", "s": "", "ly": "", "ment": "", "ness": "",
}  # fmt: skip

_Matrix = NDArray[np.float64]

Factors = tuple[_Matrix, _Matrix]
"""A map of low rank as two factors, of shapes (dimensions, rank) and (rank, dimensions): `vector @ first @ second` is mapped."""

Towards = Callable[[Sequence[Sequence[float]]], _Matrix]
"""Maps vectors of questions to vectors in the direction of their answers."""


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question to a conversation: its vector, the features of each turn, and labels of the turns that hold the answer.

    `gold` are the positions of the evidence, if the question is one of the data's; `share` is its weight in the fit.
    """

    vector: _Matrix
    features: _Matrix
    labels: _Matrix
    gold: tuple[int, ...] = ()
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class RankedConversation:
    """A conversation with the vectors of its turns, the data's questions to it, and questions that its people ask each other."""

    conversation: Conversation
    vectors: _Matrix
    questions: tuple[RankedQuestion, ...]
    peer_questions: tuple[RankedQuestion, ...]


def run(*, scale: float, data: Path, write_weights: bool = False) -> list[Figure]:
    """Return for each set the share of the answers found with the map of the other set, and without a map.

    `scale` is the share of the conversations that are read.
    """
    chats = _ranked_conversations(data, scale)
    figures: list[Figure] = []
    for fitted_on, measured in (SETS, SETS[::-1]):
        mapping = towards(low_rank(fit(chats[fitted_on]), RANK))
        for with_map in (True, False):
            found = _found(chats[measured], mapping if with_map else _zeros)
            title = f"{measured}, map of {fitted_on}" if with_map else f"{measured}, without the map"
            figures += [
                plain(f"{title}, {budget // 1000}k", share) for budget, share in zip(BUDGETS, found, strict=True)
            ]
    if write_weights:
        question, answer = low_rank(fit([one for name in SETS for one in chats[name]]), RANK)
        np.savez_compressed(answer_map.FILE, question=question.astype(np.float16), answer=answer.astype(np.float16))
    return figures


def across(data: Path) -> dict[str, Factors]:
    """Return for each set the factors of the map that was fitted on the other set."""
    chats = _ranked_conversations(data)
    return {name: low_rank(fit(chats[other]), RANK) for name, other in (SETS, SETS[::-1])}


def fit(chats: Sequence[RankedConversation]) -> _Matrix:
    """Return the map fitted to these conversations by Adam (Kingma and Ba 2015) with weight decay; the same every time."""
    weights = _weights([one for chat in chats for one in chat.questions])
    items = [(chat, one) for chat in chats for one in chat.questions if one.labels.any()]
    items += [(chat, one) for chat in chats for one in chat.peer_questions]
    size = chats[0].vectors.shape[1]
    fitted, mean, spread = (np.zeros((size, size)) for _ in range(3))
    shuffled, step = np.random.default_rng(0), 0
    for _ in range(_EPOCHS):
        order = shuffled.permutation(len(items))
        for start in range(0, len(items), _BATCH):
            gradient = _DECAY * fitted
            for place in order[start : start + _BATCH]:
                gradient += _gradient(*items[place], fitted=fitted, weights=weights) / _BATCH
            step += 1
            mean, spread = 0.9 * mean + 0.1 * gradient, 0.99 * spread + 0.01 * gradient * gradient
            fitted -= _RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-6)
    return fitted


def low_rank(fitted: _Matrix, rank: int) -> Factors:
    """Return the two factors of the best approximation of rank `rank`, from the singular value decomposition."""
    left, sizes, right = np.linalg.svd(fitted)
    roots = np.sqrt(sizes[:rank])
    return left[:, :rank] * roots, roots[:, None] * right[:rank]


def _gradient(chat: RankedConversation, one: RankedQuestion, *, fitted: _Matrix, weights: _Matrix) -> _Matrix:
    """Return the gradient of one question's loss, the negative log probability of its answers among all turns."""
    base = one.features[:, _USED] @ weights if one.gold else one.features[:, 0]
    shares = _softmax(base + chat.vectors @ (one.vector @ fitted))
    return one.share * np.outer(one.vector, (shares - one.labels / one.labels.sum()) @ chat.vectors)


def _weights(questions: Sequence[RankedQuestion]) -> _Matrix:
    """Return the listwise weights of the features by Newton's method, with a ridge on features scaled to unit spread."""
    seen = [one for one in questions if one.labels.any()]
    used = [one.features[:, _USED] for one in seen]
    spread = np.concatenate([table - table.mean(0) for table in used]).std(0) + 1e-9
    tables = [table / spread for table in used]
    fitted = np.zeros(len(spread))
    for _ in range(_STEPS):
        gradient, curvature = _RIDGE * fitted, np.eye(len(fitted)) * _RIDGE
        for table, one in zip(tables, seen, strict=True):
            shares, gold_count = _softmax(table @ fitted), one.labels.sum()
            mean = shares @ table
            gradient = gradient + gold_count * mean - one.labels @ table
            curvature += gold_count * ((table * shares[:, None]).T @ table - np.outer(mean, mean))
        step, size, before = np.linalg.solve(curvature, gradient), 1.0, _loss(tables, seen, fitted)
        while size > _LEAST_STEP and _loss(tables, seen, fitted - size * step) >= before:
            size /= 2
        fitted = fitted - size * step
    return np.asarray(fitted / spread, np.float64)


def _loss(tables: Sequence[_Matrix], seen: Sequence[RankedQuestion], fitted: _Matrix) -> float:
    """Return the negative log probability of the answers, each among all turns, plus the ridge penalty."""
    total = _RIDGE * float(fitted @ fitted) / 2
    for table, one in zip(tables, seen, strict=True):
        scores = table @ fitted
        most = scores.max()
        total += float(one.labels.sum() * (most + np.log(np.exp(scores - most).sum())) - one.labels @ scores)
    return total


def _softmax(scores: _Matrix) -> _Matrix:
    exponentials = np.exp(scores - scores.max())
    return np.asarray(exponentials / exponentials.sum(), np.float64)


def _ranked_conversations(data: Path, scale: float = 1.0) -> dict[str, list[RankedConversation]]:
    model, by_set = MiniLM(), {}
    for name in SETS:
        every = conversations(data, name)
        by_set[name] = [_ranked_conversation(one, model) for one in every[: max(1, round(len(every) * scale))]]
    return by_set


def towards(factors: Factors) -> Towards:
    """Return the function that maps vectors of questions by these factors, as `models.embedding.answer_map` does."""
    question, answer = factors
    return lambda vectors: answer_map.shortened(np.array(vectors, np.float64) @ question @ answer)


def _zeros(vectors: Sequence[Sequence[float]]) -> _Matrix:
    return np.zeros((len(vectors), len(vectors[0])))


def _ranked_conversation(conversation: Conversation, model: MiniLM) -> RankedConversation:
    vectors = model.encode([turn.text for turn in conversation.turns]).astype(np.float64)
    speakers = sorted({turn.speaker for turn in conversation.turns})
    questions = [one for one in conversation.questions if one.category != ADVERSARIAL]
    readings = [read(one.text, speakers=speakers, today=_TODAY) for one in questions]
    whole = [replace(one, parts=one.parts[:1]) for one in readings]
    question_vectors = model.encode([one.parts[0].text for one in whole]).astype(np.float64)
    words = [_forms(turn.text) for turn in conversation.turns]
    ranked = []
    for question, reading, vector in zip(questions, whole, question_vectors, strict=True):
        searched = [word for word in reading.words if word not in reading.name_words]
        held = [[word in forms or _stem(word) in forms for word in searched] for forms in words]
        counts = np.array(held).reshape(len(held), -1).sum(0).astype(int).tolist()
        matched = [sum(1 << place for place, is_held in enumerate(one) if is_held) for one in held]
        cosines = tuple((float(cosine),) for cosine in vectors @ vector)
        found = Recalled(conversation.turns, tuple(matched), cosines, tuple(counts), len(words))
        days = [turn.at.date() for turn in conversation.turns]
        positions = TextPositions(days, range(len(days)))
        candidates = Candidates(
            kind=CandidateKind.TURN,
            ids=[turn.id for turn in conversation.turns],
            texts=[turn.text for turn in conversation.turns],
            evidence=evidence_of(found, RecallQuery(tuple(searched), 1), reading.parts, positions),
            speakers=[turn.speaker for turn in conversation.turns],
            days=days,
        )
        (table,) = features(reading, [candidates])
        ranked.append(_ranked_question(conversation, question, vector, table))
    return RankedConversation(conversation, vectors, tuple(ranked), tuple(_peer_questions(conversation, vectors)))


def _ranked_question(conversation: Conversation, question: Question, vector: _Matrix, table: _Matrix) -> RankedQuestion:
    gold = {conversation.turns[place].text for place in question.gold}
    labels = np.array([turn.text in gold for turn in conversation.turns], np.float64)
    return RankedQuestion(vector, table, labels, question.gold, min(float(labels.sum()), _MOST_GOLD))


def _peer_questions(conversation: Conversation, vectors: _Matrix) -> Iterator[RankedQuestion]:
    """Yield the questions that the people ask each other; the answers are up to two of the other person's next turns that day."""
    for place, turn in enumerate(conversation.turns):
        text = turn.text.partition(" [")[0].rstrip()
        if not text.endswith("?") or len(text.split()) < _LEAST_PEER_WORDS:
            continue
        after = range(place + 1, min(len(conversation.turns), place + 4))
        replies = [
            one
            for one in after
            if conversation.turns[one].speaker != turn.speaker and conversation.turns[one].at.date() == turn.at.date()
        ]
        if replies:
            base = _PEER_COSINE * (vectors @ vectors[place])
            base[place] = -50.0  # the question itself
            labels = np.zeros(len(vectors))
            labels[replies[:2]] = 1.0
            yield RankedQuestion(vectors[place], base[:, None], labels, share=_PEER_SHARE)


def _forms(text: str) -> frozenset[str]:
    words = search_words(text).split()
    return frozenset([*words, *map(_stem, words)])


def _stem(word: str) -> str:
    if len(word) < 4:
        return word
    for suffix, rest in _SUFFIXES.items():
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            word = word[: -len(suffix)] + rest
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") else word


def _found(chats: Sequence[RankedConversation], towards: Towards) -> list[float]:
    """Return for each budget the share of the gold turns among the best turns, by the shipped weights, that fit into it."""
    shipped = np.array([0.0 if name == "answer_cosine" else BY_VECTORS.of.get(name, 0.0) for name in NAMES])
    found, wanted = np.zeros(len(BUDGETS)), 0
    for chat in chats:
        turns = chat.conversation.turns
        sizes = count([f"{turn.speaker}: {turn.text}\n" for turn in turns], "o200k_base")
        for one in chat.questions:
            scores = one.features @ shipped + BY_VECTORS.of["answer_cosine"] * (
                chat.vectors @ towards([one.vector.tolist()])[0]
            )
            order = np.argsort(-scores, kind="stable").tolist()
            wanted += len(one.gold)
            for place, budget in enumerate(BUDGETS):
                kept = _filled(order, sizes, [turn.at.date() for turn in turns], budget - _FRAME_TOKENS)
                texts = {turns[turn].text for turn in kept}
                found[place] += sum(turns[turn].text in texts for turn in one.gold)
    return [float(share) for share in found / wanted]


def _filled(order: Sequence[int], sizes: Sequence[int], days: Sequence[date], tokens: int) -> Iterator[int]:
    """Yield the turns that fit into these tokens, taken in this order; each day costs a header once."""
    opened: set[date] = set()
    for place in order:
        cost = sizes[place] + _MARK_TOKENS + (0 if days[place] in opened else _HEADER_TOKENS)
        if cost <= tokens:
            tokens -= cost
            opened.add(days[place])
            yield place
