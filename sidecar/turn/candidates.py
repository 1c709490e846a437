"""The candidates of a turn: texts that may hold the answer, in columns, with their evidence, before they are ranked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import compress
from typing import NamedTuple

from sidecar.turn.evidence import Evidence
from sidecar.turn.message.paths import Walked


class CandidateKind(StrEnum):
    """The kind of a candidate: a turn, one fact, a passage of a longer text, or a section of a wiki page."""

    TURN = "turn"
    FACT = "fact"
    PASSAGE = "passage"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidate texts in columns: the id of each text's item, the text, and its evidence.

    `speakers` is set for turns. `days`, if known, are the days on which the texts were said or which they are about. `trust`, if
    not 1 for all, is the share of its relevance that each text keeps, for texts that are not confirmed. `odds`, if not 1 for all,
    multiply the odds of each text, for texts behind a summary: a text of high relevance keeps almost all of it. `walked` holds
    the features of the typed edges that lead to each text, None without any; it is empty if all are None.
    `marks`, if known, are the marks stored beside each text (see `store.text.marks`). `sensitivity`, if known, holds the
    products of the texts' vectors with the probe of `sensitivity`, None without a vector.
    `unknown` are the searched words that no text of the source holds, whether candidate or not.
    """

    kind: CandidateKind
    ids: Sequence[str]
    texts: Sequence[str]
    evidence: Evidence
    speakers: Sequence[str] = ()
    days: Sequence[date] = ()
    trust: Sequence[float] = ()
    odds: Sequence[float] = ()
    walked: Sequence[Walked | None] = ()
    marks: Sequence[int | None] = ()
    sensitivity: Sequence[float | None] = ()
    unknown: frozenset[str] = frozenset()

    def only(self, ids: Collection[str]) -> Candidates:
        """Return the candidates with these ids."""
        is_kept = [item_id in ids for item_id in self.ids]
        return Candidates(
            kind=self.kind,
            ids=list(compress(self.ids, is_kept)),
            texts=list(compress(self.texts, is_kept)),
            evidence=self.evidence.of([place for place, kept in enumerate(is_kept) if kept]),
            speakers=list(compress(self.speakers, is_kept)),
            days=list(compress(self.days, is_kept)),
            trust=list(compress(self.trust, is_kept)),
            odds=list(compress(self.odds, is_kept)),
            walked=list(compress(self.walked, is_kept)),
            marks=list(compress(self.marks, is_kept)),
            sensitivity=list(compress(self.sensitivity, is_kept)),
            unknown=self.unknown,
        )


class Features(NamedTuple):
    """The inputs of a candidate's relevance: its features in the order of `NAMES`, the probability that its kind holds an answer,
    and its likeness to the question, if known (see `likeness`). Receipts name the features of items in the context.
    """

    values: Sequence[float] = ()
    holds: float = 1.0
    likeness: float | None = None
