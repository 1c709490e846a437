"""What is computed from short texts is kept; what is computed from long ones is not."""

from __future__ import annotations

from store.text.short_texts import MOST_CHARS, cached_if_short


def test_long_texts_are_not_kept() -> None:
    calls: list[int] = []

    @cached_if_short(2)
    def length(text: str) -> int:
        calls.append(len(text))
        return len(text)

    short, long = "x" * MOST_CHARS, "x" * (MOST_CHARS + 1)
    assert [length(one) for one in (short, short, long, long)] == [len(short), len(short), len(long), len(long)]
    assert calls == [len(short), len(long), len(long)]
