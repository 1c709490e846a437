"""Fits the ranker's weights of typed edges: how much a path to a page adds to the log odds that its text answers.

The other weights stay as they are. The corpora have other names than those that are measured, and held-back wordings are left
out. A row is a text that a path leads to; its label says whether its page answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.graph.asking import SEED, fill
from bench.graph.corpus import GraphCorpus, corpora
from bench.recall.measuring import served
from bench.recall.samples import Gatherer, gathering
from bench.recall.training import put_weights
from bench.recall.world import World
from sidecar.turn.fitted.weights import BY_VECTORS, BY_WORDS, RankerWeights
from sidecar.turn.ranking.rank import NAMES, PATH_NAMES, features

SEEDS = (SEED + 100,)
RIDGE = 10.0
_STEPS = 500

_Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PathSample:
    """One question: the features of the texts that paths lead to, and labels of those of the page that answers."""

    features: _Matrix
    labels: _Matrix


async def fit(target: Path) -> None:
    """Gather the samples, fit the weights of paths in both models, and write them to `target`."""
    every = [corpus for seed in SEEDS for corpus in corpora(seed, each=3)]
    async with served(embed_deadline_s=60.0) as world:
        await fill(world, every)
        samples = await _gathered(world, every)
    rows = sum(len(one.labels) for one in samples)
    right = sum(one.labels.sum() for one in samples)
    print(f"{len(samples)} questions, {rows} texts, {right:.0f} of pages that answer")
    today = datetime.now(UTC).date()
    provenance = _PROVENANCE.format(date=today, questions=len(samples), rows=rows, seeds=" and ".join(map(str, SEEDS)))
    weights = {"BY_VECTORS": with_paths(BY_VECTORS, samples), "BY_WORDS": with_paths(BY_WORDS, samples)}
    print(weights)
    put_weights(target, weights, provenance=provenance)


def with_paths(weights: RankerWeights, samples: Sequence[PathSample]) -> RankerWeights:
    """Return the weights with those of paths fitted anew, by ridge logistic regression; the other weights are held fixed."""
    table = np.concatenate([one.features for one in samples])
    labels = np.concatenate([one.labels for one in samples])
    others = np.array([0.0 if name in PATH_NAMES else weights.of.get(name, 0.0) for name in NAMES])
    offset = table @ others + weights.bias
    columns = table[:, [NAMES.index(name) for name in PATH_NAMES]]
    spread = columns.std(axis=0)
    spread[spread < 1e-9] = 1.0
    scaled = columns / spread
    penalty = np.full(len(PATH_NAMES), RIDGE)
    penalty[PATH_NAMES.index("is_reached")] = 1e-3
    fitted = np.zeros(len(PATH_NAMES))
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-(scaled @ fitted + offset)))
        gradient = scaled.T @ (predicted - labels) + penalty * fitted
        # At least a quarter of the greatest curvature, or a step from far away would overshoot.
        variances = np.maximum(predicted * (1 - predicted), 1 / 16)
        curvature = (scaled * variances[:, None]).T @ scaled + np.diag(penalty)
        fitted = fitted - np.linalg.solve(curvature, gradient)
    of_paths = dict(zip(PATH_NAMES, (fitted / spread).round(4).tolist(), strict=True))
    return RankerWeights(weights.bias, {**weights.of, **of_paths})


async def _gathered(world: World, every: Sequence[GraphCorpus]) -> list[PathSample]:
    samples: list[PathSample] = []
    async with gathering(world.app.pools, has_documents=False) as gatherer:
        for corpus in every:
            for question in corpus.questions:
                if not question.is_held_back:
                    samples += await _sample(gatherer, corpus.owner, question.text, question.answer)
            for remark in corpus.remarks:
                samples += await _sample(gatherer, corpus.owner, remark, "")
    return samples


async def _sample(gatherer: Gatherer, owner: str, message: str, answer: str) -> list[PathSample]:
    """Return the sample of a message, if a path starts at one of its names. `answer` is empty for a remark."""
    reading, found = await gatherer.ask(message, owner)
    pages = found["wiki"].candidates
    if pages is None or not any(pages.walked):
        return []
    beside = [one for name in ("thread", "memory") if (one := found[name].candidates)]
    whole, *_ = features(reading, [*beside, pages])
    table = whole[-len(pages.ids) :]
    reached = table[:, NAMES.index("is_reached")] > 0
    titles = [item.header for item in found["wiki"].items]
    labels = np.array([title == answer for title in titles], np.float64)
    return [PathSample(table[reached], labels[reached])]


_PROVENANCE = """The weights of paths (`is_reached` and `path_*`) were fitted separately on {date} by
`python -m bench graph --write-weights`, with the others unchanged: {questions} questions of two and three hops and remarks on
generated corpora (`bench/graph`, seed {seeds}), without the held-out wordings;
{rows} texts to which typed edges lead. Ridge 10.
"""
