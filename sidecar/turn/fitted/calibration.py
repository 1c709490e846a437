"""Fitted numbers other than the ranker's weights. Written by `python -m bench calibrate`; do not edit by hand.

Command: `python -m bench calibrate --data DIR --scale 0.5 --only 5`, 12104 messages, 2026-11-28. The SHA-256 of
the data begins e15d38664b64149a. Data: LoCoMo, REALTALK, chunking_evaluation, CANARD (measured on, never shipped), and
`bench/small_talk.json`, `bench/personal.json`, `bench/leaning_messages.json` and `bench/leaning_talks.json` (own). Relevance is
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
    bias=-12.2473,
    of={
        "is_question": 1.0726,
        "words": 2.6824,
        "telling": -0.2748,
        "telling_share": 0.1888,
        "digits": -23.2981,
        "letters": 1.3029,
        "is_call": -3.0408,
        "length": 2.9167,
    },
)
"""The model of the log odds that a message asks for something, from its form; `MESSAGE_VECTOR` is added."""

# fmt: off
MESSAGE_VECTOR: Final[tuple[float, ...]] = (
    -0.2457, 1.1795, -0.2992, -0.6449, -1.1747, 1.7355, -1.5302, -0.7687, -0.356, 0.0734, -1.3921, 0.4682, 2.1769, 0.3223,
    0.3023, -0.0065, 0.7228, -0.1457, 1.3428, -1.6363, -0.4407, 1.2831, 1.071, -1.1239, -0.3461, 1.4292, -1.2651, -1.2294,
    0.9152, 0.0069, 0.6476, -0.2707, -1.1592, 1.9387, 0.2149, 1.3161, 0.1417, 1.3581, -0.8451, 0.3205, 0.0613, -0.3114, 0.1236,
    -0.1818, 0.1331, 0.3015, -1.5097, -0.9188, -0.4962, -0.724, 0.2649, -1.4644, 1.1976, -0.9343, 0.8919, -1.4687, -0.5748,
    0.849, -0.1074, 0.6382, -1.6894, 0.9309, 0.9959, 0.5227, -0.3966, -0.5019, 1.4252, 0.0775, 2.793, -1.2379, -0.4742, -0.2952,
    0.5545, -2.0544, -0.2934, -0.5056, 1.223, -0.4261, 0.3043, -0.1412, -1.3565, 0.4134, 0.7961, 0.8702, 0.776, 1.0752, -1.6547,
    -0.2682, -0.2266, 1.2744, 1.8925, -0.7506, 0.1853, 1.4743, 0.1866, -0.5099, 1.7318, 0.7731, 1.7149, -0.4389, -1.6143,
    -0.4655, -0.0585, 0.0038, 0.5063, -1.1005, 1.2902, -0.7394, 1.5224, -0.0832, -0.1166, -1.3481, 0.275, -1.5865, 0.5892,
    -0.5743, -0.2661, -0.1577, -1.0673, -1.0051, 0.1561, -0.5978, 0.4995, -2.0578, -1.6393, 1.3833, -2.5754, -0.0, 0.9756,
    -2.0263, -0.4952, -0.5558, -0.5696, -0.4622, 2.0673, 0.4816, 0.5719, 1.1718, 0.0065, 0.1516, -2.0734, -0.1861, -1.0625,
    -0.0211, -0.0667, -2.6303, -2.2073, 1.3093, 1.1533, -0.7159, 0.296, 0.7282, -0.5064, 1.1867, -0.8139, 0.2539, -0.725,
    0.6039, 1.2828, -1.2272, -0.7887, -1.1627, 0.205, -0.0324, -0.9484, -2.85, 0.5822, -0.5552, 0.2269, -0.6061, -0.2598,
    -1.3633, -0.2117, 0.8051, -1.3982, 2.3061, 1.0947, -0.2995, 1.9802, -1.0333, -0.289, 0.9148, -1.5133, 0.3053, 0.6399,
    -1.0571, 0.4856, 0.3086, -0.8338, 0.6778, 0.0039, 1.1424, 1.2943, 1.6642, 0.3915, -1.4756, -1.3334, 0.4532, 0.297, 0.3167,
    -1.7019, -1.7122, 1.0914, -0.3578, -0.6348, -0.7013, -1.2158, 0.5671, 0.5131, 0.5177, 0.1992, 0.1888, -0.1571, -0.1538,
    0.2609, 0.1731, 0.6535, -0.8741, 0.3096, -0.9847, 1.0978, -0.0059, 1.301, -0.0, -1.1362, 2.5029, 0.5342, -0.0327, 0.2075,
    -0.9867, -0.0064, -1.5373, 1.713, 0.4501, -1.6175, -0.1452, 0.6773, 2.1984, -3.1798, 0.7327, -0.0027, -0.2791, -0.7527,
    0.7071, -0.6904, 1.176, -0.9084, 0.114, 0.3349, 0.0846, 0.741, -1.4143, -1.3243, 0.3501, 1.5465, 0.0433, -0.0858, 0.2663,
    -1.2902, 0.2428, -1.1152, 1.2524, 1.0764, -1.7121, 2.2611, 0.2821, -0.6015, 0.7545, -0.621, 0.6658, 1.1695, 0.6233, 1.9504,
    0.1801, -2.2168, 1.2644, 2.3446, -0.8297, 0.1617, 2.0279, 1.3361, 1.0436, 1.285, -0.4008, 1.2605, -1.0235, 0.0899, -0.2545,
    -2.9432, 1.1812, 2.0031, -1.2086, -0.7948, -0.0145, -1.1412, -0.1245, 1.354, 0.1405, -1.7126, 0.2143, -1.761, -0.4951,
    0.3711, -0.4598, 0.3045, 0.6115, -0.4773, 0.8101, 1.7114, -0.6323, -1.4882, -0.264, -0.4174, -0.2026, 1.1294, -1.9226,
    -2.0969, -1.1963, -1.5422, -0.0, 0.5598, -0.7195, 2.5796, -1.9244, 1.7015, 0.1012, 0.1906, 0.6067, -0.7296, 1.72, -2.4667,
    2.1032, 0.8294, -1.2914, 0.6969, -0.2882, 1.1455, -0.4865, -0.8612, -0.3585, -0.2276, -1.6378, 0.927, -1.0985, -0.7723,
    1.0315, 1.3391, 0.0225, 0.7268, 1.8745, 0.3738, -1.4104, 0.1553, -1.4259, -0.2316, 1.0737, 0.3765, -0.2371, -0.7571,
    -1.7621, -1.6005, 0.1786, 2.1144, 0.4859, -0.7934, 2.071, -0.1181, -1.8047, 0.8273, 0.372, -0.7778, -1.022, 0.5842, -0.8307,
    -2.0734, -0.3875, -1.0178, -1.1506, 0.6922, -2.0584, -0.5492, -0.9112, -0.428, -1.3183,
)
# fmt: on
"""The coefficient of each dimension of the message's vector."""

MESSAGE_BY_WORDS: Final = RankerWeights(
    bias=-14.3272,
    of={
        "is_question": 2.008,
        "words": 2.9881,
        "telling": -1.1571,
        "telling_share": 0.3273,
        "digits": -28.1864,
        "letters": 0.1333,
        "is_call": -2.1461,
        "length": 3.2018,
    },
)
"""The same model for messages without a vector."""

ASKS: Final = RankerWeights(
    bias=0.5849,
    of={
        "best": 0.5247,
        "fifth": 0.4152,
        "sum": -0.1392,
        "likeness": 9.3891,
        "leaning": -0.5275,
        "leaning_sum": -0.2682,
        "message": 1.0015,
    },
)
"""The model of the probability that a message asks for something, from `message_score` and `worth.recall_features`."""

ASKS_BY_WORDS: Final = RankerWeights(
    bias=0.9113,
    of={
        "best": 0.522,
        "fifth": 0.5444,
        "sum": -0.0845,
        "likeness": 7.1917,
        "leaning": -0.2574,
        "leaning_sum": -0.2396,
        "message": 1.0064,
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
