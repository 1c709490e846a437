"""The root of the command line: its table of commands, and the exit codes."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from io import TextIOWrapper
from pathlib import Path

import click
from click.exceptions import NoArgsIsHelpError, NoSuchCommand

from sidecar.cli.shared.failures import FAILED, INTERRUPTED, clipped

# Names that people try, with the commands they mean; other misspellings are found by similarity.
_MEANT = {
    "add": "import", "ask": "assemble", "context": "assemble", "delete": "forget", "get": "show", "load": "import",
    "ls": "list", "receipt": "explain", "remove": "forget", "rm": "forget", "show": "get", "start": "serve", "status": "health",
}  # fmt: skip

_ABOUT = """Assembles, on every turn, the context that an LLM agent needs.

\b
  sidecar demo                       load a demo, ask one question, show the context
  sidecar serve                      serve on 127.0.0.1:7433
  sidecar assemble "Where to next?" --thread t1 --model gpt-4o
"""


def _version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        try:
            click.echo(metadata.version("context-sidecar"))
        except metadata.PackageNotFoundError:
            click.echo("not installed, running from its source")
        context.exit()


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is imported on use: its module, its name in it, and its line in the help."""

    module: str
    name: str
    short_help: str

    def line(self, name: str, limit: int) -> str:
        """Return the line in the help, of at most `limit` characters."""
        return click.Command(name, help=self.short_help).get_short_help_str(limit)

    def load(self) -> click.Command:
        """Return the command."""
        command: click.Command = getattr(import_module(self.module), self.name)
        return command


# The only place with late imports: a command loads only the modules it uses.
_COMMANDS = {
    "assemble": Lazy("sidecar.cli.turns.context", "assemble", "Assemble one turn's context and show it."),
    "audit": Lazy("sidecar.cli.operations.audit", "audit", "List the calls of admins."),
    "backends": Lazy(
        "sidecar.cli.operations.tools",
        "backends",
        "Show the remote backends, switch them off or on, and create webhooks for changed memories.",
    ),
    "brain": Lazy("sidecar.cli.wiki.brain", "brain", "Query compiled pages, and share memories in a tenant."),
    "budget": Lazy(
        "sidecar.cli.operations.cost", "budget", "Set spending limits and show their alerts; needs an admin's token."
    ),
    "cost": Lazy("sidecar.cli.operations.cost", "cost", "Show spending."),
    "decay": Lazy("sidecar.cli.content.decay", "decay", "Compress aged candidates into summaries."),
    "demo": Lazy("sidecar.cli.operations.demo", "demo", "Load a demo, ask one question, show the context."),
    "diff": Lazy("sidecar.cli.turns.context", "diff", "Compare two assemblies."),
    "doctor": Lazy("sidecar.cli.operations.doctor", "doctor", "Check this machine's setup, and show fixes."),
    "embed": Lazy("sidecar.cli.operations.serving", "embed", "Compute the missing vectors of stored texts."),
    "explain": Lazy("sidecar.cli.turns.context", "explain", "Explain an assembly."),
    "forget": Lazy(
        "sidecar.cli.content.forget", "forget", "Forget a memory, document, thread, time range, owner, or word."
    ),
    "health": Lazy("sidecar.cli.operations.health", "health", "Check whether a sidecar is serving."),
    "ingest": Lazy("sidecar.cli.content.knowledge", "ingest", "Read documents into a knowledge base."),
    "memory": Lazy(
        "sidecar.cli.content.memory", "memory", "Import, list, show, accept, reject, compress and forget memories."
    ),
    "graph": Lazy("sidecar.cli.wiki.graph", "graph", "Follow, state and roll back typed edges between pages."),
    "migrate": Lazy("sidecar.cli.operations.schema", "migrate", "Bring the database's schema up to date."),
    "ontology": Lazy("sidecar.cli.operations.ontology", "ontology", "Review and approve the types of pages and edges."),
    "owner": Lazy(
        "sidecar.cli.content.owner", "owner", "Show an owner's storage, export its data, or delete all of it."
    ),
    "profile": Lazy("sidecar.cli.content.profile", "profile", "Read and change the knobs of turns."),
    "purge": Lazy("sidecar.cli.operations.schema", "purge", "Remove forgotten content from the database's files."),
    "replay": Lazy("sidecar.cli.turns.context", "replay", "Fit a stored assembly again with other knobs."),
    "serve": Lazy("sidecar.cli.operations.serving", "serve", "Serve until stopped."),
    "tenant": Lazy(
        "sidecar.cli.operations.tenant", "tenant", "Show a tenant, revoke its tokens, or delete all its data."
    ),
    "thread": Lazy("sidecar.cli.content.thread", "thread", "Import, list and show threads."),
    "token": Lazy("sidecar.cli.operations.tokens", "token", "Mint a token with this machine's dev key."),
    "tools": Lazy("sidecar.cli.operations.tools", "tools", "Show the tools of MCP servers and approve them."),
    "top": Lazy("sidecar.cli.turns.top", "top", "Watch the newest turns."),
    "turns": Lazy("sidecar.cli.turns.listing", "turns", "List turns with their duration and cost."),
    "usage": Lazy("sidecar.cli.turns.usage", "usage", "Report the provider's token counts of a turn."),
    "wiki": Lazy("sidecar.cli.wiki.reading", "wiki", "Compile memories into pages, read the pages, and maintain them."),
    "worker": Lazy("sidecar.cli.operations.working", "worker", "Run the background worker until stopped."),
}


