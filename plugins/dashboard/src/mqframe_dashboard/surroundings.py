"""What stands around the page that a request asks for."""

from __future__ import annotations

from starlette.requests import Request

from mqframe_dashboard.alarms.watch import AlarmWatch
from mqframe_dashboard.html import PageFrame
from mqframe_dashboard.pages.panel import title_of
from mqframe_dashboard.panels import Panels
from mqframe_dashboard.view import link


def frame_of(request: Request) -> PageFrame:
    """The alarms now, and the pages of other distributions, as the application of `request` knows them."""
    watch: AlarmWatch = request.app.state.watch
    panels: Panels = request.app.state.panels
    pages = [
        (f"/panel {each.title}", link("panel", "", name=each.title).href, title_of(each.title))
        for each in panels.pages()
    ]
    return PageFrame(watch.banner(), pages)
