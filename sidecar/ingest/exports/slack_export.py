"""Converts a Slack export to turns: one conversation per channel, with people and links by name, and bots as assistants.

Replies keep their place in the channel. One that does not follow its thread begins with a line that quotes the thread's first
message. Joins and topics are system turns.
"""

import html
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from sidecar.ingest.errors import UnreadableExport
from sidecar.ingest.exports import slack_blocks
from sidecar.ingest.exports.archive import Archive
from sidecar.ingest.exports.conversation import (
    Conversation,
    ImportedTurn,
    Role,
    SkippedPiece,
    gathered,
    id_of,
    time_of,
    word,
)
from sidecar.ingest.exports.records import FileRecord, records
from sidecar.ingest.exports.slack_blocks import has_layout, objects

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_QUOTED_CHARS = 120
_MARKED = re.compile(r"<([^<>]*)>")
_SPOKEN = frozenset({"", "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment"})


@dataclass(frozen=True, slots=True)
class _Workspace:
    """Names by id, and channels by the folder that holds their days."""

    users: Mapping[str, str]
    channel_names: Mapping[str, str]
    channels: Mapping[str, Mapping[str, Any]]


def is_slack(archive: Archive) -> bool:
    """Return whether the archive has the files of a Slack export: days in channel folders, or lists of channels."""
    paths = [PurePosixPath(name) for name in archive.names()]
    has_days = any(_DAY.fullmatch(path.name) and len(path.parts) > 1 for path in paths)
    return has_days or any(path.name == "channels.json" for path in paths)


def conversations(archive: Archive) -> Iterator[Conversation | SkippedPiece]:
    """Yield each channel's skipped pieces and its conversation, in the order of folder names."""
    lists: dict[str, list[Mapping[str, Any]]] = {}
    for name in archive.names():
        file = PurePosixPath(name).name
        if file in {*_LISTS, "users.json"}:
            lists[file] = []
            for found in _objects(archive, name):
                if isinstance(found, SkippedPiece):
                    yield found
                else:
                    lists[file].append(found[1])
    workspace = _workspace(lists)
    for folder, days in _days(archive).items():
        channel = workspace.channels.get(folder, {})
        channel_id = id_of(channel.get("id") or folder)
        turns = _turns(archive, days, channel_id, workspace)
        yield from gathered(archive.name, channel_id, _title(channel, folder, workspace), turns)


def _objects(archive: Archive, name: str) -> Iterator[tuple[str, Mapping[str, Any]] | SkippedPiece]:
    """Yield a file's objects with their positions. A file that can't be read is skipped, not an error."""
    try:
        for record in records(name, io.BytesIO(archive.read(name))):
            position = f"{name}, {record.position}"
            if isinstance(record, FileRecord) and isinstance(record.value, dict):
                yield position, record.value
            else:
                reason = (
                    record.reason
                    if isinstance(record, SkippedPiece)
                    else "it is not an object; export the workspace again"
                )
                yield SkippedPiece(archive.name, position, reason)
    except UnreadableExport as error:
        yield SkippedPiece(archive.name, name, error.detail)


def _workspace(lists: Mapping[str, list[Mapping[str, Any]]]) -> _Workspace:
    users = _user_names(lists.get("users.json", []))
    channels = [channel for name in _LISTS for channel in lists.get(name, [])]
    names = {str(channel.get("id")): str(channel.get("name") or channel.get("id")) for channel in channels}
    return _Workspace(users, names, {str(channel.get("name") or channel.get("id")): channel for channel in channels})


def _user_names(users: list[Mapping[str, Any]]) -> dict[str, str]:
    """Return names by id. People with the same name get their handle behind it, so that they can be told apart."""
    names = {str(user.get("id")): _user_name(user) for user in users}
    handles = {str(user.get("id")): word(user.get("name")) for user in users}
    bearers = Counter(names.values())
    return {key: f"{name} ({handles[key] or key})" if bearers[name] > 1 else name for key, name in names.items()}


def _user_name(user: Mapping[str, Any]) -> str:
    inner = user.get("profile")
    profile: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    names = (profile.get("real_name"), user.get("real_name"), profile.get("display_name"), user.get("name"))
    return str(next(filter(None, names), user.get("id") or ""))


def _days(archive: Archive) -> dict[str, list[str]]:
    """Return the day files of each channel's folder, both in order."""
    days: dict[str, list[str]] = {}
    for name in archive.names():
        path = PurePosixPath(name)
        if _DAY.fullmatch(path.name) and len(path.parts) > 1:
            days.setdefault(path.parent.name, []).append(name)
    return dict(sorted(days.items()))


