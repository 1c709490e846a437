"""The ranker's weights and their origin. Written by training, read by `rank`; do not edit by hand.

Fitted on 2026-11-23 by the functions that `python -m bench recall --data DIR --split 0 --write-weights` calls, on candidates
gathered beforehand in the same way, from data with the SHA-256
4e87bdd4f16f5fac9e3c103981e03a5c85d7a81f912ed0937c29a3713071d21e.
Data: LoCoMo (snap-research/LoCoMo as corrected by dial481/locomo-audit, CC BY-NC 4.0: measured, never shipped), five
conversations of ten, question categories 1 to 4; REALTALK (danny911kr/REALTALK), five chats of ten; and the chunking_evaluation
questions (MIT) over three of five corpora. Candidates, evidence and features are those of the product's own sources. Pools: turns
alone; with observations as facts; with chunks; all three; and pools that hold no answer, so that a low relevance is calibrated.
Ridge 100 on standardised features. Embedder: all-MiniLM-L6-v2-int8. Pages are judged as passages, shifted so that their mean
relevance is the share of pages that add evidence to the 2,000 most relevant tokens of turns and observations (from runs
`--with-wiki` only; else as far from a passage as before): next to none do, because those tokens hold their content already.
The weight of `answer_cosine` was fitted apart, to turns whose questions the map of `models/embedding/answer_map.py` was fitted
without (evidence found is the same from 3 to 5), with the other weights as they were.
Recency is not a feature: no question in this data asks for the newest turns, and recency is guarded elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RankerWeights:
    """A logistic model: `of` maps a feature to its coefficient in log odds; `bias` is the intercept."""

    bias: float
    of: Mapping[str, float]

    def log_odds(self, features: Mapping[str, float]) -> float:
        """Return the weighted sum of the features. Raises KeyError for a feature without a value."""
        return self.bias + sum(weight * features[name] for name, weight in self.of.items())

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability for the features, 0 to 1; log odds beyond 35 count as 35."""
        return 1 / (1 + math.exp(-max(-35.0, min(35.0, self.log_odds(features)))))


BY_VECTORS: Final = RankerWeights(
    bias=-5.4273,
    of={
        "coverage": -0.2997,
        "coverage_gap": 2.2061,
        "joint_coverage": 1.9001,
        "local_coverage": 1.4478,
        "cosine": 1.1537,
        "cosine_gap": 4.9657,
        "near_cosine": 1.5899,
        "local_cosine": 2.8153,
        "answer_cosine": 4.4,
        "same_speaker": 0.6439,
        "other_speaker": -2.3929,
        "in_period": 0.9554,
        "length": 0.0237,
        "is_question": -0.8783,
        "times": 0.3231,
        "names": 0.264,
        "is_fact": 0.8654,
        "is_passage": -2.4278,
        "is_page": -2.6694,
        "is_reached": -11.6581,
        "path_hops": -0.5927,
        "path_asked": 2.05,
        "path_met": 7.4354,
        "path_whole": 7.0809,
        "path_evidence": 0.0569,
        "path_coverage": 4.3986,
    },
)
"""For candidates with a vector.

The weights of paths (`is_reached` and `path_*`) were fitted separately on 2026-11-23 by
`python -m bench graph --write-weights`, with the others unchanged: 228 questions of two and three hops and remarks on
generated corpora (`bench/graph`, seed 102), without the held-out wordings;
5245 texts to which typed edges lead. Ridge 10.

"""

BY_WORDS: Final = RankerWeights(
    bias=-5.3276,
    of={
        "coverage": -0.4701,
        "coverage_gap": 3.5659,
        "joint_coverage": 3.021,
        "local_coverage": 2.9243,
        "same_speaker": 0.8176,
        "other_speaker": -2.3247,
        "in_period": 1.1437,
        "length": -0.0212,
        "is_question": -0.8161,
        "times": 0.3307,
        "names": 0.214,
        "is_fact": 0.7271,
        "is_passage": -1.6699,
        "is_page": -5.0287,
        "is_reached": -10.3053,
        "path_hops": -0.2921,
        "path_asked": 2.2548,
        "path_met": 7.3656,
        "path_whole": 7.1707,
        "path_evidence": 0.2262,
        "path_coverage": 4.3044,
    },
)
"""For candidates without a vector, so for all of them without an embedder."""

MAY_LEAN: Final = RankerWeights(
    bias=3.8612,
    of={
        "length": -1.3142,
        "names": -0.9671,
        "words": -1.3163,
        "pointing": 4.9737,
        "begins": 1.1325,
        "own": 0.3524,
        "by_words": 1.0842,
    },
)
"""Whether a message may lean on its thread, judged by itself.

Fitted on 2026-11-28 by `python -m bench leaning --data DIR --scale 0.3 --write-weights`, on 18751 messages
from data with the SHA-256 57ac7930248df1a208698bd445b516cdca2f843273aa7c00993af39fe448337f.
Data: follow-ups of CANARD (aagohary/canard, CC BY-SA 4.0: measured, never shipped) in their dialogs and their rewrites in
others, LoCoMo's, REALTALK's and chunking_evaluation's questions, the first half of `leaning.json` in `bench/training`, and
those of its `leaning_messages.json` and `personal.json` that are not held back. Ridge 1.
"""

LEANING: Final = RankerWeights(
    bias=3.8293,
    of={
        "cosine": -0.2902,
        "length": -1.5976,
        "names": -0.6722,
        "words": -1.3692,
        "pointing": 5.0128,
        "begins": 0.9811,
        "own": 0.7739,
        "by_words": 1.2037,
        "own_top": -0.3347,
        "thread_top": -0.1243,
        "own_of_thread_best": 0.2462,
        "thread_of_own_best": 0.168,
        "same_best": -0.124,
        "repeated": 3.9732,
        "covered": 0.3437,
        "covered_by_fact": -0.3904,
        "cosine_of_fact": -3.9475,
        "resolved": -0.1146,
    },
)
"""How far a message leans on its thread, judged after the search."""
