"""The file of callers that certificates stand for: what is refused at start, and a change while the service runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sidecar.rpc.auth.authentication import Authenticator
from sidecar.rpc.auth.certificates import AuthContext, Callers, read_client_names
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from sidecar.runtime.errors import CertificateUnknown, SettingInvalid
from tests.support.rpc.certificates import Authority, uri

ANN = {"tenant": "acme", "owners": ["ann"], "agent": "planner"}
PLANNER = "uri:spiffe://corp/planner"


def written(path: Path, text: str | dict[str, Any]) -> Path:
    """Write the file anew, as a deployment replaces one."""
    draft = path.with_suffix(".draft")
    draft.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return draft.replace(path)


def test_file_maps_certificates_to_callers(tmp_path: Path) -> None:
    entries = {PLANNER: ANN | {"spaces": ["hr"]}, "dns:Agent.Example": {"tenant": "acme", "role": "admin"}}
    assert read_client_names(written(tmp_path / "names.json", entries)) == {
        PLANNER: Grant("acme", ("ann",), "planner", spaces=("hr",)),
        "dns:Agent.Example": Grant("acme", role=Role.ADMIN),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        ('{"uri:a": 1}', "does not map to a JSON object"),
        ('{"uri:a": {"tenant": "x", "owners": ["o"], "agent": "g"}, "uri:a": {"tenant": "y"}}', "repeats 'uri:a'"),
        ('{"uri:a": {"tenant": "x", "tenant": "y", "owners": ["o"], "agent": "g"}}', "repeats 'tenant'"),
        ({"dns:A.example": ANN, "dns:a.EXAMPLE": ANN | {"owners": ["bob"]}}, "twice"),
        ({PLANNER: ANN | {"owner": "bob"}}, "unknown key 'owner'"),
        ({PLANNER: ANN | {"Role": "admin"}}, "unknown key 'Role'"),
        ({PLANNER: ANN | {"owners": "ann"}}, "owners that are not a list"),
        ({PLANNER: ANN | {"owners": [1]}}, "owners that are not a list"),
        ({PLANNER: ANN | {"spaces": "hr"}}, "spaces that are not a list"),
        ({PLANNER: ANN | {"spaces": None}}, "spaces that are not a list"),
        ({PLANNER: ANN | {"tenant": 5}}, "tenant that is not a text"),
        ({PLANNER: ANN | {"agent": None}}, "agent that is not a text"),
        ({PLANNER: ANN | {"role": "root"}}, "role 'root'"),
        ({PLANNER: ANN | {"role": ["admin"]}}, "role that is not a text"),
        ({PLANNER: {"tenant": "acme", "agent": "a"}}, "owners"),
        ({PLANNER: ANN | {"role": "admin"}}, "owners"),
        ({"spiffe://corp/planner": ANN}, "not a certificate name"),
        ({"uri:": ANN}, "not a certificate name"),
        ({"dns:*.example": ANN}, "not a certificate name"),
        ({"dns:é.example": ANN}, "not a certificate name"),
        ({"uri:a\0b": ANN}, "not a certificate name"),
        ({"cn:agent": ANN}, "not a certificate name"),
    ],
)
def test_ambiguous_file_is_refused_by_name(tmp_path: Path, text: str | dict[str, Any], told: str) -> None:
    path = written(tmp_path / "names.json", text)
    with pytest.raises(SettingInvalid, match=r"certificate '|SIDECAR_CLIENT_NAMES") as caught:
        Callers({}, path, monotonic_s=lambda: 0.0)
    assert told in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_unreadable_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "names.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingInvalid, match="SIDECAR_CLIENT_NAMES"):
        read_client_names(path)


async def never(tenant_id: object) -> None:
    return None


async def test_name_removed_from_the_file_is_rejected_within_a_second(tmp_path: Path) -> None:
    path = written(tmp_path / "names.json", {PLANNER: ANN})
    clock = [0.0]
    settings = IdentitySettings(tmp_path, certificates_file=path, requires_client_certificates=True)
    authenticator = Authenticator(settings, not_before=never, monotonic_s=lambda: clock[0])
    _, certificate = Authority().issue(uri("spiffe://corp/planner"))
    context: AuthContext = {"transport_security_type": [b"ssl"], "x509_pem_cert": [certificate]}

    assert (await authenticator.authenticate((), context)).agent_id == "planner"
    written(path, {PLANNER: ANN | {"agent": "pilot"}})
    clock[0] = 1.0
    assert (await authenticator.authenticate((), context)).agent_id == "pilot"
    for broken in ('{"uri:', {PLANNER: ANN | {"owner": "bob"}}):
        written(path, broken)
        clock[0] += 1.0
        assert (await authenticator.authenticate((), context)).agent_id == "pilot"
    good = json.dumps({PLANNER: ANN | {"agent": "third"}})
    written(path, good.replace("{", "(", 1))
    status = path.stat()
    clock[0] += 1.0
    assert (await authenticator.authenticate((), context)).agent_id == "pilot"
    path.write_text(good, encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    clock[0] += 1.0
    assert (await authenticator.authenticate((), context)).agent_id == "third", "neither size nor time has changed"
    written(path, {"uri:spiffe://corp/other": ANN})
    clock[0] += 1.0
    with pytest.raises(CertificateUnknown):
        await authenticator.authenticate((), context)
    written(path, {})
    for _ in range(2):
        clock[0] += 1.0
        with pytest.raises(CertificateUnknown):
            await authenticator.authenticate((), context)
    written(path, {PLANNER: ANN})
    clock[0] += 1.0
    assert (await authenticator.authenticate((), context)).agent_id == "planner"
