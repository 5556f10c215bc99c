"""The commands of `mqframe idempotence`."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from mqframe_cli.extension import new_app

from mqframe.core.errors import FixError
from mqframe_idempotence.drivers import POSTGRESQL
from mqframe_idempotence.sql import SqlStore
from mqframe_idempotence.statements import TABLE, ddl
from mqframe_idempotence.stores import KEEP_SECONDS

app = new_app(help="The table of message keys of idempotent listeners: how to make it, and how to clean it.")
Table = Annotated[str, typer.Option(help="Name of the table, a schema in front or not.")]
_DAY_SECONDS = 86400.0


@app.command("ddl")
def print_ddl(
    table: Table = TABLE,
    dialect: Annotated[
        str, typer.Option(help="The database: postgresql, sqlite, or mysql, which is MariaDB's, too.")
    ] = POSTGRESQL,
) -> None:
    """Print the statements that make the table, for a migration."""
    for statement in ddl(table, dialect):
        typer.echo(f"{statement};")


@app.command()
def purge(
    connect: Annotated[
        str, typer.Argument(help="module:function that returns a DB-API connection, without arguments.")
    ],
    table: Table = TABLE,
    days: Annotated[
        float, typer.Option(help="Delete keys older than this; keep them while messages may come again.")
    ] = KEEP_SECONDS / _DAY_SECONDS,
) -> None:
    """Delete old keys."""
    if not days > 0:
        raise FixError(f"--days {days} is to be more than 0")
    count = SqlStore(_found(connect), table=table).purge(days * _DAY_SECONDS)
    typer.echo(f"{count} keys deleted")


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    if not module or not name:
        raise FixError(f"{place!r} is not written as module:function")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise FixError(f"{place} cannot be imported: {problem}") from problem
    if not callable(found):
        raise FixError(f"{place} is a {type(found).__qualname__}, not a function that returns a connection")
    return found
