"""`mqframe plugins`: what can be chosen by name."""

from __future__ import annotations

from typing import Annotated

import typer

from mqframe_cli.output import Json, show
from mqframe_cli.settings.run_plugins import plugin_manager


def plugins(
    kind: Annotated[str, typer.Option("--kind", help="Only this kind, for example allocation.")] = "",
    options: Annotated[bool, typer.Option(help="Import each plugin and list its options.")] = True,
    json: Json = False,
) -> None:
    """List installed plugins: name, distribution, version and options."""
    from mqframe.hooks.kinds import kind_of

    if kind:
        kind_of(kind)
    rows = [
        {
            "kind": info.kind,
            "name": info.name,
            "distribution": info.distribution,
            "version": info.version,
            "options": [_option(option, json) for option in info.options or ()],
            "problem": info.problem,
        }
        for info in plugin_manager().installed(options=options)
        if kind in ("", info.kind)
    ]
    if not json and not any(row["problem"] for row in rows):
        for row in rows:
            del row["problem"]
    show(rows, as_json=json, empty='no plugin is installed; pip install "mqframe[standard]" brings some')


def _option(option: object, as_json: bool) -> object:
    from mqframe.hooks.options import OptionInfo

    assert isinstance(option, OptionInfo)
    if as_json:
        return {"name": option.name, "type": option.type, "default": option.default, "doc": option.doc}
    return f"{option.name}: {option.type}" + (f" = {option.default}" if option.default else "")
