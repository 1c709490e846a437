"""JSONL and arrays of OpenAI-style messages to turns: one broken line never loses the rest, nothing twice."""

import io
import json
import math
from datetime import UTC, datetime

import pytest

from sidecar.ingest.errors import NotConversations, UnreadableExport
from sidecar.ingest.exports.conversation import Conversation, ImportedTurn, SkippedPiece, id_of, time_of
from sidecar.ingest.exports.conversations import read_conversations

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"from": "YYZ"}'}}


def jsonl(*values: object) -> bytes:
    return "\n".join(json.dumps(value) for value in values).encode()


def read(data: bytes, name: str = "chat.jsonl") -> tuple[list[Conversation], list[SkippedPiece]]:
    found = list(read_conversations(name, data))
    return [one for one in found if isinstance(one, Conversation)], [
        one for one in found if isinstance(one, SkippedPiece)
    ]


def turns(*messages: object) -> tuple[ImportedTurn, ...]:
    (conversation,), skipped = read(jsonl(*messages))
    assert skipped == []
    return conversation.turns


def test_a_file_of_messages_is_one_conversation() -> None:
    conversations, skipped = read(
        jsonl(
            {"id": "m1", "role": "system", "content": "Be brief."},
            {"id": "m2", "role": "user", "content": "Flights?", "name": "Ada", "time": "2026-09-07T10:12:00+02:00"},
            {"id": "m3", "role": "assistant", "content": None, "tool_calls": [CALL], "created_at": 1788768720},
            {"id": "m4", "role": "tool", "tool_call_id": "c1", "content": "[1, 2]"},
            {"id": "m5", "role": "assistant", "content": [{"type": "text", "text": "Two."}, {"refusal": "No."}]},
        )
    )  # fmt: skip
    at = datetime(2026, 9, 7, 8, 12, tzinfo=UTC)
    call = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"from": "YYZ"}}
    result = {"type": "tool_result", "id": "c1", "content": "[1, 2]"}
    assert skipped == []
    assert conversations == [
        Conversation(
            "chat",
            "",
            (
                ImportedTurn("m1", "system", "Be brief."),
                ImportedTurn("m2", "user", "Flights?", "Ada", at),
                ImportedTurn("m3", "assistant", "", "", at, (call,)),
                ImportedTurn("m4", "tool", "", "", None, (result,)),
                ImportedTurn("m5", "assistant", "Two.\n\nNo."),
            ),
        )
    ]


def test_one_conversation_per_line_and_pretty_printed_ones_are_read_alike() -> None:
    one = {"id": "t1", "title": "Trip", "messages": [{"role": "user", "content": "Hi"}]}
    two = {"messages": [{"role": "user", "content": "Ho"}]}
    conversations, skipped = read(jsonl(one, two))
    assert [(c.id, c.title, c.turns[0].text) for c in conversations] == [("t1", "Trip", "Hi"), ("chat:2", "", "Ho")]
    assert skipped == []
    assert read(json.dumps(one, indent=2).encode(), "chat.json")[0] == conversations[:1]
    assert read(json.dumps([one, two], indent=2).encode(), "chat.json")[0] == conversations


def test_messages_are_grouped_by_thread() -> None:
    messages = [{"role": "user", "content": str(n), "thread_id": thread} for n, thread in enumerate("aabba")]
    conversations, _ = read(jsonl(*messages))
    assert [(c.id, [turn.text for turn in c.turns]) for c in conversations] == [
        ("a", ["0", "1"]),
        ("b", ["2", "3"]),
        ("a", ["4"]),
    ]


