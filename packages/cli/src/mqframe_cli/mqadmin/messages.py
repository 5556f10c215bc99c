"""Messages by the names of `mqadmin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mqframe.core.consuming.pull import MESSAGES_MAX
from mqframe.core.errors import SettingError
from mqframe_cli import message as ours
from mqframe_cli.access import access, admin_client
from mqframe_cli.contexts.chosen import chosen_cluster
from mqframe_cli.live.lines import write_message
from mqframe_cli.mqadmin.options import NameServers, SomeTopic, Topic, alias, time_ms
from mqframe_cli.names.known import check_known
from mqframe_cli.output import Json, Shown, show_one
from mqframe_cli.sending.sender import sent_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mqframe import Admin
    from mqframe.core.messages.message import ReceivedMessage

CONSUMED: Final = 128
Tags = Annotated[str, typer.Option("-s", "--subExpression", help="Only these tags: a || b.")]
Begin = Annotated[str, typer.Option("-b", "--beginTimestamp", help="Stored then or later.")]
End = Annotated[str, typer.Option("-e", "--endTimestamp", help="Stored then or earlier.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    alias(app, "queryMsgById")(query_by_id)
    alias(app, "queryMsgByUniqueKey")(query_by_unique_key)
    alias(app, "queryMsgByKey", empty="no message has the key {key}")(query_by_key)
    alias(app, "queryMsgByOffset")(query_by_offset)
    app.command("sendMessage")(send_message)
    app.command("consumeMessage")(consume_message)
    app.command("printMsg")(print_messages)


def query_by_id(
    admin: Admin,
    message_id: Annotated[str, typer.Option("-i", "--msgId", help="The broker's offset id.")],
    topic: SomeTopic = None,
) -> Shown:
    """Show one message by its offset id."""
    return ours.details(admin.messages.by_id(message_id, topic))


def query_by_unique_key(
    admin: Admin, topic: Topic, message_id: Annotated[str, typer.Option("-i", "--msgId", help="Message id.")]
) -> Shown:
    """Show one message by its id."""
    return ours.details(ours.find_message(admin, message_id, topic))


def query_by_key(
    admin: Admin,
    topic: Topic,
    key: Annotated[str, typer.Option("-k", "--msgKey", help="Key that the sender gave.")],
    begin: Begin = "0",
    end: End = "",
    count: Annotated[int, typer.Option("-m", "--maxNum", help="At most so many.")] = 64,
) -> Shown:
    """Find messages by key, newest first."""
    until: dict[str, Any] = {"end_ms": time_ms("-e", end)} if end else {}
    found = admin.messages.query(topic, key, max_count=count, begin_ms=time_ms("-b", begin), **until)
    return [ours.message_row(each) for each in found]


def query_by_offset(
    admin: Admin,
    topic: Topic,
    broker: Annotated[str, typer.Option("-b", "--brokerName", help="Name of the broker.")],
    queue: Annotated[int, typer.Option("-i", "--queueId", help="Queue id.")],
    offset: Annotated[int, typer.Option("-o", "--offset", help="Offset in the queue.")],
) -> Shown:
    """Show one message by its place in a queue."""
    found = list(_messages(topic, broker, queue, first=offset, count=1))
    if not found or found[0].queue_offset != offset:
        raise SettingError(f"queue {queue} of topic {topic} on {broker} holds no message at offset {offset}")
    return ours.details(found[0])


def send_message(
    topic: Topic,
    body: Annotated[str, typer.Option("-p", "--body", help="Text of the message.")],
    keys: Annotated[str, typer.Option("-k", "--keys", help="Keys, with spaces between.")] = "",
    tag: Annotated[str | None, typer.Option("-c", "--tags", help="Tag.")] = None,
    broker: Annotated[str | None, typer.Option("-b", "--broker", help="Name of the broker; with -i.")] = None,
    queue: Annotated[int | None, typer.Option("-i", "--qid", help="Queue id; with -b.")] = None,
    nameserver: NameServers = "",
    json: Json = False,
) -> None:
    """Send a message."""
    from mqframe import Message, MessageQueue, Producer

    if (broker is None) != (queue is None):
        raise SettingError("-b and -i name a queue together")
    place = MessageQueue(topic, broker, queue) if broker is not None and queue is not None else None
    with Producer(group="mqframe-cli", nameserver=nameserver, **access()) as producer:
        result = producer.send(Message(topic, body.encode(), tag, keys.split()), queue=place)
    show_one(sent_row(result), as_json=json)


def consume_message(
    topic: Topic,
    broker: Annotated[str | None, typer.Option("-b", "--brokerName", help="Only of this broker.")] = None,
    queue: Annotated[int | None, typer.Option("-i", "--queueId", help="Only of this queue id.")] = None,
    offset: Annotated[int | None, typer.Option("-o", "--offset", help="From this offset on.")] = None,
    count: Annotated[int, typer.Option("-c", "--MessageNumber", help="At most so many.")] = CONSUMED,
    begin: Annotated[str, typer.Option("-s", "--beginTimestamp", help="Stored then or later.")] = "",
    end: End = "",
    nameserver: NameServers = "",
    json: Json = False,
) -> None:
    """Write messages of a topic without any group, one line each."""
    limits: dict[str, Any] = _limits(begin, end, begin_option="-s")
    with admin_client(nameserver) as admin:
        check_known(admin, topic)
        for each in _messages(topic, broker, queue, first=offset, count=count, **limits):
            write_message(each, as_json=json, stored=True)


def print_messages(
    topic: Topic,
    tag: Tags = "*",
    begin: Begin = "",
    end: End = "",
    nameserver: NameServers = "",
    json: Json = False,
) -> None:
    """Write all messages of a topic, or those between two times, one line each."""
    with admin_client(nameserver) as admin:
        check_known(admin, topic)
        for each in _messages(topic, None, None, tag=tag, **_limits(begin, end, begin_option="-b")):
            write_message(each, as_json=json, stored=True)


def _limits(begin: str, end: str, *, begin_option: str) -> dict[str, Any]:
    limits = {}
    if begin:
        limits["begin_ms"] = time_ms(begin_option, begin)
    if end:
        limits["end_ms"] = time_ms("-e", end)
    return limits


def _messages(
    topic: str,
    broker: str | None,
    queue_id: int | None,
    *,
    first: int | None = None,
    count: int | None = None,
    begin_ms: int | None = None,
    end_ms: int | None = None,
    tag: str = "*",
) -> Iterator[ReceivedMessage]:
    """What lies in the queues that are meant, queue by queue, up to where they end now."""
    from mqframe import Puller

    with Puller(nameserver=chosen_cluster().nameserver, **access()) as puller:
        queues = [
            each
            for each in puller.queues(topic)
            if broker in (None, each.broker_name) and queue_id in (None, each.queue_id)
        ]
        if not queues:
            raise SettingError(f"topic {topic} has no such queue: broker {broker}, queue {queue_id}")
        left = count
        for queue in queues:
            at = first if first is not None else puller.offset_at(queue, begin_ms) if begin_ms else 0
            at, stop = max(at, puller.min_offset(queue)), puller.max_offset(queue)
            while at < stop and left != 0:
                result = puller.pull(queue, at, MESSAGES_MAX, tag)
                at = max(result.next_offset, at + 1)
                for each in result.messages:
                    if left != 0 and (end_ms in (None, -1) or each.store_timestamp <= end_ms):
                        left = None if left is None else left - 1
                        yield each
