"""Texts from remote searches: how relevant they count, what is made of them, and how several answers become one order."""

from __future__ import annotations

from sidecar.backends.asking import TokenBucket
from sidecar.turn.remote import readable, relevance


def test_first_result_counts_without_a_shared_word_and_a_late_one_by_its_words() -> None:
    assert relevance(("boat",), "A vessel.", 0) == 0.6
    assert relevance(("boat",), "A vessel.", 50) < 0.2
    assert relevance(("boat", "winter"), "The BOAT", 50) == 0.5
    assert relevance((), "anything", 5) == 0.3


def test_lone_surrogates_and_nul_leave_a_mark() -> None:
    assert readable("a\ud800b\0c") == "a?b\ufffdc"


def test_rate_limiter_without_a_rate_never_waits() -> None:
    assert TokenBucket(0).wait_s(5.0) == 0.0
