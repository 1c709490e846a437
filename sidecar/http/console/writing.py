"""Pages as text: templates that escape by default, and how numbers, times and money are written in them."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

HERE = Path(__file__).parent
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")


def render(template: str, **values: Any) -> str:
    """Return a template filled with values."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"number": number, "moment": moment, "money": money, "ms": milliseconds, "markdown": markdown}
    return made


def number(value: float) -> str:
    """Return a count with its thousands apart."""
    return f"{value:,.0f}"


def moment(value: datetime | None) -> str:
    """Return an instant as people write it, in UTC; a dash for none."""
    return f"{value:%Y-%m-%d %H:%M:%S}" if value else "–"


def money(value: float | None) -> str:
    """Return an amount in USD; a dash where no price is known."""
    if value is None:
        return "–"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def milliseconds(value: float) -> str:
    """Return a time in milliseconds, or in seconds past one."""
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.1f} ms"


def markdown(text: str) -> Markup:
    """Return Markdown as HTML: no HTML of the text's own, and links only to paths and to the web."""
    return Markup(_MARKDOWN.render(text))  # noqa: S704  # the renderer escapes what the text brings
