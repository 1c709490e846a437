"""Arranges a conversation as providers take it: stretches of alternating sides, with every call answered in the next one.

Changing parts go last, for the provider's cache: the caller's system prompt and the stable blocks, the history, then the recalled
text, before the message in the user's last message. A stored history may contain content that a provider would refuse (a call
without a result, a first message by the assistant, a duplicate id); it is made acceptable here without losing text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby, pairwise

from sidecar.client.shapes.conversation import RECALLED_ZONE, Conversation, EmptyMessage, Message, ToolCall, ToolResult

_EARLIER = "(Earlier turns are left out.)"
_MISSING = (
    "The conversation before the user's message could not be read and is missing here. "
    "Do not take the message for the first one; say so if an answer needs what was said before."
)
_NO_ANSWER = "(No answer is recorded.)"
_NO_OUTPUT = "(no output)"
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive messages of one side: an assistant's texts and calls, or a user's results and texts.

    `cached` counts the pieces of content before its cache point; 0 means no cache point.
    """

    role: str
    texts: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    cached: int = 0


def system_texts(conversation: Conversation) -> list[tuple[str, bool]]:
    """Return the non-blank system texts, each with whether a cache point follows.

    Turns get their cache points first, because more text is before them. System turns of the history, and the note that the
    history is missing, follow the blocks, so that no block moves.
    """
    points_left = conversation.max_cache_points - len(_turns_to_cache(conversation))
    texts = [(conversation.system, False)]
    for block in conversation.blocks:
        if block.zone == RECALLED_ZONE:
            continue
        is_cache_point = block.is_cache_point and points_left > 0 and bool(block.text.strip())
        points_left -= is_cache_point
        texts.append((block.text, is_cache_point))
    instructions = (turn for turn in conversation.history if turn.role == "system")
    texts += [(text, False) for turn in instructions for text in _texts(turn, ())]
    texts += [(_MISSING, False)] if conversation.is_history_missing else []
    return [(text, is_cache_point) for text, is_cache_point in texts if text.strip()]


def _recalled(conversation: Conversation) -> str:
    """Return the recalled blocks as one text that ends with the line of its fence; empty if nothing was recalled."""
    return "".join(block.text for block in conversation.blocks if block.zone == RECALLED_ZONE and block.text.strip())


def stretches(conversation: Conversation, *, is_one_text: bool = False) -> list[Stretch]:
    """Return the conversation as stretches of alternating sides, with every call answered in the next stretch.

    With `is_one_text`, the recalled text and the message are one text instead of two.
    """
    if not conversation.message.strip():
        raise EmptyMessage(EmptyMessage.__doc__)
    texts = [_recalled(conversation), conversation.message]
    prompt = [Message("user", text) for text in (["".join(texts)] if is_one_text else texts)]
    ends = _turns_to_cache(conversation)
    turns = [
        replace(turn, is_cache_point=any(turn is end for end in ends))
        for turn in (*conversation.history, *prompt, *conversation.tool_turns)
    ]
    if conversation.has_tools:
        turns = [one for turn in turns for one in _rounds_apart(turn)]
    spoken = [turn for turn in turns if turn.role != "system" and (turn.parts or turn.text.strip())]
    sides = [list(side) for _, side in groupby(spoken, key=_is_assistant)]
    pairs = [_answered(asked, answered) if conversation.has_tools else [] for asked, answered in pairwise(sides)]
    around = zip(sides, [*pairs, []], [[], *pairs], strict=True)
    return _with_sendable_ids([_stretch(side, asked=asked, answered=answered) for side, asked, answered in around])


def _rounds_apart(turn: Message) -> list[Message]:
    """Return an assistant's turn that holds results of its own calls as its calls, their results, and the rest.

    Some frameworks store a whole round as one turn, but providers take results only from the user's side.
    """
    asked = {part.id for part in turn.parts if isinstance(part, ToolCall)}
    told = {part.call_id for part in turn.parts if isinstance(part, ToolResult)}
    if not _is_assistant(turn) or not asked & told:
        return [turn]
    calls = tuple(part for part in turn.parts if isinstance(part, ToolCall) and part.id in told)
    results = tuple(part for part in turn.parts if isinstance(part, ToolResult) and part.call_id in asked)
    rest = tuple(part for part in turn.parts if part not in calls and part not in results)
    return [
        replace(turn, text="", parts=calls, is_cache_point=False),
        replace(turn, role="tool", text="", parts=results, is_cache_point=False),
        replace(turn, parts=rest),
    ]


