"""All settings, read once from the environment into one frozen value. No other module reads the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from models.language.language import DEFAULT_MODEL_ID
from sidecar.runtime.errors import SettingInvalid
from store.embedded.server import default_data_dir


@dataclass(frozen=True, slots=True)
class Settings:
    """The sidecar's settings. Each field is set by the variable with its name in capitals and the prefix SIDECAR_.

    The text under each field is its row in docs/reference.md: run `make reference` after a change.
    """

    data_dir: Path
    """Directory of the embedded Postgres and the development key. The default is `~/.local/share/context-sidecar`, for root
    `/var/lib/context-sidecar`."""
    database_url: str = ""
    """URL of your own Postgres, 15 or newer, with pg_trgm, btree_gin and unaccent; vector 0.8 or newer is optional. If unset: the
    embedded Postgres."""
    database_direct_url: str = ""
    """The same Postgres without PgBouncer, for migrations and notices. If unset: `SIDECAR_DATABASE_URL`."""
    pg_bin: Path | None = None
    """Directory of the programs of the embedded Postgres. If unset: the wheel's."""
    statement_cache_size: int = 256
    """Prepared statements kept per connection. Set this to 0 behind a PgBouncer that does not support them."""
    turn_pool_size: int = 16
    """Database connections for turns. For every six connections, one turn queries the database at a time; the others queue."""
    background_pool_size: int = 6
    """Database connections for everything except turns."""
    listen: tuple[str, ...] = ("127.0.0.1:7433",)
    """Addresses to serve on, separated by commas, also `unix:/path`. Only loopback and unix sockets may be without TLS."""
    processes: str = "1"
    """Processes that answer calls, on Linux: a whole number, or `auto` for one per core up to 4. With more than one, the HTTP
    servers have a separate process."""
    tls_cert: Path | None = None
    """The server's certificate chain, a PEM file."""
    tls_key: Path | None = None
    """The private key of `SIDECAR_TLS_CERT`, a PEM file."""
    tls_client_ca: Path | None = None
    """CA certificates for callers, a PEM file. When set, callers need a client certificate."""
    client_names: Path | None = None
    """A JSON file that maps certificate names (`uri:…`, `dns:…`) to `{tenant, owners, agent, role, spaces}`. Changes take effect
    within a second."""
    production: bool = False
    """Turns gRPC reflection off."""
    token_audience: str = "context-sidecar"  # noqa: S105  # a name, not a secret
    """The `aud` that tokens must have."""
    token_issuers: tuple[str, ...] = ()
    """Issuers whose tokens are accepted, separated by commas."""
    uuid5_issuers: tuple[str, ...] = ()
    """Issuers, separated by commas, whose tenant and owner ids are version-5 UUIDs. Such ids are refused from all others."""
    spaces_unclaimed: str = "deny"
    """`allow` gives callers without the claim `spaces` access to all spaces. It will be removed in the next release."""
    token_keys: tuple[str, ...] = ()
    """Files with public keys (PEM or JWKS), or directories of them, separated by commas. If unset: the development key."""
    jwks_url: str = ""
    """An https URL of a JWKS with the public keys."""
    deadline_s: float = 3.0
    """Seconds for a call whose caller sets no deadline."""
    max_deadline_s: float = 60.0
    """Upper bound in seconds on a call's deadline."""
    max_in_flight: int = 64
    """Concurrent calls."""
    max_in_flight_per_tenant: int = 32
    """Concurrent calls of one tenant."""
    max_waiting: int = 64
    """Calls that may queue for a slot; more are refused at once."""
    max_wait_s: float = 0.05
    """Seconds that a call may queue for a slot before it is refused."""
    max_message_bytes: int = 48 * 1024 * 1024
    """Largest request and response in bytes, at least 65,536."""
    drain_grace_s: float = 10.0
    """Seconds that running calls may take after SIGTERM."""
    workspace_root: Path | None = None
    """Directory with one folder per tenant, named by the UUID that `GetTenant` returns, see
    [workspaces](backends.md#workspaces-on-disk). If unset: no workspace source. A turn looks at 50,000 files
    and folders, 10,000 of one folder, and searches 2,000 text files; a note in the receipt says that there are more."""
    backends: Path | None = None
    """A TOML file of remote backends, see [backends](backends.md). If unset: only the built-in sources."""
    embedder: str = "minilm"
    """The embedder of texts and questions: `minilm` (offline, for English), `multilingual` (offline, for a hundred
    languages, on Linux and x86-64), `titan` or `titan:512` (Bedrock), `openai:MODEL:DIMENSIONS`, or `none` (by words only)."""
    embedder_base_url: str = "http://127.0.0.1:11434/v1"
    """Base URL of the server of an `openai:` embedder."""
    embedder_api_key: str = field(default="", repr=False)
    """API key of that server."""
    embed_deadline_s: float = 0.2
    """Seconds that a turn waits for the vector of its question before it searches by words only."""
    graph_hops: int = 3
    """Maximum length of the paths of typed edges that a turn follows in the wiki, up to 3. 0 follows none."""
    receipt_text_days: int = 7
    """Days for which the texts of receipts are kept, so that turns can be replayed."""
    receipt_days: int = 365
    """Days for which receipts are kept, with their usage reports. 0 keeps them for good."""
    account_days: int = 1100
    """Days for which the accounts of turns and compiles, from which costs are summed, and the alerts of budgets are kept. 0 keeps
    them for good."""
    compile_log_days: int = 365
    """Days for which the compile's log and the answers of its models are kept. `sidecar wiki verify` cannot replay a wiki whose
    first batches are older. 0 keeps them for good."""
    job_days: int = 90
    """Days for which ended jobs and rejected change sets are listed. 0 lists them for good."""
    receipt_queue: int = 2000
    """Receipts that may wait to be written; more are dropped and counted."""
    audit_days: int = 90
    """Days for which the audit log of admins' calls is kept (`sidecar audit`). 0 keeps no log."""
    purge_every_s: float = 300.0
    """Seconds between purges of forgotten content from the database's files, from start to start. 0 leaves purges to `sidecar
    purge`."""
    owner_quota_mb: int = 0
    """Megabytes that one owner's turns and memories may take. 0 sets no limit."""
    owner_max_memories: int = 0
    """Memories that one owner may have. 0 sets no limit."""
    log_level: str = "INFO"
    """Level of the JSON lines on standard error: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`."""
    slow_turn_s: float = 1.0
    """Turns that take more seconds than this are traced, regardless of the sampling."""
    capture_content: bool = False
    """Records the question and the ids of candidates in spans."""
    http_listen: str = "off"
    """HOST:PORT for health (`/livez`, `/readyz`, `/backendz`), metrics and webhooks over HTTP. `auto` means 127.0.0.1:7434 if it
    is free."""
    http_plain: bool = False
    """Allows `SIDECAR_HTTP_LISTEN` beyond loopback, in plain text. In a container, probes and scrapers need that."""
    http_peer_requests_per_s: int = 20
    """HTTP requests per second from one address, to the health port and to the console each; more get 429. 0 sets no limit.
    Behind a proxy all browsers share one address."""
    console_listen: str = "auto"
    """HOST:PORT of the [console](console.md), or `off`. `auto` means 127.0.0.1:7435 if it is free."""
    console_hosts: tuple[str, ...] = ()
    """Host names, separated by commas, under which browsers may reach the console, besides its address and localhost."""
    console_tls_proxy: bool = False
    """Whether browsers connect through a TLS proxy: the console may then listen beyond loopback, and its cookies are `Secure`."""
    worker: bool = True
    """Whether `serve` runs a worker beside it. If not, run `sidecar worker`."""
    worker_lease_s: float = 60.0
    """Seconds after which the lease of a dead worker on a wiki expires."""
    worker_poll_s: float = 5.0
    """Seconds between a worker's checks for jobs without a notice."""
    worker_scopes: int = 4
    """Wikis that a worker compiles at once while it waits for models. Wikis whose model or memory service does not answer use at
    most half of these slots."""
    worker_pool_size: int = 4
    """Database connections of a worker, at least one more than the wikis that it compiles at once."""
    thread_summaries: str = "extractive"
    """Writes the summaries of long threads: `extractive` (no model), `bedrock` or `openai`. The last two use the planner's
    model, server and key."""
    episode_pause_s: float = 1800.0
    """Seconds without turns after which a thread's session ends and becomes an episode."""
    decay_nightly: bool = False
    """Schedule the decay policy's jobs once a day for each owner. It is off by default, so that contexts do not change with an
    upgrade before an operator has seen `sidecar decay explain`."""
    decay_age_days: int = 30
    """Days before a candidate memory may be compressed into a summary."""
    decay_most_sources: int = 50
    """Maximum number of candidates in a summary, 2 to 200."""
    decay_most_salience: int = 1000
    """Candidates with a higher salience stay: the count of names, numbers (twice) and informative words in their text."""
    decay_most_reads: int = 25
    """Candidates that were in more than this many of a hundred contexts within `SIDECAR_DECAY_READ_DAYS` stay."""
    decay_read_days: int = 90
    """Days whose receipts are counted for a candidate's reads."""
    decay_most_share: int = 60
    """Maximum percentage of the aged candidates' text that summaries replace; candidates in the fewest contexts go first."""
    decay_principle_days: int = 365
    """Days after which a review lists an accepted principle as outdated."""
    decay_summaries: str = "extractive"
    """Writes summaries of the method `llm_summary`: `extractive` (none: such jobs are refused), `bedrock` or `openai`. The last
    two use the planner's model, server and key, and need an operator's attestation (`sidecar decay attest`)."""
    decay_attestation_keys: tuple[str, ...] = ()
    """PEM files, separated by commas, with the Ed25519 public keys of operators that may attest."""
    ontology_four_eyes: bool = False
    """An admin may not approve ontology changes that the same admin drafted or edited, nor Brain rules that the same admin
    proposed."""
    ontology_scan: str = "extractive"
    """Reads sentences in ontology scans, in addition to the rules: `extractive` (no model), `bedrock` or `openai`, with the
    planner's model, server, key and daily limit."""
    compile_unread_pause_s: int = 0
    """Minimum seconds between compiles of a wiki that no turn has read in that time. 0 disables. A tenant's
    `wiki_unread_pause_s` in the database takes precedence."""
    compile_planner: str = "extractive"
    """Plans pages: `extractive` (no model), `bedrock`, or `openai` (any server with OpenAI's API)."""
    compile_extractive_takes_over: bool = False
    """If the model fails for every memory, finish the job without a model and mark it. Otherwise the job fails and is retried
    later."""
    compile_base_url: str = "http://127.0.0.1:11434/v1"
    """Base URL of the server of the planner `openai`."""
    compile_api_key: str = field(default="", repr=False)
    """API key of that server."""
    compile_record_page_size: int = 50
    """Memories per batch."""
    compile_max_records_per_job: int = 500
    """Memories per job."""
    compile_max_records_per_bootstrap_job: int = 1000
    """Memories per job of an import."""
    compile_max_new_pages_per_job: int = 25
    """New pages per job; a follow-up job continues."""
    compile_max_sections_rewritten_per_job: int = 100
    """Rewritten sections per job; a follow-up job continues."""
    compile_max_aggregation_pages: int = 60
    """Maximum number of changed pages that a model is shown to find hubs. Without a model, a job uses all of them."""
    compile_job_ceiling_cents: int = 500
    """US cents that one job may spend on model calls. 0 sets no limit. Calls of a model without a known price do not count."""
    compile_day_ceiling_cents: int = 5000
    """US cents that a tenant may spend per UTC day on model calls. 0 sets no limit. Calls without a known price do not count."""
    bedrock_model_id: str = DEFAULT_MODEL_ID
    """The planner's model. `BEDROCK_MODEL_ID` is also read."""
    bedrock_region: str = ""
    """AWS region of Bedrock, for the planner and the embedder `titan`. If unset: the AWS SDK's."""
    bedrock_endpoint_url: str = ""
    """Bedrock's URL. If unset: the region's."""
    wiki_aggregation_pass_enabled: bool = True
    """Build hubs and rollups. `WIKI_AGGREGATION_PASS_ENABLED` is also read; a tenant's flag in the database takes precedence."""
    wiki_deterministic_linking_enabled: bool = True
    """Make links without a model. `WIKI_DETERMINISTIC_LINKING_ENABLED` is also read; a tenant's flag in the database takes
    precedence."""

    @property
    def owner_quota_bytes(self) -> int:
        """Return the bytes that one owner's turns and memories may take; 0 means no limit."""
        return self.owner_quota_mb * 2**20


