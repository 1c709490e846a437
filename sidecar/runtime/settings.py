"""Every setting, read once from the environment into one frozen value. No other module reads the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from models.language.language import DEFAULT_MODEL_ID
from sidecar.runtime.errors import SettingInvalid
from store.embedded.server import default_data_dir


@dataclass(frozen=True, slots=True)
class Settings:
    """The sidecar's settings. Each field is the variable of its name in capitals with the prefix SIDECAR_."""

    data_dir: Path
    database_url: str = ""
    database_direct_url: str = ""
    pg_bin: Path | None = None
    statement_cache_size: int = 256
    turn_pool_size: int = 16
    background_pool_size: int = 6
    listen: tuple[str, ...] = ("127.0.0.1:7433",)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    client_names: Path | None = None
    production: bool = False
    token_audience: str = "context-sidecar"  # noqa: S105  # a name, no secret
    token_issuers: tuple[str, ...] = ()
    uuid5_issuers: tuple[str, ...] = ()
    spaces_unclaimed: str = "deny"
    token_keys: tuple[str, ...] = ()
    jwks_url: str = ""
    deadline_s: float = 3.0
    max_deadline_s: float = 60.0
    max_in_flight: int = 64
    max_in_flight_per_tenant: int = 32
    max_waiting: int = 64
    max_wait_s: float = 0.05
    max_message_bytes: int = 48 * 1024 * 1024
    drain_grace_s: float = 10.0
    workspace_root: Path | None = None
    backends: Path | None = None
    embedder: str = "minilm"
    embedder_base_url: str = "http://127.0.0.1:11434/v1"
    embedder_api_key: str = field(default="", repr=False)
    embed_deadline_s: float = 0.2
    receipt_text_days: int = 7
    receipt_queue: int = 2000
    audit_days: int = 90
    owner_quota_mb: int = 0
    log_level: str = "INFO"
    slow_turn_s: float = 1.0
    capture_content: bool = False
    http_listen: str = "off"
    http_plain: bool = False
    http_peer_requests_per_s: int = 20
    console_listen: str = "auto"
    console_hosts: tuple[str, ...] = ()
    console_tls_proxy: bool = False
    worker: bool = True
    worker_lease_s: float = 60.0
    worker_poll_s: float = 5.0
    worker_pool_size: int = 4
    thread_summaries: str = "extractive"
    compile_unread_pause_s: int = 0
    compile_planner: str = "extractive"
    compile_extractive_takes_over: bool = False
    compile_base_url: str = "http://127.0.0.1:11434/v1"
    compile_api_key: str = field(default="", repr=False)
    compile_record_page_size: int = 50
    compile_max_records_per_job: int = 500
    compile_max_records_per_bootstrap_job: int = 1000
    compile_max_new_pages_per_job: int = 25
    compile_max_sections_rewritten_per_job: int = 100
    compile_max_aggregation_pages: int = 60
    compile_job_ceiling_cents: int = 500
    compile_day_ceiling_cents: int = 5000
    bedrock_model_id: str = DEFAULT_MODEL_ID
    bedrock_region: str = ""
    bedrock_endpoint_url: str = ""
    wiki_aggregation_pass_enabled: bool = True
    wiki_deterministic_linking_enabled: bool = True

    @property
    def owner_quota_bytes(self) -> int:
        """Return how many bytes an owner's turns and memories may hold; 0 for any number."""
        return self.owner_quota_mb * 2**20


def read(environ: Mapping[str, str]) -> Settings:
    """Return the settings that the environment asks for, defaults elsewhere.

    Raises SettingInvalid for a value that cannot be used, and for a variable with our prefix that we do not know.
    """
    known = {f"SIDECAR_{field.name.upper()}": field.name for field in fields(Settings)}
    given = {name: value for name, value in environ.items() if name.startswith("SIDECAR_") and name not in _ELSEWHERE}
    if unknown := sorted(given.keys() - known.keys()):
        raise SettingInvalid(unknown[0], "no such setting", f"use one of {', '.join(sorted(known))}")
    given |= {variable: environ[variable] for variable in _UNPREFIXED if variable in environ}
    known |= _UNPREFIXED
    values: dict[str, Any] = {"data_dir": default_data_dir(environ)}
    for variable, text in given.items():
        if text:
            values[known[variable]] = _parsed(variable, known[variable], text)
    return Settings(**values)


# Names that operators know from elsewhere; three fields may be set by these too.
_UNPREFIXED = {
    "BEDROCK_MODEL_ID": "bedrock_model_id",
    "WIKI_AGGREGATION_PASS_ENABLED": "wiki_aggregation_pass_enabled",
    "WIKI_DETERMINISTIC_LINKING_ENABLED": "wiki_deterministic_linking_enabled",
}
_ELSEWHERE = frozenset(
    {
        "SIDECAR_TOKEN",
        "SIDECAR_ADDRESS",
        "SIDECAR_TLS_CA",
        "SIDECAR_TLS_NAME",
        "SIDECAR_CLIENT_CERT",
        "SIDECAR_CLIENT_KEY",
    }
)  # the client's, read by the command line


_MOST = 2**31  # what a column of four bytes holds, and no count of anything comes near
_MOST_DAYS = 36_500


def _parsed(variable: str, name: str, text: str) -> Any:
    kind = next(field.type for field in fields(Settings) if field.name == name)
    parse, wanted = _KINDS["days" if name.endswith("_days") else str(kind)]
    try:
        return parse(text)
    except ValueError:
        raise SettingInvalid(variable, f"{text!r} is not {wanted}", f"set {wanted}") from None


def _number(text: str) -> int:
    value = int(text)
    if not 0 <= value < _MOST:
        raise ValueError
    return value


def _days(text: str) -> int:
    value = _number(text)
    if value > _MOST_DAYS:
        raise ValueError
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e9:
        raise ValueError
    return value


def _flag(text: str) -> bool:
    answers = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in answers:
        raise ValueError
    return answers[text.lower()]


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "str": (str, "a text"),
    "int": (_number, "a whole number of zero or more, below 2147483648"),
    "days": (_days, f"a whole number of days up to {_MOST_DAYS}"),
    "float": (_seconds, "a number of seconds"),
    "bool": (_flag, "true or false"),
    "Path": (Path, "a directory"),
    "Path | None": (Path, "a directory"),
    "tuple[str, ...]": (_names, "a list with commas"),
}
