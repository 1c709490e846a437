"""Where sentences end, script by script."""

import pytest

from store.text.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, 0, len(text))]


@pytest.mark.parametrize(
    "expected",
    [
        ["The harbour opens at dawn.", "Boats leave one by one!", "Does anybody watch them?", "Nobody does."],
        ["Dr. Smith met Mrs. Jones at 3.30 p.m. on Main St. No. 5.", "They talked for a long while."],
        ["See e.g. the U.S. report, Fig. 3, and J. R. Miller et al. there.", "It is long and it is dull."],
        ["He asked them “Is this really the way?” and went on.", "Nobody gave him any answer."],
        ["She said (quite loudly, too.)", "Then she left the room."],
        ["Wait for the tide... then go out.", "It turned out to be late…", "They left without us."],
        ["Version 2.4.1 came out in 2024.", "Version 3 is due in a year."],
        [
            "Dave says that it isn't.",
            "We met J. Hall at Jo’s.",
            "She said that she couldn’t.",
            "It was a long evening.",
        ],
        ["Am 3. Mai kam Hr. Weber z.B. mit dem Zug an.", "Er blieb bis zum Abend dort."],
        ["Es ist ca. 5 km bis zur Küste, d.h. eine Stunde.", "Danach kommt das Meer in Sicht."],
        ["Fomos com a mãe à Dra. Filomena e ao Eng. Sousa.", "Correu tudo bem no fim."],
        ["Die Wohnung ist uns zu eng.", "Wir ziehen im Mai um."],
        ["La Sra. Díaz llegó tarde a la reunión.", "¿Quién la estaba esperando allí?", "¡Nadie la esperaba, claro!"],
        [
            "港口在黎明时分向所有的船只开放并收取费用。",
            "最后一艘船在黄昏之后很久才终于回到家里！",
            "有人在看着它们一艘一艘地回来吗？真的没有人。",
        ],
        [
            "この港は夜明けとともにすべての船に開かれる。",
            "「誰がそれをずっと見ているのだろうか？」",
            "誰もそれを見てはいないのだと彼は言った。",
        ],
        ["يفتح الميناء عند الفجر كل يوم.", "هل يراقب أحد القوارب هناك؟", "لا أحد يراقبها في الصباح."],
        ["बंदरगाह भोर में खुलता है।", "नावें एक एक करके निकलती हैं।", "कोई उन्हें नहीं देखता॥"],
        ["Гавань открывается на рассвете, см. стр. 5.", "Лодки уходят по одной в море."],
        ["Նավահանգիստը բացվում է լուսաբացին։", "Նավակները հեռանում են մեկ առ մեկ։"],
        ["ወደቡ ጎህ ሲቀድ ለሁሉም ይከፈታል።", "ጀልባዎች አንድ በአንድ ይወጣሉ።"],
    ],
    ids=lambda expected: expected[0][:12],
)
def test_sentences_end_where_a_reader_ends_them(expected: list[str]) -> None:
    joint = "" if expected[0][0] in "港こ" else " "
    assert sentences(joint.join(expected)) == expected


def test_very_short_sentences_are_joined_to_the_next() -> None:
    assert sentences("No. Yes. Well, perhaps we might. Others say we should not.") == [
        "No. Yes. Well, perhaps we might.",
        "Others say we should not.",
    ]
