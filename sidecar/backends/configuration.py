"""Reads and validates the file of backends, once at startup.

Only the operator may configure a base, a bank, a bucket or a command. A tenant reaches only its own entries; no filter in a
request reaches another tenant's. Tenants switch entries off, approve tools and assign profiles; they cannot add entries.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sidecar.backends.entries import (
    ACTOR,
    AgentCoreEntry,
    BackendEntry,
    BedrockKnowledgeEntry,
    Configuration,
    HindsightEntry,
    RerankEntry,
    ToolsEntry,
    WorkspaceS3Entry,
)
from sidecar.backends.secrets import Secret
from sidecar.runtime.errors import SettingInvalid
from store.scope import InvalidExternalId, owner_uuid

VARIABLE = "SIDECAR_BACKENDS"
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
MAX_NAME_CHARS = 40

E = TypeVar("E", bound=BackendEntry)

_KINDS: Mapping[str, type[BackendEntry]] = {
    "bedrock_knowledge": BedrockKnowledgeEntry,
    "rerank": RerankEntry,
    "agentcore": AgentCoreEntry,
    "hindsight": HindsightEntry,
    "tools": ToolsEntry,
    "workspace_s3": WorkspaceS3Entry,
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "kind": ("auto", "classic", "managed"),
    "search": ("default", "hybrid", "semantic"),
    "budget": ("low", "mid", "high"),
}
_RANGES: Mapping[str, tuple[float, float]] = {
    "deadline_s": (0.05, 60),
    "concurrency": (1, 256),
    "rate_per_s": (0, 10_000),
    "results": (1, 100),
    "query_chars": (1, 20_000),
    "result_chars": (1, 1_000_000),
    "text_chars": (1, 32_000),
    "compile_lag_s": (0, 3_600),
}


def read(path: Path, environ: Mapping[str, str]) -> Configuration:
    """Read and validate the file. Raises SettingInvalid, naming the entry and key."""
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        raise _invalid(
            str(path), error.strerror or "cannot be read", "set it to a file that this process can read"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _invalid(str(path), f"is not valid TOML: {error}", "correct the file") from None
    return parse(tables, environ)


def parse(tables: Mapping[str, Any], environ: Mapping[str, str]) -> Configuration:
    """Parse the tables, by kind, into a configuration. Raises SettingInvalid."""
    if unknown := sorted(tables.keys() - _KINDS.keys()):
        raise _invalid(unknown[0], "is not a kind of backend", f"use [[…]] tables of {', '.join(_KINDS)}")
    entries: dict[str, tuple[Any, ...]] = {}
    for name, kind in _KINDS.items():
        listed = tables.get(name, [])
        if not isinstance(listed, list):
            raise _invalid(name, "is a single table", f"write [[{name}]], with two brackets")
        entries[name] = tuple(_entry(kind, f"{name}[{place}]", table, environ) for place, table in enumerate(listed))
    configuration = Configuration(**entries)
    names = [entry.name for entry in configuration.entries()]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise _invalid(repeated[0], "is the name of two backends", "give each backend its own name")
    rerankers = [entry.tenant_id for entry in configuration.rerank]
    if len(set(rerankers)) < len(rerankers):
        raise _invalid("rerank", "is set twice for one tenant", "keep one of them")
    compiled = [entry.tenant_id for entry in configuration.compiled()]
    if len(set(compiled)) < len(compiled):
        raise _invalid("compile", "is set twice for one tenant", "compile from one of them")
    return configuration


def _entry(kind: type[E], path: str, table: Any, environ: Mapping[str, str]) -> E:
    if not isinstance(table, dict):
        raise _invalid(path, "is not a table", "write [[…]] with keys below")
    known = {field.name: field for field in fields(kind)}
    if unknown := sorted(table.keys() - known.keys()):
        raise _invalid(f"{path}.{unknown[0]}", "is not a known key", f"use {', '.join(sorted(known))}")
    required = [name for name, field in known.items() if field.default is MISSING and field.default_factory is MISSING]
    if missing := [name for name in required if not table.get(name)]:
        raise _invalid(f"{path}.{missing[0]}", "is missing", "add it")
    values = {key: _value(str(known[key].type), f"{path}.{key}", value, environ) for key, value in table.items()}
    entry = kind(**values)
    _check(entry, path)
    return entry


def _value(wanted: str, path: str, value: Any, environ: Mapping[str, str]) -> Any:
    try:
        return _READERS[wanted](value, environ)
    except (TypeError, ValueError) as error:
        # The message must not show the value, which may be a secret written in place of a reference.
        raise _invalid(path, f"cannot be used ({error})", f"send {_WANTED[wanted]}") from None


def _check(entry: BackendEntry, path: str) -> None:
    if not set(entry.name) <= _NAME_CHARS or len(entry.name) > MAX_NAME_CHARS or entry.name == "built-in":
        raise _invalid(
            f"{path}.name", "is not a valid name", "use up to 40 small letters, digits and -, except built-in"
        )
    for key, choices in _CHOICES.items():
        if getattr(entry, key, choices[0]) not in choices:
            raise _invalid(f"{path}.{key}", "is not a known value", f"use one of {', '.join(choices)}")
    for key, (low, high) in _RANGES.items():
        if not low <= getattr(entry, key, low) <= high:
            raise _invalid(f"{path}.{key}", "is out of bounds", f"use {low:g} to {high:g}")
    try:
        _ = entry.tenant_id
        for owner in (*getattr(entry, "actors", ()), *getattr(entry, "owners", ())):
            owner_uuid(owner)
    except InvalidExternalId as error:
        raise _invalid(path, f"has an invalid id: {error}", "correct it") from None
    _check_owners(entry, path)
    _check_places(entry, path)


def _check_places(entry: BackendEntry, path: str) -> None:
    """Raise SettingInvalid for an invalid URL, a tool server without exactly one of command and url, or an empty prefix."""
    for key in ("url", "endpoint_url"):
        if not _is_address(getattr(entry, key, "")):
            # The message must not show the value, which may hold a password.
            raise _invalid(f"{path}.{key}", "is not a valid URL", "use http:// or https:// with a host and no user")
    if isinstance(entry, ToolsEntry) and bool(entry.command) == bool(entry.url):
        raise _invalid(path, "must have exactly one of command and url", "set one of them")
    if isinstance(entry, WorkspaceS3Entry) and not entry.prefix.strip("/"):
        raise _invalid(f"{path}.prefix", "is the whole bucket", "set a prefix that only this tenant uses")


def _check_owners(entry: BackendEntry, path: str) -> None:
    """Raise SettingInvalid for a location that all owners would share, or an actor that could reach other owners' data."""
    for key in ("namespace", "bank"):
        if "{owner}" not in getattr(entry, key, "{owner}"):
            raise _invalid(f"{path}.{key}", "is the same for all owners", "put {owner} in place of the owner")
    for actor in getattr(entry, "actors", {}).values():
        if not ACTOR.fullmatch(actor):
            raise _invalid(f"{path}.actors", "has a value that is not a valid actor", "use letters, digits, - and _")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return not url or (parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc)
    except ValueError:
        return False