def test_broken_lines_are_named_and_the_rest_is_read() -> None:
    good = {"role": "user", "content": "Hi"}
    data = b"\n".join(
        [
            jsonl(good), b"{broken", b"", b"[1]", jsonl({"role": "wizard", "content": "x"}), jsonl({"role": "user"}),
            b'{"role": "user", "content": "caf\xe9"}', b'{"role": "user", "content": "x", "n": NaN}',
            b'{"role": "user", "content": "x", "n": 1e999}', b'{"a":' * 5000 + b"1" + b"}" * 5000, b"7" * 5000,
            b'{"role": "user", "content": "x", "n": ' + b"[" * 99 + b"]" * 99 + b"}",
            jsonl(good),
        ]
    )  # fmt: skip
    (conversation,), skipped = read(data)
    assert [turn.text for turn in conversation.turns] == ["Hi", "Hi"]
    assert [(one.position, one.reason.split(" ")[0]) for one in skipped] == [
        ("line 2", "column"),
        ("line 4", "it"),
        ("line 5", "its"),
        ("line 6", "it"),
        ("line 7", "byte"),
        ("line 8", "NaN"),
        ("line 9", "it"),
        ("line 10", "it"),
        ("line 11", "it"),
        ("line 12", "it"),
    ]
    assert str(skipped[0]).startswith("chat.jsonl, line 2: column 2 is not JSON (")
    assert "write one JSON object on each line" in skipped[0].reason


def test_ids_are_stable_even_after_a_broken_line_is_fixed() -> None:
    lines = [jsonl({"role": "user", "content": text}) for text in ("same", "same", "other")]
    first = read(b"\n".join(lines))[0][0].turns
    mended = read(b"\n".join([lines[0], b"{broken", lines[2]]))[0][0].turns
    assert read(b"\n".join(lines))[0][0].turns == first
    assert len({turn.client_turn_id for turn in first}) == 3
    assert [turn.client_turn_id for turn in mended] == [first[0].client_turn_id, first[2].client_turn_id]


def test_a_repeated_turn_is_skipped_and_another_under_its_id_is_kept() -> None:
    message = {"id": "m1", "role": "user", "content": "Hi"}
    (conversation,), skipped = read(jsonl(message, message, message | {"content": "Ho"}))
    assert [turn.text for turn in conversation.turns] == ["Hi", "Ho"]
    assert [one.position for one in skipped] == ["turn m1"]
    assert len({turn.client_turn_id for turn in conversation.turns}) == 2


def test_another_turn_under_the_id_of_one_far_before_is_kept() -> None:
    messages = [{"id": f"m{number}", "role": "user", "content": str(number)} for number in range(5_100)]
    conversations, skipped = read(jsonl(*messages, messages[3], messages[4] | {"content": "Ho"}))
    turns = [turn for conversation in conversations for turn in conversation.turns]
    assert [one.position for one in skipped] == ["turn m3"]
    assert turns[-1].text == "Ho"
    assert len({turn.client_turn_id for turn in turns}) == len(turns) == 5_101


def test_anthropic_blocks_and_old_function_calls_become_the_same_parts() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": 1}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "found"}]}
    said = turns(
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, "Look:", use]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "not json"}},
        {"role": "function", "name": "f", "content": {"ok": True}},
    )  # fmt: skip
    assert [(turn.role, turn.text, turn.parts) for turn in said] == [
        ("assistant", "Look:", ({"type": "tool_call", "id": "t1", "name": "search", "arguments": {"q": 1}},)),
        ("tool", "", ({"type": "tool_result", "id": "t1", "content": "found"},)),
        (
            "assistant",
            "",
            ({"type": "tool_call", "id": "function:f", "name": "f", "arguments": {"input": "not json"}},),
        ),
        ("tool", "", ({"type": "tool_result", "id": "function:f", "content": '{"ok": true}'},)),
    ]


