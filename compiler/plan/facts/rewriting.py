"""Keeps facts of a section's old text when the section is rewritten.

A sentence with a number, date, name or negation that the new text changes or drops is kept as a past line with its day and
origin. A memory of a tool, document or webhook does not replace a user's statement: the user's sentence stays, and the other is
kept apart as a claim. A source stays cited while the section has a word or fact of it. Words are compared, not meanings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from compiler.plan.contract import (
    BatchMemory,
    CitedMemory,
    CreatePage,
    Draft,
    Item,
    PageKey,
    PlanDecision,
    Section,
    WriteSection,
)
from compiler.plan.facts import facts, past
from compiler.plan.facts.facts import Gist, Loss, Sentence
from compiler.plan.facts.past import Origin
from compiler.plan.text.markdown import escape

Bodies = Mapping[tuple[PageKey, str], str]

MOST_COMPARED = 200_000

_SUMMARY = ""
_COUNTED_AS = {
    facts.NUMBER: "rewrites_of_number",
    facts.DATE: "rewrites_of_date",
    facts.NAME: "rewrites_of_name",
    facts.NEGATION: "rewrites_of_negation",
}


def sought(decision: PlanDecision) -> frozenset[str]:
    """Return the ids of the memories whose texts `keep` needs: those that the old texts of rewritten sections cite."""
    return frozenset(source.memory_id for draft in (*decision.drafts, *decision.proposed) for source in draft.standing)


def keep(
    decision: PlanDecision, bodies: Bodies, memories: Mapping[str, BatchMemory], shown: Sequence[BatchMemory] = ()
) -> tuple[PlanDecision, Bodies]:
    """Return the decision and its texts with the lines that a rewrite must keep; counters count kept lines by reason.

    `memories` are the present memories that the old texts cite; a missing or edited one stays cited. `shown` are all memories
    shown to the planner, which may have taken words from one and cited another.
    """
    kept, counters = dict(bodies), Counter(decision.counters)
    released: dict[tuple[PageKey, str], frozenset[str]] = {}
    foreign = [one for one in shown if past.origin(one) is not Origin.USER]
    for draft in (*decision.drafts, *decision.proposed):
        place = (draft.page, draft.section.slug)
        rewrite = _Rewrite(draft, memories, facts.own_words((draft.title,)), foreign)
        kept[place] = rewrite.result(bodies.get(place, draft.section.body_md))
        released[place] = rewrite.released(kept[place])
        counters.update(rewrite.counters)
        counters["sources_released"] += len(released[place])
    items = tuple(_without(item, released) for item in decision.items)
    counted = {name: count for name, count in sorted(counters.items()) if count}
    return replace(decision, items=items, counters=counted), kept


@dataclass
class _Rewrite:
    """The rewrite of one section. `standing` are memories of its old sources, `own` the words of the page's title.

    `foreign` are shown memories that do not come from the user.
    """

    draft: Draft
    standing: Mapping[str, BatchMemory]
    own: frozenset[str]
    foreign: Sequence[BatchMemory] = ()
    counters: Counter[str] = field(default_factory=Counter)

    @cached_property
    def common(self) -> frozenset[str]:
        """The common words: those of the old text and its sources. A name in lower case in a new memory is no common word."""
        return facts.common_words((past.plain(self.draft.existing_md), *(memory.text for memory in self._known())))

    @cached_property
    def newest(self) -> Sequence[tuple[BatchMemory, Gist]]:
        """The known sources with their gists, newest first."""
        newest = sorted(self._known(), key=lambda one: (one.occurred_at, one.memory_id), reverse=True)
        return [(one, facts.gist(facts.read(one.text), self.own)) for one in newest]

    def result(self, written: str) -> str:
        """Return the text to store."""
        present, marked = past.split(self.draft.existing_md)
        marked = (*marked, *self.draft.marked)
        body, added = past.split(written)
        body = past.inert("\n".join(part for part in (body, *(one for one in added if one not in marked)) if part))
        if not body.strip() and present:
            self.counters["rewrites_left_empty"] += 1
            body = present
        body, lines = self._with_lost(body, self._lost(present, body))
        body, claims = self._claims_apart(body)
        if self.draft.section.slug == _SUMMARY:
            return body
        return past.join(body, (*marked, *lines, *claims))

    def released(self, body: str) -> frozenset[str]:
        """Return the ids of memories that the old text cited and of which the new text has no word or fact."""
        removed = _changed(self.draft.existing_md, body)
        if not removed:
            return frozenset()
        before = facts.gist(self._read("\n".join(removed)), self.own)
        cited_again = {memory.memory_id for memory in self.draft.memories}
        gone = {
            memory.memory_id: gist
            for memory, gist in self.newest
            if memory.memory_id not in cited_again and facts.shared(before, gist)
        }
        for line in body.split("\n"):
            if not gone:
                break
            after = facts.gist(self._read(line), self.own)
            gone = {memory_id: gist for memory_id, gist in gone.items() if not facts.shared(after, gist)}
        return frozenset(gone)

    def _lost(self, present: str, body: str) -> list[tuple[str, Sentence, Loss]]:
        """Return the sentences of the present text that lose facts in the new text: the line to keep, the sentence, its loss."""
        changed = [(line, self._read(line)) for line in _changed(present, body)]
        new = self._read(body) if changed else ()
        repeated = {one.words for one in new}
        is_long = sum(len(sentences) for _, sentences in changed) * len(new) > MOST_COMPARED
        found = []
        for line, sentences in changed:
            for one in sentences:
                if one.words in repeated:
                    continue
                loss = facts.every_fact(one) if is_long else facts.lost(one, new, self.own)
                if loss.kinds:
                    found.append((line if len(sentences) == 1 else f"- {escape(one.text)}", one, loss))
        return found

    def _with_lost(self, body: str, lost: Iterable[tuple[str, Sentence, Loss]]) -> tuple[str, list[str]]:
        """Return the body with the lost sentences of the user put back, and the past lines and claims to keep with it."""
        restored: list[str] = []
        lines: list[str] = []
        for line, one, loss in lost:
            memory = self._source_of(one)
            if (memory is None or past.origin(memory) is Origin.USER) and not self._is_the_users(loss):
                restored.append(line)
                self.counters["lines_kept_of_users"] += 1
                body, claims = self._apart(body, loss)
                lines += claims
                continue
            lines.append(past.earlier(one.text, memory))
            self.counters["lines_kept_as_past"] += 1
            self.counters.update(_COUNTED_AS[kind] for kind in loss.kinds)
        return "\n\n".join(part for part in ("\n".join(restored), body) if part.strip()), lines

    def _is_the_users(self, loss: Loss) -> bool:
        """Return whether the user made the change: a cited memory of the user says it, or no memory of another origin does."""
        user_memories = [one for one in self.draft.memories if past.origin(one) is Origin.USER]
        others = self._others()
        if any(facts.says(one.text, loss) for one in user_memories):
            return True
        return bool(user_memories) and not any(facts.says(one.text, loss) for one in others)

    def _claims_apart(self, body: str) -> tuple[str, list[str]]:
        """Return the body with the user's sentences that another origin contradicts put back, and the claims kept apart."""
        every = {one.memory_id: one for one in (*self._known(), *self.draft.memories)}
        user_memories = [one for one in every.values() if past.origin(one) is Origin.USER]
        others = [one for one in (*self._known(), *self._others()) if past.origin(one) is not Origin.USER]
        user_sentences = [one for memory in user_memories if others for one in facts.read(memory.text) if one.has_facts]
        lines: list[str] = []
        restored: dict[str, None] = {}
        if user_sentences and len(user_sentences) * len(self._read(body)) <= MOST_COMPARED:
            for one in user_sentences:
                loss = facts.contradiction(one, self._read(body))
                said_by = [other for other in others if facts.says(other.text, loss)] if loss.kinds else []
                if said_by and not any(facts.says(other.text, loss) for other in user_memories):
                    body, claims = self._apart(body, loss)
                    lines += claims
                    restored[f"- {escape(one.text)}"] = None
        self.counters["lines_kept_of_users"] += len(restored)
        if self.draft.section.slug == _SUMMARY and restored:
            return next(iter(restored)).removeprefix("- "), []
        return "\n\n".join(part for part in ("\n".join(restored), body) if part.strip()), lines

    def _apart(self, body: str, loss: Loss) -> tuple[str, list[str]]:
        """Return the body without the contradicting sentence, and that sentence as a claim if a memory of another origin says
        it.
        """
        by = next((one for one in self._others() if facts.says(one.text, loss)), None)
        if loss.by is None or by is None:
            return body, []
        without = _without_sentence(body, loss.by)
        if without == body:
            return body, []
        if all(one.memory_id != by.memory_id for one in self.draft.memories):
            self.counters["claims_uncited"] += 1
            return without, []
        self.counters["claims_set_apart"] += 1
        return without, [past.claimed(loss.by.text, by)]

    def _others(self) -> list[BatchMemory]:
        """Return the memories that do not come from the user, cited ones first."""
        return [*(one for one in self.draft.memories if past.origin(one) is not Origin.USER), *self.foreign]

    def _source_of(self, one: Sentence) -> BatchMemory | None:
        """Return the most likely source of a sentence of the present text."""
        gist = facts.gist((one,), self.own)
        return max(self.newest, key=lambda known: facts.shared(gist, known[1]), default=(None, None))[0]

    def _read(self, markdown: str) -> tuple[Sentence, ...]:
        return facts.read(past.plain(markdown), self.common)

    def _known(self) -> list[BatchMemory]:
        return [memory for source in self.draft.standing if (memory := self._cited(source)) is not None]

    def _cited(self, source: CitedMemory) -> BatchMemory | None:
        """Return a cited memory if it exists and is unchanged."""
        memory = self.standing.get(source.memory_id)
        return memory if memory is not None and memory.text_hash == source.text_hash else None


