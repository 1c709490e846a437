"""Commands about a tenant as a whole, for its admins: show it, revoke its tokens, delete it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK, Interrupted
from sidecar.cli.shared.output import Step, counted
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers import DeletedTenant, Tenant

_PAUSE_S = 10.0
_OF_THE_CALLS = {"audit_entries", "background_jobs", "forgotten_refs", "remote_forgettings"}
"""Tables to which a deleting call itself writes: as long as a remote service does not answer, each call has new rows there."""


@click.group()
def tenant() -> None:
    """Show a tenant, revoke its tokens, or delete all its data; needs an admin's token."""


@tenant.command(short_help="Show a tenant.")
@connected
def show(session: CommandSession) -> None:
    """Show the tenant's id, its age, and the time before which its tokens are refused.

    \b
    Example:
      sidecar tenant show --tenant acme
    """
    session.voice.show(session.client.get_tenant(), _draw_tenant)


def _draw_tenant(found: Tenant) -> Iterator[str]:
    yield f"{found.tenant_id}, since {drawing.moment(found.create_time)}"
    if found.tokens_not_before_time:
        yield f"tokens issued before {found.tokens_not_before_time:%Y-%m-%d %H:%M:%S} UTC are refused"
    if not found.wiki_compile_enabled:
        yield "its memories are not compiled"


@tenant.command(short_help="Revoke all tokens of a tenant.")
@connected
def revoke(session: CommandSession) -> None:
    """Refuse every token of the tenant that was issued before now, also the one of this call.

    \b
    Example:
      sidecar tenant revoke --tenant acme
    """
    in_force = session.client.revoke_tokens()
    session.voice.show(
        {"tokens_not_before_time": in_force},
        lambda _: ["refused everywhere within 5 seconds; to go on, use a token that is issued from now on"],
    )


@tenant.command(short_help="Delete all data of a tenant.")
@click.option("--confirm", default="", metavar="TENANT", help="The tenant again, to agree; without it, you are asked.")
@connected
def delete(session: CommandSession, confirm: str) -> int:
    """Delete all data of --tenant for good: its owners, knowledge bases, profiles, ontology, Brain, budgets and audit log.

    Revoke its tokens first, and stop issuing new ones; then call with an admin's new token. It takes until ten minutes after
    the revocation, so that running writes have ended. If it ends early, run it again. Its id, the revocation and the audit
    entry of this are kept, and notes of what was forgotten in the last hour, as hashes, until you run it again later.

    \b
    Example:
      sidecar tenant revoke --tenant acme
      sidecar tenant delete --tenant acme --confirm acme
    """
    if not session.tenant:
        raise click.UsageError("Name the tenant with --tenant.")
    confirm = confirm or click.prompt(f"Delete all data of the tenant {session.tenant!r}? Write its name", err=True)
    if confirm != session.tenant:
        raise click.UsageError(f"{confirm!r} is not the tenant {session.tenant!r}; nothing was deleted.")
    counts = Counter[str]()
    try:
        with session.voice.progress("rows", None) as step:
            done = deleted(session, counts, step)
    except KeyboardInterrupt:
        rows = counted(counts.total(), "row")
        raise Interrupted(f"interrupted; deleted so far: {rows}. Run the same command again for the rest.") from None
    facts = {"row_counts": dict(counts), "complete": done.complete, "elsewhere": done.elsewhere}
    session.voice.show(facts, _draw_deleted)
    return OK if done.complete else FAILED


def deleted(session: CommandSession, counts: Counter[str], step: Step, *, pause_s: float = _PAUSE_S) -> DeletedTenant:
    """Repeat the call until nothing is left, or only owners that a remote service has not forgotten; return the last answer.

    The deleted rows are added to `counts`, by table.
    """
    has_waited = False
    while True:
        done = session.client.delete_tenant()
        counts.update(done.row_counts)
        step(sum(done.row_counts.values()))
        if done.complete:
            return done
        if not done.row_counts.keys() - _OF_THE_CALLS:
            if done.elsewhere:
                return done
            if not has_waited:
                session.voice.note(
                    "waiting until ten minutes after the revocation, when no earlier write runs any more"
                )
            has_waited = True
            time.sleep(pause_s)


def _draw_deleted(facts: dict[str, Any]) -> Iterator[Any]:
    yield drawing.rows(
        ("table", "rows deleted"),
        ((table, f"{count:,}") for table, count in sorted(facts["row_counts"].items())),
        empty="that tenant has no data",
    )
    yield from drawing.elsewhere(facts["elsewhere"])
    if not facts["complete"]:
        yield "not complete: a remote service has not answered; run the same command again later"
