"""`mqframe offset`: how far groups have come, and how to send them elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqframe.cli.commands import new_app
from mqframe.cli.output import Json, NameServer, show, time_text
from mqframe.core.errors import SettingError

app = new_app(help="How far consumer groups have come.")
Group = Annotated[str, typer.Argument(help="Name of the consumer group.")]


@app.command("show")
def show_offsets(
    group: Group,
    topic: Annotated[str | None, typer.Option(help="Only this topic.")] = None,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Show how far a group is in each queue."""
    from mqframe import Admin

    with Admin(nameserver=nameserver) as admin:
        found = admin.consume_stats(group, topic)
    rows = [
        {
            "topic": queue.topic,
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "consumed": each.consumer_offset,
            "end": each.broker_offset,
            "lag": max(0, each.broker_offset - each.consumer_offset),
            "last": time_text(each.last_timestamp),
        }
        for queue, each in found.items()
    ]
    show(rows, as_json=json, empty="the group has no offsets there")


@app.command()
def reset(
    group: Group,
    topic: Annotated[str, typer.Argument(help="Name of the topic.")],
    to: Annotated[
        str, typer.Option(help="start, end, a time as 2026-01-31T12:00, or milliseconds since 1970.")
    ],
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Set the offsets of a group by time. Members that run go on from there."""
    from mqframe import Admin

    with Admin(nameserver=nameserver) as admin:
        offsets = admin.reset_offsets(group, topic, moment(to))
    rows = [
        {"topic": queue.topic, "broker": queue.broker_name, "queue": queue.queue_id, "offset": offset}
        for queue, offset in offsets.items()
    ]
    show(rows, as_json=json)


def moment(text: str) -> int:
    """What the user wrote, as milliseconds since 1970; -1 is the end. Raises `SettingError`.

    A time without zone is local time.
    """
    if text in ("start", "end"):
        return 0 if text == "start" else -1
    if text.isdigit():
        return int(text)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise SettingError(
            f"{text!r} is no moment; write start, end, 2026-01-31T12:00 or milliseconds since 1970"
        ) from None