def _changed(present: str, body: str) -> list[str]:
    """Return the lines of the present text that the new text does not repeat word for word."""
    repeated = set(body.split("\n"))
    return [line for line in present.split("\n") if line.strip() and line not in repeated]


def _without_sentence(body: str, one: Sentence) -> str:
    """Return the body without a sentence; other sentences of its line stay."""
    lines = body.split("\n")
    for at, line in enumerate(lines):
        sentences: Sequence[Sentence] = facts.read(past.plain(line))
        if not any(other.text == one.text for other in sentences):
            continue
        if len(sentences) == 1:
            return "\n".join((*lines[:at], *lines[at + 1 :]))
        cut = line.replace(one.text, "", 1)
        rest = " ".join(escape(other.text) for other in sentences if other.text != one.text)
        lines[at] = " ".join(cut.split()) if cut != line else rest
        return "\n".join(lines)
    return body


def _without(item: Item, released: Mapping[tuple[PageKey, str], frozenset[str]]) -> Item:
    if isinstance(item, WriteSection):
        return replace(item, section=_less(item.section, released.get((item.page, item.section.slug))))
    if isinstance(item, CreatePage):
        key = item.page.key
        sections = tuple(_less(one, released.get((key, one.slug))) for one in item.page.sections)
        return replace(item, page=replace(item.page, sections=sections))
    return item


def _less(section: Section, released: frozenset[str] | None) -> Section:
    if not released:
        return section
    return replace(section, sources=tuple(one for one in section.sources if one.memory_id not in released))
