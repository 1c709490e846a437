"""The ranker's weights and their origin. Written by training, read by `rank`; do not edit by hand.

Data: LoCoMo (snap-research/LoCoMo with the corrections of dial481/locomo-audit, CC BY-NC 4.0: measured on, never shipped), five
conversations of ten, question categories 1 to 4; and the chunking_evaluation questions (MIT) over three of its five corpora.
Candidates, evidence and features come from the product's own sources on Postgres (`python -m bench recall --write-weights`).
Pools: turns alone; with observations as facts; with chunks; all three; and pools that hold no answer, so that a low relevance
is calibrated. Ridge 100 on standardised features. Embedder: all-MiniLM-L6-v2-int8. Date: 2026-11-22.
Pages, compiled from the observations without a model, are judged as passages, shifted so that their mean relevance equals the
share of pages that add evidence to the 2,000 most relevant tokens of turns and observations. Almost none do, because those
tokens already hold their content (51 of 30,080, on half of the questions; by words a passage's weight put it at 1 in 50).
Recency is not a feature: no question in this data asks for the newest turns, and recency is guarded elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RankerWeights:
    """A logistic model: `of` maps a feature to its coefficient in log odds; `bias` is the intercept."""

    bias: float
    of: Mapping[str, float]


BY_VECTORS: Final = RankerWeights(
    bias=-6.6017,
    of={
        "coverage": -0.3201,
        "coverage_gap": 2.3092,
        "joint_coverage": 2.3661,
        "local_coverage": 1.1348,
        "cosine": 0.9094,
        "cosine_gap": 5.1957,
        "near_cosine": 1.7188,
        "local_cosine": 2.8374,
        "same_speaker": 0.9173,
        "other_speaker": -2.1982,
        "in_period": 1.1415,
        "length": 0.1931,
        "is_question": -0.8192,
        "times": 0.317,
        "names": 0.3002,
        "is_fact": 1.1133,
        "is_passage": -2.3584,
        "is_page": -2.6,
    },
)
"""For candidates with a vector."""

BY_WORDS: Final = RankerWeights(
    bias=-6.7883,
    of={
        "coverage": -0.5879,
        "coverage_gap": 3.6447,
        "joint_coverage": 3.6563,
        "local_coverage": 2.7234,
        "same_speaker": 1.0404,
        "other_speaker": -2.1648,
        "in_period": 1.3439,
        "length": 0.2012,
        "is_question": -0.7914,
        "times": 0.3118,
        "names": 0.2542,
        "is_fact": 0.8979,
        "is_passage": -1.7412,
        "is_page": -5.1,
    },
)
"""For candidates without a vector, so for all of them without an embedder."""

MAY_LEAN: Final = RankerWeights(
    bias=7.0093,
    of={
        "words": -7.4694,
        "pointing": 16.9981,
        "length": 1.4474,
    },
)
"""Whether a message may lean on its thread, judged by itself."""

LEANING: Final = RankerWeights(
    bias=-0.5228,
    of={
        "own_top": -1.6151,
        "thread_top": -0.5025,
        "own_of_thread_best": 0.2697,
        "thread_of_own_best": -0.4042,
        "same_best": 2.0224,
        "repeated": 6.5935,
        "words": -8.9314,
        "pointing": 14.5803,
        "length": 2.4096,
    },
)
"""How far a message leans on its thread, judged after the search."""
