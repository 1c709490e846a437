"""The files to deploy with say what the product has: settings, ports, probes, metrics; and have the form their readers expect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest
import yaml  # type: ignore[import-untyped]  # it ships no types

from sidecar.http.opening import check_addresses
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings, read
from sidecar.telemetry import names
from sidecar.telemetry.names import Metric
from tests.support.each import each
from tests.support.places import ROOT

DEPLOY = ROOT / "docs" / "deploy"
OPERATIONS = (DEPLOY.parent / "operations.md").read_text(encoding="utf-8")
METRICS = {one.prometheus_name: one for one in vars(names).values() if isinstance(one, Metric)}
OURS = re.compile(r"\b(?:sidecar|rpc_server|gen_ai)_\w+")
LABELS = re.compile(r"by \([^)]*\)|\{[^}]*\}")
ENDINGS = ("_bucket", "_count", "_sum", "_total")
TEXT = {"type": "string", "minLength": 1}


def loaded(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def form(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


def many(inner: Any) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": inner}


RULE = form({"alert": TEXT, "expr": TEXT, "annotations": form({"summary": TEXT, "runbook": TEXT}),
             "labels": form({"severity": {"enum": ["warning", "critical"]}})}, {"for": {"pattern": r"^\d+[smh]$"}})  # fmt: skip
RULES = form({"groups": many(form({"name": TEXT, "rules": many(RULE)}))})
PROBE = form({"httpGet": form({"path": {"enum": ["/livez", "/readyz"]}, "port": {"const": "http"}})},
             {name: {"type": "integer"} for name in ("periodSeconds", "timeoutSeconds", "failureThreshold")})  # fmt: skip
ENV = {"oneOf": [form({"name": TEXT, "value": {"type": "string"}}),
                 form({"name": TEXT, "valueFrom": form({"secretKeyRef": form({"name": TEXT, "key": TEXT})})})]}  # fmt: skip
CONTAINER = form({"name": TEXT, "image": TEXT, "env": many(ENV)}, {
    "restartPolicy": {"const": "Always"}, "ports": many(form({"name": TEXT, "containerPort": {"type": "integer"}})),
    "startupProbe": PROBE, "readinessProbe": PROBE, "livenessProbe": PROBE, "resources": {"type": "object"},
    "securityContext": {"type": "object"},
    "volumeMounts": many(form({"name": TEXT, "mountPath": {"pattern": "^/"}}, {"readOnly": {"type": "boolean"}})),
})  # fmt: skip
POD = form({"apiVersion": {"const": "v1"}, "kind": {"const": "Pod"}, "metadata": {"type": "object"}, "spec": form(
    {"containers": many(CONTAINER), "initContainers": many(CONTAINER), "volumes": many({"type": "object", "required": ["name"]}),
     "terminationGracePeriodSeconds": {"type": "integer", "minimum": 60}, "enableServiceLinks": {"const": False}})})  # fmt: skip
SERVICE = form({"image": TEXT}, {
    "environment": {"type": "object", "additionalProperties": {"type": "string"}}, "command": many(TEXT),
    "volumes": many(TEXT), "read_only": {"type": "boolean"}, "cap_drop": many(TEXT), "tmpfs": many(TEXT),
    "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]}, "stop_grace_period": TEXT, "network_mode": TEXT,
    "depends_on": {"type": "object"}, "healthcheck": {"type": "object", "required": ["test"]},
})  # fmt: skip
COMPOSE = form({"services": {"type": "object", "additionalProperties": SERVICE}, "volumes": {"type": "object"}})
PANEL = form({"id": {"type": "integer"}, "type": TEXT, "title": TEXT, "datasource": {"type": "object"},
              "gridPos": form({side: {"type": "integer"} for side in "hwxy"}), "fieldConfig": {"type": "object"},
              "targets": many(form({"refId": {"pattern": "^[A-Z]$"}, "expr": TEXT, "legendFormat": TEXT}))})  # fmt: skip
DASHBOARD = {"type": "object", "required": ["title", "uid", "schemaVersion", "panels", "templating"],
             "properties": {"panels": many(PANEL), "schemaVersion": {"type": "integer", "minimum": 30}}}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("prometheus-rules.yaml", RULES),
        ("kubernetes.yaml", POD),
        ("compose.yaml", COMPOSE),
        ("grafana-dashboard.json", DASHBOARD),
    ],
)
def test_deployment_file_matches_its_readers_schema(name: str, schema: dict[str, Any]) -> None:
    errors = jsonschema.Draft202012Validator(schema).iter_errors(loaded(name))
    assert [error.message for error in errors] == []


def variables(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the SIDECAR_ variables of a manifest with their values."""
    match value:
        case {"name": str(name), **rest} if name.startswith("SIDECAR_"):
            yield name, str(rest.get("value", ""))
        case dict():
            for key, inner in value.items():
                if str(key).startswith("SIDECAR_"):
                    yield key, str(inner)
                else:
                    yield from variables(inner)
        case list():
            for inner in value:
                yield from variables(inner)


@pytest.mark.parametrize("name", ["kubernetes.yaml", "compose.yaml"])
def test_every_variable_is_a_setting_of_the_service_or_client(name: str) -> None:
    known = {f"SIDECAR_{field.name.upper()}" for field in fields(Settings)} | {"SIDECAR_ADDRESS", "SIDECAR_TOKEN"}
    found = dict(variables(loaded(name)))
    assert found
    assert found.keys() <= known


@pytest.mark.parametrize("name", ["kubernetes.yaml", "compose.yaml"])
def test_manifest_says_that_its_health_port_is_plain_beyond_loopback(name: str) -> None:
    found = dict(variables(loaded(name)))
    given = {name: value for name, value in found.items() if name.startswith(("SIDECAR_HTTP", "SIDECAR_CONSOLE"))}
    check_addresses(read(given))
    with pytest.raises(SettingInvalid, match="SIDECAR_HTTP_PLAIN"):
        check_addresses(replace(read(given), http_plain=False))


def expressions() -> list[str]:
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return asked + [rule["expr"] for group in loaded("prometheus-rules.yaml")["groups"] for rule in group["rules"]]


@each("expression", expressions())
def test_dashboard_and_alert_expressions_use_existing_metrics_and_labels(expression: str) -> None:
    asked = OURS.findall(LABELS.sub("", expression))
    assert asked
    for name in asked:
        base = next((name.removesuffix(ending) for ending in ENDINGS if name.removesuffix(ending) in METRICS), name)
        assert base in METRICS, name
        chosen = re.search(rf"{name}\{{([^}}]*)\}}", expression)
        labels = set(re.findall(r"(\w+)[=!]", chosen[1])) if chosen else set()
        for kept in re.findall(r"by \(([^)]*)\)", expression):
            labels |= {label.strip() for label in kept.split(",")} - {"le"}
        assert labels <= set(METRICS[base].prometheus_labels), name


def test_every_runbook_named_by_an_alert_exists() -> None:
    headings = {
        re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in OPERATIONS.splitlines()
        if line.startswith("#")
    }
    for group in loaded("prometheus-rules.yaml")["groups"]:
        for rule in group["rules"]:
            page, _, heading = rule["annotations"]["runbook"].partition("#")
            assert (page, heading in headings) == ("docs/operations.md", True), heading


def test_no_metric_has_a_label_that_names_a_tenant_or_an_owner() -> None:
    words = {word for metric in METRICS.values() for label in metric.labels for word in re.split(r"[._]", label)}
    assert not words & {"tenant", "owner", "thread", "user", "agent", "conversation", "session"}
