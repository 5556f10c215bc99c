"""Messages: found by id, by key, or by the time at which they were stored; and one with all that is known."""

from __future__ import annotations

import asyncio
from typing import Final

from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.bodies import BEGINNING_BYTES, ShownBody, shown_body
from mqframe_dashboard.decoding import decoded
from mqframe_dashboard.masking import masked
from mqframe_dashboard.query import MS_MAX, BadQuery, Query
from mqframe_dashboard.reading import AT_ONCE, messages_of
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import (
    Facts,
    Field,
    Form,
    Link,
    Links,
    Note,
    Page,
    Part,
    TableView,
    Text,
    link,
    time_text,
)

SHOWN_MAX: Final = 200
SHOWN: Final = 32
TIME_HINT: Final = "2026-01-31T12:00 (in the zone of this server, unless it names one), or ms since 1970"
LIMIT_HINT: Final = f"{SHOWN} unless told otherwise, {SHOWN_MAX} at most"


async def messages_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """The form, and what was found: of `key` newest first, of a time range oldest first."""
    topic, key, message_id = query.text("topic"), query.text("key"), query.text("id")
    form = Form(
        "messages",
        [
            Field("topic", "Topic", topic),
            Field("id", "Message id", message_id, "the sender's, or the broker's"),
            Field("key", "Key", key),
            Field("since", "Stored since", query.moment_text("since"), TIME_HINT),
            Field("until", "Stored until", query.moment_text("until"), TIME_HINT),
            Field("limit", "At most", query.text("limit"), LIMIT_HINT),
        ],
    )
    if not topic:
        return Page("Messages", [form, Note("Name a topic, and an id, a key or times.")])
    limit = query.count("limit", SHOWN, SHOWN_MAX)
    begin, end = query.moment("since", 0), query.moment("until", MS_MAX)
    if begin > end:
        raise BadQuery("since: is after until")
    await asking.check_topic(topic)
    if message_id:
        found = [await _needed(asking, topic, message_id)]
    elif key:
        found = await asking.ask(
            asking.admin.messages.query, topic, key, max_count=limit, begin_ms=begin, end_ms=end
        )
    else:
        found = await _stored_between(asking, topic, begin, end, limit)
    known = await decoded(asking, found)
    rows = [
        {"message": _details(topic, each), **message_columns(each, known.get(each, ""))} for each in found
    ]
    parts: list[Part] = [form, TableView("Found", rows, "nothing found")]
    if len(found) == limit:
        parts.append(Note(f"There may be more than these {limit}."))
    return Page(f"Messages of {topic}", parts)


async def message_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """One message."""
    topic = query.needed("topic")
    await asking.check_topic(topic)
    found = await _needed(asking, topic, query.needed("id"))
    known = await decoded(asking, [found])
    links = Links([link("trace", "Its way: trace", id=found.message_id, topic=topic)])
    return Page(f"Message {found.message_id}", [links, *message_parts(found, known.get(found, ""))])


def message_parts(found: ReceivedMessage, known: str = "") -> list[Part]:
    """All that is known of a message. `known`: its body as the schema of the topic has it, else empty."""
    body = shown_body(found)
    facts = {
        "topic": link("topic", found.topic, name=found.topic),
        "tag": found.tag or "",
        "keys": ", ".join(found.keys),
        "broker": found.broker_name,
        "queue": found.queue_id,
        "offset": found.queue_offset,
        "stored": time_text(found.store_timestamp),
        "born": time_text(found.born_timestamp),
        "born host": found.born_host,
        "store host": found.store_host,
        "stored bytes": found.store_size,
        "reconsumed": found.reconsume_times,
        "message id": found.message_id,
        "broker's id": found.offset_message_id,
    }
    cut = ", its beginning" if body.cut else ""
    return [
        Facts("Message", {name: value for name, value in facts.items() if value != ""}),
        Facts("Properties", masked(found.properties)),
        *([Text("Body, decoded by the schema of the topic", known)] if known else []),
        Text(f"Body: {body.encoding}, {body.size} bytes{cut}", body.text),
    ]


def message_columns(message: ReceivedMessage, known: str = "") -> dict[str, object]:
    """What lists show of a message. `known`: its body as the schema of the topic has it, else empty."""
    body = shown_body(message, BEGINNING_BYTES)
    if known:
        flat = " ".join(known.split())
        cut = "…" if len(flat) > BEGINNING_BYTES else ""
        body = ShownBody("schema", flat[:BEGINNING_BYTES] + cut, body.size, cut=False)
    return {
        "tag": message.tag or "",
        "keys": ", ".join(message.keys),
        "body": body.text + ("…" if body.cut else ""),
        "encoding": body.encoding,
        "stored": time_text(message.store_timestamp),
        "broker": message.broker_name,
        "queue": message.queue_id,
        "offset": message.queue_offset,
    }


def _details(topic: str, message: ReceivedMessage) -> Link:
    # The broker's id names this copy and no other.
    return link("message", message.message_id, topic=topic, id=message.offset_message_id)


async def _needed(asking: Asking, topic: str, message_id: str) -> ReceivedMessage:
    found = await asking.message(topic, message_id)
    if found is None:
        raise NotFound(f"topic {topic} has no message {message_id}")
    return found


async def _stored_between(
    asking: Asking, topic: str, begin: int, end: int, limit: int
) -> list[ReceivedMessage]:
    """The first messages of all queues together, the oldest first."""
    queues = await asking.ask(asking.puller.queues, topic)
    found = await asyncio.gather(*[_of_queue(asking, queue, begin, end, limit) for queue in queues])
    every = [message for messages in found for message in messages]
    return sorted(every, key=lambda message: (message.store_timestamp, message.offset_message_id))[:limit]


async def _of_queue(
    asking: Asking, queue: MessageQueue, begin: int, end: int, limit: int
) -> list[ReceivedMessage]:
    at = await asking.ask(asking.puller.min_offset, queue)
    last = await asking.ask(asking.puller.max_offset, queue)
    if begin > 0 and at < last:
        at = max(at, await asking.ask(asking.puller.offset_at, queue, begin))
    found: list[ReceivedMessage] = []
    async for message in messages_of(asking, queue, at, last, min(AT_ONCE, limit)):
        if message.store_timestamp > end or len(found) == limit:
            break
        # Searches by time answer with the nearest message, which may be an older one.
        if message.store_timestamp >= begin:
            found.append(message)
    return found
