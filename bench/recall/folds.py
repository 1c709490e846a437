"""Trains weights without the data they are tested on, by folds of whole conversations and corpora.

The samples are gathered once per run, by the product's sources, from the same database as the measured turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from bench.recall import samples
from bench.recall.cases import CORPORA, SETS, Conversation, DocumentQuestion
from bench.recall.tally import samples_file
from bench.recall.training import Sample, train, with_pages, write
from sidecar.turn.fitted.weights import BY_VECTORS, RankerWeights
from store.db.postgres import Pools

PROVENANCE = """Made by `python -m bench recall --data DIR --split 0 --write-weights` on {}, from data with the SHA-256
{}.
Data: LoCoMo (snap-research/LoCoMo as corrected by dial481/locomo-audit, CC BY-NC 4.0: measured, never shipped), five
conversations of ten, question categories 1 to 4; REALTALK (danny911kr/REALTALK), five chats of ten; and the chunking_evaluation
questions (MIT) over three of five corpora. Candidates, evidence and features are those of the product's own sources. Pools: turns
alone; with observations as facts; with chunks; all three; and pools that hold no answer, so that a low relevance is calibrated.
Ridge 100 on standardised features. Embedder: all-MiniLM-L6-v2-int8. Pages are judged as passages, shifted so that their mean
relevance is the share of pages that add evidence to the 2,000 most relevant tokens of turns and observations (from runs
`--with-wiki` only; else as far from a passage as before): next to none do, because those tokens hold their content already.
Recency is not a feature: no question in this data asks for the newest turns, and recency is guarded elsewhere."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The questions asked with weights that were trained without them."""

    conversations: tuple[Conversation, ...]
    corpora: frozenset[str]
    weights: RankerWeights


@dataclass(frozen=True, slots=True)
class Gathered:
    """The training data: samples of whole pools and, if pages were compiled, of pages."""

    samples: list[Sample]
    pages: list[Sample]


def folds(gathered: Gathered | None, measured: Sequence[Conversation], *, count: int) -> list[Fold]:
    """Return `count` folds of the measured conversations, each with weights trained without it; for 0, one fold with the shipped
    weights.
    """
    if not count or gathered is None:
        return [Fold(tuple(measured), frozenset(CORPORA), BY_VECTORS)]
    result = []
    for number in range(count):
        own, corpora = tuple(measured[number::count]), frozenset(CORPORA[number::count])
        quarantined = frozenset(one.name for one in own) | corpora
        weights = train(gathered.samples, quarantined=quarantined)
        result.append(Fold(own, corpora, with_pages(weights, gathered.pages, quarantined=quarantined)))
    return result


def write_weights(path: Path, gathered: Gathered, *, data: Path) -> None:
    """Write the weights that are shipped, which are trained on all samples."""
    provenance = PROVENANCE.format(date.today(), _data_hash(data))  # noqa: DTZ011
    seeing, blind = (train(gathered.samples, is_blind=is_blind) for is_blind in (False, True))
    write(path, with_pages(seeing, gathered.pages), with_pages(blind, gathered.pages), provenance=provenance)


def _data_hash(data: Path) -> str:
    """Return the SHA-256 of the files that the weights are trained on, in order of name."""
    files = [data / name / "conversations.json" for name in SETS]
    files += [data / "kb" / "questions.json", *(data / "kb" / f"{name}.md" for name in CORPORA)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


async def gather(
    pools: Pools, conversations: Sequence[Conversation], questions: Sequence[DocumentQuestion], *, keep: Path | None
) -> Gathered:
    """Return the samples of all questions; those of an earlier run if `keep` holds them."""
    if keep is not None and samples_file(keep).exists():
        return _kept(samples_file(keep))
    gathered = await _gathered(pools, conversations, questions)
    if keep is not None:
        _keep(samples_file(keep), gathered)
    return gathered


async def _gathered(
    pools: Pools, conversations: Sequence[Conversation], questions: Sequence[DocumentQuestion]
) -> Gathered:
    async with samples.gathering(pools) as gatherer:
        whole = [sample for one in conversations for sample in await samples.of_conversation(gatherer, one)]
        whole += await samples.of_documents(gatherer, questions, [one for one in conversations if one.facts])
        pages = [sample for one in conversations for sample in await samples.of_pages(gatherer, one)]
    return Gathered(whole, pages)


def _keep(file: Path, gathered: Gathered) -> None:
    both = [*gathered.samples, *gathered.pages]
    np.savez(
        file,
        features=np.concatenate([one.features for one in both]).astype(np.float32),
        labels=np.concatenate([one.labels for one in both]).astype(np.float32),
        sizes=np.array([len(one.labels) for one in both]),
        folds=np.array(["\n".join(sorted(one.folds)) for one in both]),
        pages=np.array(len(gathered.pages)),
    )


def _kept(file: Path) -> Gathered:
    with np.load(file) as kept:
        ends = np.cumsum(kept["sizes"])[:-1]
        features, labels = np.split(kept["features"], ends), np.split(kept["labels"], ends)
        names = [frozenset(one.split("\n")) for one in kept["folds"].tolist()]
        count = len(names) - int(kept["pages"])
    both = [
        Sample(table.astype(np.float64), own_labels.astype(np.float64), one)
        for table, own_labels, one in zip(features, labels, names, strict=True)
    ]
    return Gathered(both[:count], both[count:])
