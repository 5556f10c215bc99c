"""The half queue and its op queue in the store: reading, writing, and what a restart finds in them.

Source: TransactionalMessageBridge.java.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, cast

from mqframe.core.delay.options import DELAY_NAMES
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.left_out import MessagePlace, place_of
from mqframe.core.storage.outcome import Outcome
from mqframe.core.storage.record import RecordError, decode_record, decode_records
from mqframe.core.storage.stored import Stored
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces import BrokerPort
from mqframe.log import get_logger
from mqframe_transactions.broker.half_delivery import Delivered, HalfDelivery, committed_flag
from mqframe_transactions.rules.half_ages import HalfAges
from mqframe_transactions.rules.half_batch import OP_RECORD_BYTES_MAX, stands_for
from mqframe_transactions.rules.half_rules import (
    CHECK_GROUP,
    REMOVE_TAG,
    copy_properties,
    op_body,
    parse_op,
    real_place,
    root_of,
)
from mqframe_transactions.rules.half_table import HalfTable

log = get_logger("broker")

READ_MESSAGES: Final = 32
TASK: Final = "transactions"
_READ_OPS: Final = 1024
_COPY_MARK: Final = f"{p.PREPARED_QUEUE_OFFSET}{p.NAME_END}".encode()
_OP_PROPERTIES: Final = {p.WAIT: "true", p.TAGS: REMOVE_TAG}
_OP_TEXT: Final = p.encode_properties(_OP_PROPERTIES).encode()
_ONE_BY_ONE: Final = DELAY_NAMES | {p.HALF_BATCH, p.PREPARED_QUEUE_OFFSET}
"""A half with one of these becomes another message than its record says, or several."""


class StoresCommits(Protocol):
    """`Commits` of `mqframe-speedups`, which a service offers as "speedups.commits"."""

    def __call__(
        self,
        half: bytes,
        goal: tuple[str, int, int],
        op_goal: tuple[str, int],
        op: tuple[bytes, bytes],
        room_bytes: int,
        /,
    ) -> tuple[Stored, Stored] | None:
        """Store the message that `half`, a whole record, becomes, and an op message behind it, in one file.

        `goal`: topic, queue and flag of the system of the message; `op_goal`: topic and queue of the other;
        `op`: its body and properties; `room_bytes`: without so many in its file the log turns to the next.
        What was stored, `None`: nothing, for whatever reason; how both are stored then says which.
        """


class HalfQueue:
    """Queue 0 of both topics. `table`: which halves are open."""

    def __init__(self, port: BrokerPort) -> None:
        self._left_out = port.left_out
        self._store = port.store
        self._offsets = port.offsets
        self._writer = port.writer
        self._clock = port.clock
        self._in_force = port.in_force
        self._last_end = 0
        self._kept = (-1, -1)
        self._delivery = HalfDelivery(port.writer)
        self._cut_off: dict[int, int] = {}
        self._offered = port.offered
        self._commits: StoresCommits | None = None
        self.table = HalfTable()
        self.ages = HalfAges(port.clock, self.end)

    @property
    def keep_ms(self) -> int:
        """Age beyond which nobody is asked for an end any more."""
        return self._in_force.keep_hours * 3_600_000

    @property
    def end(self) -> int:
        """Queue offset behind the last half."""
        return self._store.queues.max_offset(HALF_TOPIC, 0)

    # Reading

    def at(self, commit_log_offset: int) -> ReceivedMessage | None:
        """The message that begins at this log offset, whatever its topic; `None` when none does."""
        record = self.record_at(commit_log_offset)
        return None if record is None else decode_record(record)

    def record_at(self, commit_log_offset: int) -> bytes | None:
        """Its record.

        Also one that is not confirmed yet: what is decided about it lies behind it in the log, and would be
        lost with it.
        """
        if commit_log_offset < self._store.log.min_offset:
            return None
        return self._store.search.record_at(commit_log_offset, unconfirmed=True)

    async def read(self, offset: int) -> list[ReceivedMessage]:
        """Halves from queue offset `offset` on, at most `READ_MESSAGES`; none at the queue's end."""
        halves, _ = await self._messages(HALF_TOPIC, offset, READ_MESSAGES)
        return halves

    def attempt(self, half: ReceivedMessage, work: Callable[[], object]) -> None:
        """Do `work` on `half`, as `LeftOut.attempt` does."""
        self._left_out.attempt(TASK, place_of(half), work)

    async def recover(self) -> None:
        """Make the table from both queues, from the stored offsets on; the loop has its turns in between."""
        self._commits = cast("StoresCommits | None", self._offered("speedups.commits"))
        half, op = self._cursor(HALF_TOPIC), self._cursor(OP_HALF_TOPIC)
        self.table = table = HalfTable(half, op)
        end = self.end
        self.ages = HalfAges(self._clock, end)
        while half < end:
            # Most stretches hold no copy, which is seen without taking their records apart.
            found, next_offset = await self._messages(HALF_TOPIC, half, READ_MESSAGES, having=_COPY_MARK)
            for copy in (each for each in found if p.PREPARED_QUEUE_OFFSET in each.properties):
                table.found_copy(copy.queue_offset, root_of(copy))
            half = max(next_offset, half + 1)
            await asyncio.sleep(0)
        while op < self._store.queues.max_offset(OP_HALF_TOPIC, 0):
            found, next_offset = await self._messages(OP_HALF_TOPIC, op, _READ_OPS)
            for message in found:
                self._found_op(message, end)
            op = max(next_offset, op + 1)
            await asyncio.sleep(0)
        table.settle()
        self._complete()
        table.advance(end)

    def _complete(self) -> None:
        """Finish the commit that a crash interrupted: its messages, or the first of them, end the log.

        Messages and op message of one commit lie next to each other, so only the last commit can be without.
        """
        found: dict[int, list[ReceivedMessage]] = {}
        for offset in self._store.recovered.last_commits:
            message = self.at(offset)
            if message is not None:
                found.setdefault(message.prepared_transaction_offset, []).append(message)
        for prepared_at, delivered in found.items():
            try:
                self._complete_one(prepared_at, delivered)
            except Exception as problem:  # isolation boundary: the next end of it goes on from there
                log.error("a commit cannot be completed now", half_at=prepared_at, problem=str(problem))

    def _complete_one(self, prepared_at: int, delivered: list[ReceivedMessage]) -> None:
        half = self.at(prepared_at)
        if half is None or half.topic != HALF_TOPIC or self.table.place(root_of(half)) is None:
            return
        if stands_for(half, delivered):
            self._cut_off[root_of(half)] = len(delivered)
            log.warning(
                "a crash interrupted a commit; it is completed",
                transaction=half.message_id, delivered=len(delivered),
            )  # fmt: skip
            self.commit(half)

    async def _messages(
        self, topic: str, offset: int, count: int, *, having: bytes = b""
    ) -> tuple[list[ReceivedMessage], int]:
        """Messages of a queue from `offset` on, those of stretches that hold `having`, and where to go on.

        What cannot be read is left out.
        """
        parts, following = await self._parts(topic, offset, count)
        wanted = [part for part in parts if having in bytes(part)]
        try:
            return [message for part in wanted for message in decode_records(part)], following
        except RecordError:
            messages: list[ReceivedMessage] = []
            for at in range(offset, following):
                parts, _ = await self._parts(topic, at, 1)
                read = partial(_append_all, messages, parts)
                self._left_out.attempt(TASK, MessagePlace(topic, 0, at, -1), read)
            return messages, following

    async def _parts(self, topic: str, offset: int, count: int) -> tuple[list[Body], int]:
        if self._store.reads.is_cold(topic, 0, offset):
            found = await self._store.reads.get_cold(topic, 0, offset, count)
        else:
            found = self._store.reads.get(topic, 0, offset, count)
        return (found.parts if found.status is GetStatus.FOUND else []), found.next_offset

    def _cursor(self, topic: str) -> int:
        low, high = self._store.queues.bounds(topic, 0)
        return min(max(self._offsets.query(CHECK_GROUP, topic, 0) or 0, low), high)

    def _found_op(self, message: ReceivedMessage, half_end: int) -> None:
        named: list[int] = []
        if message.tag == REMOVE_TAG:
            named = parse_op(message.stored_body)
        else:
            log.warning("op message with an unknown tag", tag=message.tag, offset=message.queue_offset)
        self.table.found_op(message.queue_offset, named, half_end)

    # Writing

    def commit(self, half: ReceivedMessage, record: bytes = b"") -> Delivered:
        """Store the messages that `half` stands for, then end its transaction; returns what was stored.

        `record`: all of its bytes, where they are known. Raises `Refusal` when they cannot be stored; it
        stays open then.
        """
        root = root_of(half)
        delivered = self._committed_at_once(half, root, record)
        if delivered is None:
            delivered = self._delivery.deliver(half, self._cut_off.get(root, 0))
            self._last_end = max(self._last_end, delivered.end)
            self._cut_off.pop(root, None)
            self.close(half)
        return delivered

    def _committed_at_once(self, half: ReceivedMessage, root: int, record: bytes) -> Delivered | None:
        """As `commit`, of a half that is a plain message, by compiled code; `None`: nothing was done."""
        commits = self._commits
        if (
            commits is None
            or not record
            or root in self._cut_off
            or not _ONE_BY_ONE.isdisjoint(half.properties)
        ):
            return None
        offset, place = self.table.place(root), real_place(half.properties)
        if offset is None or place is None:
            return None
        goal, room = (*place, committed_flag(half)), half.store_size + OP_RECORD_BYTES_MAX
        both = commits(record, goal, (OP_HALF_TOPIC, 0), (op_body(offset), _OP_TEXT), room)
        if both is None:
            return None
        message, op = both
        self.table.close(root)
        self.ages.closed(root)
        self._stored_op(op, offset)
        return Delivered(place[0], 1, message.size, message.end_offset)

    def close(self, half: ReceivedMessage) -> None:
        """End the transaction of `half`, whose messages are stored; for good once its op message is, too."""
        root = root_of(half)
        offset = self.table.close(root)
        if offset is None:
            return
        self.ages.closed(root)
        try:
            self._stored_op(self._put_op(offset), offset)
        except Refusal as refusal:
            # What it is about is settled; only a restart before the next check would ask again.
            log.error("op message was not stored", half=offset, reason=refusal.remark)

    def roll_back(self, half: ReceivedMessage) -> None:
        """End the transaction of `half` without its messages.

        Raises `Refusal` when that cannot be stored; it stays open then.
        """
        offset = self.table.place(root_of(half))
        if offset is not None:
            stored = self._put_op(offset)
            self.table.close(root_of(half))
            self.ages.closed(root_of(half))
            self._stored_op(stored, offset)

    def _put_op(self, offset: int) -> Stored:
        now = self._clock.now_ms()
        return self._writer.put(OP_HALF_TOPIC, 0, op_body(offset), dict(_OP_PROPERTIES), born_timestamp=now)

    def _stored_op(self, stored: Stored, offset: int) -> None:
        self.table.stored_op(stored.queue_offset, offset)
        self._last_end = stored.end_offset

    def put_back(self, half: ReceivedMessage, times: int | None = None) -> tuple[Stored, dict[str, str]]:
        """Store `half` again at the end of its queue; returns where, and with which properties.

        `times`: how often it was asked for from now on. Raises `Refusal`; nothing changed then.
        """
        properties = copy_properties(half, times)
        self.ages.moved(half)
        stored = self.put(HALF_TOPIC, half, properties)
        self.table.move(root_of(half), stored.queue_offset)
        return stored, properties

    def put(self, topic: str, half: ReceivedMessage, properties: dict[str, str]) -> Stored:
        """Store `half` with other properties in queue 0 of `topic`. Raises `Refusal`."""
        stored = self._delivery.put(topic, 0, half, properties, half.sys_flag)
        self._last_end = stored.end_offset
        return stored

    def advance(self) -> None:
        """Pass what has ended, and keep both offsets once all that they count on is durable."""
        table = self.table
        table.skip_to(self._store.queues.min_offset(HALF_TOPIC, 0))
        table.advance(self.end)
        self.ages.passed(table.half_cursor)
        half, op = table.half_cursor, table.op_cursor
        if (half, op) == self._kept:
            return

        def keep(durable: bool) -> None:
            if durable:
                self._kept = (half, op)
                self._offsets.commit(CHECK_GROUP, HALF_TOPIC, 0, half)
                self._offsets.commit(CHECK_GROUP, OP_HALF_TOPIC, 0, op)

        self.when_durable(keep)

    def when_durable(self, callback: Callable[[bool], object]) -> None:
        """Call `callback` once all that was written here is durable, or with False when it did not get so."""
        self._store.confirming.when_confirmed(self._last_end, callback)

    def when_decided(self, callback: Callable[[Outcome], object]) -> None:
        """As `when_durable`, with why it is not durable."""
        self._store.confirming.when_decided(self._last_end, callback)


def _append_all(messages: list[ReceivedMessage], parts: list[Body]) -> None:
    for part in parts:
        messages.extend(decode_records(part))
