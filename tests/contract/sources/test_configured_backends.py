"""Each example of the document on its own: it starts, makes the places it says, and asks nobody for that."""

from __future__ import annotations

import re
import tomllib
from typing import Any, cast
from uuid import UUID

import pytest

from sidecar.backends import configuration
from sidecar.backends.backend_policy import BackendPolicy
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.runtime.errors import SettingInvalid
from sidecar.sources.registry import connect
from sidecar.turn.items import Source
from store.db.postgres import Pool
from store.scope import Scope, tenant_uuid
from tests.support.backends.aws_site import use_credentials
from tests.support.places import ROOT

EXAMPLES = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "backends.md").read_text(), re.DOTALL)
NO_POOL = cast("Pool", None)  # nothing is asked, so nothing needs it


class Local:
    """The built-in source."""

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Find nothing."""
        return SourceAnswer()


async def named(tables: dict[str, Any]) -> dict[UUID, set[str]]:
    """Return the names of the places that tables make, by tenant, all let go of."""
    policy = BackendPolicy(NO_POOL, clock=lambda: 0.0)
    connected = connect({Source.THREAD: Local()}, configuration.parse(tables, {}), NO_POOL, policy)
    await connected.close()
    return {tenant_id: set(places) for tenant_id, places in connected.configured.items()}


@pytest.mark.parametrize("example", EXAMPLES, ids=[text.partition("]]")[0].strip("[") for text in EXAMPLES])
async def test_example_configuration_starts_unchanged(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_credentials(monkeypatch)
    tables = tomllib.loads(example)
    names = {entry["name"] for entries in tables.values() for entry in entries}
    assert await named(tables) == {tenant_uuid("acme"): names}


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("bedrock_knowledge", {"knowledge_base_id": "ABCDEFGHIJ"}),
        ("rerank", {"model_arn": "arn:aws:bedrock:eu-central-1::foundation-model/amazon.rerank-v1:0"}),
        ("agentcore", {"memory_id": "acme_memory-ABCDEFGHIJ"}),
    ],
)
async def test_missing_region_of_a_service_stops_the_start_by_name(
    kind: str, own: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_credentials(monkeypatch)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(SettingInvalid, match=r"here\.region is missing"):
        await named({kind: [{"name": "here", "tenant": "acme", **own}]})
