"""`mqframe group`: consumer groups, their members and their progress."""

from __future__ import annotations

from typing import Annotated

import typer

from mqframe.cli.commands import new_app
from mqframe.cli.output import Json, NameServer, show, show_one

app = new_app(help="Consumer groups, their members and their progress.")
Group = Annotated[str, typer.Argument(help="Name of the consumer group.")]


@app.command("list")
def list_groups(nameserver: NameServer = "", json: Json = False) -> None:
    """List consumer groups with their settings."""
    from mqframe import Admin

    with Admin(nameserver=nameserver) as admin:
        configs = admin.group_configs()
    rows = [
        {
            "group": name,
            "enabled": config.consume_enable,
            "broadcast": config.consume_broadcast_enable,
            "retries_max": config.retry_max_times,
        }
        for name, config in configs.items()
    ]
    show(rows, as_json=json, empty="there is no group yet")


@app.command()
def create(
    group: Group,
    enabled: Annotated[bool, typer.Option(help="Whether the group may consume.")] = True,
    broadcast: Annotated[bool, typer.Option(help="Whether it may consume by broadcast.")] = True,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Create a consumer group, or change it."""
    from mqframe import Admin
    from mqframe.core.bodies import SubscriptionGroupConfig

    config = SubscriptionGroupConfig(group, consume_enable=enabled, consume_broadcast_enable=broadcast)
    with Admin(nameserver=nameserver) as admin:
        admin.create_group(config)
    show_one({"group": group, "enabled": enabled, "broadcast": broadcast}, as_json=json)


@app.command()
def delete(
    group: Group,
    offsets: Annotated[bool, typer.Option("--offsets", help="Forget its progress too.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Delete a consumer group."""
    from mqframe import Admin

    with Admin(nameserver=nameserver) as admin:
        admin.delete_group(group, clean_offsets=offsets)
    show_one({"group": group, "deleted": True}, as_json=json)


@app.command("show")
def show_group(group: Group, nameserver: NameServer = "", json: Json = False) -> None:
    """Show the members of a consumer group, what they subscribe, and how far the group is behind."""
    from mqframe import Admin

    with Admin(nameserver=nameserver) as admin:
        connections = admin.consumer_connections(group)
        lag = admin.lag(group)
    members = [
        {"client": each.client_id, "address": each.client_addr, "language": each.language or ""}
        for each in connections.connection_set
    ]
    subscriptions = {
        topic: data.sub_string or "*" for topic, data in sorted(connections.subscription_table.items())
    }
    head = {
        "group": group,
        "model": connections.message_model or "",
        "subscriptions": subscriptions,
        "lag": lag,
    }
    if json:
        show_one({**head, "members": members}, as_json=True)
    else:
        show_one(head, as_json=False)
        show(members, as_json=False, empty="nobody is online")
