"""Pages that other distributions bring."""

from __future__ import annotations

from collections.abc import Mapping

from mqframe.core.config.suggestions import did_you_mean
from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.panels import Panels, panel_parts
from mqframe_dashboard.view import Page


async def panel_page(asking: Asking, panels: Panels, query: Mapping[str, str]) -> Page:
    """The page that the query string names. Raises `NotFound` for one that no distribution brings."""
    name = query.get("name", "")
    found = next((each for each in panels.pages() if each.title == name), None)
    if found is None:
        near = did_you_mean(name, [each.title for each in panels.pages()])
        raise NotFound(f"no installed plugin brings a page {name}; {near}".rstrip("; "))
    parts = await panel_parts(asking, found, query)
    return Page(title_of(name), parts, live=True)


def title_of(name: str) -> str:
    """What the navigation calls the page `name`."""
    return name.replace("_", " ").capitalize()
