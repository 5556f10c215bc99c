"""What a page is made of: tables, facts, texts and forms, all of them values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import attrs

from mqframe_dashboard.form_parts import ChangeForm

CURVE_WIDTH, CURVE_HEIGHT = 120, 24
CHART_WIDTH, CHART_HEIGHT = 600, 120


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
        return link(page, f"Hide {page} of the system")
    return link(page, f"Show {page} of the system, too", all="1")


@attrs.frozen
class Curve:
    """Rates over time, the oldest first."""

    rates: Sequence[float]

    @property
    def points(self) -> str:
        """Points of an SVG polyline; the highest rate touches the top."""
        return _points(self.rates, CURVE_WIDTH, CURVE_HEIGHT)


@attrs.frozen
class TableView:
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
class Chart:
    """Rates over time, a second, the oldest first, as a part of its own. `span`: what they cover, s."""

    title: str
    rates: Sequence[float]
    span: float
    kind: str = "chart"

    @property
    def points(self) -> str:
        """Points of an SVG polyline; the highest rate touches the top."""
        return _points(self.rates, CHART_WIDTH, CHART_HEIGHT)

    @property
    def caption(self) -> str:
        """What the line says, in words."""
        if not self.rates:
            return "There is no rate yet: it follows from two looks at the topic."
        now, most = self.rates[-1], max(self.rates)
        return f"Messages a second over the last {span_text(self.span * 1000)}: {now} now, {most} at most."


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
    button: str = "Search"
    kind: str = "form"


Part = TableView | Facts | Text | Chart | Note | Links | Form | ChangeForm


@attrs.frozen
class Page:
    """A whole page; `live`: it is loaded again while somebody looks at it."""

    title: str
    parts: Sequence[Part]
    live: bool = False


def _points(rates: Sequence[float], width: int, height: int) -> str:
    high = max(rates, default=0.0) or 1.0
    step = width / max(1, len(rates) - 1)
    return " ".join(
        f"{at * step:.1f},{(height - 1) - rate / high * (height - 2):.1f}" for at, rate in enumerate(rates)
    )


def span_text(milliseconds: float) -> str:
    """How long something takes or took, of the largest unit that it has two of: "90 s", "3 min", "4 d"."""
    seconds = max(0, int(milliseconds / 1000))
    for unit, size, most in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < most:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86_400} d"


def time_text(milliseconds: float) -> str:
    """A time in ms since 1970, in UTC; "" for none."""
    if milliseconds <= 0:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)  # what a broken clock wrote
