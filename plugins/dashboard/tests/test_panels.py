"""What other distributions show in the dashboard."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mqframe_dashboard.asking import Asking
from mqframe_dashboard.panels import ROWS_MAX, Panels, panel_parts
from mqframe_dashboard.view import Facts, Note, TableView

from mqframe.core.errors import ConnectError

ADMIN: Any = object()


async def limits(admin: Any, query: Any) -> list[tuple[str, Any]]:
    assert admin is ADMIN
    return [
        ("About", "how much each may send"),
        ("", "no title"),
        ("Totals", {"clients": 2}),
        ("Limits", [{"client": "a", "limit": 5}, {"client": "b", "used": 1}]),
        (f"of {query['name']}", [{"n": number} for number in range(ROWS_MAX + 1)]),
    ]


async def away(admin: Any, query: Any) -> Any:
    raise ConnectError("the broker is away")


async def broken(admin: Any, query: Any) -> Any:
    raise KeyError("<oops>")


async def wrong(admin: Any, query: Any) -> Any:
    return [("no content", 7)]


async def gone(admin: Any, query: Any) -> Any:
    raise AssertionError("it is not called")


def offer(name: str, show: Any) -> Any:
    """As an entry point."""

    def load() -> Any:
        if show is gone:
            raise ModuleNotFoundError("No module named 'gone'")
        return show

    return SimpleNamespace(name=name, load=load)


async def shown(show: Any) -> Any:
    asking = Asking(ADMIN, ADMIN)
    [panel] = Panels(lambda: [offer("page.quotas", show)]).pages()
    return await panel_parts(asking, panel, {"name": "orders"})


def test_panels_are_found_by_place_and_not_imported(caplog):
    names = ("page.quotas", "topic.quotas", "odd.quotas", "topic")
    found = Panels(lambda: [offer(name, gone) for name in names])
    assert [each.title for each in found.pages()] == ["quotas"]
    assert [each.place for each in found.at("/topic")] == ["topic"]
    assert found.at("/group") == []
    told = [record.getMessage() for record in caplog.records if "no place" in record.getMessage()]
    assert len(told) == 2
    assert "odd.quotas" in "".join(told)


async def test_what_is_shown_becomes_parts_of_a_page():
    parts = await shown(limits)
    assert parts[:3] == [
        Note("About: how much each may send"),
        Note("no title"),
        Facts("Totals", {"clients": 2}),
    ]
    assert parts[3] == TableView(
        "Limits", [{"client": "a", "limit": 5, "used": ""}, {"client": "b", "limit": "", "used": 1}]
    )
    assert parts[4].title == f"of orders (the first {ROWS_MAX:,} of {ROWS_MAX + 1:,})"
    assert len(parts[4].rows) == ROWS_MAX


async def test_what_fails_is_told_in_words():
    assert await shown(away) == [Note("quotas cannot be shown: the broker is away", wrong=True)]
    for show, said in (
        (broken, "KeyError: '<oops>'"),
        (wrong, "TypeError"),
        (gone, "ModuleNotFoundError: No module named 'gone'"),
    ):
        [note] = await shown(show)
        assert note.wrong
        assert "its plugin failed" in note.text
        assert said in note.text
