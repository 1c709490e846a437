"""What of the thread stays verbatim: pairs, the last exchange, and where its middle is cut."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Any

import pytest

from sidecar.turn.fitting.history import MESSAGE_TOKENS, Exchange, fit_exchange, message_text, read
from sidecar.turn.fitting.tool_pairs import pair
from sidecar.turn.fitting.truncation import CUT_MARK, cut_middle
from sidecar.turn.items import HistoryTurn
from tests.support.turn.turn_cases import METER, a_call, a_result, a_turn, count


class CountingMeter:
    """Adds up how many characters it was asked to count."""

    name, is_exact, headroom_ratio = "counting", True, 0.0

    def __init__(self) -> None:
        self.chars = self.calls = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        self.chars += sum(map(len, texts))
        return METER.count(texts)

    def count_marked(self, marks: Sequence[str], lines: Sequence[str]) -> list[int]:
        return self.count(list(map(add, marks, lines)))

    def count_joined(self, texts: Sequence[Sequence[str]]) -> list[int]:
        return self.count(["".join(pieces) for pieces in texts])


def ids(units: Sequence[Any]) -> list[list[str]]:
    return [[turn.id.removeprefix("turn:") for turn in unit.turns] for unit in units]


def fit_last(*turns: HistoryTurn, pool: int) -> Exchange:
    return fit_exchange(read(turns, METER), pool, METER)


def test_a_call_and_its_results_are_one_unit() -> None:
    thread = [
        a_turn(1, "user", "find boats"),
        a_turn(2, "assistant", "", a_call("a"), a_call("b")),
        a_turn(3, "tool", "", a_result("a")),
        a_turn(4, "tool", "", a_result("b")),
        a_turn(5, "assistant", "two boats"),
    ]
    paired = pair(thread[::-1])
    assert ids(paired.units) == [["1"], ["2", "3", "4"], ["5"]]
    assert not paired.left_out
    assert paired.units[1].tokens == sum(turn.tokens for turn in thread[1:4])


@pytest.mark.parametrize(
    ("turns", "left_out", "emptied"),
    [
        ([a_turn(1, "tool", "", a_result("a"))], {"turn:1"}, {"turn:1"}),
        ([a_turn(1, "assistant", "let me see", a_call("a"))], {"turn:1"}, set()),
        (
            [a_turn(1, "tool", "", a_result("a")), a_turn(2, "assistant", "", a_call("a"))],
            {"turn:1", "turn:2"},
            {"turn:1", "turn:2"},
        ),
        (
            [a_turn(1, "assistant", "", a_call("a")), a_turn(2, "user", "wait"), a_turn(3, "tool", "", a_result(""))],
            {"turn:1", "turn:3"},
            {"turn:1", "turn:3"},
        ),
        (
            [
                a_turn(1, "assistant", "", a_call("a")),
                a_turn(2, "tool", "", a_result("a")),
                a_turn(3, "tool", "", a_result("a")),
            ],
            {"turn:3"},
            {"turn:3"},
        ),
        (
            [a_turn(1, "assistant", "x", a_call("a")), a_turn(2, "tool", "", a_result("z"))],
            {"turn:1", "turn:2"},
            {"turn:2"},
        ),
    ],
    ids=[
        "result alone",
        "call alone",
        "result first",
        "parted by the user, without an id",
        "answered twice",
        "another id",
    ],
)
def test_unpaired_call_or_result_is_left_out_with_the_reason(
    turns: list[HistoryTurn], left_out: set[str], emptied: set[str]
) -> None:
    paired = pair(turns)
    assert set(paired.left_out) == left_out
    assert all("no result" in why or "no call" in why for why in paired.left_out.values())
    assert {turn.id for turn in paired.emptied} == emptied
    sent = {turn.id: turn for unit in paired.units for turn in unit.turns}
    assert all(not turn.parts for turn_id, turn in sent.items() if turn_id in left_out)


@pytest.mark.parametrize("role", ["user", "system"])
def test_message_between_a_call_and_its_results_is_sent_after_them(role: str) -> None:
    thread = [
        a_turn(1, "user", "find boats"),
        a_turn(2, "assistant", "", a_call("a"), a_call("b")),
        a_turn(3, role, "wait"),
        a_turn(4, "tool", "", a_result("a")),
        a_turn(5, role, "and quickly"),
        a_turn(6, "tool", "", a_result("b")),
        a_turn(7, "assistant", "two boats"),
    ]
    paired = pair(thread)
    assert not paired.left_out
    assert ids(paired.units) == [["1"], ["2", "4", "6", "3", "5"], ["7"]]
    assert read(thread, METER).exchange[0].turns[0].id == ("turn:2" if role == "user" else "turn:1")


def test_calls_of_neighbouring_turns_are_each_followed_by_their_result() -> None:
    thread = [
        a_turn(1, "assistant", "", a_call("a")),
        a_turn(2, "assistant", "", a_call("b")),
        a_turn(3, "tool", "", a_result("a")),
        a_turn(4, "tool", "", a_result("b")),
        a_turn(5, "assistant", "", a_call("c")),
        a_turn(6, "assistant", "", a_call("d")),
        a_turn(7, "tool", "", a_result("d")),
    ]
    paired = pair(thread)
    assert ids(paired.units) == [["1", "3", "2", "4"], ["6", "7"]]
    assert set(paired.left_out) == {"turn:5"}


@pytest.mark.parametrize(("call_id", "result_id", "expected"), [("", "", "call-0-0"), ("a", "", "a"), ("", "b", "b")])
def test_calls_and_results_without_ids_are_paired_by_position(call_id: str, result_id: str, expected: str) -> None:
    paired = pair([a_turn(1, "assistant", "", a_call(call_id)), a_turn(2, "tool", "", a_result(result_id))])
    assert [part["id"] for turn in paired.units[0].turns for part in turn.parts] == [expected, expected]


def test_reused_id_pairs_with_its_newest_call() -> None:
    thread = [
        turn
        for start in (1, 3)
        for turn in (
            a_turn(start, "assistant", "", a_call("call_0")),
            a_turn(start + 1, "tool", "", a_result("call_0")),
        )
    ]
    assert ids(pair(thread).units) == [["1", "2"], ["3", "4"]]


def test_a_call_and_result_in_one_turn_are_paired() -> None:
    paired = pair([a_turn(1, "assistant", "", a_call("a"), a_result("a"), a_call("b"))])
    assert [part["id"] for part in paired.units[0].turns[0].parts] == ["a", "a"]


def test_last_exchange_is_the_last_user_turn_and_all_after_it() -> None:
    thread = [
        a_turn(1, "user", "one"),
        a_turn(2, "assistant", "two"),
        a_turn(3, "user", "three"),
        a_turn(4, "assistant", "", a_call("a")),
        a_turn(5, "user", "", a_result("a")),
        a_turn(6, "assistant", "four"),
    ]
    history = read(thread, METER)
    assert ids(history.exchange) == [["3"], ["4", "5"], ["6"]]
    assert ids(history.older) == [["2"], ["1"]]


def test_thread_without_a_user_has_its_last_unit_as_exchange() -> None:
    history = read([a_turn(1, "assistant", "hello"), a_turn(2, "assistant", "anyone?")], METER)
    assert ids(history.exchange) == [["2"]]
    assert read([], METER).exchange == ()
    assert fit_last(pool=64) == Exchange((), 0)


def test_a_turn_whose_result_is_left_out_is_counted_without_it() -> None:
    turn = a_turn(1, "tool", "the harbour is closed", a_result("a", "closed " * 200))
    history = read([turn], METER)
    assert history.exchange_tokens == count(turn.text) + MESSAGE_TOKENS < turn.tokens
    assert [fit_last(turn, pool=pool).cut for pool in (64, turn.tokens - 1)] == [frozenset(), frozenset()]


def test_a_call_that_is_given_an_id_is_counted_with_it() -> None:
    call, answer = a_turn(1, "assistant", "", a_call("")), a_turn(2, "tool", "", a_result(""))
    sent = [turn for unit in read([call, answer], METER).exchange for turn in unit.turns]
    assert [turn.tokens for turn in sent] == [count(message_text("", turn.parts)) + MESSAGE_TOKENS for turn in sent]


def test_repeated_turn_counts_once() -> None:
    turn = a_turn(1, "user", "one")
    assert ids(read([turn, turn], METER).exchange) == [["1"]]


def test_exchange_that_fits_is_included_whole() -> None:
    thread = [a_turn(1, "user", "one two three"), a_turn(2, "assistant", "four")]
    exchange = fit_last(*thread, pool=sum(turn.tokens for turn in thread))
    assert exchange.turns == tuple(thread)
    assert not exchange.cut
    assert not exchange.gone


def test_a_long_message_is_cut_in_its_middle_with_a_mark() -> None:
    long = a_turn(1, "user", " ".join(f"word{number}" for number in range(2000)))
    exchange = fit_last(long, a_turn(2, "assistant", "short answer"), pool=200)
    message, answer = exchange.turns
    assert message.text.startswith("word0 word1 ")
    assert message.text.endswith(" word1999")
    assert CUT_MARK in message.text
    assert answer.text == "short answer"
    assert exchange.cut == {"turn:1"}
    assert 190 <= exchange.tokens <= 200
    assert exchange.tokens == sum(count(turn.text) + MESSAGE_TOKENS for turn in exchange.turns)


def test_longest_texts_are_cut_to_one_length_including_tool_results() -> None:
    thread = [
        a_turn(1, "user", "compare " + "a b c " * 400),
        a_turn(2, "assistant", "", a_call("x"), tokens=30),
        a_turn(3, "tool", "", a_result("x", "d e f " * 400)),
        a_turn(4, "assistant", "done"),
    ]
    exchange = fit_last(*thread, pool=300)
    assert exchange.cut == {"turn:1", "turn:3"}
    kept = {turn.id: turn for turn in exchange.turns}
    assert CUT_MARK in kept["turn:3"].parts[0]["content"]
    assert kept["turn:2"].parts == thread[1].parts
    assert abs(count(kept["turn:1"].text) - count(kept["turn:3"].parts[0]["content"])) < 12
    assert 260 <= exchange.tokens <= 300


def test_too_many_turns_lose_whole_turns_from_the_middle() -> None:
    thread = [a_turn(1, "user", "begin")]
    thread += [
        turn
        for number in range(2, 60, 2)
        for turn in (a_turn(number, "assistant", "", a_call("c")), a_turn(number + 1, "tool", "", a_result("c")))
    ]
    exchange = fit_last(*thread, pool=120)
    assert exchange.tokens <= 120
    assert exchange.turns[0].text == f"begin{CUT_MARK}"
    assert exchange.turns[-1].id == "turn:59"
    assert exchange.gone
    assert not exchange.gone & {turn.id for turn in exchange.turns}
    assert len(exchange.turns) % 2 == 1


def test_parts_that_cannot_be_cut_are_dropped_before_the_text() -> None:
    arguments = {"type": "tool_call", "id": "a", "name": "write", "arguments": {"text": "x " * 1000}}
    turn = a_turn(1, "user", "please " * 30, arguments, a_result("a"))
    exchange = fit_last(turn, pool=64)
    assert exchange.tokens <= 64
    assert exchange.turns[0].parts == ()
    assert exchange.cut == {"turn:1"}


def test_limit_below_the_size_of_the_mark_leaves_nothing() -> None:
    assert cut_middle("word " * 100, 2, METER, text_tokens=100) == ("", 0)


def test_flags_and_joined_emoji_are_not_split() -> None:
    for sign in ("🇵🇹", "👩‍👩‍👧", "👍🏽", "e\u0301", "각"):
        cut, _ = cut_middle(sign * 200, 40, METER, text_tokens=count(sign * 200))
        head, tail = cut.split(CUT_MARK)
        assert head == sign * (len(head) // len(sign))
        assert tail == sign * (len(tail) // len(sign))


def test_a_megabyte_of_one_letter_is_cut_with_few_counts() -> None:
    meter = CountingMeter()
    text = "a" * 1_000_000
    cut, tokens = cut_middle(text, 1000, meter, text_tokens=200_000)
    assert 996 <= tokens <= 1000
    assert len(cut) > 4900
    assert meter.calls <= 14
    assert meter.chars < 200_000
