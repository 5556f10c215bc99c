"""The commands that this distribution brings, registered through the hook for commands of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqframe.hooks.specs import Factories, hookimpl


class BuiltIn(NamedTuple):
    """A command.

    `place`: a function, or a Typer application of several, below `mqframe_cli`; `help`: the first sentence
    of what it says of itself, which lists show without importing it.
    """

    place: str
    help: str


COMMANDS: Final[Mapping[str, BuiltIn]] = {
    "server": BuiltIn("server:server", "Run a name server and brokers."),
    "nameserver": BuiltIn("server:nameserver", "Run a name server."),
    "broker": BuiltIn("broker.command:app", "Run a broker that registers with the given name servers."),
    "quickstart": BuiltIn(
        "quickstart.command:quickstart",
        "Run the whole system on this machine, on real data, and check what comes out.",
    ),
    "plugins": BuiltIn("plugins:plugins", "List installed plugins: name, distribution, version and options."),
    "topic": BuiltIn("topic:app", "Make, look at and delete topics."),
    "group": BuiltIn("group:app", "Consumer groups, their members and their progress."),
    "message": BuiltIn("message:app", "Send messages and look at stored ones."),
    "request": BuiltIn("request:request", "Send a message and show what is replied to it."),
    "offset": BuiltIn("offset:app", "How far consumer groups have come."),
    "dlq": BuiltIn("dlq:app", "Dead letters: messages that a consumer group gave up."),
    "user": BuiltIn("user:app", "Users of servers that check who asks, and what they may do."),
    "cluster": BuiltIn(
        "cluster:cluster",
        "List brokers with their versions, rates (messages a second) and disks, or show the counters or the"
        " settings of one.",
    ),
    "consume": BuiltIn(
        "consume:consume", "Consume a topic as a member of a group, one line for each message, until Ctrl-C."
    ),
    "worker": BuiltIn(
        "worker.command:worker", "Run a consumer in processes of its own, until SIGTERM or Ctrl-C."
    ),
    "top": BuiltIn(
        "live.top:top",
        "Show rates of brokers, topics and groups (messages a second), until Ctrl-C; in a pipe once.",
    ),
    "bench": BuiltIn("bench:app", "How fast the Python clients are against a server."),
    "config": BuiltIn("config:app", "Look at settings, and change those of brokers that run."),
    "context": BuiltIn("context:app", "Clusters by name: add, use, list, show and remove them."),
    "mqadmin": BuiltIn(
        "mqadmin.app:app", "Commands by the names and options of RocketMQ's mqadmin; they do not ask."
    ),
}
"""In the order of lists."""


@hookimpl
def register_commands() -> Factories:
    """All of them; each is imported when it is run."""
    return {name: f"mqframe_cli.{command.place}" for name, command in COMMANDS.items()}