def test_bedrock_blocks_become_the_same_parts() -> None:
    use = {"toolUse": {"toolUseId": "u1", "name": "search", "input": {"from": "YYZ"}}}
    answer = {"toolResult": {"toolUseId": "u1", "content": [{"text": "two"}, {"json": {"n": 2}}], "status": "success"}}
    said = turns(
        {
            "role": "user",
            "content": [{"text": "Flights?"}, {"image": {"format": "png"}}, {"document": {"name": "plan"}}],
        },
        {
            "role": "assistant",
            "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "Yes."}, use],
        },
        {"role": "user", "content": [answer, {"cachePoint": {"type": "default"}}]},
        {"role": "user", "content": [{"guardContent": {"text": {"text": "Book it."}}}]},
        {
            "role": "assistant",
            "content": [
                {"citationsContent": {"content": [{"text": "It leaves "}, {"text": "at two."}], "citations": []}}
            ],
        },
        {"role": "user", "content": [{"searchResult": {"source": "s", "title": "Fares", "content": [{"text": "9"}]}}]},
    )
    call = {"type": "tool_call", "id": "u1", "name": "search", "arguments": {"from": "YYZ"}}
    result = {"type": "tool_result", "id": "u1", "content": 'two\n{"n": 2}'}
    assert [(turn.role, turn.text, turn.parts) for turn in said] == [
        ("user", "Flights?\n\n[image]\n\n[document: plan]", ()),
        ("assistant", "Yes.", (call,)),
        ("tool", "", (result,)),
        ("user", "Book it.", ()),
        ("assistant", "It leaves at two.", ()),
        ("user", "[search_result: Fares]", ()),
    ]


def test_items_of_the_responses_api_become_the_same_parts() -> None:
    items = (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Flights?"}]},
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "search", "arguments": '{"from": "YYZ"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "[1, 2]"},
    )
    call = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"from": "YYZ"}}
    result = {"type": "tool_result", "id": "c1", "content": "[1, 2]"}
    for data in (jsonl(*items), jsonl({"messages": items})):
        (conversation,), skipped = read(data)
        assert [(turn.role, turn.text, turn.parts) for turn in conversation.turns] == [
            ("user", "Flights?", ()),
            ("assistant", "", (call,)),
            ("tool", "", (result,)),
        ]
        assert [(piece.reason, piece.is_lost) for piece in skipped] == [
            ("it is a model's reasoning, which was not said", False)
        ]


@pytest.mark.parametrize(
    "result",
    [
        {"type": "function_call_output", "output": "2"},
        {"role": "tool", "content": "2"},
        {"role": "tool", "name": "sum", "content": "2"},
    ],
)
def test_result_without_an_id_answers_the_call_before_it(result: dict[str, object]) -> None:
    calls = [{"type": "function_call", "call_id": one, "name": "sum", "arguments": "{}"} for one in ("c1", "c2")]
    question, other = (
        {"role": "user", "content": "1+1?"},
        {"type": "function_call_output", "call_id": "c2", "output": "3"},
    )
    (conversation,), _ = read(jsonl(question, calls[0], result, calls[1], other, {**result, "id": "apart"}))
    told = [(part["id"], part["content"]) for turn in conversation.turns for part in turn.parts if "content" in part]
    assert told[:2] == [("c1", "2"), ("c2", "3")]
    assert told[2][1] == "2"
    assert told[2][0], "an answer to no call has an id of its own, because the service refuses none"


def test_images_and_files_leave_a_placeholder() -> None:
    (turn,) = turns(
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {}}, {"type": "file", "filename": "a.csv"}, "Look."],
        }
    )
    assert turn.text == "[image]\n\n[file: a.csv]\n\nLook."


def test_forbidden_characters_are_removed_from_messages() -> None:
    (turn,) = turns(
        {
            "id": "a\0",
            "role": "assistant",
            "content": "x\ud800\0y",
            "tool_calls": [{"function": {"name": "f\0", "arguments": '{"k\\u0000": "\\ud800"}'}}],
        }
    )
    assert (turn.client_turn_id, turn.text) == ("a\ufffd", "x\ufffd\ufffdy")
    json.dumps(turn.parts, ensure_ascii=False).encode()
    assert "\\u0000" not in json.dumps(turn.parts)