def _title(channel: Mapping[str, Any], folder: str, workspace: _Workspace) -> str:
    members = channel.get("members")
    if "name" not in channel and isinstance(members, list) and members:
        return ", ".join(workspace.users.get(str(member), str(member)) for member in members)
    return f"#{folder}"


def _turns(
    archive: Archive, days: list[str], channel_id: str, workspace: _Workspace
) -> Iterator[ImportedTurn | SkippedPiece]:
    begun, before = dict[str, str](), ""
    for day in days:
        turns: list[tuple[str, ImportedTurn]] = []
        for found in _objects(archive, day):
            if isinstance(found, SkippedPiece):
                yield found
                continue
            position, message = found
            if message.get("hidden") is True or message.get("subtype") == "tombstone":
                continue
            turn = _turn(message, channel_id, workspace)
            if turn.text:
                turns.append((str(message.get("ts", "")), turn))
            else:
                reason = "it is empty: it has no text, attachment or file"
                yield SkippedPiece(archive.name, position, reason, is_lost=False)
        for time, turn in sorted(turns, key=lambda pair: pair[0]):
            thread = turn.metadata.get("thread_ts", time)
            is_apart = thread != before and turn.role == "user"
            yield replace(turn, text=f"{begun[thread]}\n{turn.text}") if is_apart and thread in begun else turn
            if thread == time:
                begun[thread] = _reply_to(turn)
            before = thread


def _reply_to(turn: ImportedTurn) -> str:
    """Return the line that quotes the first message of a thread before a reply."""
    line = " ".join(turn.text.split())
    text = line if len(line) <= _QUOTED_CHARS else f"{line[:_QUOTED_CHARS]}…"
    return f"(in reply to {turn.speaker or turn.role}: “{text}”)"


def _turn(message: Mapping[str, Any], channel_id: str, workspace: _Workspace) -> ImportedTurn:
    time, thread = message.get("ts"), message.get("thread_ts")
    turn_id = id_of(f"{channel_id}:{time}" if time else None, channel_id, message)
    metadata = {"thread_ts": str(thread)} if thread else {}
    text = "\n".join(filter(None, (_unescaped(part, workspace).strip() for part in _texts(message))))
    return ImportedTurn(turn_id, _role(message), text, _speaker(message, workspace), time_of(time), (), metadata)


def _role(message: Mapping[str, Any]) -> Role:
    if word(message.get("subtype")) not in _SPOKEN:
        return "system"
    return "assistant" if message.get("bot_id") or message.get("subtype") == "bot_message" else "user"


def _speaker(message: Mapping[str, Any], workspace: _Workspace) -> str:
    user = message.get("user")
    if word(user) in workspace.users:
        return workspace.users[word(user)]
    profiles = ((message.get("bot_profile"), "name"), (message.get("user_profile"), "real_name"))
    named = [profile.get(key) for profile, key in profiles if isinstance(profile, dict)]
    return str(next(filter(None, (message.get("username"), *named, user, message.get("bot_id"))), ""))


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    text, blocks = word(message.get("text")), message.get("blocks")
    laid_out = slack_blocks.text_of(blocks) if has_layout(blocks) or not text.strip() else ""
    text = laid_out or text
    yield text
    for attachment in objects(message.get("attachments")):
        words = [piece for piece in _attached(attachment) if piece != text]
        yield from words or ([] if text else [word(attachment.get("fallback"))])
    for file in objects(message.get("files")):
        yield f"[file: {file.get('title') or file.get('name') or 'unnamed'}]"


def _attached(attachment: Mapping[str, Any]) -> Iterator[str]:
    """Yield the non-empty texts of an attachment: its own, its fields with their titles, and its blocks."""
    yield from filter(None, (word(attachment.get(key)) for key in ("pretext", "title", "text")))
    for field in objects(attachment.get("fields")):
        yield ": ".join(filter(None, (word(field.get("title")), word(field.get("value")))))
    yield from filter(None, [slack_blocks.text_of(attachment.get("blocks"))])


def _unescaped(text: str, workspace: _Workspace) -> str:
    """Return the text with Slack's marks for people, channels and links replaced by the text that Slack shows."""
    return html.unescape(_MARKED.sub(lambda mark: _shown(mark[1], workspace), text))


def _shown(mark: str, workspace: _Workspace) -> str:
    target, _, label = mark.partition("|")
    match target[:1]:
        case "@":
            return "@" + (workspace.users.get(target[1:]) or label or target[1:])
        case "#":
            return "#" + (label or workspace.channel_names.get(target[1:], target[1:]))
        case "!":
            return label or "@" + target[1:].partition("^")[0]
    address = target.removeprefix("mailto:")
    return f"{label} ({address})" if label and label not in {address, target} else address
