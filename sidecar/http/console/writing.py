"""Renders pages: templates that escape by default, and the formats of numbers, times and money."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from compiler.plan.text import markup

T = TypeVar("T")

SHOWN_KINDS = frozenset({"memory", "page", "turn", "chunk"})
HERE = Path(__file__).parent
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="console")  # more threads would only slow down the event loop
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
_MARKDOWN.validateLink = lambda url: url.startswith("#from-") or markup.is_allowed(url)  # type: ignore[method-assign]


async def aside(work: Callable[[], T]) -> T:
    """Run long work in the console's only thread, and return its result. The work must not touch the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)


def render(template: str, **values: Any) -> str:
    """Return a template filled with values."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "number": number, "moment": moment, "day": day, "money": money, "ms": milliseconds, "share": share, "markdown": markdown,
    }  # fmt: skip
    environment.globals["visit_ref"] = place_of
    return environment


def number(value: float) -> str:
    """Return a count with separated thousands."""
    return f"{value:,.0f}"


def moment(value: datetime | None) -> Markup:
    """Return an instant in UTC, with its day less prominent than its time; a dash for None."""
    if value is None:
        return Markup("–")
    at = value.astimezone(UTC)
    return Markup('<time datetime="{}Z" title="UTC"><span class="quiet">{}</span> {}</time>').format(
        f"{at:%Y-%m-%dT%H:%M:%S}", f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}"
    )


def day(value: date | None) -> str:
    """Return a day; a dash for None."""
    return f"{value:%Y-%m-%d}" if value else "–"


def share(value: float) -> str:
    """Return a share from 0 to 1 in percent."""
    return f"{100 * value:.1f} %"


def place_of(kind: str, ref: str) -> str:
    """Return the path of the page about a piece of provenance; empty for a piece that is stored elsewhere."""
    return f"/from/{kind}?{urlencode({'id': ref})}" if kind in SHOWN_KINDS else ""


def money(value: float | None) -> str:
    """Return an amount in USD; a dash if no price is known."""
    if not value:
        return "–" if value is None else "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def milliseconds(value: float) -> str:
    """Return a duration in milliseconds, or in seconds from one second on."""
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.1f} ms"


def markdown(text: str) -> Markup:
    """Return Markdown as HTML, without HTML of the text or images, and with links only into the wiki, to mail and to the web."""
    return Markup(_MARKDOWN.render(text))  # noqa: S704  # the renderer escapes what the text brings
