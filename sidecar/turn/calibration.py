"""Fitted numbers beside the ranker's weights. Written by `python -m bench calibrate`; do not edit by hand.

Curves and HOLDS: fitted on 2026-11-23 by the functions of the command, on 761 messages recorded from a service with six
conversations (three of each set), each with sixty of its own questions, fifteen of another's and eight to documents, and on 80
follow-ups; questions to a set were turned towards answers by a map fitted on the other. The command asks and fits in the same
way (`python -m bench calibrate --data DIR --scale 0.4 --only 3`), but was not run to its end since. The others are as it fitted
them before, on 1,352 messages. The SHA-256 of the data begins 50deaca1f1666838. Data: LoCoMo, REALTALK, chunking_evaluation,
CANARD (measured on, never shipped) and `bench/small_talk.json` (own). A message asks for something if it is no small talk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sidecar.turn.curves import RelevanceCurve
from sidecar.turn.weights import RankerWeights

CALIBRATION: Final[Mapping[str, RelevanceCurve]] = {
    "fact": RelevanceCurve(
        points=(
            (-11.1776, -7.4616),
            (-6.057, -3.0426),
            (-4.5718, -2.3935),
            (-3.2963, -2.3073),
            (-2.3348, -1.5065),
            (-1.407, -0.9663),
            (-0.3668, -0.6314),
            (0.7017, -0.6012),
            (2.4859, -0.6012),
        ),
        lead=0.5801,
    ),
    "passage": RelevanceCurve(
        points=(
            (-11.6532, -4.9848),
            (-7.5989, -1.687),
            (-5.4787, -1.1527),
            (-4.6054, -1.1232),
            (-3.704, -0.7832),
            (-3.1876, -0.6498),
            (-2.4089, -0.4869),
            (-1.8608, -0.153),
            (-0.8334, 0.1245),
            (-0.0503, 0.2522),
        ),
        lead=1.5969,
    ),
    "turn": RelevanceCurve(
        points=(
            (-12.4858, -9.4419),
            (-7.8994, -4.1469),
            (-5.7824, -3.5557),
            (-4.5636, -2.8814),
            (-3.6523, -2.4719),
            (-2.7698, -2.0714),
            (-1.9269, -1.52),
            (-1.1245, -0.9827),
            (-0.3435, -0.6639),
            (0.6719, -0.4248),
            (2.1763, -0.4248),
        ),
        lead=0.5163,
    ),
}
"""By kind of candidate: log odds as the ranker gives them, and those observed where the kind holds an answer."""

MESSAGE: Final = RankerWeights(
    bias=-3.7082,
    of={
        "is_question": 1.8295,
        "words": 1.6651,
        "telling": -0.6204,
        "telling_share": 0.403,
        "digits": -20.4076,
        "letters": -1.7226,
        "is_call": -2.6727,
        "length": 1.3545,
    },
)
"""How a message reads, with its vector: log odds that it asks for something."""

# fmt: off
MESSAGE_VECTOR: Final[tuple[float, ...]] = (
    0.1805, 0.9006, 0.6913, 0.1044, -0.2814, 1.4737, -1.8015, -0.4032, -1.097, 0.0996, -0.83, -0.3963, 1.4316, -0.0355,
    0.6174, -0.3549, 0.4134, -0.7042, 0.7941, 0.023, -0.5203, 0.6958, -0.3757, 0.039, 0.3125, 1.1243, -0.9969, -0.1648,
    0.1337, 0.6333, 0.5446, -1.0168, -1.0862, 0.5372, -0.1395, 0.6171, 1.0059, 0.7635, -0.6718, 0.5115, -1.0547, -0.238,
    0.6074, 0.0039, -0.8258, -0.644, -0.5048, -0.1434, -0.9888, 0.0865, 1.4324, -0.9984, -0.1435, -0.9164, 0.78,
    -0.0804, -0.637, -0.3715, -0.4095, 0.8166, -1.7622, 0.9278, 1.2203, 0.2226, -0.3168, 0.2942, -0.2116, 0.2578,
    1.6628, -0.3932, -0.3898, -0.041, 0.8632, -1.6658, 0.3854, -0.2468, 1.0968, -0.2785, -0.6227, -0.4488, -0.9091,
    0.5376, 0.1544, 0.3872, 0.0878, 0.7293, -0.3018, -1.6519, -0.2948, -0.2912, 1.1559, -0.7316, -0.4745, 0.9796,
    1.1355, 0.0362, 0.4353, 0.246, 1.5744, -0.5486, -0.8532, 0.1312, 0.262, -1.5572, 0.011, -1.406, 0.4133, -0.282,
    -0.7361, 0.0219, -0.2197, -0.8834, 0.373, 0.0037, -0.1185, -0.3582, 1.2054, -0.1384, -1.3099, -0.6341, 0.3852,
    0.5561, 0.4081, -1.2428, -0.0581, 0.8723, -1.6514, 0.0, 1.1799, -1.7377, -1.0458, 0.548, 0.4063, 1.413, 1.1083,
    0.5553, 0.5837, -0.0593, 0.7892, 0.1616, -0.9362, -0.4697, 0.276, 0.4292, 0.3819, -0.1198, -1.2959, -0.5873, 0.605,
    -0.6717, 1.0673, 0.1984, 0.0708, 0.8986, -0.4694, -0.4242, 0.1363, -0.1344, -0.4127, -0.5319, -0.5358, -0.6529,
    0.8908, 1.3221, -0.3311, -1.4501, 0.1014, 0.1707, -0.8324, 0.3218, -0.5781, -1.7328, 0.5282, -0.1844, -1.0303,
    1.0247, 0.8244, -0.7, 1.9883, -1.5891, -0.4396, 0.9256, -0.9642, -0.0717, -0.7851, -0.6148, 1.0731, 0.3571, -0.4641,
    0.121, -0.2914, 0.6984, 0.6202, 1.7157, 0.9382, 0.2118, -1.1335, 0.6848, 0.1722, 0.1762, -0.8047, -1.3545, 0.2323,
    -0.3572, -0.9245, -0.886, -0.6669, -0.728, 0.72, -0.1923, 1.1108, 0.267, -0.5346, -0.9315, 1.0013, 0.9701, -0.9352,
    -0.6013, 0.2819, -0.3568, 0.3717, -0.7839, 1.4036, -0.0, -1.1283, 0.5168, -0.4542, -0.6791, 0.3387, -0.3282, 0.1899,
    -2.0166, 0.8587, 0.2332, -1.8226, -0.632, 0.5549, 1.305, -1.6801, -0.0371, 0.7294, -1.5831, -0.0824, 0.7882, 0.9755,
    -0.0172, -0.8998, -0.7956, 1.218, 0.5844, -0.1122, 0.0244, -1.5523, 0.2174, 0.7536, 0.9313, 0.3388, -0.7156, 0.1885,
    1.4664, -1.1261, 0.713, 1.5234, -0.7271, 0.4742, -0.8593, -0.0519, 0.0426, 0.0195, 0.647, 0.3504, 0.2108, 1.8139,
    0.274, -2.0435, -0.9783, 0.3745, -0.7678, -0.4172, 0.6539, 0.3377, 0.3944, 0.9537, -0.1236, 1.3702, -0.4338,
    -0.3877, -0.8501, -1.8902, 0.2809, 1.747, -1.3311, -0.2964, 0.4616, -0.3472, -0.1946, 1.3814, 0.2249, -0.8453,
    0.7734, -0.9188, -0.1084, -0.5165, 1.3546, 0.0624, 0.2831, 0.305, 1.2789, 0.5465, 0.0349, -1.4152, -0.7187, -0.9511,
    -0.4388, 0.2795, -2.0746, -1.2084, -0.9132, -0.5324, -0.0, 0.0357, -0.3162, 1.3366, -0.044, 0.5617, 0.0121, 0.412,
    0.4716, 0.0662, 1.5914, -1.8806, 0.4944, 1.0643, -0.7796, 0.0592, -0.4645, 0.2737, -1.4167, -0.8976, -0.2186,
    -0.1899, -1.1944, 0.0097, -2.0228, -0.1993, 0.7478, 1.0315, -0.6422, -0.6069, 1.9277, 0.6978, -2.0502, 0.8032,
    0.0018, 0.0918, 0.2608, 0.7169, 0.2885, -0.4718, -1.2347, -0.4343, 1.5061, 0.196, -0.1311, 0.5627, 1.639, -0.3532,
    -0.5969, 0.5302, 0.4356, -0.0153, 0.5501, 0.7696, -0.424, -0.7666, 0.1974, -1.0141, -0.4708, 0.6938, -1.1179,
    -1.0648, -0.3622, 0.2148, 0.2389,
)
# fmt: on
"""What each dimension of the message's vector adds to these."""

