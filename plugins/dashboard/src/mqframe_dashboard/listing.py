"""Long lists, a page at a time: filtered and sorted here, as the query string of the page says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs

from mqframe_dashboard.query import BadQuery, Query
from mqframe_dashboard.view import Field, Form, Link, Links, Note, Part, Sort, link

T = TypeVar("T")
ROWS: Final = 50
ROWS_MAX: Final = 500
PAGE_MAX: Final = 1_000_000
KEPT: Final = ("find", "sort", "rows")


@attrs.frozen
class Listed(Generic[T]):
    """One page of a list: its `rows`, which is the page `number` of `pages`; `total`: rows on all of them."""

    rows: Sequence[T]
    number: int
    pages: int
    total: int


class Listing:
    """What of a list is to be shown, and in which order, by the query string of a page.

    `at`: the page's name in links; `columns`: what it may be sorted by, the first of them unless `default`
    says otherwise; "-" before a column: from the highest down. `more`: further values of the query string
    that links keep. Raises `BadQuery`.
    """

    def __init__(
        self, at: str, query: Query, columns: Sequence[str], *, default: str = "", more: Sequence[str] = ()
    ) -> None:
        self._at = at
        self.find = query.text("find")
        sort = query.text("sort") or default or columns[0]
        self.column, self.descending = sort.removeprefix("-"), sort.startswith("-")
        if self.column not in columns:
            raise BadQuery(f"sort: {sort!r} is none of {', '.join(columns)}, or one of these behind a -")
        self._columns = columns
        self._number = query.count("page", 1, PAGE_MAX)
        self._rows = query.count("rows", ROWS, ROWS_MAX)
        self._kept = {name: query.text(name) for name in (*KEPT, *more) if query.text(name)}

    def finds(self, name: str) -> bool:
        """Whether a row with `name` is wanted: it has the text somewhere, in small letters or capitals."""
        return self.find.casefold() in name.casefold()

    def listed(
        self, rows: Iterable[T], name: Callable[[T], str], key: Callable[[T], Any] | None = None
    ) -> Listed[T]:
        """The page of `rows` that is wanted, or the last one where there are fewer.

        `name`: what rows are filtered by, and sorted where `key`, the value of the column, is the same or
        `None`: what is not known comes last.
        """
        found = sorted((row for row in rows if self.finds(name(row))), key=name)
        if key is None:
            found = found[::-1] if self.descending else found
        else:
            known = sorted((row for row in found if key(row) is not None), key=key, reverse=self.descending)
            found = known + [row for row in found if key(row) is None]
        pages = max(1, -(-len(found) // self._rows))
        number = min(self._number, pages)
        begin = (number - 1) * self._rows
        return Listed(found[begin : begin + self._rows], number, pages, len(found))

    def sorts(self) -> Mapping[str, Sort]:
        """Links in the head of the table, by column: a click on the one that sorts turns the order round."""
        return {column: self._sort(column) for column in self._columns}

    def form(self, *boxes: Field) -> Form:
        """The filter. `boxes`: further fields; the order stays."""
        kept = [
            Field(name, "", self._kept[name], kind="hidden")
            for name in ("sort", "rows")
            if name in self._kept
        ]
        return Form(self._at, [Field("find", "Name has", self.find), *boxes, *kept], "Filter")

    def around(self, listed: Listed[Any], what: str) -> list[Part]:
        """How much of `what`, such as "topics", is shown, and links to the pages before and behind."""
        if listed.pages == 1:
            said = what.removesuffix("s") if listed.total == 1 else what
            return [Note(f"{listed.total:,} {said}.")] if listed.total else []
        begin = (listed.number - 1) * self._rows + 1
        end = begin + len(listed.rows) - 1
        said = f"{begin:,} to {end:,} of {listed.total:,} {what}, page {listed.number} of {listed.pages}."
        places = {"First": 1, "Previous": listed.number - 1, "Next": listed.number + 1, "Last": listed.pages}
        return [
            Note(said),
            Links(
                [
                    self._page(text, number)
                    for text, number in places.items()
                    if 1 <= number <= listed.pages and number != listed.number
                ]
            ),
        ]

    def _page(self, text: str, number: int) -> Link:
        return link(self._at, text, **(self._kept | {"page": str(number)}))

    def _sort(self, column: str) -> Sort:
        is_chosen = column == self.column
        sort = f"-{column}" if is_chosen and not self.descending else column
        state = ("descending" if self.descending else "ascending") if is_chosen else ""
        return Sort(link(self._at, column, **(self._kept | {"sort": sort})).href, state)
