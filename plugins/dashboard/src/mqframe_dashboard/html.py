"""HTML of pages: every value is escaped, and control characters are made visible."""

from __future__ import annotations

import re
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from mqframe_dashboard.view import Curve, Link, Page, time_text

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters, and what turns the direction of writing; tabs and line ends stay."""


def visible(value: Any) -> Any:
    r"""Texts with what cannot be seen as \u escapes; other values as they are."""
    if type(value) is not str:
        return value
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)


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
NAVIGATION: Final = (
    ("/", "./", "Cluster"),
    ("/topics", "topics", "Topics"),
    ("/groups", "groups", "Groups"),
    ("/messages", "messages", "Messages"),
    ("/letters", "letters", "Dead letters"),
    ("/clients", "clients", "Clients"),
    ("/configuration", "configuration", "Configuration"),
)


def page_html(page: Page, path: str) -> str:
    """The HTML of `page`; `path`: where it is, for the mark in the navigation."""
    return _TEMPLATES.get_template("page.html").render(page=page, navigation=NAVIGATION, path=path)


def problem_html(title: str, problem: str, last_heard: float | None, status: int) -> str:
    """The HTML of a page about what failed.

    `last_heard`: when the cluster answered last, s since 1970, or `None`; `status`: the HTTP status code.
    """
    heard = "" if last_heard is None else time_text(last_heard * 1000)
    return _TEMPLATES.get_template("problem.html").render(
        page=Page(title, (), live=status == 503),
        problem=problem,
        heard=heard,
        status=status,
        navigation=NAVIGATION,
        path="",
    )
