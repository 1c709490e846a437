"""Fitted numbers other than the ranker's weights. Written by `python -m bench calibrate`; do not edit by hand.

Command: `python -m bench calibrate --data DIR --scale 0.5 --only 5 --write-weights`, 12104 messages, 2026-11-28. The SHA-256 of
the data begins e15d38664b64149a. Data: LoCoMo, REALTALK, chunking_evaluation, CANARD (measured on, never shipped), and
`small_talk.json`, `personal.json`, `leaning_messages.json` and `leaning_talks.json` in `bench/training` (own). Relevance is
calibrated by kind, on what recall brings to the default turn. A message asks for something if it is no small talk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sidecar.turn.fitted.curves import RelevanceCurve
from sidecar.turn.fitted.weights import RankerWeights

CALIBRATION: Final[Mapping[str, RelevanceCurve]] = {
    "fact": RelevanceCurve(
        points=(
            (-11.9306, -5.1555),
            (-7.3623, -4.5432),
            (-4.8214, -3.3123),
            (-4.0082, -2.4503),
            (-3.4125, -2.2606),
            (-2.5956, -1.6783),
            (-1.897, -0.9301),
            (-1.4224, -0.4787),
            (-0.6636, -0.3659),
            (0.5262, -0.3659),
            (2.292, 0.6055),
        ),
        lead=0.4497,
    ),
    "passage": RelevanceCurve(
        points=(
            (-12.6001, -3.6395),
            (-7.1249, -1.357),
            (-4.5867, -1.195),
            (-3.4213, -0.6456),
            (-2.9836, -0.456),
            (-2.5094, -0.3822),
            (-2.0316, -0.1721),
            (-1.6151, -0.0988),
            (-1.1294, 0.0174),
            (-0.6984, 0.1251),
            (-0.1001, 0.2725),
        ),
        lead=1.8044,
    ),
    "turn": RelevanceCurve(
        points=(
            (-14.3436, -8.9601),
            (-7.1365, -5.0497),
            (-5.4025, -3.6022),
            (-4.6179, -3.1172),
            (-3.8379, -2.5656),
            (-3.1331, -2.0455),
            (-2.4254, -1.6397),
            (-1.7442, -1.2148),
            (-0.9285, -0.7206),
            (0.1314, -0.6055),
            (2.0542, -0.3225),
        ),
        lead=0.4501,
    ),
}
"""By kind of candidate: the curve from the ranker's log odds to those observed when the kind holds an answer."""

MESSAGE: Final = RankerWeights(
    bias=-9.7102,
    of={
        "is_question": 1.1172,
        "words": 2.7281,
        "telling": -0.3308,
        "telling_share": 0.1901,
        "digits": -25.6458,
        "letters": -1.2833,
        "is_call": -3.0033,
        "length": 2.9606,
    },
)
"""The model of the log odds that a message asks for something, from its form; `MESSAGE_VECTOR` is added."""

