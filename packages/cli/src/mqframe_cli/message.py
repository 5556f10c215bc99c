"""`mqframe message`: send messages and look at stored ones."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from mqframe.core.errors import FixError, MqframeError, RouteError, SettingError
from mqframe.core.messages.names import TRACE_TOPIC, is_system_topic
from mqframe_cli.access import access, admin_client, admin_command
from mqframe_cli.commands import FAILED, new_app
from mqframe_cli.names.known import check_known, listed_topics
from mqframe_cli.output import Json, NameServer, Shown, show, show_one, time_text
from mqframe_cli.text.body import Base64, body_columns, body_decoders, decoded

if TYPE_CHECKING:
    from mqframe import Admin
    from mqframe.core.messages.message import ReceivedMessage
    from mqframe_cli.sending.records import Outgoing

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
    json_lines: Annotated[
        bool, typer.Option("--json-lines", help="Each line is a message as JSON: body, key, tag, delay …")
    ] = False,
    rate: Annotated[float | None, typer.Option(help="At most so many messages a second.")] = None,
    delay: Annotated[str | None, typer.Option(help="Deliver so much later: 90s, 5m, 2h, 3d.")] = None,
    deliver_at: Annotated[
        str | None, typer.Option(help="Deliver at this time: 2026-12-24T18:00, or ms since 1970.")
    ] = None,
    delay_level: Annotated[int | None, typer.Option(help="Deliver after this level's delay.")] = None,
    group: Annotated[str, typer.Option(help="Producer group.")] = "mqframe-cli",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send a message, or one for each line of standard input; these while they come.

    Of several messages that were sent there is one line, or with --json all results. A line of --json-lines
    may have: body, body_encoding (text or base64), tag, key, keys, properties, sharding_key, delay,
    deliver_at, delay_level; what it does not say is taken from the options. The lines that consume --json and
    topic tail --json write can be sent again.
    """
    from mqframe import Message, Producer
    from mqframe_cli.sending.records import Outgoing, later_wishes, property_of
    from mqframe_cli.sending.sender import SendSummary, send_all

    if rate is not None and rate <= 0:
        raise SettingError(f"--rate {rate:g}: must be more than 0 messages a second")
    properties = dict(map(property_of, prop or ()))
    data = body.encode() if body != "-" or lines or json_lines else sys.stdin.buffer.read()
    first = Outgoing(
        Message(topic, data, tag, key or (), properties),
        sharding_key,
        later_wishes(delay, deliver_at, delay_level),
    )
    messages = _from_lines(body, first, as_json=json_lines) if lines or json_lines else [first]
    sent, started = SendSummary(every=json), time.monotonic()
    with Producer(group=group, nameserver=nameserver, **access()) as producer:
        try:
            send_all(producer, messages, sent, rate)
        except MqframeError:
            if sent.count and not json:
                typer.echo(f"mqframe: {sent.count} messages were sent before this:", err=True)
            raise
    if sent.count == 1:
        show_one(sent.rows[0], as_json=json)
    elif json or sent.count == len(sent.rows):
        show(sent.rows, as_json=json, empty="nothing to send")
    else:
        typer.echo(sent.summary(time.monotonic() - started))


def _from_lines(body: str, first: Outgoing, *, as_json: bool) -> Iterator[Outgoing]:
    """A message for each line of `body`, or of standard input, that is not empty."""
    from mqframe_cli.sending.records import Outgoing, outgoing_of

    for number, line in enumerate(sys.stdin.buffer if body == "-" else body.encode().splitlines(), 1):
        text = line.strip() if as_json else line.rstrip(b"\r\n")
        if not text:
            continue
        if as_json:
            yield outgoing_of(text, number, first)
        else:
            yield Outgoing(replace(first.message, body=text), first.sharding_key, first.later)


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


@admin_command(app, "show", known=())
def show_message(
    admin: Admin,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[TOPIC] MESSAGE_ID",
            help="Message id, or the broker's offset id. Without the topic all are searched.",
        ),
    ],
    base64: Base64 = False,
) -> Shown:
    """Show one message with all that is known of it."""
    if len(words) > 2:
        raise SettingError(f"{' '.join(words)}: a topic and a message id are meant, or the id alone")
    *topics, message_id = words
    check_known(admin, *topics)
    found = find_message(admin, message_id, *topics)
    value = None if base64 else decoded(found, body_decoders(admin))
    return details(found, base64=base64) | ({} if value is None else {"decoded": value})


