"""Invariants of every fitting, as checks on one fitting each.

Hypothesis tries them on a few questions in every run, `test_turn_campaign` on 100,000 in a long one.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from dataclasses import replace

from sidecar.turn.fences.fence import neutralise
from sidecar.turn.fitting import history
from sidecar.turn.fitting.containment import says
from sidecar.turn.fitting.fitting import SUMMARY_HEADER, SUMMARY_ID, Fitted, Fitting, fit
from sidecar.turn.items import Decision, Form, Source
from sidecar.turn.profile import Profile, merge, parse_layer
from sidecar.turn.receipt import receipt
from store.text.texts import signatures
from tests.support.turn.turn_cases import METER, kept_ids, text_of

_MARKED = re.compile(r"\[([a-z]\d+)\] (.*)")
_SAID_BY_ROLE = re.compile(r"\A(?:user|assistant|tool|system): ")
ASKED = receipt.ReceiptInputs("where?", {"model_id": "gpt-4o"}, "v1")


def check_tokens(result: Fitted) -> None:
    """The rendered tokens never exceed the pool, and are those of the bytes."""
    rendering = result.rendering
    messages = sum(message.tokens for message in rendering.messages)
    assert rendering.tokens == METER.count([text_of(result)])[0] + messages <= result.pool.pool_tokens
    assert [block.tokens for block in rendering.blocks] == METER.count([block.text for block in rendering.blocks])
    notice = rendering.blocks[0].tokens if rendering.blocks else 0
    assert sum(share.included_tokens for share in result.shares) + notice == rendering.tokens


def check_order(question: Fitting, result: Fitted, seed: int) -> None:
    """The same inputs give the same bytes, whatever order sources answered in."""
    rng = random.Random(seed)
    reports = [replace(report, items=tuple(rng.sample(report.items, len(report.items)))) for report in question.reports]
    turns = rng.sample(question.history, len(question.history))
    shuffled = replace(question, reports=tuple(rng.sample(reports, len(reports))), history=tuple(turns))
    assert fit(shuffled, METER).rendering == result.rendering


def check_larger_budget(question: Fitting, result: Fitted, more_tokens: int) -> None:
    """Where two budgets first decide differently, the larger one keeps the item.

    Both are under 4,000 tokens or neither is: from there on the window of recent turns begins on a grid. A thread's summary
    counts if both offer one: a pool under 2,000 tokens does not.
    """
    larger = fit(replace(question, window_tokens=question.window_tokens + more_tokens), METER)
    is_counted = result.pool.pool_tokens >= 2_000
    smalls, larges = ([step for step in one.steps if is_counted or step[0] != SUMMARY_ID] for one in (result, larger))
    for small, large in zip(smalls, larges, strict=False):
        if small != large:
            assert (*small[:2], True) == large
            return
    assert len(smalls) == len(larges)


def check_priority(question: Fitting, source: Source, priority: int) -> None:
    """Raising a source's priority never lowers its share. The question's items must not be akin."""
    raised = replace(question, profile=_with_priority(question.profile, source, priority))
    assert _share_of(fit(raised, METER), source) >= _share_of(fit(question, METER), source)


def check_floors(question: Fitting) -> bool:
    """Floors are kept by every source whose items fit them; returns whether the pool could hold them all.

    The question's items must not be akin. Floors are tried without their shares, which differ with the pool.
    """
    knobs = tuple(replace(one, floor_share=1.0) for one in question.profile.sources)
    question = replace(question, profile=replace(question.profile, sources=knobs))
    bare = [
        replace(report, items=tuple(item._replace(lead="") for item in report.items)) for report in question.reports
    ]
    question = replace(question, reports=tuple(bare))
    result = fit(question, METER)
    floors = sum(question.profile.knobs(source).floor_tokens for source in Source)
    if result.pool.pool_tokens < history.read(question.history, METER).exchange_tokens + floors + 40:
        return False
    wide = fit(replace(question, window_tokens=10**6), METER)
    by_floor = {told.item.id for told in wide.fates if told.reason.startswith("floor of ")}
    assert by_floor <= set(kept_ids(result))
    return True


def check_fates(question: Fitting, result: Fitted) -> None:
    """Every offered item has one fate with a reason, and the counts add up."""
    offered = [id(item) for report in question.reports for item in report.items]
    decided = [id(fate.item) for fate in result.fates if fate.item.id != SUMMARY_ID]
    assert sorted(offered) == sorted(decided)
    assert all(fate.reason for fate in result.fates)
    assert all(turn_fate.reason for turn_fate in result.turn_fates)
    for share in result.shares:
        assert share.offered_count == share.included_count + share.shortened_count + share.dropped_count
    for fate in result.fates:
        is_in = fate.decision in {Decision.KEPT, Decision.SHORTENED}
        assert is_in == (fate.form is not None) == (fate.tokens > 0) == bool(fate.mark)
        assert (fate.form is Form.LEAD) == (fate.decision is Decision.SHORTENED)


def check_facts(question: Fitting, result: Fitted) -> None:
    """No fact is lost to one that is absent, and none is said twice. One id is one item, whichever text it came with."""
    kept = [fate for fate in result.fates if fate.form]
    cut = {fate.turn.id for fate in result.turn_fates if "its middle is cut" in fate.reason}
    whole = {message.turn_id for message in result.rendering.messages} - cut
    present = {fate.item.id for fate in kept} | whole | question.seen_item_ids
    assert all(fate.into in present for fate in result.fates if fate.decision is Decision.DEDUPED_INTO)
    assert len({fate.item.id for fate in kept}) == len(kept)
    texts: dict[str, list[str]] = defaultdict(list)
    for turn in question.history:
        texts[turn.id].append(turn.text)
    for fate in result.fates:
        texts[fate.item.id].append(fate.item.text)
    for fate in result.fates:
        if (
            fate.decision is Decision.DEDUPED_INTO
            and fate.item.source is not Source.THREAD
            and fate.item.id != fate.into
        ):
            # What it was dropped for may itself have been dropped for several turns that say it together.
            drawn = [one.item.stands_for for one in result.fates if one.into == fate.into]
            by = [*texts[fate.into], *("\n".join(text for ref in refs for text in texts[ref]) for refs in drawn)]
            own = texts[fate.item.id]
            assert any(same_words(one, text) or says(one, text) for one in by for text in own)
    for fate in kept:
        assert fate.item.source is not Source.THREAD or not set(fate.item.stands_for or {fate.item.id}) <= whole


def same_words(one: str, other: str) -> bool:
    """Return whether two texts differ at most in case, width, punctuation and spacing."""
    first, second = signatures([one, other])
    return (first.text_key, first.guard) == (second.text_key, second.guard)


def check_thread(question: Fitting, result: Fitted) -> None:
    """The thread is sent as it was said, without a hole but a cut exchange's, every tool result behind its call."""
    thread = history.read(question.history if question.profile.knobs(Source.THREAD).enabled else (), METER)
    said = [turn.id for unit in (*thread.older[::-1], *thread.exchange) for turn in unit.turns]
    sent = [message.turn_id for message in result.rendering.messages]
    assert sent == [turn_id for turn_id in said if turn_id in sent]
    assert result.is_exchange_cut or sent == said[len(said) - len(sent) :]
    assert not thread.exchange or thread.exchange[0].turns[0].id in sent
    waiting: list[str] = []
    for part in (part for message in result.rendering.messages for part in message.parts):
        if part["type"] == "tool_call":
            waiting.append(part["id"])
        else:
            waiting.remove(part["id"])
    assert not waiting


