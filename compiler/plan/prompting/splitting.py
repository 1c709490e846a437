"""Splits a batch that is too long for one prompt. No memory is truncated: a long one becomes several pieces with the same id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import BatchMemory
from compiler.plan.proposal import Proposal


def split(batch: LeafBatch, *, max_chars: int) -> tuple[LeafBatch, ...]:
    """Return the batch as batches with at most `max_chars` characters of memories each, in order.

    Each has all pages and mentions. A batch that fits is returned unchanged.
    """
    groups: list[list[BatchMemory]] = [[]]
    remaining_chars = max_chars
    for piece in (piece for memory in batch.memories for piece in _pieces(memory, max_chars)):
        if len(piece.text) > remaining_chars and groups[-1]:
            groups.append([])
            remaining_chars = max_chars
        groups[-1].append(piece)
        remaining_chars -= len(piece.text)
    return (batch,) if len(groups) == 1 else tuple(replace(batch, memories=tuple(group)) for group in groups)


def join(proposals: Iterable[Proposal]) -> Proposal:
    """Return one proposal with the contents of the proposals for the parts of a batch, in order."""
    every = tuple(proposals)
    return Proposal(
        updates=tuple(one for proposal in every for one in proposal.updates),
        new_pages=tuple(one for proposal in every for one in proposal.new_pages),
        mentions=tuple(one for proposal in every for one in proposal.mentions),
        promotions=tuple(one for proposal in every for one in proposal.promotions),
        links=tuple(one for proposal in every for one in proposal.links),
        rollups=tuple(one for proposal in every for one in proposal.rollups),
        section_promotions=tuple(one for proposal in every for one in proposal.section_promotions),
        ends=tuple(one for proposal in every for one in proposal.ends),
    )


def _pieces(memory: BatchMemory, max_chars: int) -> Iterator[BatchMemory]:
    """Yield the memory, or its text in pieces cut after white space if possible; together they are the whole text."""
    text = memory.text
    while len(text) > max_chars:
        cut = (
            max(text.rfind(" ", max_chars // 2, max_chars), text.rfind("\n", max_chars // 2, max_chars)) + 1
            or max_chars
        )
        yield replace(memory, text=text[:cut])
        text = text[cut:]
    yield memory if text is memory.text else replace(memory, text=text)
