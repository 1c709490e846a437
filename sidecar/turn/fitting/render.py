"""Renders the context: the stable blocks, the turns as messages, and the recalled items, with the provider's cache points.

Text that changes often goes last, so that a provider's cache keeps the text before it. Recalled items stand in groups (a
document, a page, a day) with the best group last, next to the question; inside a group they keep the order in which they were
written or said. To save tokens there is one fence per block, one header per group and section, and one mark per item.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sidecar.turn.fitting.ledger import Ledger
from sidecar.turn.fitting.pieces import BLOCKS, fence_lines, notice
from sidecar.turn.items import Form, Source, TokenCounter, Zone

_BY_TIME = frozenset({Source.MEMORY, Source.THREAD})
_LONG_AGO = float("-inf")


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """One block of rendered text. The first block is the notice about the fence and has no source."""

    zone: Zone
    source: Source | None
    text: str
    tokens: int
    is_cache_point: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the history as it is sent."""

    turn_id: str
    role: str
    text: str
    parts: tuple[dict[str, Any], ...]
    tokens: int
    is_cache_point: bool = False


@dataclass(frozen=True, slots=True)
class CachePoint:
    """A position where a provider's prompt cache pays off: the end of a zone, and the tokens of context before it."""

    zone: Zone
    tokens_before: int