def test_stream_is_read_lazily() -> None:
    class Stream(io.BytesIO):
        lines = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            self.lines += 1
            return super().readline(size)

    stream = Stream(jsonl(*({"messages": [{"role": "user", "content": str(n)}]} for n in range(1000))))
    assert isinstance(next(read_conversations("chat.jsonl", stream)), Conversation)
    assert stream.lines < 10


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\xef\xbb\xbf"])
def test_empty_file_yields_nothing(data: bytes) -> None:
    assert read(data) == ([], [])
    assert read(data, "chat.json") == ([], [])


@pytest.mark.parametrize("data", [b"just words\nand more", b"{\n broken\n}", "[1]".encode("utf-16"), b"\x00\x01"])
def test_file_that_is_no_export_is_refused_with_the_supported_kinds(data: bytes) -> None:
    with pytest.raises(UnreadableExport, match=r"^chat\.json: .*Supported are JSONL"):
        read(data, "chat.json")


def test_truncated_array_yields_its_complete_items() -> None:
    whole = json.dumps([{"messages": [{"role": "user", "content": "Hi"}]}] * 2).encode()
    for cut in range(len(whole) // 2 + 5, len(whole)):
        conversations, skipped = read(whole[:cut], "chat.json")
        assert len(conversations) + len(skipped) == 2 + (cut == len(whole) - 1)
        assert conversations


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1788768720.25, datetime(2026, 9, 7, 8, 12, 0, 250_000, tzinfo=UTC)),
        (1788768720250, datetime(2026, 9, 7, 8, 12, 0, 250_000, tzinfo=UTC)),
        ("1788768720.000200", datetime(2026, 9, 7, 8, 12, 0, 200, tzinfo=UTC)),
        ("2026-09-07T08:12:00Z", datetime(2026, 9, 7, 8, 12, tzinfo=UTC)),
        ("2026-09-07T08:12:00", datetime(2026, 9, 7, 8, 12, tzinfo=UTC)),
        ("2026-09-07T10:12:00+02:00", datetime(2026, 9, 7, 8, 12, tzinfo=UTC)),
    ],
)
def test_times_are_parsed_in_every_form_that_exports_use(value: object, expected: datetime) -> None:
    assert time_of(value) == expected


def test_text_that_is_no_time_becomes_none() -> None:
    bad: list[object] = ["", "soon", True, None, [], 1e300, math.nan, 10**400, "9" * 500, "0001-01-01T00:00:00+14:00"]
    assert [time_of(value) for value in bad] == [None] * len(bad)


def test_unusable_ids_become_hashes() -> None:
    assert id_of(" a1 ") == "a1"
    assert id_of(7) == "7"
    bad: list[object] = [None, "", True, [], "y" * 201]
    assert [len(id_of(value, "x")) for value in bad] == [32] * len(bad)
    assert id_of(None, "x") != id_of(None, "y")


@pytest.mark.parametrize("value", [{"text": "Lives in Porto."}, {"content": "Lives in Porto.", "id": "m1"}])
def test_file_of_memories_is_refused_with_a_hint(value: object) -> None:
    said = {"role": "user", "content": "hi"}
    with pytest.raises(NotConversations, match=r"line 1 is a memory.*`sidecar memory import`"):
        read(jsonl(value, said))
    [conversation], [skipped] = read(jsonl(said, value))
    assert len(conversation.turns) == 1
    assert (skipped.position, "`sidecar memory import`" in skipped.reason) == ("line 2", True)


def test_piece_is_lost_only_if_it_holds_something() -> None:
    values = [
        {"id": "1", "role": "user", "content": "hi"},
        {"id": "2", "role": "assistant", "content": ""},
        {"id": "3", "role": "user", "text": "under another name"},
        {"id": "1", "role": "user", "content": "hi"},
    ]
    _, skipped = read(jsonl(*values))
    assert [(one.position, one.is_lost) for one in skipped] == [("line 2", False), ("line 3", True), ("turn 1", False)]
