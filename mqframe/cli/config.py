"""`mqframe config`: what is set, and by whom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from mqframe.cli.commands import new_app
from mqframe.cli.output import Json, show

_SECRET: Final = re.compile("secret|password|token|credential", re.IGNORECASE)

app = new_app(help="Look at settings.")


@app.callback()
def _group() -> None:
    """Look at settings."""


@app.command("show")
def show_settings(
    program: Annotated[
        str, typer.Option("--for", help="server, nameserver, broker or client: whose settings.")
    ] = "server",
    config: Annotated[Path | None, typer.Option("--config", "-c", help="TOML file, or broker.conf.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="section.key=value")] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not the default.")] = False,
    json: Json = False,
) -> None:
    """Print every setting with its value and where that came from."""
    from mqframe.cli.configuration import PROGRAMS, SERVER_DEFAULT, load
    from mqframe.core.config.configuration import DEFAULT
    from mqframe.core.errors import SettingError

    if program not in PROGRAMS:
        raise SettingError(f"--for {program}: must be one of {', '.join(PROGRAMS)}")
    resolved = load(program, {}, config, set_ or ())
    for warning in resolved.warnings:
        typer.echo(f"mqframe: {warning}", err=True)
    rows = [
        {
            "setting": entry.path,
            "value": _plain(entry.value, json),
            "origin": entry.origin,
            "meaning": entry.doc,
        }
        for entry in resolved.entries
        if not (changed and entry.origin in (DEFAULT, SERVER_DEFAULT))
    ]
    rows += [
        {
            "setting": f"plugins.{name}.{key}",
            # What a plugin keeps secret is known to it alone, and it is not imported for this.
            "value": "(secret)" if _SECRET.search(key) else _plain(value, json),
            "origin": given.origins[key],
            "meaning": "",
        }
        for name, given in resolved.plugins().items()
        for key, value in given.items()
    ]
    show(rows, as_json=json, empty="everything is at its default")


def _plain(value: object, as_json: bool) -> object:
    if isinstance(value, bool) and not as_json:
        return str(value).lower()  # as it is written in a file
    return str(value) if isinstance(value, Path) else value