# fmt: off
MESSAGE_VECTOR: Final[tuple[float, ...]] = (
    -0.2525, 1.1481, -0.279, -0.6672, -1.1826, 1.7252, -1.5295, -0.739, -0.2815, 0.068, -1.3764, 0.5097, 2.1478, 0.2919, 0.3376,
    -0.0276, 0.6994, -0.1158, 1.3465, -1.622, -0.4387, 1.3437, 1.0455, -1.1296, -0.3681, 1.4221, -1.2078, -1.212, 0.8548,
    -0.0277, 0.6424, -0.2736, -1.1985, 1.9558, 0.2481, 1.3154, 0.1667, 1.3494, -0.8666, 0.3298, 0.0204, -0.2338, 0.1063,
    -0.1925, 0.0871, 0.2862, -1.469, -0.9082, -0.514, -0.7548, 0.2845, -1.3961, 1.147, -0.8915, 0.9071, -1.4382, -0.6004,
    0.8528, -0.0703, 0.6947, -1.6911, 0.9257, 0.9901, 0.5618, -0.3833, -0.4931, 1.428, 0.0872, 2.7659, -1.241, -0.4875, -0.311,
    0.5341, -2.063, -0.2471, -0.5119, 1.2287, -0.4202, 0.3298, -0.1647, -1.4188, 0.405, 0.7988, 0.8909, 0.8047, 1.0853, -1.6586,
    -0.2423, -0.2259, 1.2309, 1.8939, -0.7519, 0.1536, 1.4689, 0.2219, -0.5272, 1.7678, 0.6959, 1.7345, -0.4292, -1.6025,
    -0.4916, -0.0517, -0.0328, 0.5286, -1.1014, 1.2563, -0.675, 1.5399, -0.0845, -0.0746, -1.3601, 0.3072, -1.5749, 0.6033,
    -0.6176, -0.2559, -0.1193, -1.0608, -0.9639, 0.16, -0.5907, 0.5226, -2.0482, -1.6237, 1.3712, -2.5899, -0.0, 1.0148,
    -1.9386, -0.4774, -0.5765, -0.5797, -0.4603, 2.0915, 0.4989, 0.5492, 1.1905, -0.016, 0.1435, -2.0719, -0.209, -1.0344,
    -0.025, -0.0617, -2.6796, -2.2136, 1.3053, 1.1269, -0.714, 0.3696, 0.7155, -0.5086, 1.1657, -0.8445, 0.2302, -0.7792,
    0.6042, 1.2364, -1.1986, -0.7891, -1.1144, 0.2184, -0.0686, -0.897, -2.855, 0.5856, -0.5681, 0.2357, -0.5863, -0.2427,
    -1.3247, -0.2522, 0.7913, -1.4243, 2.2686, 1.0969, -0.2973, 2.0319, -1.0245, -0.3623, 0.9162, -1.5152, 0.2682, 0.5908,
    -1.0533, 0.5324, 0.3101, -0.7904, 0.6402, 0.0291, 1.1233, 1.2659, 1.6629, 0.415, -1.4204, -1.3196, 0.4673, 0.3221, 0.3641,
    -1.7301, -1.71, 1.111, -0.3387, -0.6579, -0.6239, -1.2239, 0.5435, 0.5061, 0.4892, 0.1575, 0.2259, -0.1394, -0.2217, 0.2263,
    0.1728, 0.6538, -0.9334, 0.2812, -0.9863, 1.1498, -0.0229, 1.3421, -0.0, -1.168, 2.4887, 0.5787, -0.0864, 0.194, -1.0102,
    0.0068, -1.5725, 1.6998, 0.5009, -1.6796, -0.1785, 0.7098, 2.1857, -3.0963, 0.7698, -0.005, -0.2941, -0.7543, 0.7053,
    -0.6801, 1.1587, -0.8458, 0.1458, 0.3073, 0.0631, 0.7251, -1.4143, -1.3437, 0.339, 1.6016, 0.0355, -0.0561, 0.2573, -1.3187,
    0.2779, -1.1896, 1.2674, 1.0967, -1.6728, 2.2781, 0.3295, -0.6007, 0.7965, -0.6326, 0.6534, 1.2292, 0.6023, 1.9167, 0.2487,
    -2.1938, 1.2513, 2.3464, -0.8562, 0.126, 2.0269, 1.3351, 1.052, 1.2758, -0.3921, 1.2538, -1.0128, 0.0835, -0.2361, -2.9366,
    1.1803, 1.964, -1.1958, -0.8193, -0.0448, -1.1227, -0.1823, 1.3487, 0.1625, -1.7132, 0.2395, -1.7752, -0.5186, 0.3315,
    -0.4382, 0.3088, 0.5943, -0.4456, 0.825, 1.7574, -0.6284, -1.4986, -0.2827, -0.4088, -0.1984, 1.1547, -1.9111, -2.0755,
    -1.2258, -1.5491, -0.0, 0.5648, -0.7223, 2.5105, -1.9415, 1.721, 0.1128, 0.1599, 0.6444, -0.723, 1.7515, -2.4305, 2.109,
    0.7663, -1.2936, 0.7309, -0.2491, 1.1401, -0.5252, -0.8687, -0.3981, -0.2406, -1.6369, 0.956, -1.0723, -0.7971, 1.0045,
    1.3519, 0.0367, 0.7202, 1.9033, 0.3889, -1.381, 0.127, -1.442, -0.2353, 1.0514, 0.375, -0.2421, -0.7515, -1.7157, -1.6004,
    0.1428, 2.0693, 0.4548, -0.8008, 2.0872, -0.1372, -1.8315, 0.8229, 0.359, -0.78, -1.0244, 0.5824, -0.8451, -2.0729, -0.4303,
    -1.0342, -1.111, 0.6505, -2.079, -0.5507, -0.8697, -0.4014, -1.3217,
)
# fmt: on
"""The coefficient of each dimension of the message's vector."""

