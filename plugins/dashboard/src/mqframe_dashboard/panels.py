"""What other distributions show here, by entry points in the group `mqframe.dashboard`.

The name of an entry point is a place and a name: "page.quotas" is a page of its own, in the navigation;
"cluster.", "broker.", "topic." and "group." stand at the end of that page. It leads to

    async def show(admin: AsyncAdmin, query: Mapping[str, str]) -> Sequence[tuple[str, Content]]

which returns titles with what is below them: a text, values by name, or rows of a table; so it needs to
import nothing of the dashboard. `query` is the page's query string: "name" says which topic, group or broker.
`admin` has the dashboard's own keys; nothing is to be changed with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe import AsyncAdmin
from mqframe.core.errors import MqframeError
from mqframe.hooks.installed import by_name, entry_points
from mqframe.log import get_logger
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.view import Facts, Note, Part, TableView

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "mqframe.dashboard"
PLACES: Final = {"cluster": "/", "broker": "/broker", "topic": "/topic", "group": "/group"}
"""Pages at whose end others may show something, by the name of the place."""
PAGE: Final = "page"
PARTS_MAX: Final = 20
ROWS_MAX: Final = 1000
Content = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
Show = Callable[[AsyncAdmin, Mapping[str, str]], Awaitable[Sequence[tuple[str, Content]]]]
log = get_logger("dashboard")


@attrs.frozen
class Panel:
    """Something that another distribution shows. `place` and `title`: as its entry point says."""

    place: str
    title: str
    load: Callable[[], Show]


class Panels:
    """Those of all installed distributions. `find`: returns entry points, each imported when it shows."""

    def __init__(self, find: Callable[[], Sequence[EntryPoint]] = lambda: entry_points(group=GROUP)) -> None:
        self._find = find

    @cached_property
    def _all(self) -> list[Panel]:
        found = []
        for name, entry in sorted(by_name(self._find()).items()):
            place, _, title = name.partition(".")
            if title and (place == PAGE or place in PLACES):
                found.append(Panel(place, title, entry.load))
            else:
                known = ", ".join([PAGE, *PLACES])
                log.warning("this is no place of the dashboard", entry_point=name, known=known)
        return found

    def pages(self) -> list[Panel]:
        """Those with a page of their own."""
        return [each for each in self._all if each.place == PAGE]

    def at(self, path: str) -> list[Panel]:
        """Those that stand on the page at `path`."""
        return [each for each in self._all if PLACES.get(each.place) == path]


async def panel_parts(asking: Asking, panel: Panel, query: Mapping[str, str]) -> list[Part]:
    """What `panel` shows now; where it fails, a note that says so."""
    try:
        shown = await asking.ask(panel.load(), asking.admin, query)
        parts = [_part(title, content) for title, content in list(shown)[:PARTS_MAX]]
    except MqframeError as problem:
        return [Note(f"{panel.title} cannot be shown: {problem}", wrong=True)]
    except Exception as problem:  # isolation boundary: a plugin's fault leaves the page as it is
        log.exception("a panel failed", panel=f"{panel.place}.{panel.title}")
        said = f"{type(problem).__name__}: {problem}"
        return [Note(f"{panel.title} cannot be shown: its plugin failed ({said})", wrong=True)]
    return parts


def _part(title: str, content: Content) -> Part:
    if isinstance(content, str):
        return Note(f"{title}: {content}" if title else content)
    if isinstance(content, Mapping):
        return Facts(title, dict(content))
    rows = [dict(each) for each in content]
    names = list(dict.fromkeys(name for row in rows for name in row))
    more = f" (the first {ROWS_MAX:,} of {len(rows):,})" if len(rows) > ROWS_MAX else ""
    return TableView(title + more, [{name: row.get(name, "") for name in names} for row in rows[:ROWS_MAX]])
