"""Queues of kombu as topics with a consumer group each: made, counted, emptied, deleted."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import msgspec

from mqframe import AsyncAdmin, AsyncSimpleConsumer, ReceivedMessage, RouteError, SubscriptionGroupConfig
from mqframe.core.codes import PERM_WRITE, ResponseCode
from mqframe.core.errors import AnswerError
from mqframe.core.messages.names import dead_letter_topic, retry_topic
from mqframe_kombu.directory import Directory, QueueRecord
from mqframe_kombu.names import topic_of
from mqframe_kombu.options import TransportOptions
from mqframe_kombu.returning import Returning


class Queues:
    """The queues of one virtual host. Methods raise what `AsyncAdmin` raises.

    `now_ms`: the time, ms since 1970.
    """

    def __init__(
        self,
        admin: AsyncAdmin,
        directory: Directory,
        options: TransportOptions,
        virtual_host: str,
        now_ms: Callable[[], int],
    ) -> None:
        self._admin = admin
        self._directory = directory
        self._options = options
        self._host = virtual_host
        self._now_ms = now_ms
        self._dead_letter_topics: set[str] = set()
        self.known: dict[str, QueueRecord] = {}
        """Queues that were declared, or looked up, here."""
        self.aside: WeakKeyDictionary[AsyncSimpleConsumer, str] = WeakKeyDictionary()
        """Members of groups that are no consumers of a queue by AMQP, with their client ids."""
        self._returning = Returning(self._newest_copy)

    def topic(self, queue: str, step: int = 0) -> str:
        """The topic of the messages of `queue` whose priority is `step` or the next above."""
        return topic_of(self._options.queue_name_prefix + queue, virtual_host=self._host, step=step)

    def topics(self, queue: str, record: QueueRecord | None) -> dict[int, str]:
        """All topics of `queue` by step, the highest first."""
        steps = self._options.priority_steps if record is not None and record.max_priority else (0,)
        return {step: self.topic(queue, step) for step in sorted(steps, reverse=True)}

    async def exists(self, queue: str) -> bool:
        """Whether `queue` is there, by its topic: somebody else may have made that."""
        return await self._has_topic(self.topic(queue))

    async def record(self, queue: str) -> QueueRecord | None:
        """What `queue` was declared as, here or by others."""
        if queue not in self.known and (found := await self._directory.queue(queue)) is not None:
            self.known[queue] = found
        return self.known.get(queue)

    async def declare(self, queue: str, declared: QueueRecord) -> bool:
        """Make `queue` unless it is there. Returns whether it was made now.

        One whose users are gone is made anew, without what others had left in it. What it was declared as
        differently before is changed.
        """
        before = await self._directory.queue(queue)
        now = self._now_ms()
        if before is not None and (before.is_over(now) or await self._is_left(queue, before)):
            await self.delete(queue)
            before = None
        seen = msgspec.structs.replace(
            declared, seen=now, consumed=before is not None and before.consumed and declared.auto_delete
        )
        topics = self.topics(queue, declared)
        missing = [topic for topic in topics.values() if not await self._has_topic(topic)]
        for topic in missing:
            await self._make(topic)
        if missing or before is None or not before.same_as(declared) or declared.temporary:
            await self._directory.put_queue(queue, seen)
        self.known[queue] = seen
        return bool(missing)

    async def _is_left(self, queue: str, record: QueueRecord) -> bool:
        """Whether AMQP would have deleted the queue, as the last who consumed from it is gone."""
        # Queues of results are durable: they outlive a connection that is opened anew.
        mortal = record.auto_delete and record.consumed and not record.durable
        return mortal and await self.is_unused(queue)

    async def mark_used(self, queue: str) -> None:
        """Note that somebody who uses a temporary queue is there."""
        record = await self._directory.queue(queue) or self.known.get(queue)
        if record is None or not (record.temporary or record.auto_delete):
            return
        record = msgspec.structs.replace(record, consumed=True, seen=self._now_ms())
        self.known[queue] = record
        await self._directory.put_queue(queue, record)

    async def delete(self, queue: str) -> None:
        """Delete the topics and groups of `queue`, its bindings and what is known of it.

        Dead letters stay, but for those of temporary queues.
        """
        await self.until_back(queue)  # nothing is to come to a topic that is made anew
        record = self.known.pop(queue, None) or await self._directory.queue(queue)
        await self._directory.unbind_queue(queue)
        await self._directory.forget_queue(queue)
        topics = {*self.topics(queue, record).values(), self.topic(queue)}
        for topic in sorted(topics):
            retries = (retry_topic(topic), _again(topic))
            over = (dead_letter_topic(topic),) if record is None or record.temporary else ()
            for each in (topic, *retries, *over):
                if await self._has_topic(each):
                    await self._admin.topics.delete(each)
            await self._admin.groups.delete(topic, clean_offsets=True)
            self._returning.forget(topic)

    async def delete_over(self) -> list[str]:
        """Delete temporary queues whose users are gone. Returns their names."""
        now = self._now_ms()
        over = [name for name, record in (await self._directory.queues()).items() if record.is_over(now)]
        for queue in over:
            await self.delete(queue)
        return over

    async def is_unused(self, queue: str) -> bool:
        """Whether nobody, here or elsewhere, consumes from `queue`."""
        try:
            members = (await self._admin.members.consumers(self.topic(queue))).connection_set
        except (AnswerError, RouteError):
            return True
        return {member.client_id for member in members} <= set(self.aside.values())

    def gave_back(self, queue: str, step: int, message: ReceivedMessage) -> None:
        """A broker took `message` back: it is to be waited for where it matters."""
        if message.reconsume_times < self._options.max_redeliveries:  # else it is a dead letter
            self._returning.add(self.topic(queue, step), message)

    async def until_back(self, queue: str) -> bool:
        """Wait until what was given back here is in `queue` again. Whether there was anything."""
        waited = False
        for topic in self.topics(queue, await self.record(queue)).values():
            waited |= await self._returning.until_back(topic)
        return waited

    async def _newest_copy(self, topic: str, message_id: str) -> ReceivedMessage | None:
        again = _again(topic)
        return (
            await self._admin.messages.by_unique_key(again, message_id)
            if await self._has_topic(again)
            else None
        )

    async def size(self, queue: str) -> int:
        """How many messages are in `queue` and not acknowledged. Those that wait for their time: not yet.

        What others give back at the same time may be missing.
        """
        await self.until_back(queue)
        total = 0
        for topic in self.topics(queue, await self.record(queue)).values():
            total += await self._lag(topic)
        return total

    async def purge(self, queue: str) -> int:
        """Skip all messages that are in `queue`. Returns how many."""
        await self.until_back(queue)
        purged = 0
        for topic in self.topics(queue, await self.record(queue)).values():
            if count := await self._lag(topic):
                purged += count
                await self._admin.offsets.skip(topic, topic)
                if await self._has_topic(again := _again(topic)):
                    await self._admin.offsets.skip(topic, again)
        return purged

    async def dead_letter_topic(self, topic: str) -> str:
        """The dead-letter topic of the group of `topic`, made when it is missing."""
        name = dead_letter_topic(topic)
        if name not in self._dead_letter_topics and not await self._has_topic(name):
            await self._admin.topics.create(name, queues=1, perm=PERM_WRITE)
        self._dead_letter_topics.add(name)
        return name

    async def _make(self, topic: str) -> None:
        await self._admin.topics.create(topic, queues=self._options.topic_queues)
        group = SubscriptionGroupConfig(group_name=topic, retry_max_times=self._options.max_redeliveries)
        await self._admin.groups.create(group)

    async def _has_topic(self, topic: str) -> bool:
        try:
            await self._admin.topics.route(topic)
        except AnswerError as refused:
            if refused.code == ResponseCode.TOPIC_NOT_EXIST:
                return False
            raise
        return True

    async def _lag(self, topic: str) -> int:
        if not await self._has_topic(topic):
            return 0
        begun = {queue: at.consumer_offset for queue, at in (await self._admin.groups.stats(topic)).items()}
        lag = 0
        ends = await self._admin.topics.stats(topic)
        if await self._has_topic(again := _again(topic)):
            ends |= await self._admin.topics.stats(again)
        for queue, at in ends.items():
            lag += max(0, at.max_offset - max(begun.get(queue, 0), at.min_offset))
        return lag


def _again(topic: str) -> str:
    """Where brokers store messages of the group of `topic` for another try."""
    return f"{retry_topic(topic)}_{topic}"
