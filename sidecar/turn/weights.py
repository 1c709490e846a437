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
    bias=-6.6311,
    of={
        "coverage": -0.3035,
        "coverage_gap": 2.2899,
        "joint_coverage": 2.3571,
        "local_coverage": 1.1207,
        "cosine": 0.8556,
        "cosine_gap": 5.2306,
        "near_cosine": 1.7194,
        "local_cosine": 2.8873,
        "same_speaker": 0.92,
        "other_speaker": -2.1925,
        "in_period": 1.1407,
        "length": 0.1999,
        "is_question": -0.8187,
        "times": 0.3217,
        "names": 0.2914,
        "is_fact": 1.1198,
        "is_passage": -2.3658,
    },
)
"""For candidates that have a vector."""

BY_WORDS: Final = Weights(
    bias=-6.8065,
    of={
        "coverage": -0.5834,
        "coverage_gap": 3.631,
        "joint_coverage": 3.6508,
        "local_coverage": 2.7144,
        "same_speaker": 1.0448,
        "other_speaker": -2.1582,
        "in_period": 1.3431,
        "length": 0.2059,
        "is_question": -0.7933,
        "times": 0.3162,
        "names": 0.243,
        "is_fact": 0.8977,
        "is_passage": -1.741,
    },
)
"""For candidates without one, and for all of them where no embedder is set up."""
