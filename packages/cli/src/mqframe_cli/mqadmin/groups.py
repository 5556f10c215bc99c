"""Groups, their members and their progress by the names of `mqadmin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_admin.requests import DeleteSubscriptionGroup

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import SettingError
from mqframe_cli import group as our_groups
from mqframe_cli import offset as our_offsets
from mqframe_cli.live.lag import all_lags, queue_lags
from mqframe_cli.mqadmin.options import (
    BrokerAddress,
    Cluster,
    Group,
    SomeGroup,
    SomeTopic,
    Topic,
    alias,
    broker_named,
    flag,
    masters_of,
    time_ms,
)
from mqframe_cli.output import Shown

if TYPE_CHECKING:
    from mqframe import Admin

NOBODY = "nobody is online"


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    alias(app, "updateSubGroup", known=())(update_sub_group)
    alias(app, "deleteSubGroup")(delete_sub_group)
    alias(app, "consumerProgress", empty="the group has no offsets")(consumer_progress)
    alias(app, "consumerStatus", empty=NOBODY)(consumer_status)
    alias(app, "consumerConnection", empty=NOBODY)(consumer_connection)
    alias(app, "producerConnection", known=("topic",), empty=NOBODY)(producer_connection)
    alias(app, "resetOffsetByTime")(reset_offset_by_time)
    alias(app, "cloneGroupOffset")(clone_group_offset)


def update_sub_group(
    admin: Admin,
    group: Group,
    broker: BrokerAddress = None,
    cluster: Cluster = None,
    enable: Annotated[str, typer.Option("-s", "--consumeEnable", help="true or false.")] = "true",
    from_min: Annotated[str, typer.Option("-m", "--consumeFromMinEnable", help="true or false.")] = "true",
    broadcast: Annotated[str, typer.Option("-d", "--consumeBroadcastEnable", help="true or false.")] = "true",
    ordered: Annotated[str, typer.Option("-o", "--consumeMessageOrderly", help="true or false.")] = "false",
    retry_queues: Annotated[int, typer.Option("-q", "--retryQueueNums", help="Queues for retries.")] = 1,
    retries_max: Annotated[
        int,
        typer.Option(
            "-r", "--retryMaxTimes", help="How often a failed message comes back; a consumer's number wins."
        ),
    ] = 16,
) -> Shown:
    """Create a consumer group, or change it."""
    if broker is None and cluster is None:
        raise SettingError("say which brokers: -b host:port, or -c CLUSTER")
    config = SubscriptionGroupConfig(
        group,
        consume_enable=flag("-s", enable),
        consume_from_min_enable=flag("-m", from_min),
        consume_broadcast_enable=flag("-d", broadcast),
        consume_message_orderly=flag("-o", ordered),
        retry_queue_nums=retry_queues,
        retry_max_times=retries_max,
    )
    admin.groups.create(config, cluster=cluster, broker=broker_named(admin, broker))
    return {"group": group, "enabled": config.consume_enable, "retries_max": retries_max}


def delete_sub_group(
    admin: Admin,
    group: Group,
    broker: BrokerAddress = None,
    cluster: Cluster = None,
    offsets: Annotated[str, typer.Option("-r", "--removeOffset", help="true or false.")] = "false",
) -> Shown:
    """Delete a consumer group, without asking."""
    request = DeleteSubscriptionGroup(group, flag("-r", offsets))
    for name in masters_of(admin, broker, cluster):
        admin.brokers.call(name, request)
    return {"group": group, "deleted": True}


def consumer_progress(
    admin: Admin,
    group: SomeGroup = None,
    topic: SomeTopic = None,
    clients: Annotated[bool, typer.Option("-s", "--showClientIP", help="Owners are always shown.")] = False,
) -> Shown:
    """Show how far all groups are behind, or one queue by queue."""
    if group is None:
        return all_lags(admin, every=True)
    return [row for row in queue_lags(admin, group) if topic in (None, row["topic"])]


def consumer_status(
    admin: Admin,
    group: Group,
    client: Annotated[str | None, typer.Option("-i", "--clientId", help="Only this member.")] = None,
    stacks: Annotated[bool, typer.Option("-s", "--jstack", help="What its threads do, too.")] = False,
) -> Shown:
    """Show what members hold of each queue."""
    members = [each.client_id for each in admin.members.consumers(group).connection_set]
    rows: list[dict[str, Any]] = []
    for name in members if client is None else [client]:
        info = admin.members.running_info(group, name, stacks=stacks)
        held = [our_groups.queue_row(queue, each) for queue, each in info.queues.items()]
        rows += [{"client": name, **row, **({"stacks": info.jstack} if stacks else {})} for row in held]
    return rows


def consumer_connection(admin: Admin, group: Group, broker: BrokerAddress = None) -> Shown:
    """List the members of a consumer group."""
    return _connections(admin.members.consumers(group).connection_set)


def producer_connection(admin: Admin, group: Group, topic: SomeTopic = None) -> Shown:
    """List the members of a producer group."""
    return _connections(admin.members.producers(group).connection_set)


def reset_offset_by_time(
    admin: Admin,
    group: Group,
    topic: Topic,
    timestamp: Annotated[
        str, typer.Option("-s", "--timestamp", help="now, ms since 1970, or yyyy-MM-dd#HH:mm:ss:SSS.")
    ],
    force: Annotated[str, typer.Option("-f", "--force", help="true or false.")] = "true",
    broker: BrokerAddress = None,
    queue: Annotated[int | None, typer.Option("-q", "--queue", help="Only this queue id; with -o.")] = None,
    offset: Annotated[int | None, typer.Option("-o", "--offset", help="The offset; with -q.")] = None,
) -> Shown:
    """Set the offsets of a group by time, or of one queue (-b, -q, -o)."""
    moment = time_ms("-s", timestamp)
    if queue is not None or offset is not None:
        name = broker_named(admin, broker)
        return our_offsets.reset(admin, group, topic, queue=queue, offset=offset, broker=name)
    return our_offsets.offset_rows(admin.offsets.reset(group, topic, moment, force=flag("-f", force)))


def clone_group_offset(
    admin: Admin,
    source: Annotated[str, typer.Option("-s", "--srcGroup", help="The group that has the offsets.")],
    target: Annotated[str, typer.Option("-d", "--destGroup", help="The group that gets them.")],
    topic: Topic,
    offline: Annotated[
        bool, typer.Option("-o", "--offline", help="Also what members do not want any more.")
    ] = False,
) -> Shown:
    """Give a group the offsets of another."""
    return our_offsets.clone(admin, source, target, topic, offline)


def _connections(members: Any) -> Shown:
    return [
        {"client": each.client_id, "address": each.client_addr, "language": each.language or ""}
        for each in members
    ]
