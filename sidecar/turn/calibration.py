"""Fitted numbers other than the ranker's weights. Written by `python -m bench calibrate`; do not edit by hand.

Command: `python -m bench calibrate --data DIR --scale 0.5 --only 5`, 11250 messages, 2026-11-28. The SHA-256 of
the data begins 32bb1334f9eb73b7. Data: LoCoMo, REALTALK, chunking_evaluation, CANARD (measured on, never shipped), and
`bench/small_talk.json` and `bench/personal.json` (own). Relevance is calibrated by kind, on what recall brings to the default
turn. A message asks for something if it is no small talk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sidecar.turn.curves import RelevanceCurve
from sidecar.turn.weights import RankerWeights

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
    bias=-12.8739,
    of={
        "is_question": 1.1255,
        "words": 2.3987,
        "telling": 0.0676,
        "telling_share": 0.1414,
        "digits": -18.4454,
        "letters": 1.5087,
        "is_call": -2.8832,
        "length": 3.0036,
    },
)
"""The model of the log odds that a message asks for something, from its form; `MESSAGE_VECTOR` is added."""

# fmt: off
MESSAGE_VECTOR: Final[tuple[float, ...]] = (
    -0.1868, 1.0002, -0.1312, -0.4841, -0.8783, 1.4023, -1.6928, -1.2586, -0.423, 0.2686, -0.6431, 0.5602, 2.0263, 0.345,
    0.2644, 0.2888, 0.761, 0.2182, 1.3409, -1.4046, -0.7355, 1.0134, 1.115, -0.777, -0.4004, 1.2299, -1.0556, -0.8138, 0.6168,
    0.2117, 0.7722, -0.6427, -1.3108, 1.7245, 0.1663, 1.4887, 0.2056, 1.2207, -0.8489, 0.1012, 0.0888, -0.2828, 0.1859, -0.2497,
    0.1523, 0.4032, -1.3315, -1.2082, -0.638, -0.9659, -0.268, -1.3488, 1.0411, -1.1647, 0.5876, -1.3323, -0.4536, 0.6166,
    -0.0495, 0.4153, -1.5607, 0.963, 0.8905, 0.6964, -0.3841, -0.4513, 1.2203, 0.2839, 2.473, -1.6294, -0.3619, -0.5985, 0.3909,
    -1.5252, -0.2127, -0.4475, 0.9535, -0.2591, 0.0542, -0.1752, -1.1497, 0.073, 0.7201, 0.4582, 0.3666, 1.0184, -1.7885,
    -0.6719, -0.4545, 0.9217, 1.7471, -0.7633, -0.1792, 1.292, 0.3555, -0.5446, 1.4165, 0.3003, 1.361, -0.6504, -1.4723, -0.124,
    -0.0601, -0.031, 0.5397, -0.9681, 1.2111, -0.8171, 1.1563, -0.1489, -0.2257, -0.9996, 0.1689, -1.2375, 0.4923, -0.3876,
    -0.4258, 0.1939, -1.2648, -0.7518, -0.0668, -0.3231, 0.3437, -1.7402, -0.8487, 1.2584, -2.4756, -0.0, 1.0691, -1.7069,
    -0.5142, -0.4061, -0.392, -0.4804, 1.5443, 0.3845, 0.7096, 0.6789, 0.2665, 0.0816, -1.9759, -0.102, -1.0725, 0.2701,
    -0.7402, -2.2446, -1.8386, 1.2732, 1.3206, -0.308, 0.3261, 0.5705, -0.4766, 1.0535, -0.5719, 0.5121, -0.4617, 0.5586,
    1.0437, -1.1013, -0.9802, -0.9902, -0.0828, 0.1835, -1.2731, -2.6703, 0.4345, -0.3912, 0.1889, -0.6851, -0.113, -1.0506,
    -0.228, 0.6508, -1.625, 2.048, 0.9736, -0.1067, 1.8681, -1.3089, -0.1171, 0.9937, -1.0246, 0.6184, 0.5053, -1.0011, 0.377,
    0.2741, -1.1922, 0.4168, -0.249, 1.402, 1.1949, 1.2986, -0.038, -1.2302, -1.218, 0.5741, 0.5062, 0.2718, -1.4174, -1.5627,
    0.8773, -0.3067, -0.7519, -0.7636, -0.9924, -0.0477, 0.469, 0.5718, 0.4745, -0.0208, -0.2401, -0.3246, 0.7303, -0.0623,
    0.5854, -0.5273, 0.1014, -0.7765, 0.9868, 0.0254, 1.3401, -0.0, -1.1044, 2.1088, 0.5324, -0.0554, 0.2514, -1.0354, -0.0745,
    -1.5286, 1.6481, 0.3897, -1.2271, 0.1867, -0.0321, 1.7583, -2.717, 0.6747, 0.5015, 0.0266, -0.3982, 0.9634, -0.6026, 1.0422,
    -1.063, 0.0278, 0.7431, -0.0035, 0.3194, -1.3468, -1.178, 0.3049, 1.0093, 0.7433, 0.0636, -0.1331, -0.8973, 0.1435, -1.2536,
    0.9634, 0.9076, -1.5011, 1.7034, 0.2171, -0.4581, 0.2818, -0.2923, 0.8157, 0.8355, 0.6583, 1.8986, 0.1889, -2.0364, 0.912,
    2.0781, -0.9128, 0.1746, 1.6465, 1.0494, 0.6325, 1.142, -0.1645, 1.0941, -1.2529, 0.0982, -0.3641, -2.4417, 1.0711, 2.0613,
    -0.9204, -0.4577, 0.0241, -0.7181, -0.3363, 0.9898, 0.1001, -1.3502, 0.2529, -1.6495, -0.4668, 0.039, -0.2968, 0.4257,
    0.5961, -0.6018, 0.6747, 1.3047, -0.3681, -1.7336, -0.5678, -0.0933, 0.019, 1.2811, -1.6038, -1.4103, -0.9606, -1.2763,
    -0.0, 0.2402, -0.3521, 2.0408, -1.3202, 0.8808, -0.123, 0.419, 0.4296, -0.3522, 1.8482, -2.4618, 1.9169, 0.9421, -1.0762,
    0.5976, -0.8324, 0.8916, -0.0732, -0.8519, -0.0497, -0.1131, -1.3661, 0.4023, -0.8995, -0.5624, 0.9996, 1.0215, -0.4633,
    0.5676, 1.6582, 0.2014, -1.281, 0.1803, -1.1791, 0.0652, 0.8622, 0.629, -0.3195, -0.5431, -1.5646, -1.5853, 0.4272, 2.0551,
    0.6288, -0.365, 1.6411, 0.1509, -1.3918, 1.0542, 0.3442, -0.6868, -0.7899, 0.437, -0.6154, -1.7263, -0.1041, -0.6807,
    -1.0538, 0.9985, -1.9566, -0.6697, -0.8772, -0.104, -0.8724,
)
# fmt: on
"""The coefficient of each dimension of the message's vector."""

