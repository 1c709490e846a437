"""Fits the models that tell from a memory's vector whether it is sensitive (see `sidecar.turn.ranking.sensitivity`).

`python -m bench sensitivity` fits one on our own notes for each embedder and measures it on notes and on private memories that
were held back; `--write-weights` writes the models fitted without these. `sensitive.json` holds notes as agents store them, by
language: `sensitive` and `ordinary` ones are fitted on, `held sensitive` and `held ordinary` ones never. The private memories of
`privacy.json` are sensitive too; those of its groups `fourth` and later are held back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.figures import Figure, plain
from bench.spend import privacy
from bench.training import logistic
from models.embedding.embedder import Vectors
from models.embedding.minilm import MiniLM
from models.embedding.multilingual import Multilingual
from models.embedding.vector_parts import MINILM, MULTILINGUAL
from sidecar.turn.ranking.sensitivity import FILES

_NOTES = Path(__file__).with_name("sensitive.json")
_FITTED_GROUPS, _HELD_GROUPS = ("pairs", "held", "second", "third"), ("fourth", "fifth", "sixth")
_RIDGE = 1.0
_PASSING = 0.02


class _Note(NamedTuple):
    language: str
    text: str


def _by_minilm(texts: Sequence[str]) -> Vectors:
    return MiniLM().encode(texts)


def _by_multilingual(texts: Sequence[str]) -> Vectors:
    return Multilingual().encode(texts)


_VECTORS_OF = {MINILM: _by_minilm, MULTILINGUAL: _by_multilingual}


def run(*, scale: float, write_weights: bool = False) -> list[Figure]:
    """Return how well each model ranks notes held back, in English and in other languages. `scale` is ignored."""
    figures = []
    sensitive, ordinary = (_notes(kind) for kind in ("sensitive", "ordinary"))
    sensitive += _private(_FITTED_GROUPS)
    held = _notes("held sensitive") + _private(_HELD_GROUPS), _notes("held ordinary")
    for name, target in FILES.items():
        columns = _vectors(name, [*sensitive, *ordinary])
        labels = np.repeat([1.0, 0.0], [len(sensitive), len(ordinary)])
        fitted = logistic.fit(columns, labels, np.ones(len(labels)), _RIDGE)
        if write_weights:
            _write(target, fitted, name, len(labels))
        odds = [dict(zip(notes, _vectors(name, notes) @ fitted[:-1] + fitted[-1], strict=True)) for notes in held]
        for title, is_english in (("English", True), ("other languages", False)):
            one, other = (
                np.array([of_note for note, of_note in of_notes.items() if (note.language == "en") == is_english])
                for of_notes in odds
            )
            note = f"{len(one)} and {len(other)} notes held back"
            above = float((one[:, None] > other).mean())
            figures.append(plain(f"{name}, {title}: a sensitive note stands above an ordinary one", above, note=note))
            told = float((other < np.quantile(one, _PASSING)).mean())
            figures.append(plain(f"{name}, {title}: ordinary ones below all but 2 of 100 sensitive ones", told))
    return figures


def _notes(kind: str) -> list[_Note]:
    read: dict[str, dict[str, list[str]]] = json.loads(_NOTES.read_text(encoding="utf-8"))
    return [_Note(language, text) for language, texts in read[kind].items() for text in texts]


def _private(groups: Sequence[str]) -> list[_Note]:
    return [_Note(pair.language, pair.memory) for group in groups for pair in privacy.pairs(group)]


def _vectors(name: str, notes: Sequence[_Note]) -> NDArray[np.float64]:
    return _VECTORS_OF[name]([note.text for note in notes]).astype(np.float64)


def _write(path: Path, fitted: NDArray[np.float64], name: str, count: int) -> None:
    today = datetime.now(UTC).date()
    content: Mapping[str, Any] = {
        "provenance": f"For {name}. Command: `python -m bench sensitivity --write-weights`, {count} notes, {today}.",
        "bias": round(float(fitted[-1]), 4),
        "vector": fitted[:-1].round(4).tolist(),
    }
    path.write_text(json.dumps(content, indent=0) + "\n", encoding="utf-8")
