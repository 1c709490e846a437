"""Pages as text: templates that escape by default, and how numbers, times and money are written in them."""

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
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="console")  # more would only take more from the event loop
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
_MARKDOWN.validateLink = lambda url: url.startswith("#from-") or markup.is_allowed(url)  # type: ignore[method-assign]


async def aside(work: Callable[[], T]) -> T:
    """Run the work in the console's one thread, and return its result. It may take long, and must not touch the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)


def render(template: str, **values: Any) -> str:
    """Return a template filled with values."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "number": number, "moment": moment, "day": day, "money": money, "ms": milliseconds, "share": share, "markdown": markdown,
    }  # fmt: skip
    made.globals["visit_ref"] = place_of
    return made


def number(value: float) -> str:
    """Return a count with its thousands apart."""
    return f"{value:,.0f}"


def moment(value: datetime | None) -> Markup:
    """Return an instant in UTC, its day less prominent than its time; a dash for none."""
    if value is None:
        return Markup("–")
    at = value.astimezone(UTC)
    return Markup('<time datetime="{}Z" title="UTC"><span class="quiet">{}</span> {}</time>').format(
        f"{at:%Y-%m-%dT%H:%M:%S}", f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}"
    )


def day(value: date | None) -> str:
    """Return a day; a dash for none."""
    return f"{value:%Y-%m-%d}" if value else "–"


def share(value: float) -> str:
    """Return a share of 0 to 1 in percent."""
    return f"{100 * value:.1f} %"


def place_of(kind: str, ref: str) -> str:
    """Return the address of a piece of provenance; empty for a piece that is kept elsewhere."""
    return f"/from/{kind}?{urlencode({'id': ref})}" if kind in SHOWN_KINDS else ""


def money(value: float | None) -> str:
    """Return an amount in USD; a dash where no price is known."""
    if not value:
        return "–" if value is None else "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def milliseconds(value: float) -> str:
    """Return a time in milliseconds, or in seconds past one."""
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.1f} ms"


def markdown(text: str) -> Markup:
    """Return Markdown as HTML: no HTML of the text's own, no pictures, and links only into the wiki, to mail and to the web."""
    return Markup(_MARKDOWN.render(text))  # noqa: S704  # the renderer escapes what the text brings
