"""Half messages: transactions that were begun and not ended yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import attrs
from mqframe_transactions.rules.half_rules import CHECK_GROUP, parse_op, root_of, times_checked

from mqframe.core.consuming.bodies import ConsumeStats
from mqframe.core.errors import MqframeError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.requests.admin import GetConsumeStats
from mqframe.core.wire import loose_json
from mqframe_dashboard.asking import Asking, settled
from mqframe_dashboard.curves import span_text
from mqframe_dashboard.query import Query
from mqframe_dashboard.reading import messages_of
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Note, Page, Part, TableView, link, time_text

SHOWN: Final = 100
"""Half messages that are listed, the oldest first."""
LOOKED_AT: Final = 1000
"""Messages that are read of both queues of each broker, the oldest that are not settled."""


@attrs.frozen
class Halves:
    """What a broker holds. `open_`: those that wait; `looked_at`, `stored`: how many were read of how many.

    `ops_left`: ends of transactions that were not read; some of `open_` may have ended by one of them.
    """

    open_: list[ReceivedMessage]
    looked_at: int
    stored: int
    ops_left: int


async def halves_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All transactions that wait for their end, the oldest first."""
    queues = await _queues(asking)
    now = int(asking.now() * 1000)
    notes: list[Part] = []
    found: list[ReceivedMessage] = []

    async def look(broker: str) -> Halves:
        return await _halves(asking, broker, queues)

    for broker, told in (await settled(look, await asking.ask(asking.admin.cluster.masters))).items():
        if isinstance(told, MqframeError):
            notes.append(Note(f"{broker} does not tell its half messages: {told}", wrong=True))
            continue
        found += told.open_
        if told.looked_at < told.stored:
            notes.append(
                Note(
                    f"{broker}: looked at the oldest {told.looked_at} of {told.stored} that are not settled."
                )
            )
        if told.ops_left:
            text = f"{broker}: {told.ops_left} ends were not looked at; some of these may have ended."
            notes.append(Note(text))
    found.sort(key=lambda each: (each.born_timestamp, each.offset_message_id))
    rows = [_row(each, now) for each in found[:SHOWN]]
    about = Note(
        "A half message waits until its producer commits it or rolls it back, and nobody receives it before. "
        "While neither comes, the broker asks the producers of its group."
    )
    parts: list[Part] = [about, *notes, TableView("Not ended", rows, "no transaction waits for its end")]
    if rows:
        parts.append(Note(f"Showing {len(rows)} of {len(found)}."))
    return Page("Half messages", parts, live=True)


async def _queues(asking: Asking) -> set[MessageQueue]:
    """The queues of halves and of their ends; brokers before 5.0 make them with the first transaction."""
    there = {HALF_TOPIC, OP_HALF_TOPIC}.intersection(await asking.ask(asking.admin.topics.list))
    return {queue for topic in there for queue in await asking.ask(asking.puller.queues, topic)}


async def _halves(asking: Asking, broker: str, queues: Collection[MessageQueue]) -> Halves:
    half_queue, op_queue = (MessageQueue(topic, broker, 0) for topic in (HALF_TOPIC, OP_HALF_TOPIC))
    if half_queue not in queues:
        return Halves([], 0, 0, 0)
    answer = await asking.ask(asking.admin.brokers.call, broker, GetConsumeStats(CHECK_GROUP, ""))
    stats = loose_json.decode(bytes(answer.body), ConsumeStats).offset_table
    settled_to = {queue.topic: each.consumer_offset for queue, each in stats.items()}
    halves, stored = await _unsettled(asking, half_queue, settled_to)
    ops: list[ReceivedMessage] = []
    ops_stored = 0
    if op_queue in queues:
        ops, ops_stored = await _unsettled(asking, op_queue, settled_to)
    ended = {offset for op in ops for offset in parse_op(op.stored_body)}
    return Halves(open_halves(halves, ended), len(halves), stored, ops_stored - len(ops))


async def _unsettled(
    asking: Asking, queue: MessageQueue, settled_to: dict[str, int]
) -> tuple[list[ReceivedMessage], int]:
    """The first messages of `queue` behind what is settled, and how many there are."""
    first = await asking.ask(asking.puller.min_offset, queue)
    end = await asking.ask(asking.puller.max_offset, queue)
    at = max(first, settled_to.get(queue.topic, 0))
    read = [each async for each in messages_of(asking, queue, at, min(end, at + LOOKED_AT))]
    return read, max(0, end - at)


def open_halves(halves: Iterable[ReceivedMessage], ended: Collection[int]) -> list[ReceivedMessage]:
    """Those of `halves`, in the order of their queue, whose transaction has not ended.

    `ended`: queue offsets of halves that were ended. A half that was checked is stored again, and its last
    copy stands for it; an end that names any of its copies ends it.
    """
    newest: dict[object, ReceivedMessage] = {}
    over = set()
    for half in halves:
        # Copies of Apache's do not always name the first; the sender's id stays the same.
        name = half.properties.get(p.UNIQUE_KEY) or root_of(half)
        newest[name] = half
        if half.queue_offset in ended or root_of(half) in ended:
            over.add(name)
    return [half for name, half in newest.items() if name not in over]


def _row(half: ReceivedMessage, now: int) -> dict[str, object]:
    topic = half.properties.get(p.REAL_TOPIC, "")
    return {
        "age": span_text(now - half.born_timestamp),
        "begun": time_text(half.born_timestamp),
        "producer_group": half.properties.get(p.PRODUCER_GROUP, ""),
        "topic": link("topic", topic, name=topic),
        "checks": times_checked(half.properties),
        "message": link("message", half.message_id, topic=half.topic, id=half.offset_message_id),
        "tag": half.tag or "",
        "keys": ", ".join(half.keys),
        "broker": half.broker_name,
    }
