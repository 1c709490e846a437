"""Where an edge that waits for its pages is put back."""

from __future__ import annotations

import pytest

from compiler.plan.contract import LinkKind, LinkOrigin, PageKey, PageType, WriteLink
from compiler.plan.edge_types import TypedEdge
from compiler.plan.edges.kept import KeptEdge, place_of, put_back

MARIA, HELIOS, LABS = (PageKey(PageType.ENTITY, slug) for slug in ("maria", "helios", "helios-labs"))
TOPIC = PageKey(PageType.TOPIC, "helios")
EDGE = WriteLink(MARIA, HELIOS, LinkKind.REFERENCE, LinkOrigin.MANUAL, "edge:works_at", "", TypedEdge("works_at"))
KEPT = KeptEdge(EDGE, ("Maria", "Helios"))


@pytest.mark.parametrize(
    ("merged_into", "existing", "bearers", "place"),
    [
        (HELIOS, {HELIOS}, {LABS}, HELIOS),
        (LABS, {HELIOS, LABS}, set(), LABS),
        (HELIOS, set(), {LABS}, LABS),
        (HELIOS, set(), {LABS, TOPIC}, LABS),
        (HELIOS, set(), {TOPIC}, TOPIC),
        (HELIOS, set(), {LABS, MARIA}, None),
        (HELIOS, set(), set(), None),
    ],
    ids=("itself", "merged", "by its title", "of its type", "of another type", "of several", "nowhere"),
)
def test_place_of_a_page(
    merged_into: PageKey, existing: set[PageKey], bearers: set[PageKey], place: PageKey | None
) -> None:
    assert place_of(HELIOS, merged_into, existing, bearers) == place


def test_edge_waits_until_both_pages_are_there_and_apart() -> None:
    assert put_back([KEPT], {MARIA: MARIA}, ()) == ((), ())
    assert put_back([KEPT], {MARIA: LABS, HELIOS: LABS}, ()) == ((), ())
    (link,), settled = put_back([KEPT], {MARIA: MARIA, HELIOS: LABS}, ())
    assert (link.target, link.edge, settled) == (LABS, EDGE.edge, (KEPT,))


def test_edge_that_was_stated_again_is_not_written_over() -> None:
    assert put_back([KEPT], {MARIA: MARIA, HELIOS: HELIOS}, {EDGE.identity}) == ((), (KEPT,))
