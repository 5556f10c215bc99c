"""Questions to the person at the terminal, before something that cannot be taken back."""

from __future__ import annotations

import sys

import typer

from mqframe.cli.commands import FAILED
from mqframe.core.errors import SettingError
from mqframe.core.printable import printable


def ask_first(said: str, question: str, undone: str) -> None:
    """Return when the person at the terminal, who is told `said`, answers `question` with yes.

    Raises `SettingError` where nobody can be asked, and ends the command when the answer is no; `undone`:
    what is said then.
    """
    said = printable(said)
    if not sys.stdin.isatty():
        raise SettingError(f"{said}\n{undone}, as there is no terminal to ask at; add --yes")
    typer.echo(said, err=True)
    if not typer.confirm(printable(question), err=True):
        typer.echo(f"mqframe: {undone}", err=True)
        raise typer.Exit(FAILED)
