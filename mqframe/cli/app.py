"""The Typer application behind `mqframe`."""

from __future__ import annotations

from typing import Annotated

import typer

from mqframe.cli.commands import Commands, new_app

app = new_app(cls=Commands, help="A message queue with the wire and the files of Apache RocketMQ.")


def _version(wanted: bool) -> None:
    if wanted:
        from mqframe import __version__

        typer.echo(f"mqframe {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Exit codes: 0 done, 1 failed, 2 wrong usage or setting, 3 may work later."""