def find_message(admin: Admin, message_id: str, topic: str | None = None) -> ReceivedMessage:
    """The message with this id of its sender or its broker, of `topic` or of any. Ends where there is none.

    A broker's id says where the message lies; brokers look for a sender's id in one topic at a time: the
    applications' come first, then those of groups and of the system, which hold copies and what waits.
    """
    found = None if topic is None else admin.messages.by_unique_key(topic, message_id)
    if found is None and _known_broker(admin, message_id):
        found = admin.messages.by_id(message_id, topic)
    if found is None and topic is None:
        names = sorted(listed_topics(admin, every=True), key=is_system_topic)
        found = next(filter(None, (_in_topic(admin, name, message_id) for name in names)), None)
    if found is None:
        where = "no topic has" if topic is None else f"topic {topic} has no"
        typer.echo(f"mqframe: {where} message {message_id}", err=True)
        raise typer.Exit(FAILED)
    return found


def _in_topic(admin: Admin, topic: str, message_id: str) -> ReceivedMessage | None:
    try:
        return admin.messages.by_unique_key(topic, message_id)
    except RouteError:  # it was deleted meanwhile, or is one of the system's that nobody may read
        return None


def details(found: ReceivedMessage, *, base64: bool = False) -> dict[str, Any]:
    """All that is known of a message."""
    return (
        {"topic": found.topic}
        | message_row(found, base64=base64)
        | {
            "born": time_text(found.born_timestamp),
            "born_host": found.born_host,
            "store_host": found.store_host,
            "commit_log_offset": found.commit_log_offset,
            "stored_bytes": found.store_size,
            "reconsume_times": found.reconsume_times,
            "offset_message_id": found.offset_message_id,
            "properties": found.properties,
        }
    )


@app.command()
def query(
    topic: Topic,
    key: Annotated[str, typer.Argument(help="Key that the sender gave.")],
    limit: Annotated[int, typer.Option(help="At most so many.")] = 64,
    base64: Base64 = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Find messages by key, newest first.

    With --json each has its properties, too.
    """
    with admin_client(nameserver) as admin:
        check_known(admin, topic)
        found = admin.messages.query(topic, key, max_count=limit)
    rows = [_listed(each, base64=base64, whole=json) for each in found]
    show(rows, as_json=json, empty=f"no message has the key {key}")


@app.command()
def read(
    topic: Topic,
    queue: Annotated[int | None, typer.Option(help="Only this queue id.")] = None,
    offset: Annotated[
        int | None, typer.Option(help="From this offset on; negative counts from the end.")
    ] = None,
    tag: Annotated[str, typer.Option(help="Only these tags: a || b.")] = "*",
    limit: Annotated[int, typer.Option(help="At most so many of each queue.")] = 10,
    base64: Base64 = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Read messages by offset, without any group and without moving anybody's offsets.

    With --json each has its properties, too.
    """
    from mqframe import Puller

    rows = []
    with admin_client(nameserver) as admin:
        check_known(admin, topic)
    with Puller(nameserver=nameserver, **access()) as puller:
        for each in puller.queues(topic):
            if queue is None or each.queue_id == queue:
                end, at = puller.max_offset(each), puller.min_offset(each)
                if offset is not None:
                    at = max(at, end + offset if offset < 0 else offset)
                left = limit
                while at < end and left > 0:
                    result = puller.pull(each, at, min(left, 32), tag)
                    rows += [_listed(each, base64=base64, whole=json) for each in result.messages]
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
    brokers = admin.cluster.info().broker_addr_table.values()
    return any(address in broker.broker_addrs.values() for broker in brokers)


def _listed(message: ReceivedMessage, *, base64: bool, whole: bool) -> dict[str, Any]:
    """A message in a list; with its properties where `whole`, for which a table has no room."""
    row = message_row(message, base64=base64)
    return row | {"properties": message.properties} if whole else row


def message_row(message: ReceivedMessage, *, base64: bool = False) -> dict[str, Any]:
    """What a list shows of a message."""
    return {
        "message_id": message.message_id,
        "broker": message.broker_name,
        "queue": message.queue_id,
        "offset": message.queue_offset,
        "tag": message.tag,
        "keys": message.keys,
        "stored": time_text(message.store_timestamp),
        **body_columns(message, base64=base64),
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
    found = admin.messages.by_unique_key(topic, message_id)
    offset_id = message_id if found is None else found.offset_message_id
    result = admin.members.consume_directly(group, offset_id, client_id=client)
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
        for record in admin.messages.trace(message_id, trace_topic=trace_topic)
    ]
