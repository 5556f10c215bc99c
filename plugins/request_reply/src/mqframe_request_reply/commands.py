"""`mqframe request`: what the command line finds by entry point, and may import before Typer is there."""

from __future__ import annotations

from typing import Final

from mqframe.hooks.specs import Factories, hookimpl

COMMAND_HELP: Final = {"request": "Send a message and show what is replied to it."}
"""What lists say of it without importing it."""


@hookimpl
def register_commands() -> Factories:
    """The command `request`."""
    return {"request": "mqframe_request_reply.command_line:request"}
