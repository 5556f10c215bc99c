"""Taking messages out of queues for a group whose progress the broker keeps.

Source: PopMessageProcessor.popMsgFromQueue.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from random import randrange
from typing import Final

from mqframe.broker.filters import Wanted
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.pop_keeper import PopKeeper
from mqframe.broker.pop_order import OrderKeeper
from mqframe.broker.pop_revival import PopRevival
from mqframe.broker.statistics import Statistics
from mqframe.core.bodies import TopicConfig
from mqframe.core.clock import Clock
from mqframe.core.frame import Body
from mqframe.core.group_table import GroupTable
from mqframe.core.host import encode_host
from mqframe.core.message import ReceivedMessage
from mqframe.core.offset_table import OffsetTable
from mqframe.core.pop_check_point import CheckPoint, Key
from mqframe.core.pop_handle import (
    ORDER_REVIVE_QUEUE,
    ReceiptHandle,
    message_offsets_text,
    pop_retry_topic,
    retry_mark,
    start_offset_text,
)
from mqframe.core.properties import POP_CHECK_POINT, encode_properties
from mqframe.core.record import decode_records, encode_record
from mqframe.core.requests.pop import PopMessage
from mqframe.core.topic_table import TopicTable
from mqframe.core.topics import RETRY_PREFIX
from mqframe.store.incoming import Found, GetStatus
from mqframe.store.message_store import MessageStore

READS_MAX: Final = 8
"""Reads of one queue for one pop, while they pass messages that nobody wants."""
_NEWEST: Final = 1
_CORRECTED: Final = (
    GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY, GetStatus.OFFSET_FOUND_NULL,
)  # fmt: skip
_SIZE: Final = struct.Struct(">i")
_OFFSET: Final = struct.Struct(">q")
_QUEUE_OFFSET_AT: Final = 20


class Taken:
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


class Taker:
    """Reads queues for pops and enters check points for what it gives away."""

    def __init__(
        self,
        store: MessageStore,
        topics: TopicTable,
        groups: GroupTable,
        offsets: OffsetTable,
        keeper: PopKeeper,
        order: OrderKeeper,
        revival: PopRevival,
        live: LiveSettings,
        statistics: Statistics,
        clock: Clock,
        broker_name: str,
    ) -> None:
        self._store = store
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._keeper = keeper
        self._order = order
        self._revival = revival
        self._live = live
        self._statistics = statistics
        self._clock = clock
        self._broker_name = broker_name
        self._pops = 0
        self._locked: set[tuple[str, str, int]] = set()

    def take(self, fields: PopMessage, topic: TopicConfig, wish: Wanted, first_queue: int = -1) -> Taken:
        """Everything that can be given now. `first_queue`: where to begin, -1: anywhere.

        When the first thing to give has to be read from the disk, nothing is taken and `cold` is set.
        """
        settings = self._live.current
        if fields.order:
            revive_queue = ORDER_REVIVE_QUEUE
        else:
            revive_queue = self._pops % 8
            self._pops += 1
        taken = Taken(self._clock.now_ms(), revive_queue)
        start = randrange(100) if first_queue < 0 else first_queue
        retry = [] if fields.order else self._retry_topics(fields)
        retry_first = bool(retry) and randrange(100) < settings.pop_retry_percent
        if retry_first:
            self._take_topics(fields, retry, wish, taken, start)
        if fields.queue_id >= 0:
            self._take_queue(fields, str(topic.topic_name), fields.queue_id, wish, taken)
        else:
            self._take_topics(fields, [topic], wish, taken, start)
        if not retry_first:
            self._take_topics(fields, retry, wish, taken, start)
        return taken

    async def take_cold(self, fields: PopMessage, wish: Wanted, taken: Taken) -> None:
        """Read the queue in `taken.cold` in a thread, and take what is there."""
        assert taken.cold is not None
        topic, queue_id, offset = taken.cold
        lane = (topic, fields.consumer_group, queue_id)
        if lane in self._locked:
            return
        self._locked.add(lane)
        try:
            count, size = fields.max_msg_nums, self._live.current.cold_pull_bytes_max
            found = await self._store.get_cold(
                topic, queue_id, offset, count, codes=wish.codes, records=wish.records, bytes_max=size
            )
        finally:
            self._locked.discard(lane)
        self._give(fields, lane, offset, found, taken)
        taken.rest += max(found.max_offset - found.next_offset, 0)

    def position(self, group: str, topic: str, queue_id: int) -> int:
        """Where the group's next pop of a queue would begin, for one that only looks."""
        offset = self._offsets.query(group, topic, queue_id)
        if offset is None or offset < 0:
            offset = self._store.queue_min(topic, queue_id)
        return max(offset, self._keeper.next_offset((topic, group, queue_id)))

    def queues(self, fields_topic: TopicConfig, group: str, queue_id: int) -> list[tuple[str, int]]:
        """All queues that a pop of these looks into, those of retry topics last."""
        name = str(fields_topic.topic_name)
        ids: Iterable[int] = range(fields_topic.read_queue_nums) if queue_id < 0 else (queue_id,)
        found = [(name, each) for each in ids]
        for v2 in (False, True):
            retry = self._topics.find(pop_retry_topic(name, group, v2=v2))
            if retry is not None:
                found += [(str(retry.topic_name), each) for each in range(retry.read_queue_nums)]
        return found

    def _retry_topics(self, fields: PopMessage) -> list[TopicConfig]:
        found = [
            self._topics.find(pop_retry_topic(fields.topic, fields.consumer_group, v2=v2))
            for v2 in (False, True)
        ]
        return [topic for topic in found if topic is not None]

    def _take_topics(
        self, fields: PopMessage, topics: Sequence[TopicConfig], wish: Wanted, taken: Taken, start: int
    ) -> None:
        for topic in topics:
            name, count = str(topic.topic_name), topic.read_queue_nums
            for at in range(count):
                self._take_queue(fields, name, (start + at) % count, wish, taken)
                if taken.cold is not None:
                    return

    def _take_queue(self, fields: PopMessage, topic: str, queue_id: int, wish: Wanted, taken: Taken) -> None:
        if taken.cold is not None:
            return
        group = fields.consumer_group
        lane = (topic, group, queue_id)
        offset = self._begin(lane, fields.init_mode)
        end = self._store.queue_max(topic, queue_id)
        if offset > end and self._keeper.next_offset(lane) >= 0:
            self._keeper.clear_lane(lane)  # what was popped was of a topic of this name before
            offset = self._begin(lane, fields.init_mode)
        if fields.order:
            if self._order.blocks(lane, fields.attempt_id, fields.invisible_time):
                return  # what is blocked is not counted: the end of the block wakes whoever waits
            offset = self._give_up(lane, offset)
        if offset == end:
            return
        settings = self._live.current
        if (
            taken.count >= fields.max_msg_nums
            or lane in self._locked
            or self._keeper.ledger.out(topic, group, queue_id) >= settings.pop_out_max
        ):
            taken.rest += max(end - offset, 0)
            return
        for _ in range(READS_MAX):
            count = fields.max_msg_nums - taken.count
            found = self._store.get_now(
                topic, queue_id, offset, count,
                codes=wish.codes, records=wish.records, bytes_max=settings.pull_bytes_max,
            )  # fmt: skip
            if found is None:
                if taken.count:
                    taken.rest += end - offset
                else:
                    taken.cold = (topic, queue_id, offset)
                return
            if found.status in _CORRECTED:
                self._keeper.clear_lane(lane)
                self._offsets.commit(group, topic, queue_id, found.next_offset)
                offset = found.next_offset
                continue
            self._give(fields, lane, offset, found, taken)
            offset = found.next_offset
            if found.count or offset >= found.max_offset:
                break
        else:
            taken.more = True
        taken.rest += max(end - offset, 0)

    def _give_up(self, lane: tuple[str, str, int], offset: int) -> int:
        """Bury the messages of an ordered pop that failed too often; gives where the next one begins."""
        topic, group, queue_id = lane
        config = self._groups.find(group)
        if config is None:
            return offset
        for tired in self._order.exhausted(lane, config.retry_max_times):
            self._revival.bury(topic, queue_id, tired, group)
            offset = self._order.give_up(lane, tired)
        return offset

    def _begin(self, lane: tuple[str, str, int], init_mode: int) -> int:
        topic, group, queue_id = lane
        reset = self._offsets.take_reset(group, topic, queue_id)
        if reset is not None:
            self._keeper.clear_lane(lane)
            self._order.clear(lane)
            self._offsets.commit(group, topic, queue_id, reset)
            return reset
        offset = self._offsets.query(group, topic, queue_id)
        if offset is None or offset < 0:
            offset = self._first_offset(topic, queue_id, init_mode)
            self._offsets.commit(group, topic, queue_id, offset)
        return max(offset, self._keeper.next_offset(lane))

    def _first_offset(self, topic: str, queue_id: int, init_mode: int) -> int:
        low = self._store.queue_min(topic, queue_id)
        if init_mode != _NEWEST or topic.startswith(RETRY_PREFIX):
            return low
        if low <= 0 and not self._store.is_cold(topic, queue_id, 0):
            return 0
        return max(self._store.queue_max(topic, queue_id) - 1, 0)

    def _give(
        self, fields: PopMessage, lane: tuple[str, str, int], start: int, found: Found, taken: Taken
    ) -> None:
        topic, group, queue_id = lane
        offsets = _offsets(found, start)
        if fields.order:
            if offsets:
                taken.counts += self._order.give(lane, fields, taken.pop_time, offsets)
                self._offsets.commit(group, topic, queue_id, start)
            elif found.next_offset > start:
                self._offsets.commit(group, topic, queue_id, found.next_offset)
        else:
            key = Key(topic, group, queue_id, start, taken.pop_time)
            if offsets and key in self._keeper.ledger:
                return  # after a reset within the same millisecond
            if found.next_offset > start:
                revive_queue = taken.revive_queue
                self._keeper.add(
                    CheckPoint(key, fields.invisible_time, tuple(offsets), revive_queue, found.next_offset)
                )
        self._offsets.pulled(group, topic, queue_id, found.next_offset)
        if not offsets:
            return
        mark = retry_mark(topic)
        taken.count += len(offsets)
        taken.starts.append(start_offset_text(mark, queue_id, start))
        taken.offsets.append(message_offsets_text(mark, queue_id, offsets))
        if topic == fields.topic:
            taken.parts += found.parts
        else:
            taken.parts += self._as_original(fields, found, start, taken, mark)
        self._statistics.got(group, topic, len(offsets), found.size_bytes)

    def _as_original(
        self, fields: PopMessage, found: Found, start: int, taken: Taken, mark: str
    ) -> list[Body]:
        """Messages of a retry topic, as those of the topic that was asked for, with handles in them."""
        parts: list[Body] = []
        for part in found.parts:
            for message in decode_records(part):
                handle = ReceiptHandle(
                    start, taken.pop_time, fields.invisible_time, taken.revive_queue, mark,
                    self._broker_name, message.queue_id, message.queue_offset,
                )  # fmt: skip
                properties = {**message.properties, POP_CHECK_POINT: handle.text}
                parts.append(_encode(message, fields.topic, encode_properties(properties).encode()))
        return parts


def _encode(message: ReceivedMessage, topic: str, properties: bytes) -> bytes:
    return encode_record(
        topic=topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        physical_offset=message.commit_log_offset,
        body=message.stored_body,
        properties=properties,
        born_timestamp=message.born_timestamp,
        born_host=encode_host(message.born_host),
        store_timestamp=message.store_timestamp,
        store_host=encode_host(message.store_host),
        flag=message.flag,
        sys_flag=message.sys_flag,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
    )


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
