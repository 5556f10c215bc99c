"""`mqframe message`: send messages and look at stored ones."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mqframe.cli.access import access, admin_command
from mqframe.cli.commands import FAILED, new_app
from mqframe.cli.output import Json, NameServer, Shown, body_text, show, show_one, time_text
from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.names import TRACE_TOPIC

if TYPE_CHECKING:
    from mqframe import Admin
    from mqframe.core.messages.message import ReceivedMessage

app = new_app(help="Send messages and look at stored ones.")
Topic = Annotated[str, typer.Argument(help="Name of the topic.")]


@app.command()
def send(
    topic: Topic,
    body: Annotated[str, typer.Argument(help="Text of the message; - reads standard input.")],
    tag: Annotated[str | None, typer.Option(help="Tag that consumers filter by.")] = None,
    key: Annotated[list[str] | None, typer.Option(help="Key to find it by; may be given often.")] = None,
    prop: Annotated[
        list[str] | None, typer.Option("--property", help="name=value; may be given often.")
    ] = None,
    sharding_key: Annotated[
        str | None, typer.Option(help="Messages with the same one go to one queue.")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="One message for each line.")] = False,
    delay: Annotated[str | None, typer.Option(help="Deliver so much later: 90s, 5m, 2h, 3d.")] = None,
    deliver_at: Annotated[
        str | None, typer.Option(help="Deliver at this time: 2026-12-24T18:00, or ms since 1970.")
    ] = None,
    delay_level: Annotated[int | None, typer.Option(help="Deliver after this level's delay.")] = None,
    group: Annotated[str, typer.Option(help="Producer group.")] = "mqframe-cli",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send a message, or one for each line of standard input."""
    from mqframe import Message, Producer
    from mqframe.cli.later import parse_delay, parse_time

    wish: dict[str, Any] = {}
    if delay is not None:
        wish["delay"] = parse_delay(delay)
    if deliver_at is not None:
        wish["deliver_at"] = parse_time(deliver_at)
    if delay_level is not None:
        wish["delay_level"] = delay_level
    properties = dict(map(_pair, prop or ()))
    data = sys.stdin.buffer.read() if body == "-" else body.encode()
    bodies = [line for line in data.splitlines() if line] if lines else [data]
    with Producer(group=group, nameserver=nameserver, **access()) as producer:
        messages = [Message(topic, each, tag, key or (), properties) for each in bodies]
        if wish:
            results = [producer.send(message, sharding_key=sharding_key, **wish) for message in messages]
        else:
            futures = [producer.submit(message, sharding_key=sharding_key) for message in messages]
            results = [future.result() for future in futures]
    rows = [
        {
            "status": result.status.name,
            "message_id": result.message_id,
            "offset_message_id": result.offset_message_id,
            "broker": result.queue.broker_name,
            "queue": result.queue.queue_id,
            "offset": result.queue_offset,
        }
        | ({"recall_handle": result.recall_handle} if result.recall_handle else {})
        for result in results
    ]
    if len(rows) == 1:
        show_one(rows[0], as_json=json)
    else:
        show(rows, as_json=json, empty="nothing to send")


