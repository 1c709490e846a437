"""The cache of the words of a workspace's files is bounded, and keeps what is read again."""

from __future__ import annotations

from sidecar.sources.workspace import WordCache


def test_files_without_words_are_bounded_too() -> None:
    cache = WordCache(most_words=1000)
    for number in range(1000):
        cache.put((number,), frozenset())
    assert 0 < len(cache) < 1000


def test_file_that_is_read_again_outlives_one_that_is_not() -> None:
    cache = WordCache(most_words=100)
    words = frozenset(str(number) for number in range(30))
    cache.put((1,), words)
    cache.put((2,), words)
    assert cache.get((1,)) == words
    cache.put((3,), words)
    assert (cache.get((1,)), cache.get((2,)), cache.get((3,))) == (words, None, words)


def test_version_put_twice_counts_once() -> None:
    cache = WordCache(most_words=100)
    for _ in range(10):
        cache.put((1,), frozenset("abc"))
    cache.put((2,), frozenset("def"))
    assert len(cache) == 2