MESSAGE_BY_WORDS: Final = RankerWeights(
    bias=-16.669,
    of={
        "is_question": 2.3883,
        "words": 2.459,
        "telling": -0.7505,
        "telling_share": 0.229,
        "digits": -25.1741,
        "letters": 1.6323,
        "is_call": -1.6695,
        "length": 3.548,
    },
)
"""The same model for messages without a vector."""

ASKS: Final = RankerWeights(
    bias=-0.8174,
    of={
        "best": 0.3539,
        "fifth": 0.1748,
        "sum": -0.2245,
        "likeness": 12.3499,
        "leaning": -0.8493,
        "leaning_sum": -0.8062,
        "message": 1.0436,
    },
)
"""The model of the probability that a message asks for something, from `message_score` and `worth.recall_features`."""

ASKS_BY_WORDS: Final = RankerWeights(
    bias=-0.6918,
    of={
        "best": 0.3437,
        "fifth": 0.2167,
        "sum": -0.1237,
        "likeness": 6.1724,
        "leaning": -0.7148,
        "leaning_sum": -0.7998,
        "message": 1.0655,
    },
)
"""The same for messages without a vector."""

HOLDS: Final[Mapping[str, RankerWeights]] = {
    "fact": RankerWeights(
        bias=1.0263,
        of={
            "best": 0.6067,
            "cosine": 1.9468,
            "coverage": 0.7747,
            "unknown": -1.8559,
        },
    ),
    "passage": RankerWeights(
        bias=-4.1216,
        of={
            "best": 0.8864,
            "cosine": 14.4481,
            "coverage": 2.0373,
            "unknown": -2.4331,
            "leaning": 6.7221,
        },
    ),
    "turn": RankerWeights(
        bias=2.1877,
        of={
            "best": 1.0532,
            "cosine": 5.1052,
            "coverage": -0.1858,
            "unknown": -3.2565,
            "leaning": 8.9115,
        },
    ),
}
"""By kind of candidate: the model of the probability that the candidates hold an answer; `holding` makes the features."""

HOLDS_BY_WORDS: Final[Mapping[str, RankerWeights]] = {
    "fact": RankerWeights(
        bias=2.3288,
        of={
            "best": 0.7028,
            "coverage": 0.5326,
            "unknown": -1.7068,
            "leaning": 2.0463,
        },
    ),
    "passage": RankerWeights(
        bias=7.41,
        of={
            "best": 2.2126,
            "coverage": -1.3048,
            "unknown": -2.2721,
            "leaning": 4.561,
        },
    ),
    "turn": RankerWeights(
        bias=6.0499,
        of={
            "best": 1.4045,
            "coverage": -0.5816,
            "unknown": -3.3799,
            "leaning": 0.094,
        },
    ),
}
"""The same for messages without a vector."""
