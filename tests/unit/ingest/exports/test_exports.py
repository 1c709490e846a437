"""Exports of ChatGPT, Claude and Slack, as files, zips and folders, to conversations."""

import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sidecar.ingest.errors import TooLarge, UnreadableExport, UnreadablePath
from sidecar.ingest.exports.archive import ZipArchive
from sidecar.ingest.exports.conversation import Conversation, ImportedTurn, SkippedPiece
from sidecar.ingest.exports.conversations import conversations_at, read_conversations

AT = datetime(2026, 9, 7, 8, 12, tzinfo=UTC)
SECONDS = 1788768720


def node(key: str, parent: str | None, role: str, *parts: object, **message: Any) -> tuple[str, dict[str, Any]]:
    content = {"content_type": "text", "parts": list(parts)}
    author = {"role": role, "name": message.pop("name", None)}
    said = {"id": key, "author": author, "create_time": SECONDS, "content": content, "recipient": "all"} | message
    return key, {"id": key, "message": said, "parent": parent, "children": []}


SEARCH = {"content": {"content_type": "code", "text": '{"q": "trains"}'}, "recipient": "browser.search"}
CHATGPT = [
    {
        "title": "Lisbon",
        "conversation_id": "g1",
        "current_node": "a3",
        "mapping": dict(
            [
                ("root", {"id": "root", "message": None, "parent": None, "children": ["s"]}),
                node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
                node("u1", "s", "user", "Where do I change trains?"),
                node("a0", "u1", "assistant", "An answer nobody kept."),
                node("a1", "u1", "assistant", **SEARCH),
                node("t1", "a1", "tool", "Entroncamento", name="browser"),
                node("a2", "t1", "assistant", content={"content_type": "thoughts", "thoughts": []}),
                node("a3", "a2", "assistant", "In ", {"content_type": "image_asset_pointer"}, "Entroncamento."),
                node("x", "a3", "assistant", "Beyond the current node."),
            ]
        ),
    }
]

CLAUDE = [
    {
        "uuid": "c1",
        "name": "Keys",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "Where are my keys?",
                "created_at": "2026-09-07T08:12:00Z",
                "attachments": [{"file_name": "list.txt", "extracted_content": "keys: hook"}],
                "files": [{"file_name": "b.png"}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "created_at": "2026-09-07T08:12:00Z",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_use", "name": "look", "input": {"at": "hook"}},
                    {"type": "tool_result", "name": "look", "content": [{"type": "text", "text": "two keys"}]},
                    {"type": "text", "text": "On the hook."},
                ],
            },
            {"uuid": "m3", "sender": "ghost", "text": "boo"},
            {"uuid": "m4", "sender": "human", "text": ""},
        ],
    }
]


def post(after_s: float, text: str, user: str | None = "U1", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": f"{SECONDS + after_s:.6f}"} | more


DEPLOYED = [{"fallback": "Deployed 1.2 to <https://prod.example>"}]
SLACK: dict[str, Any] = {
    "users.json": [
        {"id": "U1", "name": "ada", "profile": {"real_name": "Ada Byron"}},
        {"id": "U2", "name": "bob", "profile": {"display_name": "bobby"}},
    ],
    "channels.json": [{"id": "C1", "name": "general"}],
    "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    "general/2026-09-08.json": [post(86400, "Next day.", "U2")],
    "general/2026-09-07.json": [
        post(1, "Yes &lt;3", "U2", thread_ts=f"{SECONDS}.000000"),
        post(0, "<@U2> see <https://x.example|the plan> in <#C1|general>, <!here>"),
        post(2, "", subtype="bot_message", user=None, bot_id="B1", username="Deploys", attachments=DEPLOYED),
        post(3, "<@U2> has joined", "U2", subtype="channel_join"),
        post(4, "", files=[{"name": "a.csv"}]),
        post(5, "gone", subtype="tombstone"),
        post(6, ""),
    ],
    "D1/2026-09-07.json": [post(0.0002, "Hi <@U7>", "U9", user_profile={"real_name": "Eve"})],
}


def zipped(files: dict[str, Any], root: str = "") -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(root + name, content if isinstance(content, bytes) else json.dumps(content))
    return target.getvalue()


def read(data: bytes, name: str = "export.json") -> tuple[list[Conversation], list[str]]:
    found = list(read_conversations(name, data))
    return [c for c in found if isinstance(c, Conversation)], [str(s) for s in found if isinstance(s, SkippedPiece)]


def call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"type": "tool_result", "id": call_id, "content": content}


