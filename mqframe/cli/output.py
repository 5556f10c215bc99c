"""Results on standard output: a table for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

if TYPE_CHECKING:
    from mqframe.core.messages.message import MessageQueue

Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of a table.")]
NameServer = Annotated[
    str, typer.Option("--nameserver", envvar="NAMESRV_ADDR", help="Name servers, host:port;host:port.")
]
Row = Mapping[str, Any]
Shown = Row | Sequence[Row]
"""What a command shows: one result, or several that all have the keys of the first."""
BODY_SHOWN_MAX: Final = 60
"""Characters of a body in a line of a table."""


def show(rows: Sequence[Row], *, as_json: bool, title: str = "", empty: str = "nothing found") -> None:
    """Write `rows`, all with the keys of the first, as a table or as a JSON array."""
    if as_json:
        write_json(list(rows))
    elif not rows:
        typer.echo(empty)
    else:
        _table(rows, title)


def show_one(row: Row, *, as_json: bool) -> None:
    """Write one result as "key  value" lines or as a JSON object."""
    if as_json:
        write_json(row)
        return
    width = max(map(len, row))
    for key, value in row.items():
        typer.echo(f"{key:<{width}}  {_text(value)}")


def write_json(value: Any) -> None:
    """Write `value` as one line of JSON."""
    typer.echo(msgspec.json.encode(value, enc_hook=str).decode())


def time_text(milliseconds: int) -> str:
    """A time in milliseconds since 1970 for people and programs, UTC; "" for none."""
    if milliseconds <= 0:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def queue_columns(queue: MessageQueue) -> dict[str, Any]:
    """The columns that name a message queue."""
    return {"topic": queue.topic, "broker": queue.broker_name, "queue": queue.queue_id}


def body_text(body: bytes) -> str:
    """A body for people and programs."""
    return body.decode("utf-8", "backslashreplace")


def plain(text: str) -> str:
    """`text` as it may be written to a terminal: what is no letter or sign is written as its escape.

    So no name, key or body that others stored moves the cursor, sets a title or turns the text around.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode()
        for each in text
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(f"{plain(str(key))}={_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return plain(str(value))


def _cut(body: str) -> str:
    return f"{body[:BODY_SHOWN_MAX]}…" if len(body) > BODY_SHOWN_MAX else body


def _table(rows: Sequence[Row], title: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, header_style="bold", title_justify="left", box=box.SIMPLE_HEAD)
    for name in rows[0]:
        numbers = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cut(plain(row[name])) if name == "body" else _text(row[name]) for name in rows[0]))
    # Where there is no terminal there is no width to fit, and folded lines are of no use to other programs.
    width = None if sys.stdout.isatty() else 240
    Console(highlight=False, markup=False, width=width).print(table)
