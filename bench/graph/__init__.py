"""Measures typed edges: whether the page that answers a question of several facts is in a context of 2,000 tokens, with typed
edges and without; how fast they are walked; and how fast the console draws a large graph.

`--write-weights` fits the ranker's weights of typed edges, on another corpus and on wordings that are not held back.
"""

from __future__ import annotations

from pathlib import Path

import uvloop

from bench.figures import Figure
from bench.graph import asking, drawing, fitting, walking


def run(*, scale: float, write_weights: bool = False) -> list[Figure]:
    """Return the figures; a scale below 1 asks a share of the questions and walks a smaller graph."""
    if write_weights:
        uvloop.run(fitting.fit(Path("sidecar/turn/fitted/weights.py")))
        return []
    return [figure for one in (asking, walking, drawing) for figure in uvloop.run(one.measured(scale))]