def test_chatgpt_export_yields_the_branch_shown_last() -> None:
    (conversation,), skipped = read(json.dumps(CHATGPT).encode())
    assert skipped == []
    assert conversation == Conversation(
        "g1",
        "Lisbon",
        (
            ImportedTurn("u1", "user", "Where do I change trains?", "", AT),
            ImportedTurn("a1", "assistant", "", "", AT, (call("a1", "browser.search", {"q": "trains"}),)),
            ImportedTurn("t1", "tool", "", "browser", AT, (result("a1", "Entroncamento"),)),
            ImportedTurn("a3", "assistant", "In\n\n[image]\n\nEntroncamento.", "", AT),
        ),
    )


def test_chatgpt_export_without_a_current_node_follows_the_newest_and_survives_cycles() -> None:
    mapping = dict([node("a", "b", "user", "one"), node("b", "a", "assistant", "two", create_time=SECONDS + 1)])
    (conversation,), _ = read(json.dumps([{"title": "t", "mapping": mapping, "current_node": "gone"}]).encode())
    assert [turn.text for turn in conversation.turns] == ["one", "two"]


def test_claude_export_yields_messages_attachments_and_tool_use() -> None:
    (conversation,), skipped = read(json.dumps(CLAUDE).encode())
    parts = (call("m2:1", "look", {"at": "hook"}), result("m2:1", "two keys"))
    assert conversation == Conversation(
        "c1",
        "Keys",
        (
            ImportedTurn("m1", "user", "Where are my keys?\n\n[file: list.txt]\nkeys: hook\n\n[file: b.png]", "", AT),
            ImportedTurn("m2", "assistant", "On the hook.", "", AT, parts),
        ),
    )
    assert skipped == [
        "export.json, element 1, message 3: its sender is 'ghost', neither human nor assistant",
        "export.json, element 1, message 4: it is empty: it has no text, attachment or tool call",
    ]


def test_slack_export_yields_a_conversation_per_channel_with_names_for_ids() -> None:
    (direct, general), skipped = read(zipped(SLACK, "workspace/"), "slack.zip")
    assert (direct.id, direct.title) == ("D1", "Ada Byron, bobby")
    assert direct.turns == (ImportedTurn(f"D1:{SECONDS}.000200", "user", "Hi @U7", "Eve", AT.replace(microsecond=200)),)
    assert (general.id, general.title) == ("C1", "#general")
    assert [(turn.role, turn.speaker, turn.text) for turn in general.turns] == [
        ("user", "Ada Byron", "@bobby see the plan (https://x.example) in #general, @here"),
        ("user", "bobby", "Yes <3"),
        ("assistant", "Deploys", "Deployed 1.2 to https://prod.example"),
        ("system", "bobby", "@bobby has joined"),
        ("user", "Ada Byron", "[file: a.csv]"),
        ("user", "bobby", "Next day."),
    ]
    assert general.turns[1].metadata == {"thread_ts": f"{SECONDS}.000000"}
    assert (general.turns[0].client_turn_id, general.turns[0].said_at) == (f"C1:{SECONDS}.000000", AT)
    assert skipped == [
        "slack.zip, workspace/general/2026-09-07.json, element 7: it is empty: it has no text, attachment or file"
    ]


def _said(*messages: dict[str, Any]) -> list[str]:
    """Return the texts of a channel's turns, in a workspace with the people of `SLACK`."""
    (conversation,), skipped = read(zipped({"users.json": SLACK["users.json"], "ops/2026-09-07.json": list(messages)}))
    assert skipped == []
    return [turn.text for turn in conversation.turns]


def test_slack_reply_apart_from_its_thread_quotes_the_first_message() -> None:
    first, other = f"{SECONDS}.000000", f"{SECONDS + 1}.000000"
    assert _said(
        post(0, "When is\n the demo?", thread_ts=first),
        post(1, "Lunch? " + 60 * "yes ", "U2", thread_ts=other),
        post(2, "At 9.", "U2", thread_ts=first),
        post(3, "In room 4.", "U2", thread_ts=first),
        post(4, "No.", thread_ts=other),
        post(5, "Old thread.", thread_ts="1.000000"),
        post(6, "A bot's reply.", None, thread_ts=first, bot_id="B1"),
    ) == [
        "When is\n the demo?",
        ("Lunch? " + 60 * "yes ").strip(),
        "(in reply to Ada Byron: “When is the demo?”)\nAt 9.",
        "In room 4.",
        f"(in reply to bobby: “{('Lunch? ' + 60 * 'yes ')[:120]}…”)\nNo.",
        "Old thread.",
        "A bot's reply.",
    ]


def _rich(*elements: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}]


