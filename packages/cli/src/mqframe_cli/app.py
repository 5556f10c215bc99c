"""The Typer application behind `mqframe`."""

from __future__ import annotations

from typing import Annotated

import typer

from mqframe_cli.commands import Commands, new_app
from mqframe_cli.contexts.chosen import name_context

app = new_app(
    cls=Commands, completion=True, help="A message queue with the wire and the files of Apache RocketMQ."
)


def _version(wanted: bool) -> None:
    if wanted:
        from mqframe import __version__

        typer.echo(f"mqframe {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    ctx: typer.Context,
    context: Annotated[
        str, typer.Option(metavar="NAME", help="The cluster of this context (mqframe context list).")
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Exit codes: 0 done, 1 failed, 2 wrong usage or setting, 3 may work later."""
    name_context(ctx, context)
