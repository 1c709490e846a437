"""Typed edges as GraphML and JSON-LD: read by other people's libraries, and by ours again."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import rdflib

from sidecar.cli.wiki.graph_files import FileEdge, UnreadableGraph, read_file, read_graph, to_graphml, to_jsonld
from sidecar.client.answers.wiki import PageRef, TypedEdge

MAY = datetime(2021, 5, 1, tzinfo=UTC)


def ref(name: str) -> PageRef:
    return PageRef(name, f"/wiki/entity/{name}", name.title())


def edge(source: str, kind: str, target: str, **given: Any) -> TypedEdge:
    return TypedEdge(kind, given.pop("properties", {}), ("m-1", "m-2"), ("manual",), ref(source), ref(target), **given)


EDGES = [
    edge("maria", "works_at", "helios", valid_from_time=MAY, properties={"confidence": "0.8"}),
    edge("maria", "works_at", "zenith", valid_until_time=MAY),
    edge("café-ñandú", "located_in", "lisbon"),
    edge("maria", "owns", "helios"),
]
READ = [
    FileEdge("/wiki/entity/maria", "/wiki/entity/helios", "works_at", MAY, None, 0.8),
    FileEdge("/wiki/entity/maria", "/wiki/entity/zenith", "works_at", None, MAY),
    FileEdge("/wiki/entity/café-ñandú", "/wiki/entity/lisbon", "located_in"),
    FileEdge("/wiki/entity/maria", "/wiki/entity/helios", "owns"),
]


def test_graphml_is_exchanged_with_networkx_both_ways() -> None:
    written = to_graphml(EDGES)
    graph = nx.read_graphml(io.BytesIO(written.encode()), force_multigraph=True)
    assert graph.nodes["/wiki/entity/maria"]["title"] == "Maria"
    found = sorted((source, data["edge_type"], target) for source, target, data in graph.edges(data=True))
    assert found == sorted((one.source, one.edge_type, one.target) for one in READ)
    again = io.BytesIO()
    nx.write_graphml(graph, again)
    assert sorted(map(repr, read_graph(again.getvalue()))) == sorted(map(repr, READ))
    assert read_graph(written.encode()) == READ


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")  # its own reader uses what it deprecates
def test_jsonld_is_exchanged_with_rdflib_both_ways() -> None:
    written = to_jsonld(EDGES)
    graph = rdflib.Graph().parse(data=written, format="json-ld")
    vocabulary = rdflib.Namespace("urn:context-sidecar:vocabulary:")
    maria = rdflib.URIRef("urn:context-sidecar:page:/wiki/entity/maria")
    works = {str(one) for one in graph.objects(maria, vocabulary.works_at)}
    assert works == {f"urn:context-sidecar:page:/wiki/entity/{one}" for one in ("helios", "zenith")}
    assert len(list(graph.subjects(rdflib.RDF.type, vocabulary.Edge))) == len(EDGES)
    again = graph.serialize(format="json-ld")
    assert sorted(map(repr, read_graph(again.encode()))) == sorted(map(repr, READ))
    assert read_graph(written.encode()) == READ


_ENTITIES = b"".join(b'<!ENTITY a%d "%s">' % (place, b"&a%d;" % (place - 1) * 10) for place in range(1, 11))
BOMB = (
    b'<!DOCTYPE a [<!ENTITY a0 "/wiki/entity/aaaa">'
    + _ENTITIES
    + b']><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    b'<graph><edge source="&a10;" target="/wiki/entity/b"/></graph></graphml>'
)


@pytest.mark.parametrize(
    "content",
    [b"", b"plain words", b"{", b"[1", b"<graphml", b"\xff\xfe", b'{"@graph": 3}', b"[" * 100_000,
     b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><edge source="x" target="y"/></graphml>',
     b'{"@graph": [{"@type": "Edge", "source": "/wiki/entity/a"}]}', b"<a/>", b'{"a": 1}',
     *(json.dumps({"@graph": [{"@type": "Edge", "source": "/wiki/entity/a", "target": "/wiki/entity/b", "edge_type": "owns",
                               "confidence": one}]}).encode() for one in ("nan", "7", {"@value": [1]})),
     BOMB,
     b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a',
     json.dumps({"@graph": [{"@type": "Edge", "source": "/wiki/entity/a", "target": "/wiki/entity/b", "edge_type": "owns",
                             "valid_from": "yesterday"}]}).encode()],
    ids=lambda one: repr(one[:30]),
)  # fmt: skip
def test_file_without_a_graph_is_refused_with_the_fix(content: bytes) -> None:
    with pytest.raises(UnreadableGraph, match="sidecar graph export"):
        read_graph(content)


def test_entities_of_a_hostile_file_are_not_expanded() -> None:
    bomb = (
        b'<!DOCTYPE a [<!ENTITY b "/wiki/entity/a">]><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph>'
        b'<edge source="/wiki/entity/a" target="/wiki/entity/b"><data key="edge_type">&b;</data></edge></graph></graphml>'
    )
    (found,) = read_graph(bomb)
    assert found.edge_type == ""


OUR_WORDS = ["title", "source", "target", "edge_type", "valid_from", "confidence", "memory_ids"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
def test_type_that_is_called_like_a_property_of_the_file_is_an_edge_like_others() -> None:
    given = [edge("maria", word, "helios") for word in OUR_WORDS]
    written = to_jsonld(given)
    graph = rdflib.Graph().parse(data=written, format="json-ld")
    maria = rdflib.URIRef("urn:context-sidecar:page:/wiki/entity/maria")
    assert list(map(str, graph.objects(maria, rdflib.URIRef("urn:context-sidecar:vocabulary:title")))) == ["Maria"]
    targets = {str(one) for one in graph.objects(maria, rdflib.URIRef("urn:context-sidecar:vocabulary:relation:title"))}
    assert targets == {"urn:context-sidecar:page:/wiki/entity/helios"}
    for content in (written, graph.serialize(format="json-ld"), to_graphml(given)):
        assert sorted(one.edge_type for one in read_graph(content.encode())) == sorted(OUR_WORDS)


HOSTILE = [
    "</title><script>alert(1)</script>", "]]>&lt;&#0;", '"\\" \'', "😀 𠮷 \U0010fffd", "\u202eabc\u200d", "@id", "http://x/ y",
    "{{ }} ${x}", "a\nb\tc", "\xa0\u2028\u2029", "<!--", "\x7f\x85",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
@pytest.mark.parametrize("title", HOSTILE)
def test_hostile_title_is_read_back_letter_by_letter_by_other_libraries(title: str) -> None:
    one = TypedEdge("owns", {}, ("m<1>&",), ("manual",), PageRef("id", "/wiki/entity/a", title), ref("b"))
    read = nx.read_graphml(io.BytesIO(to_graphml([one]).encode()), force_multigraph=True)
    assert read.nodes["/wiki/entity/a"]["title"] == title
    again = io.BytesIO()
    nx.write_graphml(read, again)
    assert read_graph(again.getvalue()) == [FileEdge("/wiki/entity/a", "/wiki/entity/b", "owns")]
    graph = rdflib.Graph().parse(data=to_jsonld([one]), format="json-ld")
    page = rdflib.URIRef("urn:context-sidecar:page:/wiki/entity/a")
    assert str(graph.value(page, rdflib.URIRef("urn:context-sidecar:vocabulary:title"))) == title


def test_day_without_a_zone_is_in_utc() -> None:
    said = {"@type": "Edge", "source": "/wiki/entity/a", "target": "/wiki/entity/b", "edge_type": "owns"}
    (found,) = read_graph(json.dumps({"@graph": [said | {"valid_from": "2021-05-01"}]}).encode())
    assert found.valid_from == MAY


def test_large_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "big.graphml").touch()
    os.truncate(tmp_path / "big.graphml", 100 << 20)
    monkeypatch.delattr(Path, "read_bytes")
    with pytest.raises(UnreadableGraph, match="64 MiB"):
        read_file(tmp_path / "big.graphml")
