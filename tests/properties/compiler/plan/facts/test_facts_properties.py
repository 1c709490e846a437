"""Facts exchanged between sentences are seen, in many languages and ways to write them, and a rewording is no change."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from compiler.plan.facts.facts import lost, read

THINGS = ("gate", "alarm", "garage", "phone", "cellar", "locker")
NAMES = ("Maria", "Pedro", "Luis", "Carla", "Zoë", "Jürgen")
CODES = (
    "The {t} code is {n}.", "Der Code für {t} ist {n}.", "El código de {t} es {n}.", "Le code de {t} est {n}.",
    "Код {t} равен {n}.",
    "{t}の番号は{n}です。", "{t}的密码是{n}。",
    "رمز {t} هو {n}.", "{t} का कोड {n} है।", "รหัส {t} คือ {n}",
)  # fmt: skip
KEYS = (
    "{p} has the key of the {t}.", "The key of the {t} is with {p}.", "{p} and nobody else opens the {t}.",
    "Der Schlüssel für {t} ist bei {p}.", "La llave de {t} la tiene {p}.", "{t}の鍵は{p}が持っています。", "Ключ {t} у {p}.",
)  # fmt: skip
LIKES = (
    ("{p} likes the {t}.", "{p} does not like the {t}."), ("{p} mag {t}.", "{p} mag {t} nicht."),
    ("A {p} le gusta {t}.", "A {p} no le gusta {t}."), ("{p} aime {t}.", "{p} n'aime pas {t}."),
    ("{p} gosta de {t}.", "{p} não gosta de {t}."), ("{p} ama {t}.", "{p} non ama {t}."), ("{p} любит {t}.", "{p} не любит {t}."),
    ("{p}は{t}が好きです。", "{p}は{t}が好きではない。"), ("{p}喜欢{t}。", "{p}不喜欢{t}。"), ("{p} يحب {t}.", "{p} لا يحب {t}."),
    ("{p} houdt van {t}.", "{p} houdt niet van {t}."), ("{p} lubi {t}.", "{p} nie lubi {t}."),
    ("{p} gillar {t}.", "{p} gillar inte {t}."), ("{p}는 {t}를 좋아한다.", "{p}는 {t}를 좋아하지 않는다."),
    ("{p} אוהב {t}.", "{p} לא אוהב {t}."), ("{p} को {t} पसंद है।", "{p} को {t} पसंद नहीं है।"),
    ("{p} thích {t}.", "{p} không thích {t}."), ("{p} suka {t}.", "{p} tidak suka {t}."),
)  # fmt: skip
TRIPS = (
    "The trip to {t} starts on {m} {d}, {y}.", "The trip to {t} starts on {d} {m} {y}.",
    "The trip to {t}: {y}-{mm:02d}-{d:02d}.",
)  # fmt: skip
MONTHS = {"January": 1, "March": 3, "May": 5, "July": 7, "October": 10, "December": 12}
DIGITS = ("0123456789", "٠١٢٣٤٥٦٧٨٩", "０１２３４５６７８９", "०१२३४५६७८९", "๐๑๒๓๔๕๖๗๘๙")
DATES = st.tuples(st.sampled_from(list(MONTHS)), st.integers(1, 28), st.integers(2020, 2027))


@dataclass(frozen=True)
class Rewrite:
    """Sentences before and after, and for each of the first whether its facts were changed."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    is_changed: tuple[bool, ...]


@st.composite
def codes(draw: st.DrawFn) -> Rewrite:
    form, digits = draw(st.sampled_from(CODES)), draw(st.sampled_from(DIGITS))
    things = draw(st.lists(st.sampled_from(THINGS), min_size=2, max_size=5, unique=True))
    numbers = draw(st.lists(st.integers(1000, 9999), min_size=len(things), max_size=len(things), unique=True))
    others = draw(st.permutations(numbers))
    written = (str(number).translate(str.maketrans(DIGITS[0], digits)) for number in others)
    after = [form.format(t=thing, n=number) for thing, number in zip(things, written, strict=True)]
    if form == CODES[0]:
        joint = draw(st.sampled_from([". ", " and ", ", ", "; ", " but "]))
        after = [joint.join(one.rstrip(".") for one in after) + "."]
    before = tuple(form.format(t=thing, n=number) for thing, number in zip(things, numbers, strict=True))
    return Rewrite(before, tuple(after), tuple(a != b for a, b in zip(numbers, others, strict=True)))


@st.composite
def keys(draw: st.DrawFn) -> Rewrite:
    form = draw(st.sampled_from(KEYS))
    things = draw(st.lists(st.sampled_from(THINGS), min_size=2, max_size=4, unique=True))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=len(things), max_size=len(things), unique=True))
    others = draw(st.permutations(names))
    made = [[form.format(t=t, p=p) for t, p in zip(things, some, strict=True)] for some in (names, others)]
    return Rewrite(tuple(made[0]), tuple(made[1]), tuple(a != b for a, b in zip(names, others, strict=True)))


@st.composite
def likes(draw: st.DrawFn) -> Rewrite:
    forms = draw(st.sampled_from(LIKES))
    things = draw(st.lists(st.sampled_from(THINGS), min_size=2, max_size=4, unique=True))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=len(things), max_size=len(things), unique=True))
    denied = [draw(st.lists(st.booleans(), min_size=len(things), max_size=len(things))) for _ in range(2)]
    made = [[forms[no].format(t=t, p=p) for t, p, no in zip(things, names, some, strict=True)] for some in denied]
    return Rewrite(tuple(made[0]), tuple(made[1]), tuple(a != b for a, b in zip(*denied, strict=True)))


@st.composite
def trips(draw: st.DrawFn) -> Rewrite:
    forms = [draw(st.sampled_from(TRIPS)) for _ in range(2)]
    things = draw(st.lists(st.sampled_from(THINGS), min_size=2, max_size=4, unique=True))
    dates = [draw(DATES) for _ in things]
    others = [one if draw(st.booleans()) else draw(DATES) for one in dates]
    made = [
        [form.format(t=t, m=m, d=d, y=y, mm=MONTHS[m]) for t, (m, d, y) in zip(things, some, strict=True)]
        for form, some in zip(forms, (dates, others), strict=True)
    ]
    changed = tuple(a != b for a, b in zip(dates, others, strict=True))
    return Rewrite(tuple(made[0]), tuple(made[1]), changed)


@given(st.one_of(codes(), keys(), likes(), trips()))
def test_fact_moved_to_another_sentence_is_noticed_and_one_that_stayed_is_not(rewrite: Rewrite) -> None:
    new = read(" ".join(rewrite.after))
    for old, is_changed in zip(rewrite.before, rewrite.is_changed, strict=True):
        assert bool(lost(read(old)[0], new).kinds) == is_changed, f"{old} | {rewrite.after}"


@given(st.one_of(codes(), keys(), likes()))
def test_reordered_sentences_lose_no_fact(rewrite: Rewrite) -> None:
    new = read(" ".join(reversed(rewrite.before)))
    assert not any(lost(read(old)[0], new).kinds for old in rewrite.before)


@given(st.text(), st.text())
def test_facts_are_read_from_any_text(old: str, new: str) -> None:
    for one in read(old):
        lost(one, read(new))
        assert not lost(one, read(old)).kinds
