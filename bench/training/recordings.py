"""Recordings of a calibration: the candidates of each message, recorded once and fitted to any number of times.

A recording contains messages and texts of the data, so the caller chooses its folder. Its key is a hash of the data, the share
of them that is asked and the code of the sources; a recording with another key is not used.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.training.answers import Factors
from bench.training.fitting_worth import Row
from sidecar.turn.candidates import Candidates
from sidecar.turn.message.leaning import message_form
from sidecar.turn.message.reading import Reading
from sidecar.turn.message.telling_words import telling_words
from sidecar.turn.ranking import rank
from sidecar.turn.ranking.judging import likenesses_of, likest

_PARTS = ("question", "answer")

_Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offered:
    """The candidates of one source, the size of each in tokens, and whether it holds evidence."""

    candidates: Candidates
    sizes: tuple[float, ...]
    gold: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A message as it was read, and the candidates of each source. `unmarked` is its vector without marks and capitals.

    The other fields are as in `Row`.
    """

    group: str
    fold: str
    message: str
    vector: _Matrix
    unmarked: _Matrix
    reading: Reading
    offered: tuple[Offered, ...] = ()
    name: str = ""


def row(recorded: Recorded, breadth: float = 0.0) -> Row:
    """Return the row of a recorded message of this breadth, as judged by the present code of the ranker."""
    identity = (recorded.group, recorded.fold, recorded.message, recorded.vector)
    candidates = [one.candidates for one in recorded.offered]
    form, words = message_form(recorded.reading), telling_words(recorded.reading)
    if not candidates:
        return Row(*identity, unmarked=recorded.unmarked, name=recorded.name, form=form, words=words)
    reading = recorded.reading
    weighed = rank.weigh_all(reading, candidates)
    bare = [_without_vectors(one) for one in candidates]
    likenesses = likenesses_of(rank.rank(reading, candidates), reading, candidates)
    return Row(
        *identity,
        [one.kind.value for one in candidates for _ in one.ids],
        weighed.odds,
        np.array([is_gold for one in recorded.offered for is_gold in one.gold], np.bool_),
        np.array([size for one in recorded.offered for size in one.sizes]),
        rank.features_of_kinds(reading, candidates, weighed),
        recorded.name,
        recorded.unmarked,
        form,
        words,
        reading.blind,
        likest(likenesses, candidates),
        rank.features_of_kinds(reading, bare, rank.weigh_all(reading, bare)),
        (1 - weighed.leaning) * breadth,
        weighed.leaning,
    )


def _without_vectors(one: Candidates) -> Candidates:
    """Return the candidates without cosines, as when the embedder is late."""
    evidence, nothing = one.evidence, np.zeros_like(one.evidence.cosine)
    return replace(
        one,
        evidence=evidence._replace(
            cosine=np.full_like(nothing, np.nan), near_cosine=nothing, local_cosine=nothing, answer_cosine=nothing
        ),
    )


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recordings in a folder; without a folder there are none. `key` identifies their data and code (see `key_of`)."""

    folder: Path | None
    key: str

    def read(self, name: str) -> list[Recorded] | None:
        """Return a recording, or None if it does not exist."""
        if self.folder is None or not self._file(name).exists():
            return None
        with self._file(name).open("rb") as file:
            kept: list[Recorded] = pickle.load(file)
        return kept

    def write(self, name: str, messages: Sequence[Recorded]) -> None:
        """Write a recording, atomically."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self._file(name).with_suffix(".part")
            with part.open("wb") as file:
                pickle.dump(list(messages), file, protocol=pickle.HIGHEST_PROTOCOL)
            part.replace(self._file(name))

    def read_maps(self, names: Iterable[str]) -> dict[str, Factors] | None:
        """Return the maps of these sets, or None if they do not exist."""
        file = self._maps()
        if file is None or not file.exists():
            return None
        with np.load(file) as kept:
            return {name: (kept[f"{name} {_PARTS[0]}"], kept[f"{name} {_PARTS[1]}"]) for name in names}

    def write_maps(self, maps: dict[str, Factors]) -> None:
        """Write the maps."""
        if (file := self._maps()) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            both = {
                f"{name} {part}": map_ for name, one in maps.items() for part, map_ in zip(_PARTS, one, strict=True)
            }
            np.savez(file, allow_pickle=False, **both)

    def _maps(self) -> Path | None:
        return self.folder / f"maps-{self.key}.npz" if self.folder else None

    def _file(self, name: str) -> Path:
        assert self.folder is not None, "only with a folder"
        return self.folder / f"{name}-{self.key}.pickle"


def key_of(*options: object, data: bytes, code: Iterable[Path]) -> str:
    """Return the key of recordings: a hash of the run's options, the data, and the code that finds candidates."""
    digest = hashlib.sha256(repr(options).encode() + data)
    for file in sorted(code):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
