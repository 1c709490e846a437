"""Fits the log odds, by the words of a message, that it leans on its thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.training import logistic
from sidecar.turn.message.leaning import WordOdds

MORE_FILE: Final = Path(__file__).with_name("leaning_messages.json")
"""Messages by kind, half and language: follow-ups, whose conversations are not in the file, and messages that stand alone."""

_RIDGE, _LEAST_MESSAGES, _LEAST_WEIGHT = 4.0, 4, 0.1


def more_messages(half: str, kind: str = "leaning") -> list[str]:
    """Return the messages of `MORE_FILE` of a half, `fitted` or `held`, and a kind, `leaning` or `standing`."""
    read: dict[str, dict[str, dict[str, list[str]]]] = json.loads(MORE_FILE.read_text(encoding="utf-8"))
    return [text for texts in read[kind][half].values() for text in texts]


def fit_words(messages: Sequence[frozenset[str]], leans: Sequence[bool]) -> WordOdds:
    """Return the log odds by words, fitted to messages with these `telling_words`.

    Messages that lean have the same total weight as the others.
    """
    words = logistic.of_several(messages, _LEAST_MESSAGES)
    labels = np.array(leans, np.float32)
    counts = np.where(labels, (1 - labels).sum() / labels.sum(), 1.0).astype(np.float32)
    *of_words, bias = logistic.fit(logistic.table_of(messages, words), labels, counts, _RIDGE).tolist()
    rounded = zip(words, (round(one, 2) for one in of_words), strict=True)
    return WordOdds(round(bias, 4), {word: one for word, one in rounded if abs(one) >= _LEAST_WEIGHT})


def odds_without_fold(
    messages: Sequence[frozenset[str]], leans: Sequence[bool], folds: Sequence[int], shown: Sequence[bool]
) -> list[float]:
    """Return each message's log odds, by words fitted to those messages of other folds for which `shown` is true."""
    models = {}
    for fold in {*folds}:
        places = [place for place, other in enumerate(folds) if other != fold and shown[place]]
        models[fold] = fit_words([messages[place] for place in places], [leans[place] for place in places])
    return [models[fold].of(words) for fold, words in zip(folds, messages, strict=True)]


def write_words(path: Path, odds: WordOdds, *, provenance: str) -> None:
    """Write the file of the log odds by words, with their provenance."""
    content = {"provenance": provenance, "bias": odds.bias, "words": dict(odds.words)}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