class Root(click.Group):
    """The commands of the table; only the called one is loaded."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name; None if there is none."""
        command = _COMMANDS.get(cmd_name)
        return None if command is None else command.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of all commands with their help lines, without loading them."""
        limit = formatter.width - 6 - max(map(len, _COMMANDS))
        rows = [(name, _COMMANDS[name].line(name, limit)) for name in sorted(_COMMANDS)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(cls=Root, help=_ABOUT, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def root() -> None:
    """Hold the commands."""


def inside(group: click.Group) -> dict[str, click.Command]:
    """Return the group's commands by name, each loaded."""
    context = click.Context(group)
    named = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in named.items() if command is not None}


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. A closed pipe ends it silently, as does Ctrl-C outside of an import."""
    _open_closed()
    _say_all()
    try:
        return _run(arguments)
    except BrokenPipeError:
        _discard_output()
        return FAILED
    except OSError as error:
        if error.errno not in _UNWRITTEN or error.filename:
            raise
        _discard_output()
        sys.stderr.write(
            f"sidecar: the output cannot be written: {error.strerror}; what was written is not all of it.\n"
        )
        return FAILED


def _run(arguments: Sequence[str]) -> int:
    try:
        code = root.main(args=list(arguments), prog_name="sidecar", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        _show(error, is_json="--json" in arguments)
        sys.stdout.flush()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return code if isinstance(code, int) else 0


# The errors of a write: the disk or the quota is full, the device fails, the file is too long.
_UNWRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})


def _discard_output() -> None:
    """Discard the buffered output; otherwise Python reports an error when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed() -> None:
    """Connect each closed standard stream to the null device, as if it had been discarded."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # open until the end


def _show(error: click.ClickException, *, is_json: bool) -> None:
    """Write the error with suggestions, also as JSON if requested; help is written in full."""
    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return
    if isinstance(error, NoSuchCommand) and error.ctx is not None:
        vars(error)["possibilities"] = _suggested(error.command_name, error.ctx)
    vars(error)["message"] = clipped(error.message)
    error.show()
    if is_json:
        facts = {"kind": type(error).__name__, "message": error.format_message()}
        click.echo(json.dumps({"error": facts}, indent=2))


def _suggested(name: str, context: click.Context) -> list[str]:
    """Return the group's commands with similar names, or else the one that is probably meant."""
    group = context.command
    names = group.list_commands(context) if isinstance(group, click.Group) else []
    alike = NoSuchCommand(name, possibilities=names).possibilities
    return alike or [meant for meant in [_MEANT.get(name)] if meant in names]


def _say_all() -> None:
    """Write characters that the terminal's encoding lacks as escapes, since they would end the command otherwise."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
