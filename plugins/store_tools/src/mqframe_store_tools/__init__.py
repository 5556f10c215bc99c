"""What stands in the files of a broker that does not run: checked, shown, built again, taken out."""

from __future__ import annotations

from typing import Final

from mqframe.hooks.specs import Factories, hookimpl

COMMAND_HELP: Final = {"store": "The files of a broker: what was damaged, and mending them."}
"""What lists say of it without importing it."""


@hookimpl
def register_commands() -> Factories:
    """The command `mqframe store`."""
    return {"store": "mqframe_store_tools.commands.command:app"}
