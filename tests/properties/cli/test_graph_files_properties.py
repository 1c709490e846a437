"""Generated and hostile input for what `tests/unit/cli/test_graph_files.py` tests by example."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from sidecar.cli.wiki.graph_files import to_graphml, to_jsonld
from sidecar.client.answers.wiki import PageRef, TypedEdge
from tests.unit.cli.test_graph_files import ref


@given(st.text(max_size=40), st.text(min_size=1, max_size=40))
def test_any_title_makes_well_formed_files(title: str, name: str) -> None:
    page = PageRef("id", f"/wiki/entity/{name}", title)
    one = TypedEdge("owns", {}, (name,), ("manual",), page, ref("b"))
    ET.fromstring(to_graphml([one]).encode("utf-8", errors="replace"))
    json.loads(to_jsonld([one]))
