"""Knobs as messages and as plain JSON: a Profile message to a layer's mapping and back.

Bounds are checked in `sidecar/turn/profile.py`. This module only converts the form: sources are a list in a message and a
mapping by name in JSON, and a knob absent from the message is missing from the mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sidecar.runtime.errors import InvalidArgument
from sidecar.turn.items import Source
from sidecar.turn.profile import Allocation, InvalidKnob, parse_layer
from sidecar.turn.ranking.worth import Spend
from sidecar.v1 import items_pb2
from sidecar.v1 import profile_pb2 as pb

_SOURCES: Mapping[items_pb2.Source.ValueType, Source] = {
    items_pb2.Source.Value(f"SOURCE_{source.name}"): source for source in Source
}
_WORDS: Mapping[str, Mapping[str, int]] = {
    "allocation": {one.value: pb.Allocation.Value(f"ALLOCATION_{one.name}") for one in Allocation},
    "spend": {one.value: pb.Spend.Value(f"SPEND_{one.name}") for one in Spend},
}
_SOURCE_NUMBERS = {source.value: number for number, source in _SOURCES.items()}
_TURN_KNOBS = [name for name in pb.Profile.DESCRIPTOR.fields_by_name if name not in {"sources", *_WORDS}]
_SOURCE_KNOBS = [name for name in pb.SourceKnobs.DESCRIPTOR.fields_by_name if name != "source"]


def read_knobs(field: str, profile: pb.Profile) -> dict[str, Any]:
    """Return the knobs that are set, checked, as the mapping in which a layer is stored.

    Raises InvalidArgument with a field that begins with `field`.
    """
    knobs: dict[str, Any] = _set_knobs(profile, _TURN_KNOBS)
    for name, words in _WORDS.items():
        if number := getattr(profile, name):
            word = next((word for word, known in words.items() if known == number), None)
            if word is None:
                raise InvalidArgument(f"{field}.{name}", "is unknown", f"use one of {', '.join(words)}")
            knobs[name] = word
    if profile.sources:
        knobs["sources"] = _read_sources(f"{field}.sources", profile)
    try:
        parse_layer(knobs)
    except InvalidKnob as error:
        raise InvalidArgument(f"{field}.{error.field}", error.problem, error.fix) from error
    return knobs


def write_knobs(knobs: Mapping[str, Any]) -> pb.Profile:
    """Return the mapping as a message, without unknown knobs and None values."""
    profile = pb.Profile()
    for name, words in _WORDS.items():
        setattr(profile, name, words.get(knobs.get(name, ""), 0))
    _set(profile, _TURN_KNOBS, knobs)
    for name, number in _SOURCE_NUMBERS.items():
        if name in knobs.get("sources", {}):
            _set(profile.sources.add(source=number), _SOURCE_KNOBS, knobs["sources"][name])
    return profile


def _read_sources(field: str, profile: pb.Profile) -> dict[str, dict[str, Any]]:
    sources: dict[str, dict[str, Any]] = {}
    for place, entry in enumerate(profile.sources):
        source = _SOURCES.get(entry.source)
        if source is None:
            raise InvalidArgument(f"{field}[{place}].source", "is not a source", f"use one of {', '.join(Source)}")
        if source.value in sources:
            raise InvalidArgument(
                f"{field}[{place}].source", f"names {source.value} again", "send one entry per source"
            )
        sources[source.value] = _set_knobs(entry, _SOURCE_KNOBS)
    return sources


def _set_knobs(message: pb.Profile | pb.SourceKnobs, names: list[str]) -> dict[str, Any]:
    return {name: getattr(message, name) for name in names if message.HasField(name)}  # type: ignore[arg-type]  # any name


def _set(message: pb.Profile | pb.SourceKnobs, names: list[str], knobs: Mapping[str, Any]) -> None:
    for name in names:
        if knobs.get(name) is not None:
            setattr(message, name, knobs[name])