@dataclass(frozen=True, slots=True)
class Rendering:
    """The finished context. `order` lists its items by index in the stock; `marks` maps each index to its mark.

    `stable_prefix_tokens` counts the tokens before the recalled items: the stable blocks and the messages.
    """

    blocks: tuple[SystemBlock, ...]
    messages: tuple[Message, ...]
    order: tuple[int, ...]
    marks: dict[int, str]
    tokens: int
    stable_prefix_tokens: int
    cache_points: tuple[CachePoint, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options of rendering.

    `tag` is the fence's tag, `tokens_before` the tokens of the prompt before our blocks, `cache_minimum_tokens` the shortest
    prefix that the provider caches. The notice about the fence stands first if `has_notice`.
    """

    tag: str
    tokens_before: int
    cache_minimum_tokens: int
    has_notice: bool


def render(ledger: Ledger, messages: Sequence[Message], page: RenderOptions, meter: TokenCounter) -> Rendering:
    """Return the ledger's items and the messages, rendered and counted as rendered.

    The notice is in the context even without items, so that the system prompt stays the same when nothing is recalled.
    """
    drafts, order, marks = _draft_blocks(ledger, page)
    counts = meter.count_joined([lines for _, _, lines in drafts])
    stable_count = sum(zone is Zone.STABLE for zone, _, _ in drafts)
    stable_tokens, turn_tokens = sum(counts[:stable_count]), sum(message.tokens for message in messages)
    points = _cache_points(stable_tokens, turn_tokens, page)
    marked = {point.zone for point in points}
    blocks = tuple(
        SystemBlock(zone, source, "".join(lines), tokens, number == stable_count and Zone.STABLE in marked)
        for number, ((zone, source, lines), tokens) in enumerate(zip(drafts, counts, strict=True), start=1)
    )
    if Zone.TURNS in marked:
        messages = (*messages[:-1], replace(messages[-1], is_cache_point=True))
    sent = [part for message in messages for part in message_parts(message)]
    return Rendering(
        blocks=blocks,
        messages=tuple(messages),
        order=tuple(order),
        marks=marks,
        tokens=sum(counts) + turn_tokens,
        stable_prefix_tokens=stable_tokens + turn_tokens,
        cache_points=points,
        sha256=digest([*(block.text for block in blocks), *sent]),
    )


_Draft = tuple[Zone, Source | None, list[str]]


def _draft_blocks(ledger: Ledger, page: RenderOptions) -> tuple[list[_Draft], list[int], dict[int, str]]:
    by_block: dict[int, list[int]] = {}
    blocks = ledger.stock.pieces.blocks
    for index in ledger.kept:
        by_block.setdefault(blocks[index], []).append(index)
    drafts: list[_Draft] = [(Zone.STABLE, None, [notice(page.tag)])] if page.has_notice else []
    order: list[int] = []
    marks: dict[int, str] = {}
    for number, indexes in sorted(by_block.items(), key=_stable_then_best_last):
        block, ordered = BLOCKS[number], _best_group_last(indexes, ledger)
        order += ordered
        first, last = fence_lines(block, page.tag)
        drafts.append((block.zone, block.source, [first, *_lines(ordered, block.letter, marks, ledger), last]))
    return drafts, order, marks


def _stable_then_best_last(block: tuple[int, list[int]]) -> tuple[bool, int]:
    """Return the sort key of a block: stable blocks first, then the block with the best item last."""
    number, indexes = block
    return BLOCKS[number].zone is not Zone.STABLE, -min(indexes)


def _lines(indexes: Sequence[int], letter: str, marks: dict[int, str], ledger: Ledger) -> list[str]:
    """Return the lines of one block (an item's in two pieces), and record each item's mark in `marks`."""
    pieces, forms, lead = ledger.stock.pieces, ledger.forms, Form.LEAD
    groups, headers, full, short = pieces.groups, pieces.headers, pieces.full_lines, pieces.lead_lines
    sections, section_lines = pieces.sections, pieces.section_lines
    lines: list[str] = []
    group = section = None
    for number, index in enumerate(indexes, start=1):
        if groups[index] != group:
            group = groups[index]
            lines.append(headers[group])
        if sections[index] != section:
            section = sections[index]
            lines.append(section_lines[section])
        marks[index], bracketed = _mark(letter, number)
        lines += (bracketed, short[index] if forms[index] is lead else full[index])
    return lines


@lru_cache(maxsize=8192)
def _mark(letter: str, number: int) -> tuple[str, str]:
    """Return an item's mark, bare and in brackets."""
    return f"{letter}{number}", f"[{letter}{number}]"


def _best_group_last(indexes: list[int], ledger: Ledger) -> list[int]:
    """Return the indexes of one block by group, the group of the best item last; inside a group by time or position.

    A section appears once, at its first item. Ties are broken by text, never by ids, which differ between installations.
    """
    items, pieces = ledger.stock.items, ledger.stock.pieces
    best: dict[int, int] = {}
    for index in indexes:
        group = pieces.groups[index]
        best[group] = min(index, best.get(group, index))
    is_by_time = items[indexes[0]].source in _BY_TIME
    moments = {index: _moment(items[index].at) if is_by_time else _LONG_AGO for index in indexes}
    opened: dict[int, tuple[float, int]] = {}
    for index in indexes:
        section, begun = pieces.sections[index], (moments[index], items[index].position)
        if pieces.section_lines[section]:
            opened[section] = min(begun, opened.get(section, begun))

    def key(index: int) -> tuple[Any, ...]:
        item, section = items[index], pieces.sections[index]
        own = (moments[index], item.position)
        return (-best[pieces.groups[index]], opened.get(section, own), section, *own, item.text, index)

    return sorted(indexes, key=key)


def _moment(at: datetime | None) -> float:
    """Return seconds since 1970. A time without a zone is taken as UTC, so that bytes do not depend on the host."""
    if at is None:
        return _LONG_AGO
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _cache_points(stable_tokens: int, turn_tokens: int, page: RenderOptions) -> tuple[CachePoint, ...]:
    """Return those ends of the stable blocks and of the turns that have enough tokens before them to be cached."""
    ends = [(Zone.STABLE, stable_tokens), (Zone.TURNS, stable_tokens + turn_tokens)]
    return tuple(
        CachePoint(zone, tokens)
        for (zone, tokens), added in zip(ends, (stable_tokens, turn_tokens), strict=True)
        if added and page.tokens_before + tokens >= page.cache_minimum_tokens
    )


def digest(texts: Iterable[str]) -> str:
    """Return the hexadecimal SHA-256 of the texts, each prefixed by its length so that different sequences differ."""
    hashed = hashlib.sha256()
    for text in texts:
        data = text.encode(errors="surrogatepass")
        hashed.update(len(data).to_bytes(8))
        hashed.update(data)
    return hashed.hexdigest()


def message_parts(message: Message) -> tuple[str, str, str]:
    """Return the texts of a message that enter its digest."""
    parts = json.dumps(message.parts, sort_keys=True, ensure_ascii=False, default=str) if message.parts else ""
    return message.role, message.text, parts