@app.command()
def recall(
    topic: Topic,
    recall_handle: Annotated[str, typer.Argument(help="What the send of the message gave.")],
    group: Annotated[str, typer.Option(help="Producer group.")] = "mqframe-cli",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Take back a message that waits for its time."""
    from mqframe import Producer

    with Producer(group=group, nameserver=nameserver, **access()) as producer:
        message_id = producer.recall(topic, recall_handle)
    show_one({"recalled": message_id}, as_json=json)


@admin_command(app, "show")
def show_message(
    admin: Admin,
    topic: Topic,
    message_id: Annotated[str, typer.Argument(help="Message id, or the broker's offset id.")],
) -> Shown:
    """Show one message with all that is known of it."""
    found = admin.message_by_unique_key(topic, message_id)
    if found is None and _known_broker(admin, message_id):
        found = admin.message_by_id(message_id, topic)
    if found is None:
        typer.echo(f"mqframe: topic {topic} has no message {message_id}", err=True)
        raise typer.Exit(FAILED)
    return _row(found) | {
        "born": time_text(found.born_timestamp),
        "born_host": found.born_host,
        "store_host": found.store_host,
        "commit_log_offset": found.commit_log_offset,
        "stored_bytes": found.store_size,
        "reconsume_times": found.reconsume_times,
        "offset_message_id": found.offset_message_id,
        "properties": found.properties,
    }


@admin_command(app, empty="no message has the key {key}")
def query(
    admin: Admin,
    topic: Topic,
    key: Annotated[str, typer.Argument(help="Key that the sender gave.")],
    limit: Annotated[int, typer.Option(help="At most so many.")] = 64,
) -> Shown:
    """Find messages by key, newest first."""
    return [_row(each) for each in admin.query_messages(topic, key, max_count=limit)]


@app.command()
def read(
    topic: Topic,
    queue: Annotated[int | None, typer.Option(help="Only this queue id.")] = None,
    offset: Annotated[
        int | None, typer.Option(help="From this offset on; negative counts from the end.")
    ] = None,
    tag: Annotated[str, typer.Option(help="Only these tags: a || b.")] = "*",
    limit: Annotated[int, typer.Option(help="At most so many of each queue.")] = 10,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Read messages by offset, without any group and without moving anybody's offsets."""
    from mqframe.client.consuming.puller.blocking_puller import Puller

    rows = []
    with Puller(nameserver=nameserver, **access()) as puller:
        for each in puller.queues(topic):
            if queue is None or each.queue_id == queue:
                end, at = puller.max_offset(each), puller.min_offset(each)
                if offset is not None:
                    at = max(at, end + offset if offset < 0 else offset)
                left = limit
                while at < end and left > 0:
                    result = puller.pull(each, at, min(left, 32), tag)
                    rows += [_row(message) for message in result.messages]
                    left -= len(result.messages)
                    at = max(result.next_offset, at + 1)
    show(rows, as_json=json, empty="nothing there")


def _known_broker(admin: Admin, message_id: str) -> bool:
    """Whether `message_id` is a broker's id of one of the brokers here. Sender's ids look the same."""
    from mqframe.core.messages.ids import parse_offset_id

    try:
        address, _ = parse_offset_id(message_id)
    except FixError:
        return False
    brokers = admin.cluster_info().broker_addr_table.values()
    return any(address in broker.broker_addrs.values() for broker in brokers)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"--property {text}: must be written name=value")
    return name, value


def _row(message: ReceivedMessage) -> dict[str, Any]:
    return {
        "message_id": message.message_id,
        "broker": message.broker_name,
        "queue": message.queue_id,
        "offset": message.queue_offset,
        "tag": message.tag,
        "keys": message.keys,
        "stored": time_text(message.store_timestamp),
        "body": body_text(message.body),
    }


@admin_command(app, "consume-directly")
def consume_directly(
    admin: Admin,
    group: Annotated[str, typer.Argument(help="Name of the consumer group.")],
    topic: Topic,
    message_id: Annotated[str, typer.Argument(help="Message id, or the broker's offset id.")],
    client: Annotated[str | None, typer.Option(help="Which member; by default any.")] = None,
) -> Shown:
    """Have a member of a group consume one stored message now; nothing is committed."""
    found = admin.message_by_unique_key(topic, message_id)
    offset_id = message_id if found is None else found.offset_message_id
    result = admin.consume_directly(group, offset_id, client_id=client)
    return {
        "result": "" if result.consume_result is None else result.consume_result.value,
        "ms": result.spent_time_mills,
        "ordered": result.order,
        "remark": result.remark,
    }


@admin_command(app, empty="nobody traced {message_id}")
def trace(
    admin: Admin,
    message_id: Annotated[str, typer.Argument(help="Message id that the sender was told.")],
    trace_topic: Annotated[str, typer.Option(help="Topic that traces are in.")] = TRACE_TOPIC,
) -> Shown:
    """Show who sent and who consumed a message, as far as they trace."""
    return [
        {
            "what": record.kind.value,
            "time": time_text(record.time_ms),
            "group": record.group,
            "client": record.client_host,
            "topic": record.topic,
            "ms": record.cost_ms,
            "success": record.success,
            "attempt": record.retry_times,
            "request": record.request_id,
            "tag": record.tags,
            "keys": record.keys,
        }
        for record in admin.message_trace(message_id, trace_topic=trace_topic)
    ]
