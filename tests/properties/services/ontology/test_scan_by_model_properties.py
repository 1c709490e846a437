"""Generated and hostile input for what `tests/integration/services/ontology/test_scan_by_model.py` tests by example."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.services.ontology.model_signals import read_findings
from sidecar.services.ontology.suggesting import SeenText
from tests.integration.services.ontology.test_scan_by_model import SAID
from tests.support.compiler.compiling import NOW

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 5)
    | st.text(max_size=20)
    | st.sampled_from(["ferry", "type", "Andorinha"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["findings", "sentence", "kind", "word", "names"]), inner, max_size=5)
    ),
    max_leaves=20,
)
FINDINGS = st.fixed_dictionaries(
    {"sentence": st.integers(0, 2), "kind": st.sampled_from(["type", "relationship", "place"])},
    optional={
        "word": st.sampled_from(["ferry", "submarine", "began", "leaves"]) | ANY,
        "names": st.lists(st.sampled_from(["Andorinha", "Gaivota", "ferry"]) | st.text(max_size=4), max_size=3) | ANY,
    },
)


@given(ANY | st.lists(FINDINGS, max_size=4))
@example([{"sentence": 1, "kind": "type", "word": "ferry", "names": ["Andorinha"]}])
def test_any_answer_is_read_and_findings_are_in_their_sentence(answer: Any) -> None:
    seen = [(SeenText(UUID(int=1), "m1", SAID["m1"], NOW), SAID["m1"])]
    given_answer = answer if isinstance(answer, dict) else {"findings": answer}
    for one in read_findings(given_answer, seen):
        assert all(name in SAID["m1"].lower() for name in one.names)
        assert one.sighting.quote == SAID["m1"]
