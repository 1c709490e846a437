"""Meters: additive over pieces, the same from stored counts, cautious where they estimate, right for every model."""

from __future__ import annotations

import pytest

from models.errors import UncountableText
from models.tokens.calibration import Calibration
from models.tokens.catalog import CATALOG, Catalog
from models.tokens.encodings import ENCODINGS
from models.tokens.estimates import CLASSES, WEIGHTS, class_counts
from models.tokens.meters import EstimateMeter, ExactMeter, Meter, calibration_key, meter_for, stored_counts
from models.tokens.prices import Model, ModelWindow

METERS: tuple[Meter, ...] = (
    *(ExactMeter(encoding, 0.005) for encoding in ENCODINGS),
    *(EstimateMeter(family, ratio, 0.08) for family in WEIGHTS for ratio in (700, 1237)),
)


@pytest.mark.parametrize("meter", [ExactMeter("o200k_base", 0.0), EstimateMeter("claude_3", 1000, 0.0)])
@pytest.mark.parametrize("batch", [["ok \ud83d!"], ["x"] * 20 + ["ok \ud83d!"]])
def test_lone_surrogate_is_refused_with_its_position_and_the_fix(meter: Meter, batch: list[str]) -> None:
    with pytest.raises(UncountableText, match=r"replace it with U\+FFFD.*\(U\+D83D at character 3\)") as refusal:
        meter.count(batch)
    assert refusal.value.position == 3
    with pytest.raises(UncountableText):
        stored_counts(batch[-1])
    with pytest.raises(UncountableText):
        class_counts(batch[-1])


def test_every_text_but_the_empty_one_costs_tokens() -> None:
    assert [meter.count(["", "\x00", "a"])[0] for meter in METERS] == [0] * len(METERS)
    assert all(meter.count_one(text) >= 1 for meter in METERS for text in ("\x00", "a", " ", "的"))
    assert all(meter.count([]) == [] for meter in METERS)


def test_characters_are_classed_by_script() -> None:
    counted = dict(zip(CLASSES, class_counts("Ab 1é Жд مر नម 東京 서울 — 👍!"), strict=True))
    assert counted == {
        "ascii": 12, "upper": 1, "digit": 1, "mark": 1, "space": 8, "latin": 1, "greek_cyrillic": 2, "semitic": 2,
        "indic": 2, "other": 5, "astral": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "claude_3", "claude_4_7"),
    [
        # Tokens of each generation of Claude, from reconstructions of its tokenizers.
        (
            "The council met on Tuesday to discuss the new library, and nobody could agree on where it should stand.",
            21,
            31,
        ),
        ("for key, value in sorted(settings.items()):\n    print(f'{key} = {value!r}', file=stream)\n", 31, 36),
        ('{"name": "Ana", "city": "Porto", "visited": ["2024-05-01", "2025-06-02"], "score": 4.5}', 39, 47),
        ("明日の午後三時に東京駅で待ち合わせましょう。", 24, 23),
    ],
)
def test_estimate_for_claude_is_cautious_but_not_wasteful(text: str, claude_3: int, claude_4_7: int) -> None:
    for family, truth in (("claude_3", claude_3), ("claude_4_7", claude_4_7)):
        assert 0.9 * truth <= EstimateMeter(family, 1000, 0.0).count_one(text) <= 1.45 * truth


def test_every_tokenizer_of_the_table_has_a_meter() -> None:
    for model_id in CATALOG.by_id:
        meter = meter_for(model_id)
        assert meter.is_exact == (meter.name in ENCODINGS)
        assert meter.count_one("a context") >= 2
        assert meter.headroom_ratio == (0.005 if meter.is_exact else 0.08)


@pytest.mark.parametrize(
    ("model_id", "name"),
    [
        ("gpt-4o-2024-08-06", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("openai.gpt-oss-120b-1:0", "o200k_harmony"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude_3"),
        ("global.anthropic.claude-opus-5", "claude_4_7"),
        ("something-new", "claude_3"),
    ],
)
def test_a_model_gets_its_own_tokenizer(model_id: str, name: str) -> None:
    assert meter_for(model_id).name == name


def test_a_learned_ratio_is_applied_once_it_is_trusted() -> None:
    text = "The council met on Tuesday. " * 50
    cold = meter_for("claude-opus-5").count_one(text)
    for reports, factor in ((4, 1.0), (5, 1.25)):
        learned = {"claude-opus-5": Calibration(ratio=1.25, error=0.02, report_count=reports)}
        meter = meter_for("eu.anthropic.claude-opus-5", learned)
        assert meter.ratio == factor
        assert abs(meter.count_one(text) - factor * cold) <= 2


def test_exact_count_is_never_corrected_but_its_headroom_grows() -> None:
    learned = {"gpt-4o": Calibration(ratio=1.04, error=0.01, report_count=9)}
    meter = meter_for("gpt-4o", learned)
    assert meter.ratio == 1.0
    assert meter.count_one("a b c") == meter_for("gpt-4o").count_one("a b c")
    assert meter.headroom_ratio == pytest.approx(0.06)


def test_calibration_of_a_model_has_one_key_for_all_its_ids() -> None:
    ids = (
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5@20250929",
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    )
    assert {calibration_key(model_id) for model_id in ids} == {"claude-sonnet-4-5"}
    assert calibration_key("us.acme.llm-v1:0") == "acme.llm"


def test_model_of_another_catalog_gets_its_named_tokenizer() -> None:
    catalog = Catalog({"house-model": Model("house-model", ModelWindow(32_000), "mistral_tekken")})
    assert meter_for("house-model", catalog=catalog).name == "mistral_tekken"
