"""Generated and hostile ontologies: what is applied is valid, what is exported is read back, no text breaks a reading."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology import changes, exchange, suggesting
from sidecar.services.ontology.changes import TermChange
from sidecar.services.ontology.exchange import ExchangeFormat
from sidecar.services.ontology.suggesting import SeenText
from sidecar.services.ontology.term_reading import read_term, slug_of, write_term
from store.ontology.change_sets import ChangeAction
from store.ontology.terms import EntityType, Ontology, RelationshipType, Term, TermKind, kind_of

T = TypeVar("T")
SLUGS = st.sampled_from(["boat", "ferry", "pier", "sea", "crew"])
LINES = st.text(max_size=30)
ENTITIES = st.builds(
    lambda slug, broad, text: EntityType(slug, slug.title(), " ".join(text.split()), broad),
    SLUGS,
    st.one_of(st.just(""), SLUGS),
    LINES.filter(str.isprintable),
)
RELATIONSHIPS = st.builds(
    lambda slug, ends: RelationshipType(slug, f"does {slug}", "", tuple(sorted(ends[0])), tuple(sorted(ends[1]))),
    SLUGS,
    st.tuples(st.frozensets(SLUGS, max_size=2), st.frozensets(SLUGS, max_size=2)),
)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from([ChangeAction.CREATE, ChangeAction.UPDATE, ChangeAction.DEPRECATE]),
        st.one_of(ENTITIES, RELATIONSHIPS),
    ),
    max_size=8,
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)
AT = datetime(2026, 3, 1, tzinfo=UTC)
OWNER = UUID(int=11)


def applied(base: Ontology, drafted: list[tuple[ChangeAction, Term]]) -> Ontology | None:
    """Return what the changes make of an ontology; None if they are refused."""
    named = [TermChange(action, term, f"items[{place}]") for place, (action, term) in enumerate(drafted)]
    try:
        return changes.apply(base, named)
    except InvalidArgument:
        return None


def outcome(read: Callable[[], T]) -> tuple[T | None, str]:
    """Return what was read, or the field that was refused."""
    try:
        return read(), ""
    except InvalidArgument as error:
        return None, error.field


@given(st.lists(CHANGES, max_size=4))
def test_applied_changes_are_valid_and_their_difference_undoes_them(
    drafts: list[list[tuple[ChangeAction, Term]]],
) -> None:
    base = Ontology()
    for drafted in drafts:
        made = applied(base, drafted)
        if made is None:
            continue
        assert list(changes.problems(made)) == []
        assert made.version == base.version + 1
        assert [term.key for term in made.entity_types] == sorted({term.key for term in made.entity_types})
        touched = {(kind_of(term), term.key) for _, term in drafted}
        assert {(one.kind, one.key) for one in changes.differences(base, made)} <= touched
        assert changes.differences(made, made) == ()
        for one in made.entity_types:
            assert one.slug not in changes.broader({kind.slug: kind for kind in made.entity_types}, one.slug)
        base = made
    for form in ExchangeFormat:
        assert exchange.read(exchange.write(base, form)).terms == base.terms


@given(CHANGES)
def test_order_of_a_sets_items_does_not_matter(drafted: list[tuple[ChangeAction, Term]]) -> None:
    assert applied(Ontology(), drafted) == applied(Ontology(), drafted[::-1])


@given(st.one_of(ENTITIES, RELATIONSHIPS))
def test_term_is_read_back_equal(term: Term) -> None:
    assert read_term(kind_of(term), write_term(term), field="term") == term


@given(st.sampled_from(list(TermKind)), JSON)
def test_any_json_is_a_term_or_refused_by_name(kind: TermKind, given_json: Any) -> None:
    term, refused = outcome(lambda: read_term(kind, given_json, field="term"))
    assert refused.startswith("term") if term is None else not refused
    assert term is None or read_term(kind, write_term(term), field="term") == term


@given(st.text())
def test_slug_of_any_text_is_a_slug_or_empty(text: str) -> None:
    assert re.fullmatch(r"([a-z][a-z0-9_]{0,63})?", slug_of(text))
    assert slug_of(slug_of(text)) == slug_of(text)


@given(st.text())
def test_any_text_is_an_ontology_or_refused(text: str) -> None:
    ontology, refused = outcome(lambda: exchange.read(text))
    assert refused.startswith("content") if ontology is None else not refused


@given(JSON)
def test_terms_that_are_no_list_are_refused_and_none_are_no_terms(given_json: Any) -> None:
    ontology, refused = outcome(lambda: exchange.read(json.dumps({"entity_types": given_json})))
    if not isinstance(given_json, list):
        assert (ontology is None) == (given_json is not None)
        assert given_json is None or refused == "content.entity_types"


@given(st.lists(st.text(max_size=400), max_size=4), st.lists(st.text(min_size=2, max_size=12), max_size=4))
def test_quotes_of_suggestions_are_in_their_memories(texts: list[str], names: list[str]) -> None:
    pattern = suggesting.names_pattern([*names, "Casa Lola", "Vela Azul"])
    assert pattern is not None
    said = [f"Casa Lola is a tavern. {text}" for text in texts] + ["Vela Azul is a tavern."]
    seen = [SeenText(OWNER, f"m{place}", text, AT) for place, text in enumerate(said)]
    found = [signal for one in seen for signal in suggesting.signals(one, pattern, frozenset())]
    by_id = {one.memory_id: one.text for one in seen}
    for signal in found:
        assert signal.sighting.quote in by_id[signal.sighting.memory_id]
        assert len(signal.sighting.quote) <= 280
    suggested = suggesting.suggestions(found, Ontology())
    assert suggested == suggesting.suggestions(found[::-1], Ontology())
    for one in suggested:
        assert len(one.sightings) <= 5
        assert read_term(kind_of(one.term), write_term(one.term), field="term") == one.term


@given(st.text(max_size=200), st.sampled_from(["Lola", "Ärger", "b"]), st.sampled_from(["Azul", "Öl", "c d"]))
def test_label_of_an_edge_names_only_titles_that_its_memory_says(text: str, source: str, target: str) -> None:
    for said in (text, f"{source} met {target}."):
        found = suggesting.edge_signal(SeenText(OWNER, "m", said, AT), "met_with", source, target)
        assert found is not None
        is_said = source in said and target in said
        assert found.sighting.label == "met with" or (is_said and found.sighting.label == f"{source} met with {target}")
