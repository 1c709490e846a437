"""What is computed from texts is kept: of long ones, the last up to a bound of characters together."""

from __future__ import annotations

from store.text.text_cache import MOST_CHARS, MOST_LONG_CHARS, cached_by_text


def test_long_texts_are_kept_up_to_a_bound_of_characters_together() -> None:
    calls: list[str] = []

    @cached_by_text(2)
    def length(text: str) -> int:
        calls.append(text[0])
        return len(text)

    short, third = "x" * MOST_CHARS, MOST_LONG_CHARS // 3
    texts = [short, *(name * third for name in "abc"), "endless" * MOST_LONG_CHARS]
    assert [length(one) for one in texts] == [length(one) for one in texts] == [len(one) for one in texts]
    assert calls == ["x", "a", "b", "c", "e", "e"]
    for name in "dbac":
        length(name * third)
    assert calls[6:] == ["d", "a"], "the oldest was dropped for each new one"
