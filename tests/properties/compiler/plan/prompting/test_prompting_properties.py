"""Generated and hostile input for what `tests/unit/compiler/plan/prompting/test_prompting.py` tests by example."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.plan.judging import validate
from compiler.plan.names import lookup
from compiler.plan.prompting import prompt, schema, splitting
from tests.support.compiler.plan_cases import batch, memory, page
from tests.unit.compiler.plan.prompting.test_prompting import HANDLES, M1


def test_prompt_costs_the_same_over_many_pages_and_shows_the_named_ones() -> None:
    def tokens(count: int) -> tuple[int, bool]:
        pages = [page(f"Place {number}", summary="Somewhere good to eat.") for number in range(count)]
        right = page("Uchi", summary="Sushi.")
        chosen = lookup.choose(
            [*pages, right], lookup.names_in([M1]), budget_tokens=1_000, count=lambda text: len(text) // 4
        )
        return len(prompt.leaf(batch(M1, pages=chosen)).user), right in chosen

    few, many = tokens(100), tokens(3_000)
    assert many[0] <= 1.2 * few[0]
    assert few[1]
    assert many[1]


@given(st.lists(st.text(max_size=60), max_size=6), st.integers(1, 30))
def test_pieces_stay_within_the_limit_and_together_are_the_whole(texts: list[str], most: int) -> None:
    seen = batch(*(memory(f"m{number}", text) for number, text in enumerate(texts)))
    parts = splitting.split(seen, max_chars=most)
    pieces = [one for part in parts for one in part.memories]
    assert "".join(one.text for one in pieces) == "".join(texts)
    assert all(len(one.text) <= most for one in pieces) or parts == (seen,)


_KEYS = st.sampled_from(
    [*schema.LEAF["properties"], "pageId", "sections", "source_refs", "title", "type", "slug", "aliases", "newPage"]
)


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from(["P1", "R1", "M1", "entity", "\x00", "\ud800"])
)


_ANY = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=12
)


@settings(max_examples=120, deadline=None)
@given(_ANY)
def test_no_answer_breaks_the_reader_or_cites_an_unseen_memory(answer: object) -> None:
    proposal, _ = validate.read(answer, HANDLES)
    cited = {
        one
        for page_ in proposal.new_pages
        for one in (*page_.memory_ids, *(i for s in page_.sections for i in s.memory_ids))
    }
    assert cited <= {"m1", "m2"}