def read(environ: Mapping[str, str]) -> Settings:
    """Return the settings from the environment, with defaults for absent or empty variables.

    Raises SettingInvalid for an invalid value and for an unknown variable with the prefix.
    """
    known = {f"SIDECAR_{field.name.upper()}": field.name for field in fields(Settings)}
    texts = {name: value for name, value in environ.items() if name.startswith("SIDECAR_") and name not in _ELSEWHERE}
    if unknown := sorted(texts.keys() - known.keys()):
        alike = get_close_matches(unknown[0], known)
        fix = f"perhaps {' or '.join(alike)} is meant" if alike else f"use one of {', '.join(sorted(known))}"
        raise SettingInvalid(unknown[0], "is not a setting", fix)
    texts |= {variable: environ[variable] for variable in _UNPREFIXED if variable in environ}
    known |= _UNPREFIXED
    values: dict[str, Any] = {}
    for variable, text in texts.items():
        if text:
            values[known[variable]] = _parsed(variable, known[variable], text)
    if "data_dir" not in values:
        values["data_dir"] = default_data_dir(environ)  # only then: a user without a home has none
    return Settings(**values)


# Variables that other tools use for the same thing.
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
)  # read by the command line for its client


_MOST = 2**31  # the range of a four-byte column
_MOST_DAYS = 36_500
_LEAST_MESSAGE_BYTES = 65_536  # smaller ones would refuse ordinary turns
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _parsed(variable: str, name: str, text: str) -> Any:
    kind = next(field.type for field in fields(Settings) if field.name == name)
    parse, wanted = _KINDS["days" if name.endswith("_days") else name if name in _KINDS else str(kind)]
    try:
        return parse(text)
    except ValueError:
        raise SettingInvalid(variable, f"{text!r} is not {wanted}", f"set {wanted}") from None