def test_slack_messages_of_apps_are_read_from_their_blocks() -> None:
    alert = [
        {"type": "header", "text": {"type": "plain_text", "text": "P1: checkout is slow"}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "p99 is *4.2 s* on <https://x.example|checkout>, &gt; 1 s"},
            "fields": [{"type": "mrkdwn", "text": "Env: prod"}, {"type": "mrkdwn", "text": "Owner: <@U1>"}],
        },
        {
            "type": "context",
            "elements": [{"type": "image", "alt_text": "bell"}, {"type": "mrkdwn", "text": "since 9:00"}],
        },
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Acknowledge"}}]},
    ]
    shown = (
        "P1: checkout is slow\np99 is *4.2 s* on checkout (https://x.example), > 1 s\nEnv: prod\nOwner: @Ada Byron\n"
    )
    hidden = {"fallback": "[no preview available]", "blocks": alert}
    said = ({"type": "text", "text": "a < b, "}, {"type": "user", "user_id": "U2"}, {"type": "emoji", "name": "tada"})
    assert _said(
        post(1, "", blocks=alert),
        post(2, "New alert", blocks=alert),
        post(3, "", attachments=[hidden]),
        post(4, "", blocks=_rich(*said)),
        post(5, "said", blocks=_rich({"type": "text", "text": "said"})),
    ) == [shown + "bell since 9:00"] * 3 + ["a < b, @bobby:tada:", "said"]


def test_slack_attachments_keep_their_fields() -> None:
    fields = [{"title": "Assignee", "value": "<@U2>"}, {"title": "", "value": "High"}, {"title": "Due"}]
    ticket = {"title": "OPS-42", "fallback": "a ticket", "fields": fields}
    assert _said(post(1, "New ticket", attachments=[ticket])) == ["New ticket\nOPS-42\nAssignee: @bobby\nHigh\nDue"]


def test_slack_people_of_the_same_name_are_told_apart_by_their_handles() -> None:
    users = [
        {"id": f"U{number}", "name": f"ana{number}", "real_name": name}
        for number, name in enumerate(("Ana", "Ana", "Bo"))
    ]
    files = {"users.json": users, "ops/2026-09-07.json": [post(place, "hi <@U0>", f"U{place}") for place in range(3)]}
    (conversation,), _ = read(zipped(files), "slack.zip")
    assert [turn.speaker for turn in conversation.turns] == ["Ana (ana0)", "Ana (ana1)", "Bo"]
    assert conversation.turns[0].text == "hi @Ana (ana0)"


def test_a_folder_reads_like_its_zip(tmp_path: Path) -> None:
    for name, content in SLACK.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    inside = [found for found in conversations_at(tmp_path) if isinstance(found, Conversation)]
    assert inside == read(zipped(SLACK), "slack.zip")[0]


@pytest.mark.parametrize("export", [CHATGPT, CLAUDE], ids=["chatgpt", "claude"])
def test_a_zip_with_conversations_reads_like_the_file_in_it(export: list[Any], tmp_path: Path) -> None:
    plain = read(json.dumps(export).encode())[0]
    packed = zipped({"conversations.json": export, "users.json": [], "chat.html": b"<html>"})
    assert read(packed, "export.zip")[0] == plain
    (tmp_path / "export.zip").write_bytes(packed)
    assert [found for found in conversations_at(tmp_path / "export.zip") if isinstance(found, Conversation)] == plain


def test_a_broken_day_is_named_and_the_other_days_are_read() -> None:
    files = SLACK | {"general/2026-09-06.json": b"{broken", "general/2026-09-05.json": b'[{"ts": "1", "text": "a"}, 7'}
    (_, general), skipped = read(zipped(files), "slack.zip")
    assert [turn.text for turn in general.turns][:2] == [
        "a",
        "@bobby see the plan (https://x.example) in #general, @here",
    ]
    assert [line.partition(": ")[0] for line in skipped][:3] == [
        "slack.zip, general/2026-09-05.json, element 2",
        "slack.zip, general/2026-09-05.json, after element 2",
        "slack.zip, general/2026-09-06.json",
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped({"photo.jpg": b"x"}), "neither conversations.json nor the channels of a Slack"),
        (b"PK\x03\x04 not a zip", "the zip is damaged"),
        (zipped(SLACK)[:200], "the zip is damaged"),
    ],
)
def test_zip_that_is_no_export_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(UnreadableExport, match=rf"^export\.zip: .*{said}"):
        read(data, "export.zip")


def test_zip_bomb_is_refused_by_its_unpacked_size() -> None:
    bomb = ZipArchive("export.zip", io.BytesIO(zipped({"conversations.json": b" " * (4 << 20)})), member_bytes=1 << 20)
    with pytest.raises(TooLarge, match=r"export\.zip: conversations\.json: it unpacks to more than 1048576 bytes"):
        bomb.read("conversations.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadablePath, match="nowhere"):
        list(conversations_at(tmp_path / "nowhere"))
