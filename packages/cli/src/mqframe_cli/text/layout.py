"""Tables that fit a terminal: a record takes several lines before a name or an id is broken or cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

GAP: Final = "  "
INDENT: Final = "  "
CUT_MIN: Final = 20
"""Columns that a body gets at least, else it goes to a line of its own."""
CUT_MAX: Final = 60


class Column(NamedTuple):
    """A column: its heading, whether it holds numbers, and whether its cells may be cut."""

    heading: str
    number: bool = False
    cut: bool = False


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """The lines of a table, the heading first. `width`: of the terminal, columns.

    What does not fit beside the others goes to further, indented lines of its record; only cells of columns
    that may be cut are. A single cell that is wider than the terminal is left to the terminal.
    """
    headings = [column.heading for column in columns]
    widths = [max(map(cell_width, cells)) for cells in zip(headings, *rows, strict=True)]
    lines = _filled(columns, widths, width)
    for cells in (headings, *rows):
        for number, line in enumerate(lines):
            parts = [_cell(cells[at], size, columns[at]) for at, size in line]
            yield ((INDENT if number else "") + GAP.join(parts)).rstrip()


def cell_width(text: str) -> int:
    """The columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _filled(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[list[tuple[int, int]]]:
    """Which columns each line of a record holds, and how wide they are."""
    lines: list[list[tuple[int, int]]] = [[]]
    left = width
    for at, (column, wanted) in enumerate(zip(columns, widths, strict=True)):
        size = min(wanted, CUT_MAX) if column.cut else wanted
        room = left - (len(GAP) if lines[-1] else 0)
        if size > room and not (column.cut and room >= CUT_MIN) and lines[-1]:
            lines.append([])
            left = room = width - len(INDENT)
        size = min(size, room) if column.cut else size
        left = room - size
        lines[-1].append((at, size))
    return lines


def _cell(text: str, size: int, column: Column) -> str:
    taken = cell_width(text)
    if taken > size and column.cut:
        from rich.cells import set_cell_size

        return set_cell_size(text, size - 1) + "…"
    blank = " " * (size - taken)
    return blank + text if column.number else text + blank
