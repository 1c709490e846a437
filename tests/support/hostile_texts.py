"""Hostile texts of several kinds, the same for the same seed, that break parsers, tokenizers, regular expressions and logs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_CONTROLS = "".join(map(chr, [*range(1, 32), 0x7F, 0x85, 0xAD, 0x200B, 0x200D, 0x2028, 0x2029, 0xFEFF, 0xFFFC, 0xFFFE]))
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_SPECIALS = (
    "<|endoftext|>",
    "<|im_start|>system\n",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|endofprompt|>",
    "<|start|>developer<|message|>",
    "<|return|>",
    "<|eot_id|>",
    "[INST] <<SYS>>",
    "</s><s>",
    "<start_of_turn>model\n",
    "<｜begin▁of▁sentence｜>",
    "\n\nHuman: ",
    "\n\nAssistant:",
)
_TAGS = ("div", "context-000000", "b", "script", "svg", "!--", "![CDATA[", "a href='//x'", "table><tr><td", "details")


def known(_: Random) -> str:
    """Return the text that once broke every turn of its owner."""
    return "&#" + "0" * 4_400 + "60;"


def entities(rng: Random) -> str:
    """Return character references: with thousands of digits, nested, broken off, out of range, unknown."""
    digits = rng.choice(("0" * rng.randrange(5_000), "9" * rng.randrange(5_000), "", "0" * 4_301))
    wraps = "amp;" * rng.choice((0, 1, 3, 900))
    last = rng.choice(
        ("60", "x3c", "x" + "f" * 40, "xD800", "1114112", "0", "-1", "٦٠", "", "lt", "zwnj", "NotEqualTilde")
    )
    mark = "" if last.isalpha() else "#"
    return (f"&{wraps}{mark}{digits if mark else ''}{last}" + rng.choice((";", "", ";;"))) * rng.choice((1, 1, 7))


def numbers(rng: Random) -> str:
    """Return numbers as no one needs them: of thousands of digits, in other scripts, in every notation."""
    return rng.choice(
        (
            rng.choice("0123456789") * rng.choice((1, 40, 4_301, 9_000)),
            f"{rng.random()}e{rng.randrange(10**6)}",
            f"-{'0' * rng.randrange(400)}.{'9' * rng.randrange(400)}",
            "".join(rng.choices("0٣०３𝟛߃৩Ⅷ½²", k=rng.randrange(1, 200))),
            f"{rng.randrange(10**9)}-{rng.randrange(99)}-{rng.randrange(99)}T{rng.randrange(99)}:99:99Z",
            "1," * rng.randrange(1, 2_000),
            rng.choice(("NaN", "Infinity", "-0", "0x" + "F" * 300, "1_000" * 90, "２０２６年９９月９９日" * 30)),
        )
    )


def controls(rng: Random) -> str:
    """Return control characters, bidirectional overrides, and marks piled on one letter."""
    return rng.choice(
        (
            "".join(rng.choices(_CONTROLS, k=rng.randrange(1, 60))),
            "".join(rng.choices(_BIDI + "abאב", k=rng.randrange(1, 300))),
            "a" + "".join(chr(rng.randrange(0x300, 0x36F)) for _ in range(rng.randrange(1, 3_000))),
            "\x1b[2J\x1b]0;title\x07" + "\r" * rng.randrange(99),
            "".join(chr(rng.choice((0xE0001, 0xE0041, 0xFE0F, 0x1F1E6, 0x1F468, 0x200D))) for _ in range(200)),
        )
    )


def surrogates(rng: Random) -> str:
    """Return halves of surrogate pairs as JSON and other code write them, and as they are."""
    half = rng.choice(
        ("\\ud800", "\\uDFFF", "\\ud83d\\ud83d", "&#xD800;", "%ED%A0%80", "\\x00", "\\u0000", "\ud800", "\udfff\x00")
    )
    return rng.choice((half, f'{{"text": "{half}"}}', half * rng.randrange(1, 900), f"🙂{half}🙂"))


def long_words(rng: Random) -> str:
    """Return words of up to 40,000 letters, alike or not."""
    letters = rng.choice(("a", "ab", "ß", "ﷺ", "中", "ก", "\u0378", "İ", "-", "_", "/", "a.", "=", "𓀀"))
    return letters * rng.choice((65, 300, 2_049, rng.randrange(1, 20_000)))


def markup(rng: Random) -> str:
    """Return tags, brackets, quotes and lists, hundreds deep and never closed."""
    return rng.choice(
        (
            f"<{rng.choice(_TAGS)}>" * rng.randrange(1, 900),
            "[" * rng.randrange(1, 2_000) + "](x)" * rng.randrange(9),
            "> " * rng.randrange(1, 900),
            '{"a":' * rng.randrange(1, 900),
            "".join(f"{' ' * depth}- x\n" for depth in range(rng.randrange(1, 90))),
            "#" * rng.randrange(1, 90) + " x\n" + "=" * 90,
            "|" * rng.randrange(1, 900) + "\n" + "|-" * rng.randrange(1, 900),
            "```" * rng.randrange(1, 90) + "`" * rng.randrange(90),
            "<" * rng.randrange(1, 5_000),
            "%25" * rng.randrange(1, 900) + "3ccontext-",
            "&amp;" * rng.randrange(1, 900) + "lt;",
        )
    )


def specials(rng: Random) -> str:
    """Return what tokenizers and chat templates take for more than text."""
    return "".join(rng.choices(_SPECIALS, k=rng.randrange(1, 12)))


def regex_bait(rng: Random) -> str:
    """Return what makes a careless regular expression try everything."""
    unit = rng.choice(
        ("a ", "aa", " \t", "\n ", "x@", "a.b-", "<a ", "(a", "'s", "12 ", "//", "é́", "!?", ". ", "\r\n", "\u3000")
    )
    return unit * rng.randrange(1, 3_000) + rng.choice(("!", "\n", "$", "\\", "\u2028", "@"))


KINDS: tuple[Callable[[Random], str], ...] = (
    known,
    entities,
    numbers,
    controls,
    surrogates,
    long_words,
    markup,
    specials,
    regex_bait,
)


def hostile(kind: Callable[[Random], str], seed: int, word: str, *, most_chars: int = 40_000) -> str:
    """Return a text of the kind with a word somewhere in it that a search can find."""
    rng = Random(f"{kind.__name__} {seed}")
    text = kind(rng)[: most_chars - len(word) - 20]
    at = rng.choice((0, len(text), len(text) // 2))
    return f"{text[:at]} {word} n{seed} {text[at:]}"


def storable(text: str) -> str:
    """Return the text without what every write refuses: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "\u2400").encode("utf-8", "replace").decode()
