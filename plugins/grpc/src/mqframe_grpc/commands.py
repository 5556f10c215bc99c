"""`mqframe proxy`: what the command line finds by entry point, and may import before Typer is there."""

from __future__ import annotations

from typing import Final

from mqframe.hooks.specs import Factories, hookimpl

COMMAND_HELP: Final = {
    "proxy": "Serve clients of RocketMQ's gRPC protocol before the brokers that name servers know.",
}
"""What lists say of it without importing it."""


@hookimpl
def register_commands() -> Factories:
    """The command `proxy`."""
    return {"proxy": "mqframe_grpc.command_line:proxy"}
