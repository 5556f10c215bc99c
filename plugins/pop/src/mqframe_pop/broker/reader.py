"""Reads of pops: messages from the queues of a group whose progress the broker keeps.

Source: PopMessageProcessor.popMsgFromQueue.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from random import randrange
from typing import Final

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.errors import MessageError, MqframeError
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.messages.properties import POP_CHECK_POINT, PROPERTIES_BYTES_MAX, encode_properties
from mqframe.core.storage.found import Found, GetStatus
from mqframe.core.storage.left_out import place_of
from mqframe.core.storage.record import copy_record, decode_records
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces import BrokerPort
from mqframe_pop.broker.check_points import CheckPointService
from mqframe_pop.broker.ordered import OrderedPops
from mqframe_pop.requests import PopMessage
from mqframe_pop.rules.check_point import CheckPoint, GroupQueue, Key
from mqframe_pop.rules.receipt_handle import (
    ORDER_REVIVE_QUEUE,
    ReceiptHandle,
    message_offsets_text,
    queue_text,
    retry_mark,
)
from mqframe_pop.rules.retry_topics import pop_retry_topic
from mqframe_pop.settings import PopSettings

READS_MAX: Final = 8
"""Reads of one queue for one pop, while they pass messages that nobody wants."""
TASK: Final = "pops of retried messages"
_NEWEST: Final = 1
_CORRECTED: Final = (
    GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY, GetStatus.OFFSET_FOUND_NULL,
)  # fmt: skip
_SIZE: Final = struct.Struct(">i")
_OFFSET: Final = struct.Struct(">q")
_QUEUE_OFFSET_AT: Final = 20


class PopBatch:
    """What one pop has so far.

    `rest`: messages that were left; `more`: whether some of them were not even looked at; `cold`: a queue
    that lies on the disk only.
    """

    __slots__ = (
        "cold", "count", "counts", "more", "offsets", "parts", "pop_time", "rest", "revive_queue", "starts",
    )  # fmt: skip

    def __init__(self, pop_time: int, revive_queue: int) -> None:
        self.pop_time = pop_time
        self.revive_queue = revive_queue
        self.parts: list[Body] = []
        self.starts: list[str] = []
        self.offsets: list[str] = []
        self.counts: list[str] = []
        self.count = 0
        self.rest = 0
        self.more = False
        self.cold: tuple[str, int, int] | None = None


class PopReader:
    """Reads queues for pops and enters check points for what it gives away."""

    def __init__(self, port: BrokerPort, check_points: CheckPointService, order: OrderedPops) -> None:
        self._left_out = port.left_out
        self.store = self._store = port.store
        self._topics, self._groups, self._offsets = port.topics, port.groups, port.offsets
        self._check_points = check_points
        self._table = check_points.table
        self._order = order
        self._settings, self._in_force = port.settings(PopSettings), port.in_force
        self._clock, self._counts = port.clock, port.counts
        self._broker_name = port.identity.name
        self._pops = 0
        self._locked: set[GroupQueue] = set()

    def read(
        self, fields: PopMessage, topic: TopicConfig, filter: RecordChoice, first_queue: int = -1
    ) -> PopBatch:
        """Everything that can be given now. `first_queue`: where to begin, -1: anywhere.

        When the first thing to give has to be read from the disk, nothing is batch and `cold` is set.
        """
        if fields.order:
            revive_queue = ORDER_REVIVE_QUEUE
        else:
            revive_queue = self._pops % 8
            self._pops += 1
        batch = PopBatch(self._clock.now_ms(), revive_queue)
        start = randrange(100) if first_queue < 0 else first_queue
        retry = [] if fields.order else self._retry_topics(fields.topic, fields.consumer_group)
        retry_first = bool(retry) and randrange(100) < self._settings.current.retry_percent
        if retry_first:
            self._read_topics(fields, retry, filter, batch, start)
        if fields.queue_id >= 0:
            self._read_queue(fields, str(topic.topic_name), fields.queue_id, filter, batch)
        else:
            self._read_topics(fields, [topic], filter, batch, start)
        if not retry_first:
            self._read_topics(fields, retry, filter, batch, start)
        return batch

    async def read_cold(self, fields: PopMessage, filter: RecordChoice, batch: PopBatch) -> None:
        """Read the queue in `batch.cold` in a thread, and take what is there."""
        assert batch.cold is not None
        topic, queue_id, offset = batch.cold
        queue = (topic, fields.consumer_group, queue_id)
        if queue in self._locked:
            return
        self._locked.add(queue)
        try:
            count, size = fields.max_msg_nums, self._in_force.cold_pull_bytes_max
            found = await self._store.reads.get_cold(
                topic, queue_id, offset, count, codes=filter.codes, records=filter.records, bytes_max=size
            )
        finally:
            self._locked.discard(queue)
        self._add(fields, queue, offset, found, batch)
        batch.rest += max(found.max_offset - found.next_offset, 0)

    def position(self, group: str, topic: str, queue_id: int) -> int:
        """Where the group's next pop of a queue would begin, for one that only looks."""
        offset = self._offsets.query(group, topic, queue_id)
        if offset is None or offset < 0:
            offset = self._store.queues.min_offset(topic, queue_id)
        return max(offset, self._table.next_offset((topic, group, queue_id)))

    def queues(self, fields_topic: TopicConfig, group: str, queue_id: int) -> list[tuple[str, int]]:
        """All queues that a pop of these looks into, those of retry topics last."""
        name = str(fields_topic.topic_name)
        ids: Iterable[int] = range(fields_topic.read_queue_nums) if queue_id < 0 else (queue_id,)
        found = [(name, each) for each in ids]
        for retry in self._retry_topics(name, group):
            found += [(str(retry.topic_name), each) for each in range(retry.read_queue_nums)]
        return found

    def _retry_topics(self, topic: str, group: str) -> list[TopicConfig]:
        found = [self._topics.find(pop_retry_topic(topic, group, v2=v2)) for v2 in (False, True)]
        return [topic for topic in found if topic is not None]

    def _read_topics(
        self,
        fields: PopMessage,
        topics: Sequence[TopicConfig],
        filter: RecordChoice,
        batch: PopBatch,
        start: int,
    ) -> None:
        for topic in topics:
            name, count = str(topic.topic_name), topic.read_queue_nums
            for at in range(count):
                self._read_queue(fields, name, (start + at) % count, filter, batch)
                if batch.cold is not None:
                    return

    def _read_queue(
        self, fields: PopMessage, topic: str, queue_id: int, filter: RecordChoice, batch: PopBatch
    ) -> None:
        if batch.cold is not None:
            return
        group = fields.consumer_group
        queue = (topic, group, queue_id)
        offset = self._begin(queue, fields.init_mode)
        end = self._store.queues.max_offset(topic, queue_id)
        if offset > end and self._table.next_offset(queue) >= 0:
            self._table.clear_queue(queue)  # what was popped was of a topic of this name before
            offset = self._begin(queue, fields.init_mode)
        if fields.order:
            if self._order.blocks(queue, fields.attempt_id, fields.invisible_time):
                return  # what is blocked is not counted: the end of the block wakes whoever waits
            config = self._groups.find(group)
            if config is not None:
                for exhausted in self._order.exhausted(queue, config.retry_max_times):
                    self._check_points.move_to_dlq(topic, queue_id, exhausted, group)
                    offset = self._order.moved_to_dlq(queue, exhausted)
        if offset == end:
            return
        if (
            batch.count >= fields.max_msg_nums
            or queue in self._locked
            or self._table.in_flight(topic, group, queue_id) >= self._settings.current.out_max
        ):
            batch.rest += max(end - offset, 0)
            return
        # Reads that find only what the filter drops go on, but not for ever: others wait for the loop.
        for _ in range(READS_MAX):
            count = fields.max_msg_nums - batch.count
            found = self._store.reads.get_now(
                topic, queue_id, offset, count,
                codes=filter.codes, records=filter.records, bytes_max=self._in_force.pull_bytes_max,
            )  # fmt: skip
            if found is None:
                # On the disk: what was found by now need not wait for it; with nothing yet, a thread reads.
                if batch.count:
                    batch.rest += end - offset
                else:
                    batch.cold = (topic, queue_id, offset)
                return
            if found.status in _CORRECTED:
                # The offset does not exist (any more): the group goes on at the nearest that does, and
                # what it popped before holds it back no longer.
                self._table.clear_queue(queue)
                self._offsets.commit(group, topic, queue_id, found.next_offset)
                offset = found.next_offset
                continue
            self._add(fields, queue, offset, found, batch)
            offset = found.next_offset
            if found.count or offset >= found.max_offset:
                break
        else:
            batch.more = True
        batch.rest += max(end - offset, 0)

    def _begin(self, queue: GroupQueue, init_mode: int) -> int:
        topic, group, queue_id = queue
        reset = self._offsets.take_reset(group, topic, queue_id)
        if reset is not None:
            self._table.clear_queue(queue)
            self._order.clear(queue)
            self._offsets.commit(group, topic, queue_id, reset)
            return reset
        offset = self._offsets.query(group, topic, queue_id)
        if offset is None or offset < 0:
            offset = self._first_offset(topic, queue_id, init_mode)
            self._offsets.commit(group, topic, queue_id, offset)
        return max(offset, self._table.next_offset(queue))

    def _first_offset(self, topic: str, queue_id: int, init_mode: int) -> int:
        low = self._store.queues.min_offset(topic, queue_id)
        if init_mode != _NEWEST or topic.startswith(RETRY_PREFIX):
            return low
        if low <= 0 and not self._store.reads.is_cold(topic, queue_id, 0):
            return 0
        return max(self._store.queues.max_offset(topic, queue_id) - 1, 0)

    def _add(self, fields: PopMessage, queue: GroupQueue, start: int, found: Found, batch: PopBatch) -> None:
        topic, group, queue_id = queue
        offsets = _offsets(found, start)
        if fields.order:
            if offsets:
                batch.counts += self._order.popped(queue, fields, batch.pop_time, offsets)
                self._offsets.commit(group, topic, queue_id, start)
            elif found.next_offset > start:
                self._offsets.commit(group, topic, queue_id, found.next_offset)
        else:
            key = Key(topic, group, queue_id, start, batch.pop_time)
            if offsets and key in self._table:
                return  # after a reset within the same millisecond
            if found.next_offset > start:
                self._check_points.add(
                    CheckPoint(
                        key, fields.invisible_time, tuple(offsets), batch.revive_queue, found.next_offset
                    ).by_steady(self._check_points.steady.ahead_ms())
                )
        self._offsets.pulled(group, topic, queue_id, found.next_offset)
        if not offsets:
            return
        mark = retry_mark(topic)
        parts = found.parts
        if topic != fields.topic:
            parts, offsets = self._as_original(fields, found, start, batch, mark)
        if not offsets:
            return
        batch.parts += parts
        batch.count += len(offsets)
        batch.starts.append(queue_text(mark, queue_id, start))
        batch.offsets.append(message_offsets_text(mark, queue_id, offsets))
        self._counts.got(group, topic, len(offsets), found.size_bytes)

    def _as_original(
        self, fields: PopMessage, found: Found, start: int, batch: PopBatch, mark: str
    ) -> tuple[list[Body], list[int]]:
        """Messages of a retry topic, as those of the topic that was asked for, with handles in them.

        Returns their queue offsets, too: those with no room for a handle are left out.
        """
        parts: list[Body] = []
        offsets: list[int] = []
        for part in found.parts:
            for message in decode_records(part):
                handle = ReceiptHandle(
                    start, batch.pop_time, fields.invisible_time, batch.revive_queue, mark,
                    self._broker_name, message.queue_id, message.queue_offset,
                )  # fmt: skip
                try:
                    parts.append(_as_popped(message, fields.topic, handle))
                except MqframeError as problem:
                    # It comes again until it is a dead letter; the others of this pop come now.
                    self._left_out.note(TASK, place_of(message), problem)
                else:
                    offsets.append(message.queue_offset)
        return parts, offsets


def _as_popped(message: ReceivedMessage, topic: str, handle: ReceiptHandle) -> bytes:
    properties = encode_properties({**message.properties, POP_CHECK_POINT: handle.text}).encode()
    if len(properties) > PROPERTIES_BYTES_MAX:
        raise MessageError(f"its properties leave no room for a handle of {len(handle.text)} characters")
    place = (topic, message.queue_id, message.queue_offset)
    return copy_record(message, place, message.commit_log_offset, properties)


def _offsets(found: Found, start: int) -> Sequence[int]:
    """The queue offsets of the records that were found."""
    if found.next_offset - start == found.count:
        return range(start, found.next_offset)
    offsets = []
    for part in found.parts:
        view = memoryview(part)
        at = 0
        while at < len(view):
            offsets.append(_OFFSET.unpack_from(view, at + _QUEUE_OFFSET_AT)[0])
            at += _SIZE.unpack_from(view, at)[0]
    return offsets
