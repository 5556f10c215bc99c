"""`mqframe group`: consumer groups, their members and their progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_admin.rules.retry_waits import listed_waits
from msgspec import to_builtins

from mqframe.core.delay.levels import parse_levels
from mqframe.core.messages.names import is_system_group
from mqframe.core.printable import printable_lines
from mqframe.core.retry.policy import RETRIES_MAX
from mqframe.core.versions import version_text
from mqframe_cli.access import admin_client, admin_command
from mqframe_cli.commands import FAILED, new_app
from mqframe_cli.live.watch import Interval
from mqframe_cli.names.deletion import Yes, may_delete
from mqframe_cli.names.known import check_known
from mqframe_cli.output import Json, NameServer, Shown, queue_columns, show, show_one, time_text, write_json

if TYPE_CHECKING:
    from mqframe_admin.bodies import ConnectionBody

    from mqframe import Admin, MessageQueue
    from mqframe.core.consuming.running_info import ConsumerRunningInfo, ProcessQueueInfo

app = new_app(help="Consumer groups, their members and their progress.")
Group = Annotated[str, typer.Argument(help="Name of the consumer group.")]


@admin_command(app, "list", empty="there is no group yet")
def list_groups(
    admin: Admin, all_: Annotated[bool, typer.Option("--all", help="Groups of the system too.")] = False
) -> Shown:
    """List consumer groups with their settings."""
    return [
        {
            "group": name,
            "enabled": config.consume_enable,
            "broadcast": config.consume_broadcast_enable,
            "retries_max": config.retry_max_times,
        }
        for name, config in admin.groups.configs().items()
        if all_ or not is_system_group(name)
    ]


@admin_command(app, known=())
def create(
    admin: Admin,
    group: Group,
    enabled: Annotated[bool, typer.Option(help="Whether the group may consume.")] = True,
    broadcast: Annotated[bool, typer.Option(help="Whether it may consume by broadcast.")] = True,
    retries_max: Annotated[
        int,
        typer.Option(
            min=0,
            help="How often a failed message comes back before it is a dead letter. A consumer's own "
            "max_reconsume_times wins; Java's consumers always name one, and those in order go by it alone.",
        ),
    ] = RETRIES_MAX,
    retry_waits: Annotated[
        str, typer.Option(help='Waits before each return, as "10s 30s 5m"; the last one is kept.')
    ] = "",
    ordered: Annotated[
        bool, typer.Option(help="Whether it consumes in order; the first wait counts for every try then.")
    ] = False,
) -> Shown:
    """Create a consumer group, or change it."""
    from mqframe.core.consuming.group_config import SubscriptionGroupConfig

    config = SubscriptionGroupConfig(
        group,
        consume_enable=enabled,
        consume_broadcast_enable=broadcast,
        consume_message_orderly=ordered,
        retry_max_times=retries_max,
        group_retry_policy=listed_waits(parse_levels(retry_waits)),
    )
    admin.groups.create(config)
    return {"group": group, "enabled": enabled, "broadcast": broadcast, "retries_max": retries_max}


@admin_command(app)
def delete(
    admin: Admin,
    group: Group,
    offsets: Annotated[bool, typer.Option("--offsets", help="Forget its progress too.")] = False,
    yes: Yes = False,
) -> Shown:
    """Delete a consumer group, after asking."""
    members = len(admin.members.consumers(group).connection_set)
    progress = "its progress goes" if offsets else "its progress stays"
    contents = f"{members} members online, {admin.groups.lag(group):,} messages to consume; {progress}"
    may_delete(f"group {group}", contents, yes=yes)
    admin.groups.delete(group, clean_offsets=offsets)
    return {"group": group, "deleted": True}


@admin_command(app, empty="nothing was set: topics are pulled")
def mode(
    admin: Admin,
    group: Group,
    topic: Annotated[str | None, typer.Argument(help="Name of the topic.")] = None,
    value: Annotated[str | None, typer.Argument(metavar="[pull|pop]", help="How to read it.")] = None,
    share: Annotated[int, typer.Option(help="With how many further members to share; 0: all.")] = 0,
) -> Shown:
    """Show whether a group pulls or pops its topics, or set it for one."""
    if topic and value:
        admin.groups.set_request_mode(group, topic, value.upper(), share=share)
    return [
        {"topic": each.topic, "group": group, "mode": each.mode, "share": each.pop_share_queue_num}
        for each in [each for each in admin.groups.request_modes(group) if topic in (None, each.topic)]
    ]


@app.command("show")
def show_group(group: Group, nameserver: NameServer = "", json: Json = False) -> None:
    """Show the members of a consumer group, what they subscribe, and how far the group is behind."""
    with admin_client(nameserver) as admin:
        check_known(admin, group=group)
        connections = admin.members.consumers(group)
        lag = admin.groups.lag(group)
    members = [
        {
            "client": each.client_id,
            "address": each.client_addr,
            "language": each.language or "",
            "version": version_text(each.version),
        }
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


@app.command()
def lag(
    group: Annotated[str | None, typer.Argument(help="Only this group, queue by queue.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    interval: Interval = 2.0,
    all_: Annotated[bool, typer.Option("--all", help="Groups of the system too.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Show how far all groups are behind, or of one the lag and the owner of each queue.

    The owner is ? where a member that does not answer may have the queue.
    """
    from mqframe_cli.live.lag import all_lags, queue_lags
    from mqframe_cli.live.watch import watch as watch_view

    with admin_client(nameserver) as admin:
        check_known(admin, group=group)

        def look() -> list[dict[str, Any]]:
            return all_lags(admin, every=all_) if group is None else queue_lags(admin, group)

        if watch:
            watch_view(lambda: {group or "groups": look()}, interval=interval, as_json=json)
        else:
            show(look(), as_json=json, empty="the group has no offsets" if group else "there is no group yet")