def check_fences(result: Fitted) -> None:
    """Only what the fence writes starts a line: marks in their order and headers; and no body reads as any of it."""
    kept = [fate for fate in result.fates if fate.form]
    bodies = {fate.mark: fate.text for fate in kept}
    headers = {" ".join(neutralise(fate.item.header).split()) for fate in kept} | {SUMMARY_HEADER}
    headers |= {f"› {' '.join(neutralise(fate.item.section).split())}" for fate in kept}
    marks = []
    for block in result.rendering.blocks[1:]:
        first, *lines, last, end = block.text.split("\n")
        assert first.startswith("<context-000000 source=")
        assert (last, end) == ("</context-000000>", "")
        for line in lines:
            if match := _MARKED.fullmatch(line):
                marks.append(match[1])
                assert bodies[match[1]].split("\n")[0] == match[2]
            else:
                assert not line or line[0] == " " or line.removeprefix("# ") in headers
    assert marks == [fate.mark for fate in kept]
    for body in bodies.values():
        said = _SAID_BY_ROLE.sub("", body)
        assert neutralise(said) == said
        assert not [line for line in body.split("\n")[1:] if line and line[0] != " "]
        assert len(body.splitlines()) == len(body.split("\n"))


def check_replay(question: Fitting, result: Fitted) -> None:
    """A receipt, written and read back, gives the same bytes again."""
    written, texts = receipt.write(ASKED, question, result)
    again = receipt.replay(json.loads(json.dumps(written, allow_nan=False)), texts, fence_tag=question.fence_tag)
    assert fit(again, METER).rendering == result.rendering


def _with_priority(profile: Profile, source: Source, priority: int) -> Profile:
    return merge(parse_layer(profile.as_mapping()), parse_layer({"sources": {source.value: {"priority": priority}}}))


def _share_of(result: Fitted, source: Source) -> int:
    return next(share.included_tokens for share in result.shares if share.source is source)
