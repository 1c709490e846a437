"""How calls go round a client's channels, and past those that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.client.channel import Channels, opened


class Clock:
    """A clock that is set by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def drawn(of: Channels, number: int) -> list[str]:
    return [of.next()[1] for _ in range(number)]


def test_calls_go_round_as_many_channels_as_were_asked_for() -> None:
    opened: list[str] = []

    def open_one(target: str) -> str:
        opened.append(target)
        return f"{target}#{len(opened)}"

    round_ = Channels(open_one, "127.0.0.1:7433", at_port=3)
    assert opened == ["127.0.0.1:7433"] * 3
    assert sorted(drawn(round_, 3)) == sorted(drawn(round_, 3)) == round_.all()


def test_service_that_is_back_is_found_within_about_a_second() -> None:
    class Library:
        options: tuple[tuple[str, int | str], ...] = ()

        def insecure_channel(self, target: str, options: list[tuple[str, int | str]]) -> None:
            self.options = tuple(options)

    library = Library()
    opened(library, "127.0.0.1:7433", tls=None, repeatable=())
    assert dict(library.options)["grpc.max_reconnect_backoff_ms"] == 1_000


def test_failed_channel_rests_longer_each_time_until_it_answers(clock: Clock) -> None:
    numbers = iter("abc")
    round_ = Channels(lambda _: next(numbers), "127.0.0.1:7433", at_port=2, clock=clock)
    place = next(place for place, name in (round_.next(), round_.next()) if name == "a")
    for seconds in (1.0, 2.0, 4.0):
        assert round_.failed(place), "the other may be tried"
        clock.now_s += seconds - 0.01
        assert set(drawn(round_, 4)) == {"b"}
        clock.now_s += 0.02
        assert set(drawn(round_, 4)) == {"a", "b"}
    round_.answered(place)
    round_.failed(place)
    clock.now_s += 1.01
    assert set(drawn(round_, 4)) == {"a", "b"}


def test_where_all_rest_one_is_tried_and_no_other_at_once(clock: Clock) -> None:
    round_ = Channels(str, "127.0.0.1:7433", at_port=2, clock=clock)
    assert round_.failed(0)
    assert not round_.failed(1)
    assert round_.next()[1] == "127.0.0.1:7433"
    assert clock.now_s == 100.0


def test_sockets_beside_the_first_get_a_channel_when_they_come(tmp_path: Path, clock: Clock) -> None:
    first = tmp_path / "s.sock"
    round_ = Channels(str, f"unix:{first}", at_port=9, clock=clock)
    assert drawn(round_, 2) == [f"unix:{first}"] * 2
    for number in (2, 3):
        first.with_name(f"s.sock.{number}").touch()
    assert drawn(round_, 2) == [f"unix:{first}"] * 2, "looked for every few seconds only"
    clock.now_s += 6
    assert set(drawn(round_, 6)) == {f"unix:{first}", f"unix:{first}.2", f"unix:{first}.3"}
