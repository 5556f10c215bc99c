"""Queues that a subscriber names, instead of sharing those of a topic with a group.

The reader is no member of the group: whatever members there are, none gives up a queue for it. Under the
group's name it keeps how far it is, as members do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from mqframe import (
    AsyncPuller,
    ConsumeResult,
    DecodeError,
    ListenerContext,
    MessageQueue,
    MqframeError,
    ReceivedMessage,
)
from mqframe.core.consuming.consume_rules import OnDecodeError
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import BodyUnreadable, RouteError
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.requests.messages import ConsumerSendMsgBack
from mqframe.core.retry.backoff import suspend_seconds
from mqframe.core.sending.request_reply import is_expired, is_request
from mqframe.log import get_logger
from mqframe_faststream.connection import Connection
from mqframe_faststream.consuming.options import SubscriberPlan
from mqframe_faststream.errors import OptionError
from mqframe_faststream.message import DEAD_LEVEL

log = get_logger("faststream")

WAIT_SECONDS: Final = 15.0
"""How long a broker may wait for the next message of a queue."""
AGAIN_SECONDS: Final = 1.0
"""Before a queue is read again whose broker did not answer, in spite of the patience of pulls."""


class ReadingSubscriber(Protocol):
    """A subscriber, as whoever brings messages to it knows it."""

    @property
    def subscription(self) -> SubscriberPlan:
        """What it wants."""

    @property
    def topic(self) -> str:
        """Its topic, prefixes included."""

    @property
    def group(self) -> str:
        """Its group."""

    @property
    def queues(self) -> Mapping[MessageQueue, int | None]:
        """The queues that it names, each with the offset where it is to begin."""

    async def listen(self, messages: Any, context: Any) -> Any:
        """The listener."""

    def share_tasks(self) -> None:
        """Others call it, too: from now on it minds its own number of workers."""

    async def tell(self, messages: Sequence[ReceivedMessage], problem: Exception) -> None:
        """Tell who waits for replies to those of `messages` that are requests that there will be none."""


class QueueReader:
    """Has `member` called with the messages of its queues: of each in its order, of several side by side.

    What fails is tried again in its place. `stop_seconds`: how long a stop waits for running handlers.
    """

    def __init__(self, member: ReadingSubscriber, connection: Connection, stop_seconds: float) -> None:
        self.member = member
        self._connection = connection
        self._stop_seconds = stop_seconds
        self._settings = connection.options.consumer
        self._puller = AsyncPuller(member.group, instance=connection.instance)
        self._next: dict[MessageQueue, int] = {}
        self._saved: dict[MessageQueue, int] = {}
        self._reading: dict[MessageQueue, asyncio.Task[None]] = {}
        self._busy: set[MessageQueue] = set()
        self._saving: asyncio.Task[None] | None = None
        self._stopping = False

    # Running

    async def start(self) -> None:
        """Find where the queues begin, then read. Twice does no harm.

        Raises `OptionError` for queues that the topic does not have, and what brokers' answers raise.
        """
        if self._reading:
            return
        member = self.member
        await self._connection.need_topics([member.topic])
        known = await self._puller.queues(member.topic)
        if missing := sorted(set(member.queues) - set(known)):
            raise OptionError(
                f"subscriber of topic {member.topic}: no queue {_names(missing)}; there are {_names(known)}"
            )
        member.share_tasks()
        begins = [self._beginning(queue, given) for queue, given in member.queues.items()]
        self._next = dict(zip(member.queues, await asyncio.gather(*begins), strict=True))
        for queue in self._next:
            self._reading[queue] = asyncio.ensure_future(self._read(queue))
        self._saving = asyncio.ensure_future(self._save_at_times())

    async def stop(self) -> None:
        """Read nothing more, let running handlers finish, keep how far the group is."""
        self._stopping = True
        if self._saving is not None:
            self._saving.cancel()
            await asyncio.wait({self._saving})
        for queue, task in self._reading.items():
            if queue not in self._busy:
                task.cancel()
        tasks = set(self._reading.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._stop_seconds)
            for task in late:
                task.cancel()
            await asyncio.wait(tasks)
            await self._save()

    async def _beginning(self, queue: MessageQueue, given: int | None) -> int:
        if given is not None:
            return given
        committed = await self._puller.committed(queue)
        if committed is not None:
            return committed
        begin = self.member.subscription.consume_from
        if begin == "first":
            return await self._puller.min_offset(queue)
        if begin is None or isinstance(begin, str):
            return await self._puller.max_offset(queue)
        return await self._puller.offset_at(queue, begin)

    # Reading

    async def _read(self, queue: MessageQueue) -> None:
        while not self._stopping:
            try:
                await self._read_on(queue)
            except MqframeError as problem:
                log.warning("a queue is not read", reason=str(problem), **self._fields(queue))
                await asyncio.sleep(AGAIN_SECONDS)

    async def _read_on(self, queue: MessageQueue) -> None:
        wanted = self.member.subscription
        size = wanted.max_records
        count = max(self._settings.pull_messages_max, size)
        at = self._next[queue]
        found = await self._puller.pull(queue, at, count, wanted.expression, wait=WAIT_SECONDS)
        if found.status is PullStatus.OFFSET_ILLEGAL and found.next_offset != at:
            log.warning(
                "a queue does not hold the offset, and is read elsewhere",
                offset=at,
                reads_at=found.next_offset,
                **self._fields(queue),
            )
        for first in range(0, len(found.messages), size):
            batch = list(found.messages[first : first + size])
            if not await self._settle(queue, batch):
                return
            self._next[queue] = batch[-1].queue_offset + 1
            if self._stopping:
                return
        self._next[queue] = found.next_offset

    async def _settle(self, queue: MessageQueue, messages: list[ReceivedMessage]) -> bool:
        """Have all of `messages` handled; whether they are done with, which a stop may prevent."""
        if self._settings.answers_requests:
            now_ms = self._connection.instance.clock.now_ms()
            messages = [message for message in messages if not is_expired(message, now_ms)]
        while messages:
            self._busy.add(queue)
            try:
                messages, pause = await self._handled(queue, messages)
            finally:
                self._busy.discard(queue)
            if messages:
                if self._stopping:
                    return False
                for message in messages:
                    message.reconsume_times += 1
                await asyncio.sleep(pause)
        return True

    async def _handled(
        self, queue: MessageQueue, messages: list[ReceivedMessage]
    ) -> tuple[list[ReceivedMessage], float]:
        """Call the listener once: those of `messages` that come again, and after how many seconds."""
        context = ListenerContext(queue, self.member.group)
        left: list[ReceivedMessage] = []
        try:
            result = await self.member.listen(messages, context)
        except (DecodeError, BodyUnreadable) as problem:
            await self.member.tell(messages, problem)
            left = await self._undecodable(messages, problem)
        except Exception as problem:  # re-raised by no one: it is that of a request's handler
            await self.member.tell(messages, problem)
            left = [message for message in messages if not is_request(message)]
        else:
            if result is not ConsumeResult.SUCCESS:
                left = messages
                if context.delay_level_when_next_consume == DEAD_LEVEL:
                    left = await self._bury(messages, "it was rejected")
        most = self.member.subscription.max_reconsume_times
        over = [message for message in left if most is not None and message.reconsume_times >= most]
        kept = await self._bury(over, f"it was tried {most} times again") if over else []
        pause = suspend_seconds(
            context.suspend_current_queue_time_millis, self._settings.suspend_current_queue_time_millis
        )
        return [message for message in left if message not in over or message in kept], pause

    async def _undecodable(
        self, messages: list[ReceivedMessage], problem: Exception
    ) -> list[ReceivedMessage]:
        choice = self._settings.on_decode_error
        if choice == OnDecodeError.RETRY.value:
            return messages
        if choice == OnDecodeError.DROP.value:
            log.error("dropped", reason=str(problem), **log_fields(messages, self.member.group))
            return []
        return await self._bury(messages, str(problem))

    async def _bury(self, messages: list[ReceivedMessage], reason: str) -> list[ReceivedMessage]:
        """Make dead letters of `messages`; those that were not taken."""
        left = []
        for message in messages:
            fields = log_fields([message], self.member.group)
            try:
                await self._send_back(message)
            except MqframeError as problem:
                log.error("dead letter could not be sent; it is tried again", reason=str(problem), **fields)
                left.append(message)
            else:
                log.error("a message is a dead letter", reason=reason, **fields)
        return left

    async def _send_back(self, message: ReceivedMessage) -> None:
        instance, name = self._connection.instance, message.broker_name
        address = (await instance.route(message.topic)).master_address(name)
        if address is None:
            raise RouteError(f"broker {name} has no master at the moment")
        request = ConsumerSendMsgBack(
            offset=message.commit_log_offset,
            group=self.member.group,
            delay_level=DEAD_LEVEL,
            origin_msg_id=message.message_id,
            origin_topic=message.topic,
            bname=name,
        )
        await instance.call(address, request)

    def _fields(self, queue: MessageQueue) -> dict[str, Any]:
        place = f"{queue.topic}/{queue.broker_name}/{queue.queue_id}"
        return {"queue": place, "group": self.member.group}

    # How far the group is

    async def _save_at_times(self) -> None:
        while True:
            await asyncio.sleep(self._connection.options.client.persist_offsets_seconds)
            await self._save()

    async def _save(self) -> None:
        for queue, offset in list(self._next.items()):
            if self._saved.get(queue) == offset:
                continue
            try:
                await self._puller.commit(queue, offset)
            except MqframeError as problem:
                log.warning("an offset was not saved yet", reason=str(problem), **self._fields(queue))
            else:
                self._saved[queue] = offset


def _names(queues: Sequence[MessageQueue]) -> str:
    return ", ".join(f"{queue.broker_name}/{queue.queue_id}" for queue in queues)