MESSAGE_BY_WORDS: Final = RankerWeights(
    bias=-11.4011,
    of={
        "is_question": 2.0474,
        "words": 3.0544,
        "telling": -1.2577,
        "telling_share": 0.3326,
        "digits": -31.167,
        "letters": -2.7145,
        "is_call": -2.1086,
        "length": 3.2175,
    },
)
"""The same model for messages without a vector."""

ASKS: Final = RankerWeights(
    bias=0.539,
    of={
        "best": 0.5125,
        "fifth": 0.4021,
        "sum": -0.1257,
        "likeness": 9.3381,
        "leaning": -0.5398,
        "leaning_sum": -0.2541,
        "message": 0.9997,
    },
)
"""The model of the probability that a message asks for something, from `message_score` and `worth.recall_features`."""

ASKS_BY_WORDS: Final = RankerWeights(
    bias=0.8819,
    of={
        "best": 0.5159,
        "fifth": 0.5329,
        "sum": -0.0861,
        "likeness": 7.0295,
        "leaning": -0.2636,
        "leaning_sum": -0.2018,
        "message": 1.0069,
    },
)
"""The same for messages without a vector."""

HOLDS: Final[Mapping[str, RankerWeights]] = {
    "fact": RankerWeights(
        bias=-2.3913,
        of={
            "best": 0.4253,
            "cosine": -7.6966,
            "coverage": 0.8692,
            "own_best": -0.2648,
            "own_cosine": 13.5483,
            "own_coverage": 2.0461,
            "unknown": -1.2823,
            "leaning": 3.1207,
        },
    ),
    "passage": RankerWeights(
        bias=-5.6055,
        of={
            "best": 1.5917,
            "cosine": 5.5644,
            "coverage": 0.473,
            "own_best": -0.7481,
            "own_cosine": 11.2781,
            "own_coverage": 1.3677,
            "unknown": -2.3319,
            "leaning": 5.3179,
        },
    ),
    "turn": RankerWeights(
        bias=-1.5017,
        of={
            "best": 0.1822,
            "cosine": -1.7859,
            "coverage": 1.8785,
            "own_best": 0.5174,
            "own_cosine": 8.0482,
            "own_coverage": 2.14,
            "unknown": -1.9774,
            "leaning": 0.015,
        },
    ),
}
"""By kind of candidate: the model of the probability that the candidates hold an answer; `holding` makes the features."""

HOLDS_BY_WORDS: Final[Mapping[str, RankerWeights]] = {
    "fact": RankerWeights(
        bias=-0.602,
        of={
            "best": 0.1783,
            "coverage": 5.8581,
            "unknown": -1.3845,
            "leaning": 0.718,
        },
    ),
    "passage": RankerWeights(
        bias=7.7721,
        of={
            "best": 2.255,
            "coverage": -2.429,
            "unknown": -2.0037,
            "leaning": 2.9141,
        },
    ),
    "turn": RankerWeights(
        bias=3.4785,
        of={
            "best": 1.1363,
            "coverage": 3.8798,
            "unknown": -2.7481,
            "leaning": -0.7373,
        },
    ),
}
"""The same for messages without a vector."""