MESSAGE_BY_WORDS: Final = RankerWeights(
    bias=-7.7144,
    of={
        "is_question": 2.166,
        "words": 2.6478,
        "telling": -1.6634,
        "telling_share": 0.4873,
        "digits": -17.1349,
        "letters": -0.241,
        "is_call": -2.3734,
        "length": 1.7323,
    },
)
"""The same without a vector."""

ASKS: Final = RankerWeights(
    bias=-2.7228,
    of={
        "best": 0.5105,
        "fifth": 0.0814,
        "sum": -0.6112,
        "message": 1.5535,
    },
)
"""Whether a message asks for something, by how it reads and by what recall brings back."""

ASKS_BY_WORDS: Final = RankerWeights(
    bias=-1.5505,
    of={
        "best": 0.6279,
        "fifth": 0.1556,
        "sum": -0.8279,
        "message": 1.532,
    },
)
"""The same for messages read without a vector."""

HOLDS: Final[Mapping[str, RankerWeights]] = {
    "fact": RankerWeights(
        bias=0.8022,
        of={
            "best": 0.5731,
            "cosine": 1.5969,
            "coverage": 0.9164,
            "unknown": -1.5888,
            "leaning": 2.0629,
        },
    ),
    "passage": RankerWeights(
        bias=0.7257,
        of={
            "best": 1.1992,
            "cosine": 4.0843,
            "coverage": 2.3764,
            "unknown": -0.7659,
            "leaning": 5.5205,
        },
    ),
    "turn": RankerWeights(
        bias=1.0793,
        of={
            "best": 0.9895,
            "cosine": 6.8649,
            "coverage": 1.0024,
            "unknown": -2.6771,
            "leaning": -1.0256,
        },
    ),
}
"""By kind of candidate, whether those that were found hold an answer; `holding` makes the features."""
