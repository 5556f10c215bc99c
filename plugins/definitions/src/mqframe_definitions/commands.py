"""`mqframe apply` and `mqframe definitions`, as the command line finds them, before Typer is imported."""

from __future__ import annotations

from typing import Final

from mqframe.hooks.specs import Factories, hookimpl

COMMAND_HELP: Final = {
    "apply": "Make a cluster as a file says: topics, groups, users, schedules, settings.",
    "definitions": "Write a cluster as a file, and say what may stand in it.",
}
"""What lists say of them without importing them."""


@hookimpl
def register_commands() -> Factories:
    """The commands `apply` and `definitions`."""
    return {
        "apply": "mqframe_definitions.command_line:apply",
        "definitions": "mqframe_definitions.command_line:app",
    }
