"""Whether a queue entry says what the log says, and which entries are looked at to find out (store.md §4)."""

from __future__ import annotations

import struct
from typing import Final

from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.storage.dispatch_facts import queue_code
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.storage.record import head_of, topic_part
from mqframe.core.wire.frame import Body

Entry = tuple[int, int, int]
"""Commit-log offset, record size (bytes), tags code."""

LIGHT_PREFIX = "%LMQ%"
"""Queues of such topics list records of other topics (source: MixAll.LMQ_PREFIX); nothing is said of them."""


def lists(entry: Entry | None, record: LogRecord | None, topic: str, queue_id: int, offset: int) -> bool:
    """Whether `entry`, at `offset` of a queue, is what `record`, read at its log offset, has to have there.

    The code of the delay topic is a time that depends on settings, and is not compared.
    """
    if entry is None or record is None:
        return False
    return (
        (entry[0], entry[1]) == (record.physical_offset, record.size)
        and (topic, queue_id, offset) == (record.topic, record.queue_id, record.queue_offset)
        and record.has_queue_entry
        and (
            topic == SCHEDULE_TOPIC
            or entry[2] == queue_code(topic, record.properties, record.store_timestamp, ())
        )
    )


_PLACE: Final = struct.Struct(">i8xi4xqq")


def place_of(buffer: Body, at: int) -> tuple[int, int, int, int] | None:
    """Size, queue id, queue offset, log offset that the record at byte `at` names; `None` behind the end."""
    try:
        size, queue_id, offset, physical = _PLACE.unpack_from(buffer, at)
    except struct.error:
        return None
    return size, queue_id, offset, physical


def is_of(buffer: Body, at: int, topic: str) -> bool:
    """Whether the record at byte `at`, whose place is right, is one of `topic`."""
    magic, raw = topic_part(topic)
    try:
        fields, body = head_of(buffer, at)
    except struct.error:
        return False
    start = body + fields[14]
    return fields[1] == magic and buffer[start : start + len(raw)] == raw


def samples(low: int, end: int, count: int) -> list[int]:
    """At most `count` numbers of [`low`, `end`): the last, the first, and others at equal distances."""
    length = end - low
    if length <= count:
        return list(range(low, end))
    if count <= 1:
        return [end - 1] * count
    return [low + (length - 1) * number // (count - 1) for number in range(count)]


def samples_each(things: int, in_all: int, most: int) -> int:
    """How many samples each of `things` gets of `in_all`: at least one, at most `most`."""
    return max(1, min(most, in_all // max(1, things)))
