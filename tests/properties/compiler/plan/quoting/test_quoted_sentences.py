"""A page without a model quotes sentences whole: every word of them, with dates, numbers and signs."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from compiler.plan.contract import BatchMemory
from compiler.plan.quoting.excerpts import bare, excerpt
from compiler.plan.quoting.sections import arrange
from compiler.plan.text.markdown import unescape
from compiler.plan.text.sentences import sentences
from store.text.texts import text_hash

NAME = "Odile Marchetti"
WHEN = datetime(2026, 3, 1, tzinfo=UTC)
DATES = st.sampled_from([
    "2023-05-08", "8 May 2023", "May 8th", "on 08/05/23", "last Friday", "in 2019", "am 3. Mai", "el 5 de mayo", "5月8日",
    "at 7:30 p.m.", "(12 June)", "[sic]", "*three* times", "for $54.20", "#1 of 3", "_twice_", "1. June", "- again", "<now>",
    "3) so",
])  # fmt: skip
DEEDS = st.sampled_from([
    "rowed across the quiet lake with her brother", "sold the old red piano to a neighbour",
    "planted forty tulips behind the barn",    "repaired clocks in the cellar of the museum",
])  # fmt: skip


@st.composite
def memories(draw: st.DrawFn) -> BatchMemory:
    parts = draw(st.lists(st.tuples(DATES, DEEDS, DATES), min_size=1, max_size=4))
    told = [f"{before} {NAME} {deed} {after}." for before, deed, after in parts]
    text = " ".join(told)
    return BatchMemory("m1", text, text_hash(text), WHEN)


@given(memories())
def test_quoted_sentence_keeps_its_date_and_every_word(memory: BatchMemory) -> None:
    keys = frozenset({NAME.lower()})
    said = excerpt(memory, keys)
    sections = arrange([(memory, said)], None, keys)
    lines = [line for section in sections for line in section.body_md.split("\n")]
    quoted = [unescape(line.removeprefix("- ")) for line in lines]
    assert [line.removeprefix("2026-03-01: ") for line in quoted] == list(dict.fromkeys(map(bare, said)))
    dated = [line for line in quoted if line.startswith("2026-03-01: ")]
    counting = [line for line in quoted if "last Friday" in line or "<now>" in line]
    assert dated == counting, "a line tells its day where it counts from it"
    whole = sentences(memory.text)
    runs = {" ".join(whole[at:end]) for at in range(len(whole)) for end in range(at + 1, len(whole) + 1)}
    assert set(said) <= runs, "what is quoted are sentences of the memory, whole and in their order"
    words = {word for one in said for word in one.split()}
    assert words <= set(memory.text.split())
