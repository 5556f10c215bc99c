"""What stands in the files of a broker that does not run: checked, shown, built again, taken out."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl


@hookimpl
def register_commands() -> Factories:
    """The command `mqframe store`."""
    return {"store": "mqframe_store_tools.commands.command:app"}
