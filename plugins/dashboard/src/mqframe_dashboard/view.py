"""What a page is made of: tables, facts, texts and forms, all of them values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import attrs

CURVE_WIDTH, CURVE_HEIGHT = 120, 24


@attrs.frozen
class Link:
    """A text that leads to another page. `href` is relative: all pages lie in one folder."""

    text: str
    href: str


def link(page: str, text: str, **query: str) -> Link:
    """A link to `page` with a query string."""
    return Link(text, f"{page}?{urlencode(query)}" if query else page)


def system_link(page: str, shown: bool) -> Link:
    """A link to `page` with what is of the system, or, where that is `shown`, without."""
    if shown:
        return link(page, "without those of the system")
    return link(page, "with those of the system", all="1")


@attrs.frozen
class Curve:
    """Rates over time, the oldest first."""

    rates: Sequence[float]

    @property
    def points(self) -> str:
        """Points of an SVG polyline; the highest rate touches the top."""
        high = max(self.rates, default=0.0) or 1.0
        step = CURVE_WIDTH / max(1, len(self.rates) - 1)
        return " ".join(
            f"{at * step:.1f},{(CURVE_HEIGHT - 1) - rate / high * (CURVE_HEIGHT - 2):.1f}"
            for at, rate in enumerate(self.rates)
        )


@attrs.frozen
class Table:
    """Rows that have all the keys of the first; `empty`: what is said of no rows."""

    title: str
    rows: Sequence[Mapping[str, Any]]
    empty: str = "nothing found"
    kind: str = "table"


@attrs.frozen
class Facts:
    """Values by name."""

    title: str
    values: Mapping[str, Any]
    kind: str = "facts"


@attrs.frozen
class Text:
    """A long text, as it is."""

    title: str
    text: str
    kind: str = "text"


@attrs.frozen
class Note:
    """One paragraph; `wrong`: it tells of a failure."""

    text: str
    wrong: bool = False
    kind: str = "note"


@attrs.frozen
class Links:
    """Links in a row."""

    links: Sequence[Link]
    kind: str = "links"


@attrs.frozen
class Field:
    """An input of a form."""

    name: str
    label: str
    value: str = ""
    hint: str = ""


@attrs.frozen
class Form:
    """A form that leads to the page `action`, with its values in the query string."""

    action: str
    fields: Sequence[Field]
    kind: str = "form"


Part = Table | Facts | Text | Note | Links | Form


@attrs.frozen
class Page:
    """A whole page; `live`: it is loaded again while somebody looks at it."""

    title: str
    parts: Sequence[Part]
    live: bool = False


def time_text(milliseconds: float) -> str:
    """A time in ms since 1970, in UTC; "" for none."""
    if milliseconds <= 0:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)  # what a broken clock wrote
