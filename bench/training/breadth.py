"""Fits a model of how many texts hold the answer to a question, from the question's vector: a Poisson regression on the
evidence of questions to conversations.

`python -m bench breadth --data DIR` fits it on each set and measures it on the other, and measures each conversation with a
model fitted without its own questions; `--write-weights` writes the weights fitted on both sets. Larger counts of texts are
taken as `MOST_TEXTS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.figures import Figure, plain
from bench.recall.cases import ADVERSARIAL, SETS, conversations
from bench.training.calibration_files import filled
from models.embedding.embedder import Vectors
from models.embedding.minilm import MiniLM
from models.embedding.multilingual import QUESTION_PREFIX, Multilingual
from models.embedding.vector_parts import MINILM, MULTILINGUAL
from sidecar.turn.message.breadth import BreadthWeights, breadth

MOST_TEXTS = 8
_TARGET = Path("sidecar/turn/message/breadth_by_vector.py")
_RIDGE, _STEPS, _MOST_LOG = 3.0, 40, 3.0

_Matrix = NDArray[np.float64]


def _by_minilm(texts: Sequence[str]) -> Vectors:
    return MiniLM().encode(texts)


def _by_multilingual(texts: Sequence[str]) -> Vectors:
    return Multilingual().others([QUESTION_PREFIX + text for text in texts])


VECTORS_OF = {MINILM: _by_minilm, MULTILINGUAL: _by_multilingual}
"""By embedder, the function that returns the telling part of the vectors of questions."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A question: its set, its conversation, its vector, and the number of turns that hold evidence for it."""

    set: str
    conversation: str
    vector: _Matrix
    count: int


def run(*, scale: float, data: Path, write_weights: bool = False) -> list[Figure]:
    """Return how well breadths agree with the counts of evidence, by weights fitted without the question's conversation, and
    by weights fitted without its set. `scale` is ignored.
    """
    figures, by_embedder = [], {}
    for name in VECTORS_OF:
        questions = counted(data, name)
        by_embedder[name] = fitted(questions)
        by_conversation = Breadths(questions)
        for set_name in SETS:
            own, other = ([one for one in questions if (one.set == set_name) == is_own] for is_own in (True, False))
            breadths = [by_conversation.of(one.conversation, one.vector, 0.0) for one in own]
            across = fitted(other)
            title = f"{name}, {set_name}: correlation of breadth with the log of the texts with evidence"
            figures.append(
                plain(f"{title}, fitted without the conversation", _agreement(own, breadths), note=f"of {len(own)}")
            )
            breadths = [breadth(across, one.vector.tolist()) for one in own]
            figures.append(plain(f"{title}, fitted on the other set", _agreement(own, breadths)))
    if write_weights:
        _TARGET.write_text(module(by_embedder, len(questions)))
    return figures


def counted(data: Path, embedder: str) -> list[Counted]:
    """Return the questions to all conversations for which there is evidence, with their vectors by this embedder."""
    asked = [
        (set_name, one.name, question)
        for set_name in SETS
        for one in conversations(data, set_name)
        for question in one.questions
        if question.gold and question.category != ADVERSARIAL
    ]
    vectors = np.asarray(VECTORS_OF[embedder]([question.text for _, _, question in asked]), np.float64)
    return [
        Counted(set_name, name, vector, len({*question.gold}))
        for (set_name, name, question), vector in zip(asked, vectors, strict=True)
    ]


def fitted(questions: Sequence[Counted]) -> BreadthWeights:
    """Return the weights of greatest likelihood, by Newton's method, with a ridge on all but the bias.

    The bias makes the mean breadth of these questions 0.
    """
    table = np.column_stack([np.stack([one.vector for one in questions]), np.ones(len(questions))])
    counts = np.exp(_logs(questions))
    penalty = np.append(np.full(table.shape[1] - 1, _RIDGE), 1e-6)
    weights = np.append(np.zeros(table.shape[1] - 1), np.log(counts.mean()))
    for _ in range(_STEPS):
        predicted = np.exp(np.clip(table @ weights, -_MOST_LOG, _MOST_LOG))
        gradient = table.T @ (predicted - counts) + penalty * weights
        step = np.linalg.solve((table * predicted[:, None]).T @ table + np.diag(penalty), gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-6:
            break
    middle = float((table[:, :-1] @ weights[:-1]).mean())
    return BreadthWeights(round(-middle, 4), tuple(weights[:-1].round(4).tolist()))


class Breadths:
    """The breadth of questions, each by weights fitted without the conversation that it is asked of."""

    def __init__(self, questions: Sequence[Counted]) -> None:
        names = sorted({one.conversation for one in questions})
        self._without = {name: fitted([one for one in questions if one.conversation != name]) for name in names}
        self._all = fitted(questions)

    def of(self, conversation: str, vector: _Matrix, blind: float) -> float:
        """Return the breadth of a question to this conversation, or to anything else, by weights fitted on all."""
        return breadth(self._without.get(conversation, self._all), vector.tolist(), blind)


def _agreement(questions: Sequence[Counted], breadths: Sequence[float]) -> float:
    return float(np.corrcoef(_logs(questions), np.array(breadths))[0, 1])


def _logs(questions: Sequence[Counted]) -> _Matrix:
    return np.log(np.minimum([one.count for one in questions], MOST_TEXTS).astype(np.float64))


def module(by_embedder: Mapping[str, BreadthWeights], question_count: int) -> str:
    """Return the text of the module of these weights, which were fitted on so many questions."""
    entries = "".join(
        f'    "{name}": BreadthWeights({one.bias}, (\n    {filled(map(str, one.vector))}\n    )),\n'
        for name, one in by_embedder.items()
    )
    return _MODULE.format(date=datetime.now(UTC).date(), count=question_count, breadths=entries)


_MODULE = '''"""Fitted weights of `breadth`. Written by `python -m bench breadth`; do not edit by hand.

Fitted on {date} by `python -m bench breadth --data DIR --write-weights`, on {count} questions of LoCoMo and REALTALK
(used for fitting, never shipped).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sidecar.turn.message.breadth import BreadthWeights

# fmt: off
BREADTHS: Final[Mapping[str, BreadthWeights]] = {{
{breadths}}}
# fmt: on
"""The weights by embedder, for the telling part of its vectors (`vector_parts.telling_part`)."""
'''
