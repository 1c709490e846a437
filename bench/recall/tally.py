"""The results of a run, and the journal from which an interrupted run continues."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_COUNTED = ("bench/recall", "migrations", "models", "sidecar", "store", "compiler")
_CODE = {".py", ".sql"}


@dataclass(frozen=True, slots=True)
class Found:
    """The evidence found and the evidence wanted, in one column at one budget."""

    name: str
    column: str
    budget: int
    found: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one question in one scenario: the evidence found at each budget, the number of contexts and of those over
    their budget, and the evidence missed.
    """

    found: tuple[Found, ...]
    contexts: int = 0
    over_budget: int = 0
    misses: tuple[dict[str, object], ...] = ()


@dataclass(slots=True)
class Tally:
    """The sums of a run: evidence found and wanted by name, column and budget; turns without a source; milliseconds of turns."""

    found: dict[tuple[str, str, int], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    contexts: int = 0
    over_budget: int = 0
    degraded: int = 0
    took_ms: list[float] = field(default_factory=list)
    misses: list[dict[str, object]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count a question."""
        for one in outcome.found:
            sums = self.found[one.name, one.column, one.budget]
            sums[0] += one.found
            sums[1] += one.wanted
        self.contexts += outcome.contexts
        self.over_budget += outcome.over_budget
        self.misses += outcome.misses

    def share(self, name: str, column: str, budget: int) -> float:
        """Return the share of the gold evidence that was found."""
        found, wanted = self.found[name, column, budget]
        return found / max(1, wanted)


class Journal:
    """Outcomes by key, in a folder that outlives the run; without a folder nothing is kept.

    A journal belongs to one plan and one state of the code: another plan or state starts a new one.
    """

    def __init__(self, folder: Path | None, *, plan: str) -> None:
        self._outcomes: dict[str, Outcome] = {}
        self._file = folder / "outcomes.jsonl" if folder else None
        if folder is None or self._file is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        state_file, state = folder / "state", _state(plan)
        if not state_file.exists() or state_file.read_text() != state:
            self._file.unlink(missing_ok=True)
            samples_file(folder).unlink(missing_ok=True)
            state_file.write_text(state)
        if self._file.exists():
            self._outcomes = dict(_read(self._file.read_text(encoding="utf-8").splitlines()))

    def get(self, *key: object) -> Outcome | None:
        """Return the outcome kept under a key, or None."""
        return self._outcomes.get(_joined(key))

    def put(self, outcome: Outcome, *key: object) -> None:
        """Keep an outcome under a key."""
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": _joined(key)} | asdict(outcome), ensure_ascii=False) + "\n")


def samples_file(folder: Path) -> Path:
    """Return the path of a run's training data."""
    return folder / "samples.npz"


def _read(lines: Iterable[str]) -> Iterable[tuple[str, Outcome]]:
    for line in lines:
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            continue  # an interrupted run wrote half a line
        found = tuple(Found(**one) for one in entry["found"])
        yield entry["key"], Outcome(found, entry["contexts"], entry["over_budget"], tuple(entry["misses"]))


def _joined(key: tuple[object, ...]) -> str:
    return " | ".join(map(str, key))


def _state(plan: str) -> str:
    """Return a hash of the plan and of all code that a figure may depend on."""
    files = sorted(file for place in _COUNTED for file in (_ROOT / place).rglob("*") if file.suffix in _CODE)
    digest = hashlib.sha256(plan.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