@app.command()
def running(
    group: Group,
    client: Annotated[str | None, typer.Argument(help="Only this member.")] = None,
    stacks: Annotated[bool, typer.Option("--stacks", help="What its threads do, too.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Show what members hold of each queue, what they count, and how they are set."""
    with admin_client(nameserver) as admin:
        check_known(admin, group=group)
        clients = [client] if client else [each.client_id for each in _members(admin, group)]
        found = {each: admin.members.running_info(group, each, stacks=stacks) for each in clients}
    if json:
        write_json([_running_row(name, info) for name, info in found.items()])
        return
    for name, info in found.items():
        show([queue_row(queue, each) for queue, each in info.queues.items()], as_json=False, title=name)
        show_one(info.properties, as_json=False)
        if info.jstack:
            typer.echo(printable_lines(info.jstack))
    if not found:
        typer.echo("nobody is online")


@admin_command(app, empty="nobody is online who counts anything: clients of gRPC do not")
def stats(admin: Admin, group: Group) -> Shown:
    """Show how fast members pull and consume: times in ms, messages a second over the last minute."""
    rows: list[dict[str, object]] = []
    for each in _members(admin, group):
        info = admin.members.running_info(group, each.client_id)
        rows += [
            {
                "client": each.client_id,
                "topic": topic,
                "pull_ms": status.pull_rt,
                "pulled_per_s": status.pull_tps,
                "consume_ms": status.consume_rt,
                "ok_per_s": status.consume_ok_tps,
                "failed_per_s": status.consume_failed_tps,
                "failed_last_hour": status.consume_failed_msgs,
            }
            for topic, status in sorted(info.status_table.items())
        ]
    return rows


@admin_command(app, empty="members remember no offsets of the topic")
def offsets(
    admin: Admin, group: Group, topic: Annotated[str, typer.Argument(help="Name of the topic.")]
) -> Shown:
    """Show the offsets that members have in memory, which brokers may not know yet."""
    return [
        {"client": client, "broker": queue.broker_name, "queue": queue.queue_id, "offset": offset}
        for client, table in admin.members.remembered_offsets(group, topic).items()
        for queue, offset in table.items()
    ]


@app.command()
def plan(
    group: Group,
    allocate: Annotated[
        str, typer.Option(help='Allocation strategy: a name, or "module:attribute".')
    ] = "averagely",
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the strategy, key=value; may be given often.")
    ] = None,
    add: Annotated[list[str] | None, typer.Option(help="Client id of a member that comes.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Client id of a member that goes.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Show the queues that stay as well.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Show which queues would move if all members had another allocation strategy. Nothing moves.

    Ends with 1 when members would not agree: a queue would have several owners, or none.
    """
    from mqframe_cli.group_plan import options_of, show_plan

    with admin_client(nameserver) as admin:
        check_known(admin, group=group)
        found = admin.allocation.plan(
            group, allocate, options_of(option or ()), add=add or (), remove=remove or ()
        )
    show_plan(found, as_json=json, every=every)
    if found.conflicts:
        raise typer.Exit(FAILED)


def _members(admin: Admin, group: str) -> list[ConnectionBody]:
    return admin.members.consumers(group).connection_set


def _running_row(client: str, info: ConsumerRunningInfo) -> dict[str, object]:
    return {
        "client": client,
        "queues": [queue_row(queue, each) for queue, each in info.queues.items()],
        "topics": {topic: to_builtins(status) for topic, status in info.status_table.items()},
        "subscriptions": {each.topic: each.sub_string or "*" for each in info.subscription_set},
        "properties": info.properties,
        "stacks": info.jstack,
    }


def queue_row(queue: MessageQueue, info: ProcessQueueInfo) -> dict[str, object]:
    """What a member holds of one queue."""
    return {
        **queue_columns(queue),
        "held": info.cached_msg_count,
        "held_mib": info.cached_msg_size_in_mib,
        "committed": info.commit_offset,
        "locked": info.locked,
        "last_pull": time_text(info.last_pull_timestamp),
        "last_consumed": time_text(info.last_consume_timestamp),
    }
