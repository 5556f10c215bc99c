"""HTML of pages: every value is escaped, and control characters are made visible."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined

from mqframe.core.printable import printable_lines
from mqframe_dashboard.alarms.watch import Banner
from mqframe_dashboard.curves import Curve
from mqframe_dashboard.form_parts import NOBODY, Visitor
from mqframe_dashboard.view import Link, Page, time_text


def visible(value: Any) -> Any:
    """Texts with what cannot be seen as escapes; other values as they are."""
    if type(value) is not str:
        return value
    return printable_lines(value.replace("\r\n", "\n"))  # to browsers both are the same


def _text(value: Any) -> str:
    return value.text if isinstance(value, Link) else str(value)


_TEMPLATES: Final = Environment(
    loader=PackageLoader("mqframe_dashboard"),
    autoescape=True,
    finalize=visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.tests["link"] = lambda value: isinstance(value, Link)
_TEMPLATES.tests["curve"] = lambda value: isinstance(value, Curve)
_TEMPLATES.tests["long"] = lambda value: not isinstance(value, Curve) and len(_text(value)) > LINE_MAX
_TEMPLATES.globals["time_text"] = time_text
_TEMPLATES.globals["loaded"] = lambda: time_text(time.time() * 1000)
LINE_MAX: Final = 40
"""Longest text of a cell that is not broken, characters."""
SECTIONS: Final = {
    "/broker": "/",
    "/topic": "/topics",
    "/group": "/groups",
    "/message": "/messages",
    "/letter": "/letters",
    "/trace": "/messages",
    "/message-send": "/messages",
    "/alarms": "/",
}
"""Pages that are not in the navigation, and which one there each belongs to."""
NAVIGATION: Final = (
    ("/", "./", "Cluster"),
    ("/replication", "replication", "Replication"),
    ("/topics", "topics", "Topics"),
    ("/groups", "groups", "Groups"),
    ("/messages", "messages", "Messages"),
    ("/delayed", "delayed", "Delayed"),
    ("/halves", "halves", "Half messages"),
    ("/letters", "letters", "Dead letters"),
    ("/schemas", "schemas", "Schemas"),
    ("/clients", "clients", "Clients"),
    ("/configuration", "configuration", "Configuration"),
)


@attrs.frozen
class PageFrame:
    """What stands around each page: alarms, and links to pages that other distributions bring.

    `pages`: as those of `NAVIGATION`.
    """

    banner: Banner = attrs.field(factory=Banner)
    pages: Sequence[tuple[str, str, str]] = ()


PLAIN: Final = PageFrame()


def page_html(page: Page, path: str, visitor: Visitor = NOBODY, frame: PageFrame = PLAIN) -> str:
    """The HTML of `page` for `visitor`; `path`: where it is, for the mark in the navigation."""
    return _TEMPLATES.get_template("page.html").render(
        page=page,
        navigation=(*NAVIGATION, *frame.pages),
        path=path,
        section=SECTIONS.get(path),
        visitor=visitor,
        banner=frame.banner,
    )


def problem_html(
    title: str,
    problem: str,
    last_heard: float | None,
    status: int,
    visitor: Visitor = NOBODY,
    frame: PageFrame = PLAIN,
    *,
    live: bool = False,
) -> str:
    """The HTML of a page for `visitor` about what failed.

    `last_heard`: when the cluster answered last, s since 1970, or `None`; `status`: the HTTP status code;
    `live`: it is loaded again while somebody looks at it.
    """
    heard = "" if last_heard is None else time_text(last_heard * 1000)
    return _TEMPLATES.get_template("problem.html").render(
        page=Page(title, (), live=live),
        problem=problem,
        heard=heard,
        status=status,
        navigation=(*NAVIGATION, *frame.pages),
        path="",
        section=None,
        visitor=visitor,
        banner=frame.banner,
    )
