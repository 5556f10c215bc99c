"""The revive log: topic rmq_sys_REVIVE_LOG_<cluster>, in the form of Apache RocketMQ.

A check point that stays in flight is written here, and so is what becomes of its messages, so that a broker
that starts again knows what it had given away. There the timer delivers these records when they are due;
here they are written at once and read only after a start, so nothing comes early or late. What memory
has no room for goes the reference's way, and so whatever appears in the topic is read and heeded, be it from
a store that another broker kept.

The group CID_RMQ_SYS_REVIVE_GROUP stands at the last record that nobody needs any more. A check point that
holds it back for long is written once more at the end, with what is done by then: so a start reads at most
about twice as many records as there are check points.

Sources: PopMessageProcessor.buildCkMsg, PopBufferMergeService.putAckToStore, PopReviveService.java.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Final

from mqframe.core.clock import SteadyClock
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.measuring.family import Labels, key_in
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import normal_topic
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.left_out import MessagePlace, place_of
from mqframe.core.storage.record import RecordError, decode_records
from mqframe.core.storage.stored import Stored
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.hooks.interfaces import BrokerPort
from mqframe.log import get_logger
from mqframe_pop.rules.bodies import AckBody, CheckPointBody
from mqframe_pop.rules.check_point import CheckPoint, Kept, key_of
from mqframe_pop.rules.check_point_table import CheckPointTable

log = get_logger("broker")

QUEUES: Final = 8
REVIVE_GROUP: Final = "CID_RMQ_SYS_REVIVE_GROUP"
CHECK_POINT: Final = "ck"
ACK: Final = "ack"
BATCH_ACK: Final = "bAck"
_METRIC_TYPES: Final = {CHECK_POINT: "CK", ACK: "ACK", BATCH_ACK: "ACK"}
BEHIND_MAX: Final = 10_000
"""Records behind the end, besides twice as many as are needed, after which a check point is written again."""
FOREIGN_GRACE_MS: Final = 3_000
"""How long the acknowledgements of a check point that a timer delivered may come after it."""
_READ_MESSAGES: Final = 256
TASK: Final = "reading the revive log"


class ReviveLog:
    """Writes and reads the revive log of one broker; `table` is brought up to date by what is read."""

    def __init__(self, port: BrokerPort, table: CheckPointTable) -> None:
        self._store, self._writer, self._left_out = port.store, port.writer, port.left_out
        self.topic = f"rmq_sys_REVIVE_LOG_{port.identity.cluster}"
        self.table = table
        self._offsets = port.offsets
        self._clock = port.clock
        self.steady = SteadyClock(port.clock)
        self._broker_name = port.identity.name
        self._read_to = [0] * QUEUES
        self.written: Counter[Labels | None] = Counter()
        """Records written since the start, by group, topic and what they are."""
        # Check points by the place of their newest record; those that are gone are dropped from the left.
        self._needed: list[deque[tuple[int, CheckPoint]]] = [deque() for _ in range(QUEUES)]
        # Places of check points that the disk does not hold yet.
        self._unconfirmed: list[deque[int]] = [deque() for _ in range(QUEUES)]

    def load(self) -> None:
        """Read everything that may still be needed. What is due already is in the table at once."""
        for queue_id in range(QUEUES):
            last = self._offsets.query(REVIVE_GROUP, self.topic, queue_id)
            end = self._store.queues.max_offset(self.topic, queue_id)
            if last is not None and last >= end:
                # It names a record that a crash took; the next one that is stored there is not done with.
                last = end - 1
                self._offsets.commit(REVIVE_GROUP, self.topic, queue_id, last)
            self._read_to[queue_id] = 0 if last is None else max(last + 1, 0)
            self._read(queue_id, end, grace_ms=0)
        if len(self.table):
            log.info("messages that were popped before are still in flight", check_points=len(self.table))

    def arrived(self, queue_id: int, end: int) -> None:
        """The revive log's queue ends at `end` now: read what this broker did not write itself."""
        if 0 <= queue_id < QUEUES and end > self._read_to[queue_id]:
            self._read(queue_id, end, grace_ms=FOREIGN_GRACE_MS)

    def behind(self, queue_id: int) -> tuple[int, int]:
        """How many records of one of its queues are not read yet, and since when the first waits, ms."""
        at = self._read_to[queue_id]
        records = max(0, self._store.queues.max_offset(self.topic, queue_id) - at)
        stored = self._store.queues.store_time_at(self.topic, queue_id, at) if records else None
        return records, 0 if stored is None else max(0, self._clock.now_ms() - stored)

    def write(self, point: CheckPoint, then: Callable[[bool], object]) -> None:
        """Write a check point down; `then` is called, now or later, with whether it is durable.

        Raises `Refusal` when the store takes nothing.
        """
        point.write()
        try:
            stored = self._put(
                point, CHECK_POINT, dumps(point.body(self._broker_name)), point.revive_at - 1000
            )
        except Refusal:
            point.refuse()
            raise
        unconfirmed = self._unconfirmed[point.revive_queue]
        unconfirmed.append(stored.queue_offset)

        def confirmed(durable: bool) -> None:
            unconfirmed.remove(stored.queue_offset)
            if durable:
                point.confirm(stored.queue_offset)
                self._needed[point.revive_queue].append((stored.queue_offset, point))
            else:
                point.refuse()
            then(durable)

        self._store.confirming.when_confirmed(stored.end_offset, confirmed)

    def hand_over(self, point: CheckPoint, then: Callable[[bool], object]) -> None:
        """Let the broker's timer keep a check point, as the reference does: it appears here when it is due.

        Raises `Refusal` when the store takes nothing, or the timer does not keep anything for that long.
        """
        stored = self._put(
            point, CHECK_POINT, dumps(point.body(self._broker_name)), point.revive_at - 1000, timed=True
        )
        self._store.confirming.when_confirmed(stored.end_offset, then)

    def acknowledge_handed_over(self, point: CheckPoint) -> None:
        """Let the timer keep the end of a check point that it keeps: what of `point` is done.

        Raises `Refusal` as `hand_over` does.
        """
        self._put_acknowledgement(point, point.take_unwritten(), timed=True)

    def write_acknowledgements(self, point: CheckPoint) -> None:
        """Write down which messages of a check point in the revive log are done since the last time.

        Raises `Refusal` when the store takes nothing.
        """
        before = point.written
        offsets = point.take_unwritten()
        if not offsets:
            return
        try:
            stored = self._put_acknowledgement(point, offsets)
        except Refusal:
            point.written = before
            raise

        def confirmed(durable: bool) -> None:
            if not durable:
                point.written = before
            self.table.written(point)

        self._store.confirming.when_confirmed(stored.end_offset, confirmed)

    def commit(self) -> None:
        """Move the revive log's own offsets past what nobody needs; write again what holds them back.

        Raises `Refusal` when the store takes nothing.
        """
        for queue_id in range(QUEUES):
            needed = self._needed[queue_id]
            # A check point that is being written is needed once it is durable: the offset may not pass it
            # before, for after a crash its record might be read by nobody, though it got to the disk.
            end, unconfirmed = self._read_to[queue_id], self._unconfirmed[queue_id]
            if unconfirmed:
                end = min(end, unconfirmed[0])
            # Records of check points that are done, or were written anew further behind, are needed no more.
            while needed and (needed[0][1].gone or needed[0][1].revive_offset != needed[0][0]):
                needed.popleft()
            # One check point that stays open for hours would hold the offset back, and the next start would
            # read all that was written since. It is cheaper to write the few that are open once more. Twice
            # as many records as are needed may lie between, or the copies themselves would soon be too far
            # behind, and be copied again and again.
            if needed and end - needed[0][0] > BEHIND_MAX:
                needed = deque(each for each in needed if not each[1].gone)
                self._needed[queue_id] = needed
                self._write_again(needed, end - BEHIND_MAX - 2 * len(needed))
            # The stored offset names the last record that is done with, as RocketMQ's readers of it expect.
            last = (needed[0][0] if needed else end) - 1
            if last >= 0 and self._offsets.query(REVIVE_GROUP, self.topic, queue_id) != last:
                self._offsets.commit(REVIVE_GROUP, self.topic, queue_id, last)

    def _write_again(self, needed: deque[tuple[int, CheckPoint]], before: int) -> None:
        for _ in range(len(needed)):
            offset, point = needed[0]
            if offset >= before or point.kept is not Kept.LOGGED:
                return
            self.write(point, partial(self._written_again, point))
            if point.revive_offset != offset:
                needed.popleft()

    def _written_again(self, point: CheckPoint, durable: bool) -> None:
        self.table.written(point)

    def _put_acknowledgement(self, point: CheckPoint, offsets: list[int], *, timed: bool = False) -> Stored:
        tag = BATCH_ACK if len(offsets) > 1 else ACK
        body = dumps(point.acknowledgement(offsets, self._broker_name))
        what = f"[{', '.join(map(str, offsets))}]" if len(offsets) > 1 else str(offsets[0])
        return self._put(point, tag, body, point.visible_at, what=what, timed=timed)

    def _put(
        self,
        point: CheckPoint,
        tag: str,
        body: bytes,
        deliver_ms: int,
        *,
        what: str = "",
        timed: bool = False,
    ) -> Stored:
        key, queue_id = point.key, point.revive_queue
        name = f"{key.topic}@{key.queue_id}@{what or key.start_offset}@{key.group}@{key.pop_time}"
        # The timer lets a delay pass by the monotonic clock; others see a time.
        wait = {p.TIMER_DELAY_MS: str(max(0, deliver_ms - self.steady.now_ms()))}
        time = {p.TIMER_DELIVER_MS: str(deliver_ms + self.steady.ahead_ms())}
        properties = (wait if timed else time) | {
            p.TAGS: tag,
            p.UNIQUE_KEY: f"{name}@{tag}" if tag == BATCH_ACK else f"{name}@{self._broker_name}@{tag}",
        }
        born = self._clock.now_ms()
        stored = self._writer.put(
            self.topic, queue_id, body, properties, born_timestamp=born, heed_delay=timed
        )
        labels = key.group, normal_topic(key.topic, key.group), _METRIC_TYPES[tag]
        self.written[key_in(self.written, labels)] += 1
        # Own records need not be read; a foreign one in between shows as a gap, and then all are.
        if not timed and stored.queue_offset == self._read_to[queue_id]:
            self._read_to[queue_id] += 1
        return stored

    async def flushed(self) -> None:
        """Return once all that was written is durable, or the store's patience is over."""
        await self._store.confirming.until_confirmed(self._store.log.max_offset)

    def when_read(self, then: Callable[[bool], object]) -> None:
        """Call `then`, now or later, once all that is stored by now is durable and, of the revive log, read.

        It gets False when the store's patience was over before.
        """

        def confirmed(durable: bool) -> None:
            if durable:
                self._store.dispatch.now()
            then(durable)

        self._store.confirming.when_confirmed(self._store.log.max_offset, confirmed)

    def _read(self, queue_id: int, end: int, grace_ms: int) -> None:
        at = self._read_to[queue_id]
        while at < end:
            found = self._store.reads.get(self.topic, queue_id, at, _READ_MESSAGES, bytes_max=1 << 20)
            if found.status is GetStatus.FOUND:
                try:
                    messages = [message for part in found.parts for message in decode_records(part)]
                except RecordError:
                    messages = self._read_singly(queue_id, at, found.next_offset)
                for message in messages:
                    self._left_out.attempt(
                        TASK, place_of(message), partial(self._take, message, queue_id, grace_ms)
                    )
            if found.next_offset <= at:
                break
            at = found.next_offset
        self._read_to[queue_id] = max(at, self._read_to[queue_id])

    def _read_singly(self, queue_id: int, start: int, end: int) -> list[ReceivedMessage]:
        """The records of a stretch of which one, at least, is none."""
        messages: list[ReceivedMessage] = []

        def read() -> None:
            for part in self._store.reads.get(self.topic, queue_id, at, 1).parts:
                messages.extend(decode_records(part))

        for at in range(start, end):
            self._left_out.attempt(TASK, MessagePlace(self.topic, queue_id, at, -1), read)
        return messages

    def _take(self, message: ReceivedMessage, queue_id: int, grace_ms: int) -> None:
        if message.tag == CHECK_POINT:
            self._take_check_point(
                decode(message.body, CheckPointBody), message.queue_offset, queue_id, grace_ms
            )
        elif message.tag in (ACK, BATCH_ACK):
            self._take_acknowledgement(decode(message.body, AckBody))

    def _take_check_point(self, body: CheckPointBody, offset: int, queue_id: int, grace_ms: int) -> None:
        point = CheckPoint.restored(body, queue_id, offset, self.steady.now_ms(), self.steady.ahead_ms())
        if point is None:
            raise BodyError("a check point that no pop made")
        known = self.table.find(point.key)
        if known is None:
            point.revive_at += grace_ms
            self.table.restore(point)
            known = self.table.find(point.key)
        elif known.revive_offset < offset:
            self.table.restore(point)
        if known is not None:
            self._needed[queue_id].append((known.revive_offset, known))

    def _take_acknowledgement(self, body: AckBody) -> None:
        key = key_of(body)
        point = None if key is None else self.table.find(key)
        if point is None:
            return  # all of it was done before
        offsets = body.offsets or [body.offset]
        self.table.finish(point, offsets)
        point.take_unwritten()
        self.table.written(point)