def _turns_to_cache(conversation: Conversation) -> list[Message]:
    """Return the turns after which a cache point is set, as many as allowed: the last tool turn, and the history's last turn.

    The text before the tool turns repeats with each of them.
    """
    marked = [turn for turn in conversation.history if turn.is_cache_point][-1:]
    pays = marked or any(block.is_cache_point for block in conversation.blocks)
    ends = [*(conversation.tool_turns[-1:] if pays else ()), *marked]
    return ends[: conversation.max_cache_points]


def _is_assistant(turn: Message) -> bool:
    return turn.role == "assistant"


def _answered(asked: Iterable[Message], answered: Iterable[Message]) -> list[tuple[ToolCall, ToolResult]]:
    """Return the calls of one side that the next side answers, with their results, in the order of the calls."""
    waiting = [part for turn in answered for part in turn.parts if isinstance(part, ToolResult)]
    pairs = []
    for call in (part for turn in asked for part in turn.parts if isinstance(part, ToolCall) and _is_assistant(turn)):
        result = next((result for result in waiting if result.call_id == call.id), None)
        if result:
            waiting.remove(result)
            pairs.append((call, result))
    return pairs


_Pairs = list[tuple[ToolCall, ToolResult]]


def _stretch(side: Sequence[Message], *, asked: _Pairs, answered: _Pairs) -> Stretch:
    calls = tuple(call for call, _ in asked)
    results = tuple(result for _, result in answered)
    sent: list[ToolCall | ToolResult] = [*calls, *results]
    texts: list[str] = []
    cached = 0
    for turn in side:
        texts += [text for text in _texts(turn, sent) if text.strip()]
        if turn.is_cache_point:
            cached = len(results) + len(texts) + len(calls)
    return Stretch("assistant" if _is_assistant(side[0]) else "user", tuple(texts), calls, results, cached)


def _texts(turn: Message, sent: Sequence[ToolCall | ToolResult]) -> list[str]:
    """Return the turn's text, and a note for each part that cannot be sent as a call or result."""
    notes = [_note(part) for part in turn.parts if part not in sent]
    is_repeated = any(isinstance(part, ToolResult) and part.content == turn.text for part in turn.parts)
    return notes if is_repeated else [turn.text, *notes]


def _note(part: ToolCall | ToolResult) -> str:
    if isinstance(part, ToolResult):
        return f"[a tool answered: {part.content or _NO_OUTPUT}]"
    return f"[called {part.name} with {json.dumps(dict(part.arguments), ensure_ascii=False)}]"


def _with_sendable_ids(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return the stretches with ids and names that every provider accepts; each id is used for only one call.

    An id depends on the calls before it alone: later tool turns change nothing that a provider has cached.
    """
    used: set[str] = set()
    fresh = (made for number in count(1) if (made := f"call_{number}") not in used)
    ids: list[str] = []
    sendable = []
    for stretch in stretches:
        results = tuple(
            replace(result, call_id=call_id, content=result.content if result.content.strip() else _NO_OUTPUT)
            for result, call_id in zip(stretch.results, ids, strict=True)
        )
        ids = []
        for call in stretch.calls:
            ids.append(call.id if _ID.fullmatch(call.id) and call.id not in used else next(fresh))
            used.add(ids[-1])
        calls = tuple(
            replace(call, id=call_id, name=_NOT_IN_A_NAME.sub("_", call.name)[:_MAX_NAME_CHARS] or "tool")
            for call, call_id in zip(stretch.calls, ids, strict=True)
        )
        sendable.append(replace(stretch, calls=calls, results=results))
    return sendable


def opened_by_user(stretches: list[Stretch]) -> list[Stretch]:
    """Return the stretches, preceded by a user's stretch if the window begins inside an answer."""
    return [Stretch("user", (_EARLIER,)), *stretches] if stretches[0].role == "assistant" else stretches


def apart(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the stretches with results and texts in separate messages: some Bedrock models refuse both in one."""
    parted = []
    for stretch in stretches:
        if stretch.results and stretch.texts:
            behind = stretch.cached - len(stretch.results)
            results = replace(stretch, texts=(), cached=stretch.cached if behind <= 0 else 0)
            texts = replace(stretch, results=(), cached=max(0, behind))
            parted += [results, Stretch("assistant", (_NO_ANSWER,)), texts]
        else:
            parted.append(stretch)
    return parted
