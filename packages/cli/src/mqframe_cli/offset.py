"""`mqframe offset`: how far groups have come, and how to send them elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from mqframe.core.errors import SettingError
from mqframe_cli.access import admin_command
from mqframe_cli.commands import new_app
from mqframe_cli.later import moment
from mqframe_cli.names.known import check_known
from mqframe_cli.output import Shown, queue_columns, time_text

if TYPE_CHECKING:
    from mqframe import Admin, MessageQueue

app = new_app(help="How far consumer groups have come.")
Group = Annotated[str, typer.Argument(help="Name of the consumer group.")]


@admin_command(app, "show", empty="the group has no offsets there")
def show_offsets(
    admin: Admin, group: Group, topic: Annotated[str | None, typer.Option(help="Only this topic.")] = None
) -> Shown:
    """Show how far a group is in each queue."""
    return [
        {
            **queue_columns(queue),
            "consumed": each.consumer_offset,
            "end": each.broker_offset,
            "lag": max(0, each.broker_offset - each.consumer_offset),
            "last": time_text(each.last_timestamp),
        }
        for queue, each in admin.groups.stats(group, topic).items()
    ]


Topic = Annotated[str, typer.Argument(help="Name of the topic.")]


@admin_command(app)
def reset(
    admin: Admin,
    group: Group,
    topic: Topic,
    to: Annotated[
        str,
        typer.Option(help="start, end, a time as 2026-01-31T12:00, or milliseconds since 1970."),
    ] = "",
    queue: Annotated[int | None, typer.Option(help="Only this queue id; with --offset.")] = None,
    offset: Annotated[int | None, typer.Option(help="The offset to go to; with --queue.")] = None,
    broker: Annotated[
        str | None, typer.Option(help="The broker of --queue, where there are several.")
    ] = None,
    back_only: Annotated[bool, typer.Option("--back-only", help="Move no queue forward.")] = False,
) -> Shown:
    """Set the offsets of a group by time, or of one queue to one offset. Running members go on there."""
    if to and queue is None and offset is None:
        offsets = admin.offsets.reset(group, topic, moment(to), force=not back_only)
    elif not to and queue is not None and offset is not None:
        place = _queue(admin, topic, broker, queue)
        offsets = {place: admin.offsets.reset_queue(group, place, offset)}
    else:
        raise SettingError("say where to: either --to, or --queue and --offset")
    return offset_rows(offsets)


@admin_command(app)
def skip(admin: Admin, group: Group, topic: Topic) -> Shown:
    """Skip what has piled up: go on at the end of each queue."""
    return offset_rows(admin.offsets.skip(group, topic))


@admin_command(app)
def clone(
    admin: Admin,
    source: Annotated[str, typer.Argument(help="The group that has the offsets.")],
    target: Annotated[str, typer.Argument(help="The group that gets them.")],
    topic: Annotated[str | None, typer.Option(help="Only this topic.")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Also topics that the source's members do not want any more.")
    ] = False,
) -> Shown:
    """Give a group the offsets of another."""
    check_known(admin, group=source)
    admin.offsets.clone(source, target, topic, offline=offline)
    offsets = {queue: each.consumer_offset for queue, each in admin.groups.stats(target, topic).items()}
    return offset_rows(offsets)


@admin_command(app)
def times(admin: Admin, group: Group, topic: Topic) -> Shown:
    """Show when the oldest, the newest and the last consumed message of each queue were stored."""
    return [
        {
            **queue_columns(each.message_queue.queue),
            "oldest": time_text(each.min_time_stamp),
            "newest": time_text(each.max_time_stamp),
            "consumed": time_text(each.consume_time_stamp),
            "delay_ms": each.delay_time,
        }
        for each in admin.offsets.time_spans(group, topic)
    ]


def _queue(admin: Admin, topic: str, broker: str | None, queue_id: int) -> MessageQueue:
    from mqframe import MessageQueue

    names = sorted(each.broker_name for each in admin.topics.route(topic).queue_datas)
    if broker is None and len(names) > 1:
        raise SettingError(f"topic {topic} is on {', '.join(names)}: say which with --broker")
    return MessageQueue(topic, broker or names[0], queue_id)


def offset_rows(offsets: Mapping[MessageQueue, int]) -> Shown:
    """A row for each queue."""
    return [{**queue_columns(queue), "offset": offset} for queue, offset in offsets.items()]
