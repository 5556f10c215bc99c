"""The commands that this distribution brings, registered through the hook for commands of plugins."""

from __future__ import annotations

from typing import Final

from mqframe.hooks.specs import Factories, hookimpl

COMMANDS: Final = {
    "server": "server:server",
    "nameserver": "server:nameserver",
    "broker": "server:broker",
    "quickstart": "quickstart.command:quickstart",
    "plugins": "plugins:plugins",
    "topic": "topic:app",
    "group": "group:app",
    "message": "message:app",
    "offset": "offset:app",
    "dlq": "dlq:app",
    "user": "user:app",
    "cluster": "cluster:cluster",
    "replica": "live.replica:app",
    "store": "store.command:app",
    "consume": "consume:consume",
    "worker": "worker.command:worker",
    "top": "live.top:top",
    "bench": "bench:app",
    "config": "config:app",
    "context": "context:app",
    "mqadmin": "mqadmin.app:app",
}
"""Where each command is: a function, or a Typer application of several, below `mqframe.cli`."""


@hookimpl
def register_commands() -> Factories:
    """All of them; each is imported when it is run."""
    return {name: f"mqframe.cli.{place}" for name, place in COMMANDS.items()}
