"""Writes contexts of the demo, as a model gets them with the default profile, to `docs/contexts.md`.

`contexts.json` holds the messages, a reader's remark on each context, and a summary of them all.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import uvloop

from bench.databases import own_database
from bench.figures import Figure, at_most, plain
from sidecar.client.answers import Assembly
from sidecar.demo import corpus, story
from sidecar.turn.ranking.worth import RULES, Spend

_TARGET = Path("docs/contexts.md")
_READ = Path(__file__).with_name("contexts.json")
_VOLATILE = "volatile"
_LAST_EXCHANGE = "last exchange"
_SHOWN_CHARS = 100
_LATE = frozenset({"TIMEOUT", "STALE", "SHED", "ERROR", "BREAKER_OPEN"})
_TRIES = 20
_PAGE = """# Ten contexts

What a model gets for ten messages in the demo, with the default profile (`spend` balanced). Made by `python -m bench contexts`;
the remarks stand in `bench/spend/contexts.json`. The demo is one person's journal of 181 memories, a conversation of 40 turns,
three documents, and the pages compiled from the memories without a model.

Every context opens with the line on fences in the system prompt and ends with the conversation's recent turns, the recalled
block and the message. The turns are told here by their first words, once if they are the same. Of the recalled block each
line is printed whole the first time and by its first words after that; tags are without their number, which differs with
every installation.
"""


def run(*, scale: float) -> list[Figure]:
    """Write the contexts, and return their sizes. `scale` is the share of them that is made; below 1, nothing is written."""
    written = json.loads(_READ.read_text(encoding="utf-8"))
    entries = written["contexts"]
    read = [(one["message"], one["remark"]) for one in entries[: max(1, round(len(entries) * min(1.0, scale)))]]
    made = uvloop.run(_made([message for message, _ in read]))
    if len(read) == len(entries):
        first = made[read[0][0]]
        shown = set[str]()
        pages = [_written(number, *one, made[one[0]], first, shown) for number, one in enumerate(read, start=1)]
        _TARGET.write_text(
            "\n".join([_PAGE, "## What they show\n", f"{written['summary']}\n", *pages]), encoding="utf-8"
        )
    most = RULES[Spend.BALANCED].recall_tokens
    return [
        plain("contexts", len(made)),
        plain("tokens of a context, at most", max(one.budget.used_tokens for one in made.values())),
        at_most("tokens beside the last exchange, at most", max(map(_bounded, made.values())), most),
    ]


def _bounded(assembly: Assembly) -> int:
    """Return the tokens that the profile bounds: all but those of the last exchange and of the line on fences."""
    exchange = sum(one.tokens for one in assembly.decisions if one.reason == _LAST_EXCHANGE)
    notice = assembly.system_blocks[0].tokens if assembly.system_blocks else 0
    return assembly.budget.used_tokens - exchange - notice


async def _made(messages: list[str]) -> dict[str, Assembly]:
    async with _demo() as ask:
        return {message: await ask(message) for message in messages}


@asynccontextmanager
async def _demo() -> AsyncIterator[Callable]:  # type: ignore[type-arg]
    async with (
        own_database(embedder="minilm") as (settings, _),
        story.loaded_demo(settings, _Quiet()) as (_, client),
    ):

        async def ask(message: str) -> Assembly:
            for _ in range(_TRIES):
                assembly = await client.assemble_context(
                    message=message,
                    model_id=corpus.MODEL,
                    thread_id=corpus.THREAD,
                    overrides=story.patience(),
                    detail="decisions",
                )
                if not any(one.status in _LATE or one.reason for one in assembly.sources if one.status != "SKIPPED"):
                    return assembly
            raise RuntimeError(f"on this machine a source is always late: {message}")

        yield ask


class _Quiet:
    """A narrator without output."""

    def note(self, text: str) -> None:
        """Do nothing."""

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Yield a function that does nothing."""
        yield lambda steps: None


def _written(number: int, message: str, remark: str, assembly: Assembly, first: Assembly, shown: set[str]) -> str:
    """Return a context's part of the page; adds the lines that it prints to those `shown`."""
    lines = [f"## {number}. {message}", ""]
    if (reading := assembly.reading) is not None:
        words = f"; with the thread's words {', '.join(reading.thread_words)}" if reading.thread_words else ""
        lines += [f"Asks {reading.asks:.2f}, holds {reading.holds:.2f}, leans {reading.leaning:.2f}{words}.", ""]
    if assembly is not first and assembly.messages == first.messages:
        lines += [f"{assembly.budget.used_tokens} tokens, of them the same last turns as in 1.", ""]
    else:
        turns = [f"- {one.role}: {_short(one.text)}" for one in assembly.messages if one.text.strip()]
        lines += [f"{assembly.budget.used_tokens} tokens, of them the conversation's last turns:", "", *turns, ""]
    recalled = "".join(block.text for block in assembly.system_blocks if block.zone == _VOLATILE)
    shown_lines = [_once(line, shown) for line in _untagged(recalled).splitlines()]
    shown_lines = [
        line for place, line in enumerate(shown_lines) if line.strip() or (place and shown_lines[place - 1].strip())
    ]
    lines += ["```text", *shown_lines, "```", ""] if recalled else ["Nothing is recalled.", ""]
    return "\n".join([*lines, remark, ""])


def _once(line: str, shown: set[str]) -> str:
    """Return a line whole if its text is not in `shown` yet, otherwise its first words; further lines of a passage are left
    out.
    """
    mark, space, text = line.partition("] ") if line.startswith("[") else ("", "", line)
    if text not in shown:
        shown.add(text)
        return line
    if not mark and line.startswith(" "):
        return ""
    return f"{mark}{space}{_short(text)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN_CHARS else f"{flat[:_SHOWN_CHARS].rstrip()} …"


def _untagged(text: str) -> str:
    """Return the text with the number of its fences' tags left out."""
    opening = text.partition("<context-")[2]
    number = opening[: len(opening) - len(opening.lstrip("0123456789"))]
    return text.replace(f"context-{number}", "context-…") if number else text
