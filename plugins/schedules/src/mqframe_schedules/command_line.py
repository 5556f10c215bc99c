"""The commands of `mqframe schedule`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_cli.extension import Json, NameServer, access, new_app, show, show_one, time_text

from mqframe.core.errors import FixError
from mqframe_schedules.admin import SchedulesAdmin
from mqframe_schedules.bodies import Schedule, ScheduleState

if TYPE_CHECKING:
    from mqframe import Admin

app = new_app(help="Recurring messages: make, list, pause, resume and remove schedules.")
Name = Annotated[str, typer.Argument(help="Name of the schedule.")]


@app.command()
def create(
    name: Name,
    cron: Annotated[str, typer.Option(help="When: minute hour day month weekday; or six, seconds first.")],
    topic: Annotated[str, typer.Option(help="Where the messages go.")],
    body: Annotated[str, typer.Option(help="Their body.")],
    zone: Annotated[str, typer.Option(help="Time zone of the expression, as Europe/Berlin.")] = "UTC",
    missed: Annotated[
        str, typer.Option(help="What comes of times that the broker missed: skip, one or all.")
    ] = "skip",
    tag: Annotated[str, typer.Option(help="Tag of the messages.")] = "",
    key: Annotated[list[str] | None, typer.Option(help="Key of the messages; may be repeated.")] = None,
    property_: Annotated[
        list[str] | None, typer.Option("--property", help="NAME=VALUE; may be repeated.")
    ] = None,
    queue: Annotated[int, typer.Option(help="Queue; -1: all of the topic in turn.")] = -1,
    base64: Annotated[bool, typer.Option("--base64", help="The body is given in Base64.")] = False,
    broker: Annotated[
        str | None, typer.Option(help="Broker that sends; by default one with the topic.")
    ] = None,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Make a schedule."""
    schedule = Schedule(
        name=name,
        expression=cron,
        topic=topic,
        body=body,
        zone=zone,
        missed=missed,
        is_base64=base64,
        tag=tag,
        keys=key or [],
        properties=dict(map(_pair, property_ or [])),
        queue_id=queue,
    )
    with _admin(nameserver) as admin:
        state = SchedulesAdmin(admin).create(schedule, broker=broker)
    show_one(_row(state, json), as_json=json)


@app.command("list")
def list_schedules(nameserver: NameServer = "", json: Json = False) -> None:
    """List schedules with the time of their next message."""
    with _admin(nameserver) as admin:
        states = SchedulesAdmin(admin).list()
    rows = [_row(state, json) for state in states]
    if not json and not any(row["problem"] for row in rows):
        for row in rows:
            del row["problem"]
    show(rows, as_json=json, empty="there is no schedule yet")


@app.command()
def pause(name: Name, nameserver: NameServer = "", json: Json = False) -> None:
    """Send nothing for a schedule until it is resumed."""
    with _admin(nameserver) as admin:
        state = SchedulesAdmin(admin).pause(name)
    show_one(_row(state, json), as_json=json)


@app.command()
def resume(name: Name, nameserver: NameServer = "", json: Json = False) -> None:
    """Go on with a paused schedule; what was planned meanwhile is not sent."""
    with _admin(nameserver) as admin:
        state = SchedulesAdmin(admin).resume(name)
    show_one(_row(state, json), as_json=json)


@app.command()
def remove(name: Name, nameserver: NameServer = "", json: Json = False) -> None:
    """Remove a schedule."""
    with _admin(nameserver) as admin:
        SchedulesAdmin(admin).remove(name)
    show_one({"schedule": name, "removed": True}, as_json=json)


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name or not value:
        raise FixError(f"--property {text!r}: write it as NAME=VALUE")
    return name, value


def _row(state: ScheduleState, as_json: bool) -> dict[str, Any]:
    made = state.schedule
    row: dict[str, Any] = {
        "schedule": made.name,
        "cron": made.expression,
        "zone": made.zone,
        "topic": made.topic,
        "missed": made.missed,
        "broker": state.broker,
        "paused": made.paused,
        "next": state.next_ms,
        "last": state.last_ms,
        "problem": state.problem,
    }
    if as_json:
        return row
    for name in ("next", "last"):
        row[name] = "" if row[name] is None else time_text(row[name])
    return row


def _admin(nameserver: str) -> Admin:
    # Imported when a command runs: help needs no client.
    from mqframe import Admin

    return Admin(nameserver=nameserver, **access())