def _number(text: str, *, least: int = 0, most: int = _MOST - 1) -> int:
    value = int(text)
    if not least <= value <= most:
        raise ValueError
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e9:
        raise ValueError
    return value


def _some_seconds(text: str) -> float:
    value = _seconds(text)
    if not value:
        raise ValueError
    return value


def _flag(text: str) -> bool:
    answers = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in answers:
        raise ValueError
    return answers[text.lower()]


def _level(text: str) -> str:
    if text.upper() not in _LEVELS:
        raise ValueError
    return text.upper()


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _addresses(text: str) -> tuple[str, ...]:
    addresses = _names(text)
    if not addresses:
        raise ValueError
    return addresses


_KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "str": (str, "a text"),
    "int": (_number, "a whole number of zero or more, below 2147483648"),
    "days": (partial(_number, most=_MOST_DAYS), f"a whole number of days up to {_MOST_DAYS}"),
    "log_level": (_level, f"one of {', '.join(_LEVELS)}"),
    "float": (_seconds, "a number of seconds"),
    "bool": (_flag, "true or false"),
    "Path": (Path, "a directory"),
    "Path | None": (Path, "a directory"),
    "tuple[str, ...]": (_names, "a list with commas"),
    "listen": (_addresses, "a list of addresses with commas"),
    "graph_hops": (partial(_number, most=3), "a whole number from 0 to 3"),
    "max_message_bytes": (
        partial(_number, least=_LEAST_MESSAGE_BYTES),
        f"a whole number of {_LEAST_MESSAGE_BYTES} or more, below {_MOST}",
    ),
    **dict.fromkeys(
        (
            "turn_pool_size", "background_pool_size", "worker_pool_size", "worker_scopes", "max_in_flight",
            "max_in_flight_per_tenant",
        ),
        (partial(_number, least=1), f"a whole number of one or more, below {_MOST}"),
    ),
    **dict.fromkeys(
        ("deadline_s", "max_deadline_s", "worker_lease_s", "worker_poll_s"), (_some_seconds, "a number of seconds above 0")
    ),
}  # fmt: skip
