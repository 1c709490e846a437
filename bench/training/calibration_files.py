"""Writes the fitted numbers to the product's files, each with the provenance of its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from unicodedata import east_asian_width

from bench.training.fitting_worth import Numbers
from sidecar.turn.fitted.curves import RelevanceCurve
from sidecar.turn.fitted.weights import RankerWeights
from sidecar.turn.message.personal import PersonalModel

_LINE = 124


def write(path: Path, numbers: Numbers, *, provenance: str) -> None:
    """Write the module of fitted numbers, with their provenance in its docstring."""
    curves = "".join(f'    "{kind}": {_written(curve)},\n' for kind, curve in numbers.scale.curves.items())
    path.write_text(
        _MODULE.format(
            provenance=provenance,
            curves=curves,
            message=_table(numbers.message),
            vector=filled(map(str, numbers.vector)),
            by_words=_table(numbers.message_by_words),
            asks=_table(numbers.asks),
            asks_by_words=_table(numbers.asks_by_words),
            holds=_tables(numbers.scale.holds),
            holds_by_words=_tables(numbers.scale.holds_by_words),
        )
    )


def write_personal(path: Path, model: PersonalModel, *, provenance: str) -> None:
    """Write the file of the model that recognises questions about one's own life, with its provenance."""
    content = {"provenance": provenance, "bias": model.form.bias, "form": model.form.of}
    content |= {"vector": model.vector.tolist(), "words": dict(model.words)}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def filled(entries: Iterable[str]) -> str:
    """Return the entries joined by commas, in lines of at most 124 columns; a wide character takes two."""
    lines = [""]
    for entry in entries:
        longer = f"{lines[-1]} {entry},"
        if sum(2 if east_asian_width(sign) in "WF" else 1 for sign in longer) > _LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {entry},".lstrip()
    return "\n    ".join(lines)


def _written(curve: RelevanceCurve) -> str:
    points = "".join(f"            ({ranked}, {observed}),\n" for ranked, observed in curve.points)
    return f"RelevanceCurve(\n        points=(\n{points}        ),\n        lead={curve.lead},\n    )"


def _tables(weights: Mapping[str, RankerWeights]) -> str:
    written = ((kind, _table(one).replace("\n", "\n    ")) for kind, one in weights.items())
    return "".join(f'    "{kind}": {table},\n' for kind, table in written)


def _table(weights: RankerWeights) -> str:
    rows = "".join(f'        "{name}": {weight},\n' for name, weight in weights.of.items() if weight)
    return f"RankerWeights(\n    bias={weights.bias},\n    of={{\n{rows}    }},\n)"


_MODULE = '''"""Fitted numbers other than the ranker's weights. Written by `bench calibrate --write-weights`; do not edit by hand.

{provenance}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sidecar.turn.fitted.curves import RelevanceCurve
from sidecar.turn.fitted.weights import RankerWeights

CALIBRATION: Final[Mapping[str, RelevanceCurve]] = {{
{curves}}}
"""By kind of candidate: the curve from the ranker's log odds to those observed when the kind holds an answer."""

MESSAGE: Final = {message}
"""The model of the log odds that a message asks for something, from its form; `MESSAGE_VECTOR` is added."""

# fmt: off
MESSAGE_VECTOR: Final[tuple[float, ...]] = (
    {vector}
)
# fmt: on
"""The coefficient of each dimension of the message's vector."""

MESSAGE_BY_WORDS: Final = {by_words}
"""The same model for messages without a vector."""

ASKS: Final = {asks}
"""The model of the probability that a message asks for something, from `message_score` and `worth.recall_features`."""

ASKS_BY_WORDS: Final = {asks_by_words}
"""The same for messages without a vector."""

HOLDS: Final[Mapping[str, RankerWeights]] = {{
{holds}}}
"""By kind of candidate: the model of the probability that the candidates hold an answer; `holding` makes the features."""

HOLDS_BY_WORDS: Final[Mapping[str, RankerWeights]] = {{
{holds_by_words}}}
"""The same for messages without a vector."""
'''
