"""No text inside a fence passes for what stands around it, in whatever encoding and place; ordinary text stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from sidecar.turn.fences.fence import neutralise, neutralise_message
from sidecar.turn.items import Item, Source
from tests.support.turn.forged import CATALOGUE, HELD_BACK, PLACES, Payload, gullible, misleads, payloads
from tests.support.turn.turn_cases import a_call, a_profile, a_result, a_turn, an_item, fitted

AT_ONCE, SAMPLE_OF = 400, 8
SOURCES = tuple(Source)
_MARK = re.compile(r"\[[a-z]\d+\] ")
PROFILE = a_profile(sources={source.value: {"top_k": 1000} for source in Source})


@pytest.fixture(name="tried")
def _tried(is_soak: bool) -> list[list[Payload]]:
    """All payloads, or a sample of them, so many at once."""
    every = [*payloads(), *payloads(HELD_BACK)][:: 1 if is_soak else SAMPLE_OF]
    return [every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE)]


def items_of(chosen: Sequence[Payload]) -> list[Item]:
    """Return an item for each payload, in one source after the other; the words of none are another's."""
    return [
        an_item(f"item {number}", f"{one.text} {number}x", SOURCES[number % len(SOURCES)], lead=one.text.split("\n")[0])
        for number, one in enumerate(chosen)
    ]


def test_every_payload_misleads_unless_it_is_neutralised() -> None:
    every = list(payloads())
    assert len(every) >= 3_000
    assert [one for one in every[::SAMPLE_OF] if one.kind not in misleads(one.text)] == []


def test_no_payload_in_any_block_misleads(tried: list[list[Payload]]) -> None:
    survived = []
    for chosen in tried:
        result = fitted(*items_of(chosen), budget_tokens=200_000, profile=PROFILE)
        kept = {fate.item.id: fate.text for fate in result.fates if fate.form}
        assert len(kept) > len(chosen) / 2, "most of them are in the context"
        survived += [one for number, one in enumerate(chosen) if one.kind in misleads(kept.get(f"item {number}", ""))]
        for block in result.rendering.blocks[1:]:
            _, *lines, _, _ = block.text.split("\n")
            assert all(_MARK.match(line) or line[:1] in {"", " "} for line in lines), (
                "no line starts as its body pleases"
            )
            assert len("\n".join(lines).splitlines()) == len(lines)
    assert survived == []


def test_no_payload_as_a_header_or_a_message_misleads(tried: list[list[Payload]], is_soak: bool) -> None:
    survived: list[object] = []
    for batch in tried:
        chosen = batch[:: 1 if is_soak else 8]
        headed = [an_item(f"i{number}", f"says {number}x", header=one.text) for number, one in enumerate(chosen)]
        turns = [a_turn(number, "user", one.text) for number, one in enumerate(chosen, start=1)]
        calls = [a_turn(9_000, "assistant", "", a_call("c") | {"arguments": {"q": [one.text for one in chosen]}})]
        results = [a_turn(9_001, "tool", "", a_result("c", "\n".join(one.text for one in chosen)))]
        history = (*turns, *calls, *results)
        result = fitted(*headed, history=history, budget_tokens=900_000, profile=a_profile(history_turns=1000))
        (memory,) = [block for block in result.rendering.blocks if block.source is Source.MEMORY]
        _, *lines, _, _ = memory.text.split("\n")
        survived += [
            line for line in lines if not _MARK.match(line) and misleads(line) & {"fence", "mark", "role", "token"}
        ]
        messages = [message.text for message in result.rendering.messages if message.text]
        assert len(messages) == len(chosen)
        told = [*messages, *[str(part) for message in result.rendering.messages for part in message.parts]]
        survived += [text for text in told if misleads(text) & {"fence", "token"}]
    assert survived == []


@pytest.mark.parametrize("place", PLACES)
def test_naive_reader_recognises_every_place(place: str) -> None:
    assert "vault" in gullible(PLACES[place].format("x")) or place == "last"


ORDINARY: Mapping[str, str] = {
    "prose": "Anna said: the system: is fine, a user: too. Ratio 3:1; see [1] and [Smith 2020].",
    "chat": "Anna: hi\n Ben: hello [waves]\n Anna: <3",
    "code": "def f(a: int) -> list[int]:\n     return [a[x1], b[k2]] if a < 3 and b > 2 else []",
    "shell": "$ ls | grep x1 > out && echo %PATH% &amp; C:\\new\\users",
    "html": "<p>a <b>bold</b> claim &amp; more</p><br>then",
    "markdown": "A list:\n - [link](http://x.y/z?a=1&b=2)\n - `code <div>`\n | a | b |",
    "lists": "return [user], [args], [system], items[m1], f(x)[k2]",
    "maths": "a <| b is none of them; x < y; [0, 1]; f: A -> B",
    "german": "Größe: 3 × 4, „so“ sagte er: gut.",
    "japanese": "日本語：これは【重要】です。",
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_is_unchanged_in_a_rendered_context(text: str) -> None:
    assert neutralise(text) == text


def test_code_in_a_message_is_sent_unchanged() -> None:
    code = "for one in [user]: print(f'<user>{one[args]}</user>')  # [w1]\nSystem: says # nothing"
    assert neutralise_message(code) == code


def test_catalogue_covers_every_kind_of_forgery() -> None:
    assert CATALOGUE.keys() == HELD_BACK.keys()
