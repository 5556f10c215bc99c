"""`mqframe mirror`, as the command line finds it, before Typer is imported."""

from __future__ import annotations

from typing import Final

from mqframe.hooks.specs import Factories, hookimpl

COMMAND_HELP: Final = {
    "mirror": "Copy topics of one cluster to another, and the progress of groups along with them.",
}
"""What lists say of it without importing it."""


@hookimpl
def register_commands() -> Factories:
    """The command `mirror`."""
    return {"mirror": "mqframe_mirror.command_line:app"}
