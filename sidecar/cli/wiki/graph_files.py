"""Exports and imports typed edges as GraphML and JSON-LD, for other tools.

Pages are named by their paths, times are ISO 8601, an absent time is left out. The readers accept the output of these writers,
also as rewritten by tools like networkx and rdflib; other content raises UnreadableGraph.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lxml import etree

from sidecar.cli.shared.failures import CommandFailed
from sidecar.client.answers.wiki import TypedEdge
from sidecar.ingest.opening import opened_at

MAX_FILE_BYTES = 64 * 1024 * 1024

_GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_PAGES = "urn:context-sidecar:page:"
_VOCABULARY = "urn:context-sidecar:vocabulary:"
_OF_NODES = ("title",)
_OF_EDGES = ("edge_type", "valid_from", "valid_until", "confidence", "memory_ids")
_OURS = frozenset({*_OF_NODES, *_OF_EDGES, "source", "target"})
_CONTEXT = {
    "@vocab": _VOCABULARY,
    "source": {"@type": "@id"},
    "target": {"@type": "@id"},
    "memory_ids": {"@container": "@set"},
}


class UnreadableGraph(CommandFailed):
    """The file contains no graph of typed edges."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the file {problem}; send GraphML or JSON-LD as `sidecar graph export` writes it")


@dataclass(frozen=True, slots=True)
class FileEdge:
    """A typed edge of a file, between the paths of its pages."""

    source: str
    target: str
    edge_type: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    confidence: float | None = None


def to_graphml(edges: Iterable[TypedEdge]) -> str:
    """Return a directed multigraph: nodes are pages with titles, edges have type, period, confidence and memories."""
    every = [(edge, edge.source, edge.target) for edge in edges if edge.source and edge.target]
    root = etree.Element("graphml", nsmap={None: _GRAPHML})
    for scope, names in (("node", _OF_NODES), ("edge", _OF_EDGES)):
        for name in names:
            etree.SubElement(root, "key", {"id": name, "for": scope, "attr.name": name, "attr.type": "string"})
    graph = etree.SubElement(root, "graph", edgedefault="directed")
    for path, title in sorted({one.path: one.title for edge in every for one in edge[1:]}.items()):
        _data(etree.SubElement(graph, "node", id=_xml(path)), {"title": title})
    for place, (edge, source, target) in enumerate(every):
        row = etree.SubElement(graph, "edge", id=f"e{place}", source=_xml(source.path), target=_xml(target.path))
        values = _said(edge)
        _data(row, {**values, "memory_ids": " ".join(values["memory_ids"])})
    return str(etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8").decode())


def to_jsonld(edges: Iterable[TypedEdge]) -> str:
    """Return pages with their edges as direct properties, and each edge as a separate node with all its fields."""
    pages: dict[str, dict[str, Any]] = {}
    nodes = []
    for edge in edges:
        if not (edge.source and edge.target):
            continue
        for one in (edge.source, edge.target):
            pages.setdefault(one.path, {"@id": f"{_PAGES}{one.path}", "@type": "Page", "title": one.title})
        ends = {"source": f"{_PAGES}{edge.source.path}", "target": f"{_PAGES}{edge.target.path}"}
        nodes.append({"@type": "Edge", **ends, **_said(edge)})
        direct = pages[edge.source.path].setdefault(_predicate(edge.edge_type), [])
        if (target := {"@id": ends["target"]}) not in direct:
            direct.append(target)
    graph = [*(pages[path] for path in sorted(pages)), *nodes]
    return json.dumps({"@context": _CONTEXT, "@graph": graph}, ensure_ascii=False, indent=1) + "\n"


def read_file(file: Path) -> list[FileEdge]:
    """Return the typed edges of a file in either format. Raises UnreadableGraph, before reading if the file is too large."""
    if file.stat().st_size > MAX_FILE_BYTES:
        raise UnreadableGraph(f"has more than {MAX_FILE_BYTES >> 20} MiB")
    with opened_at(file) as stream:
        return read_graph(stream.read())


def read_graph(content: bytes) -> list[FileEdge]:
    """Return the typed edges of a text in either format. Raises UnreadableGraph."""
    rows = _from_jsonld(content) if content.lstrip()[:1] in {b"{", b"["} else _from_graphml(content)
    try:
        return [
            FileEdge(
                _path(one["source"]),
                _path(one["target"]),
                str(one["edge_type"]),
                _time(one.get("valid_from")),
                _time(one.get("valid_until")),
                _confidence(one.get("confidence")),
            )
            for one in rows
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableGraph("has an edge without ends or type, or with an invalid period or confidence") from error


def _said(edge: TypedEdge) -> dict[str, Any]:
    """Return an edge's values as texts, without absent ones."""
    values = {
        "edge_type": edge.edge_type,
        "valid_from": edge.valid_from_time.isoformat() if edge.valid_from_time else "",
        "valid_until": edge.valid_until_time.isoformat() if edge.valid_until_time else "",
        "confidence": edge.properties.get("confidence", ""),
    }
    return {name: value for name, value in values.items() if value} | {"memory_ids": list(edge.memory_ids)}


def _data(row: Any, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        if value:
            etree.SubElement(row, "data", key=name).text = _xml(value)


def _xml(text: str) -> str:
    """Return the text without characters that XML cannot represent."""
    return "".join(
        one for one in text if one in "\t\n" or " " <= one <= "\ud7ff" or "\ue000" <= one <= "\ufffd" or one > "\uffff"
    )


def _predicate(edge_type: str) -> str:
    """Return the property for edges of a type; a type that has the name of one of our own properties gets another name."""
    return f"{_VOCABULARY}relation:{edge_type}" if edge_type in _OURS else edge_type


def _from_graphml(content: bytes) -> Iterator[Mapping[str, Any]]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableGraph("is neither XML nor JSON") from error
    if root.tag != f"{{{_GRAPHML}}}graphml":
        raise UnreadableGraph("is not GraphML")
    names = {one.get("id"): one.get("attr.name") for one in root.iter(f"{{{_GRAPHML}}}key")}
    for row in root.iter(f"{{{_GRAPHML}}}edge"):
        data = {names.get(one.get("key"), one.get("key")): one.text or "" for one in row.iter(f"{{{_GRAPHML}}}data")}
        yield {**data, "source": row.get("source", ""), "target": row.get("target", "")}


def _from_jsonld(content: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableGraph("is neither XML nor JSON") from error
    graph = document.get("@graph") if isinstance(document, dict) else document
    if not isinstance(graph, list):
        raise UnreadableGraph("has no list of nodes")
    for node in graph:
        plain = {_short(name): _value(value) for name, value in node.items()} if isinstance(node, dict) else {}
        if _short(str(plain.get("@type", ""))) == "Edge":
            yield plain


def _short(name: str) -> str:
    return name.removeprefix(_VOCABULARY)


def _value(value: Any) -> Any:
    """Return the single value of a JSON-LD property, compact or expanded."""
    if isinstance(value, list):
        return _value(value[0]) if value else ""
    return value.get("@id", value.get("@value", "")) if isinstance(value, dict) else value


def _path(end: Any) -> str:
    path = str(end).removeprefix(_PAGES)
    if not path.startswith("/wiki/"):
        raise ValueError(path)
    return path


def _time(text: Any) -> datetime | None:
    """Return the instant; a time without a zone is in UTC."""
    if not text:
        return None
    time = datetime.fromisoformat(str(text))
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _confidence(text: Any) -> float | None:
    confidence = float(text) if text else None
    if confidence is not None and not 0 < confidence <= 1:
        raise ValueError(text)
    return confidence