def _invalid(what: str, problem: str, fix: str) -> SettingInvalid:
    return SettingInvalid(VARIABLE, f"{what} {problem}", fix)


def _text(value: Any, environ: Mapping[str, str]) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError("not a single line of text")
    return value


def _number(value: Any, environ: Mapping[str, str]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise TypeError("not a number")
    return float(value)


def _whole(value: Any, environ: Mapping[str, str]) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def _truth(value: Any, environ: Mapping[str, str]) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _texts(value: Any, environ: Mapping[str, str]) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return tuple(_text(text, environ) for text in value)


def _table(value: Any, environ: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not a table")
    return value


def _named_texts(value: Any, environ: Mapping[str, str]) -> dict[str, str]:
    return {name: _text(text, environ) for name, text in _table(value, environ).items()}


def _secret(value: Any, environ: Mapping[str, str]) -> Secret:
    return Secret(_text(value, environ), environ)


def _secrets(value: Any, environ: Mapping[str, str]) -> dict[str, Secret]:
    return {name: _secret(reference, environ) for name, reference in _table(value, environ).items()}


_READERS: Mapping[str, Callable[[Any, Mapping[str, str]], Any]] = {
    "str": _text,
    "float": _number,
    "int": _whole,
    "bool": _truth,
    "tuple[str, ...]": _texts,
    "Mapping[str, Any]": _table,
    "Mapping[str, str]": _named_texts,
    "Secret | None": _secret,
    "Mapping[str, Secret]": _secrets,
}
_WANTED: Mapping[str, str] = {
    "str": "a text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "tuple[str, ...]": "a list of texts",
    "Mapping[str, Any]": "a table",
    "Mapping[str, str]": "a table of texts",
    "Secret | None": "env:NAME or file:/path",
    "Mapping[str, Secret]": "a table of env:NAME or file:/path",
}
