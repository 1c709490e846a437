"""The ranker's weights, and where they come from. Written by training, read by `rank`; not edited by hand.

Data: LoCoMo (snap-research/LoCoMo with the corrections of dial481/locomo-audit, CC BY-NC 4.0: measured on, never shipped), five
conversations of ten, question categories 1 to 4; and the chunking_evaluation questions (MIT) over three of its five corpora.
Pools: turns alone; with observations as facts; with chunks; all three; and pools that hold no answer, so that a low relevance
means what it says. Ridge 100 on standardised features. Embedder: all-MiniLM-L6-v2-int8. Date: 2026-11-22.
Recency is not among the features: in this data the newest turns are never asked for, and the recency guard stands elsewhere.
Cross-validated by conversation and corpus: evidence found at 1k/2k/4k/8k tokens .815/.886/.926/.973 in turns alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic model: what a unit of each feature adds to the log odds, and what they are without any."""

    bias: float
    of: Mapping[str, float]


BY_VECTORS: Final = Weights(
    bias=-6.6248,
    of={
        "coverage": -0.2977,
        "coverage_gap": 2.2861,
        "joint_coverage": 2.3682,
        "local_coverage": 1.1092,
        "cosine": 0.8608,
        "cosine_gap": 5.2317,
        "near_cosine": 1.7134,
        "local_cosine": 2.8818,
        "same_speaker": 0.9213,
        "other_speaker": -2.1933,
        "in_period": 1.1423,
        "length": 0.1973,
        "is_question": -0.817,
        "times": 0.3168,
        "names": 0.3,
        "is_fact": 1.1149,
        "is_passage": -2.3542,
    },
)
"""For candidates that have a vector."""

BY_WORDS: Final = Weights(
    bias=-6.804,
    of={
        "coverage": -0.5734,
        "coverage_gap": 3.627,
        "joint_coverage": 3.6525,
        "local_coverage": 2.7093,
        "same_speaker": 1.0453,
        "other_speaker": -2.1593,
        "in_period": 1.3446,
        "length": 0.2034,
        "is_question": -0.7917,
        "times": 0.3113,
        "names": 0.2549,
        "is_fact": 0.8944,
        "is_passage": -1.7345,
    },
)
"""For candidates without one, and for all of them where no embedder is set up."""
