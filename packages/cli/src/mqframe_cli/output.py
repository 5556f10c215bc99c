"""Results on standard output: a table for people, tab-separated lines in a pipe, JSON for programs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from mqframe.core.printable import printable
from mqframe_cli.contexts.chosen import name_servers
from mqframe_cli.text.body import TEXT
from mqframe_cli.text.json_text import printable_json
from mqframe_cli.text.layout import Column, table_lines

if TYPE_CHECKING:
    from mqframe.core.messages.message import MessageQueue

Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of a table.")]
NameServer = Annotated[
    str,
    typer.Option(
        "--nameserver",
        envvar="NAMESRV_ADDR",
        callback=name_servers,
        help="Name servers, host:port;host:port; else those of mqframe.toml here, or of the context.",
    ),
]
Row = Mapping[str, Any]
Shown = Row | Sequence[Row]
"""What a command shows: one result, or several that all have the keys of the first."""
ROWS_MAX: Final = 200
"""Rows of a table on a terminal; of more there is a summary."""
SUMMED: Final = ("messages", "lag")
"""Columns whose sums are in the summary."""
WIDTH: Final = 80
"""Columns of a terminal that does not say."""


class ShownTime(str):
    """A time, ISO 8601 in UTC, as JSON and pipes have it; "" for none. People on a terminal see `local`."""

    __slots__ = ()

    @property
    def local(self) -> str:
        """The same moment by the clock of this machine's zone (TZ), with its offset from UTC."""
        return datetime.fromisoformat(self).astimezone().isoformat(" ", "seconds") if self else ""


def show(rows: Sequence[Row], *, as_json: bool, title: str = "", empty: str = "nothing found") -> None:
    """Write `rows`, all with the keys of the first, as a table or as a JSON array.

    In a pipe the table is tab-separated, its first line names the columns. On a terminal more than `ROWS_MAX`
    rows become one line that sums them up.
    """
    if as_json:
        write_json(list(rows))
        return
    if not rows:
        typer.echo(printable(empty))
        return
    if title:
        typer.echo(printable(title))
    if not on_terminal():
        lines = [list(map(str, rows[0])), *([cell_text(row[name]) for name in rows[0]] for row in rows)]
        typer.echo("\n".join("\t".join(line) for line in lines))
    elif len(rows) > ROWS_MAX:
        typer.echo(summary(rows))
    else:
        typer.echo("\n".join(people(rows, terminal_width(), bold=coloured())))


def show_one(row: Row, *, as_json: bool) -> None:
    """Write one result as "key  value" lines, tab-separated in a pipe, or as a JSON object."""
    if as_json:
        write_json(row)
        return
    width = max((len(printable(key)) for key in row), default=0) if on_terminal() else 0
    for key, value in row.items():
        name = printable(key)
        typer.echo(f"{name:<{width}}  {cell_text(value)}" if on_terminal() else f"{name}\t{cell_text(value)}")


def people(rows: Sequence[Row], width: int, *, bold: bool = False) -> list[str]:
    """The lines of a table for a terminal of `width` columns; `bold`: the heading is."""
    names = [name for name in rows[0] if name != "body_encoding" or any(row[name] != TEXT for row in rows)]
    columns = [
        Column(
            name.replace("_", " "),
            number=all(isinstance(row[name], int | float) and row[name] is not True for row in rows),
            cut=name == "body",
        )
        for name in names
    ]
    cells = [[cell_text(row[name], local=True) for name in names] for row in rows]
    lines = list(table_lines(columns, cells, width))
    heading = len(lines) // (len(rows) + 1)
    if bold:
        lines[:heading] = [f"\x1b[1m{line}\x1b[0m" for line in lines[:heading]]
    return lines


def summary(rows: Sequence[Row]) -> str:
    """One line that says how many `rows` there are, and what they come to."""
    sums = [f"{name} {sum(row[name] or 0 for row in rows):,}" for name in SUMMED if name in rows[0]]
    said = ", ".join([f"{len(rows):,} rows", *sums])
    return f"{said}; add --json, or a pipe such as | less, to see them all"


def on_terminal() -> bool:
    """Whether a person sees standard output."""
    return sys.stdout.isatty()


def coloured() -> bool:
    """Whether colours are wanted: on a terminal that has them, unless NO_COLOR is set."""
    return on_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def write_json(value: Any) -> None:
    """Write `value` as one line of JSON."""
    typer.echo(printable_json(msgspec.json.encode(value, enc_hook=str).decode()))


def time_text(milliseconds: int) -> ShownTime:
    """A time in milliseconds since 1970 for people and programs; "" for none."""
    if milliseconds <= 0:
        return ShownTime()
    return ShownTime(datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds"))


def queue_columns(queue: MessageQueue) -> dict[str, Any]:
    """The columns that name a message queue."""
    return {"topic": queue.topic, "broker": queue.broker_name, "queue": queue.queue_id}


def cell_text(value: Any, *, local: bool | None = None) -> str:
    """`value` in one line. `local`: times are of this machine's zone; by default on a terminal only."""
    if isinstance(value, ShownTime):
        return value.local if (on_terminal() if local is None else local) else value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(
            f"{printable(str(key))}={cell_text(item, local=local)}" for key, item in value.items()
        )
    if isinstance(value, list | tuple):
        return ", ".join(cell_text(item, local=local) for item in value)
    return printable(str(value))
