"""Knobs between a Profile message and a layer's mapping."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sidecar.rpc.messages.knobs import read_knobs, write_knobs
from sidecar.runtime.errors import InvalidArgument
from sidecar.turn.items import Source
from sidecar.turn.profile import DEFAULTS, merge, parse_layer
from sidecar.v1 import items_pb2
from sidecar.v1 import profile_pb2 as pb


def test_no_knobs_are_an_empty_message() -> None:
    assert write_knobs({}) == pb.Profile()
    assert read_knobs("profile", pb.Profile()) == {}


def test_merged_profile_is_written_with_every_knob_but_unset_bounds() -> None:
    profile = write_knobs(DEFAULTS.as_mapping())
    assert [entry.source for entry in profile.sources] == list(range(1, 7))
    assert not profile.HasField("budget_tokens")
    assert not profile.sources[0].HasField("ceiling_tokens")
    assert merge(parse_layer(read_knobs("profile", profile))) == DEFAULTS


def test_every_field_of_the_contract_is_a_knob() -> None:
    knobs = DEFAULTS.as_mapping()
    assert set(pb.Profile.DESCRIPTOR.fields_by_name) == set(knobs)
    assert set(pb.SourceKnobs.DESCRIPTOR.fields_by_name) == {"source", *knobs["sources"]["thread"]}
    assert {name.removeprefix("SOURCE_") for name in items_pb2.Source.keys()[1:]} == {one.name for one in Source}


def test_knobs_of_another_release_are_ignored() -> None:
    kept = write_knobs({"top_k": 3, "sources": {"dreams": {"top_k": 1}, "wiki": {"depth": 2}}, "allocation": "fair"})
    assert kept == pb.Profile(sources=[pb.SourceKnobs(source=items_pb2.SOURCE_WIKI)])


WIKI = pb.SourceKnobs(source=items_pb2.SOURCE_WIKI)


def knobs(source: items_pb2.Source.ValueType, **values: int) -> pb.Profile:
    return pb.Profile(sources=[pb.SourceKnobs(source=source, **values)])  # type: ignore[arg-type]  # whole numbers only


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: pb.Profile(lead_lines=0), "overrides.lead_lines"),
        (lambda: pb.Profile(relevance_knee=float("nan")), "overrides.relevance_knee"),
        (lambda: pb.Profile(budget_tokens=-1), "overrides.budget_tokens"),
        (lambda: pb.Profile.FromString(b"\x10\x63"), "overrides.allocation"),
        (lambda: knobs(items_pb2.SOURCE_WIKI, top_k=1001), "overrides.sources.wiki.top_k"),
        (lambda: knobs(items_pb2.SOURCE_WIKI, floor_tokens=2, ceiling_tokens=1), "overrides.sources.wiki.floor_tokens"),
        (lambda: knobs(items_pb2.SOURCE_UNSPECIFIED), "overrides.sources[0].source"),
        (lambda: pb.Profile.FromString(b"\x0a\x02\x08\x63"), "overrides.sources[0].source"),
        (lambda: pb.Profile(sources=[WIKI, WIKI]), "overrides.sources[1].source"),
    ],
)
def test_meaningless_knob_is_refused_by_its_path(make: Callable[[], pb.Profile], field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_knobs("overrides", make())
    assert caught.value.field == field
