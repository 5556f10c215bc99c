"""What stands around pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mqframe_dashboard.alarms.watch import Banner
from mqframe_dashboard.panels import Panels
from mqframe_dashboard.surroundings import frame_of


def test_a_page_has_the_alarms_of_now_and_links_to_pages_of_others():
    entries: Any = [SimpleNamespace(name="page.a&b", load=None)]
    banner = Banner(note="well")
    state = SimpleNamespace(watch=SimpleNamespace(banner=lambda: banner), panels=Panels(lambda: entries))
    request: Any = SimpleNamespace(app=SimpleNamespace(state=state))
    frame = frame_of(request)
    assert frame.banner is banner
    assert frame.pages == [("/panel a&b", "panel?name=a%26b", "A&b")]
