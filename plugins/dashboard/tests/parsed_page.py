"""What a page of the dashboard says, taken out of its HTML."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "input", "br", "hr", "img"})


class ParsedPage(HTMLParser):
    """The parts of `html`: `tables` by title, each a list of rows, by column; `links`, by text.

    `alarms`: their texts, in order; `title`: of the page; `text`: everything that stands in it, in order.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[dict[str, str]]] = {}
        self.sorts: dict[str, str] = {}
        """Which way columns are sorted, by name."""
        self.links: dict[str, str] = {}
        self.alarms: list[str] = []
        self.title = ""
        self.text = ""
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self._heading = ""
        self._names: list[str] = []
        self._row: list[str] = []
        self._said = ""
        self._href = ""
        self.feed(html)
        assert not self._open, f"these are not closed: {[name for name, _ in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        values = dict(attrs)
        if tag not in ("rect", "polyline"):
            self._open.append((tag, values))
        if tag in ("h1", "h2", "th", "td", "li"):
            self._said = ""
        if tag == "a":
            self._href, self._link = values.get("href") or "", ""
        if tag == "table":
            self._names, self._rows = [], []
            self.tables[self._heading] = self._rows
        if tag == "tr":
            self._row = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """`<rect/>`: nothing stands in it."""

    def handle_data(self, data: str) -> None:
        self._said += data
        self.text += data
        if self._open and self._open[-1][0] == "a":
            self._link += data

    def handle_endtag(self, tag: str) -> None:
        opened, values = self._open.pop()
        assert opened == tag, f"{opened} ends as {tag}"
        said = " ".join(self._said.split())
        if tag == "a":
            self.links[self._link] = self._href
        elif tag in ("h1", "h2"):
            self._heading = said
            self.title = said if tag == "h1" else self.title
        elif tag == "li" and any(value.get("class") == "alarms" for _, value in self._open):
            self.alarms.append(said)
        elif tag == "th" and "scope" in values and values["scope"] == "col":
            self._names.append(said)
            if values.get("aria-sort"):
                self.sorts[said] = str(values["aria-sort"])
        elif tag in ("th", "td"):
            self._row.append(said)
        elif tag == "tr" and self._row:
            names = self._names or ["name", "value"]
            self._rows.append(dict(zip(names, self._row, strict=True)))

    def column(self, table: str, name: str) -> list[str]:
        """The values of a column, from the top."""
        return [row[name] for row in self.tables[table]]

    def facts(self, table: str) -> dict[str, str]:
        """The values of a table of facts."""
        return {row["name"]: row["value"] for row in self.tables[table]}
