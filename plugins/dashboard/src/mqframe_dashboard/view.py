"""What a page is made of: tables, facts, texts and forms, all of them values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import attrs

from mqframe_dashboard.curves import Chart
from mqframe_dashboard.form_parts import ChangeForm
from mqframe_dashboard.tracing import Timeline


@attrs.frozen
class Link:
    """A text that leads to another page. `href` is relative: all pages lie in one folder."""

    text: str
    href: str


def link(page: str, text: str, /, **query: str) -> Link:
    """A link to `page` with a query string."""
    return Link(text, f"{page}?{urlencode(query)}" if query else page)


@attrs.frozen
class Sort:
    """The head of a column by which a table can be sorted: `href` does so.

    `state`: "ascending" or "descending" where it is sorted by it now, else "".
    """

    href: str
    state: str = ""


@attrs.frozen
class TableView:
    """Rows that have all the keys of the first; `empty`: what is said of no rows.

    `sorts`: columns that it can be sorted by.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    empty: str = "nothing found"
    sorts: Mapping[str, Sort] = attrs.field(factory=dict)
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
    """An input of a form. `kind`: text, checkbox, whose value is its state, or hidden."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    kind: str = "text"


@attrs.frozen
class Form:
    """A form that leads to the page `action`, with its values in the query string."""

    action: str
    fields: Sequence[Field]
    button: str = "Search"
    kind: str = "form"


Part = TableView | Facts | Text | Chart | Timeline | Note | Links | Form | ChangeForm


@attrs.frozen
class Page:
    """A whole page; `live`: it is loaded again while somebody looks at it."""

    title: str
    parts: Sequence[Part]
    live: bool = False

    @property
    def is_filled_in(self) -> bool:
        """Whether somebody may be typing here, who would lose it when all is loaded again."""
        return any(part.kind in ("form", "change") for part in self.parts)


def time_text(milliseconds: float) -> str:
    """A time in ms since 1970, in UTC; "" for none."""
    if milliseconds <= 0:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)  # what a broken clock wrote
