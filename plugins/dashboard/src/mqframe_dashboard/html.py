"""HTML of pages: every value is escaped, and control characters are made visible."""

from __future__ import annotations

import time
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from mqframe.core.printable import printable_lines
from mqframe_dashboard.form_parts import NOBODY, Visitor
from mqframe_dashboard.view import Curve, Link, Page, time_text


def visible(value: Any) -> Any:
    """Texts with what cannot be seen as escapes; other values as they are."""
    if type(value) is not str:
        return value
    return printable_lines(value.replace("\r\n", "\n"))  # to browsers both are the same


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
_TEMPLATES.tests["long"] = lambda value: len(value.text if isinstance(value, Link) else str(value)) > LINE_MAX
_TEMPLATES.globals["loaded"] = lambda: time_text(time.time() * 1000)
LINE_MAX: Final = 40
"""Longest text of a cell that is not broken, characters."""
SECTIONS: Final = {
    "/broker": "/",
    "/topic": "/topics",
    "/group": "/groups",
    "/message": "/messages",
    "/letter": "/letters",
}
"""Pages that are not in the navigation, and which one there each belongs to."""
NAVIGATION: Final = (
    ("/", "./", "Cluster"),
    ("/topics", "topics", "Topics"),
    ("/groups", "groups", "Groups"),
    ("/messages", "messages", "Messages"),
    ("/delayed", "delayed", "Delayed"),
    ("/halves", "halves", "Half messages"),
    ("/letters", "letters", "Dead letters"),
    ("/clients", "clients", "Clients"),
    ("/configuration", "configuration", "Configuration"),
)


def page_html(page: Page, path: str, visitor: Visitor = NOBODY) -> str:
    """The HTML of `page` for `visitor`; `path`: where it is, for the mark in the navigation."""
    return _TEMPLATES.get_template("page.html").render(
        page=page, navigation=NAVIGATION, path=path, section=SECTIONS.get(path), visitor=visitor
    )


def problem_html(
    title: str,
    problem: str,
    last_heard: float | None,
    status: int,
    visitor: Visitor = NOBODY,
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
        navigation=NAVIGATION,
        path="",
        section=None,
        visitor=visitor,
    )
