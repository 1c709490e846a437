"""The client's public names and signatures are those of the snapshot.

`python -m tests.unit.client.test_client_snapshot` renews it.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from types import ModuleType

from sidecar import client
from sidecar.client import answers, errors, knobs, requests, shapes
from sidecar.client.answers import backends, brain, cost, wiki

SNAPSHOT = Path(__file__).with_name("client_snapshot.json")
MODULES = (answers, wiki, brain, cost, backends, requests, errors, knobs, shapes)


def public_names() -> dict[str, str]:
    """Return every public name of the client with its signature, by the module that callers import it from."""
    names = {f"sidecar.client.{name}": _signature(getattr(client, name)) for name in client.__all__}
    for module in MODULES:
        for name, value in vars(module).items():
            if _is_public(module, name, value):
                names[f"{module.__name__}.{name}"] = _signature(value)
                names |= {f"{module.__name__}.{name}.{inner}": told for inner, told in _members(value)}
    names |= {
        f"sidecar.client.{kind.__name__}.{name}": told
        for kind in (client.Sidecar, client.AsyncSidecar)
        for name, told in _members(kind)
    }
    return names


def _is_public(module: ModuleType, name: str, value: object) -> bool:
    return (
        not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__.startswith(module.__name__)
    )


def _members(kind: object) -> list[tuple[str, str]]:
    if not inspect.isclass(kind):
        return []
    members = inspect.getmembers(kind, lambda value: inspect.isfunction(value) or isinstance(value, property))
    return [(name, _signature(value)) for name, value in members if not name.startswith("_")]


def _signature(value: object) -> str:
    if not callable(value):
        return type(value).__name__
    return "error" if isinstance(value, type) and issubclass(value, Exception) else str(inspect.signature(value))


def test_public_names_and_signatures_stay() -> None:
    known = json.loads(SNAPSHOT.read_text())
    found = public_names()
    assert {name: found.get(name) for name in known} == known


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(public_names(), indent=1, sort_keys=True, ensure_ascii=False) + "\n")
